"""Receipts: what somebody decided about an attempt of which nobody knows how it ended."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

import msgspec
import pytest
import trio

from armory_trio import Limits, RequestContext, Toolbox, ToolCall, ToolResult, open_supervisor, tool
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.ledger import Attempt, Decision, Release, ResolutionReceipt, Start, decide
from tests.engine.ledger.stores import (
    BANK,
    HER,
    KEYS,
    Bank,
    Clock,
    Money,
    Troubled,
    code_of,
    receipt_for,
    the_attempt,
    told_of,
)
from tests.requirements import requirement

FAILS = ToolCall("pay", {"fails": "before"})
DECISIONS: Final[tuple[Decision, ...]] = ("retry", "completed", "abandoned")


async def left_unknown(bank: Bank, store: Troubled, call: ToolCall = FAILS) -> Attempt:
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        await supervisor.execute(call, idempotency_key="k")
    attempt = await the_attempt(store)
    assert attempt is not None and attempt.state == "unknown"
    return attempt


@requirement("keeping.receipts.retry")
async def test_a_receipt_that_says_retry_lets_one_other_attempt_run() -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    receipt = await receipt_for(attempt, "retry")
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        first = await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)
        used = await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)
        plain = await it.execute(FAILS, idempotency_key="k")
        kept = await the_attempt(store)

    assert (told_of(first), bank.began) == ("fresh", 2)
    assert (code_of(used), told_of(plain)) == ("AUTHORITY_REQUIRED", "unknown-outcome")
    assert kept is not None and (kept.number, kept.receipt is not None) == (2, True)


@requirement("keeping.receipts.unused")
@pytest.mark.parametrize("end", ["aborted", "late", "cancelled", "shut down", "does not come", "can't start"])
async def test_a_receipt_is_not_used_up_by_an_attempt_that_never_began(
    end: str, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    receipt = await receipt_for(await left_unknown(bank, store), "retry")
    never = partial(execute, bank, store, receipt)
    if end == "does not come":
        store.trouble[Release] = "does-and-raises"
    if end == "can't start":
        store.trouble[Start] = "raises"
        assert code_of(await never()) == "LEDGER_UNAVAILABLE"
    else:
        await queued(bank, store, receipt, end)
    store.trouble.clear()
    began = bank.began
    told = await never()
    used = await never()

    assert (told_of(told), bank.began) == ("fresh", began + 1)
    assert (code_of(used), bank.began) == ("AUTHORITY_REQUIRED", began + 1)


async def execute(bank: Bank, store: Troubled, receipt: ResolutionReceipt) -> ToolResult[object]:
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        return await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)


async def queued(bank: Bank, store: Troubled, receipt: ResolutionReceipt, end: str) -> None:
    """A call with the receipt waits for its turn, and ends as *end* says."""
    limits = Limits(concurrent=1)
    opening = open_supervisor(
        Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER, limits=limits
    )
    async with opening as supervisor:
        first = supervisor.start(ToolCall("balance", {"seconds": 60.0}))
        deadline = trio.current_time() + 5 if end == "late" else None
        waiting = partial(supervisor.execute, FAILS, idempotency_key="k", resolution_receipt=receipt, deadline=deadline)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(waiting)
                await trio.sleep(1)
                row = await the_attempt(store)
                assert row is not None and (row.state, row.receipt is not None) == ("claimed", True)
                if end == "aborted":
                    supervisor.abort("not now", tool_name="pay")
                elif end == "shut down":
                    await supervisor.shutdown("abort")
                elif end != "late":
                    scope.cancel()
        first.abort()


@requirement("keeping.receipts.completed")
@pytest.mark.parametrize("typed", [False, True])
async def test_a_receipt_that_says_completed_is_the_answer_from_then_on(typed: bool) -> None:
    bank, store = Bank(), Troubled()

    @tool(effect=BANK, output=Money if typed else None, name="pay")
    async def pay(cents: int = 100, seconds: float = 0.0, fails: str = "") -> Money:
        bank.began += 1
        raise ValueError("the line is dead")

    async with open_supervisor(Toolbox([pay]), ledger=store, keys=KEYS, default_request_context=HER) as it:
        await it.execute(ToolCall("pay"), idempotency_key="k")
        attempt = await the_attempt(store)
        assert attempt is not None
        receipt = await receipt_for(attempt, "completed", result='{"cents":100,"to":"ann"}')
        decided = await it.execute(ToolCall("pay"), idempotency_key="k", resolution_receipt=receipt)
        later = await it.execute(ToolCall("pay"), idempotency_key="k")

    for told in (decided, later):
        assert (told.outcome, told_of(told), told.effect) == ("success", "deduped", "completed")
        assert told.value == (Money(100, "ann") if typed else {"cents": 100, "to": "ann"})
        assert "ann" in str(told.content)
    assert bank.began == 1


@requirement("keeping.receipts.completed")
async def test_a_receipt_may_carry_a_whole_result_or_nonsense() -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    receipt = await receipt_for(attempt, "completed", result=json.dumps({"cents": "many"}))

    @tool(effect=BANK, output=Money, name="pay")
    async def pay(cents: int = 100, seconds: float = 0.0, fails: str = "") -> Money:
        return Money(1, "ann")

    async with open_supervisor(Toolbox([pay]), ledger=store, keys=KEYS, default_request_context=HER) as it:
        told = await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)

    assert (code_of(told), told.effect) == ("OUTPUT_INVALID", "completed")


@requirement("keeping.receipts.refused")
@pytest.mark.parametrize("forgery", ["unsigned", "changed", "other-key", "no-keys", "attempt", "arguments", "tenant"])
@pytest.mark.parametrize("decision", ["retry", "abandoned"])
async def test_a_receipt_that_does_not_count_decides_nothing(forgery: str, decision: Decision) -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    receipt: ResolutionReceipt = await receipt_for(attempt, decision)
    if forgery == "unsigned":
        receipt = msgspec.structs.replace(receipt, signature=None)
    elif forgery == "changed":
        receipt = msgspec.structs.replace(receipt, evidence="trust me")
    elif forgery == "other-key":
        receipt = await receipt_for(attempt, decision, keys=Keyring({"default": [SigningKey("k1", b"guessed")]}))
    elif forgery == "attempt":
        receipt = await receipt_for(msgspec.structs.replace(attempt, attempt_id="other"), decision)
    elif forgery == "arguments":
        receipt = await receipt_for(msgspec.structs.replace(attempt, arguments="{}"), decision)
    elif forgery == "tenant":
        receipt = await receipt_for(msgspec.structs.replace(attempt, tenant="beta"), decision)
    keys = None if forgery == "no-keys" else KEYS
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=keys, default_request_context=HER) as it:
        told = await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)
        plain = await it.execute(FAILS, idempotency_key="k")

    assert (code_of(told), told.effect, told.attempts) == ("AUTHORITY_REQUIRED", "none", 0)
    assert (told_of(plain), bank.began) == ("unknown-outcome", 1)


@requirement("keeping.receipts.refused")
async def test_a_receipt_about_other_arguments_than_those_of_the_call_is_a_conflict() -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    receipt = await receipt_for(attempt, "retry")
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        told = await it.execute(ToolCall("pay", {"cents": 9}), idempotency_key="k", resolution_receipt=receipt)

    assert (code_of(told), bank.paid) == ("IDEMPOTENCY_CONFLICT", [])


@requirement("keeping.receipts.needless")
async def test_a_receipt_where_nothing_is_to_be_decided_changes_nothing() -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    receipt = await receipt_for(attempt, "retry")
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        fresh = await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)
        kept = await the_attempt(store)
        assert kept is not None
        done = await receipt_for(kept, "completed", result="1")
        decided = await it.execute(FAILS, idempotency_key="k", resolution_receipt=done)
        deduped = await it.execute(FAILS, idempotency_key="k", resolution_receipt=done)

    assert [told_of(fresh), told_of(decided), told_of(deduped)] == ["fresh", "deduped", "deduped"]


@requirement("keeping.receipts.heard")
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("decision", DECISIONS)
async def test_a_call_whose_receipt_is_about_an_attempt_that_is_gone_does_not_run(
    decision: Decision, signed: bool
) -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    receipt = await receipt_for(attempt, decision, result="1" if decision == "completed" else None)
    receipt = receipt if signed else msgspec.structs.replace(receipt, signature=None)
    other = Troubled()
    async with open_supervisor(Toolbox(bank.tools()), ledger=other, keys=KEYS, default_request_context=HER) as it:
        told = await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)
    left = await other.list()

    assert (code_of(told), told.effect, bank.began) == ("AUTHORITY_REQUIRED", "none", 1)
    assert left == ()  # what it had claimed is free again


@requirement("keeping.receipts.heard")
@pytest.mark.parametrize("decision", DECISIONS)
async def test_a_call_whose_receipt_is_about_an_attempt_that_ended_by_itself_says_so(decision: Decision) -> None:
    bank, store = Bank(), Troubled()
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        await it.execute(ToolCall("pay"), idempotency_key="k")
        attempt = await the_attempt(store)
        assert attempt is not None
        receipt = await receipt_for(attempt, decision, result="1" if decision == "completed" else None)
        told = await it.execute(ToolCall("pay"), idempotency_key="k", resolution_receipt=receipt)
        plain = await it.execute(ToolCall("pay"), idempotency_key="k")

    assert (code_of(told), told_of(plain), bank.paid) == ("AUTHORITY_REQUIRED", "deduped", [100])
    assert told.error is not None and "nothing has to be decided" in told.error.message


@requirement("keeping.receipts.heard")
@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("before", DECISIONS)
async def test_a_call_whose_receipt_contradicts_an_earlier_decision_says_so(
    before: Decision, decision: Decision
) -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    first = await receipt_for(attempt, before, result="1" if before == "completed" else None)
    await decide(store, KEYS, first, domain="default")
    stands = await the_attempt(store)
    second = await receipt_for(attempt, decision, result="2" if decision == "completed" else None, nonce="n2")
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        told = await it.execute(FAILS, idempotency_key="k", resolution_receipt=second)

    if (before, decision) == ("abandoned", "abandoned"):  # two who say the same contradict each other in nothing
        assert code_of(told) == "IDEMPOTENCY_CONFLICT"
    else:
        assert (code_of(told), told.effect) == ("AUTHORITY_REQUIRED", "none")
    assert bank.began == 1
    if before != "retry":  # which gives the place away, and so it is free again
        assert await the_attempt(store) == stands


@requirement("keeping.receipts.heard")
async def test_two_who_decided_the_same_are_told_the_same() -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        for nonce in ("n1", "n2"):
            receipt = await receipt_for(attempt, "completed", result="7", nonce=nonce)
            told = await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)
            assert (told_of(told), told.value) == ("deduped", 7)


@requirement("keeping.receipts.heard")
async def test_a_receipt_about_an_attempt_that_still_goes_on_waits_for_that_and_says_that_it_ended(
    autojump_clock: trio.abc.Clock,
) -> None:
    bank, clock = Bank(), Clock(with_trio=True)
    store = Troubled(clock)
    call = ToolCall("pay", {"seconds": 5})
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        first = it.start(call, idempotency_key="k")
        await trio.sleep(1)
        attempt = await the_attempt(store)
        assert attempt is not None
        receipt = await receipt_for(attempt, "abandoned")
        told = await it.execute(call, idempotency_key="k", resolution_receipt=receipt)
        ended = (await first.result()).outcome

    assert (ended, code_of(told), bank.paid) == ("success", "AUTHORITY_REQUIRED", [100])


@requirement("keeping.receipts.heard")
async def test_a_stale_receipt_does_not_wait_for_the_attempt_that_took_the_place_of_its_own(
    autojump_clock: trio.abc.Clock,
) -> None:
    bank, clock = Bank(), Clock(with_trio=True)
    store = Troubled(clock)
    call = ToolCall("pay", {"seconds": 5})
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        first = it.start(call, idempotency_key="k")
        await trio.sleep(1)
        attempt = await the_attempt(store)
        assert attempt is not None
        receipt = await receipt_for(msgspec.structs.replace(attempt, attempt_id="another"), "retry")
        began = trio.current_time()
        told = await it.execute(call, idempotency_key="k", resolution_receipt=receipt)
        took = trio.current_time() - began
        await first.settled()

    assert (code_of(told), bank.paid, took < 1) == ("AUTHORITY_REQUIRED", [100], True)


@requirement("keeping.receipts.refused")
@pytest.mark.parametrize("durable", [True, False])
async def test_a_receipt_about_another_key_than_that_of_the_call_lets_nothing_run(durable: bool) -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    receipt = await receipt_for(attempt, "completed", result="1")
    ledger = store if durable else None
    async with open_supervisor(Toolbox(bank.tools()), ledger=ledger, keys=KEYS, default_request_context=HER) as it:
        other = await it.execute(ToolCall("pay"), idempotency_key="other", resolution_receipt=receipt)
        keyless = await it.execute(ToolCall("pay"), resolution_receipt=receipt)
        reads = await it.execute(ToolCall("balance"), resolution_receipt=receipt)

    assert [code_of(each) for each in (other, keyless, reads)] == ["AUTHORITY_REQUIRED"] * 3
    assert (bank.paid, bank.began) == ([], 1)


@requirement("keeping.receipts.retry")
async def test_two_who_hold_the_same_receipt_run_once(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled(takes=0.1)
    call = ToolCall("pay", {"fails": "before", "seconds": 1})
    attempt = await left_unknown(bank, store, call)
    receipt = await receipt_for(attempt, "retry")
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        results = await it.execute_batch([call] * 3, idempotency_key="k", resolution_receipt=receipt)

    assert bank.began == 2
    assert sorted(str(told_of(each)) for each in results if each.idempotency is not None).count("fresh") == 1


@requirement("keeping.receipts.tenant")
async def test_a_receipt_of_one_tenant_says_nothing_about_another_one() -> None:
    bank, store = Bank(), Troubled()
    attempt = await left_unknown(bank, store)
    receipt = await receipt_for(attempt, "retry")
    beta = RequestContext(principal="eve", tenant="beta")
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=beta) as it:
        await it.execute(FAILS, idempotency_key="k")
        told = await it.execute(FAILS, idempotency_key="k", resolution_receipt=receipt)

    assert (code_of(told), bank.began) == ("AUTHORITY_REQUIRED", 2)
