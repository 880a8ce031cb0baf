"""Receipts: what somebody decided about an attempt, and by whose signature.

A receipt counts for one attempt. When another one has taken its place, or it was decided about, the receipt is stale: a
decision can't be used a second time. One that lets a result be told under other rules counts wherever it is recorded under
the rules that it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeVar, cast, get_args

import msgspec
from msgspec.structs import replace

from ..authority._clock import is_time
from ..authority._keys import KeyResolver
from ..authority._signing import SignatureError, sign, verify
from ..definitions._canonical import canonical_bytes, canonical_text, parse_json, sha256_hex
from ..definitions._checks import shown
from ..errors import ArmoryError, JsonError
from ._attempts import Attempt, Decision, LedgerKey
from ._operations import Authorize, Claim, MarkUnknown, Resolve, Start

RECEIPT_VERSION: Final = 1
"""The version of receipts. It is raised when what a field means changes; older receipts count no more."""

ReceiptCode = Literal["malformed", "unsigned", "invalid-signature", "mismatch"]

_LEGACY: Final = "legacy:"
_MOMENT: Final = 1.0


class ReceiptError(ArmoryError):
    """A receipt can't be made, or does not count.

    Args:
        code: ``malformed``: a value is missing, unknown or not legal. ``unsigned``: it carries no signature, or nothing
            can sign it. ``invalid-signature``: the signature is not that of all of the rest. ``mismatch``: it is about
            another attempt.
        detail: What was wrong. Nothing secret.
    """

    __module__ = "armory_trio.ledger"

    def __init__(self, code: ReceiptCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code: ReceiptCode = code
        self.detail = detail


class _Receipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    tenant: str
    tool_id: str
    key: str
    evidence: str
    authorized_by: str
    authorized_at: float
    nonce: str
    version: int = RECEIPT_VERSION
    signature: str | None = None

    def __post_init__(self) -> None:
        for name in ("tenant", "tool_id", "key", "evidence", "authorized_by", "nonce"):
            _require_name(name, getattr(self, name))
        if not is_time(self.authorized_at):
            raise _malformed("authorized_at", "is no time")
        if type(self.version) is not int or self.version != RECEIPT_VERSION:
            raise _malformed("version", f"is not {RECEIPT_VERSION}")
        try:
            canonical_bytes(self.document(), mode="interop")
        except JsonError as error:
            raise ReceiptError("malformed", f"it can't be signed: {error}") from error

    def to_json(self) -> dict[str, object]:
        """A JSON object, the caller's to change. `receipt_from_json` gives an equal receipt back."""
        return cast("dict[str, object]", msgspec.to_builtins(self))

    def document(self) -> dict[str, object]:
        """What is signed: everything but the signature, and which kind of receipt it is."""
        document = self.to_json()
        del document["signature"]
        return document


class _Decision(_Receipt, frozen=True, kw_only=True):
    decision: Decision
    result: str | None = None

    def __post_init__(self) -> None:
        if self.decision not in get_args(Decision):
            raise _malformed("decision", f"is not one of {', '.join(get_args(Decision))}")
        if self.decision == "completed" and self.result is None:
            raise _malformed("result", "is missing: the decision 'completed' says what it came to, such as 'null'")
        if self.decision != "completed" and self.result is not None:
            raise _malformed("result", "belongs to the decision 'completed', and to no other")
        if self.result is not None and not (isinstance(cast("object", self.result), str) and _is_json(self.result)):
            raise _malformed("result", "is no JSON text")
        super().__post_init__()


class ResolutionReceipt(_Decision, frozen=True, kw_only=True, tag="resolution"):
    """What was decided about an attempt.

    Args:
        decision: ``retry``, ``completed`` or ``abandoned``.
        tenant: The tenant of the attempt.
        tool_id: Its tool, with the version.
        key: The text of its `LedgerKey`.
        attempt_id: The attempt. Once another has taken its place, this counts for nothing.
        arguments_digest: SHA-256 of its arguments' exact canonical text, so that nobody agrees to other ones.
        evidence: Why: what the far side said, a ticket, an observation.
        authorized_by: Who decided.
        authorized_at: When, in seconds since 1970.
        nonce: Tells it from every other receipt.
        result: How it ended, as JSON text: for ``completed``, and only there.
        version: The version of this form.
        signature: The signature of everything else; None before it is signed.

    Raises:
        ReceiptError: A value is blank, not legal, or can't be signed (``malformed``).
    """

    attempt_id: str
    arguments_digest: str

    def __post_init__(self) -> None:
        _require_name("attempt_id", self.attempt_id)
        _require_name("arguments_digest", self.arguments_digest)
        super().__post_init__()


