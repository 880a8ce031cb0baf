"""Every kind of body, as it stands on the wire."""

from __future__ import annotations

from base64 import b64encode

import pytest

from tests.requirements import requirement

from .documents import EMPTY, body_of, call, imported, of_path, schema_of
from .server import open_server

PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
B64 = b64encode(PNG).decode()


def _post(body: dict[str, object]) -> dict[str, object]:
    return of_path("/it", "post", requestBody=body)


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


@requirement("openapi.bodies")
@pytest.mark.parametrize("media_type", ["application/json", "application/merge-patch+json", "application/json; v=2"])
async def test_json_is_written_with_the_media_type_of_the_document(media_type: str) -> None:
    schema = _object(name={"type": "string"}, size={"type": "integer"})
    async with open_server() as server:
        await call(server, _post(body_of(media_type, schema)), {"name": "é", "size": 9007199254740993})

    assert server.last.body == '{"name":"é","size":9007199254740993}'.encode()
    assert server.last.header("content-type") == media_type
    assert server.last.header("content-length") == str(len(server.last.body))


@requirement("openapi.bodies", "openapi.losses")
@pytest.mark.parametrize(
    ("media_type", "sent"),
    [
        ("application/json; charset=utf-16", "application/json; charset=utf-8"),
        ("application/json;charset=ISO-8859-1; v=2", "application/json; charset=utf-8; v=2"),
        ('text/plain; Charset="latin1"', "text/plain; charset=utf-8"),
        ("application/x-www-form-urlencoded; charset=windows-1252", "application/x-www-form-urlencoded; charset=utf-8"),
        ("application/json; charset=utf-8", None),
        ('application/json; charset="UTF-8"; v=2', None),
        ("text/plain;charset=utf-8", None),
        ("application/json;charset = utf-8 ; v=2", None),
    ],
)
async def test_a_body_is_in_the_charset_that_is_said_with_it(media_type: str, sent: str | None) -> None:
    paths = _post(body_of(media_type, _object(name={"type": "string"})))
    argument = {"body": "é"} if media_type.startswith("text/") else {"name": "é"}
    async with open_server() as server:
        await call(server, paths, argument)

    assert server.last.header("content-type") == (sent or media_type)
    assert "é".encode() in server.last.body or b"%C3%A9" in server.last.body
    assert [loss.kind for loss in imported(paths).losses] == (["assumed"] if sent else [])


@requirement("openapi.multipart")
async def test_a_part_is_in_the_charset_that_is_said_with_it() -> None:
    schema = _object(a={"type": "string"})
    body = body_of("multipart/form-data", schema, encoding={"a": {"contentType": "text/plain; charset=utf-16"}})
    async with open_server() as server:
        await call(server, _post(body), {"a": "é"})

    assert "text/plain; charset=utf-8\r\n\r\né".encode() in server.last.body


@requirement("openapi.bodies")
@pytest.mark.parametrize(
    ("schema", "value", "written"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], b"[1,2]"),
        ({"type": "string"}, "x", b'"x"'),
        ({"type": ["object", "null"]}, None, b"null"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, b'{"a":1}'),
        ({"oneOf": [_object(a={}), {"type": "integer"}]}, {"a": 1}, b'{"a":1}'),
    ],
    ids=["array", "string", "null", "map", "union"],
)
async def test_what_is_no_plain_object_is_one_argument(schema: object, value: object, written: bytes) -> None:
    async with open_server() as server:
        result = await call(server, _post(body_of("application/json", schema)), {"body": value})

    assert (result.error, server.last.body) == (None, written)


@requirement("openapi.bodies")
async def test_a_body_that_may_be_left_out_is() -> None:
    paths = _post(body_of("application/json", _object(a={"type": "integer"}), required=False))
    async with open_server() as server:
        await call(server, paths, {})
        await call(server, paths, {"a": 1})

    assert [(received.body, received.header("content-type")) for received in server.received] == [
        (b"", None),
        (b'{"a":1}', "application/json"),
    ]


@requirement("openapi.bodies")
async def test_a_body_that_must_be_there_is_there_when_nothing_is_in_it() -> None:
    async with open_server() as server:
        await call(server, _post(body_of("application/json", _object(a={"type": "integer"}))), {})

    assert server.last.body == b"{}"


@requirement("openapi.bodies")
def test_parts_of_an_optional_body_are_not_asked_for_one_by_one() -> None:
    needing = _object(a={"type": "integer"}) | {"required": ["a"]}
    filling = _object(a={"type": "integer", "default": 1})

    for schema in (needing, filling):
        told = schema_of(imported(_post(body_of("application/json", schema, required=False))))
        assert told["properties"] == {"body": schema}
        assert "required" not in told


