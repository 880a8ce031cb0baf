"""What is kept stays as it was: whatever others do to what they were given, and whoever is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import msgspec
import pytest
import trio

from armory_trio import (
    Allow,
    Ask,
    PolicyRequest,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.ledger import Decision, resolve_with
from tests.engine.ledger.stores import BANK, HER, KEYS, Bank, Troubled, code_of, receipt_for, the_attempt, told_of
from tests.engine.ledger.test_pauses import Shop, asks_about, row_of
from tests.requirements import requirement

FAILS = ToolCall("pay", {"fails": "before"})


@requirement("keeping.joined.apart")
async def test_a_copy_that_is_something_else_is_none(autojump_clock: trio.abc.Clock) -> None:
    class Account(msgspec.Struct):
        name: str

        def __deepcopy__(self, memo: object) -> object:
            return None

    @tool(effect=BANK)
    async def connect() -> Account:
        await trio.sleep(5)
        return Account("ann")

    async with open_supervisor(Toolbox([connect]), default_request_context=HER) as supervisor:
        leader = supervisor.start(ToolCall("connect"), idempotency_key="k")
        await trio.sleep(1)
        joiner = supervisor.start(ToolCall("connect"), idempotency_key="k")
        first, second = await leader.result(), await joiner.result()

    assert (told_of(second), second.value is first.value) == ("joined", True)


@requirement("keeping.joined.apart")
@pytest.mark.parametrize("joins", [True, False])
async def test_what_a_reader_does_to_its_chunks_is_not_what_is_kept(
    joins: bool, autojump_clock: trio.abc.Clock
) -> None:
    @tool(effect=BANK)
    async def talk() -> AsyncIterator[dict[str, int]]:
        for number in range(3):
            yield {"n": number}
            await trio.sleep(1)

    call, chunks = ToolCall("talk"), [{"n": 0}, {"n": 1}, {"n": 2}]
    async with open_supervisor(Toolbox([talk]), default_request_context=HER) as supervisor:
        joiner = None
        async with supervisor.stream(call, idempotency_key="k") as stream:
            if joins:
                joiner = supervisor.start(call, idempotency_key="k")
            async for chunk in stream:
                cast("dict[str, int]", chunk).clear()
        if joiner is not None:
            assert (await joiner.result()).value == chunks
        again = await supervisor.execute(call, idempotency_key="k")

    assert (told_of(again), again.value) == ("deduped", chunks)


@requirement("keeping.pauses")
@pytest.mark.parametrize("key", [None, "k"])
async def test_what_a_body_does_to_what_its_steps_answered_is_not_what_it_goes_on_with(key: str | None) -> None:
    @tool(effect="read-only")
    async def items() -> list[list[str]]:
        return [["a"]]

    @tool(effect=BANK)
    async def ship() -> str:
        return "shipped"

    @tool(effect=BANK)
    async def order(ctx: ToolContext) -> object:
        found = cast("list[list[str]]", (await ctx.call("items", place="items")).unwrap())
        found[0].append("b")
        found.append([])
        (await ctx.call("ship", place="ship")).unwrap()
        (await ctx.call("ship", place="again")).unwrap()
        return found

    def policy(request: PolicyRequest) -> Allow | Ask:
        return Ask("Really?") if request.definition.name == "ship" else Allow()

    async with open_supervisor(
        Toolbox([items, ship, order], policy=policy), keys=KEYS, default_request_context=HER
    ) as supervisor:
        result = await supervisor.execute(ToolCall("order"), idempotency_key=key)
        for _ in range(2):
            assert result.pending_approval is not None, result
            result = await supervisor.resume_approval(result.pending_approval)

    assert (result.outcome, result.value) == ("success", [["a", "b"], []])


@requirement("keeping.receipts.refused")
@pytest.mark.parametrize("late", ["retry", "abandoned"])
@pytest.mark.parametrize("stands", ["granted", "nothing"])
async def test_a_receipt_that_came_too_late_takes_nothing_away(late: Decision, stands: str) -> None:
    bank, store = Bank(), Troubled()
    async with open_supervisor(
        Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER
    ) as supervisor:
        await supervisor.execute(FAILS, idempotency_key="k")
        attempt = await the_attempt(store)
        assert attempt is not None
        first, second = await receipt_for(attempt, "retry"), await receipt_for(attempt, late, nonce="n2")
        if stands == "granted":
            await store.apply(resolve_with(first, attempt))
        else:
            store.inner = Troubled().inner  # it was lost, or forgotten
        before, asked = await the_attempt(store), len(store.operations)
        refused = await supervisor.execute(FAILS, idempotency_key="k", resolution_receipt=second)
        after, began = await the_attempt(store), bank.began
        if stands == "granted":  # whoever has the receipt that was heard can use it
            used = await supervisor.execute(FAILS, idempotency_key="k", resolution_receipt=first)
            assert told_of(used) == "fresh"

    assert (code_of(refused), before, began) == ("AUTHORITY_REQUIRED", after, 1)
    assert store.operations[asked:] == [] or stands == "granted"


@requirement("keeping.receipts.refused")
@pytest.mark.parametrize("decision", ["retry", "abandoned"])
async def test_a_receipt_decides_nothing_about_what_goes_on_from_a_pause(decision: Decision) -> None:
    shop, store = Shop(), Troubled()
    toolbox = Toolbox(shop.tools, policy=asks_about("ship"))
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        paused = await supervisor.execute(ToolCall("order"), idempotency_key="k")
        before = await row_of(store, "order")
        receipt = await receipt_for(before, decision)
        assert paused.pending_approval is not None
        refused = await supervisor.resume_approval(paused.pending_approval, resolution_receipt=receipt)
        assert (code_of(refused), await row_of(store, "order"), shop.done) == ("AUTHORITY_REQUIRED", before, [])
        assert "goes on from where it waits" in str(refused.content)
        result = await supervisor.resume_approval(paused.pending_approval)

    assert (result.outcome, shop.done, shop.bank.paid) == ("success", ["ship", "seal"], [100])
