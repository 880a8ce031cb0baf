"""A web service on asyncio whose tools run on trio: FastAPI opens the host, requests are calls, and SIGTERM drains.

``python -m examples.web_service`` serves on loopback until SIGTERM or Ctrl-C; ``--once`` visits itself and ends. The
application stands alone, too: ``uvicorn --timeout-graceful-shutdown 25 examples.web_service:app``. There a client that reads
nothing holds up the end for as long as that says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import socket
import urllib.request
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Final, cast

import trio
import uvicorn
from fastapi import Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import Send

from armory_trio import AdmissionClosed, Limits, RequestContext, Snapshot, Toolbox, ToolCall, tool
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host

# ── The tools, which are trio code ───────────────────────────────────────────────────────────────────────────────────


@tool(effect="read-only", timeout=10)
async def look_up(customer: str) -> str:
    """The name of a customer."""
    await trio.sleep(0.1)  # a directory
    return {"A-1": "Ann", "B-2": "Ben"}.get(customer, "nobody")


@tool(effect="read-only")
async def read_log(lines: int, width: int = 0) -> AsyncGenerator[str]:
    """The last lines of the log, one after the other, filled up to so many characters."""
    for number in range(lines):
        await trio.sleep(0.05)
        yield f"line {number}".ljust(width)


TOOLBOX: Final = Toolbox([look_up, read_log])

# ── The service, which is asyncio code ───────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """One host for the life of the service. Leaving the block drains: what was begun ends, at most 20 s later."""
    async with open_asyncio_host(TOOLBOX, limits=Limits(concurrent=20, per_owner=4), drain_for=20) as host:
        app.state.host = host
        yield
    print("\n".join(host.report.lines() if host.report is not None else ()), flush=True)


app = FastAPI(lifespan=lifespan)


def host_of(request: Request) -> AsyncioHost:
    """The host that the service has opened."""
    return cast("AsyncioHost", request.app.state.host)


def context_of(x_user: Annotated[str, Header()]) -> RequestContext:
    """On whose behalf a request is. Here it says so itself; in a real service it is whoever was authenticated."""
    return RequestContext(principal=x_user, owner=x_user)


Host = Annotated[AsyncioHost, Depends(host_of)]
Context = Annotated[RequestContext, Depends(context_of)]


@app.post("/calls/{name}")
async def call(name: str, arguments: dict[str, object], host: Host, context: Context) -> dict[str, str | None]:
    """Run a tool. A bad call is an answer, too: the model reads its text."""
    result = await host.execute(ToolCall(name, arguments), request_context=context)
    code = result.error.code if result.error is not None else None
    return {"outcome": result.outcome, "effect": result.effect, "code": code, "text": result.text}


class ChunkResponse(StreamingResponse):
    """Sends the chunks of a call as server-sent events, and owns the call: a client that goes away stops the tool.

    A generator as the body would not do, since nobody promises to close it.
    """

    def __init__(self, host: AsyncioHost, call: ToolCall, context: RequestContext) -> None:
        super().__init__((), media_type="text/event-stream")
        self._host, self._call, self._context = host, call, context

    async def stream_response(self, send: Send) -> None:
        """One event for each chunk, and one that says how it ended."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with self._host.stream(self._call, request_context=self._context) as chunks:
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": event("chunk", chunk), "more_body": True})
        await send({"type": "http.response.body", "body": event("end", chunks.result.outcome)})


def event(kind: str, data: object) -> bytes:
    """A server-sent event."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


@app.post("/streams/{name}", response_class=ChunkResponse)
async def stream(name: str, arguments: dict[str, object], host: Host, context: Context) -> ChunkResponse:
    """Run a tool and send its chunks as they come."""
    return ChunkResponse(host, ToolCall(name, arguments), context)


@app.get("/executions")
async def executions(host: Host, context: Context) -> list[dict[str, str | None]]:
    """What runs, and ran lately, for whoever asks."""
    return [row_of(shot) for shot in host.executions.inspect(owner_id=context.owner)]


@app.delete("/executions")
async def stop(host: Host, context: Context) -> dict[str, str]:
    """Stop whatever runs for whoever asks."""
    return dict(host.abort("its user asked for that", owner_id=context.owner))


@app.get("/ready")
async def ready(host: Host) -> JSONResponse:
    """Whether new work is taken, for a load balancer."""
    return JSONResponse({"active": host.active}, status_code=503 if host.closed else 200)


@app.exception_handler(AdmissionClosed)
async def closed(_request: Request, error: Exception) -> JSONResponse:
    """The service is ending: somebody else has to do it."""
    return JSONResponse({"detail": str(error)}, status_code=503)


def row_of(shot: Snapshot) -> dict[str, str | None]:
    """What is shown of an execution: no arguments and no results, which a snapshot does not hold."""
    return {"id": shot.execution_id, "tool": shot.tool_name, "state": shot.state, "outcome": shot.outcome}


# ── Serve it ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def visits(url: str) -> Iterator[str]:
    """What a visitor asks, and reads."""
    for path, arguments in (
        ("/calls/look_up", {"customer": "A-1"}),
        ("/calls/look_up", {"customer": 7}),
        ("/streams/read_log", {"lines": 3}),
        ("/executions", None),
    ):
        yield f"{path} {'' if arguments is None else json.dumps(arguments)}\n{ask(url + path, arguments)}"


def ask(url: str, arguments: Mapping[str, object] | None) -> str:
    """One request, for the user Ann."""
    sent = None if arguments is None else json.dumps(arguments).encode()
    headers = {"X-User": "ann", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, sent, headers), timeout=30) as answer:  # noqa: S310  # our own
        return "\n".join(f"  {line}" for line in answer.read().decode().splitlines() if line)


class Server(uvicorn.Server):
    """Drains the host from the signal on, and not only when the last answer is out: so nobody who reads nothing holds it up.

    What is begun has 20 s. A stream whose client takes nothing for 5 s is stopped before, and whatever the system still
    keeps for such a client, once all calls have ended, is let go of with its connection.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the requests, and with them the service."""
        draining = asyncio.create_task(self._drain())
        try:
            await super().shutdown(sockets)
        finally:
            draining.cancel()

    async def _drain(self) -> None:
        await cast("AsyncioHost", app.state.host).shutdown("drain")
        await asyncio.sleep(1)  # the last answers go out
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()


async def serve(server: uvicorn.Server, listening: socket.socket, *, once: bool) -> None:
    """Serve on loopback until a signal comes, or until one visitor has seen all."""
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    print(f"serving on {url}", flush=True)
    async with asyncio.TaskGroup() as group:
        if once:
            group.create_task(visit(url, server))
        await server.serve([listening])


async def visit(url: str, server: uvicorn.Server) -> None:
    """One visitor, in a thread of its own; then the service ends."""
    for visited in await asyncio.to_thread(lambda: list(visits(url))):
        print(visited)
    server.should_exit = True


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m examples.web_service", description="Tools behind a web service.")
    parser.add_argument("--port", type=int, default=0, help="where to serve on loopback (default: any free port)")
    parser.add_argument("--once", action="store_true", help="visit the service once, and end")
    asked = parser.parse_args()
    try:
        listening = socket.create_server(("127.0.0.1", asked.port))
    except (OSError, OverflowError) as error:
        parser.error(f"--port {asked.port}: {error}")
    server = Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=25))
    for number in (signal.SIGTERM, signal.SIGINT):
        # For one that comes before uvicorn catches them itself; and it raises them once more after the end.
        signal.signal(number, server.handle_exit)
    with listening:
        asyncio.run(serve(server, listening, once=asked.once))


if __name__ == "__main__":
    main()
