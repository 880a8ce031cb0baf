"""Servers over streamable HTTP: one that keeps to the rules, and some that do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

import pytest
import trio

from armory_trio import ToolCall, ToolResult, open_supervisor
from armory_trio.definitions import ElicitAccepted, ElicitAnswer, ElicitRequest
from armory_trio.integrations.mcp.client import ConnectionFailed, HttpServer, Reconnect, open_mcp
from tests.integrations.mcp.client.http_servers import answering, response, serving, start_serving
from tests.integrations.mcp.client.rough import QUICK
from tests.integrations.mcp.client.small_servers import counter
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""


async def three(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    return ElicitAccepted({"n": 3})


@requirement("mcp-client.http")
@pytest.mark.parametrize("json_response", [False, True], ids=["streams", "plain JSON"])
async def test_calls_go_over_http(json_response: bool) -> None:
    app = counter().streamable_http_app(json_response=json_response)
    async with (
        serving(app) as url,
        open_mcp(HttpServer(f"{url}/mcp"), name="web") as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        assert (await supervisor.execute(ToolCall("add", {"a": 1}))).value == {"result": 3}
        if not json_response:
            assert (await supervisor.execute(ToolCall("ask"), elicit=three)).value == "3 of them"
        with trio.move_on_after(0.05):
            await supervisor.execute(ToolCall("work", {"seconds": 30.0, "told": 1}))
        assert (await supervisor.execute(ToolCall("add", {"a": 2}))).value == {"result": 4}


@requirement("mcp-client.live")
async def test_changes_are_heard_of_over_http() -> None:
    async with (
        serving(counter().streamable_http_app()) as url,
        open_mcp(HttpServer(f"{url}/mcp"), name="web") as connection,
        open_supervisor(connection.live) as supervisor,
    ):
        told = trio.Event()
        connection.live.listen(lambda _: told.set())
        assert (await supervisor.execute(ToolCall("learn"))).value == "learnt"
        with trio.fail_after(5):
            await told.wait()  # it comes by another stream than the result
        assert (await supervisor.execute(ToolCall("sing"))).value == "la"


@requirement("mcp-client.http", "mcp-client.reconnect")
async def test_a_server_that_comes_back_after_a_while_is_found_again() -> None:
    add = ToolCall("add", {"a": 1})
    async with trio.open_nursery() as nursery:
        port, stop = await start_serving(nursery, counter().streamable_http_app())
        server = HttpServer(f"http://127.0.0.1:{port}/mcp", close_timeout=0.2)
        async with (
            open_mcp(server, name="web", reconnect=QUICK) as connection,
            open_supervisor(connection.toolbox()) as supervisor,
        ):
            assert (await supervisor.execute(add)).value == {"result": 3}
            stop.set()
            waiting = supervisor.start(add)
            while connection.state == "open":
                waiting = supervisor.start(add)
                await trio.sleep(0.05)
            assert "could not be reached" in connection.why
            _, stop = await start_serving(nursery, counter().streamable_http_app(), port)
            assert (await waiting.result()).value == {"result": 3}
        stop.set()


@requirement("mcp-client.opening")
async def test_a_server_that_cannot_be_reached_is_told() -> None:
    with pytest.raises(ConnectionFailed, match="could not be reached"):
        async with open_mcp(HttpServer("http://127.0.0.1:9/mcp"), name="web"):
            pytest.fail("it was entered")


class Host:
    """A server in a few lines, each part of which can be made to misbehave."""

    def __init__(self, call: Callable[[object], bytes | None]) -> None:
        self.call = call
        self.sessions = 0
        self.forgotten = False
        self.seen: list[dict[str, str]] = []

    def __call__(self, method: str, headers: dict[str, str], body: bytes) -> bytes | None:
        self.seen.append(headers)
        if method != "POST":
            return response(405)
        message = json.loads(body)
        request = message.get("id")
        match message.get("method"):
            case "initialize":
                self.sessions += 1
                self.forgotten = False
                result: dict[str, object] = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "host", "version": "1"},
                }
                return self.answer(request, result, mcp_session_id=f"s{self.sessions}")
            case "tools/list":
                return self.answer(request, {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]})
            case "tools/call":
                return self.call(request)
            case _:
                return response(202)

    @staticmethod
    def answer(request: object, result: object, **headers: str) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", "id": request, "result": result}).encode()
        return response(200, body, content_type="application/json", **headers)


def done(request: object) -> bytes:
    return Host.answer(request, {"content": [{"type": "text", "text": "gone"}]})


async def go(host: Host, times: int = 1, *, max_message: int = 2**20) -> list[ToolResult[object]]:
    async with (
        answering(host) as url,
        open_mcp(HttpServer(url, max_message=max_message), name="web", reconnect=QUICK) as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        return await supervisor.execute_batch([ToolCall("go")] * times, mode="sequential")


@requirement("mcp-client.http")
@pytest.mark.parametrize(
    ("status", "category", "code", "effect"),
    [
        (401, "permission", "SERVER_REFUSED", "none"),
        (403, "permission", "SERVER_REFUSED", "none"),
        (429, "transient", "RATE_LIMITED", "none"),
        (418, "internal", "SERVER_REFUSED", "none"),
        (500, "transient", "TRANSIENT_ERROR", "unknown"),
        (599, "transient", "TRANSIENT_ERROR", "unknown"),
    ],
    ids=str,
)
async def test_a_status_means_what_it_says(status: int, category: str, code: str, effect: str) -> None:
    ends = [response(status, b"<html>", content_type="text/html"), b""]
    host = Host(lambda request: ends.pop(0) or done(request))
    failed, after = await go(host, 2)
    assert failed.error is not None
    assert (failed.error.category, failed.error.code, failed.effect) == (category, code, effect)
    assert str(status) in failed.error.message
    assert after.value == "gone"
    assert host.sessions == 1


@requirement("mcp-client.http")
@pytest.mark.parametrize(
    "end",
    [
        pytest.param(None, id="no answer"),
        pytest.param(response(200, b": nothing yet\n\n", content_type="text/event-stream"), id="a stream without it"),
        pytest.param(
            b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{", id="half of it"
        ),
    ],
)
async def test_a_connection_that_breaks_in_a_call_leaves_its_effect_unknown_and_the_session_alone(
    end: bytes | None,
) -> None:
    ends: list[bytes | None] = [end, b""]

    def call(request: object) -> bytes | None:
        end = ends.pop(0)
        return None if end is None else end or done(request)

    host = Host(call)
    lost, after = await go(host, 2)
    assert lost.error is not None
    assert (lost.error.code, lost.effect) == ("CONNECTION_LOST", "unknown")
    assert (after.value, host.sessions) == ("gone", 1)


def events(*messages: str) -> bytes:
    body = "".join(f"event: message\ndata: {message}\n\n" for message in messages)
    return response(200, body.encode(), content_type="text/event-stream")


def result(request: object, words: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request, "result": {"content": [{"type": "text", "text": words}]}})


LOG: Final = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
PING: Final = '{"jsonrpc":"2.0","id":4,"method":"ping"}'
PROGRESS: Final = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4,"progress":1}}'


def plain(body: str) -> bytes:
    return response(200, body.encode(), content_type="application/json")


Answers = Callable[[object], bytes]

CROWDED: Final[Mapping[str, Answers]] = {
    "two answers": lambda request: events(result(request, "gone"), result(request, "again")),
    "a flood": lambda request: events(*[LOG] * 3_000, result(request, "gone")),
    "a request with an id that is under way": lambda request: events(PING, result(request, "gone")),
    "progress afterwards": lambda request: events(result(request, "gone"), PROGRESS, LOG),
}


@requirement("mcp-client.http", "mcp-client.receiving")
@pytest.mark.parametrize("case", CROWDED)
async def test_what_else_comes_with_an_answer_does_not_harm_it(case: str) -> None:
    host = Host(CROWDED[case])
    assert [each.value for each in await go(host, 2)] == ["gone", "gone"]
    assert host.sessions == 1


NONE: Final[Mapping[str, tuple[Answers, str]]] = {
    "broken JSON": (lambda _: plain("{nope"), "cannot be read"),
    "a list": (lambda _: plain("[]"), "cannot be read"),
    "the answer to another request": (lambda _: plain(result(10**6, "x")), "answered another request"),
    "too long": (lambda request: plain(result(request, "x" * 5_000)), "more than 4,000 bytes"),
    "a page": (lambda _: response(200, b"<p>", content_type="text/html"), "200 without an answer"),
    "no answer": (lambda _: response(202), "202 without an answer"),
}


@requirement("mcp-client.http", "mcp-client.stray")
@pytest.mark.parametrize("case", NONE)
async def test_an_answer_over_http_that_is_none_ends_its_own_call_at_once(case: str) -> None:
    answer, told = NONE[case]
    ends = [answer, done]

    def call(request: object) -> bytes:
        return ends.pop(0)(request)

    host = Host(call)
    with trio.fail_after(30):  # nobody waits until the call was idle for too long
        failed, after = await go(host, 2, max_message=4_000)
    assert failed.error is not None
    assert (failed.error.code, failed.effect) == ("OUTPUT_INVALID", "unknown")
    assert told in failed.error.message
    assert (after.value, host.sessions) == ("gone", 1)


@requirement("mcp-client.http", "mcp-client.errors")
async def test_an_error_of_the_protocol_in_plain_json_is_that_error() -> None:
    def refuse(request: object) -> bytes:
        error = {"jsonrpc": "2.0", "id": request, "error": {"code": -32602, "message": "no such thing"}}
        return response(200, json.dumps(error).encode(), content_type="application/json")

    [refused] = await go(Host(refuse))
    assert refused.error is not None
    assert (refused.error.code, refused.effect) == ("INVALID_ARGUMENTS", "none")


@requirement("mcp-client.http")
@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(response(404), id="404"),
        pytest.param(
            response(
                404,
                b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}',
                content_type="application/json",
            ),
            id="404 with words",
        ),
        pytest.param(
            response(
                400,
                b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}',
                content_type="application/json",
            ),
            id="400",
        ),
    ],
)
async def test_a_session_that_the_server_forgot_is_opened_anew_and_the_call_runs_there(refusal: bytes) -> None:
    ends = [refusal, b""]
    host = Host(lambda request: ends.pop(0) or done(request))
    [result] = await go(host)
    assert (result.value, host.sessions) == ("gone", 2)
    assert [each.state for each in result.effects] == ["nothing-happened", "completed"]


@requirement("mcp-client.http")
async def test_an_error_of_the_protocol_with_a_status_is_that_error() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such thing"}}'
    host = Host(lambda _: response(400, body, content_type="application/json"))
    [result] = await go(host)
    assert result.error is not None
    assert (result.error.code, result.effect) == ("INVALID_ARGUMENTS", "none")
    assert "no such thing" in result.error.message


@requirement("mcp-client.http")
async def test_headers_are_sent_and_never_shown() -> None:
    host = Host(done)
    server = HttpServer("http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer secret"})
    assert "secret" not in repr(server)
    async with answering(host) as url, open_mcp(HttpServer(url, headers=server.headers), name="web"):
        pass
    assert {headers.get("authorization") for headers in host.seen} == {"Bearer secret"}


@requirement("mcp-client.opening")
async def test_a_server_that_lets_nobody_in_says_so() -> None:
    def refuse(method: str, headers: dict[str, str], body: bytes) -> bytes:
        return response(403)

    async with answering(refuse) as url:
        with pytest.raises(ConnectionFailed, match="HTTP 403"):
            async with open_mcp(HttpServer(url), name="web", reconnect=Reconnect(attempts=0)):
                pytest.fail("it was entered")
