"""Schemas of OpenAPI 3.0 and 3.1 as contracts of tools."""

from __future__ import annotations

from typing import cast

import pytest

from armory_trio import InvalidArguments, ToolDefinition
from armory_trio.integrations.openapi import OpenApiImport, toolbox_from_openapi
from tests.requirements import requirement

from .documents import (
    EMPTY,
    Object,
    body_of,
    document,
    fits,
    get,
    imported,
    of_path,
    parameter,
    require_legal,
    responding,
    schema_of,
)


def _translated(schema: object, version: str = "3.0.3", **components: object) -> object:
    """What becomes of the schema of a parameter."""
    found = imported(get(parameter("x", "query", schema)), version=version, components={"schemas": components})
    told = schema_of(found)
    require_legal(told)
    return cast("Object", told["properties"])["x"]


def _definition(found: OpenApiImport) -> ToolDefinition:
    return found.operations[0].tool.definition


@requirement("openapi.schemas-3-0")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"nullable": True, "allOf": [{"type": "string"}]},
            {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        (
            {"type": "number", "minimum": 1, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False},
            {"type": "number", "exclusiveMinimum": 1, "maximum": 9},
        ),
        (
            {
                "nullable": True,
                "oneOf": [{"$ref": "#/components/schemas/Cat"}],
                "discriminator": {"propertyName": "kind"},
            },
            {
                "anyOf": [
                    {
                        "oneOf": [
                            {
                                "allOf": [
                                    {"$ref": "#/$defs/Cat"},
                                    {"properties": {"kind": {"enum": ["Cat"]}}, "required": ["kind"]},
                                ]
                            }
                        ]
                    },
                    {"type": "null"},
                ]
            },
        ),
        ({"type": "string", "example": "a"}, {"type": "string", "examples": ["a"]}),
        ({"type": "file"}, {"type": "string", "format": "binary"}),
        (
            {"type": "integer", "format": "int64", "xml": {"name": "n"}, "x-own": 1},
            {"type": "integer", "format": "int64"},
        ),
        (
            {"type": "array", "items": {"type": "string", "nullable": True}},
            {"type": "array", "items": {"type": ["string", "null"]}},
        ),
    ],
)
def test_what_3_0_says_otherwise_is_translated(old: object, new: object) -> None:
    assert _translated(old, Cat={"type": "object"}) == new


@requirement("openapi.schemas-3-0")
def test_what_stands_beside_a_reference_counts_from_3_1_on() -> None:
    schema = {"$ref": "#/components/schemas/Name", "minLength": 2}

    assert _translated(schema, "3.0.3", Name={"type": "string"}) == {"$ref": "#/$defs/Name"}
    assert _translated(schema, "3.1.0", Name={"type": "string"}) == {"$ref": "#/$defs/Name", "minLength": 2}


@requirement("openapi.schemas-3-0")
@pytest.mark.parametrize(
    ("left_over", "new"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"], "nullable": True}, {"type": ["string", "integer", "null"]}),
        ({"type": ["string", "null"], "nullable": True}, {"type": ["string", "null"]}),
        ({"const": "a", "nullable": True}, {"enum": ["a", None]}),
        (
            {"$ref": "#/components/schemas/Cat", "nullable": True, "description": "a cat"},
            {"anyOf": [{"$ref": "#/$defs/Cat"}, {"type": "null"}], "description": "a cat"},
        ),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 0}),
        ({"type": "number", "maximum": 9, "exclusiveMaximum": False}, {"type": "number", "maximum": 9}),
        ({"type": "file"}, {"type": "string", "format": "binary"}),
    ],
)
def test_what_is_left_over_from_3_0_means_the_same_in_3_1(left_over: object, new: object) -> None:
    assert _translated(left_over, "3.1.0", Cat={"type": "object"}) == new


@requirement("openapi.schemas")
def test_words_of_2020_12_stay() -> None:
    schema = {
        "type": ["array", "null"],
        "prefixItems": [{"const": 1}, True],
        "items": False,
        "contains": {"type": "integer"},
        "if": {"minItems": 1},
        "then": {"maxItems": 3},
        "dependentSchemas": {"a": {"required": ["b"]}},
        "unevaluatedProperties": False,
        "patternProperties": {"^x-": {"type": "string"}},
    }

    assert _translated(schema, "3.1.0") == schema


@requirement("openapi.schemas", "openapi.losses")
def test_what_makes_no_sense_is_left_out_and_told() -> None:
    schema: Object = {
        "type": "text",
        "required": True,
        "minimum": "1",
        "enum": [],
        "items": [],
        "pattern": "(",
        "maxLength": 3,
    }
    found = imported(get(parameter("x", "query", schema)))

    assert schema_of(found)["properties"] == {"x": {"maxLength": 3}}
    assert {loss.pointer.rpartition("/")[2] for loss in found.losses} == schema.keys() - {"maxLength"}
    assert {loss.kind for loss in found.losses} == {"widened"}
    assert found.losses[0].pointer.startswith("#/paths/~1it/get/parameters/0/schema/")


