"""References within a document, and to others that the host allows."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from armory_trio import DefinitionError
from armory_trio.integrations.openapi import toolbox_from_openapi
from tests.requirements import requirement

from .documents import EMPTY, OK, document, get, imported, of_path, schema_of

PET = {"type": "object", "properties": {"name": {"$ref": "common/names.yaml#/Name"}}}
NAMES = "Name:\n  type: string\n  enum: [no, yes, 2020-01-01]\n"


def _paths(reference: str) -> dict[str, object]:
    return get({"name": "x", "in": "query", "schema": {"$ref": reference}})


@requirement("openapi.references")
def test_a_pointer_may_lead_anywhere_and_is_unescaped() -> None:
    components = {"schemas": {"a/b~c {d}": {"properties": {"%": {"type": "integer"}}}}}
    paths = _paths("#/components/schemas/a~1b~0c%20%7Bd%7D/properties/%25")

    assert schema_of(imported(paths, components=components))["$defs"] == {"_": {"type": "integer"}}


@requirement("openapi.references")
def test_paths_parameters_bodies_and_responses_may_be_references() -> None:
    components = {
        "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}},
        "requestBodies": {
            "Body": {"$ref": "#/components/requestBodies/Other"},
            "Other": {"content": {"text/plain": EMPTY}},
        },
        "responses": {"Good": {"description": "", "content": {"application/json": {"schema": {"type": "string"}}}}},
        "pathItems": {
            "It": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "post": {
                    "operationId": "it",
                    "requestBody": {"$ref": "#/components/requestBodies/Body"},
                    "responses": {"200": {"$ref": "#/components/responses/Good"}},
                },
            }
        },
    }
    [operation] = imported({"/{id}": {"$ref": "#/components/pathItems/It"}}, components=components).operations

    assert operation.arguments == {"id": "path id", "body": "body"}
    assert operation.tool.definition.output_schema == {"type": "string"}


@requirement("openapi.references")
def test_parameters_of_an_operation_come_over_those_of_its_path() -> None:
    own = {"name": "a", "in": "query", "schema": {"type": "integer"}}
    paths = {
        "/it": {
            "parameters": [{"name": "a", "in": "query"}, {"name": "b", "in": "query"}],
            "get": {"operationId": "it", "parameters": [own], "responses": OK},
        }
    }

    assert schema_of(imported(paths))["properties"] == {"a": {"type": "integer"}, "b": {"type": "string"}}


@requirement("openapi.other-documents")
def test_other_documents_come_from_a_mapping() -> None:
    found = toolbox_from_openapi(
        document(_paths("pets.json#/Pet")), documents={"pets.json": {"Pet": PET}, "common/names.yaml": NAMES}
    )

    assert found.losses == ()
    assert schema_of(found)["$defs"] == {
        "Pet": {"type": "object", "properties": {"name": {"$ref": "#/$defs/Name"}}},
        "Name": {"type": "string", "enum": ["no", "yes", "2020-01-01"]},
    }


@requirement("openapi.other-documents")
def test_other_documents_come_from_a_directory_and_may_refer_back(tmp_path: Path) -> None:
    api = tmp_path / "api"
    (api / "common").mkdir(parents=True)
    (api / "common" / "names.yaml").write_text("Name: {$ref: '../openapi.yaml#/components/schemas/Word'}\n")
    (api / "openapi.yaml").write_text(
        "openapi: 3.1.0\n"
        "servers: [{url: 'https://api.example.test'}]\n"
        "components: {schemas: {Word: {type: string}}}\n"
        "paths:\n"
        "  /it:\n"
        "    get:\n"
        "      operationId: it\n"
        "      parameters: [{name: x, in: query, schema: {$ref: 'common/names.yaml#/Name'}}]\n"
        "      responses: {200: {description: fine}}\n"
    )
    found = toolbox_from_openapi(api / "openapi.yaml", documents=api)

    assert found.losses == ()
    assert schema_of(found)["$defs"] == {"Name": {"$ref": "#/$defs/Word"}, "Word": {"type": "string"}}


@requirement("openapi.other-documents")
def test_a_document_from_elsewhere_may_use_a_directory(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "words.yaml").write_text("Word: {type: string}\n")
    (tmp_path / "api.yaml").write_bytes(msgspec.json.encode(document(_paths("words.yaml#/Word"))))
    found = toolbox_from_openapi(tmp_path / "api.yaml", documents=tmp_path / "shared")

    assert found.losses == ()


@requirement("openapi.other-documents")
@pytest.mark.parametrize(
    "reference",
    ["../secret.json#/a", "/../secret.json#/a", "%2e%2e/secret.json#/a", "link.json#/a", "https://example.test/x#/a"],
)
def test_a_directory_is_not_left(reference: str, tmp_path: Path) -> None:
    api = tmp_path / "api"
    api.mkdir()
    (tmp_path / "secret.json").write_text('{"a": {"type": "string"}}')
    (api / "link.json").symlink_to(tmp_path / "secret.json")
    found = toolbox_from_openapi(document(_paths(reference)), documents=api)

    assert len(found.toolbox) == 0
    [loss] = found.not_imported
    assert "can't be had" in loss.why
    assert str(tmp_path) not in loss.why


@requirement("openapi.other-documents")
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "inner").mkdir()
    for reference in ("pipe.json#/a", "inner#/a", "inner/#/a"):
        [loss] = toolbox_from_openapi(document(_paths(reference)), documents=tmp_path).not_imported
        assert "it is no file" in loss.why


@requirement("openapi.other-documents")
@pytest.mark.parametrize("reference", ["pets.json#/Pet", "https://example.test/pets.json", "file:///etc/passwd#/a"])
def test_without_permission_no_other_document_is_read(reference: str) -> None:
    [loss] = imported(_paths(reference)).not_imported

    assert "give documents=" in loss.why


@requirement("openapi.other-documents")
def test_a_function_finds_documents_by_their_full_names() -> None:
    asked: list[str] = []

    def load(name: str) -> str:
        asked.append(name)
        return '{"A": {"type": "string"}}'

    paths = _paths("b/../c.json#/A") | of_path(
        "/other", operationId="other", parameters=[{"name": "x", "in": "query", "schema": {"$ref": "c.json#/A"}}]
    )
    found = toolbox_from_openapi(document(paths), documents=load, base="https://example.test/api/openapi.json")

    assert asked == ["https://example.test/api/c.json"]
    assert len(found.toolbox) == 2


@requirement("openapi.other-documents", "openapi.losses")
def test_a_function_that_fails_costs_only_what_refers_to_its_document() -> None:
    def load(name: str) -> str:
        raise RuntimeError(name)

    paths = _paths("words.yaml#/A") | of_path("/good", operationId="good")
    found = toolbox_from_openapi(document(paths), documents=load)

    assert [tool.name for tool in found.toolbox] == ["good"]
    assert "RuntimeError: words.yaml" in found.losses[0].why


@requirement("openapi.other-documents")
def test_there_is_an_end_to_other_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.integrations.openapi._references._DOCUMENTS", 3)
    found = toolbox_from_openapi(document(_paths("1.json#/a")), documents=lambda name: _next(int(name[0])))

    assert "more than 3 documents" in found.losses[0].why


def _next(number: int) -> dict[str, object]:
    return {"a": {"$ref": f"{number + 1}.json#/a"}}


@requirement("openapi.other-documents")
def test_documents_that_nobody_could_find_are_refused() -> None:
    with pytest.raises(DefinitionError, match="documents"):
        toolbox_from_openapi(document({}), documents=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(DefinitionError, match="is no directory"):
        toolbox_from_openapi(document({}), documents=Path("/nowhere/at/all"))


@requirement("openapi.losses")
@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("#/components/schemas/Gone", "leads nowhere"),
        ("#anchor", "anchors"),
        ("http://[x#/a", "no reference"),
        ("#/components/parameters/Loop", "no schema"),
    ],
)
def test_a_reference_that_leads_nowhere_costs_only_its_operation(reference: str, told: str) -> None:
    components = {"parameters": {"Loop": 3}}
    paths = _paths(reference) | of_path("/good", operationId="good")
    found = imported(paths, components=components)

    assert [tool.name for tool in found.toolbox] == ["good"]
    [loss] = found.losses
    assert (loss.operation, loss.kind) == ("GET /it", "not-imported")
    assert told in loss.why


@requirement("openapi.recursion")
def test_parameters_that_refer_to_each_other_in_a_circle_cost_only_their_operation() -> None:
    components = {
        "parameters": {"A": {"$ref": "#/components/parameters/B"}, "B": {"$ref": "#/components/parameters/A"}}
    }
    paths = of_path("/it", parameters=[{"$ref": "#/components/parameters/A"}]) | of_path("/good", operationId="good")
    found = imported(paths, components=components)

    assert [tool.name for tool in found.toolbox] == ["good"]


@requirement("openapi.recursion")
def test_schemas_that_are_only_each_other_cost_only_their_operation() -> None:
    components = {"schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}}
    paths = _paths("#/components/schemas/A") | of_path("/good", operationId="good")
    found = imported(paths, components=components)

    assert [tool.name for tool in found.toolbox] == ["good"]
