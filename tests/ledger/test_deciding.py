"""Deciding outside of any call: what can be decided, the receipt for it, and doing it."""

from __future__ import annotations

import json
from typing import Final, cast

import pytest
from msgspec.structs import replace

from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.definitions._canonical import sha256_hex
from armory_trio.ledger import (
    Attempt,
    Choice,
    Complete,
    Decision,
    Done,
    FenceLost,
    Fresh,
    LegacyReceipt,
    MemoryLedger,
    ReceiptError,
    Refused,
    Release,
    ResolutionReceipt,
    Resolve,
    apply,
    authorization_for,
    choices,
    decide,
    is_live,
    legacy_entry,
    receipt_for,
    receipt_from_json,
    release_of,
    resolve_with,
    sign_receipt,
)
from tests.ledger.cases import (
    CLAIM,
    CLAIM_B,
    CLOSE,
    DONE,
    KEY,
    LEASE,
    LOST,
    NOW,
    OPEN,
    READING,
    START,
    TEXT,
    WINDOWED,
    Step,
    there,
)
from tests.requirements import requirement

DOMAIN: Final = "tenant:acme"
KEYS: Final = Keyring({DOMAIN: [SigningKey("k1", b"one secret of thirty-two bytes..")]})
RECOVERY: Final = replace(CLAIM, deduplicates=False)
ALL: Final[tuple[Choice, ...]] = ("release", "retry", "completed", "abandoned")
DECISIONS: Final = ("retry", "completed", "abandoned")


def receipt_about(
    attempt: Attempt, decision: Decision = "retry", result: str | None = None
) -> ResolutionReceipt | LegacyReceipt:
    return receipt_for(
        attempt, decision, evidence="ticket 7", authorized_by="ann", authorized_at=NOW + 60, result=result, nonce="n1"
    )


async def signed(receipt: ResolutionReceipt | LegacyReceipt) -> ResolutionReceipt | LegacyReceipt:
    return await sign_receipt(KEYS, receipt, domain=DOMAIN)


async def store_with(*steps: Step) -> tuple[MemoryLedger, list[float]]:
    """A store in which the steps were made, and its clock."""
    now = [NOW]
    ledger = MemoryLedger(lambda: now[0])
    for step in steps:
        if isinstance(step, int | float):
            now[0] += step
        else:
            await ledger.apply(step)
    return ledger, now


# ── What can be decided ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.deciding.choices")
@pytest.mark.parametrize(
    ("steps", "possible"),
    [
        pytest.param((CLAIM,), ("release",), id="never started"),
        pytest.param((READING, START), ALL, id="only reads"),
        pytest.param((WINDOWED, START), ALL, id="no window entered"),
        pytest.param((WINDOWED, START, OPEN), DECISIONS, id="inside a window"),
        pytest.param((WINDOWED, START, OPEN, CLOSE), DECISIONS, id="an effect happened"),
        pytest.param((CLAIM, START), DECISIONS, id="started"),
        pytest.param((CLAIM, START, LOST), DECISIONS, id="lost"),
        pytest.param((RECOVERY, START), ("completed", "abandoned"), id="for recovery alone"),
        pytest.param((replace(RECOVERY, read_only=True), START), ("release", "completed", "abandoned"), id="and reads"),
        pytest.param((CLAIM, START, DONE), (), id="completed"),
        pytest.param(
            (CLAIM, START, LOST, Resolve(key_text=TEXT, attempt_id="a", decision="abandoned", receipt="{}")),
            (),
            id="abandoned",
        ),
    ],
)
def test_what_can_be_decided_is_what_the_rules_will_do(steps: tuple[Step, ...], possible: tuple[Choice, ...]) -> None:
    attempt, now = there(*steps), NOW + LEASE

    assert choices(attempt, now) == possible
    for choice in ALL:
        if choice == "release":
            done = apply(attempt, Release(TEXT, "a"), now)[1]
        else:
            receipt = receipt_about(attempt, choice, "1" if choice == "completed" else None)
            done = apply(attempt, resolve_with(receipt, attempt), now)[1]
        # The rules let an attempt for recovery be tried again, and nobody ever would.
        assert isinstance(done, Done) is (choice in possible or (choice == "retry" and "completed" in possible))


