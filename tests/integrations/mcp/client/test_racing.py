"""Stops that race with answers, over each transport: one end for each call, which is true, and a session that lives on."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, Literal, Unpack

import pytest
import trio
from hypothesis import settings
from mcp.server import MCPServer

from armory_trio import ExecutionSettled, Supervisor, ToolCall, open_supervisor
from armory_trio.engine import CallOptions
from armory_trio.integrations.mcp.client import HttpServer, InMemoryServer, StdioServer, open_mcp
from tests.docs import ROOT
from tests.integrations.mcp.client.http_servers import serving
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""

Transport = Literal["memory", "stdio", "http", "http with plain JSON"]
WAYS: Final = ("abort", "timeout", "leave")

TIMINGS: Final = min(1_000, 2 * settings().max_examples)
"""How many stops each transport is tried with: more with the profile for soaking, up to where it takes minutes."""

_LONGEST: Final = 0.004
"""Seconds that a call works at most."""


def worker() -> MCPServer[object]:
    """A server that knows which calls it began, and which it ended."""
    server: MCPServer[object] = MCPServer("worker")
    begun: list[int] = []
    ended: list[int] = []

    @server.tool(structured_output=False)
    async def work(call: int, seconds: float) -> str:
        """Work for a while."""
        begun.append(call)
        await trio.sleep(seconds)
        ended.append(call)
        return f"done {call}"

    @server.tool(structured_output=False)
    async def seen() -> str:
        """Which calls it began, and which it ended."""
        await trio.lowlevel.checkpoint()
        return json.dumps({"begun": begun, "ended": ended})

    return server


@asynccontextmanager
async def server_of(transport: Transport) -> AsyncGenerator[InMemoryServer | StdioServer | HttpServer]:
    match transport:
        case "memory":
            yield InMemoryServer(worker())
        case "stdio":
            path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
            yield StdioServer(sys.executable, ["-m", __name__], env={"PYTHONPATH": path}, cwd=ROOT)
        case _:
            app = worker().streamable_http_app(json_response="plain" in transport)
            async with serving(app) as url:
                yield HttpServer(f"{url}/mcp")


@requirement("mcp-client.one-end")
@pytest.mark.parametrize("transport", ["memory", "stdio", "http", "http with plain JSON"])
async def test_whenever_a_call_is_stopped_it_has_one_end_and_that_is_true(transport: Transport) -> None:
    dice = random.Random(len(transport))  # noqa: S311  # times, no secrets
    values: dict[str, object] = {}
    async with (
        server_of(transport) as server,
        open_mcp(server, name="worker") as connection,
        open_supervisor(connection.toolbox()) as supervisor,
        supervisor.events(ExecutionSettled, buffer=3 * TIMINGS) as events,
    ):
        usual = 0.0
        for number in range(TIMINGS):
            if number % 10 == 0:
                began = trio.current_time()
                assert await _work(supervisor, -1) == "done -1"
                usual = trio.current_time() - began + _LONGEST
            values[str(number)] = await _race(supervisor, number, dice, _patience(dice, usual))
        seen = json.loads(str((await supervisor.execute(ToolCall("seen"))).value))
        assert connection.state == "open"
        assert connection._owner.record.exchanges == {}  # pyright: ignore[reportPrivateUsage]
        await supervisor.shutdown()
        ends = [await anext(events) for _ in range(TIMINGS + TIMINGS // 10 + 1)]
    raced = [event for event in ends if isinstance(event, ExecutionSettled) and event.call_id in values]
    assert sorted(event.call_id for event in raced) == sorted(values)
    for event in raced:
        name = event.call_id
        _assert_true(event, values[name], begun=int(name) in seen["begun"], ended=int(name) in seen["ended"])
    assert {event.outcome for event in raced} == {"success", "error"}


async def _work(supervisor: Supervisor, number: int, seconds: float = 0.0, **options: Unpack[CallOptions]) -> object:
    call = ToolCall("work", {"call": number, "seconds": seconds}, str(number))
    return (await supervisor.execute(call, **options)).value


def _patience(dice: random.Random, usual: float) -> float:
    """Seconds until a call is stopped: none, for ever, or about what a call takes here and now."""
    return dice.choice((1e-6, 60.0, *(max(1e-6, 1.5 * dice.random() * usual) for _ in range(8))))


async def _race(supervisor: Supervisor, number: int, dice: random.Random, patience: float) -> object:
    """Call, and stop that after so many seconds, in some way. Answers the value that came back."""
    seconds = dice.choice((0.0, dice.random() * _LONGEST))
    match dice.choice(WAYS):
        case "timeout":
            return await _work(supervisor, number, seconds, timeout=patience)
        case "leave":
            with trio.move_on_after(patience):
                return await _work(supervisor, number, seconds)
            return None
        case _:
            call = ToolCall("work", {"call": number, "seconds": seconds}, str(number))
            execution = supervisor.start(call)
            with trio.move_on_after(patience) as scope:
                await execution.result()
            if scope.cancelled_caught:
                execution.abort("the test stops it")
            return (await execution.result()).value


def _assert_true(event: ExecutionSettled, value: object, *, begun: bool, ended: bool) -> None:
    """What is said of a call is what happened, as far as anybody can know it."""
    if event.outcome == "success":
        assert (value in (f"done {event.call_id}", None), ended, event.effect) == (True, True, "completed"), event
        return
    assert value is None
    assert event.effect in ("none", "unknown")
    assert event.effect == "unknown" or not begun, event


if __name__ == "__main__":
    trio.run(worker().run_stdio_async)
