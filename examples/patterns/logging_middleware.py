"""Logging middleware: what goes in at the level debug, how long it took at info, what went wrong at error.

The lines are events of the supervisor, so a reader that is slow or absent never holds a tool up.
"""

from __future__ import annotations

from collections import deque

import trio
import trio.testing

from armory_trio import (
    CallNext,
    LogWritten,
    MiddlewareCall,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from examples.patterns._clock import run


@tool(effect="read-only")
async def divide(a: int, b: int) -> float:
    """Divide two numbers."""
    await trio.sleep(0.5)
    return a / b


async def log(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    """Write a line before the call and one after it. Cancelled: there is none after it."""
    began = trio.current_time()
    ctx.log("debug", f"{call.tool.name} begins", {"arguments": dict(call.arguments)})
    try:
        value = await call_next()
    except Exception as failure:
        ctx.log("error", f"{call.tool.name} failed: {failure}")
        raise
    ctx.log("info", f"{call.tool.name} took {trio.current_time() - began} s")
    return value


class LogBook:
    """The last lines, to be asked for."""

    def __init__(self, length: int) -> None:
        self._lines: deque[LogWritten] = deque(maxlen=length)

    async def keep(self, supervisor: Supervisor, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read lines for as long as nobody cancels this."""
        async with supervisor.events(LogWritten, include_payloads=True) as events:
            task_status.started()
            async for event in events:
                if isinstance(event, LogWritten):
                    self._lines.append(event)

    def lines(self, *, level: str | None = None) -> list[str]:
        """The lines of one level, or all of them."""
        return [f"{line.level}: {line.message}" for line in self._lines if level in (None, line.level)]


async def main() -> None:
    book = LogBook(length=100)
    async with open_supervisor(Toolbox([divide], middleware=[log])) as supervisor, trio.open_nursery() as nursery:
        await nursery.start(book.keep, supervisor)
        for b in (4, 0):
            await supervisor.execute(ToolCall("divide", {"a": 1, "b": b}))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    for line in book.lines():
        print(line)
    print(f"{len(book.lines(level='error'))} error")


if __name__ == "__main__":
    run(main)
