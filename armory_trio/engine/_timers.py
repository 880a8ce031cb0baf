"""One task keeps every time limit of a supervisor, in a heap."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Sequence
from typing import Final, Literal, Protocol

import trio

from ._concurrency import Alarm

Kind = Literal["timeout", "deadline", "idle", "grace", "overdue", "cleanup", "stalled"]
"""What has run out."""

RELEASE_AFTER: Final = 0.05
"""Seconds that a cancelled caller waits for the body, and after which an aborted body is shown as cleaning up.

A tool that can be interrupted is gone within one turn of the scheduler; this is long enough to say so and short
enough that nobody notices.
"""

_COMPACT_FROM: Final = 64
"""Entries of ended executions are kept until they outnumber this and the live ones; most never come to the top."""


class Timed(Protocol):
    """Whoever can be told that its time is up."""

    timers: int
    """How many entries of the heap are its own."""

    @property
    def over(self) -> bool:
        """True once nothing is due any more."""
        ...

    def due(self, kind: Kind, at: float) -> None:
        """*kind* ran out, at *at* seconds on trio's clock. Must check that it is still wanted; never raises."""
        ...


class Timers:
    """A heap of points in time, and the loop that acts on them.

    Forgetting is lazy: an entry whose owner is over is dropped when it comes to the top, or when such entries are
    the majority. The looks at bodies that were cancelled stand in a line of their own: all of them come after the same
    time, there are as many at once as there are executions, and hardly one finds anything.
    """

    __slots__ = ("_alarm", "_heap", "_looks", "_numbers", "dead")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timed, Kind]] = []
        self._numbers = itertools.count()
        self._alarm = Alarm()
        self._looks: deque[tuple[float, Sequence[Timed]]] = deque()
        self.dead: int = 0

    def __len__(self) -> int:
        return len(self._heap) + sum(len(together) for _, together in self._looks)

    def at(self, due: float, timed: Timed, kind: Kind) -> None:
        """Call ``timed.due(kind, due)`` at *due* seconds on trio's clock."""
        timed.timers += 1
        heapq.heappush(self._heap, (due, next(self._numbers), timed, kind))
        if due < self._alarm.due:
            self._alarm.move(due)

    def look(self, due: float, timed: Sequence[Timed]) -> None:
        """See at *due* who of *timed* is overdue. No look may be asked for that is due before an earlier one."""
        if not self._looks and due < self._alarm.due:
            self._alarm.move(due)
        self._looks.append((due, timed))

    def forget(self, timed: Timed) -> None:
        """Count the entries of *timed*, which is over, as dead."""
        self.dead += timed.timers
        timed.timers = 0
        if self.dead > _COMPACT_FROM and self.dead * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].over]
            heapq.heapify(self._heap)
            self.dead = 0

    def ring(self, now: float) -> None:
        """Act on everything due by *now*, and set the alarm for the next."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            due, _, timed, kind = heapq.heappop(heap)
            if timed.over:
                self.dead = max(0, self.dead - 1)
            else:
                timed.timers -= 1
                timed.due(kind, due)
            heap = self._heap  # `due` may have compacted it
        looks = self._looks
        while looks and looks[0][0] <= now:
            due, together = looks.popleft()
            for timed in together:
                if not timed.over:
                    timed.due("overdue", due)
        self._alarm.move(min(heap[0][0] if heap else math.inf, looks[0][0] if looks else math.inf))

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            await self._alarm.wait()
            now = trio.current_time()
            if self._looks and self._looks[0][0] <= now:
                await trio.lowlevel.checkpoint()  # who was cancelled gets a turn first, however many there are
            self.ring(now)
