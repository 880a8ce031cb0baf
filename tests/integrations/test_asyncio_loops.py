"""A host belongs to one loop: what another loop, a closed one, trio's side and an eager one make of it."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import pytest
import sniffio
import trio
import uvloop

from armory_trio import ApprovalPolicy, ElicitAccepted, Toolbox, ToolCall, ToolContext, tool
from armory_trio.definitions import ElicitRequest
from armory_trio.errors import AdmissionClosed
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from tests.integrations.loops import TOOLBOX, Run, Trace, on_each_loop, pending_futures, sleepers
from tests.requirements import requirement

NewLoop = Callable[[], asyncio.AbstractEventLoop]
Block = AbstractAsyncContextManager[object, bool | None]

SUM: Final = ToolCall("add", {"a": 5, "b": 3})
COUNT: Final = ToolCall("count", {"upto": 3})
on_loops: Final = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])


async def wait(awaited: Awaitable[object]) -> object:
    """Wait in a coroutine of our own, and not for ever."""
    async with asyncio.timeout(20):
        return await awaited


def waits(host: AsyncioHost, socket: Path) -> dict[str, Callable[[], Awaitable[object]]]:
    """Each way to wait for something of *host*."""

    async def enter(block: Block) -> None:
        async with block:
            pass

    return {
        "execute": lambda: host.execute(SUM),
        "batch": lambda: host.execute_batch([SUM]),
        "run": lambda: host.run(trio.lowlevel.checkpoint),
        "idle": host.wait_idle,
        "shutdown": host.shutdown,
        "grants": host.list_grants,
        "stream": lambda: enter(host.stream(COUNT)),
        "events": lambda: enter(host.events()),
        "updates": lambda: enter(host.executions.subscribe()),
        "view": lambda: enter(host.serve_live_view(path=socket)),
    }


class Elsewhere:
    """A host that was opened in a loop which does not run now, and a loop that does.

    Args:
        new_loop: Makes the loops.
        toolbox: That of the host.
    """

    def __init__(self, new_loop: NewLoop, toolbox: Toolbox) -> None:
        self.home, self.other = new_loop(), new_loop()
        self.block = open_asyncio_host(toolbox)
        self.host = self.home.run_until_complete(self.block.__aenter__())

    def refused(self, awaited: Callable[[], Awaitable[object]], match: str) -> None:
        with pytest.raises(RuntimeError, match=match):
            self.other.run_until_complete(wait(awaited()))


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop])
def elsewhere(request: pytest.FixtureRequest) -> Generator[Elsewhere]:
    """A host in each kind of loop. The test leaves it."""
    new_loop: NewLoop = request.param
    found = Elsewhere(new_loop, TOOLBOX)
    yield found
    found.home.close()
    found.other.close()


OTHER: Final = "belongs to the asyncio loop that it was opened in, and another one runs here"


@requirement("asyncio.own-loop")
def test_another_loop_is_refused_and_nothing_begins(elsewhere: Elsewhere, tmp_path: Path) -> None:
    host, home = elsewhere.host, elsewhere.home

    async def start() -> None:
        host.start(SUM)

    for awaited in (*waits(host, tmp_path / "socket").values(), start):
        elsewhere.refused(awaited, OTHER)
    assert host.executions.inspect() == []  # to look is harmless
    assert home.run_until_complete(host.execute(SUM)).value == 8
    assert home.run_until_complete(elsewhere.block.__aexit__(None, None, None)) is False
    assert host.report is not None
    assert host.report.ended == 1


@requirement("asyncio.own-loop")
def test_a_reader_in_another_loop_is_refused_and_loses_nothing(elsewhere: Elsewhere) -> None:
    host, home = elsewhere.host, elsewhere.home
    opened = host.stream(ToolCall("count", {"upto": 2, "pause": 0.01}))
    stream = home.run_until_complete(opened.__aenter__())
    assert home.run_until_complete(anext(stream)) == 0
    elsewhere.refused(lambda: anext(stream), OTHER)
    assert home.run_until_complete(anext(stream)) == 1
    home.run_until_complete(opened.__aexit__(None, None, None))
    home.run_until_complete(elsewhere.block.__aexit__(None, None, None))


@requirement("asyncio.own-loop")
@on_loops
@pytest.mark.parametrize("closed", [False, True])
def test_a_block_that_is_left_in_another_loop_aborts_everything_and_says_so(new_loop: NewLoop, *, closed: bool) -> None:
    trace = Trace()
    elsewhere = Elsewhere(new_loop, sleepers(trace))
    host = elsewhere.host
    execution = host.start(ToolCall("sleep"))
    elsewhere.home.run_until_complete(wait(trace.running.wait()))
    if closed:
        elsewhere.home.close()

    async def leave() -> object:
        return await elsewhere.block.__aexit__(None, None, None)

    elsewhere.refused(leave, "left outside of the asyncio loop that it was entered in; what ran was aborted")
    assert trace.said == ["began", "cleaned up"]
    assert execution.snapshot.state == "unknown-effect"
    assert host.report is not None
    assert host.report.mode == "abort"
    with pytest.raises(AdmissionClosed):
        host.start(SUM)
    elsewhere.home.close()
    elsewhere.other.close()


@requirement("asyncio.lost-loop")
@on_loops
def test_when_the_loop_was_closed_whoever_asks_for_something_is_told(new_loop: NewLoop, tmp_path: Path) -> None:
    trace = Trace()
    elsewhere = Elsewhere(new_loop, sleepers(trace))
    host = elsewhere.host
    execution = host.start(ToolCall("sleep"))
    elsewhere.home.run_until_complete(wait(trace.running.wait()))
    elsewhere.home.close()

    async def begin() -> None:
        host.start(SUM)

    lost = "was closed while it was open: nothing of it runs any more"
    ways = {
        **waits(host, tmp_path / "socket"),
        "start": begin,
        "result": execution.result,
        "settled": execution.settled,
    }
    for awaited in ways.values():
        elsewhere.refused(awaited, lost)
    for ask in (execution.abort, host.close_admission, lambda: host.abort("enough", tool_name="sleep")):
        with pytest.raises(RuntimeError, match=lost):
            ask()
    assert execution.snapshot.state == "active"
    with pytest.raises(RuntimeError, match="left outside"):
        elsewhere.other.run_until_complete(elsewhere.block.__aexit__(None, None, None))
    assert trace.said == ["began", "cleaned up"]
    elsewhere.other.close()


@requirement("asyncio.own-loop")
@on_each_loop
def test_trios_side_is_refused_and_nothing_begins(run: Run, tmp_path: Path) -> None:
    hosts: list[AsyncioHost] = []

    @tool(effect="read-only")
    async def wrong(name: str) -> str:
        """Wait for something of asyncio in a tool."""
        with pytest.raises(RuntimeError, match=r"trio's side of the host.*ctx\.call"):
            await waits(hosts[0], tmp_path / "socket")[name]()
        return "refused"

    async def main() -> None:
        async with open_asyncio_host(Toolbox([wrong, *TOOLBOX.tools])) as host:
            hosts.append(host)
            for name in waits(host, tmp_path / "socket"):
                assert (await host.execute(ToolCall("wrong", {"name": name}))).value == "refused"
                assert host.active == 0

    run(main)


@requirement("asyncio.own-loop")
@on_loops
def test_a_loop_that_is_stopped_in_the_middle_goes_on_where_it_was(new_loop: NewLoop) -> None:
    loop = new_loop()
    trace = Trace()

    async def main() -> str:
        async with open_asyncio_host(sleepers(trace)) as host:
            calling = asyncio.ensure_future(host.execute(ToolCall("sleep")))
            await trace.running.wait()
            loop.stop()
            await host.execute(ToolCall("nap", {"seconds": 0.01}))
            calling.cancel()
            await asyncio.wait([calling])
            return host.executions.inspect()[0].state

    task = loop.create_task(main())
    with pytest.raises(RuntimeError, match="stopped before"):
        loop.run_until_complete(task)
    assert loop.run_until_complete(task) == "unknown-effect"
    assert trace.said == ["began", "cleaned up"]
    loop.close()


# ── Blocks that are thrown away ──────────────────────────────────────────────────────────────────────────────────────


class _Driven:
    """Awaited, it runs a program in the task that awaits it, as far as that says."""

    def __init__(self, program: Coroutine[object, object, object], far_enough: list[bool]) -> None:
        self._program = program
        self._far_enough = far_enough

    def __await__(self) -> Generator[object]:
        while not self._far_enough:
            yield self._program.send(None)


@requirement("asyncio.thrown-away")
@on_each_loop
@pytest.mark.parametrize("name", ["stream", "events", "updates", "view"])
def test_a_block_that_is_thrown_away_is_left_without_a_word(run: Run, name: str, tmp_path: Path) -> None:
    """As by whoever closes a coroutine, or the garbage collector."""
    trace = Trace()
    socket = tmp_path / "socket"

    async def main() -> None:
        async with open_asyncio_host(sleepers(trace)) as host:
            blocks: dict[str, Callable[[], Block]] = {
                "stream": lambda: host.stream(ToolCall("sleep")),
                "events": host.events,
                "updates": host.executions.subscribe,
                "view": lambda: host.serve_live_view(path=socket),
            }
            entered: list[bool] = []

            async def use() -> None:
                async with blocks[name]():
                    entered.append(True)
                    await asyncio.sleep(0)

            program = use()
            await _Driven(program, entered)
            program.close()
            async with asyncio.timeout(20):
                await host.wait_idle()
            assert (await host.execute(SUM)).value == 8
        assert pending_futures() == [] or name == "view"

    run(main)
    assert trace.said in ([], ["began", "cleaned up"])


@requirement("asyncio.thrown-away")
@requirement("asyncio.lost-loop")
@on_loops
def test_a_nest_of_blocks_that_is_thrown_away_with_its_loop_ends_the_host(
    new_loop: NewLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trace = Trace()
    loop = new_loop()
    hosts: list[AsyncioHost] = []

    async def main() -> None:
        async with open_asyncio_host(sleepers(trace)) as host, host.serve_live_view(path=tmp_path / "socket"):
            hosts.append(host)
            async with host.events(), host.executions.subscribe(), host.stream(ToolCall("sleep")):
                await trace.running.wait()
                loop.stop()
                await asyncio.Event().wait()

    program = main()
    task = loop.create_task(program)
    loop.run_forever()
    loop.close()
    with caplog.at_level(logging.ERROR, "armory_trio.integrations"):
        program.close()
    assert "(sleep: streaming)" in caplog.text or "(sleep: active)" in caplog.text
    assert trace.said == ["began", "cleaned up"]
    assert hosts[0].report is not None
    assert hosts[0].report.unfinished == ()
    assert not task.done()
    del task
    gc.collect()


# ── Eager tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────


def take_first_step(
    loop: asyncio.AbstractEventLoop,
    program: Coroutine[object, object, object] | Generator[object, None, object],
    **options: object,
) -> asyncio.Future[object]:
    """A task factory that takes the first step at once, as the eager one of Python 3.12 does, of what then waits."""
    assert asyncio.iscoroutine(program)
    contextvars.copy_context().run(program.send, None)
    return asyncio.Task(program, loop=loop)


_OF_PYTHON: Final[object] = getattr(asyncio, "eager_task_factory", None)
EAGER: Final[list[object]] = [take_first_step] if _OF_PYTHON is None else [take_first_step, _OF_PYTHON]


@requirement("asyncio.eager")
@on_each_loop
@pytest.mark.parametrize("factory", EAGER)
def test_a_person_is_asked_by_a_task_of_the_loop_also_if_tasks_are_eager(run: Run, factory: object) -> None:
    """Trio's turn must be over, or libraries for both would take the task for one of trio's."""
    asked: list[tuple[str, bool]] = []

    def look(_: object) -> None:
        asked.append((sniffio.current_async_library(), trio.lowlevel.in_trio_task()))

    async def approve(request: object) -> bool:
        look(request)
        await asyncio.sleep(0)
        return True

    async def answer(request: ElicitRequest) -> ElicitAccepted:
        look(request)
        await asyncio.sleep(0)
        return ElicitAccepted({"name": "Ada"})

    @tool
    async def greet(ctx: ToolContext) -> str:
        """Greet somebody by name."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        said = await ctx.elicit("Your name?", schema=schema)
        assert isinstance(said, ElicitAccepted)
        assert said.content == {"name": "Ada"}
        return "hello Ada"

    async def main() -> None:
        toolbox = Toolbox([greet], approval_policy=ApprovalPolicy("always"))
        async with open_asyncio_host(toolbox, approval_handler=approve) as host:
            asyncio.get_running_loop().set_task_factory(factory)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # typed differently in each version
            try:
                result = await host.execute(ToolCall("greet"), elicit=answer)
            finally:
                asyncio.get_running_loop().set_task_factory(None)
            assert result.value == "hello Ada"

    run(main)
    assert asked == [("asyncio", False)] * 2


