"""Whether a value is legal by a schema that we wrote ourselves: the few words that dialects have, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from ._json_kinds import json_kind, same_key
from ._references import as_list, as_schema

__all__ = ("fits",)

_REFERENCE: Final = "#/$defs/"


Seen = dict[tuple[str, int], bool]
"""Whether a value, by its identity, is legal by a definition. Each is looked at once."""


def fits(wire: object, value: object, definitions: Mapping[str, object], seen: Seen | None = None) -> bool:
    """Whether *value* is legal by *wire*, as far as types, choices, members, items and sizes go.

    Args:
        wire: A schema in one of the dialects.
        value: Plain JSON.
        definitions: What references in *wire* point at.
        seen: What was found already.
    """
    seen = {} if seen is None else seen
    schema = as_schema(wire)
    if not schema:
        return True
    if value is None and schema.get("nullable") is True:
        return True
    reference = schema.get("$ref")
    if isinstance(reference, str) and not _fits_definition(reference, value, definitions, seen):
        return False
    branches = as_list(schema.get("anyOf"))
    if branches and not any(fits(branch, value, definitions, seen) for branch in branches):
        return False
    return (
        _has_type(schema.get("type"), value) and _is_within(schema, value) and _holds(schema, value, definitions, seen)
    )


def _fits_definition(reference: str, value: object, definitions: Mapping[str, object], seen: Seen) -> bool:
    key = reference, id(value)
    if key not in seen:
        seen[key] = fits(definitions.get(reference.removeprefix(_REFERENCE)), value, definitions, seen)
    return seen[key]


def _has_type(said: object, value: object) -> bool:
    words = [str(word).lower() for word in ([said] if isinstance(said, str) else as_list(said))]
    kind = json_kind(value)
    return not words or kind in words or (kind == "integer" and "number" in words)


def _is_within(schema: Mapping[str, object], value: object) -> bool:
    choices = as_list(schema.get("enum"))
    if choices and same_key(value) not in map(same_key, choices):
        return False
    size: object = None
    low, high = "minimum", "maximum"
    if isinstance(value, str):
        size, low, high = len(value), "minLength", "maxLength"
    elif isinstance(value, list):
        size, low, high = len(cast("list[object]", value)), "minItems", "maxItems"
    elif isinstance(value, int | float):
        size = value
    if not isinstance(size, int | float):
        return True
    least, most = schema.get(low), schema.get(high)
    return not (isinstance(least, int | float) and size < least) and not (isinstance(most, int | float) and size > most)


def _holds(schema: Mapping[str, object], value: object, definitions: Mapping[str, object], seen: Seen) -> bool:
    if isinstance(value, list):
        first = as_list(schema.get("prefixItems"))
        rest = schema.get("items", {})
        items = enumerate(cast("list[object]", value))
        return all(fits(first[at] if at < len(first) else rest, item, definitions, seen) for at, item in items)
    if not isinstance(value, dict):
        return True
    members = cast("dict[str, object]", value)
    properties, others = as_schema(schema.get("properties")), schema.get("additionalProperties", {})
    if not all(name in members for name in as_list(schema.get("required"))):
        return False
    return all(
        fits(properties[name], each, definitions, seen)
        if name in properties
        else others is not False and fits(others, each, definitions, seen)
        for name, each in members.items()
    )
