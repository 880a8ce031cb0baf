"""The store that an operator looks into: one that is there, and of this version. None is made or changed by looking."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from ..errors import ArmoryError, DefinitionError, StoreUnavailable
from ._exit import Unusable

if TYPE_CHECKING:  # sqlalchemy is not loaded before a store is known to be wanted
    from ..storage._database import Place
    from ..storage.sql import SqlStore

VARIABLE: Final = "ARMORY_TRIO_STORE"
_TIMEOUT: Final = 10.0
"""Seconds for connecting, and for each operation."""


class Undone(ArmoryError):
    """What was asked for was not done, since things are not as whoever asked took them to be. The text is one line."""


class Unsure(ArmoryError):
    """It may have been done or not. The text is one line."""


@asynccontextmanager
async def open_existing(where: str) -> AsyncGenerator[SqlStore]:
    """Open the store at *where*, unless there is none. Cancelled: as `open_store`.

    A file that is missing is not made, and tables that are missing or of an older version are left as they are: hosts
    of that version may be at work with them.

    Raises:
        Unusable: There is no store, or it can't be used.
        Unsure: The answer to an operation of the block was lost.
    """
    place = _place_of(where)
    version, newest = await trio.to_thread.run_sync(_version_at, place, abandon_on_cancel=True)
    if not version:
        raise Unusable(
            f"{place.name}: there is no store here: it has none of the tables; name the one that the host uses"
        )
    if version < newest:
        raise Unusable(
            f"{place.name}: its tables are of version {version}, and this armory_trio knows {newest}; use that of the"
            " host, which brings them up to date when it is updated"
        )
    from ..storage.sql import open_store  # noqa: PLC0415  # as said above

    try:
        async with open_store(where, timeout=_TIMEOUT) as store:
            yield store
    except StoreUnavailable as error:
        if error.maybe_done:
            raise Unsure(f"{error}; it may be done or not, and show tells") from error
        raise Unusable(str(error)) from error


def _place_of(where: str) -> Place:
    try:
        from ..storage._database import place_of  # noqa: PLC0415  # as said above

        return place_of(where)
    except ModuleNotFoundError as error:
        raise Unusable(f"a store needs {error.name}; pip install 'armory-trio[sql]'") from error
    except DefinitionError as error:
        raise Unusable(f"the store: {error.reason}") from error


def _version_at(place: Place) -> tuple[int, int]:
    """The version of the tables at *place*, 0 without any, and the newest one that is known. Blocks.

    Raises:
        Unusable: Nothing is there, or it can't be read.
    """
    from ..storage._schema import VERSION  # noqa: PLC0415  # as said above

    return (_version_of_file(place.name) if place.is_file else _version_on_server(place)), VERSION


def _version_of_file(name: str) -> int:
    """Read without a driver of ours, which would bring a file into shape that may be somebody else's."""
    import sqlite3  # noqa: PLC0415  # as said above

    from ..storage._faults import words_of  # noqa: PLC0415  # as said above

    path = Path(name)
    try:
        if not path.exists():
            raise Unusable(f"{name}: there is no such file, and none is made; name the store that the host uses")
        if not path.is_file():
            raise Unusable(f"{name}: this is no file; name the file of a store, or a postgresql:// URL")
    except OSError as error:
        raise Unusable(f"{name}: {error.strerror}") from error
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_TIMEOUT)) as connection:
            there = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'armory_store'").fetchone()
            if there != (1,):
                return 0
            found: tuple[int] | None = connection.execute("SELECT version FROM armory_store WHERE id = 1").fetchone()
            return 0 if found is None else found[0]
    except sqlite3.Error as error:
        raise Unusable(f"{name}: {words_of(error, None)}") from error


def _version_on_server(place: Place) -> int:
    from ..storage._database import Database  # noqa: PLC0415  # as said above
    from ..storage._schema import version_of  # noqa: PLC0415  # as said above

    try:
        database = Database(place, timeout=_TIMEOUT, synchronous="full")
    except DefinitionError as error:
        raise Unusable(f"the store {error.reason}") from error
    try:
        with database.engine.connect() as connection:
            return version_of(connection)
    except Exception as error:  # whatever the driver has to say
        raise Unusable(str(database.unavailable(error))) from error


def store_named(option: str | None) -> str:
    """Where the store is, by the option or else the environment.

    Raises:
        Unusable: Neither says it.
    """
    where = option or os.environ.get(VARIABLE, "")
    if not where.strip():
        raise Unusable(
            f"no store: give --store, or set {VARIABLE}, which keeps a password out of the list of processes"
        )
    return where
