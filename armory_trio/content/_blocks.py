"""Content blocks: whether one is sound, how text becomes one, where one stands, how large it is."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Final, NoReturn, cast

import msgspec

from ..definitions._content import (
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
from ._scalars import encodable, image_type, octets, quote
from ._shapes import is_row

EMPTY_TEXT: Final = "(empty text)"
"""What stands for an empty str: providers refuse empty text."""

MAX_VALUES: Final = 1_000_000
"""Values that are looked at one by one. A sequence of somebody's own may have no end, and no model reads so many;
plain lists and dicts, which have one, take the shortcut and are not counted."""

_BLOCKS: Final = (
    TextContent,
    JsonContent,
    ImageContent,
    AudioContent,
    LinkContent,
    TextResourceContent,
    BlobResourceContent,
)


def text_block(text: str) -> Content:
    """*text* as a block that every provider takes: encodable, and with something in it to see.

    White space alone, which providers refuse as they do empty text, becomes a JSON string, in its quotes.
    """
    if not text:
        return TextContent(EMPTY_TEXT)
    if text.isspace():
        return JsonContent(quote(text))
    return TextContent(encodable(text))


def block_of(value: object) -> Content | None:
    """*value* if it is a content block, or the picture that it holds if it is bytes."""
    if isinstance(value, _BLOCKS):
        return value
    data = octets(value)
    media_type = None if data is None else image_type(data)
    return None if data is None or media_type is None else ImageContent(data, media_type)


def presentable(block: Content) -> Content:
    """The same block, encodable and with something in it to see."""
    match block:
        case TextContent(text=text):
            return text_block(text)
        case JsonContent(json=text):
            return JsonContent(encodable(text))
        case TextResourceContent(text=text):
            return msgspec.structs.replace(block, text=encodable(text))
        case _:
            return block


def fault_of(block: Content) -> str | None:
    """What is wrong with a block that a tool made, or None. Structs do not check what they are given."""
    match block:
        case TextContent(text=text):
            return None if _is_str(text) else "its text must be a str"
        case JsonContent(json=text):
            return _json_fault(text)
        case ImageContent(data=data, media_type=media_type):
            return _media_fault(data, media_type, "image/")
        case AudioContent(data=data, media_type=media_type):
            return _media_fault(data, media_type, "audio/")
        case LinkContent(uri=uri):
            return _uri_fault(uri)
        case TextResourceContent(text=text):
            return _resource_fault(block) or (None if _is_str(text) else "its text must be a str")
        case BlobResourceContent(data=data):
            return _resource_fault(block) or (None if _is_bytes(data) else "its data must be bytes")


def holds_block(row: list[object] | tuple[object, ...]) -> bool:
    """Whether a content block stands in *row*, or in rows within it."""
    seen: set[int] = set()
    waiting = [row]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for item in islice(current, MAX_VALUES):
            if is_row(item):
                waiting.append(item)
            elif block_of(item) is not None:
                return True
    return False


def content_size(content: Iterable[Content]) -> int:
    """How large content is, in bytes: what is words in UTF-8, pictures, sounds and other bytes as they are."""
    return sum(map(_size, content))


def _size(block: Content) -> int:
    match block:
        case TextContent(text=text) | JsonContent(json=text):
            return len(text.encode())
        case ImageContent(data=data) | AudioContent(data=data):
            return len(data)
        case LinkContent(uri=uri, name=name, description=description):
            return len(f"{uri}{name}{description}".encode())
        case TextResourceContent(uri=uri, text=text, media_type=media_type):
            return len(f"{uri}{media_type or ''}{text}".encode())
        case BlobResourceContent(uri=uri, data=data, media_type=media_type):
            return len(f"{uri}{media_type or ''}".encode()) + len(data)


def _is_str(value: object) -> bool:
    return isinstance(value, str)


def _is_bytes(value: object) -> bool:
    return isinstance(value, bytes)


def _uri_fault(uri: object) -> str | None:
    return None if _is_str(uri) and uri else "its uri must be a str that is not empty"


def _resource_fault(block: TextResourceContent | BlobResourceContent) -> str | None:
    media_type, annotations = cast("object", block.media_type), cast("object", block.annotations)
    if media_type is not None and not (_is_str(media_type) and media_type):
        return "its media_type must be a str that is not empty, or None"
    if annotations is None:
        return _uri_fault(block.uri)
    if not isinstance(annotations, ResourceAnnotations):
        return "its annotations must be ResourceAnnotations, or None"
    try:
        msgspec.convert(msgspec.to_builtins(annotations), _Sound, strict=True)
    except (msgspec.ValidationError, TypeError) as error:
        return f"its annotations are wrong: {error}"
    return _uri_fault(block.uri)


class _Sound(ResourceAnnotations, frozen=True):
    """What `ResourceAnnotations` must hold, for structs do not check what they are given."""

    priority: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None


def _json_fault(text: object) -> str | None:
    if not isinstance(text, str):
        return "its json must be a str of JSON text; a value that is not encoded yet can be returned as it is"
    import json  # noqa: PLC0415  # only who makes such a block pays for it

    try:
        json.loads(text, parse_int=len, parse_float=len, parse_constant=_refuse)  # numbers are checked, not built
    except ValueError as error:
        return f"its json is not valid JSON: {error}"
    return None


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _media_fault(data: object, media_type: object, prefix: str) -> str | None:
    if not isinstance(data, bytes) or not data:
        return "its data must be bytes that are not empty"
    if not isinstance(media_type, str) or not media_type.startswith(prefix):
        return f"its media_type must begin with {prefix!r}"
    return None
