"""Requests whose pipe breaks: what the server may have read of them counts as sent."""

from __future__ import annotations

import select
from typing import cast

import pytest
import trio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from armory_trio.definitions import ToolContext
from armory_trio.integrations.mcp.client._record import Exchange, LinkRecord
from armory_trio.integrations.mcp.client._stdio import Stdin
from tests.requirements import requirement


class Broken(trio.abc.SendStream):
    """A pipe that nobody reads from any more."""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        raise trio.BrokenResourceError

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


@requirement("mcp-client.lost")
@pytest.mark.parametrize(("size", "handed"), [(10, False), (select.PIPE_BUF, True)], ids=["small", "in pieces"])
async def test_a_pipe_that_breaks_took_nothing_of_a_request_only_where_it_takes_it_as_a_whole(
    size: int, handed: bool
) -> None:
    record = LinkRecord("broken")
    exchange = record.exchanges[1] = Exchange(1, cast("ToolContext", None))
    stdin = Stdin(record)
    await stdin.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="x", params={"a": "x" * size})))
    with pytest.raises(trio.BrokenResourceError):
        await stdin.drain(Broken())
    assert exchange.handed is handed
