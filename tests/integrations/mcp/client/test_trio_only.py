"""Three transports to servers of the SDK, with asyncio's loops out of reach."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from typing import Literal

import pytest
import trio

from armory_trio import ProgressReported, ToolCall, open_supervisor
from armory_trio.definitions import ElicitAccepted, ElicitAnswer, ElicitRequest
from armory_trio.integrations.mcp.client import HttpServer, InMemoryServer, StdioServer, open_mcp
from tests.docs import ROOT
from tests.integrations.mcp.client.http_servers import serving
from tests.integrations.mcp.client.small_servers import counter
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""


async def three(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    return ElicitAccepted({"n": 3})


@requirement("mcp-client.trio")
def test_no_test_of_this_folder_can_have_a_loop() -> None:
    for ask in (asyncio.get_event_loop, asyncio.get_running_loop, asyncio.new_event_loop):
        with pytest.raises(RuntimeError, match="there will be none"):
            ask()


@requirement("mcp-client.trio")
@pytest.mark.parametrize("transport", ["memory", "stdio", "http"])
async def test_calls_cancels_progress_and_questions_go_over_each_transport(
    transport: Literal["memory", "stdio", "http"],
) -> None:
    async with AsyncExitStack() as stack:
        server: InMemoryServer | StdioServer | HttpServer
        if transport == "memory":
            server = InMemoryServer(counter())
        elif transport == "stdio":
            path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
            server = StdioServer(
                sys.executable, ["-m", "tests.integrations.mcp.client.sdk_server"], env={"PYTHONPATH": path}, cwd=ROOT
            )
        else:
            server = HttpServer(await stack.enter_async_context(serving(counter().streamable_http_app())) + "/mcp")
        connection = await stack.enter_async_context(open_mcp(server, name="sdk"))
        supervisor = await stack.enter_async_context(open_supervisor(connection.toolbox()))
        events = await stack.enter_async_context(supervisor.events(ProgressReported))
        assert (await supervisor.execute(ToolCall("work", {"seconds": 0.01, "told": 2}))).value == "done"
        assert [(await anext(events)).percent for _ in range(2)] == [50.0, 100.0]  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]
        assert (await supervisor.execute(ToolCall("ask"), elicit=three)).value == "3 of them"
        stopped = await supervisor.execute(ToolCall("work", {"seconds": 30.0, "told": 1}), timeout=0.05)
        assert stopped.error is not None
        assert stopped.error.code == "TIMEOUT"
        assert (await supervisor.execute(ToolCall("add", {"a": 1}))).value == {"result": 3}
