"""What to look at before a change is settled: limits that came free, and lines that may go. Pure: no trio, no I/O."""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace

from ._claims import Entry, Limit, Limits, Line


class Agenda:
    """Hands out lines to try, the one whose owner's turn it is first, until there is nothing left to look at."""

    __slots__ = ("_freed", "_woken")

    def __init__(self) -> None:
        self._freed: list[Limit] = []
        self._woken: list[Entry] = []

    def free(self, limit: Limit) -> None:
        """Look at the lines parked at *limit*, as long as it has room."""
        self._freed.append(limit)
        for line in limit.reservers:
            if line.parked_at is limit:
                self.wake(line)

    def wake(self, line: Line) -> None:
        """Look at *line*, wherever it is parked."""
        heappush(self._woken, line.entry())

    def next(self) -> Line | None:
        """The line that is to be tried next; it is parked nowhere from now on."""
        best: Entry | None = None
        source: list[Entry] = []
        for limit in self._freed:
            if limit.spare(None) > 0:
                entry = limit.first_parked()
                if entry is not None and (best is None or entry < best):
                    best, source = entry, limit.parked
        entry = self._first_woken()
        if entry is not None and (best is None or entry < best):
            best, source = entry, self._woken
        if best is None:
            return None
        heappop(source)
        return best[3]

    def _first_woken(self) -> Entry | None:
        woken = self._woken
        while woken:
            entry = woken[0]
            line = entry[3]
            if line.ticket != entry[2]:
                heappop(woken)
            elif (current := line.entry()) != entry:
                heapreplace(woken, current)
            else:
                return entry
        return None

    def close(self, limits: Limits) -> None:
        """Everything has been looked at; forget limits that nobody uses any more."""
        for limit in self._freed:
            limits.forget_idle(limit)
        self._freed.clear()
