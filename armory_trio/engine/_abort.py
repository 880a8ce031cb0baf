"""Asking executions to stop: recording who asked, releasing the caller, then cancelling."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

import trio

from ._events import AbortRequested, CleanupPending
from ._execution import Core, Record
from ._lifecycle import ABORT_REQUESTED, FINAL, QUEUED, Abort, AbortSource
from ._roles import Sweep
from ._settlement import abort_error, decide, end, leave_behind
from ._timers import RELEASE_AFTER, Kind

AbortAnswer = Literal["not-started", "requested", "already-requested", "already-ended"]
"""What an abort did to one execution; whether it was honoured stands in its snapshot."""

_TIMED: Final[dict[str, tuple[str, str]]] = {
    "timeout": ("TIMEOUT", "the tool did not finish within its timeout"),
    "deadline": ("DEADLINE_EXCEEDED", "the deadline of the call passed"),
    "idle": ("IDLE_TIMEOUT", "the tool showed no sign of life within its idle timeout"),
}

_MANY: Final = 1_000
"""Live executions from which on the garbage collector waits until all that are stopped together have been asked.

Nothing of what is made meanwhile can be garbage, and the collector would look through it, and through all executions,
again and again: half of the time for which the scheduler stands still.
"""

_CALLER_STOPPED: Final = "its caller was asked to stop"


def check_reason(reason: object) -> None:
    """Refuse a reason that cannot be told.

    Raises:
        TypeError: It is no string.
    """
    if not isinstance(reason, str):
        raise TypeError(f"reason={reason!r}: say in a string why it has to stop")


def request_abort(record: Record, source: AbortSource, reason: str, *, code: str = "CANCELLED") -> AbortAnswer:
    """Ask *record* and everything that it called to stop. The first cause stands."""
    answer = _ask(record, source, reason, code)
    if answer == "requested":
        scope = _scope_to_cancel(record)
        if scope is not None:
            scope.cancel(reason)
        _go_on(record)
    return answer


def abort_each(core: Core, asked: Iterable[tuple[Record, str]], source: AbortSource) -> dict[str, AbortAnswer]:
    """Ask several to stop, each for its reason, and say what that did, by id.

    Scopes are cancelled in this very loop: for as long as a body has not seen its `trio.Cancelled`, that keeps the frame
    of each function that was under way, and whatever is kept the garbage collector looks through.
    """
    answers: dict[str, AbortAnswer] = {}
    with _all_at_once(core):
        for record, reason in asked:
            answers[record.id] = answer = _ask(record, source, reason, "CANCELLED")
            if answer == "requested":
                scope = _scope_to_cancel(record)
                if scope is not None:
                    scope.cancel(reason)
                _go_on(record)
    return answers


def _ask(record: Record, source: AbortSource, reason: str, code: str) -> AbortAnswer:
    # Everything before the body's scope is cancelled; if the answer is "requested", that and `_go_on` have to follow.
    if record.state in FINAL or (record.entry is not None and record.concluded):
        return "already-ended"
    if record.abort is not None:
        return "already-requested"
    core = record.core
    sweep = core.hooks.sweep
    now = core.now() if sweep is None else sweep.now
    record.abort = Abort(source, reason, now)
    record.abort_code = code
    if core.feed.readers:
        record.tell(AbortRequested, source=source, reason=reason)
    if record.state == QUEUED:
        _abort_queued(record)
        return "not-started"
    record.cleanup = "pending"
    record.apply("abort")
    if record.abort_latch is not None:
        record.abort_latch.set()
    plan = record.plan
    grace = plan.grace if plan is not None else 0.0
    record.cut = grace <= 0
    if record.verdict is None and (record.cut or source == "deadline"):
        decide(record, abort_error(record), now)
    if not record.cut:
        core.timers.at(now + grace, record, "grace")
    return "requested"


def _abort_queued(record: Record) -> None:
    record.waits_for = record.waits_for if record.hook_scope is not None else None
    effect = decide(record, abort_error(record))
    if record.hook_scope is not None:
        record.apply("abort-during-hook")
        record.hook_scope.cancel("the call was aborted")
    else:
        if record.hook is not None:
            record.hook.abandon()
            record.hook = None
        if record.turn is not None:
            record.turn.set()
        end(record, "abort", effect)


def abort_children(record: Record, reason: str) -> None:
    """Ask everything that *record* called to stop.

    What these called in turn waits in one queue rather than on the stack: calls may nest deeper than Python's frames.
    """
    if not record.children:
        return
    core = record.core
    found = [(child, reason) for child in record.children.values()]
    if core.stopping is not None:
        core.stopping.extend(found)
        return
    core.stopping = waiting = deque(found)
    try:
        abort_each(core, _until_empty(waiting), "parent")
    finally:
        core.stopping = None


def _until_empty(waiting: deque[tuple[Record, str]]) -> Iterator[tuple[Record, str]]:
    while waiting:
        yield waiting.popleft()


@contextmanager
def _all_at_once(core: Core) -> Generator[None]:
    """As long as the block lasts, batches that fail fast do not stop their other members, but when it is left.

    So each of several that are stopped together is stopped for the reason that was given for it.
    """
    hooks = core.hooks
    if hooks.sweep is not None:
        yield
        return
    hooks.sweep = sweep = Sweep(core.now())
    uncollected = len(core.live) >= _MANY and gc.isenabled()
    if uncollected:
        gc.disable()
    try:
        yield
    finally:
        if uncollected:
            gc.enable()
        hooks.sweep = None
        if sweep.cut:
            core.timers.look(core.now() + RELEASE_AFTER, sweep.cut)
        for trip in sweep.tripped:
            trip()


def _for_children(abort: Abort) -> str:
    reason = abort.reason
    if abort.source == "parent" and reason.startswith(_CALLER_STOPPED):
        return reason  # once is enough, however deep calls nest
    return f"{_CALLER_STOPPED}: {reason}" if reason.strip() else _CALLER_STOPPED


def cut(record: Record) -> None:
    """End the grace of an aborted execution: release its caller, cancel its body, and stop what it called since."""
    abort = record.abort
    if abort is None or record.cut or record.ended_at is not None or (record.entry is not None and record.concluded):
        return
    record.cut = True
    if record.verdict is None:
        decide(record, abort_error(record))
        record.publish()
    scope = _scope_to_cancel(record)
    if scope is not None:
        scope.cancel(abort.reason)
    _go_on(record)


def _scope_to_cancel(record: Record) -> trio.CancelScope | None:
    plan = record.plan
    return record.scope if record.cut and (plan is None or plan.interruptible) else None


def _go_on(record: Record) -> None:
    # After its own scope: a body that waits for a child is cancelled there, rather than woken by its result.
    abort, core = record.abort, record.core
    assert abort is not None
    if record.cut:
        for question in record.questions or ():
            question.cancel("the tool that asks was stopped")
        sweep = core.hooks.sweep
        if sweep is None:
            core.timers.look(core.now() + RELEASE_AFTER, (record,))
        else:
            sweep.cut.append(record)
    if record.children:
        abort_children(record, _for_children(abort))


def on_due(record: Record, kind: Kind, at: float) -> None:
    """A time limit of *record* ran out."""
    match kind:
        case "timeout":
            if record.timeout_at == at and not record.paused:
                _abort_in_time(record, kind)
        case "deadline":
            _abort_in_time(record, kind)
        case "idle":
            _idle(record, at)
        case "grace":
            cut(record)
        case "overdue":
            mark_overdue(record)
        case "cleanup":
            if not record.concluded:
                leave_behind(record, "overdue")
        case "stalled":
            if record.feeder is not None and record.feeder.stalled(at):
                request_abort(record, "shutdown", "nobody read the stream while the supervisor drained")


def _abort_in_time(record: Record, kind: Kind) -> None:
    code, reason = _TIMED[kind]
    if record.abort is None:
        request_abort(record, "deadline", reason, code=code)
    elif record.verdict is None:
        cut(record)


def _idle(record: Record, at: float) -> None:
    limit = record.idle_timeout
    if limit is None or record.paused or record.idle_at != at:
        return
    due = record.last_activity + limit
    if due > at:
        record.idle_at = due
        record.core.timers.at(due, record, "idle")
    else:
        _abort_in_time(record, "idle")


def mark_overdue(record: Record) -> None:
    """Show that a body which was cancelled is still there, and limit the time that it has left."""
    if record.state == ABORT_REQUESTED and record.cut and not record.concluded:
        record.apply("overdue")
        plan = record.plan
        allowed = plan.tool.options.cleanup_timeout if plan is not None else None
        if allowed is None:
            allowed = record.core.settings.cleanup_timeout
        record.core.timers.at(record.core.now() + allowed, record, "cleanup")
        if record.core.feed.readers:
            record.tell(CleanupPending, allowed=allowed)
