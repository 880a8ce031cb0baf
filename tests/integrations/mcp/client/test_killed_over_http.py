"""Servers over HTTP that are killed in a call which changes the world: nobody knows what became of it, and nobody says so."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.definitions._effects import EffectMapping
from armory_trio.integrations.mcp.client import HttpServer, open_mcp
from tests.integrations.mcp.client.rough import ONCE
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""

SCRIPT: Final = str(Path(__file__).with_name("dying_server.py"))
PAYS: Final[EffectMapping] = {"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}
WAYS: Final = (
    "nothing",
    "part of an answer",
    "the beginning of a stream",
    "a place to come back to",
    "part of an event",
)


@requirement("mcp-client.lost", "mcp-client.http")
@pytest.mark.parametrize("way", WAYS)
async def test_a_call_whose_server_is_killed_after_it_did_it_has_an_unknown_effect_and_is_not_made_again(
    way: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    async with trio.open_nursery() as nursery:
        command = [sys.executable, "-I", "-S", SCRIPT, str(notes), way]
        process: trio.Process = await nursery.start(
            partial(trio.run_process, command, stdout=subprocess.PIPE, check=False)
        )
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(await process.stdout.receive_some())}/mcp"
        with trio.fail_after(30):
            async with (
                open_mcp(HttpServer(url), name="bank", reconnect=ONCE, effects={"pay": PAYS}) as connection,
                open_supervisor(connection.toolbox()) as supervisor,
            ):
                result = await supervisor.execute(ToolCall("pay"))
    assert result.error is not None
    assert (result.error.code, result.effect, result.error.retryable) == ("CONNECTION_LOST", "unknown", False)
    assert [window.state for window in result.effects] == ["unknown"]
    assert notes.read_text() == "paid\n"
