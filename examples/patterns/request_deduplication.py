"""Request deduplication: calls that ask the same at the same time share one run.

The first one leads, the others wait for it. A leader that is cancelled hands over: nobody else is cancelled for it.
"""

from __future__ import annotations

import attrs
import trio

from armory_trio import CallNext, Middleware, MiddlewareCall, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.definitions import WrappedTool, canonical_text
from examples.patterns._clock import run


@tool(effect="read-only")
async def survey(topic: str) -> str:
    """Read everything about a topic. Takes long."""
    print(f"reading about {topic}")
    await trio.sleep(10)
    return f"40 papers about {topic}"


@attrs.define(eq=False)
class Flight:
    """One run that several calls wait for. Its end answers or raises; there is none if its leader was cancelled."""

    landed: trio.Event = attrs.field(factory=trio.Event)
    value: object = None
    failure: Exception | None = None
    ended: bool = False

    def end(self) -> object:
        """What the leader's call answered. Raises what it raised."""
        if self.failure is not None:
            raise self.failure
        return self.value


class SingleFlight:
    """Shares the runs of tools that only look."""

    def __init__(self) -> None:
        self._flights: dict[tuple[str, str], Flight] = {}

    def bind(self, tool: WrappedTool, /) -> Middleware | None:
        """Nothing for a tool that changes something: to ask for that twice means to want it twice."""
        return self._share if tool.definition.classification.read_only else None

    async def _share(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        key = str(call.tool.id), canonical_text(call.arguments, mode="exact")
        while (flight := self._flights.get(key)) is not None:
            async with ctx.waiting("another call of the same"):
                await flight.landed.wait()
            if flight.ended:
                return flight.end()
        return await self._lead(key, call_next)

    async def _lead(self, key: tuple[str, str], call_next: CallNext) -> object:
        flight = self._flights[key] = Flight()
        try:
            flight.value = await call_next()
            flight.ended = True
        except Exception as failure:
            flight.failure, flight.ended = failure, True
            raise
        finally:
            del self._flights[key]
            flight.landed.set()
        return flight.value


async def main() -> None:
    async with open_supervisor(Toolbox([survey], middleware=[SingleFlight()])) as supervisor:
        leader = supervisor.start(ToolCall("survey", {"topic": "trees"}))
        await trio.sleep(1)
        others = [supervisor.start(ToolCall("survey", {"topic": topic})) for topic in ("trees", "trees", "bees")]
        await trio.sleep(4)
        leader.abort("not needed any more")
        for execution in (leader, *others):
            result = await execution.result()
            print(f"{result.value if result.error is None else result.error.code}, after {result.duration} s")


if __name__ == "__main__":
    run(main)