@requirement("openapi.bodies")
async def test_a_form() -> None:
    schema = _object(
        name={"type": "string"},
        tags={"type": "array", "items": {"type": "string"}},
        flat={"type": "array", "items": {"type": "string"}},
        spaced={"type": "array", "items": {"type": "string"}},
        deep={"type": "object"},
        whole={"type": "object"},
        note={"type": "string"},
    )
    encoding = {
        "flat": {"style": "form", "explode": False},
        "spaced": {"style": "spaceDelimited", "explode": False},
        "deep": {"style": "deepObject"},
        "note": {"contentType": "application/json"},
    }
    arguments = {
        "name": "a b&c=é",
        "tags": ["x", "y z"],
        "flat": ["x", "y,z"],
        "spaced": ["x", "y"],
        "deep": {"k": {"n": 1}},
        "whole": {"a": 1},
        "note": "n",
    }
    async with open_server() as server:
        body = body_of("application/x-www-form-urlencoded", schema, encoding=encoding)
        await call(server, _post(body), arguments)

    assert server.last.header("content-type") == "application/x-www-form-urlencoded"
    assert server.last.body.decode().split("&") == [
        "name=a+b%26c%3D%C3%A9",
        "tags=x",
        "tags=y+z",
        "flat=x,y%2Cz",
        "spaced=x%20y",
        "deep%5Bk%5D%5Bn%5D=1",
        "whole=%7B%22a%22%3A1%7D",
        "note=n",
    ]


@requirement("openapi.multipart")
@pytest.mark.parametrize(
    ("version", "file"),
    [("3.0.3", {"type": "string", "format": "binary"}), ("3.1.0", {"contentMediaType": "image/png"})],
)
async def test_parts_with_files_in_them(version: str, file: dict[str, object]) -> None:
    schema = _object(
        title={"type": "string"},
        about=_object(a={"type": "integer"}),
        photo=file,
        more={"type": "array", "items": file},
        tags={"type": "array", "items": {"type": "string"}},
        size={"type": "integer"},
    )
    encoding = {"photo": {"contentType": "image/png, image/jpeg"}, "title": {"contentType": "text/markdown"}}
    arguments = {
        "title": "é",
        "about": {"a": 1},
        "photo": B64,
        "more": [{"data": B64, "filename": 'c:\\x/..\\"p".gif', "media_type": "image/gif"}, B64],
        "tags": ["x", "y"],
        "size": 3,
    }
    async with open_server() as server:
        paths = _post(body_of("multipart/form-data", schema, encoding=encoding))
        result = await call(server, paths, arguments, version=version)

    assert result.error is None
    form = "form-data; name="
    assert server.last.parts() == [
        ({"content-disposition": f'{form}"title"', "content-type": "text/markdown"}, "é".encode()),
        ({"content-disposition": f'{form}"about"', "content-type": "application/json"}, b'{"a":1}'),
        ({"content-disposition": f'{form}"photo"; filename="photo"', "content-type": "image/png"}, PNG),
        ({"content-disposition": f'{form}"more"; filename="%22p%22.gif"', "content-type": "image/gif"}, PNG),
        ({"content-disposition": f'{form}"more"; filename="more"', "content-type": "application/octet-stream"}, PNG),
        ({"content-disposition": f'{form}"tags"', "content-type": "text/plain; charset=utf-8"}, b"x"),
        ({"content-disposition": f'{form}"tags"', "content-type": "text/plain; charset=utf-8"}, b"y"),
        ({"content-disposition": f'{form}"size"', "content-type": "text/plain; charset=utf-8"}, b"3"),
    ]


@requirement("openapi.multipart")
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("not base64!", "base64"),
        ({"data": B64, "media_type": "image/png\r\nX: 1"}, "media type"),
        ({"data": B64, "filename": "a\r\nX: 1"}, "control character"),
        ({"data": B64, "filename": "\ud800"}, "half a character"),
    ],
)
async def test_a_file_that_makes_no_sense_is_refused_before_anything_is_sent(value: object, told: str) -> None:
    schema = _object(photo={"type": "string", "format": "binary"})
    async with open_server() as server:
        result = await call(server, _post(body_of("multipart/form-data", schema)), {"photo": value}, version="3.0.3")

    assert server.received == []
    assert result.error is not None
    assert (result.error.category, result.effect) == ("validation", "none")
    assert told in result.error.message


@requirement("openapi.bodies")
async def test_text_and_bytes() -> None:
    async with open_server() as server:
        await call(server, _post(body_of("text/csv", {"type": "string"})), {"body": "a,é\n"})
        await call(server, _post(body_of("application/octet-stream", {})), {"body": B64})
        typed = {"data": B64, "media_type": "image/png"}
        await call(server, _post(body_of("application/octet-stream", {})), {"body": typed})
        await call(server, _post(body_of("image/webp", {})), {"body": typed})

    assert [(received.body, received.header("content-type")) for received in server.received] == [
        ("a,é\n".encode(), "text/csv"),
        (PNG, "application/octet-stream"),
        (PNG, "image/png"),
        (PNG, "image/webp"),
    ]


