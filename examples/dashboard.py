"""A page that shows live what a host does: snapshots, streamed to any number of browsers, none of which can slow the work.

``python -m examples.dashboard`` prints where to look, and works until SIGTERM or Ctrl-C; ``--once`` ends by itself when a
first round of work is done. It answers on loopback only, since whoever sees it sees what every owner does.
"""

from __future__ import annotations

import argparse
import random
import socket
from functools import partial
from typing import Final, cast

import msgspec
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as serve_http  # pyright: ignore[reportUnknownVariableType]  # typed loosely for WSGI
from hypercorn.typing import ASGIFramework
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from armory_trio import (
    Limits,
    Snapshot,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    serve_until_signal,
    tool,
)

CHANCE: Final = random.Random(7)  # noqa: S311  # chance, not secrets
PAGE: Final = """\
<!doctype html><meta charset="utf-8"><title>armory_trio</title>
<style>body {font: 15px sans-serif; margin: 2em} td, th {padding: 2px 1em; text-align: left}</style>
<h1>What runs</h1><table><thead><tr><th>owner<th>tool<th>state<th>done<th>waits for<th>ended</thead><tbody></table>
<script>
const rows = new Map(), body = document.querySelector("tbody");
new EventSource("/events").onmessage = ({data}) => {
  const shot = JSON.parse(data);
  if (!rows.has(shot.id)) rows.set(shot.id, body.insertRow(0));
  const row = rows.get(shot.id);
  row.replaceChildren(...["owner", "tool", "state", "progress", "waits_for", "ended"].map((field) => {
    const cell = document.createElement("td");
    cell.textContent = shot[field];  // never as HTML: a tool may write what it likes
    return cell;
  }));
  for (const id of [...rows.keys()].slice(0, -40)) { rows.get(id).remove(); rows.delete(id); }
};
</script>
"""


@tool(effect="read-only", groups=["web"])
async def crawl(pages: int, ctx: ToolContext) -> int:
    """Read some pages."""
    for page in range(1, pages + 1):
        await trio.sleep(CHANCE.uniform(0.02, 0.2))
        ctx.progress(100 * page / pages, f"page {page} of {pages}")
    return pages


@tool(effect="read-only")
async def guess() -> int:
    """Guess a number, and be wrong half of the time."""
    await trio.sleep(CHANCE.uniform(0.05, 0.5))
    if CHANCE.random() < 1 / 2:
        raise ToolFailure("wrong", category="transient", code="TRANSIENT_ERROR")
    return 7


def row_of(shot: Snapshot) -> dict[str, str]:
    """What the page shows of an execution. A snapshot holds no arguments and no results, so none can be shown."""
    return {
        "id": shot.execution_id,
        "owner": shot.owner_id or "",
        "tool": shot.tool_name,
        "state": shot.state,
        "progress": shot.progress.message if shot.progress is not None and shot.progress.message else "",
        "waits_for": shot.waits_for or "",
        "ended": shot.error_code or shot.outcome or "",
    }


async def page(_request: Request) -> HTMLResponse:
    """The page."""
    return HTMLResponse(PAGE)


class Events:
    """The events behind the page, as an ASGI application, so that each subscription is owned by its own block."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Each execution's newest snapshot, whenever it has changed, until the browser goes or the host ends."""
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with trio.open_nursery() as nursery, self._supervisor.executions.subscribe() as updates:
            nursery.start_soon(_until_gone, receive, nursery.cancel_scope)
            async for shot in updates:
                event = b"data: " + msgspec.json.encode(row_of(shot)) + b"\n\n"
                await send({"type": "http.response.body", "body": event, "more_body": True})
            nursery.cancel_scope.cancel("the host has ended")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel("the browser is gone")


def make_app(supervisor: Supervisor) -> Starlette:
    """The web application. Names other than those of this machine are refused: some web page has made them up."""
    here = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return Starlette(routes=[Route("/", page), Route("/events", Events(supervisor))], middleware=[here])


async def agent(supervisor: Supervisor, owner: str, rounds: int | None) -> None:
    """One agent, which asks for one thing after the other, so many *rounds* or without an end."""
    done = 0
    while not supervisor.closed and done != rounds:
        calls = [ToolCall("crawl", {"pages": CHANCE.randint(5, 20)}), ToolCall("guess", {})]
        await supervisor.execute_batch(calls, owner_id=owner)
        done += 1


async def work(supervisor: Supervisor, url: str, rounds: int | None) -> None:
    """All agents; when they have ended, so has the host."""
    print(f"look at {url}", flush=True)
    async with trio.open_nursery() as nursery:
        for number in range(1, 6):
            nursery.start_soon(agent, supervisor, f"run-{number}", rounds)
    await supervisor.shutdown("drain")


def listen(port: int) -> socket.socket:
    """A socket on loopback. Hypercorn shields what it sends, so only the system lets go of a browser that reads nothing."""
    listening = socket.create_server(("127.0.0.1", port))
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 5_000)
    return listening


async def run(listening: socket.socket, rounds: int | None) -> int:
    """Work and show it. Answers the exit code."""
    config, ended = Config(), trio.Event()
    config.bind, config.loglevel, config.graceful_timeout = [f"fd://{listening.detach()}"], "WARNING", 1
    limits = Limits(concurrent=6, groups={"web": 3})
    async with trio.open_nursery() as outside:  # so that the pages see the end, too
        async with open_supervisor(Toolbox([crawl, guess]), limits=limits, drain_for=5) as supervisor:
            serving = partial(
                serve_http, cast("ASGIFramework", make_app(supervisor)), config, shutdown_trigger=ended.wait
            )
            [url] = await outside.start(serving)
            # It runs once signals are caught, and ends the supervisor.
            outside.start_soon(work, supervisor, url, rounds)  # noqa: ASYNC111  # and waits for that
            report = await serve_until_signal(supervisor)
        ended.set()
    print("\n".join(report.lines()), flush=True)
    return report.exit_code


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m examples.dashboard", description="Show live what a host does.")
    parser.add_argument("--port", type=int, default=0, help="where to answer on loopback (default: any free port)")
    parser.add_argument("--once", action="store_true", help="end when a first round of work is done")
    asked = parser.parse_args()
    try:
        listening = listen(asked.port)
    except (OSError, OverflowError) as error:
        parser.error(f"--port {asked.port}: {error}")
    return trio.run(run, listening, 1 if asked.once else None)


if __name__ == "__main__":
    raise SystemExit(main())
