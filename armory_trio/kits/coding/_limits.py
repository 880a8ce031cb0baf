"""What the options of the kit must look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs

from ...definitions._checks import shown
from ...errors import DefinitionError

T = TypeVar("T")


def at_least(least: int) -> Callable[[object, attrs.Attribute[int], int], None]:
    """A validator of whole numbers that raises `DefinitionError` for anything else and for what is below *least*."""

    def check(owner: object, field: attrs.Attribute[int], value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            reason = f"must be a whole number from {least} on, not {shown(value)}"
            raise DefinitionError(type(owner).__name__, field.name, reason)

    return check


def instance_of(kind: type[T]) -> Callable[[object, attrs.Attribute[T], T], None]:
    """A validator that raises `DefinitionError` for anything but a *kind*."""

    def check(owner: object, field: attrs.Attribute[T], value: object) -> None:
        if not isinstance(value, kind):
            reason = f"must be {kind.__name__}(...), not {shown(value)}"
            raise DefinitionError(type(owner).__name__, field.name, reason)

    return check
