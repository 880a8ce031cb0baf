"""A real HTTP server on loopback that keeps the bytes of every request, and answers what a test says."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal, cast

import attrs
import h11
import msgspec
import trio

__all__ = ("Answer", "Received", "Server", "open_server")

PATIENCE: Final = 20.0
"""Seconds after which a test that should have ended is cancelled."""


class Received(msgspec.Struct, frozen=True):
    """One request as it came in."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of the header *name*; values of several are put together."""
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None

    def parts(self) -> list[tuple[dict[str, str], bytes]]:
        """The parts of a body of ``multipart/form-data``: the headers and the bytes of each."""
        boundary = (self.header("content-type") or "").partition("boundary=")[2].encode()
        first, *parts, last = self.body.split(b"--" + boundary)
        assert (first, last) == (b"", b"--\r\n")
        found: list[tuple[dict[str, str], bytes]] = []
        for part in parts:
            head, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
            lines = (line.partition(": ") for line in head.decode().split("\r\n"))
            found.append(({name.lower(): value for name, _, value in lines}, data.removesuffix(b"\r\n")))
        return found


class Answer(msgspec.Struct, frozen=True):
    """What the server answers.

    Args:
        body: All of it, or pieces that are sent one after the other.
        how: ``answer`` as said; ``hang`` for ever after the request was read, or after the ``head`` of the answer;
            ``cut`` the connection after the request, or after the ``broken`` half of the answer.
    """

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes | Sequence[bytes] = b""
    how: Literal["answer", "hang", "hang-after-head", "cut", "cut-in-body"] = "answer"


JSON: Final = {"content-type": "application/json"}


def json_answer(value: object, status: int = 200) -> Answer:
    """*value* as JSON."""
    return Answer(status, JSON, msgspec.json.encode(value))


@attrs.define(eq=False)
class Server:
    """What a test asks of the server while it runs."""

    url: str
    answer: Callable[[Received], Answer]
    received: list[Received] = attrs.field(factory=list[Received])
    sent_bytes: int = 0
    arrived: trio.Event = attrs.field(factory=trio.Event)
    """Set when a request has been read whole."""

    left: trio.Event = attrs.field(factory=trio.Event)
    """Set when the other side has closed a connection on which the server hung, or still wrote."""

    @property
    def last(self) -> Received:
        """The request that came last."""
        return self.received[-1]


@asynccontextmanager
async def open_server(answer: Callable[[Received], Answer] | Answer = Answer()) -> AsyncGenerator[Server]:  # noqa: B008  # it is frozen
    """A server on a free port of loopback, until the block is left, which may take `PATIENCE` seconds."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = cast("tuple[str, int]", listeners[0].socket.getsockname())
    port = address[1]

    def always(_: Received) -> Answer:
        assert isinstance(answer, Answer)
        return answer

    server = Server(f"http://127.0.0.1:{port}", always if isinstance(answer, Answer) else answer)
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, _Handler(server).serve, listeners, name="the server of the tests")
        nursery.start_soon(_lose_patience)
        yield server
        nursery.cancel_scope.cancel()


async def _lose_patience() -> None:
    await trio.sleep(PATIENCE)
    raise trio.TooSlowError


class _Handler:
    def __init__(self, server: Server) -> None:
        self._server = server

    async def serve(self, stream: trio.SocketStream) -> None:
        try:
            async with stream:
                while await self._one(stream):
                    pass
        except (trio.BrokenResourceError, h11.RemoteProtocolError):
            self._server.left.set()

    async def _one(self, stream: trio.SocketStream) -> bool:
        connection = h11.Connection(h11.SERVER)
        received = await _read(connection, stream)
        if received is None:
            return False
        server = self._server
        server.received.append(received)
        answer = server.answer(received)
        server.arrived.set()
        if answer.how == "cut":
            return False
        if answer.how == "hang":
            return await self._hang(stream)
        pieces = [answer.body] if isinstance(answer.body, bytes) else list(answer.body)
        headers = {**answer.headers}
        if isinstance(answer.body, bytes) and answer.status not in (204, 304):
            headers.setdefault("content-length", str(len(answer.body) + (answer.how == "cut-in-body")))
        await self._send(
            stream, connection.send(h11.Response(status_code=answer.status, headers=list(headers.items())))
        )
        if answer.how == "hang-after-head":
            return await self._hang(stream)
        for piece in pieces if received.method != "HEAD" else ():
            if piece:
                await self._send(stream, connection.send(h11.Data(data=piece)))
        if answer.how == "cut-in-body":
            return False
        await self._send(stream, connection.send(h11.EndOfMessage()))
        return not any(name == "connection" for name in headers)

    async def _send(self, stream: trio.SocketStream, data: bytes | None) -> None:
        await stream.send_all(data or b"")
        self._server.sent_bytes += len(data or b"")

    async def _hang(self, stream: trio.SocketStream) -> bool:
        """Wait until the other side has gone."""
        if await stream.receive_some() == b"":
            self._server.left.set()
        return False


async def _read(connection: h11.Connection, stream: trio.SocketStream) -> Received | None:
    request: h11.Request | None = None
    body = b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await stream.receive_some())
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage) and request is not None:
            headers = tuple((name.decode(), value.decode("utf-8")) for name, value in request.headers)
            return Received(request.method.decode(), request.target.decode("ascii"), headers, body)
        else:
            return None