@requirement("ledger.deciding.choices")
@pytest.mark.parametrize("steps", [pytest.param((CLAIM,), id="claimed"), pytest.param((WINDOWED, START), id="started")])
def test_while_its_lease_is_live_nothing_can_be_decided(steps: tuple[Step, ...]) -> None:
    attempt = there(*steps)

    for now, live in ((NOW, True), (NOW + LEASE - 0.001, True), (NOW + LEASE, False)):
        assert is_live(attempt, now) is live
        assert bool(choices(attempt, now)) is not live
        assert (release_of(attempt, now) is None) is live


@requirement("ledger.deciding.choices")
def test_only_what_nothing_came_of_can_be_released() -> None:
    later = NOW + LEASE

    assert release_of(there(CLAIM), later) == Release(TEXT, "a")
    assert release_of(there(CLAIM, START), later) is None
    assert release_of(there(CLAIM, START, DONE), later) is None


# ── The receipt ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.deciding.receipt")
async def test_the_receipt_is_about_that_attempt() -> None:
    attempt = there(CLAIM, START, LOST)

    receipt = receipt_about(attempt, "completed", '"paid"')

    assert receipt == ResolutionReceipt(
        decision="completed",
        tenant="acme",
        tool_id="default:charge@1",
        key=TEXT,
        attempt_id="a",
        arguments_digest=sha256_hex('{"cents":5}'),
        evidence="ticket 7",
        authorized_by="ann",
        authorized_at=NOW + 60,
        nonce="n1",
        result='"paid"',
    )
    assert receipt_from_json((await signed(receipt)).to_json()) == await signed(receipt)


@requirement("ledger.deciding.receipt")
def test_every_receipt_gets_a_nonce_of_its_own() -> None:
    attempt = there(CLAIM, START, LOST)
    made = [receipt_for(attempt, "retry", evidence="e", authorized_by="ann", authorized_at=NOW).nonce for _ in range(2)]

    assert len({*made}) == 2
    assert min(map(len, made)) >= 32


@requirement("ledger.deciding.receipt")
@pytest.mark.parametrize("started_at", [1_700_000_000.25, 1_700_000_000.0, 0.0, 1_700_000_000])
async def test_an_entry_without_a_fence_gets_a_legacy_receipt(started_at: float) -> None:
    steps = legacy_entry(KEY, "charge", started_at)
    attempt = there(*steps)

    receipt = receipt_about(attempt)
    ledger, _ = await store_with(*steps)
    answer = await decide(ledger, KEYS, await signed(receipt), domain=DOMAIN)

    assert isinstance(receipt, LegacyReceipt)
    assert (receipt.tool_name, receipt.legacy_started_at) == ("charge", started_at)
    assert isinstance(answer, Done)
    assert answer.attempt.granted


