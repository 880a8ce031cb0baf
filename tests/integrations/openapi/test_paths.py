"""Whatever an argument holds, the request goes to the server and the path of the document."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import ToolCall, open_supervisor
from armory_trio.integrations.openapi import OperationOptions, toolbox_from_openapi
from armory_trio.integrations.openapi._operations import Operation
from armory_trio.integrations.openapi._requests import prepare
from armory_trio.integrations.openapi._servers import Server
from armory_trio.integrations.openapi._styles import Refused
from armory_trio.integrations.openapi._tools import OperationTool
from tests.requirements import requirement

from .documents import OK, call, document, get, imported, of_path, parameter
from .server import Answer, Received, json_answer, open_server

HERE: Final = "/v1/users/{id}/keys"
ID: Final = parameter("id", "path")


def _path(value: str) -> str:
    return HERE.replace("{id}", value)


@requirement("openapi.path-stays")
@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a/b", "a%2Fb"),
        ("%2f", "%252f"),
        ("...a", "...a"),
        ("a?x=1#f", "a%3Fx%3D1%23f"),
        ("a;b=c", "a%3Bb%3Dc"),
        ("//evil.example/", "%2F%2Fevil.example%2F"),
        ("@evil.example:80", "%40evil.example%3A80"),
        ("é 😀", "%C3%A9%20%F0%9F%98%80"),
        ("{id}", "%7Bid%7D"),
    ],
)
async def test_a_value_is_one_step_of_the_path(value: str, written: str) -> None:
    async with open_server() as server:
        await call(server, get(ID, path=HERE), {"id": value})

    assert server.last.target == _path(written)


@requirement("openapi.path-stays")
@pytest.mark.parametrize(
    "value",
    [
        "",
        ".",
        "..",
        "../../admin",
        "a/../b",
        "a/..",
        "..\\x",
        "./a",
        "a/.",
        "x\x00",
        "x\r\ny",
        "x\x7f",
        "\ud800",
        "...",
        "....",
        "%2e%2e",
        "%2E%2E/%2e",
        "a%2f..%2fb",
        "%252e%252e",
        "x%00",
        "%0d%0ax",
        "%250d%250a",
        "..;",
        "..;x=1/y",
        "..%3b/y",
    ],
)
async def test_a_value_that_would_lead_elsewhere_is_refused_before_anything_is_sent(value: str) -> None:
    async with open_server() as server:
        result = await call(server, get(ID, path=HERE), {"id": value})

    assert server.received == []
    assert result.error is not None
    assert (result.error.category, result.error.code, result.effect) == ("validation", "INVALID_ARGUMENTS", "none")
    assert "id" in result.error.message


@requirement("openapi.path-stays")
@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/a/{x}{y}/b", {"x": ".", "y": "."}),
        ("/a/.{x}/b", {"x": "."}),
        ("/a/.{x}/b", {"x": "\\b"}),
        ("/a/{x}", {"x": []}),
        ("/a/{x}", {"x": ["..", "b"]}),
        ("/a/{x}", {"x": None}),
        ("/a/{x}", {"x": {}}),
    ],
)
async def test_values_that_lead_elsewhere_only_together_are_refused(path: str, arguments: dict[str, object]) -> None:
    declared = [parameter(name, "path", {}) for name in ("x", "y") if f"{{{name}}}" in path]
    async with open_server() as server:
        result = await call(server, get(*declared, path=path), arguments)

    assert server.received == []
    assert result.error is not None
    assert result.error.category == "validation"


def _operation(path: str, *names: str, style: str = "simple") -> tuple[Operation, Server]:
    found = imported(get(*(parameter(name, "path", {}, style=style) for name in names), path=path))
    tool = found.toolbox.get("it")
    assert tool is not None
    body = getattr(tool.function, "__self__", None)
    assert isinstance(body, OperationTool)
    return body.operation, body.server


SIMPLE: Final = _operation("/v1/{a}/x/{b}.json", "a", "b")
MATRIX: Final = _operation("/v1/{a}/x/{b}", "a", "b", style="matrix")
LABEL: Final = _operation("/v1/{a}/x/{b}", "a", "b", style="label")
TEXTS: Final = st.text(st.sampled_from("./\\%2eE?#;@: \r\n\x00aé{}&=")) | st.text()
VALUES: Final = TEXTS | st.lists(TEXTS, max_size=3) | st.dictionaries(TEXTS, TEXTS, max_size=3)


@requirement("openapi.fixed-query")
async def test_a_query_that_stands_in_a_path_is_sent_with_every_request_and_a_fragment_never() -> None:
    flag = {"beta": True, "a b": "1"}
    paths: dict[str, object] = {
        path: {"get": {"operationId": name, "parameters": parameters, "responses": OK}}
        for name, path, parameters in (
            ("first", "/a/{id}?beta=true&x=%41&acl", [ID, parameter("y", "query")]),
            ("second", "/a/{id}#second", [ID]),
            ("third", "/a/{id}", [ID, parameter("flags", "query", {"type": "object"})]),
            ("fourth", "/b?beta=true", [parameter("beta", "query"), parameter("flags", "query", {"type": "object"})]),
        )
    }
    async with open_server(json_answer({})) as server:
        found = toolbox_from_openapi(document(paths, server=server.url))
        async with open_supervisor(found.toolbox) as supervisor:
            await supervisor.execute(ToolCall("first", {"id": "1", "y": "z"}))
            await supervisor.execute(ToolCall("second", {"id": "?q=1"}))
            await supervisor.execute(ToolCall("third", {"id": "1", "flags": {"beta": "1"}}))
            refused = await supervisor.execute(ToolCall("fourth", {"flags": flag}))

    assert [each.target for each in server.received] == [
        "/a/1?beta=true&x=%41&acl=&y=z",
        "/a/%3Fq%3D1",
        "/a/1?beta=1",
    ]
    assert refused.error is not None
    assert "'beta' is the name of another parameter" in refused.error.message
    assert [(loss.operation, loss.kind) for loss in found.losses] == [
        ("GET /a/{id}?beta=true&x=%41&acl", "assumed"),
        ("GET /a/{id}#second", "dropped"),
        ("GET /b?beta=true", "assumed"),
        ("GET /b?beta=true", "dropped"),
    ]


@requirement("openapi.path-stays")
@pytest.mark.parametrize("known", [SIMPLE, MATRIX, LABEL], ids=["simple", "matrix", "label"])
@given(a=VALUES, b=VALUES)
def test_no_argument_changes_the_shape_of_the_path(known: tuple[Operation, Server], a: object, b: object) -> None:
    operation, server = known
    try:
        prepared = prepare(operation, server, {"a": a, "b": b})
    except Refused:
        return
    url = httpx2.URL(server.origin + prepared.path)
    steps = url.raw_path.decode("ascii").split("/")

    assert url.host == "api.example.test"
    assert (url.query, url.fragment) == (b"", "")
    assert (steps[:2], steps[3], len(steps)) == (["", "v1"], "x", 5)
    for step in (steps[2], steps[4]):
        decoded = unquote(step)
        assert decoded not in ("", ".", "..")
        assert not any(piece in (".", "..") for piece in decoded.replace("\\", "/").split("/"))


@requirement("openapi.path-stays")
@given(name=st.text(st.sampled_from("a[]&=#?%+ ")), value=TEXTS)
def test_no_argument_adds_a_parameter_to_the_query(name: str, value: str) -> None:
    if not name:
        return
    found = imported(get(parameter(name, "query", {}), parameter("last", "query", {})))
    [argument, last] = found.operations[0].arguments
    tool = found.operations[0].tool
    body = getattr(tool.function, "__self__", None)
    assert isinstance(body, OperationTool)
    try:
        prepared = prepare(body.operation, body.server, {argument: value, last: "1"})
    except Refused:
        return

    assert [(unquote(key), unquote(said)) for key, said in prepared.query] == [(name, value), ("last", "1")]
    written = "&".join(f"{key}={said}" for key, said in prepared.query)
    assert written.count("&") == 1
    assert "#" not in written


@requirement("openapi.headers-stay")
@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "a\nb", "a\x00", "\ud800"])
async def test_a_header_can_hold_no_other_header(value: str) -> None:
    async with open_server() as server:
        result = await call(server, get(parameter("X-It", "header")), {"X-It": value})

    assert server.received == []
    assert result.error is not None
    assert result.error.category == "validation"


@requirement("openapi.headers-stay")
def test_what_frames_a_request_is_no_argument() -> None:
    ignored = ["Accept", "content-type", "Authorization"]
    forbidden = ["Host", "Content-Length", "transfer-encoding", "Cookie", "X-HTTP-Method-Override", "no token"]
    found = imported(get(*(parameter(name, "header") for name in (*ignored, *forbidden, "X-Fine"))))

    assert list(found.operations[0].arguments) == ["X-Fine"]
    assert [loss.kind for loss in found.losses] == ["dropped"] * len(forbidden)


@requirement("openapi.one-server")
async def test_a_redirect_to_another_server_is_not_followed() -> None:
    async with open_server() as other:
        from_here = {"location": f"{other.url}/stolen"}
        async with open_server(lambda _: _redirect(from_here)) as server:
            result = await call(server, get(), {})

    assert other.received == []
    assert result.error is not None
    assert (result.error.category, result.error.code) == ("unavailable", "REDIRECTED")
    assert (result.error.details or {})["location"] == f"{other.url}/stolen"


def _redirect(headers: dict[str, str]) -> Answer:
    return Answer(302, headers)


@requirement("openapi.one-server")
@pytest.mark.parametrize("follow", [True, False])
async def test_a_redirect_on_the_same_server_is_followed_where_that_only_looks(follow: bool) -> None:
    def answer(received: Received) -> Answer:
        return Answer(301, {"location": "/there"}) if received.target == "/it" else json_answer("arrived")

    async with open_server(answer) as server:
        found = toolbox_from_openapi(document(get(), server=server.url), follow_redirects=follow)
        async with open_supervisor(found.toolbox) as supervisor:
            result = await supervisor.execute(ToolCall("it"))

    assert result.value == ("arrived" if follow else None)
    assert [received.target for received in server.received] == ["/it", "/there"][: 1 + follow]


@requirement("openapi.one-server")
@pytest.mark.parametrize("location", ["http://[", "http://1.2.3.400/", "http://127.0.0.1:x/", "file:///it"])
async def test_a_redirect_to_nowhere_is_not_followed(location: str) -> None:
    async with open_server(Answer(302, {"location": location})) as server:
        result = await call(server, get(), {})

    assert len(server.received) == 1
    assert (result.error and result.error.code) == "REDIRECTED"


@requirement("openapi.one-server")
async def test_redirects_without_end_are_given_up() -> None:
    async with open_server(Answer(302, {"location": "/it"})) as server:
        result = await call(server, get(), {})

    assert len(server.received) == 6
    assert (result.error and result.error.code) == "REDIRECTED"


@requirement("openapi.one-server")
@pytest.mark.parametrize("options", [OperationOptions(), OperationOptions(effect="read-only")], ids=["change", "look"])
async def test_a_redirect_of_what_has_a_body_is_not_followed(options: OperationOptions) -> None:
    async with open_server(Answer(307, {"location": "/there"})) as server:
        told = document(of_path("/it", "post"), server=server.url)
        found = toolbox_from_openapi(told, options={"it": options})
        async with open_supervisor(found.toolbox) as supervisor:
            result = await supervisor.execute(ToolCall("it"))

    assert [received.target for received in server.received] == ["/it"]
    assert (result.error and result.error.code, result.effect) == ("REDIRECTED", "none")
