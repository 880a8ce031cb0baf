"""The ledger on the way of a call: whether it was done before, is being done, or is begun now."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, cast

import msgspec
import trio

from ...definitions import ToolResult, canonical_text
from ...definitions._checks import a_kind
from ...ledger import (
    Answer,
    Attempt,
    Claim,
    Fresh,
    LedgerKey,
    Receipt,
    Running,
    Unknown,
)
from .._execution import Record
from .._failures import description_of, undeclared
from .._permits import Hook
from .._plan import Plan
from .._settlement import refuse, wake
from .._waits import wait_for_else
from ._deciding import decided, decides, may_wait, require_countable, require_heard, require_other
from ._entries import Entry
from ._following import Elsewhere, above_of, joining
from ._line import Place
from ._recorded import LEDGER, Cycle, Joined, claimed
from ._refusals import FenceLost

_REFENCED_AT_MOST: Final = 8
"""Leases that may be over before the body of one call could begin; each time its key is claimed anew."""

_FENCE_BYTES: Final = 18


def key_of(record: Record, plan: Plan) -> str | None:
    """The key of the call: its caller's, or else the tool's; None if it has none.

    What the tool's function raises passes through.

    Raises:
        TypeError: It answered something that is no text.
    """
    if record.options.idempotency_key is not None:
        return record.options.idempotency_key
    function = plan.tool.options.idempotency_key
    if function is None:
        return None
    arguments = cast("Mapping[str, object]", plan.tool.contract.dump(record.validated))
    found = cast("object", function(arguments))
    if found is None:
        return None
    if not isinstance(found, str):
        if inspect.iscoroutine(found):
            found.close()
        raise TypeError(f"idempotency_key answered {a_kind(found)}; answer text, or None")
    return found if found.strip() else None


def take_entry(record: Record, plan: Plan) -> bool:
    """See what of the ledger the call needs. False if it is over: its key can't be used, so that it was refused."""
    record.entry = None
    try:
        key = key_of(record, plan)
        if record.over:
            return False  # the function of the tool aborted it
        entry = _entry_for(record, plan, key)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # noqa: ASYNC103  # a function of the user's may raise anything; nothing is awaited
        reason = undeclared(record, description_of(exc))
        message = f"the idempotency key of {plan.name!r} could not be told: {reason}"
        refuse(record, "internal", "INTERNAL_ERROR", message)
        return False  # noqa: ASYNC104  # as said
    record.entry = entry
    if key is None and plan.key_required:
        message = f"the tool {plan.name!r} only runs with an idempotency key, and this call has none"
        refuse(record, "validation", "IDEMPOTENCY_KEY_REQUIRED", message)
    elif key is not None and entry is None:
        message = "an idempotency key counts within a tenant: give request_context= with one"
        refuse(record, "permission", "AUTHORITY_REQUIRED", message)
    elif record.options.resolution_receipt is not None:
        _require_about(record, entry if key is not None else None, record.options.resolution_receipt)
    return not record.over


def _require_about(record: Record, entry: Entry | None, receipt: Receipt) -> None:
    """Refuse a call whose receipt is about another key: it was brought so that nothing is done a second time."""
    if entry is None:
        message = "the receipt is about an idempotency key, and this call has none: give idempotency_key="
    elif (receipt.tenant, receipt.tool_id, receipt.key) != (entry.key.tenant, entry.key.tool_id, entry.text):
        message = "the receipt does not count: it is about another tenant, tool or key than this call"
    else:
        return
    refuse(record, "permission", "AUTHORITY_REQUIRED", message)


def _entry_for(record: Record, plan: Plan, key: str | None) -> Entry | None:
    """What a call with this *key* needs of the ledger. None: nothing; or, where there is a key, nothing yet.

    Raises:
        JsonError: The key, or the tenant, can't be written down.
    """
    ledger, context = record.core.ledger, record.request_context
    tenant = None if context is None else context.tenant
    if key is None:
        if not ledger.durable or plan.read_only:
            return None
    elif tenant is None:
        return None
    ledger_key = LedgerKey(tenant or "", plan.id, key or record.id, ledger.host if key is None else None)
    entry = Entry(ledger.store, ledger_key, record.id, _left, recovery_only=key is None)
    entry.receipt = None if key is None else record.options.resolution_receipt
    return entry


def _callers(record: Record) -> Iterator[Entry]:
    """What those hold in a ledger that called *record*, directly or not, and that claim to change nothing themselves."""
    starter = None if record.started_by is None else record.core.live.get(record.started_by)
    for above in above_of(record, starter):
        plan, entry = above.plan, above.entry
        if entry is not None and plan is not None and (plan.read_only or plan.effect_windows):
            yield entry


