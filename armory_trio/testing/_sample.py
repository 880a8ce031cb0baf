"""A toolbox of tools that do one thing each, for tests of hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import trio

from ..definitions import ToolContext, ToolFailure, tool
from ..toolbox import Toolbox


@tool(effect="read-only")
async def echo(text: str) -> str:
    """Answer what was said."""
    await trio.lowlevel.checkpoint()
    return text


@tool
async def sleep(seconds: float) -> str:
    """Sleep. What it does to the world is not declared, so cut off it may have done anything."""
    await trio.sleep(seconds)
    return "slept"


@tool(effect="read-only")
async def fail(message: str = "it did not work", after: float = 0.0) -> None:
    """Fail, with a message and after so many seconds."""
    await trio.sleep(after)
    raise ToolFailure(message)


@tool(effect="read-only")
async def count(upto: int, pause: float = 0.0) -> AsyncIterator[int]:
    """Count from 1, one chunk a number, so many seconds apart."""
    for number in range(1, upto + 1):
        await trio.sleep(pause)
        yield number


@tool
async def stubborn(seconds: float) -> str:
    """Sleep where no cancellation reaches it."""
    with trio.CancelScope(shield=True):
        await trio.sleep(seconds)
    return "slept"


@tool(effect="read-only")
async def relay(ctx: ToolContext, name: str, arguments: dict[str, object]) -> object:
    """Call another tool, and answer what it answers."""
    return (await ctx.call(name, arguments)).unwrap()


@tool(effect="read-only")
async def ask(ctx: ToolContext, question: str) -> str:
    """Ask a person, and say in one word what came of it: ``accepted``, ``declined`` or ``cancelled``."""
    return type(await ctx.elicit(question)).__name__.removeprefix("Elicit").lower()


@tool(effect_windows=True, effect={"class": "external-write", "targets": [{"kind": "service", "id": "sample"}]})
async def change(ctx: ToolContext, seconds: float = 0.0) -> str:
    """Change the world for so many seconds: cut off before, it changed nothing, cut off meanwhile, nobody knows."""
    await trio.lowlevel.checkpoint()
    async with ctx.effect("change", target="sample"):
        await trio.sleep(seconds)
    return "changed"


_SAMPLE = Toolbox([echo, sleep, fail, count, stubborn, relay, ask, change])


def sample_toolbox() -> Toolbox:
    """Tools that each do one thing a host has to cope with.

    ``echo(text)`` answers, ``sleep(seconds)`` takes time, ``fail(message, after)`` fails, ``count(upto, pause)``
    streams, ``stubborn(seconds)`` cannot be interrupted, ``relay(name, arguments)`` calls another tool,
    ``ask(question)`` asks a person, ``change(seconds)`` opens an effect window. None of them uses a thread.
    """
    return _SAMPLE
