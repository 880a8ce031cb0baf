"""What is decided about an attempt that stands in the way: by a receipt, or by whoever can ask the far side."""

from __future__ import annotations

import inspect
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping
from typing import Final, cast

import msgspec
import trio

from ...definitions import Tool, canonical_text
from ...definitions._checks import a_kind, flag
from ...definitions._exceptions import Withheld
from ...definitions._outputs import OutputContract
from ...errors import ArmoryError, StoreUnavailable
from ...ledger import (
    Answer,
    Attempt,
    AuthorizationReceipt,
    Claim,
    Conflict,
    Done,
    FenceLost,
    Fresh,
    LedgerStore,
    LeftBehind,
    LegacyReceipt,
    Operation,
    Receipt,
    ReceiptError,
    Reconciled,
    Recorded,
    Refused,
    Release,
    ResolutionReceipt,
    Unknown,
    UnknownAttempt,
    apply,
    authorize_with,
    is_waiting,
    legacy_attempt_id,
    receipt_for,
    resolve_with,
    sign_receipt,
    verify_receipt,
)
from .._authority import Authority
from .._concurrency import is_cancelled, raise_interrupt
from .._execution import Core, Record
from .._permits import RECORD_TIMEOUT
from .._plan import Plan
from ._entries import Entry, done_within
from ._refusals import LedgerUnavailable

_SILENCES: Final = 3
"""How often in a row the far side of one tool may be silent before `recover` asks it nothing more: a thousand attempts
don't take a thousand times as long, and one that it never answers about does not keep the others from being asked about."""

_log: Final = logging.getLogger("armory_trio.engine")


class _Silent(ArmoryError):
    """The far side of a tool did not answer in time."""


async def _verified_in(authority: Authority, receipt: Receipt, tenant: str) -> None:
    """Return if *receipt* is signed with a key of the supervisor. Cancelled: nothing is decided.

    Raises:
        ReceiptError: It is not.
        LedgerUnavailable: Its keys did not answer in time.
    """
    if authority.keys is None:
        raise ReceiptError("unsigned", "this supervisor has no keys: open it with keys=")
    try:
        with trio.fail_after(RECORD_TIMEOUT):
            await verify_receipt(authority.keys, receipt, domain=authority.domain_of(tenant))
    except trio.TooSlowError as exc:
        raise LedgerUnavailable(f"the keys of the supervisor did not answer within {RECORD_TIMEOUT:g} s") from exc


def decides(plan: Plan, entry: Entry) -> bool:
    """Whether a call has something to say about an attempt of which nobody knows how it ended."""
    return entry.receipt is not None or plan.tool.options.reconcile is not None


async def require_countable(record: Record, entry: Entry, made: Claim) -> None:
    """Return if the receipt that the call brought, if it did, is signed, and may have a part in how things stand.

    Cancelled: nothing is decided.

    Raises:
        ReceiptError: It is not, or *made* would let the call run without it.
        LedgerUnavailable: The keys, or the store, did not answer in time.
    """
    if entry.receipt is None:
        return
    await _verified_in(record.core.settings.authority, entry.receipt, entry.key.tenant)
    # Seen before anything is claimed, so that a call that is refused takes no place that is meant for another.
    _, foreseen = apply(await entry.load(entry.text), made, entry.store.now())
    if isinstance(foreseen, Fresh):
        require_heard(entry.receipt, foreseen)


async def decided(record: Record, entry: Entry, made: Claim, found: Answer) -> Answer | None:
    """What *found*, which stands in the way of *made*, has become by what is decided about it; None: ask again.

    Cancelled: what was decided stands.

    Raises:
        ReceiptError: The receipt of the call, which must be verified, does not count.
        LedgerUnavailable: It may or may not have been done.
    """
    if entry.receipt is not None:
        operation = _operation_of(entry.receipt, found, made, record.core.toolbox.policy_revision)
    else:
        operation = await _reconciled(record, entry, made, found)
    if operation is None:
        return found
    answer = await entry.do(operation)
    return answer if isinstance(answer, Fresh) else None  # decided so, or by somebody else meanwhile


