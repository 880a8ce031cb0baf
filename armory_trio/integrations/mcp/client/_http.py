"""Messages over streamable HTTP. What happens to one request stays its own affair, and is told apart from the rest."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from typing import Final, cast

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client

from ....definitions._exceptions import Withheld
from ._answers import answer_in, error_in, too_long, unreadable, unusable, written
from ._events import LAST_EVENT_ID, Sifted, place_of
from ._faults import LOST, REFUSED, Fault
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

_SENT: Final = "armory_trio"
"""The extension of a request of the session, wherever it is redirected to, with the id of what it asks. What an
authentication sends of its own has none."""

_KEPT: Final = ("www-authenticate", "retry-after")
"""Headers of an error that somebody reads after us."""


class _Request(msgspec.Struct):
    id: int | str | None = None
    method: str | None = None


class _Contained(httpx2.AsyncBaseTransport):
    """Sends requests, and answers in the server's place when one fails: else one failure would end all of them.

    What is not of the session, such as what goes to an authorization server, passes as it is.

    Args:
        inner: What sends them.
        record: Where to note what became of a request.
        most: Bytes of the longest answer that is read.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, record: LinkRecord, most: int) -> None:
        self._inner = inner
        self._record = record
        self._most = most
        self._let_in: set[object] = set()
        """The requests that the server may have begun to answer: it did not refuse them."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send *request*."""
        if not self.is_ours(request):
            return await self._elsewhere(request)
        request_id = _id_of(request)
        self._record.forget_fault(request_id)
        self._let_in.add(request_id)
        try:
            response = await self._inner.handle_async_request(request)
            if _is_refusal(response.status_code):
                self._let_in.discard(request_id)
            if response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
                return await self._refused(request, response)
            kind = _kind_of(response)
            if kind == _JSON and request_id is not None:
                return await self._read(request, request_id, response)
        except httpx2.TransportError as error:
            return self._broken(request, request_id, error)
        if kind == _EVENTS:
            return self._sifted(request, request_id, response)
        if response.is_success:
            what = f"answered HTTP {response.status_code} without an answer"
            self._record.fault(request_id, unusable(self._record.name, what))
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()

    @staticmethod
    def is_ours(request: httpx2.Request) -> bool:
        """Whether *request* brings a message to the server: its failing is to end nothing else."""
        return request.method == "POST" and _SENT in request.extensions

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

    async def _read(self, request: httpx2.Request, request_id: int | str, response: httpx2.Response) -> httpx2.Response:
        """A whole answer, looked at: for one that is not to its request, the SDK would wait for ever."""
        body, server = await _body_of(response, self._most), self._record.name
        if body is None:
            found: bytes | Fault = unreadable(server)
        elif len(body) > self._most:
            found = too_long(server, self._most)
        else:
            found = answer_in(body, request_id, server)
        if isinstance(found, Fault):
            self._record.fault(request_id, found)
            return _answer(request, HTTPStatus.OK, request_id, found.message, response.headers)
        return httpx2.Response(response.status_code, headers=_plain(response), content=found, request=request)

    async def _elsewhere(self, request: httpx2.Request) -> httpx2.Response:
        """What comes of a request that brings no message. A stream that goes on where it was cut off is still its own."""
        if request.method != "GET" or _SENT not in request.extensions:
            return await self._inner.handle_async_request(request)
        place, headers = place_of(request), request.headers.copy()
        if place is not None:
            del headers[LAST_EVENT_ID]
            headers = httpx2.Headers([*headers.raw, (LAST_EVENT_ID.encode(), place.in_header())])
        onward = httpx2.Request("GET", request.url, headers=headers, extensions=request.extensions)
        response = await self._inner.handle_async_request(onward)
        if not response.is_success or _kind_of(response) != _EVENTS:
            return response
        return self._sifted(request, None if place is None else place.request_id, response)

    def _sifted(
        self, request: httpx2.Request, request_id: int | str | None, response: httpx2.Response
    ) -> httpx2.Response:
        response.request = request
        headers = {**_plain(response), "content-type": _EVENTS}  # in UTF-8 by now
        sifted = Sifted(response, request_id, self._record, self._most)
        return httpx2.Response(
            response.status_code, headers=headers, stream=sifted, request=request, extensions=response.extensions
        )

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
        if response.is_redirect:
            return self._redirected(request, request_id, response)
        told = error_in(await _body_of(response, self._most), request_id, is_telling=_is_refusal(status))
        code = None if told is None else told.error.code
        in_session = MCP_SESSION_ID in request.headers
        if in_session and (status == HTTPStatus.NOT_FOUND or (status, code) == (HTTPStatus.BAD_REQUEST, _NO_SESSION)):
            message = f"{self._record.name!r} no longer knows this session, and did not run the call"
            self._record.fault(request_id, Fault(message, "transient", LOST, False))
            self._record.end("it no longer knows the session")
            return _answer(request, status, request_id, message)
        if told is not None:
            return httpx2.Response(status, headers=_kept(response.headers), content=written(told), request=request)
        fault = _fault_of(self._record.name, status)
        self._record.fault(request_id, fault)
        return _answer(request, status, request_id, fault.message, response.headers)

    def _redirected(self, request: httpx2.Request, request_id: object, response: httpx2.Response) -> httpx2.Response:
        """The server points elsewhere. The SDK goes there if that is the same server; then this here is forgotten."""
        fault = _fault_of(self._record.name, response.status_code)
        self._record.fault(request_id, fault)
        leads = response.has_redirect_location and _is_address(request.url, response.headers["location"])
        return response if leads else _answer(request, HTTPStatus.BAD_GATEWAY, request_id, fault.message)


