"""What was published of each execution, kept in order: what a journal holds, and what a store of it must do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

__all__ = ("JournalEntry", "JournalStore", "Publication")


class Publication(msgspec.Struct, frozen=True):
    """One revision of one execution, as a supervisor hands it to a journal.

    Args:
        at: When it was read, in seconds since 1970, by the clock of the store.
        host: The supervisor: its host, process and prefix, as attempts in the ledger name it.
        execution_id: The execution.
        revision: Which publication of it this is.
        snapshot: The `Snapshot` as JSON: never arguments, results, credentials or authority. A time that is infinite is
            written as ``1e999``.
    """

    at: float
    host: str
    execution_id: str
    revision: int
    snapshot: str


class JournalEntry(msgspec.Struct, frozen=True):
    """One publication that is kept.

    Args:
        sequence: Its number in the journal, from 1 on, in the order in which entries were kept. Some may be left out.
        publication: What was kept.
    """

    sequence: int
    publication: Publication


class JournalStore(Protocol):
    """Keeps publications, and changes none. Supervisors of any number of hosts may append to one store.

    All of it is required. What is of a wrong type is refused with `DefinitionError`, and never taken for something else.
    `armory_trio.testing.journal_store_cases` are tests for this. What goes wrong with the storage
    itself is raised as it comes; a supervisor tries again later.
    """

    def now(self) -> float:
        """The time, in seconds since 1970. It never goes back, and is known without waiting."""
        ...

    async def append(self, publications: Sequence[Publication], /) -> None:
        """Keep all of them, in their order; when it returns, for good.

        One of the same host, execution and revision as one that is there is kept once: whoever does not know whether it
        was kept, appends it again.

        An entry is never seen by a reader before all of lower numbers are, so that one who goes on from the last number
        it has seen misses none.

        Cancelled: all were kept, or none.
        """
        ...

    async def read(
        self, *, after: int = 0, limit: int = 100, execution_id: str | None = None
    ) -> Sequence[JournalEntry]:
        """Entries in the order of their numbers; a page of them.

        Args:
            after: Only those of higher numbers, from 0 on: that of the last entry of the page before.
            limit: At most so many, from 1 on. Fewer mean that there are no more.
            execution_id: Only those of this execution.
        """
        ...

    async def forget(self, *, before: float) -> int:
        """Forget what was read before the instant, whatever it is about; how many there were.

        The instant is seconds since 1970, such as ``store.now() - 30 * 24 * 3600`` for a month ago; one in the future is
        refused with `DefinitionError`. Their numbers are not used again. Cancelled: some were forgotten.
        """
        ...
