"""What is decided about an attempt that stands in the way: by a receipt, or by whoever can ask the far side."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Mapping
from typing import Final, cast

import msgspec
import trio

from ..definitions import Tool, canonical_text
from ..definitions._outputs import OutputContract
from ..errors import StoreUnavailable
from ..ledger import (
    Answer,
    Attempt,
    AuthorizationReceipt,
    Claim,
    Fresh,
    LedgerStore,
    LeftBehind,
    LegacyReceipt,
    Operation,
    Receipt,
    ReceiptError,
    Reconciled,
    Recorded,
    Release,
    ResolutionReceipt,
    Unknown,
    UnknownAttempt,
    authorize_with,
    receipt_for,
    resolve_with,
    sign_receipt,
    verify_receipt,
)
from ._authority import Authority
from ._entries import Entry, LedgerUnavailable, done_within
from ._execution import Core, Record
from ._failures import description_of
from ._permits import RECORD_TIMEOUT
from ._plan import Plan

_log: Final = logging.getLogger("armory_trio.engine")


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


async def decided(record: Record, entry: Entry, made: Claim, found: Answer) -> Answer | None:
    """What *found*, which stands in the way of *made*, has become by what is decided about it; None: ask again.

    Cancelled: what was decided stands.

    Raises:
        ReceiptError: The receipt of the call does not count.
        LedgerUnavailable: It may or may not have been done.
    """
    authority, receipt = record.core.settings.authority, entry.receipt
    if isinstance(found, Recorded):
        return await _authorized(record, entry, found)
    if not isinstance(found, Unknown):
        return found
    if receipt is not None:
        await _verified_in(authority, receipt, entry.key.tenant)
    else:
        assert record.plan is not None
        receipt = await ask_far_side(record.plan.tool, found.attempt, entry.store, authority)
        if receipt is None:
            return found
    again = not isinstance(receipt, AuthorizationReceipt) and receipt.decision == "retry"
    answer = await entry.do(resolve_with(receipt, found.attempt, claim=made if again else None))
    return answer if isinstance(answer, Fresh) else None  # decided so, or by somebody else meanwhile


async def _authorized(record: Record, entry: Entry, found: Recorded) -> Answer | None:
    """Let the result of *found* be told under the rules of today, if the call has a receipt that says so."""
    receipt, revision = entry.receipt, record.core.toolbox.policy_revision
    if not isinstance(receipt, AuthorizationReceipt) or found.attempt.policy_revision == revision:
        return found
    await _verified_in(record.core.settings.authority, receipt, entry.key.tenant)
    if receipt.policy_revision != revision:
        raise ReceiptError("mismatch", "policy_revision is not the one that is in force")
    await entry.do(authorize_with(receipt, found.attempt))
    return None


async def recover(core: Core, *, reconcile: bool, release: bool) -> LeftBehind:
    """What is left behind in the ledger of *core*, after what can be has been settled. See `Approvals.recover`."""
    ledger, authority = core.ledger, core.settings.authority
    left = await ledger.left()
    tools = {tool.id.text: tool for tool in core.toolbox.tools}
    for attempt in left.unknown if reconcile else ():
        tool = tools.get(attempt.tool_id)
        if ledger.is_at(attempt):
            continue  # its body is still there: what it comes to is what happened
        receipt = None if tool is None else await ask_far_side(tool, attempt, ledger.store, authority)
        if receipt is not None:
            await _do(ledger.store, resolve_with(receipt, attempt))
    for attempt in left.again if release else ():
        await _do(ledger.store, Release(attempt.key, attempt.attempt_id))
    return await ledger.left() if reconcile or release else left


async def _do(store: LedgerStore, operation: Operation) -> None:
    try:
        await done_within(store, operation)
    except LedgerUnavailable as exc:
        raise StoreUnavailable("the ledger", str(exc), maybe_done=True) from exc


async def ask_far_side(
    tool: Tool[..., object], attempt: Attempt, store: LedgerStore, authority: Authority
) -> ResolutionReceipt | LegacyReceipt | None:
    """What the tool's ``reconcile`` knows about *attempt*, as a receipt; None if it can't tell.

    Signed if the supervisor has keys. Cancelled: nothing is decided.
    """
    hook = tool.options.reconcile
    if hook is None:
        return None
    try:
        answer = cast("object", hook(_shown(attempt)))
        if inspect.isawaitable(answer):
            answer = cast("object", await answer)
        if answer is None:
            return None
        receipt = _receipt_of(_required(answer), tool, attempt, store.now())
        with trio.fail_after(RECORD_TIMEOUT):
            return await _signed(receipt, authority)
    except (trio.Cancelled, KeyboardInterrupt):
        raise
    except BaseException as exc:  # noqa: ASYNC103  # whatever code of the host's raises, it has not told
        _log.warning("reconcile of %s could not tell what became of an attempt: %s", tool.name, description_of(exc))
        return None  # noqa: ASYNC104  # as said


async def _signed(
    receipt: ResolutionReceipt | LegacyReceipt, authority: Authority
) -> ResolutionReceipt | LegacyReceipt:
    if authority.keys is None:
        return receipt
    return await sign_receipt(authority.keys, receipt, domain=authority.domain_of(receipt.tenant))


def _required(answer: object) -> Reconciled:
    if not isinstance(answer, Reconciled):
        raise TypeError(f"it answered a {type(answer).__name__}; answer Reconciled(...), or None")
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
