"""What is told about a key: by which rules, how much of it, and whether it is recorded."""

from __future__ import annotations

import math
import threading
from collections.abc import AsyncIterator, Iterator

import attrs
import pytest
import trio

from armory_trio import (
    Allow,
    CallNext,
    Deny,
    Limits,
    MiddlewareCall,
    PolicyRequest,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.definitions import Placement
from armory_trio.ledger import Claim, Complete, LedgerKey, LegacyReceipt, legacy_entry, sign_receipt
from tests.engine.ledger.stores import (
    BANK,
    HER,
    KEYS,
    Bank,
    Clock,
    Troubled,
    code_of,
    receipt_for,
    said_of,
    the_attempt,
    told_of,
)
from tests.requirements import requirement

PATIENCE = 30
"""Seconds after which a test is taken for hung; no result depends on it."""


def allows(_: PolicyRequest) -> Allow | Deny:
    return Allow()


def denies(_: PolicyRequest) -> Allow | Deny:
    return Deny("no more")


@requirement("keeping.content")
@pytest.mark.parametrize("where", ["key", "value"])
async def test_half_a_character_loses_no_result(where: str) -> None:
    @tool(effect=BANK)
    async def give() -> object:
        return "\ud800" if where == "value" else "given"

    key = "\ud800" if where == "key" else "k"
    async with open_supervisor(Toolbox([give]), default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("give"), idempotency_key=key)
        again = await supervisor.execute(ToolCall("give"), idempotency_key=key)

    assert (first.outcome, said_of(first).recorded) == ("success", True)
    assert (told_of(again), again.outcome) == ("deduped", "success")


@requirement("keeping.policy.replay")
async def test_what_was_done_is_told_again_by_the_rules_that_are_in_force(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    toolbox = Toolbox(bank.tools(), policy=allows, policy_revision="1")
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        store.takes = 2
        again = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1)
        supervisor.exchange(attrs.evolve(toolbox, policy=denies))
        result = await again.result()

    assert code_of(result) == "POLICY_DENIED"


@requirement("keeping.policy.replay")
async def test_a_joiner_is_judged_by_the_rules_that_are_in_force_when_it_is_told(
    autojump_clock: trio.abc.Clock,
) -> None:
    bank, call = Bank(), ToolCall("pay", {"seconds": 1000})
    toolbox = Toolbox(bank.tools(), policy=allows, policy_revision="1")
    async with open_supervisor(
        toolbox, ledger=Troubled(Clock(with_trio=True)), default_request_context=HER
    ) as supervisor:
        supervisor.start(call, idempotency_key="k")
        await trio.sleep(1)
        joiner = supervisor.start(call, idempotency_key="k")
        await trio.sleep(1)
        supervisor.exchange(attrs.evolve(toolbox, policy=denies, policy_revision="2"))
        result = await joiner.result()

    assert code_of(result) == "POLICY_DENIED"


@requirement("keeping.policy.revision")
async def test_an_attempt_is_recorded_under_the_rules_that_let_it_through(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    toolbox = Toolbox(bank.tools(), policy=allows, policy_revision="1")
    async with open_supervisor(
        toolbox, ledger=store, limits=Limits(concurrent=1), default_request_context=HER
    ) as supervisor:
        supervisor.start(ToolCall("pay", {"seconds": 5}), idempotency_key="other")
        await trio.sleep(1)
        queued = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1)
        supervisor.exchange(attrs.evolve(toolbox, policy_revision="2"))
        await queued.settled()  # judged again, and begun, under revision 2
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert told_of(again) == "deduped"


@requirement("keeping.stopped.writing")
async def test_a_result_is_not_given_away_before_it_is_written_down(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True), takes=1)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(2.5)  # claimed, started, and on its way to the ledger
        early = await execution.result()
        await execution.settled()
        late = await execution.result()

    assert early == late


@requirement("keeping.restart")
async def test_an_attempt_that_never_started_stands_in_nobody_s_way() -> None:
    bank, clock = Bank(), Clock()
    store = Troubled(clock)
    claim = Claim(
        key=LedgerKey("acme", "default:pay", "k"),
        tool_name="pay",
        attempt_id="gone",
        arguments='{"cents":1,"fails":"","seconds":0}',
        execution_id="gone",
        host="gone",
        policy_revision="",
        lease=30,
        cap=60,
    )
    await store.apply(claim)
    clock.ahead += 1_000_000
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        result = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert told_of(result) == "fresh"


