"""Deciding outside of any call: what can be decided about an attempt, the receipt that says so, and doing it.

An operator's command and a host's own pages are made of this. Who is calling anyway hands the receipt to the call, as
``resolution_receipt=``.
"""

from __future__ import annotations

import secrets
from typing import Final, Literal, assert_never, cast

from ..authority._keys import KeyResolver
from ..definitions._canonical import parse_json, sha256_hex
from ..errors import JsonError
from ._attempts import LIVE, Answer, Attempt, Decision, FenceLost
from ._operations import Release
from ._receipts import (
    AuthorizationReceipt,
    LegacyReceipt,
    Receipt,
    ReceiptError,
    ResolutionReceipt,
    authorize_with,
    resolve_with,
    verify_receipt,
)
from ._recovery import truth_of
from ._rules import aged, is_waiting
from ._store import LedgerStore

Choice = Literal["release", "retry", "completed", "abandoned"]
"""``release``: forget it, since nothing came of it. The others are a `Decision`, which takes a receipt."""

_LEGACY: Final = "legacy:"
_NONCE_BYTES: Final = 16


def is_live(attempt: Attempt, now: float) -> bool:
    """Whether somebody may be at *attempt* at the instant *now*, on the clock of its store, in seconds since 1970."""
    return attempt.state in LIVE and now < attempt.lease_expires_at


def choices(attempt: Attempt, now: float) -> tuple[Choice, ...]:
    """What can be decided about *attempt* at the instant *now*, the mildest first; nothing if somebody may be at it.

    An attempt that is there for recovery alone is never tried again, since nobody asks for its key: ``retry`` would
    leave it as it is.
    """
    if is_live(attempt, now):
        return ()
    row = aged(attempt, now)
    decisions: tuple[Choice, ...] = (
        ("retry", "completed", "abandoned") if row.deduplicates else ("completed", "abandoned")
    )
    match truth_of(row):
        case None:
            return decisions if is_waiting(row) else ()
        case "never-started":
            return ("release",)
        case "safe":
            return ("release", *decisions)
        case "unknown":
            return decisions
        case _ as never:
            assert_never(never)


def receipt_for(
    attempt: Attempt,
    decision: Decision,
    *,
    evidence: str,
    authorized_by: str,
    authorized_at: float,
    result: str | None = None,
    nonce: str | None = None,
) -> ResolutionReceipt | LegacyReceipt:
    """The receipt of *decision* about *attempt*, not signed yet: a `LegacyReceipt` where the attempt has no fence.

    Args:
        attempt: What it is about, as the store shows it.
        decision: ``retry``, ``completed`` or ``abandoned``.
        evidence: Why: what the far side said, a ticket, an observation.
        authorized_by: Who decided.
        authorized_at: When, in seconds since 1970.
        result: How it ended, as JSON text: for ``completed``, and only there.
        nonce: Tells it from every other receipt; None makes one up.

    Raises:
        ReceiptError: A value is blank, not legal, or can't be signed (``malformed``).
    """
    nonce = secrets.token_hex(_NONCE_BYTES) if nonce is None else nonce
    if attempt.attempt_id.startswith(_LEGACY):
        return LegacyReceipt(
            decision=decision,
            tenant=attempt.tenant,
            tool_id=attempt.tool_id,
            key=attempt.key,
            tool_name=attempt.tool_name,
            legacy_started_at=_begun_at(attempt.attempt_id),
            evidence=evidence,
            authorized_by=authorized_by,
            authorized_at=authorized_at,
            nonce=nonce,
            result=result,
        )
    return ResolutionReceipt(
        decision=decision,
        tenant=attempt.tenant,
        tool_id=attempt.tool_id,
        key=attempt.key,
        attempt_id=attempt.attempt_id,
        arguments_digest=sha256_hex(attempt.arguments),
        evidence=evidence,
        authorized_by=authorized_by,
        authorized_at=authorized_at,
        nonce=nonce,
        result=result,
    )


def authorization_for(
    attempt: Attempt,
    policy_revision: str,
    *,
    evidence: str,
    authorized_by: str,
    authorized_at: float,
    nonce: str | None = None,
) -> AuthorizationReceipt:
    """The receipt that lets the result of *attempt* be told under another policy revision, not signed yet.

    Args:
        attempt: What it is about, as the store shows it.
        policy_revision: The revision under which it may be told from now on.
        evidence: Why.
        authorized_by: Who decided.
        authorized_at: When, in seconds since 1970.
        nonce: Tells it from every other receipt; None makes one up.

    Raises:
        ReceiptError: A value is blank, not legal, or can't be signed (``malformed``).
    """
    return AuthorizationReceipt(
        tenant=attempt.tenant,
        tool_id=attempt.tool_id,
        key=attempt.key,
        attempt_id=attempt.attempt_id,
        recorded_under=attempt.policy_revision,
        policy_revision=policy_revision,
        evidence=evidence,
        authorized_by=authorized_by,
        authorized_at=authorized_at,
        nonce=secrets.token_hex(_NONCE_BYTES) if nonce is None else nonce,
    )


def _begun_at(attempt_id: str) -> float:
    """When an attempt that never had an id was begun. Read exactly as it was written, so that it is the same one."""
    try:
        return cast("float", parse_json(attempt_id.removeprefix(_LEGACY)))
    except JsonError as error:
        raise ReceiptError("malformed", "the id of the attempt holds no time at which it was begun") from error


async def decide(store: LedgerStore, keys: KeyResolver, receipt: Receipt, *, domain: str) -> Answer:
    """Do what *receipt* decided, if its signature counts. Nobody has to call the tool for that.

    After ``retry`` the next call with that key takes the place of the attempt.

    Cancelled: it is decided, or is not; the store tells.

    Args:
        store: Where the attempt is.
        keys: The keys that receipts are signed with.
        receipt: A signed receipt, as from `sign_receipt`.
        domain: The security domain in which it must have been signed.

    Returns:
        `Done` with the attempt as it stands now. `FenceLost` if it is not there any more. `Refused` with a reason if
        nothing has to be decided about it, as when somebody was faster or may be at it.

    Raises:
        ReceiptError: The signature does not count (``unsigned``, ``invalid-signature``), or it is about another attempt
            than the one that is there (``mismatch``), as when another has taken its place. Nothing was changed.
        DefinitionError: *domain* is no name. What the resolver and the store raise passes through.
    """
    await verify_receipt(keys, receipt, domain=domain)
    attempt = await store.load(receipt.key)
    if attempt is None:
        return FenceLost(None)
    if isinstance(receipt, AuthorizationReceipt):
        return await store.apply(authorize_with(receipt, attempt))
    return await store.apply(resolve_with(receipt, attempt))


def release_of(attempt: Attempt, now: float) -> Release | None:
    """The operation that forgets *attempt*, of which nothing came; None where that must not be done at *now*."""
    return Release(attempt.key, attempt.attempt_id) if "release" in choices(attempt, now) else None
