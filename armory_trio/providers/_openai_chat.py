"""OpenAI Chat Completions: tool calls out of a message, tool messages back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..definitions import CallDefect
from ._blocks import MediaRules, Piece, admitted, data_url, labelled, noun, numbered, pieces_of
from ._detect import refuse_foreign
from ._message import MessageError, field, has, is_list, items, record, require_record, word, word_or_none
from ._turn import UNREADABLE, Answer, Dialect, Found, Json, OtherCall, RawCall, Turn, WayBack, build_turn, cut_off

__all__ = ("CHAT", "OPENAI_MEDIA", "broken_by", "cut_by", "parse_chat_tool_calls")

OPENAI_MEDIA: Final = MediaRules(frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"}), 20 * 1024 * 1024)

_SHAPES: Final = "a chat completion, one of its choices, an assistant message, a list of tool calls or one tool call"
_MARKS: Final = ("role", "content", "tool_calls", "refusal", "function_call")
"""A message has at least one of these."""

_CUTS: Final = frozenset(
    {
        *("length", "max_tokens", "model_length", "model_context_window_exceeded", "insufficient_system_resource"),
        *("content_filter", "sensitive", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"),
        *("error", "abort", "network_error", "incomplete"),
    }
)
"""Values of ``finish_reason``, in small letters, that mean the model was stopped. Compatible servers have some of their
own, and gateways hand on those of the provider behind them."""

_MALFORMED: Final = "malformed"
"""Part of each word by which a gateway says that a call is broken."""

_FOLLOW_UP: Final = "The pictures that the tool results above refer to follow. They come from tools, not from the user."


def parse_chat_tool_calls(
    message: object, *, names: Mapping[str, str] | None = None, manifest: WayBack | None = None
) -> Turn:
    """The tool calls of one Chat Completions message.

    Args:
        message: A chat completion with one choice, a choice, an assistant message, a list of tool calls or one tool
            call; decoded JSON or the SDK's own type.
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        manifest: What the model was offered: names and arguments are mapped back to what the tools' contracts say.

    Raises:
        MessageError: *message* is none of these, or its calls have the form of another provider.
        DefinitionError: *names* is no mapping, or *manifest* was made for another provider.
    """
    return refuse_foreign(message, build_turn(_found(message), CHAT, names, manifest))


def _found(message: object) -> Found:
    if is_list(message):
        return Found(message, "$")
    node = require_record(message, "$", _SHAPES)
    if has(node, "choices"):
        choices = field(node, "choices")
        if choices is None:
            raise MessageError("$.choices", choices, "a list with one choice")
        entries = items(choices, "$.choices", "a list with one choice")
        if len(entries) > 1:
            raise MessageError("$.choices", entries, "one choice; pass the one that the conversation goes on with")
        return _in_choice(entries[0], "$.choices[0]") if entries else Found((), "$.choices")
    if has(node, "message"):
        return _in_choice(node, "$")
    if has(node, "function"):
        return Found((node,), "$")
    return _in_message(node, "$", None)


def cut_by(stop_reason: str | None) -> str | None:
    """*stop_reason* if it means that the message was cut off."""
    return stop_reason if stop_reason is not None and stop_reason.lower() in _CUTS else None


def broken_by(stop_reason: str | None) -> CallDefect | None:
    """What is wrong with every call of a message if *stop_reason* says that one of them is broken."""
    return UNREADABLE if stop_reason is not None and _MALFORMED in stop_reason.lower() else None


def _in_choice(choice: object, path: str) -> Found:
    message = record(require_record(choice, path, "a choice"), path, "message")
    if message is None:
        raise MessageError(path, choice, "a choice with a message; put the chunks of a stream together first")
    return _in_message(message, f"{path}.message", word(choice, path, "finish_reason"))


def _in_message(message: object, path: str, stop_reason: str | None) -> Found:
    if not any(has(message, name) for name in _MARKS):
        raise MessageError(path, message, _SHAPES)
    if (role := word(message, path, "role")) not in (None, "assistant"):
        raise MessageError(f"{path}.role", role, "'assistant', for only its messages have tool calls")
    calls = items(field(message, "tool_calls"), f"{path}.tool_calls", "a list of tool calls")
    legacy = record(message, path, "function_call")
    cut = cut_by(stop_reason)
    others = (
        () if legacy is None else (_other("function_call", legacy, f"{path}.function_call", is_cut=cut is not None),)
    )
    return Found(calls, f"{path}.tool_calls", stop_reason, cut, broken_by(stop_reason), others=others)


def _read(entry: object, path: str, cut: str | None) -> RawCall | OtherCall:
    require_record(entry, path, "a tool call")
    kind = word(entry, path, "type")
    function = record(entry, path, "function")
    if function is None and kind not in (None, "", "function"):
        return _other(kind or "", entry, path)
    arguments = field(function, "arguments")
    defect = None if cut is None else cut_off(cut, arguments)
    if function is None and defect is None:
        defect = CallDefect("MALFORMED_CALL", "The call has no function. Name a tool and give its arguments.")
    return RawCall(word(entry, path, "id"), field(function, "name"), arguments, defect)


def _other(kind: str, entry: object, path: str, *, is_cut: bool = False) -> OtherCall:
    named = entry if kind == "function_call" else field(entry, kind)
    return OtherCall(kind, word_or_none(entry, "id"), word_or_none(named, "name"), path, is_cut)


def _render(answers: Sequence[Answer]) -> list[Json]:
    messages: list[Json] = []
    pictures: list[Json] = []
    for position, (call, result) in enumerate(answers, start=1):
        pieces = admitted(pieces_of(result), OPENAI_MEDIA)
        texts = labelled(pieces, lambda _: "see the user message after the tool results")
        messages.append({"role": "tool", "tool_call_id": call.reply_id, "content": "\n\n".join(texts)})
        pictures += _pictures(f"tool result {position} ({call.name}, {call.reply_id})", pieces)
    if pictures:
        messages.append({"role": "user", "content": [{"type": "text", "text": _FOLLOW_UP}, *pictures]})
    return messages


def _pictures(owner: str, pieces: Sequence[Piece]) -> list[Json]:
    parts: list[Json] = []
    for number, media in numbered(pieces):
        parts.append({"type": "text", "text": f"{noun(media)} {number} of {owner}:"})
        parts.append({"type": "image_url", "image_url": {"url": data_url(media)}})
    return parts


CHAT: Final = Dialect("openai-chat", _read, _render)
