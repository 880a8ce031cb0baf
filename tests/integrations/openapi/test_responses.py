"""What comes back, as a value."""

from __future__ import annotations

import gzip
import zlib
from base64 import b64encode
from collections.abc import Mapping

import httpx2
import pytest

from armory_trio import AudioContent, ImageContent, ToolCall, ToolResult, open_supervisor
from armory_trio.integrations.openapi import toolbox_from_openapi
from armory_trio.integrations.openapi._responses import _Taken  # pyright: ignore[reportPrivateUsage]
from tests.requirements import requirement

from .documents import call, document, of_path, responding
from .server import Answer, Server, open_server

LOOKS = of_path("/it")


async def _get(server: Server, most: int, method: str = "get") -> ToolResult[object]:
    found = toolbox_from_openapi(document(of_path("/it", method), server=server.url), max_response_bytes=most)
    async with open_supervisor(found.toolbox) as supervisor:
        return await supervisor.execute(ToolCall("it"))


@requirement("openapi.values")
@pytest.mark.parametrize(
    ("media_type", "body", "value"),
    [
        ("application/json", b'{"a": [1, 9007199254740993]}', {"a": [1, 9007199254740993]}),
        ("application/problem+json; charset=utf-8", b'"x"', "x"),
        ("application/json", b"\xef\xbb\xbfnull", None),
        ("application/json", b"", None),
        ("text/plain", b"caf\xc3\xa9", "café"),
        ("text/plain; charset=latin-1", b"caf\xe9", "café"),
        ('text/html; charset="utf-8"', b"<p>", "<p>"),
        ("text/plain; charset=nonsense", b"caf\xc3\xa9", "café"),
        ("text/plain; charset=iso-8859-99", b"caf\xc3\xa9", "café"),
        ("text/plain; charset=undefined", b"caf\xc3\xa9", "café"),
        ("text/plain; charset=idna", b"caf\xc3\xa9", "café"),
        ("text/plain; charset=unicode_escape", b"\\ud800", "\\ud800"),
        ("text/plain; charset=utf-16", "café".encode("utf-16"), "café"),
        ("image/", b"x", {"media_type": "application/octet-stream", "bytes": 1, "base64": "eA=="}),
        ("audio/a b", b"x", {"media_type": "application/octet-stream", "bytes": 1, "base64": "eA=="}),
        ("application/xml", b"<a/>", "<a/>"),
        ("image/png", b"\x89PNG\r\n\x1a\n", ImageContent(b"\x89PNG\r\n\x1a\n", "image/png")),
        ("audio/wav", b"RIFF", AudioContent(b"RIFF", "audio/wav")),
        (
            "application/pdf",
            b"%PDF\xff",
            {"media_type": "application/pdf", "bytes": 5, "base64": b64encode(b"%PDF\xff").decode()},
        ),
        (
            "",
            b"\x00",
            {"media_type": "application/octet-stream", "bytes": 1, "base64": "AA=="},
        ),
    ],
)
async def test_the_value_of_a_response_follows_its_media_type(media_type: str, body: bytes, value: object) -> None:
    async with open_server(Answer(200, {"content-type": media_type} if media_type else {}, body)) as server:
        result = await call(server, LOOKS, {})

    assert (result.error, result.value) == (None, value)


@requirement("openapi.values")
async def test_no_content_is_none() -> None:
    async with open_server(Answer(204)) as server:
        result = await call(server, of_path("/it", "delete", responses={"204": {"description": ""}}), {})

    assert (result.outcome, result.value, result.effect) == ("success", None, "completed")


@requirement("openapi.values")
async def test_of_head_it_is_the_status_and_the_headers() -> None:
    async with open_server(Answer(200, {"content-length": "9", "etag": '"1"', "set-cookie": "a=1"})) as server:
        result = await _get(server, 100, "head")

    assert result.value == {"status": 200, "headers": {"content-length": "9", "etag": '"1"'}}


@requirement("openapi.json")
@pytest.mark.parametrize(
    "body", [b'{"a": 1, "a": 2}', b"NaN", b"[1,]", b"1e400", b"\xff", b"[" * 200 + b"]" * 200, b"<p>"]
)
async def test_what_is_no_strict_json_is_told(body: bytes) -> None:
    async with open_server(Answer(200, {"content-type": "application/json"}, body)) as server:
        result = await call(server, LOOKS, {})

    assert (result.error and result.error.code) == "OUTPUT_INVALID"


@requirement("openapi.responses-typed")
@pytest.mark.parametrize(("value", "fits"), [(b'{"n": 1}', True), (b'{"n": "1"}', False), (b"[]", False)])
async def test_the_result_is_held_against_the_document(value: bytes, fits: bool) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    paths = of_path("/it", responses=responding(schema))
    async with open_server(Answer(200, {"content-type": "application/json"}, value)) as server:
        checked = await call(server, paths, {})
        found = toolbox_from_openapi(document(paths, server=server.url), check_responses=False)
        async with open_supervisor(found.toolbox) as supervisor:
            unchecked = await supervisor.execute(ToolCall("it"))

    assert (checked.error and checked.error.code) == (None if fits else "OUTPUT_INVALID")
    assert unchecked.outcome == "success"


