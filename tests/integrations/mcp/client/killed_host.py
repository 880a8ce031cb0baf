"""A host that calls a tool of a child process under a key and is killed meanwhile: ``python -m ... DATABASE``.

It says the process id of its server, and then each progress of the call.
"""

from __future__ import annotations

import sys

import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.engine import ProgressReported
from armory_trio.integrations.mcp.client import open_mcp
from armory_trio.storage.sql import open_store
from tests.engine.ledger.stores import HER
from tests.integrations.mcp.client.rough import server


async def main(database: str) -> None:
    async with (
        open_store(database) as store,
        open_mcp(server(), name="rough") as connection,
        open_supervisor(connection.toolbox(), ledger=store.ledger, ledger_lease=2.0) as supervisor,
        supervisor.events(ProgressReported) as events,
    ):
        sys.stdout.write(f"{(await supervisor.execute(ToolCall('pid'))).value}\n")
        sys.stdout.flush()
        supervisor.start(ToolCall("tick", {"times": 10_000}), idempotency_key="once", request_context=HER)
        async for _ in events:
            sys.stdout.write("working\n")
            sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