class LegacyReceipt(_Decision, frozen=True, kw_only=True, tag="legacy"):
    """What was decided about an entry that was brought in from a store without fences. It counts for nothing else.

    Args:
        decision: ``retry``, ``completed`` or ``abandoned``.
        tenant: The tenant of the entry.
        tool_id: Its tool, with the version.
        key: The text of its `LedgerKey`.
        tool_name: The name that the tool was called by.
        legacy_started_at: When it was begun, exactly as it was recorded, in seconds since 1970.
        evidence: Why: what the far side said, a ticket, an observation.
        authorized_by: Who decided.
        authorized_at: When, in seconds since 1970.
        nonce: Tells it from every other receipt.
        result: How it ended, as JSON text: for ``completed``, and only there.
        version: The version of this form.
        signature: The signature of everything else; None before it is signed.

    Raises:
        ReceiptError: A value is blank, not legal, or can't be signed (``malformed``).
    """

    tool_name: str
    legacy_started_at: float

    def __post_init__(self) -> None:
        _require_name("tool_name", self.tool_name)
        if not is_time(self.legacy_started_at):
            raise _malformed("legacy_started_at", "is no time")
        super().__post_init__()


class AuthorizationReceipt(_Receipt, frozen=True, kw_only=True, tag="authorization"):
    """That the result of an attempt may be told under other rules than those that let it through.

    Args:
        tenant: The tenant of the attempt.
        tool_id: Its tool, with the version.
        key: The text of its `LedgerKey`.
        attempt_id: The attempt. Once another has taken its place, this counts for nothing.
        recorded_under: The policy revision that it is recorded under. Once that is another one, this counts for nothing.
        policy_revision: The policy revision under which it may be told from now on.
        evidence: Why.
        authorized_by: Who decided.
        authorized_at: When, in seconds since 1970.
        nonce: Tells it from every other receipt.
        version: The version of this form.
        signature: The signature of everything else; None before it is signed.

    Raises:
        ReceiptError: A value is blank, not legal, or can't be signed (``malformed``).
    """

    attempt_id: str
    recorded_under: str
    policy_revision: str

    def __post_init__(self) -> None:
        _require_name("attempt_id", self.attempt_id)
        if not isinstance(cast("object", self.recorded_under), str):
            raise _malformed("recorded_under", "is no text")
        # What is recorded under no name is told under every policy.
        _require_name("policy_revision", self.policy_revision)
        super().__post_init__()


Receipt = ResolutionReceipt | LegacyReceipt | AuthorizationReceipt
_R = TypeVar("_R", bound=_Receipt)


def receipt_from_json(document: object) -> Receipt:
    """Read what ``to_json`` wrote, or its text. It says nothing about the signature.

    Raises:
        ReceiptError: It is no receipt: a member is missing, unknown or not legal (``malformed``).
    """
    if isinstance(document, str):
        try:
            document = parse_json(document)
        except JsonError as error:
            raise ReceiptError("malformed", f"it is no receipt: {error}") from error
    try:
        # A union of classes is no type to the checkers, but it is to msgspec.
        return cast("Receipt", msgspec.convert(document, Receipt))
    except msgspec.ValidationError as error:
        raise ReceiptError("malformed", f"it is no receipt: {error}") from error


async def sign_receipt(keys: KeyResolver, receipt: _R, *, domain: str) -> _R:
    """*receipt*, signed with the key that signs in *domain* now. Takes no checkpoint unless the resolver answers later.

    Cancelled: nothing is signed.

    Raises:
        ReceiptError: Nothing can be signed there (``unsigned``).
        DefinitionError: *domain* is no name. What the resolver raises passes through.
    """
    try:
        signature = await sign(keys, "receipt", receipt.document(), domain=domain)
    except SignatureError as error:
        raise ReceiptError("unsigned", str(error)) from error
    return replace(receipt, signature=signature.text)


async def verify_receipt(keys: KeyResolver, receipt: Receipt, *, domain: str) -> None:
    """Return if *receipt* is signed, and nothing in it was changed. Takes no checkpoint unless the resolver does.

    Whether it is about the attempt that is there, `resolve_with` and the ledger say.

    Cancelled: nothing is verified.

    Raises:
        ReceiptError: It is not (``unsigned``, ``invalid-signature``).
        DefinitionError: *domain* is no name. What the resolver raises passes through.
    """
    if receipt.signature is None:
        raise ReceiptError("unsigned", "it is not signed, so it decides nothing")
    try:
        await verify(keys, "receipt", receipt.document(), receipt.signature, domain=domain)
    except SignatureError as error:
        raise ReceiptError("invalid-signature", str(error)) from error


