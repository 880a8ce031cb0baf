"""Worker processes that die, break the rules or will not end: always that call's own failure, and nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import trio
from hypothesis import settings

from armory_trio import (
    CallNext,
    Execution,
    ExecutionAdmitted,
    ExecutionSettled,
    ExecutionStarted,
    Limits,
    MiddlewareCall,
    OfExecution,
    OutcomeDecided,
    ProgressReported,
    Snapshot,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    WaitBegan,
    WaitEnded,
    open_supervisor,
)
from armory_trio.engine.placement import _group
from armory_trio.engine.placement._channel import LOST_CHANNEL
from armory_trio.engine.placement._group import end_group
from tests.engine.placement import _faulty as faulty
from tests.engine.placement._tools import PATIENCE
from tests.requirements import requirement

ROOT = Path(__file__).parents[3]
SOAKING = settings.default is not None and settings.default.max_examples > 1000
"""Whether very many cases were asked for, as by ``make soak``."""


def children() -> set[int]:
    """The processes that this one has started and not reaped."""
    found = [task.joinpath("children").read_text("ascii") for task in Path("/proc/self/task").iterdir()]
    return {int(number) for line in found for number in line.split()}


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() - before == set()


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def runs(pid: int) -> bool:
    """Whether *pid* still runs; a zombie that waits for somebody else's attention does not."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return told.rpartition(")")[2].split()[0] not in "ZX"


def pids_in(path: Path) -> list[int]:
    """The processes that a body has written down."""
    return [int(pid) for pid in path.read_text("utf-8").split()]


async def began(supervisor: Supervisor, execution: Execution) -> Snapshot:
    with trio.fail_after(PATIENCE):
        async with supervisor.executions.subscribe(execution_id=execution.id) as updates:
            async for snapshot in updates:
                if snapshot.progress is not None or snapshot.ended_at is not None:
                    return snapshot
    raise AssertionError


async def written(path: Path) -> str:
    """What a body has written to *path*, as soon as it has."""
    with trio.fail_after(PATIENCE):
        while not path.exists() or not path.read_text("utf-8"):  # noqa: ASYNC110, ASYNC240  # nobody tells of it
            await trio.sleep(0.005)
    return path.read_text("utf-8")  # noqa: ASYNC240  # it is there


async def probe(supervisor: Supervisor) -> None:
    """A following call runs."""
    with trio.fail_after(PATIENCE):
        assert (await supervisor.execute(ToolCall("pid"))).outcome == "success"


# -- lost

FATES = {
    "segfault": "was killed by SIGSEGV",
    "exit": "exited with status 3",
    "kill": "was killed by SIGKILL",
    "abort": "was killed by SIGABRT",
    "with a child that holds everything": "exited with status 4",
    "closes": "lost its channel to the host",
    "closes and opens": "lost its channel to the host",
    "shuts down": "was killed by SIGKILL",
    "garbage": "sent what no worker sends",
    "flood": "sent what no worker sends (a message of",
    "endless frame": "sent what no worker sends (a message of 4294967295 bytes",
    "questions without end": "sent what no worker sends (questions, and it hears no answer)",
    "chunks that nobody asked for": "sent what no worker sends (a chunk that nobody has room for)",
}


@requirement("processes.lost", "processes.lost-effect", "processes.no-zombies")
async def test_a_worker_that_is_lost_is_that_calls_own_failure() -> None:
    async with open_supervisor(Toolbox([faulty.die, faulty.pid]), limits=Limits(processes=1)) as supervisor:
        for how, fate in FATES.items():
            with trio.fail_after(PATIENCE):
                execution = supervisor.start(ToolCall("die", {"how": how, "gate": str(ROOT)}))
                result = await execution.result()
                snapshot = await execution.settled()

            assert result.error is not None
            assert (result.error.category, result.error.code) == ("internal", "WORKER_LOST")
            assert f"the worker process {fate}" in result.error.message, how
            assert (result.effect, snapshot.state, snapshot.capacity) == ("unknown", "unknown-effect", ())
            assert children() == set()
        await probe(supervisor)


