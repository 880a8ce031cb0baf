"""Streamable HTTP when somebody leaves: clients at the end of a drain, and streams before the answer has come."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial

import httpx2
import pytest
import trio
from mcp import Client
from mcp.server.streamable_http import EventMessage
from mcp.types import jsonrpc
from trio.testing import MockClock

from armory_trio import DefinitionError, Toolbox, open_supervisor, tool
from armory_trio.integrations.mcp.server import HttpOptions, McpServer
from armory_trio.integrations.mcp.server._gate import Gate
from armory_trio.integrations.mcp.server._history import History, Shelf
from tests.integrations.mcp.server.serving import HANDSHAKE, Mode, on_each_protocol, text_of
from tests.integrations.mcp.server.test_http import HEADERS, call, open_session, over_http, session
from tests.requirements import requirement

# The HTTP client leaves generators of its own to the garbage collector when a stream is cut off.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """What the client left behind goes here, and not in somebody else's test."""
    yield
    gc.collect()


def _note() -> jsonrpc.JSONRPCNotification:
    return jsonrpc.JSONRPCNotification(jsonrpc="2.0", method="notifications/message")


class Held:
    """A tool that runs until it is let go."""

    def __init__(self) -> None:
        self.running = trio.Event()
        self.go_on = trio.Event()

        @tool(effect="read-only", output=str)
        async def held() -> str:
            self.running.set()
            await self.go_on.wait()
            return "done"

        self.toolbox = Toolbox([held])


@requirement("mcp-server.http.leaving", "mcp-server.drain")
@on_each_protocol
@pytest.mark.parametrize("waits", [True, False], ids=["with its answer", "without its answer"])
async def test_a_client_that_leaves_when_the_server_has_drained_sees_no_failure(
    mode: Mode,
    waits: bool,  # a parameter of the test
    caplog: pytest.LogCaptureFixture,
) -> None:
    held, answers = Held(), list[str]()
    with trio.fail_after(30):
        async with open_supervisor(held.toolbox) as supervisor, trio.open_nursery() as nursery:
            url = await nursery.start(partial(McpServer(supervisor).serve_http, port=0))
            async with Client(url, mode=mode) as client, trio.open_nursery() as calling:

                async def call_it() -> None:
                    # The client asks for the list behind the answer, to see that it is what was promised.
                    answers.append(text_of(await client.call_tool("held", {})))

                calling.start_soon(call_it)
                await held.running.wait()
                nursery.start_soon(supervisor.shutdown)
                if waits:
                    held.go_on.set()
                else:
                    calling.cancel_scope.cancel()
                await supervisor.wait_shut_down()

    assert answers == (["done"] if waits else [])
    assert [each.message for each in caplog.records if each.name.startswith(("mcp.client", "armory_trio"))] == []


@requirement("mcp-server.http.leaving")
async def test_a_client_that_stays_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.integrations.mcp.server._http._LEAVING", 0.05)
    async with httpx2.AsyncClient() as http:
        async with over_http() as (url, _):  # which ends: without a bound it would last for ever
            await open_session(http, url)
        with pytest.raises(httpx2.ConnectError):
            await http.post(url, json=call(1, "add", a=1, b=2), headers=HEADERS)


@requirement("mcp-server.http.leaving")
async def test_quiet_begins_again_with_each_request(autojump_clock: trio.abc.Clock) -> None:
    gate, ends = Gate(), list[float]()

    async def wait() -> None:
        await gate.wait_quiet(2)
        ends.append(trio.current_time() - start)

    start = trio.current_time()
    await wait()
    async with trio.open_nursery() as nursery:
        with gate.passing():
            nursery.start_soon(wait)
            await trio.sleep(5)
        await trio.sleep(1)
        with gate.passing():
            await trio.sleep(3)

    assert ends == [0, 11]


@requirement("mcp-server.http.resume")
async def test_a_stream_that_is_closed_before_the_answer_is_resumed_and_brings_it() -> None:
    held = Held()
    options = HttpOptions(stream_for=0.05)
    async with over_http(held.toolbox, options) as (url, _), session(url) as raw:
        events = await raw.events_until(call(1, "held"), 99)  # as many as come until the server closes it
        held.go_on.set()
        [last] = await raw.resume(events[-1][0], 1)
        async with Client(url, mode=HANDSHAKE) as client:
            again = text_of(await client.call_tool("held", {}))

    assert [data for _, data in events] == [""]  # the place to resume from, and no answer
    assert '"text":"done"' in last[1]
    assert again == "done"


@requirement("mcp-server.http.resume")
async def test_no_stream_is_closed_before_its_client_has_a_place_to_come_back_to() -> None:
    held = Held()
    options = HttpOptions(stream_for=1e-9)  # over at once, as on a server that had no time for a while
    async with over_http(held.toolbox, options) as (url, _), session(url) as raw:
        streams = [await raw.events_until(call(number, "held"), 99) for number in range(1, 31)]

    assert [[data for _, data in events] for events in streams] == [[""]] * 30


@requirement("mcp-server.http.resume")
async def test_who_came_back_is_sent_to_come_back_again_until_there_is_an_answer() -> None:
    held = Held()
    async with over_http(held.toolbox, HttpOptions(stream_for=0.05)) as (url, _), session(url) as raw:
        [(place, _)] = await raw.events_until(call(1, "held"), 99)
        with trio.fail_after(30):
            came_back = [await raw.resume(place, 99) for _ in range(3)]
        held.go_on.set()
        [last] = await raw.resume(place, 99)

    assert came_back == [[(place, "")]] * 3  # where it is, and nothing else
    assert '"text":"done"' in last[1]


@requirement("mcp-server.http.resume")
async def test_who_comes_back_to_a_stream_that_is_closed_at_once_still_gets_what_there_is() -> None:
    history, sent = History(9, Shelf(10_000), 1e-9), list[str | None]()

    async def send(event: EventMessage) -> None:
        await trio.sleep(0.001)
        sent.append(event.event_id)

    primed = await history.store_event("1", None)
    told = [await history.store_event("1", _note()) for _ in range(3)]
    assert await history.replay_events_after(primed, send) is None
    assert sent == told
    answer = await history.store_event("1", jsonrpc.JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
    assert await history.replay_events_after(told[-1], send) is None
    assert sent == [*told, answer]


@requirement("mcp-server.http.resume")
async def test_who_cannot_read_where_it_is_keeps_its_stream(autojump_clock: MockClock) -> None:
    history = History(9, Shelf(10_000), 1.0)
    first = await history.store_event("1", _note())

    async def send(event: EventMessage) -> None:
        await trio.lowlevel.checkpoint()
        pytest.fail(f"it was sent {event}")

    began = autojump_clock.current_time()
    with trio.move_on_after(100):
        await history.replay_events_after(first, send)
    assert autojump_clock.current_time() - began == 100


@requirement("mcp-server.arguments")
def test_streams_that_are_closed_need_something_to_be_resumed_from() -> None:
    with pytest.raises(DefinitionError, match="kept_events"):
        HttpOptions(stream_for=1, kept_events=0)
    with pytest.raises(DefinitionError, match="stream_for"):
        HttpOptions(stream_for=0)
