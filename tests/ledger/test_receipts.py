"""Receipts: by whose signature, about which attempt."""

from __future__ import annotations

import json
import math
from typing import Final, cast

import pytest
from msgspec.structs import replace

from armory_trio.authority.signing import Keyring, SigningKey, sign_with
from armory_trio.definitions._canonical import sha256_hex
from armory_trio.ledger import (
    AuthorizationReceipt,
    Done,
    FenceLost,
    Fresh,
    LegacyReceipt,
    Receipt,
    ReceiptError,
    Recorded,
    ResolutionReceipt,
    Unknown,
    apply,
    authorize_with,
    legacy_attempt_id,
    legacy_entry,
    receipt_from_json,
    resolve_with,
    sign_receipt,
    verify_receipt,
)
from tests.ledger.cases import CLAIM, CLAIM_B, DONE, KEY, LOST, NOW, READING, START, TEXT, answer_to, there
from tests.requirements import requirement

DOMAIN: Final = "tenant:acme"
SIGNER: Final = SigningKey("k1", b"one secret of thirty-two bytes..")
KEYS: Final = Keyring(
    {DOMAIN: [SIGNER, SigningKey("k0", b"an older secret")], "tenant:other": [SigningKey("k1", b"2")]}
)
ATTEMPT: Final = there(CLAIM, START, LOST)
RECEIPT: Final = ResolutionReceipt(
    decision="completed",
    tenant="acme",
    tool_id="default:charge@1",
    key=TEXT,
    attempt_id="a",
    arguments_digest=sha256_hex(CLAIM.arguments),
    evidence="ticket 7: the bank shows the charge",
    authorized_by="ann",
    authorized_at=NOW + 60.5,
    nonce="n1",
    result='{"charged":5}',
)
RETRY: Final = replace(RECEIPT, decision="retry", result=None)
LEGACY_START: Final = 1_700_000_000.25
LEGACY_STEPS: Final = legacy_entry(KEY, "charge", LEGACY_START)
LEGACY_ATTEMPT: Final = there(*LEGACY_STEPS)
LEGACY: Final = LegacyReceipt(
    decision="completed",
    tenant="acme",
    tool_id="default:charge@1",
    key=TEXT,
    tool_name="charge",
    legacy_started_at=LEGACY_START,
    evidence="ticket 8",
    authorized_by="ann",
    authorized_at=NOW,
    nonce="n2",
    result="null",
)
RECEIPTS: Final[list[ResolutionReceipt | LegacyReceipt]] = [RECEIPT, RETRY, LEGACY]
AUTHORIZATION: Final = AuthorizationReceipt(
    tenant="acme",
    tool_id="default:charge@1",
    key=TEXT,
    attempt_id="a",
    recorded_under="policy:1",
    policy_revision="policy:2",
    evidence="ticket 9",
    authorized_by="ann",
    authorized_at=NOW,
    nonce="n3",
)
ALL: Final[list[Receipt]] = [*RECEIPTS, AUTHORIZATION]
OTHER_VALUES: Final[dict[str, object]] = {
    "tenant": "other",
    "tool_id": "default:charge@2",
    "key": '["acme","default:charge@1","order-2"]',
    "attempt_id": "b",
    "arguments_digest": "0" * 64,
    "evidence": "no ticket",
    "authorized_by": "bob",
    "authorized_at": NOW + 61.0,
    "nonce": "n9",
    "result": '{"charged":6}',
    "tool_name": "refund",
    "legacy_started_at": LEGACY_START + 1.0,
    "recorded_under": "policy:0",
    "policy_revision": "policy:3",
}


async def signed(receipt: Receipt) -> Receipt:
    return await sign_receipt(KEYS, receipt, domain=DOMAIN)


async def code_of_verifying(receipt: Receipt, domain: str = DOMAIN, keys: Keyring = KEYS) -> str | None:
    try:
        await verify_receipt(keys, receipt, domain=domain)
    except ReceiptError as error:
        return error.code
    return None


@requirement("ledger.receipts")
@pytest.mark.parametrize("receipt", ALL)
async def test_what_was_signed_counts(receipt: Receipt) -> None:
    good = await signed(receipt)

    assert good.signature is not None
    assert replace(good, signature=None) == receipt
    assert await code_of_verifying(good) is None
    assert await code_of_verifying(receipt_from_json(good.to_json())) is None


@requirement("ledger.receipts")
@pytest.mark.parametrize(
    ("receipt", "field"),
    [
        (receipt, field)
        for receipt in ALL
        for field in receipt.__struct_fields__
        if field not in ("decision", "version", "signature") and (receipt is not RETRY or field != "result")
    ],
)
async def test_a_receipt_that_was_changed_anywhere_counts_for_nothing(receipt: Receipt, field: str) -> None:
    good = await signed(receipt)

    assert await code_of_verifying(replace(good, **{field: OTHER_VALUES[field]})) == "invalid-signature"


