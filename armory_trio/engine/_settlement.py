"""How a call ends: from what happened to what the caller is told and what the world may have seen.

Everything here is synchronous: between learning how a body ended and having recorded it nothing can come in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import msgspec
import trio

from ..definitions import (
    ArgumentIssue,
    Category,
    Effect,
    InvalidArguments,
    OutputInvalid,
    PendingApproval,
    RequiredAction,
    ToolError,
    ToolFailure,
    ToolResult,
    repair_hints,
)
from ..errors import ExecutionAborted, ExecutionOver
from . import _results as results
from ._events import CleanupOverdue, ExecutionRefused, ExecutionSettled, OutcomeDecided
from ._execution import Core, Record, Verdict
from ._failures import PASSING, description_of, error_of, issues_of, sayable, unfit, unreadable, without_wrapping
from ._lifecycle import CLEANUP_PENDING, FINAL, UNKNOWN_EFFECT, Abort, Event, strongest
from ._plan import Plan
from ._streams import end_stages
from .capacity import Claim

_TIMEOUT_CODES: Final = frozenset(("TIMEOUT", "DEADLINE_EXCEEDED", "IDLE_TIMEOUT"))
_ALWAYS_RETRYABLE: Final = frozenset(("OVERLOADED", "LEDGER_UNAVAILABLE"))
_HONOURS_AN_ABORT: Final = (ExecutionAborted, ExecutionOver, trio.Cancelled)
"""What a body raises that stops because it was asked to."""

_NAMED_AT_MOST: Final = 8
"""Calls below a stopped execution that are named; all are counted."""

_SUCCESS: Final[Verdict] = ("success", None, None)
_ACTION: Final[Verdict] = ("action_required", None, None)


# -- deciding: what the caller is told


def refuse_arguments(record: Record, plan: Plan, exc: InvalidArguments) -> None:
    """End a queued execution whose arguments do not fit, and say how they could be mended."""
    issues = [ArgumentIssue(*(_plain(part) for part in (each.path, each.code, each.message))) for each in exc.issues]
    hints: list[object] = []
    with suppress(Exception):  # the schema of a validator of the user's own need not make sense
        hints = [msgspec.to_builtins(hint) for hint in repair_hints(plan.tool.contract.schema, issues)]
    message = str(InvalidArguments(issues))
    refuse(record, "validation", "INVALID_ARGUMENTS", message, {**issues_of(issues), "hints": hints})


def _plain(words: str) -> str:
    return sayable(lambda: words)


def refuse(
    record: Record, category: Category, code: str, message: str, details: dict[str, object] | None = None
) -> None:
    """End a queued execution with an error; its body will never be entered."""
    refuse_with(record, ToolError(category, code, message, code in _ALWAYS_RETRYABLE, details))


def refuse_with(record: Record, error: ToolError) -> None:
    """End a queued execution with *error*; its body will never be entered. One that is over already stays as it is."""
    if record.over:
        return
    effect = decide(record, error)  # that of calls which a hook made, if any
    if record.core.feed.readers:
        record.tell(ExecutionRefused, category=error.category, code=error.code)
    end(record, "settle", effect)


def decide(record: Record, error: ToolError, now: float | None = None) -> Effect:
    """Say that the call failed, and let the caller go. There is one decision for each execution.

    Returns:
        What the world may have seen, as far as it is known at this moment.
    """
    if record.stages is not None:
        _end_early(record)
    effect = record.effect_now()
    if error.retryable and effect != "none" and not (error.category in PASSING and record.known_by_key):
        error = msgspec.structs.replace(error, retryable=False)  # it may have taken effect, whatever else is said
    results.error(record, error, effect, record.core.now() if now is None else now)
    record.verdict = ("error", error.category, error.code)
    let_caller_go(record, effect)
    return effect


def _end_early(record: Record) -> None:
    """Let the stages of a stream end it while its reader still listens: what was opened, such as a fence, is closed."""
    try:
        end_stages(record)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # code of a middleware's, which changes no outcome; nothing is awaited
        return  # noqa: ASYNC104  # as said


def require_action(record: Record, action: RequiredAction, pending: PendingApproval | None) -> Effect:
    """Say that somebody has to act before the call can go on, and let the caller go."""
    if record.stages is not None:
        _end_early(record)
    effect = record.effect
    results.action(record, action, pending, effect, record.core.now())
    record.verdict = _ACTION
    let_caller_go(record, effect)
    return effect


def pause(record: Record, action: RequiredAction, pending: PendingApproval | None) -> None:
    """End a queued execution because somebody has to act first; its body was not entered."""
    if not record.over:
        end(record, "settle", require_action(record, action, pending))


def answer(record: Record, result: ToolResult[object]) -> None:
    """End a queued execution with *result*, which another attempt came to; its body was not entered."""
    if record.over:
        return
    error = result.error
    record.result = result
    record.verdict = (result.outcome, None if error is None else error.category, None if error is None else error.code)
    let_caller_go(record, result.effect)
    end(record, "settle", result.effect)


def let_caller_go(record: Record, effect: Effect) -> None:
    """How *record* ended is decided: let those go who wait for that, unless it has to be written down first."""
    if record.entry is not None and record.entry.holding:
        return
    if record.released is not None:
        record.released.set()
    if record.feeder is not None:
        record.feeder.decided()
    if record.on_released is not None:
        record.on_released(record)
    core = record.core
    repeats = core.hooks.repeats
    if repeats is not None and record.result is not None:
        repeats.decided(record.result)
    if core.feed.readers and record.verdict is not None:
        outcome, category, code = record.verdict
        record.tell(OutcomeDecided, outcome=outcome, category=category, code=code, effect=effect)


# -- the body is gone


def hand_on(record: Record, action: RequiredAction, pending: PendingApproval | None) -> None:
    """The body ended because something that it called waits for somebody's action, and so does the whole."""
    if record.verdict is None:
        require_action(record, action, pending)
    finish(record)


