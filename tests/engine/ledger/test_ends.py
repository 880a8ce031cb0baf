"""Calls that are stopped, at each moment of their way through the ledger: one end, told once, and true."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from armory_trio import (
    AbortRequested,
    ExecutionAdmitted,
    ExecutionSettled,
    ExecutionStarted,
    Lagged,
    Limits,
    OutcomeDecided,
    Toolbox,
    ToolCall,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.ledger import Attempt
from tests.engine.cancelling import Probe, assert_nothing_is_held, cancel_everywhere
from tests.engine.ledger.stores import BANK, HER, Bank, Clock, Troubled, code_of, told_of
from tests.requirements import requirement

TAKES = 2.0
"""Seconds that each operation of the store takes: claim from 0 to 2, start to 4, body to 6, end to 8."""

PAY = ToolCall("pay", {"seconds": TAKES})


async def kept_of(store: Troubled) -> Attempt | None:
    rows = await store.list()
    return rows[0] if rows else None


@requirement("keeping.stopped")
@pytest.mark.parametrize("how", ["abort", "deadline", "timeout", "caller", "shutdown"])
@pytest.mark.parametrize("at", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 7.9, 9.0])
@pytest.mark.parametrize("name", ["pay", "wire"])
async def test_a_call_that_is_stopped_ends_once_and_its_key_follows_what_happened(
    how: str, at: float, name: str, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True), takes=TAKES)
    call = ToolCall(name, {"seconds": TAKES})
    seen: list[OutcomeDecided | ExecutionSettled] = []

    async def listen(task_status: trio.TaskStatus[None]) -> None:
        async with supervisor.events(OutcomeDecided, ExecutionSettled) as events:
            task_status.started()
            async for event in events:
                assert isinstance(event, OutcomeDecided | ExecutionSettled)
                seen.append(event)

    async with trio.open_nursery() as nursery:
        async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
            await nursery.start(listen)
            begin = trio.current_time()
            result: ToolResult[object] | None = None
            if how == "caller":
                with trio.move_on_at(begin + at):
                    result = await supervisor.execute(call, idempotency_key="k")
                    await trio.sleep_forever()
            else:
                deadline = begin + at if how == "deadline" else None
                timeout = at - 4.0 if how == "timeout" and at > 4.0 else None
                execution = supervisor.start(call, idempotency_key="k", deadline=deadline, timeout=timeout)
                await trio.sleep(at)
                if how == "abort":
                    execution.abort("not needed")
                elif how == "shutdown":
                    await supervisor.shutdown("abort")
                result = await execution.result()
                await execution.settled()
            await trio.sleep(20)
            assert supervisor.active == 0
            store.takes = 0.0
            attempt = await kept_of(store)
            again = None if supervisor.closed else await supervisor.execute(call, idempotency_key="k")
        nursery.cancel_scope.cancel()

    assert supervisor.report is not None and supervisor.report.bugs == ()
    ours = [event for event in seen if event.execution_id.endswith("-1")]
    assert [type(event) for event in ours] == [OutcomeDecided, ExecutionSettled]
    began = bank.began - (1 if again is not None and again.attempts else 0)
    effect = ours[1].effect
    if began == 0:
        assert effect == "none"
    paid = len(bank.paid) - (1 if again is not None and again.attempts else 0)
    if paid:
        assert effect in ("completed", "unknown")
    if attempt is None:
        assert effect == "none"
        assert paid == 0
        assert again is None or again.attempts == 1
    elif attempt.state == "completed":
        assert paid == 1
        assert again is None or told_of(again) == "deduped"
    else:
        assert effect == "unknown"
        assert again is None or told_of(again) == "unknown-outcome"
    assert len(bank.paid) <= 1
    if result is not None and result.effect == "none" and result.outcome != "success":
        assert paid == 0


@requirement("keeping.stopped.writing")
@pytest.mark.parametrize("how", ["abort", "deadline", "shutdown"])
async def test_while_an_end_is_written_down_nothing_changes_it_any_more(
    how: str, autojump_clock: trio.abc.Clock
) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True), takes=TAKES)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        begin = trio.current_time()
        deadline = begin + 7 if how == "deadline" else None
        execution = supervisor.start(PAY, idempotency_key="k", deadline=deadline)
        await trio.sleep(7)
        if how == "abort":
            assert execution.abort("too late") == "already-ended"
        elif how == "shutdown":
            await supervisor.shutdown("abort")
        result = await execution.result()
        snapshot = await execution.settled()
        took = trio.current_time() - begin

    assert (result.outcome, result.effect, told_of(result)) == ("success", "completed", "fresh")
    assert (snapshot.state, snapshot.abort, snapshot.outcome) == ("terminal", None, "success")
    assert took == pytest.approx(8)


@requirement("keeping.stopped.writing")
async def test_a_body_that_ended_late_is_written_down_without_its_cleanup_running_out(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(effect=BANK, cleanup_timeout=1.0)
    async def slow() -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(2)
        return "made it"

    store = Troubled(Clock(with_trio=True), takes=TAKES)
    async with open_supervisor(Toolbox([slow]), ledger=store, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("slow"), idempotency_key="k")
        await trio.sleep(5.5)
        execution.abort("too slow")
        snapshot = await execution.settled()
        result = await execution.result()
        attempt = await kept_of(store)

    assert (code_of(result), snapshot.state, snapshot.effect) == ("CANCELLED", "terminal", "completed")
    assert attempt is not None and (attempt.state, attempt.effect) == ("completed", "completed")
    assert supervisor.report is not None and supervisor.report.bugs == ()


@requirement("keeping.stopped.left-behind")
async def test_a_body_that_was_given_up_holds_its_key_until_it_ends(autojump_clock: trio.abc.Clock) -> None:
    bank = Bank()

    @tool(effect=BANK, cleanup_timeout=1.0)
    async def stubborn() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(100)
        bank.paid.append(1)

    store = Troubled(Clock(with_trio=True))
    async with open_supervisor(Toolbox([stubborn]), ledger=store, default_request_context=HER) as supervisor:
        execution = supervisor.start(ToolCall("stubborn"), idempotency_key="k", timeout=1)
        snapshot = await execution.settled()
        joiner = supervisor.start(ToolCall("stubborn"), idempotency_key="k")
        await trio.sleep(50)
        waits = joiner.snapshot.waits_for
        told = await joiner.result()
        attempt = await kept_of(store)

    assert (snapshot.state, snapshot.effect) == ("unknown-effect", "unknown")
    assert waits == f"joined:{execution.id}"
    assert attempt is not None and attempt.state in ("completed", "unknown")
    assert (told.effect, bank.paid) == (attempt.effect, [1])


@requirement("keeping.events")
@pytest.mark.parametrize("name", ["pay", "balance"])
async def test_events_of_a_call_with_a_key_come_once_and_in_order(name: str, autojump_clock: trio.abc.Clock) -> None:
    seen: list[tuple[str, str]] = []
    bank, store = Bank(), Troubled(Clock(with_trio=True), takes=1.0)

    async def listen(task_status: trio.TaskStatus[None]) -> None:
        async with supervisor.events(
            ExecutionAdmitted, ExecutionStarted, AbortRequested, OutcomeDecided, ExecutionSettled
        ) as events:
            task_status.started()
            async for event in events:
                assert not isinstance(event, Lagged)
                seen.append((event.execution_id[-2:], type(event).__name__))

    async with trio.open_nursery() as nursery:
        async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
            await nursery.start(listen)
            await supervisor.execute(ToolCall(name), idempotency_key="k")
            await supervisor.execute(ToolCall(name), idempotency_key="k")
            await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert [kind for which, kind in seen if which == "-1"] == [
        "ExecutionAdmitted",
        "ExecutionStarted",
        "OutcomeDecided",
        "ExecutionSettled",
    ]
    assert [kind for which, kind in seen if which == "-2"] == [
        "ExecutionAdmitted",
        "OutcomeDecided",
        "ExecutionSettled",
    ]


@requirement("keeping.snapshots")
async def test_a_snapshot_says_that_a_call_waits_for_the_ledger(autojump_clock: trio.abc.Clock) -> None:
    bank, store = Bank(), Troubled(Clock(with_trio=True), takes=TAKES)
    async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
        execution = supervisor.start(PAY, idempotency_key="k")
        seen: list[tuple[str, str | None, str | None]] = []
        for _ in range(5):
            await trio.sleep(1 if not seen else TAKES)
            shot = execution.snapshot
            seen.append((shot.state, shot.waits_for, shot.outcome))

    assert seen == [
        ("queued", "ledger", None),
        ("queued", "ledger", None),
        ("active", None, None),
        ("active", None, "success"),
        ("terminal", None, "success"),
    ]


@requirement("keeping.cancelled")
@pytest.mark.parametrize("fresh", [True, False])
def test_cancelling_the_caller_at_any_await_leaves_nothing_held_and_denies_no_effect(fresh: bool) -> None:
    async def case(probe: Probe) -> None:
        bank, store = Bank(), Troubled(Clock(with_trio=True), takes=0.5)
        async with open_supervisor(Toolbox(bank.tools()), ledger=store, default_request_context=HER) as supervisor:
            if not fresh:
                await supervisor.execute(ToolCall("wire", {"seconds": 1}), idempotency_key="k")
            call = ToolCall("wire", {"seconds": 1})
            await probe.run(lambda: supervisor.execute(call, idempotency_key="k"))
            await trio.sleep(20)
            assert_nothing_is_held(supervisor)
            paid = len(bank.paid)
            attempt = await kept_of(store)
            assert paid <= 1
            assert attempt is not None or not paid
            again = await supervisor.execute(call, idempotency_key="k")
            assert len(bank.paid) <= 1
            assert told_of(again) in ("fresh", "deduped", "unknown-outcome")

    assert cancel_everywhere(case) >= 1


@requirement("keeping.cancelled")
def test_cancelling_the_whole_supervisor_at_any_await_denies_no_effect() -> None:
    async def case(probe: Probe) -> None:
        bank, store = Bank(), Troubled(Clock(with_trio=True), takes=0.5)

        async def work() -> None:
            async with open_supervisor(
                Toolbox(bank.tools()), ledger=store, limits=Limits(concurrent=1), default_request_context=HER
            ) as supervisor:
                await supervisor.execute_batch([ToolCall("pay", {"seconds": 1})] * 2, idempotency_key="k")

        await probe.run(work)
        assert len(bank.paid) <= 1
        attempt = await kept_of(store)
        if bank.paid:
            assert attempt is not None
            assert attempt.effect in ("completed", "unknown")
        elif attempt is not None:
            assert attempt.state in ("unknown", "claimed", "started")

    assert cancel_everywhere(case) >= 4
