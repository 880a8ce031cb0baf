"""Messages over streamable HTTP. What happens to one request stays its own affair, and is told apart from the rest."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from typing import Final

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client

from ._faults import LOST, REFUSED, Fault
from ._oauth import OAuth, Unqueued
from ._record import LinkRecord
from ._servers import HttpServer
from ._streams import Announced, Streams

_UNSENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
"""What httpx raises when nothing of a request has left yet."""

_SLOW_WRITE: Final = 30.0
"""Seconds in which a piece of a request has to be taken."""

_INTERNAL: Final = -32603
_NO_SESSION: Final = -32000
"""What some servers answer, with status 400, to a session that they do not know."""

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"

_OF_THE_BODY: Final = ("content-encoding", "content-length", "transfer-encoding")
"""Headers that are about a body as it was sent."""

_KEPT: Final = ("www-authenticate", "retry-after")
"""Headers of an error that somebody reads after us."""


class _Request(msgspec.Struct):
    id: int | str | None = None
    method: str | None = None


class _Answered(msgspec.Struct):
    id: object = None
    error: dict[str, object] | None = None


class _Watched(httpx2.AsyncByteStream):
    """The body of a response, which tells when it is over: if the answer was not in it, the connection broke.

    Args:
        inner: The body.
        record: Where to note that.
        request_id: The request.
    """

    def __init__(self, inner: object, record: LinkRecord, request_id: object) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner = inner
        self._pieces = aiter(inner)
        self._record = record
        self._request_id = request_id

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._pieces)
        except (StopAsyncIteration, httpx2.TransportError):
            message = f"the connection to {self._record.name!r} broke while the call ran there: its answer did not come"
            self._record.fault(self._request_id, Fault(message, "transient", LOST))
            raise

    async def aclose(self) -> None:
        """Close the body."""
        await self._inner.aclose()


class _Contained(httpx2.AsyncBaseTransport):
    """Sends requests, and answers in the server's place when one fails: else one failure would end all of them.

    Args:
        inner: What sends them.
        url: The endpoint. What goes elsewhere, such as to an authorization server, passes as it is.
        record: Where to note what became of a request.
        most: Bytes of the longest answer that is read.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, url: httpx2.URL, record: LinkRecord, most: int) -> None:
        self._inner = inner
        self._url = url
        self._record = record
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send *request*."""
        if request.method != "POST" or request.url != self._url:
            return await self._inner.handle_async_request(request)
        request_id = _id_of(request)
        self._record.forget_fault(request_id)
        try:
            response = await self._inner.handle_async_request(request)
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                return await self._refused(request, response)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == _JSON and request_id is not None:
                return await self._read(request, request_id, response)
        except httpx2.TransportError as error:
            return self._broken(request, request_id, error)
        if kind == _EVENTS:
            response.stream = _Watched(response.stream, self._record, request_id)
        elif response.is_success:
            self._record.fault(request_id, self._unusable(f"answered HTTP {response.status_code} without an answer"))
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()

    async def _read(self, request: httpx2.Request, request_id: object, response: httpx2.Response) -> httpx2.Response:
        """A whole answer, looked at: for one that is not to its request, the SDK would wait for ever."""
        body = bytearray()
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > self._most:
                    break
        await response.aclose()
        fault = self._fault_in(bytes(body), request_id)
        if fault is not None:
            self._record.fault(request_id, fault)
            return _answer(request, HTTPStatus.OK, request_id, fault.message, response.headers)
        headers = {name: value for name, value in response.headers.items() if name not in _OF_THE_BODY}
        return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=request)

    def _fault_in(self, body: bytes, request_id: object) -> Fault | None:
        if len(body) > self._most:
            return self._unusable(f"sent an answer of more than {self._most:,} bytes")
        try:
            told = msgspec.json.decode(body, type=_Answered)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._unusable("sent an answer that cannot be read")
        if str(told.id) != str(request_id):
            return self._unusable("answered another request than the one that it got")
        return None

    def _unusable(self, what: str) -> Fault:
        return Fault(f"{self._record.name!r} {what}", "internal", "OUTPUT_INVALID")

    def _broken(self, request: httpx2.Request, request_id: object, error: httpx2.TransportError) -> httpx2.Response:
        unsent = isinstance(error, _UNSENT)
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        message = f"{self._record.name!r} could not be reached: {why}" if unsent else f"the connection broke: {why}"
        self._record.fault(request_id, Fault(message, "transient", LOST, False if unsent else None))
        if unsent:
            self._record.end(f"it could not be reached: {why}")
        return _answer(request, HTTPStatus.SERVICE_UNAVAILABLE, request_id, message)

    async def _refused(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        request_id, status = _id_of(request), response.status_code
        body = await response.aread()
        await response.aclose()
        code = _code_of(body)
        in_session = MCP_SESSION_ID in request.headers
        if in_session and (status == HTTPStatus.NOT_FOUND or (status, code) == (HTTPStatus.BAD_REQUEST, _NO_SESSION)):
            message = f"{self._record.name!r} no longer knows this session, and did not run the call"
            self._record.fault(request_id, Fault(message, "transient", LOST, False))
            self._record.end("it no longer knows the session")
            return _answer(request, status, request_id, message)
        if code is not None:
            return _copy(request, response, body)
        fault = _fault_of(self._record.name, status)
        self._record.fault(request_id, fault)
        return _answer(request, status, request_id, fault.message, response.headers)


def _fault_of(server: str, status: int) -> Fault:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "an unknown status"
    message = f"{server!r} answered HTTP {status} ({phrase})"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Fault(message, "permission", REFUSED, False)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Fault(message, "transient", "RATE_LIMITED", False)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return Fault(message, "internal", REFUSED, False)
    return Fault(message, "transient", "TRANSIENT_ERROR", None)


def _id_of(request: httpx2.Request) -> object:
    """The id of what is asked; None for a notification, and for an answer to the server, whose ids are its own."""
    try:
        asked = msgspec.json.decode(request.content, type=_Request)
    except (msgspec.DecodeError, httpx2.RequestNotRead):
        return None
    return None if asked.method is None else asked.id


def _code_of(body: bytes) -> int | None:
    """The code of the JSON-RPC error that *body* is, or None if it is none."""
    try:
        error = msgspec.json.decode(body, type=_Answered).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    code = None if error is None else error.get("code")
    return code if isinstance(code, int) else None


def _answer(
    request: httpx2.Request, status: int, request_id: object, message: str, headers: httpx2.Headers | None = None
) -> httpx2.Response:
    """An error that the session can read."""
    told = {"jsonrpc": "2.0", "id": request_id, "error": {"code": _INTERNAL, "message": message}}
    return httpx2.Response(status, headers=_kept(headers), content=msgspec.json.encode(told), request=request)


def _copy(request: httpx2.Request, response: httpx2.Response, body: bytes) -> httpx2.Response:
    return httpx2.Response(response.status_code, headers=_kept(response.headers), content=body, request=request)


def _kept(headers: httpx2.Headers | None) -> dict[str, str]:
    kept = {} if headers is None else {name: headers[name] for name in _KEPT if name in headers}
    return {**kept, "content-type": _JSON}


def _authentication(server: HttpServer, record: LinkRecord) -> httpx2.Auth | None:
    match server.auth:
        case OAuth():
            return server.auth.authentication(server.url, record.person)
        case OAuthClientProvider():
            return Unqueued(server.auth)
        case _:
            return server.auth


@asynccontextmanager
async def open_http(server: HttpServer, record: LinkRecord) -> AsyncGenerator[Streams]:
    """A connection to *server* as long as the block lasts."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=10)
    inner = httpx2.AsyncHTTPTransport(limits=limits)
    client = httpx2.AsyncClient(
        headers=dict(server.headers),
        auth=_authentication(server, record),
        transport=_Contained(inner, httpx2.URL(server.url), record, server.max_message),
        # How long an answer may take is the call's affair: a server may think for an hour, and show progress.
        timeout=httpx2.Timeout(connect=server.connect_timeout, read=None, write=_SLOW_WRITE, pool=None),
    )
    streams = streamable_http_client(server.url, http_client=client, max_sse_event_size=server.max_message)
    async with client, streams as (read, write):
        yield read, Announced(write, record)
