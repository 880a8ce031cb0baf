"""How a value is written in a dialect and read back, where the two differ.

Reading is total: what does not have the form that was asked for stays as it is, and the tool's own validation decides
about it. Writing is for values that fit the contract, and says so when one does not.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final, Protocol, cast

import msgspec

from ..definitions import canonical_text, parse_json
from ..errors import JsonError
from ._fits import fits
from ._json_kinds import json_kind, same_key

__all__ = (
    "KEY",
    "VALUE",
    "Choice",
    "Coding",
    "Inside",
    "ItemsOf",
    "Member",
    "Misfit",
    "Named",
    "Objects",
    "Option",
    "Pairs",
    "Shape",
    "Text",
    "Tuples",
    "Unions",
    "Wrapped",
    "decoded",
    "encoded",
    "item_name",
    "option_name",
)

_OBJECT: Final = frozenset(("object",))
KEY: Final = "key"
VALUE: Final = "value"
"""The members of the pairs that an object with members of any name is written as."""


class Coding(Protocol):
    """One form."""

    def decode(self, value: object) -> object:
        """What was meant by *value*, which a model wrote in this form."""
        ...

    def encode(self, value: object) -> object:
        """*value* in this form.

        Raises:
            Misfit: It is nothing that has this form.
        """
        ...


class Misfit(ValueError):
    """The value is nothing that can be written in this form."""


def decoded(coding: Coding | None, value: object) -> object:
    """*value* read back; without a coding it is meant as it is written. So is null always."""
    return value if coding is None or value is None else coding.decode(value)


def encoded(coding: Coding | None, value: object) -> object:
    """*value* as it is written. Null is null, but for a place that takes JSON text.

    Raises:
        Misfit: It is nothing that has this form.
    """
    if coding is None or (value is None and not isinstance(coding, Text)):
        return value
    return coding.encode(value)


def item_name(index: int) -> str:
    """What the item at *index* is called when a tuple is written as an object."""
    return f"item_{index + 1}"


def option_name(index: int) -> str:
    """What an alternative is called when a union is written as an object with one member."""
    return f"option_{index + 1}"


class Member(msgspec.Struct, frozen=True):
    """How one member of an object is written.

    Args:
        name: What it is called.
        wire: What the dialect calls it.
        coding: How its value is written.
        omitted: It may be left out, which is written as null.
        null: Null is legal for it as well, and then comes back as null.
    """

    name: str
    wire: str
    coding: Coding | None = None
    omitted: bool = False
    null: bool = False


class Objects(msgspec.Struct, frozen=True):
    """An object, some of whose members are called otherwise, written otherwise, or null when they are left out."""

    members: Mapping[str, Member]
    by_wire: Mapping[str, Member]
    others: Coding | None = None
    closed: bool = False
    required: frozenset[str] = frozenset()

    def decode(self, value: object) -> object:
        if not isinstance(value, dict):
            return value
        found: dict[str, object] = {}
        for wire, each in cast("dict[str, object]", value).items():
            member = self.by_wire.get(wire) or self.members.get(wire)
            if member is None or (member.name != wire and member.name in value):
                found[wire] = decoded(self.others, each)
            elif each is not None or member.null or not member.omitted:
                found[member.name] = decoded(member.coding, each)
        return found

    def encode(self, value: object) -> object:
        if not isinstance(value, dict) or not self.required <= value.keys():
            raise Misfit
        found: dict[str, object] = {}
        for name, each in cast("dict[str, object]", value).items():
            member = self.members.get(name)
            if member is None and self.closed:
                raise Misfit
            if member is None:
                found[name] = encoded(self.others, each)
            else:
                found[member.wire] = encoded(member.coding, each)
        for member in self.members.values():
            if member.omitted:
                found.setdefault(member.wire, None)
        return found


class ItemsOf(msgspec.Struct, frozen=True):
    """An array, some of whose items are written otherwise."""

    first: tuple[Coding | None, ...]
    others: Coding | None

    def decode(self, value: object) -> object:
        return self._each(cast("list[object]", value), decoded) if isinstance(value, list) else value

    def encode(self, value: object) -> object:
        if not isinstance(value, list):
            raise Misfit
        return self._each(cast("list[object]", value), encoded)

    def _each(self, items: list[object], turn: Callable[[Coding | None, object], object]) -> list[object]:
        first = [turn(coding, item) for coding, item in zip(self.first, items, strict=False)]
        return [*first, *(turn(self.others, item) for item in items[len(first) :])]


class Pairs(msgspec.Struct, frozen=True):
    """An object with members of any name, written as a list of its keys and values."""

    value: Coding | None

    def decode(self, value: object) -> object:
        if not isinstance(value, list):
            return value
        found: dict[str, object] = {}
        for pair in cast("list[object]", value):
            entry = cast("dict[str, object]", pair) if isinstance(pair, dict) else {}
            key = entry.get(KEY)
            if entry.keys() != {KEY, VALUE} or not isinstance(key, str) or key in found:
                return cast("object", value)  # a key twice is no object, and no guess is made which one was meant
            found[key] = decoded(self.value, entry[VALUE])
        return found

    def encode(self, value: object) -> object:
        if not isinstance(value, dict):
            raise Misfit
        members = cast("dict[str, object]", value)
        return [{KEY: key, VALUE: encoded(self.value, each)} for key, each in members.items()]


class Tuples(msgspec.Struct, frozen=True):
    """A short array whose items differ, written as an object with a member for each of them."""

    items: tuple[Coding | None, ...]
    filled: bool = False
    """Whether items that are left out are written as null."""

    def decode(self, value: object) -> object:
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, object]", value)
        names = [item_name(index) for index in range(len(self.items))]
        found = [name for name in names if name in members and not (self.filled and members[name] is None)]
        if found != names[: len(found)] or not members.keys() <= set(names):
            return members
        return [decoded(coding, members[name]) for coding, name in zip(self.items, found, strict=False)]

    def encode(self, value: object) -> object:
        if not isinstance(value, list) or len(cast("list[object]", value)) > len(self.items):
            raise Misfit
        pairs = zip(self.items, cast("list[object]", value), strict=False)
        written = {item_name(at): encoded(coding, item) for at, (coding, item) in enumerate(pairs)}
        if self.filled:
            written.update({item_name(at): None for at in range(len(written), len(self.items))})
        return written


class Text(msgspec.Struct, frozen=True):
    """Any value, written as JSON text."""

    def decode(self, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return parse_json(value)
        except JsonError:
            return value

    def encode(self, value: object) -> object:
        try:
            return canonical_text(value, mode="exact")
        except JsonError:
            raise Misfit from None


class Choice(msgspec.Struct, frozen=True):
    """One of several values, written as its label."""

    labels: Mapping[str, object]
    by_value: Mapping[str, str]

    def decode(self, value: object) -> object:
        if not isinstance(value, str) or value not in self.labels:
            return value
        return copy.deepcopy(self.labels[value])  # a tool may change what it gets

    def encode(self, value: object) -> object:
        label = self.by_value.get(same_key(value))
        if label is None:
            raise Misfit
        return label


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

    def written(self, value: object) -> tuple[object] | None:
        """*value* as this alternative writes it, if it is one."""
        try:
            written = encoded(self.coding, value)
        except Misfit:
            return None
        return (written,) if self.shape.fits(written) and fits(self.wire, written, self.definitions) else None


class Unions(msgspec.Struct, frozen=True):
    """One of several alternatives, which differ in shape."""

    options: tuple[Option, ...]

    def decode(self, value: object) -> object:
        return next((decoded(each.coding, value) for each in self.options if each.shape.fits(value)), value)

    def encode(self, value: object) -> object:
        for each in self.options:
            written = each.written(value)
            if written:
                return written[0]
        raise Misfit


def _members(value: object) -> dict[str, object]:
    """The members of *value*, none when it is no object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


class Wrapped(msgspec.Struct, frozen=True):
    """One of several alternatives that look alike, written as an object whose only member says which."""

    options: Mapping[str, Option]

    def decode(self, value: object) -> object:
        members = _members(value)
        if len(members) != 1:
            return value
        ((name, inner),) = members.items()
        return decoded(self.options[name].coding, inner) if name in self.options else members

    def encode(self, value: object) -> object:
        for name, each in self.options.items():
            written = each.written(value)
            if written:
                return {name: written[0]}
        raise Misfit


class Inside(msgspec.Struct, frozen=True):
    """All arguments as the only member of an object."""

    name: str
    inner: Coding | None

    def decode(self, value: object) -> object:
        members = _members(value)
        return decoded(self.inner, members[self.name]) if members.keys() == {self.name} else value

    def encode(self, value: object) -> object:
        return {self.name: encoded(self.inner, value)}


class Named(msgspec.Struct, frozen=True):
    """The form of a definition, which may stand inside of itself."""

    name: str
    book: Mapping[str, Coding | None]

    def decode(self, value: object) -> object:
        return decoded(self.book.get(self.name), value)

    def encode(self, value: object) -> object:
        return encoded(self.book.get(self.name), value)
