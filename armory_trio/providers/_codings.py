"""How a value is written in a dialect and read back, where the two differ.

Reading is total: what does not have the form that was asked for stays as it is, and the tool's own validation decides
about it. Writing is for values that fit the contract, and says so when one does not.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping
from typing import Final, Protocol, cast

import msgspec

from ..definitions import canonical_text, parse_json
from ..errors import JsonError
from ._json_kinds import same_key

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
    "Pairs",
    "Text",
    "Tried",
    "Tuples",
    "decoded",
    "encoded",
    "item_name",
    "members_of",
)

KEY: Final = "key"
VALUE: Final = "value"
"""The members of the pairs that an object with members of any name is written as; the latter of other boxes, too."""


Tried = dict[tuple[str, int], tuple[object] | None]
"""How a value, by its identity, is written as a definition; None when it is none. Each is tried once: alternatives that
stand inside of themselves would be tried twice at each level."""


class Coding(Protocol):
    """One form."""

    def decode(self, value: object) -> object:
        """What was meant by *value*, which a model wrote in this form."""
        ...

    def encode(self, value: object, tried: Tried | None = None) -> object:
        """*value* in this form.

        Args:
            value: Plain JSON.
            tried: What was found already, for the definitions that stand inside of themselves.

        Raises:
            Misfit: It is nothing that has this form.
        """
        ...


class Misfit(ValueError):
    """The value is nothing that can be written in this form."""


def decoded(coding: Coding | None, value: object) -> object:
    """*value* read back; without a coding it is meant as it is written. So is null always."""
    return value if coding is None or value is None else coding.decode(value)


def encoded(coding: Coding | None, value: object, tried: Tried | None = None) -> object:
    """*value* as it is written. Null is null, but for a place that takes it in another form.

    Raises:
        Misfit: It is nothing that has this form.
    """
    if coding is None or (value is None and not isinstance(coding, Text | Inside)):
        return value
    return coding.encode(value, tried)


def item_name(index: int) -> str:
    """What the item at *index* is called when a tuple is written as an object."""
    return f"item_{index + 1}"


class Member(msgspec.Struct, frozen=True):
    """How one member of an object is written.

    Args:
        name: What it is called.
        wire: What the dialect calls it.
        coding: How its value is written.
        omitted: It may be left out, which is written as null.
        null: Null is legal for it as well, and then comes back as null.
        default: Null is what it means to leave it out, by the contract's own words.
    """

    name: str
    wire: str
    coding: Coding | None = None
    omitted: bool = False
    null: bool = False
    default: bool = False


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

    def encode(self, value: object, tried: Tried | None = None) -> object:
        if not isinstance(value, dict) or not self.required <= value.keys():
            raise Misfit
        found: dict[str, object] = {}
        for name, each in cast("dict[str, object]", value).items():
            member = self.members.get(name)
            if member is None and (self.closed or name in self.by_wire):  # the latter would be taken for another
                raise Misfit
            if member is None:
                found[name] = encoded(self.others, each, tried)
                continue
            found[member.wire] = encoded(member.coding, each, tried)
            if found[member.wire] is None and member.omitted and not member.null:
                raise Misfit  # it would come back as left out
        for member in self.members.values():
            if member.omitted and member.wire not in found:
                if member.null and not member.default:
                    raise Misfit
                found[member.wire] = None
        return found


class ItemsOf(msgspec.Struct, frozen=True):
    """An array, some of whose items are written otherwise."""

    first: tuple[Coding | None, ...]
    others: Coding | None

    def decode(self, value: object) -> object:
        return self._each(cast("list[object]", value), decoded) if isinstance(value, list) else value

    def encode(self, value: object, tried: Tried | None = None) -> object:
        if not isinstance(value, list):
            raise Misfit
        return self._each(cast("list[object]", value), lambda coding, item: encoded(coding, item, tried))

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

    def encode(self, value: object, tried: Tried | None = None) -> object:
        if not isinstance(value, dict):
            raise Misfit
        members = cast("dict[str, object]", value)
        return [{KEY: key, VALUE: encoded(self.value, each, tried)} for key, each in members.items()]


class Tuples(msgspec.Struct, frozen=True):
    """A short array whose items differ, written as an object with a member for each of them."""

    items: tuple[Coding | None, ...]
    least: int | None = None
    """How many items there always are, where those behind them that are left out are written as null."""

    def decode(self, value: object) -> object:
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, object]", value)
        names = [item_name(index) for index in range(len(self.items))]
        left_out = {name for name in names[self.least :] if members.get(name) is None} if self.least is not None else ()
        found = [name for name in names if name in members and name not in left_out]
        if found != names[: len(found)] or not members.keys() <= set(names):
            return members
        return [decoded(coding, members[name]) for coding, name in zip(self.items, found, strict=False)]

    def encode(self, value: object, tried: Tried | None = None) -> object:
        if not isinstance(value, list) or len(cast("list[object]", value)) > len(self.items):
            raise Misfit
        pairs = zip(self.items, cast("list[object]", value), strict=False)
        written = {item_name(at): encoded(coding, item, tried) for at, (coding, item) in enumerate(pairs)}
        if len(written) < (self.least or 0):
            raise Misfit
        if self.least is not None:
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

    def encode(self, value: object, tried: Tried | None = None) -> object:  # noqa: ARG002  # nothing stands in it
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

    def encode(self, value: object, tried: Tried | None = None) -> object:  # noqa: ARG002  # nothing stands in it
        label = self.by_value.get(same_key(value))
        if label is None:
            raise Misfit
        return label


def members_of(value: object) -> dict[str, object]:
    """The members of *value*, none when it is no object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


class Inside(msgspec.Struct, frozen=True):
    """A value as the only member of an object."""

    name: str
    inner: Coding | None

    def decode(self, value: object) -> object:
        members = members_of(value)
        return decoded(self.inner, members[self.name]) if members.keys() == {self.name} else value

    def encode(self, value: object, tried: Tried | None = None) -> object:
        return {self.name: encoded(self.inner, value, tried)}


class Named(msgspec.Struct, frozen=True):
    """The form of a definition, which may stand inside of itself."""

    name: str
    book: Mapping[str, Coding | None]

    def decode(self, value: object) -> object:
        return decoded(self.book.get(self.name), value)

    def encode(self, value: object, tried: Tried | None = None) -> object:
        found = {} if tried is None else tried
        key = self.name, id(value)
        if key not in found:
            found[key] = None  # a definition that is one of its own alternatives is no other one by it
            with contextlib.suppress(Misfit):
                found[key] = (encoded(self.book.get(self.name), value, found),)
        known = found[key]
        if known is None:
            raise Misfit
        return known[0]
