"""Sending one request: to its own server only, with what happened to it on the way."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

import httpx2
import msgspec

from ._requests import Prepared
from ._responses import Reply, reply_of
from ._security import Granted
from ._statuses import Happened, happened_by

if TYPE_CHECKING:
    import ssl

__all__ = ("Progress", "Sender", "conflicts_of")

_REDIRECTS: Final = 5
_ENCODINGS: Final = b"gzip, deflate"
"""What can be decompressed piece by piece, so that a small response can't fill the memory."""

_NOT_SENT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.ProxyError,
    httpx2.LocalProtocolError,
    httpx2.InvalidURL,
)
"""What is raised before any byte of a request can have left."""


class Progress:
    """How far a request has come. Nobody needs to guess whether the server can have seen it."""

    def __init__(self) -> None:
        self.began = False
        """Somebody tells what happens to it: the usual transport does, one that is made for tests need not."""

        self.sent = False
        """Its first bytes were handed to the network."""

        self.status: int | None = None
        """What the server answered, as soon as that is known."""

    async def trace(self, event: str, _: object) -> None:
        """What the transport tells. Never waits."""
        self.began = True
        if "send_request" in event:
            self.sent = True

    def happened(self, error: BaseException) -> Happened:
        """What has become of the change that a request asked for which ended with *error*."""
        if self.status is not None:
            return happened_by(self.status)
        return "nothing" if (self.began and not self.sent) or isinstance(error, _NOT_SENT) else "unknown"


class _QuietURL(httpx2.URL):
    """A URL whose query is not shown: HTTP clients write URLs into logs, and a query may hold a key."""

    def __str__(self) -> str:
        return super().__str__().partition("?")[0]


class Sender(msgspec.Struct, frozen=True, eq=False):
    """Sends requests to one server.

    Args:
        origin: Scheme, host and port.
        client: The host's client; None opens one for each request.
        as_client: The client's own credentials are used, and none of ours.
        most: Bytes of a response that are read.
        redirects: Whether a redirect to the same server is followed where that only looks.
    """

    origin: str
    client: httpx2.AsyncClient | None
    as_client: bool
    most: int
    redirects: bool

    @property
    def is_closed(self) -> bool:
        """Whether the host has closed its client."""
        return self.client is not None and self.client.is_closed

    async def send(self, prepared: Prepared, granted: Granted, progress: Progress, *, looking: bool) -> Reply:
        """The response to one request.

        Cancelled: the connection is closed at once; *progress* says whether the request had left.

        Raises:
            httpx2.HTTPError: It could not be sent, or nothing that makes sense came back.
            Unreadable: What came back can't be decompressed.
        """
        request = self._request(prepared, granted, progress)
        progress.began = self.client is None or _tells(self.client, request.url)
        async with self._opened() as client:
            left = _REDIRECTS if looking and self.redirects else 0
            while True:
                response = await self._once(client, request)
                progress.status = response.status_code
                reply = await reply_of(response, self.most, granted.secrets)
                onward = self._onward(request, response) if left else None
                if onward is None:
                    return reply
                request, left = onward, left - 1

    async def _once(self, client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
        auth = httpx2.USE_CLIENT_DEFAULT if self.as_client else None
        return await client.send(request, stream=True, auth=auth, follow_redirects=False)

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[httpx2.AsyncClient]:
        if self.client is not None:
            yield self.client
            return
        async with httpx2.AsyncClient(verify=_trusted(), timeout=None) as client:  # the tool's own timeout counts
            yield client

    def _request(self, prepared: Prepared, granted: Granted, progress: Progress) -> httpx2.Request:
        query = "&".join(f"{name}={value}" for name, value in (*prepared.query, *granted.query))
        cookies = "; ".join(f"{name}={value}" for name, value in (*prepared.cookies, *granted.cookies))
        headers: list[tuple[str, bytes]] = [*prepared.headers, ("Accept-Encoding", _ENCODINGS), *granted.headers]
        headers += [("Cookie", cookies.encode("ascii"))] if cookies else []
        return self._made(
            prepared.method, f"{prepared.path}{'?' * bool(query)}{query}", headers, prepared.body, progress
        )

    def _made(
        self,
        method: str,
        target: str,
        headers: list[tuple[str, bytes]],
        body: bytes | None,
        progress: Progress,
    ) -> httpx2.Request:
        own = {name.lower() for name, _ in headers}
        usual = self.client.headers.raw if self.client is not None else [(b"User-Agent", b"armory-trio")]
        merged = [(name, value) for name, value in usual if name.decode("latin-1").lower() not in own]
        merged += [(name.encode("latin-1"), value) for name, value in headers]
        url = _QuietURL(self.origin + target)
        request = httpx2.Request(method, url, headers=merged, content=body, extensions={"trace": progress.trace})
        request.url = url  # the request has made a plain one of it
        return request

    def _onward(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
        """The request to where *response* sends us, if that is the same server."""
        location = response.headers.get("location")
        if response.status_code not in (301, 302, 303, 307, 308) or location is None:
            return None
        try:
            url = httpx2.URL(self.origin + request.url.raw_path.decode("ascii")).join(location)
        except (httpx2.InvalidURL, ValueError):
            return None
        if f"{url.scheme}://{url.netloc.decode('ascii')}" != self.origin or request.method not in ("GET", "HEAD"):
            return None
        quiet = _QuietURL(url)
        onward = httpx2.Request(request.method, quiet, headers=request.headers.raw, extensions=request.extensions)
        onward.url = quiet
        return onward


def _tells(client: httpx2.AsyncClient, url: httpx2.URL) -> bool:
    """Whether what *client* sends to *url* goes by the usual transport, which tells of each step to the network.

    A request that waits for a free connection has come to none yet. Clients have no public word for this; where there
    is none at all, only what is told counts.
    """
    find: object = getattr(client, "_transport_for_url", None)
    return callable(find) and type(find(url)) is httpx2.AsyncHTTPTransport


def conflicts_of(prepared: Prepared, granted: Granted) -> str | None:
    """The name of a query parameter or cookie that an argument and a credential both claim."""
    for ours, theirs in ((prepared.query, granted.query), (prepared.cookies, granted.cookies)):
        taken = {name for name, _ in theirs}
        for name, _ in ours:
            if name in taken:
                return name
    return None


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that are trusted; reading them takes longer than a request, so once for all."""
    return httpx2.create_ssl_context()
