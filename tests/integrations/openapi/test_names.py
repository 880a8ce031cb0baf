"""What tools and their arguments are called, and how they are found."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.requirements import requirement

from .documents import OK, body_of, call, imported, of_path, parameter
from .server import open_server

OBJECT = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


@requirement("openapi.clashes")
async def test_one_name_in_three_places_is_three_arguments_each_sent_in_its_place() -> None:
    paths = of_path(
        "/u/{id}",
        "put",
        parameters=[parameter("id", "query"), parameter("id", "path")],
        requestBody=body_of("application/json", OBJECT),
    )
    async with open_server() as server:
        result = await call(server, paths, {"id": "a", "id_query": "b", "id_body": 3})

    assert result.error is None
    assert (server.last.target, server.last.body) == ("/u/a?id=b", b'{"id":3}')
    assert imported(paths).operations[0].arguments == {"id": "path id", "id_query": "query id", "id_body": "body id"}


@requirement("openapi.clashes")
async def test_a_name_that_is_not_legal_gets_a_legal_one_and_is_sent_as_it_is() -> None:
    declared = [parameter("page[size]", "query"), parameter("page_size", "query"), parameter("größe", "query")]
    paths = of_path("/it", parameters=[*declared, parameter("page[size]", "cookie")])
    [operation] = imported(paths).operations

    assert operation.arguments == {
        "page_size_query": "query page[size]",
        "page_size": "query page_size",
        "gr_e": "query größe",
        "page_size_cookie": "cookie page[size]",
    }
    async with open_server() as server:
        await call(server, paths, {"page_size_query": "1", "page_size": "2", "gr_e": "3"})
    assert server.last.target == "/it?page%5Bsize%5D=1&page_size=2&gr%C3%B6%C3%9Fe=3"


@requirement("openapi.clashes")
def test_a_body_beside_a_parameter_called_body() -> None:
    listed = body_of("application/json", {"type": "array"})
    paths = of_path("/it", "post", parameters=[parameter("body", "query")], requestBody=listed)

    assert imported(paths).operations[0].arguments == {"body": "query body", "request_body": "body"}


@requirement("openapi.clashes")
@given(st.lists(st.tuples(st.text(min_size=1), st.sampled_from(["query", "cookie"])), unique=True, max_size=8))
def test_names_of_arguments_are_legal_and_one_to_one(wanted: list[tuple[str, str]]) -> None:
    paths = of_path("/it", parameters=[parameter(name, place) for name, place in wanted])
    [operation] = imported(paths).operations

    assert sorted(operation.arguments.values()) == sorted(f"{place} {name}" for name, place in wanted)
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in operation.arguments)


@requirement("openapi.names")
def test_a_tool_is_called_like_its_operation_or_by_its_method_and_path() -> None:
    def operation(name: str | None) -> dict[str, object]:
        return {"responses": OK} if name is None else {"responses": OK, "operationId": name}

    paths = {
        "/pets": {"get": operation("listPets"), "post": operation("pets/create one")},
        "/pets/{id}": {"get": operation(None), "delete": operation("listPets")},
        "/long": {"get": operation("x" * 70), "put": operation("x" * 71)},
    }
    found = imported(paths)

    assert [each.tool.name for each in found.operations] == [
        "listPets",
        "pets_create_one",
        "get_pets_id",
        "listPets_2",
        "x" * 64,
        "x" * 62 + "_2",
    ]
    assert [loss.operation for loss in found.losses if loss.kind == "renamed"] == [
        "DELETE /pets/{id}",
        "GET /long",
        "PUT /long",
    ]


@requirement("openapi.found")
def test_tools_are_found_by_tags_method_and_path() -> None:
    paths = {
        "/pets": {"get": {"operationId": "a", "tags": ["House Pets", "petStore", "¿?"], "responses": OK}},
        "/cars": {"post": {"operationId": "b", "deprecated": True, "summary": "Make one", "responses": OK}},
    }
    toolbox = imported(paths).toolbox
    first, second = toolbox.get("a"), toolbox.get("b")
    assert first is not None
    assert second is not None

    assert set(first.definition.tags) == {"openapi", "house-pets", "pet-store", "untrusted-output"}
    assert [tool.name for tool in toolbox.query(metadata_equals={"method": "POST"})] == ["b"]
    assert [tool.name for tool in toolbox.query(metadata_startswith={"path": "/pets"})] == ["a"]
    assert [tool.name for tool in toolbox.query(metadata_contains={"tags": "House Pets"})] == ["a"]
    assert (first.definition.deprecated, second.definition.deprecated) == (False, True)
    assert (first.definition.description, second.definition.description) == ("GET /pets", "Make one")
    assert second.definition.title == "Make one"
