"""The dialect in which the Berkeley function-calling data describes parameters, as JSON Schema 2020-12."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

Schema = dict[str, object]

TYPES: Final[Mapping[str, str | None]] = {
    "any": None,
    "array": "array",
    "boolean": "boolean",
    "dict": "object",
    "float": "number",
    "integer": "integer",
    "string": "string",
    "tuple": "array",
}
"""Every type of the dialect. None says nothing about the type: any value will do."""

_SAME: Final = frozenset({"default", "description", "enum", "format", "maximum"})
"""Keywords that mean the same in both and hold plain values."""

_OWN: Final = frozenset({"items", "optional", "properties", "required", "type"})


class DialectError(Exception):
    """A definition says something that this translator does not know, so it would have to guess.

    Args:
        place: Keywords and names from the root of the parameters to the place.
        reason: What stands there, and what would be right.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


def translate(parameters: Mapping[str, object], place: str = "parameters") -> Schema:
    """The same in JSON Schema.

    ``optional`` only repeats what ``required`` says, and is left out. Defaults stay as they are, also the few that do
    not fit their own type: to a schema they are remarks. An object inside is as open as it was, for it says nothing.

    Raises:
        DialectError: A keyword or a type is unknown, or ``optional`` contradicts ``required``.
    """
    if unknown := sorted(parameters.keys() - _SAME - _OWN):
        raise DialectError(place, f"unknown keyword {unknown[0]!r}")
    schema: Schema = {}
    if (kind := _type(parameters, place)) is not None:
        schema["type"] = kind
    schema.update({word: value for word, value in parameters.items() if word in _SAME})
    if "properties" in parameters:
        properties = _mapping(parameters["properties"], f"{place}.properties")
        schema["properties"] = {
            name: translate(_mapping(inner, f"{place}.{name}"), f"{place}.{name}") for name, inner in properties.items()
        }
    if "items" in parameters:
        schema["items"] = translate(_mapping(parameters["items"], f"{place}[]"), f"{place}[]")
    if "required" in parameters:
        schema["required"] = _names(parameters["required"], f"{place}.required")
    _refuse_contradiction(parameters, place)
    return schema


def _type(parameters: Mapping[str, object], place: str) -> str | None:
    kind = parameters.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise DialectError(place, f"type {kind!r} is none of {', '.join(TYPES)}")
    return TYPES[kind]


def _mapping(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise DialectError(place, f"expected an object, found {value!r}")
    return cast("Mapping[str, object]", value)


def _names(value: object, place: str) -> list[str]:
    names = cast("list[object]", value) if isinstance(value, list) else [None]
    found = [name for name in names if isinstance(name, str)]
    if len(found) != len(names):
        raise DialectError(place, f"expected a list of names, found {value!r}")
    return found


def _refuse_contradiction(parameters: Mapping[str, object], place: str) -> None:
    """A parameter that is called optional must not be required as well."""
    required = _names(parameters.get("required", []), f"{place}.required")
    for name in _called_optional(parameters, place):
        if name in required:
            raise DialectError(f"{place}.{name}", "is called optional, and is required")


def _called_optional(parameters: Mapping[str, object], place: str) -> Iterable[str]:
    """The names that are called optional: in a list beside them, or each by a mark of its own."""
    mark = parameters.get("optional", [])
    if mark not in (True, "True"):  # its own mark is looked at with the names around it
        yield from _names(mark, f"{place}.optional")
    for name, inner in _mapping(parameters.get("properties", {}), place).items():
        if _mapping(inner, f"{place}.{name}").get("optional") in (True, "True"):
            yield name
