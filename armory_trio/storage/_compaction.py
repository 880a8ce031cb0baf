"""Giving back the room that what was forgotten took, while the store is in use."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, cast, final

import msgspec
import sqlalchemy as sa
import trio
from sqlalchemy import exc

from ..errors import StoreUnavailable
from ._database import Database, discard, interrupt
from ._faults import fault_of
from ._schema import STORE, TABLES
from ._writer import GRACE, Lanes

_SHARE: Final = 0.5
"""Of the timeout of an operation: who has to wait for a lock meanwhile still gets his turn in time."""

_STEPS: Final = 100
"""Steps of SQLite's machine between two looks at the time."""

_TOO_LATE: Final = ("57014", "55P03")
"""What a server says of a statement that took too long, or waited too long for a lock."""


_OURS: Final = (*TABLES, STORE)

_SIZE: Final = "SELECT " + " + ".join(f"pg_total_relation_size('{table.name}')" for table in _OURS)


class Compaction(msgspec.Struct, frozen=True):
    """What a compaction came to.

    Args:
        before: Bytes that the store took: its files, or its tables with their indices; None if somebody was in the way of
            asking.
        after: Bytes that it takes now, likewise.
        whole: False if it was stopped because it took too long, or somebody was in the way. What it had done stands, and
            nothing is lost either way.
    """

    before: int | None
    after: int | None
    whole: bool


@final
class Compactor:
    """Compacts one database, with a connection of its own.

    Args:
        database: The database.
        lanes: The ways of all others to it.
    """

    def __init__(self, database: Database, lanes: Lanes) -> None:
        self._database = database
        self._lanes = lanes
        self._limiter = trio.CapacityLimiter(1)

    async def run(self) -> Compaction:
        """See `SqlStore.compact`."""
        self._lanes.require_open()
        limit = self._database.timeout * _SHARE
        async with self._limiter:
            job = _Job(self._database, time.monotonic() + limit)
            try:
                with trio.move_on_after(limit + GRACE):
                    return await trio.to_thread.run_sync(job.run, abandon_on_cancel=True)
            finally:
                job.stop()
        raise StoreUnavailable(self._database.place.name, "no answer within the timeout", maybe_done=True)


@final
class _Job:
    """What happens in the thread."""

    def __init__(self, database: Database, deadline: float) -> None:
        self._database = database
        self._deadline = deadline
        self._connection: sa.Connection | None = None
        self._stopped = False

    def run(self) -> Compaction:
        """Compact, until the deadline."""
        try:
            self._connection = opened = self._database.connect(writes=False)
            if self._database.place.is_file:
                return self._file(cast("sqlite3.Connection", opened.connection.driver_connection))
            return self._tables(opened)
        except (exc.SQLAlchemyError, sqlite3.Error) as error:
            raise self._database.unavailable(error) from error
        finally:
            connection, self._connection = self._connection, None
            if connection is not None:
                discard(connection)

    def stop(self) -> None:
        """Let it end soon. Called from another thread."""
        self._stopped = True
        connection = self._connection
        if connection is not None:
            interrupt(connection)

    def _over(self) -> bool:
        return self._stopped or time.monotonic() > self._deadline

    # ── A file ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _file(self, handle: sqlite3.Connection) -> Compaction:
        before = self._bytes_of_files()
        handle.execute(f"PRAGMA busy_timeout = {self._milliseconds_left()}")
        handle.set_progress_handler(self._over, _STEPS)
        try:
            whole = not self._over() and _vacuum(handle)
        except sqlite3.Error as error:
            if error.sqlite_errorname != "SQLITE_INTERRUPT" and fault_of(error) != "locked":
                raise
            whole = False
        return Compaction(before, self._bytes_of_files(), whole)

    def _bytes_of_files(self) -> int:
        found = 0
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                found += Path(f"{self._database.place.name}{suffix}").stat().st_size
        return found

    def _milliseconds_left(self) -> int:
        return max(1, round(1000 * (self._deadline - time.monotonic())))

    # ── A server ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _tables(self, connection: sa.Connection) -> Compaction:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        before = self._bytes_of_tables(connection)
        done = [self._vacuumed(connection, table.name) for table in _OURS]
        return Compaction(before, self._bytes_of_tables(connection), all(done))

    def _vacuumed(self, connection: sa.Connection, table: str) -> bool:
        # A table may be so small that a server needs no time for it: that there is none left counts all the same.
        return not self._over() and self._do(connection, f"VACUUM (ANALYZE) {table}") is not None

    def _bytes_of_tables(self, connection: sa.Connection) -> int | None:
        found = self._do(connection, _SIZE)
        return None if found is None or not found.returns_rows else int(str(found.scalar() or 0))

    def _do(self, connection: sa.Connection, statement: str) -> sa.CursorResult[tuple[object, ...]] | None:
        """Execute *statement*, in the time that is left; None if that was not enough."""
        if self._stopped:
            return None
        try:
            connection.exec_driver_sql(f"SET statement_timeout = {self._milliseconds_left()}")
            return cast("sa.CursorResult[tuple[object, ...]]", connection.exec_driver_sql(statement))
        except exc.DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _TOO_LATE:
                raise
            return None


def _vacuum(handle: sqlite3.Connection) -> bool:
    """Write the file anew; whether it is as short as it can be then."""
    handle.execute("VACUUM")
    # The new one is in the journal by now: bring it over, and leave an empty journal.
    [(busy, _, _)] = handle.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return not busy