def resolve_with(receipt: Receipt, attempt: Attempt, *, claim: Claim | None = None) -> Resolve:
    """The operation that does what *receipt*, which must have been verified, decided about *attempt*.

    A receipt that lets a result be told decides nothing here: `authorize_with` is for those.

    Args:
        receipt: The receipt.
        attempt: What it is about, as the store shows it.
        claim: For ``retry``: the attempt that is to take its place at once.

    Raises:
        ReceiptError: The receipt is about another attempt (``mismatch``): the error names the first field that differs,
            and no value.
    """
    if isinstance(receipt, AuthorizationReceipt):
        raise ReceiptError("mismatch", "it lets a recorded result be told, and decides about nothing else")
    _compare(receipt, _bound(receipt, attempt))
    return Resolve(
        key_text=attempt.key,
        attempt_id=attempt.attempt_id,
        decision=receipt.decision,
        receipt=canonical_text(receipt.to_json(), mode="interop"),
        result=receipt.result,
        claim=claim,
    )


def authorize_with(receipt: AuthorizationReceipt, attempt: Attempt) -> Authorize:
    """The operation that lets the result of *attempt* be told as *receipt*, which must have been verified, says.

    Raises:
        ReceiptError: The receipt is about another attempt (``mismatch``): the error names the first field that differs,
            and no value.
    """
    bound = (("attempt_id", attempt.attempt_id), ("recorded_under", attempt.policy_revision))
    _compare(receipt, (*_place(attempt), *bound))
    return Authorize(
        key_text=attempt.key,
        attempt_id=attempt.attempt_id,
        recorded_under=receipt.recorded_under,
        policy_revision=receipt.policy_revision,
        receipt=canonical_text(receipt.to_json(), mode="interop"),
    )


def _compare(receipt: Receipt, fields: Iterable[tuple[str, object]]) -> None:
    for field, wanted in fields:
        if getattr(receipt, field) != wanted:
            raise ReceiptError("mismatch", f"{field} is not that of the attempt")


def _place(attempt: Attempt) -> list[tuple[str, object]]:
    return [(name, getattr(attempt, name)) for name in ("tenant", "tool_id", "key")]


def _bound(receipt: ResolutionReceipt | LegacyReceipt, attempt: Attempt) -> list[tuple[str, object]]:
    legacy = isinstance(receipt, LegacyReceipt)
    if legacy != attempt.attempt_id.startswith(_LEGACY):
        raise ReceiptError("mismatch", "entries without a fence need a legacy receipt, and nothing else takes one")
    fields = _place(attempt)
    if not isinstance(receipt, LegacyReceipt):
        return [*fields, ("attempt_id", attempt.attempt_id), ("arguments_digest", sha256_hex(attempt.arguments))]
    if legacy_attempt_id(receipt.legacy_started_at) != attempt.attempt_id:
        raise ReceiptError("mismatch", "legacy_started_at is not that of the attempt")
    return [*fields, ("tool_name", attempt.tool_name)]


def legacy_attempt_id(started_at: float) -> str:
    """The id of an attempt that never had one: when it was begun, in seconds since 1970."""
    return f"{_LEGACY}{canonical_text(started_at, mode='exact')}"


def legacy_entry(
    key: LedgerKey, tool_name: str, started_at: float, *, host: str = "legacy", arguments: str = ""
) -> tuple[Claim, Start, MarkUnknown]:
    """The operations that bring in an entry that was begun elsewhere, without a fence: afterwards it is ``unknown``.

    Args:
        key: What it was about.
        tool_name: The name that the tool was called by.
        started_at: When it was begun, exactly as it was recorded, in seconds since 1970.
        host: Whose it was.
        arguments: The exact canonical text of its arguments; empty where they are not known, so that all agree with
            them.

    Raises:
        ReceiptError: *started_at* is no time (``malformed``).
    """
    if not is_time(started_at):
        raise _malformed("started_at", f"must be seconds since 1970, not {shown(started_at)}")
    attempt_id = legacy_attempt_id(started_at)
    claim = Claim(
        key=key,
        tool_name=tool_name,
        attempt_id=attempt_id,
        arguments=arguments,
        execution_id=attempt_id,
        host=host,
        policy_revision="",
        lease=_MOMENT,
        cap=_MOMENT,
    )
    return claim, Start(key.text, attempt_id), MarkUnknown(key.text, attempt_id)


def _require_name(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise _malformed(name, "is blank, or no text")


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except JsonError:
        return False
    return True


def _malformed(field: str, reason: str) -> ReceiptError:
    return ReceiptError("malformed", f"{field} {reason}")
