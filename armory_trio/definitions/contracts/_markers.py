"""Types that stand in for what msgspec can't convert, or converts too freely.

A marker is a class that msgspec takes for a custom type: it hands the raw value to the marker's decoder and, because a
marker claims every object as its instance, passes on whatever the decoder answers.
"""

from __future__ import annotations

import enum
import re
from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence, Sized
from decimal import Decimal
from typing import ClassVar, Final, Protocol, cast

import msgspec

from ...errors import JsonError
from .._arguments import ArgumentIssue, path_text
from .._canonical import thaw_json
from ._fitting import json_type
from ._refusals import Refused, conversion_issues

DECIMAL_PATTERN: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?$"
_DECIMAL: Final = re.compile(DECIMAL_PATTERN.rstrip("$") + r"\Z")


class Decoder(Protocol):
    """Turns a JSON value into what the tool gets."""

    def decode(self, value: object) -> object:
        """The Python value.

        Raises:
            ValueError: *value* does not fit; `msgspec.ValidationError` with a place inside it counts, too.
        """
        ...


class _ClaimsAll(ABCMeta):
    def __instancecheck__(cls, instance: object) -> bool:
        return True


class Marker(metaclass=_ClaimsAll):
    """The base of all markers. ``decoder`` is set on each."""

    decoder: ClassVar[Decoder]


def marker(name: str, decoder: Decoder) -> type[Marker]:
    """A new marker type for *decoder*."""
    return cast("type[Marker]", _ClaimsAll(name, (Marker,), {"decoder": decoder, "__slots__": ()}))


def decoder_of(kind: object) -> Decoder | None:
    """The decoder of a marker; None for other types."""
    return kind.decoder if isinstance(kind, type) and issubclass(kind, Marker) else None


def convert(value: object, into: object) -> object:
    """*value* as the msgspec type *into*, in which markers may stand. Strict.

    Raises:
        msgspec.ValidationError: It does not fit.
    """
    try:
        return msgspec.convert(value, cast("type[object]", into), dec_hook=decode_hook, str_keys=True)
    except UnicodeEncodeError:  # msgspec reads text as UTF-8 wherever it is to become something else
        raise msgspec.ValidationError("half a character (a lone surrogate) stands in a text") from None


def decode_hook(kind: type, value: object) -> object:
    """What msgspec calls for each marker that it meets."""
    try:
        return cast("type[Marker]", kind).decoder.decode(value)
    except msgspec.ValidationError as error:  # its path ends at this value; msgspec goes on from a ValueError only
        raise Refused(conversion_issues(error)) from error


def plain_json(value: object) -> object:
    """A copy of the JSON *value*.

    Raises:
        Refused: It is not JSON.
    """
    try:
        return thaw_json(value)
    except JsonError as error:
        raise Refused([ArgumentIssue(path_text(error.path), "not-json", error.detail)]) from None


class JsonDecoder(msgspec.Struct, frozen=True):
    """Any JSON value: a copy of its own for the tool."""

    def decode(self, value: object) -> object:
        return value if type(value) in (str, bool, int) or value is None else plain_json(value)


class DecimalDecoder(msgspec.Struct, frozen=True):
    """A decimal number, as a JSON number or as digits in a string."""

    def decode(self, value: object) -> object:
        match value:
            case bool():
                number = None
            case Decimal() | int():
                number = Decimal(value)
            case float():
                number = Decimal(str(value))
            case str():
                number = Decimal(value) if _DECIMAL.fullmatch(value) else None
            case _:
                number = None
        if number is None or not number.is_finite():
            raise ValueError("Expected a decimal number, as a number or as digits in a string")
        return number


class TypeDecoder(msgspec.Struct, frozen=True, eq=False):
    """What msgspec makes of a type of its own."""

    kind: object

    def decode(self, value: object) -> object:
        return convert(value, self.kind)


class CallDecoder(msgspec.Struct, frozen=True):
    """Text that a class understands, such as a path."""

    make: type

    def decode(self, value: object) -> object:
        if isinstance(value, str):
            return self.make(value)
        if isinstance(value, self.make):
            return value
        raise ValueError(f"Expected `string`, got `{json_type(value)}`")


class ChoiceDecoder(msgspec.Struct, frozen=True, eq=False):
    """One of a few values: members of an enumeration, or literals. A boolean is no number here."""

    choices: Mapping[tuple[bool, object], object]

    @classmethod
    def of(cls, pairs: Sequence[tuple[object, object]]) -> ChoiceDecoder:
        """From pairs of a JSON value and what the tool gets for it; the first of two equal ones counts."""
        choices: dict[tuple[bool, object], object] = {}
        for value, meaning in pairs:
            choices.setdefault((isinstance(value, bool), value), meaning)
        return cls(choices)

    def decode(self, value: object) -> object:
        plain = value.value if isinstance(value, enum.Enum) else value
        try:
            return self.choices[isinstance(plain, bool), plain]
        except (KeyError, TypeError):
            raise ValueError("Invalid enum value") from None


class SetDecoder(msgspec.Struct, frozen=True, eq=False):
    """A set, from an array whose members all differ."""

    make: Callable[[Sequence[object]], Sized]
    array: object

    def decode(self, value: object) -> object:
        members = cast("list[object]", convert(value, self.array))
        try:
            found = self.make(members)
        except TypeError as error:
            raise ValueError(f"a set can't hold these members: {error}") from None
        if len(found) != len(members):
            raise ValueError("Expected members that differ, but some are equal")
        return found


class UnionDecoder(msgspec.Struct, frozen=True, eq=False):
    """A union that msgspec can't tell apart: the first branch that fits, in the order of the declaration."""

    branches: Sequence[object]
    wanted: str

    def decode(self, value: object) -> object:
        for branch in self.branches:
            try:
                return convert(value, branch)
            except msgspec.ValidationError:
                continue
        raise ValueError(f"Expected {self.wanted}, got `{json_type(value)}`")


class LimitedDecoder(msgspec.Struct, frozen=True, eq=False):
    """Another decoder, and limits that msgspec can't apply to its type."""

    inner: Decoder
    checks: Sequence[Callable[[object], str | None]]

    def decode(self, value: object) -> object:
        decoded = self.inner.decode(value)
        for check in self.checks:
            complaint = check(decoded)
            if complaint is not None:
                raise ValueError(complaint)
        return decoded


class ObjectDecoder(msgspec.Struct, eq=False):
    """An instance of a class with named fields, from a closed object.

    The object is first converted to ``shape``, a generated struct with one field per constructor parameter in the order
    of ``parameters``; then the class itself is called, so that its defaults, converters and validators do their work.
    """

    name: str
    kind: type
    make: Callable[..., object]
    parameters: Sequence[str]
    shape: type[msgspec.Struct] = msgspec.Struct

    def decode(self, value: object) -> object:
        if isinstance(value, self.kind) and self.kind is not dict:
            return value
        fields = cast("msgspec.Struct", convert(value, self.shape))
        given: dict[str, object] = {}
        for parameter, field in zip(self.parameters, self.shape.__struct_fields__, strict=True):
            member: object = getattr(fields, field)
            if member is not msgspec.UNSET:
                given[parameter] = member
        try:
            return self.make(**given)
        except Exception as error:  # whatever a class of the user's own says against its values is a refusal
            raise ValueError(f"{self.name} refuses it: {str(error) or type(error).__name__}") from error
