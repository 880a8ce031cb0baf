"""Waits that would never end over several hosts, and decisions while somebody is still at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import attrs
import pytest
import trio

from armory_trio import (
    Allow,
    Ask,
    Deny,
    Execution,
    Limits,
    PolicyRequest,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    open_supervisor,
    tool,
)
from armory_trio.authority.signing import SigningKey
from armory_trio.ledger import Reconciled, UnknownAttempt
from tests.engine.ledger.stores import (
    BANK,
    HER,
    KEYS,
    Bank,
    Clock,
    Troubled,
    code_of,
    passing,
    told_of,
)
from tests.requirements import requirement

AnyTool = Tool[..., object]
Policy = Callable[[PolicyRequest], Allow | Ask | Deny]
FOR_EVER = 10_000.0


def asks_about(*names: str) -> Policy:
    """A policy that asks before these tools."""

    def policy(request: PolicyRequest) -> Allow | Ask | Deny:
        return Ask("Really?") if request.definition.name in names else Allow()

    return policy


def stop_all(*supervisors: Supervisor) -> None:
    """So that a test ends."""
    for supervisor in supervisors:
        for each in supervisor.executions.inspect():
            supervisor.abort("the test is over", execution_id=each.execution_id)


async def hang(running: Sequence[Execution], *supervisors: Supervisor) -> bool:
    """Whether one of them has not ended after a very long time; then they are stopped."""
    with trio.move_on_after(FOR_EVER) as scope:
        for each in running:
            await each.settled()
    stop_all(*supervisors)
    return scope.cancelled_caught


@requirement("keeping.joined.hosts")
async def test_a_cycle_over_two_hosts_is_seen_where_one_of_its_waits_is_a_join(autojump_clock: trio.abc.Clock) -> None:
    store, hosts = Troubled(Clock(with_trio=True)), dict[str, Supervisor]()
    wants = {"a": "k", "k": "b", "b": "a"}  # a is at one, k and b are at two, so k joins b there

    @tool(effect=BANK)
    async def holds(key: str) -> None:
        await trio.sleep(1 + list(wants).index(key))
        await hosts[key].execute(ToolCall("holds", {"key": wants[key]}), idempotency_key=wants[key])

    toolbox = Toolbox([holds])
    async with (
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as two,
    ):
        hosts |= {"a": one, "k": two, "b": two}
        running = [host.start(ToolCall("holds", {"key": key}), idempotency_key=key) for key, host in hosts.items()]
        hung = await hang(running, one, two)

    assert not hung


@requirement("keeping.joined.hosts")
async def test_a_cycle_over_two_hosts_is_seen_where_one_of_its_waits_is_for_capacity(
    autojump_clock: trio.abc.Clock,
) -> None:
    store, hosts = Troubled(Clock(with_trio=True)), list[Supervisor]()

    @tool(effect=BANK, concurrency=1)
    async def narrow(goes_on: bool) -> None:
        await trio.sleep(1)
        if goes_on:
            await hosts[0].execute(ToolCall("wide"), idempotency_key="k")

    @tool(effect=BANK)
    async def wide() -> None:
        await trio.sleep(2)
        await hosts[1].execute(ToolCall("narrow", {"goes_on": False}), idempotency_key="c")

    toolbox = Toolbox([narrow, wide])
    async with (
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as two,
    ):
        hosts += [one, two]
        running = [two.start(ToolCall("wide"), idempotency_key="k")]
        await trio.sleep(0.5)
        running.append(one.start(ToolCall("narrow", {"goes_on": True}), idempotency_key="a"))
        await trio.sleep(0.1)
        running.append(one.start(ToolCall("narrow", {"goes_on": False}), idempotency_key="c"))  # waits for its turn
        hung = await hang(running, one, two)

    assert not hung


@requirement("keeping.joined.hosts")
async def test_a_tool_that_waits_for_an_execution_of_another_supervisor_is_told_of_a_cycle(
    autojump_clock: trio.abc.Clock,
) -> None:
    store, hosts = Troubled(Clock(with_trio=True)), list[Supervisor]()

    @tool(effect=BANK)
    async def first() -> None:
        await trio.sleep(1)
        with waited.joined() as cycle:
            if cycle is None:
                await waited.settled()

    @tool(effect=BANK)
    async def second() -> None:
        await trio.sleep(2)
        await hosts[0].execute(ToolCall("first"), idempotency_key="k")

    toolbox = Toolbox([first, second])
    async with (
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as two,
    ):
        hosts.append(one)
        waited = two.start(ToolCall("second"))
        running = one.start(ToolCall("first"), idempotency_key="k")
        hung = await hang([running, waited], one, two)

    assert not hung


@requirement("keeping.joined.hosts")
async def test_who_waits_no_more_for_another_host_is_in_nobody_s_way(autojump_clock: trio.abc.Clock) -> None:
    store, hosts = Troubled(Clock(with_trio=True)), list[Supervisor]()

    @tool(effect=BANK)
    async def patient() -> None:
        with trio.move_on_after(2):
            await hosts[0].execute(ToolCall("late"), idempotency_key="b")
        await trio.sleep(20)

    @tool(effect=BANK)
    async def late() -> str | None:
        await trio.sleep(5)  # by then the other one has given up
        return code_of(await hosts[1].execute(ToolCall("patient"), idempotency_key="a"))

    toolbox = Toolbox([patient, late])
    async with (
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as one,
        open_supervisor(toolbox, ledger=store, default_request_context=HER) as two,
    ):
        hosts += [one, two]
        waits = two.start(ToolCall("late"), idempotency_key="b")
        await trio.sleep(0.5)
        one.start(ToolCall("patient"), idempotency_key="a")
        result = await waits.result()

    assert result.value is None  # it would have ended


@requirement("keeping.recover")
async def test_recover_starts_no_second_body_beside_one_that_runs_here(autojump_clock: trio.abc.Clock) -> None:
    running, most, clock = [0], list[int](), Clock(with_trio=True)

    def ask(_: UnknownAttempt) -> Reconciled | None:
        return Reconciled("retry", "it is not on the statement")

    @tool(effect=BANK, reconcile=ask)
    async def pay() -> str:
        running[0] += 1
        most.append(running[0])
        await trio.sleep(50)
        running[0] -= 1
        return "paid"

    async with open_supervisor(Toolbox([pay]), ledger=Troubled(clock), default_request_context=HER) as supervisor:
        supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1)
        clock.ahead += 31
        await supervisor.recover(reconcile=True)
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert max(most) == 1


@requirement("keeping.reconcile.unable")
@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, asyncio.CancelledError])
@pytest.mark.parametrize("how", ["call", "recover"])
async def test_a_reconcile_that_raises_whatever_it_likes_decides_nothing(how: str, kind: type[BaseException]) -> None:
    def ask(_: UnknownAttempt) -> Reconciled | None:
        raise kind

    @tool(effect=BANK, reconcile=ask)
    async def pay() -> str:
        raise ValueError("the line went dead")

    async with open_supervisor(Toolbox([pay]), ledger=Troubled(), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        if how == "recover":
            assert len((await supervisor.recover(reconcile=True)).unknown) == 1
        else:
            again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")
            assert again.idempotency is not None and again.idempotency.outcome == "unknown-outcome"


@requirement("keeping.down.interrupt")
@pytest.mark.parametrize("how", ["call", "recover"])
def test_an_interrupt_in_a_nursery_of_reconcile_leaves_the_supervisor(how: str) -> None:
    async def ask(_: UnknownAttempt) -> Reconciled | None:
        async with trio.open_nursery():
            raise KeyboardInterrupt

    @tool(effect=BANK, reconcile=ask)
    async def pay() -> str:
        raise ValueError("the line went dead")

    async def main() -> None:
        async with open_supervisor(Toolbox([pay]), ledger=Troubled(), default_request_context=HER) as supervisor:
            await supervisor.execute(ToolCall("pay"), idempotency_key="k")
            if how == "recover":
                await supervisor.recover(reconcile=True)
            else:
                await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)


@requirement("keeping.reconcile.cancelled")
async def test_who_stops_recovering_while_a_nursery_of_reconcile_asks_is_stopped(
    autojump_clock: trio.abc.Clock,
) -> None:
    asked: list[str | None] = []

    async def ask(attempt: UnknownAttempt) -> Reconciled | None:
        asked.append(attempt.key)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("the line went dead as well")

    @tool(effect=BANK, reconcile=ask)
    async def pay() -> str:
        raise ValueError("the line went dead")

    async with open_supervisor(Toolbox([pay]), ledger=Troubled(), default_request_context=HER) as supervisor:
        for key in ("a", "b"):
            await supervisor.execute(ToolCall("pay"), idempotency_key=key)
        with trio.move_on_after(1) as scope:
            await supervisor.recover(reconcile=True)

    assert (len(asked), scope.cancel_called) == (1, True)


@requirement("keeping.fence.bounded")
@pytest.mark.parametrize("how", ["call", "recover"])
async def test_keys_that_do_not_answer_hold_up_a_reconcile_for_a_bounded_time(
    how: str, autojump_clock: trio.abc.Clock
) -> None:
    class Hanging:
        async def signing_key(self, _domain: str, /) -> SigningKey | None:
            await trio.sleep_forever()

        def key(self, domain: str, key_id: str, /) -> SigningKey | None:
            return KEYS.key(domain, key_id)

    def ask(_: UnknownAttempt) -> Reconciled | None:
        return Reconciled("completed", "it is on the statement", "paid")

    @tool(effect=BANK, reconcile=ask)
    async def pay() -> str:
        raise ValueError("the line went dead")

    async with open_supervisor(
        Toolbox([pay]), ledger=Troubled(Clock(with_trio=True)), keys=Hanging(), default_request_context=HER
    ) as supervisor:
        await supervisor.execute(ToolCall("pay"), idempotency_key="k")
        with trio.move_on_after(1000) as scope:
            if how == "recover":
                await supervisor.recover(reconcile=True)
            else:
                await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert not scope.cancelled_caught


@requirement("keeping.policy.revision")
async def test_an_attempt_with_middleware_is_recorded_under_the_rules_that_let_it_through(
    autojump_clock: trio.abc.Clock,
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True))
    toolbox = Toolbox(bank.tools(), policy=asks_about(), policy_revision="1", middleware=[passing])
    async with open_supervisor(
        toolbox, ledger=store, limits=Limits(concurrent=1), default_request_context=HER
    ) as supervisor:
        supervisor.start(ToolCall("pay", {"seconds": 5}))
        await trio.sleep(1)
        queued = supervisor.start(ToolCall("pay"), idempotency_key="k")
        await trio.sleep(1)
        supervisor.exchange(attrs.evolve(toolbox, policy_revision="2"))
        await queued.settled()  # judged again, and begun, under revision 2
        again = await supervisor.execute(ToolCall("pay"), idempotency_key="k")

    assert told_of(again) == "deduped"
