from __future__ import annotations

import json

import pytest

from armory_trio.content import content_size, encode_content, encode_json
from armory_trio.definitions import (
    AudioContent,
    BlobResourceContent,
    Content,
    ImageContent,
    JsonContent,
    LinkContent,
    ResourceAnnotations,
    TextContent,
    TextResourceContent,
)
from tests.requirements import requirement

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 60
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 16
IMAGE = ImageContent(PNG, "image/png")
PHOTO = ImageContent(JPEG, "image/jpeg")
SOUND = AudioContent(b"RIFF", "audio/wav")
LINK = LinkContent("file:///a", name="a", media_type="text/plain")
PAGE = TextResourceContent("file:///b", "", "text/plain", ResourceAnnotations(("user",), 0.5, "2025-01-12T15:00:58Z"))
PAPER = BlobResourceContent("file:///c", b"%PDF", "application/pdf")


@requirement("content.bytes")
@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF89a" + b"\0" * 8, "image/gif"),
        (b"RIFF\n\0\0\0WEBPVP8 ", "image/webp"),
        (bytearray(PNG), "image/png"),
        (memoryview(PNG), "image/png"),
    ],
)
def test_bytes_that_are_a_picture_become_an_image(data: bytes, media_type: str) -> None:
    assert encode_content(data) == (ImageContent(bytes(data), media_type),)


@requirement("content.bytes")
@pytest.mark.parametrize("data", [b"RIFF\0\0\0\0WAVE", b"GIF88a", b"\x89PNG", b"hello"])
def test_other_bytes_become_a_data_uri_whatever_they_hold(data: bytes) -> None:
    [block] = encode_content(data)

    assert isinstance(block, TextContent)
    assert block.text.startswith("data:application/octet-stream;base64,")


@requirement("content.media-in-place")
@pytest.mark.parametrize("block", [TextContent("a"), JsonContent("1"), IMAGE, SOUND, LINK, PAGE, PAPER])
def test_a_content_block_is_kept_as_it_is(block: Content) -> None:
    assert encode_content(block) == (block,)
    assert encode_content([block]) == (block,)


@requirement("content.media-in-place")
def test_blocks_in_a_tuple_or_list_stay_in_their_place_among_the_rest() -> None:
    value = ("caption", IMAGE, {"a": 1}, [2, 3], ["more", [SOUND, ()]], LINK, "")

    assert encode_content(value) == (
        TextContent("caption"),
        IMAGE,
        JsonContent('{"a":1}'),
        JsonContent("[2,3]"),
        TextContent("more"),
        SOUND,
        JsonContent("[]"),
        LINK,
        TextContent("(empty text)"),
    )


@requirement("content.media-in-place")
def test_picture_bytes_in_a_tuple_become_an_image_in_its_place() -> None:
    assert encode_content(["before", PNG, "after"]) == (TextContent("before"), IMAGE, TextContent("after"))


@requirement("content.media-in-objects")
def test_a_picture_inside_an_object_follows_the_json_that_refers_to_it() -> None:
    value = {"title": "t", "charts": [IMAGE, {"raw": JPEG}], "sound": SOUND, "n": 1}

    [first, *rest] = encode_content(value)

    assert isinstance(first, JsonContent)
    assert json.loads(first.json) == {
        "title": "t",
        "charts": ["[image 1: image/png, 68 bytes]", {"raw": "[image 2: image/jpeg, 20 bytes]"}],
        "sound": "[audio 3: audio/wav, 4 bytes]",
        "n": 1,
    }
    assert rest == [IMAGE, PHOTO, SOUND]


@requirement("content.media-in-objects")
def test_pictures_are_numbered_through_the_whole_result() -> None:
    blocks = encode_content([IMAGE, {"a": PHOTO}, (SOUND, {"b": IMAGE})])

    assert blocks == (
        IMAGE,
        JsonContent('{"a":"[image 2: image/jpeg, 20 bytes]"}'),
        PHOTO,
        SOUND,
        JsonContent('{"b":"[image 4: image/png, 68 bytes]"}'),
        IMAGE,
    )


