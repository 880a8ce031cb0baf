"""A host to look at with ``armory-trio top``: agents that crawl, stream, wait in line, and now and then get stuck.

``python -m examples.live_view`` runs it until Ctrl-C; then it drains. Run ``armory-trio top`` in another terminal.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import trio

from armory_trio import (
    Limits,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    serve_until_signal,
    tool,
)
from armory_trio.observability.live import serve_live_view

CHANCE = random.Random(7)  # noqa: S311  # chance, not secrets


@tool(effect="read-only", groups=["web"])
async def crawl(pages: int, ctx: ToolContext) -> int:
    """Read some pages."""
    for page in range(1, pages + 1):
        await trio.sleep(CHANCE.uniform(0.2, 1.0))
        ctx.progress(100 * page / pages, f"page {page} of {pages}")
    return pages


@tool(effect="read-only")
async def tail(lines: int) -> AsyncIterator[str]:
    """Stream some lines."""
    for line in range(lines):
        await trio.sleep(0.1)
        yield f"line {line}"


@tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "post"}]})
async def send(to: str, ctx: ToolContext) -> str:
    """Send a letter; one in three gets lost, and nobody knows where."""
    async with ctx.waiting("the post office"):
        await trio.sleep(CHANCE.uniform(0.5, 2.0))
    if CHANCE.random() < 1 / 3:
        raise ConnectionError("the line went dead")
    return f"sent to {to}"


@tool(effect="read-only")
async def guess() -> int:
    """Guess a number, and be wrong half of the time."""
    await trio.sleep(CHANCE.uniform(0.05, 0.5))
    if CHANCE.random() < 1 / 2:
        raise ToolFailure("wrong", category="transient", code="TRANSIENT_ERROR")
    return 7


@tool(effect="read-only")
async def deaf() -> str:
    """Do not hear when asked to stop, for a while."""
    with trio.CancelScope(shield=True):
        await trio.sleep(20)
    return "pardon?"


async def agent(supervisor: Supervisor, name: str) -> None:
    """One agent, which asks for one thing after the other."""
    while not supervisor.closed:
        async with trio.open_nursery() as nursery:
            for call in (
                ToolCall("crawl", {"pages": CHANCE.randint(5, 40)}),
                ToolCall("tail", {"lines": CHANCE.randint(20, 90)}),
                ToolCall("send", {"to": "Ada"}),
                ToolCall("guess", {}),
            ):
                nursery.start_soon(one_call, supervisor, call, name)


async def one_call(supervisor: Supervisor, call: ToolCall, owner: str) -> None:
    """One call, unless the host takes no more."""
    if not supervisor.closed:
        await supervisor.execute(call, owner_id=owner)


async def work(supervisor: Supervisor, path: str) -> None:
    """Something that is stuck, and all agents."""
    print(f"look at it with: armory-trio top --socket {path}", flush=True)
    stuck = supervisor.start(ToolCall("deaf", {}), owner_id="run-0")
    await trio.sleep(0.1)
    stuck.abort("to be seen in the view")
    async with trio.open_nursery() as nursery:
        for number in range(1, 9):
            nursery.start_soon(agent, supervisor, f"run-{number}")


async def main() -> None:
    """Run until a signal comes, and drain."""
    toolbox = Toolbox([crawl, tail, send, guess, deaf])
    limits = Limits(concurrent=12, groups={"web": 4})
    async with open_supervisor(toolbox, limits=limits, drain_for=5) as supervisor:  # noqa: SIM117  # in this order
        async with serve_live_view(supervisor, name="example") as view, trio.open_nursery() as nursery:
            nursery.start_soon(work, supervisor, view.path)  # runs once signals are caught
            await serve_until_signal(supervisor, drain_for=5)
            nursery.cancel_scope.cancel("drained")


if __name__ == "__main__":
    trio.run(main)