def returned(record: Record, value: object, check: Callable[[object], object] | None = None) -> None:
    """The body came to its end with *value*, which has to pass *check*."""
    if record.verdict is not None:
        record.late = value
        finish(record)
        return
    now = record.core.now()
    try:
        if check is not None:
            value = check(value)
        content = record.core.encode(value)
    except KeyboardInterrupt:
        raise
    except OutputInvalid as exc:
        effect = decide(record, unfit(exc))
    except BaseException as exc:  # noqa: ASYNC103  # code of the result's own; nothing is awaited
        effect = decide(record, ToolError("internal", "OUTPUT_INVALID", _why_unreadable(exc)))
    else:
        effect = record.effect_now()
        results.success(record, value, content, effect, now)
        record.verdict = _SUCCESS
        let_caller_go(record, effect)
    if record.cleanup == "not-required":
        end(record, "end-unknown" if effect == "unknown" else "end", effect, now)
    else:
        finish(record)


def _why_unreadable(exc: BaseException) -> str:
    from ..content import UnencodableResult  # noqa: PLC0415  # loaded by the first result

    if isinstance(exc, UnencodableResult):
        return sayable(lambda: str(exc))
    return f"the result cannot be shown: reading it raised {description_of(exc)}"


def failed(record: Record, exc: BaseException) -> None:
    """The body raised *exc*, which is its own failure."""
    try:
        effect, error, honours = _read_failure(record, exc)
        record.failure_effect = effect or record.failure_effect  # a place may know that the body was never entered
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # code of the exception's own, such as a property; nothing is awaited
        error, honours = unreadable(record, exc), False
    if record.abort is None:
        decide(record, error)
    else:
        if record.cleanup == "pending" and not honours:
            record.cleanup = "failed"
        if record.verdict is None:
            decide(record, abort_error(record))
    finish(record)


def _read_failure(record: Record, exc: BaseException) -> tuple[Effect | None, ToolError, bool]:
    """What *exc* says of the effect, what the caller is told, and whether a body that is being stopped may raise it."""
    exc = without_wrapping(exc)
    effect = exc.effect if isinstance(exc, ToolFailure) else None
    if effect is not None:
        strongest(effect, "none")  # an effect that there is
    error = error_of(exc, record) if record.abort is None else abort_error(record)
    return effect, error, isinstance(exc, _HONOURS_AN_ABORT)


def cancelled(record: Record) -> None:
    """The body ended because we cancelled it."""
    if record.verdict is None:
        decide(record, abort_error(record))
    finish(record)


def abort_error(record: Record) -> ToolError:
    """What the caller of an aborted execution is told."""
    asked, code = record.abort, record.abort_code
    assert asked is not None
    reason = asked.reason
    below = _running_below(record) if record.children else None
    if code in _TIMEOUT_CODES:
        return ToolError("timeout", code, reason, retryable=True, details=below)
    if not record.attempts:
        code = "NOT_STARTED"
    message = reason if reason.strip() else "no reason was given"
    details: dict[str, object] = {"source": asked.source}
    if below is not None:
        details |= below
    return ToolError("cancelled", code, message, False, details)