@requirement("openapi.bounded")
@pytest.mark.parametrize(
    ("media_type", "told"),
    [("application/json", "RESPONSE_TOO_LARGE"), ("image/png", "RESPONSE_TOO_LARGE"), ("text/plain", None)],
)
async def test_no_more_is_read_than_the_bound(media_type: str, told: str | None) -> None:
    piece = b"a" * 100_000
    async with open_server(Answer(200, {"content-type": media_type}, [piece] * 1_000)) as server:
        result = await _get(server, 1_000)
        await server.left.wait()

    assert server.sent_bytes < 50_000_000
    assert (result.error and result.error.code) == told
    if told is None:
        assert result.value == "a" * 1_000 + "\n[cut after 1000 bytes]"


@requirement("openapi.bounded")
async def test_text_is_cut_between_characters() -> None:
    async with open_server(Answer(200, {"content-type": "text/plain"}, "é".encode() * 10)) as server:
        result = await _get(server, 7)

    assert result.value == "ééé\n[cut after 7 bytes]"


@requirement("openapi.bounded")
async def test_exactly_the_bound_is_not_cut() -> None:
    async with open_server(Answer(200, {"content-type": "text/plain"}, b"a" * 1_000)) as server:
        assert (await _get(server, 1_000)).value == "a" * 1_000


def _bomb(encoding: str) -> bytes:
    zeros = b"0" * 20_000_000
    return gzip.compress(zeros, 9) if encoding == "gzip" else zlib.compress(zeros, 9)


@requirement("openapi.bounded")
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_small_response_that_decompresses_to_a_large_one_is_cut_too(encoding: str) -> None:
    headers = {"content-type": "text/plain", "content-encoding": encoding}
    async with open_server(Answer(200, headers, _bomb(encoding))) as server:
        result = await _get(server, 10)

    assert server.last.header("accept-encoding") == "gzip, deflate"
    assert result.value == "0000000000\n[cut after 10 bytes]"


@requirement("openapi.bounded")
@pytest.mark.parametrize("size", [1, 7, 1_000], ids=lambda size: f"pieces of {size}")
def test_files_of_gzip_may_follow_each_other_and_nothing_else_counts(size: int) -> None:
    taken, data = _Taken("gzip", 100), gzip.compress(b"one,") + gzip.compress(b"two") + b"and so on"
    more = [taken.more(data[at : at + size]) for at in range(0, len(data), size)]

    assert more.index(False) >= len(more) - 9
    assert taken.result() == (b"one,two", True)


@requirement("openapi.bounded")
def test_what_decompresses_to_nothing_without_end_is_given_up() -> None:
    packer, taken, pieces = zlib.compressobj(wbits=31), _Taken("gzip", 1_000), 1
    assert taken.more(packer.compress(b"") + packer.flush(zlib.Z_SYNC_FLUSH))
    while taken.more(b"\x00\x00\x00\xff\xff" * 100):
        pieces += 1

    assert pieces < 10
    assert taken.result() == (b"", False)


@requirement("openapi.bounded")
async def test_what_is_given_up_before_it_was_anything_is_no_nothing() -> None:
    endless = gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * 10_000
    async with open_server(
        Answer(200, {"content-type": "application/json", "content-encoding": "gzip"}, endless)
    ) as server:
        result = await _get(server, 100)

    assert (result.error and result.error.code) == "RESPONSE_TOO_LARGE"


@requirement("openapi.bounded")
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_no_more_is_decompressed_than_is_kept(encoding: str) -> None:
    taken = _Taken(encoding, 10)

    assert not taken.more(_bomb(encoding))
    assert len(taken._body) == 11  # pyright: ignore[reportPrivateUsage]
    assert taken.result() == (b"0" * 10, False)


@requirement("openapi.bounded")
@pytest.mark.parametrize(
    "headers", [{"content-encoding": "br"}, {"content-encoding": "gzip, gzip"}, {"content-encoding": "gzip"}]
)
async def test_what_is_compressed_otherwise_than_asked_for_is_told(headers: Mapping[str, str]) -> None:
    async with open_server(Answer(200, {"content-type": "text/plain", **headers}, b"no gzip")) as server:
        looked = await call(server, LOOKS, {})
        changed = await call(server, of_path("/it", "post"), {})

    assert (looked.error and looked.error.code) == "RESPONSE_UNREADABLE"
    assert changed.effect == "completed"


@requirement("openapi.bounded")
async def test_a_transport_without_a_network_serves_as_well() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=[1, 2], headers={"x-seen": request.url.path})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
        for most, value in ((100, [1, 2]), (3, None)):
            found = toolbox_from_openapi(document(LOOKS), client=client, max_response_bytes=most)
            async with open_supervisor(found.toolbox) as supervisor:
                result = await supervisor.execute(ToolCall("it"))
            assert (result.value, result.error and result.error.code) == (
                value,
                None if value else "RESPONSE_TOO_LARGE",
            )
