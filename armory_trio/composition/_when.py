"""One tool or another, as a function decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar, Unpack, cast, overload

from ..definitions import Tool, ToolContext
from ._composing import AnyTool, Recipe, compose, listed, positional_of, require_tool
from ._names import default_name
from ._passing import chosen, require_arguments
from ._steps import Given, given, value_of_step
from ._united import Naming, Words

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


@overload
def when(
    predicate: Callable[..., object], if_true: Tool[P, R], if_false: Tool[..., S], /, **naming: Unpack[Naming]
) -> Tool[P, R | S]: ...
@overload
def when(
    predicate: Callable[..., object], if_true: Tool[P, R], /, **naming: Unpack[Naming]
) -> Tool[P, R | dict[str, object]]: ...
def when(
    predicate: Callable[..., object],
    if_true: Tool[P, R],
    if_false: Tool[..., S] | None = None,
    /,
    **naming: Unpack[Naming],
) -> Tool[P, object]:
    """A tool that runs *if_true* or *if_false*, as *predicate* says. It takes the arguments of *if_true*.

    The predicate gets the arguments as a dict of plain JSON values, defaults filled in. *if_false* is given those of
    them that it has parameters for; without it the value is the dict itself. A predicate that raises fails the call,
    and neither tool has run. The whole counts as the more dangerous of the two.

    Cancelled: whichever runs is.

    Args:
        predicate: ``predicate(arguments)`` or ``predicate(arguments, ctx)``, sync or async.
        if_true: The tool for a true answer.
        if_false: The tool for any other.
        naming: See `Naming`.

    Raises:
        DefinitionError: Something is no tool, the predicate no such function, or *if_false* needs an argument that
            *if_true* does not have.
    """
    require_tool("when", "if_true", if_true)
    parts: tuple[AnyTool, ...] = (if_true,)
    if if_false is not None:
        require_tool("when", "if_false", if_false)
        require_arguments("when", "if_false", if_false, if_true.contract)
        parts = (if_true, if_false)
    body = _When(given("when", "predicate", predicate), if_true, if_false).run
    recipe = Recipe(
        word="when", parts=parts, words=_words(parts), naming=naming, answers=parts if len(parts) > 1 else ()
    )
    return cast("Tool[P, object]", compose(recipe, if_true.contract, body, positional=positional_of(if_true)))


def _words(parts: tuple[AnyTool, ...]) -> Words:
    names = [part.name for part in parts]
    does = f"Runs {names[0]} or {names[1]}, as the arguments ask." if len(names) > 1 else f"Runs {names[0]} if needed."
    title = " / ".join(part.definition.title for part in parts)
    return Words(name=default_name("when", names), title=title, description=f"{does}\n\n{listed(parts)}")


class _When:
    __slots__ = ("_if_false", "_if_true", "_predicate")

    def __init__(self, predicate: Given, if_true: AnyTool, if_false: AnyTool | None) -> None:
        self._predicate = predicate
        self._if_true = if_true
        self._if_false = if_false

    async def run(self, arguments: Mapping[str, object], ctx: ToolContext) -> object:
        if await self._predicate(arguments, ctx):
            return await value_of_step(ctx, self._if_true, arguments, "if-true")
        if self._if_false is None:
            return arguments
        return await value_of_step(ctx, self._if_false, chosen(arguments, self._if_false), "if-false")