def claim(record: Record) -> None:
    """Ask the ledger whether the call was done before, is being done, or may begin."""
    record.waits_for = LEDGER
    record.hook = Hook(partial(_claim, record), claimed)


async def _claim(record: Record) -> object:
    """Claim an attempt; wait for one that runs. Cancelled: what was claimed is released when the call has ended."""
    plan, entry = record.plan, record.entry
    assert plan is not None
    assert entry is not None
    made, place = _claim_of(record, plan, entry), Place()
    entry.arguments = made.arguments
    entry.callers = () if plan.read_only else tuple(_callers(record))
    elsewhere = Elsewhere(record, entry, _keyed_callers(record))
    ended: object = None
    try:
        await require_countable(record, entry, made)
        while ended is None:
            found = await _asked(entry, made)
            place.leave()
            waits_for = _going_on(record, plan, entry, found)
            if waits_for is None:
                found = await decided(record, entry, made, found) or await _asked(entry, made)
                waits_for = _going_on(record, plan, entry, found)
            if waits_for is None or not may_wait(entry.receipt, waits_for):
                require_heard(entry.receipt, found)
            if isinstance(found, Fresh):
                entry.receipt = None  # it is used
                return await _hold(record, entry, place, elsewhere, found)
            ended = found
            if waits_for is not None:
                ended = await _wait_for(record, entry, waits_for, place, elsewhere)
    finally:
        place.leave()
        await elsewhere.stop()  # noqa: ASYNC102  # shields itself, and is bounded
    return ended


async def _hold(record: Record, entry: Entry, place: Place, elsewhere: Elsewhere, found: Fresh) -> object:
    """Keep what was claimed. If a body of an earlier attempt is still there, here, what that came to is what happened."""
    ledger = record.core.ledger
    entry.attempt_id, entry.goes_on = found.attempt.attempt_id, found.attempt.pause is not None
    ahead = ledger.mine.get(entry.text)
    ledger.hold(entry)
    leader = None if ahead is None or not ahead.started else record.core.live.get(ahead.execution_id)
    if ahead is None or leader is None:
        return found
    return await _join(record, leader, ahead, place, elsewhere) or found


def _going_on(record: Record, plan: Plan, entry: Entry, found: Answer) -> Attempt | None:
    """The attempt that has to be waited for: its lease is live, or its body is still there in this supervisor."""
    if isinstance(found, Running):
        return found.attempt
    if not isinstance(found, Unknown) or not decides(plan, entry):
        return None
    ahead = record.core.ledger.mine.get(entry.text)
    here = ahead is not None and ahead.attempt_id == found.attempt.attempt_id and ahead.execution_id in record.core.live
    return found.attempt if here else None


async def _wait_for(record: Record, entry: Entry, attempt: Attempt, place: Place, elsewhere: Elsewhere) -> object:
    """Wait for the attempt of somebody else, here or elsewhere. None: ask again what became of it."""
    caller = _caller_named(record, attempt.execution_id)
    if caller is not None:
        return Cycle(
            "IDEMPOTENCY_CYCLE", f"{caller.name!r} ({caller.id}), which called it, has the same idempotency key"
        )
    ahead = record.core.ledger.mine.get(entry.text)
    leader = None if ahead is None else record.core.live.get(ahead.execution_id)
    if ahead is not None and leader is not None:
        return await _join(record, leader, ahead, place, elsewhere)
    cycle = await elsewhere.wait(attempt)
    return None if cycle is None else Cycle("CAPACITY_CYCLE", cycle)


def _keyed_callers(record: Record) -> Iterator[Entry]:
    """What those hold in a ledger that called *record*, directly or not, under keys that others may wait for."""
    for above in above_of(record):
        if above.entry is not None and above.entry.attempt_id is not None and not above.entry.recovery_only:
            yield above.entry


def _caller_named(record: Record, execution_id: str) -> Record | None:
    """Who called *record*, directly or not, if that is its id."""
    return next((above for above in above_of(record) if above.id == execution_id), None)


