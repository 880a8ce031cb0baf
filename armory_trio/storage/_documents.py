"""Values as JSON text and back, whatever text they hold; and what names them in an index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

import msgspec

T = TypeVar("T")


def to_text(value: object) -> str:
    """*value* as JSON, in ASCII wherever a database could not hold it otherwise."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half a surrogate pair: no UTF-8 has it, and JSON can say it
        return json.dumps(msgspec.to_builtins(value))


def from_text(text: str, type: type[T]) -> T:
    """The value that `to_text` wrote.

    Raises:
        msgspec.ValidationError: It holds something else.
    """
    try:
        return msgspec.json.decode(text, type=type)
    except (msgspec.DecodeError, RecursionError) as error:
        return msgspec.convert(_plain(text, error), type)


def _plain(text: str, error: Exception) -> object:
    """What *text* says, half surrogate pairs included, of which `msgspec` knows nothing but its *error*."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise msgspec.ValidationError(str(error)) from error


def key_of(*parts: object) -> str:
    """What a row is found by: 64 hexadecimal digits for any *parts*, long or strange as they may be."""
    return hashlib.sha256(json.dumps(parts, default=repr).encode()).hexdigest()


def tag_of(text: str) -> str:
    """What *text* is looked for by, where others may have the same: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(text).encode()).hexdigest()[:32]


def chunks(keys: Sequence[str], size: int) -> list[Sequence[str]]:
    """*keys* in pieces of at most *size*."""
    return [keys[start : start + size] for start in range(0, len(keys), size)]
