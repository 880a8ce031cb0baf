"""Connections to `rough_server`, for the tests of the client."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Unpack

from armory_trio import Supervisor, ToolCall, ToolResult, open_supervisor
from armory_trio.engine import CallOptions
from armory_trio.integrations.mcp.client import Connection, ConnectionOptions, Reconnect, StdioServer, open_mcp

SCRIPT: Final = str(Path(__file__).with_name("rough_server.py"))
QUICK: Final = Reconnect(first=0.01, most=0.05, wait=5.0)
ONCE: Final = Reconnect(attempts=0, wait=0.2)


def server(
    way: str = "", *, stop_after: float = 2.0, kill_after: float = 0.2, max_message: int = 64 * 2**20
) -> StdioServer:
    """A server that misbehaves in this way; most of them end at once when their input is closed."""
    return StdioServer(
        sys.executable,
        ["-I", "-S", SCRIPT, way],
        stop_after=stop_after,
        kill_after=kill_after,
        max_message=max_message,
    )


class Rough:
    """An open connection, and a supervisor over its tools."""

    def __init__(self, connection: Connection, supervisor: Supervisor) -> None:
        self.connection = connection
        self.supervisor = supervisor

    async def call(
        self, tool: str, /, arguments: Mapping[str, object] | None = None, **options: Unpack[CallOptions]
    ) -> ToolResult[object]:
        return await self.supervisor.execute(ToolCall(tool, arguments or {}), **options)

    async def value(self, tool: str, /, **arguments: object) -> object:
        return (await self.call(tool, arguments)).unwrap()


@asynccontextmanager
async def open_rough(of: StdioServer | None = None, /, **options: Unpack[ConnectionOptions]) -> AsyncGenerator[Rough]:
    """A connection to a server that misbehaves, and a supervisor over its tools."""
    options.setdefault("reconnect", QUICK)
    async with (
        open_mcp(server() if of is None else of, name="rough", **options) as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        yield Rough(connection, supervisor)


def runs(pid: int) -> bool:
    """Whether a process runs, one that is dead and was not looked at not counted."""
    try:
        told = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False
    return told[told.rfind(b")") + 2 : told.rfind(b")") + 3] not in {b"Z", b"X"} and os.getpid() != pid
