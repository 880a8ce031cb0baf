"""Providers: tool calls out of what a model said, and results back in the form that each API wants.

``turn = anthropic.parse_tool_calls(message)``, run ``turn.calls``, ``history.extend(turn.reply(results))``. No network
and no SDK is needed here: messages may be decoded JSON or the types of the official SDKs.
"""

from __future__ import annotations

from . import anthropic, gemini, openai
from ._assembly import Assembler
from ._assembly_news import (
    ArgumentsGrew,
    AssemblyLimits,
    AssemblyOver,
    CallBegan,
    CallClosed,
    CallPreview,
    CallRefused,
    StreamLimitError,
    StreamNews,
)
from ._detect import detect_provider
from ._history import Repair, check_history, repair_history
from ._history_extend import collect_results, extend_history
from ._history_known import HistoryError
from ._history_parts import Fault
from ._manifest import compile_toolbox, compile_tools
from ._message import MessageError
from ._partial_json import PartialJson
from ._turn import OtherCall, Provider, ReplyError, Turn, WireCall

__all__ = (
    "ArgumentsGrew",
    "Assembler",
    "AssemblyLimits",
    "AssemblyOver",
    "CallBegan",
    "CallClosed",
    "CallPreview",
    "CallRefused",
    "Fault",
    "HistoryError",
    "MessageError",
    "OtherCall",
    "PartialJson",
    "Provider",
    "Repair",
    "ReplyError",
    "StreamLimitError",
    "StreamNews",
    "Turn",
    "WireCall",
    "anthropic",
    "check_history",
    "collect_results",
    "compile_toolbox",
    "compile_tools",
    "detect_provider",
    "extend_history",
    "gemini",
    "openai",
    "repair_history",
)
