"""Ending: drains, aborts, reports, every way to leave a supervisor, and signals to a real process."""

from __future__ import annotations

import itertools
import logging
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from typing import Literal

import pytest
import trio
import trio.testing

from armory_trio import (
    AdmissionClosed,
    AdmissionWasClosed,
    Execution,
    ExecutionSettled,
    Limits,
    ProgressReported,
    Report,
    Snapshot,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    current_supervisor,
    open_supervisor,
    serve_until_signal,
    tool,
)
from armory_trio.errors import DefinitionError, ShutdownFromInside
from tests.engine.tools import add, count, relay, sleep, stubborn, watch
from tests.requirements import requirement

ADD = ToolCall("add", {"a": 1, "b": 2})


def asleep(seconds: float) -> ToolCall:
    return ToolCall("sleep", {"seconds": seconds})


def watching(seconds: float) -> ToolCall:
    return ToolCall("watch", {"seconds": seconds})


# -- closing the door


@requirement("shutdown.admission-closed")
async def test_once_admission_is_closed_every_door_says_so(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor, supervisor.events(AdmissionWasClosed) as events:
        supervisor.close_admission("maintenance")
        supervisor.close_admission("again")

        assert supervisor.closed
        with pytest.raises(AdmissionClosed):
            await supervisor.execute(ADD)
        with pytest.raises(AdmissionClosed):
            await supervisor.execute_batch([ADD])
        with pytest.raises(AdmissionClosed):
            supervisor.start(ADD)
        with pytest.raises(AdmissionClosed):
            await supervisor.stream(ADD).__aenter__()
        told = [await anext(events)]
        with trio.move_on_after(0) as nothing:
            told.append(await anext(events))

    assert [event.reason for event in told if isinstance(event, AdmissionWasClosed)] == ["maintenance"]
    assert nothing.cancelled_caught
    assert supervisor.executions.inspect() == []


@requirement("shutdown.drain")
async def test_a_drain_lets_everything_that_was_admitted_run_to_its_end(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([relay, watch, count]), limits=Limits(concurrent=1)) as supervisor:
        first = supervisor.start(watching(2))
        queued = supervisor.start(ToolCall("relay", {"name": "watch", "seconds": 1}))
        batch: list[ToolResult[object]] = []

        async def run_batch() -> None:
            batch.extend(await supervisor.execute_batch([watching(1)] * 3))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_batch)
            await trio.testing.wait_all_tasks_blocked()
            began = trio.current_time()
            report = await supervisor.shutdown("drain")

        assert trio.current_time() - began == 2 + 1 + 3
        assert (await first.result()).outcome == (await queued.result()).outcome == "success"

    assert [result.outcome for result in batch] == ["success"] * 3
    assert (report.mode, report.ended, report.exit_code) == ("drain", 6, 0)
    assert report.unfinished == report.unknown_effects == ()


@requirement("shutdown.services-last")
async def test_what_serves_the_work_goes_on_until_the_last_call_of_a_drain_is_settled(
    autojump_clock: trio.abc.Clock,
) -> None:
    beats: list[float] = []
    ends: list[float] = []

    @tool(effect="read-only", idle_timeout=2)
    async def beating(ctx: ToolContext) -> None:
        for _ in range(6):
            await trio.sleep(0.5)
            ctx.progress()

    @tool(effect="read-only", timeout=2)
    async def endless() -> None:
        await trio.sleep_forever()

    async def watch(supervisor: Supervisor, task_status: trio.TaskStatus[None]) -> None:
        async with supervisor.events(ProgressReported, ExecutionSettled) as events:
            task_status.started()
            async for event in events:
                (beats if isinstance(event, ProgressReported) else ends).append(event.at - started)

    async with trio.open_nursery() as nursery:
        started = trio.current_time()
        async with open_supervisor(Toolbox([beating, endless])) as supervisor:
            await nursery.start(watch, supervisor)
            running = [supervisor.start(ToolCall(name)) for name in ("beating", "endless")]
            await trio.sleep(0.6)
            await supervisor.shutdown("drain")
        results = [await execution.result() for execution in running]
        nursery.cancel_scope.cancel()

    assert beats == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert ends == [2.0, 3.0]
    assert [result.outcome for result in results] == ["success", "error"]
    assert results[1].error is not None and results[1].error.code == "TIMEOUT"


@requirement("shutdown.drain-for")
async def test_what_a_drain_leaves_over_is_aborted(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep, watch]), limits=Limits(concurrent=2)) as supervisor:
        quick = supervisor.start(watching(1))
        slow = supervisor.start(asleep(60))
        slower = supervisor.start(asleep(60))
        queued = supervisor.start(asleep(1))
        began = trio.current_time()
        report = await supervisor.shutdown("drain", drain_for=5)

        assert trio.current_time() - began == 5
        for execution in (slow, slower, queued):
            abort = execution.snapshot.abort
            assert abort is not None
            assert (abort.source, abort.reason) == ("shutdown", "the drain took longer than 5 s")

    assert quick.snapshot.outcome == "success"
    assert (slow.snapshot.error_code, slow.snapshot.state) == ("CANCELLED", "unknown-effect")
    assert queued.snapshot.error_code == "NOT_STARTED"
    assert (report.mode, report.exit_code) == ("abort", 3)
    assert {shot.execution_id for shot in report.unknown_effects} == {slow.id, slower.id}


