"""The same key while it runs: who waits for whom, and what becomes of them."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    Execution,
    ExecutionStarted,
    Limits,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.definitions import Effect
from armory_trio.ledger import Claim, LedgerKey, Start
from tests.engine.cancelling import assert_nothing_is_held
from tests.engine.ledger.stores import BANK, HER, Bank, Clock, Troubled, code_of, said_of, told_of
from tests.requirements import requirement

SLOW = ToolCall("pay", {"seconds": 5})


@requirement("keeping.joined")
async def test_those_who_ask_at_once_share_one_body(autojump_clock: trio.abc.Clock) -> None:
    bank = Bank()
    results: list[ToolResult[object]] = []

    async def ask() -> None:
        results.append(await supervisor.execute(ToolCall("pay", {"seconds": 5}), idempotency_key="k"))

    async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
        assert_nothing_is_held(supervisor)

    assert (bank.began, bank.paid, len(results)) == (1, [100], 20)
    assert sorted(told_of(each) for each in results) == ["fresh", *["joined"] * 19]
    assert len({each.execution_id for each in results}) == len({each.call_id for each in results}) == 20
    assert {str(each.value) for each in results} == {str(results[0].value)}
    assert len({said_of(each).attempt_id for each in results}) == 1
    assert {each.effect for each in results} == {"completed"}
    assert sorted(each.attempts for each in results) == [0] * 19 + [1]


@requirement("keeping.joined.apart")
@pytest.mark.parametrize("how", ["value", "details"])
async def test_whoever_changes_what_it_was_told_changes_nobody_elses(how: str, autojump_clock: trio.abc.Clock) -> None:
    @tool(effect=BANK)
    async def collect() -> list[dict[str, int]]:
        await trio.sleep(5)
        if how == "details":
            raise ToolFailure("paid, and no more", effect="completed", details={"items": [{"item": 1}]})
        return [{"item": 1}]

    told: list[object] = []

    async def ask() -> None:
        result = await supervisor.execute(ToolCall("collect"), idempotency_key="k")
        items = result.value if result.error is None else (result.error.details or {})["items"]
        told.append(repr(items))
        assert isinstance(items, list)
        cast("list[dict[str, int]]", items)[0].clear()
        cast("list[object]", items).append("mine")

    async with (
        open_supervisor(Toolbox([collect]), default_request_context=HER) as supervisor,
        trio.open_nursery() as nursery,
    ):
        for _ in range(4):
            nursery.start_soon(ask)

    assert told == ["[{'item': 1}]"] * 4


@requirement("keeping.joined")
async def test_a_value_that_can_not_be_copied_is_shared(autojump_clock: trio.abc.Clock) -> None:
    class Open(msgspec.Struct):
        name: str

        def __deepcopy__(self, memo: object) -> object:
            raise TypeError("it is open")

    @tool(effect=BANK)
    async def connect() -> Open:
        await trio.sleep(5)
        return Open("a line to the bank")

    async with open_supervisor(Toolbox([connect]), default_request_context=HER) as supervisor:
        leader = supervisor.start(ToolCall("connect"), idempotency_key="k")
        await trio.sleep(1)
        joiner = supervisor.start(ToolCall("connect"), idempotency_key="k")
        first, second = await leader.result(), await joiner.result()

    assert (told_of(second), second.value is first.value) == ("joined", True)


@requirement("keeping.joined.waits")
async def test_a_joiner_shows_whom_it_waits_for_and_holds_no_slot(autojump_clock: trio.abc.Clock) -> None:
    bank = Bank()
    async with open_supervisor(
        Toolbox(bank.tools()), limits=Limits(concurrent=2), default_request_context=HER
    ) as supervisor:
        leader = supervisor.start(SLOW, idempotency_key="k")
        await trio.testing.wait_all_tasks_blocked()
        joiners = [supervisor.start(SLOW, idempotency_key="k") for _ in range(5)]
        await trio.testing.wait_all_tasks_blocked()
        shots = [each.snapshot for each in joiners]
        other = await supervisor.execute(ToolCall("balance"))
        assert bank.paid == []
        told = [told_of(await each.result()) for each in (leader, *joiners)]

    assert {(shot.state, shot.waits_for, shot.capacity) for shot in shots} == {("queued", f"joined:{leader.id}", ())}
    assert (other.outcome, told) == ("success", ["fresh", *["joined"] * 5])


@requirement("keeping.joined.aborted")
async def test_a_joiner_that_is_stopped_leaves_its_leader_alone(autojump_clock: trio.abc.Clock) -> None:
    bank = Bank()
    async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:
        leader = supervisor.start(SLOW, idempotency_key="k")
        await trio.testing.wait_all_tasks_blocked()
        joiner = supervisor.start(SLOW, idempotency_key="k")
        late = supervisor.start(SLOW, idempotency_key="k", deadline=trio.current_time() + 2)
        await trio.sleep(1)
        assert joiner.abort("not needed") == "not-started"
        stopped, ended = await joiner.result(), await leader.result()
        late_result = await late.result()
        with trio.move_on_after(0):
            await supervisor.execute(SLOW, idempotency_key="k")

    assert (code_of(stopped), stopped.effect) == ("NOT_STARTED", "none")
    assert (code_of(late_result), late_result.effect) == ("DEADLINE_EXCEEDED", "none")
    assert (ended.outcome, bank.paid) == ("success", [100])


@requirement("keeping.joined.heir")
async def test_a_leader_that_is_stopped_before_it_began_hands_over_to_the_oldest(
    autojump_clock: trio.abc.Clock,
) -> None:
    bank = Bank()
    async with open_supervisor(
        Toolbox(bank.tools()), limits=Limits(concurrent=1), default_request_context=HER
    ) as supervisor:
        supervisor.start(ToolCall("balance", {"seconds": 10}))
        await trio.testing.wait_all_tasks_blocked()
        leader = supervisor.start(SLOW, idempotency_key="k")
        await trio.testing.wait_all_tasks_blocked()
        joiners: list[Execution] = []
        for _ in range(8):
            joiners.append(supervisor.start(SLOW, idempotency_key="k"))
            await trio.testing.wait_all_tasks_blocked()
        leader.abort("not needed")
        first = await leader.result()
        await trio.testing.wait_all_tasks_blocked()
        joiners[0].abort("nor this")
        told = [await each.result() for each in joiners[1:]]

    assert (code_of(first), bank.paid) == ("NOT_STARTED", [100])
    assert [told_of(each) for each in told] == ["fresh", *["joined"] * 6]


@requirement("keeping.joined.leader-failed")
@pytest.mark.parametrize("effect", ["none", "completed", "unknown"])
async def test_joiners_get_the_failure_of_their_leader_unless_nobody_knows_what_it_did(
    effect: Effect, autojump_clock: trio.abc.Clock
) -> None:
    ran: list[int] = []

    @tool(effect=BANK)
    async def pay() -> None:
        ran.append(1)
        await trio.sleep(1)
        raise ToolFailure("the bank said no", code="BANK_SAID_NO", effect=effect)

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        results = await supervisor.execute_batch([ToolCall("pay")] * 3, idempotency_key="k")

    results.sort(key=lambda each: each.attempts, reverse=True)  # which of them runs is open
    assert (code_of(results[0]), told_of(results[0]), ran) == ("BANK_SAID_NO", "fresh", [1])
    for joined in results[1:]:
        if effect == "unknown":
            assert (joined.outcome, told_of(joined), joined.effect) == ("action_required", "unknown-outcome", "unknown")
            assert joined.action is not None and joined.action.type == "resolution"
        else:
            assert (code_of(joined), told_of(joined), joined.effect) == ("BANK_SAID_NO", "joined", effect)


@requirement("keeping.joined.leader-failed")
@pytest.mark.parametrize("name", ["pay", "balance"])
async def test_joiners_wait_for_the_body_of_a_leader_that_ran_out_of_time(
    name: str, autojump_clock: trio.abc.Clock
) -> None:
    bank = Bank()
    call = ToolCall(name, {"seconds": 5})
    async with open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor:
        leader = supervisor.start(call, idempotency_key="k", timeout=1)
        await trio.testing.wait_all_tasks_blocked()
        joiner = supervisor.start(call, idempotency_key="k")
        first, second = await leader.result(), await joiner.result()

    assert code_of(first) == "TIMEOUT"
    if name == "pay":
        assert (told_of(second), second.effect) == ("unknown-outcome", "unknown")
    else:
        assert (second.outcome, told_of(second)) == ("success", "fresh"), "the key is free, and nobody limited this one"
    assert bank.began == (1 if name == "pay" else 2)


@requirement("keeping.joined.cycle")
async def test_a_call_that_asks_for_the_key_of_its_own_caller_is_refused() -> None:
    codes: list[str | None] = []

    @tool(effect=BANK, idempotency_key=lambda _: "k")
    async def again(ctx: ToolContext) -> str:
        await ctx.call("middle")
        return "done"

    @tool
    async def middle(ctx: ToolContext) -> None:
        result = await ctx.call("again")
        codes.append(code_of(result))
        assert result.effect == "none"

    async with open_supervisor(Toolbox([again, middle]), default_request_context=HER) as supervisor:
        with trio.fail_after(5):
            result = await supervisor.execute(ToolCall("again"))

    assert (result.outcome, codes) == ("success", ["IDEMPOTENCY_CYCLE"])


@requirement("keeping.joined.cycle")
async def test_a_call_within_another_supervisor_is_refused_as_well() -> None:
    store = Troubled()
    inner_results: list[ToolResult[object]] = []

    @tool(effect=BANK)
    async def outer() -> str:
        async with open_supervisor(Toolbox([outer]), ledger=store, default_request_context=HER) as inner:
            inner_results.append(await inner.execute(ToolCall("outer"), idempotency_key="k"))
        return "done"

    async with open_supervisor(Toolbox([outer]), ledger=store, default_request_context=HER) as supervisor:
        with trio.fail_after(5):
            result = await supervisor.execute(ToolCall("outer"), idempotency_key="k")

    assert (result.outcome, code_of(inner_results[0])) == ("success", "IDEMPOTENCY_CYCLE")


@requirement("keeping.joined.crossed")
async def test_two_that_wait_for_each_other_s_keys_are_told_apart_from_those_that_only_wait(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(effect=BANK, idempotency_key=lambda _: "k")
    async def left(ctx: ToolContext) -> object:
        await trio.sleep(1)
        return code_of(await ctx.call("right"))

    @tool(effect=BANK, idempotency_key=lambda _: "k")
    async def right(ctx: ToolContext) -> object:
        await trio.sleep(2)
        return code_of(await ctx.call("left"))

    async with open_supervisor(Toolbox([left, right]), default_request_context=HER) as supervisor:
        with trio.fail_after(100):
            results = await supervisor.execute_batch([ToolCall("left"), ToolCall("right")])
        assert_nothing_is_held(supervisor)

    assert [each.value for each in results] == [None, "CAPACITY_CYCLE"]


@requirement("keeping.joined.capacity")
async def test_a_joiner_whose_caller_holds_what_the_leader_needs_is_refused(autojump_clock: trio.abc.Clock) -> None:
    bank = Bank()

    @tool(concurrency=1)
    async def holder(ctx: ToolContext) -> object:
        await trio.sleep(2)
        return code_of(await ctx.call("inner", {}))

    @tool(effect=BANK, idempotency_key=lambda _: "k", groups=["one"])
    async def inner() -> str:
        bank.paid.append(1)
        return "done"

    @tool(groups=["one"])
    async def occupier(ctx: ToolContext) -> object:
        await trio.sleep(2)
        return code_of(await ctx.call("inner", {}))

    async with open_supervisor(
        Toolbox([holder, inner, occupier]), limits=Limits(groups={"one": 1}), default_request_context=HER
    ) as supervisor:
        occupied = supervisor.start(ToolCall("occupier"))
        await trio.sleep(1)
        leader = supervisor.start(ToolCall("inner"))  # claims the key, and waits for the group
        with trio.fail_after(100):
            result = await occupied.result()
            ended = await leader.result()

    assert (result.value, ended.outcome) == ("CAPACITY_CYCLE", "success")
    assert bank.paid == [1]


@requirement("keeping.batches")
@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@pytest.mark.parametrize("concurrency", [None, 1])
async def test_the_same_key_several_times_in_one_batch_runs_once(
    mode: str, concurrency: int | None, autojump_clock: trio.abc.Clock
) -> None:
    bank = Bank()
    calls = [ToolCall("pay", {"seconds": 1})] * 4
    async with open_supervisor(
        Toolbox(bank.tools()), limits=Limits(concurrent=concurrency), default_request_context=HER
    ) as supervisor:
        with trio.fail_after(100):
            results = await supervisor.execute_batch(
                calls,
                mode=mode,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
                concurrency=concurrency,
                idempotency_key="k",
            )
        assert_nothing_is_held(supervisor)

    told = sorted(told_of(each) for each in results)
    assert bank.paid == [100]
    assert told.count("fresh") == 1
    assert set(told) <= {"fresh", "joined", "deduped"}
    if mode == "sequential":
        assert told_of(results[0]) == "fresh"


@requirement("keeping.joined.elsewhere")
async def test_an_attempt_of_another_supervisor_is_waited_for(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    results: list[ToolResult[object]] = []

    async def ask(delay: float) -> None:
        await trio.sleep(delay)
        async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
            results.append(await supervisor.execute(SLOW, idempotency_key="k"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, 0)
        nursery.start_soon(ask, 1)

    assert ({told_of(each) for each in results}, bank.paid) == ({"fresh", "deduped"}, [100])


@requirement("keeping.joined.elsewhere")
@pytest.mark.parametrize("started", [False, True])
async def test_an_attempt_whose_host_is_gone_is_taken_over_if_it_never_started_and_is_unknown_if_it_did(
    started: bool, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        key = LedgerKey("acme", "default:pay", "k")
        arguments = '{"cents":100,"fails":"","seconds":0}'
        await store.apply(
            Claim(
                key=key,
                tool_name="pay",
                attempt_id="theirs",
                arguments=arguments,
                execution_id="exe-gone",
                host="gone",
                policy_revision=supervisor.toolbox.policy_revision,
                lease=30.0,
                cap=100.0,
            )
        )
        if started:
            await store.apply(Start(key.text, "theirs"))
        before = trio.current_time()
        result = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        waited = trio.current_time() - before

    assert 29 <= waited <= 31
    assert told_of(result) == ("unknown-outcome" if started else "fresh")
    assert bank.paid == ([] if started else [100])


@requirement("keeping.joined.started")
async def test_a_started_call_of_a_tool_that_its_own_starter_leads_joins_it(autojump_clock: trio.abc.Clock) -> None:
    ids: list[str] = []

    @tool(effect=BANK)
    async def pay() -> str:
        if not ids:
            started = current_supervisor().start(ToolCall("pay"), idempotency_key="k")
            ids.append(started.id)
        return "paid"

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        with trio.fail_after(10):
            result = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
            await supervisor.wait_idle()

    assert told_of(result) == "fresh"
    assert len(ids) == 1


@requirement("keeping.joined")
async def test_joiners_start_no_body(autojump_clock: trio.abc.Clock) -> None:
    bank = Bank()
    async with (
        open_supervisor(Toolbox(bank.tools()), default_request_context=HER) as supervisor,
        supervisor.events(ExecutionStarted) as events,
    ):
        await supervisor.execute_batch([SLOW] * 3, idempotency_key="k")
        began = [await anext(events)]
        with trio.move_on_after(1):
            began.append(await anext(events))

    assert len(began) == 1
