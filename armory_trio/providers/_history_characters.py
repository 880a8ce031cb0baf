"""Half characters in the messages of a history: no request could carry them, in this round or any later."""

from __future__ import annotations

from typing import cast

from ._history_parts import Fault
from ._message import as_json, is_list, is_record, members
from ._text import encodable, is_encodable

__all__ = ("fault_of", "has_half", "sendable")


def fault_of(node: object, position: int, *, is_whole: bool = True) -> Fault | None:
    """What is wrong with the characters of the message at *position*; None when it can be sent.

    Args:
        node: The message, or what will be left of it.
        position: Its index in the history.
        is_whole: Whether the entries of *node* stand in the same places as those of the message.
    """
    place = _half_in(node)
    if place is None:
        return None
    words = "half a character (a lone surrogate), which no request can carry"
    return Fault(
        "characters", position, f"$[{position}]{place if is_whole else ''}", None, words, "written as an escape"
    )


def has_half(node: object) -> bool:
    """Whether a text in the message *node* can't be sent."""
    return _half_in(node) is not None


def sendable(node: object) -> object:
    """*node* itself where it can be sent, else a copy that can; what is too deep for any request stays."""
    try:
        return _escaped(node)
    except RecursionError:
        return node


def _half_in(node: object) -> str | None:
    """Where in *node* the first half of a character stands, such as ``.content[0].text``."""
    try:
        return _place_in(node)
    except RecursionError:
        return None


def _place_in(value: object) -> str | None:
    if isinstance(value, str):
        return None if is_encodable(value) else ""
    if is_list(value):
        for at, entry in enumerate(value):
            if (inner := _place_in(entry)) is not None:
                return f"[{at}]{inner}"
    elif is_record(value):
        for name, member in members(value):
            if isinstance(name, str) and not is_encodable(name):
                return ""
            if (inner := _place_in(member)) is not None:
                return f".{name}{inner}"
    return None


def _escaped(value: object) -> object:
    if isinstance(value, str):
        return encodable(value)
    if (not is_list(value) and not is_record(value)) or _place_in(value) is None:
        return value
    if is_list(value):
        return [_escaped(entry) for entry in value]
    fields = cast("dict[object, object]", as_json(value))
    return {encodable(name) if isinstance(name, str) else name: _escaped(member) for name, member in fields.items()}
