"""Tools to compose, and a supervisor around what was composed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import cast

import trio

from armory_trio import CustomEmitted, Tool, Toolbox, ToolCall, ToolResult, open_supervisor, tool

AnyTool = Tool[..., object]


@tool(effect="read-only")
async def parse(text: str) -> int:
    """Read a number."""
    await trio.lowlevel.checkpoint()
    return int(text)


@tool(effect="read-only")
async def double(n: int) -> int:
    """Twice as much."""
    await trio.lowlevel.checkpoint()
    return n * 2


@tool(effect="read-only")
async def increment(n: int) -> int:
    """One more."""
    await trio.lowlevel.checkpoint()
    return n + 1


@tool(effect="read-only")
async def stringify(n: int, prefix: str = "Result") -> str:
    """Say it in words."""
    await trio.lowlevel.checkpoint()
    return f"{prefix}: {n}"


@tool(effect="read-only")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    await trio.lowlevel.checkpoint()
    return a + b


@tool(effect="read-only")
async def count(n: int) -> AsyncIterator[int]:
    """Count up to a number."""
    for number in range(n):
        yield number
        await trio.lowlevel.checkpoint()


@tool(effect="read-only")
async def nap(seconds: float) -> float:
    """Sleep."""
    await trio.sleep(seconds)
    return seconds


@tool
async def write(n: int) -> int:
    """Change something; nobody said what."""
    await trio.lowlevel.checkpoint()
    return n


async def run(made: AnyTool, arguments: Mapping[str, object], **options: float) -> ToolResult[object]:
    """What a supervisor answers for one call of *made*."""
    async with open_supervisor(Toolbox([made])) as supervisor:
        timeout = options.get("timeout")
        return await supervisor.execute(ToolCall(made.name, arguments), timeout=timeout)


async def run_and_listen(
    made: AnyTool, arguments: Mapping[str, object]
) -> tuple[ToolResult[object], list[CustomEmitted]]:
    """The same, with the events that the tool itself emitted."""
    heard: list[CustomEmitted] = []
    async with (
        open_supervisor(Toolbox([made])) as supervisor,
        supervisor.events(CustomEmitted, include_payloads=True) as events,
    ):
        result = await supervisor.execute(ToolCall(made.name, arguments))
        with trio.move_on_after(0):
            async for event in events:
                assert isinstance(event, CustomEmitted)
                heard.append(event)
    return result, heard


def told(event: CustomEmitted, key: str) -> object:
    """What *event* says under *key*."""
    return cast("Mapping[str, object]", event.data)[key]
