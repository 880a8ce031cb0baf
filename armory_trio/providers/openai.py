"""OpenAI: tool calls from Chat Completions and from Responses, and results back to them.

Works on decoded JSON and on the types of the official SDK alike, without importing it.
"""

from __future__ import annotations

from ._assembly_chat import ChatAssembler
from ._assembly_responses import ResponseAssembler
from ._openai_chat import parse_chat_tool_calls
from ._openai_responses import parse_response_tool_calls

__all__ = ("ChatAssembler", "ResponseAssembler", "parse_chat_tool_calls", "parse_response_tool_calls")
