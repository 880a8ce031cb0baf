"""A server of the SDK over its standard streams, on trio."""

from __future__ import annotations

import trio
from mcp.server.stdio import stdio_server

from tests.integrations.mcp.client.small_servers import counter


async def main() -> None:
    server = counter()._lowlevel_server  # pyright: ignore[reportPrivateUsage]
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    trio.run(main)
