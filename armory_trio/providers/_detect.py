"""Telling by its shape whose message one is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ._message import GEMINI_CALL, MessageError, field, has, is_list, is_record, word_or_none
from ._turn import Provider, Turn

__all__ = ("detect_provider", "is_envelope", "refuse_foreign")


def detect_provider(message: object) -> Provider | None:
    """Whose message *message* is, or None when its shape fits none or several of them.

    Reads what the parsers read: whole responses, choices and candidates, messages, lists of their parts, single parts;
    decoded JSON or SDK types. A bare ``{"role": "assistant", "content": "..."}`` could be anybody's, and is None.
    """
    if is_list(message):
        return next((provider for entry in message if (provider := _of_part(entry)) is not None), None)
    if not is_record(message):
        return None
    found: list[Provider] = [provider for provider, fits in _WHOLE.items() if fits(message)]
    return found[0] if len(found) == 1 else _of_part(message)


def is_envelope(node: object) -> bool:
    """Whether *node* is a whole response, a choice or a candidate: what a message comes in, and no message itself."""
    if word_or_none(node, "role") is not None or word_or_none(node, "type") is not None:
        return False
    lists = any(is_list(field(node, name)) for name in ("choices", "candidates", "output"))
    return lists or is_record(field(node, "message", "content"))


def _is_chat(node: object) -> bool:
    if has(node, "choices"):
        return True
    message = field(node, "message")
    return any(has(message if message is not None else node, name) for name in ("tool_calls", "refusal"))


def _is_responses(node: object) -> bool:
    return word_or_none(node, "object") == "response" or (has(node, "output") and word_or_none(node, "type") is None)


def _is_anthropic(node: object) -> bool:
    if word_or_none(node, "type") == "message" and has(node, "stop_reason"):
        return True
    content = field(node, "content")
    return is_list(content) and detect_provider(content) == "anthropic"


def _is_gemini(node: object) -> bool:
    return has(node, "candidates") or has(node, "parts") or has(field(node, "content"), "parts")


_WHOLE: Final[Mapping[Provider, Callable[[object], bool]]] = {
    "openai-chat": _is_chat,
    "openai-responses": _is_responses,
    "anthropic": _is_anthropic,
    "gemini": _is_gemini,
}


def _of_part(part: object) -> Provider | None:
    """Whose part, block, item or call *part* is, when it is a call or stands only in messages with calls."""
    if field(part, *GEMINI_CALL) is not None and word_or_none(part, "role") is None:
        return "gemini"
    kind = word_or_none(part, "type") or ""
    if kind == "function_call" or (kind == "reasoning" and has(part, "summary")):
        return "openai-responses"
    if kind.endswith("tool_use") or kind in ("thinking", "redacted_thinking"):
        return "anthropic"
    return "openai-chat" if is_record(field(part, "function")) else None


def refuse_foreign(message: object, turn: Turn) -> Turn:
    """*turn*, which was read from *message*.

    Many shapes fit several providers, so a message that was given to the wrong parser seems to have no calls. The
    model would never hear of those that it has.

    Raises:
        MessageError: It has none in its own form, and one in the form of another provider.
    """
    if turn.calls:
        return turn
    other = next((form for entry in _entries(message) if (form := _form_of_call(entry)) is not None), None)
    if other is None or other == turn.provider:
        return turn
    raise MessageError("$", message, f"calls in the form of {turn.provider}, not of {other}; use the parser for these")


def _entries(message: object) -> Iterator[object]:
    """Whatever may be a call in the message of some provider."""
    if is_list(message):
        yield from message
        return
    yield message
    for name in ("tool_calls", "content", "output", "parts"):
        inner = field(message, name)
        if is_list(inner):
            yield from inner
    for name in ("message", "content"):
        inner = field(message, name)
        if is_record(inner):
            yield from _entries(inner)
    for name in ("choices", "candidates"):
        inner = field(message, name)
        if is_list(inner):
            for entry in inner:
                yield from _entries(entry)


def _form_of_call(entry: object) -> Provider | None:
    kind = word_or_none(entry, "type")
    if kind == "tool_use" and has(entry, "input"):
        return "anthropic"
    if kind == "function_call" and has(entry, "arguments"):
        return "openai-responses"
    if kind is None and word_or_none(entry, "role") is None and is_record(field(entry, *GEMINI_CALL)):
        return "gemini"
    return "openai-chat" if kind in (None, "function") and has(field(entry, "function"), "arguments") else None
