"""Hosts to look at, with and without a socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import trio

from armory_trio import (
    Limits,
    Retention,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    tool,
)
from armory_trio.engine import Execution
from armory_trio.observability._socket_desk import Desk
from armory_trio.observability._socket_messages import answer_of
from armory_trio.observability.live import Frame, Query, serve_live_view

BOUND: Final = 60
"""Seconds after which a test that hangs gives up; nothing that works comes near it."""


@tool(effect="read-only", groups=["web"])
async def crawl(ctx: ToolContext, seconds: float = 1000.0) -> str:
    """Say how far it is, and take some time."""
    ctx.progress(25, "page 1")
    await trio.sleep(seconds)
    return "the result"


@tool(effect="read-only")
async def fail(seconds: float = 0.0) -> str:
    """Fail after a while."""
    await trio.sleep(seconds)
    raise ToolFailure("it did not work", category="transient", code="TRANSIENT_ERROR")


@tool
async def gamble() -> str:
    """Fail, and nobody knows what it did."""
    raise ConnectionError("the line went dead")


@tool(effect="read-only")
async def quick() -> int:
    """End at once."""
    return 1


@tool(effect="read-only", buffer=1)
async def stream(*, ends: bool = False) -> AsyncIterator[str]:
    """Yield three chunks, and stay."""
    for _ in range(3):
        yield "chunk"
    if not ends:
        await trio.sleep_forever()


@tool(effect="read-only")
async def deaf() -> None:
    """Not hear when asked to stop, for 50 seconds."""
    with trio.CancelScope(shield=True):
        await trio.sleep(50)


@tool(effect="read-only")
async def outer(ctx: ToolContext) -> None:
    """Wait for something, and call others."""
    ctx.log("info", "a secret line")
    async with ctx.waiting("the weather"):
        await ctx.call("crawl", {})


TOOLBOX: Final = Toolbox([crawl, fail, gamble, quick, stream, deaf, outer])
LIMITS: Final = Limits(concurrent=8, groups={"web": 2})


def begin(supervisor: Supervisor, name: str, owner: str | None = None, **arguments: object) -> Execution:
    """A call that runs on."""
    return supervisor.start(ToolCall(name, arguments), owner_id=owner)


Looking = Callable[[Query], Awaitable[Frame]]


@asynccontextmanager
async def desk_of(supervisor: Supervisor, *, allow_abort: bool = True) -> AsyncGenerator[tuple[Desk, Looking]]:
    """The desk of a host without a socket, and a way to look at it: for clocks that jump."""
    desk = Desk(supervisor, "host", allow_abort=allow_abort)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.run)
        with desk.viewer() as viewer:

            async def look(query: Query) -> Frame:
                answer = answer_of((await desk.frame(query, re=1, viewer=viewer)).strip())
                assert isinstance(answer, Frame)
                return answer

            yield desk, look
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def watched(
    *, limits: Limits = LIMITS, retention: Retention | None = None
) -> AsyncGenerator[tuple[Supervisor, Looking]]:
    """A host without a socket. What runs when the block is left is aborted."""
    async with open_supervisor(TOOLBOX, limits=limits, retention=retention or Retention()) as supervisor:
        async with desk_of(supervisor) as (_, look):
            yield supervisor, look
        await supervisor.shutdown("abort")


@asynccontextmanager
async def served(path: str, *, allow_abort: bool = True) -> AsyncGenerator[Supervisor]:
    """A host with a socket at *path*. What runs when the block is left is aborted."""
    with trio.fail_after(BOUND):
        async with open_supervisor(TOOLBOX, limits=LIMITS) as supervisor:
            async with serve_live_view(supervisor, path=path, name="host", allow_abort=allow_abort):
                yield supervisor
            await supervisor.shutdown("abort")
