"""The way of a call in its own task: hooks, its turn, the body, the end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

import outcome
import trio

from ..definitions import PendingApproval, ToolError, ToolResult
from ..definitions._exceptions import Withheld, leaves
from ._abort import abort_children, request_abort
from ._admission import judge
from ._concurrency import is_cancelled
from ._events import ExecutionStarted
from ._execution import CURRENT, Core, Record
from ._failures import StrayCancelled, waited_for
from ._lifecycle import FINAL, QUEUED
from ._options import DIRECTLY, NO_OPTIONS, Options
from ._permits import Hook
from ._plan import Plan
from ._settlement import cancelled, decide, end, failed, finish, hand_on, returned
from ._tool_context import Door, TaskContext
from .placement import VALUES, Placed, deliver_inline, has_to_run, place

_log: Final = logging.getLogger("armory_trio.engine")

_current: Final = CURRENT.get
_enter: Final = CURRENT.set


def running_in(core: Core) -> Record | None:
    """The execution of *core* whose body this task belongs to, directly or through other supervisors."""
    record = _current()
    while record is not None and record.core is not core:
        record = record.outside
    return record


class Actor:
    """Runs executions. `door` runs the calls that their tools make."""

    __slots__ = ("_door",)

    def __init__(self, door: Door) -> None:
        self._door = door

    async def run(self, record: Record) -> None:
        """Bring *record* to its end: the task of the execution. Only KeyboardInterrupt leaves it.

        Cancelled: only while the whole supervisor falls; the execution is then recorded as cancelled.
        """
        outside = _current()
        if outside is not None:
            record.outside = outside if outside.core is not record.core else outside.outside
        _enter(record)
        if record.core.feed.entering:
            for tell in record.core.feed.entering:
                tell(record.id)
        try:
            while record.hook is not None or not _is_ready(record):
                if record.hook is not None:
                    await _ask_hook(record, record.hook)
                elif record.turn is not None and not record.claim_held:
                    if record.core.feed.readers:
                        _stand_in_line(record, record.core.planner.waits_for(record.claim) if record.claim else None)
                    await record.turn.wait()
                    if record.open_waits:
                        _leave_line(record)
            if record.state == QUEUED:
                if record.core.fallen:
                    request_abort(record, "supervisor", "the supervisor fell")
                else:
                    await self._run_body(record)
        except trio.Cancelled as exc:
            if not is_cancelled():
                engine_error(record, exc)
                return  # noqa: ASYNC104  # one that somebody kept: it belongs to no scope here
            if not record.over and record.state not in FINAL:
                _fall(record, "the supervisor fell")
            raise
        except KeyboardInterrupt:
            if not record.over:
                _fall(record, "the program was interrupted")
            raise
        except BaseException as exc:  # noqa: ASYNC103  # code of the user's that we called, such as that of a result
            engine_error(record, exc)

    async def _run_body(self, record: Record) -> None:
        plan = record.plan
        assert plan is not None
        _start(record, plan)
        placed: Placed | None = None
        failure: BaseException | None = None
        value: object = None
        completed = False
        record.scope = scope = trio.CancelScope()
        try:
            with scope:
                if (begin := plan.begin) is not None:
                    context = TaskContext(record, self._door) if plan.wants_context else None
                    value = await begin(record.validated, context)
                    if type(value) not in VALUES and has_to_run(value):  # as of a function that wraps another one
                        value = await deliver_inline(record, plan, value)
                else:
                    placed = place(record, plan, self._door) if plan.bare else _wrapped(record, plan, self._door)
                    value = await placed.run()
                completed = True
        except Exception as exc:
            failure = exc
        except BaseException as exc:  # noqa: ASYNC103  # raises again what is not the tool's own
            failure = _own_failure(record, exc)
        if placed is not None and (record.cut or record.in_thread or (not completed and failure is None)):
            # A scope round it was cancelled; the execution is not over before a body that was left behind is.
            ended = await placed.gone()
            if not completed and failure is None and ended is not None:  # else its middleware had the last word
                completed, value, failure = _read(record, ended)
        if record.children:
            abort_children(record, "its caller ended")
        if completed and record.entry is None and plan.bare and type(value) in VALUES:
            record.returned = True
            returned(record, value, plan.check_output)
        elif record.abort is not None and record.entry is None:
            _conclude(record, plan, value, failure, completed=completed)
        else:
            await _settle(record, plan, value, failure, completed=completed)
        failure = None  # its traceback leads to this frame: no circle shall keep what it leads to besides


def _read(record: Record, ended: outcome.Maybe[object]) -> tuple[bool, object, BaseException | None]:
    if isinstance(ended, outcome.Value):
        return True, ended.value, None
    _raise_an_interrupt(record, ended.error)
    return False, None, ended.error


def _wrapped(record: Record, plan: Plan, door: Door) -> Placed:
    """The body of *record* with its middleware round it."""
    from ._onion import OnionBody  # noqa: PLC0415  # only who has middleware pays for it

    return OnionBody(record, plan, door)


async def _settle(record: Record, plan: Plan, value: object, failure: BaseException | None, *, completed: bool) -> None:
    waits = waited_for(value if failure is None else failure) if record.abort is None else None
    if waits is not None:
        await _hand_on(record, waits, completed=completed)
        return
    if record.claimed:
        conclude = partial(_conclude, record, plan, value, failure, completed=completed)
        await _written_down(record, conclude, gave_a_value=completed)
    else:
        _conclude(record, plan, value, failure, completed=completed)


async def _written_down(record: Record, conclude: Callable[[], None], *, gave_a_value: bool) -> None:
    from .keeping._concluding import written_down  # noqa: PLC0415  # loaded by then

    await written_down(record, conclude, gave_a_value=gave_a_value)


async def _hand_on(record: Record, waits: ToolResult[object], *, completed: bool) -> None:
    """The body ended with what a call of its own came to, which has to wait for somebody: so does the whole."""
    from ._resumption import is_within, pending_within  # noqa: PLC0415  # only who waits for an approval pays for it

    record.returned = record.returned or completed
    permit = record.permit
    if permit is not None and permit.granted is not None and permit.used:
        permit.answered.append(permit.granted)  # spent for good: the whole goes on, and does not begin again
    pending: PendingApproval | None = None
    failure: BaseException | None = None
    record.scope = signing = trio.CancelScope()  # the body's has ended; an abort ends this in its place
    try:
        with signing:
            pending = await pending_within(record, waits)
    except BaseException as exc:  # noqa: ASYNC103  # raises again what is not its own
        failure = _own_failure(record, exc)
    if pending is not None and record.verdict is None and is_within(record, pending):
        record.returned = True  # it goes on from there: that it raised what a call of its own came to is no failure
        if record.entry is not None:
            record.entry.pause = "waits"
    if failure is not None:
        conclude = partial(failed, record, failure)
    elif signing.cancelled_caught:
        conclude = partial(cancelled, record)
    else:
        assert waits.action is not None
        conclude = partial(hand_on, record, waits.action, pending)
    if record.claimed:
        await _written_down(record, conclude, gave_a_value=False)
    else:
        conclude()
    del failure, conclude  # as in `_run_body`


def _conclude(record: Record, plan: Plan, value: object, failure: BaseException | None, *, completed: bool) -> None:
    if failure is not None:
        failed(record, failure)
    elif not completed:
        cancelled(record)
    elif plan.bare:
        record.returned = True
        returned(record, value, plan.check_output)
    else:
        returned(record, value)


def _start(record: Record, plan: Plan) -> None:
    core = record.core
    record.started_at = record.last_activity = now = core.now()
    if plan.bare:
        record.attempts = 1
    if record.parent is not None:
        record.begun()
    record.apply("start")
    options = record.options
    if options is not NO_OPTIONS or plan.timed:
        _limit_time(record, plan, options, now)
    if plan.bare and core.feed.readers:
        record.tell(ExecutionStarted, attempt=record.attempts)


def _limit_time(record: Record, plan: Plan, options: Options, now: float) -> None:
    timers = record.core.timers
    timeout = plan.timeout if options.timeout is None else options.timeout
    if timeout is not None:
        record.timeout_at = now + timeout
        timers.at(record.timeout_at, record, "timeout")
    idle = plan.tool.options.idle_timeout if options.idle_timeout is None else options.idle_timeout
    if idle is not None:
        record.idle_timeout = idle
        record.idle_at = now + idle
        timers.at(record.idle_at, record, "idle")


def _is_ready(record: Record) -> bool:
    """Whether nothing is left to wait for but the body; what is found to be left becomes the hook of *record*."""
    plan, permit, entry = record.plan, record.permit, record.entry
    alone = permit is None and entry is None and record.turn is None
    if (alone and plan is not None and plan.toolbox is record.core.toolbox) or record.state != QUEUED:
        return True
    if record.turn is not None and not record.claim_held:
        return False
    judged_in = None if plan is None else plan.toolbox if permit is None or permit.toolbox is None else permit.toolbox
    if judged_in is not record.core.toolbox and plan is not None and record.options is not DIRECTLY:
        from ._authorize import is_out_of_date  # noqa: PLC0415  # only where a toolbox is exchanged

        if is_out_of_date(record):
            if entry is not None:
                entry.started = False  # its lease may be over by the time that this is decided
            judge(record)
            return record.hook is None and _is_ready(record)
    if entry is not None and plan is not None and plan.bare and entry.attempt_id is not None and entry.must_start:
        from .keeping._claiming import start  # noqa: PLC0415  # only who has a key pays for it

        start(record)
        return False
    if permit is not None and plan is not None and permit.wants_taking(bare=plan.bare):
        from ._spending import take  # noqa: PLC0415  # only who has rules pays for it

        take(record)
        return False
    return True


def _stand_in_line(record: Record, waits_for: str | None) -> None:
    from ._waits import stand_in_line  # noqa: PLC0415  # only where somebody reads events

    stand_in_line(record, waits_for)


def _leave_line(record: Record) -> None:
    from ._waits import leave_line  # noqa: PLC0415  # as above

    leave_line(record)


async def _ask_hook(record: Record, hook: Hook) -> None:
    # Code of the host's that runs for a queued call: aborted meanwhile, it is cancelled and waited for.
    record.hook = None
    answer: object = None
    failure: BaseException | None = None
    record.hook_scope = trio.CancelScope()
    if record.core.feed.readers:
        _stand_in_line(record, record.waits_for)
    try:
        with record.hook_scope:
            answer = await hook.start()
    except BaseException as exc:  # noqa: ASYNC103  # raises again what is not the hook's own
        failure = _own_failure(record, exc)
    record.hook_scope = None
    if record.open_waits:
        _leave_line(record)
    if record.verdict is not None:
        record.waits_for = None
        end(record, "end", record.effect)
    else:
        hook.then(record, answer, failure)
    failure = None  # as in `_run_body`


def _own_failure(record: Record, exc: BaseException) -> BaseException:
    """What of *exc* is the tool's own failure. Everything else leaves, with the execution recorded.

    Raises:
        KeyboardInterrupt: Never a call's failure: it aborts the whole supervisor.
        trio.Cancelled: The supervisor itself is cancelled.
    """
    _raise_an_interrupt(record, exc)
    found = list(leaves(exc))
    strays = [leaf for leaf in found if issubclass(type(leaf), trio.Cancelled)]
    if strays and is_cancelled():
        if not record.given_up:
            _fall(record, "the supervisor was cancelled")
        raise exc
    if strays and len(strays) == len(found):
        return StrayCancelled(
            f"{record.name!r} raised a trio.Cancelled that belongs to no cancelled scope around it; "
            f"it was probably kept from an earlier call"
        )
    return exc


def _raise_an_interrupt(record: Record, exc: BaseException) -> None:
    for leaf in leaves(exc):
        if issubclass(type(leaf), KeyboardInterrupt):
            _fall(record, "the program was interrupted")
            raise leaf


def _fall(record: Record, reason: str) -> None:
    record.core.fallen = True
    request_abort(record, "supervisor", reason)
    if not record.over:
        cancelled(record)


def engine_error(record: Record, exc: BaseException) -> None:
    """A bug of ours ends the one execution that it hit; it is logged, and the supervisor lives."""
    with suppress(Exception):  # whoever formats the exception runs code of its own
        _log.error("the engine failed in %s (%s): %s", record.id, record.name, Withheld(exc, frames=True))
    record.core.bugs.append(f"{record.id} ({record.name}): {Withheld(exc)}")
    if record.over:
        return
    if record.verdict is None:
        decide(record, ToolError("internal", "ENGINE_ERROR", "the engine failed on this call; please report it"))
    if record.state == QUEUED:
        end(record, "settle", "none")
    elif record.state in FINAL:
        finish(record)
    else:
        effect = record.effect
        end(record, "lose" if effect == "unknown" else "end", effect)
