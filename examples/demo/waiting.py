"""A tool that takes its time: it waits until a file changes, and reads that file through another tool."""

from __future__ import annotations

from typing import Annotated, Final

import trio
from msgspec import Meta

from armory_trio import ToolContext, tool

_EVERY: Final = 0.2
"""Seconds between two looks."""


@tool(effect="read-only", tags=["coding"])
async def wait_for_change(
    ctx: ToolContext,
    path: Annotated[str, "The file, relative to the root."],
    seconds: Annotated[float, Meta(gt=0, le=3600, description="How long to wait at most.")] = 60.0,
) -> str:
    """Wait until a file changes, and say whether it did."""
    before = await _contents(ctx, path)
    until = trio.current_time() + seconds
    while (left := until - trio.current_time()) > 0:
        async with ctx.waiting(f"a change of {path}"):
            await trio.sleep(min(left, _EVERY))
        if await _contents(ctx, path) != before:
            return f"{path} has changed."
    return f"{path} has not changed within {seconds:g} s."


async def _contents(ctx: ToolContext, path: str) -> object:
    # A nested call: it is subject to the same jail, deadline and abort, and shows up below this one.
    return (await ctx.call("read_file", {"path": path})).unwrap()
