"""Fallback tools: when one fails, the next one is asked; each only once, and none after something has happened.

A tool calls the others by name with ``ctx.call``: they run as calls of their own, under the same deadline.
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from armory_trio import Tool, Toolbox, ToolCall, ToolContext, ToolFailure, ToolResult, open_supervisor, tool
from examples.patterns._clock import run


@tool(effect="read-only", timeout=2)
async def primary(query: str) -> str:
    """The good one, which is slow today."""
    await trio.sleep(30)
    return f"the best answer to {query}"


@tool(effect="read-only")
async def mirror(query: str) -> str:
    """The same from elsewhere."""
    await trio.sleep(0.5)
    if query == "moss":
        raise ConnectionError("the mirror is gone")
    return f"an answer to {query}"


@tool(effect="read-only")
async def archive(query: str) -> str:
    """What was true last year."""
    await trio.lowlevel.checkpoint()
    return f"an old answer to {query}"


def fallback(name: str, tools: Sequence[Tool[..., str]]) -> Tool[..., object]:
    """A tool that asks *tools* in turn until one answers."""

    @tool(name=name, effect="read-only")
    async def ask(query: str, ctx: ToolContext) -> object:
        """Search, wherever somebody answers."""
        failed: list[ToolResult[object]] = []
        for each in tools:
            result = await ctx.call(each, {"query": query})
            if result.outcome == "success":
                return result.value
            ctx.log("info", f"{each.name} failed")
            failed.append(result)
            if result.effect != "none":
                break  # the next one would do it once more
        codes = [result.error.code for result in failed if result.error is not None]
        raise ToolFailure(f"nobody answered: {', '.join(codes)}", category="unavailable")

    return ask


async def main() -> None:
    search = fallback("search", [primary, mirror, archive])
    hasty = fallback("hasty", [primary, mirror])
    async with open_supervisor(Toolbox([search, hasty])) as supervisor:
        for query in ("trees", "moss"):
            result = await supervisor.execute(ToolCall("search", {"query": query}))
            print(f"{result.value}, after {result.duration} s")
        result = await supervisor.execute(ToolCall("hasty", {"query": "moss"}))
        assert result.error is not None
        print(result.error.message)
        shots = supervisor.executions.inspect()
        print([shot.tool_name for shot in shots if shot.parent_id is not None])


if __name__ == "__main__":
    run(main)
