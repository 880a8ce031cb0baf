"""The parameters of an operation, as its document declares them."""

from __future__ import annotations

import re
from typing import Final, cast, get_args

import msgspec

from ._losses import DocumentFault, Losses
from ._media import is_json
from ._references import Node, References
from ._styles import Parameter, Place, Style

__all__ = ("Declared", "can_hold_key", "parameters_of", "placeholders")

_IGNORED: Final = frozenset({"accept", "content-type", "authorization"})
"""Header parameters that the specification says to ignore."""

_FORBIDDEN: Final = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive"),
        *("expect", "cookie", "proxy-authorization", "proxy-connection", "content-encoding", "accept-encoding"),
        *("x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"),
    }
)
"""Headers that frame the request, or would make another one of it."""

_CREDENTIALS: Final = frozenset({"cookie", "proxy-authorization"})
"""Those of them that hold a credential."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLACEHOLDER: Final = re.compile(r"\{([^{}/]+)\}")
_STYLES: Final = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}


class Declared(msgspec.Struct, frozen=True, eq=False):
    """A parameter and where the document describes its values.

    Args:
        parameter: How it is written.
        node: Where it stands.
        schema: Where its schema stands; None where it has none, so that it is text.
    """

    parameter: Parameter
    node: Node
    schema: Node | None


def can_hold_key(header: str) -> bool:
    """Whether *header* is one in which the API key of a document can stand."""
    return _TOKEN.fullmatch(header) is not None and header.lower() not in _FORBIDDEN - _CREDENTIALS


def placeholders(path: str) -> tuple[str, ...]:
    """The names in braces of a path, each once."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(path)))


def parameters_of(path: str, item: Node, operation: Node, references: References, losses: Losses) -> list[Declared]:
    """The parameters of *operation*, its own over those of its path *item*; those of the path first, in its order.

    Raises:
        DocumentFault: One that is needed can't be read.
    """
    found: dict[tuple[str, str], Declared] = {}
    for node in (*item.child("parameters").items(), *operation.child("parameters").items()):
        declared = _readable(node, references, losses)
        if declared is not None:
            found[declared.parameter.wire, declared.parameter.place] = declared
    wanted = placeholders(path)
    for (name, place), declared in list(found.items()):
        if place == "path" and name not in wanted:
            losses.add(declared.node.where, "dropped", f"the path has no {{{name}}}")
            del found[name, place]
    for name in wanted:
        if (name, "path") not in found:
            losses.add(operation.where, "assumed", f"{{{name}}} is not declared, and taken to be text")
            parameter = Parameter(name, "path", "simple", explode=False, required=True)
            found[name, "path"] = Declared(parameter, Node(None, operation.document, operation.pointer), None)
    order = get_args(Place)
    return sorted(found.values(), key=lambda declared: order.index(declared.parameter.place))


def _readable(node: Node, references: References, losses: Losses) -> Declared | None:
    """The parameter at *node*; None for one that can be left out."""
    try:
        declared = _read(references.resolve(node), references, losses)
    except DocumentFault as fault:
        resolved = node if "$ref" in node.members else references.resolve(node)
        if resolved.members.get("in") == "path" or resolved.flag("required") or "$ref" in resolved.members:
            raise
        losses.add(fault.pointer, "dropped", fault.why)
        return None
    return declared


def _read(node: Node, references: References, losses: Losses) -> Declared | None:
    name, place = node.text("name"), node.text("in")
    if not name or place not in get_args(Place):
        raise node.fault("a parameter needs a name, and says in: path, query, header or cookie")
    if place == "header" and name.lower() in _IGNORED:
        return None
    if place == "header" and (name.lower() in _FORBIDDEN or not _TOKEN.fullmatch(name)):
        raise node.fault(f"the header {name!r} is not for arguments")
    required = place == "path" or node.flag("required")
    if "content" in node.members:
        return _of_content(node, (name, cast("Place", place), required), references)
    style = node.text("style") or _STYLES[place][0]
    if style not in _STYLES[place]:
        losses.add(node.where, "assumed", f"{style!r} is no style in a {place}, and taken to be {_STYLES[place][0]!r}")
        style = _STYLES[place][0]
    parameter = Parameter(
        name,
        cast("Place", place),
        cast("Style", style),
        explode=node.flag("explode", style in ("form", "deepObject")),
        allow_reserved=place == "query" and node.flag("allowReserved"),
        required=required,
    )
    schema = node.child("schema")
    return Declared(parameter, node, None if schema.value is None else schema)


def _of_content(node: Node, told: tuple[str, Place, bool], references: References) -> Declared:
    """A parameter that says how its value is written by a media type."""
    name, place, required = told
    kinds = list(node.child("content").children())
    if len(kinds) != 1:
        raise node.fault("content must name one media type")
    [(media_type, holder)] = kinds
    json = is_json(media_type)
    parameter = Parameter(name, place, cast("Style", _STYLES[place][0]), explode=False, json=json, required=required)
    schema = references.resolve(holder).child("schema")
    if not json:
        return Declared(parameter, node, None)  # text that is written as it is
    return Declared(parameter, node, Node(True) if schema.value is None else schema)
