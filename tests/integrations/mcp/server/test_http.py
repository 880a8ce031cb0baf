"""Streamable HTTP on loopback: both kinds of protocol, names, tokens, cut connections, and its end."""

from __future__ import annotations

import gc
import json
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Final, cast

import httpx2
import pytest
import trio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.streamable_http import GET_STREAM_KEY, EventMessage
from mcp.types import jsonrpc

from armory_trio import DefinitionError, RequestContext, Supervisor, Toolbox, ToolContext, open_supervisor, tool
from armory_trio.integrations.mcp.server import HttpOptions, McpRequest, McpServer, StaticToken, is_loopback
from armory_trio.integrations.mcp.server._history import History, Shelf
from armory_trio.integrations.mcp.server._request import ContextOf
from tests.integrations.mcp.server.serving import MODERN, TOOLBOX, Mode, on_each_protocol, text_of, until_active
from tests.requirements import requirement

# The HTTP client leaves generators of its own to the garbage collector when a stream is cut off.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """What the client left behind goes here, and not in somebody else's test."""
    yield
    gc.collect()


HEADERS: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MODERN_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "0"},
}


def hello(version: str = "2025-11-25") -> dict[str, object]:
    """The handshake."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def call(id: int, name: str, /, **arguments: object) -> dict[str, object]:
    """A call."""
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@asynccontextmanager
async def over_http(
    toolbox: Toolbox = TOOLBOX, options: HttpOptions | None = None, *, request_context: ContextOf | None = None
) -> AsyncGenerator[tuple[str, Supervisor]]:
    """A server on loopback, and its URL."""
    with trio.fail_after(30):
        async with open_supervisor(toolbox) as supervisor, trio.open_nursery() as nursery:
            server = McpServer(supervisor, request_context=request_context)
            url = await nursery.start(partial(server.serve_http, port=0, options=options))
            yield url, supervisor
            await supervisor.shutdown("abort")


class Raw:
    """A session without the SDK."""

    def __init__(self, http: httpx2.AsyncClient, url: str, session: str) -> None:
        self.http = http
        self.url = url
        self.headers = {**HEADERS, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}

    async def post(self, message: dict[str, object]) -> httpx2.Response:
        """Send one message."""
        return await self.http.post(self.url, json=message, headers=self.headers)

    async def events_until(self, message: dict[str, object], count: int) -> list[tuple[str, str]]:
        """The ids and data of the first *count* events of the answer, which is then cut off."""
        found: list[tuple[str, str]] = []
        async with self.http.stream("POST", self.url, json=message, headers=self.headers) as answer:
            await _read(answer, found, count)
        return found

    async def resume(self, last: str, count: int) -> list[tuple[str, str]]:
        """The first *count* events behind *last*."""
        found: list[tuple[str, str]] = []
        headers = {**self.headers, "last-event-id": last}
        async with self.http.stream("GET", self.url, headers=headers) as answer:
            await _read(answer, found, count)
        return found


async def _read(answer: httpx2.Response, found: list[tuple[str, str]], count: int) -> None:
    event: dict[str, str] = {}
    async with aclosing(cast("AsyncGenerator[str]", answer.aiter_lines())) as lines:
        async for line in lines:
            name, _, value = line.partition(": ")
            event |= {name: value} if line else {}
            if not line and event:
                found.append((event.get("id", ""), event.get("data", "")))
                event = {}
            if len(found) == count:
                return


async def open_session(http: httpx2.AsyncClient, url: str) -> Raw:
    """A session that has shaken hands."""
    opened = await http.post(url, json=hello(), headers=HEADERS)
    raw = Raw(http, url, opened.headers["mcp-session-id"])
    await raw.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return raw


@asynccontextmanager
async def session(url: str) -> AsyncGenerator[Raw]:
    """The same, ended with the block."""
    async with httpx2.AsyncClient(timeout=20) as http:
        raw = await open_session(http, url)
        yield raw
        await http.delete(url, headers=raw.headers)


@requirement("mcp-server.http")
@on_each_protocol
async def test_a_client_lists_calls_and_hears_over_http(mode: Mode) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with over_http() as (url, _), Client(url, mode=mode) as client:
        names = [each.name for each in (await client.list_tools()).tools]
        added = await client.call_tool("add", {"a": 1, "b": 2})
        told = await client.call_tool("tells", {}, progress_callback=hear)
        many: list[str] = []

        async def add(number: int) -> None:
            many.append(text_of(await client.call_tool("add", {"a": number, "b": 0})))

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(add, number)

    assert names == [each.name for each in TOOLBOX]
    assert (text_of(added), text_of(told)) == ("3", "told")
    assert heard == ["begun", "still there", "no number", None]
    assert sorted(map(int, many)) == list(range(20))


@requirement("mcp-server.http")
async def test_answers_may_be_plain_json() -> None:
    async with over_http(options=HttpOptions(json_answers=True, path="/tools")) as (url, _), session(url) as raw:
        answer = await raw.post(call(1, "add", a=1, b=2))

    assert url.endswith("/tools")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["content"] == [{"type": "text", "text": "3"}]


@requirement("mcp-server.http.names")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "evil.example.com"}, 421),
        ({"origin": "https://evil.example.com"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
    ids=str,
)
async def test_on_loopback_only_requests_that_name_it_are_answered(headers: dict[str, str], status: int) -> None:
    async with over_http() as (url, _), httpx2.AsyncClient(timeout=20) as http:
        answer = await http.post(url, json=hello(), headers={**HEADERS, **headers})

    assert answer.status_code == status


@requirement("mcp-server.http.names")
async def test_elsewhere_the_host_says_which_names_are_its_own() -> None:
    options = HttpOptions(allowed_hosts=["tools.example.com"])
    async with over_http(options=options) as (url, _), httpx2.AsyncClient(timeout=20) as http:
        mine = await http.post(url, json=hello(), headers={**HEADERS, "host": "tools.example.com"})
        other = await http.post(url, json=hello(), headers=HEADERS)

    assert (mine.status_code, other.status_code) == (200, 421)


@tool(effect="read-only")
async def whoami(ctx: ToolContext) -> str:
    """Tell on whose behalf this runs."""
    assert ctx.request_context is not None
    return str(ctx.request_context.principal)


@requirement("mcp-server.http.tokens", "mcp-server.authority")
@on_each_protocol
async def test_nobody_gets_in_without_a_token_and_the_host_is_told_whose_it_is(mode: Mode) -> None:
    def whose(request: McpRequest) -> RequestContext:
        assert request.access is not None and request.headers["x-department"] == "tools"
        return RequestContext(principal=request.access.client_id)

    options = HttpOptions(token_verifier=StaticToken("s3cret", "ann"))
    async with over_http(Toolbox([whoami]), options, request_context=whose) as (url, _):
        async with httpx2.AsyncClient(timeout=20) as http:
            for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic s3cret"}):
                refused = await http.post(url, json=hello(), headers={**HEADERS, **given})
                assert refused.status_code == 401, given
        allowed = {"authorization": "Bearer s3cret", "x-department": "tools"}
        async with httpx2.AsyncClient(headers=allowed, timeout=20) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode) as client:
                said = text_of(await client.call_tool("whoami", {}))

    assert said == "ann"


class Everybody(TokenVerifier):
    """Takes every token for the name of whoever shows it."""

    async def verify_token(self, token: str) -> AccessToken | None:
        await trio.lowlevel.checkpoint()
        return AccessToken(token=token, client_id=token, scopes=[])


@requirement("mcp-server.http.tokens")
async def test_a_session_belongs_to_who_opened_it() -> None:
    options = HttpOptions(token_verifier=Everybody(), json_answers=True)
    ann, eve = ({**HEADERS, "authorization": f"Bearer {who}"} for who in ("ann", "eve"))
    async with over_http(options=options) as (url, _), httpx2.AsyncClient(timeout=20) as http:
        opened = await http.post(url, json=hello(), headers=ann)
        own = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        mine = await http.post(url, json=call(1, "add", a=1, b=2), headers={**ann, **own})
        stolen = await http.post(url, json=call(1, "add", a=1, b=2), headers={**eve, **own})

    assert (mine.status_code, stolen.status_code) == (200, 404)


@requirement("mcp-server.http")
async def test_the_application_can_be_served_by_somebody_else() -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        app = McpServer(supervisor).app(HttpOptions(json_answers=True, kept_events=0))
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://tools.example.com") as http,
        ):
            opened = await http.post("/mcp", json=hello(), headers=HEADERS)
            own = {**HEADERS, "mcp-session-id": opened.headers["mcp-session-id"]}
            answered = await http.post("/mcp", json=call(1, "add", a=1, b=2), headers=own)

    assert answered.json()["result"]["content"][0]["text"] == "3"


@requirement("mcp-server.http.tokens")
async def test_clients_are_told_where_to_get_tokens() -> None:
    auth = AuthSettings.model_validate(
        {
            "issuer_url": "https://issuer.example.com",
            "resource_server_url": "https://tools.example.com/mcp",
            "required_scopes": ["tools"],
            "validate_token_resource": False,
        }
    )
    options = HttpOptions(token_verifier=StaticToken("s3cret"), auth=auth)
    async with over_http(options=options) as (url, _), httpx2.AsyncClient(timeout=20) as http:
        refused = await http.post(url, json=hello(), headers={**HEADERS, "authorization": "Bearer s3cret"})
        told = await http.get(f"{url.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp")

    assert refused.status_code == 403  # this token has no scopes
    assert told.json()["authorization_servers"] == ["https://issuer.example.com"]


@requirement("mcp-server.http.resume")
async def test_a_client_that_was_cut_off_gets_what_it_missed_of_its_own_session() -> None:
    go = trio.Event()

    @tool(effect="read-only")
    async def gate(name: str, ctx: ToolContext) -> str:
        ctx.log("info", f"{name} at the gate")
        await go.wait()
        return f"{name} is through"

    async with over_http(Toolbox([gate])) as (url, _), session(url) as one, session(url) as other:
        # Both sessions use the same request id, by which alone the SDK names what it keeps.
        first = await one.events_until(call(1, "gate", name="one"), 2)
        second = await other.events_until(call(1, "gate", name="other"), 2)
        go.set()
        rest = [await one.resume(first[-1][0], 1), await other.resume(second[-1][0], 1)]
        foreign = await one.post(call(2, "gate", name="still one"))

    assert ["at the gate" in events[-1][1] for events in (first, second)] == [True, True]
    assert ["one is through" in rest[0][0][1], "other is through" in rest[1][0][1]] == [True, True]
    assert "still one is through" in foreign.text


@requirement("mcp-server.http.resume")
async def test_a_history_is_bounded_and_keeps_streams_apart() -> None:
    history, sent, general = History(3, Shelf(10_000)), list[str | None](), GET_STREAM_KEY

    async def send(event: object) -> None:
        sent.append(cast("str | None", getattr(event, "event_id", None)))

    ids = [
        await history.store_event(stream, None if number == 1 else _message())
        for number, stream in enumerate(["a", "a", general, "a", general])
    ]
    forgotten = await history.replay_events_after(ids[0], send)
    stream = await history.replay_events_after(ids[2], send)
    unknown = await history.replay_events_after("no number", send)

    assert (forgotten, stream, unknown) == (None, general, None)
    assert sent == [ids[4]]


def _answer(size: int) -> jsonrpc.JSONRPCResponse:
    return jsonrpc.JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "x" * size})


@requirement("mcp-server.http.resume")
async def test_what_all_sessions_keep_is_bounded_in_bytes_and_the_oldest_is_forgotten_first() -> None:
    shelf, sent = Shelf(10_000), list[str | None]()
    first, second, third = (History(256, shelf) for _ in range(3))

    async def send(event: EventMessage) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(event.event_id)

    primed: list[str] = []
    for history in (first, second, third):
        primed.append(await history.store_event("1", None))
        await history.store_event("1", _answer(4_000))
        assert shelf.size <= 10_000
    with trio.fail_after(5):
        for history, last in zip((first, second, third), primed, strict=True):
            assert await history.replay_events_after(last, send) is None
    assert sent == ["2", "2"]  # those of the second and of the third

    await third.store_event("2", _answer(4_000))
    await third.store_event("3", None)
    before = shelf.size
    await second.store_event("2", _answer(50_000))
    assert shelf.size <= before  # it is nobody else's loss
    del history, first, second, third
    gc.collect()
    assert shelf.size == 0


@requirement("mcp-server.http.resume")
async def test_who_comes_back_for_an_answer_that_is_not_kept_learns_that_its_stream_is_over() -> None:
    history = History(9, Shelf(1_000))
    primed = await history.store_event("1", None)
    await history.store_event("1", _answer(5_000))
    with trio.fail_after(5):
        assert await history.replay_events_after(primed, _never) is None


async def _never(event: EventMessage) -> None:
    await trio.lowlevel.checkpoint()
    pytest.fail(f"it was sent {event}")


@requirement("mcp-server.http.resume")
async def test_who_comes_back_for_an_answer_gets_it_also_if_it_comes_in_that_moment() -> None:
    history, sent = History(9, Shelf(10_000)), list[str | None]()
    primed = await history.store_event("1", None)

    async def send(event: EventMessage) -> None:
        if not sent:
            await history.store_event("2", _message())
            await history.store_event("1", _ANSWER)  # while the client is sent what it missed
        sent.append(event.event_id)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(history.replay_events_after, primed, send)
        await trio.testing.wait_all_tasks_blocked()
        first = await history.store_event("1", _message())

    assert sent == [first, str(int(first) + 2)]
    assert await history.replay_events_after(sent[1] or "", send) is None  # it has the answer


@requirement("mcp-server.http.resume")
async def test_several_who_come_back_at_once_each_get_their_answer() -> None:
    history, sent = History(9, Shelf(10_000)), list[str | None]()
    primed = [await history.store_event(stream, None) for stream in "ab"]

    async def send(event: EventMessage) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(event.event_id)

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for last in primed:
                nursery.start_soon(history.replay_events_after, last, send)
            await trio.testing.wait_all_tasks_blocked()
            answers = [await history.store_event(stream, _ANSWER) for stream in "ab"]
    assert sorted(filter(None, sent)) == answers


@requirement("mcp-server.http.resume")
async def test_who_does_not_read_keeps_nothing_that_is_forgotten_but_its_answer() -> None:
    history, sent = History(256, Shelf(10_000)), list[int]()
    primed = await history.store_event("1", None)
    read = trio.Event()

    async def send(event: EventMessage) -> None:
        sent.append(int(event.event_id or "0"))
        await read.wait()

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(history.replay_events_after, primed, send)
            await trio.testing.wait_all_tasks_blocked()
            told = [int(await history.store_event("1", _message(4_000)))]
            await trio.testing.wait_all_tasks_blocked()
            told += [int(await history.store_event("1", _message(4_000))) for _ in range(9)]
            answer = int(await history.store_event("1", _answer(4_000)))
            read.set()
    assert sent == [told[0], told[-1], answer]


@requirement("mcp-server.http.resume")
async def test_who_reads_slowly_still_gets_the_answer_however_much_others_were_sent() -> None:
    history, sent = History(3, Shelf(10_000)), list[str | None]()
    primed = await history.store_event("1", None)
    read = trio.Event()

    async def send(event: EventMessage) -> None:
        sent.append(event.event_id)
        await read.wait()

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(history.replay_events_after, primed, send)
            await trio.testing.wait_all_tasks_blocked()
            first = await history.store_event("1", _message())
            await trio.testing.wait_all_tasks_blocked()
            answer = await history.store_event("1", _ANSWER)
            for _ in range(9):
                await history.store_event("2", _message())
            read.set()
    assert sent == [first, answer]


_ANSWER = jsonrpc.JSONRPCResponse(jsonrpc="2.0", id=1, result={})


def _message(size: int = 0) -> jsonrpc.JSONRPCMessage:
    return jsonrpc.JSONRPCNotification(jsonrpc="2.0", method="x", params={"text": "x" * size})


@requirement("mcp-server.http.gone")
async def test_a_dropped_request_of_a_session_goes_on_and_a_deleted_session_aborts_its_calls() -> None:
    async with over_http() as (url, supervisor), session(url) as raw:
        await raw.events_until(call(1, "nap", seconds=3600), 1)
        await trio.sleep(0.05)
        after_drop = supervisor.active
        await raw.http.delete(url, headers=raw.headers)
        await supervisor.wait_idle()
        [shot] = supervisor.executions.inspect()
        gone = await raw.post(call(2, "add", a=1, b=2))

    assert (after_drop, shot.outcome) == (1, "error")
    assert gone.status_code == 404


@requirement("mcp-server.http.gone")
async def test_a_later_client_that_drops_its_request_aborts_the_call() -> None:
    request = call(1, "nap", seconds=3600)
    cast("dict[str, object]", request["params"])["_meta"] = MODERN_META
    headers = {**HEADERS, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "nap"}
    async with over_http() as (url, supervisor), httpx2.AsyncClient(timeout=20) as http:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(http.post, url, json=request, headers=headers))
            await until_active(supervisor)
            nursery.cancel_scope.cancel()
        await supervisor.wait_idle()
        [shot] = supervisor.executions.inspect()

    assert shot.outcome == "error" and shot.abort is not None and shot.abort.source == "caller"


@requirement("mcp-server.http", "mcp-server.cancel")
async def test_a_session_that_cancels_its_call_ends_that_request() -> None:
    async with over_http() as (url, supervisor), session(url) as raw:
        async with trio.open_nursery() as nursery:
            answers: list[httpx2.Response] = []

            async def wait() -> None:
                answers.append(await raw.post(call(1, "nap", seconds=3600)))

            nursery.start_soon(wait)
            await until_active(supervisor)
            cancel = {"requestId": 1, "reason": "not needed"}
            await raw.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
        alive = await raw.post(call(2, "add", a=1, b=2))

    # On this wire a request ends with an answer, so it is told that it was cancelled.
    assert "-32800" in answers[0].text and "rested" not in answers[0].text
    assert '"3"' in alive.text


@requirement("mcp-server.drain", "mcp-server.http")
@on_each_protocol
async def test_a_shut_down_answers_what_runs_and_ends_the_serving(mode: Mode) -> None:
    said: list[str] = []
    request = call(1, "nap", seconds=0.2)
    headers: dict[str, str] = {}
    if mode == MODERN:
        cast("dict[str, object]", request["params"])["_meta"] = MODERN_META
        headers = {**HEADERS, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "nap"}
    with trio.fail_after(30):
        async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
            url = await nursery.start(partial(McpServer(supervisor).serve_http, port=0))
            async with session(url) as raw, trio.open_nursery() as calls:

                async def nap() -> None:
                    said.append((await raw.http.post(url, json=request, headers=headers or raw.headers)).text)

                calls.start_soon(nap)
                await until_active(supervisor)
                await supervisor.shutdown()

    assert "rested" in said[0]


@requirement("mcp-server.http")
async def test_cancelled_the_serving_closes_its_socket() -> None:
    with trio.fail_after(30):
        async with open_supervisor(TOOLBOX) as supervisor:
            async with trio.open_nursery() as nursery:
                url = await nursery.start(partial(McpServer(supervisor).serve_http, port=0))
                nursery.cancel_scope.cancel()
            port = int(url.rpartition(":")[2].partition("/")[0])
            with pytest.raises(OSError):  # noqa: PT011  # nobody listens
                await trio.open_tcp_stream("127.0.0.1", port)


@requirement("mcp-server.http")
async def test_an_address_that_is_taken_is_an_error_of_its_own() -> None:
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener, open_supervisor(TOOLBOX) as supervisor:
        port = cast("tuple[str, int]", listener.socket.getsockname())[1]
        with pytest.raises(OSError, match="in use"):
            await McpServer(supervisor).serve_http(port=port)


@requirement("mcp-server.arguments")
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"path": "mcp"}, "path"),
        ({"path": 3}, "path"),
        ({"auth": "s3cret"}, "auth"),
        ({"allowed_hosts": "localhost"}, "allowed_hosts"),
        ({"allowed_origins": [3]}, "allowed_origins"),
        ({"max_body_bytes": 0}, "max_body_bytes"),
        ({"max_sessions": "9"}, "max_sessions"),
        ({"kept_events": -1}, "kept_events"),
        ({"kept_bytes": 0}, "kept_bytes"),
        ({"session_idle": float("nan")}, "session_idle"),
        ({"json_answers": 1}, "json_answers"),
    ],
    ids=str,
)
def test_a_wrong_option_of_http_is_refused_with_its_name(options: dict[str, object], field: str) -> None:
    with pytest.raises(DefinitionError, match=field):
        HttpOptions(**options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # what is refused


@requirement("mcp-server.http.names")
@pytest.mark.parametrize(
    ("host", "only_here"),
    [("localhost", True), ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("0.0.0.0", False), ("a.b", False)],  # noqa: S104  # as said
)
def test_what_is_reached_from_this_machine_alone_is_known(host: str, *, only_here: bool) -> None:
    assert is_loopback(host) is only_here


@requirement("mcp-server.http.tokens")
def test_a_token_is_not_shown() -> None:
    assert "s3cret" not in repr(StaticToken("s3cret"))
    with pytest.raises(DefinitionError, match="token: is blank"):
        StaticToken(" ")


@requirement("mcp-server.drain")
@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system bounds no writes")
async def test_a_client_that_reads_nothing_does_not_keep_the_server_from_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @tool(effect="read-only")
    async def big() -> str:
        return "x" * 8_000_000

    monkeypatch.setattr("armory_trio.integrations.mcp.server._http._UNREAD", 0.3)
    ended = trio.Event()
    async with open_supervisor(Toolbox([big])) as supervisor, trio.open_nursery() as nursery:

        async def serve(task_status: trio.TaskStatus[str]) -> None:  # noqa: ASYNC128  # what it serves says so
            await McpServer(supervisor).serve_http(port=0, task_status=task_status)
            ended.set()

        url: str = await nursery.start(serve)
        opened = await trio.open_tcp_stream("127.0.0.1", httpx2.URL(url).port or 0)
        async with httpx2.AsyncClient() as http, opened as stream:
            raw = await open_session(http, url)
            body = json.dumps(call(1, "big")).encode()
            headers = {**raw.headers, "host": "127.0.0.1", "content-length": str(len(body))}
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            await stream.send_all(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
            await trio.lowlevel.wait_readable(stream.socket)
            await raw.post({"jsonrpc": "2.0", "id": 2, "method": "ping"})
            await supervisor.shutdown("abort")
            with trio.fail_after(25):
                await ended.wait()