@requirement("ledger.receipts")
async def test_a_decision_that_was_changed_counts_for_nothing() -> None:
    for receipt in RECEIPTS:
        good = await signed(receipt)
        for decision, result in (("retry", None), ("abandoned", None), ("completed", "1")):
            if decision != receipt.decision:
                changed = replace(good, decision=decision, result=result)
                assert await code_of_verifying(changed) == "invalid-signature"


@requirement("ledger.receipts")
async def test_no_kind_of_receipt_passes_for_the_other_and_no_other_document_for_a_receipt() -> None:
    document = {**LEGACY.document(), "kind": "resolution"}
    forged = sign_with(SIGNER, "receipt", document, domain=DOMAIN).text
    assert await code_of_verifying(replace(LEGACY, signature=forged)) == "invalid-signature"

    approval = sign_with(SIGNER, "approval", RECEIPT.document(), domain=DOMAIN).text
    assert await code_of_verifying(replace(RECEIPT, signature=approval)) == "invalid-signature"


@requirement("ledger.receipts")
async def test_a_signature_counts_in_its_domain_and_while_its_key_does() -> None:
    good = await signed(RECEIPT)

    assert await code_of_verifying(good, "tenant:other") == "invalid-signature"
    assert await code_of_verifying(good, "tenant:third") == "invalid-signature"
    assert await code_of_verifying(good, keys=Keyring({DOMAIN: [SigningKey("k9", b"new")]})) == "invalid-signature"
    assert await code_of_verifying(RECEIPT) == "unsigned"
    assert await code_of_verifying(replace(RECEIPT, signature="v1:nonsense:k1")) == "invalid-signature"


@requirement("ledger.receipts")
async def test_where_nothing_can_sign_nothing_is_signed() -> None:
    with pytest.raises(ReceiptError, match="unsigned"):
        await sign_receipt(KEYS, RECEIPT, domain="tenant:third")


@requirement("ledger.receipts")
@pytest.mark.parametrize("field", ["tenant", "tool_id", "key", "attempt_id", "arguments_digest"])
def test_a_receipt_is_about_one_attempt(field: str) -> None:
    with pytest.raises(ReceiptError, match=f"mismatch: {field}"):
        resolve_with(replace(RECEIPT, **{field: OTHER_VALUES[field]}), ATTEMPT)


@requirement("ledger.receipts", "ledger.resolve")
def test_a_receipt_does_what_it_decides() -> None:
    steps = (CLAIM, START, LOST)

    done = answer_to(steps, resolve_with(RECEIPT, ATTEMPT))
    assert isinstance(done, Done)
    assert (done.attempt.state, done.attempt.result) == ("completed", RECEIPT.result)
    assert receipt_from_json(json.loads(done.attempt.receipt or "")) == RECEIPT

    abandoned = answer_to(steps, resolve_with(replace(RETRY, decision="abandoned"), ATTEMPT))
    assert isinstance(abandoned, Done)
    assert abandoned.attempt.state == "abandoned"

    assert isinstance(answer_to(steps, resolve_with(RETRY, ATTEMPT, claim=CLAIM_B)), Fresh)


@requirement("ledger.receipts", "ledger.resolve")
def test_a_receipt_that_was_used_is_stale() -> None:
    resolve = resolve_with(RETRY, ATTEMPT, claim=CLAIM_B)
    again, _ = apply(ATTEMPT, resolve, NOW)
    assert again is not None

    assert apply(again, resolve, NOW)[1] == FenceLost(again)
    with pytest.raises(ReceiptError, match="attempt_id"):
        resolve_with(RETRY, again)


@requirement("ledger.receipts", "ledger.authorize")
def test_a_receipt_for_other_rules_does_what_it_says_once() -> None:
    steps = (CLAIM, START, DONE)
    done = answer_to(steps, authorize_with(AUTHORIZATION, there(*steps)))

    assert isinstance(done, Done)
    assert done.attempt.policy_revision == "policy:2"
    with pytest.raises(ReceiptError, match="recorded_under"):
        authorize_with(AUTHORIZATION, done.attempt)


@requirement("ledger.receipts", "ledger.authorize")
@pytest.mark.parametrize("field", ["tenant", "tool_id", "key", "attempt_id", "recorded_under"])
def test_a_receipt_for_other_rules_is_about_one_attempt(field: str) -> None:
    with pytest.raises(ReceiptError, match=f"mismatch: {field}"):
        authorize_with(replace(AUTHORIZATION, **{field: OTHER_VALUES[field]}), there(CLAIM, START, DONE))


@requirement("ledger.receipts", "ledger.authorize")
def test_a_receipt_for_other_rules_decides_about_nothing_else() -> None:
    with pytest.raises(ReceiptError, match="mismatch"):
        resolve_with(AUTHORIZATION, ATTEMPT)


@requirement("ledger.receipts.form")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("attempt_id", ""),
        ("recorded_under", None),
        ("policy_revision", 2),
        ("policy_revision", ""),
        ("policy_revision", " "),
    ],
)
def test_a_receipt_for_other_rules_names_them(field: str, value: object) -> None:
    with pytest.raises(ReceiptError, match=field):
        replace(AUTHORIZATION, **{field: value})


