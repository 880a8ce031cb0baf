"""A word to the host whenever a deprecated tool is called."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from ..definitions import CallNext, Lifecycle, Middleware, MiddlewareCall, ToolContext, WrappedTool
from ..definitions._exceptions import Withheld
from ..definitions._functions import require_plain

Tell = Callable[[MiddlewareCall, str], object]

_log: Final = logging.getLogger("armory_trio.middleware")


class WarnOfDeprecated:
    """Tells of each call of a deprecated tool, before it runs, and changes nothing about it.

    It stands only around tools whose lifecycle says that they are deprecated. The words name the tool, the reason and
    what to use instead. They go to readers of the supervisor's events as a `LogWritten` of level ``warning``, and to
    the function that was given.

    Args:
        tell: Called with the call and the words, on trio's thread. What it raises is logged, and the tool runs.

    Raises:
        DefinitionError: *tell* is no function.
    """

    __slots__ = ("_tell",)

    def __init__(self, tell: Tell | None = None) -> None:
        if tell is not None:
            require_plain("middleware WarnOfDeprecated", "tell", tell, "the call and the words")
        self._tell = tell

    def __repr__(self) -> str:
        return "<WarnOfDeprecated>"

    def bind(self, tool: WrappedTool, /) -> Middleware | None:
        """As `BindsToTools.bind`."""
        lifecycle = tool.definition.lifecycle
        if lifecycle.deprecated is False:
            return None
        return partial(self._warn, _words(tool, lifecycle))

    async def _warn(self, words: str, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        ctx.log("warning", words)
        if self._tell is not None:
            try:
                self._tell(call, words)
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # noqa: ASYNC103, BLE001  # a word to the host never costs a call; nothing is awaited
                _log.error("what is told of deprecated tools raised: %s", Withheld(exc))
        return await call_next()


def _words(tool: WrappedTool, lifecycle: Lifecycle) -> str:
    said = [f"the tool {tool.id.text} is deprecated"]
    if isinstance(lifecycle.deprecated, str):
        said.append(lifecycle.deprecated)
    if lifecycle.message:
        said.append(lifecycle.message)
    if lifecycle.replaced_by is not None:
        said.append(f"use {lifecycle.replaced_by.text} instead")
    return "; ".join(said)
