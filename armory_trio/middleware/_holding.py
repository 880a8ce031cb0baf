"""Standing around the work of a tool, be it a call or a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from ..definitions import CallNext, Chunks, WrappedTool

Run = Callable[[], Awaitable[object]]
Hold = Callable[[Run], Awaitable[object]]
"""Awaits what it is given, and answers what that answers."""

_STREAMS: Final = ("generator", "async-generator")


def streams(tool: WrappedTool) -> bool:
    """Whether *tool* gives its value chunk by chunk."""
    return tool.kind in _STREAMS


async def hold_all(call_next: CallNext, hold: Hold) -> object:
    """Have *hold* stand around everything further in. Of a stream it is asked twice: for its making and its run."""
    answer = await hold(call_next)
    return answer.around(hold) if isinstance(answer, Chunks) else answer


async def hold_work(tool: WrappedTool, call_next: CallNext, hold: Hold) -> object:
    """Have *hold* stand around each attempt, once: around the call, or around the run of the stream."""
    if not streams(tool):
        return await hold(call_next)
    answer = await call_next()
    return answer.around(hold) if isinstance(answer, Chunks) else answer
