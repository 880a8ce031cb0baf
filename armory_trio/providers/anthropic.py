"""Anthropic Messages: tool uses out of a message, tool results back.

Works on decoded JSON and on the types of the official SDK alike, without importing it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from ._assembly_anthropic import AnthropicStream
from ._blocks import Media, MediaRules, Piece, admitted, encoded, labelled, media_type_of, noun, numbered, pieces_of
from ._declined import refused, void_blocks
from ._detect import refuse_foreign
from ._message import MessageError, field, has, is_list, items, require_record, word, word_or_none
from ._turn import Answer, Dialect, Found, Json, OtherCall, RawCall, Turn, WayBack, build_turn, cut_off

__all__ = ("MessageAssembler", "parse_tool_calls")

ANTHROPIC_MEDIA: Final = MediaRules(frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"}), 5 * 1024 * 1024)
"""The smallest limit among the places that serve these models."""

_SHAPES: Final = "a message, its list of content blocks or one content block"
_CUTS: Final = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
"""Values of ``stop_reason`` that mean the message ends in the middle."""


def parse_tool_calls(
    message: object, *, names: Mapping[str, str] | None = None, manifest: WayBack | None = None
) -> Turn:
    """The tool uses of one Messages API message.

    Args:
        message: A message, its ``content`` list or one content block; decoded JSON or the SDK's own type.
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        manifest: What the model was offered: names and arguments are mapped back to what the tools' contracts say.

    Raises:
        MessageError: *message* is none of these, or its calls have the form of another provider.
        DefinitionError: *names* is no mapping, or *manifest* was made for another provider.
    """
    return refuse_foreign(message, build_turn(_found(message), ANTHROPIC, names, manifest))


def _found(message: object) -> Found:
    if is_list(message):
        return Found(message, "$", void=void_blocks(message))
    node = require_record(message, "$", _SHAPES)
    kind = word(node, "$", "type")
    if kind not in (None, "message", "error"):
        return Found((node,), "$")
    if not has(node, "content"):
        raise MessageError("$", node, _SHAPES)
    if (role := word(node, "$", "role")) not in (None, "assistant"):
        raise MessageError("$.role", role, "'assistant', for only its messages have tool uses")
    content = field(node, "content")
    blocks = () if isinstance(content, str) else items(content, "$.content", "a text or a list of content blocks")
    stop_reason = word(node, "$", "stop_reason")
    cut = stop_reason if stop_reason in _CUTS else None
    return Found(blocks, "$.content", stop_reason, cut, refused(stop_reason), void=void_blocks(blocks))


def _read(block: object, path: str, cut: str | None) -> RawCall | OtherCall | None:
    kind = word(require_record(block, path, "a content block"), path, "type") or ""
    if kind == "tool_use":
        arguments, family = field(block, "input"), word(block, path, "toolset_name")
        defect = None if cut is None else cut_off(cut, arguments)
        echo = {} if family is None else {"toolset_name": family}
        return RawCall(word(block, path, "id"), field(block, "name"), arguments, defect, echo)
    if kind.endswith("tool_use"):
        return OtherCall(kind, word_or_none(block, "id"), word_or_none(block, "name"), path)
    return None


def _is_filler(block: object) -> bool:
    return word_or_none(block, "type") == "text" and not (word_or_none(block, "text") or "").strip()


def _render(answers: Sequence[Answer]) -> list[Json]:
    blocks: list[Json] = []
    pictures: list[Json] = []
    for position, (call, result) in enumerate(answers, start=1):
        pieces = admitted(pieces_of(result), ANTHROPIC_MEDIA)
        block: Json = {"type": "tool_result", "tool_use_id": call.reply_id, **call.echo}
        if result.outcome == "success":
            block["content"] = [_text(piece) if isinstance(piece, str) else _image(piece) for piece in pieces]
        else:
            # The API takes nothing but text in a result that is an error, so its pictures come after all results.
            block["content"] = [_text(text) for text in labelled(pieces, lambda _: "see below, after the tool results")]
            block["is_error"] = True
            pictures += _labelled_pictures(f"tool result {position} ({call.name}, {call.reply_id})", pieces)
        blocks.append(block)
    return [{"role": "user", "content": [*blocks, *pictures]}]


def _labelled_pictures(owner: str, pieces: Sequence[Piece]) -> list[Json]:
    blocks: list[Json] = []
    for number, media in numbered(pieces):
        blocks += [_text(f"{noun(media)} {number} of {owner}:"), _image(media)]
    return blocks


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(media: Media) -> Json:
    source = {"type": "base64", "media_type": media_type_of(media), "data": encoded(media)}
    return {"type": "image", "source": source}


ANTHROPIC: Final = Dialect("anthropic", _read, _render, _is_filler)


class MessageAssembler(AnthropicStream):
    """Puts the events of one streamed Messages API message together.

    Feed it the events of ``create(stream=True)`` or of ``stream()``, as the SDK's objects or as JSON.

    Args:
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        limits: How much is kept.
    """

    cuts: ClassVar[frozenset[str]] = _CUTS

    def _dialect(self) -> Dialect:
        return ANTHROPIC
