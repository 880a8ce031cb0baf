"""Circuit breaker: a tool that keeps failing is left alone for a while, and then tried with care.

A middleware with a ``bind`` method: each tool of the toolbox gets a breaker of its own.
"""

from __future__ import annotations

from typing import Literal

import trio

from armory_trio import (
    CallNext,
    CustomEmitted,
    Middleware,
    MiddlewareCall,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    tool,
)
from armory_trio.definitions import WrappedTool
from examples.patterns._clock import run

Position = Literal["closed", "open", "half-open"]


class Breaker:
    """Stands around one tool. Closed lets calls through, open refuses them, half-open lets a few probes through."""

    def __init__(self, failures: int, reset: float, probes: int) -> None:
        self.position: Position = "closed"
        self._failures, self._reset, self._probes = failures, reset, probes
        self._failed = self._passed = self._probing = 0
        self._opened_at = 0.0

    async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        """Refuse at once, or let the call through and learn from how it ends. Cancelled: nothing is learnt."""
        self._admit(call, ctx)
        self._probing += 1
        try:
            value = await call_next()
        except Exception:
            self._failed += 1
            if self.position == "half-open" or self._failed >= self._failures:
                self._opened_at = trio.current_time()
                self._move("open", ctx)
            raise
        finally:
            self._probing -= 1
        self._failed = 0
        self._passed += 1
        if self.position == "half-open" and self._passed >= self._probes:
            self._move("closed", ctx)
        return value

    def _admit(self, call: MiddlewareCall, ctx: ToolContext) -> None:
        wait = self._opened_at + self._reset - trio.current_time()
        if self.position == "open" and wait <= 0:
            self._passed = 0
            self._move("half-open", ctx)
        if self.position == "open" or (self.position == "half-open" and self._probing >= self._probes):
            details = {"retry_after": max(wait, 1.0)}
            message = f"{call.tool.name} failed too often; it is left alone for now"
            raise ToolFailure(message, category="unavailable", code="CIRCUIT_OPEN", retryable=True, details=details)

    def _move(self, position: Position, ctx: ToolContext) -> None:
        if position != self.position:
            self.position = position
            ctx.emit("circuit", position)


class CircuitBreakers:
    """Puts a breaker around each tool."""

    def __init__(self, *, failures: int = 5, reset: float = 60, probes: int = 3) -> None:
        self._numbers = (failures, reset, probes)

    def bind(self, tool: WrappedTool, /) -> Middleware | None:
        """A new breaker for *tool*; none for one that cannot fail for outside reasons."""
        return None if "local" in tool.definition.tags else Breaker(*self._numbers)


class Exchange:
    """The service behind the tool."""

    is_down = True


@tool(effect="read-only")
async def quote(symbol: str) -> str:
    """The price of a share."""
    if Exchange.is_down:
        raise ConnectionError("no route to host")
    await trio.sleep(0.1)
    return f"{symbol} stands at 12.50"


async def announce(supervisor: Supervisor, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Print each move of a breaker."""
    async with supervisor.events(CustomEmitted, include_payloads=True) as events:
        task_status.started()
        async for event in events:
            if isinstance(event, CustomEmitted):
                print(f"{event.tool_name}: {event.name} {event.data}")


async def main() -> None:
    toolbox = Toolbox([quote], middleware=[CircuitBreakers(failures=2, reset=60, probes=1)])
    async with open_supervisor(toolbox) as supervisor, trio.open_nursery() as nursery:
        await nursery.start(announce, supervisor)
        for is_down, pause in ((True, 1), (True, 1), (True, 60), (True, 60), (False, 1), (False, 1)):
            Exchange.is_down = is_down
            result = await supervisor.execute(ToolCall("quote", {"symbol": "ACME"}))
            await trio.sleep(pause)
            print(result.value if result.error is None else result.error.code)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    run(main)
