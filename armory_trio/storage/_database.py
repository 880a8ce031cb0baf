"""The database behind a durable store: where it is, and connections to it that never wait for ever."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import time
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Literal, Protocol, cast, final

import attrs
import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import NullPool

from ..definitions._checks import shown
from ..errors import DefinitionError, StoreUnavailable
from ._faults import fault_of, words_of
from ._files import Files
from ._schema import TABLES, VERSION, migrate, version_of

Synchronous = Literal["full", "normal"]

_SCHEMES: Final = ("postgresql", "postgres", "postgresql+psycopg")
_PAUSE: Final = 0.02
"""Seconds between two attempts to switch a new file to WAL, for which SQLite itself does not wait."""

_GONE: Final = (
    "its file, or the journal beside it, was moved, deleted or replaced while it was open, so nobody would see what is "
    "written; put it back, or close every store on it and open them anew"
)


@attrs.frozen
class Place:
    """Where a database is.

    Args:
        name: What it is called in errors: without user and password.
        url: How it is reached.
        password: What must never be shown.
    """

    name: str
    url: sa.URL
    password: str | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is a file of SQLite's."""
        return self.url.drivername.startswith("sqlite")


def place_of(where: str | os.PathLike[str]) -> Place:
    """Read *where*: a path, or a URL that begins with ``postgresql://``.

    Raises:
        DefinitionError: It is neither.
    """
    try:
        text = os.fsdecode(where)
    except TypeError:
        raise DefinitionError("store", "where", f"must be a path or a URL, not {shown(where)}") from None
    scheme, separator, _ = text.partition("://")
    if separator and re.fullmatch(r"[A-Za-z][\w+.-]*", scheme):
        return _server(text, scheme)
    if not text.strip() or text.startswith((":memory:", "file:")):
        reason = f"{text!r} is no path of a file; what lives in memory only is in armory_trio.storage.memory"
        raise DefinitionError("store", "where", reason)
    path = os.path.abspath(text)  # noqa: PTH100 - like resolve(), but links are left for SQLite to follow
    return Place(path, sa.URL.create("sqlite+pysqlite", database=path))


def _server(text: str, scheme: str) -> Place:
    if scheme not in _SCHEMES:
        raise DefinitionError("store", "where", f"{scheme}:// is neither postgresql:// nor a path")
    try:
        url = sa.make_url(text).set(drivername="postgresql+psycopg")
        host = _one(url.query.get("host")) or url.host or "localhost"
        port = _one(url.query.get("port")) or url.port or 5432
    except (exc.ArgumentError, ValueError):
        raise DefinitionError("store", "where", "the URL can't be read; quote what is special in it") from None
    password = _one(url.query.get("password")) or url.password
    database = _one(url.query.get("dbname")) or url.database or ""
    return Place(f"postgresql://{host}:{port}/{database}", url, password)


def _one(value: str | tuple[str, ...] | None) -> str | None:
    return value[0] if isinstance(value, tuple) else value


class _PostgresHandle(Protocol):
    """What is used of a connection of psycopg."""

    def fileno(self) -> int: ...