@requirement("openapi.bodies")
@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (
            ["application/xml", "multipart/form-data", "application/vnd.a+json", "application/json"],
            "application/vnd.a+json",
        ),
        (
            ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"],
            "application/x-www-form-urlencoded",
        ),
        (["image/png", "text/plain", "multipart/form-data"], "multipart/form-data"),
        (["image/png", "application/xml"], "application/xml"),
        (["*/*"], "application/json"),
        (["image/*"], "application/octet-stream"),
        (["text/*"], "text/plain"),
    ],
)
async def test_one_of_several_forms_is_chosen_by_a_rule(offered: list[str], chosen: str) -> None:
    content = {media_type: {"schema": _object(a={"type": "string"})} for media_type in offered}
    paths = _post({"required": True, "content": content})
    [argument] = imported(paths).operations[0].arguments
    async with open_server() as server:
        await call(server, paths, {argument: "eA=="})

    assert (server.last.header("content-type") or "").partition("; boundary")[0] == chosen


@requirement("openapi.bodies")
def test_what_only_looks_has_no_body() -> None:
    found = imported(of_path("/it", "get", requestBody=body_of("application/json", _object(a={}))))

    assert found.operations[0].arguments == {}
    assert [loss.kind for loss in found.losses] == ["dropped"]


@requirement("openapi.bodies")
def test_parts_that_all_hold_are_put_together() -> None:
    components = {
        "Base": {"allOf": [_object(a={"type": "integer"}) | {"required": ["a"]}], "description": "of all"},
        "More": {"allOf": [{"$ref": "#/components/schemas/Base"}, _object(b={"type": "string"})]},
    }
    whole = {"$ref": "#/components/schemas/More"}
    told = schema_of(imported(_post(body_of("application/json", whole)), components={"schemas": components}))

    assert told["properties"] == {"a": {"type": "integer"}, "b": {"type": "string"}}
    assert told["required"] == ["a"]
    assert "$defs" not in told


@requirement("openapi.bodies")
@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [_object(a={}), _object(a={"type": "integer"})]},
        {"allOf": [_object(a={}), True]},
        {"allOf": [_object(a={}), _object(b={}) | {"additionalProperties": True}]},
        _object(a={}) | {"required": ["b"]},
        _object(a={}) | {"minProperties": 1},
        _object(a={}) | {"additionalProperties": {"type": "string"}},
    ],
)
def test_what_says_more_than_its_members_is_one_argument(schema: object) -> None:
    found = imported(_post(body_of("application/json", schema)))

    assert list(found.operations[0].arguments) == ["body"]


@requirement("openapi.bodies", "openapi.multipart")
@pytest.mark.parametrize("schema", [None, {"type": "object", "additionalProperties": True}])
async def test_a_form_of_anything_is_written_by_its_values(schema: object) -> None:
    anything = {"a b": [1, "x&y"], "b": [{"x": 1}], "c": None, "d": True}
    holder = EMPTY if schema is None else {"schema": schema}
    async with open_server() as server:
        for media_type in ("multipart/form-data", "application/x-www-form-urlencoded"):
            paths = _post({"required": True, "content": {media_type: holder}})
            result = await call(server, paths, {"body": anything})
            assert result.error is None

    parts = [
        (headers["content-disposition"].partition("name=")[2], data) for headers, data in server.received[0].parts()
    ]
    assert parts == [('"a b"', b"1"), ('"a b"', b"x&y"), ('"b"', b'[{"x":1}]'), ('"d"', b"true")]
    assert server.last.body == b"a+b=1&a+b=x%26y&b=%7B%22x%22%3A1%7D&d=true"


@requirement("openapi.bodies")
@pytest.mark.parametrize("media_type", ["multipart/form-data", "text/plain", "application/x-www-form-urlencoded"])
async def test_half_a_character_is_sent_in_no_text(media_type: str) -> None:
    async with open_server() as server:
        paths = _post(body_of(media_type, {"type": "object", "additionalProperties": True}))
        result = await call(server, paths, {"body": "\ud800" if media_type == "text/plain" else {"a": "\ud800"}})

    assert server.received == []
    assert (result.error and result.error.category, result.effect) == ("validation", "none")


@requirement("openapi.losses")
def test_headers_of_a_part_are_told_and_not_sent() -> None:
    encoding = {"a": {"headers": {"X-It": {"schema": {"type": "string"}}}}}
    found = imported(_post(body_of("multipart/form-data", _object(a={"type": "string"}), encoding=encoding)))

    [loss] = found.losses
    assert (loss.kind, loss.pointer.rpartition("/")[2]) == ("dropped", "headers")


@requirement("openapi.bodies")
async def test_a_key_in_a_form_is_no_other_member() -> None:
    schema = {"type": "object", "properties": {"role": {"type": "string"}, "more": {"type": "object"}}}
    told = body_of("application/x-www-form-urlencoded", schema, encoding={"more": {"style": "form"}})
    async with open_server() as server:
        result = await call(server, of_path("/it", "post", requestBody=told), {"more": {"role": "admin"}})

    assert server.received == []
    assert result.error is not None
    assert "'role' is the name of another" in result.error.message
