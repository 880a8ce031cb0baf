"""What a result is made of on its way to a model: pieces of text, and media where the provider takes them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from ..content import words_for
from ..definitions import (
    AudioContent,
    BlobResourceContent,
    Content,
    ImageContent,
    JsonContent,
    LinkContent,
    TextContent,
    TextResourceContent,
    ToolResult,
)
from ..definitions._content import resource_name, resource_words
from ._text import encodable

__all__ = (
    "Media",
    "MediaRules",
    "Piece",
    "admitted",
    "data_url",
    "encoded",
    "labelled",
    "media_type_of",
    "noun",
    "numbered",
    "pieces_of",
)

Media = ImageContent | AudioContent
Piece = str | Media

_SPELLINGS: Final = {"image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav"}
"""Common misspellings of media types, which providers refuse."""


class MediaRules(msgspec.Struct, frozen=True):
    """Which pictures and sounds a provider takes inline.

    Args:
        types: The media types.
        largest: The most characters of base64 that one may have. Providers measure the encoded form.
    """

    types: frozenset[str]
    largest: int


def pieces_of(result: ToolResult[object]) -> list[Piece]:
    """The pieces of *result* for the model, in order: never empty, no blank text, all of it encodable.

    For anything but a success the words of `words_for` come first; content that they already say is left out.
    """
    pieces = [piece for block in result.content for piece in _pieces(block)]
    if result.outcome != "success":
        words = words_for(result)
        said = {words, *words.splitlines(), *_message_of(result)}
        pieces = [words, *(piece for piece in pieces if not isinstance(piece, str) or piece.strip() not in said)]
    pieces = [encodable(piece) if isinstance(piece, str) else piece for piece in pieces]
    return pieces or [words_for(result)]


def admitted(pieces: Iterable[Piece], rules: MediaRules) -> list[Piece]:
    """*pieces* with each picture or sound that *rules* refuse replaced by a note that says so."""
    return [piece if isinstance(piece, str) else _judged(piece, rules) for piece in pieces]


def labelled(pieces: Iterable[Piece], place: Callable[[Media], str]) -> list[str]:
    """*pieces* as texts: each picture or sound becomes a numbered label that says where it is."""
    texts: list[str] = []
    number = 0
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        else:
            number += 1
            texts.append(f"[{noun(piece)} {number}, {media_type_of(piece)}: {place(piece)}]")
    return texts


def numbered(pieces: Iterable[Piece]) -> list[tuple[int, Media]]:
    """The pictures and sounds among *pieces*, in order, with the numbers that their labels have."""
    return list(enumerate((piece for piece in pieces if not isinstance(piece, str)), start=1))


def media_type_of(media: Media) -> str:
    """The media type without parameters, in its registered spelling."""
    plain = encodable(media.media_type.partition(";")[0].strip().lower())
    return _SPELLINGS.get(plain, plain)


def encoded(media: Media) -> str:
    """The bytes of *media* in base64."""
    return base64.b64encode(media.data).decode("ascii")


def data_url(media: Media) -> str:
    """*media* as a ``data:`` URL."""
    return f"data:{media_type_of(media)};base64,{encoded(media)}"


def _message_of(result: ToolResult[object]) -> tuple[str, ...]:
    if result.error is not None:
        message = result.error.message.strip()
        return message, f"{result.error.code}: {message}"
    return (result.action.message.strip(),) if result.action is not None else ()


def _pieces(block: Content) -> Sequence[Piece]:
    match block:
        case TextContent(text=text) | JsonContent(json=text):
            return [text] if text.strip() else []
        case ImageContent() | AudioContent():
            return [block if block.data else f"[{noun(block)}, {media_type_of(block)}: empty]"]
        case LinkContent(uri=uri, name=name, media_type=media_type, description=description):
            facts = ", ".join(fact for fact in (name, media_type, description) if fact)
            return [f"[link <{uri}>{': ' if facts else ''}{facts}]"]
        case TextResourceContent():
            return [resource_words(block)]
        case BlobResourceContent():
            return _pieces_of_bytes(block)


def _pieces_of_bytes(block: BlobResourceContent) -> Sequence[Piece]:
    """A picture or a sound behind its name; of other bytes a model is told that they are left out."""
    named, kind = f"resource {resource_name(block)}", (block.media_type or "").lower()
    if block.data and kind.startswith("image/"):
        return [f"[{named}]", ImageContent(block.data, kind)]
    if block.data and kind.startswith("audio/"):
        return [f"[{named}]", AudioContent(block.data, kind)]
    if not block.data:
        return [f"[{named}: empty]"]
    return [f"[{named}, {len(block.data)} bytes: left out, because it is no text, picture or sound]"]


def _judged(media: Media, rules: MediaRules) -> Piece:
    kind, size = f"{noun(media)}, {media_type_of(media)}", len(media.data)
    if media_type_of(media) not in rules.types:
        return f"[{kind}, {size} bytes: left out, because this provider does not take it in a tool result]"
    largest = rules.largest // 4 * 3
    if size > largest:
        return f"[{kind}, {size} bytes: left out, because this provider takes at most {largest} bytes]"
    return media


def noun(media: Media) -> str:
    """What to call *media* in a label."""
    return "image" if isinstance(media, ImageContent) else "audio"
