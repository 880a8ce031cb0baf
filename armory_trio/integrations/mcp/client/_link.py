"""Opening a session: the transport, the handshake, and who answers what the server asks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib.metadata import version
from typing import Final

import trio
from mcp.client.session import ClientRequestContext, ClientSession, ListRootsFnT
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    EmptyResult,
    Implementation,
    ListRootsResult,
    Root,
    SetLevelRequest,
    SetLevelRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ._calls import Link
from ._catalogue import fetch
from ._http import open_http
from ._memory import open_in_memory
from ._options import ClientOptions, ServerLogLevel
from ._questions import asker
from ._record import LinkRecord
from ._servers import AnyServer, HttpServer, InMemoryServer, StdioServer
from ._stdio import open_stdio
from ._streams import Streams
from ._wire import Wire

_NOT_UNDERSTOOD: Final = (
    UNSUPPORTED_PROTOCOL_VERSION,
    METHOD_NOT_FOUND,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
)
"""What servers of a revision without a handshake answer to one: each misses something else in it first."""

_LISTEN_AGAIN: Final = 1.0
"""Seconds before a subscription that ended is asked for again."""


def _open_transport(server: AnyServer, record: LinkRecord) -> AbstractAsyncContextManager[Streams]:
    match server:
        case StdioServer():
            return open_stdio(server, record)
        case HttpServer():
            return open_http(server, record)
        case InMemoryServer():
            return open_in_memory(server, record)


@asynccontextmanager
async def open_link(server: AnyServer, options: ClientOptions, record: LinkRecord) -> AsyncGenerator[Link]:
    """A session with *server*, and its list of tools, as long as the block lasts.

    Raises:
        OSError, MCPError, RuntimeError, ValueError, ListingFailed: It cannot be opened. Alone, or in a group.
    """
    async with _open_transport(server, record) as (read, write):
        session = ClientSession(
            dispatcher=Wire(read, write, record),
            client_info=Implementation(name="armory-trio", version=version("armory-trio")),
            elicitation_callback=asker(record),
            sampling_callback=options.sampling,
            list_roots_callback=_lister(options.roots) if options.roots else None,
        )
        async with session, trio.open_nursery() as nursery:
            await _negotiate(session)
            record.modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
            if options.log_level is not None and _logs(session):
                await _set_level(session, options.log_level)
            link = Link(session, record)
            await renew(link, options)
            if record.modern and has_tools(session):
                nursery.start_soon(_subscribe, session, record, name="mcp: changes")
            yield link
            nursery.cancel_scope.cancel()


async def renew(link: Link, options: ClientOptions) -> None:
    """Read the server's list of tools again. Cancelled: the old one stands.

    Raises:
        MCPError, ValueError, ListingFailed: It cannot be read.
    """
    asked = link.record.listed_asked
    if has_tools(link.session):
        record = link.record
        link.catalogue = await fetch(link.session, lambda: record.page, options.max_tools, modern=record.modern)
    link.covered = asked


def has_tools(session: ClientSession) -> bool:
    """Whether the server says that it has tools."""
    offered = session.server_capabilities
    return offered is not None and offered.tools is not None


def _logs(session: ClientSession) -> bool:
    offered = session.server_capabilities
    return offered is not None and offered.logging is not None


async def _negotiate(session: ClientSession) -> None:
    """Shake hands; with a server that only speaks revisions without a handshake, find out what it speaks.

    Raises:
        MCPError: It refused both, and this is its answer to the handshake; or the connection broke.
        RuntimeError: It speaks no revision that is known here.
    """
    refusal: MCPError | RuntimeError
    try:
        await session.initialize()
        return
    except MCPError as error:
        if error.code not in _NOT_UNDERSTOOD:
            raise
        refusal = error
    except RuntimeError as error:  # it shook hands, on a revision that has no handshake
        refusal = error
    try:
        await session.discover()
    except (MCPError, ValueError):
        raise refusal from None


async def _set_level(session: ClientSession, level: ServerLogLevel) -> None:
    """Say how much the server should log. One that does not know levels says so, and that is all right."""
    with suppress(MCPError):
        await session.send_request(SetLevelRequest(params=SetLevelRequestParams(level=level)), EmptyResult)


async def _subscribe(session: ClientSession, record: LinkRecord) -> None:
    """Hear of changes of the tools, where that has to be asked for. What is heard goes through the wire."""
    while True:
        try:
            async with listen(session, tools_list_changed=True) as changes:
                record.tools_did_change()  # what was changed before anybody listened
                async for _ in changes:
                    pass
        except MCPError:
            return  # it does not tell
        except SubscriptionLost:
            pass
        await trio.sleep(_LISTEN_AGAIN)


def _lister(roots: Sequence[str]) -> ListRootsFnT:
    listed = ListRootsResult(roots=[Root.model_validate({"uri": root}) for root in roots])

    async def list_roots(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001  # the SDK passes it by name
        await trio.lowlevel.checkpoint()
        return listed

    return list_roots
