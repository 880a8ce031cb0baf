"""Answers in streams of events that no server should give, streams that go on elsewhere, and redirects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

import pytest
import trio

from armory_trio import ToolCall, ToolResult, open_supervisor
from armory_trio.integrations.mcp.client import HttpServer, _events, _record, open_mcp
from tests.integrations.mcp.client.http_servers import answering, response
from tests.integrations.mcp.client.rough import QUICK
from tests.integrations.mcp.client.test_http import LOG, Host, done, events, go, result
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""

EVENTS: Final = "text/event-stream"
Answers = Callable[[object], bytes]


def stream(body: str, **headers: str) -> bytes:
    return response(200, body.encode(), content_type=EVENTS, **headers)


def refusal(request: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request, "error": {"code": -32602, "message": "no such thing"}})


def both(request: object) -> str:
    return json.dumps({**json.loads(result(request, "x")), **json.loads(refusal(request))})


NO_ANSWER: Final[Mapping[str, Answers]] = {
    "the result of another request": lambda _: events(result(10**6, "x")),
    "an error that another request got": lambda _: events(refusal(10**6)),
    "an error that no request got": lambda _: events(refusal(None)),
    "broken JSON": lambda _: events("{nope"),
    "a list": lambda _: events("[]"),
    "neither a result nor an error": lambda request: events(f'{{"jsonrpc":"2.0","id":{request}}}'),
    "a result and an error": lambda request: events(both(request)),
    "an error and a result in other letters": lambda request: events(
        both(request).replace('"result"', '"r\\u0065sult"')
    ),
    "an error without words": lambda request: events(f'{{"jsonrpc":"2.0","id":{request},"error":{{"code":-32602}}}}'),
    "an event that is too long": lambda request: events(result(request, "x" * 5_000)),
    "not compressed as it says": lambda request: stream(result(request, "x"), content_encoding="gzip"),
}


@requirement("mcp-client.http", "mcp-client.stray")
@pytest.mark.parametrize("case", NO_ANSWER)
async def test_what_is_no_answer_in_a_stream_ends_its_own_call_at_once_with_its_effect_unknown(case: str) -> None:
    ends = [NO_ANSWER[case], done]

    def call(request: object) -> bytes:
        return ends.pop(0)(request)

    host = Host(call)
    with trio.fail_after(30):  # nobody waits until the call was idle for too long
        failed, after = await go(host, 2, max_message=4_000)
    assert failed.error is not None
    assert (failed.error.code, failed.effect) == ("OUTPUT_INVALID", "unknown")
    assert (after.value, host.sessions) == ("gone", 1)


def indented(message: str) -> list[str]:
    return json.dumps(json.loads(message), indent=1).split("\n")


BESIDE: Final[Mapping[str, Answers]] = {
    "a notification that cannot be read": lambda request: events('{"method":5}', result(request, "gone")),
    "an event of another kind": lambda request: stream(
        f"event: ping\ndata: x\n\n: note\n\ndata: {result(request, 'gone')}\n\n"
    ),
    "a byte order mark in front": lambda request: stream(f"\ufeffdata: {result(request, 'gone')}\n\n"),
    "a byte order mark in front of a message": lambda request: stream(
        f": x\n\ndata: \ufeff{result(request, 'gone')}\n\n"
    ),
    "a word that it is in UTF-16": lambda request: response(
        200, f"data: {result(request, 'gone')}\n\n".encode(), content_type=f"{EVENTS}; charset=utf-16"
    ),
    "a word that it is in letters for mail": lambda request: response(
        200, f"\ufeffdata: {result(request, 'gone')}\n\n".encode(), content_type=f"{EVENTS}; charset=base64"
    ),
    "its id as a text": lambda request: events(result(str(request), "gone")),
    "in pieces of lines": lambda request: stream(
        "".join(f"data: {line}\r\n" for line in indented(result(request, "gone"))) + "\r\n"
    ),
}


@requirement("mcp-client.http", "mcp-client.receiving")
@pytest.mark.parametrize("case", BESIDE)
async def test_what_is_odd_about_a_stream_costs_no_answer(case: str) -> None:
    host = Host(BESIDE[case])
    assert [each.value for each in await go(host, 2)] == ["gone", "gone"]
    assert host.sessions == 1


@requirement("mcp-client.content", "mcp-client.http")
async def test_half_a_character_in_a_stream_costs_no_answer() -> None:
    [answered] = await go(Host(lambda request: events(result(request, "\ud800x"))))
    assert answered.value == "\ufffdx"


@requirement("mcp-client.content", "mcp-client.http")
async def test_a_stream_is_read_as_utf_8_whatever_it_says() -> None:
    def call(request: object) -> bytes:
        told = json.dumps(json.loads(result(request, "ü\u2028€")), ensure_ascii=False)
        return response(200, f"data: {told}\n\n".encode(), content_type=f"{EVENTS}; charset=iso-8859-1")

    [answered] = await go(Host(call))
    assert answered.value == "ü\u2028€"


class Resuming(Host):
    """A server that breaks each stream off after its first event, and answers whoever comes back for the rest."""

    def __init__(self, rest: Answers, *, retry: str = "1", event: str = "one") -> None:
        super().__init__(self.begin)
        self.rest, self.retry, self.event = rest, retry, event
        self.request: object = None
        self.asked: list[str] = []

    def begin(self, request: object) -> bytes:
        self.request = request
        return stream(f"id: {self.event}\nretry: {self.retry}\ndata:\n\n")

    def __call__(self, method: str, headers: dict[str, str], body: bytes) -> bytes | None:
        if method == "GET" and "last-event-id" in headers:
            self.asked.append(headers["last-event-id"])
            return self.rest(self.request)
        return super().__call__(method, headers, body)


@requirement("mcp-client.http.rest")
@pytest.mark.parametrize(
    ("event", "asked"), [("é/日本", "é/日本"), ("  one ", "one"), ("a\tb", "a\tb"), ("x" * 1_024, "x" * 1_024)]
)
async def test_whatever_an_event_is_called_the_rest_is_asked_for(event: str, asked: str) -> None:
    host = Resuming(lambda request: events(result(request, "gone")), event=event)
    [answered] = await go(host)
    assert (answered.value, host.asked) == ("gone", [asked])


@requirement("mcp-client.http.rest", "mcp-client.bounds")
async def test_an_event_with_a_name_that_is_too_long_is_no_place_to_come_back_to() -> None:
    host = Resuming(lambda request: events(result(request, "gone")), event="x" * 1_025)
    [lost] = await go(host)
    assert lost.error is not None
    assert (lost.error.code, lost.effect, host.asked) == ("CONNECTION_LOST", "unknown", [])


@requirement("mcp-client.http", "mcp-client.stray")
async def test_the_rest_of_a_stream_is_asked_for_in_the_servers_words_and_looked_at_as_well() -> None:
    host = Resuming(lambda _: events(result(10**6, "of another")), event='a "b" /1')
    with trio.fail_after(30):
        [failed] = await go(host)
    assert failed.error is not None
    assert (failed.error.code, failed.effect) == ("OUTPUT_INVALID", "unknown")
    assert host.asked == ['a "b" /1']


class Quiet(Resuming):
    """A server whose rests of streams say this, so many times, before one brings the answer."""

    def __init__(self, words: str, times: int) -> None:
        super().__init__(self.say)
        self.words, self.times = words, times

    def say(self, request: object) -> bytes:
        self.times -= 1
        return stream(self.words) if self.times >= 0 else events(result(request, "gone"))


@requirement("mcp-client.http.rest")
async def test_a_server_that_keeps_nothing_of_a_stream_is_not_asked_for_it_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_record, "_EMPTY_FOR", 0.0)
    host = Quiet("", 3)
    with trio.fail_after(30):  # nobody waits until the call was idle for too long
        lost, after = await go(host, 2)
    assert lost.error is not None
    assert (lost.error.code, lost.effect) == ("CONNECTION_LOST", "unknown")
    assert "its answer did not come" in lost.error.message
    assert (len(host.asked), after.value, host.sessions) == (4, "gone", 1)


@requirement("mcp-client.http.rest")
@pytest.mark.parametrize(
    ("words", "seconds", "at_once"),
    [
        pytest.param("", 20.0, 1.0, id="not for long"),
        pytest.param("", 0.0, 0.0, id="after a while"),
        pytest.param("retry: 1\n\n", 0.0, 1.0, id="with a time to come back"),
        pytest.param("id: two\ndata:\n\n", 0.0, 1.0, id="with a place to come back to"),
    ],
)
async def test_a_server_that_has_no_answer_yet_is_asked_again(
    words: str, seconds: float, at_once: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_record, "_EMPTY_FOR", seconds)
    monkeypatch.setattr(_events, "_AT_ONCE", at_once)
    host = Quiet(words, 6)
    with trio.fail_after(30):
        [answered] = await go(host)
    assert (answered.value, len(host.asked)) == ("gone", 7)


@requirement("mcp-client.http")
@pytest.mark.parametrize("retry", ["-1", "0", "9" * 400])
async def test_no_time_that_a_server_names_for_coming_back_harms_the_connection(retry: str) -> None:
    host = Resuming(lambda request: events(result(request, "gone")), retry=retry)
    async with (
        answering(host) as url,
        open_mcp(HttpServer(url), name="web", reconnect=QUICK) as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        with trio.move_on_after(2):
            first = await supervisor.execute(ToolCall("go"))
            assert first.value == "gone"
        host.call = done
        assert (await supervisor.execute(ToolCall("go"))).value == "gone"
        assert (connection.state, connection.why, host.sessions) == ("open", "", 1)


@requirement("mcp-client.http", "mcp-client.stray")
async def test_what_cannot_be_read_on_the_stream_of_no_request_is_skipped() -> None:
    class Talking(Host):
        def __call__(self, method: str, headers: dict[str, str], body: bytes) -> bytes | None:
            if method == "GET":
                return stream(f"data: {{nope\n\ndata: {LOG}\n\ndata: []\n\n")
            return super().__call__(method, headers, body)

    host = Talking(done)
    async with (
        answering(host) as url,
        open_mcp(HttpServer(url), name="web", reconnect=QUICK) as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        with trio.fail_after(30):
            while connection.stray < 2:  # noqa: ASYNC110  # nobody tells
                await trio.sleep(0.01)
        assert (await supervisor.execute(ToolCall("go"))).value == "gone"
        assert host.sessions == 1


def moved(status: int, location: str | None, body: bytes = b"", kind: str = "text/html") -> bytes:
    return response(status, body, content_type=kind, **({} if location is None else {"location": location}))


@requirement("mcp-client.http", "mcp-client.errors")
@pytest.mark.parametrize("status", [307, 308], ids=str)
async def test_a_server_that_sends_the_call_to_another_one_did_not_run_it(status: int) -> None:
    ends = [moved(status, "http://elsewhere.invalid/mcp"), b""]
    host = Host(lambda request: ends.pop(0) or done(request))
    refused, after = await go(host, 2)
    assert refused.error is not None
    assert (refused.error.code, refused.effect) == ("SERVER_REFUSED", "none")
    assert str(status) in refused.error.message
    assert (after.value, host.sessions) == ("gone", 1)


@requirement("mcp-client.http", "mcp-client.errors")
@pytest.mark.parametrize(
    ("status", "location"),
    [(301, "http://a.invalid/"), (302, "/done"), (303, "/done"), (300, None), (304, None), (302, "http://[")],
    ids=str,
)
async def test_a_redirect_that_may_lead_to_what_came_of_the_call_leaves_its_effect_unknown(
    status: int, location: str | None
) -> None:
    ends: list[Answers] = [
        lambda request: moved(status, location, result(request, "by the way").encode(), "application/json"),
        done,
    ]

    def call(request: object) -> bytes:
        return ends.pop(0)(request)

    host = Host(call)
    failed, after = await go(host, 2)
    assert failed.error is not None
    assert (failed.error.code, failed.effect) == ("OUTPUT_INVALID", "unknown")
    assert str(status) in failed.error.message
    assert (after.value, host.sessions) == ("gone", 1)


class Moved(Host):
    """A server that sends calls to another address of its own, and there does what it is told to."""

    moving = False

    def __call__(self, method: str, headers: dict[str, str], body: bytes) -> bytes | None:
        if b'"tools/call"' in body:
            self.moving = not self.moving
            if self.moving:
                return moved(307, "/mcp/")
        return super().__call__(method, headers, body)


async def go_there(*ends: Answers | None) -> list[ToolResult[object]]:
    left = list(ends)

    def call(request: object) -> bytes | None:
        end = left.pop(0)
        return None if end is None else end(request)

    host = Moved(call)
    with trio.fail_after(30):
        results = await go(host, len(ends), max_message=4_000)
    assert host.sessions == 1
    return results


THERE: Final[Mapping[str, tuple[Answers | None, str]]] = {
    "no answer": (None, "CONNECTION_LOST"),
    "a stream for another": (lambda _: events(result(10**6, "x")), "OUTPUT_INVALID"),
    "JSON for another": (lambda _: Host.answer(10**6, {"content": []}), "OUTPUT_INVALID"),
    "an error": (lambda _: response(500), "TRANSIENT_ERROR"),
}


@requirement("mcp-client.http")
@pytest.mark.parametrize("case", THERE)
async def test_what_happens_where_a_call_was_redirected_to_is_its_own_affair_as_well(case: str) -> None:
    end, code = THERE[case]
    failed, after = await go_there(end, done)
    assert failed.error is not None
    assert (failed.error.code, failed.effect) == (code, "unknown")
    assert after.value == "gone"
