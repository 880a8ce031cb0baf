"""Whose attempt it is: fences, names of calls without a key, pauses, and waits that would never end."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
import trio

from armory_trio import (
    Allow,
    Ask,
    CallNext,
    Deny,
    Limits,
    MiddlewareCall,
    PolicyRequest,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.authority.signing import SigningKey
from armory_trio.ledger import Answer, FenceLost, Operation, Start
from armory_trio.middleware import Retry, RetryPolicy
from armory_trio.storage.sql import open_store
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


def allows(_: PolicyRequest) -> Allow | Ask | Deny:
    return Allow()


def denies(_: PolicyRequest) -> Allow | Ask | Deny:
    return Deny("no more")


def asks_to_ship(request: PolicyRequest) -> Allow | Ask | Deny:
    return Ask("Ship?") if request.definition.name == "ship" else Allow()


async def decided_to_retry(store: Troubled, other: Supervisor) -> None:
    """Somebody decides about the one attempt that is there, and lets *other* do it in its place."""
    attempt = await the_attempt(store)
    assert attempt is not None and attempt.state == "unknown"
    receipt = await receipt_for(attempt, "retry")
    second = await other.execute(ToolCall("pay"), idempotency_key="k", resolution_receipt=receipt)
    assert told_of(second) == "fresh"


@requirement("keeping.fence.again")
async def test_another_try_is_not_made_by_who_lost_the_fence(autojump_clock: trio.abc.Clock) -> None:
    tries: list[int] = []
    paid: list[str] = []

    @tool(effect=BANK)
    async def pay() -> str:
        tries.append(1)
        if len(tries) == 1:
            await trio.sleep(60)
            raise ToolFailure("busy", category="transient", effect="none")
        paid.append("paid")
        return "paid"

    clock = Clock(with_trio=True)
    store = Troubled(clock)
    toolbox = Toolbox([pay], middleware=[Retry(RetryPolicy(3))])
    async with (
        open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as two,
    ):
        first = one.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1)
        clock.ahead += 40  # the lease is over
        await trio.sleep(20)  # its renewal has found that
        await decided_to_retry(store, two)
        await first.settled()

    assert paid == ["paid"]


@requirement("keeping.fence.again")
async def test_who_lost_the_fence_while_it_was_judged_again_does_not_begin(autojump_clock: trio.abc.Clock) -> None:
    bank, clock = Bank(), Clock(with_trio=True)
    store = Troubled(clock, takes=1)
    toolbox = Toolbox(bank.tools(), policy=allows, policy_revision="1")

    async def slowly(_: PolicyRequest) -> Allow | Ask | Deny:
        await trio.sleep(100)
        return Allow()

    async with (
        open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as two,
    ):
        first = one.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1.5)  # that it begins is being written down
        one.exchange(attrs.evolve(toolbox, policy=slowly, policy_revision="2"))
        await trio.sleep(1)
        clock.ahead += 40
        await trio.sleep(20)
        await decided_to_retry(store, two)
        await first.settled()

    assert bank.paid == [100]


@requirement("keeping.recovery-only")
async def test_a_call_without_a_key_is_never_answered_from_a_key_that_looks_like_its_id() -> None:
    bank, store = Bank(), Troubled()
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("pay"))
        coming = f"{first.execution_id.rsplit('-', 1)[0]}-3"
        await supervisor.execute(ToolCall("pay"), idempotency_key=coming)
        third = await supervisor.execute(ToolCall("pay"))

    assert third.execution_id == coming
    assert (third.attempts, bank.paid) == (1, [100] * 3)


@requirement("keeping.recovery-only")
async def test_a_key_is_never_answered_from_what_was_recorded_without_one() -> None:
    bank, store = Bank(), Troubled()
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        first = await supervisor.execute(ToolCall("pay"))
        again = await supervisor.execute(ToolCall("pay"), idempotency_key=first.execution_id)

    assert (told_of(again), bank.paid) == ("fresh", [100, 100])


@pytest.mark.parametrize("reads_it", [False, True], ids=["raises", "returns"])
@requirement("keeping.pauses")
@pytest.mark.parametrize("whose", ["caller", "tool", "nobody"])
async def test_a_composed_tool_with_a_key_goes_on_when_a_person_agreed(whose: str, reads_it: bool) -> None:
    bank, store = Bank(), Troubled()

    def one_key(_: Mapping[str, object]) -> str:
        return "k"

    @tool(effect=BANK)
    async def ship() -> str:
        bank.paid.append(7)
        return "shipped"

    @tool(effect=BANK, idempotency_key=one_key if whose == "tool" else None)
    async def order(ctx: ToolContext) -> object:
        (await ctx.call("pay", place="pay")).unwrap()
        result = await ctx.call("ship", place="ship")
        if not reads_it or result.outcome == "success":
            result.unwrap()
            return "ordered"
        return result

    toolbox = Toolbox([*bank.tools(), ship, order], policy=asks_to_ship)
    key = "k" if whose == "caller" else None
    async with open_supervisor(toolbox, ledger=store, keys=KEYS, default_request_context=HER) as supervisor:
        paused = await supervisor.execute(ToolCall("order"), idempotency_key=key)
        assert paused.pending_approval is not None
        result = await supervisor.resume_approval(paused.pending_approval, idempotency_key=key)
        states = {row.state for row in await store.list(tool_name="order")}

    assert (result.outcome, result.value, bank.paid) == ("success", "ordered", [100, 7])
    assert states == {"completed"}


@requirement("keeping.pauses")
async def test_a_call_that_waited_goes_on_under_the_key_that_its_caller_gave() -> None:
    bank, store = Bank(), Troubled()

    def asks(_: PolicyRequest) -> Ask:
        return Ask("May I?")

    async with open_supervisor(
        Toolbox(bank.tools(), policy=asks), ledger=store, keys=KEYS, default_request_context=HER
    ) as supervisor:
        pending = (await supervisor.execute(ToolCall("pay"), idempotency_key="k")).pending_approval
        assert pending is not None and pending.idempotency_key == "k"
        result = await supervisor.resume_approval(pending.to_json())

    assert (told_of(result), said_of(result).key, bank.paid) == ("fresh", "k", [100])


def ordering(declared: str) -> Tool[..., object]:
    async def order(ctx: ToolContext) -> str:
        """Let another tool pay, and go on for long."""
        await ctx.call("pay")
        await trio.sleep(1000)
        return "ordered"

    return tool(effect="read-only")(order) if declared == "read-only" else tool(effect=BANK, effect_windows=True)(order)


async def pays_first(_call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    if _call.tool.name != "wire":
        return await call_next()
    async with ctx.effect("pay a fee"):
        pass
    return await call_next()


@requirement("keeping.callers")
@pytest.mark.parametrize("how", ["read-only", "windows", "middleware"])
async def test_what_has_changed_the_world_is_not_called_safe(how: str, autojump_clock: trio.abc.Clock) -> None:
    bank, clock = Bank(), Clock(with_trio=True)
    store = Troubled(clock)
    wire = how == "middleware"
    toolbox = Toolbox([*bank.tools(), ordering(how)], middleware=[pays_first] if wire else [])
    call = ToolCall("wire", {"seconds": 1000}) if wire else ToolCall("order")
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as one:
        running = one.start(call, idempotency_key="k")
        await trio.sleep(1)
        assert running.snapshot.effect == "completed"  # the engine knows it
        clock.ahead += 100  # its host is gone, as far as others can see
        async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as two:
            assert two.recovered is not None
            safe = two.recovered.again
        running.abort()

    assert [row.tool_name for row in safe] == []


@requirement("keeping.effect.windows")
async def test_a_window_of_a_middleware_is_no_effect_that_can_be_denied() -> None:
    bank, store = Bank(), Troubled()

    async def around(_call: MiddlewareCall, ctx: ToolContext, _next: CallNext) -> object:
        async with ctx.effect("pay"):
            bank.paid.append(1)
        raise ToolFailure("the paper is out")

    toolbox = Toolbox([bank.tools()[1]], middleware=[around])
    async with open_supervisor(toolbox, ledger=store, default_request_context=HER) as supervisor:
        results = [await supervisor.execute(ToolCall("wire"), idempotency_key="k") for _ in range(2)]

    assert [window.state for window in results[0].effects] == ["completed"]
    assert (results[0].effect, told_of(results[1]), bank.paid) == ("completed", "deduped", [1])


@requirement("keeping.joined.hosts")
@pytest.mark.parametrize("across", [True, False])
async def test_two_supervisors_over_one_ledger_do_not_wait_for_each_other_for_ever(
    across: bool, autojump_clock: trio.abc.Clock
) -> None:
    store, supervisors = Troubled(Clock(with_trio=True)), dict[str, Supervisor]()

    @tool(effect=BANK)
    async def both(mine: str, other: str) -> str | None:
        await trio.sleep(1)
        through = supervisors[other if across else mine]
        return code_of(await through.execute(ToolCall("both", {"mine": other, "other": mine}), idempotency_key=other))

    async with (
        open_supervisor(Toolbox([both]), ledger=store, default_request_context=HER) as one,
        open_supervisor(Toolbox([both]), ledger=store, default_request_context=HER) as two,
    ):
        supervisors |= {"a": one, "b": two}
        running = [
            supervisors[mine].start(ToolCall("both", {"mine": mine, "other": other}), idempotency_key=mine)
            for mine, other in (("a", "b"), ("b", "a"))
        ]
        with trio.move_on_after(10_000) as scope:
            for each in running:
                await each.settled()
        for each in running:
            each.abort()

    assert not scope.cancelled_caught


@requirement("keeping.joined.capacity")
async def test_a_leader_that_is_asked_about_again_and_its_joiner_do_not_wait_for_each_other(
    autojump_clock: trio.abc.Clock,
) -> None:
    asked: list[str] = []

    def one_key(_: Mapping[str, object]) -> str:
        return "k"

    @tool(effect=BANK)
    async def outer(ctx: ToolContext) -> str | None:
        await trio.sleep(10)
        return code_of(await ctx.call("keyed"))

    @tool(effect=BANK, idempotency_key=one_key)
    async def keyed() -> str:
        return "done"

    async def handler(_: object) -> bool:
        await trio.sleep(20)
        return True

    def asks(request: PolicyRequest) -> Allow | Ask | Deny:
        return Ask("Still?") if request.execution_id in asked else Allow()

    toolbox = Toolbox([outer, keyed], policy=allows, policy_revision="1")
    async with open_supervisor(
        toolbox,
        ledger=Troubled(Clock(with_trio=True)),
        limits=Limits(concurrent=1),
        approval_handler=handler,
        default_request_context=HER,
    ) as supervisor:
        supervisor.start(ToolCall("outer"))
        await trio.sleep(1)
        leader = supervisor.start(ToolCall("keyed"))
        asked.append(leader.id)
        last = supervisor.start(ToolCall("outer"))
        await trio.sleep(1)
        supervisor.exchange(attrs.evolve(toolbox, policy=asks, policy_revision="2"))
        with trio.move_on_after(10_000) as scope:
            await leader.settled()
            await last.settled()
        leader.abort()

    assert not scope.cancelled_caught


@requirement("keeping.joined.cycle")
async def test_a_tool_that_waits_for_one_that_joins_it_is_told_of_the_cycle(autojump_clock: trio.abc.Clock) -> None:
    cycles: list[str | None] = []

    @tool(effect=BANK)
    async def pay() -> str:
        started = current_supervisor().start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1)  # by then it has joined
        with started.joined() as cycle:
            cycles.append(cycle)
        return "paid"

    async with open_supervisor(Toolbox([pay]), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert cycles != [None]  # the background kit waits on, for ever, when it gets None


@requirement("keeping.fence.bounded")
async def test_a_start_that_always_loses_its_fence_ends_some_time(autojump_clock: trio.abc.Clock) -> None:
    # A lease that is shorter than the store takes does it, too; where the store takes no checkpoint, such as
    # MemoryLedger with ledger_lease=1e-6, nothing else in the program runs any more, and nothing can stop it.
    class Losing(Troubled):
        async def apply(self, operation: Operation, /) -> Answer:
            await trio.sleep(0.01)
            return FenceLost(None) if isinstance(operation, Start) else await super().apply(operation)

    bank = Bank()
    async with open_supervisor(
        Toolbox(bank.tools()), ledger=Losing(Clock(with_trio=True)), default_request_context=HER
    ) as supervisor:
        with trio.move_on_after(1000) as scope:
            await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert not scope.cancelled_caught


@requirement("keeping.fence.bounded")
async def test_keys_that_do_not_answer_hold_up_a_receipt_for_a_bounded_time(autojump_clock: trio.abc.Clock) -> None:
    class Hanging:
        def signing_key(self, domain: str, /) -> SigningKey | None:
            return KEYS.signing_key(domain)

        async def key(self, _domain: str, _key_id: str, /) -> SigningKey | None:
            await trio.sleep_forever()

    bank, store, call = Bank(), Troubled(Clock(with_trio=True)), ToolCall("pay", {"fails": "after"})
    async with open_supervisor(
        Toolbox(bank.tools()), ledger=store, keys=Hanging(), default_request_context=HER
    ) as supervisor:
        await supervisor.execute(call, idempotency_key="k")
        attempt = await the_attempt(store)
        assert attempt is not None
        receipt = await receipt_for(attempt, "retry")
        with trio.move_on_after(1000) as scope:
            await supervisor.execute(call, idempotency_key="k", resolution_receipt=receipt)

    assert not scope.cancelled_caught


@requirement("keeping.fence.bounded")
async def test_a_locked_file_is_not_waited_for_longer_than_the_ledger_may_take(tmp_path: Path) -> None:
    bank, path = Bank(), tmp_path / "s.db"
    async with (
        open_store(str(path), timeout=1) as store,
        open_supervisor(Toolbox(bank.tools()), ledger=store.ledger, default_request_context=HER) as supervisor,
    ):
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        running = supervisor.start(ToolCall("pay"), idempotency_key="k")
        with trio.move_on_after(30) as scope:
            await running.result()
        other.close()
        await running.settled()

    assert not scope.cancelled_caught
