"""Random JSON Schemas of draft 2020-12 and values that may be legal by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from hypothesis import strategies as st

Json = dict[str, object]
Draw = st.DrawFn

NAMES: Final = (
    *("a", "b", "c", "type", "$ref", "enum", "properties", "required", "format", "items", "anyOf", "$defs", "const"),
    *("user-name", "user_name", "filter[id]", "x y", "é", "a" * 70, "1st", "additionalProperties", "default"),
    *("", "\x00\n", "a" * 70 + "b", "x.y", "input", "key", "item_1", "option_1", "patternProperties", "__class__"),
)
"""Names of members: plain ones, ones that look like keywords, and ones that providers refuse."""

WORDS: Final = ("", "a", "b", "1", "true", "null", "[1]", '"a"', "key", "item_1", "option_1", "2020-01-01")
NUMBERS: Final = (0, 1, -1, 2, 7, 1.5, -0.5, 2**53 + 1, 10**20)
SCALARS: Final = (*WORDS, *NUMBERS, True, False, None)
DEFINITIONS: Final = ("Tree", "List", "a/b~c%25", "type")
_POINTERS: Final = {name: name.replace("~", "~0").replace("/", "~1").replace("%", "%25") for name in DEFINITIONS}

anything: Final = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(("key", "value", "a", "item_1")), inner, max_size=2)
    ),
    max_leaves=4,
)


def _notes(draw: Draw, schema: Json) -> Json:
    if draw(st.integers(0, 5)) == 0:
        schema["description"] = draw(st.sampled_from(("what it is", "")))
    if draw(st.integers(0, 9)) == 0:
        schema["default"] = draw(anything)
    if draw(st.integers(0, 9)) == 0:
        schema["title"] = "T"
    return schema


def _scalar(draw: Draw) -> Json:
    match draw(st.integers(0, 8)):
        case 0:
            return {
                "type": "string",
                **draw(
                    st.sampled_from(({}, {"minLength": 1}, {"maxLength": 3}, {"pattern": "^a"}, {"format": "date"}))
                ),
            }
        case 1:
            return {
                "type": "integer",
                **draw(st.sampled_from(({}, {"minimum": 0}, {"exclusiveMaximum": 7}, {"multipleOf": 2}))),
            }
        case 2:
            return {"type": "number", **draw(st.sampled_from(({}, {"maximum": 1.5}, {"exclusiveMinimum": 0})))}
        case 3:
            return {"type": "boolean"}
        case 4:
            return {"type": "null"}
        case 5:
            return {
                "type": draw(
                    st.lists(
                        st.sampled_from(("string", "integer", "null", "boolean", "array", "object")),
                        min_size=1,
                        max_size=3,
                        unique=True,
                    )
                )
            }
        case 6:
            return {"const": draw(anything)}
        case 7:
            return {}
        case _:
            values = draw(st.lists(anything, min_size=1, max_size=4, unique_by=repr))
            return {"enum": values}


def _object(draw: Draw, depth: int) -> Json:
    names = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    schema: Json = {"type": "object", "properties": {name: _schema(draw, depth - 1) for name in names}}
    if not names and draw(st.booleans()):
        del schema["properties"]
    required = [name for name in names if draw(st.booleans())]
    if required:
        schema["required"] = required
    match draw(st.integers(0, 5)):
        case 0:
            schema["additionalProperties"] = _schema(draw, depth - 1)
        case 1:
            schema["additionalProperties"] = True
        case 2 | 3:
            schema["additionalProperties"] = False
        case _:
            pass
    if draw(st.integers(0, 12)) == 0:
        schema["patternProperties"] = {"^z": _schema(draw, depth - 1)}
    if draw(st.integers(0, 12)) == 0:
        schema[draw(st.sampled_from(("minProperties", "maxProperties")))] = 1
    if names and draw(st.integers(0, 6)) == 0:
        schema |= _conditions(draw, names, depth)
    return schema


def _conditions(draw: Draw, names: list[str], depth: int) -> Json:
    """What no dialect can say of an object: our own validation alone asks for it."""
    one, other = names[0], names[-1]
    sometimes = {"properties": {"sometimes": _schema(draw, depth - 1)}}
    match draw(st.integers(0, 7)):
        case 6:
            return {"if": {"required": [one]}, "then": sometimes, "unevaluatedProperties": False}
        case 7:
            return {"dependentSchemas": {one: sometimes}, "unevaluatedProperties": draw(st.booleans())}
        case 0:
            return {"dependentRequired": {one: [other]}}
        case 1:
            return {"dependentSchemas": {one: {"properties": {other: _schema(draw, depth - 1)}}}}
        case 2:
            return {"propertyNames": {"maxLength": 80}}
        case 3:
            return {"unevaluatedProperties": draw(st.sampled_from((False, True, {"type": "string"})))}
        case 4:
            asked = {"if": {"required": [one]}, "then": {"required": [other]}}
            return cast("Json", asked | draw(st.sampled_from(({}, {"else": {"minProperties": 1}}))))
        case _:
            return {"not": {"required": ["nobody"]}}


def _array(draw: Draw, depth: int) -> Json:
    schema: Json = {"type": "array"}
    if draw(st.integers(0, 2)) == 0:
        schema["prefixItems"] = [_schema(draw, depth - 1) for _ in range(draw(st.integers(1, 3)))]
    match draw(st.integers(0, 3)):
        case 0:
            schema["items"] = _schema(draw, depth - 1)
        case 1:
            schema["items"] = False
        case _:
            pass
    for word in ("minItems", "maxItems"):
        if draw(st.integers(0, 3)) == 0:
            schema[word] = draw(st.integers(0, 3))
    if draw(st.integers(0, 9)) == 0:
        schema["uniqueItems"] = True
    if draw(st.integers(0, 9)) == 0:
        schema |= draw(st.sampled_from(({"contains": {}}, {"contains": {"const": 1}, "minContains": 0})))
    if draw(st.integers(0, 9)) == 0:
        schema["unevaluatedItems"] = draw(st.sampled_from((False, {"type": "string"})))
    return schema


def _schema(draw: Draw, depth: int) -> Json | bool:
    schema: Json
    choice = draw(st.integers(0, 9)) if depth > 0 else 9
    match choice:
        case 0 | 1 | 2:
            schema = _object(draw, depth)
        case 3 | 4:
            schema = _array(draw, depth)
        case 5:
            word = draw(st.sampled_from(("anyOf", "oneOf", "anyOf", "allOf")))
            schema = {word: [_schema(draw, depth - 1) for _ in range(draw(st.integers(1, 3)))]}
            if draw(st.integers(0, 3)) == 0:
                schema |= _object(draw, 1)
        case 6:
            schema = {"$ref": f"#/$defs/{_POINTERS[draw(st.sampled_from(DEFINITIONS))]}"}
            if draw(st.integers(0, 3)) == 0:  # what stands beside a reference holds, too
                schema |= draw(st.sampled_from(({"minLength": 1}, {"minProperties": 1}, {"type": "object"})))
        case 7:
            schema = {"type": "string"}
            schema[draw(st.sampled_from(("not", "if")))] = {"const": "b"}
        case 8:
            return draw(st.booleans())
        case _:
            schema = _scalar(draw)
    return _notes(draw, schema)


@st.composite
def schemas(draw: Draw) -> Json:
    """The schema of an object, with definitions that may stand inside of themselves."""
    root = _object(draw, 3)
    match draw(st.integers(0, 7)):
        case 0:
            root["anyOf"] = [_object(draw, 2) for _ in range(draw(st.integers(1, 3)))]
        case 1:
            root["allOf"] = [_object(draw, 2)]
        case 2:
            root = cast("Json", {"$ref": "#/$defs/Tree"} | draw(st.sampled_from(({}, {"description": "d"}))))
        case _:
            pass
    root["$defs"] = {
        "Tree": {
            "type": "object",
            "properties": {
                "value": _schema(draw, 1),
                "left": {"$ref": "#/$defs/Tree"},
                "kids": {"$ref": "#/$defs/List"},
            },
            "required": draw(st.sampled_from(([], ["value"]))),
            **draw(st.sampled_from(({}, {"additionalProperties": False}))),
        },
        "List": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Tree"}, _schema(draw, 1)]}},
        "a/b~c%25": _schema(draw, 1),
        "type": {"type": ["string", "null"]},
    }
    return root


def instance(draw: Draw, schema: object, root: Json, depth: int = 6) -> object:
    """A value that tries to be legal by *schema*; whether it is has to be asked."""
    if isinstance(schema, bool) or not schema or depth <= 0:
        return draw(anything)
    known = cast("Json", schema)
    if "const" in known:
        return known["const"]
    if "enum" in known:
        return draw(st.sampled_from(cast("list[object]", known["enum"])))
    drawn: list[object] = []
    if "$ref" in known:
        drawn.append(instance(draw, _found(root, cast("str", known["$ref"])), root, depth - 1))
    unions = [cast("list[object]", known[word]) for word in ("anyOf", "oneOf") if word in known]
    drawn += (instance(draw, draw(st.sampled_from(options)), root, depth - 1) for options in unions)
    drawn += (instance(draw, part, root, depth - 1) for part in cast("list[object]", known.get("allOf", [])))
    if "type" in known or not drawn:
        drawn.append(_typed(draw, known, root, depth))
    if all(isinstance(value, dict) for value in drawn):
        return {key: value for each in drawn for key, value in cast("Json", each).items()}
    return drawn[0]


def _typed(draw: Draw, schema: Json, root: Json, depth: int) -> object:
    kinds = schema.get("type", "string")
    kind = draw(st.sampled_from(cast("list[str]", kinds))) if isinstance(kinds, list) else kinds
    match kind:
        case "object":
            return _object_of(draw, schema, root, depth)
        case "array":
            return _array_of(draw, schema, root, depth)
        case "string":
            return draw(st.sampled_from((*WORDS, "abc")))
        case "integer":
            return draw(st.sampled_from((0, 1, 2, 6, -1, 2**53 + 1, 10**20)))
        case "number":
            return draw(st.sampled_from(NUMBERS))
        case "boolean":
            return draw(st.booleans())
        case _:
            return None


def _object_of(draw: Draw, schema: Json, root: Json, depth: int) -> Json:
    found: Json = {}
    required = cast("list[str]", schema.get("required", []))
    for name, inner in cast("Mapping[str, object]", schema.get("properties", {})).items():
        if name in required or draw(st.booleans()):
            found[name] = instance(draw, inner, root, depth - 1)
    others = schema.get("additionalProperties")
    if others not in (None, False) and draw(st.booleans()):
        found["extra"] = instance(draw, others, root, depth - 1)
    if "patternProperties" in schema and draw(st.booleans()):
        found["z1"] = instance(draw, cast("Json", schema["patternProperties"])["^z"], root, depth - 1)
    for each in (schema.get("then"), *cast("Json", schema.get("dependentSchemas", {})).values()):
        members = cast("Json", cast("Json", each or {}).get("properties", {}))
        if "sometimes" in members and draw(st.booleans()):
            found["sometimes"] = instance(draw, members["sometimes"], root, depth - 1)
    return found


def _array_of(draw: Draw, schema: Json, root: Json, depth: int) -> list[object]:
    first = cast("list[object]", schema.get("prefixItems", []))
    count = draw(st.integers(0, 3))
    return [
        instance(draw, first[index] if index < len(first) else schema.get("items", {}), root, depth - 1)
        for index in range(count)
    ]


def _found(root: Json, reference: str) -> object:
    name = reference.rpartition("/")[2]
    return cast("Json", root["$defs"])[next(key for key, pointer in _POINTERS.items() if pointer == name)]
