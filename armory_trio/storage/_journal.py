"""The journal in a database."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, final

import sqlalchemy as sa

from ..journal import JournalEntry, Publication
from ._asked import check_before, check_page, check_publications
from ._documents import from_text, key_of, tag_of, to_text
from ._part import StorePart
from ._rows import Kind, Operation, Row, View
from ._schema import HEADS, JOURNAL, MOST, MOST_ROWS

_PAGE: Final = 500
"""Entries that are forgotten in one transaction."""

_HEAD: Final = "journal"


class HeadRow(Row, frozen=True):
    """Where a sequence of numbers stands. Whoever gives numbers holds its row, so that they are seen in their order."""

    last: int


class JournalRow(Row, frozen=True):
    """One entry."""

    sequence: int
    at: float
    execution: str
    document: str


HEAD_ROWS: Final = Kind(HEADS, HeadRow)
ROWS: Final = Kind(JOURNAL, JournalRow)


@final
class SqlJournal(StorePart):
    """The journal of a store. A `JournalStore`; `open_store` makes it.

    Cancelled: an operation was not begun, and has changed nothing. One that has begun returns.

    Every operation raises `StoreUnavailable` when the database can't be used.
    """

    async def append(self, publications: Sequence[Publication], /) -> None:
        """As `JournalStore.append`."""
        check_publications(publications)
        keyed = [(key_of(each.host, each.execution_id, each.revision), each) for each in publications]
        locks = ((HEAD_ROWS, _HEAD), *((ROWS, key) for key, _ in keyed))
        await self._lanes.run(Operation(partial(_append, keyed), locks))

    async def read(
        self, *, after: int = 0, limit: int = 100, execution_id: str | None = None
    ) -> Sequence[JournalEntry]:
        """As `JournalStore.read`."""
        check_page(after, limit, execution_id)
        table = JOURNAL.c
        later = sa.select(JOURNAL).where(table.sequence > min(after, MOST))
        statement = later.order_by(table.sequence).limit(min(limit, MOST_ROWS))
        if execution_id is not None:
            statement = statement.where(table.execution == tag_of(execution_id))
        return await self._lanes.run(Operation(partial(_read, statement), writes=False))

    async def forget(self, *, before: float) -> int:
        """As `JournalStore.forget`. Cancelled: some were forgotten, and the next time goes on from there."""
        instant = check_before(before, self.now())
        forgotten = 0
        old = sa.select(JOURNAL).where(JOURNAL.c.at < instant).order_by(JOURNAL.c.at).limit(_PAGE)
        while True:
            look: Operation[Sequence[str]] = Operation(
                lambda view, _now: [key for key, _ in view.scan(ROWS, old)], writes=False
            )
            keys = await self._lanes.run(look)
            locks = tuple((ROWS, key) for key in keys)
            forgotten += await self._lanes.run(Operation(partial(_forget, keys), locks))
            if len(keys) < _PAGE:
                return forgotten


def _append(keyed: Sequence[tuple[str, Publication]], view: View, _now: float) -> None:
    head = view.get(HEAD_ROWS, _HEAD)
    before = last = 0 if head is None else head.last
    for key, publication in keyed:
        if view.get(ROWS, key) is None:
            last += 1
            tag = tag_of(publication.execution_id)
            view.put(ROWS, key, JournalRow(last, publication.at, tag, to_text(publication)))
    if last != before:
        view.put(HEAD_ROWS, _HEAD, HeadRow(last))


def _read(statement: sa.Select[tuple[object, ...]], view: View, _now: float) -> tuple[JournalEntry, ...]:
    found = view.scan(ROWS, statement)
    return tuple(JournalEntry(row.sequence, from_text(row.document, Publication)) for _, row in found)


def _forget(keys: Sequence[str], view: View, _now: float) -> int:
    forgotten = 0
    for key in keys:
        if view.get(ROWS, key) is not None:  # an entry never changes, so it is as old as it was
            view.drop(ROWS, key)
            forgotten += 1
    return forgotten
