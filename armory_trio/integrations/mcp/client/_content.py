"""What a tool of a server answered, as a value: every kind of content is kept, or described where it cannot be."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, cast

from ....content import encode_json
from ....definitions import (
    AudioContent,
    BlobResourceContent,
    ImageContent,
    LinkContent,
    ResourceAnnotations,
    TextContent,
    TextResourceContent,
)
from ....definitions._content import Content, resource_name, resource_words
from ._bounds import MOST_ADDRESS_BYTES, MOST_NAME_BYTES, fits, shortened, shortened_name

_ROLES: Final[tuple[Literal["user", "assistant"], ...]] = ("user", "assistant")
_SHOWN: Final = 2_000
"""Characters of something unknown that are shown."""

_BEGINNING: Final = 100
"""Characters that are shown of an address that is too long."""


def value_of(answer: Mapping[str, object]) -> object:
    """The value of a result that is no error.

    Structured content is the value; pictures, sounds, links and resources beside it follow it in a list, and words beside it,
    which say the same, are left out. Without it one text is a str, nothing at all is None, and whatever else there is
    is a list of content blocks.
    """
    blocks = blocks_of(answer)
    structured = answer.get("structuredContent")
    if structured is not None:
        media = [block for block in blocks if not isinstance(block, TextContent)]
        return [structured, *media] if media else structured
    if not blocks:
        return None
    if len(blocks) == 1 and isinstance(blocks[0], TextContent):
        return blocks[0].text
    return blocks


def is_error(answer: Mapping[str, object]) -> bool:
    """Whether a result is that of a tool that failed: anything but false and nothing says so."""
    return answer.get("isError") not in (None, False)


def error_text(answer: Mapping[str, object]) -> str:
    """The words of a result that is an error."""
    words = "\n".join(_words(block) for block in blocks_of(answer)).strip()
    structured = answer.get("structuredContent")
    if not words and structured is not None:
        words = _shown(structured)
    return words or "the tool reported an error, without a word about it"


def _words(block: Content) -> str:
    match block:
        case TextContent(text=text):
            return text
        case LinkContent(uri=uri, name=name):
            return f"{name} <{uri}>".strip()
        case ImageContent(media_type=media_type) | AudioContent(media_type=media_type):
            return f"[{media_type}]"
        case TextResourceContent():
            return resource_words(block)
        case BlobResourceContent():
            return f"[resource {resource_name(block)}]"
        case _:
            return ""


def blocks_of(answer: Mapping[str, object]) -> list[Content]:
    """The content of a result as blocks, one for each that it has. Content that is no list is one of unknown kind."""
    content = answer.get("content")
    alone: Iterable[object] = () if content is None else (content,)
    listed: Iterable[object] = cast("list[object]", content) if isinstance(content, list) else alone
    return [_block(each) for each in listed]


def _block(entry: object) -> Content:
    given = _object(entry)
    kind = given.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    found = None if read is None else read(given)
    return _unknown(entry) if found is None else found


def _object(entry: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", entry) if isinstance(entry, dict) else {}


def _unknown(entry: object) -> Content:
    return TextContent(f"[content of a kind that is not known here: {_shown(entry)}]")


def _nameless(what: str, uri: str) -> str:
    """What stands for something whose address is too long to be kept: a part of it would be the address of something else."""
    return f"[{what}, whose address has {len(uri.encode()):,} bytes and is left out; it begins <{uri[:_BEGINNING]}]"


def _shown(value: object) -> str:
    text = encode_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text) - _SHOWN:,} more characters)"


def _text(given: Mapping[str, object]) -> Content | None:
    text = given.get("text")
    return TextContent(text) if isinstance(text, str) else None


def _image(given: Mapping[str, object]) -> Content | None:
    data, kind = _bytes(given.get("data")), _kind(given)
    return ImageContent(data, kind) if data and kind is not None and kind.startswith("image/") else None


def _audio(given: Mapping[str, object]) -> Content | None:
    data, kind = _bytes(given.get("data")), _kind(given)
    return AudioContent(data, kind) if data and kind is not None and kind.startswith("audio/") else None


def _kind(given: Mapping[str, object]) -> str | None:
    """The media type that is said; None for what can be none."""
    kind = given.get("mimeType")
    return kind if isinstance(kind, str) and kind and fits(kind, MOST_NAME_BYTES) else None


def _link(given: Mapping[str, object]) -> Content | None:
    uri = given.get("uri")
    if not isinstance(uri, str) or not uri:
        return None
    called, description = (_said(given.get(key)) for key in ("name", "description"))
    if not fits(uri, MOST_ADDRESS_BYTES):
        return TextContent(_nameless(f"link {shortened_name(called)!r}", uri))
    return LinkContent(uri, shortened_name(called), _kind(given), shortened(description))


def _resource(given: Mapping[str, object]) -> Content | None:
    resource = given.get("resource")
    if not isinstance(resource, dict):
        return None
    inner = cast("Mapping[str, object]", resource)
    uri, text, media_type = inner.get("uri"), inner.get("text"), _kind(inner)
    if not isinstance(uri, str) or not uri:
        return None
    is_named = fits(uri, MOST_ADDRESS_BYTES)
    annotations = _annotations(_object(given.get("annotations")))
    if isinstance(text, str):
        whole = TextResourceContent(uri, text, media_type, annotations)
        return whole if is_named else TextContent(f"{_nameless('resource', uri)}\n{text}")
    data = _bytes(inner.get("blob"))
    if data is not None and not is_named:
        return TextContent(_nameless(f"resource of {len(data):,} bytes, which are left out with it", uri))
    return None if data is None else BlobResourceContent(uri, data, media_type, annotations)


def _said(value: object) -> str:
    return value if isinstance(value, str) else ""


def _annotations(given: Mapping[str, object]) -> ResourceAnnotations | None:
    """What is said in the words of the protocol; anything else is passed over, for it says nothing about the content."""
    listed, priority, modified = given.get("audience"), given.get("priority"), given.get("lastModified")
    named = cast("list[object]", listed) if isinstance(listed, list) else ()
    sound = isinstance(priority, int | float) and not isinstance(priority, bool) and 0 <= priority <= 1
    found = ResourceAnnotations(
        tuple(role for role in _ROLES if role in named),
        float(cast("float", priority)) if sound else None,
        modified if isinstance(modified, str) and fits(modified, MOST_NAME_BYTES) else None,
    )
    return None if found == ResourceAnnotations() else found


def _bytes(value: object) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None


_READERS: Final[Mapping[str, Callable[[Mapping[str, object]], Content | None]]] = {
    "text": _text,
    "image": _image,
    "audio": _audio,
    "resource_link": _link,
    "resource": _resource,
}
