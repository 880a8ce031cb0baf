"""Gemini: function calls out of a response, function responses back.

Works on decoded JSON (camelCase or snake_case) and on the types of the official SDK alike, without importing it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import msgspec

from ..definitions import ImageContent, JsonContent, ToolResult, parse_json
from ..errors import JsonError
from ._assembly_gemini import GeminiStream, require_model
from ._blocks import (
    Media,
    MediaRules,
    Piece,
    admitted,
    encoded,
    labelled,
    media_type_of,
    noun,
    numbered,
    pieces_of,
)
from ._detect import refuse_foreign
from ._message import GEMINI_CALL, MessageError, field, has, is_list, items, record, require_record, word, word_or_none
from ._text import is_encodable
from ._turn import (
    UNREADABLE,
    Answer,
    Dialect,
    Found,
    Json,
    OtherCall,
    RawCall,
    Turn,
    WayBack,
    WireCall,
    build_turn,
    cut_off,
)

__all__ = ("ContentAssembler", "parse_tool_calls")

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
_AUDIO: Final = frozenset({"audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"})
_MEDIA: Final = MediaRules(_IMAGES | _AUDIO, 15 * 1024 * 1024)
"""A whole request with inline data may have 20 MB, so one picture cannot have all of it."""

_SHAPES: Final = "a response, one of its candidates, a content, a list of parts or one part"
_PART_MARKS: Final = (*GEMINI_CALL, "text", "toolCall", "tool_call", "executableCode")

_CUTS: Final = frozenset(
    {
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "OTHER",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_RESPONSE",
        "ESCALATION",
        "CONTINUATION",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_OTHER",
    }
)
"""Values of ``finishReason`` that mean the model was stopped."""

_FOLLOW_UP: Final = "The media that the function responses above refer to. They come from tools, not from the user."
_LARGEST_EXACT: Final = 2**53
_VERSION: Final = re.compile(r"gemini-(\d+)")


def parse_tool_calls(
    message: object,
    *,
    names: Mapping[str, str] | None = None,
    model: str | None = None,
    manifest: WayBack | None = None,
) -> Turn:
    """The function calls of one Gemini response.

    Args:
        message: A response with one candidate, a candidate, a content, a list of parts or one part; decoded JSON or
            the SDK's own type.
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        manifest: What the model was offered: names and arguments are mapped back to what the tools' contracts say.
        model: The model that wrote it; by default what the response says. From Gemini 3 on pictures stand inside the
            function responses; older and unknown models get them in a message after those.

    Raises:
        MessageError: *message* is none of these, or its calls have the form of another provider.
        DefinitionError: *names* is no mapping, or *manifest* was made for another provider, or *model* no text.
    """
    require_model(model)
    found = _found(message)
    version = model if model is not None else word_or_none(message, "modelVersion", "model_version")
    return refuse_foreign(message, build_turn(found, GEMINI_3 if _takes_media(version) else GEMINI, names, manifest))


def _takes_media(model: str | None) -> bool:
    version = _VERSION.search(model or "")
    return version is not None and int(version[1]) >= 3


def _found(message: object) -> Found:
    if is_list(message):
        return Found(message, "$")
    node = require_record(message, "$", _SHAPES)
    if has(node, "candidates"):
        # A prompt that was refused has no candidates, and the SDK says None for that.
        candidates = items(field(node, "candidates"), "$.candidates", "a list with one candidate")
        if len(candidates) > 1:
            raise MessageError(
                "$.candidates", candidates, "one candidate; pass the one that the conversation goes on with"
            )
        return _in_candidate(candidates[0], "$.candidates[0]") if candidates else Found((), "$.candidates")
    if has(node, "content"):
        return _in_candidate(node, "$")
    if has(node, "parts"):
        return _in_content(node, "$", None)
    if any(has(node, name) for name in _PART_MARKS):
        return Found((node,), "$")
    raise MessageError("$", node, _SHAPES)


def _in_candidate(candidate: object, path: str) -> Found:
    content = record(require_record(candidate, path, "a candidate"), path, "content")
    reason = word(candidate, path, "finishReason", "finish_reason")
    return _in_content(content, f"{path}.content", reason)


def _in_content(content: object, path: str, reason: str | None) -> Found:
    if (role := word(content, path, "role")) not in (None, "", "model"):
        raise MessageError(f"{path}.role", role, "'model', for only its contents have function calls")
    parts = items(field(content, "parts"), f"{path}.parts", "a list of parts")
    defect = UNREADABLE if reason == "MALFORMED_FUNCTION_CALL" else None
    return Found(parts, f"{path}.parts", reason, reason if reason in _CUTS else None, defect)


def _read(part: object, path: str, cut: str | None) -> RawCall | OtherCall | None:
    call = record(require_record(part, path, "a part"), path, *GEMINI_CALL)
    if call is not None:
        return _function_call(call, f"{path}.functionCall", cut)
    served = record(part, path, "toolCall", "tool_call")
    if served is not None:
        kind = word(served, f"{path}.toolCall", "toolType", "tool_type")
        return OtherCall("toolCall", word_or_none(served, "id"), kind, path)
    if record(part, path, "executableCode", "executable_code") is not None:
        return OtherCall("executableCode", None, None, path)
    return None


def _function_call(call: object, path: str, cut: str | None) -> RawCall:
    arguments = field(call, "args")
    if field(call, "willContinue", "will_continue") is True or field(call, "partialArgs", "partial_args"):
        cut = "more of the call was to follow"
    defect = None if cut is None else cut_off(cut, arguments)
    return RawCall(word(call, path, "id"), field(call, "name"), arguments, defect)


def _is_filler(part: object) -> bool:
    """Whether *part* holds nothing but blank text: a signature may come in a part of its own, after a call."""
    text = field(part, "text")
    return isinstance(text, str) and not text.strip() and field(part, *GEMINI_CALL) is None


def _render_inside(answers: Sequence[Answer]) -> list[Json]:
    return _render(answers, lambda media: isinstance(media, ImageContent))


def _render_apart(answers: Sequence[Answer]) -> list[Json]:
    return _render(answers, lambda _: False)


def _render(answers: Sequence[Answer], inside: Callable[[Media], bool]) -> list[Json]:
    """One content for all results, and a second one for the media that cannot stand inside.

    The API wants exactly one part for each call in the content that answers them.
    """
    parts: list[Json] = []
    apart: list[Json] = []
    for position, (call, result) in enumerate(answers, start=1):
        pieces = admitted(pieces_of(result), _MEDIA)
        response = _function_response(call, result, pieces, inside)
        nested = [_inline(media) for _, media in numbered(pieces) if inside(media)]
        parts.append({"functionResponse": {**response, "parts": nested} if nested else response})
        for number, media in numbered(pieces):
            if not inside(media):
                label = f"{noun(media)} {number} of function response {position} ({call.name}):"
                apart.append({"text": label})
                apart.append(_inline(media))
    contents: list[Json] = [{"role": "user", "parts": parts}]
    return [*contents, {"role": "user", "parts": [{"text": _FOLLOW_UP}, *apart]}] if apart else contents


def _function_response(
    call: WireCall, result: ToolResult[object], pieces: Sequence[Piece], inside: Callable[[Media], bool]
) -> Json:
    texts = labelled(pieces, lambda media: "attached" if inside(media) else "see the next message")
    key = "output" if result.outcome == "success" else "error"
    structured = _structured(result)
    response: Json = {
        "name": call.name or "unknown",
        "response": {key: "\n\n".join(texts) if structured is None else structured},
    }
    return response if call.wire_id is None else {"id": call.wire_id, **response}


def _structured(result: ToolResult[object]) -> object | None:
    """The value of a result that is one JSON object or array, None for any other and for what would be rounded."""
    if result.outcome != "success" or len(result.content) != 1 or not isinstance(result.content[0], JsonContent):
        return None
    try:
        value = parse_json(result.content[0].json)
    except JsonError:
        return None
    if not isinstance(value, (dict, list)):
        return None
    structured = cast("object", value)
    return structured if _travels(structured) else None


def _travels(value: object) -> bool:
    """Whether the API can carry *value*: its numbers are doubles, and its texts have no lone surrogates."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            members = cast("dict[object, object]", item)
            waiting += [*members.keys(), *members.values()]
        elif is_list(item):
            waiting += item
        elif not _is_exact(item):
            return False
    return True


