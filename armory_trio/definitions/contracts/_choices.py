"""Enumerations and literals: a few values to choose from."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Literal, cast, get_args, get_origin

import typing_extensions

from ._markers import ChoiceDecoder, marker


def choice(kind: object) -> tuple[object, dict[str, object]] | None:
    """The msgspec type and the schema of an ``Enum`` or a ``Literal``; None when *kind* is neither.

    Raises:
        ValueError: It has no values, or one that JSON doesn't know.
    """
    whole = kind  # checkers forget that it is any object once they have looked at it
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        members = list(kind.__members__.values())
        return _of(
            whole,
            [(cast("object", member.value), member) for member in members],
            plain=_looks_no_further(kind),
        )
    if get_origin(kind) not in (Literal, typing_extensions.Literal):
        return None
    values = _literals(whole)
    plain = not any(isinstance(value, enum.Enum) for value in values)
    pairs = [(cast("object", value.value) if isinstance(value, enum.Enum) else value, value) for value in values]
    return _of(whole, pairs, plain=plain)


def _of(kind: object, pairs: Sequence[tuple[object, object]], *, plain: bool) -> tuple[object, dict[str, object]]:
    """*plain* says that msgspec reads *kind* as we do, if all its values are text or all are integers."""
    values = [value for value, _ in pairs]
    if not values:
        raise ValueError("there are no values to choose from")
    if not all(value is None or type(value) in (str, int, float, bool) for value in values):
        raise ValueError("only text, numbers, booleans and None can be values in JSON")
    distinct = list({(isinstance(value, bool), value): value for value in values}.values())
    for word, wanted in (("string", str), ("integer", int)):
        if all(type(value) is wanted for value in values):
            schema: dict[str, object] = {"type": word, "enum": distinct}
            return (kind if plain else marker("Choice", ChoiceDecoder.of(pairs))), schema
    return marker("Choice", ChoiceDecoder.of(pairs)), {"enum": distinct}


def _looks_no_further(kind: type[enum.Enum]) -> bool:
    """Whether the enumeration takes its members' values only, and no ``_missing_`` invents others."""
    return "_missing_" not in {name for base in kind.__mro__ if base is not enum.Enum for name in vars(base)}


def _literals(kind: object) -> list[object]:
    values: list[object] = []
    for value in cast("tuple[object, ...]", get_args(kind)):
        values.extend(_literals(value) if get_origin(value) is Literal else [value])
    return values
