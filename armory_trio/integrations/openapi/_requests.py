"""From the arguments of a call to the bytes of its request. Pure: nothing is sent here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast
from urllib.parse import unquote

import msgspec

from ._bodies import Body
from ._operations import Operation
from ._parts import form_bytes, json_bytes, multipart_bytes, octets, text_bytes
from ._servers import Server
from ._styles import Pair, Parameter, Refused, header_value, leads_elsewhere, pairs, path_text, require_own_names

__all__ = ("Prepared", "prepare")


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """A request that lacks nothing but its credentials.

    Args:
        method: In upper case.
        path: Encoded, from the root of the server.
        query: Names and values, encoded.
        headers: Names and values.
        cookies: Names and values, encoded.
        body: None for no body.
    """

    method: str
    path: str
    query: tuple[Pair, ...]
    headers: tuple[tuple[str, bytes], ...]
    cookies: tuple[Pair, ...]
    body: bytes | None


def prepare(operation: Operation, server: Server, arguments: Mapping[str, object]) -> Prepared:
    """The request for *arguments*, which fit the schema of the operation.

    Raises:
        Refused: An argument can't be sent as it is; its name is said.
    """
    in_path: dict[str, str] = {}
    query: list[Pair] = [*operation.query]
    headers: list[tuple[str, bytes]] = []
    cookies: list[Pair] = []
    for name, parameter in operation.arguments.parameters.items():
        value = arguments.get(name)
        if value is None and parameter.place != "path":
            continue
        try:
            written = _place(parameter, value, (in_path, query, headers, cookies))
            if written:
                require_own_names(parameter.wire, written, operation.names_in(parameter.place))
        except Refused as refused:
            raise Refused(f"{name}: {refused}") from None
    body, media_type = _body(operation, arguments)
    accept = ", ".join(operation.answers.accept) or "*/*"
    told = [("Accept", accept.encode()), *headers, *([("Content-Type", media_type)] if body is not None else [])]
    return Prepared(
        operation.info.method, _path(operation, server, in_path), tuple(query), tuple(told), tuple(cookies), body
    )


def _place(
    parameter: Parameter,
    value: object,
    into: tuple[dict[str, str], list[Pair], list[tuple[str, bytes]], list[Pair]],
) -> list[Pair]:
    """Put *value* down where it is sent; the answer is what stands for it in a query or in cookies."""
    in_path, query, headers, cookies = into
    if parameter.place == "path":
        if value is None:
            raise Refused("is null, and would make another path")
        in_path[parameter.wire] = path_text(parameter, value)
        return []
    if parameter.place == "header":
        headers.append((parameter.wire, header_value(parameter, value)))
        return []
    written = pairs(parameter, value)
    (query if parameter.place == "query" else cookies).extend(written)
    return written


def _path(operation: Operation, server: Server, values: Mapping[str, str]) -> str:
    """The whole path, which has the steps of the document's, whatever the values are."""
    parts = operation.path
    path = "".join(values[part] if index % 2 else part for index, part in enumerate(parts))
    steps = path.split("/")
    if len(steps) != "".join(parts[::2]).count("/") + 1 or any(map(leads_elsewhere, map(unquote, steps))):
        raise Refused("the arguments in the path together would make another path")
    return server.path + path


def _body(operation: Operation, arguments: Mapping[str, object]) -> tuple[bytes | None, bytes]:
    body = operation.body
    if body is None:
        return None, b""
    whole = operation.arguments.whole
    if whole is not None:
        value = arguments.get(whole)
        absent = whole not in arguments
        names: list[str] = [whole]
    else:
        fields = operation.arguments.fields
        value = {wire: arguments[name] for name, wire in fields.items() if name in arguments}
        absent = not value and not body.required
        names = list(fields)
    if absent:
        return None, b""
    try:
        return _written(body, value)
    except Refused as refused:
        raise Refused(f"{names[0] if len(names) == 1 else 'the body'}: {refused}") from None


def _written(body: Body, value: object) -> tuple[bytes, bytes]:
    media_type = body.media_type.encode("ascii", "replace")
    if body.kind == "json":
        return json_bytes(value), media_type
    if body.kind == "text":
        return text_bytes(cast("str", value)), media_type
    if body.kind == "binary":
        data, said = octets(value)
        return data, said.encode() if said and body.media_type == "application/octet-stream" else media_type
    members = cast("Mapping[str, object]", value)
    if body.kind == "form":
        return form_bytes(members, body.parts), media_type
    data, boundary = multipart_bytes(members, body.parts)
    return data, media_type + f"; boundary={boundary}".encode()
