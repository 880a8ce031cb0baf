"""How asyncio hosts begin and end, and what is left of them."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import trio
import uvloop

from armory_trio import InternalError, Toolbox, ToolCall, ToolResult, tool
from armory_trio.engine._timers import Timers
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from tests.integrations.loops import TOOLBOX, Run, Trace, add, on_each_loop, pending_futures, sleepers
from tests.requirements import requirement

ROOT: Final = Path(__file__).parents[2]
SUM: Final = ToolCall("add", {"a": 5, "b": 3})


class _Opened:
    """What a block that fails leaves to look at."""

    host: AsyncioHost
    calling: asyncio.Task[ToolResult[object]]


@requirement("asyncio.leave")
@on_each_loop
def test_leaving_normally_drains(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            execution = host.start(ToolCall("nap", {"seconds": 0.02}))
            calling = asyncio.create_task(host.execute(ToolCall("nap", {"seconds": 0.02})))
            await asyncio.sleep(0)
            assert not host.closed
        assert host.report is not None
        assert (host.report.mode, host.report.ended, host.report.exit_code) == ("drain", 2, 0)
        assert (await execution.result()).value == "rested"
        assert (await execution.settled()).state == "terminal"
        assert (await calling).value == "rested"

    run(main)


@requirement("asyncio.leave")
@on_each_loop
def test_leaving_by_an_exception_aborts_and_the_exception_leaves_as_it_is(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        problem = LookupError("mine")
        opened = _Opened()

        async def fail() -> None:
            async with open_asyncio_host(sleepers(trace)) as opened.host:
                opened.calling = asyncio.create_task(opened.host.execute(ToolCall("sleep")))
                await trace.running.wait()
                raise problem

        with pytest.raises(LookupError) as caught:
            await fail()
        assert caught.value is problem
        assert trace.said == ["began", "cleaned up"]
        assert opened.host.report is not None
        assert opened.host.report.mode == "abort"
        aborted = await opened.calling
        assert aborted.error is not None
        assert aborted.error.code == "CANCELLED"

    run(main)


@requirement("asyncio.leave")
@on_each_loop
def test_a_cancelled_block_aborts(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        hosts: list[AsyncioHost] = []

        async def serve() -> None:
            async with open_asyncio_host(sleepers(trace)) as host:
                hosts.append(host)
                host.start(ToolCall("sleep"))
                await asyncio.Event().wait()

        serving = asyncio.create_task(serve())
        await trace.running.wait()
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        assert trace.said == ["began", "cleaned up"]
        assert hosts[0].report is not None
        assert hosts[0].report.mode == "abort"

    run(main)


@requirement("asyncio.leave")
@on_each_loop
def test_a_shutdown_can_be_awaited_inside_of_the_block(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            host.start(ToolCall("sleep"))
            report = await host.shutdown("abort")
            assert (report.mode, report.ended) == ("abort", 1)
            await host.wait_idle()
            assert host.closed

    run(main)


@requirement("asyncio.nothing-pending")
@on_each_loop
def test_nothing_is_left_of_a_host(run: Run) -> None:
    async def use() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            await host.execute(ToolCall("where"))
            async with host.stream(ToolCall("count", {"upto": 3})) as stream, host.executions.subscribe() as updates:
                assert [chunk async for chunk in stream] == [0, 1, 2]
                await anext(updates)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(host.execute(ToolCall("sleep")), 0.01)
            asyncio.create_task(host.execute(ToolCall("block"))).cancel()
            host.start(ToolCall("nap", {"seconds": 0.01}))
            await asyncio.sleep(0)

    async def main() -> None:
        before = set(threading.enumerate())
        for _ in range(5):
            await use()
            assert pending_futures() == []
            assert asyncio.all_tasks() == {asyncio.current_task()}
        # Trio keeps its idle threads for a while: the helper, and one of a tool, which served all hosts in turn.
        left = [thread.name for thread in threading.enumerate() if thread not in before]
        assert [name for name in left if not name.startswith("Trio thread")] == []
        assert len(left) <= 2

    run(main)


@requirement("asyncio.fall")
@on_each_loop
def test_an_interrupted_tool_ends_the_block_with_the_interrupt(run: Run) -> None:
    @tool
    async def interrupt() -> None:
        """As if Ctrl-C had come in here."""
        raise KeyboardInterrupt("in a tool")

    async def main() -> None:
        trace = Trace()
        me = asyncio.current_task()
        assert me is not None
        opened = _Opened()

        async def fall() -> None:
            async with open_asyncio_host(sleepers(trace).extend(interrupt)) as opened.host:
                opened.calling = asyncio.create_task(opened.host.execute(ToolCall("sleep")))
                await trace.running.wait()
                opened.host.start(ToolCall("interrupt"))
                await asyncio.Event().wait()

        with pytest.raises(KeyboardInterrupt, match="in a tool"):
            await fall()
        assert me.cancelling() == 0
        await asyncio.sleep(0)  # no cancellation is left over
        assert trace.said == ["began", "cleaned up"]
        assert (await opened.calling).outcome == "error"
        assert opened.host.report is not None
        assert pending_futures() == []

        async with open_asyncio_host(TOOLBOX) as host:
            assert (await host.execute(SUM)).value == 8

    run(main)


@requirement("asyncio.fall")
@on_each_loop
def test_a_fall_wins_over_what_the_block_raises_and_leaves_no_cancellation(run: Run) -> None:
    @tool
    async def interrupt() -> None:
        """As if Ctrl-C had come in here."""
        raise KeyboardInterrupt

    async def main() -> None:
        me = asyncio.current_task()
        assert me is not None

        async def fall() -> None:
            async with open_asyncio_host(Toolbox([interrupt])) as host:
                host.start(ToolCall("interrupt"))
                with pytest.raises(asyncio.CancelledError):
                    await asyncio.Event().wait()
                raise LookupError("something else")

        with pytest.raises(KeyboardInterrupt):
            await fall()
        assert me.cancelling() == 0
        await asyncio.sleep(0)

    run(main)


@requirement("asyncio.fall")
@on_each_loop
def test_a_bug_of_the_engine_ends_the_block_with_an_internal_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace()

    async def crash(_: Timers) -> None:
        while not trace.said:  # noqa: ASYNC110  # a list tells nobody that it grew
            await trio.sleep(0.01)
        raise ZeroDivisionError

    monkeypatch.setattr(Timers, "run", crash)

    async def main() -> None:
        async def fall() -> None:
            async with open_asyncio_host(sleepers(trace)) as host:
                await host.execute(ToolCall("sleep"))
                await asyncio.Event().wait()

        with pytest.raises(InternalError):
            await fall()
        assert trace.said == ["began", "cleaned up"]
        assert pending_futures() == []

    run(main)


@requirement("asyncio.one-host")
@on_each_loop
def test_hosts_follow_each_other_but_two_at_once_in_a_thread_are_refused(run: Run) -> None:
    async def main() -> None:
        for _ in range(3):
            async with open_asyncio_host(TOOLBOX) as host:
                assert (await host.execute(SUM)).value == 8
        async with open_asyncio_host(TOOLBOX) as host:
            with pytest.raises(RuntimeError, match="only once: share the host"):
                async with open_asyncio_host(TOOLBOX):
                    pytest.fail("it opened")
            assert (await host.execute(SUM)).value == 8

    run(main)


@requirement("asyncio.one-host")
@on_each_loop
def test_loops_in_two_threads_have_a_host_each(run: Run) -> None:
    meeting = threading.Barrier(2)

    async def main() -> object:
        async with open_asyncio_host(TOOLBOX) as host:
            await asyncio.to_thread(meeting.wait, 30)
            return (await host.execute(SUM)).value

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(run(main))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [8, 8]


@requirement("asyncio.one-host")
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_loop_may_stand_still_while_its_host_is_open(new_loop: type[asyncio.AbstractEventLoop]) -> None:
    loop = new_loop()
    opening = open_asyncio_host(TOOLBOX)
    host = loop.run_until_complete(opening.__aenter__())
    execution = host.start(SUM)
    assert loop.run_until_complete(host.execute(SUM)).value == 8
    assert loop.run_until_complete(execution.result()).value == 8
    assert loop.run_until_complete(opening.__aexit__(None, None, None)) is False
    assert host.report is not None
    assert host.report.exit_code == 0
    loop.close()


@requirement("asyncio.one-host")
async def test_on_trio_it_says_what_to_use_instead() -> None:
    with pytest.raises(RuntimeError, match="on trio use open_supervisor"):
        async with open_asyncio_host(TOOLBOX):
            pytest.fail("it opened")


# ── A loop that goes first ───────────────────────────────────────────────────────────────────────────────────────────

LOOPS: Final = [asyncio.new_event_loop, uvloop.new_event_loop]


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []
        self.came = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())
        self.came.set()


@contextmanager
def listening() -> Generator[_Listener]:
    listener = _Listener()
    log = logging.getLogger("armory_trio.integrations")
    log.addHandler(listener)
    try:
        yield listener
    finally:
        log.removeHandler(listener)


class _Abandoned:
    """A program whose loop is stopped and closed while its host is open."""

    def __init__(self, loop: asyncio.AbstractEventLoop, toolbox: Toolbox, name: str) -> None:
        self.host: AsyncioHost | None = None
        self._loop = loop
        self.coroutine = self._main(toolbox, name)
        self.task = loop.create_task(self.coroutine)
        loop.run_forever()
        loop.close()

    async def _main(self, toolbox: Toolbox, name: str) -> None:
        async with open_asyncio_host(toolbox) as self.host:
            execution = self.host.start(ToolCall(name))
            async with self.host.executions.subscribe(execution_id=execution.id) as updates:
                while (await anext(updates)).state == "queued":
                    pass
            self._loop.call_soon(self._loop.stop)
            await asyncio.Event().wait()


def _opens_again() -> object:
    async def main() -> object:
        async with open_asyncio_host(TOOLBOX) as host:
            return (await host.execute(SUM)).value

    return asyncio.run(main())


@requirement("asyncio.lost-loop")
@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_host_whose_loop_is_closed_and_that_is_thrown_away_aborts_everything(
    new_loop: type[asyncio.AbstractEventLoop],
) -> None:
    said: list[str] = []

    @tool
    async def sleep() -> None:
        """Sleep until stopped, and clean up."""
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0.01)
            said.append("cleaned up")

    with listening() as listener:
        left = _Abandoned(new_loop(), Toolbox([sleep]), "sleep")
        left.coroutine.close()
    assert said == ["cleaned up"]
    assert left.host is not None
    assert left.host.report is not None
    assert (left.host.report.mode, left.host.report.unfinished) == ("abort", ())
    [told] = [line for line in listener.heard if "ended before the block of a host" in line]
    assert "(sleep: active)" in told
    assert _opens_again() == 8


@requirement("asyncio.lost-loop")
@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_loop_that_is_closed_under_a_host_is_noticed_when_trio_wants_its_turn(
    new_loop: type[asyncio.AbstractEventLoop],
) -> None:
    @tool
    async def doze() -> None:
        """Wake up on trio's clock, also when the loop is gone."""
        for _ in range(10_000):
            await trio.sleep(0.05)

    with listening() as listener:
        left = _Abandoned(new_loop(), Toolbox([doze]), "doze")
        assert listener.came.wait(30)
        assert "the asyncio loop was closed while a host was open in it" in listener.heard[0]
        assert "(doze: active)" in listener.heard[0]
        del left.task
        left.coroutine.close()
    assert left.host is not None
    assert left.host.report is not None
    assert left.host.active == 0
    assert _opens_again() == 8


