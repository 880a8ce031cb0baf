"""State management: tools that share state, which is saved a moment after it has changed.

``writes`` names what a tool changes: calls that write the same take turns, in order, so none of them sees a half-made
change. Calls of different owners do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping

import trio

from armory_trio import Toolbox, ToolCall, ToolContext, open_supervisor, tool
from examples.patterns._clock import run


class Store:
    """Values by name, with snapshots, and a task that saves them once they have been still for a while."""

    def __init__(self, quiet: float) -> None:
        self._values: dict[str, int] = {}
        self._changed = trio.Event()
        self._quiet = quiet

    def get(self, name: str) -> int:
        """The value, 0 at first."""
        return self._values.get(name, 0)

    def set(self, name: str, value: int) -> None:
        """Keep a value."""
        self._values[name] = value
        self._changed.set()

    def snapshot(self) -> Mapping[str, int]:
        """All values, as they are now."""
        return dict(self._values)

    def restore(self, snapshot: Mapping[str, int]) -> None:
        """Go back to what they were."""
        self._values = dict(snapshot)
        self._changed.set()

    async def save_when_still(self) -> None:
        """Save after changes, but not in the middle of many. Runs until it is cancelled."""
        while True:
            await self._changed.wait()
            while self._changed.is_set():
                self._changed = trio.Event()
                await trio.sleep(self._quiet)
            print("saved", self._values)


@tool(writes=["counter"], effect={"class": "reversible", "targets": [{"kind": "resource", "id": "counter"}]})
async def increment(by: int, ctx: ToolContext) -> int:
    """Add to the counter."""
    store = ctx.context["store"]
    assert isinstance(store, Store)
    value = store.get("counter")
    await trio.sleep(0.1)  # nobody else writes meanwhile
    store.set("counter", value + by)
    return value + by


async def main() -> None:
    store = Store(quiet=1)
    toolbox = Toolbox([increment], context={"store": store})
    async with trio.open_nursery() as nursery, open_supervisor(toolbox) as supervisor:
        nursery.start_soon(store.save_when_still)
        before = store.snapshot()
        results = await supervisor.execute_batch([ToolCall("increment", {"by": by}) for by in (1, 10, 100)])
        print([result.value for result in results])
        await trio.sleep(3)
        store.restore(before)
        print("restored", store.get("counter"))
        await trio.sleep(3)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    run(main)
