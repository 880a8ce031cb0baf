"""What kind of JSON a value is, and which values JSON takes for equal."""

from __future__ import annotations

from ..definitions import canonical_text
from ..errors import JsonError

__all__ = ("json_kind", "same_key")


def json_kind(value: object) -> str:
    """The type of JSON that *value* has, integers as ``integer``; ``1.0`` is one."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def same_key(value: object) -> str:
    """A text that two values share when JSON takes them for equal."""
    try:
        return canonical_text(value, mode="exact")
    except JsonError:
        return f"!{value!r}"
