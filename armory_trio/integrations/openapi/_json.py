"""What kind of plain JSON a value is, in words that type checkers follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

__all__ = ("is_array", "is_object")


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether *value* is an object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether *value* is an array."""
    return isinstance(value, list)
