"""A tool whose value somebody else gets to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, ParamSpec, TypeVar, Unpack, cast, get_args

from ..definitions import Tool, ToolContext, ToolExecutionError, is_tool
from ..definitions._checks import one_of
from ..definitions._options import refuse_unknown
from ._composing import AnyTool, Recipe, compose, positional_of, require_tool
from ._mapping import wrapper_words
from ._passing import arguments_from
from ._steps import Given, given, stop_if_asked, value_of_step
from ._united import Naming

P = ParamSpec("P")
R = TypeVar("R")

OnTapError = Literal["log", "fail"]
"""``log`` writes that the observer failed into the log of the call, and answers the value; ``fail`` fails the call."""


class TapNaming(Naming, total=False):
    """`Naming`, and what a failing observer means."""

    on_error: OnTapError


def tap(
    tool: Tool[P, R],
    observer: Callable[..., object] | Tool[..., object],
    /,
    **naming: Unpack[TapNaming],
) -> Tool[P, R]:
    """A tool that answers what *tool* answers, after *observer* was shown the value. A failure is not shown.

    An observer that changes the world should be a tool: it then runs as a call of its own, takes the value as a step of
    a `pipe` would, and what it does counts for the whole. A function is for looking.

    Cancelled: *tool* or the observer is, whichever runs.

    Args:
        tool: The tool.
        observer: ``observer(value)`` or ``observer(value, ctx)``, sync or async; or a tool.
        naming: See `TapNaming`.

    Raises:
        DefinitionError: Something is no tool, or the observer no such function.
    """
    require_tool("tap", "tool", tool)
    refuse_unknown("tap", naming, TapNaming.__annotations__)
    on_error = naming.pop("on_error", "log")
    one_of("tap", "on_error", on_error, get_args(OnTapError))
    parts: tuple[AnyTool, ...] = (tool,)
    if is_tool(observer):
        parts, look = (tool, observer), _calling(observer)
    else:
        look = given("tap", "observer", observer)
    recipe = Recipe(word="tap", parts=parts, words=wrapper_words("tap", tool), naming=naming, answers=(tool,))
    body = _Tap(tool, look, on_error).run
    return cast("Tool[P, R]", compose(recipe, tool.contract, body, positional=positional_of(tool)))


def _calling(observer: AnyTool) -> Given:
    async def call(value: object, ctx: ToolContext) -> object:
        return await value_of_step(ctx, observer, arguments_from(value, observer), "observer")

    return call


class _Tap:
    __slots__ = ("_look", "_on_error", "_tool")

    def __init__(self, tool: AnyTool, look: Given, on_error: OnTapError) -> None:
        self._tool = tool
        self._look = look
        self._on_error = on_error

    async def run(self, arguments: Mapping[str, object], ctx: ToolContext) -> object:
        value = await value_of_step(ctx, self._tool, arguments)
        try:
            await self._look(value, ctx)
        except ToolExecutionError:
            raise  # the observer waits for somebody: so does the whole
        except Exception as failure:
            if self._on_error == "fail":
                raise
            stop_if_asked(ctx)  # then that is why
            ctx.log("warning", f"the observer of {self._tool.name} failed: {_told(failure)}")
        return value


def _told(failure: Exception) -> str:
    name = type(failure).__name__
    try:
        return f"{name}: {failure}"
    except Exception:  # noqa: BLE001  # code of the exception's own, which must not cost the value
        return name
