"""Calls of a child process that does not read for a while: it is given late only what nobody has withdrawn."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from armory_trio import Execution, ToolCall
from armory_trio.integrations.mcp.client._record import LinkRecord
from armory_trio.integrations.mcp.client._stdio import Stdin
from tests.integrations.mcp.client.rough import ONCE, Rough, open_rough, server
from tests.requirements import requirement

SIZE: Final = 3_000
"""Bytes of a call that a pipe takes whole or not at all, each into a page of its own."""

CALLS: Final = 40
"""More such calls than there is room for in a pipe."""


def room() -> int:
    """How many of them there is room for."""
    out, into = os.pipe()
    os.set_blocking(into, False)
    held = 0
    try:
        while True:
            os.write(into, b"x" * SIZE)
            held += 1
    except BlockingIOError:
        return held
    finally:
        os.close(out)
        os.close(into)


class Sleeper:
    """A server that sleeps until it is woken, and takes notes of the calls that it carries out."""

    def __init__(self, rough: Rough, directory: Path) -> None:
        self.rough = rough
        self.notes, self.alarm = directory / "notes", directory / "alarm"

    async def sleep(self) -> None:
        await self.rough.value("nap", until=str(self.alarm))

    def note(self, n: int) -> Execution:
        arguments = {"to": str(self.notes), "n": n, "more": "x" * SIZE}
        return self.rough.supervisor.start(ToolCall("note", arguments))

    def noted(self) -> set[int]:
        return set(map(int, self.notes.read_text().split())) if self.notes.exists() else set()


async def effects_of(calls: list[Execution]) -> dict[str, set[int]]:
    """Which calls ended with which effect."""
    found = dict[str, set[int]]()
    for n, call in enumerate(calls):
        found.setdefault((await call.settled()).effect, set()).add(n)
    return found


@requirement("mcp-client.withdrawn")
async def test_a_server_that_reads_again_is_given_nothing_of_what_was_stopped_before_there_was_room(
    tmp_path: Path,
) -> None:
    async with open_rough() as rough:
        sleeper = Sleeper(rough, tmp_path)
        await sleeper.sleep()
        calls = [sleeper.note(n) for n in range(CALLS)]
        await trio.testing.wait_all_tasks_blocked(0.1)
        for call in calls:
            call.abort("the test stops it")
        effects = await effects_of(calls)
        last = sleeper.note(CALLS)
        sleeper.alarm.touch()
        assert (await last.result()).value == "noted"
    assert len(effects["unknown"]) == room()
    assert sleeper.noted() == effects["unknown"] | {CALLS}
    assert len(effects["none"]) == CALLS - room()


@requirement("mcp-client.withdrawn", "mcp-client.owner")
async def test_a_server_that_is_left_is_not_given_what_stands_in_line_for_it(tmp_path: Path) -> None:
    async with open_rough(server(stop_after=5.0), reconnect=ONCE) as rough:
        sleeper = Sleeper(rough, tmp_path)
        await sleeper.sleep()
        calls = [sleeper.note(n) for n in range(CALLS)]
        await trio.testing.wait_all_tasks_blocked(0.1)
        rough.connection.close()
        sleeper.alarm.touch()
        effects = await effects_of(calls)
        await rough.connection.aclose()
    assert effects.keys() == {"none", "unknown"}
    assert sleeper.noted() <= effects["unknown"]


class Full(trio.abc.SendStream):
    """A pipe that is full until room is made."""

    def __init__(self) -> None:
        self.has_room = trio.Event()
        self.taken: list[bytes] = []

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self.taken.append(bytes(data))
        await self.has_room.wait()

    async def wait_send_all_might_not_block(self) -> None:
        await self.has_room.wait()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


@requirement("mcp-client.withdrawn")
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "with another behind it"])
async def test_the_first_in_line_can_be_withdrawn_while_there_is_no_room_for_it(beside: bool) -> None:
    stdin, pipe = Stdin(LinkRecord("full")), Full()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stdin.drain, pipe)
        await stdin.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="x")))
        await trio.testing.wait_all_tasks_blocked()
        if beside:
            await stdin.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=2, method="x")))
        withdrawal = JSONRPCNotification(
            jsonrpc="2.0", method="notifications/cancelled", params={"requestId": 1, "reason": "x"}
        )
        await stdin.send(SessionMessage(withdrawal))
        pipe.has_room.set()
        await stdin.aclose()
    assert [b'"id":2' in each for each in pipe.taken] == [True] * beside