def _running_below(record: Record) -> dict[str, object]:
    """The calls of a stopped execution that are not over yet: they are asked to stop, too, and may be left behind."""
    names = [f"{child.name} ({child.id})" for child in (record.children or {}).values()]
    return {"children": names[:_NAMED_AT_MOST], "children_in_all": len(names)}


def finish(record: Record) -> None:
    """Record that the body is gone, after the outcome was decided."""
    asked = record.abort
    if asked is not None:
        record.abort = Abort(asked.source, asked.reason, asked.requested_at, not record.returned)
        if record.cleanup == "pending":
            record.cleanup = "completed"
    effect = record.effect_now()
    if record.state in FINAL:
        end(record, "late-end", effect)
        return
    result = record.result
    if record.windows or (result is not None and result.effect != effect):
        results.tell_what_is_known(record, effect)
    unknown = (effect == "unknown" or record.cleanup == "unresolved") and record.attempts > 0
    end(record, "end-unknown" if unknown else "end", effect)


def end(record: Record, event: Event, effect: Effect, now: float | None = None) -> None:
    """Make the last step of an execution whose body is gone or never came, and free what it held."""
    core = record.core
    if now is None:
        now = core.now()
    entry = record.entry
    if entry is not None and entry.holding:
        entry.ending = partial(end, record, event, effect, now)
        return
    record.ended_at = now
    if event == "late-end":
        record.apply(event)
    else:
        settle(record, event, effect, now)
    if record.timers:
        core.timers.forget(record)
    if record.parent is not None:
        _leave_parent(record, record.parent, effect)
    if record.counted and not record.attempts:
        core.spent -= 1
    claim = record.claim
    if claim is not None:
        wake(core, core.planner.release(claim) if record.claim_held else core.planner.withdraw(claim))
        record.claim = record.turn = None
        record.claim_held = False
    if record.permit is not None:
        record.permit.way.ended(record)
    if entry is not None:
        entry.left(record)
    record.validated = record.scope = record.journal = record.call = record.on_released = record.outside = None
    if record.abort_latch is not None:
        record.abort_latch.set()
    if record.questions:
        for question in record.questions:
            question.cancel("the tool that asks has ended")
    if record.chunks:
        record.collected = record.feeder = None
    if record.keeper is not None:
        record.hand_over(record.keeper)
    core.retire(record)


def _leave_parent(record: Record, parent: Record, effect: Effect) -> None:
    if parent.children is not None:
        parent.children.pop(record.id, None)
    parent.past_effect = strongest(parent.past_effect, effect)
    if record.verdict == _ACTION and record.result is not None:
        if parent.journal is None:
            from ._journal import Journal  # noqa: PLC0415  # only who has to wait for an approval pays for it

            parent.journal = Journal()
        parent.journal.pauses.append(record.result)


def settle(record: Record, event: Event, effect: Effect, now: float) -> None:
    """Make the step into a final state. The body may still be there, left behind."""
    record.effect_is_final(effect)
    record.settled_at = record.last_activity = now
    record.apply(event)
    if record.state == UNKNOWN_EFFECT or record.cleanup == "failed":
        record.core.uncertain += 1
    if record.settled is not None:
        record.settled.set()
    if record.ended_at is None and record.core.idle:
        record.core.stir()
    if record.core.feed.readers:
        assert record.verdict is not None
        if record.open_waits:
            from ._waits import tell_waits_over  # noqa: PLC0415  # only what waits pays for it

            tell_waits_over(record)
        record.tell(ExecutionSettled, state=record.state, outcome=record.verdict[0], effect=effect)


def leave_behind(record: Record, event: Event) -> None:
    """Settle an execution whose body is still there: its time for cleaning up ran out, or it gave up itself."""
    if record.state == CLEANUP_PENDING:
        record.cleanup = "unresolved"
        if event == "overdue" and record.core.feed.readers:
            record.tell(CleanupOverdue)
        settle(record, event, record.effect, record.core.now())


def wake(core: Core, claims: Sequence[Claim]) -> None:
    """Let the executions go whose turn has come."""
    for claim in claims:
        other = core.live[claim.label]
        other.claim_held = True
        if other.turn is not None:
            other.turn.set()