@requirement("shutdown.human-waits")
async def test_a_drain_withdraws_questions_to_people_and_asks_no_new_ones(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def asks(ctx: ToolContext) -> list[str]:
        first = await ctx.elicit("Which one?")
        second = await ctx.elicit("And now?")
        return [type(first).__name__, type(second).__name__]

    async def nobody(request: object) -> object:
        await trio.sleep_forever()

    async with open_supervisor(Toolbox([asks])) as supervisor:
        execution = supervisor.start(ToolCall("asks"), elicit=nobody)  # type: ignore[arg-type]  # it never answers
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        await supervisor.shutdown("drain")

        assert trio.current_time() == began
    assert (await execution.result()).value == ["ElicitCancelled", "ElicitCancelled"]


# -- aborting and escalating


@requirement("shutdown.abort")
async def test_an_abort_stops_everything_at_once(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep, relay, count]), limits=Limits(concurrent=4)) as supervisor:
        executions = [
            supervisor.start(asleep(60)),
            supervisor.start(ToolCall("relay", {"name": "sleep", "seconds": 60})),
            supervisor.start(ToolCall("count", {"upto": 9, "pause": 60})),
            supervisor.start(asleep(60)),
            supervisor.start(asleep(60)),
        ]
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        report = await supervisor.shutdown("abort")

        assert trio.current_time() == began
    assert (report.mode, report.ended, report.unfinished) == ("abort", 6, ())
    assert [execution.snapshot.error_code for execution in executions] == ["CANCELLED"] * 4 + ["NOT_STARTED"]
    sources = [shot.abort.source for shot in supervisor.executions.inspect() if shot.abort is not None]
    assert sorted(sources) == ["parent", "shutdown", "shutdown", "shutdown", "shutdown", "shutdown"]


@requirement("shutdown.escalate")
async def test_a_drain_can_become_an_abort_but_never_the_reverse(autojump_clock: trio.abc.Clock) -> None:
    reports: dict[str, Report] = {}

    async def end(supervisor: Supervisor, name: str, mode: str) -> None:
        reports[name] = await supervisor.shutdown(mode)  # type: ignore[arg-type]  # one of the two

    async with open_supervisor(Toolbox([sleep, stubborn]), cleanup_timeout=60) as supervisor:
        supervisor.start(asleep(60))
        supervisor.start(ToolCall("stubborn", {"seconds": 10}))
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(end, supervisor, "drain", "drain")
            await trio.sleep(2)
            nursery.start_soon(end, supervisor, "abort", "abort")
            await trio.sleep(2)
            nursery.start_soon(end, supervisor, "too late", "drain")

        assert trio.current_time() - began == 10

    assert {name: report.mode for name, report in reports.items()} == dict.fromkeys(reports, "abort")
    assert len(reports) == 3
    assert supervisor.report == reports["drain"]


@requirement("shutdown.escalate")
async def test_a_second_abort_ends_all_grace_also_that_of_children(autojump_clock: trio.abc.Clock) -> None:
    @tool(grace=100)
    async def patient(ctx: ToolContext) -> None:
        await trio.sleep_forever()

    @tool(grace=50)
    async def parent(ctx: ToolContext) -> None:
        with trio.CancelScope(shield=True):
            await ctx.call("patient")

    async with open_supervisor(Toolbox([patient, parent])) as supervisor, trio.open_nursery() as nursery:
        execution = supervisor.start(ToolCall("parent"))
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(supervisor.shutdown, "abort")
        await trio.sleep(1)
        states = [shot.state for shot in supervisor.executions.inspect()]
        began = trio.current_time()
        await supervisor.shutdown("abort")

        assert trio.current_time() == began
    assert states == ["abort-requested", "abort-requested"]
    assert execution.snapshot.error_code == "CANCELLED"


@requirement("shutdown.escalate")
async def test_what_a_tool_calls_in_its_grace_ends_with_the_grace(autojump_clock: trio.abc.Clock) -> None:
    @tool(grace=5)
    async def parent(ctx: ToolContext) -> None:
        await ctx.wait_abort_requested()
        with trio.CancelScope(shield=True):
            await ctx.call("sleep", {"seconds": 1000})

    async with open_supervisor(Toolbox([parent, sleep])) as supervisor:
        execution = supervisor.start(ToolCall("parent"))
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        execution.abort("enough")
        await execution.settled()
        [child] = supervisor.executions.inspect(tool_name="sleep")

    assert child.settled_at == began + 5
    assert child.abort is not None and child.abort.source == "parent"


