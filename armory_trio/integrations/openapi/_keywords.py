"""The keywords of a schema: which are kept, what they must look like, and what earlier versions said otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Literal, cast

from ...definitions import contract_from_schema
from ...errors import DefinitionError
from ._json import is_array, is_object

__all__ = (
    "LISTS_OF_SCHEMAS",
    "MAPS_OF_SCHEMAS",
    "SCHEMAS",
    "Direction",
    "kept_plainly",
    "of_3_0",
    "usable_pattern",
)

Direction = Literal["request", "response"]
"""Whether a schema is about what is sent, or about what comes back."""

TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})

SCHEMAS: Final = frozenset(
    {
        *("additionalProperties", "unevaluatedProperties", "propertyNames", "items", "contains", "unevaluatedItems"),
        *("not", "if", "then", "else", "contentSchema"),
    }
)
"""Keywords that hold a schema."""

LISTS_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
MAPS_OF_SCHEMAS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})

_ONLY_FOR_REQUESTS: Final = frozenset({"format", "default", "examples", "title", "description", "deprecated"})
"""What a response is not judged by. Formats are notes in JSON Schema, and servers keep to them as they like."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _are_names(value: object) -> bool:
    return is_array(value) and all(isinstance(name, str) for name in value)


def _is_type(value: object) -> bool:
    words = value if is_array(value) and value else [value]
    return all(isinstance(word, str) and word in TYPES for word in words)


def _is_choice(value: object) -> bool:
    return is_array(value) and bool(value)


def _maps_names(value: object) -> bool:
    return is_object(value) and all(map(_are_names, value.values()))


def _anything(_: object) -> bool:
    return True


_PLAIN: Final[Mapping[str, Callable[[object], bool]]] = {
    "type": _is_type,
    "enum": _is_choice,
    "const": _anything,
    **dict.fromkeys(("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and cast("float", value) > 0,
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains", "maxProperties"), _is_count
    ),
    "minProperties": _is_count,
    "uniqueItems": _is_flag,
    "required": _are_names,
    "dependentRequired": _maps_names,
    **dict.fromkeys(("pattern", "format", "title", "description", "contentEncoding", "contentMediaType"), _is_text),
    "default": _anything,
    "examples": lambda value: isinstance(value, list),
    "deprecated": _is_flag,
}
"""Keywords that hold no schema, and what each of them must be."""


def kept_plainly(keyword: str, value: object, direction: Direction) -> bool | None:
    """Whether *keyword*, which holds no schema, is kept; None when it can't be, because *value* makes no sense."""
    sound = _PLAIN.get(keyword)
    if sound is None or (direction == "response" and keyword in _ONLY_FOR_REQUESTS):
        return False
    return True if sound(value) else None


@lru_cache(maxsize=4096)
def usable_pattern(pattern: str) -> bool:
    """Whether our validator can compile *pattern*."""
    try:
        contract_from_schema({"properties": {"text": {"type": "string", "pattern": pattern}}})
    except DefinitionError:
        return False
    return True


# ── what OpenAPI 3.0 said otherwise ──────────────────────────────────────────────────────────────────────────────────


def of_3_0(given: Mapping[str, object]) -> dict[str, object]:
    """The members of a schema in words of 2020-12, where they are those of OpenAPI 3.0. Schemas within it stay as they are.

    Documents of 3.1 have such words as well, left over from before: there they mean nothing or are not legal, and the
    service goes by what they meant.
    """
    schema = dict(given)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    if schema.get("type") == "file":
        schema.update(type="string", format="binary")
    if schema.get("nullable") is True:
        _or_null(schema)
    return schema


def _or_null(schema: dict[str, object]) -> None:
    kind = schema.get("type")
    kinds = list(kind) if is_array(kind) else [kind]
    if kind is not None and "null" not in kinds:
        schema["type"] = [*kinds, "null"]
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    choices = schema.get("enum")
    if is_array(choices) and None not in choices:
        schema["enum"] = [*choices, None]
    # Beside a combination it is there for what is combined, whatever the letter of the specification says.
    combined: dict[str, object] = {word: schema.pop(word) for word in _COMBINED if word in schema}
    if combined and "discriminator" in schema:
        combined["discriminator"] = schema.pop("discriminator")
    if combined:
        schema["anyOf"] = [combined, {"type": "null"}]


_COMBINED: Final = ("$ref", "allOf", "anyOf", "oneOf")
