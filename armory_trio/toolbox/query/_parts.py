"""Comparing JSON values with what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs

from ...definitions import canonical_text
from ...definitions._value import Value
from .._schemas import followed

Number = int | float


@attrs.frozen(eq=False, repr=False)
class Member(Value):
    """What is asked of one key. Equal by its key and by the canonical text of its value."""

    key: str
    text: str
    value: object = attrs.field(eq=False)

    def equals(self, value: object) -> bool:
        """Whether *value* is the same JSON: 1 is 1.0, and not True."""
        return text_of(value) == self.text

    def is_in(self, value: object) -> bool:
        """Whether *value* contains it: text in text, items in a list; anything else is equal, or one of several."""
        if isinstance(self.value, str) and isinstance(value, str):
            return self.value in value
        several, there = _texts_in(self.value), _texts_in(value)
        asked = (self.text,) if several is None else several
        return text_of(value) in asked if there is None else all(text in there for text in asked)


def text_of(value: object) -> str:
    """What two JSON values have in common exactly when they are the same."""
    return canonical_text(value, mode="exact")


def is_within(value: object, least: Number | None, greatest: Number | None) -> bool:
    """Whether *value* is a number that is neither below nor above."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (least is None or least <= value) and (greatest is None or value <= greatest)


def says(schema: object, piece: object, root: Mapping[str, object]) -> bool:
    """Whether *schema*, which is part of the schema *root*, says all that *piece* says."""
    if not isinstance(piece, Mapping):
        return text_of(schema) == text_of(piece)
    asked = cast("Mapping[str, object]", piece)
    told = schema if "$ref" in asked else followed(schema, root)
    if not isinstance(told, Mapping):
        return False
    there = cast("Mapping[str, object]", told)
    return all(key in there and says(there[key], part, root) for key, part in asked.items())


def _texts_in(value: object) -> tuple[str, ...] | None:
    """The canonical text of each item of a list; None when *value* is none."""
    return tuple(map(text_of, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else None
