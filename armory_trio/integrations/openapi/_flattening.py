"""The schema of a body as single arguments, where it is a plain object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from ._schemas import Schema

__all__ = ("Fields", "fields_of")

_NOTES: Final = frozenset({"title", "description", "examples", "default", "deprecated", "format"})
_PLAIN: Final = frozenset({"type", "properties", "required", "additionalProperties", *_NOTES})
_DEPTH: Final = 16


class Fields(msgspec.Struct, frozen=True, eq=False):
    """What a plain object holds: its properties, and those that have to be there."""

    properties: Mapping[str, Schema]
    required: frozenset[str]


def fields_of(schema: Schema, definitions: Mapping[str, object]) -> Fields | None:
    """The members of *schema* if it says nothing but what they are; None where more is said.

    A reference is followed, and parts that all hold are put together. An object that takes further members is not plain.
    """
    return _fields(schema, definitions, 0)


def _fields(schema: object, definitions: Mapping[str, object], depth: int) -> Fields | None:
    if not isinstance(schema, dict) or depth > _DEPTH:
        return None
    told = cast("dict[str, object]", schema)
    reference = told.get("$ref")
    if isinstance(reference, str):
        alone = not told.keys() - {"$ref", *_NOTES}
        return _fields(definitions.get(reference.removeprefix("#/$defs/")), definitions, depth + 1) if alone else None
    parts = told.get("allOf")
    if not isinstance(parts, list):
        return _of_object(told)
    own = {key: value for key, value in told.items() if key != "allOf"}
    found = [_fields(part, definitions, depth + 1) for part in cast("list[object]", parts)]
    found += [_of_object(own)] if own.keys() - _NOTES else []
    return _together(found)


def _of_object(told: Mapping[str, object]) -> Fields | None:
    properties = told.get("properties")
    if told.keys() - _PLAIN or told.get("type", "object") != "object" or not isinstance(properties, dict):
        return None
    if told.get("additionalProperties", False) is not False:
        return None
    known = cast("dict[str, Schema]", properties)
    required = frozenset(str(name) for name in cast("list[object]", told.get("required", [])))
    return Fields(known, required) if required <= known.keys() else None


def _together(found: list[Fields | None]) -> Fields | None:
    properties: dict[str, Schema] = {}
    required: frozenset[str] = frozenset()
    for part in found:
        if part is None or properties.keys() & part.properties.keys():
            return None
        properties.update(part.properties)
        required |= part.required
    return Fields(properties, required)