def _claim_of(record: Record, plan: Plan, entry: Entry) -> Claim:
    ledger = record.core.ledger
    return Claim(
        key=entry.key,
        tool_name=plan.name,
        attempt_id=secrets.token_urlsafe(_FENCE_BYTES),
        arguments=canonical_text(plan.tool.contract.dump(record.validated), mode="exact"),
        execution_id=record.id,
        host=ledger.host,
        policy_revision=record.core.toolbox.policy_revision,
        read_only=plan.read_only,
        windows_declared=plan.effect_windows,
        deduplicates=not entry.recovery_only,
        lease=ledger.lease,
        cap=ledger.cap,
        resumes=None if record.journal is None else record.journal.resumes,
        before="none" if record.journal is None else record.journal.before,
    )


async def _asked(entry: Entry, made: Claim) -> Answer:
    # Shielded, so that what is claimed is known to be: a call that is stopped meanwhile gives it back.
    found = await entry.do(made)
    if isinstance(found, Fresh):
        entry.attempt_id = found.attempt.attempt_id
    await trio.lowlevel.checkpoint_if_cancelled()
    return found


async def _join(record: Record, leader: Record, ahead: Entry, place: Place, elsewhere: Elsewhere) -> object:
    """Wait for *leader*. None if its body never began: then those who waited take its place in their order."""
    entry = record.entry
    assert entry is not None
    wait_for_else(record, f"joined:{leader.id}")
    record.publish()
    await elsewhere.note()
    place.stand(ahead.line)
    if leader.feeder is not None:
        leader.feeder.others_wait()
    while not ahead.over.is_set:
        with joining(record, leader, holder=record.parent) as cycle:
            if cycle is not None:
                return Cycle("CAPACITY_CYCLE", cycle)
            await ahead.news.wait()
    wait_for_else(record, LEDGER)
    if ahead.result is not None:
        require_other(entry.receipt, ahead.attempt_id)
        return Joined(ahead.result)
    await place.come_first()
    return None


def start(record: Record) -> None:
    """Let the ledger write down that the body is about to begin."""
    assert record.entry is not None
    record.waits_for = LEDGER
    record.hook = Hook(partial(record.entry.start, record.judged_in.policy_revision), _started)


def _started(record: Record, _answer: object, failure: BaseException | None) -> None:
    record.waits_for = None
    entry, plan = record.entry, record.plan
    assert entry is not None
    assert plan is not None
    if failure is None:
        return
    if isinstance(failure, FenceLost):
        _claim_anew(record, entry)
    elif plan.read_only:
        entry.go_on_unrecorded()
    else:
        refuse(record, "unavailable", "LEDGER_UNAVAILABLE", f"its start can't be recorded: {failure}")


def _claim_anew(record: Record, entry: Entry) -> None:
    """Its place was taken before its body could begin: ask what became of that, and hold nothing meanwhile."""
    record.core.ledger.let_go(entry)
    entry.attempt_id, entry.lost, entry.tried = None, False, False
    entry.refenced += 1
    if entry.refenced > _REFENCED_AT_MOST:
        message = f"its lease was over {entry.refenced} times before it could begin: the store is slower than that"
        refuse(record, "unavailable", "LEDGER_UNAVAILABLE", message)
        return
    _leave_room(record)
    claim(record)


def _leave_room(record: Record) -> None:
    """Give back the slots of *record*, which may have to wait for somebody else who needs them."""
    held, planner = record.claim, record.core.planner
    if held is not None:
        wake(record.core, planner.release(held) if record.claim_held else planner.withdraw(held))
        record.claim, record.claim_held, record.turn = None, False, None


def give_up(record: Record) -> None:
    """Let go of what *record*, whose body has not begun, has claimed: it will claim something else."""
    entry = record.entry
    assert entry is not None
    record.entry = None
    record.core.ledger.let_go(entry)
    _leave_room(record)
    record.core.nursery.start_soon(_release, entry, name=f"{record.id}: gives up a claim")


async def _release(entry: Entry) -> None:
    try:
        await entry.release()
    finally:
        entry.let_them_go()


def _left(record: Record) -> None:
    """*record* is over: let go of what it holds, and let those go who wait for it."""
    entry, ledger = record.entry, record.core.ledger
    if entry is None:
        return
    ledger.let_go(entry)
    if entry.attempt_id is None or entry.ended or record.result is None:
        entry.let_them_go()
        return
    result = msgspec.structs.replace(record.result, effect=record.effect)
    name = f"{record.id}: leaves the ledger"
    record.core.nursery.start_soon(_give_back, entry, result, record.attempts, name=name)


async def _give_back(entry: Entry, result: ToolResult[object], attempts: int) -> None:
    """Write down how a call ended that was not held back for that: before its body began, or when everything fell."""
    try:
        await entry.end(result, None, attempts=attempts)
    finally:
        entry.let_them_go()
