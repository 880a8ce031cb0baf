"""A local server that keeps what the official clients send, and answers each with a message that calls a tool."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import cast

Json = dict[str, object]


class Recorder:
    """What was sent, and what is to be answered."""

    def __init__(self, answer: Mapping[str, object]) -> None:
        self.sent: list[Json] = []
        self.answer = json.dumps(answer).encode()
        self.url = ""


@contextmanager
def serving(answer: Mapping[str, object]) -> Generator[Recorder]:
    """A server on loopback that answers every request with *answer*."""
    recorder = Recorder(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            recorder.sent.append(cast("Json", json.loads(self.rfile.read(length))))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(recorder.answer)))
            self.end_headers()
            self.wfile.write(recorder.answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    recorder.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield recorder
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
