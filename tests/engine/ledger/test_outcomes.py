"""What the ledger says about a call, and what the caller is told: each row of the table."""

from __future__ import annotations

import pytest
import trio

from armory_trio import Toolbox, ToolCall, ToolFailure, ToolResult, open_supervisor, tool
from armory_trio.definitions import Effect
from armory_trio.ledger import MemoryLedger
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
    said_of,
    the_attempt,
    told_of,
)
from tests.requirements import requirement


@requirement("keeping.deduped")
async def test_what_was_done_is_answered_again_with_the_value_that_it_had() -> None:
    @tool(effect=BANK, output=Money)
    async def pay() -> Money:
        return Money(100, "ann")

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("pay", id="one"), idempotency_key="k")
        again = await supervisor.execute(ToolCall("pay", id="two"), idempotency_key="k")

    assert (again.outcome, again.value, again.content) == ("success", Money(100, "ann"), first.content)
    assert (again.effect, again.attempts, again.call_id) == ("completed", 0, "two")
    assert again.execution_id != first.execution_id
    assert said_of(again).attempt_id == said_of(first).attempt_id


@requirement("keeping.deduped.error")
async def test_an_error_after_the_effect_is_answered_again_as_that_error() -> None:
    ran: list[int] = []

    @tool(effect=BANK)
    async def pay() -> None:
        ran.append(1)
        raise ToolFailure("paid, but the receipt is lost", code="NO_RECEIPT", effect="completed", details={"no": 4})

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert (again.error, again.content, again.effect) == (first.error, first.content, "completed")
    assert (code_of(again), told_of(first), told_of(again), ran) == ("NO_RECEIPT", "fresh", "deduped", [1])


@requirement("keeping.effect.none")
async def test_an_error_without_an_effect_leaves_the_key_free() -> None:
    bank = Bank()

    @tool(effect=BANK)
    async def pay(cents: int) -> int:
        if not bank.paid:
            bank.paid.append(0)
            raise ToolFailure("no such account", effect="none")
        return cents

    store = Troubled()
    async with open_supervisor(Toolbox([pay, *bank.tools()[1:]]), ledger=store, default_request_context=HER) as it:
        failed = await it.execute(ToolCall("pay", {"cents": 1}), idempotency_key="k")
        kept = await the_attempt(store)
        again = await it.execute(ToolCall("pay", {"cents": 2}), idempotency_key="k")
        windowless = await it.execute(ToolCall("wire", {"fails": "before"}), idempotency_key="w")
        retried = await it.execute(ToolCall("wire", {}), idempotency_key="w")

    assert (code_of(failed), failed.effect, kept) == ("INTERNAL_ERROR", "none", None)
    assert (told_of(again), again.value) == ("fresh", 2)
    assert (windowless.effect, told_of(retried)) == ("none", "fresh")


@requirement("keeping.effect.unknown")
@pytest.mark.parametrize("fails", ["before", "after"])
async def test_an_unknown_effect_is_kept_until_somebody_decides(fails: str) -> None:
    bank = Bank()
    store = Troubled()
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("pay", {"fails": fails}), idempotency_key="k")
        again = await supervisor.execute(ToolCall("pay", {"fails": fails}), idempotency_key="k")

    assert (first.effect, told_of(first), said_of(first).recorded) == ("unknown", "fresh", False)
    assert (again.outcome, again.effect, told_of(again)) == ("action_required", "unknown", "unknown-outcome")
    assert again.action is not None and again.action.type == "resolution"
    assert said_of(again).attempt_id == said_of(first).attempt_id
    assert bank.began == 1


@requirement("keeping.effect.windows")
@pytest.mark.parametrize(
    ("fails", "effect", "again"),
    [("before", "none", "fresh"), ("within", "unknown", "unknown-outcome"), ("after", "completed", "deduped")],
)
async def test_effect_windows_say_what_becomes_of_the_key(fails: str, effect: Effect, again: str) -> None:
    bank = Bank()
    store = Troubled()
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("wire", {"fails": fails}), idempotency_key="k")
        asked = store.asked.copy()
        second = await supervisor.execute(ToolCall("wire", {"fails": fails}), idempotency_key="k")

    assert (first.effect, told_of(second)) == (effect, again)
    windows = [] if fails == "before" else ["OpenWindow", "CloseWindow"]
    assert asked == ["Claim", "Start", *windows, "Complete"]


@requirement("keeping.effect.read-only")
async def test_a_read_only_call_with_a_key_is_answered_again_and_a_failed_one_runs_again() -> None:
    answers = iter([ValueError("the line is dead"), 7])

    @tool(effect="read-only")
    async def look() -> object:
        found = next(answers)
        if isinstance(found, ValueError):
            raise found
        return found

    async with open_supervisor(Toolbox([look]), default_request_context=HER) as supervisor:
        told = [await supervisor.execute(ToolCall("look"), idempotency_key="k") for _ in range(3)]

    assert [told_of(each) for each in told] == ["fresh", "fresh", "deduped"]
    assert [each.value for each in told] == [None, 7, 7]
    assert {each.effect for each in told} == {"none"}


class Strange:
    """A value that nobody can write down."""