@requirement("keeping.receipts.refused")
async def test_a_receipt_that_is_none_is_a_mistake_of_the_host() -> None:
    bank, call = Bank(), ToolCall("pay", {"fails": "after"})
    async with open_supervisor(Toolbox(bank.tools()), keys=KEYS, default_request_context=HER) as supervisor:
        await supervisor.execute(call, idempotency_key="k")
        with pytest.raises(TypeError, match="resolution_receipt"):
            await supervisor.execute(call, idempotency_key="k", resolution_receipt={"decision": "retry"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@requirement("keeping.receipts.retry")
async def test_a_receipt_starts_no_second_body_beside_one_that_runs_here(autojump_clock: trio.abc.Clock) -> None:
    running: list[int] = [0]
    most: list[int] = []

    @tool(effect=BANK)
    async def pay() -> str:
        running[0] += 1
        most.append(running[0])
        await trio.sleep(50)
        running[0] -= 1
        return "paid"

    clock = Clock(with_trio=True)
    store = Troubled(clock)
    async with open_supervisor(Toolbox([pay]), ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1)
        clock.ahead += 31
        attempt = await the_attempt(store)
        assert attempt is not None
        receipt = await receipt_for(attempt, "retry")
        await supervisor.execute(ToolCall("pay"), idempotency_key="k", resolution_receipt=receipt)

    assert max(most) == 1


@requirement("keeping.down.after")
async def test_a_store_that_refuses_an_end_is_not_called_a_lost_fence(autojump_clock: trio.abc.Clock) -> None:
    class Broken(Clock):
        broken = False

        def __call__(self) -> float:
            return math.nan if self.broken else super().__call__()

    bank, clock = Bank(), Broken(with_trio=True)
    async with open_supervisor(
        Toolbox(bank.tools()), ledger=Troubled(clock), default_request_context=HER
    ) as supervisor:
        execution = supervisor.start(ToolCall("pay", {"seconds": 2}), idempotency_key="k")
        await trio.sleep(1)
        clock.broken = True
        result = await execution.result()

    assert (told_of(result), said_of(result).recorded) == ("fresh", False)


@requirement("keeping.late")
async def test_a_value_that_came_after_the_timeout_is_told_to_who_asks_again(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect=BANK)
    async def pay() -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
        return "receipt no. 7"

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        first = supervisor.start(ToolCall("pay"), idempotency_key="k", timeout=1)
        await first.settled()
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert first.privileged_snapshot().late_value == "receipt no. 7"  # the engine has it
    assert (again.outcome, again.value) == ("success", "receipt no. 7")


@requirement("keeping.late.middleware")
@pytest.mark.parametrize("placement", ["task", "thread"])
async def test_a_value_that_its_middleware_never_passed_on_is_not_told_to_who_asks_again(placement: Placement) -> None:
    returned = trio.Event()

    async def slowly(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        await call_next()
        returned.set()
        await trio.sleep_forever()
        raise AssertionError

    @tool(effect=BANK, placement=placement)
    def pay() -> str:
        return "receipt no. 7, with the number of the card"

    toolbox = Toolbox([pay], middleware=[slowly])
    async with open_supervisor(toolbox, default_request_context=HER) as supervisor:
        first = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await returned.wait()
        first.abort("enough")
        await first.settled()
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert first.privileged_snapshot().late_value is None
    assert again.error is not None
    assert (told_of(again), again.error.code, again.effect) == ("deduped", "CANCELLED", "completed")


@requirement("keeping.late.middleware")
async def test_a_late_value_that_its_middleware_never_saw_is_not_told_to_who_asks_again() -> None:
    began, let_go = threading.Event(), threading.Event()

    async def redact(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        await call_next()
        return "receipt no. 7"

    @tool(effect=BANK)
    def pay() -> str:
        began.set()
        assert let_go.wait(PATIENCE)
        return "receipt no. 7, with the number of the card"

    async with open_supervisor(Toolbox([pay], middleware=[redact]), default_request_context=HER) as supervisor:
        with trio.fail_after(PATIENCE):
            try:
                first = supervisor.start(ToolCall("pay"), idempotency_key="k")
                assert await trio.to_thread.run_sync(began.wait, PATIENCE)
                first.abort("enough")
                await first.result()
            finally:
                let_go.set()
            await first.settled()
            again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert first.snapshot.effect == "completed"
    assert first.privileged_snapshot().late_value == "receipt no. 7, with the number of the card"  # the engine has it
    assert again.error is not None
    assert (told_of(again), again.error.code, again.effect) == ("deduped", "CANCELLED", "completed")


@requirement("keeping.late.streams")
@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("place", ["task", "thread"])
async def test_a_stream_of_which_nothing_came_in_time_is_no_empty_one_for_who_asks_again(
    place: Placement, live: bool
) -> None:
    began, let_go = threading.Event(), threading.Event()

    async def in_its_task() -> AsyncIterator[str]:
        with trio.CancelScope(shield=True):
            began.set()
            await trio.to_thread.run_sync(let_go.wait, PATIENCE)
        yield "too late"

    def in_a_thread() -> Iterator[str]:
        began.set()
        if not let_go.wait(PATIENCE):
            yield "in vain"

    tell = (
        tool(name="tell", effect=BANK)(in_its_task) if place == "task" else tool(name="tell", effect=BANK)(in_a_thread)
    )
    call = ToolCall("tell")
    async with open_supervisor(Toolbox([tell]), default_request_context=HER) as supervisor:
        with trio.fail_after(PATIENCE):
            try:
                if live:
                    async with supervisor.stream(call, idempotency_key="k") as stream:
                        assert await trio.to_thread.run_sync(began.wait, PATIENCE)
                    first = stream.execution
                else:
                    first = supervisor.start(call, idempotency_key="k")
                    assert await trio.to_thread.run_sync(began.wait, PATIENCE)
                    first.abort("enough")
                    await first.result()
            finally:
                let_go.set()
            await first.settled()
            again = await supervisor.execute(call, idempotency_key="k")

    assert again.error is not None
    assert (told_of(again), again.error.code, again.effect) == ("deduped", "CANCELLED", "completed")


@requirement("keeping.joined.heir")
@pytest.mark.parametrize("how", ["timeout", "abort"])
async def test_a_joiner_is_not_stopped_by_what_stopped_its_leader(how: str, autojump_clock: trio.abc.Clock) -> None:
    bank, call = Bank(), ToolCall("wire", {"seconds": 5})
    async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:
        leader = supervisor.start(call, idempotency_key="k", timeout=1 if how == "timeout" else None)
        await trio.sleep(0.5)
        joiner = supervisor.start(call, idempotency_key="k")  # which set no limit, and nobody stopped
        await trio.sleep(0.1)
        if how == "abort":
            leader.abort("not needed by me")
        result = await joiner.result()

    assert (result.outcome, bank.paid) == ("success", [100])


@requirement("keeping.joined")
@pytest.mark.parametrize("how", ["not-written", "fence-lost"])
async def test_a_joiner_says_that_it_is_recorded_only_if_it_is(how: str, autojump_clock: trio.abc.Clock) -> None:
    bank, clock, call = Bank(), Clock(with_trio=True), ToolCall("pay", {"seconds": 5})
    store = Troubled(clock)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        leader = supervisor.start(call, idempotency_key="k")
        await trio.sleep(1)
        joiner = supervisor.start(call, idempotency_key="k")
        await trio.sleep(1)
        if how == "fence-lost":
            clock.ahead += 100
        else:
            store.trouble[Complete] = "raises"
        first, second = await leader.result(), await joiner.result()
        attempt = await the_attempt(store)

    assert attempt is not None and attempt.state != "completed"
    assert (said_of(first).recorded, said_of(second).recorded) == (False, False)


@requirement("keeping.receipts.completed")
async def test_what_somebody_decided_was_done_is_answered() -> None:
    """An entry that was brought in has no policy revision, and what somebody decided about it counts all the same."""
    bank, store, key = Bank(), Troubled(), LedgerKey("acme", "default:pay", "k")
    for operation in legacy_entry(key, "pay", 5.0):
        await store.apply(operation)
    receipt = LegacyReceipt(
        decision="completed",
        tenant="acme",
        tool_id="default:pay",
        key=key.text,
        tool_name="pay",
        legacy_started_at=5.0,
        evidence="the bank's statement",
        authorized_by="bob",
        authorized_at=10.0,
        nonce="n",
        result='{"cents": 5, "to": "ann"}',
    )
    signed = await sign_receipt(KEYS, receipt, domain="default")
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, keys=KEYS, default_request_context=HER) as it:
        result = await it.execute(ToolCall("pay"), idempotency_key="k", resolution_receipt=signed)

    assert (told_of(result), result.outcome) == ("deduped", "success")
