"""Putting what a tool said when it failed into other words, without changing what that means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, get_args

import msgspec
import trio

from ..content import words_for_error
from ..definitions import Effect, MiddlewareCall, ToolError, ToolExecutionError, ToolFailure
from ..definitions._exceptions import leaves
from ..engine._concurrency import is_cancelled
from ..errors import ExecutionAborted, ExecutionOver, RepeatRefused
from ._holding import Run

_OURS: Final = (KeyboardInterrupt, ExecutionAborted, ExecutionOver, RepeatRefused)
"""What no tool says: to put it into other words would take it for something else."""

_MANY: Final = 10**6
"""Chunks of a stream, in a sentence that has to have room."""


async def reworded(
    call: MiddlewareCall, run: Run, reword: Callable[[ToolError], ToolError | Awaitable[ToolError]]
) -> object:
    """Await *run*; what the tool raises leaves as a failure of the same meaning in the words of *reword*.

    What is raised before the tool was entered is not the tool's word, and leaves as it is. Cancelled: *run* is.
    """
    try:
        return await run()
    except BaseException as exc:  # noqa: ASYNC103  # whatever is no word of the tool's is raised at once
        if not call.attempts or is_cancelled() or _is_ours(exc):
            raise
        failure = exc
    told = call.error_of(failure)
    answer = reword(told)
    error = answer if isinstance(answer, ToolError) else await answer
    if error == told:
        raise failure
    raise ToolFailure(
        error.message, category=error.category, code=error.code, retryable=error.retryable, details=error.details
    ) from failure


def spoken_around(call: MiddlewareCall, error: ToolError) -> int:
    """Bytes of the sentences that a model will read besides the message of *error*, at most."""
    bare = msgspec.structs.replace(error, message="", details=None)
    effects: tuple[Effect, ...] = get_args(Effect)
    told = [words_for_error(call.tool.name, bare, effect, ran=True, chunks=_MANY) for effect in effects]
    return max(len(text.encode()) for text in told)


def _is_ours(exc: BaseException) -> bool:
    if isinstance(exc, trio.Cancelled):
        return True
    return any(issubclass(type(leaf), _OURS) or _waits(leaf) for leaf in leaves(exc))


def _waits(exc: BaseException) -> bool:
    """Whether something that the tool called waits for somebody: that is handed on as it is."""
    return isinstance(exc, ToolExecutionError) and exc.result.outcome == "action_required"
