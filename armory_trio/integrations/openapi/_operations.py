"""The operations of a document, each read into what a tool needs to be made and run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from ._answers import Answers, answers_of
from ._arguments import Arguments, arguments_of
from ._bodies import Body, body_of
from ._losses import DocumentFault, Losses
from ._options import OperationInfo, Settings
from ._parameters import Declared, parameters_of, placeholders
from ._references import Node, References
from ._schemas import Schemas, Translator
from ._security import Alternative, security_of
from ._servers import Server
from ._styles import Pair, Place, leads_elsewhere

__all__ = ("Found", "Operation", "Reader", "operations_of")

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_BODILESS: Final = ("get", "head", "trace")
_KEY_HEADER: Final = "idempotency-key"
_STATIC: Final = "/-._~!$&'()*+,;=:@%"
"""What stays as it is in a path of the document."""
_STATIC_QUERY: Final = "/-._~!$'()*+,;:@%?="
"""The same in the query behind it."""


class Found(msgspec.Struct, frozen=True, eq=False):
    """One operation, not read yet."""

    info: OperationInfo
    item: Node
    node: Node


class Operation(msgspec.Struct, frozen=True, eq=False):
    """One operation, read.

    Args:
        info: What it is called.
        node: Where it stands.
        path: The path between its placeholders, encoded; names of parameters at the odd places.
        query: What stands behind it in the document, encoded, and is sent with every request.
        arguments: What a model gives.
        body: What is sent as the body; None for nothing.
        security: The alternatives of credentials of which one has to be met.
        answers: What may come back.
        key_header: How the document writes the header for an idempotency key; empty if it has none.
        needs_key: Whether a request without one is refused there.
    """

    info: OperationInfo
    node: Node
    path: tuple[str, ...]
    query: tuple[Pair, ...]
    arguments: Arguments
    body: Body | None
    security: tuple[Alternative, ...]
    answers: Answers
    key_header: str
    needs_key: bool

    def names_in(self, place: Place) -> frozenset[str]:
        """What is sent by name in *place*, whatever a model gives."""
        named = self.arguments.names_in(place)
        return named.union(_decoded(name) for name, _ in self.query) if place == "query" else named


def _decoded(name: str) -> str:
    """An encoded name of a query as it is meant."""
    return unquote(name.replace("+", " "))


def operations_of(references: References) -> Iterator[Found | tuple[str, DocumentFault]]:
    """The operations of a document in its order; for a path that can't be read, its name and why."""
    for path, place in references.root.child("paths").children():
        try:
            item = references.resolve(place)
        except DocumentFault as fault:
            yield path, fault
            continue
        for method in _METHODS:
            node = item.child(method)
            if node.members:
                yield Found(_info(method.upper(), path, node), item, node)


def _info(method: str, path: str, node: Node) -> OperationInfo:
    tags = tuple(str(tag.value) for tag in node.child("tags").items())
    return OperationInfo(method, path, node.text("operationId") or None, tags, node.flag("deprecated"))


