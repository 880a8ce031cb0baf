"""What is set aside for a body, spent when it begins, and given back when it does not; and who is told how it ended."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Final

import trio

from ..definitions import ToolError, ToolFailure, ToolResult
from ..definitions._exceptions import Withheld, leaves
from ..definitions._policy import AfterExecute, PolicyRequest
from ..errors import ApprovalError, GrantError
from ._approving import scope_now, tell_resolved, written
from ._concurrency import is_cancelled
from ._events import GrantUsed
from ._execution import CURRENT, Record
from ._permits import NOT_COUNTING, RECORD_TIMEOUT, Hook, Permit
from ._plan import Plan, auditors_of
from ._settlement import refuse_with

_log: Final = logging.getLogger("armory_trio.engine")

_PAUSED: Final = ("action_required", None, None)


def take(record: Record) -> None:
    """Let the record set aside, before its body begins, what it needs for that."""
    assert record.plan is not None
    record.waits_for = "approval"
    record.hook = Hook(partial(_take_up, record, record.plan), _taken)


def _taken(record: Record, _answer: object, failure: BaseException | None) -> None:
    permit = record.permit
    assert permit is not None
    record.waits_for = None
    if failure is None:
        return
    refuse_with(record, _why_not(record, permit, failure))


async def _take_up(record: Record, plan: Plan) -> None:
    """Set aside the approval that the call was resumed with; and if its body begins at once, use it up.

    Cancelled: never halfway; what was set aside is given back when the call has ended.

    Raises:
        ApprovalError: It does not count.
    """
    permit = record.permit
    assert permit is not None
    store = record.core.settings.authority.approvals
    if permit.binding is not None and not permit.held:
        assert store is not None
        assert permit.approved is not None
        binding, scope = permit.binding, scope_now(record, plan, permit, permit.approved)
        # Where nobody knows whether it was reserved, it is not given back: by now somebody else may have used it up.
        await written(lambda: store.reserve(binding, scope))
        permit.held = True
    if plan.bare:
        await use_up(record)


async def use_up(record: Record) -> None:
    """The body begins: what was set aside for it is spent. Nothing is spent twice.

    Cancelled: never halfway.

    Raises:
        ApprovalError, GrantError: It does not count any more.
    """
    permit = record.permit
    assert permit is not None
    authority = record.core.settings.authority
    if permit.binding is not None and permit.held and not permit.taken:
        store, binding = authority.approvals, permit.binding
        assert store is not None
        await written(lambda: store.commit(binding))
        permit.taken = True
        tell_resolved(record, "approved", binding.nonce)
    if permit.reservation is not None and not permit.used:
        grants, reservation = authority.grants, permit.reservation
        assert grants is not None
        await written(lambda: grants.commit(reservation))
        permit.used = True
        if record.core.feed.readers:
            principal = None if permit.context is None else permit.context.principal
            left = reservation.uses_remaining
            record.tell(GrantUsed, grant_id=reservation.grant_id, principal=principal, uses_remaining=left)
    stale = None if record.attempts else permit.outdated(record.core.toolbox)
    if stale is not None:
        raise stale  # the toolbox was exchanged meanwhile, or since middleware began


async def use_up_or_fail(record: Record) -> None:
    """The same from within middleware, where what goes wrong is the failure of the call. Cancelled: as there.

    Raises:
        ToolFailure: It does not count any more, or that it is spent could not be recorded.
    """
    permit = record.permit
    assert permit is not None
    try:
        await use_up(record)
    except Exception as exc:  # a store of the host's
        error = _why_not(record, permit, exc)
        raise ToolFailure(error.message, category=error.category, code=error.code, effect="none") from exc


def _why_not(record: Record, permit: Permit, exc: BaseException) -> ToolError:
    if isinstance(exc, ApprovalError):
        permit.failure = exc
        return ToolError("permission", NOT_COUNTING, f"its approval does not count: {exc}")
    if isinstance(exc, GrantError):
        return ToolError("permission", NOT_COUNTING, f"the grant that allowed it does not count any more: {exc}")
    _log.warning("what allows %s could not be recorded: %s", record.name, Withheld(exc))
    message = f"what allows it could not be recorded ({type(exc).__name__})"
    return ToolError("permission", "APPROVAL_UNAVAILABLE", message)


def ended(record: Record) -> None:
    """Give back what was set aside for a body that was not entered, and tell those who wanted to know."""
    permit, plan = record.permit, record.plan
    if permit is None or plan is None:
        return
    asked_on = permit.taken and permit.satisfied and record.verdict == _PAUSED  # its answer is in the next descriptor
    if not record.attempts and permit.held and not asked_on:
        _beside(record, partial(_give_back_approval, record, permit), "gives back an approval")
    if not record.attempts and permit.reservation is not None:
        give_back_grant(record, permit)
    if permit.request is None or permit.toolbox is None or record.result is None:
        return
    auditors = plan.auditors if permit.toolbox is plan.toolbox else auditors_of(plan.tool, permit.toolbox)
    if auditors:
        _beside(record, partial(_tell, record.name, auditors, permit.request, record.result), "tells of its end")


async def _give_back_approval(record: Record, permit: Permit) -> None:
    store, binding = record.core.settings.authority.approvals, permit.binding
    assert store is not None
    assert binding is not None
    # What is not given back is lost, and nothing is run twice.
    await _contained("an approval could not be given back", lambda: store.release(binding))


def give_back_grant(record: Record, permit: Permit) -> None:
    """Give back the use of a grant that is set aside for *record*."""
    store, reservation = record.core.settings.authority.grants, permit.reservation
    permit.reservation, permit.granted, permit.used = None, None, False
    assert store is not None
    assert reservation is not None

    async def give_back() -> None:
        await _contained("a use of a grant could not be given back", lambda: store.release(reservation))

    _beside(record, give_back, "gives back a use of a grant")


def _beside(record: Record, task: Callable[[], Awaitable[None]], what: str) -> None:
    """Do *task* in a task of its own, which belongs to *record*, that is over, and to nobody who ended it."""
    context = copy_context()
    context.run(CURRENT.set, record)
    with suppress(RuntimeError):  # the supervisor is closed already: a thread that was left behind ended just now
        context.run(partial(record.core.nursery.start_soon, task, name=f"{record.id}: {what}"))


async def _tell(
    name: str, auditors: Sequence[AfterExecute], request: PolicyRequest, result: ToolResult[object]
) -> None:
    for tell in auditors:
        await _contained(f"a policy was told how {name} ended, and failed", partial(_told, tell, request, result))


async def _told(tell: AfterExecute, request: PolicyRequest, result: ToolResult[object]) -> None:
    answer = tell(request, result)
    if inspect.isawaitable(answer):
        await answer


async def _contained(trouble: str, work: Callable[[], Awaitable[None]]) -> None:
    """Code of the host's on which nothing depends: what it raises, or that it takes too long, is written to the log.

    Cancelled: never; *work* is, after `RECORD_TIMEOUT`.
    """
    with trio.move_on_after(RECORD_TIMEOUT, shield=True) as scope:  # noqa: ASYNC912  # that is for *work* to be
        try:
            await work()
        except BaseException as exc:  # noqa: ASYNC103  # raises again what is not its own
            if _has_to_leave(exc):
                raise
            _log.warning("%s: %s", trouble, Withheld(exc))
    if scope.cancelled_caught:
        _log.warning("%s: it took longer than %g s", trouble, RECORD_TIMEOUT)


def _has_to_leave(exc: BaseException) -> bool:
    """Whether the program is interrupted, or the task really cancelled: a kept `trio.Cancelled` is an error like others."""
    found = [type(leaf) for leaf in leaves(exc)]
    interrupted = any(issubclass(kind, KeyboardInterrupt) for kind in found)
    return interrupted or (is_cancelled() and any(issubclass(kind, trio.Cancelled) for kind in found))