@requirement("shutdown.wrong-options")
async def test_a_shutdown_that_makes_no_sense_is_refused_and_changes_nothing() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        with pytest.raises(ValueError, match="give 'drain' or 'abort'"):
            await supervisor.shutdown("now")  # type: ignore[arg-type]  # the point of the test
        for wrong in (-1.0, float("nan")):
            with pytest.raises(DefinitionError, match="drain_for"):
                await supervisor.shutdown("drain", drain_for=wrong)

        assert not supervisor.closed


# -- who may end it, and who may give up waiting


@requirement("shutdown.cancelled")
@pytest.mark.parametrize("turns", range(5))
async def test_a_cancelled_drain_leaves_the_door_closed_and_the_work_running(
    turns: int, autojump_clock: trio.abc.Clock
) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        execution = supervisor.start(asleep(5))
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(supervisor.shutdown, "drain")
                for _ in range(turns + 1):
                    await trio.lowlevel.checkpoint()
                scope.cancel()

        assert scope.cancelled_caught
        assert supervisor.closed
        assert execution.snapshot.abort is None
        assert (await execution.result()).value == "slept"


@requirement("shutdown.cancelled")
@pytest.mark.parametrize("turns", range(5))
async def test_a_cancelled_abort_goes_on_aborting(turns: int, autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        execution = supervisor.start(asleep(5))
        await trio.testing.wait_all_tasks_blocked()
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(supervisor.shutdown, "abort")
                for _ in range(turns + 1):
                    await trio.lowlevel.checkpoint()
                scope.cancel()
        snapshot = await execution.settled()

    assert snapshot.error_code == "CANCELLED"


@requirement("shutdown.checkpoints")
@pytest.mark.parametrize("mode", ["drain", "abort"])
async def test_a_shutdown_with_nothing_to_end_is_a_checkpoint_and_may_be_repeated(mode: str) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        for _ in range(2):
            with trio.testing.assert_checkpoints():
                report = await supervisor.shutdown(mode)  # type: ignore[arg-type]  # one of the two
            assert (report.mode, report.ended, report.exit_code) == (mode, 0, 0)


@requirement("shutdown.from-inside")
@pytest.mark.parametrize("where", ["the body", "a task of its own", "a nested call", "a thread"])
async def test_a_tool_that_ends_its_own_supervisor_gets_an_error_and_no_deadlock(
    where: str, autojump_clock: trio.abc.Clock
) -> None:
    supervisors: list[Supervisor] = []
    refusals: list[str] = []

    async def end() -> None:
        for mode in ("drain", "abort"):
            with pytest.raises(ShutdownFromInside) as refusal:
                await supervisors[0].shutdown(mode)
            refusals.append(str(refusal.value))

    @tool
    async def ends(ctx: ToolContext) -> None:
        if where == "a nested call" and ctx.tool_name == "ends":
            (await ctx.call("ends_too")).unwrap()
        elif where == "a task of its own":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(end)
        else:
            await end()

    @tool
    async def ends_too() -> None:
        await end()

    @tool
    def ends_in_a_thread() -> None:
        trio.from_thread.run(end)

    async with open_supervisor(Toolbox([ends, ends_too, ends_in_a_thread])) as supervisor:
        supervisors.append(supervisor)
        name = "ends_in_a_thread" if where == "a thread" else "ends"
        (await supervisor.execute(ToolCall(name))).unwrap()

        assert not supervisor.closed
    assert len(refusals) == 2
    assert all("'ends" in refusal for refusal in refusals)


@requirement("shutdown.from-inside")
async def test_one_supervisor_may_be_ended_from_inside_another(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def deploy() -> int:
        async with open_supervisor(Toolbox([watch])) as inner:
            inner.start(watching(3))
            return (await inner.shutdown("drain")).ended

    async with open_supervisor(Toolbox([deploy])) as supervisor:
        assert (await supervisor.execute(ToolCall("deploy"))).value == 1


# -- leaving the block, in every way


@requirement("shutdown.leaving")
async def test_leaving_normally_drains(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([watch])) as supervisor:
        execution = supervisor.start(watching(10))
        began = trio.current_time()

    assert trio.current_time() - began == 10
    assert execution.snapshot.outcome == "success"
    assert supervisor.report is not None
    assert (supervisor.report.mode, supervisor.report.exit_code, supervisor.active) == ("drain", 0, 0)
    assert supervisor.closed


@requirement("shutdown.leaving")
async def test_leaving_by_return_drains_too(autojump_clock: trio.abc.Clock) -> None:
    async def leave() -> Execution:
        async with open_supervisor(Toolbox([watch])) as supervisor:
            return supervisor.start(watching(10))

    assert (await leave()).snapshot.outcome == "success"


class Trouble(Exception):
    """What the block raises."""


@requirement("shutdown.leaving", "shutdown.bare-exception")
@pytest.mark.parametrize(
    "exception",
    [
        Trouble("mine"),
        SystemExit(3),
        KeyboardInterrupt(),
        BaseExceptionGroup("mine", [Trouble("one"), KeyboardInterrupt()]),
        ExceptionGroup("mine", [Trouble("one"), Trouble("two")]),
    ],
)
async def test_leaving_by_an_exception_aborts_and_lets_it_leave_as_it_is(
    exception: BaseException, autojump_clock: trio.abc.Clock
) -> None:
    seen: list[tuple[Supervisor, Execution]] = []

    async def leave() -> None:
        async with open_supervisor(Toolbox([sleep])) as supervisor:
            seen.append((supervisor, supervisor.start(asleep(60))))
            await trio.testing.wait_all_tasks_blocked()
            raise exception

    began = trio.current_time()
    with pytest.raises(type(exception)) as caught:
        await leave()

    [(supervisor, execution)] = seen
    assert caught.value is exception
    assert exception.__context__ is None
    assert trio.current_time() == began
    abort = execution.snapshot.abort
    assert abort is not None and (abort.source, abort.honoured) == ("supervisor", True)
    assert supervisor.report is not None
    assert (supervisor.report.mode, supervisor.report.exit_code) == ("abort", 3)


@requirement("shutdown.leaving")
async def test_leaving_by_a_cancellation_from_outside_aborts(autojump_clock: trio.abc.Clock) -> None:
    seen: list[tuple[Supervisor, Execution]] = []
    began = trio.current_time()
    with trio.move_on_after(5) as scope:
        async with open_supervisor(Toolbox([sleep])) as supervisor:
            seen.append((supervisor, supervisor.start(asleep(60))))
            await trio.sleep_forever()

    [(supervisor, execution)] = seen
    assert scope.cancelled_caught
    assert trio.current_time() - began == 5
    abort = execution.snapshot.abort
    assert abort is not None and abort.source == "supervisor"
    assert (execution.snapshot.state, execution.snapshot.error_code) == ("unknown-effect", "CANCELLED")
    assert supervisor.report is not None and supervisor.report.mode == "abort"


@requirement("shutdown.leaving")
async def test_a_cancellation_from_outside_while_the_block_drains_aborts(autojump_clock: trio.abc.Clock) -> None:
    seen: list[Execution] = []
    began = trio.current_time()
    with trio.move_on_after(5) as scope:
        async with open_supervisor(Toolbox([sleep])) as supervisor:
            seen.append(supervisor.start(asleep(60)))

    assert scope.cancelled_caught
    assert trio.current_time() - began == 5
    assert seen[0].snapshot.error_code == "CANCELLED"


@requirement("shutdown.leaving")
@pytest.mark.parametrize("turns", range(8))
async def test_a_cancellation_at_any_turn_leaves_nothing_running(turns: int, autojump_clock: trio.abc.Clock) -> None:
    ran: list[str] = []

    @tool
    async def work() -> None:
        ran.append("begun")
        try:
            await trio.sleep_forever()
        finally:
            ran.append("ended")

    seen: list[Supervisor] = []
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            async def serve() -> None:
                async with open_supervisor(Toolbox([work])) as supervisor:
                    seen.append(supervisor)
                    await supervisor.execute(ToolCall("work"))

            nursery.start_soon(serve)
            for _ in range(turns):
                await trio.lowlevel.checkpoint()
            scope.cancel()

    assert ran in ([], ["begun", "ended"])
    for supervisor in seen:
        assert supervisor.report is not None and supervisor.active == 0


@requirement("shutdown.leaving")
async def test_work_awaited_from_elsewhere_gets_a_result_when_the_block_is_left(autojump_clock: trio.abc.Clock) -> None:
    results: list[ToolResult[object]] = []

    async def client(supervisor: Supervisor) -> None:
        results.append(await supervisor.execute(asleep(60)))

    async with trio.open_nursery() as clients:
        with suppress(Trouble):
            async with open_supervisor(Toolbox([sleep])) as supervisor:
                clients.start_soon(client, supervisor)
                await trio.testing.wait_all_tasks_blocked()
                raise Trouble

    [result] = results
    assert result.error is not None and result.error.code == "CANCELLED"


@requirement("shutdown.keyboard-interrupt")
@pytest.mark.parametrize("where", ["async", "thread", "generator", "grouped"])
async def test_a_keyboard_interrupt_in_a_tool_leaves_bare_and_aborts_everything(
    where: str, autojump_clock: trio.abc.Clock
) -> None:
    @tool
    async def interrupted() -> None:
        if where == "grouped":
            raise BaseExceptionGroup("both", [KeyboardInterrupt(), ValueError()])
        raise KeyboardInterrupt

    @tool(name="interrupted")
    def interrupted_thread() -> None:
        raise KeyboardInterrupt

    @tool(name="interrupted")
    async def interrupted_generator() -> AsyncIterator[int]:
        yield 1
        raise KeyboardInterrupt

    @tool
    async def endless() -> None:
        await trio.sleep_forever()

    chosen = {"thread": interrupted_thread, "generator": interrupted_generator}.get(where, interrupted)
    seen: list[tuple[Supervisor, Execution, Execution]] = []

    async def serve() -> None:
        async with open_supervisor(Toolbox([chosen, endless])) as supervisor:
            other = supervisor.start(ToolCall("endless"))
            await trio.testing.wait_all_tasks_blocked()
            seen.append((supervisor, other, supervisor.start(ToolCall("interrupted"))))
            await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        await serve()

    [(supervisor, other, guilty)] = seen
    for execution in (other, guilty):
        abort = execution.snapshot.abort
        assert abort is not None and abort.source == "supervisor"
        assert execution.snapshot.outcome == "error"
    assert supervisor.report is not None and supervisor.report.mode == "abort"
    assert supervisor.active == 0


@requirement("shutdown.holds-exit")
async def test_a_tool_that_shields_itself_holds_the_exit_and_is_named_every_ten_seconds(
    autojump_clock: trio.abc.Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "armory_trio.engine"):
        async with open_supervisor(Toolbox([stubborn, sleep]), drain_for=1, cleanup_timeout=2) as supervisor:
            held = supervisor.start(ToolCall("stubborn", {"seconds": 38}))
            for number in range(3):  # others that end later do not put the reminders off
                supervisor.start(ToolCall("stubborn", {"seconds": 7 + 6 * number}))
            began = trio.current_time()

    assert trio.current_time() - began == 38
    reminders = [record.getMessage() for record in caplog.records if "cannot be left" in record.getMessage()]
    assert len(reminders) == 3
    assert all(f"{held.id} (stubborn: unknown-effect)" in reminder for reminder in reminders)
    assert held.snapshot.ended_at == began + 38
    assert supervisor.report is not None
    assert (supervisor.report.unfinished, supervisor.report.exit_code) == ((), 3)


# -- the report


@requirement("shutdown.report")
async def test_a_report_tells_what_became_of_everything(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def clumsy() -> None:
        try:
            await trio.sleep(60)
        finally:
            raise OSError("disk full")

    async with open_supervisor(Toolbox([watch, sleep, clumsy, stubborn]), cleanup_timeout=1) as supervisor:
        fine = supervisor.start(watching(1))
        lost = supervisor.start(asleep(60))
        failed = supervisor.start(ToolCall("clumsy"))
        stuck = supervisor.start(ToolCall("stubborn", {"seconds": 30}))
        report = await supervisor.shutdown("drain", drain_for=5)

        def ids(snapshots: tuple[Snapshot, ...]) -> set[str]:
            return {snapshot.execution_id for snapshot in snapshots}

        assert ids(report.terminal) == {fine.id, failed.id}
        assert ids(report.unknown_effects) == {lost.id, stuck.id}
        assert ids(report.cleanup_failures) == {failed.id, stuck.id}
        assert ids(report.unfinished) == {stuck.id}
        assert report.abandoned_threads == ()
        assert (report.mode, report.ended, report.exit_code) == ("abort", 3, 4)
        assert report.lines()[0] == "abort: 3 ended, 1 unfinished"
        assert f"unfinished: {stuck.id} stubborn (unknown-effect)" in report.lines()
        assert str(report).splitlines() == report.lines()
        assert f"effect unknown: {lost.id} sleep (unknown-effect)" in report.lines()
        assert f"cleanup not completed: {failed.id} clumsy (terminal)" in report.lines()

    assert supervisor.report is not None
    assert (supervisor.report.ended, supervisor.report.unfinished, supervisor.report.exit_code) == (4, (), 3)


@requirement("shutdown.report")
@pytest.mark.parametrize(
    ("call", "code"),
    [(watching(60), 0), (asleep(60), 3), (ToolCall("stubborn", {"seconds": 60}), 4)],
)
async def test_a_report_turns_into_an_exit_code(call: ToolCall, code: int, autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([watch, sleep, stubborn]), cleanup_timeout=1) as supervisor:
        supervisor.start(call)
        report = await supervisor.shutdown("drain", drain_for=1)

    assert report.exit_code == code


# -- cancel and wait


@requirement("shutdown.cancel-and-wait")
async def test_one_can_cancel_and_wait_and_tell_a_cancellation_from_a_failure(autojump_clock: trio.abc.Clock) -> None:
    """Field case 9."""

    @tool(effect="read-only")
    async def tidy() -> None:
        try:
            await trio.sleep(60)
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0.2)

    states: list[str] = []

    async def follow(supervisor: Supervisor, *, task_status: trio.TaskStatus[None]) -> None:
        async with supervisor.executions.subscribe() as updates:
            task_status.started()
            async for snapshot in updates:
                states.append(snapshot.state)
                if snapshot.state == "terminal":
                    break

    async with open_supervisor(Toolbox([tidy])) as supervisor, trio.open_nursery() as nursery:
        await nursery.start(follow, supervisor)
        execution = supervisor.start(ToolCall("tidy"))
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        execution.abort("enough")
        ended = await execution.settled()

    assert trio.current_time() - began == 0.2
    assert states[-4:] == ["active", "abort-requested", "cleanup-pending", "terminal"]
    assert (ended.error_category, ended.error_code) == ("cancelled", "CANCELLED")


@requirement("shutdown.report")
async def test_a_printed_report_fits_on_a_screen_and_says_what_it_leaves_out(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        assert str(await supervisor.shutdown()) == "drain: 0 ended, 0 unfinished"
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        for _ in range(30):
            supervisor.start(asleep(60))
        await trio.sleep(1)
        report = await supervisor.shutdown("abort")

    told = report.lines()
    assert (len(told), told[0]) == (31, "abort: 30 ended, 0 unfinished")
    assert str(report).splitlines() == [*told[:20], "and 11 lines more; exit code 3"]
    assert repr(report).startswith("Report(mode='abort', ended=30, terminal=(), unknown_effects=(Snapshot(")


# -- signals


@requirement("shutdown.signals")
async def test_the_first_signal_drains_and_the_second_aborts(
    autojump_clock: trio.abc.Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    reports: list[Report] = []

    async def serve(supervisor: Supervisor) -> None:
        reports.append(await serve_until_signal(supervisor, drain_for=100))

    async with open_supervisor(Toolbox([sleep])) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(serve, supervisor)
        execution = supervisor.start(asleep(60))
        await trio.testing.wait_all_tasks_blocked()
        signal.raise_signal(signal.SIGTERM)
        await trio.sleep(5)

        assert supervisor.closed
        assert execution.snapshot.abort is None
        signal.raise_signal(signal.SIGINT)
        await execution.settled()

    said = capsys.readouterr().err
    assert "SIGTERM: draining 1 execution; a second signal aborts" in said
    assert "SIGINT: aborting 1 execution; a third signal exits at once" in said
    assert [(report.mode, report.exit_code) for report in reports] == [("abort", 3)]


async def serve_into(reports: list[Report], supervisor: Supervisor) -> None:
    reports.append(await serve_until_signal(supervisor, drain_for=100))


@requirement("shutdown.signals-at-once")
async def test_a_task_that_was_started_before_serving_first_runs_once_the_signals_are_caught() -> None:
    caught: list[bool] = []

    async def say_ready() -> None:
        caught.append(signal.getsignal(signal.SIGTERM) is not before)
        signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    async with open_supervisor(Toolbox([])) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(say_ready)
        with trio.fail_after(PATIENCE):
            report = await serve_until_signal(supervisor)

    assert (caught, report.mode) == ([True], "drain")


@requirement("shutdown.signals-counted")
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_two_signals_before_anybody_has_heeded_the_first_are_two(
    second: signal.Signals, autojump_clock: trio.abc.Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    reports: list[Report] = []
    async with open_supervisor(Toolbox([watch])) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(serve_into, reports, supervisor)
        supervisor.start(watching(60))
        supervisor.start(watching(60))
        await trio.testing.wait_all_tasks_blocked()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(second)
        await supervisor.wait_shut_down()

        assert trio.current_time() < 60

    assert capsys.readouterr().err.splitlines() == [
        "armory_trio: SIGTERM: draining 2 executions; a second signal aborts",
        f"armory_trio: {second.name}: aborting 2 executions; a third signal exits at once",
    ]
    assert [report.mode for report in reports] == ["abort"]


@requirement("shutdown.served")
@pytest.mark.parametrize("mode", ["drain", "abort"])
async def test_serving_returns_the_report_when_somebody_else_shuts_the_supervisor_down(
    mode: Literal["drain", "abort"], autojump_clock: trio.abc.Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    reports: list[Report] = []
    async with open_supervisor(Toolbox([watch])) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(serve_into, reports, supervisor)
        supervisor.start(watching(5))
        await trio.testing.wait_all_tasks_blocked()
        supervisor.close_admission()
        await trio.sleep(1)
        assert reports == []
        reports.append(await supervisor.shutdown(mode))

    assert [report.mode for report in reports] == [mode, mode]
    assert [report.ended for report in reports] == [1, 1]
    assert capsys.readouterr().err == ""


@requirement("shutdown.served")
async def test_serving_what_was_shut_down_before_returns_its_report_at_once(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        await supervisor.execute(ADD)
        report = await supervisor.shutdown()

        assert await serve_until_signal(supervisor) == report
        assert await supervisor.wait_shut_down() == report


@requirement("shutdown.served")
async def test_serving_from_outside_returns_when_the_block_is_left(autojump_clock: trio.abc.Clock) -> None:
    reports: list[Report] = []
    async with trio.open_nursery() as nursery, open_supervisor(Toolbox([watch])) as supervisor:
        nursery.start_soon(serve_into, reports, supervisor)
        supervisor.start(watching(5))
        await trio.testing.wait_all_tasks_blocked()

    assert [(report.mode, report.ended) for report in reports] == [("drain", 1)]


@requirement("shutdown.from-inside")
async def test_a_tool_that_waits_for_the_end_of_its_supervisor_is_refused(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def wait_for_the_end() -> None:
        await current_supervisor().wait_shut_down()

    async with open_supervisor(Toolbox([wait_for_the_end])) as supervisor:
        result = await supervisor.execute(ToolCall("wait_for_the_end"))

    assert result.error is not None
    assert "ShutdownFromInside" in result.error.message


HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def hangups() -> Iterator[None]:
    """SIGHUP ends the process, as it does unless somebody says otherwise (as whoever runs the tests may have)."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@requirement("shutdown.signals")
async def test_serving_that_is_cancelled_gives_the_signals_back_and_leaves_the_work_alone(
    autojump_clock: trio.abc.Clock, hangups: None
) -> None:
    before = [signal.getsignal(number) for number in HANDLED]
    async with open_supervisor(Toolbox([watch])) as supervisor:
        execution = supervisor.start(watching(5))
        with trio.move_on_after(1):
            await serve_until_signal(supervisor)

        assert [signal.getsignal(number) for number in HANDLED] == before
        assert not supervisor.closed
        assert (await execution.result()).outcome == "success"


@requirement("shutdown.signals-restored")
async def test_whoever_handled_the_signals_before_handles_them_after_every_other_end_too(
    autojump_clock: trio.abc.Clock, hangups: None
) -> None:
    @tool
    async def interrupt() -> None:
        await trio.sleep(1)
        raise KeyboardInterrupt

    before = [signal.getsignal(number) for number in HANDLED]
    async with open_supervisor(Toolbox([add])) as supervisor:
        with pytest.raises(DefinitionError):
            await serve_until_signal(supervisor, drain_for=-1)
        assert [signal.getsignal(number) for number in HANDLED] == before
        await supervisor.shutdown()
        await serve_until_signal(supervisor)
        assert [signal.getsignal(number) for number in HANDLED] == before

    async def be_interrupted() -> None:
        async with open_supervisor(Toolbox([interrupt])) as supervisor:
            supervisor.start(ToolCall("interrupt"))
            await serve_until_signal(supervisor)

    with pytest.raises(KeyboardInterrupt):
        await be_interrupted()
    assert [signal.getsignal(number) for number in HANDLED] == before


@requirement("shutdown.signals-restored")
async def test_a_signal_that_nobody_heeded_when_serving_was_cancelled_goes_to_who_handles_it_then(
    autojump_clock: trio.abc.Clock,
) -> None:
    got: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
    try:
        async with open_supervisor(Toolbox([add])) as supervisor:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(serve_until_signal, supervisor)
                    await trio.testing.wait_all_tasks_blocked()
                    scope.cancel()
                    signal.raise_signal(signal.SIGTERM)
                    signal.raise_signal(signal.SIGTERM)
                    assert got == []

            assert got == [signal.SIGTERM, signal.SIGTERM]
            assert not supervisor.closed
    finally:
        signal.signal(signal.SIGTERM, before)


@requirement("shutdown.signals-hangup")
async def test_a_closed_terminal_drains_unless_the_host_has_other_plans_for_that_signal(
    autojump_clock: trio.abc.Clock, hangups: None, capsys: pytest.CaptureFixture[str]
) -> None:
    reports: list[Report] = []
    async with open_supervisor(Toolbox([add])) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(serve_into, reports, supervisor)
        await trio.testing.wait_all_tasks_blocked()
        signal.raise_signal(signal.SIGHUP)

    assert [report.mode for report in reports] == ["drain"]
    assert "SIGHUP: draining 0 executions" in capsys.readouterr().err

    got: list[int] = []
    signal.signal(signal.SIGHUP, lambda number, frame: got.append(number))
    async with open_supervisor(Toolbox([add])) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(serve_until_signal, supervisor)
        await trio.testing.wait_all_tasks_blocked()
        signal.raise_signal(signal.SIGHUP)
        await trio.testing.wait_all_tasks_blocked()

        assert (got, supervisor.closed) == ([signal.SIGHUP], False)
        nursery.cancel_scope.cancel()


@requirement("shutdown.signals-main-thread")
async def test_serving_outside_of_the_main_thread_says_what_to_do() -> None:
    async def serve() -> None:
        async with open_supervisor(Toolbox([add])) as supervisor:
            await serve_until_signal(supervisor)

    with trio.fail_after(PATIENCE), pytest.raises(RuntimeError, match=r"only the main thread .* call trio\.run there"):
        await trio.to_thread.run_sync(trio.run, serve)


SERVICE = textwrap.dedent(
    """
    import os
    import sys
    import trio
    from armory_trio import Toolbox, ToolCall, open_supervisor, serve_until_signal, tool

    finish = trio.Event()

    @tool(effect="read-only")
    async def job():
        await finish.wait()
        return "finished"

    @tool
    async def write():
        await trio.sleep_forever()

    @tool(placement="task")
    def busy():
        print("serving", flush=True)
        while True:
            pass

    @tool
    async def deaf():
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()

    async def obey():
        async with trio.lowlevel.FdStream(os.dup(0)) as stdin:
            await stdin.receive_some()
        finish.set()

    async def main(name):
        async with open_supervisor(Toolbox([job, write, deaf, busy])) as supervisor, trio.open_nursery() as nursery:
            nursery.start_soon(obey)
            execution = supervisor.start(ToolCall(name))
            nursery.start_soon(announce, supervisor)
            report = await serve_until_signal(supervisor, drain_for=600)
            nursery.cancel_scope.cancel()
        result = (await execution.result()).outcome
        print(f"report: {report.mode} {report.ended} {result}", flush=True)
        sys.exit(supervisor.report.exit_code)

    async def announce(supervisor):
        while any(shot.state == "queued" for shot in supervisor.executions.inspect()):
            await trio.lowlevel.checkpoint()
        print("serving", flush=True)

    trio.run(main, sys.argv[1])
    """
)

PATIENCE = 60
"""Seconds after which a child process is taken for hung; no result depends on it."""


class Service:
    """A service in a process of its own, and what it says."""

    def __init__(self, process: trio.Process) -> None:
        assert process.stdout is not None and process.stderr is not None and process.stdin is not None
        self.process = process
        self.stdin = process.stdin
        self.out = process.stdout
        self.err = process.stderr
        self.said = ""

    async def hears(self, words: str) -> None:
        """Wait until it said *words* on stderr."""
        while words not in self.said:
            more = await self.err.receive_some()
            assert more, f"it ended without {words!r}: {self.said}"
            self.said += more.decode()

    async def ends(self) -> tuple[int, str]:
        """Its exit code, and the rest of what it prints."""
        printed = b"".join([chunk async for chunk in self.out]).decode()
        async for chunk in self.err:
            self.said += chunk.decode()
        return await self.process.wait(), printed


async def start_service(nursery: trio.Nursery, job: str) -> Service:
    run = partial(
        trio.run_process,
        [sys.executable, "-c", SERVICE, job],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    process: trio.Process = await nursery.start(run)
    service = Service(process)
    printed = b""
    while b"serving" not in printed:
        more = await service.out.receive_some()
        assert more, (await service.ends(), service.said)
        printed += more
    return service


@requirement("shutdown.signals-to-a-process")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_service_that_gets_a_signal_finishes_its_work_and_exits_clean(number: signal.Signals) -> None:
    """Field case 10."""
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            service = await start_service(nursery, "job")
            service.process.send_signal(number)
            await service.hears("a second signal aborts")
            await service.stdin.send_all(b"finish\n")
            code, printed = await service.ends()

    assert printed.strip() == "report: drain 1 success"
    assert code == 0
    assert f"{number.name}: draining 1 execution;" in service.said


@requirement("shutdown.signals-to-a-process")
async def test_a_service_that_gets_a_second_signal_aborts_and_says_what_is_uncertain() -> None:
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            service = await start_service(nursery, "write")
            service.process.send_signal(signal.SIGTERM)
            await service.hears("a second signal aborts")
            service.process.send_signal(signal.SIGTERM)
            code, printed = await service.ends()

    assert printed.strip() == "report: abort 1 error"
    assert code == 3
    assert "SIGTERM: aborting 1 execution;" in service.said


@requirement("shutdown.signals-to-a-process")
async def test_a_service_that_gets_a_third_signal_exits_at_once_with_the_list() -> None:
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            service = await start_service(nursery, "deaf")
            for words in ("a second signal aborts", "a third signal exits at once"):
                service.process.send_signal(signal.SIGINT)
                await service.hears(words)
            service.process.send_signal(signal.SIGTERM)
            code, printed = await service.ends()

    assert printed.strip() == ""
    assert code == 4
    assert "SIGTERM: exiting at once; 1 execution left in an unknown state" in service.said
    assert re.search(r"left: exe-[0-9a-f]+-1 deaf \((active|abort-requested|cleanup-pending)\)", service.said)


@requirement("shutdown.signals-counted")
async def test_the_third_signal_exits_at_once_even_while_a_tool_blocks_the_event_loop() -> None:
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            service = await start_service(nursery, "busy")
            for number in itertools.cycle(HANDLED[:2]):  # one that Python has not come to yet swallows its like
                if service.process.poll() is not None:
                    break
                service.process.send_signal(number)
                await trio.sleep(0.01)
            code, _ = await service.ends()

    assert code == 4
    assert service.said.count("exiting at once; 1 execution left in an unknown state") == 1
    assert re.search(r"left: exe-[0-9a-f]+-1 busy \(active\)", service.said)
