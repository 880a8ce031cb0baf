"""What a model reads of a result, made to fit: content blocks, errors, and the result that holds them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar, cast

import attrs
import msgspec

from ...definitions._call import ToolError, ToolResult
from ...definitions._content import (
    BinaryContent,
    BlobResourceContent,
    Content,
    ImageContent,
    JsonContent,
    LinkContent,
    TextContent,
    TextResourceContent,
    resource_words,
)
from ...definitions._pending import RequiredAction
from .._blocks import content_size
from .._codec import encode_content, encode_json
from .._unencodable import UnencodableResult
from .._wording import words_for
from ._blobs import strip_blobs
from ._caps import Cap, ResultCaps
from ._json import LEAST as LEAST_JSON
from ._json import truncate_json
from ._sharing import Claim, share_out
from ._spill import SpillDirectory
from ._text import size_of, truncate_text

R = TypeVar("R")

_BLANK: Final = "(white space)"


def truncate_value(value: object, caps: ResultCaps) -> object:
    """What a tool returned, or as much of it as a model may read; *value* itself when it fits.

    Text stays text, and JSON stays a value of the same shape. What is shown as several blocks becomes those blocks.

    Raises:
        UnencodableResult: A model cannot read *value* at all.
    """
    blocks = encode_content(value)
    cut = truncate_content(blocks, caps)
    if cut == blocks:
        return value
    match cut:
        case (TextContent(text=text),):
            return text
        case (JsonContent(json=text),):
            return cast("object", json.loads(text))
        case _:
            return cut


def truncate_content(
    content: Sequence[Content], caps: ResultCaps, *, spill: SpillDirectory | None = None, cap: Cap | None = None
) -> tuple[Content, ...]:
    """Content blocks, or as much of them as fits: never more than the cap, never nothing where something was.

    All words share what there is evenly, and blocks that are too many are left out in the middle. Pictures and sounds
    beyond their bound become a note.

    Args:
        content: What `encode_content` gave.
        caps: The bounds.
        spill: Takes all the words when some are left out; the model is told the file. Blocks: call this in a thread
            then. When it cannot be written the result is cut all the same, and no file is named.
        cap: Used in the place of ``caps.result``.
    """
    cap = cap or caps.result
    whole = [_without_blobs(block) if caps.blobs else block for block in _bounded_media(content, caps.media)]
    if _fits(whole, cap):
        return tuple(whole)
    told = _spilled(content, spill, cap)
    if told is None:
        return tuple(_shared(whole, cap))
    return (*_shared(whole, cap.narrowed(size_of(told).bytes)), TextContent(told))


def truncate_error(error: ToolError, caps: ResultCaps, *, around: int = 0) -> ToolError:
    """An error whose message and details fit into the cap for errors, less the *around* bytes of what is said besides.

    The details keep their shape. They are left out when there is no room for both.
    """
    cap = caps.error.narrowed(around + 2)
    limit = min(bound for bound in (cap.bytes, cap.characters) if bound is not None)
    message = strip_blobs(error.message) if caps.blobs else error.message
    taken = size_of(truncate_text(message, cap)).bytes
    details, size = _bounded_details(error.details, max(limit // 2, limit - taken))
    return msgspec.structs.replace(error, message=truncate_text(message, cap.narrowed(size)), details=details)


def _bounded_details(details: Mapping[str, object] | None, limit: int) -> tuple[Mapping[str, object] | None, int]:
    """Details that take at most *limit* bytes as JSON, and how many they take. Those that are no JSON are left out."""
    if details is None:
        return None, 0
    with suppress(UnencodableResult, ValueError):
        whole = encode_json(details)
        text = truncate_json(whole, Cap(bytes=limit))
        return details if text == whole else cast("Mapping[str, object]", json.loads(text)), size_of(text).bytes
    return None, 0


def truncate_result(
    result: ToolResult[R], caps: ResultCaps | None = None, *, spill: SpillDirectory | None = None
) -> ToolResult[R]:
    """*result* with no more in it than a model may read; *result* itself when it fits.

    Only what a model reads is cut: the content, and the message and details of an error. ``value`` stays what the tool
    returned, for the host.

    Args:
        result: Any result.
        caps: The bounds; by default those of `ResultCaps`.
        spill: Takes all the words of a content that is cut; see `truncate_content`.
    """
    caps = caps or ResultCaps()
    if result.outcome == "success":
        content = truncate_content(result.content, caps, spill=spill)
        return result if content == result.content else msgspec.structs.replace(result, content=content)
    if _fits(result.content, caps.error) and size_of(words_for(result)).fits(caps.error.room):
        return result
    return msgspec.structs.replace(
        result,
        error=None if result.error is None else truncate_error(result.error, caps, around=_spoken_around(result)),
        action=None if result.action is None else _bounded_action(result.action, caps.error, _spoken_around(result)),
        content=truncate_content(result.content, caps, spill=spill, cap=caps.error),
    )


def _spoken_around(result: ToolResult[object]) -> int:
    """Bytes of the sentences that `words_for` puts around the message of an error or an action."""
    error, action = result.error, result.action
    if error is not None:
        result = msgspec.structs.replace(result, error=msgspec.structs.replace(error, message="", details=None))
    if action is not None:
        result = msgspec.structs.replace(result, action=msgspec.structs.replace(action, message=""))
    return size_of(words_for(result)).bytes


def _bounded_action(action: RequiredAction, cap: Cap, around: int) -> RequiredAction:
    return msgspec.structs.replace(action, message=truncate_text(action.message, cap.narrowed(around + 2)))


def _fits(content: Iterable[Content], cap: Cap) -> bool:
    texts = [_words(block) for block in content if not isinstance(block, BinaryContent)]
    sizes = [size_of(text) for text in texts]
    room = cap.room
    return (
        sum(size.bytes for size in sizes) <= room.bytes
        and sum(size.characters for size in sizes) <= room.characters
        and all(size.lines <= room.lines for size in sizes)
    )


def _words(block: TextContent | JsonContent | LinkContent | TextResourceContent) -> str:
    match block:
        case TextContent(text=text) | JsonContent(json=text):
            return text
        case LinkContent(uri=uri, name=name, description=description):
            return f"{uri}{name}{description}"
        case TextResourceContent():
            return resource_words(block)


def _bounded_media(content: Iterable[Content], limit: int | None) -> Iterable[Content]:
    left = limit
    for block in content:
        if not isinstance(block, BinaryContent) or left is None:
            yield block
        elif len(block.data) <= left:
            left -= len(block.data)
            yield block
        else:
            yield TextContent(f"[{_kind(block)}, in bytes: {len(block.data)}, left out as too large]")


def _kind(block: BinaryContent) -> str:
    """What a note calls a block of bytes. The name of a resource may be of any length, and is not in it."""
    if isinstance(block, BlobResourceContent):
        return "a resource"
    return f"{'image' if isinstance(block, ImageContent) else 'audio'} {block.media_type}"


def _without_blobs(block: Content) -> Content:
    match block:
        case TextContent(text=text):
            return TextContent(strip_blobs(text))
        case JsonContent(json=text):
            return JsonContent(strip_blobs(text))
        case TextResourceContent(text=text):
            return msgspec.structs.replace(block, text=strip_blobs(text))
        case _:
            return block


def _spilled(content: Sequence[Content], spill: SpillDirectory | None, cap: Cap) -> str | None:
    """The words that name the file with all the words, or None where there is none."""
    if spill is None:
        return None
    path = spill.reserve()
    told = f"[The whole text is in the file {path}]"
    half = min(bound for bound in (cap.bytes, cap.characters) if bound is not None) // 2
    if size_of(told).bytes > half or cap.lines == 0:
        return None
    with suppress(OSError):
        spill.write("\n\n".join(_words(block) for block in content if not isinstance(block, BinaryContent)), path)
        return told
    return None


def _shared(content: Sequence[Content], cap: Cap) -> Iterable[Content]:
    """The blocks, each cut to its share, and a note where some are missing. Pictures and sounds stay."""
    places = [place for place, block in enumerate(content) if not isinstance(block, BinaryContent)]
    octets = cap.characters is None or cap.bytes is not None
    sizes = [content_size([content[place]]) if octets else len(_words_at(content, place)) for place in places]
    limit = min(bound for bound in (cap.bytes, cap.characters) if bound is not None)
    note = f"[... blocks left out: {len(places)}]"
    shares = share_out([Claim(0, size) for size in sizes], limit, least=LEAST_JSON, note=len(note), keep=cap.keep)
    lost = places[shares.head : len(places) - shares.tail]
    for place, block in enumerate(content):
        if place in lost[:1]:
            yield TextContent(f"[... blocks left out: {len(lost)}]")
        if place not in range(lost[0], lost[-1] + 1) if lost else True:
            yield _cut(block, attrs.evolve(cap, bytes=shares.level if octets else None, characters=shares.level))
        elif isinstance(block, BinaryContent):
            yield block


def _words_at(content: Sequence[Content], place: int) -> str:
    block = content[place]
    return "" if isinstance(block, BinaryContent) else _words(block)


def _cut(block: Content, cap: Cap) -> Content:
    match block:
        case TextContent(text=text):
            return _readable(text, cap)
        case JsonContent(json=text):
            with suppress(ValueError):
                return JsonContent(truncate_json(text, cap))
            return _readable(text, cap)
        case LinkContent() if not _fits([block], cap):
            return TextContent(f"[a link, in bytes: {content_size([block])}, left out as too long]")
        case TextResourceContent():
            return _cut_resource(block, cap)
        case _:
            return block


def _cut_resource(block: TextResourceContent, cap: Cap) -> Content:
    """*block* with as much of its text as fits beside its name, or a note where there is no room for that."""
    bare = msgspec.structs.replace(block, text="")
    if not _fits([bare], cap):
        return TextContent(f"[a resource, in bytes: {content_size([block])}, left out as too long]")
    text = truncate_text(block.text, cap.narrowed(size_of(_words(bare)).bytes))
    return msgspec.structs.replace(block, text=text)


def _readable(text: str, cap: Cap) -> TextContent:
    """*text* made to fit. What is left is more than white space, which providers refuse."""
    cut = truncate_text(text, cap)
    return TextContent(cut if cut == text or cut.strip() else _BLANK)
