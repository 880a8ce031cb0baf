"""Tools that the tests of the engine share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import trio

from armory_trio import ToolContext, tool


@tool(effect="read-only")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    await trio.lowlevel.checkpoint()
    return a + b


@tool
async def sleep(seconds: float) -> str:
    """Sleep, then say so. Its effect is not declared."""
    await trio.sleep(seconds)
    return "slept"


@tool(effect="read-only")
async def watch(seconds: float) -> str:
    """Sleep without changing anything."""
    await trio.sleep(seconds)
    return "watched"


@tool
async def stubborn(seconds: float) -> str:
    """Sleep where no cancellation reaches it."""
    with trio.CancelScope(shield=True):
        await trio.sleep(seconds)
    return "made it"


@tool
async def count(upto: int, pause: float = 0.0) -> AsyncIterator[int]:
    """Count, one chunk a number."""
    for number in range(upto):
        yield number
        await trio.sleep(pause)


@tool
async def relay(name: str, seconds: float, ctx: ToolContext) -> object:
    """Call another tool."""
    return (await ctx.call(name, {"seconds": seconds})).unwrap()
