"""Servers of the SDK, for the tests of the client."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Unpack

import mcp_types as types
import trio
from mcp.server import MCPServer, Server, ServerRequestContext
from mcp.server.mcpserver import Context
from pydantic import BaseModel

from armory_trio import open_supervisor
from armory_trio.integrations.mcp.client import ConnectionOptions, InMemoryServer, open_mcp
from tests.integrations.mcp.client.rough import Rough


class Answer(BaseModel):
    n: int


class Form(BaseModel):
    name: str = "John"
    age: int = 30


def counter(name: str = "counter") -> MCPServer[object]:
    """A server with ordinary tools."""
    server: MCPServer[object] = MCPServer(name)

    @server.tool()
    async def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        await trio.lowlevel.checkpoint()
        return a + b

    @server.tool(structured_output=False)
    async def steps(count: int) -> str:
        """Take so many steps."""
        for _ in range(count):
            await trio.lowlevel.checkpoint()
        return "there"

    @server.tool(structured_output=False)
    async def work(seconds: float, told: int, ctx: Context) -> str:
        """Work, and tell so many times how far it is."""
        for at in range(told):
            await trio.sleep(seconds / told)
            await ctx.report_progress(at + 1, told)
        return "done"

    @server.tool(structured_output=False)
    async def ask(ctx: Context) -> str:
        """Ask how many."""
        answer = await ctx.elicit("how many?", Answer)
        return answer.action if answer.action != "accept" else f"{answer.data.n} of them"

    @server.tool(structured_output=False)
    async def fill(ctx: Context) -> str:
        """Have a form filled in."""
        answer = await ctx.elicit("who?", Form)
        return answer.data.model_dump_json() if answer.action == "accept" else answer.action

    @server.tool(structured_output=False)
    async def learn(ctx: Context) -> str:
        """Learn to sing."""
        server.add_tool(sing, structured_output=False)
        await ctx.session.send_tool_list_changed()
        return "learnt"

    return server


async def sing() -> str:
    """Sing."""
    await trio.lowlevel.checkpoint()
    return "la"


def listing(*tools: types.Tool, result: types.CallToolResult | None = None) -> Server[object]:
    """A server that lists these tools, and answers each call of one in the same way."""

    async def list_tools(
        _: ServerRequestContext[object], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        await trio.lowlevel.checkpoint()
        return types.ListToolsResult(tools=list(tools))

    async def call_tool(_: ServerRequestContext[object], __: types.CallToolRequestParams) -> types.CallToolResult:
        await trio.lowlevel.checkpoint()
        return result or types.CallToolResult(content=[])

    return Server("lister", on_list_tools=list_tools, on_call_tool=call_tool)


def tool(name: str, /, **hints: bool) -> types.Tool:
    """A tool with these hints."""
    annotations = types.ToolAnnotations.model_validate(hints) if hints else None
    return types.Tool(name=name, description=f"Does {name}.", input_schema={"type": "object"}, annotations=annotations)


@asynccontextmanager
async def open_small(
    server: MCPServer[object] | Server[object], **options: Unpack[ConnectionOptions]
) -> AsyncGenerator[Rough]:
    """A connection to a server of the SDK, and a supervisor over its tools."""
    async with (
        open_mcp(InMemoryServer(server), name="small", **options) as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        yield Rough(connection, supervisor)
