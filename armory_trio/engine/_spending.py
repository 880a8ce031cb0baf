"""What is set aside for a body, spent when it begins, and given back when it does not; and who is told how it ended."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import trio

from ..definitions import ToolError, ToolFailure, ToolResult
from ..definitions._policy import AfterExecute, PolicyRequest
from ..errors import ApprovalError, GrantError
from ._approving import scope_now, tell_resolved
from ._events import GrantUsed
from ._execution import Record
from ._failures import description_of
from ._permits import RECORD_TIMEOUT, Hook, Permit
from ._plan import Plan, auditors_of
from ._settlement import refuse, refuse_with

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
    if isinstance(failure, ApprovalError | GrantError):
        refuse_with(record, _not_counting(permit, failure))
        return
    _log.warning("what allows %s could not be recorded: %s", record.name, description_of(failure))
    message = f"what allows it could not be recorded ({type(failure).__name__})"
    refuse(record, "permission", "APPROVAL_UNAVAILABLE", message)


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
        try:
            await _written(lambda: store.reserve(binding, scope))
        except trio.TooSlowError:
            permit.held = True  # for all we know; it is given back in any case
            raise
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
        await _written(lambda: store.commit(binding))
        permit.taken = True
        tell_resolved(record, "approved", binding.nonce)
    if permit.reservation is not None and not permit.used:
        grants, reservation = authority.grants, permit.reservation
        assert grants is not None
        await _written(lambda: grants.commit(reservation))
        permit.used = True
        if record.core.feed.readers:
            principal = None if permit.context is None else permit.context.principal
            left = reservation.uses_remaining
            record.tell(GrantUsed, grant_id=reservation.grant_id, principal=principal, uses_remaining=left)


async def use_up_or_fail(record: Record) -> None:
    """The same from within middleware, where what does not count is the failure of the call. Cancelled: as there.

    Raises:
        ToolFailure: It does not count any more.
    """
    permit = record.permit
    assert permit is not None
    try:
        await use_up(record)
    except (ApprovalError, GrantError) as exc:
        error = _not_counting(permit, exc)
        raise ToolFailure(error.message, category=error.category, code=error.code, effect="none") from exc


def _not_counting(permit: Permit, exc: ApprovalError | GrantError) -> ToolError:
    if isinstance(exc, ApprovalError):
        permit.failure = exc
        return ToolError("permission", "APPROVAL_INVALID", f"its approval does not count: {exc}")
    return ToolError("permission", "APPROVAL_INVALID", f"the grant that allowed it does not count any more: {exc}")


async def _written(write: Callable[[], Awaitable[None]]) -> None:
    with trio.fail_after(RECORD_TIMEOUT, shield=True):
        await write()


def ended(record: Record) -> None:
    """Give back what was set aside for a body that was not entered, and tell those who wanted to know."""
    permit, plan = record.permit, record.plan
    if permit is None or plan is None:
        return
    nursery = record.core.nursery
    if not record.attempts and permit.held and not (permit.taken and record.verdict == _PAUSED):
        nursery.start_soon(_give_back_approval, record, permit, name=f"{record.id}: gives back an approval")
    if not record.attempts and permit.reservation is not None:
        give_back_grant(record, permit)
    if permit.request is None or permit.toolbox is None or record.result is None:
        return
    auditors = plan.auditors if permit.toolbox is plan.toolbox else auditors_of(plan.tool, permit.toolbox)
    if auditors:
        nursery.start_soon(_tell, record.name, auditors, permit.request, record.result, name=f"{record.id}: is told")


async def _give_back_approval(record: Record, permit: Permit) -> None:
    store, binding = record.core.settings.authority.approvals, permit.binding
    assert store is not None
    assert binding is not None
    with trio.move_on_after(RECORD_TIMEOUT, shield=True):
        try:
            await store.release(binding)
        except Exception as exc:  # a store of the host's; what is not given back is lost, never run twice
            _log.warning("an approval could not be given back: %r", exc)


def give_back_grant(record: Record, permit: Permit) -> None:
    """Give back the use of a grant that is set aside for *record*."""
    store, reservation = record.core.settings.authority.grants, permit.reservation
    permit.reservation, permit.used = None, False
    assert store is not None
    assert reservation is not None

    async def give_back() -> None:
        with trio.move_on_after(RECORD_TIMEOUT, shield=True):
            try:
                await store.release(reservation)
            except Exception as exc:  # as above
                _log.warning("a use of a grant could not be given back: %r", exc)

    record.core.nursery.start_soon(give_back, name=f"{record.id}: gives back a use of a grant")


async def _tell(
    name: str, auditors: Sequence[AfterExecute], request: PolicyRequest, result: ToolResult[object]
) -> None:
    for tell in auditors:
        with trio.move_on_after(RECORD_TIMEOUT, shield=True) as scope:
            try:
                answer = tell(request, result)
                if inspect.isawaitable(answer):
                    await answer
            except (Exception, SystemExit) as exc:  # it was only told: nothing depends on it
                _log.warning("a policy was told how %s ended, and failed: %s", name, description_of(exc))
        if scope.cancelled_caught:
            _log.warning("a policy was told how %s ended, and took longer than %g s", name, RECORD_TIMEOUT)
