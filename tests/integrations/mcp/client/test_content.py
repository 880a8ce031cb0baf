"""Every kind of content that a server may send, and some that none should."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.content import encode_content
from armory_trio.definitions import (
    AudioContent,
    BlobResourceContent,
    ImageContent,
    LinkContent,
    ResourceAnnotations,
    TextContent,
    TextResourceContent,
)
from armory_trio.integrations.mcp.client._content import blocks_of, error_text, value_of
from armory_trio.integrations.mcp.client._lines import LineSplitter, TooLong
from armory_trio.integrations.mcp.client._progress import percent_of
from tests.requirements import requirement

PNG = "iVBORw0KGgo="
LINK = {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt", "mimeType": "text/plain"}


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


@requirement("mcp-client.content")
@pytest.mark.parametrize(
    ("entry", "block"),
    [
        pytest.param(text("hello"), TextContent("hello"), id="text"),
        pytest.param(
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            ImageContent(b"\x89PNG\r\n\x1a\n", "image/png"),
            id="image",
        ),
        pytest.param(
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}, AudioContent(b"\0\0\0", "audio/wav"), id="audio"
        ),
        pytest.param(LINK, LinkContent("file:///a.txt", "a.txt", "text/plain"), id="link"),
        pytest.param(
            {"type": "resource", "resource": {"uri": "x:1", "mimeType": "text/x", "text": "inside"}},
            TextResourceContent("x:1", "inside", "text/x"),
            id="text resource",
        ),
        pytest.param(
            {"type": "resource", "resource": {"uri": "x:1", "mimeType": "image/png", "blob": PNG}},
            BlobResourceContent("x:1", b"\x89PNG\r\n\x1a\n", "image/png"),
            id="picture resource",
        ),
        pytest.param(
            {
                "type": "resource",
                "resource": {"uri": "x:1", "blob": "AAAA"},
                "annotations": {"audience": ["assistant", "user"], "priority": 1, "lastModified": "2025-01-12"},
            },
            BlobResourceContent("x:1", b"\0\0\0", None, ResourceAnnotations(("user", "assistant"), 1.0, "2025-01-12")),
            id="other resource",
        ),
        pytest.param(
            {
                "type": "resource",
                "resource": {"uri": "x:1", "mimeType": "", "text": ""},
                "annotations": {"audience": ["all", 5], "priority": 7, "lastModified": 5},
            },
            TextResourceContent("x:1", ""),
            id="resource with annotations that are none",
        ),
    ],
)
def test_each_kind_is_kept(entry: dict[str, object], block: object) -> None:
    assert blocks_of({"content": [entry]}) == [block]
    assert encode_content(value_of({"content": [entry]})) != ()


@requirement("mcp-client.content")
@pytest.mark.parametrize(
    "entry",
    [
        {"type": "hologram", "data": 5},
        {"type": ["text"], "text": "x"},
        {"text": "no type"},
        text("x") | {"text": 5},
        {"type": "image", "data": "no base64!", "mimeType": "image/png"},
        {"type": "image", "data": PNG, "mimeType": "text/html"},
        {"type": "audio", "data": 5, "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": ""},
        {"type": "resource", "resource": "x"},
        {"type": "resource", "resource": {"uri": "x:1"}},
        {"type": "resource", "resource": {"uri": "", "text": "x"}},
        {"type": "resource", "resource": {"uri": "x:1", "blob": "no base64!"}},
        "words",
        None,
    ],
    ids=str,
)
def test_what_is_of_no_known_kind_is_described(entry: object) -> None:
    [block] = blocks_of({"content": [entry]})
    assert isinstance(block, TextContent)
    assert block.text.startswith("[content of a kind that is not known here")


@requirement("mcp-client.content")
@pytest.mark.parametrize(
    ("answer", "value"),
    [
        pytest.param({"content": []}, None, id="nothing"),
        pytest.param({}, None, id="no content at all"),
        pytest.param({"content": [text("123")]}, "123", id="a text stays a text"),
        pytest.param({"content": [text("a"), text("b")]}, [TextContent("a"), TextContent("b")], id="two texts"),
        pytest.param({"content": [text('{"n": 1}')], "structuredContent": {"n": 1}}, {"n": 1}, id="not doubled"),
        pytest.param(
            {"content": [LINK], "structuredContent": {"n": 1}},
            [{"n": 1}, LinkContent("file:///a.txt", "a.txt", "text/plain")],
            id="structure and link",
        ),
        pytest.param(
            {
                "content": [{"type": "resource", "resource": {"uri": "x:1", "text": "in"}}],
                "structuredContent": {"n": 1},
            },
            [{"n": 1}, TextResourceContent("x:1", "in")],
            id="structure and resource",
        ),
    ],
)
def test_the_value_of_an_answer(answer: dict[str, object], value: object) -> None:
    assert value_of(answer) == value


@requirement("mcp-client.errors")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"content": [text("no"), text("never")]}, "no\nnever"),
        ({"content": [], "structuredContent": {"why": 1}}, '{"why":1}'),
        ({"content": [LINK]}, "a.txt <file:///a.txt>"),
        ({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}, "[image/png]"),
        ({"content": [{"type": "resource", "resource": {"uri": "x:1", "text": "no"}}]}, "[resource <x:1>]\nno"),
        ({"content": [{"type": "resource", "resource": {"uri": "x:1", "blob": PNG}}]}, "[resource <x:1>]"),
        ({}, "the tool reported an error, without a word about it"),
    ],
    ids=["texts", "a structure", "a link", "a picture", "a resource", "bytes", "nothing"],
)
def test_the_words_of_an_error(answer: dict[str, object], words: str) -> None:
    assert error_text(answer) == words


@requirement("mcp-client.content")
def test_what_is_not_known_is_shown_up_to_a_bound() -> None:
    [block] = blocks_of({"content": [{"type": "new", "data": "x" * 10_000}]})
    assert isinstance(block, TextContent)
    assert len(block.text) < 2_200


@requirement("mcp-client.progress")
@pytest.mark.parametrize(
    ("progress", "total", "percent"),
    [
        (1, 4, 25.0),
        (5, 4, 100.0),
        (-1, 4, 0.0),
        (1, None, None),
        (1, 0, None),
        ("1", 4, None),
        (float("nan"), 4, None),
        (10**400, 4, None),
        (1, 10**400, 0.0),
        (10**400, float("inf"), None),
    ],
)
def test_how_far_the_work_is(progress: object, total: object, percent: float | None) -> None:
    assert percent_of({"progress": progress, "total": total}) == percent


@requirement("mcp-client.stray")
@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(1, 9)), st.integers(0, 20))
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[bytes], cuts: list[int], most: int) -> None:
    plain = [line.replace(b"\n", b"") for line in lines]
    data = b"".join(line + b"\n" for line in plain)
    splitter, found = LineSplitter(most), list[bytes | TooLong]()
    for cut in [*cuts, len(data)]:
        piece, data = data[:cut], data[cut:]
        found += splitter.feed(piece)
    found += splitter.feed(data)

    assert splitter.rest() is None
    assert found == [line if len(line) <= most else TooLong(line[:512], len(line)) for line in plain]
