"""How a value that is one of several alternatives is written in a dialect and read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

import msgspec

from ._codings import Coding, Misfit, Tried, decoded, encoded, members_of
from ._fits import fits
from ._json_kinds import json_kind, same_key

__all__ = ("Option", "Shape", "Unions", "Wrapped", "option_name")

_OBJECT: Final = frozenset(("object",))


def option_name(index: int) -> str:
    """What an alternative is called when a union is written as an object with one member."""
    return f"option_{index + 1}"


class Shape(msgspec.Struct, frozen=True):
    """What tells an alternative from the others at a glance.

    Args:
        types: The types that it may have in the dialect; None when that is not known.
        required: The members that an object has to have.
        names: The members that it can have; None for any.
        tags: The only values of members that have to be there.
    """

    types: frozenset[str] | None
    required: frozenset[str] = frozenset()
    names: frozenset[str] | None = None
    tags: Mapping[str, frozenset[str]] = {}

    def fits(self, value: object) -> bool:
        """Whether *value* may be of this shape."""
        kind = json_kind(value)
        if self.types is not None and ("number" if kind == "integer" else kind) not in self.types:
            return False
        if not isinstance(value, dict):
            return True
        members = cast("dict[str, object]", value)
        if not self.required <= members.keys() or (self.names is not None and not members.keys() <= self.names):
            return False
        return all(same_key(members[name]) in legal for name, legal in self.tags.items() if name in members)

    def differs(self, other: Shape) -> bool:
        """Whether nothing is of both shapes."""
        if self.types is None or other.types is None:
            return False
        both = self.types & other.types
        if both != _OBJECT:
            return not both
        if any(self.tags[name].isdisjoint(other.tags[name]) for name in self.tags.keys() & other.tags.keys()):
            return True
        return _lacks(self.required, other.names) or _lacks(other.required, self.names)


def _lacks(required: frozenset[str], names: frozenset[str] | None) -> bool:
    return names is not None and not required <= names


class Option(msgspec.Struct, frozen=True):
    """One of several alternatives.

    Args:
        shape: What tells it from the others in a union that needs no names.
        coding: How its values are written.
        wire: Its schema in the dialect.
        definitions: What references in ``wire`` point at.
    """

    shape: Shape
    coding: Coding | None
    wire: Mapping[str, object]
    definitions: Mapping[str, object]

    def written(self, value: object, tried: Tried | None) -> tuple[object] | None:
        """*value* as this alternative writes it, if it is one."""
        try:
            written = encoded(self.coding, value, tried)
        except Misfit:
            return None
        return (written,) if self.shape.fits(written) and fits(self.wire, written, self.definitions) else None


def _written(options: Iterable[Option], value: object, tried: Tried | None) -> tuple[int, object]:
    """Which of *options* writes *value*, and how: one from which exactly the same comes back, else the only one.

    Raises:
        Misfit: None does, or none exactly and more than one otherwise: it can't be told which may.
    """
    others: list[tuple[int, object]] = []
    for at, each in enumerate(options):
        written = each.written(value, tried)
        if written and (each.coding is None or same_key(decoded(each.coding, written[0])) == same_key(value)):
            return at, written[0]
        others += ((at, each) for each in written or ())
    if len(others) != 1:
        raise Misfit
    return others[0]


class Unions(msgspec.Struct, frozen=True):
    """One of several alternatives, which differ in shape."""

    options: tuple[Option, ...]

    def decode(self, value: object) -> object:
        return next((decoded(each.coding, value) for each in self.options if each.shape.fits(value)), value)

    def encode(self, value: object, tried: Tried | None = None) -> object:
        return _written(self.options, value, tried)[1]


class Wrapped(msgspec.Struct, frozen=True):
    """One of several alternatives that look alike, written as an object whose only member says which."""

    options: Mapping[str, Option]

    def decode(self, value: object) -> object:
        members = members_of(value)
        if len(members) != 1:
            return value
        ((name, inner),) = members.items()
        return decoded(self.options[name].coding, inner) if name in self.options else members

    def encode(self, value: object, tried: Tried | None = None) -> object:
        at, written = _written(self.options.values(), value, tried)
        return {list(self.options)[at]: written}
