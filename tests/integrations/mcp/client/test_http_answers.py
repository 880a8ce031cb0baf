"""Answers over HTTP that no server should give: each costs its own call, and nothing besides."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

import pytest
import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.integrations.mcp.client import HttpServer, open_mcp
from tests.integrations.mcp.client.http_servers import answering, response
from tests.integrations.mcp.client.rough import QUICK
from tests.integrations.mcp.client.test_http import Host, done, go
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""

JSON: Final = "application/json"
PIT: Final = "[" * 100_000 + "]" * 100_000
SQUEEZED: Final = response(200, b"not squeezed", content_type=JSON, content_encoding="gzip")


def said(request: object, members: str, status: int = 200) -> bytes:
    """An answer with these members, as they stand."""
    body = f'{{"jsonrpc":"2.0","id":{json.dumps(request)},{members}}}'
    return response(status, body.encode(), content_type=JSON)


def content(members: str) -> str:
    return f'"result":{{"content":[{{"type":"text","text":"a"}}],{members}}}'


REFUSED: Final = ',"error":{"code":-32602,"message":"x"}'
Answers = Callable[[object], bytes]

UNREADABLE: Final[Mapping[str, Answers]] = {
    "deeper than anybody reads": lambda request: said(request, f'"result":{PIT}'),
    "deep inside": lambda request: said(request, content(f'"structuredContent":{{"a":{"[" * 500 + "]" * 500}}}')),
    "not squeezed as it says": lambda _: SQUEEZED,
    "a request": lambda request: said(request, '"method":"ping"'),
    "neither a result nor an error": lambda request: said(request, '"x":1'),
    "a result that is a text": lambda request: said(request, '"result":"x"'),
    "a result and an error": lambda request: said(request, content('"n":1') + REFUSED),
    "a result in other letters and an error": lambda request: said(
        request, content('"n":1').replace('"result"', '"r\\u0065sult"') + REFUSED
    ),
    "a request and an error": lambda request: said(request, '"method":"ping"' + REFUSED),
    "an error without words": lambda request: said(request, '"error":{"code":-32602}'),
    "a number that is too long": lambda request: said(request, content(f'"n":{"9" * 6_000}')),
    "a result of an unknown kind": lambda request: said(request, '"result":{"resultType":"task","task":{}}'),
    "a result of no kind": lambda request: said(request, '"result":{"resultType":5}'),
}


@requirement("mcp-client.http", "mcp-client.stray")
@pytest.mark.parametrize("case", UNREADABLE)
async def test_what_is_no_answer_is_told_as_that_and_harms_no_other_call(case: str) -> None:
    ends = [UNREADABLE[case], done]

    def call(request: object) -> bytes:
        return ends.pop(0)(request)

    host = Host(call)
    with trio.fail_after(30):  # nobody waits until the call was idle for too long
        failed, after = await go(host, 2)
    assert failed.error is not None
    assert (failed.error.code, failed.effect) == ("OUTPUT_INVALID", "unknown")
    assert "validation error" not in failed.error.message
    assert (after.value, host.sessions) == ("gone", 1)


@requirement("mcp-client.http", "mcp-client.stray")
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(response(500, b"x", content_type="text/plain", content_encoding="gzip"), id="not squeezed"),
        pytest.param(said(10**6, '"error":{"code":-32602,"message":"x"}', 500), id="about another request"),
        pytest.param(said("1000000", '"error":{"code":-32602,"message":"x"}', 500), id="about another in other words"),
        pytest.param(response(500, f'{{"x":{PIT}}}'.encode(), content_type=JSON), id="deep"),
    ],
)
async def test_a_status_counts_where_its_body_says_nothing(answer: bytes) -> None:
    ends = [answer, b""]
    host = Host(lambda request: ends.pop(0) or done(request))
    failed, after = await go(host, 2)
    assert failed.error is not None
    assert (failed.error.code, failed.effect) == ("TRANSIENT_ERROR", "unknown")
    assert (after.value, host.sessions) == ("gone", 1)


@requirement("mcp-client.http")
async def test_of_a_refusal_no_more_is_read_than_of_an_answer() -> None:
    host, taken = Host(lambda _: b"HTTP/1.1 500 X\r\ncontent-type: text/plain\r\n\r\n"), 0

    async def pour(stream: trio.SocketStream, head: bytes) -> None:
        nonlocal taken
        await stream.send_all(head)
        while True:
            await stream.send_all(bytes(100_000))
            taken += 100_000

    async with (
        answering(host, pour) as url,
        open_mcp(HttpServer(url, max_message=50_000), name="web", reconnect=QUICK) as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        with trio.fail_after(30):
            failed = await supervisor.execute(ToolCall("go"))
        assert failed.error is not None
        assert (failed.error.code, failed.effect, connection.state) == ("TRANSIENT_ERROR", "unknown", "open")
    assert taken < 50_000_000  # what the system takes of its own accord


@requirement("mcp-client.content")
async def test_half_a_character_costs_no_answer() -> None:
    [answered] = await go(
        Host(lambda request: said(request, '"result":{"content":[{"type":"text","text":"\\ud800x"}]}'))
    )
    assert answered.value == "\ufffdx"


@requirement("mcp-client.errors")
async def test_a_result_beside_an_error_that_is_null_is_a_result() -> None:
    [answered] = await go(Host(lambda request: said(request, content('"n":1') + ',"error":null')))
    assert answered.value == "a"


@requirement("mcp-client.errors")
async def test_an_error_beside_a_result_that_is_null_is_an_error() -> None:
    [refused] = await go(Host(lambda request: said(request, '"result":null' + REFUSED)))
    assert refused.error is not None
    assert (refused.error.code, refused.effect) == ("INVALID_ARGUMENTS", "none")


@requirement("mcp-client.errors")
@pytest.mark.parametrize("word", ["true", "1", '"true"', "{}"])
async def test_whatever_says_that_the_tool_failed_is_its_error(word: str) -> None:
    [failed] = await go(Host(lambda request: said(request, content(f'"isError":{word}'))))
    assert failed.error is not None
    assert (failed.error.code, failed.error.message, failed.effect) == ("TOOL_REPORTED_ERROR", "a", "unknown")


@requirement("mcp-client.content")
@pytest.mark.parametrize("words", ["a", "\ud800"], ids=["whole", "mended"])
async def test_a_byte_order_mark_in_front_costs_no_answer(words: str) -> None:
    def marked(request: object) -> bytes:
        told = {"jsonrpc": "2.0", "id": request, "result": {"content": [{"type": "text", "text": words}]}}
        return response(200, b"\xef\xbb\xbf" + json.dumps(told).encode(), content_type=JSON)

    [answered] = await go(Host(marked))
    assert answered.value == words.replace("\ud800", "\ufffd")


@requirement("mcp-client.content")
async def test_content_that_is_no_list_is_described() -> None:
    [answered] = await go(Host(lambda request: said(request, '"result":{"content":"hello"}')))
    assert "hello" in str(answered.value)


@requirement("mcp-client.errors", "mcp-client.http")
async def test_an_error_that_comes_on_a_resumed_stream_is_that_error() -> None:
    asked: list[object] = []

    def begin(request: object) -> bytes:
        asked.append(request)
        return response(200, b"id: 1\nretry: 1\ndata:\n\n", content_type="text/event-stream")

    class Resumed(Host):
        def __call__(self, method: str, headers: dict[str, str], body: bytes) -> bytes | None:
            if method == "GET" and "last-event-id" in headers:
                refusal = {"jsonrpc": "2.0", "id": asked[0], "error": {"code": -32602, "message": "no such thing"}}
                rest = f"id: 2\nevent: message\ndata: {json.dumps(refusal)}\n\n"
                return response(200, rest.encode(), content_type="text/event-stream")
            return super().__call__(method, headers, body)

    [refused] = await go(Resumed(begin))
    assert refused.error is not None
    assert (refused.error.code, refused.effect) == ("INVALID_ARGUMENTS", "none")
