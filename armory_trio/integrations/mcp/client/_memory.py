"""Messages to a server that runs in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp.client._memory import InMemoryTransport

from ._record import LinkRecord
from ._servers import InMemoryServer
from ._streams import Announced, Streams


@asynccontextmanager
async def open_in_memory(server: InMemoryServer, record: LinkRecord) -> AsyncGenerator[Streams]:
    """Run *server* as long as the block lasts."""
    async with InMemoryTransport(server.server) as (read, write):
        yield read, Announced(write, record)
