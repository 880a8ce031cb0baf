"""Messages over streamable HTTP. What happens to one request stays its own affair, and is told apart from the rest."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from typing import Final, cast

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp_types import JSONRPCError, JSONRPCResponse

from ....definitions._exceptions import Withheld
from ._faults import LOST, REFUSED, Fault
from ._messages import message_of
from ._oauth import OAuth, Unqueued
from ._record import LinkRecord
from ._servers import HttpServer
from ._streams import Announced, Streams

_UNSENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
"""What httpx raises when nothing of a request has left yet."""

_SLOW_WRITE: Final = 30.0
"""Seconds in which a piece of a request has to be taken."""

_log: Final = logging.getLogger("armory_trio.mcp")

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
            self._record.cut_off(self._request_id, Fault(message, "transient", LOST))
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
        self._let_in: set[object] = set()
        """The requests that the server may have begun to answer: it did not refuse them."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send *request*."""
        if not self.is_ours(request):
            return await self._inner.handle_async_request(request)
        request_id = _id_of(request)
        self._record.forget_fault(request_id)
        self._let_in.add(request_id)
        try:
            response = await self._inner.handle_async_request(request)
            if HTTPStatus.BAD_REQUEST <= response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
                self._let_in.discard(request_id)
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

    def is_ours(self, request: httpx2.Request) -> bool:
        """Whether *request* brings a message to the server: its failing is to end nothing else."""
        return request.method == "POST" and request.url == self._url

    def settled(self, request: httpx2.Request) -> None:
        """What comes of *request* is known."""
        self._let_in.discard(_id_of(request))

    def without_token(self, request: httpx2.Request, error: Exception) -> httpx2.Response:
        """The answer to *request* in the server's place, when what it needs to get in could not be had."""
        request_id = _id_of(request)
        _log.warning("the MCP server %r: its authorization failed: %s", self._record.name, Withheld(error, frames=True))
        message = f"the authorization for {self._record.name!r} failed ({type(error).__name__})"
        refused = Fault(message, "permission", REFUSED, None if request_id in self._let_in else False)
        self._record.fault(request_id, refused)
        return _answer(request, HTTPStatus.UNAUTHORIZED, request_id, message)

    async def _read(self, request: httpx2.Request, request_id: object, response: httpx2.Response) -> httpx2.Response:
        """A whole answer, looked at: for one that is not to its request, the SDK would wait for ever."""
        body = await _body_of(response, self._most)
        found = self._answer_in(body, request_id)
        if isinstance(found, Fault):
            self._record.fault(request_id, found)
            return _answer(request, HTTPStatus.OK, request_id, found.message, response.headers)
        headers = {name: value for name, value in response.headers.items() if name not in _OF_THE_BODY}
        return httpx2.Response(response.status_code, headers=headers, content=found, request=request)

    def _answer_in(self, body: bytes | None, request_id: object) -> bytes | Fault:
        """The answer as the session can read it, or what is wrong with it."""
        if body is not None and len(body) > self._most:
            return self._unusable(f"sent an answer of more than {self._most:,} bytes")
        message, mended = (None, None) if body is None else message_of(body)
        if body is None or not isinstance(message, JSONRPCResponse | JSONRPCError):
            return self._unusable("sent an answer that cannot be read")
        if str(message.id) != str(request_id):
            return self._unusable("answered another request than the one that it got")
        try:
            return body if mended is None else _written(message)
        except ValueError:  # it is nested deeper than the session can read
            return self._unusable("sent an answer that cannot be read")

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
        told = _error_in(await _body_of(response, self._most), status, request_id)
        code = None if told is None else told.error.code
        in_session = MCP_SESSION_ID in request.headers
        if in_session and (status == HTTPStatus.NOT_FOUND or (status, code) == (HTTPStatus.BAD_REQUEST, _NO_SESSION)):
            message = f"{self._record.name!r} no longer knows this session, and did not run the call"
            self._record.fault(request_id, Fault(message, "transient", LOST, False))
            self._record.end("it no longer knows the session")
            return _answer(request, status, request_id, message)
        if told is not None:
            headers = _kept(response.headers)
            return httpx2.Response(status, headers=headers, content=_written(told), request=request)
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


async def _body_of(response: httpx2.Response, most: int) -> bytes | None:
    """What came, and no more than one piece of it past *most* bytes; None if it is not compressed as it says."""
    body = bytearray()
    async with aclosing(response):
        try:
            async with aclosing(response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > most:
                        break
        except httpx2.DecodingError:
            return None
    return bytes(body)


def _error_in(body: bytes | None, status: int, request_id: object) -> JSONRPCError | None:
    """The error of JSON-RPC that *body* is, or None.

    One that names another of our requests is not believed where *status* leaves open what became of this one.
    """
    message = None if body is None else message_of(body)[0]
    if not isinstance(message, JSONRPCError):
        return None
    is_foreign = isinstance(message.id, int) and message.id != request_id
    return None if is_foreign and status >= HTTPStatus.INTERNAL_SERVER_ERROR else message


def _written(message: JSONRPCResponse | JSONRPCError) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _answer(
    request: httpx2.Request, status: int, request_id: object, message: str, headers: httpx2.Headers | None = None
) -> httpx2.Response:
    """An error that the session can read."""
    told = {"jsonrpc": "2.0", "id": request_id, "error": {"code": _INTERNAL, "message": message}}
    return httpx2.Response(status, headers=_kept(headers), content=msgspec.json.encode(told), request=request)


def _kept(headers: httpx2.Headers | None) -> dict[str, str]:
    kept = {} if headers is None else {name: headers[name] for name in _KEPT if name in headers}
    return {**kept, "content-type": _JSON}


class _Client(httpx2.AsyncClient):
    """Sends what the session says. Where a token can't be had, that is the affair of the one request that needed it.

    Args:
        contained: The transport.
        record: Of the link: until that is open, whatever fails is why it could not be opened.
        auth: How to get in.
        headers: Sent along.
        timeout: For each step.
    """

    def __init__(
        self,
        contained: _Contained,
        record: LinkRecord,
        *,
        auth: httpx2.Auth | None,
        headers: dict[str, str],
        timeout: httpx2.Timeout,
    ) -> None:
        super().__init__(headers=headers, auth=auth, transport=contained, timeout=timeout)
        self._contained = contained
        self._record = record

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: object = httpx2.USE_CLIENT_DEFAULT,
        follow_redirects: object = httpx2.USE_CLIENT_DEFAULT,
    ) -> httpx2.Response:
        """The response to *request*. Cancelled: its connection is closed."""
        how, onward = cast("httpx2.Auth | None", auth), cast("bool", follow_redirects)
        try:
            return await super().send(request, stream=stream, auth=how, follow_redirects=onward)
        except Exception as error:
            if self._record.opening is not None or not self._contained.is_ours(request):
                raise
            return self._contained.without_token(request, error)
        finally:
            self._contained.settled(request)


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
    client = _Client(
        _Contained(inner, httpx2.URL(server.url), record, server.max_message),
        record,
        headers=dict(server.headers),
        auth=_authentication(server, record),
        # How long an answer may take is the call's affair: a server may think for an hour, and show progress.
        timeout=httpx2.Timeout(connect=server.connect_timeout, read=None, write=_SLOW_WRITE, pool=None),
    )
    streams = streamable_http_client(server.url, http_client=client, max_sse_event_size=server.max_message)
    async with client, streams as (read, write):
        yield read, Announced(write, record)