@requirement("ledger.deciding.receipt")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("evidence", " "),
        ("authorized_by", ""),
        ("nonce", ""),
        ("authorized_at", -1.0),
        ("decision", "maybe"),
        ("result", "1"),
    ],
)
def test_a_receipt_that_says_nothing_cannot_be_made(field: str, value: object) -> None:
    options = {"decision": "retry", "evidence": "e", "authorized_by": "ann", "authorized_at": NOW, field: value}

    with pytest.raises(ReceiptError, match=f"malformed: {field}"):
        receipt_for(there(CLAIM, START, LOST), **options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@requirement("ledger.deciding.receipt")
@pytest.mark.parametrize("attempt_id", ["legacy:soon", "legacy:[1]", "legacy:"])
def test_an_id_that_holds_no_time_makes_no_receipt(attempt_id: str) -> None:
    with pytest.raises(ReceiptError, match="malformed"):
        receipt_about(replace(there(CLAIM, START, LOST), attempt_id=attempt_id))


# ── Doing it ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("ledger.deciding.decide")
async def test_what_was_decided_is_what_stands_there() -> None:
    for decision, result in (("completed", '{"paid":5}'), ("abandoned", None)):
        ledger, _ = await store_with(CLAIM, START, LOST)
        [attempt] = await ledger.list()
        receipt = await signed(receipt_about(attempt, cast("Decision", decision), result))

        answer = await decide(ledger, KEYS, receipt, domain=DOMAIN)

        assert isinstance(answer, Done)
        assert await ledger.load(TEXT) == answer.attempt
        assert (answer.attempt.state, answer.attempt.result) == (decision, result)


@requirement("ledger.deciding.decide")
async def test_after_a_retry_the_next_claim_takes_its_place() -> None:
    ledger, _ = await store_with(CLAIM, START, LOST)
    [attempt] = await ledger.list()

    await decide(ledger, KEYS, await signed(receipt_about(attempt)), domain=DOMAIN)
    answer = await ledger.apply(CLAIM_B)

    assert isinstance(answer, Fresh)
    assert (answer.attempt.attempt_id, answer.attempt.number) == ("b", 2)


@requirement("ledger.deciding.decide")
async def test_a_receipt_that_does_not_count_changes_nothing() -> None:
    ledger, _ = await store_with(CLAIM, START, LOST)
    [attempt] = await ledger.list()
    receipt = receipt_about(attempt, "abandoned")
    good = await signed(receipt)

    for wrong, code in ((receipt, "unsigned"), (replace(good, evidence="none"), "invalid-signature")):
        with pytest.raises(ReceiptError, match=code):
            await decide(ledger, KEYS, wrong, domain=DOMAIN)
    with pytest.raises(ReceiptError, match="invalid-signature"):
        await decide(ledger, KEYS, good, domain="tenant:other")

    assert list(await ledger.list()) == [attempt]


@requirement("ledger.deciding.decide")
async def test_a_decision_about_an_attempt_that_another_has_replaced_is_a_mismatch() -> None:
    ledger, _ = await store_with(CLAIM, START, LOST)
    [attempt] = await ledger.list()
    receipt = await signed(receipt_about(attempt, "abandoned"))
    await decide(ledger, KEYS, await signed(receipt_about(attempt)), domain=DOMAIN)
    await ledger.apply(CLAIM_B)
    before = await ledger.load(TEXT)

    with pytest.raises(ReceiptError, match="mismatch: attempt_id"):
        await decide(ledger, KEYS, receipt, domain=DOMAIN)

    assert await ledger.load(TEXT) == before


@requirement("ledger.deciding.decide")
async def test_the_second_of_two_decisions_is_refused_and_says_why() -> None:
    ledger, _ = await store_with(CLAIM, START, LOST)
    [attempt] = await ledger.list()
    receipt = await signed(receipt_about(attempt, "abandoned"))
    await decide(ledger, KEYS, receipt, domain=DOMAIN)

    for late in (receipt, await signed(receipt_about(attempt, "completed", "1"))):
        assert await decide(ledger, KEYS, late, domain=DOMAIN) == Refused(
            "nothing has to be decided about it: it is abandoned"
        )


@requirement("ledger.deciding.decide")
async def test_about_what_is_gone_or_goes_on_nothing_is_decided() -> None:
    ledger, now = await store_with(CLAIM, START)
    attempt = there(CLAIM, START)
    receipt = await signed(receipt_about(attempt, "abandoned"))

    assert isinstance(await decide(ledger, KEYS, receipt, domain=DOMAIN), Refused)

    await ledger.apply(Complete(TEXT, "a", "completed", "1"))
    now[0] += 1
    await ledger.forget(ended_before=now[0])
    assert await decide(ledger, KEYS, receipt, domain=DOMAIN) == FenceLost(None)


@requirement("ledger.deciding.decide")
async def test_a_lease_that_is_over_need_not_be_recorded_to_be_decided_about() -> None:
    ledger, now = await store_with(CLAIM, START)
    now[0] += LEASE
    [attempt] = await ledger.list()

    answer = await decide(ledger, KEYS, await signed(receipt_about(attempt, "abandoned")), domain=DOMAIN)

    assert isinstance(answer, Done)
    assert answer.attempt.state == "abandoned"


@requirement("ledger.authorize")
async def test_the_receipt_that_lets_a_result_be_told_names_all_that_it_is_about() -> None:
    store, now = await store_with(CLAIM, START, DONE)
    attempt = await store.load(TEXT)
    assert attempt is not None
    receipt = authorization_for(
        attempt, "policy:2", evidence="ticket 9", authorized_by="ann", authorized_at=now[0], nonce="n1"
    )
    answer = await decide(store, KEYS, await sign_receipt(KEYS, receipt, domain=DOMAIN), domain=DOMAIN)

    assert isinstance(answer, Done)
    assert (answer.attempt.policy_revision, answer.attempt.result) == ("policy:2", attempt.result)


@requirement("ledger.receipts.form")
def test_what_is_missing_is_said_to_be_missing_and_a_receipt_may_be_read_from_its_text() -> None:
    attempt = there(CLAIM, START, LOST)
    with pytest.raises(ReceiptError, match="result is missing"):
        receipt_about(attempt, "completed")
    receipt = receipt_about(attempt)
    assert receipt_from_json(json.dumps(receipt.to_json())) == receipt
    with pytest.raises(ReceiptError, match="malformed"):
        receipt_from_json("{")
