"""What each provider's dialect of JSON Schema can say. The facts are the providers' published rules, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from ._names import Alphabet

__all__ = (
    "ANTHROPIC",
    "ANTHROPIC_STRICT",
    "COMMON",
    "GEMINI",
    "GEMINI_CLASSIC",
    "OPENAI",
    "OPENAI_STRICT",
    "TOOL_NAMES",
    "Ceiling",
    "Rules",
)

TOOL_NAMES: Final = Alphabet("A-Za-z_", "A-Za-z0-9_-", 64)
"""Legal with every provider: Gemini wants a letter or an underscore first, the others take no dots."""

_WIDE: Final = Alphabet("A-Za-z0-9_.-", "A-Za-z0-9_.-", 64)
_NARROW: Final = Alphabet("A-Za-z_", "A-Za-z0-9_", 64)

_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_OPENAI_FORMATS: Final = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")


class Ceiling(msgspec.Struct, frozen=True):
    """How large a strict schema may be. None is no limit."""

    properties: int | None = None
    depth: int | None = None
    characters: int | None = None
    choices: int | None = None
    long_choices: int | None = None
    """The most characters of one enum of more than 250 strings."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a dialect can say.

    Args:
        name: How the dialect is called.
        whole: It takes JSON Schema as it is, but for the root.
        strict: The provider makes sure that what the model writes fits.
        words: The limits that it knows, by type; ``minItems`` and the like included.
        formats: The formats that it knows, by type; None for any format of a string.
        notes: The remarks that it knows beside ``description``.
        members: What names of properties may be made of; None for anything.
        members_at_root_only: Only those of the root have to keep to that.
        all_required: Every property has to be required: what may be left out is null instead.
        closable: It can say that an object has no further members.
        maps: It can say of what kind members of any name are.
        tuples: It can say of what kind the item at each place is.
        untyped: It can say that any value will do.
        empty: It knows objects without members.
        null: How it says that null is legal, too.
        choices: The types whose values it can list.
        keeps: It follows references to definitions, also those that never end.
        inventive: What it can't say is written in another form rather than refused.
        wraps: A union at the root becomes the only argument; else its branches are laid over one another.
        upper: It writes types in capitals.
        ceiling: How large it may get.
        most_min_items: The largest ``minItems`` that it knows; None for any.
        empty_choice: It takes the empty text among the choices.
        forbidden_at_root: Keywords that must not stand beside the root's ``type``.
    """

    name: str
    whole: bool = False
    strict: bool = False
    words: Mapping[str, tuple[str, ...]] = {}
    formats: Mapping[str, tuple[str, ...]] | None = None
    notes: tuple[str, ...] = ()
    members: Alphabet | None = None
    members_at_root_only: bool = False
    all_required: bool = False
    closable: bool = True
    maps: bool = True
    tuples: bool = False
    untyped: bool = True
    empty: bool = True
    null: Literal["list", "branch", "flag"] = "branch"
    choices: tuple[str, ...] = ("string", "number", "boolean")
    keeps: bool = False
    inventive: bool = True
    wraps: bool = False
    upper: bool = False
    ceiling: Ceiling | None = None
    most_min_items: int | None = None
    empty_choice: bool = True
    forbidden_at_root: tuple[str, ...] = ()


OPENAI: Final = Rules(
    name="openai", whole=True, forbidden_at_root=("anyOf", "oneOf", "allOf", "enum", "const", "not", "if")
)
"""Chat Completions and Responses without ``strict``."""

OPENAI_STRICT: Final = Rules(
    name="openai-strict",
    strict=True,
    words={
        "integer": _BOUNDS,
        "number": _BOUNDS,
        "string": ("pattern",),
        "array": ("minItems", "maxItems"),
    },
    formats={"string": _OPENAI_FORMATS},
    notes=("title",),
    members=_WIDE,
    all_required=True,
    maps=False,
    untyped=False,
    null="list",
    keeps=True,
    wraps=True,
    ceiling=Ceiling(properties=5_000, depth=10, characters=120_000, choices=1_000, long_choices=15_000),
)

ANTHROPIC: Final = Rules(
    name="anthropic",
    whole=True,
    members=_WIDE,
    members_at_root_only=True,
    forbidden_at_root=("anyOf", "oneOf", "allOf", "enum", "const", "not", "if"),
)
"""Messages without ``strict``."""

ANTHROPIC_STRICT: Final = Rules(
    name="anthropic-strict",
    strict=True,
    words={"array": ("minItems",)},
    formats={"string": (*_OPENAI_FORMATS, "uri")},
    notes=("title",),
    members=_WIDE,
    maps=False,
    untyped=False,
    wraps=True,
    most_min_items=1,
)

GEMINI: Final = Rules(
    name="gemini",
    words={"integer": ("minimum", "maximum"), "number": ("minimum", "maximum"), "array": ("minItems", "maxItems")},
    notes=("title",),
    members=_NARROW,
    tuples=True,
    null="list",
    choices=("string", "number"),
    empty_choice=False,
)
"""``parametersJsonSchema``."""

GEMINI_CLASSIC: Final = Rules(
    name="gemini-classic",
    words={
        "integer": ("minimum", "maximum"),
        "number": ("minimum", "maximum"),
        "string": ("minLength", "maxLength", "pattern"),
        "array": ("minItems", "maxItems"),
        "object": ("minProperties", "maxProperties"),
    },
    formats={"string": ("date-time",), "integer": ("int32", "int64"), "number": ("float", "double")},
    notes=("title",),
    members=_NARROW,
    closable=False,
    maps=False,
    untyped=False,
    empty=False,
    null="flag",
    choices=("string",),
    empty_choice=False,
    upper=True,
)
"""``parameters``, the subset of OpenAPI 3.0."""

COMMON: Final = Rules(
    name="common",
    words={
        "integer": ("minimum", "maximum"),
        "number": ("minimum", "maximum"),
        "string": ("minLength", "maxLength"),
        "array": ("minItems", "maxItems"),
    },
    formats={"string": ("date-time", "date", "time")},
    members=Alphabet("A-Za-z_", "A-Za-z0-9_-", 64),
    choices=("string",),
)
"""What servers with the form of Chat Completions have in common."""