def _operation_of(receipt: Receipt, found: Answer, made: Claim, revision: str) -> Operation | None:
    """What *receipt* does about *found* under the policy *revision*; None if nothing is left to be done."""
    if isinstance(receipt, AuthorizationReceipt):
        if not isinstance(found, Recorded) or found.attempt.policy_revision == revision:
            return None
        if receipt.policy_revision != revision:
            raise ReceiptError("mismatch", "policy_revision is not the one that is in force")
        return authorize_with(receipt, found.attempt)
    if not isinstance(found, Recorded | Unknown):
        return None
    if isinstance(found, Recorded) and (not is_waiting(found.attempt) or _is_heard(receipt, found.attempt)):
        return None
    return resolve_with(receipt, found.attempt, claim=made if receipt.decision == "retry" else None)


async def _reconciled(record: Record, entry: Entry, made: Claim, found: Answer) -> Operation | None:
    """What the tool's ``reconcile`` does about *found*; None if it can't tell, or need not."""
    if not isinstance(found, Unknown):
        return None
    assert record.plan is not None
    authority = record.core.settings.authority
    try:
        receipt = await _ask_far_side(record.plan.tool, found.attempt, entry.store, authority)
    except _Silent:
        return None
    if receipt is None:
        return None
    return resolve_with(receipt, found.attempt, claim=made if receipt.decision == "retry" else None)


def require_heard(receipt: Receipt | None, found: Answer) -> None:
    """Refuse to go on from *found* if the call brought a *receipt* that is about something else, or came too late.

    It was brought so that nothing is done a second time: a call that it has no part in does not run, nor is it told
    what it did not expect.

    Raises:
        ReceiptError: It is so; the error says how things stand.
    """
    if receipt is None or isinstance(found, Conflict | Refused | FenceLost | Done):
        return
    attempt = found.attempt
    if _is_heard(receipt, attempt):
        return
    if isinstance(found, Fresh) and attempt.pause is not None:
        why = "the call goes on from where it waits, about which nothing is to be decided then"
    elif isinstance(found, Fresh):
        why = "the attempt that it is about is not there any more"
    elif attempt.attempt_id != _attempt_of(receipt):
        why = "attempt_id is not that of the attempt that is there"
    elif isinstance(found, Unknown):
        why = "it decides nothing about an attempt of which nobody knows how it ended"
    elif attempt.receipt is None:
        why = f"the attempt is {attempt.state}, and nothing has to be decided about it"
    else:
        why = f"it was decided otherwise: the attempt is {attempt.state} by another receipt"
    raise ReceiptError("mismatch", why)


def may_wait(receipt: Receipt | None, attempt: Attempt) -> bool:
    """Whether a call with that *receipt* waits for *attempt*, at which somebody is."""
    return receipt is None or attempt.attempt_id == _attempt_of(receipt) or _is_heard(receipt, attempt)


def require_other(receipt: Receipt | None, attempt_id: str | None) -> None:
    """Refuse to tell what the attempt of that id came to by itself, if the call brought a *receipt* to decide about it.

    Raises:
        ReceiptError: It is so.
    """
    if receipt is not None and attempt_id == _attempt_of(receipt):
        raise ReceiptError("mismatch", "the attempt was still going on, and has ended by itself since")


def _is_heard(receipt: Receipt, attempt: Attempt) -> bool:
    """Whether *attempt* stands as it does because of *receipt*, or of another one that said the same about it."""
    text = canonical_text(receipt.to_json(), mode="interop")
    if text in (attempt.receipt, attempt.authorization):
        return True
    if attempt.attempt_id != _attempt_of(receipt):
        return False
    if isinstance(receipt, AuthorizationReceipt):
        return attempt.state == "completed" and attempt.policy_revision == receipt.policy_revision
    return attempt.receipt is not None and (attempt.state, attempt.result) == (receipt.decision, receipt.result)


def _attempt_of(receipt: Receipt) -> str:
    if isinstance(receipt, LegacyReceipt):
        return legacy_attempt_id(receipt.legacy_started_at)
    return receipt.attempt_id


async def recover(core: Core, *, reconcile: bool, release: bool) -> LeftBehind:
    """What is left behind in the ledger of *core*, after what can be has been settled. See `Approvals.recover`."""
    flag("recover", "reconcile", reconcile)
    flag("recover", "release", release)
    if not core.ledger.durable:
        await trio.lowlevel.checkpoint()
        return LeftBehind()
    left = await core.ledger.left()
    if reconcile:
        await _ask_about(left.unknown, core)
    for attempt in left.again if release else ():
        await _do(core.ledger.store, Release(attempt.key, attempt.attempt_id))
    return await core.ledger.left() if reconcile or release else left