@requirement("openapi.recursion")
def test_a_schema_that_refers_to_itself_stays_recursive() -> None:
    node = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "kids": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    reference = {"$ref": "#/components/schemas/Node"}
    paths = of_path("/it", "post", requestBody=body_of("application/json", reference), responses=responding(reference))
    found = imported(paths, components={"schemas": {"Node": node}})
    tool = found.operations[0].tool

    tool.contract.validate({"name": "a", "kids": [{"name": "b", "kids": [{"name": "c"}]}]})
    with pytest.raises(InvalidArguments, match=r"kids\[0\]\.kids\[0\]"):
        tool.contract.validate({"name": "a", "kids": [{"name": "b", "kids": [{"nme": "c"}]}]})
    assert _definition(found).output_schema is not None


@requirement("openapi.recursion")
def test_large_schemas_are_cut_where_the_bound_is_and_that_is_told() -> None:
    schemas: Object = {
        f"S{n}": {"type": "object", "properties": {"next": {"$ref": f"#/components/schemas/S{n + 1}"}}}
        for n in range(40)
    }
    schemas["S40"] = {"type": "string"}
    paths = of_path("/it", responses=responding({"$ref": "#/components/schemas/S0"}))
    found = toolbox_from_openapi(document(paths, components={"schemas": schemas}), max_schemas=21)
    output = _definition(found).output_schema
    assert output is not None

    assert [(loss.pointer, loss.kind) for loss in found.losses] == [("#/components/schemas/S10", "widened")]
    assert fits(_definition(found).to_json()["output"], {"next": {"next": {}}})


PERSON = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
        "born": {"$ref": "#/components/schemas/Day"},
    },
    "required": ["id", "name", "password", "born"],
}


@requirement("openapi.directions")
def test_what_only_the_server_writes_is_no_argument_and_what_only_the_client_writes_is_no_result() -> None:
    reference = {"$ref": "#/components/schemas/Person"}
    paths = of_path("/it", "post", requestBody=body_of("application/json", reference), responses=responding(reference))
    day = {"type": "string", "format": "date", "readOnly": True}
    found = imported(paths, components={"schemas": {"Person": PERSON, "Day": day}})
    told = schema_of(found)

    assert told["properties"] == {"name": {"type": "string"}, "password": {"type": "string"}}
    assert told["required"] == ["name", "password"]
    output = cast("dict[str, dict[str, Object]]", _definition(found).to_json()["output"])
    person = cast("dict[str, list[str]]", output["$defs"]["Person"])
    assert list(person["properties"]) == ["id", "name", "born"]
    assert person["required"] == ["id", "name", "born"]


@requirement("openapi.directions")
@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_what_is_not_written_is_not_required_where_parts_are_put_together(version: str) -> None:
    base = {"type": "object", "properties": {"id": {"type": "integer", "readOnly": True}, "name": {"type": "string"}}}
    whole = {"allOf": [{"$ref": "#/components/schemas/Base"}, {"required": ["id", "name"]}], "required": ["id"]}
    paths = of_path("/it", "post", requestBody=body_of("application/json", whole))
    told = schema_of(imported(paths, version=version, components={"schemas": {"Base": base}}))

    assert fits(told, {"body": {"name": "x"}})
    assert not fits(told, {"body": {}})


@requirement("openapi.recursion")
def test_the_bound_is_for_all_schemas_of_a_body_together() -> None:
    schemas: Object = {f"S{n}": {"type": "array", "items": {"type": "string"}} for n in range(5)}
    listed = {"type": "array", "prefixItems": [{"$ref": f"#/components/schemas/{name}"} for name in schemas]}
    paths = of_path("/it", "post", requestBody=body_of("application/json", listed))
    told = document(paths, components={"schemas": schemas})

    assert toolbox_from_openapi(told, max_schemas=16).losses == ()
    [loss] = toolbox_from_openapi(told, max_schemas=15).losses
    assert loss.pointer == "#/components/schemas/S4"


@requirement("openapi.directions")
def test_formats_bind_what_is_sent_and_not_what_comes_back() -> None:
    schema = {"type": "string", "format": "date"}
    found = imported(of_path("/it", parameters=[parameter("x", "query", schema)], responses=responding(schema)))
    tool = found.operations[0].tool

    with pytest.raises(InvalidArguments, match="date"):
        tool.contract.validate({"x": "yesterday"})
    assert _definition(found).output_schema == {"type": "string"}


