"""One tool after the other: what one answers, the next one takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ParamSpec, TypeVar, Unpack, cast

from ..definitions import Tool, ToolContext
from ..definitions._checks import one_by_one
from ..errors import DefinitionError
from ._composing import AnyTool, Recipe, compose, listed, positional_of, require_tool
from ._names import default_name
from ._passing import arguments_from
from ._steps import PipelineError, run_step
from ._united import Naming, Words

P = ParamSpec("P")
R = TypeVar("R")


def pipe(
    first: Tool[P, object],
    /,
    *rest: *tuple[*tuple[Tool[..., object], ...], Tool[..., R]],
    **naming: Unpack[Naming],
) -> Tool[P, R]:
    """A tool that runs several one after the other. It takes the arguments of the first, and answers the last one's value.

    What a step answers becomes the arguments of the next, which validates them: a mapping by name, whatever it looks
    like; anything else as the value of the next step's first required parameter. Events ``step-start``,
    ``step-complete`` and ``step-error`` tell how far it is. A step that fails ends the whole with a `PipelineError`.

    Cancelled: the running step is, and no other one begins.

    Args:
        first: A tool.
        rest: At least one more.
        naming: See `Naming`.

    Raises:
        DefinitionError: There are fewer than two tools, or something is no tool.
    """
    steps = cast("tuple[AnyTool, ...]", (first, *rest))
    if len(steps) < 2:
        raise DefinitionError("pipe", "tools", f"takes at least two{one_by_one(first, 'tools')}")
    for index, step in enumerate(steps):
        require_tool("pipe", f"tools[{index}]", step)
    names = [step.name for step in steps]
    words = Words(
        name=default_name("pipe", names),
        title=" → ".join(step.definition.title for step in steps),
        description=f"Runs {', then '.join(names)}.\n\n{listed(steps)}",
    )
    made = compose(
        Recipe(word="pipe", parts=steps, words=words, naming=naming, answers=steps[-1:]),
        first.contract,
        _Pipe(steps).run,
        positional=positional_of(first),
    )
    return cast("Tool[P, R]", made)


class _Pipe:
    __slots__ = ("_steps",)

    def __init__(self, steps: tuple[AnyTool, ...]) -> None:
        self._steps = steps

    async def run(self, arguments: Mapping[str, object], ctx: ToolContext) -> object:
        value: object = arguments
        for index, step in enumerate(self._steps):
            value = await self._run_one(ctx, index, step, arguments_from(value, step))
        return value

    async def _run_one(self, ctx: ToolContext, index: int, step: AnyTool, given: Mapping[str, object]) -> object:
        place = {"step_index": index, "step_name": step.name}
        ctx.emit("step-start", {**place, "input": given})
        result = await run_step(ctx, step, given, str(index))
        if result.error is not None:
            ctx.emit("step-error", {**place, "error": result.error})
            raise PipelineError(index, step.name, result)
        ctx.emit("step-complete", {**place, "output": result.value})
        return result.value
