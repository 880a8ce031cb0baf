"""Text on its way to a provider: whole characters, short enough to read, and fit to be encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

__all__ = (
    "encodable",
    "encodable_json",
    "is_encodable",
    "is_encodable_json",
    "joined",
    "paired",
    "sendable_json",
    "shortened",
)

_SHOWN: Final = 200


def is_encodable(text: str) -> bool:
    """Whether *text* can be sent at all: no provider's request can carry a lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def paired(text: str) -> str:
    """*text* with each pair of surrogates as the character that it is: a stream may be cut between the two."""
    return (
        text if is_encodable(text) else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    )


def encodable(text: str) -> str:
    """*text* with lone surrogates written as escapes, which in JSON text mean the same."""
    return text if is_encodable(text) else paired(text).encode("utf-8", "backslashreplace").decode("utf-8")


def joined(pieces: Iterable[str]) -> str:
    """The text that came in *pieces*, fit to be encoded."""
    return encodable("".join(pieces))


def is_encodable_json(value: object) -> bool:
    """Whether all texts in the JSON *value*, of bounded depth, can be sent."""
    if isinstance(value, str):
        return is_encodable(value)
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return all(is_encodable_json(key) and is_encodable_json(each) for key, each in members.items())
    return not isinstance(value, list | tuple) or all(map(is_encodable_json, cast("list[object]", value)))


def encodable_json(value: object) -> object:
    """A copy of the JSON *value*, of bounded depth, in which all texts are fit to be encoded."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {encodable(key) if isinstance(key, str) else key: encodable_json(each) for key, each in members.items()}
    return list(map(encodable_json, cast("list[object]", value))) if isinstance(value, list | tuple) else value


def sendable_json(value: object) -> object:
    """*value* itself where it can be sent, else a copy that can; what is too deep for any request stays."""
    try:
        return value if is_encodable_json(value) else encodable_json(value)
    except RecursionError:
        return value


def shortened(text: str) -> str:
    """*text* cut to a readable length, with a note of how much is left out, and fit to be encoded."""
    shown = encodable(text[:_SHOWN])
    return shown if len(text) <= _SHOWN else f"{shown}... ({len(text) - _SHOWN} more characters)"
