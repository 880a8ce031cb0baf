"""Reading whole documents: which are refused, and which operations are chosen."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml
from openapi_spec_validator import validate

from armory_trio import DefinitionError, Lifecycle
from armory_trio.integrations.openapi import (
    DocumentSource,
    ImportLoss,
    OperationInfo,
    OperationOptions,
    toolbox_from_openapi,
)
from armory_trio.ledger import full_input_key
from tests.requirements import requirement

from .documents import EMPTY, OK, document, imported, of_path, parameter, schema_of


def as_yaml_text(told: object) -> str:
    """*told* as YAML."""
    written: object = yaml.safe_dump(told)  # pyright: ignore[reportUnknownMemberType]
    assert isinstance(written, str)
    return written


PATHS = {
    "/pets": {
        "get": {"operationId": "listPets", "tags": ["pets"], "responses": {"200": {"description": "a"}}},
        "post": {"operationId": "addPet", "tags": ["pets"], "responses": {"200": {"description": "a"}}},
    },
    "/cars": {"get": {"deprecated": True, "responses": {"200": {"description": "a"}}}},
}


@requirement("openapi.documents")
def test_the_documents_of_these_tests_are_legal_ones() -> None:
    for version in ("3.0.3", "3.1.0"):
        validate(document(PATHS, version=version))


@requirement("openapi.documents")
def test_a_document_is_taken_decoded_as_text_and_from_a_file(tmp_path: Path) -> None:
    told = document(PATHS)
    as_json, as_yaml = msgspec.json.encode(told), as_yaml_text(told)
    (tmp_path / "api.yaml").write_text(as_yaml)
    sources: list[DocumentSource] = [
        told,
        as_json,
        as_json.decode(),
        as_yaml,
        b"\xef\xbb\xbf" + as_yaml.encode(),
        tmp_path / "api.yaml",
    ]

    names = [sorted(tool.name for tool in toolbox_from_openapi(source).toolbox) for source in sources]
    assert names == [["addPet", "get_cars", "listPets"]] * len(sources)


@requirement("openapi.documents")
@pytest.mark.parametrize("version", ["3.0.0", "3.0.4", "3.1.1", "3.2.0"])
def test_versions_that_only_add_are_taken(version: str) -> None:
    assert len(imported(PATHS, version=version).toolbox) == 3


@requirement("openapi.documents")
@pytest.mark.parametrize(
    ("source", "told"),
    [
        (3, "must be an object, .*, not an int$"),
        ("just words", "must be an object"),
        ("pets.yaml", r"must be an object, its text, or a pathlib\.Path to it, not the text 'pets\.yaml'"),
        ("[1]", "must be an object"),
        ("a: [", "neither JSON nor YAML"),
        ('{"openapi": ', "neither JSON nor YAML"),
        (b"\xff\xfe\xff", "no UTF-8"),
        ("a: !!python/object:os.system x", "neither JSON nor YAML"),
        ("a: !!binary AAAA", "bytes"),
        ("a: &a [*a]", "nested more than"),
        ("a: !!int x", "neither JSON nor YAML"),
        ("a: " + "1" * 5000, "neither JSON nor YAML"),
        ("a: 1e999", "the number inf"),
        ({"a": float("nan")}, "the number nan"),
        ({"a": {("b",): 1}}, "a key that is a tuple"),
        ({"a": {1, 2}}, "holds a set"),
        ("[" * 50_000, "nested more than|neither JSON nor YAML"),
        ({}, "must be a version"),
        ({"openapi": "4.0.0"}, "must be a version"),
        ({"openapi": 3.1}, "must be a version"),
        ({"swagger": "2.0"}, "version 2"),
        ({"openapi": "3.1.0", "servers": [{"url": "https://a.test"}], "paths": []}, "paths"),
        ({"openapi": "3.1.0", "paths": {}}, "no server"),
        (Path("/nowhere/at/all.json"), "can't be read"),
        (Path("a\0b.json"), "can't be read: no file can have this name"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_broken_document_is_a_clear_error(source: object, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        toolbox_from_openapi(source)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@requirement("openapi.documents")
def test_a_document_that_another_loader_has_read_is_taken_with_its_numbers_and_dates() -> None:
    loaded: object = yaml.safe_load(  # pyright: ignore[reportUnknownMemberType]
        "openapi: 3.1.0\nservers: [{url: 'https://a.test'}]\npaths: {/a: {get: {parameters: [{name: d, in: query, "
        "schema: {enum: [2020-01-01]}}], responses: {200: {content: {application/json: {schema: {type: string}}}}}}}}"
    )
    found = toolbox_from_openapi(loaded)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert found.operations[0].tool.definition.output_schema == {"type": "string"}
    assert schema_of(found, "get_a")["properties"] == {"d": {"enum": ["2020-01-01"]}}


@requirement("openapi.documents")
def test_aliases_that_grow_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.integrations.openapi._reading._VALUES", 10_000)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(DefinitionError, match="holds more than"):
        toolbox_from_openapi("\n".join(lines))


@requirement("openapi.servers")
@pytest.mark.parametrize(
    ("server", "origin"),
    [
        (None, "https://eu.example.test:8443"),
        ({"region": "us"}, "https://us.example.test:8443"),
        ("http://127.0.0.1:1/base/", "http://127.0.0.1:1"),
    ],
)
def test_the_server_is_chosen_by_the_host(server: object, origin: str) -> None:
    told = document(PATHS)
    variables = {"region": {"default": "eu", "enum": ["eu", "us"]}}
    told["servers"] = [
        {"url": "https://{region}.example.test:8443/v1", "variables": variables},
        {"url": "https://b.test"},
    ]

    assert toolbox_from_openapi(told, server=server).origin == origin  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@requirement("openapi.servers")
@pytest.mark.parametrize(
    ("url", "server", "told"),
    [
        ("https://{region}.test", None, "no value"),
        ("https://{region}.test", {"region": "x", "other": "y"}, "no variable 'other'"),
        ("/v1", None, "absolute"),
        ("ftp://a.test", None, "absolute"),
        ("https://user:pass@a.test", None, "one with a user"),
        ("https://a.test/?x=1", None, "absolute"),
        ("https://a.test/../b", None, "steps"),
        ("https://a.test", 3, "base URL"),
        ("https://a.test", "nonsense", "absolute"),
        ("https://a.test", "https://[", "absolute"),
    ],
)
def test_a_server_that_makes_no_sense_is_refused(url: str, server: object, told: str) -> None:
    with pytest.raises(DefinitionError, match=told) as caught:
        toolbox_from_openapi(document(PATHS, server=url), server=server)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert "pass" not in str(caught.value).replace("user:pass", "pass" if "user:pass" in str(caught.value) else "")


@requirement("openapi.servers")
def test_a_variable_has_only_the_values_of_the_document() -> None:
    told = document(PATHS)
    told["servers"] = [{"url": "https://{r}.test", "variables": {"r": {"default": "eu", "enum": ["eu", "us"]}}}]

    with pytest.raises(DefinitionError, match="one of eu, us"):
        toolbox_from_openapi(told, server={"r": "evil.test/"})


def _current(info: OperationInfo) -> bool:
    return not info.deprecated


def _adds_pets(info: OperationInfo) -> bool:
    return "pets" in info.tags and info.method == "POST"


@requirement("openapi.selection")
def test_operations_are_chosen_by_name_place_path_and_predicate() -> None:
    told = document(PATHS)

    def names(**chosen: object) -> list[str]:
        return [each.tool.name for each in toolbox_from_openapi(told, **chosen).operations]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert names(include=["listPets"]) == ["listPets"]
    assert names(include=["GET /cars", "addPet"]) == ["addPet", "get_cars"]
    assert names(include=["/pets"], exclude=["POST /pets"]) == ["listPets"]
    assert names(exclude=["/pets"]) == ["get_cars"]
    assert names(filter=_current) == ["listPets", "addPet"]
    assert names(filter=_adds_pets) == ["addPet"]
    assert names(include=[]) == []


@requirement("openapi.selection")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"include": ["listPet"]}, "did you mean 'listPets'"),
        ({"exclude": ["GET /pet"]}, "no operation 'GET /pet'"),
        ({"include": "listPets"}, "must be a list"),
        ({"include": [3]}, "must be text"),
        ({"filter": 3}, "must be a function"),
        ({"options": {"nope": OperationOptions()}}, "no operation 'nope'"),
        ({"options": {"listPets": 3}}, "OperationOptions"),
        ({"options": 3}, "OperationOptions"),
        ({"max_schema": 3}, "did you mean 'max_schemas'"),
        ({"timeout": 0}, "timeout"),
        ({"max_response_bytes": 0}, "max_response_bytes"),
        ({"check_responses": 1}, "check_responses"),
        ({"namespace": 3}, "namespace"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        toolbox_from_openapi(document(PATHS), **wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@requirement("openapi.selection")
@pytest.mark.parametrize(
    "wrong", [{"name": " "}, {"effect": "destructive"}, {"sends_key": 1}, {"execution": 3}], ids=str
)
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DefinitionError):
        OperationOptions(**wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@requirement("openapi.selection")
def test_the_host_says_how_a_tool_is_run() -> None:
    def options(info: OperationInfo) -> OperationOptions | None:
        if info.operation_id != "addPet":
            return None
        return OperationOptions(execution={"timeout": 3, "groups": ["db"], "idempotency_key": full_input_key})

    found = toolbox_from_openapi(document(PATHS), options=options, timeout=9, namespace="zoo")
    tools = {each.tool.name: each.tool for each in found.operations}

    assert (tools["addPet"].options.timeout, tools["addPet"].options.groups) == (3, ("db",))
    assert tools["listPets"].options.timeout == 9
    assert tools["addPet"].definition.id.text == "zoo:addPet"
    assert tools["get_cars"].definition.lifecycle == Lifecycle(deprecated=True)
    assert repr(found) == "<OpenApiImport of https://api.example.test: 3 tools, 0 not imported>"


@requirement("openapi.losses")
def test_a_wrong_declaration_of_the_host_is_its_error_and_no_loss() -> None:
    options = {"listPets": OperationOptions(execution={"timeout": -1})}
    with pytest.raises(DefinitionError, match="timeout"):
        toolbox_from_openapi(document(PATHS), options=options)


@requirement("openapi.losses")
@pytest.mark.parametrize(
    ("paths", "told"),
    [
        ({"no-slash": {"get": {"responses": OK}}}, "begins with a slash"),
        ({"/a?b={c}": {"get": {"responses": OK}}}, "no placeholder"),
        ({"/a?b=c d": {"get": {"responses": OK}}}, "no white space"),
        ({"/a/../b": {"get": {"responses": OK}}}, "no steps"),
        ({"/a/{b": {"get": {"responses": OK}}}, "not closed"),
        ({"/a": {"$ref": "#/gone"}}, "leads nowhere"),
        (of_path("/{a}", parameters=[{"in": "path", "required": True}]), "needs a name"),
        (
            of_path("/a", parameters=[{"name": "x", "in": "query", "content": EMPTY, "required": True}]),
            "one media type",
        ),
        (of_path("/a", "post", requestBody={"$ref": "#/gone"}), "leads nowhere"),
        (of_path("/a", parameters=[parameter("x", "query", 3)]), "is no schema"),
    ],
)
def test_what_can_be_no_tool_is_told_and_the_rest_is_imported(paths: dict[str, object], told: str) -> None:
    found = imported({**paths, "/good": {"get": {"operationId": "good", "responses": OK}}})

    assert [tool.name for tool in found.toolbox] == ["good"]
    [loss] = found.not_imported
    assert told in loss.why
    assert loss.pointer.startswith("#/")
    assert told in str(loss)
    assert isinstance(loss, ImportLoss)


@requirement("openapi.losses")
@pytest.mark.parametrize(
    ("paths", "kind", "left"),
    [
        (of_path("/a", parameters=[{"name": "x", "in": "formData"}]), "dropped", {}),
        (of_path("/a", parameters=[parameter("id", "path")]), "dropped", {}),
        (of_path("/a", parameters=[{"name": "x", "in": "query", "content": EMPTY}]), "dropped", {}),
        (of_path("/{a}"), "assumed", {"a": "path a"}),
        (of_path("/a", "post", requestBody={"content": EMPTY}), "dropped", {}),
        (of_path("/a", responses={"200": {"$ref": "#/gone"}}), "dropped", {}),
    ],
)
def test_what_can_be_left_out_is_and_that_is_told(paths: dict[str, object], kind: str, left: dict[str, str]) -> None:
    found = imported(paths)

    assert [loss.kind for loss in found.losses] == [kind]
    assert found.operations[0].arguments == left


@requirement("openapi.servers", "openapi.losses")
def test_servers_of_single_operations_are_told_and_not_used() -> None:
    elsewhere = [{"url": "https://uploads.example.test"}]
    found = imported(of_path("/it", servers=elsewhere) | {"/b": {"servers": elsewhere, "get": {"responses": OK}}})

    assert [(loss.kind, loss.pointer) for loss in found.losses] == [
        ("assumed", "#/paths/~1it/get/servers"),
        ("assumed", "#/paths/~1b/servers"),
    ]


@requirement("openapi.documents")
def test_what_is_no_operation_is_not_looked_at() -> None:
    paths: dict[str, object] = {
        "/it": {"x-get": {"a": 1}, "summary": "s", "servers": [], "get": EMPTY, "query": {"responses": OK}},
        "x-own": 1,
    }
    told = document(paths) | {"webhooks": {"a": {"post": {"responses": OK}}}, "x-own": {"$ref": "nowhere.json"}}
    found = toolbox_from_openapi(told)

    assert (len(found.toolbox), found.losses) == (0, ())
