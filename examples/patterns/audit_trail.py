"""Audit trail: who called which tool with what, and how it ended. A middleware writes each call down.

It sees the calls that were let through. Those that were refused before are events: `ExecutionRefused`.
"""

from __future__ import annotations

import msgspec
import trio

from armory_trio import CallNext, MiddlewareCall, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from examples.patterns._clock import run


@tool(effect="read-only")
async def look_up(customer: str) -> str:
    """Look a customer up."""
    await trio.sleep(0.25)
    if customer == "nobody":
        raise LookupError("no such customer")
    return f"{customer}, since 2019"


class Entry(msgspec.Struct, frozen=True):
    """One call, as it is kept."""

    at: float
    owner: str | None
    tool: str
    arguments: dict[str, object]
    outcome: str
    seconds: float


class AuditTrail:
    """Keeps an entry for each call that ran, and can be asked for them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        """Write down how the call ends, whichever way. Cancelled: that, too."""
        at, outcome = trio.current_time(), "cancelled"
        try:
            value = await call_next()
            outcome = "success"
        except Exception as failure:
            outcome = f"{type(failure).__name__}: {failure}"
            raise
        else:
            return value
        finally:
            seconds = round(trio.current_time() - at, 3)
            self.entries.append(Entry(at, ctx.owner_id, call.tool.name, dict(call.arguments), outcome, seconds))

    def of(self, owner: str) -> list[Entry]:
        """The entries of one owner, oldest first."""
        return [entry for entry in self.entries if entry.owner == owner]

    def to_json(self) -> str:
        """All entries, one JSON object a line."""
        return "\n".join(msgspec.json.encode(entry).decode() for entry in self.entries)


async def main() -> None:
    trail = AuditTrail()
    async with open_supervisor(Toolbox([look_up], middleware=[trail])) as supervisor:
        await supervisor.execute(ToolCall("look_up", {"customer": "ada"}), owner_id="run-1")
        await supervisor.execute(ToolCall("look_up", {"customer": "nobody"}), owner_id="run-2")
        await supervisor.execute(ToolCall("look_up", {"customer": "bob"}), owner_id="run-2", timeout=0.1)
    for entry in trail.of("run-2"):
        print(f"{entry.tool} {entry.arguments} took {entry.seconds} s: {entry.outcome}")
    print(f"{len(trail.to_json().splitlines())} lines of JSON")


if __name__ == "__main__":
    run(main)
