"""What a host is told about a request, and on whose behalf a call is made."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import attrs
import msgspec
import trio
from mcp import types
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from ....definitions import RequestContext
from ....engine._concurrency import open_private_nursery
from .._meta import IDEMPOTENCY_KEY, trace_of

if TYPE_CHECKING:
    from ._hub import Hub

Context: TypeAlias = "ServerRequestContext[Hub]"
"""What the SDK hands to a handler."""

STREAM_FOR: Final = "armory_trio_stream_for"
"""Where the state of the ASGI application says how long a stream with an answer to come stays open."""

STREAM_BEGUN: Final = "armory_trio_stream_begun"
"""Where the scope of an ASGI request has the event that is set with the first bytes of its answer."""

ANSWERED_IN: Final = "armory_trio_answered_in"
"""Where the scope of an ASGI request of a session has what makes the context in which it is answered."""

_NOTHING: Final[Mapping[str, str]] = {}


class McpRequest(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A request of a client, as far as a host decides by it. Never shown to a tool.

    Args:
        method: Such as ``tools/call``.
        tool: The name of the tool that is called, as it was listed; None for other methods.
        protocol_version: What the client speaks.
        client: How it calls itself, ``name/version``; None if it does not say.
        session_id: The session of streamable HTTP; None on stdio, and for clients of protocol 2026-07-28.
        headers: Of the HTTP request, with names in lower case; empty on stdio.
        access: What the token verifier says of the bearer; None where there is none.
        meta: What the client sent as ``_meta``.
        default: On whose behalf the supervisor makes calls that do not say so.
    """

    method: str
    tool: str | None = None
    protocol_version: str
    client: str | None = None
    session_id: str | None = None
    headers: Mapping[str, str] = _NOTHING
    access: AccessToken | None = None
    meta: Mapping[str, object] = {}
    default: RequestContext | None = None


@attrs.frozen(kw_only=True, eq=False)
class McpCall(Mapping[str, str]):
    """Where a call came from: what a tool that is called over MCP finds as ``ctx.metadata``.

    As a mapping it is the trace context, so that telemetry finds it where it looks for one.

    Args:
        request_id: The id of the request in its session.
        protocol_version, client, session_id, meta: As in `McpRequest`.
        trace: The W3C trace context that the client sent, well formed: ``traceparent``, and ``tracestate`` and
            ``baggage`` where they came along.
    """

    request_id: str | int | None
    protocol_version: str
    client: str | None
    session_id: str | None
    meta: Mapping[str, object]
    trace: Mapping[str, str]

    def __getitem__(self, key: str) -> str:
        return self.trace[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.trace)

    def __len__(self) -> int:
        return len(self.trace)


ContextOf = Callable[[McpRequest], Awaitable[RequestContext | None] | RequestContext | None]
"""Says on whose behalf a call is made; None leaves it to the supervisor."""


def connection_of(context: Context) -> Connection:
    """The connection that a request came over. The SDK keeps the way to it to itself."""
    return context.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # as said


def answering(context: Context) -> AbstractContextManager[None]:
    """What the request is answered in: for as long its id is under way, wherever its client is."""
    scope: object = getattr(context.request, "scope", None)
    if not isinstance(scope, Mapping):
        return nullcontext()
    made = cast("Mapping[str, object]", scope).get(ANSWERED_IN)
    return nullcontext() if made is None else cast("Callable[[], AbstractContextManager[None]]", made)()


def request_of(context: Context, default: RequestContext | None, tool: str | None = None) -> McpRequest:
    """What a host is told of the request in *context*."""
    connection = connection_of(context)
    said = context.session.client_params
    client = None if said is None else f"{said.client_info.name}/{said.client_info.version}"
    headers: object = getattr(context.request, "headers", None)
    return McpRequest(
        method=context.method,
        tool=tool,
        protocol_version=context.protocol_version,
        client=client,
        session_id=connection.session_id,
        headers=cast("Mapping[str, str]", headers) if isinstance(headers, Mapping) else _NOTHING,
        access=get_access_token(),
        meta=cast("Mapping[str, object]", context.meta or {}),
        default=default,
    )


@asynccontextmanager
async def streaming(context: Context) -> AsyncGenerator[None]:
    """Close the stream of the request every so often while the block runs, where its client knows how to come back."""
    state: object = getattr(getattr(context.request, "app", None), "state", None)
    period: object = getattr(state, STREAM_FOR, None)
    if not isinstance(period, int | float) or context.close_sse_stream is None:
        yield
        return
    begun = cast("trio.Event", cast("Request", context.request).scope[STREAM_BEGUN])
    async with open_private_nursery() as nursery:
        nursery.start_soon(_close_streams, context.close_sse_stream, period, begun, name="armory_trio: mcp stream")
        try:
            yield
        finally:
            nursery.cancel_scope.cancel("there is nothing more to stream")


async def _close_streams(close: Callable[[], Awaitable[object]], period: float, begun: trio.Event) -> None:
    await begun.wait()  # the first event is the place to come back to: without it the client's call would be lost
    while True:
        await trio.sleep(period)
        await close()


def call_of(context: Context, request: McpRequest) -> McpCall:
    """What the tool is told of it."""
    return McpCall(
        request_id=context.request_id,
        protocol_version=request.protocol_version,
        client=request.client,
        session_id=request.session_id,
        meta=request.meta,
        trace=trace_of(request.meta),
    )


async def context_of(request: McpRequest, ask: ContextOf | None) -> RequestContext | None:
    """On whose behalf *request* is: never more than the supervisor's own context gives, if it has one.

    Raises:
        DefinitionError: The host's answer names somebody else than that context, or more authority.
    """
    if ask is None:
        return None
    answer = ask(request)
    found = await answer if inspect.isawaitable(answer) else answer
    if found is None:
        return None
    return found if request.default is None else request.default.narrow_to(found)


def key_of(request: McpRequest) -> str | None:
    """The idempotency key that the client gave the call.

    Raises:
        MCPError: It is no text, or blank.
    """
    key = request.meta.get(IDEMPOTENCY_KEY)
    if key is None:
        return None
    if not isinstance(key, str) or not key.strip():
        raise MCPError(types.INVALID_PARAMS, f"_meta[{IDEMPOTENCY_KEY!r}] must be text that is not blank")
    return key
