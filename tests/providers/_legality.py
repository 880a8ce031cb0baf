"""Whether a schema keeps to what a provider has published, read from its documentation and not from our tables.

OpenAI: the guides to function calling and to structured outputs. Anthropic: the guides to tool use and to structured
outputs. Gemini: the reference of ``Schema``, of ``FunctionDeclaration`` and of ``responseJsonSchema``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

from armory_trio.definitions import thaw_json

Json = dict[str, object]

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
GEMINI_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_TYPES: Final = {"object", "array", "string", "integer", "number", "boolean", "null"}


def plain(schema: Mapping[str, object]) -> Json:
    """*schema*, which nobody can change, as JSON has it."""
    return cast("Json", thaw_json(schema))


def schemas_in(schema: object, path: str = "#") -> Iterator[tuple[str, Json]]:
    """Every schema in *schema*, by position, with where it stands."""
    if isinstance(schema, bool):
        return
    assert isinstance(schema, dict), f"{path}: {schema!r} is no schema"
    node = cast("Json", schema)
    yield path, node
    for word in ("properties", "$defs", "patternProperties", "dependentSchemas"):
        for name, inner in cast("Json", node.get(word, {})).items():
            yield from schemas_in(inner, f"{path}/{word}/{name}")
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for index, inner in enumerate(cast("list[object]", node.get(word, []))):
            yield from schemas_in(inner, f"{path}/{word}/{index}")
    for word in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"):
        if word in node:
            yield from schemas_in(node[word], f"{path}/{word}")


def _only(node: Json, path: str, words: set[str]) -> None:
    assert not node.keys() - words, f"{path}: {sorted(node.keys() - words)} may not stand here"


def _root(schema: Json) -> None:
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    assert not schema.keys() & {"anyOf", "oneOf", "allOf", "enum", "not"}, "the root combines nothing"


def _arrays_have_items(schema: Json) -> None:
    for path, node in schemas_in(schema):
        kinds = node.get("type")
        if kinds == "array" or (isinstance(kinds, list) and "array" in kinds):
            assert "items" in node or "prefixItems" in node, f"{path}: an array without items"


def _references_hold(schema: Json) -> None:
    for path, node in schemas_in(schema):
        if "$ref" in node:
            reference = cast("str", node["$ref"])
            assert reference.startswith("#/$defs/"), path
            assert reference.removeprefix("#/$defs/") in cast("Json", schema["$defs"]), path


def openai(schema: Json) -> None:
    _root(schema)
    _arrays_have_items(schema)
    _references_hold(schema)


_OPENAI_WORDS: Final = {
    *("type", "description", "title", "enum", "const", "anyOf", "$ref", "properties", "required"),
    *("additionalProperties", "items", "pattern", "format", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
}
_OPENAI_FORMATS: Final = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


def openai_strict(schema: Json) -> None:
    _root(schema)
    _references_hold(schema)
    properties = choices = 0
    for path, node in schemas_in(schema):
        _only(node, path, _OPENAI_WORDS | ({"$defs"} if path == "#" else set()))
        assert node.keys() & {"type", "anyOf", "$ref"}, f"{path}: says no type"
        if "$ref" in node:
            assert len(node) == 1, f"{path}: a reference stands alone"
        if node.get("type") == "object" or "object" in cast("list[str]", node.get("type", [])) or "properties" in node:
            assert node["additionalProperties"] is False, f"{path}: an open object"
            assert sorted(cast("list[str]", node["required"])) == sorted(cast("Json", node["properties"])), path
        if "array" in cast("list[str]", node.get("type", [])):
            assert "items" in node, path
        if "format" in node:
            assert node["format"] in _OPENAI_FORMATS, path
        properties += len(cast("Json", node.get("properties", {})))
        choices += len(cast("list[object]", node.get("enum", [])))
    assert properties <= 5_000
    assert choices <= 1_000
    assert _depth(schema) <= 10


def _depth(schema: object) -> int:
    if not isinstance(schema, dict):
        return 0
    node = cast("Json", schema)
    inner = [*cast("Json", node.get("properties", {})).values(), *cast("list[object]", node.get("anyOf", []))]
    return ("properties" in node) + max((_depth(each) for each in (*inner, node.get("items"))), default=0)


def anthropic(schema: Json) -> None:
    _root(schema)
    _references_hold(schema)
    for name in cast("Json", schema["properties"]):
        assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name), name


_ANTHROPIC_WORDS: Final = {
    *("type", "description", "title", "enum", "const", "anyOf", "allOf", "$ref", "properties", "required"),
    *("additionalProperties", "items", "format", "minItems"),
}


def anthropic_strict(schema: Json) -> None:
    anthropic(schema)
    for path, node in schemas_in(schema):
        _only(node, path, _ANTHROPIC_WORDS)
        assert node.keys() & {"type", "anyOf"}, f"{path}: says no type"
        if node.get("type") == "object":
            assert node["additionalProperties"] is False, path
        assert node.get("minItems", 0) in (0, 1), path
        assert "$ref" not in node, f"{path}: definitions are inlined"
        for value in cast("list[object]", node.get("enum", [])):
            assert value is None or isinstance(value, str | int | float), path


_GEMINI_WORDS: Final = {
    *("$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"),
    *("minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required"),
}
_PARAMETER: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")


def gemini(schema: Json) -> None:
    assert schema["type"] == "object"
    for path, node in schemas_in(schema):
        _only(node, path, _GEMINI_WORDS)
        assert "$ref" not in node, path
        for value in cast("list[object]", node.get("enum", [])):
            assert isinstance(value, str | int | float) and not isinstance(value, bool) and value != "", path
        for name in cast("Json", node.get("properties", {})):
            assert _PARAMETER.fullmatch(name), f"{path}: {name}"


_CLASSIC_WORDS: Final = {
    *("type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"),
    *("minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "items", "minimum", "maximum"),
}


def gemini_openapi(schema: Json) -> None:
    assert schema["type"] == "OBJECT"
    for path, node in schemas_in(schema):
        _only(node, path, _CLASSIC_WORDS)
        assert ("type" in node) != ("anyOf" in node), f"{path}: has one type"
        if "type" in node:
            assert node["type"] in {kind.upper() for kind in _TYPES}, path
        if node.get("type") == "OBJECT" and path != "#":
            assert node["properties"], f"{path}: an object without members"
        if node.get("type") == "ARRAY":
            assert "items" in node, path
        if "enum" in node:
            assert node["type"] == "STRING" and all(
                isinstance(v, str) and v for v in cast("list[object]", node["enum"])
            ), path
        if node.get("type") == "STRING" and "format" in node:
            assert node["format"] in {"enum", "date-time"}, path
        properties = cast("Json", node.get("properties", {}))
        assert set(cast("list[str]", node.get("required", []))) <= set(properties), path
        for name in properties:
            assert _PARAMETER.fullmatch(name), f"{path}: {name}"


_COMMON_WORDS: Final = {
    *("type", "description", "enum", "anyOf", "properties", "required", "additionalProperties", "items", "minimum"),
    *("maximum", "minLength", "maxLength", "minItems", "maxItems", "format"),
}


def common(schema: Json) -> None:
    _root(schema)
    _arrays_have_items(schema)
    for path, node in schemas_in(schema):
        _only(node, path, _COMMON_WORDS)
        assert isinstance(node.get("type", ""), str), path


CHECKS: Final[Mapping[str, Callable[[Json], None]]] = {
    "openai": openai,
    "openai-strict": openai_strict,
    "anthropic": anthropic,
    "anthropic-strict": anthropic_strict,
    "gemini": gemini,
    "gemini-classic": gemini_openapi,
    "common": common,
}
"""A check for each dialect, which fails with where and what."""


def as_json_schema(schema: object) -> object:
    """A schema of Gemini's older dialect as JSON Schema."""
    if not isinstance(schema, dict):
        return schema
    node = cast("Json", schema)
    made: Json = {}
    for word, value in node.items():
        match word:
            case "type":
                made[word] = cast("str", value).lower()
            case "properties":
                made[word] = {name: as_json_schema(inner) for name, inner in cast("Json", value).items()}
            case "items":
                made[word] = as_json_schema(value)
            case "anyOf":
                made[word] = [as_json_schema(inner) for inner in cast("list[object]", value)]
            case "nullable":
                pass
            case _:
                made[word] = value
    return {"anyOf": [made, {"type": "null"}]} if node.get("nullable") else made
