"""Hosts that are not trio's, looked at as any other: a live view over a real socket, log lines and spans, in one line each."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, cast

import pytest
import trio
import uvloop
from structlog.testing import capture_logs

from armory_trio import AdmissionClosed, AdmissionWasClosed, Supervisor, Toolbox, ToolCall, tool
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from armory_trio.integrations.portal import open_blocking_host
from armory_trio.observability import live
from armory_trio.observability.live import LiveServer, LiveView, LiveViewError, running_hosts
from armory_trio.observability.logs import log_executions
from armory_trio.observability.otel import instrument
from tests.cli.commands import BOUND, ROOT
from tests.integrations.loops import TOOLBOX, Run, Trace, on_each_loop, pending_futures, sleepers
from tests.integrations.test_portal_interrupts import each_place
from tests.observability.exporting import Exported
from tests.requirements import requirement

NAP: Final = ToolCall("nap", {"seconds": 60.0})
SUM: Final = ToolCall("add", {"a": 5, "b": 3})


@pytest.fixture
def socket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path for a socket, below a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="at-") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", made)
        yield Path(made) / "s"


def top(socket: Path) -> dict[str, object]:
    """What ``armory-trio top --once --json`` prints of the host at *socket*."""
    command = [sys.executable, "-m", "armory_trio", "top", "--once", "--json", "--socket", str(socket)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, capture_output=True, env=environment, timeout=BOUND, check=True)
    return cast("dict[str, object]", json.loads(ended.stdout))


def is_there(socket: Path) -> bool:
    """Whether anything is at its path."""
    return os.path.lexists(socket)


def mode_of(socket: Path) -> int:
    """Who may do what with it."""
    return stat.S_IMODE(socket.stat().st_mode)


def states(frame: dict[str, object]) -> list[tuple[object, object]]:
    """Of each execution in a frame its tool and its state."""
    executions = cast("list[dict[str, object]]", frame["executions"])
    return [(each["tool_name"], each["state"]) for each in executions]


def abort(socket: Path, execution_id: str) -> str:
    """Abort an execution as a viewer does, on a trio of its own. Returns the answer."""

    async def ask() -> str:
        with trio.fail_after(BOUND):
            async with LiveView.connect(socket) as view:
                return await view.abort(execution_id, "a viewer wants it")

    return trio.run(ask)


# -- asyncio


@requirement("asyncio.looked-at", "cli.top.once", "live.abort")
@on_each_loop
def test_an_asyncio_program_is_looked_at_and_a_call_of_it_aborted(run: Run, socket: Path) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host, host.serve_live_view(path=socket, name="mine") as server:
            execution = host.start(NAP, owner_id="run-7")
            assert server.path == str(socket)
            assert mode_of(socket) == 0o600
            frame = await asyncio.to_thread(top, socket)
            assert (cast("dict[str, object]", frame["host"])["name"], states(frame)) == ("mine", [("nap", "active")])
            assert await asyncio.to_thread(abort, socket, execution.id) == "requested"
            result = await execution.result()
            assert result.error is not None
            assert (result.error.code, result.error.message) == ("CANCELLED", "a viewer wants it")
            assert (await host.execute(SUM)).value == 8
        assert not is_there(socket)
        assert pending_futures() == []

    run(main)


@requirement("asyncio.looked-at")
@on_each_loop
def test_without_a_path_the_host_is_found_by_its_name(run: Run, socket: Path) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            async with host.serve_live_view(name="found"):
                assert [(each.name, each.pid) for each in running_hosts()] == [("found", os.getpid())]
            assert running_hosts() == []

    run(main)


@requirement("asyncio.looked-at")
@on_each_loop
def test_a_view_that_cannot_be_served_says_why_and_the_host_lives(run: Run, socket: Path) -> None:
    socket.write_text("something else")

    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            with pytest.raises(LiveViewError, match="there is something else that is no socket"):
                async with host.serve_live_view(path=socket):
                    pytest.fail("it is served")
            assert (await host.execute(SUM)).value == 8
        with pytest.raises(AdmissionClosed):
            async with host.serve_live_view(path=socket):
                pytest.fail("it is served")

    run(main)
    assert socket.read_text() == "something else"


@requirement("asyncio.looked-at")
@on_each_loop
def test_a_drain_is_seen_from_within_the_block(run: Run, socket: Path) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host, host.serve_live_view(path=socket):
            host.start(ToolCall("sleep"))
            await trace.running.wait()
            async with host.events(AdmissionWasClosed) as events:
                ending = asyncio.create_task(host.shutdown("drain", drain_for=60))
                await anext(events)
            frame = await asyncio.to_thread(top, socket)
            assert cast("dict[str, object]", frame["host"])["admission"] == "closed"
            await host.shutdown("abort")
            await ending
            frame = await asyncio.to_thread(top, socket)
            assert cast("dict[str, object]", frame["host"])["admission"] == "ended"

    run(main)


@requirement("asyncio.looked-at")
@pytest.mark.parametrize("way", ["an exception", "cancelled", "the host falls"])
@on_each_loop
def test_however_the_block_is_left_the_socket_is_gone_and_nothing_pending(run: Run, way: str, socket: Path) -> None:
    @tool
    async def interrupt() -> None:
        raise KeyboardInterrupt

    async def look(there: asyncio.Event) -> None:
        async with open_asyncio_host(Toolbox([interrupt])) as host, host.serve_live_view(path=socket):
            there.set()
            if way == "an exception":
                raise LookupError
            if way == "the host falls":
                host.start(ToolCall("interrupt"))
            await asyncio.Event().wait()

    async def main() -> None:
        there = asyncio.Event()
        looking = asyncio.create_task(ended_with(look(there)))
        await there.wait()
        if way == "cancelled":
            looking.cancel()
        wanted = {"an exception": LookupError, "cancelled": asyncio.CancelledError, "the host falls": KeyboardInterrupt}
        assert isinstance(await looking, wanted[way])
        assert not is_there(socket)
        del looking
        assert pending_futures() == []

    run(main)


async def ended_with(looking: Coroutine[object, object, None]) -> BaseException | None:
    """What *looking* raises."""
    try:
        await looking
    except BaseException as exc:  # noqa: ASYNC103, BLE001  # for the test
        return exc  # noqa: ASYNC104  # as said
    return None


@requirement("asyncio.looked-at")
@on_each_loop
def test_serving_that_is_cancelled_at_each_step_leaves_nothing(run: Run, socket: Path) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            served: list[LiveServer] = []

            async def serve() -> None:
                async with host.serve_live_view(path=socket) as server:
                    served.append(server)
                    await asyncio.Event().wait()

            rounds = 0
            while not served:
                serving = asyncio.create_task(serve())
                for _ in range(rounds):
                    await asyncio.sleep(0)
                serving.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await serving
                assert not is_there(socket)
                rounds += 1
            assert rounds > 2
            async with host.serve_live_view(path=socket):
                assert is_there(socket)

    run(main)


@requirement("asyncio.looked-at", "asyncio.lost-loop")
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_program_that_is_thrown_away_leaves_no_socket(
    new_loop: Callable[[], asyncio.AbstractEventLoop], socket: Path
) -> None:
    loop = new_loop()

    async def look() -> None:
        async with open_asyncio_host(TOOLBOX) as host, host.serve_live_view(path=socket):
            loop.call_soon(loop.stop)
            await asyncio.Event().wait()

    coroutine = look()
    task = loop.create_task(coroutine)
    loop.run_forever()
    loop.close()
    assert is_there(socket)
    coroutine.close()
    assert not is_there(socket)
    del task


@requirement("asyncio.looked-at")
@on_each_loop
def test_another_thread_is_not_let_in(run: Run, socket: Path) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            with pytest.raises(RuntimeError, match="belongs to the thread of its asyncio loop"):
                await asyncio.to_thread(host.serve_live_view, path=socket)

    run(main)


@requirement("asyncio.looked-at", "logs.lines", "telemetry.parents")
@on_each_loop
def test_an_asyncio_program_writes_lines_and_spans(run: Run) -> None:
    exported = Exported()

    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            log_executions(host.supervisor)
            instrument(host.supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
            with exported.tracer.start_as_current_span("a task of asyncio"):
                await host.execute(SUM)

    with capture_logs() as lines:
        run(main)

    assert [line["event"] for line in lines][-2:] == ["execution.settled", "supervisor.closed"]
    assert exported.parent_of("execute_tool add") == "a task of asyncio"
    assert sum(exported.points("armory.tool.calls").values()) == 1


# -- plain threads


@requirement("portal.looked-at", "cli.top.once", "live.abort")
def test_a_program_of_threads_is_looked_at_and_a_call_of_it_aborted(socket: Path) -> None:
    with open_blocking_host(TOOLBOX) as host:
        with host.serve_live_view(path=socket, name="mine") as server:
            execution = host.start(NAP)
            assert server.path == str(socket)
            frame = top(socket)
            assert (cast("dict[str, object]", frame["host"])["name"], states(frame)) == ("mine", [("nap", "active")])
            assert abort(socket, execution.id) == "requested"
            result = execution.result()
            assert result.error is not None
            assert (result.error.code, result.error.message) == ("CANCELLED", "a viewer wants it")
        assert not is_there(socket)
        socket.write_text("something else")
        with (
            pytest.raises(LiveViewError, match="there is something else that is no socket"),
            host.serve_live_view(path=socket),
        ):
            pytest.fail("it is served")
        assert host.execute(SUM).value == 8
    with pytest.raises(AdmissionClosed), host.serve_live_view(path=socket):
        pytest.fail("it is served")


@requirement("portal.looked-at")
@pytest.mark.parametrize("way", ["an exception", "the host is shut down", "forgotten"])
def test_however_a_thread_leaves_the_block_the_socket_is_gone(way: str, socket: Path) -> None:
    with open_blocking_host(TOOLBOX) as host:
        view = host.serve_live_view(path=socket)
        if way == "an exception":
            with pytest.raises(LookupError), view:
                raise LookupError
            assert not is_there(socket)
        elif way == "the host is shut down":
            with view:
                host.shutdown()
                assert cast("dict[str, object]", top(socket)["host"])["admission"] == "ended"
        else:
            view.__enter__()
    assert not is_there(socket)


@requirement("portal.looked-at", "portal.interrupted")
def test_a_thread_that_is_interrupted_anywhere_leaves_no_socket(socket: Path) -> None:
    with open_blocking_host(TOOLBOX) as host:

        def serve() -> None:
            with host.serve_live_view(path=socket):
                pass

        for place in each_place(serve):
            assert host.call(lambda _: is_there(socket)) is False, place
        assert host.execute(SUM).value == 8


@requirement("portal.looked-at", "logs.lines", "telemetry.threads")
def test_a_program_of_threads_writes_lines_and_spans(socket: Path) -> None:
    exported = Exported()
    with capture_logs() as lines, open_blocking_host(TOOLBOX) as host:
        stop = host.call(log_executions)
        host.call(lambda supervisor: instrument(supervisor, tracer_provider=exported.tracers))
        host.execute(SUM)
        host.call(lambda _: stop())
        host.execute(SUM)

    assert [line["event"] for line in lines].count("execution.settled") == 1
    assert len(exported.spans) == 2


@requirement("portal.looked-at")
def test_what_is_called_on_the_host_s_thread_raises_in_the_caller_s() -> None:
    def where(_: Supervisor) -> int:
        return threading.get_ident()

    def fail(_: Supervisor) -> None:
        raise LookupError

    with open_blocking_host(TOOLBOX) as host:
        assert host.call(where) != threading.get_ident()
        with pytest.raises(LookupError):
            host.call(fail)
        with pytest.raises(TypeError, match="is no async function"):
            host.call(None)  # type: ignore[arg-type]
    assert host.call(where) == threading.get_ident()


# -- what is held open


@requirement("asyncio.looked-at")
@on_each_loop
def test_what_goes_wrong_in_what_is_held_is_raised_where_it_is_left_and_harms_nobody(
    run: Run, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def breaks(*_: object, **__: object) -> AsyncGenerator[str]:
        yield "held"
        raise LookupError("in the end")

    monkeypatch.setattr(live, "serve_live_view", breaks)

    async def serve(host: AsyncioHost) -> None:
        async with host.serve_live_view(path=socket) as held:
            assert cast("object", held) == "held"
            assert (await host.execute(SUM)).value == 8

    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            failed = await ended_with(serve(host))
            assert (type(failed), str(failed)) == (LookupError, "in the end")
            assert (await host.execute(SUM)).value == 8

    run(main)
