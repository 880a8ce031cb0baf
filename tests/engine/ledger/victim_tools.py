"""The tools of a victim. A worker process imports this module: it does nothing but define."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

import trio

from armory_trio import BlockingContext, Limits, Tool, ToolContext, tool
from armory_trio.definitions import EffectMapping

WORLD: Final[EffectMapping] = {"class": "external-write", "targets": [{"kind": "other", "id": "world"}]}
FEW: Final = Limits(concurrent=1)

MOMENTS: list[int] = []
"""How many moments are left until this process kills itself; empty if it does not."""


def moment() -> None:
    """One of the points between two steps at which a process may die."""
    if MOMENTS:
        MOMENTS[0] -= 1
        if not MOMENTS[0]:
            os.kill(os.getpid(), signal.SIGKILL)


def append(path: str, line: str) -> None:
    """Write *line* at once, so that several processes may, and let it be on disk."""
    with Path(path).open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())
        os.fsync(file.fileno())


def change(world: str, key: str, execution: str, what: str = "did") -> None:
    """Change the world, and let it be known who did that."""
    moment()
    append(world, f"{what} {key} {execution}")
    moment()


async def pause() -> None:
    await trio.sleep(random.random() / 50)  # noqa: S311  # no secret


def own_key(arguments: Mapping[str, object]) -> str:
    return str(arguments["key"])


@tool(effect=WORLD)
async def plain(key: str, world: str, ctx: ToolContext) -> str:
    """Change the world at some moment."""
    await pause()
    change(world, key, ctx.execution_id)
    await pause()
    return ctx.execution_id


@tool(effect=WORLD)
async def fragile(key: str, world: str, ctx: ToolContext) -> str:
    """Change the world, and fail."""
    change(world, key, ctx.execution_id)
    await pause()
    raise ValueError("the line went dead")


@tool(effect=WORLD, effect_windows=True)
async def windowed(key: str, world: str, ctx: ToolContext) -> str:
    """Change the world in a stretch that is marked."""
    await pause()
    async with ctx.effect("append"):
        change(world, key, ctx.execution_id, "entered")
        await pause()
        change(world, key, ctx.execution_id)
    await pause()
    return ctx.execution_id


def _in_a_window(key: str, world: str, ctx: BlockingContext) -> str:
    with ctx.effect("append"):
        change(world, key, ctx.execution_id, "entered")
        change(world, key, ctx.execution_id)
    return ctx.execution_id


@tool(effect=WORLD, effect_windows=True, placement="thread")
def threaded(key: str, world: str, ctx: BlockingContext) -> str:
    """Change the world in a stretch that is marked, in a thread."""
    return _in_a_window(key, world, ctx)


@tool(effect=WORLD, effect_windows=True, placement="process")
def placed(key: str, world: str, ctx: BlockingContext) -> str:
    """Change the world in a stretch that is marked, in another process."""
    return _in_a_window(key, world, ctx)


@tool(effect=WORLD, idempotency_key=own_key)
async def nested(key: str, world: str, ctx: ToolContext) -> str:
    """Change the world, called by another tool."""
    await pause()
    change(world, key, ctx.execution_id)
    return ctx.execution_id


@tool(effect=WORLD)
async def parent(key: str, world: str, ctx: ToolContext) -> dict[str, object]:
    """Call the tool that has a key, without having one."""
    await pause()
    result = await ctx.call("nested", {"key": key, "world": world})
    await pause()
    said = result.idempotency
    return {
        "outcome": "refused" if said is None else said.outcome,
        "recorded": said is not None and said.recorded,
        "effect": result.effect,
        "did": result.value if result.outcome == "success" else "",
        "code": "" if result.error is None else result.error.code,
    }


@tool(effect=WORLD)
async def streamed(key: str, world: str, ctx: ToolContext) -> AsyncIterator[str]:
    """Change the world between two chunks."""
    yield key
    await pause()
    change(world, key, ctx.execution_id)
    yield ctx.execution_id
    await pause()
    yield "end"


TOOLS: Final[tuple[Tool[..., object], ...]] = (
    plain,
    fragile,
    windowed,
    threaded,
    placed,
    nested,
    parent,
    streamed,
)