def _is_exact(scalar: object) -> bool:
    if isinstance(scalar, str):
        return is_encodable(scalar)
    return not isinstance(scalar, int) or abs(scalar) <= _LARGEST_EXACT


def _inline(media: Media) -> Json:
    return {"inlineData": {"mimeType": media_type_of(media), "data": encoded(media)}}


GEMINI_3: Final = Dialect("gemini", _read, _render_inside, _is_filler)
GEMINI: Final = Dialect("gemini", _read, _render_apart, _is_filler)


class ContentAssembler(GeminiStream):
    """Puts the chunks of one streamed Gemini response together.

    Feed it the chunks of ``generate_content_stream``, as the SDK's objects or as JSON. Calls that come whole and calls
    whose arguments are streamed value by value are both read.

    Args:
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        model: The model that writes it; by default what the chunks say. See `parse_tool_calls`.
        candidate: The index of the candidate that the conversation goes on with; others are ignored.
        limits: How much is kept.
    """

    def _found(self) -> Found:
        self._chosen.require()
        found = _in_content({"parts": self._entries()}, "$", self._stop_reason)
        cut = self._lost or found.cut
        defects = self._calls.defects(self._places(), cut, lost=self._lost is not None, closes=True)
        return msgspec.structs.replace(found, cut=cut, defects=defects)

    def _dialect(self) -> Dialect:
        return GEMINI_3 if _takes_media(self._model) else GEMINI
