"""A server on loopback that answers each request with the next scripted event stream, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, cast

Json = dict[str, object]

_PIECE: Final = 61
"""Bytes in one write: events come in pieces, as they do from afar."""


def plain_events(events: Sequence[Json]) -> bytes:
    """Events without names, as Gemini sends them."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events)


def chat_events(events: Sequence[Json]) -> bytes:
    """Events without names, and the closing word of Chat Completions."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"


def named_events(events: Sequence[Json]) -> bytes:
    """Events with the names of their types, as the Responses API and Anthropic send them."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


class Server(ThreadingHTTPServer):
    """Each request takes the next of *streams*. One that is marked as cut ends in the middle of a chunk."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.streams: list[tuple[bytes, bool]] = []
        self.bodies: list[Json] = []
        self.paths: list[str] = []

    def says(self, stream: bytes, *, is_cut: bool = False) -> None:
        self.streams.append((stream, is_cut))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = cast("Server", self.server)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.bodies.append(cast("Json", json.loads(body)))
        server.paths.append(self.path)
        stream, is_cut = server.streams.pop(0)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(stream), _PIECE):
            piece = stream[at : at + _PIECE]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if is_cut:
            self.wfile.write(b"40\r\ndata: {")
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests do."""


@contextmanager
def serving() -> Generator[Server]:
    """A server that stops with the block, with its thread."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
