"""Started executions outlive whoever started them; owners and starters list and stop what is theirs."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import trio
import trio.testing

from armory_trio import (
    AdmissionClosed,
    Execution,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.kits.background import BackgroundKit
from tests.kits.background.tools import Agent, agents, work
from tests.requirements import requirement

WORK = ToolCall("work", {"seconds": 10})


@requirement("engine.started-outlives")
async def test_it_runs_on_when_the_task_that_started_it_has_ended(autojump_clock: trio.abc.Clock) -> None:
    handles: list[Execution] = []
    async with agents(BackgroundKit()) as supervisor:

        async def start() -> None:
            handles.append(supervisor.start(WORK))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(start)
        result = await handles[0].result()

    assert (result.value, trio.current_time()) == ("done", 10)


@requirement("engine.started-outlives")
async def test_it_runs_on_when_the_nursery_of_who_started_it_was_cancelled(autojump_clock: trio.abc.Clock) -> None:
    handles: list[Execution] = []
    async with agents(BackgroundKit()) as supervisor:

        async def start() -> None:
            handles.append(supervisor.start(WORK))
            await handles[0].result()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(start)
            await trio.sleep(3)
            nursery.cancel_scope.cancel()
        assert trio.current_time() == 3
        result = await handles[0].result()

    assert (result.value, trio.current_time()) == ("done", 10)


@requirement("engine.started-outlives")
async def test_it_runs_on_when_started_under_a_cancelled_scope(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        handles: list[Execution] = []
        with trio.CancelScope() as scope:
            scope.cancel()
            handles.append(supervisor.start(WORK))
            await trio.sleep(1)
        result = await handles[0].result()

    assert result.value == "done"


@tool
async def starter(ctx: ToolContext, stay: float = 0) -> str:
    """Start some work and go, or stay."""
    execution = current_supervisor().start(WORK)
    await trio.sleep(stay)
    return execution.id


@requirement("engine.started-outlives", "engine.started-by")
@pytest.mark.parametrize("how", ["returns", "is aborted", "runs out of time"])
async def test_it_runs_on_when_the_execution_that_started_it_ends(how: str, autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([work, starter])) as supervisor:
        deadline = trio.current_time() + 2 if how == "runs out of time" else None
        call = ToolCall("starter", {"stay": 0 if how == "returns" else 99})
        execution = supervisor.start(call, owner_id="ada", deadline=deadline)
        await trio.sleep(1)
        if how == "is aborted":
            execution.abort()
        await execution.settled()
        [started] = supervisor.executions.inspect(started_by=execution.id)
        await supervisor.wait_idle()
        [ended] = supervisor.executions.inspect(started_by=execution.id)

    assert (started.state, started.parent_id, started.owner_id, started.deadline) == ("active", None, "ada", None)
    assert (ended.state, ended.outcome, trio.current_time()) == ("terminal", "success", 10)


@requirement("engine.started-outlives")
async def test_without_its_handle_it_runs_to_its_end_and_is_in_the_report(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        identity = supervisor.start(WORK).id
        await trio.sleep(1)
        gc.collect()
        assert supervisor.active == 1
    report = supervisor.report

    assert report is not None
    assert [(shot.execution_id, shot.outcome) for shot in report.terminal] == [(identity, "success")]


@requirement("engine.started-outlives")
async def test_a_handle_outlives_the_supervisor_with_its_result(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        execution = supervisor.start(WORK)

    assert (await execution.result()).value == "done"
    assert (await execution.settled()).state == "terminal"
    assert execution.abort() == "already-ended"


# -- whose it is


@requirement("engine.started-by")
async def test_an_owner_lists_and_stops_its_background_calls_and_nobody_elses(
    autojump_clock: trio.abc.Clock,
) -> None:
    kit = BackgroundKit()
    async with agents(kit) as supervisor:
        ada, bob = Agent(supervisor, owner_id="ada"), Agent(supervisor, owner_id="bob")
        adas = [await ada.start("work", {"seconds": 50}) for _ in range(2)]
        bobs = [await bob.start("work", {"seconds": 50})]
        listed = supervisor.executions.inspect(owner_id="ada", tool_name="work", live_only=True)
        answers = supervisor.abort("the run is over", owner_id="ada")
        await trio.testing.wait_all_tasks_blocked()
        states = [(each.id, each.snapshot.error_code) for each in kit.executions(supervisor, owner_id="ada")]
        left = [shot.execution_id for shot in supervisor.executions.inspect(live_only=True)]
        supervisor.abort("enough", owner_id="bob")

    assert [shot.execution_id for shot in listed] == adas
    assert {each: answers[each] for each in adas} == dict.fromkeys(adas, "requested")
    assert dict(states) == dict.fromkeys(adas, "CANCELLED")
    assert left == bobs


@requirement("engine.started-by")
async def test_what_one_execution_started_can_be_stopped_together(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([work, starter])) as supervisor:
        one, other = (supervisor.start(ToolCall("starter")) for _ in range(2))
        await trio.sleep(1)
        answers = supervisor.abort("not needed", started_by=one.id)
        [mine] = supervisor.executions.inspect(started_by=one.id)
        await supervisor.wait_idle()
        [theirs] = supervisor.executions.inspect(started_by=other.id)

    assert answers == {mine.execution_id: "requested"}
    assert theirs.outcome == "success"


# -- the current supervisor


@requirement("engine.current-supervisor")
async def test_a_tool_gets_the_supervisor_that_runs_it_also_from_its_own_tasks(
    autojump_clock: trio.abc.Clock,
) -> None:
    found: dict[str, Supervisor] = {}

    @tool
    async def look(ctx: ToolContext) -> None:
        async def deeper() -> None:
            found["task"] = current_supervisor()

        found["tool"] = current_supervisor()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(deeper)
        async with open_supervisor(Toolbox([inner])) as other:
            found["other"] = other
            await other.execute(ToolCall("inner"))
        found["after"] = current_supervisor()

    @tool
    async def inner() -> None:
        found["inner"] = current_supervisor()

    async with open_supervisor(Toolbox([look])) as supervisor:
        (await supervisor.execute(ToolCall("look"))).unwrap()

    assert found["tool"] is found["task"] is found["after"] is supervisor
    assert found["inner"] is found["other"] is not supervisor


@requirement("engine.current-supervisor")
async def test_a_def_tool_in_a_thread_may_ask_too() -> None:
    @tool
    def look() -> bool:
        return current_supervisor() is supervisor

    with trio.fail_after(30):
        async with open_supervisor(Toolbox([look])) as supervisor:
            assert (await supervisor.execute(ToolCall("look"))).value is True


@requirement("engine.current-supervisor")
@pytest.mark.parametrize("ask", [current_supervisor], ids=["outside"])
async def test_outside_of_a_tool_there_is_none(ask: Callable[[], Supervisor]) -> None:
    async with agents(BackgroundKit()):
        with pytest.raises(RuntimeError, match="there is no current supervisor: this is not called from a running"):
            ask()


@requirement("kits.background.refused")
async def test_the_door_that_is_closed_for_a_host_is_closed_for_start(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        supervisor.close_admission()
        with pytest.raises(AdmissionClosed):
            supervisor.start(WORK)