# ── Storms ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _storm(host: AsyncioHost, tasks: list[asyncio.Task[object]]) -> None:
    """Cancel each of *tasks* in each round of the loop until all are done."""
    while not all(task.done() for task in tasks):
        for task in tasks:
            task.cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await host.wait_idle()


@requirement("asyncio.cancel-repeated")
@on_each_loop
@pytest.mark.parametrize("debug", [False, True])
def test_a_storm_of_cancellations_leaves_nothing(run: Run, tmp_path: Path, *, debug: bool) -> None:
    trace = Trace()

    async def read(host: AsyncioHost) -> None:
        async with host.stream(ToolCall("sleep")) as stream:
            async for _ in stream:
                pass

    async def view(host: AsyncioHost, path: Path) -> None:
        async with host.serve_live_view(path=path):
            await asyncio.sleep(60)

    async def main() -> None:
        asyncio.get_running_loop().set_debug(debug)
        async with open_asyncio_host(sleepers(trace)) as host:
            for rounds in range(12):
                ways: list[Coroutine[object, object, object]] = [
                    *(host.execute(ToolCall("sleep")) for _ in range(20)),
                    host.execute_batch([ToolCall("sleep")] * 5),
                    host.run(trio.sleep_forever),
                    view(host, tmp_path / "socket"),
                    *(read(host) for _ in range(5)),
                ]
                tasks = [asyncio.create_task(way) for way in ways]
                for _ in range(rounds):
                    await asyncio.sleep(0)
                await _storm(host, tasks)
                assert all(task.cancelled() for task in tasks)
            assert (await host.execute(SUM)).value == 8
        assert pending_futures() == []

    run(main)
    assert trace.said.count("began") == trace.said.count("cleaned up")
    assert "armory_trio" not in {thread.name for thread in threading.enumerate()}
