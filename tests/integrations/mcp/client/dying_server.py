"""A server over HTTP that kills itself in the middle of a call, after it has done what it was called for.

``python dying_server.py NOTES WAY``: writes its port, and notes each call in a file; the way is what it has sent before it dies.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

NOTES, WAY = Path(sys.argv[1]), sys.argv[2]
TOOL = {"name": "pay", "inputSchema": {"type": "object"}}
SHAKEN: dict[str, object] = {"capabilities": {"tools": {}}, "serverInfo": {"name": "dying", "version": "1"}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = cast("dict[str, object]", json.loads(self.rfile.read(int(self.headers["content-length"]))))
        params = cast("dict[str, object]", message.get("params", {}))
        match message["method"]:
            case "initialize":
                self.answer(message["id"], {**SHAKEN, "protocolVersion": params["protocolVersion"]})
            case "tools/list":
                self.answer(message["id"], {"tools": [TOOL]})
            case "tools/call":
                with NOTES.open("a") as notes:
                    notes.write("paid\n")
                self.die(message["id"])
            case _:
                self.send_response(202)
                self.send_header("content-length", "0")
                self.end_headers()

    def do_GET(self) -> None:
        self.send_error(405)

    def answer(self, request: object, result: object) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": request, "result": result}).encode()
        self.begin("application/json", len(body))
        self.wfile.write(body)

    def begin(self, kind: str, size: int) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(size))
        self.send_header("mcp-session-id", "s")
        self.end_headers()

    def die(self, request: object) -> None:
        begun = f'{{"jsonrpc":"2.0","id":{request},'
        match WAY:
            case "part of an answer":
                self.begin("application/json", 1_000)
                self.wfile.write(begun.encode())
            case "the beginning of a stream":
                self.begin("text/event-stream", 1_000)
            case "a place to come back to":
                self.begin("text/event-stream", 1_000)
                self.wfile.write(b"id: 1\nretry: 100\ndata:\n\n")
            case "part of an event":
                self.begin("text/event-stream", 1_000)
                self.wfile.write(f"id: 1\nretry: 100\ndata:\n\nid: 2\ndata: {begun}".encode())
            case _:
                pass
        self.wfile.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
