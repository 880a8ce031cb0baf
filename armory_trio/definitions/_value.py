"""What the values of this room have in common: equality, hash and text, read from their attributes.

attrs can generate all three for each class, but compiling them takes longer than everything else that is done when the
package is imported. The classes say ``@attrs.frozen(eq=False, repr=False)`` and inherit these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import attrs


class Value:
    """Compares, hashes and shows itself by the attributes of its attrs class, as attrs would have it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return tuple(_compared(self)) == tuple(_compared(other))

    def __hash__(self) -> int:
        return hash((self.__class__, *_compared(self)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in _fields(self) if field.repr)
        return f"{self.__class__.__qualname__.rpartition('>.')[2]}({shown})"


def _compared(value: object) -> Iterator[object]:
    return (getattr(value, field.name) for field in _fields(value) if field.eq)


def _fields(value: object) -> tuple[attrs.Attribute[object], ...]:
    return cast("tuple[attrs.Attribute[object], ...]", attrs.fields(type(cast("attrs.AttrsInstance", value))))