@requirement("processes.lost")
async def test_losing_one_worker_disturbs_no_other(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with open_supervisor(Toolbox([faulty.die, faulty.transfer]), limits=Limits(processes=3)) as supervisor:
        others = [supervisor.start(ToolCall("transfer", {"gate": str(gate)})) for _ in range(2)]
        for execution in others:
            await began(supervisor, execution)
        lost = supervisor.start(ToolCall("die", {"how": "kill", "gate": str(ROOT)}))
        with trio.fail_after(PATIENCE):
            result = await lost.result()
            gate.touch()
            kept = [await execution.result() for execution in others]

    assert result.error is not None and result.error.code == "WORKER_LOST"
    assert [result.value for result in kept] == ["transferred"] * 2


@requirement("processes.lost-effect")
async def test_windows_know_what_a_lost_worker_may_have_done() -> None:
    async with open_supervisor(Toolbox([faulty.die_in_window])) as supervisor:
        for when, effect in (("before", "none"), ("inside", "unknown"), ("after", "completed")):
            with trio.fail_after(PATIENCE):
                result = await supervisor.execute(ToolCall("die_in_window", {"when": when}))

            assert result.error is not None and result.error.code == "WORKER_LOST"
            assert (when, result.effect) == (when, effect)


@requirement("processes.lost", "processes.lost-effect")
async def test_a_worker_that_never_came_up_has_done_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_supervisor(Toolbox([faulty.die, faulty.pid])) as supervisor:
        call = ToolCall("die", {"how": "exit", "gate": str(ROOT)})
        with monkeypatch.context() as patched, trio.fail_after(PATIENCE):
            patched.setattr(sys, "executable", "/nowhere/python")
            missing = await supervisor.execute(call)
            patched.setattr(sys, "executable", "/bin/false")
            ended = await supervisor.execute(call)
        await probe(supervisor)

    assert missing.error is not None and ended.error is not None
    assert (missing.error.code, ended.error.code) == ("WORKER_LOST", "WORKER_LOST")
    assert "could not be started" in missing.error.message
    assert "exited with status 1, before the tool began" in ended.error.message
    assert (missing.effect, ended.effect) == ("none", "none")


@requirement("processes.lost")
async def test_a_worker_that_is_killed_from_outside_is_lost(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with open_supervisor(Toolbox([faulty.burn, faulty.pid])) as supervisor:
        execution = supervisor.start(ToolCall("burn", {"pids": str(pids)}))
        await began(supervisor, execution)
        *others, worker = pids_in(pids)
        os.kill(worker, signal.SIGKILL)
        with trio.fail_after(PATIENCE):
            result = await execution.result()
            await execution.settled()
        left = [pid for pid in (worker, *others) if runs(pid)]
        await probe(supervisor)

    assert result.error is not None and "was killed by SIGKILL" in result.error.message
    assert left == []


@requirement("processes.replaced", "processes.no-zombies")
async def test_a_worker_that_dies_while_it_is_idle_is_replaced_and_reaped() -> None:
    async with open_supervisor(Toolbox([faulty.pid])) as supervisor:
        with trio.fail_after(PATIENCE):
            first = await supervisor.execute(ToolCall("pid"))
            for wait in (False, True):
                assert isinstance(first.value, int)
                os.kill(first.value, signal.SIGKILL)
                while wait and first.value in children():  # noqa: ASYNC110  # nobody tells of it
                    await trio.sleep(0.005)
                second = await supervisor.execute(ToolCall("pid"))  # also when nobody could have noticed yet

                assert second.outcome == "success"
                assert second.value != first.value
                first = second


@requirement("processes.not-ready", "processes.no-zombies")
@pytest.mark.parametrize("member", ["decode", "enumerate"])
async def test_a_worker_that_a_call_has_spoilt_is_replaced(member: str) -> None:
    async with open_supervisor(Toolbox([faulty.pid, faulty.poison]), limits=Limits(processes=1)) as supervisor:
        with trio.fail_after(PATIENCE):
            spoilt = await supervisor.execute(ToolCall("poison", {"member": member}))
            after = [await supervisor.execute(ToolCall("pid")) for _ in range(2)]

    assert spoilt.outcome == "success"
    assert [result.outcome for result in after] == ["success"] * 2, after[0].error
    assert after[0].value == after[1].value != spoilt.value


@requirement("processes.interrupt")
async def test_an_interrupt_that_a_body_raises_is_its_own_failure() -> None:
    async with open_supervisor(Toolbox([faulty.interrupt, faulty.pid])) as supervisor:
        with trio.fail_after(PATIENCE):
            result = await supervisor.execute(ToolCall("interrupt"))
        await probe(supervisor)

    assert result.error is not None
    assert (result.error.code, result.error.message) == ("INTERNAL_ERROR", "KeyboardInterrupt")


@requirement("processes.unreadable")
@pytest.mark.parametrize(
    ("how", "code", "effect"),
    [
        ("value", "OUTPUT_INVALID", "completed"),
        ("deep value", "OUTPUT_INVALID", "unknown"),
        ("chunk", "OUTPUT_INVALID", "unknown"),
        ("deep chunk", "OUTPUT_INVALID", "unknown"),
        ("failure", "MINE", "none"),
        ("told", None, "completed"),
    ],
)
async def test_what_the_host_cannot_read_fails_as_the_value_that_it_is(how: str, code: str | None, effect: str) -> None:
    async with open_supervisor(Toolbox([faulty.forge, faulty.pid])) as supervisor:
        with trio.fail_after(PATIENCE):
            result = await supervisor.execute(ToolCall("forge", {"how": how}))
        await probe(supervisor)

    assert (result.error.code if result.error else None, result.effect) == (code, effect)
    if how == "failure":
        assert result.error is not None and result.error.details is not None
        assert "undelivered" in result.error.details
    if how == "told":
        assert result.value == 7


# -- killed


async def burn_and_abort(supervisor: Supervisor, pids: Path) -> None:
    execution = supervisor.start(ToolCall("burn", {"pids": str(pids)}))
    await began(supervisor, execution)
    started = pids_in(pids)
    assert len(started) == 7
    assert all(map(runs, started))
    assert execution.abort("enough") == "requested"
    with trio.fail_after(PATIENCE):
        snapshot = await execution.settled()

    assert [pid for pid in started if runs(pid)] == []
    assert started[-1] not in children()
    assert snapshot.abort is not None and snapshot.abort.honoured
    assert (snapshot.error_code, snapshot.cleanup) == ("CANCELLED", "completed")


@requirement("processes.group-killed", "processes.no-zombies")
async def test_an_abort_kills_a_body_that_computes_with_its_children_and_their_children(tmp_path: Path) -> None:
    rounds = 500 if SOAKING else 6
    async with open_supervisor(Toolbox([faulty.burn, faulty.pid]), limits=Limits(processes=1)) as supervisor:
        await burn_and_abort(supervisor, tmp_path / "pids")
        descriptors = open_descriptors()
        for number in range(rounds - 1):
            await burn_and_abort(supervisor, tmp_path / f"pids{number}")
            assert open_descriptors() <= descriptors
        await probe(supervisor)

    assert supervisor.report is not None and supervisor.report.exit_code == 0


@requirement("processes.group-killed", "processes.no-zombies")
async def test_a_system_that_shows_no_processes_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_group, "_PROC", "/nowhere")
    monkeypatch.delattr(os, "pidfd_open")
    async with open_supervisor(Toolbox([faulty.stop_itself, faulty.die, faulty.pid])) as supervisor:
        told = tmp_path / "pid"
        execution = supervisor.start(ToolCall("stop_itself", {"began": str(told)}))
        worker = int(await written(told))
        execution.abort("enough")
        with trio.fail_after(PATIENCE):
            snapshot = await execution.settled()
            left = runs(worker)
            lost = await supervisor.execute(ToolCall("die", {"how": "exit", "gate": str(ROOT)}))
        await probe(supervisor)

    assert left is False
    assert snapshot.cleanup == "completed"
    assert lost.error is not None and "exited with status 3" in lost.error.message


@requirement("processes.group-killed")
async def test_a_caller_that_is_cancelled_leaves_no_process_behind(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with open_supervisor(Toolbox([faulty.burn])) as supervisor:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.execute, ToolCall("burn", {"pids": str(pids)}))
            await written(pids)
            nursery.cancel_scope.cancel()
        [execution] = supervisor.executions.inspect()
        with trio.fail_after(PATIENCE):
            await supervisor.wait_idle()
        left = [pid for pid in pids_in(pids) if runs(pid)]

    assert left == []
    assert execution.abort is not None and execution.abort.source == "caller"


@requirement("processes.group-killed")
@pytest.mark.parametrize("name", ["stop_itself", "hold_the_interpreter"])
async def test_a_body_that_can_do_nothing_any_more_is_killed_as_well(name: str, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    async with open_supervisor(Toolbox([getattr(faulty, name), faulty.pid])) as supervisor:
        execution = supervisor.start(ToolCall(name, {"began": str(told)}))
        worker = int(await written(told))
        execution.abort("enough")
        with trio.fail_after(PATIENCE):
            snapshot = await execution.settled()
        left = runs(worker)
        await probe(supervisor)

    assert left is False
    assert snapshot.cleanup == "completed"


@requirement("processes.group-killed", "processes.not-entered")
async def test_an_abort_while_the_process_starts_has_done_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    async with open_supervisor(Toolbox([faulty.die])) as supervisor:
        for turns in (0, 1, 2, 5, 20):
            execution = supervisor.start(ToolCall("die", {"how": "exit", "gate": str(ROOT)}))
            for _ in range(turns):
                await trio.lowlevel.checkpoint()
            execution.abort("at once")
            with trio.fail_after(PATIENCE):
                snapshot = await execution.settled()

            assert (snapshot.effect, snapshot.state) == ("none", "terminal")
            assert children() == set()


# -- left


@requirement("processes.leaving", "processes.no-zombies")
@pytest.mark.parametrize("way", ["normally", "by an exception", "by a cancellation"])
async def test_workers_end_with_their_supervisor(way: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    idle: object = None
    busy: list[int] = []
    with trio.fail_after(PATIENCE), trio.CancelScope() as scope:
        try:
            async with open_supervisor(Toolbox([faulty.pid, faulty.burn]), drain_for=0.01) as supervisor:
                supervisor.start(ToolCall("burn", {"pids": str(pids)}))
                await written(pids)
                busy = pids_in(pids)
                idle = (await supervisor.execute(ToolCall("pid"))).value
                assert children() == {idle, busy[-1]}
                if way == "by an exception":
                    raise LookupError(way)  # noqa: TRY301  # out of the block
                if way == "by a cancellation":
                    scope.cancel()
                    await trio.lowlevel.checkpoint()
        except LookupError:
            assert way == "by an exception"

    assert [pid for pid in (cast("int", idle), *busy) if runs(pid)] == []
    assert scope.cancelled_caught is (way == "by a cancellation")


@requirement("processes.leaving")
async def test_an_idle_worker_that_will_not_end_is_killed_when_its_supervisor_is_left(tmp_path: Path) -> None:
    async with open_supervisor(Toolbox([faulty.pid])) as supervisor:
        worker = (await supervisor.execute(ToolCall("pid"))).value
        assert isinstance(worker, int)
        os.kill(worker, signal.SIGSTOP)

    assert not runs(worker)


@requirement("processes.never-cancelled")
async def test_a_body_that_must_never_be_cancelled_runs_on_and_its_late_end_is_told(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with open_supervisor(Toolbox([faulty.transfer, faulty.pid])) as supervisor:
        execution = supervisor.start(ToolCall("transfer", {"gate": str(gate)}))
        await began(supervisor, execution)
        execution.abort("enough")
        with trio.fail_after(PATIENCE):
            result = await execution.result()
            given_up = await execution.settled()
            gate.touch()
            await supervisor.wait_idle()

    assert result.error is not None and result.error.code == "CANCELLED"
    assert (given_up.state, given_up.ended_at, given_up.capacity) == ("unknown-effect", None, ("processes",))
    assert execution.privileged_snapshot().late_value == "transferred"
    assert execution.snapshot.ended_at is not None


@requirement("processes.never-cancelled")
async def test_a_stream_that_must_never_be_cancelled_goes_on_to_its_end_without_a_reader() -> None:
    async with open_supervisor(Toolbox([faulty.transfer_all])) as supervisor:
        with trio.fail_after(PATIENCE):
            async with supervisor.stream(ToolCall("transfer_all")) as stream:
                await began(supervisor, stream.execution)
                stream.execution.abort("enough")
                snapshot = await stream.execution.settled()

    assert (snapshot.error_code, snapshot.effect) == ("CANCELLED", "completed")


@requirement("processes.never-cancelled", "processes.leaving")
@pytest.mark.parametrize("given_up_before", [False, True])
async def test_leaving_the_supervisor_kills_even_what_must_never_be_cancelled(
    given_up_before: bool, tmp_path: Path
) -> None:
    with trio.fail_after(PATIENCE):
        async with open_supervisor(Toolbox([faulty.transfer, faulty.pid]), drain_for=0.01) as supervisor:
            execution = supervisor.start(ToolCall("transfer", {"gate": str(tmp_path / "never")}))
            await began(supervisor, execution)
            [worker] = children()
            if given_up_before:
                execution.abort("enough")
                await execution.settled()
                await probe(supervisor)

    report = supervisor.report
    assert not runs(worker)
    assert report is not None
    assert execution.snapshot.effect == "unknown"
    assert [shot.execution_id for shot in report.cleanup_failures] == [execution.id]
    assert (report.exit_code, report.unfinished, report.abandoned_threads) == (3, (), ())
    assert execution.snapshot.ended_at is not None


@requirement("processes.never-cancelled", "processes.leaving")
async def test_a_shutdown_reports_what_was_given_up_before_as_ended_with_an_unknown_effect(tmp_path: Path) -> None:
    async with open_supervisor(Toolbox([faulty.transfer])) as supervisor:
        execution = supervisor.start(ToolCall("transfer", {"gate": str(tmp_path / "never")}))
        await began(supervisor, execution)
        [worker] = children()
        execution.abort("enough")
        with trio.fail_after(PATIENCE):
            await execution.settled()
            report = await supervisor.shutdown()

        assert not runs(worker)
        assert (report.exit_code, report.unfinished, report.abandoned_threads) == (3, (), ())
        assert [shot.execution_id for shot in report.unknown_effects] == [execution.id]


# -- the host dies

HOST = """
import sys, trio
from armory_trio import Toolbox, ToolCall, open_supervisor
from tests.engine.placement import _faulty
async def main():
    tools = [_faulty.pid, _faulty.burn, _faulty.hold_the_interpreter]
    async with open_supervisor(Toolbox(tools)) as supervisor:
        for name, arguments in ((sys.argv[1], {sys.argv[2]: sys.argv[3]}),):
            supervisor.start(ToolCall(name, arguments))
        await supervisor.execute(ToolCall("pid"))
        print((await supervisor.execute(ToolCall("pid"))).value, flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


@requirement("processes.host-dies")
@pytest.mark.parametrize(("name", "parameter"), [("burn", "pids"), ("hold_the_interpreter", "began")])
async def test_workers_and_their_groups_end_when_their_host_is_killed(
    name: str, parameter: str, tmp_path: Path
) -> None:
    told = tmp_path / "pids"
    host = subprocess.Popen(  # noqa: ASYNC220  # nothing else runs here
        [sys.executable, "-c", HOST, name, parameter, str(told)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    pids: list[int] = []
    try:
        assert host.stdout is not None
        idle = int(await trio.to_thread.run_sync(host.stdout.readline))
        await written(told)
        pids = pids_in(told)
        assert all(map(runs, [idle, *pids]))
        host.kill()
        host.wait()
        with trio.fail_after(PATIENCE):
            while any(map(runs, [idle, *pids])):  # noqa: ASYNC110  # nobody could tell of it
                await trio.sleep(0.01)
    finally:
        host.kill()
        host.wait()
        host.communicate()
        for pid in pids[-1:]:
            end_group(pid, PATIENCE)


@requirement("processes.host-dies")
def test_a_worker_whose_host_died_while_it_started_runs_nothing() -> None:
    ours, theirs = socket.socketpair()
    lifeline, other_end = os.pipe()
    os.close(other_end)
    script = "import sys; from armory_trio.engine.placement._worker import main; main(*map(int, sys.argv[1:]))"
    with ours, theirs:
        numbers = (theirs.fileno(), lifeline)
        worker = subprocess.run(
            [sys.executable, "-c", script, *map(str, numbers)],
            cwd=ROOT,
            pass_fds=numbers,
            start_new_session=True,
            timeout=PATIENCE,
            check=False,
        )
    os.close(lifeline)

    assert worker.returncode == LOST_CHANNEL


FORKING_HOST = """
import os, trio
from armory_trio import Toolbox, ToolCall, open_supervisor
from tests.engine.placement import _faulty
async def main():
    async with open_supervisor(Toolbox([_faulty.pid, _faulty.hold_the_interpreter])) as supervisor:
        supervisor.start(ToolCall("hold_the_interpreter", {"began": os.environ["BEGAN"]}))
        idle = (await supervisor.execute(ToolCall("pid"))).value
        if os.fork() == 0:
            os.read(0, 1)
            os._exit(0)
        print(idle, flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


@requirement("processes.host-forks")
async def test_a_child_that_the_host_forked_keeps_no_worker_alive(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    host = subprocess.Popen(  # noqa: ASYNC220  # nothing else runs here
        [sys.executable, "-W", "ignore", "-c", FORKING_HOST],
        cwd=ROOT,
        env={**os.environ, "BEGAN": str(told)},
        stdin=subprocess.PIPE,  # the forked child lives until it is closed
        stdout=subprocess.PIPE,
        text=True,
    )
    pids: list[int] = []
    try:
        assert host.stdout is not None
        idle = int(await trio.to_thread.run_sync(host.stdout.readline))
        busy = int(await written(told))
        pids = [idle, busy]
        assert all(map(runs, pids))
        host.kill()
        host.wait()
        with trio.fail_after(PATIENCE):
            while any(map(runs, pids)):  # noqa: ASYNC110  # nobody could tell of it
                await trio.sleep(0.01)
    finally:
        host.kill()
        host.communicate()
        for pid in pids:
            end_group(pid, PATIENCE)


# -- the group


@requirement("processes.group-killed")
def test_a_group_is_known_to_have_ended_only_when_nothing_of_it_runs() -> None:
    script = "import os, time; os.fork(); os.write(1, b'x'); time.sleep(60)"
    leader = subprocess.Popen([sys.executable, "-S", "-c", script], start_new_session=True, stdout=subprocess.PIPE)
    try:
        assert leader.stdout is not None
        assert leader.stdout.read(2) == b"xx"
        began_at = time.monotonic()
        assert end_group(leader.pid, PATIENCE)
        assert time.monotonic() - began_at < PATIENCE
        assert leader.stdout.read() == b""  # the child is gone as well
        assert end_group(leader.pid, 0)
    finally:
        leader.kill()
        leader.communicate()
    assert end_group(leader.pid, 0)


@requirement("watching.waits")
async def test_a_wait_ends_with_the_worker_that_waited_and_not_with_what_is_tried_next(tmp_path: Path) -> None:
    async def again(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            return await call_next()
        except ToolFailure:
            return await call_next()

    toolbox = Toolbox([faulty.die_waiting], middleware=[again])
    call = ToolCall("die_waiting", {"began": str(tmp_path / "began")})
    async with open_supervisor(toolbox) as supervisor, supervisor.events(OfExecution) as reader:
        with trio.fail_after(PATIENCE):
            assert (await supervisor.execute(call)).value == "back"
            told: list[OfExecution] = []
            while not told or not isinstance(told[-1], ExecutionSettled):
                event = await anext(reader)
                assert isinstance(event, OfExecution)
                told.append(event)

    assert [type(event) for event in told] == [
        *(ExecutionAdmitted, ExecutionStarted, WaitBegan, WaitEnded),
        *(ExecutionStarted, ProgressReported, OutcomeDecided, ExecutionSettled),
    ]
