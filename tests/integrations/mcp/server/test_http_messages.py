"""What is posted to a session and is no message, or looks like another one."""

from __future__ import annotations

import json

import pytest
import trio
from starlette.types import Message, Scope

from armory_trio import Toolbox
from armory_trio.integrations.mcp.server import HttpOptions
from armory_trio.integrations.mcp.server._posts import Posts
from tests.integrations.mcp.server.serving import until_active
from tests.integrations.mcp.server.test_http import HEADERS, Raw, call, hello, over_http, session
from tests.integrations.mcp.server.test_http_leaving import Held
from tests.integrations.mcp.server.test_lines import inquire
from tests.requirements import requirement

# The HTTP client leaves generators of its own to the garbage collector when a stream is cut off.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")


@requirement("mcp-server.ids", "mcp-server.http")
@pytest.mark.parametrize("second", [7, "7"], ids=["the same id", "one that looks alike"])
async def test_a_request_whose_id_is_under_way_in_a_session_is_refused_and_the_first_is_answered(
    second: int | str,
) -> None:
    answers = list[str]()
    async with over_http() as (url, supervisor), session(url) as raw, trio.open_nursery() as nursery:

        async def first() -> None:
            answers.append((await raw.post(call(7, "nap", seconds=0.3))).text)

        nursery.start_soon(first)
        await until_active(supervisor)
        refused = await raw.post({**call(7, "add", a=1, b=2), "id": second})
        other = await raw.post(call(8, "add", a=1, b=2))
    assert refused.status_code == 400
    assert refused.json()["error"] == {
        "code": -32600,
        "message": f"Invalid request: a request with the id {second!r} is under way",
    }
    assert '"3"' in other.text
    assert '"id":7,"result"' in answers[0]


@requirement("mcp-server.ids", "mcp-server.http")
async def test_an_id_is_under_way_until_its_request_is_answered_even_if_its_stream_was_closed_before() -> None:
    held = Held()
    async with over_http(held.toolbox, options=HttpOptions(stream_for=0.1)) as (url, _), session(url) as raw:
        closed = await raw.post(call(7, "held"))
        refused = await raw.post(call(7, "held"))
        held.go_on.set()
        place = closed.text.split("id: ")[1].split()[0]
        [(_, answer)] = await raw.resume(place, 1)
        again = await raw.post(call(7, "held"))
    assert "result" not in closed.text
    assert refused.status_code == 400
    assert "a request with the id 7 is under way" in refused.text
    assert '"id":7,"result"' in answer
    assert '"done"' in again.text


@requirement("mcp-server.ids", "mcp-server.http")
async def test_no_request_goes_by_the_name_of_the_stream_of_no_request() -> None:
    async with (
        over_http() as (url, _),
        session(url) as raw,
        raw.http.stream("GET", url, headers=raw.headers) as general,
    ):
        refused = await raw.post({**call(7, "add", a=1, b=2), "id": "_GET_stream"})
        after = await raw.post(call(8, "add", a=1, b=2))
    assert (general.status_code, refused.status_code) == (200, 400)
    assert "the stream of no request" in refused.text
    assert '"3"' in after.text


@requirement("mcp-server.http")
@pytest.mark.parametrize("size", [1_000, 20, 0], ids=["all of a call", "a part of it", "nothing"])
async def test_a_client_that_leaves_before_it_has_said_all_asked_for_nothing(size: int) -> None:
    body = json.dumps(call(7, "add", a=1, b=2)).encode()[:size]
    left: list[Message] = [{"type": "http.disconnect"}]
    came = [{"type": "http.request", "body": body, "more_body": True}, *left] if body else left

    async def receive() -> Message:
        await trio.lowlevel.checkpoint()
        return came.pop(0)

    async def reached(*_: object) -> None:
        await trio.lowlevel.checkpoint()
        pytest.fail("it was answered")

    scope: Scope = {"type": "http", "method": "POST", "headers": [(b"mcp-session-id", b"s")]}
    await Posts(reached, 10_000)(scope, receive, reached)
    assert came == []


@requirement("mcp-server.ids", "mcp-server.http")
async def test_an_id_can_be_used_again_once_it_was_answered() -> None:
    async with over_http() as (url, _), session(url) as raw:
        for _ in range(3):
            assert '"3"' in (await raw.post(call(7, "add", a=1, b=2))).text


@requirement("mcp-server.ids", "mcp-server.http")
@pytest.mark.parametrize("wrong", [None, 1.5, True, [1], {}], ids=repr)
async def test_a_request_of_a_session_without_a_legal_id_is_refused(wrong: object) -> None:
    async with over_http() as (url, _), session(url) as raw:
        refused = await raw.post({**call(7, "add", a=1, b=2), "id": wrong})
        after = await raw.post(call(8, "add", a=1, b=2))
    assert (refused.status_code, refused.json()["error"]["code"], refused.json()["id"]) == (400, -32600, None)
    assert '"3"' in after.text


@requirement("mcp-server.http", "mcp-server.elicit.unavailable")
@pytest.mark.parametrize("answer", [{"result": None}, {"result": []}, {"error": 5}], ids=str)
async def test_an_answer_over_http_that_cannot_be_read_is_nobodys_answer(answer: dict[str, object]) -> None:
    told = list[str]()
    greeting = hello()
    params = greeting["params"]
    assert isinstance(params, dict)
    params["capabilities"] = {"elicitation": {}}
    async with over_http(Toolbox([inquire])) as (url, _), session(url) as other:
        opened = await other.http.post(url, json=greeting, headers=HEADERS)
        raw = Raw(other.http, url, opened.headers["mcp-session-id"])
        await raw.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        asking = call(7, "inquire", about="me")
        async with raw.http.stream("POST", url, json=asking, headers=raw.headers) as response:
            async for line in response.aiter_lines():
                if '"elicitation/create"' in line:
                    await raw.post({"jsonrpc": "2.0", "id": 1, **answer})
                told.append(line)
        await raw.http.delete(url, headers=raw.headers)
    assert "nobody answered" in told[-2] + told[-1], told


@requirement("mcp-server.http")
async def test_a_message_that_is_too_long_is_refused_as_ever() -> None:
    async with over_http() as (url, _), session(url) as raw:
        refused = await raw.post(call(7, "add", a=1, b="x" * 5_000_000))
        after = await raw.post(call(8, "add", a=1, b=2))
    assert refused.status_code == 413
    assert '"3"' in after.text
