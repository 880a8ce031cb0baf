"""What of a tool is searched: its texts, field by field, and how much each field says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple, cast

from ...definitions import ToolDefinition

Field = Literal["name", "tags", "description", "parameters", "parameter descriptions", "values", "examples"]

Texts = Mapping[Field, str]


class Weight(NamedTuple):
    """How much a word of a field counts.

    Args:
        once: What it counts in a field of the usual length.
        fading: How much less it counts in a longer field; 0 for not at all, 1 for in proportion.
        usual: Words that such a field usually has.
    """

    once: float
    fading: float
    usual: float


WEIGHTS: Final[Mapping[Field, Weight]] = {
    "name": Weight(6.0, 0.8, 3.0),
    "tags": Weight(4.0, 0.6, 3.0),
    "description": Weight(1.0, 0.6, 10.0),
    "parameters": Weight(1.4, 0.6, 5.0),
    "parameter descriptions": Weight(0.5, 0.2, 30.0),
    "values": Weight(3.0, 0.4, 6.0),
    "examples": Weight(1.0, 0.4, 10.0),
}
"""The lengths are constants rather than averages, so that what is known of a tool does not depend on its neighbours."""

_MOST_NODES: Final = 2_000
"""Parts of one schema that are looked at."""

_INNER_ONE: Final = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_INNER_MANY: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER_NAMED: Final = ("$defs", "definitions", "patternProperties", "dependentSchemas")
_VALUES: Final = ("enum", "examples")


def texts_of(definition: ToolDefinition) -> Texts:
    """The texts of a tool, by field. Parameters are found at any depth of its schema."""
    names: list[str] = []
    descriptions: list[str] = []
    values: list[str] = []
    for name, schema in _schemas(definition.input_schema):
        if name:
            names.append(name)
        description = schema.get("description")
        if isinstance(description, str):
            descriptions.append(description)
        values.extend(_values(schema))
    title = "" if definition.title == definition.name else definition.title
    return {
        "name": definition.name,
        "tags": " ".join(definition.tags),
        "description": f"{title}\n{definition.description}",
        "parameters": " ".join(names),
        "parameter descriptions": "\n".join(descriptions),
        "values": "\n".join(values),
        "examples": "\n".join(_strings(definition.examples)),
    }


def _schemas(root: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Every schema in *root*, and the name of the property that it describes, or an empty name."""
    waiting: list[tuple[str, object]] = [("", root)]
    looked_at = 0
    while waiting and looked_at < _MOST_NODES:
        name, schema = waiting.pop()
        looked_at += 1
        if isinstance(schema, Mapping):
            known = cast("Mapping[str, object]", schema)
            yield name, known
            # What comes first in the schema is to come first here, and the last one that waits is the next.
            waiting.extend(reversed(list(_inner(known))))


def _inner(schema: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, inner in _mapping(schema.get("properties")).items():
        yield name, inner
    for key in _INNER_ONE:
        if key in schema:
            yield "", schema[key]
    for key in _INNER_MANY:
        for inner in _members(schema.get(key)):
            yield "", inner
    for key in _INNER_NAMED:
        for inner in _mapping(schema.get(key)).values():
            yield "", inner


def _values(schema: Mapping[str, object]) -> Iterator[str]:
    for key in _VALUES:
        yield from _strings(_members(schema.get(key)))
    for key in ("const", "default"):
        yield from _strings([schema.get(key)])


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _members(value: object) -> Iterable[object]:
    return cast("Iterable[object]", value) if isinstance(value, list | tuple) else ()


def _strings(values: Iterable[object]) -> Iterator[str]:
    """The texts in JSON values, at any depth but within bounds."""
    waiting = list(values)[:_MOST_NODES]
    looked_at = 0
    while waiting and looked_at < _MOST_NODES:
        value = waiting.pop(0)
        looked_at += 1
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting.extend(cast("Mapping[str, object]", value).values())
        else:
            waiting.extend(_members(value))
