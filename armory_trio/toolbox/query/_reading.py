"""Reading what was given for a criterion: each function answers a frozen value, or None when it asks for nothing.

Each raises `DefinitionError`, with the criterion and the place in it, when what was given is not legal.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import cast

import attrs

from ...definitions import freeze_json
from ...definitions._checks import flag, members, one_of, shown, text
from ...errors import DefinitionError, JsonError
from ._asking import SUBJECT
from ._parts import Member, Number, text_of
from ._text import Text


@attrs.frozen(eq=False)
class Context:
    """A context, which is equal only to itself: its values may be anything."""

    values: Mapping[str, object]


def read_flag(name: str, value: object) -> bool:
    """True or False."""
    flag(SUBJECT, name, value)
    return value is True


def read_text(name: str, value: object) -> Text | None:
    """A `Text`, or its words."""
    if not isinstance(value, Text):
        text(SUBJECT, name, value)
        value = Text(str(value))
    return value if value.words.strip() else None


def read_words(name: str, value: object) -> tuple[str, ...] | None:
    """A list of words, of which blank ones are left out."""
    given = members(SUBJECT, name, value, "words")
    for index, word in enumerate(given):
        text(SUBJECT, f"{name}[{index}]", word)
    return tuple(dict.fromkeys(str(word).strip() for word in given if str(word).strip())) or None


def read_folded(name: str, value: object) -> tuple[str, ...] | None:
    """A list of words, of which case makes no difference."""
    words = read_words(name, value)
    return None if words is None else tuple(dict.fromkeys(word.casefold() for word in words))


def read_choices(name: str, value: object, legal: tuple[str, ...]) -> tuple[str, ...] | None:
    """One text or a list of them; if there are *legal* ones, only those."""
    given = [value] if isinstance(value, str) else members(SUBJECT, name, value, "texts, or be one text")
    for index, choice in enumerate(given):
        place = name if isinstance(value, str) else f"{name}[{index}]"
        if legal:
            one_of(SUBJECT, place, choice, legal)
        else:
            text(SUBJECT, place, choice)
    return tuple(dict.fromkeys(str(choice) for choice in given)) or None


def read_function(name: str, value: object) -> Callable[[object], object]:
    """A function that is not async."""
    if not callable(value) or inspect.iscoroutinefunction(value):
        raise DefinitionError(SUBJECT, name, f"must be a function that is not async, not {shown(value)}")
    return cast("Callable[[object], object]", value)


def read_context(name: str, value: object) -> Context:
    """A context for availability hooks."""
    if not isinstance(value, Mapping):
        raise DefinitionError(SUBJECT, name, f"must be a mapping of names to values, not {shown(value)}")
    return Context(cast("Mapping[str, object]", value))


def read_members(name: str, value: object) -> tuple[Member, ...] | None:
    """A mapping of keys to JSON values."""
    return tuple(_member(name, key, member) for key, member in _mapping(name, value)) or None


def read_pieces(name: str, value: object) -> tuple[Member, ...] | None:
    """A mapping of argument names to pieces of schemas."""
    for key, piece in _mapping(name, value):
        if not isinstance(piece, Mapping):
            reason = f'must be a piece of a JSON Schema, such as {{"type": "string"}}, not {shown(piece)}'
            raise DefinitionError(SUBJECT, f"{name}[{key!r}]", reason)
    return read_members(name, value)


def read_prefixes(name: str, value: object) -> tuple[tuple[str, str], ...] | None:
    """A mapping of keys to texts."""
    for key, prefix in _mapping(name, value):
        text(SUBJECT, f"{name}[{key!r}]", prefix)
    return tuple((key, str(prefix)) for key, prefix in _mapping(name, value)) or None


def read_ranges(name: str, value: object) -> tuple[tuple[str, Number | None, Number | None], ...] | None:
    """A mapping of keys to pairs of bounds."""
    return tuple((key, *_bounds(f"{name}[{key!r}]", bounds)) for key, bounds in _mapping(name, value)) or None


def _bounds(place: str, value: object) -> tuple[Number | None, Number | None]:
    bounds = members(SUBJECT, place, value, "two bounds, such as (0, None)")
    if len(bounds) != 2:
        raise DefinitionError(SUBJECT, place, f"must be two bounds, such as (0, None), not {shown(value)}")
    least, greatest = (_bound(place, bound) for bound in bounds)
    if least is not None and greatest is not None and least > greatest:
        raise DefinitionError(SUBJECT, place, f"{least} is above {greatest}, so nothing could ever be between them")
    return least, greatest


def _bound(place: str, value: object) -> Number | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise DefinitionError(SUBJECT, place, f"a bound must be a number or None, not {shown(value)}")
    return value


def _member(name: str, key: str, value: object) -> Member:
    place = f"{name}[{key!r}]"
    try:
        frozen = freeze_json(value, root=place)
    except JsonError as error:
        raise DefinitionError(SUBJECT, place, f"must be JSON: {error.detail}") from error
    return Member(key, text_of(frozen), frozen)


def _mapping(name: str, value: object) -> list[tuple[str, object]]:
    if not isinstance(value, Mapping):
        raise DefinitionError(SUBJECT, name, f"must be a mapping of keys to what is asked of them, not {shown(value)}")
    given = list(cast("Mapping[object, object]", value).items())
    for key, _ in given:
        text(SUBJECT, f"{name} key {shown(key)}", key)
    return [(str(key), asked) for key, asked in given]
