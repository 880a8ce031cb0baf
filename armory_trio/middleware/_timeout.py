"""A time limit around a tool and whatever stands further in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import trio

from ..definitions import CallNext, Middleware, MiddlewareCall, ToolContext, ToolFailure, WrappedTool
from ..definitions._checks import seconds, shown
from ..errors import DefinitionError
from ._holding import Run, hold_all

_SUBJECT: Final = "middleware Timeout"


class Timeout:
    """Gives up on a tool after some time: the work is cancelled, and the call fails as ``timeout`` ``TIMEOUT``.

    It covers what stands further in as well: outside of `Retry` all attempts together, inside of it each single one.
    A stream is covered from its first chunk to its last.

    What can be cancelled is gone before the call ends. A tool that cannot, in a thread or because it must never be
    cancelled, is left behind as by the ``timeout=`` of a call: the caller is told, and its end is still recorded.

    Args:
        limit: Seconds from the moment that it is reached; or a function that answers them for a tool, or None for no
            limit.

    Raises:
        DefinitionError: The limit is no number of seconds above 0.
    """

    __slots__ = ("_limit",)

    def __init__(self, limit: float | Callable[[WrappedTool], float | None]) -> None:
        if not callable(limit):
            seconds(_SUBJECT, "limit", limit, zero=False)
        self._limit = limit

    def __repr__(self) -> str:
        return f"<Timeout {shown(self._limit)}>"

    def bind(self, tool: WrappedTool, /) -> Middleware | None:
        """As `BindsToTools.bind`."""
        limit = self._limit(tool) if callable(self._limit) else self._limit
        if limit is None:
            return None
        try:
            return partial(_limited, seconds(f"tool {tool.name!r}", "Timeout", limit, zero=False, optional=True))
        except DefinitionError as exc:
            raise DefinitionError(exc.subject, "middleware", f"the limit {exc.reason}") from None


async def _limited(limit: float, call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
    deadline = trio.current_time() + limit

    async def hold(run: Run) -> object:
        with trio.CancelScope(deadline=deadline) as scope:
            value = await run()
            if not scope.cancel_called:
                return value
        raise ToolFailure(f"{call.tool.name!r} did not finish within {limit:g} s", category="timeout")

    return await hold_all(call_next, hold)