async def _ask_about(attempts: Iterable[Attempt], core: Core) -> None:
    """Have the far sides asked about *attempts*, one by one, and do what they decide."""
    ledger, authority = core.ledger, core.settings.authority
    tools = {tool.id.text: tool for tool in core.toolbox.tools}
    silences = Counter[str]()
    for attempt in attempts:
        tool = tools.get(attempt.tool_id)
        if tool is None or ledger.is_at(attempt) or silences[attempt.tool_id] >= _SILENCES:
            continue  # where its body is still there, what it comes to is what happened
        try:
            receipt = await _ask_far_side(tool, attempt, ledger.store, authority)
        except _Silent:
            silences[attempt.tool_id] += 1
            continue
        del silences[attempt.tool_id]
        if receipt is not None:
            await _do(ledger.store, resolve_with(receipt, attempt))


async def _do(store: LedgerStore, operation: Operation) -> None:
    try:
        await done_within(store, operation)
    except LedgerUnavailable as exc:
        raise StoreUnavailable("the ledger", str(exc), maybe_done=True) from exc


async def _ask_far_side(
    tool: Tool[..., object], attempt: Attempt, store: LedgerStore, authority: Authority
) -> ResolutionReceipt | LegacyReceipt | None:
    """What the tool's ``reconcile`` knows about *attempt*, as a receipt; None if it can't tell.

    Signed if the supervisor has keys. Cancelled: nothing is decided.

    Raises:
        _Silent: It did not answer in time, which is logged.
    """
    hook = tool.options.reconcile
    if hook is None:
        return None
    try:
        answer = cast("object", hook(_shown(attempt)))
        if inspect.isawaitable(answer):
            answer = await _in_time(answer, tool)
        if answer is None:
            return None
        receipt = _receipt_of(_required(answer), tool, attempt, store.now())
        with trio.fail_after(RECORD_TIMEOUT):
            return await _signed(receipt, authority)
    except _Silent as exc:
        _log.warning("reconcile of %s: %s", tool.name, exc)
        raise
    except BaseException as exc:  # noqa: ASYNC103  # whatever code of the host's raises, it has not told
        raise_interrupt(exc)
        if isinstance(exc, trio.Cancelled) and is_cancelled():  # else it is one that the host kept
            raise
        _log.warning("reconcile of %s could not tell what became of an attempt: %s", tool.name, Withheld(exc))
    await trio.lowlevel.checkpoint_if_cancelled()  # which a nursery of its own may have put into a group
    return None


async def _in_time(answer: Awaitable[object], tool: Tool[..., object]) -> object:
    limit = tool.options.reconcile_timeout
    with trio.move_on_after(limit) as scope:
        return await answer
    assert scope.cancelled_caught
    raise _Silent(f"the far side did not answer within {limit:g} s, so nothing is decided")


async def _signed(
    receipt: ResolutionReceipt | LegacyReceipt, authority: Authority
) -> ResolutionReceipt | LegacyReceipt:
    if authority.keys is None:
        return receipt
    return await sign_receipt(authority.keys, receipt, domain=authority.domain_of(receipt.tenant))


def _required(answer: object) -> Reconciled:
    if not isinstance(answer, Reconciled):
        raise TypeError(f"it answered {a_kind(answer)}; answer Reconciled(...), or None")
    return answer


def _receipt_of(
    answer: Reconciled, tool: Tool[..., object], attempt: Attempt, now: float
) -> ResolutionReceipt | LegacyReceipt:
    return receipt_for(
        attempt,
        answer.decision,
        evidence=answer.evidence,
        authorized_by=f"reconcile of {tool.name}",
        authorized_at=now,
        result=_result_of(answer, tool.output_contract),
    )


def _shown(attempt: Attempt) -> UnknownAttempt:
    key = cast("list[str]", json.loads(attempt.key))[-1]
    arguments: object = json.loads(attempt.arguments) if attempt.arguments else {}
    return UnknownAttempt(
        tool_name=attempt.tool_name,
        tenant=attempt.tenant,
        key=key if attempt.deduplicates else None,
        arguments=cast("Mapping[str, object]", arguments),
        attempt_id=attempt.attempt_id,
        number=attempt.number,
        started_at=attempt.claimed_at if attempt.started_at is None else attempt.started_at,
        effect=attempt.effect,
    )


def _result_of(answer: Reconciled, output: OutputContract | None) -> str | None:
    if answer.decision != "completed":
        return None
    value = answer.value if output is None else output.dump(output.validate(answer.value))
    return canonical_text(msgspec.to_builtins(value), mode="exact")
