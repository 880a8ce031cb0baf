"""Documents that nobody wrote: whatever stands in them, they are imported or told, and every contract is legal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from armory_trio import DefinitionError, InvalidArguments
from armory_trio.integrations.openapi import toolbox_from_openapi
from tests.requirements import requirement

from .documents import EMPTY, Object, body_of, document, fits, imported, of_path, require_legal

Anything = st.SearchStrategy[object]

NAMES: Final = ("a", "b", "page[size]", "é", "Node")


def some(*values: object) -> Anything:
    """One of *values*."""
    return st.sampled_from(values)


def listed(inner: Anything, most: int = 2) -> Anything:
    """A short list."""
    return st.lists(inner, max_size=most)


def named(keys: Iterable[str], inner: Anything, most: int = 2, least: int = 0) -> st.SearchStrategy[dict[str, object]]:
    """A small object of some of these keys."""
    return st.dictionaries(st.sampled_from(tuple(keys)), inner, min_size=least, max_size=most)


def members(needed: Mapping[str, Anything], optional: Mapping[str, Anything] | None = None) -> Anything:
    """An object of these members, some of which may be missing."""
    return st.fixed_dictionaries(dict(needed), optional=dict(optional or {}))


def nested(inner: Anything) -> Anything:
    """Lists and objects of *inner*."""
    return st.one_of(listed(inner, 4), named(("paths", "/a", "get", *NAMES), inner, 4))


SCALARS: Final[Anything] = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), some("", "a", "(", "object", "string")
)
REFERENCES: Final = some(*(f"#/components/schemas/{name}" for name in ("A", "B", "C", "gone")))


TYPES: Final = some("object", "string", "array", "integer", "file", ["string", "null"], "odd", 3)


def _schemas(children: Anything) -> Anything:
    keywords: dict[str, Anything] = {
        "type": TYPES,
        "properties": named(NAMES, children),
        "required": st.one_of(listed(some(*NAMES)), st.booleans()),
        "items": children,
        "allOf": listed(children),
        "oneOf": listed(children),
        "anyOf": listed(children),
        "additionalProperties": children,
        **dict.fromkeys(("nullable", "readOnly", "writeOnly"), st.booleans()),
        **dict.fromkeys(("minimum", "exclusiveMinimum", "default", "pattern", "x-own"), SCALARS),
        "enum": st.one_of(listed(SCALARS), SCALARS),
        "format": some("date", "binary", "byte", "odd"),
        "discriminator": members({}, {"propertyName": SCALARS, "mapping": named(NAMES, children)}),
    }
    reference = members({"$ref": st.one_of(REFERENCES, SCALARS)}, {"description": SCALARS})
    return st.one_of(members({}, keywords), reference)


LEAVES: Final = st.one_of(
    members({"type": TYPES}, {"enum": listed(SCALARS), "readOnly": st.booleans()}),
    members({"$ref": REFERENCES}),
    members({"type": some("object"), "properties": named(NAMES, members({"type": TYPES}), 3, 1)}),
    some(True, False, 3),
)
SCHEMAS: Final[Anything] = st.recursive(LEAVES, _schemas, max_leaves=6)
MEDIA: Final = (
    *("application/json", "multipart/form-data", "application/x-www-form-urlencoded"),
    *("text/plain", "image/*", "a b", "*/*"),
)
CONTENT: Final = named(MEDIA, members({"schema": SCHEMAS}, {"encoding": SCALARS}), least=1)
PARAMETER: Final = members(
    {},
    {
        "name": st.one_of(some(*NAMES, ""), SCALARS),
        "in": some("path", "query", "header", "cookie", "body"),
        "style": st.one_of(some("simple", "form", "deepObject", "odd"), SCALARS),
        "schema": SCHEMAS,
        "content": CONTENT,
        **dict.fromkeys(("required", "explode"), SCALARS),
    },
)
SECURITY: Final = listed(named(("k", "gone"), listed(SCALARS, 1)))
OPERATIONS: Final = members(
    {
        "responses": named(("200", "204", "2XX", "default"), members({"content": CONTENT}), least=1),
        "requestBody": members({"content": CONTENT}, {"required": st.booleans()}),
    },
    {
        "operationId": st.one_of(some("a", "a/b", ""), SCALARS),
        "tags": st.one_of(listed(SCALARS), SCALARS),
        "parameters": st.one_of(listed(st.one_of(PARAMETER, SCALARS), 3), SCALARS),
        "security": st.one_of(SECURITY, SCALARS),
        "deprecated": SCALARS,
    },
)
PATHS: Final = named(
    ("/", "/a", "/{a}/{b}", "/{a}{é}", "/{", "no"),
    named(("get", "post", "put", "delete", "parameters"), OPERATIONS, least=1),
    least=1,
)
KEY: Final[Object] = {"type": "apiKey", "in": "query", "name": "a"}
COMPONENTS: Final = members(
    {
        "schemas": members(dict.fromkeys(("A", "B", "C"), SCHEMAS)),
        "securitySchemes": some({"k": KEY}),
    }
)


@requirement("openapi.schemas", "openapi.losses")
@given(paths=PATHS, components=COMPONENTS, version=st.sampled_from(["3.0.3", "3.1.0"]))
def test_any_document_is_imported_or_told_and_its_contracts_are_legal(
    paths: Mapping[str, object], components: object, version: str
) -> None:
    found = imported(paths, version=version, components=components)

    assert len(found.toolbox) == len(found.operations)
    for operation in found.operations:
        told = operation.tool.definition.to_json()
        for schema in (told["input"], told.get("output", EMPTY)):
            require_legal(schema)
        properties = operation.tool.definition.input_schema["properties"]
        assert isinstance(properties, Mapping)
        assert properties.keys() == operation.arguments.keys()


@requirement("openapi.losses")
@settings(max_examples=30)
@given(st.recursive(SCALARS, nested, max_leaves=10))
def test_a_document_of_anything_is_imported_or_refused(anything: object) -> None:
    told = {**document({}), "paths": anything, "components": anything, "security": anything}
    try:
        toolbox_from_openapi(told)
    except DefinitionError as error:
        assert error.field == "paths"


@requirement("openapi.schemas")
@settings(max_examples=30)
@given(schema=SCHEMAS, components=COMPONENTS, value=st.recursive(SCALARS, nested, max_leaves=6))
def test_our_validation_agrees_with_that_of_others(schema: object, components: object, value: object) -> None:
    paths = of_path("/a", "post", requestBody=body_of("application/json", {"anyOf": [schema]}))
    found = imported(paths, components=components)
    for operation in found.operations:
        told = operation.tool.definition.to_json()["input"]
        try:
            operation.tool.contract.validate({"body": value})
        except InvalidArguments:
            continue
        try:
            assert fits(told, {"body": value})
        except RecursionError:  # what is made of itself in place, the other one can't see the end of
            continue
