"""Every style of a parameter, as it stands on the wire."""

from __future__ import annotations

import pytest

from tests.requirements import requirement

from .documents import Object, call, get, parameter
from .server import open_server

LIST: Object = {"type": "array", "items": {"type": "string"}}
OBJECT: Object = {"type": "object"}
COLOURS = ["blue", "black", "brown"]
RGB = {"R": 100, "G": 200, "B": 150}

Row = tuple[str, bool, object, str]

PATHS: list[Row] = [
    ("simple", False, "blue", "blue"),
    ("simple", False, COLOURS, "blue,black,brown"),
    ("simple", False, RGB, "R,100,G,200,B,150"),
    ("simple", True, COLOURS, "blue,black,brown"),
    ("simple", True, RGB, "R=100,G=200,B=150"),
    ("label", False, "blue", ".blue"),
    ("label", False, COLOURS, ".blue,black,brown"),
    ("label", False, RGB, ".R,100,G,200,B,150"),
    ("label", True, COLOURS, ".blue.black.brown"),
    ("label", True, RGB, ".R=100.G=200.B=150"),
    ("matrix", False, "blue", ";color=blue"),
    ("matrix", False, COLOURS, ";color=blue,black,brown"),
    ("matrix", False, RGB, ";color=R,100,G,200,B,150"),
    ("matrix", True, COLOURS, ";color=blue;color=black;color=brown"),
    ("matrix", True, RGB, ";R=100;G=200;B=150"),
]

QUERIES: list[Row] = [
    ("form", True, "blue", "color=blue"),
    ("form", True, "", "color="),
    ("form", True, COLOURS, "color=blue&color=black&color=brown"),
    ("form", True, RGB, "R=100&G=200&B=150"),
    ("form", False, COLOURS, "color=blue,black,brown"),
    ("form", False, RGB, "color=R,100,G,200,B,150"),
    ("form", False, [], ""),
    ("form", True, [], ""),
    ("spaceDelimited", False, COLOURS, "color=blue%20black%20brown"),
    ("spaceDelimited", False, RGB, "color=R%20100%20G%20200%20B%20150"),
    ("pipeDelimited", False, COLOURS, "color=blue%7Cblack%7Cbrown"),
    ("pipeDelimited", False, RGB, "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("deepObject", True, RGB, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2"),
]


def _named(value: object) -> str | None:
    if isinstance(value, bool):
        return "explode" if value else "together"
    return "list" if isinstance(value, list) else "object" if isinstance(value, dict) else None


@requirement("openapi.styles")
@pytest.mark.parametrize(("style", "explode", "value", "written"), PATHS, ids=_named)
async def test_a_parameter_in_the_path(style: str, explode: bool, value: object, written: str) -> None:
    declared = parameter("color", "path", {}, style=style, explode=explode)
    async with open_server() as server:
        result = await call(server, get(declared, path="/of/{color}/end"), {"color": value})

    assert result.outcome == "success"
    assert server.last.target == f"/of/{written}/end"


@requirement("openapi.styles")
@pytest.mark.parametrize(("style", "explode", "value", "written"), QUERIES, ids=_named)
async def test_a_parameter_in_the_query(style: str, explode: bool, value: object, written: str) -> None:
    declared = parameter("color", "query", {}, style=style, explode=explode)
    async with open_server() as server:
        await call(server, get(declared), {"color": value})

    assert server.last.target == f"/it{'?' * bool(written)}{written}"


@requirement("openapi.styles")
@pytest.mark.parametrize(
    ("explode", "value", "written"),
    [
        (False, "blue", "blue"),
        (False, COLOURS, "blue,black,brown"),
        (False, RGB, "R,100,G,200,B,150"),
        (True, RGB, "R=100,G=200,B=150"),
        (False, True, "true"),
        (False, 7, "7"),
        (False, "a\tb é", "a\tb é"),
    ],
)
async def test_a_parameter_in_a_header(explode: bool, value: object, written: str) -> None:
    async with open_server() as server:
        await call(server, get(parameter("X-Color", "header", {}, explode=explode)), {"X-Color": value})

    assert server.last.header("x-color") == written


@requirement("openapi.styles")
@pytest.mark.parametrize(
    ("explode", "value", "written"),
    [
        (True, "blue; admin=1", "color=blue%3B%20admin%3D1"),
        (False, COLOURS, "color=blue,black,brown"),
        (False, RGB, "color=R,100,G,200,B,150"),
        (True, COLOURS, "color=blue; color=black; color=brown"),
    ],
)
async def test_a_parameter_in_a_cookie(explode: bool, value: object, written: str) -> None:
    async with open_server() as server:
        await call(server, get(parameter("color", "cookie", {}, explode=explode)), {"color": value})

    assert server.last.header("cookie") == written


@requirement("openapi.styles")
async def test_all_cookies_stand_in_one_header() -> None:
    async with open_server() as server:
        await call(server, get(parameter("a", "cookie"), parameter("b", "cookie")), {"a": "1", "b": "2"})

    assert [value for name, value in server.last.headers if name == "cookie"] == ["a=1; b=2"]


