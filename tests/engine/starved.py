"""A call that ends when no file can be opened any more. Run in a process of its own, where nothing was loaded before.

Give the name of a tool; it prints outcome and error code of two calls, and whether the supervisor was left in order.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager

import trio

from armory_trio import Supervisor, Toolbox, ToolCall, ToolContext, open_supervisor, tool


async def passes(call: object, ctx: ToolContext, call_next: Callable[[], Awaitable[object]]) -> object:
    """A middleware that does nothing."""
    return await call_next()


@tool(effect="read-only")
async def fails() -> None:
    """Ends with an exception."""
    raise OSError(24, "Too many open files")


@tool(effect="read-only")
async def answers_anything() -> object:
    """Ends with what nobody can encode."""
    return object()


@tool(effect="read-only", timeout=0.05)
async def sleeps() -> None:
    """Takes too long."""
    await trio.sleep_forever()


@tool(effect="read-only")
async def streams() -> AsyncIterator[int]:
    """Fails in the midst."""
    yield 1
    raise ValueError("no more")


@tool(effect="read-only")
def in_a_thread() -> int:
    """Runs in a thread."""
    return 1


@tool(effect="read-only", digests={"output": True})
async def digested() -> int:
    """Has a digest."""
    return 1


@tool(effect="read-only", idempotency_key=lambda _arguments: "always")
async def keyed() -> int:
    """Is done once."""
    return 1


@tool(effect="read-only")
async def wrapped() -> int:
    """Has something round it."""
    return 1


@tool(requires_approval=True)
async def asks() -> int:
    """Waits for somebody."""
    return 1


@tool(effect="read-only")
async def within(ctx: ToolContext) -> object:
    """Comes to what another has to wait for."""
    return await ctx.call("asks")


TOOLS = (fails, answers_anything, sleeps, streams, in_a_thread, digested, keyed, wrapped, asks, within)


@contextmanager
def no_file_left() -> Generator[None]:
    """As long as the block lasts, each open fails."""
    taken: list[int] = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    try:
        yield
    finally:
        for each in taken:
            os.close(each)


async def end_one(supervisor: Supervisor, name: str) -> None:
    with no_file_left():
        result = await supervisor.execute(ToolCall(name=name, arguments={}))
    sys.stdout.write(f"{result.outcome} {'-' if result.error is None else result.error.code}\n")


async def main(name: str, watched: str) -> None:
    toolbox = Toolbox(TOOLS, middleware=[passes] if name == "wrapped" else [])
    async with open_supervisor(toolbox) as supervisor, trio.open_nursery() as nursery:
        if watched == "watched":
            await nursery.start(_watch, supervisor)
        with trio.fail_after(20):
            await end_one(supervisor, name)
            await end_one(supervisor, name)
        nursery.cancel_scope.cancel()
    assert supervisor.report is not None
    sys.stdout.write(f"{supervisor.report.exit_code}\n")


async def _watch(supervisor: Supervisor, *, task_status: trio.TaskStatus[None]) -> None:
    async with supervisor.events() as events:
        task_status.started()
        async for _ in events:
            pass


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    trio.run(main, sys.argv[1], sys.argv[2])
