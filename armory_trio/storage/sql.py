"""Durable stores: approvals, grants, attempts, a journal: in a SQLite file, or in PostgreSQL for hosts that share them."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import get_args

import attrs

from ..definitions._checks import flag, one_of, seconds, shown
from ..engine._concurrency import open_private_nursery
from ..errors import DefinitionError, StoreUnavailable
from ._approvals import SqlApprovals
from ._buckets import SqlBuckets
from ._clock import SqlClock
from ._compaction import Compaction, Compactor
from ._database import Database, Synchronous, place_of
from ._grants import SqlGrants
from ._journal import SqlJournal
from ._keep import FOR_EVER, Keep
from ._ledger import SqlLedger
from ._rows import Operation, View
from ._writer import MOST, Lane, Lanes

__all__ = (
    "Compaction",
    "Keep",
    "SqlApprovals",
    "SqlBuckets",
    "SqlGrants",
    "SqlJournal",
    "SqlLedger",
    "SqlStore",
    "open_store",
)


@attrs.frozen(eq=False)
class SqlStore:
    """A store that is open.

    Args:
        where: What it is called in errors: a path, or a server and its database, without user and password.
        approvals: What ``open_supervisor(approvals=)`` takes.
        grants: What ``open_supervisor(grants=)`` takes.
        ledger: What ``open_supervisor(ledger=)`` takes.
        journal: What ``open_supervisor(journal=)`` takes.
        buckets: What ``RateLimit(store=)`` takes.
    """

    where: str
    approvals: SqlApprovals = attrs.field(repr=False)
    grants: SqlGrants = attrs.field(repr=False)
    ledger: SqlLedger = attrs.field(repr=False)
    journal: SqlJournal = attrs.field(repr=False)
    buckets: SqlBuckets = attrs.field(repr=False)
    _compactor: Compactor = attrs.field(alias="compactor", repr=False)

    def now(self) -> float:
        """The time of the store, in seconds since 1970: one clock for all of it."""
        return self.ledger.now()

    async def compact(self) -> Compaction:
        """Give back the room that forgotten entries took. For now and then: nothing goes wrong without it.

        Others go on meanwhile: on a server they notice nothing, and writing to a file waits. So it takes at most half the
        timeout of an operation, and is stopped then, as if it had not begun; whoever has a big file to compact opens
        the store with a longer timeout.

        Cancelled: it is stopped likewise.

        Raises:
            StoreUnavailable: The database can't be used, or there is no room for a copy of the file.
        """
        return await self._compactor.run()


@asynccontextmanager
async def open_store(
    where: str | os.PathLike[str],
    *,
    group_commit: bool = True,
    synchronous: Synchronous = "full",
    timeout: float = 3.0,  # noqa: ASYNC109 - each operation's, not that of the block
    clock: Callable[[], float] | None = None,
    keep: Keep = FOR_EVER,
) -> AsyncGenerator[SqlStore]:
    """Open a store, make its tables or bring them up to date, and close it in the end.

    An operation returns when it is committed. Operations that wait at the same time share a transaction, and so a sync of
    the disk. Nothing blocks trio's thread: one thread writes, and another one reads.

    Cancelled: what has begun is finished and what has not is not begun; then the store is closed. Closing waits for
    what was queued.

    Args:
        where: The path of a SQLite file, which is made if it is missing, in a directory that is there; or the URL of a
            PostgreSQL database, ``postgresql://user:password@host/database``.
        group_commit: False: every operation is a transaction of its own.
        synchronous: ``full``: what was answered is on disk. ``normal``, on SQLite: it survives the end of the process,
            and the last moments perhaps not a power failure; on PostgreSQL: whatever the server is set to.
        timeout: Seconds that an operation may take once it has begun; likewise connecting, and waiting for a lock.
            What hangs is given up two seconds later.
        clock: The time in seconds since 1970. None: the system's for a file, the server's for PostgreSQL. Whoever
            shares a store has to share the clock.
        keep: How long attempts and the journal are kept; by default until they are told to go.

    Raises:
        DefinitionError: An argument is wrong, or a driver is not installed.
        StoreUnavailable: The store can't be opened: the message says why.
    """
    flag("store", "group_commit", group_commit)
    one_of("store", "synchronous", synchronous, get_args(Synchronous))
    limit = seconds("store", "timeout", timeout, zero=False)
    if not isinstance(keep, Keep):  # pyright: ignore[reportUnnecessaryIsInstance]  # a host need not be typed
        raise DefinitionError("store", "keep", f"must be a Keep, not {shown(keep)}")
    if clock is not None and not callable(clock):
        raise DefinitionError(
            "store", "clock", f"must be a function that answers seconds since 1970, not {shown(clock)}"
        )
    place = place_of(where)
    database = Database(place, timeout=limit, synchronous=synchronous)
    clock_of_all = SqlClock(clock or (time.time if place.is_file else None))
    async with open_private_nursery() as nursery:
        writer = Lane(nursery, database, clock_of_all, writes=True, most=MOST if group_commit else 1, keep=keep)
        reader = Lane(nursery, database, clock_of_all, writes=False, most=MOST)
        lanes = Lanes(writer, reader, clock_of_all, place.name)
        try:
            await lanes.run(Operation(_nothing, writes=False))
            yield _store(database, lanes)
            with suppress(StoreUnavailable):
                # The time that was told, so that the next one who opens it does not tell an earlier one.
                await lanes.run(Operation(_nothing, instants=(lanes.now(),)))
        finally:
            await writer.aclose()
            await reader.aclose()


def _store(database: Database, lanes: Lanes) -> SqlStore:
    return SqlStore(
        where=database.place.name,
        approvals=SqlApprovals(lanes),
        grants=SqlGrants(lanes),
        ledger=SqlLedger(lanes),
        journal=SqlJournal(lanes),
        buckets=SqlBuckets(lanes),
        compactor=Compactor(database, lanes),
    )


def _nothing(_view: View, _now: float) -> None:
    pass
