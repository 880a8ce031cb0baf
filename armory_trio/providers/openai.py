"""OpenAI: tool calls from Chat Completions and from Responses, and results back to them.

Works on decoded JSON and on the types of the official SDK alike, without importing it.
"""

from __future__ import annotations

from ._openai_chat import parse_chat_tool_calls
from ._openai_responses import parse_response_tool_calls

__all__ = ("parse_chat_tool_calls", "parse_response_tool_calls")
