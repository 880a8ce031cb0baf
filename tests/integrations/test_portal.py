"""A supervisor in a thread of its own, for programs that block."""

from __future__ import annotations

import asyncio
import inspect
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import trio

from armory_trio import (
    AdmissionClosed,
    AdmissionWasClosed,
    BatchError,
    DefinitionError,
    Limits,
    ShutdownFromInside,
    Supervisor,
    Toolbox,
    ToolCall,
    tool,
)
from armory_trio.integrations.portal import BlockingHost, open_blocking_host
from tests.integrations.loops import CITY, TOOLBOX, TOOLS
from tests.requirements import requirement

ROOT: Final = Path(__file__).parents[2]
SUM: Final = ToolCall("add", {"a": 5, "b": 3})
PATIENCE: Final = 30.0


class Trace:
    """What tools of one test said, and the moments at which a thread may look."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.running = threading.Event()


def sleepers(trace: Trace, *, then: Callable[[], object] = lambda: None) -> Toolbox:
    @tool
    async def sleep() -> str:
        """Sleep until stopped, and say so."""
        trace.said.append("began")
        trace.running.set()
        then()
        try:
            await trio.sleep_forever()
        finally:
            trace.said.append("cleaned up")

    return Toolbox([sleep, *TOOLS])


def _both(first: Callable[[], object], second: Callable[[], object]) -> None:
    first()
    second()


def interrupt_main() -> None:
    """What Ctrl-C does, whoever calls it."""
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)


@contextmanager
def ctrl_c_raises() -> Generator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@requirement("portal.native")
def test_calls_are_made_by_a_plain_program() -> None:
    with open_blocking_host(TOOLBOX, limits=Limits(concurrent=3)) as host:
        assert host.execute(SUM, owner_id="run-7").value == 8
        calls = [ToolCall("add", {"a": n, "b": n}) for n in range(50)]
        assert [result.value for result in host.execute_batch(calls, concurrency=2)] == [2 * n for n in range(50)]
        with pytest.raises(BatchError):
            host.execute_batch([ToolCall("add"), SUM], on_error="fail_fast", mode="sequential")
        [shot] = host.inspect(owner_id="run-7")
        assert host.locate(shot.execution_id) == shot
        assert host.locate("nobody") is None
        assert host.toolbox is TOOLBOX
        assert (host.active, host.closed, host.report) == (0, False, None)
        host.wait_idle(timeout=PATIENCE)


@requirement("portal.native")
def test_a_handle_is_waited_for_by_whoever_wants() -> None:
    trace = Trace()
    with open_blocking_host(sleepers(trace)) as host:
        execution = host.start(ToolCall("sleep"), owner_id="run-7")
        assert trace.running.wait(PATIENCE)
        assert execution.snapshot.state == "active"
        assert host.active == 1
        assert execution.id in repr(execution)
        assert host.abort("enough", owner_id="run-7") == {execution.id: "requested"}
        assert execution.settled(timeout=PATIENCE).state == "unknown-effect"
        error = execution.result().error
        assert error is not None
        assert error.code == "CANCELLED"
        assert execution.abort() == "already-ended"
        assert execution.privileged_snapshot().call is not None


@requirement("portal.native")
def test_twenty_threads_call_at_once() -> None:
    def many(host: BlockingHost, owner: int) -> list[object]:
        return [host.execute(ToolCall("add", {"a": owner, "b": n}), owner_id=f"run-{owner}").value for n in range(25)]

    with open_blocking_host(TOOLBOX, limits=Limits(concurrent=5)) as host, ThreadPoolExecutor(20) as pool:
        found = [pool.submit(many, host, owner) for owner in range(20)]
        assert [each.result() for each in found] == [[owner + n for n in range(25)] for owner in range(20)]
    assert host.report is not None
    assert (host.report.ended, host.report.exit_code) == (500, 0)


@requirement("portal.native")
def test_a_trio_function_runs_on_the_thread_of_the_host_with_its_supervisor() -> None:
    async def two(supervisor: Supervisor) -> list[object]:
        async with supervisor.events() as events:
            result = await supervisor.execute(SUM)
            return [result.value, type(await anext(events)).__name__]

    async def forever(_: Supervisor) -> None:
        began.set()
        await trio.sleep_forever()

    began = threading.Event()
    with ThreadPoolExecutor(1) as pool, open_blocking_host(TOOLBOX) as host:
        assert host.run(two) == [8, "ExecutionAdmitted"]
        waiting = pool.submit(host.run, forever)
        assert began.wait(PATIENCE)
    with pytest.raises(AdmissionClosed, match="closed before this ended"):
        waiting.result(PATIENCE)


@requirement("portal.native")
def test_the_call_of_a_trio_function_is_refused_with_what_to_give() -> None:
    async def later() -> None:
        raise AssertionError("it ran")

    with open_blocking_host(TOOLBOX) as host:
        called = later()
        with pytest.raises(TypeError, match=r"give the async function itself, not its call: run\(later\)"):
            host.run(called)  # type: ignore[arg-type]  # the point of the test
        assert inspect.getcoroutinestate(called) == inspect.CORO_CLOSED


@requirement("portal.timeouts")
def test_a_bounded_wait_ends_and_the_execution_goes_on() -> None:
    trace = Trace()
    with open_blocking_host(sleepers(trace)) as host:
        execution = host.start(ToolCall("sleep"))
        assert trace.running.wait(PATIENCE)
        for wait in (execution.result, execution.settled, host.wait_idle):
            with pytest.raises(TimeoutError, match=r"not over after 0\.01 s"):
                wait(timeout=0.01)
        assert trace.said == ["began"]
        assert host.execute(ToolCall("sleep"), timeout=0.01).error is not None  # the tool's time, not the thread's
        execution.abort()
        assert execution.result(timeout=PATIENCE).outcome == "error"


@requirement("portal.interrupted")
def test_ctrl_c_in_a_waiting_thread_aborts_its_call_only() -> None:
    trace = Trace()
    with open_blocking_host(sleepers(trace, then=interrupt_main)) as host:
        other = host.start(ToolCall("nap", {"seconds": 0.05}))
        with ctrl_c_raises(), pytest.raises(KeyboardInterrupt):
            host.execute(ToolCall("sleep"))
        assert trace.said == ["began", "cleaned up"]
        [shot] = host.inspect(tool_name="sleep")
        assert shot.abort is not None
        assert shot.abort.source == "caller"
        assert host.execute(SUM).value == 8
        assert other.result().value == "rested"


@requirement("portal.interrupted")
def test_ctrl_c_while_waiting_for_a_handle_leaves_it_running() -> None:
    trace = Trace()
    with open_blocking_host(sleepers(trace)) as host:
        execution = host.start(ToolCall("sleep"))

        async def interrupt(_: Supervisor) -> None:
            interrupt_main()

        assert trace.running.wait(PATIENCE)
        with ThreadPoolExecutor(1) as pool, ctrl_c_raises(), pytest.raises(KeyboardInterrupt):
            _both(lambda: pool.submit(host.run, interrupt), execution.result)
        assert execution.snapshot.state == "active"
        execution.abort()


@requirement("portal.interrupted")
def test_ctrl_c_while_a_call_begins_aborts_what_nobody_holds() -> None:
    trace = Trace()
    held, go = threading.Event(), threading.Event()

    @tool(placement="task")
    def hold() -> None:
        """Hold up the thread of the host."""
        held.set()
        go.wait(PATIENCE)

    def interrupt_and_go() -> None:
        interrupt_main()
        go.set()

    with open_blocking_host(sleepers(trace).extend(hold)) as host, ThreadPoolExecutor(2) as pool:
        pool.submit(host.execute, ToolCall("hold"))
        assert held.wait(PATIENCE)
        with ctrl_c_raises(), pytest.raises(KeyboardInterrupt):
            _both(lambda: pool.submit(interrupt_and_go), lambda: host.start(ToolCall("sleep")))
        for shot in host.inspect(tool_name="sleep"):  # it came in before or after the interrupt
            assert shot.abort is not None
        host.wait_idle(timeout=PATIENCE)


@requirement("portal.context")
def test_context_variables_reach_the_tool_and_come_back_unchanged() -> None:
    with open_blocking_host(TOOLBOX) as host:
        CITY.set("Oslo")
        for name in ("where", "where_async"):
            assert host.execute(ToolCall(name)).value == "Oslo"
            assert host.start(ToolCall(name)).result().value == "Oslo"
        assert CITY.get() == "Oslo"


@requirement("portal.context")
def test_what_a_tool_in_a_thread_calls_through_the_host_is_nested() -> None:
    hosts: list[BlockingHost] = []

    @tool(effect="read-only")
    def outer() -> object:
        """Call another tool through the host."""
        return hosts[0].execute(SUM).value

    @tool(effect="read-only")
    def deadly() -> str:
        """Wait for itself to end."""
        with pytest.raises(ShutdownFromInside):
            hosts[0].shutdown()
        return "refused"

    with open_blocking_host(TOOLBOX.extend(outer, deadly)) as host:
        hosts.append(host)
        assert host.execute(ToolCall("outer")).value == 8
        parent, child = host.inspect()
        assert child.parent_id == parent.execution_id
        assert host.execute(ToolCall("deadly")).value == "refused"


@requirement("portal.stream")
def test_chunks_are_read_with_for() -> None:
    with open_blocking_host(TOOLBOX) as host:
        with host.stream(ToolCall("count", {"upto": 150})) as stream:
            with pytest.raises(RuntimeError, match="not decided yet"):
                _ = stream.result
            assert list(stream) == list(range(150))
            assert stream.result.value == list(range(150))
        with host.stream(ToolCall("count", {"upto": 9, "pause": 60})) as stream:
            assert next(stream) == 0
        error = stream.result.error
        assert error is not None
        assert error.message == "the reader left the stream"
        assert stream.execution.settled().abort is not None


@requirement("portal.stream")
def test_a_reader_gets_the_rest_when_the_host_closes() -> None:
    entered, closing = threading.Event(), threading.Event()

    def read(host: BlockingHost) -> list[object]:
        with host.stream(ToolCall("count", {"upto": 20})) as stream:
            while stream.execution.snapshot.chunks < 20:
                pass
            entered.set()
            assert closing.wait(PATIENCE)
            return list(stream)

    with ThreadPoolExecutor(1) as pool:
        with open_blocking_host(TOOLBOX) as host:
            reading = pool.submit(read, host)
            assert entered.wait(PATIENCE)
        closing.set()
        assert reading.result(PATIENCE) == list(range(20))


@requirement("portal.stream")
def test_a_step_that_is_interrupted_loses_nothing() -> None:
    go = threading.Event()

    @tool(effect="read-only")
    async def beat() -> AsyncIterator[str]:
        """Interrupt the reader between two chunks."""
        yield "first"
        await trio.to_thread.run_sync(go.wait, PATIENCE)
        interrupt_main()
        yield "second"
        yield "third"

    with open_blocking_host(Toolbox([beat])) as host, host.stream(ToolCall("beat")) as stream, ctrl_c_raises():
        read: list[object] = [next(stream)]
        with pytest.raises(KeyboardInterrupt):
            _both(go.set, lambda: read.extend(stream))
        read.extend(stream)
        assert read == ["first", "second", "third"]


@requirement("portal.leave")
def test_leaving_normally_drains_and_by_an_exception_aborts() -> None:
    with open_blocking_host(TOOLBOX) as host:
        execution = host.start(ToolCall("nap", {"seconds": 0.02}))
    assert host.report is not None
    assert (host.report.mode, host.report.ended) == ("drain", 1)
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("armory_trio")] == []

    trace = Trace()
    problem = LookupError("mine")
    hosts: list[BlockingHost] = []

    def fail() -> None:
        with open_blocking_host(sleepers(trace)) as failing:
            hosts.append(failing)
            failing.start(ToolCall("sleep"))
            assert trace.running.wait(PATIENCE)
            raise problem

    with pytest.raises(LookupError) as caught:
        fail()
    [host] = hosts
    assert caught.value is problem
    assert trace.said == ["began", "cleaned up"]
    assert host.report is not None
    assert host.report.mode == "abort"
    assert execution.result().value == "rested"
    assert execution.settled().state == execution.snapshot.state == "terminal"
    assert execution.abort() == "already-ended"


@requirement("portal.leave")
def test_ctrl_c_while_it_drains_aborts() -> None:
    trace = Trace()
    interrupted = threading.Event()

    @tool
    async def drain() -> str:
        """Interrupt the main thread once the host drains."""
        async with supervisors[0].events(AdmissionWasClosed) as events:
            watching.set()
            await anext(events)
        interrupt_main()
        interrupted.set()
        return "done"

    async def lend(supervisor: Supervisor) -> None:
        supervisors.append(supervisor)

    def leave() -> None:
        with open_blocking_host(sleepers(trace).extend(drain)) as leaving:
            hosts.append(leaving)
            leaving.run(lend)
            leaving.start(ToolCall("sleep"))
            leaving.start(ToolCall("drain"))
            assert watching.wait(PATIENCE)

    hosts: list[BlockingHost] = []
    supervisors: list[Supervisor] = []
    watching = threading.Event()
    with ctrl_c_raises(), pytest.raises(KeyboardInterrupt):
        leave()
    [host] = hosts
    assert interrupted.is_set()
    assert trace.said == ["began", "cleaned up"]
    assert host.report is not None
    assert host.report.mode == "abort"


@requirement("portal.leave")
def test_a_shutdown_tells_and_closes() -> None:
    trace = Trace()
    with open_blocking_host(sleepers(trace)) as host:
        host.start(ToolCall("sleep"))
        assert trace.running.wait(PATIENCE)
        report = host.shutdown("drain", drain_for=0.01)
        assert (report.mode, report.ended) == ("abort", 1)
        with pytest.raises(AdmissionClosed, match="asked to drain"):
            host.execute(SUM)
    with open_blocking_host(TOOLBOX) as host:
        host.close_admission("enough")
        with pytest.raises(AdmissionClosed, match="enough"):
            host.start(SUM)


@requirement("portal.closed")
def test_after_the_end_everything_says_so() -> None:
    with open_blocking_host(TOOLBOX) as host:
        pass
    for late in (lambda: host.execute(SUM), lambda: host.start(SUM), host.stream(SUM).__enter__):
        with pytest.raises(AdmissionClosed, match=r"the host is closed|takes no new work"):
            late()
    with pytest.raises(AdmissionClosed):
        host.wait_idle()
    assert host.inspect() == []
    assert host.closed
    with pytest.raises(DefinitionError, match="cleanup_timeout"), open_blocking_host(TOOLBOX, cleanup_timeout=-1):
        pytest.fail("it opened")


@requirement("portal.closed")
def test_a_thread_that_inherits_the_number_of_the_hosts_thread_is_not_taken_for_it() -> None:
    numbers: list[int] = []
    with open_blocking_host(TOOLBOX) as host:
        numbers.append(host.call(lambda _: threading.get_ident()))
    said: list[object] = []

    def look() -> None:
        numbers.append(threading.get_ident())
        said.append(host.inspect())

    for _ in range(20):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        if numbers[0] in numbers[1:]:
            break
    assert said == [[]] * (len(numbers) - 1)


@requirement("portal.closed")
def test_trios_own_thread_is_refused_instead_of_waiting_for_itself() -> None:
    hosts: list[BlockingHost] = []

    @tool(effect="read-only")
    async def inside() -> str:
        """Block where everything would stand still."""
        with pytest.raises(RuntimeError, match="would wait for itself"):
            hosts[0].execute(SUM)
        return "refused"

    with open_blocking_host(TOOLBOX.extend(inside)) as host:
        hosts.append(host)
        assert host.execute(ToolCall("inside")).value == "refused"


@requirement("portal.loop")
def test_a_thread_that_runs_an_asyncio_loop_is_sent_to_the_host_for_it() -> None:
    async def main() -> object:
        with (
            pytest.raises(RuntimeError, match=r"an asyncio loop runs in this thread.*open_asyncio_host"),
            open_blocking_host(TOOLBOX),
        ):
            raise AssertionError("it was opened")
        return await asyncio.to_thread(from_beside)

    def from_beside() -> object:
        with open_blocking_host(TOOLBOX) as host:
            return host.execute(SUM).value

    assert asyncio.run(main()) == 8
    assert from_beside() == 8


@requirement("portal.fall")
def test_an_interrupt_in_a_tool_is_raised_when_the_block_is_left() -> None:
    @tool
    async def interrupt() -> None:
        """As if Ctrl-C had come in here."""
        raise KeyboardInterrupt("in a tool")

    trace = Trace()
    hosts: list[BlockingHost] = []

    def fall() -> None:
        with open_blocking_host(sleepers(trace).extend(interrupt)) as falling:
            hosts.append(falling)
            sleeping = falling.start(ToolCall("sleep"))
            assert trace.running.wait(PATIENCE)
            falling.start(ToolCall("interrupt"))
            assert sleeping.result().outcome == "error"

    with pytest.raises(KeyboardInterrupt, match="in a tool"):
        fall()
    assert trace.said == ["began", "cleaned up"]
    assert hosts[0].report is not None


# ── Whole programs ───────────────────────────────────────────────────────────────────────────────────────────────────

PROGRAM: Final = """
import sys, threading
import trio
from armory_trio import Toolbox, ToolCall, tool
from armory_trio.integrations.portal import open_blocking_host

