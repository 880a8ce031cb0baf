"""Servers under test: with the SDK's own client in memory, and with a wire on which every message is seen."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal, cast

import anyio
import pytest
import trio
from anyio.streams.memory import MemoryObjectSendStream
from mcp import Client, types
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc

from armory_trio import Supervisor, Toolbox, ToolContext, open_supervisor, tool
from armory_trio.integrations.mcp.server import McpServer

Mode = Literal["legacy", "2026-07-28"]
HANDSHAKE: Final = "legacy"
MODERN: Final = "2026-07-28"
MODES: Final[tuple[Mode, ...]] = (HANDSHAKE, MODERN)
on_each_protocol = pytest.mark.parametrize("mode", MODES)

Json = Mapping[str, object]


@tool(effect="read-only", tags=["math"])
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="read-only")
async def nap(seconds: float) -> str:
    """Sleep."""
    await trio.sleep(seconds)
    return "rested"


@tool
async def leaky() -> None:
    """Fail, and know too much."""
    raise RuntimeError("postgres://u:p@h")


@tool(effect="read-only")
async def tells(ctx: ToolContext) -> str:
    """Report and log."""
    ctx.progress(20, "begun")
    ctx.log("debug", "small things")
    ctx.log("warning", "beware", {"of": "dog"})
    ctx.progress(20, "still there")
    ctx.progress(message="no number")
    ctx.progress(90)
    return "told"


TOOLBOX: Final = Toolbox([add, nap, leaky, tells])


def text_of(result: types.CallToolResult) -> str:
    """The words of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@asynccontextmanager
async def client_of(server: McpServer, mode: Mode) -> AsyncGenerator[Client]:
    """The SDK's client, in memory."""
    async with Client(server.sdk, mode=mode) as client:
        yield client


@asynccontextmanager
async def serving(toolbox: Toolbox = TOOLBOX) -> AsyncGenerator[tuple[McpServer, Supervisor]]:
    """A server without options."""
    async with open_supervisor(toolbox) as supervisor:
        yield McpServer(supervisor, name="under-test", version="1.2"), supervisor


async def until_active(supervisor: Supervisor) -> None:
    """Return once a call runs, which came by a socket or a pipe."""
    while not supervisor.active:  # noqa: ASYNC110  # it is for the test to wait, and for nobody to tell it
        await trio.sleep(0.001)


def meta_of(**members: object) -> types.RequestParamsMeta:
    """What a client sends as ``_meta``; two underscores stand for the slash of a name."""
    return cast("types.RequestParamsMeta", {name.replace("__", "/"): value for name, value in members.items()})


class Wire:
    """One connection on which every message of the server's is kept."""

    def __init__(self, sender: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        self._sender = sender
        self._news = trio.Event()
        self.got: list[dict[str, object]] = []

    async def send(self, message: Json) -> None:
        """Send *message*."""
        parsed = jsonrpc.jsonrpc_message_adapter.validate_python(dict(message), by_name=False)
        await self._sender.send(SessionMessage(parsed))

    async def request(self, id: str | int, method: str, **params: object) -> None:
        """Send a request."""
        await self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    async def call(self, id: str | int, name: str, **arguments: object) -> None:
        """Call a tool."""
        await self.request(id, "tools/call", name=name, arguments=arguments)

    async def notify(self, method: str, **params: object) -> None:
        """Send a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def cancel(self, id: str | int) -> None:
        """Say that nobody waits for the answer any more."""
        await self.notify("notifications/cancelled", requestId=id, reason="not needed")

    def hang_up(self) -> None:
        """Send nothing more."""
        self._sender.close()

    def keep(self, message: SessionMessage) -> None:
        """Take what came."""
        self.got.append(cast("dict[str, object]", json.loads(message.message.model_dump_json(by_alias=True))))
        self._news.set()

    def replies(self, id: str | int) -> Sequence[dict[str, object]]:
        """The answers to a request, of which there must be no second one."""
        return [each for each in self.got if each.get("id") == id and "method" not in each]

    async def reply(self, id: str | int) -> dict[str, object]:
        """The answer to a request."""
        while not self.replies(id):
            self._news = trio.Event()
            await self._news.wait()
        return self.replies(id)[0]

    async def notification(self, method: str) -> dict[str, object]:
        """The first notification, or request, of *method*."""
        while not (found := [each for each in self.got if each.get("method") == method]):
            self._news = trio.Event()
            await self._news.wait()
        return found[0]


@asynccontextmanager
async def wired(
    server: McpServer, capabilities: Json | None = None, version: str = "2025-11-25"
) -> AsyncGenerator[Wire]:
    """A connection of a handshake version that has shaken hands. Left with the block, the client hangs up."""
    to_server, at_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, at_client = anyio.create_memory_object_stream[SessionMessage](0)
    wire = Wire(to_server)

    async def listen() -> None:
        async for message in at_client:
            wire.keep(message)

    async with to_server, at_server, to_client, at_client, trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, at_server, to_client)  # noqa: ASYNC113  # the handshake below waits for it
        nursery.start_soon(listen)
        await wire.request(
            0,
            "initialize",
            protocolVersion=version,
            capabilities=dict(capabilities or {}),
            clientInfo={"name": "wire", "version": "0"},
        )
        await wire.reply(0)
        await wire.notify("notifications/initialized")
        await trio.testing.wait_all_tasks_blocked()
        yield wire
        wire.hang_up()
