"""Fences around what a tool gave: texts, values, content blocks, errors, results.

The fence is always outermost and always closed. With a cap, what stands in it is cut so that the sum fits.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final, TypeVar

import attrs
import msgspec

from ...definitions._call import DEFAULT_CODES, ToolError, ToolResult
from ...definitions._content import (
    AudioContent,
    BinaryContent,
    BlobResourceContent,
    Content,
    ImageContent,
    JsonContent,
    LinkContent,
    TextContent,
    TextResourceContent,
    resource_name,
    resource_words,
)
from ...definitions._plurals import counted
from ...errors import DefinitionError
from .._codec import encode_content
from .._scalars import encodable
from .._wording import words_for
from ..truncation import Cap, ResultCaps, size_of, truncate_content, truncate_result, truncate_text
from ._defusing import defuse
from ._style import Fence

R = TypeVar("R")

_MEDIA_TYPE: Final = r"[\w!#$&^.+-]{1,64}/[\w!#$&^.+-]{1,64}(; ?[\w-]{1,32}=[\w.+-]{1,64}){0,4}"
_UNKNOWN_TYPE: Final = "application/octet-stream"

_LONGEST_CODE: Final = 64
"""Characters of a code that is shown outside of a fence: more than any of ours has."""


def fence_text(text: str, fence: Fence, cap: Cap | None = None) -> str:
    """*text* between the delimiters of *fence*, with nothing in it that could be taken for one.

    What this very fence encloses already is not fenced again. Lone surrogates are written as escapes.

    Args:
        text: Any text.
        fence: A fresh one.
        cap: For the whole, the fence included. The text is cut, never the fence.

    Raises:
        DefinitionError: *cap* has no room for the fence itself; see `Fence.overhead`.
    """
    if is_fenced(text, fence):
        return text
    return _enclosed(defuse(encodable(text), fence.style.name, fence.token), fence, cap)


def is_fenced(text: str, fence: Fence) -> bool:
    """Whether *text* is enclosed by this very fence, soundly: in its delimiters, and with none in between."""
    before, after = f"{fence.opener}\n", f"\n{fence.closer}"
    if len(text) < len(before) + len(after) or not (text.startswith(before) and text.endswith(after)):
        return False
    inner = text[len(before) : len(text) - len(after)]
    return defuse(inner, fence.style.name, fence.token) == inner


def fence_content(content: Sequence[Content], fence: Fence, caps: ResultCaps | None = None) -> tuple[Content, ...]:
    """Content blocks with all their words in one fenced text block, and what is bytes after it.

    JSON stands in the fence as its text, and so do resources of text. In the place of a picture, a sound or a resource of
    bytes the words say which one belongs there; behind the fence such a resource goes by its number, ``resource:2``.
    JSON without any string holds no words: alone, it is left as it is. A media type that is none becomes the unknown one.

    Args:
        content: What `encode_content` gave.
        fence: A fresh one.
        caps: The bounds of the words, the fence included, and of the pictures and sounds.

    Raises:
        DefinitionError: ``caps.result`` has no room for the fence.
    """
    if _says_nothing(content) or (content and _is_fenced_block(content[0], fence)):
        return tuple(content) if caps is None else truncate_content(content, caps)
    cap = None if caps is None else caps.result
    blocks: Sequence[Content] = content
    if caps is not None and cap is not None:
        # Cut first by blocks, so that JSON stays JSON; what joining and defusing add is cut once more as text.
        inner = _inner_cap(cap, fence)
        blocks = truncate_content([_defused(block, fence) for block in content], caps, cap=inner)
    numbers = itertools.count(1)
    words = "\n\n".join(_words(block, numbers) for block in blocks)
    binary = [block for block in blocks if isinstance(block, BinaryContent)]
    media = [_without_words(block, number) for number, block in enumerate(binary, 1)]
    return (TextContent(fence_text(words, fence, cap)), *media)


def fence_value(value: object, fence: Fence, caps: ResultCaps | None = None) -> object:
    """What a tool returned, fenced: text as text, everything else as the blocks of `fence_content`.

    Numbers, True, False and None hold no words and stay what they are.

    Raises:
        UnencodableResult: A model cannot read *value* at all.
        DefinitionError: ``caps.result`` has no room for the fence.
    """
    if isinstance(value, str):
        return fence_text(value, fence, None if caps is None else caps.result)
    content = encode_content(value)
    fenced = fence_content(content, fence, caps)
    return value if fenced == content else fenced


def fence_error(error: ToolError, fence: Fence, cap: Cap | None = None) -> ToolError:
    """An error with its message, and what its details would add to it, in *fence*.

    The details are kept under the name ``unfenced``, where nothing shows them to a model. So is a code that is more
    than a word, under ``unfenced_code``: a model would read it, and what stands for it is that of the category.

    Args:
        error: What a tool raised.
        fence: A fresh one.
        cap: For the message, the fence included.

    Raises:
        DefinitionError: *cap* has no room for the fence.
    """
    if is_fenced(error.message, fence):
        return error
    bare = words_for(ToolResult("", "", "", "error", error=msgspec.structs.replace(error, message="")))
    lines = bare.split("\n")[1:-1] if error.details else []
    issues = [line for line in lines if line.startswith("- ") and line[2:] not in error.message]
    message = fence_text("\n".join([error.message, *issues]).strip(), fence, cap)
    details: dict[str, object] | None = None if error.details is None else {"unfenced": error.details}
    code = shown_code(error)
    if code != error.code:
        details = {**(details or {}), "unfenced_code": error.code}
    return msgspec.structs.replace(error, code=code, message=message, details=details)


def shown_code(error: ToolError) -> str:
    """The code of *error* if it is a word; one with room for a sentence, or for a delimiter, is not told a model."""
    code = error.code
    is_word = len(code) <= _LONGEST_CODE and code.isascii() and code.replace("_", "a").isalnum()
    return code if is_word else DEFAULT_CODES[error.category]


def fence_result(result: ToolResult[R], fence: Fence, caps: ResultCaps | None = None) -> ToolResult[R]:
    """*result* with all that its tool says to a model in *fence*.

    Only what a model reads is fenced; ``value`` stays what the tool returned. What we say about the call ourselves, and
    the errors of calls that never ran, are not the tool's words and stay outside.

    Args:
        result: Any result.
        fence: A fresh one.
        caps: The bounds of what a model reads, the fence included.

    Raises:
        DefinitionError: A cap has no room for the fence.
    """
    if result.outcome == "success":
        return msgspec.structs.replace(result, content=fence_content(result.content, fence, caps))
    error = result.error
    if error is None or (result.attempts == 0 and result.effect == "none"):
        return result if caps is None else truncate_result(result, caps)
    cap = None
    if caps is not None:
        bare = msgspec.structs.replace(result, error=ToolError(error.category, shown_code(error), "", error.retryable))
        around = size_of(words_for(bare)).bytes + 1
        _inner_cap(caps.error, fence, around)
        cap = caps.error.narrowed(around)
    fenced = msgspec.structs.replace(result, error=fence_error(error, fence, cap))
    return msgspec.structs.replace(fenced, content=(TextContent(words_for(fenced)),))


def _enclosed(text: str, fence: Fence, cap: Cap | None) -> str:
    if cap is not None:
        inner = _inner_cap(cap, fence)
        cut = truncate_text(text, inner)
        if defuse(cut, fence.style.name, fence.token) != cut:  # its two ends have met; a beginning alone is safe
            cut = truncate_text(text, attrs.evolve(inner, keep="head", marker=""))
        text = cut
    return f"{fence.opener}\n{text}\n{fence.closer}"


def _inner_cap(cap: Cap, fence: Fence, around: int = 0) -> Cap:
    """What *cap* leaves for the text in *fence*."""
    lines = fence.opener.count("\n") + 2
    bounds = [bound for bound in (cap.bytes, cap.characters) if bound is not None]
    needed = fence.overhead + around
    if min(bounds, default=needed) < needed or (cap.lines is not None and cap.lines < lines):
        reason = f"has no room for the fence, which takes {needed} bytes and {counted(lines, 'line', 'lines')}"
        raise DefinitionError(f"fence of {fence.tool_name!r}", "cap", reason)
    narrowed = cap.narrowed(fence.overhead)
    return narrowed if cap.lines is None else attrs.evolve(narrowed, lines=cap.lines - lines)


def _says_nothing(content: Sequence[Content]) -> bool:
    """Whether there is nothing but numbers and the like."""
    return all(isinstance(block, JsonContent) and '"' not in block.json for block in content)


def _is_fenced_block(block: Content, fence: Fence) -> bool:
    return isinstance(block, TextContent) and is_fenced(block.text, fence)


def _without_words(block: BinaryContent, number: int) -> BinaryContent:
    """*block*, which follows the fence and could say anything there by what is text of it.

    A media type that is none becomes the unknown one, and a resource goes by the number that it has in the fence.
    """
    kind = block.media_type or _UNKNOWN_TYPE
    if re.fullmatch(_MEDIA_TYPE, kind, re.ASCII) is None:
        kind = _UNKNOWN_TYPE
    if isinstance(block, BlobResourceContent):
        return BlobResourceContent(f"resource:{number}", block.data, kind)
    return block if kind == block.media_type else msgspec.structs.replace(block, media_type=kind)


def _defused(block: Content, fence: Fence) -> Content:
    match block:
        case TextContent(text=text):
            return TextContent(defuse(text, fence.style.name, fence.token))
        case JsonContent(json=text):
            return JsonContent(defuse(text, fence.style.name, fence.token))
        case TextResourceContent(text=text):
            return msgspec.structs.replace(block, text=defuse(text, fence.style.name, fence.token))
        case _:
            return block


def _words(block: Content, numbers: itertools.count[int]) -> str:
    match block:
        case TextContent(text=text) | JsonContent(json=text):
            return text
        case ImageContent(media_type=kind):
            return f"[image {next(numbers)}: {kind}]"
        case AudioContent(media_type=kind):
            return f"[audio {next(numbers)}: {kind}]"
        case LinkContent(uri=uri, name=name, description=description):
            return " ".join(part for part in (name, f"<{uri}>", description) if part)
        case TextResourceContent():
            return resource_words(block)
        case BlobResourceContent():
            return f"[resource {next(numbers)}: {resource_name(block)}]"
