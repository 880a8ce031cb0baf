"""What a host that is killed in the middle of a call leaves behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.storage.sql import open_store
from tests.engine.ledger.stores import HER, told_of
from tests.integrations.mcp.client.rough import open_rough, runs
from tests.requirements import requirement


async def said_by(host: trio.Process) -> bytes:
    """What it says until its call is under way."""
    assert host.stdout is not None
    told = b""
    async with host.stdout:
        while b"working" not in told:
            piece = await host.stdout.receive_some()
            assert piece, "the host ended"
            told += piece
    return told


@requirement("mcp-client.lost", "mcp-client.children")
async def test_a_host_that_is_killed_in_a_call_leaves_an_unknown_effect_and_no_server(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    host = [sys.executable, "-m", "tests.integrations.mcp.client.killed_host", str(database)]
    with trio.fail_after(60):
        process = await trio.lowlevel.open_process(host, stdout=subprocess.PIPE)
        try:
            told = await said_by(process)
        finally:
            process.kill()
            await process.wait()  # noqa: ASYNC102  # it was killed
        pid = int(told.split()[0])
        while runs(pid):  # noqa: ASYNC110  # it reads that its input is closed, and tells nobody
            await trio.sleep(0.02)

    async with (
        open_store(database) as store,
        open_rough() as rough,
        open_supervisor(rough.connection.toolbox(), ledger=store.ledger) as supervisor,
    ):
        [left] = [attempt for attempt in await store.ledger.list() if attempt.tool_name == "tick"]
        assert (left.state, left.open_windows) == ("started", 1)
        again = await supervisor.execute(
            ToolCall("tick", {"times": 10_000}), idempotency_key="once", request_context=HER
        )
        assert (again.outcome, again.effect, told_of(again)) == ("action_required", "unknown", "unknown-outcome")
        seen = json.loads(str(await rough.value("seen")))
        assert seen["calls"] == [1]  # with the asking for it
