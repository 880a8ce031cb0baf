"""Reading the schema of a tool's arguments: their names, what references mean, and their types in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast
from urllib.parse import unquote

from ._resolution import AnyTool

_DEPTH: Final = 8
"""How deep unions are told: deeper ones are nobody's, and a schema may refer to itself."""

Schema = Mapping[str, object]


def schema_keys(tool: AnyTool) -> tuple[str, ...]:
    """The names of the arguments of *tool*, in order; none when its schema lists none."""
    return tuple(_properties(tool.input_schema))


def followed(schema: object, root: Schema) -> object:
    """What a schema that is a reference into *root* means; anything else itself."""
    seen: set[str] = set()
    while isinstance(schema, Mapping):
        reference = cast("Schema", schema).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#") or reference in seen:
            return cast("object", schema)
        seen.add(reference)
        schema = _at(root, reference)
    return schema


def shape_of(schema: Schema) -> dict[str, str]:
    """The type of each argument in a few words.

    ``string``, ``number``, ``array``, ``object`` and so on, ``enum`` for a choice, ``unknown`` when the schema names no
    type; alternatives are ``string | null``. An argument that may be left out ends in ``?``.
    """
    required = schema.get("required", ())
    must = set(cast("Iterable[object]", required)) if isinstance(required, list | tuple) else set[object]()
    return {
        name: " | ".join(_types(part, schema, 0)) + ("" if name in must else "?")
        for name, part in _properties(schema).items()
    }


def _properties(schema: Schema) -> Schema:
    return _schema(schema.get("properties"))


def _schema(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}


def _types(schema: object, root: Schema, depth: int) -> tuple[str, ...]:
    told = _schema(followed(schema, root) if depth <= _DEPTH else None)
    if "enum" in told or "const" in told:
        return ("enum",)
    for keyword in ("anyOf", "oneOf"):
        parts = told.get(keyword)
        if isinstance(parts, list | tuple) and parts:
            together = (_types(part, root, depth + 1) for part in cast("Iterable[object]", parts))
            return tuple(dict.fromkeys(word for words in together for word in words))
    kinds = told.get("type", "unknown")
    return (kinds,) if isinstance(kinds, str) else tuple(map(str, cast("Iterable[object]", kinds)))


def _at(root: Schema, reference: str) -> object:
    """What stands in *root* where the JSON pointer *reference* points; None when nothing does."""
    found: object = root
    for step in unquote(reference[1:]).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        found = _schema(found).get(key)
    return found