_REPEATING: Final = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)
"""What tells a client to send the same request elsewhere. Other redirects may lead to what came of it."""


def _is_refusal(status: int) -> bool:
    """Whether *status* says that the request was not carried out."""
    return status in _REPEATING or HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR


def _is_address(base: httpx2.URL, location: str) -> bool:
    try:
        base.join(location)
    except httpx2.InvalidURL:
        return False
    return True


def _fault_of(server: str, status: int) -> Fault:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "an unknown status"
    message = f"{server!r} answered HTTP {status} ({phrase})"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Fault(message, "permission", REFUSED, False)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Fault(message, "transient", "RATE_LIMITED", False)
    if _is_refusal(status):
        return Fault(message, "internal", REFUSED, False)
    if status < HTTPStatus.BAD_REQUEST:
        return unusable(server, f"answered HTTP {status} ({phrase}), which is no answer to the call")
    return Fault(message, "transient", "TRANSIENT_ERROR", None)


def _id_of(request: httpx2.Request) -> int | str | None:
    """The id of what is asked; None for a notification, and for an answer to the server, whose ids are its own."""
    return cast("int | str | None", request.extensions.get(_SENT))


def _asked_in(request: httpx2.Request) -> int | str | None:
    """The same, found in the body: which is not there to be read again once *request* was redirected."""
    try:
        asked = msgspec.json.decode(request.content, type=_Request)
    except (msgspec.DecodeError, httpx2.RequestNotRead):
        return None
    return None if asked.method is None else asked.id


def _kind_of(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _plain(response: httpx2.Response) -> dict[str, str]:
    """The headers of *response* but those that are about its body as it was sent."""
    return {name: value for name, value in response.headers.items() if name not in _OF_THE_BODY}


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
        if _SENT not in request.extensions:
            request.extensions = {**request.extensions, _SENT: _asked_in(request)}
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
        _Contained(inner, record, server.max_message),
        record,
        headers=dict(server.headers),
        auth=_authentication(server, record),
        # How long an answer may take is the call's affair: a server may think for an hour, and show progress.
        timeout=httpx2.Timeout(connect=server.connect_timeout, read=None, write=_SLOW_WRITE, pool=None),
    )
    # Which event is too long is seen to before the session gets it, in its place in the stream.
    streams = streamable_http_client(server.url, http_client=client, max_sse_event_size=None)
    async with client, streams as (read, write):
        yield read, Announced(write, record)
