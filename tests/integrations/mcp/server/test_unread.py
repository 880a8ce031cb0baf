"""What a client on standard input is owed: bounded, whatever it sends and however little it reads."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio

from armory_trio import Supervisor, Toolbox, tool
from tests.integrations.mcp.server.serving import nap
from tests.integrations.mcp.server.test_lines import HELLO, READY, Pipes, call, line, lines_to
from tests.requirements import requirement

MANY = 2_000
STDIO = "armory_trio.integrations.mcp.server._stdio"


@tool(effect="read-only")
async def large(number: int) -> str:
    """Answer something that soon fills a pipe."""
    return f"{number}" + "x" * 1_000


async def pour(pipes: Pipes, data: bytes) -> None:
    """Write to the server, as much as it takes. Cancelled: a part was written."""
    os.set_blocking(pipes.input, False)
    rest = memoryview(data)
    while rest:
        await trio.lowlevel.wait_writable(pipes.input)
        rest = rest[os.write(pipes.input, rest) :]


@asynccontextmanager
async def held(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[tuple[Pipes, trio.Nursery, trio.Event, Supervisor]]:
    """A server whose client has written very much and read nothing, and the nursery in which it writes on."""
    monkeypatch.setattr(f"{STDIO}._LOOK", 0.01)
    async with lines_to(Toolbox([large])) as (pipes, supervisor, ended), trio.open_nursery() as nursery:
        await pipes.say(line(HELLO) + line(READY))
        await pipes.replies(1)
        data = b"".join(call(number, "large", number=number) for number in range(MANY))
        nursery.start_soon(pour, pipes, data)
        while "unread" not in caplog.text:  # noqa: ASYNC110  # a log line tells nobody that it came
            await trio.sleep(0.001)
        await supervisor.wait_idle()
        yield pipes, nursery, ended, supervisor
        nursery.cancel_scope.cancel()


@requirement("mcp-server.unread")
async def test_a_client_that_reads_nothing_is_not_read_either_until_it_reads(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(caplog, monkeypatch) as (pipes, _, _, supervisor):
        begun = len(supervisor.executions.inspect())
        answers = await pipes.replies(MANY)

    assert {reply["id"] for reply in answers} == set(range(MANY))
    assert begun < 1_500  # what stood in the pipe, and in the piece that was read last


@requirement("mcp-server.unread", "mcp-server.gone")
async def test_a_client_that_leaves_without_having_read_ends_the_server(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{STDIO}._LAST_WRITES", 0.05)
    async with held(caplog, monkeypatch) as (pipes, nursery, ended, _):
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            pipes.hang_up()
            await ended.wait()

    assert ended.is_set()


@requirement("mcp-server.unread")
async def test_too_many_requests_at_once_are_refused_and_the_others_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.integrations.mcp.server._lines.MOST_UNDER_WAY", 10)
    monkeypatch.setattr(f"{STDIO}._ROOM", 0.01)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}}
    async with lines_to(Toolbox([nap])) as (pipes, _, _):
        await pipes.say(line(HELLO) + line(READY))
        await pipes.replies(1)
        await pipes.say(b"".join(call(number, "nap", seconds=3600) for number in range(12)))
        refused = await pipes.replies(2)
        await pipes.say(line(cancel) + call("then", "nap", seconds=0))
        [answered] = await pipes.replies(1)

    assert [each["id"] for each in refused] == [10, 11]
    assert all("10 are under way" in str(each) for each in refused)
    assert answered["id"] == "then" and "rested" in str(answered)


@requirement("mcp-server.unread")
async def test_a_request_waits_a_while_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.integrations.mcp.server._lines.MOST_UNDER_WAY", 10)
    monkeypatch.setattr(f"{STDIO}._ROOM", 60.0)
    async with lines_to(Toolbox([nap])) as (pipes, _, _):
        await pipes.say(line(HELLO) + line(READY))
        await pipes.replies(1)
        await pipes.say(b"".join(call(number, "nap", seconds=0.01) for number in range(100)))
        answers = await pipes.replies(100)

    assert all("rested" in str(each) for each in answers)
