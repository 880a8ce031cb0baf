"""Documents that nobody wrote: whatever stands in them, they are imported or told, and every contract is legal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from armory_trio import DefinitionError, InvalidArguments
from armory_trio.integrations.openapi import toolbox_from_openapi
from tests.requirements import requirement

from .documents import document, imported

NAMES: Final = ("a", "b", "page[size]", "é", "Node")
REFERENCES: Final = st.sampled_from([f"#/components/schemas/{name}" for name in ("A", "B", "C", "gone")])
SCALARS: Final = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "(", "object", "string"])


def _schemas(children: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    named = st.dictionaries(st.sampled_from(NAMES), children, max_size=2)
    listed = st.lists(children, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "string", "array", "integer", "file", ["string", "null"], "odd", 3]),
            "properties": named,
            "required": st.lists(st.sampled_from(NAMES), max_size=2) | st.booleans(),
            "items": children,
            "allOf": listed,
            "oneOf": listed,
            "anyOf": listed,
            "additionalProperties": children,
            "nullable": st.booleans(),
            "readOnly": st.booleans(),
            "writeOnly": st.booleans(),
            "minimum": SCALARS,
            "exclusiveMinimum": SCALARS,
            "enum": st.lists(SCALARS, max_size=2) | SCALARS,
            "default": SCALARS,
            "pattern": SCALARS,
            "format": st.sampled_from(["date", "binary", "byte", "odd"]),
            "discriminator": st.fixed_dictionaries({}, optional={"propertyName": SCALARS, "mapping": named}),
            "x-own": SCALARS,
        },
    ) | st.fixed_dictionaries({"$ref": REFERENCES | SCALARS}, optional={"description": SCALARS})


SCHEMAS: Final = st.recursive(st.booleans() | SCALARS | st.just({}), _schemas, max_leaves=6)
MEDIA: Final = st.sampled_from(
    [
        "application/json",
        "multipart/form-data",
        "application/x-www-form-urlencoded",
        "text/plain",
        "image/*",
        "a b",
        "*/*",
    ]
)
CONTENT: Final = st.dictionaries(MEDIA, st.fixed_dictionaries({}, optional={"schema": SCHEMAS, "encoding": SCALARS}))
PARAMETERS: Final = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.sampled_from([*NAMES, ""]) | SCALARS,
            "in": st.sampled_from(["path", "query", "header", "cookie", "body"]),
            "required": SCALARS,
            "style": st.sampled_from(["simple", "form", "deepObject", "odd"]) | SCALARS,
            "explode": SCALARS,
            "schema": SCHEMAS,
            "content": CONTENT,
        },
    )
    | SCALARS,
    max_size=3,
)
OPERATIONS: Final = st.fixed_dictionaries(
    {
        "responses": st.dictionaries(
            st.sampled_from(["200", "204", "2XX", "default"]), st.fixed_dictionaries({"content": CONTENT})
        )
    },
    optional={
        "operationId": st.sampled_from(["a", "a/b", ""]) | SCALARS,
        "tags": st.lists(SCALARS, max_size=2) | SCALARS,
        "parameters": PARAMETERS | SCALARS,
        "requestBody": st.fixed_dictionaries({"content": CONTENT}, optional={"required": SCALARS}) | SCALARS,
        "security": st.lists(st.dictionaries(st.sampled_from(["k", "gone"]), st.just([])), max_size=2) | SCALARS,
        "deprecated": SCALARS,
    },
)
METHODS: Final = st.sampled_from(["get", "post", "put", "delete", "parameters", "$ref"])
PATHS: Final = st.dictionaries(
    st.sampled_from(["/", "/a", "/{a}/{b}", "/{a}{é}", "/{", "no"]),
    st.dictionaries(METHODS, OPERATIONS | SCALARS, max_size=2),
)
COMPONENTS: Final = st.fixed_dictionaries(
    {
        "schemas": st.fixed_dictionaries({"A": SCHEMAS, "B": SCHEMAS, "C": SCHEMAS}),
        "securitySchemes": st.just({"k": {"type": "apiKey", "in": "query", "name": "a"}}),
    }
)


@requirement("openapi.schemas", "openapi.losses")
@given(paths=PATHS, components=COMPONENTS, version=st.sampled_from(["3.0.3", "3.1.0"]))
def test_any_document_is_imported_or_told_and_its_contracts_are_legal(
    paths: Mapping[str, object], components: Mapping[str, object], version: str
) -> None:
    found = imported(paths, version=version, components=components)

    assert len(found.toolbox) == len(found.operations)
    for operation in found.operations:
        told = operation.tool.definition.to_json()
        for schema in (told["input"], told.get("output", {})):
            assert isinstance(schema, dict)
            Draft202012Validator.check_schema(schema)
        properties = operation.tool.definition.input_schema["properties"]
        assert isinstance(properties, Mapping)
        assert properties.keys() == operation.arguments.keys()


@requirement("openapi.losses")
@settings(max_examples=30)
@given(
    st.recursive(
        SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["paths", "/a", "get"]), inner)
    )
)
def test_a_document_of_anything_is_imported_or_refused(anything: object) -> None:
    told = document({}) | {"paths": anything, "components": anything, "security": anything}
    try:
        toolbox_from_openapi(told)
    except DefinitionError as error:
        assert error.field


@requirement("openapi.schemas")
@settings(max_examples=30)
@given(
    schema=SCHEMAS,
    components=COMPONENTS,
    value=st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner)),
)
def test_our_validation_agrees_with_that_of_others(
    schema: object, components: Mapping[str, object], value: object
) -> None:
    paths = {
        "/a": {
            "post": {
                "operationId": "it",
                "responses": {},
                "requestBody": {"required": True, "content": {"application/json": {"schema": {"anyOf": [schema]}}}},
            }
        }
    }
    found = imported(paths, components=components)
    for operation in found.operations:
        other = Draft202012Validator(operation.tool.definition.to_json()["input"])  # type: ignore[arg-type]
        try:
            operation.tool.contract.validate({"body": value})
        except InvalidArguments:
            continue
        assert other.is_valid({"body": value})