@requirement("asyncio.lost-loop")
def test_a_host_that_is_collected_with_its_loop_lets_its_thread_open_another() -> None:
    with listening() as listener:
        left = _Abandoned(asyncio.new_event_loop(), Toolbox([add, *sleepers(Trace()).tools]), "sleep")
        del left
        gc.collect()
        assert listener.came.is_set()
    assert _opens_again() == 8


# ── Whole programs ───────────────────────────────────────────────────────────────────────────────────────────────────


def _run_program(text: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "program.py"
    program.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


PROGRAM: Final = """
import asyncio, os, signal, sys
import trio
from armory_trio import Toolbox, ToolCall, tool
from armory_trio.integrations.asyncio_host import open_asyncio_host

@tool
async def sleep() -> None:
    "Sleep until stopped."
    print("began", flush=True)
    try:
        await trio.sleep_forever()
    finally:
        print("cleaned up", flush=True)

@tool
def block() -> None:
    "Hold a thread for ever."
    import threading
    threading.Event().wait()

async def main(then):
    async with open_asyncio_host(Toolbox([sleep, block]), cleanup_timeout=0.1) as host:
        execution = host.start(ToolCall("sleep"))
        while execution.snapshot.state == "queued":
            await asyncio.sleep(0)
        await then(host)
    print(host.report.mode, flush=True)
"""


@requirement("asyncio.signals")
def test_ctrl_c_cancels_the_program_and_so_aborts_what_runs(tmp_path: Path) -> None:
    ended = _run_program(
        PROGRAM
        + """
async def interrupt(host):
    os.kill(os.getpid(), signal.SIGINT)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        print("cancelled", flush=True)
        raise

try:
    asyncio.run(main(interrupt))
except KeyboardInterrupt:
    print("interrupted", flush=True)
""",
        tmp_path,
    )
    assert ended.stdout.split("\n")[:-1] == ["began", "cancelled", "cleaned up", "interrupted"], ended.stderr
    assert (ended.returncode, ended.stderr) == (0, "")


@requirement("hosts.exit")
@pytest.mark.parametrize(
    ("then", "said"),
    [
        pytest.param("sys.exit(7)", ["began", "cleaned up"], id="exit in the block"),
        pytest.param("host.start(ToolCall('block')); sys.exit(7)", ["began", "cleaned up"], id="with a stuck thread"),
    ],
)
def test_a_program_that_exits_inside_of_the_block_stops_what_runs(tmp_path: Path, then: str, said: list[str]) -> None:
    ended = _run_program(f"{PROGRAM}\nasync def leave(host):\n    {then}\nasyncio.run(main(leave))\n", tmp_path)

    assert ended.stdout.split("\n")[:-1] == said, ended.stderr
    assert (ended.returncode, ended.stderr) == (7, "")


@requirement("hosts.exit")
@pytest.mark.parametrize("close", ["loop.close()", ""])
def test_a_program_that_forgets_an_open_host_exits_all_the_same(tmp_path: Path, close: str) -> None:
    ended = _run_program(
        f"""{PROGRAM}
async def stay(host):
    loop.call_soon(loop.stop)
    await asyncio.Event().wait()

loop = asyncio.new_event_loop()
task = loop.create_task(main(stay))
loop.run_forever()
{close}
print("the end", flush=True)
""",
        tmp_path,
    )
    assert ended.stdout.split("\n")[:2] == ["began", "the end"], ended.stderr
    assert ended.returncode == 0


@requirement("hosts.forked")
@pytest.mark.parametrize(
    "uses", ["told(host.execute(ToolCall('sleep')))", "told(host.wait_idle())", "asyncio.sleep(0)"]
)
@pytest.mark.parametrize("run", ["asyncio.run", "uvloop.run"])
def test_a_process_that_is_forked_with_an_open_host_has_none(tmp_path: Path, uses: str, run: str) -> None:
    ended = _run_program(
        f"""{PROGRAM}
import uvloop, warnings

warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads is forked

async def told(doing):
    try:
        await doing
    except RuntimeError as exc:
        print(str(exc).split(":")[0], flush=True)

async def forks():
    async with open_asyncio_host(Toolbox([sleep])) as host, host.stream(ToolCall("sleep")) as stream:
        while stream.execution.snapshot.state == "queued":
            await asyncio.sleep(0)
        child = os.fork()
        if not child:
            await {uses}
        else:
            print("forked:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    if not child:
        print("left", flush=True)
        os._exit(7)  # the loop belongs to both: asyncio can't close one of them
    print(host.report.mode, flush=True)

{run}(forks())
""",
        tmp_path,
    )
    said = ["this process was forked while the host was open, and the host is not in it"] if "told" in uses else []
    assert ended.stdout.split("\n")[:-1] == ["began", *said, "left", "forked: 7", "cleaned up", "drain"], ended.stderr
    assert (ended.returncode, ended.stderr) == (0, "")


@requirement("asyncio.fall")
@pytest.mark.parametrize("run", ["asyncio.run", "uvloop.run"])
def test_a_run_that_is_torn_within_trio_leaves_nobody_waiting(tmp_path: Path, run: str) -> None:
    """As when a second Ctrl-C comes while trio's own code runs: its tasks are not ended, they are just no more."""
    ended = _run_program(
        f"""{PROGRAM}
import gc, uvloop

class Torn:
    def send(self, _):
        raise trio.TrioInternalError("an interrupt")

async def chunks(host):
    async with host.stream(ToolCall("sleep")) as stream:
        async for _ in stream:
            pass

async def steadfast(host):
    while True:
        try:
            await host.wait_idle()
        except asyncio.CancelledError:
            pass

async def tear(host):
    execution = host.start(ToolCall("sleep"))
    waiting = [host.execute(ToolCall("sleep")), execution.result(), chunks(host), host.wait_idle(), steadfast(host)]
    tasks = [asyncio.create_task(each) for each in [*waiting, host.run(trio.sleep_forever), host.shutdown()]]
    await asyncio.sleep(0.2)
    tasks[0].cancel()
    [state] = [each for each in gc.get_objects() if type(each).__name__ == "GuestState"]
    torn.append((host, tasks, state.unrolled_run_gen))  # kept, so that it is not ended behind our back
    state.unrolled_run_gen = Torn()
    host.run(trio.sleep_forever).send(None)
    await asyncio.Event().wait()

torn = []

async def told():
    try:
        await main(tear)
    except trio.TrioInternalError:
        print("fell", flush=True)
    [(host, tasks, _)] = torn
    try:
        host.start(ToolCall("sleep"))
    except Exception as exc:
        print(type(exc).__name__, flush=True)
    told = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
    print(*sorted({{type(each).__name__ for each in told}}), flush=True)
    print(host.closed, host.report.torn, host.report.lines()[0], flush=True)
    os._exit(0)

{run}(told())
""",
        tmp_path,
    )
    assert [line for line in ended.stdout.split("\n")[:-1] if line != "began"] == [
        "fell",
        "AdmissionClosed",
        "AdmissionClosed CancelledError",  # also of a stream: it must not look as if it had been read to its end
        "True True torn: trio's own run broke off; what was at work was not ended, and nobody knows what it did",
    ], ended.stderr
