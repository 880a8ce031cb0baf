"""Whether a value is legal by a schema that we wrote ourselves: the few words that dialects have, and no others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from ..definitions.contracts._compiled import compile_schema
from ..errors import DefinitionError
from ._json_kinds import json_kind, same_key
from ._references import as_list, as_schema

if TYPE_CHECKING:
    from ..definitions.contracts._compiled import SchemaValidator

__all__ = ("fits",)

_REFERENCE: Final = "#/$defs/"
_NUMBER: Final = (int, float)
_LIMITS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _NUMBER),
    **dict.fromkeys(("pattern", "format"), (str,)),
}
"""Words about a value of one type, and what stands behind them where they are legal."""


Seen = dict[tuple[str, int], bool]
"""Whether a value, by its identity, is legal by a definition. Each is looked at once."""


def fits(wire: object, value: object, definitions: Mapping[str, object], seen: Seen | None = None) -> bool:
    """Whether *value* is legal by *wire*, as far as types, choices, members, items and limits go.

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
        seen[key] = False  # a definition that is one of its own alternatives is no other one by it
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
    limits = {word: schema[word] for word, kind in _LIMITS.items() if type(schema.get(word)) in kind}
    return not limits or _is_legal_within(limits, value)


def _is_legal_within(limits: Mapping[str, object], value: object) -> bool:
    checker = _checker(json.dumps(limits))
    try:
        return checker is None or checker.is_valid(value)
    except ValueError:  # half a character: no limit speaks of such a text
        return True


@lru_cache(maxsize=1_024)
def _checker(limits: str) -> SchemaValidator | None:
    """What knows *limits*, a schema as JSON text; None if nobody does, as they were never checked."""
    try:
        return compile_schema(json.loads(limits), "a schema in a dialect", formats=True)
    except DefinitionError:
        return None


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
