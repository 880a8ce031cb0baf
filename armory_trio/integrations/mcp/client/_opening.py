"""`open_mcp`: the door to a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, TypedDict, Unpack, cast

from mcp.client.session import SamplingFnT

from ....definitions._checks import shown
from ....definitions._options import refuse_unknown
from ....engine._concurrency import open_private_nursery
from ....errors import DefinitionError
from ._connection import Connection
from ._options import ClientOptions, Declare, Effects, Include, Reconnect, ServerLogLevel
from ._owner import Owner
from ._servers import AnyServer, HttpServer, InMemoryServer, StdioServer

_SUBJECT: Final = "open_mcp"


class ConnectionOptions(TypedDict, total=False):
    """What may be said to `open_mcp`. Times are seconds.

    Args:
        include: Which tools to import: their names at the server, or a function of what is listed.
        namespace: The namespace of the tools; by default the name.
        prefix: What their names begin with here.
        effects: What they do to the world: by their names at the server, or a function of what is listed.
        declare: A function of what is listed that answers whatever else to declare; see `Declarations`.
        trust_annotations: Believe the server when it makes things look milder: hints such as ``readOnlyHint``, and its word
            that an error changed nothing.
        timeout: How long a call may take at most; None for ever.
        idle_timeout: How long it may show no progress; None for ever.
        reconnect: What happens when the connection breaks.
        open_timeout: How long opening it, and reading its list of tools, may take.
        max_tools: How many tools it may list.
        roots: ``file://`` addresses that the server may ask for.
        sampling: What answers a server that wants a model to be asked, as the SDK calls it; without it that is refused.
        log_level: What the server is asked to log.
    """

    include: Include | None
    namespace: str | None
    prefix: str
    effects: Effects
    declare: Declare | None
    trust_annotations: bool
    timeout: float | None
    idle_timeout: float | None
    reconnect: Reconnect
    open_timeout: float
    max_tools: int
    roots: tuple[str, ...]
    sampling: SamplingFnT | None
    log_level: ServerLogLevel | None


@asynccontextmanager
async def open_mcp(server: AnyServer, *, name: str, **options: Unpack[ConnectionOptions]) -> AsyncGenerator[Connection]:
    """Connect to a server, as long as the block lasts; enter it with ``async with``.

    Leaving the block closes the connection, and ends a child process with its whole group. The connection breaking does
    not end the block: it is opened again, and calls wait for that or are answered ``TOOL_UNAVAILABLE``.

    Cancelled: it is closed in the same way, which takes no longer than ``close_timeout`` over HTTP, and than
    ``stop_after`` and ``kill_after`` of a child process.

    Args:
        server: A `StdioServer`, an `HttpServer` or an `InMemoryServer`.
        name: What you call it: printable ASCII without spaces. It becomes the namespace of the tools.
        options: See `ConnectionOptions`.

    Raises:
        ConnectionFailed: It could not be opened. The last lines of its standard error are in the message.
        DefinitionError: An option is not legal, or is about a tool that the server does not list.
    """
    if not isinstance(cast("object", server), StdioServer | HttpServer | InMemoryServer):
        wanted = "a StdioServer, an HttpServer or an InMemoryServer"
        raise DefinitionError(_SUBJECT, "server", f"must be {wanted}, not {shown(server)}")
    refuse_unknown(_SUBJECT, options, ConnectionOptions.__annotations__)
    owner = Owner(server, ClientOptions(name=name, **options))
    async with open_private_nursery() as nursery:
        nursery.start_soon(owner.own_to_the_end, name=f"mcp: {name}")
        try:
            await owner.opened()
            yield Connection(owner)
        finally:
            owner.close()