@final
class Database:
    """A database that is connected to from threads.

    Args:
        place: Where it is.
        timeout: Seconds that connecting, or waiting for a lock, or a statement may take.
        synchronous: ``full``: what was committed is on disk. ``normal``: it survives the end of the process, and
            on SQLite perhaps not that of the system.

    Raises:
        DefinitionError: The driver of it is not installed.
    """

    def __init__(self, place: Place, *, timeout: float, synchronous: Synchronous) -> None:
        self.place = place
        self.timeout = timeout
        self._prepared = False
        self._file = Files({})
        try:
            self.engine: sa.Engine = _engine_of(place.url, timeout, synchronous)
        except ModuleNotFoundError as error:
            reason = f"needs {error.name}; pip install 'armory-trio[postgres]'"
            raise DefinitionError("store", "where", reason) from None

    def connect(self, *, writes: bool) -> sa.Connection:
        """A connection; the first one finds the tables as they should be, or makes them. Blocks.

        Raises:
            StoreUnavailable: The tables are of a later version, or not ours, or the directory is missing, or there is no file but a
                directory, or another file than the first time.
            sqlalchemy.exc.SQLAlchemyError: What else goes wrong. `unavailable` has words for it.
        """
        if self.place.is_file:
            self._require_place(self.place.name)
        connection = self.engine.connect()
        try:
            if not self._prepared:
                self._prepare(connection)
                self._file = Files.of(self.place.name) if self.place.is_file else Files({})
                self._prepared = True
        except BaseException:
            discard(connection)
            raise
        return connection.execution_options(armory_writes=writes)

    def _require_place(self, path: str) -> None:
        if not _can_be_entered(Path(path).parent):
            raise StoreUnavailable(path, "the directory does not exist, or can't be entered; make it first")
        if Path(path).is_dir():
            raise StoreUnavailable(path, f"this is a directory; name a file in it, such as {Path(path, 'store.db')}")
        if self._prepared:
            self.require_files(self._file)  # what connects makes a file where there is none

    def _prepare(self, connection: sa.Connection) -> None:
        with connection.begin():
            version = version_of(connection)
        if version < VERSION:
            with connection.execution_options(armory_writes=True).begin():
                migrate(connection)
        with connection.begin():
            self.require_version(version_of(connection))
            for table in TABLES:
                connection.execute(sa.select(table).where(sa.false()))

    def files(self) -> Files:
        """The file and its journal, as a connection has them open; none on a server."""
        return Files.of(self.place.name, _journal_of(self.place.name)) if self.place.is_file else Files({})

    def require_files(self, files: Files) -> None:
        """Refuse to go on with files that are at their paths no more.

        Raises:
            StoreUnavailable: One of *files* was moved, deleted or replaced.
        """
        if not files.are_there():
            raise StoreUnavailable(self.place.name, _GONE)

    def require_version(self, version: int | None) -> None:
        """Refuse tables that are of another version than `VERSION`.

        Raises:
            StoreUnavailable: They are.
        """
        if version is not None and version > VERSION:
            reason = f"its tables are of version {version}, and this armory_trio knows {VERSION}; use a newer one"
            raise StoreUnavailable(self.place.name, reason)
        if version != VERSION:
            raise StoreUnavailable(self.place.name, "its tables were taken away or put back to another version")

    def unavailable(self, error: BaseException, *, maybe_done: bool = False) -> StoreUnavailable:
        """*error* as what callers are told."""
        return StoreUnavailable(self.place.name, words_of(error, self.place.password), maybe_done=maybe_done)


@lru_cache(maxsize=8)
def _engine_of(url: sa.URL, timeout: float, synchronous: Synchronous) -> sa.Engine:
    """What connects to *url*. It holds no connection, but statements that it has compiled: so it is kept for the next."""
    if url.drivername.startswith("sqlite"):
        arguments = {"timeout": timeout, "check_same_thread": False, "isolation_level": None}
        # Parameters hold what was asked for in confidence, and errors travel far.
        engine = sa.create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=arguments)
        event.listen(engine, "connect", partial(_set_up_file, timeout, synchronous))
        event.listen(engine, "begin", _begin)
        return engine
    engine = sa.create_engine(
        url,
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={"connect_timeout": max(2, round(timeout)), "application_name": "armory_trio"},
        isolation_level="READ COMMITTED",
        use_native_hstore=False,
    )
    event.listen(engine, "connect", partial(_set_up_session, timeout, synchronous))
    return engine


def _set_up_session(timeout: float, synchronous: Synchronous, handle: DBAPIConnection, _record: object) -> None:
    cursor = handle.cursor()
    for setting in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
        cursor.execute(f"SET {setting} = {max(1, round(timeout * 1000))}")
    if synchronous == "full":
        # Only where it is off: a server that waits for its replicas too is left as it is.
        off = "WHERE current_setting('synchronous_commit') = 'off'"
        cursor.execute(f"SELECT set_config('synchronous_commit', 'on', false) {off}")
    cursor.close()
    handle.commit()


def _set_up_file(timeout: float, synchronous: Synchronous, handle: sqlite3.Connection, _record: object) -> None:
    handle.execute(f"PRAGMA synchronous = {synchronous}")
    deadline = time.monotonic() + timeout
    while True:
        try:
            [[mode]] = handle.execute("PRAGMA journal_mode").fetchall()
            if mode != "wal":
                handle.execute("PRAGMA journal_mode = wal").fetchall()
            return
        except sqlite3.OperationalError as error:
            if fault_of(error) != "locked" or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def discard(connection: sa.Connection) -> None:
    """Close *connection*, whatever state it is in."""
    with suppress(Exception):
        connection.invalidate()
    with suppress(Exception):
        connection.close()


def interrupt(connection: sa.Connection) -> None:
    """Let what *connection* waits for in another thread end with an error."""
    with suppress(Exception):
        handle: object = connection.connection.driver_connection
        if isinstance(handle, sqlite3.Connection):
            handle.interrupt()
            return
        # The server may be what hangs, so it is not asked; the thread sees the end of the stream.
        with socket.socket(fileno=os.dup(cast("_PostgresHandle", handle).fileno())) as stream:
            stream.shutdown(socket.SHUT_RDWR)


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("armory_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _journal_of(path: str) -> str:
    """The path of the journal, which stands beside the file that a link leads to."""
    return f"{os.path.realpath(path)}-wal"


def _can_be_entered(directory: Path) -> bool:
    try:
        return directory.is_dir()
    except OSError:  # one above it can't be entered
        return False
