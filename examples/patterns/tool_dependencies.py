"""Tool dependencies: a tool that needs others to have succeeded before, in the same run.

The prerequisites stand in the tool's metadata. One middleware refuses a call that comes too early and says what is
missing; another one does what is missing first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import cast

import trio

from armory_trio import CallNext, MiddlewareCall, Toolbox, ToolCall, ToolContext, ToolFailure, open_supervisor, tool
from armory_trio.definitions import WrappedTool
from examples.patterns._clock import run


@tool(effect="read-only")
async def fetch_sources() -> str:
    """Fetch the sources."""
    await trio.sleep(1)
    return "fetched"


@tool(effect="read-only", metadata={"after": ["fetch_sources"]})
async def compile_sources() -> str:
    """Compile what was fetched."""
    await trio.sleep(1)
    return "compiled"


@tool(effect="read-only", metadata={"after": ["compile_sources"]})
async def run_tests() -> str:
    """Test what was compiled."""
    await trio.sleep(1)
    return "tested"


class Done:
    """What has succeeded in each run; a run is an owner."""

    def __init__(self) -> None:
        self._done: defaultdict[str | None, set[str]] = defaultdict(set)

    def missing(self, tool: WrappedTool, ctx: ToolContext) -> list[str]:
        """The prerequisites of *tool* that have not succeeded yet."""
        needed = cast("Sequence[str]", tool.definition.metadata.get("after", ()))
        return [name for name in needed if name not in self._done[ctx.owner_id]]

    async def note(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        """Remember that the tool has succeeded. Cancelled: it has not."""
        value = await call_next()
        self._done[ctx.owner_id].add(call.tool.name)
        return value

    async def refuse_too_early(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        """Say what has to be called before. Cancelled: the tool is."""
        missing = self.missing(call.tool, ctx)
        if missing:
            raise ToolFailure(f"call {', '.join(missing)} first", category="conflict", code="TOO_EARLY", effect="none")
        return await call_next()

    async def do_what_is_missing(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        """Call the prerequisites, and theirs, before the tool itself. Cancelled: whichever runs is."""
        for name in self.missing(call.tool, ctx):
            (await ctx.call(name)).unwrap()
        return await call_next()


async def main() -> None:
    tools, done = (fetch_sources, compile_sources, run_tests), Done()
    async with open_supervisor(Toolbox(tools, middleware=[done.refuse_too_early, done.note])) as supervisor:
        for name in ("run_tests", "fetch_sources", "compile_sources", "run_tests"):
            result = await supervisor.execute(ToolCall(name), owner_id="run-1")
            print(f"{name}: {result.value if result.error is None else result.error.message}")
    async with open_supervisor(Toolbox(tools, middleware=[done.do_what_is_missing, done.note])) as supervisor:
        result = await supervisor.execute(ToolCall("run_tests"), owner_id="run-2")
        shots = supervisor.executions.inspect()
        print(f"run_tests alone: {result.value}, after {[shot.tool_name for shot in shots if shot.parent_id]}")


if __name__ == "__main__":
    run(main)