running = threading.Event()

@tool
async def sleep() -> None:
    "Sleep until stopped."
    print("began", flush=True)
    running.set()
    try:
        await trio.sleep_forever()
    finally:
        print("cleaned up", flush=True)

@tool
def block() -> None:
    "Hold a thread for ever."
    threading.Event().wait()

opening = open_blocking_host(Toolbox([sleep, block]), cleanup_timeout=0.1)
"""


@requirement("hosts.exit")
@pytest.mark.parametrize(
    ("rest", "said", "status"),
    [
        pytest.param(
            "host = opening.__enter__(); host.start(ToolCall('sleep')); running.wait(); print('the end', flush=True)",
            ["began", "the end", "cleaned up"],
            0,
            id="forgotten",
        ),
        pytest.param(
            "host = opening.__enter__(); host.start(ToolCall('block')); host.start(ToolCall('sleep')); running.wait()",
            ["began", "cleaned up"],
            0,
            id="forgotten, with a stuck thread",
        ),
        pytest.param(
            "with opening as host:\n    host.start(ToolCall('sleep')); running.wait(); sys.exit(7)",
            ["began", "cleaned up"],
            7,
            id="exit in the block",
        ),
    ],
)
def test_a_program_that_exits_with_an_open_host_stops_what_runs(
    tmp_path: Path, rest: str, said: list[str], status: int
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{PROGRAM}\n{rest}\n", encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ended.stdout.split("\n")[:-1] == said, ended.stderr
    assert (ended.returncode, ended.stderr) == (status, "")


FORKED: Final = """
import os, warnings

warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads is forked

def told(function):
    try:
        function()
    except RuntimeError as exc:
        print(str(exc).split(":")[0], flush=True)

def ends(child):
    print("forked:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

with opening as host:
    execution = host.start(ToolCall("sleep"))
    running.wait()
    running.clear()
    with host.stream(ToolCall("sleep")):
        running.wait()
        child = os.fork()
        if not child:
            USE
            sys.exit(7)
        ends(child)
    print(execution.snapshot.state, flush=True)
    execution.abort()
print("left", flush=True)
"""


@requirement("hosts.forked")
@pytest.mark.parametrize(
    "use",
    [
        "pass",
        "told(lambda: host.execute(ToolCall('sleep')))",
        "told(execution.result)",
        "told(lambda: execution.snapshot)",
        "told(lambda: execution.abort())",
        "told(lambda: host.shutdown('abort'))",
        "told(lambda: host.stream(ToolCall('sleep')).__enter__())",
        "told(lambda: host.serve_live_view().__enter__())",
    ],
)
def test_a_process_that_is_forked_with_an_open_host_has_none(tmp_path: Path, use: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + FORKED.replace("USE", use), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )

    said = [] if use == "pass" else ["this process was forked while the host was open, and the host is not in it"]
    assert [line for line in ended.stdout.split("\n")[:-1] if line not in ("began", "cleaned up")] == [
        *said,
        "forked: 7",
        "active",
        "left",
    ], ended.stderr
    assert (ended.returncode, ended.stderr) == (0, "")
