"""Several tools at once, with the same arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Literal, ParamSpec, TypeVar, Unpack, cast, get_args, overload

import trio

from ..definitions import Tool, ToolContext, ToolError, ToolExecutionError, ToolResult
from ..definitions._checks import one_by_one, one_of, shown
from ..definitions._options import refuse_unknown
from ..errors import DefinitionError, ExecutionOver
from ._composing import AnyTool, Recipe, compose, listed, positional_of, require_tool
from ._mapping import contract_for
from ._names import default_name
from ._passing import chosen, require_arguments
from ._steps import PipelineError, stop_if_asked
from ._united import Naming, Words

P = ParamSpec("P")
R = TypeVar("R")

OnError = Literal["finish", "fail_fast", "collect"]
"""``finish`` lets the others go on, then fails; ``fail_fast`` stops the others; ``collect`` never fails: each place
holds what became of its step."""


class ParallelNaming(Naming, total=False):
    """`Naming`, and how `parallel` runs.

    ``input`` is what arguments the whole takes, as for `define_tool`: a class with fields or a JSON Schema. Without it
    they are those of the first tool.
    """

    on_error: OnError
    input: object


@overload
def parallel(
    first: Tool[P, R], second: Tool[..., R], /, *rest: Tool[..., R], **naming: Unpack[ParallelNaming]
) -> Tool[P, list[R]]: ...
@overload
def parallel(steps: Mapping[str, Tool[..., R]], /, **naming: Unpack[ParallelNaming]) -> Tool[..., dict[str, R]]: ...
def parallel(
    first: Tool[P, R] | Mapping[str, Tool[..., R]],
    /,
    *rest: Tool[..., R],
    **naming: Unpack[ParallelNaming],
) -> Tool[..., object]:
    """A tool that runs several at once, and answers what each answered, in the order in which they are given.

    ``parallel(a, b)`` answers a list, ``parallel({"left": a, "right": b})`` a dict. Each step is given those of the
    arguments that it has parameters for. How many really run at a time is up to the limits of the supervisor. Events as
    in `pipe`. With ``on_error="collect"`` each place holds ``{"value": ...}`` or ``{"error": {...}}``.

    A step that needs an action of somebody's makes the whole need it, once no other step has failed.

    Cancelled: all steps are.

    Args:
        first: A tool, or a mapping of keys to all tools.
        rest: At least one more tool.
        naming: See `ParallelNaming`.

    Raises:
        DefinitionError: There are fewer than two tools, something is no tool, or a tool needs an argument that the
            whole does not have.
    """
    keys: tuple[str, ...] | None = None
    steps = (first, *rest)
    if isinstance(first, Mapping):
        if rest:
            raise DefinitionError("parallel", "tools", "takes one mapping, or tools one by one, not both")
        keys, steps = tuple(first), tuple(first.values())
    _check_steps(steps, keys)
    refuse_unknown("parallel", naming, ParallelNaming.__annotations__)
    tools = cast("tuple[AnyTool, ...]", steps)
    on_error = naming.pop("on_error", "finish")
    one_of("parallel", "on_error", on_error, get_args(OnError))
    given = naming.pop("input", None)
    contract = tools[0].contract if given is None else contract_for("parallel", given)
    for index, step in enumerate(tools):
        require_arguments("parallel", f"tools[{index}]", step, contract)
    return compose(
        Recipe(word="parallel", parts=tools, words=_words(tools), naming=naming),
        contract,
        _Parallel(tools, keys, on_error).run,
        positional=positional_of(tools[0]) if given is None else None,
    )


def _check_steps(steps: Sequence[object], keys: Sequence[object] | None) -> None:
    if len(steps) < 2:
        meant = one_by_one(steps[0], "tools") if steps and keys is None else ""
        raise DefinitionError("parallel", "tools", f"takes at least two{meant}")
    for key in keys or ():
        if not isinstance(key, str):
            raise DefinitionError("parallel", "tools", f"the key {shown(key)} is no text")
    for index, step in enumerate(steps):
        require_tool("parallel", f"tools[{index}]", step)


def _words(steps: Sequence[AnyTool]) -> Words:
    names = [step.name for step in steps]
    return Words(
        name=default_name("parallel", names),
        title=" | ".join(step.definition.title for step in steps),
        description=f"Runs at once {', '.join(names)}.\n\n{listed(steps)}",
    )


class _Parallel:
    __slots__ = ("_keys", "_on_error", "_steps")

    def __init__(self, steps: tuple[AnyTool, ...], keys: tuple[str, ...] | None, on_error: OnError) -> None:
        self._steps = steps
        self._keys = keys
        self._on_error = on_error

    async def run(self, arguments: Mapping[str, object], ctx: ToolContext) -> object:
        stop_if_asked(ctx)
        results: dict[int, ToolResult[object]] = {}
        async with trio.open_nursery() as nursery:
            for index, step in enumerate(self._steps):
                place = _Place(ctx, index, step, results)
                stop = nursery.cancel_scope if self._on_error == "fail_fast" else None
                nursery.start_soon(place.run, chosen(arguments, step), stop, name=step.name)
        if len(results) < len(self._steps) or any(result.outcome != "success" for result in results.values()):
            stop_if_asked(ctx)  # then that is why
            self._raise_for(results)
        values = [self._entry(results[index]) for index in range(len(self._steps))]
        return values if self._keys is None else dict(zip(self._keys, values, strict=True))

    def _raise_for(self, results: Mapping[int, ToolResult[object]]) -> None:
        failed = [(index, self._steps[index].name, results[index]) for index in results if results[index].error]
        if failed and self._on_error != "collect":
            (index, name, result), *others = failed if self._on_error == "fail_fast" else sorted(failed)
            raise PipelineError(index, name, result, others)
        for result in results.values():
            if result.outcome == "action_required":
                raise ToolExecutionError(result)

    def _entry(self, result: ToolResult[object]) -> object:
        if self._on_error != "collect":
            return result.value
        return {"value": result.value} if result.error is None else {"error": _plain(result.error)}


def _plain(error: ToolError) -> dict[str, object]:
    return {
        "category": error.category,
        "code": error.code,
        "message": error.message,
        "retryable": error.retryable,
    }


class _Place:
    """One step, and where its result goes; they are kept in the order in which they come."""

    __slots__ = ("_ctx", "_index", "_results", "_step")

    def __init__(self, ctx: ToolContext, index: int, step: AnyTool, results: dict[int, ToolResult[object]]) -> None:
        self._ctx = ctx
        self._index = index
        self._step = step
        self._results = results

    async def run(self, arguments: Mapping[str, object], stop: trio.CancelScope | None) -> None:
        place = {"step_index": self._index, "step_name": self._step.name}
        with contextlib.suppress(ExecutionOver):  # the whole will say so, once
            self._ctx.emit("step-start", {**place, "input": arguments})
            result = self._results[self._index] = await self._ctx.call(self._step, arguments, place=str(self._index))
            if result.error is not None:
                if stop is not None:
                    stop.cancel()
                self._ctx.emit("step-error", {**place, "error": result.error})
            elif result.outcome == "success":
                self._ctx.emit("step-complete", {**place, "output": result.value})