PETS = {
    "Cat": {"type": "object", "properties": {"kind": {"type": "string"}, "claws": {"type": "integer"}}},
    "Dog": {"type": "object", "properties": {"kind": {"type": "string"}, "bark": {"type": "string"}}},
    "Fish": {"type": "object", "properties": {"kind": {"const": "f"}, "fins": {"type": "integer"}}},
}


@requirement("openapi.discriminators")
@pytest.mark.parametrize(
    ("value", "legal"),
    [
        ({"kind": "Cat", "claws": 1}, True),
        ({"kind": "hound", "bark": "x"}, True),
        ({"kind": "f", "fins": 2}, True),
        ({"kind": "hound", "bark": 1}, False),
        ({"kind": "Dog", "bark": "x"}, False),
        ({"claws": 1}, False),
    ],
)
@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_discriminator_says_which_alternative_counts(version: str, value: dict[str, object], legal: bool) -> None:
    union = {
        "oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in PETS],
        "discriminator": {"propertyName": "kind", "mapping": {"hound": "#/components/schemas/Dog"}},
    }
    paths = of_path("/it", "post", requestBody=body_of("application/json", union))
    found = imported(paths, version=version, components={"schemas": PETS})

    told = schema_of(found)
    require_legal(told)
    assert fits(told, {"body": value}) is legal


@requirement("openapi.responses-typed")
@pytest.mark.parametrize(
    ("responses", "schema"),
    [
        ({"200": {"description": ""}}, None),
        ({"204": {"description": ""}}, {"type": "null"}),
        (responding({"type": "integer"}, "2XX"), {"type": "integer"}),
        (responding({"type": "integer"}) | responding({"type": "integer"}, "201"), {"type": "integer"}),
        (
            responding({"type": "integer"}) | responding({"type": "string"}, "202"),
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        ),
        (
            responding({"type": "integer"}) | {"204": {"description": ""}},
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        ),
        (responding({"type": "integer"}) | responding({"type": "string"}, "201", "text/plain"), None),
        (responding({"type": "integer"}, "default") | responding({"type": "integer"}, "404"), None),
        ({"200": {"description": "", "content": {"application/json": EMPTY}}}, None),
    ],
)
def test_the_result_is_typed_by_the_good_responses(responses: object, schema: object) -> None:
    assert _definition(imported(of_path("/it", responses=responses))).to_json().get("output") == schema


@requirement("openapi.schemas")
def test_a_parameter_without_a_schema_is_text_and_one_of_json_is_anything() -> None:
    content = {"name": "b", "in": "query", "content": {"application/json": EMPTY}}
    plain = {"name": "a", "in": "query", "example": "x", "deprecated": True, "description": "An a."}
    noted = {"type": "string", "description": "An a.", "examples": ["x"], "deprecated": True}

    assert schema_of(imported(get(plain, content)))["properties"] == {"a": noted, "b": {}}


@requirement("openapi.directions")
def test_a_response_may_fit_several_alternatives_and_an_argument_may_not() -> None:
    union = {"oneOf": [{"type": "integer"}, {"type": "number"}]}
    found = imported(of_path("/it", parameters=[parameter("x", "query", union)], responses=responding(union)))

    assert not fits(schema_of(found), {"x": 1})
    assert fits(_definition(found).to_json()["output"], 1)


@requirement("openapi.responses-typed")
def test_where_json_is_to_be_had_nothing_else_is_asked_for() -> None:
    content = {"application/xml": {"schema": {"type": "object"}}, "application/json": {"schema": {"type": "integer"}}}
    found = imported(of_path("/it", responses={"200": {"description": "", "content": content}}))

    assert _definition(found).output_schema == {"type": "integer"}
    assert found.losses == ()


def _deep(levels: int) -> Object:
    schema: Object = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


@requirement("openapi.losses")
@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (_deep(100), "nested more than 64 deep"),
        (_deep(10_000), "nested more than 64 deep"),
        ({"$dynamicRef": "#node"}, "$dynamicRef"),
        ({"dependentRequired": {"a": ["b", "b"]}}, "unique"),
        ({"enum": [_deep(400)]}, "may stand in one another"),
    ],
    ids=["deep", "deeper", "dynamic", "no schema", "deep value"],
)
def test_a_schema_that_can_be_no_contract_costs_its_operation_or_its_check(schema: object, told: str) -> None:
    asking = imported(get(parameter("x", "query", schema)))
    answering = imported(of_path("/it", responses=responding(schema)))

    assert [loss.kind for loss in asking.losses] == ["not-imported"]
    assert [loss.kind for loss in answering.losses] == ["dropped"]
    assert told in asking.losses[0].why
    assert told in answering.losses[0].why
    assert _definition(answering).output_schema is None


@requirement("openapi.schemas")
def test_words_that_are_said_twice_are_said_once() -> None:
    assert _translated({"type": ["string", "null", "string"], "required": ["a", "a"]}, "3.1.0") == {
        "type": ["string", "null"],
        "required": ["a"],
    }
