"""Providers: tool calls out of what a model said, and results back in the form that each API wants.

``turn = anthropic.parse_tool_calls(message)``, run ``turn.calls``, ``history.extend(turn.reply(results))``. No network
and no SDK is needed here: messages may be decoded JSON or the types of the official SDKs.
"""

from __future__ import annotations

from . import anthropic, gemini, openai
from ._detect import detect_provider
from ._manifest import compile_toolbox, compile_tools
from ._message import MessageError
from ._turn import OtherCall, Provider, ReplyError, Turn, WireCall

__all__ = (
    "MessageError",
    "OtherCall",
    "Provider",
    "ReplyError",
    "Turn",
    "WireCall",
    "anthropic",
    "compile_toolbox",
    "compile_tools",
    "detect_provider",
    "gemini",
    "openai",
)
