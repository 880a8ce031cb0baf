"""The Berkeley function-calling data, all of its files: the demo uses four, whose dialect it translates strictly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, cast

from armory_trio import ToolDefinition, ToolId
from examples.demo.bfcl import DataMissing, data_folder, expected_call

Json = dict[str, object]

_TYPES: Final[Mapping[str, str | None]] = {
    "any": None,
    "Any": None,
    "array": "array",
    "Array": "array",
    "ArrayList": "array",
    "boolean": "boolean",
    "Boolean": "boolean",
    "dict": "object",
    "HashMap": "object",
    "Hashtable": "object",
    "float": "number",
    "double": "number",
    "integer": "integer",
    "long": "integer",
    "string": "string",
    "String": "string",
    "tuple": "array",
}
"""Every type of the data. Other words, such as the names of classes of Java, say nothing that JSON knows."""

_SAME: Final = ("default", "description", "enum", "format", "maximum", "minimum", "maxItems")


def _translated(parameters: Json) -> Json:
    """*parameters* as JSON Schema; what is malformed in the data is left out."""
    schema: Json = {word: parameters[word] for word in _SAME if word in parameters}
    kind = _TYPES.get(str(parameters.get("type")))
    if kind is not None:
        schema["type"] = kind
    if isinstance(parameters.get("properties"), dict):
        properties = cast("dict[str, Json]", parameters["properties"])
        schema["properties"] = {name: _translated(inner) for name, inner in properties.items()}
    if isinstance(parameters.get("items"), dict):
        schema["items"] = _translated(cast("Json", parameters["items"]))
    if isinstance(parameters.get("required"), list):
        schema["required"] = parameters["required"]
    return schema


@cache
def definitions() -> tuple[ToolDefinition, ...]:
    """Every definition once: one name may have several, which get versions."""
    found: dict[tuple[str, str], ToolDefinition] = {}
    uses: dict[str, int] = {}
    for path in sorted(data_folder().glob("BFCL_v4_*.json")):
        for entry in _lines(path.read_text(encoding="utf-8")):
            for each in _functions(entry):
                name, parameters = str(each["name"]), cast("Json", each["parameters"])
                key = (name, json.dumps(parameters, sort_keys=True))
                if key not in found:
                    uses[name] = uses.get(name, 0) + 1
                    schema = {**_translated(parameters), "type": "object", "additionalProperties": False}
                    identity = ToolId(name, version=str(uses[name]))
                    found[key] = ToolDefinition(identity, str(each["description"]), schema)
    return tuple(found.values())


@cache
def argument_sets() -> tuple[tuple[str, Json], ...]:
    """The arguments of every call that an answer expects, with the name of the function."""
    found: list[tuple[str, Json]] = []
    for path in sorted((data_folder() / "possible_answer").glob("*.json")):
        for entry in _lines(path.read_text(encoding="utf-8")):
            truth = entry.get("ground_truth")
            for call in cast("list[object]", truth) if isinstance(truth, list) else []:
                if isinstance(call, dict):
                    try:
                        expected = expected_call(cast("dict[str, dict[str, list[object]]]", call))
                    except (DataMissing, AttributeError, IndexError, TypeError):
                        continue  # an answer of another kind than a call
                    found.append((expected.name, expected.arguments))
    return tuple(found)


def _lines(text: str) -> Iterator[Json]:
    if not text.startswith("{\n"):  # one of the files is an index of others, over many lines
        for line in text.splitlines():
            yield cast("Json", json.loads(line))


def _functions(entry: Json) -> Iterator[Json]:
    listed = entry.get("function")
    for each in cast("list[object]", listed if isinstance(listed, list) else [listed]):
        if isinstance(each, dict):
            yield cast("Json", each)
