"""The live view: what a watcher sees of the calls of one message while they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import trio

from armory_trio import Snapshot, Supervisor, ToolCall

from .screen import Screen

FINAL: Final = frozenset({"terminal", "unknown-effect"})
_EVERY: Final = 0.02
"""Seconds between two pictures at least; nobody reads faster, and the watcher sees every change all the same."""

_SHOWN: Final = 6
"""Pictures of one message; a view of something that changes all the time would be all that one sees."""


class LiveView:
    """Follows calls by their snapshots, and prints the picture now and then while it changes.

    Args:
        screen: Where it is printed.
        calls: The calls; they are shown as #1, #2 and so on.
    """

    def __init__(self, screen: Screen, calls: Sequence[ToolCall]) -> None:
        self._screen = screen
        self._newest: dict[str, Snapshot | None] = {call.id: None for call in calls}
        self._nested: set[str] = set()
        self._trails = {call.id: Counter[str]() for call in calls}
        self._began = 0.0
        self._shown = 0
        self._last = ""

    async def follow(
        self, supervisor: Supervisor, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Return once every call has reached a final state."""
        self._began = trio.current_time()
        async with supervisor.executions.subscribe() as updates, trio.open_nursery() as nursery:
            nursery.start_soon(self._print)
            task_status.started()
            async for snapshot in updates:
                self._take(snapshot)
                if self._over:
                    break
            nursery.cancel_scope.cancel()

    def trail(self, call_id: str) -> str:
        """The states that a call was seen in, in the order in which each was seen first.

        A watcher is given the newest snapshot; when he is slower than the work, he misses those before it.
        """
        return ", ".join(f"{state} {times}x" if times > 1 else state for state, times in self._trails[call_id].items())

    @property
    def _over(self) -> bool:
        return all(shot is not None and shot.state in FINAL for shot in self._newest.values())

    def _take(self, snapshot: Snapshot) -> None:
        if snapshot.call_id not in self._newest:  # a call made by one of ours
            change = self._nested.discard if snapshot.state in FINAL else self._nested.add
            change(snapshot.execution_id)
            return
        before = self._newest[snapshot.call_id]
        self._newest[snapshot.call_id] = snapshot
        if before is None or before.state != snapshot.state:
            self._trails[snapshot.call_id][snapshot.state] += 1

    async def _print(self) -> None:
        while self._shown < _SHOWN:
            await trio.sleep(_EVERY)
            picture = self._picture()
            if picture != self._last and any(self._newest.values()):
                self._last = picture
                self._shown += 1
                self._screen.say(f"  live {trio.current_time() - self._began:.2f} s  {picture}", style="dim")

    def _picture(self) -> str:
        shown = [f"#{number} {_state(shot)}" for number, shot in enumerate(self._newest.values(), start=1)]
        if self._nested:
            shown.append(f"{len(self._nested)} nested")
        return " | ".join(shown)


def _state(snapshot: Snapshot | None) -> str:
    if snapshot is None:
        return "not there yet"
    reason = snapshot.waits_for or snapshot.declared_wait
    if reason is not None:
        return f"{snapshot.state} for {reason}"
    return snapshot.outcome or snapshot.state if snapshot.state in FINAL else snapshot.state