@requirement("keeping.content")
async def test_a_value_that_has_no_json_form_is_not_told_again_and_says_so() -> None:
    ran: list[int] = []

    @tool(effect=BANK)
    async def pay() -> object:
        ran.append(1)
        return Strange()

    @tool(effect=BANK)
    async def noted() -> object:
        ran.append(2)
        raise ToolFailure("paid", code="ODD", effect="completed", details={"thing": {1, 2}})

    async with open_supervisor(Toolbox([pay, noted]), default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        odd = await supervisor.execute(ToolCall("noted"), idempotency_key="k")
        odd_again = await supervisor.execute(ToolCall("noted"), idempotency_key="k")

    assert (code_of(first), code_of(again)) == ("OUTPUT_INVALID", "OUTPUT_INVALID")
    assert (code_of(odd), code_of(odd_again)) == ("ODD", "ODD")
    assert ran == [1, 2]
    assert {each.effect for each in (first, again, odd, odd_again)} == {"completed"}


@requirement("keeping.content")
async def test_what_another_contract_can_not_read_any_more_is_an_error_that_took_effect() -> None:
    @tool(effect=BANK, name="pay", output=Money)
    async def before() -> Money:
        return Money(1, "ann")

    @tool(effect=BANK, name="pay", output=int)
    async def after() -> int:
        return 1

    store = Troubled()
    async with open_supervisor(Toolbox([before]), ledger=store, default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")
    async with open_supervisor(Toolbox([after]), ledger=store, default_request_context=HER) as supervisor:
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert (code_of(again), again.effect, told_of(again)) == ("OUTPUT_INVALID", "completed", "deduped")
    assert again.error is not None and not again.error.retryable


@requirement("keeping.policy.revision")
async def test_what_was_done_under_other_rules_is_not_told_again() -> None:
    bank, store = Bank(), Troubled()
    async with open_supervisor(
        Toolbox(bank.tools(), policy_revision="p1"), ledger=store, default_request_context=HER
    ) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")
    async with open_supervisor(
        Toolbox(bank.tools(), policy_revision="p2"), ledger=store, default_request_context=HER
    ) as supervisor:
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert (again.outcome, again.effect, told_of(again)) == ("action_required", "completed", "authorization-required")
    assert again.action is not None and again.action.type == "authorization"
    assert bank.paid == [100]


@requirement("keeping.policy.replay")
async def test_a_policy_is_asked_again_before_what_was_done_is_told_again() -> None:
    asked: list[object] = []

    def policy(request: object) -> bool:
        asked.append(request)
        return len(asked) < 3

    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools(), policy=policy), default_request_context=HER) as supervisor:
        told = [await supervisor.execute(ToolCall("pay"), idempotency_key="k") for _ in range(3)]

    assert [told_of(each) for each in told[:2]] == ["fresh", "deduped"]
    assert (code_of(told[2]), told[2].effect, told[2].value) == ("POLICY_DENIED", "none", None)
    assert (len(asked), bank.paid) == (3, [100])


@requirement("keeping.recovery-only")
async def test_a_ledger_that_is_given_records_calls_without_keys_and_never_answers_from_them() -> None:
    bank, store = Bank(), Troubled()
    async with open_supervisor(Toolbox(bank.tools()), ledger=store) as supervisor:
        results = [await supervisor.execute(ToolCall("pay")) for _ in range(2)]
        rows = await store.list()
        await supervisor.execute(ToolCall("balance"))
        after = await store.list()

    assert [each.idempotency for each in results] == [None, None]
    assert (bank.paid, rows) == ([100, 100], after)
    assert [(row.state, row.deduplicates, row.execution_id) for row in rows] == [
        ("completed", False, each.execution_id) for each in results
    ]


@requirement("keeping.recovery-only")
async def test_without_a_ledger_a_call_without_a_key_costs_nothing() -> None:
    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools())) as supervisor:
        await supervisor.execute(ToolCall("pay"))
        assert supervisor._core.ledger._store is None  # pyright: ignore[reportPrivateUsage]  # it shows nowhere else


@requirement("keeping.abandoned")
async def test_what_was_given_up_is_not_tried_again() -> None:
    bank, store = Bank(), Troubled()
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        await it.execute(ToolCall("pay", {"fails": "after"}), idempotency_key="k")
        attempt = await the_attempt(store)
        assert attempt is not None
        receipt = await receipt_for(attempt, "abandoned")
        decided = await it.execute(ToolCall("pay", {"fails": "after"}), idempotency_key="k", resolution_receipt=receipt)
        later = await it.execute(ToolCall("pay", {"fails": "after"}), idempotency_key="k")

    for told in (decided, later):
        assert (code_of(told), told_of(told), told.effect) == ("IDEMPOTENCY_CONFLICT", "conflict", "unknown")
        assert "may have taken effect" in told.text
        assert "other arguments" not in told.text
        assert "Nothing was changed" not in told.text
    assert bank.began == 1


@requirement("keeping.fence.completion")
async def test_who_lost_the_fence_while_it_ran_tells_the_value_and_says_that_it_is_not_what_is_kept(
    autojump_clock: trio.abc.Clock,
) -> None:
    clock = Clock()
    bank, store = Bank(), Troubled(clock)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("pay", {"seconds": 5}), idempotency_key="k")
        await trio.sleep(1)
        clock.ahead += 31
        result: ToolResult[object] = await execution.result()
        again = await supervisor.execute(ToolCall("pay", {"seconds": 5}), idempotency_key="k")

    assert (result.outcome, result.effect, result.value) == ("success", "completed", Money(100, "ann"))
    assert (told_of(result), said_of(result).recorded) == ("fence-lost", False)
    assert told_of(again) == "unknown-outcome"
    assert bank.paid == [100]


@requirement("keeping.restart")
async def test_another_supervisor_over_the_same_ledger_knows_what_was_done() -> None:
    bank, store = Bank(), MemoryLedger()
    told: list[str] = []
    for _ in range(3):
        async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
            told.append(told_of(await supervisor.execute(ToolCall("pay"), idempotency_key="k")))

    assert (told, bank.paid) == (["fresh", "deduped", "deduped"], [100])