@requirement("content.media-in-objects")
def test_no_picture_becomes_base64_in_a_text() -> None:
    blocks = encode_content([("cap", IMAGE), {"x": [PNG, IMAGE]}, PNG])

    assert sum(isinstance(block, ImageContent) for block in blocks) == 4
    assert not any("iVBOR" in str(block) for block in blocks if not isinstance(block, ImageContent))


@requirement("content.media-in-objects", "content.links-kept")
def test_a_resource_inside_an_object_is_written_in_place_if_it_is_text_and_follows_it_if_it_is_bytes() -> None:
    page = TextResourceContent("file:///b", "hello")

    assert encode_content({"page": page, "paper": PAPER, "chart": IMAGE}) == (
        JsonContent(
            '{"page":{"type":"text-resource","uri":"file:///b","text":"hello"},'
            '"paper":"[resource <file:///c>, application/pdf, 4 bytes]","chart":"[image 1: image/png, 68 bytes]"}'
        ),
        PAPER,
        IMAGE,
    )
    assert json.loads(encode_json([PAPER])) == [
        {
            "type": "blob-resource",
            "uri": "file:///c",
            "data": "data:application/octet-stream;base64,JVBERg==",
            "media_type": "application/pdf",
        }
    ]


@requirement("content.links-kept")
def test_text_json_and_links_inside_an_object_are_written_in_place() -> None:
    value = {"text": TextContent("\ud83d"), "empty": TextContent(""), "json": JsonContent('{"a": 1}'), "link": LINK}
    link = {"type": "link", "uri": "file:///a", "name": "a", "media_type": "text/plain", "description": ""}

    assert encode_content(value) == (JsonContent(encode_json(value)),)
    assert json.loads(encode_json(value)) == {"text": "\ud83d", "empty": "", "json": {"a": 1}, "link": link}


@requirement("content.media-in-objects")
def test_json_alone_holds_pictures_and_sounds_as_data_uris() -> None:
    assert json.loads(encode_json(["cap", IMAGE, {"s": SOUND}, PNG])) == [
        "cap",
        f"data:image/png;base64,{'iVBORw0KGgo' + 'A' * 80 + '='}",
        {"s": "data:audio/wav;base64,UklGRg=="},
        f"data:image/png;base64,{'iVBORw0KGgo' + 'A' * 80 + '='}",
    ]


@requirement("content.sets-deterministic")
def test_a_picture_in_a_set_or_a_key_is_a_data_uri_for_a_set_has_no_order_to_number_it_by() -> None:
    [block] = encode_content({"set": {SOUND, 1}, (SOUND,): frozenset({2})})

    assert block == JsonContent(
        '{"set":[1,"data:audio/wav;base64,UklGRg=="],"[\\"data:audio/wav;base64,UklGRg==\\"]":[2]}'
    )


@requirement("content.never-empty", "content.surrogates")
def test_the_blocks_of_a_tool_are_made_presentable() -> None:
    blocks = [TextContent(""), TextContent(" "), TextContent("\ud83d"), JsonContent('"\ud83d"')]

    assert encode_content(blocks) == (
        TextContent("(empty text)"),
        JsonContent('" "'),
        TextContent("\\ud83d"),
        JsonContent('"\\ud83d"'),
    )
    assert encode_content(TextResourceContent("a:b", "\ud83d")) == (TextResourceContent("a:b", "\\ud83d"),)


@requirement("content.size")
def test_the_size_of_content_is_its_bytes() -> None:
    assert content_size([]) == 0
    assert content_size([TextContent("é"), JsonContent("[1]"), IMAGE, SOUND, LINK]) == 2 + 3 + 68 + 4 + 10
    assert content_size([PAGE, PAPER]) == 9 + 10 + 9 + 15 + 4
