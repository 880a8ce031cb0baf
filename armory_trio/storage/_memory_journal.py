"""A journal of one process, which ends with it."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, final

from ..authority._clock import MemoryClock
from ..definitions._plurals import counted
from ..journal import JournalEntry, Publication
from ._asked import check_before, check_page, check_publications

_sequence: Final = attrgetter("sequence")

_Name = tuple[str, str, int]


@final
class MemoryJournal:
    """A `JournalStore` that keeps what it is given as long as the process lives. For one thread.

    Every operation is one step in which nothing is awaited: it takes no checkpoint, and can't be cancelled halfway.
    Nothing is ever dropped but by `forget`.

    Args:
        clock: The time in seconds since 1970.
    """

    __slots__ = ("_clock", "_entries", "_last", "_names")

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = MemoryClock(clock)
        self._entries: list[JournalEntry] = []
        self._names: set[_Name] = set()
        self._last = 0

    def __repr__(self) -> str:
        return f"<MemoryJournal: {counted(len(self._entries), 'entry', 'entries')}>"

    def now(self) -> float:
        """The time: that of the clock, but never before the latest time that was told."""
        return self._clock.now()

    async def append(self, publications: Sequence[Publication], /) -> None:
        """As `JournalStore.append`."""
        check_publications(publications)
        for publication in publications:
            name = _name_of(publication)
            if name not in self._names:
                self._names.add(name)
                self._last += 1
                self._entries.append(JournalEntry(self._last, publication))

    async def read(
        self, *, after: int = 0, limit: int = 100, execution_id: str | None = None
    ) -> Sequence[JournalEntry]:
        """As `JournalStore.read`."""
        check_page(after, limit, execution_id)
        first = bisect_right(self._entries, after, key=_sequence)
        if execution_id is None:
            return tuple(self._entries[first : first + limit])
        found = [entry for entry in self._entries[first:] if entry.publication.execution_id == execution_id]
        return tuple(found[:limit])

    async def forget(self, *, before: float) -> int:
        """As `JournalStore.forget`."""
        instant = check_before(before, self.now())
        kept = [entry for entry in self._entries if not entry.publication.at < instant]
        gone = len(self._entries) - len(kept)
        if gone:
            self._entries = kept
            self._names = {_name_of(entry.publication) for entry in kept}
        return gone

    def __len__(self) -> int:
        """How many entries are kept."""
        return len(self._entries)

    def __bool__(self) -> bool:
        """True, also when none is kept."""
        return True


def _name_of(publication: Publication) -> _Name:
    return publication.host, publication.execution_id, publication.revision
