"""Servers over HTTP on the loopback interface, for the tests of the client."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import cast

import trio
from hypercorn.config import Config
from hypercorn.trio import serve  # pyright: ignore[reportUnknownVariableType]  # a dict in it has no types


async def start_serving(nursery: trio.Nursery, app: object, port: int = 0) -> tuple[int, trio.Event]:
    """Serve an ASGI application in a task of *nursery*; gives its port, and what stops it."""
    config = Config()
    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
    config.bind = [f"127.0.0.1:{port}"]
    config.graceful_timeout = 0.1
    config.errorlog = None
    stop = trio.Event()
    run = partial(serve, app, config, shutdown_trigger=stop.wait)  # type: ignore[arg-type]
    await nursery.start(cast("Callable[..., Awaitable[object]]", run))
    return port, stop


@asynccontextmanager
async def serving(app: object) -> AsyncGenerator[str]:
    """Serve an ASGI application as long as the block lasts; gives its address."""
    async with trio.open_nursery() as nursery:
        port, stop = await start_serving(nursery, app)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            stop.set()


Answer = Callable[[str, dict[str, str], bytes], bytes | None]
"""Answers a request (its method, headers and body) with the bytes of a response; None closes the connection."""


async def send_whole(stream: trio.SocketStream, told: bytes) -> None:
    await stream.send_all(told)


@asynccontextmanager
async def answering(
    answer: Answer, pour: Callable[[trio.SocketStream, bytes], Awaitable[None]] = send_whole
) -> AsyncGenerator[str]:
    """Serve raw HTTP, one request for each connection; gives the address of the endpoint. Errors are sent by *pour*."""

    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            data = b""
            while b"\r\n\r\n" not in data:
                piece = await stream.receive_some(65_536)
                if not piece:
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            while len(body) < int(headers.get("content-length", 0)):
                body += await stream.receive_some(65_536)
            told = answer(first.split()[0], headers, body)
            if told is not None:
                with suppress(trio.BrokenResourceError):
                    await (pour if told.startswith(b"HTTP/1.1 5") else send_whole)(stream, told)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, handle, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
        nursery.cancel_scope.cancel()


def response(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A response; underscores in the names of headers stand for hyphens."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
