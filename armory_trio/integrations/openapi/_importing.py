"""An OpenAPI document as a toolbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, Unpack, cast

import attrs
import httpx2

from ...definitions import (
    EffectDeclaration,
    ExecutionDeclarations,
    Lifecycle,
    Risk,
    Semantics,
    ToolDefinition,
    ToolId,
    create_executable_tool,
)
from ...definitions._checks import shown
from ...errors import DefinitionError
from ...toolbox import Toolbox
from ...toolbox._resolution import AnyTool
from ._losses import DocumentFault, ImportLoss, Losses
from ._naming import Distinct, legal_name, tag_of
from ._operations import Found, Operation, Reader, operations_of
from ._options import (
    ImportSettings,
    OperationInfo,
    OperationOptions,
    Selection,
    Settings,
    effect_of,
    settings_of,
)
from ._reading import SUBJECT, DocumentSource, read_document
from ._references import Documents, References, loader_for
from ._schemas import Translator
from ._security import AuthCallback
from ._sending import Sender
from ._servers import Server, ServerChoice, server_of
from ._tools import OperationTool

__all__ = ("ImportedOperation", "OpenApiImport", "toolbox_from_openapi")

_SUBJECT: Final = "toolbox_from_openapi"


@attrs.frozen(eq=False)
class ImportedOperation:
    """One operation that has become a tool.

    Args:
        tool: The tool.
        info: What the operation is called.
        arguments: By the name of each argument where it is sent: ``query page[size]``, ``body name``, ``body``.
        effect: What the tool does to the world.
    """

    tool: AnyTool
    info: OperationInfo
    arguments: Mapping[str, str]
    effect: EffectDeclaration


@attrs.frozen(eq=False, repr=False)
class OpenApiImport:
    """What came of a document.

    Args:
        toolbox: A tool for each operation that was imported.
        operations: The same with what is known of each, in the order of the document.
        losses: What was not taken over as it stands, and the operations that are no tools.
        origin: The server that all requests go to.
    """

    toolbox: Toolbox
    operations: tuple[ImportedOperation, ...]
    losses: tuple[ImportLoss, ...]
    origin: str

    def __repr__(self) -> str:
        missing = len(self.not_imported)
        return f"<OpenApiImport of {self.origin}: {len(self.operations)} tools, {missing} not imported>"

    @property
    def not_imported(self) -> tuple[ImportLoss, ...]:
        """The operations that are no tools, and why."""
        return tuple(loss for loss in self.losses if loss.kind == "not-imported")


def toolbox_from_openapi(
    document: DocumentSource,
    *,
    client: httpx2.AsyncClient | None = None,
    server: ServerChoice | None = None,
    auth: AuthCallback | Literal["client"] | None = None,
    include: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    filter: Callable[[OperationInfo], object] | None = None,
    options: Mapping[str, OperationOptions] | Callable[[OperationInfo], OperationOptions | None] | None = None,
    documents: Documents | None = None,
    **settings: Unpack[ImportSettings],
) -> OpenApiImport:
    """A toolbox with one tool for each operation of an OpenAPI document, of version 3.0 or 3.1.

    Nothing is fetched: requests are sent by calls only, and only to one server. An operation that can't be read is told
    in ``losses`` and the others are imported.

    Args:
        document: The document, decoded; its text, JSON or YAML; or the file.
        client: Sends the requests, and is the host's to close. Without one each call opens its own connection. Cookies
            are neither taken from it nor kept.
        server: The base URL, or values for the variables of the document's first server. By default that server with
            the defaults of its variables.
        auth: Answers for each `SecurityRequirement` the credential, async or not; None for none. The word ``client``
            leaves credentials to *client*.
        include: Only these operations, by their ``operationId``, as ``GET /pets``, or by their path.
        exclude: Not these.
        filter: Answers whether an operation is imported.
        options: What the host says about single operations, named in the same way.
        documents: Where other documents are found that this one refers to: a mapping of names, a directory, or a
            function of a name. Without it, a reference to another document is a loss.
        settings: See `ImportSettings`.

    Raises:
        DefinitionError: The document as a whole makes no sense, or an argument is wrong.
    """
    chosen = settings_of(settings)
    _check_host(client, auth)
    selection = Selection(include, exclude, filter, options)
    root = read_document(document, _name_of(document))
    version = _version_of(root)
    references = References(root, chosen.base or _base(document, documents), loader_for(documents))
    target = server_of(references.root, server)
    as_client = auth == "client"
    sender = Sender(target.origin, client, as_client, chosen.max_response_bytes, chosen.follow_redirects)
    translator = Translator(references, old=version == "3.0")
    reader = Reader(references, translator, target, chosen, _headers_of(client))
    callback = None if auth == "client" else auth
    return _Importer(references, reader, selection, chosen, (target, sender, callback)).run()


def _check_host(client: object, auth: object) -> None:
    if client is not None and not isinstance(client, httpx2.AsyncClient):
        raise DefinitionError(_SUBJECT, "client", f"must be an httpx2.AsyncClient, not {shown(client)}")
    if auth == "client" and client is None:
        raise DefinitionError(_SUBJECT, "auth", "leaves credentials to the client; give the client")
    if auth is not None and auth != "client" and not callable(auth):
        raise DefinitionError(
            _SUBJECT, "auth", f"must be a function of a requirement, or 'client', not {type(auth).__name__}"
        )


_OF_EVERY_CLIENT: Final = frozenset({"accept", "accept-encoding", "connection", "user-agent"})


def _headers_of(client: httpx2.AsyncClient | None) -> frozenset[str]:
    """The headers that a host has given its client."""
    return frozenset() if client is None else frozenset(map(str.lower, client.headers)) - _OF_EVERY_CLIENT


def _name_of(document: object) -> str:
    return document.name if isinstance(document, Path) else "document"


def _base(document: object, documents: object) -> str:
    """What other documents call this one: its path in the directory of all, if it is there."""
    if isinstance(document, Path) and isinstance(documents, Path):
        place, directory = document.resolve(), documents.resolve()
        if place.is_relative_to(directory):
            return place.relative_to(directory).as_posix()
    return ""


def _version_of(root: Mapping[str, object]) -> str:
    """``3.0`` or ``3.1``; 3.2 is read as 3.1, which it only adds to."""
    if "swagger" in root:
        raise DefinitionError(SUBJECT, "swagger", "is of version 2; convert it to OpenAPI 3.0 or 3.1")
    told = root.get("openapi")
    version = ".".join(told.split(".")[:2]) if isinstance(told, str) else ""
    if version not in ("3.0", "3.1", "3.2"):
        raise DefinitionError(SUBJECT, "openapi", f"must be a version such as 3.0.3 or 3.1.0, not {shown(told)}")
    if not isinstance(root.get("paths", {}), Mapping):
        raise DefinitionError(SUBJECT, "paths", f"must be an object, not {shown(root['paths'])}")
    return version


class _Importer:
    """Makes the tools of one document."""

    def __init__(
        self,
        references: References,
        reader: Reader,
        selection: Selection,
        settings: Settings,
        sending: tuple[Server, Sender, AuthCallback | None],
    ) -> None:
        self._references = references
        self._reader = reader
        self._selection = selection
        self._settings = settings
        self._server, self._sender, self._auth = sending
        self._names = Distinct()
        self._losses: list[ImportLoss] = []

    def run(self) -> OpenApiImport:
        """Import every operation that was chosen."""
        found: list[Found] = []
        for each in operations_of(self._references):
            if isinstance(each, Found):
                found.append(each)
            else:
                path, fault = each
                self._losses.append(ImportLoss(fault.pointer, path, "not-imported", fault.why))
        self._selection.require_known(each.info for each in found)
        imported = [done for each in found if self._selection.takes(each.info) for done in [self._one(each)] if done]
        toolbox = Toolbox([each.tool for each in imported])
        return OpenApiImport(toolbox, tuple(imported), tuple(self._losses), self._server.origin)

    def _one(self, found: Found) -> ImportedOperation | None:
        """The tool for one operation; None if it can be none."""
        info = found.info
        losses = Losses(info.place)
        options = self._selection.options_of(info)
        name = self._name(found, options, losses)
        try:
            operation = self._reader.read(found, name, losses)
            made = self._made(operation, name, options, losses)
        except DocumentFault as fault:
            losses.add(fault.pointer, "not-imported", fault.why)
            made = None
        self._losses += losses.all
        return made

    def _name(self, found: Found, options: OperationOptions, losses: Losses) -> str:
        info = found.info
        usual = info.operation_id or f"{info.method.lower()} {info.path}"
        name = self._names.take(options.name or usual)
        if options.name is None and name != legal_name(usual):
            losses.add(found.node.where, "renamed", f"{usual!r} is called {name!r}")
        return name

    def _made(self, operation: Operation, name: str, options: OperationOptions, losses: Losses) -> ImportedOperation:
        effect = effect_of(operation.info.method.lower(), self._server.origin, options)
        sends_key = options.sends_key or bool(operation.key_header)
        looking = effect.class_ == "read-only"
        body = OperationTool(
            operation, self._server, self._sender, self._auth, self._sender.as_client, sends_key, looking
        )
        checked = self._settings.check_responses and options.check_response

        def made(answers: Mapping[str, object] | None) -> AnyTool:
            definition = self._definition(operation, name, options, (effect, sends_key, answers))
            return create_executable_tool(definition, None, body.__call__, **execution)

        execution = cast("ExecutionDeclarations", {"timeout": self._settings.timeout, **options.execution})
        place = operation.node
        try:
            tool = made(operation.answers.schema if checked else None)
        except DefinitionError as error:
            if not error.field.startswith("output"):
                if error.field.startswith("input"):
                    raise place.fault(f"{error.field}: {error.reason}") from error
                raise
            losses.add(place.child("responses").where, "dropped", f"responses are not checked: {error.reason}")
            tool = made(None)
        return ImportedOperation(tool, operation.info, _where_sent(operation), effect)

    def _definition(
        self,
        operation: Operation,
        name: str,
        options: OperationOptions,
        known: tuple[EffectDeclaration, bool, Mapping[str, object] | None],
    ) -> ToolDefinition:
        info, node = operation.info, operation.node
        effect, sends_key, answers = known
        told = {"method": info.method, "path": info.path, "tags": list(info.tags)}
        return ToolDefinition(
            ToolId(name, self._settings.namespace),
            node.text("description") or node.text("summary") or info.place,
            operation.arguments.schema,
            title=node.text("summary"),
            tags=tuple(dict.fromkeys(filter(None, ("openapi", *map(tag_of, info.tags))))),
            metadata=told | ({} if info.operation_id is None else {"operation_id": info.operation_id}),
            risk=Risk(untrusted_output=True) if self._settings.untrusted else None,
            effect=effect,
            effect_windows=effect.class_ != "read-only",
            lifecycle=Lifecycle(deprecated=info.deprecated),
            semantics=Semantics(idempotency="provider-enforced" if sends_key else "not-supported"),
            requires_approval=options.requires_approval,
            output_schema=answers,
        )


def _where_sent(operation: Operation) -> dict[str, str]:
    told = operation.arguments
    places = {name: f"{parameter.place} {parameter.wire}" for name, parameter in told.parameters.items()}
    places |= {name: f"body {wire}" for name, wire in told.fields.items()}
    return places | ({} if told.whole is None else {told.whole: "body"})
