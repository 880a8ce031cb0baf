"""What a client's leaving means for its calls at the server, over HTTP, where nothing ends by itself."""

from __future__ import annotations

import pytest
import trio

from armory_trio import Toolbox, ToolCall, open_supervisor, tool
from armory_trio.integrations.mcp.client import HttpServer, open_mcp
from tests.integrations.mcp.client.http_servers import answering
from tests.integrations.mcp.client.test_http import Host, done
from tests.integrations.mcp.server.test_http import over_http
from tests.requirements import requirement

# The SDK leaves the streams of answers to the garbage collector, which runs down what is left of them.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")


@requirement("mcp-client.owner", "mcp-client.cancel")
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 20])
async def test_a_client_that_is_cancelled_says_goodbye_so_that_its_calls_end_at_the_server(steps: int) -> None:
    running = trio.Event()

    @tool(effect="read-only")
    async def stay() -> None:
        """Stay."""
        running.set()
        await trio.sleep_forever()

    async def use(url: str) -> None:
        async with open_mcp(HttpServer(url), name="far") as connection, open_supervisor(connection.toolbox()) as near:
            await near.execute(ToolCall("stay"))

    async with over_http(Toolbox([stay])) as (url, far):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(use, url)
            await running.wait()
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        with trio.fail_after(10):
            await far.wait_idle()


@requirement("mcp-client.owner")
async def test_a_goodbye_that_is_not_heard_is_waited_for_no_longer_than_was_said() -> None:
    asked = trio.Event()

    class Deaf(Host):
        def __call__(self, method: str, headers: dict[str, str], body: bytes) -> bytes | None:
            if method == "DELETE":
                asked.set()
                return b"HTTP/1.1 599 X\r\n"  # which does not end
            return super().__call__(method, headers, body)

    async def say_nothing_more(stream: trio.SocketStream, told: bytes) -> None:
        await stream.send_all(told)
        await trio.sleep_forever()

    async with answering(Deaf(done), say_nothing_more) as url:
        with trio.fail_after(30), trio.CancelScope() as scope:
            async with open_mcp(HttpServer(url, close_timeout=0.1), name="deaf"):
                scope.cancel()
                await trio.sleep_forever()
    assert (asked.is_set(), scope.cancelled_caught) == (True, True)
