"""Small documents, put together from the parts that a test is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from armory_trio import ToolCall, ToolResult, open_supervisor
from armory_trio.integrations.openapi import OpenApiImport, toolbox_from_openapi

from .server import Server

__all__ = (
    "EMPTY",
    "NOWHERE",
    "OK",
    "Object",
    "body_of",
    "call",
    "document",
    "fits",
    "get",
    "imported",
    "of_path",
    "parameter",
    "require_legal",
    "responding",
    "schema_of",
)

Object = dict[str, object]
"""A JSON object."""

EMPTY: Final[Mapping[str, object]] = {}

NOWHERE: Final = "https://api.example.test"

OK: Final[Mapping[str, object]] = {"200": {"description": "fine"}}


def document(paths: Mapping[str, object], *, version: str = "3.1.0", server: str = NOWHERE, **rest: object) -> Object:
    """A document with these paths."""
    info = {"title": "Test", "version": "1"}
    return {"openapi": version, "info": info, "servers": [{"url": server}], "paths": paths, **rest}


def of_path(path: str, method: str = "get", **operation: object) -> Object:
    """A path with one operation, called ``it``."""
    return {path: {method: {"operationId": "it", "responses": OK, **operation}}}


def get(*parameters: Mapping[str, object], path: str = "/it") -> Object:
    """A path with one operation that takes these parameters."""
    return of_path(path, parameters=list(parameters))


def parameter(name: str, place: str, schema: object = None, **rest: object) -> Object:
    """A parameter; one in a path is required."""
    told: Object = {"name": name, "in": place, "schema": {"type": "string"} if schema is None else schema}
    return told | ({"required": True} if place == "path" else {}) | rest


def body_of(media_type: str, schema: object, *, required: bool = True, **rest: object) -> Object:
    """A body of one media type."""
    return {"required": required, "content": {media_type: {"schema": schema, **rest}}}


def responding(schema: object, status: str = "200", media_type: str = "application/json") -> Object:
    """Responses of one status and media type."""
    return {status: {"description": "it", "content": {media_type: {"schema": schema}}}}


def imported(paths: Mapping[str, object], *, version: str = "3.1.0", **rest: object) -> OpenApiImport:
    """What comes of a document with these paths."""
    return toolbox_from_openapi({**document(paths, version=version), **rest})


def schema_of(found: OpenApiImport, name: str = "it") -> Object:
    """The schema of the arguments of the tool called *name*, to change."""
    tool = found.toolbox.get(name)
    assert tool is not None
    return cast("Object", tool.definition.to_json()["input"])


def require_legal(schema: object) -> None:
    """Fail unless *schema* is a legal one of 2020-12."""
    Draft202012Validator.check_schema(cast("Mapping[str, object]", schema))


def fits(schema: object, value: object) -> bool:
    """Whether *value* fits *schema*, as another implementation than ours says."""
    valid: object = Draft202012Validator(cast("Object", schema)).is_valid(value)  # pyright: ignore[reportUnknownMemberType,reportArgumentType,reportUnknownVariableType]
    return valid is True


async def call(
    server: Server,
    paths: Mapping[str, object],
    arguments: Mapping[str, object],
    *,
    version: str = "3.1.0",
    **rest: object,
) -> ToolResult[object]:
    """The result of one call of the operation ``it`` of a document whose server is *server*."""
    found = toolbox_from_openapi({**document(paths, version=version, server=server.url), **rest})
    assert found.not_imported == ()
    async with open_supervisor(found.toolbox) as supervisor:
        return await supervisor.execute(ToolCall("it", arguments))