@requirement("openapi.styles")
@pytest.mark.parametrize("place", ["query", "header", "path"])
async def test_a_parameter_with_a_media_type_is_written_as_json(place: str) -> None:
    declared = {"name": "filter", "in": place, "required": True, "content": {"application/json": {"schema": OBJECT}}}
    async with open_server() as server:
        path = "/{filter}" if place == "path" else "/it"
        result = await call(server, get(declared, path=path), {"filter": {"b": [1, None], "a": "é"}})

    assert result.outcome == "success"
    encoded = "%7B%22a%22%3A%22%C3%A9%22%2C%22b%22%3A%5B1%2Cnull%5D%7D"
    expected = {"query": f"/it?filter={encoded}", "path": f"/{encoded}", "header": "/it"}
    assert server.last.target == expected[place]
    if place == "header":
        assert server.last.header("filter") == '{"a":"é","b":[1,null]}'


@requirement("openapi.reserved")
async def test_reserved_characters_stay_where_that_is_safe() -> None:
    everything = "a/b?c:d@e!f$g'h(i)j*k,l;m=n&o+p#q[r]s%t u"
    async with open_server() as server:
        await call(server, get(parameter("x", "query", allowReserved=True)), {"x": everything})
        kept = server.last.target
        await call(server, get(parameter("x", "query")), {"x": everything})

    assert kept == "/it?x=a/b?c:d@e!f$g'h(i)j*k,l%3Bm=n%26o%2Bp%23q%5Br%5Ds%25t%20u"
    assert server.last.target == (
        "/it?x=a%2Fb%3Fc%3Ad%40e%21f%24g%27h%28i%29j%2Ak%2Cl%3Bm%3Dn%26o%2Bp%23q%5Br%5Ds%25t%20u"
    )


@requirement("openapi.styles")
async def test_what_is_null_or_not_given_is_not_sent() -> None:
    declared = [parameter(name, "query", {}) for name in ("a", "b", "c")]
    async with open_server() as server:
        await call(server, get(*declared), {"a": None, "c": [1, None, 2.5, True, {"x": 1}]})

    assert server.last.target == "/it?c=1&c=2.5&c=true&c=%7B%22x%22%3A1%7D"


@requirement("openapi.styles")
async def test_a_style_that_its_place_does_not_have_is_taken_for_the_usual_one() -> None:
    declared = parameter("color", "header", LIST, style="deepObject")
    async with open_server() as server:
        await call(server, get(declared), {"color": COLOURS})

    assert server.last.header("color") == "blue,black,brown"


@requirement("openapi.styles")
async def test_a_parameter_with_another_media_type_is_text() -> None:
    declared = {"name": "x", "in": "query", "content": {"text/plain": {"schema": {"type": "integer"}}}}
    async with open_server() as server:
        await call(server, get(declared), {"x": "a,b"})

    assert server.last.target == "/it?x=a%2Cb"


@requirement("openapi.styles")
async def test_what_is_nested_without_end_is_refused() -> None:
    value: object = "x"
    for _ in range(20):
        value = {"a": value}
    async with open_server() as server:
        result = await call(server, get(parameter("x", "query", {}, style="deepObject")), {"x": value})

    assert server.received == []
    assert (result.error and result.error.category) == "validation"


@requirement("openapi.path-stays")
@pytest.mark.parametrize(
    "arguments",
    [
        {"free": {"limit": 99}},
        {"free": {"deep[x]": 1}},
        {"free": {"deep": 1}},
        {"deep": {"a][b": 1}},
        {"deep": {"a": {"b]": 1}}},
        {"jar": {"session": "mine"}},
    ],
    ids=str,
)
async def test_a_key_in_an_argument_is_no_other_parameter(arguments: Object) -> None:
    declared = [
        parameter("limit", "query", {"type": "integer", "maximum": 5}),
        parameter("deep", "query", OBJECT, style="deepObject"),
        parameter("free", "query", OBJECT),
        parameter("session", "cookie"),
        parameter("jar", "cookie", OBJECT),
    ]
    async with open_server() as server:
        refused = await call(server, get(*declared), arguments)
        allowed = await call(server, get(*declared), {"free": {"limits[a]": 1}, "deep": {"limit": 2}, "limit": 3})

    assert [received.target for received in server.received] == ["/it?limit=3&deep%5Blimit%5D=2&limits%5Ba%5D=1"]
    assert allowed.outcome == "success"
    assert refused.error is not None
    assert (refused.error.category, refused.effect) == ("validation", "none")
    assert refused.error.message.startswith(next(iter(arguments)))


@requirement("openapi.headers-stay")
@pytest.mark.parametrize("value", [" x", "x ", "\tx"], ids=repr)
async def test_white_space_that_no_header_can_hold_is_refused_in_words(value: str) -> None:
    async with open_server() as server:
        result = await call(server, get(parameter("X-It", "header")), {"X-It": value})

    assert server.received == []
    assert result.error is not None
    assert result.error.message == "X-It: begins or ends with white space, which can't be sent in a header"
