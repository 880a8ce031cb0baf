"""Real asyncio programs for the tests, on each loop that we promise to work under, and tools for them to call."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextvars import ContextVar
from typing import Final, Protocol, TypeVar, cast

import pytest
import trio
import uvloop

from armory_trio import BlockingContext, Toolbox, ToolContext, tool

T = TypeVar("T")

PATIENCE: Final = 30.0
"""Seconds after which a program that should have ended is cancelled."""

CITY: Final[ContextVar[str]] = ContextVar("city", default="nowhere")


class Run(Protocol):
    """Runs an asyncio program, and sees to it that it ends."""

    def __call__(self, main: Callable[[], Coroutine[object, object, T]]) -> T: ...


def run_on_asyncio(main: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run *main* on the standard library's own loop."""

    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE):
            return await main()

    return asyncio.run(bounded())


def run_on_uvloop(main: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run *main* on uvloop."""

    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE):
            return await main()

    return uvloop.run(bounded())


on_each_loop: Final = pytest.mark.parametrize("run", [run_on_asyncio, run_on_uvloop])


def pending_futures() -> list[asyncio.Future[object]]:
    """Every future of the running loop on which somebody may still wait, but for the task that asks."""
    gc.collect()
    loop, asking = asyncio.get_running_loop(), asyncio.current_task()
    # By type alone: objects of other tests may say anything about their class.
    found = [thing for thing in gc.get_objects() if issubclass(type(thing), asyncio.Future)]
    futures = cast("list[asyncio.Future[object]]", found)
    return [each for each in futures if each is not asking and not each.done() and each.get_loop() is loop]


class Trace:
    """What tools of one test said, in order, and the moments at which an asyncio program may look."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.running = asyncio.Event()
        self.may_end = trio.Event()


def sleepers(trace: Trace) -> Toolbox:
    """Tools that run until they are stopped, and say so."""

    @tool
    async def sleep() -> str:
        """Sleep until stopped."""
        trace.said.append("began")
        trace.running.set()
        try:
            await trio.sleep_forever()
        finally:
            trace.said.append("cleaned up")

    @tool
    async def linger() -> str:
        """Clean up after a stop for as long as the test wants it."""
        trace.running.set()
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trace.may_end.wait()
            trace.said.append("lingered")

    return Toolbox([sleep, linger, *TOOLS])


@tool(effect="read-only")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    await trio.lowlevel.checkpoint()
    return a + b


@tool(effect="read-only")
async def nap(seconds: float) -> str:
    """Sleep a little on trio's clock."""
    await trio.sleep(seconds)
    return "rested"


@tool(effect="read-only")
def where() -> str:
    """Say from a worker thread what the context variable holds, and change it."""
    before = CITY.get()
    CITY.set("changed by a tool")
    return before


@tool(effect="read-only")
async def where_async() -> str:
    """Say from a task what the context variable holds, and change it."""
    before = CITY.get()
    CITY.set("changed by a tool")
    return before


@tool(effect="read-only")
async def count(upto: int, pause: float = 0.0) -> AsyncIterator[int]:
    """Count, one chunk a number."""
    for number in range(upto):
        yield number
        await trio.sleep(pause)


@tool(effect="read-only")
async def relay(ctx: ToolContext, name: str) -> object:
    """Call another tool as a child."""
    return (await ctx.call(name, {"a": 1, "b": 2})).unwrap()


@tool(effect="read-only")
def block(ctx: BlockingContext) -> str:
    """Hold a worker thread until asked to stop."""
    while not ctx.abort_requested:
        threading.Event().wait(0.005)
    return "stopped"


TOOLS: Final = (add, nap, where, where_async, count, relay, block)
TOOLBOX: Final = Toolbox(TOOLS)
