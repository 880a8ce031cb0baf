"""The serving, cancelled at every step of its life: it ends, its calls are aborted, and nothing is left behind."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import httpx2
import pytest
import trio

from armory_trio import Supervisor, open_supervisor
from armory_trio.integrations.mcp.server import McpServer
from tests.integrations.mcp.server.serving import TOOLBOX, wired
from tests.integrations.mcp.server.test_http import HEADERS, call, hello
from tests.integrations.mcp.server.test_lines import HELLO, READY, line, piped
from tests.integrations.mcp.server.test_lines import call as call_line
from tests.requirements import requirement

# The HTTP client leaves generators of its own to the garbage collector when a stream is cut off.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """What the client left behind goes here, and not in somebody else's test."""
    yield
    gc.collect()


class At(trio.abc.Instrument):
    """Cancels a scope at one step of the run."""

    def __init__(self, step: int, scope: trio.CancelScope) -> None:
        self.left = step
        self._scope = scope

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """One more step was made."""
        self.left -= 1
        if self.left == 0:
            self._scope.cancel("the test wants it")


Life = Callable[[Supervisor], Awaitable[None]]


async def over_memory(supervisor: Supervisor) -> None:
    """A client in memory that calls, and is there until the end."""
    async with wired(McpServer(supervisor)) as wire:
        await wire.call(1, "tells")
        await wire.reply(1)
        await wire.call(2, "nap", seconds=3600)
        await wire.cancel(2)
        await wire.call(3, "add", a=1, b=2)
        await wire.reply(3)


async def over_pipes(supervisor: Supervisor) -> None:
    """The same behind pipes, up to the end of the input."""
    with piped() as pipes:
        data = line(HELLO) + line(READY) + call_line(1) + call_line(2, "nap", seconds=0.001)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(McpServer(supervisor).serve_stdio, streams=pipes.streams))  # noqa: ASYNC113  # it ends with its input
            await pipes.say(data)
            await pipes.replies(3)
            pipes.hang_up()


async def over_sockets(supervisor: Supervisor) -> None:
    """The same over HTTP."""
    async with trio.open_nursery() as nursery:
        url = await nursery.start(partial(McpServer(supervisor).serve_http, port=0))
        async with httpx2.AsyncClient() as http:
            opened = await http.post(url, json=hello(), headers=HEADERS)
            headers = {**HEADERS, "mcp-session-id": opened.headers["mcp-session-id"]}
            await http.post(url, json=call(1, "nap", seconds=0.001), headers=headers)
            await http.delete(url, headers=headers)
        await supervisor.shutdown()


@requirement("mcp-server.gone")
@pytest.mark.parametrize(("live", "stride"), [(over_memory, 3), (over_pipes, 1), (over_sockets, 15)])
async def test_wherever_the_serving_is_cancelled_it_ends_and_so_do_its_calls(live: Life, stride: int) -> None:
    step, done = 1, False
    while not done:
        with trio.fail_after(30):
            async with open_supervisor(TOOLBOX) as supervisor:
                scope = trio.CancelScope()
                at = At(step, scope)
                with scope:
                    trio.lowlevel.add_instrument(at)
                    try:
                        await live(supervisor)
                    finally:
                        trio.lowlevel.remove_instrument(at)
                done = at.left > 0
                await supervisor.wait_idle()
                shots = supervisor.executions.inspect()
                assert [shot.state for shot in shots if shot.state != "terminal"] == []
        step += stride

    assert step > 10 * stride