class Reader:
    """Reads the operations of one document. *hosts_headers* are those that the host's client sets."""

    def __init__(
        self,
        references: References,
        translator: Translator,
        server: Server,
        settings: Settings,
        hosts_headers: frozenset[str],
    ) -> None:
        self._references = references
        self._hosts_headers = hosts_headers
        self._translator = translator
        self._server = server
        self._settings = settings

    def read(self, found: Found, name: str, losses: Losses) -> Operation:
        """One operation, whose tool is called *name*.

        Raises:
            DocumentFault: It can't be read.
        """
        info, node = found.info, found.node
        stem, query = _parted(found, losses)
        path = _template(stem, found.item)
        for place in (node.child("servers"), found.item.child("servers")):
            if place.value:
                losses.add(place.where, "assumed", f"requests go to {self._server.origin}, whatever is named here")
        most = self._settings.max_schemas
        schemas = Schemas(self._translator, "request", losses, most)
        declared = _without_fixed(parameters_of(stem, found.item, node, self._references, losses), query, losses)
        security = security_of(node, self._references, (name, self._server.origin), losses)
        declared, key = self._without_hosts_own(declared, security, losses)
        body = self._body(found, schemas, losses)
        return Operation(
            info,
            node,
            path,
            query,
            arguments_of(declared, body, schemas),
            body,
            security,
            self._answers(found, losses),
            "" if key is None else key.parameter.wire,
            key is not None and key.parameter.required,
        )

    def _body(self, found: Found, schemas: Schemas, losses: Losses) -> Body | None:
        if found.info.method.lower() in _BODILESS:
            if "requestBody" in found.node.members:
                losses.add(found.node.child("requestBody").where, "dropped", f"a {found.info.method} has no body")
            return None
        return body_of(found.node, self._references, schemas, losses)

    def _answers(self, found: Found, losses: Losses) -> Answers:
        """What is promised; nothing where that can't be read, for the operation can be called all the same."""
        schemas = Schemas(self._translator, "response", losses, self._settings.max_schemas)
        try:
            return answers_of(found.node, self._references, schemas, losses)
        except DocumentFault as fault:
            losses.add(fault.pointer, "dropped", f"responses are not checked: {fault.why}")
            return Answers(None, ())

    def _without_hosts_own(
        self, declared: list[Declared], security: tuple[Alternative, ...], losses: Losses
    ) -> tuple[list[Declared], Declared | None]:
        """The parameters that are arguments, and the one for the idempotency key, which is not.

        What carries a credential, or what the host's client sets, is no argument either.
        """
        carried = {
            (each.place, each.name.lower() if each.place == "header" else each.name)
            for alternative in security
            for each in alternative
        }
        left: list[Declared] = []
        key: Declared | None = None
        for each in declared:
            place, name = each.parameter.place, each.parameter.wire
            known = name.lower() if place == "header" else name
            if (place, known) in carried:
                losses.add(each.node.where, "dropped", f"{name!r} carries a credential, which the host gives")
            elif place == "header" and known in self._hosts_headers:
                losses.add(each.node.where, "dropped", f"{name!r} is set by the host's HTTP client")
            elif place == "header" and known == _KEY_HEADER:
                key = each
            else:
                left.append(each)
        return left, key


def _parted(found: Found, losses: Losses) -> tuple[str, tuple[Pair, ...]]:
    """The path without what should not be in it, and the query that is, which tells two operations of one path apart.

    Raises:
        DocumentFault: A placeholder stands in the query.
    """
    written, _, fragment = found.info.path.partition("#")
    stem, _, query = written.partition("?")
    if fragment:
        losses.add(found.item.where, "dropped", "what stands behind # in the path is never sent")
    if not query:
        return stem, ()
    if re.search(r"[{}\x00-\x20\x7f]", query):
        raise found.item.fault("the query in a path holds no placeholder and no white space")
    losses.add(found.item.where, "assumed", f"the query {query} is sent with every request")
    pairs = (part.partition("=") for part in query.split("&") if part)
    return stem, tuple((quote(name, safe=_STATIC_QUERY), quote(value, safe=_STATIC_QUERY)) for name, _, value in pairs)


def _without_fixed(declared: list[Declared], query: tuple[Pair, ...], losses: Losses) -> list[Declared]:
    """*declared* without the parameters whose value stands in the path already."""
    fixed = {_decoded(name) for name, _ in query}
    left: list[Declared] = []
    for each in declared:
        if each.parameter.place == "query" and each.parameter.wire in fixed:
            losses.add(each.node.where, "dropped", f"{each.parameter.wire!r} has its value in the path")
        else:
            left.append(each)
    return left


def _template(path: str, item: Node) -> tuple[str, ...]:
    """The path in parts: what stands in it, and between these the names of its parameters."""
    if not path.startswith("/") or re.search(r"[\\\x00-\x20\x7f]", path):
        raise item.fault("a path begins with a slash, and holds no backslash and no white space")
    if leads_elsewhere(unquote(path)):
        raise item.fault("a path holds no steps . or ..")
    parts: list[str] = []
    rest = path
    for name in re.findall(r"\{([^{}/]+)\}", path):
        before, _, rest = rest.partition(f"{{{name}}}")
        parts += [quote(before, safe=_STATIC), name]
    if "{" in rest or "}" in rest or set(parts[1::2]) != set(placeholders(path)):
        raise item.fault("a placeholder of the path is not closed")
    return (*parts, quote(rest, safe=_STATIC))
