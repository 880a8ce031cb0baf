"""Large results over HTTP, through both sides of a connection."""

from __future__ import annotations

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent

from armory_trio import Toolbox, ToolCall, open_supervisor, tool
from armory_trio.integrations.mcp.client import HttpServer, open_mcp
from armory_trio.integrations.mcp.server import HttpOptions
from tests.integrations.mcp.server.test_http import over_http
from tests.requirements import requirement

# The SDK leaves the streams of answers to the garbage collector, which runs down what is left of them.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")


@tool(effect="read-only")
async def big() -> str:
    return "x" * 11_000_000


@requirement("mcp-client.stray")
@pytest.mark.parametrize("most", [None, 1_000_000], ids=["as it is", "bounded"])
async def test_a_result_over_http_may_be_as_large_as_over_pipes_up_to_the_bound_that_was_said(most: int | None) -> None:
    async with over_http(Toolbox([big])) as (url, _):
        server = HttpServer(url) if most is None else HttpServer(url, max_message=most)
        async with open_mcp(server, name="far") as connection, open_supervisor(connection.toolbox()) as supervisor:
            result = await supervisor.execute(ToolCall("big"))
            assert (result.outcome == "success") is (most is None), result.error
            assert most is not None or len(str(result.value)) == 11_000_000


@requirement("mcp-server.http")
@pytest.mark.parametrize(
    ("options", "most", "arrives"),
    [
        pytest.param(HttpOptions(), 2**20, False, id="as both come"),
        pytest.param(HttpOptions(), None, True, id="with a client that takes more"),
        pytest.param(HttpOptions(json_answers=True), 2**20, True, id="in plain JSON"),
    ],
)
async def test_a_client_of_the_sdk_takes_a_large_result_of_a_session_where_it_is_told_to(
    options: HttpOptions, most: int | None, arrives: bool
) -> None:
    async with (
        over_http(Toolbox([big]), options=options) as (url, _),
        Client(streamable_http_client(url, max_sse_event_size=most), mode="legacy") as client,
    ):
        if arrives:
            [block] = (await client.call_tool("big", {})).content
            assert isinstance(block, TextContent)
            assert len(block.text) == 11_000_000
        else:
            with pytest.raises(MCPError, match="SSE stream failed"):
                await client.call_tool("big", {})