# ── Form ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.receipts.form")
@pytest.mark.parametrize("receipt", ALL)
def test_a_receipt_is_json_and_can_be_read_back(receipt: Receipt) -> None:
    document = receipt.to_json()

    assert document["kind"] == {id(LEGACY): "legacy", id(AUTHORIZATION): "authorization"}.get(id(receipt), "resolution")
    assert receipt_from_json(document) == receipt
    assert "signature" not in receipt.document()


@requirement("ledger.receipts.form")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[
            (field, " ")
            for field in ("tenant", "tool_id", "key", "attempt_id", "arguments_digest", "evidence", "nonce")
        ],
        ("authorized_by", ""),
        ("authorized_by", 7),
        ("authorized_at", math.nan),
        ("authorized_at", -1.0),
        ("decision", "maybe"),
        ("decision", "retry"),
        ("result", None),
        ("result", "not json"),
        ("result", 7),
        ("version", 2),
        ("version", True),
        ("evidence", "half \ud800"),
    ],
)
def test_what_is_no_receipt_says_what_is_wrong_with_it(field: str, value: object) -> None:
    with pytest.raises(ReceiptError, match="malformed"):
        replace(RECEIPT, **{field: value})
    with pytest.raises(ReceiptError, match="malformed"):
        receipt_from_json({**RECEIPT.to_json(), field: value})


@requirement("ledger.receipts.form")
def test_a_document_with_members_too_few_or_too_many_is_no_receipt() -> None:
    document = RECEIPT.to_json()

    for name in document:
        if name not in ("result", "version", "signature"):
            with pytest.raises(ReceiptError, match="malformed"):
                receipt_from_json({key: value for key, value in document.items() if key != name})
    others: list[object] = [{**document, "more": 1}, {**document, "kind": "other"}, 7, None, "receipt"]
    for wrong in others:
        with pytest.raises(ReceiptError, match="malformed"):
            receipt_from_json(wrong)


@requirement("ledger.receipts.form", "ledger.receipts.legacy")
def test_a_legacy_receipt_has_a_tool_and_an_instant() -> None:
    for field, value in (("tool_name", ""), ("legacy_started_at", math.inf)):
        with pytest.raises(ReceiptError, match=field):
            replace(LEGACY, **{field: value})


# ── Entries without fences ───────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.receipts.legacy")
def test_an_entry_that_is_brought_in_is_unknown_and_agrees_with_all_arguments() -> None:
    assert (LEGACY_ATTEMPT.state, LEGACY_ATTEMPT.effect, LEGACY_ATTEMPT.arguments) == ("unknown", "unknown", "")
    assert LEGACY_ATTEMPT.attempt_id == legacy_attempt_id(LEGACY_START) == "legacy:1700000000.25"
    assert isinstance(answer_to(LEGACY_STEPS, CLAIM), Unknown)
    assert isinstance(answer_to(LEGACY_STEPS, replace(CLAIM, arguments="{}")), Unknown)


@requirement("ledger.receipts.legacy")
def test_an_entry_that_is_brought_in_does_not_replace_what_is_there() -> None:
    steps = (CLAIM, START, replace(LOST, attempt_id="x"))

    assert there(*steps, *LEGACY_STEPS) == there(CLAIM, START)


@requirement("ledger.receipts.legacy")
@pytest.mark.parametrize("started_at", [math.nan, -1.0, cast("float", "yesterday")])
def test_an_entry_began_at_some_time(started_at: float) -> None:
    with pytest.raises(ReceiptError, match="started_at"):
        legacy_entry(KEY, "charge", started_at)


@requirement("ledger.receipts.legacy")
def test_a_legacy_receipt_decides_about_its_entry() -> None:
    steps = (*LEGACY_STEPS, resolve_with(LEGACY, LEGACY_ATTEMPT))

    assert isinstance(answer_to(steps, CLAIM), Recorded)
    retry = resolve_with(replace(LEGACY, decision="retry", result=None), LEGACY_ATTEMPT, claim=CLAIM)
    assert isinstance(answer_to(LEGACY_STEPS, retry), Fresh)


@requirement("ledger.receipts.legacy")
@pytest.mark.parametrize("field", ["tenant", "tool_id", "key", "tool_name", "legacy_started_at"])
def test_a_legacy_receipt_is_about_one_entry(field: str) -> None:
    with pytest.raises(ReceiptError, match=f"mismatch: {field}"):
        resolve_with(replace(LEGACY, **{field: OTHER_VALUES[field]}), LEGACY_ATTEMPT)


@requirement("ledger.receipts.legacy")
def test_neither_kind_of_receipt_counts_for_the_other_kind_of_attempt() -> None:
    fake = replace(RECEIPT, attempt_id=LEGACY_ATTEMPT.attempt_id, arguments_digest=sha256_hex(""))

    with pytest.raises(ReceiptError, match="legacy receipt"):
        resolve_with(fake, LEGACY_ATTEMPT)
    for attempt in (ATTEMPT, there(READING, START, LOST)):
        with pytest.raises(ReceiptError, match="legacy receipt"):
            resolve_with(LEGACY, attempt)
