"""One step of a composed tool: a call of its own, and what becomes of how it ended."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from ..definitions import Tool, ToolContext, ToolError, ToolExecutionError, ToolFailure, ToolResult
from ..definitions._checks import shown
from ..definitions._functions import signature_of
from ..errors import DefinitionError, ExecutionAborted

THE_TOOL: Final = "tool"
"""The place of the only tool that is called, or of the one that matters."""

_UNTOLD: Final = "it was asked to stop between two of its steps"
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class PipelineError(ToolFailure):
    """A step of a `pipe` or a `parallel` failed. Category, code, retryable and details are those of the step.

    Args:
        index: The position of the step, from 0 on.
        step: Its name.
        result: Its `ToolResult`, effect included.
        others: Further steps that failed beside it, with their positions and results.
    """

    __module__ = "armory_trio.composition"

    def __init__(
        self,
        index: int,
        step: str,
        result: ToolResult[object],
        others: Sequence[tuple[int, str, ToolResult[object]]] = (),
    ) -> None:
        failures = [(index, step, result), *others]
        errors = [_error_of(failed) for _, _, failed in failures]
        super().__init__(
            "; ".join(
                f"step {at} ({name}) failed: {error.message}"
                for (at, name, _), error in zip(failures, errors, strict=True)
            ),
            category=errors[0].category,
            code=errors[0].code,
            retryable=all(error.retryable for error in errors),
            details=errors[0].details,
        )
        self.index = index
        self.step = step
        self.result = result
        self.others: tuple[tuple[int, str, ToolResult[object]], ...] = tuple(others)


def _error_of(result: ToolResult[object]) -> ToolError:
    assert result.error is not None
    return result.error


def stop_if_asked(ctx: ToolContext) -> None:
    """Begin nothing new once somebody asked the whole to stop, whatever its steps still may do in their grace.

    Raises:
        ExecutionAborted: Somebody did.
    """
    ctx.check()
    if ctx.abort_requested:
        raise ExecutionAborted(_UNTOLD)


async def run_step(
    ctx: ToolContext, step: Tool[..., object], arguments: Mapping[str, object], place: str
) -> ToolResult[object]:
    """Call *step* as a child, at its *place* in the whole, and answer how it ended: with a value or an error.

    Cancelled: the child is.

    Raises:
        ExecutionAborted: The whole was asked to stop.
        ToolExecutionError: Somebody has to do something before the step can go on. It carries the step's result.
    """
    stop_if_asked(ctx)
    result = await ctx.call(step, arguments, place=place)
    if result.outcome != "success":
        stop_if_asked(ctx)  # then that is why
    if result.outcome == "action_required":
        raise ToolExecutionError(result)
    return result


async def value_of_step(
    ctx: ToolContext, step: Tool[..., object], arguments: Mapping[str, object], place: str = THE_TOOL
) -> object:
    """Call *step* as a child, at its *place* in the whole, and answer its value; what it failed with is the failure of the whole.

    Cancelled: the child is.

    Raises:
        ExecutionAborted: The whole was asked to stop.
        ToolFailure: The step failed: its category, code, message, retryable and details.
        ToolExecutionError: Somebody has to do something before the step can go on. It carries the step's result.
    """
    return value_or_failure(await run_step(ctx, step, arguments, place))


def value_or_failure(result: ToolResult[object]) -> object:
    """The value of a success.

    Raises:
        ToolFailure: It is an error: the same, to be raised.
    """
    error = result.error
    if error is None:
        return result.value
    raise ToolFailure(
        error.message, category=error.category, code=error.code, retryable=error.retryable, details=error.details
    )


# -- functions of the user's between the steps

Given = Callable[[object, ToolContext], Awaitable[object]]
"""A function of the user's, sync or async, with or without the context, as this room calls it."""


def given(subject: str, field: str, function: object) -> Given:
    """*function*, which takes a value, or a value and the context.

    It runs in the task of the call, so one that is not async should be quick. Parameters with a default are left alone.

    Raises:
        DefinitionError: It cannot be called so.
    """
    if not callable(function):
        raise DefinitionError(subject, field, f"must be a function, not {shown(function)}")
    wants_context = _wants_context(subject, field, function)

    async def call(value: object, ctx: ToolContext) -> object:
        answer: object = function(value, ctx) if wants_context else function(value)
        return await answer if inspect.isawaitable(answer) else answer

    return call


def _wants_context(subject: str, field: str, function: Callable[..., object]) -> bool:
    signature = signature_of(function)
    if signature is None:
        return False
    needed = [each for each in signature.parameters.values() if each.kind in _POSITIONAL and each.default is each.empty]
    wants_context = len(needed) == 2
    try:
        signature.bind(*("value", "context") if wants_context else ("value",))
    except TypeError as error:
        reason = f"must be a function of one value, or of the value and the context: {error}"
        raise DefinitionError(subject, field, reason) from error
    return wants_context
