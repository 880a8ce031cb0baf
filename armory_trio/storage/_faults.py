"""What goes wrong with a database, in words: what it is, and what would be right."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from typing import Final, Literal

from sqlalchemy import exc

Fault = Literal["locked", "lost", "slow", "again", "other"]
"""``lost``: the connection is gone, another one may do. ``again``: another host was in the way, and at once it is not.
``other``: it may be because of a single operation."""

_SQLITE: Final[Mapping[str, tuple[Fault, str]]] = {
    "BUSY": ("locked", "it is locked by another process, and was not unlocked within the timeout"),
    "LOCKED": ("locked", "it is locked by another connection, and was not unlocked within the timeout"),
    "READONLY": ("lost", "it can't be written: the file or its directory is read-only"),
    "NOTADB": ("lost", "the file is no SQLite database; name another path, or move that file away"),
    "CORRUPT": ("other", "the file is damaged; restore it from a backup, or move it away"),
    "CANTOPEN": ("lost", "the file can't be opened; look at the rights of it and of its directory"),
    "PERM": ("lost", "the file can't be opened; look at the rights of it and of its directory"),
    "FULL": ("other", "the disk is full"),
    "IOERR": ("lost", "the disk can't be read or written"),
    "INTERRUPT": ("slow", "no answer within the timeout"),
    "ERROR": ("other", "its tables are not those of this version"),
}
"""By the names of SQLite's result codes, without ``SQLITE_`` and what stands after the next underscore."""

_POSTGRES: Final[Mapping[str, tuple[Fault, str]]] = {
    "57014": ("slow", "no answer within the timeout"),
    "25P03": ("lost", "the server ended a transaction that stood still"),
    "25P04": ("lost", "the server ended a transaction that took too long"),
    "55P03": ("locked", "another transaction held a lock for longer than the timeout"),
    "40001": ("again", "another host changed the same rows, again and again"),
    "40P01": ("again", "another host held the same rows, again and again"),
    "42501": ("other", "the user may not do that; grant the rights on the tables that begin with armory_"),
    "25006": ("lost", "the server is read-only; name the primary one"),
    "53": ("other", "the server has run out of disk, memory or connections"),
    "57": ("lost", "the server is shutting down or starting"),
    "08": ("lost", "the connection was lost"),
    "28": ("lost", "the server refused the user or the password"),
    "3D": ("lost", "the server has no such database"),
    "42": ("other", "its tables are not those of this version"),
    "58": ("other", "the server can't read or write its files"),
    "XX": ("other", "the server says that its files are damaged"),
}
"""By SQLSTATE, or its class."""


def fault_of(error: BaseException) -> Fault:
    """What kind of trouble *error* means."""
    return _told(error)[0]


def words_of(error: BaseException, password: str | None) -> str:
    """What *error* means in one line, what the database said included.

    Args:
        error: What was raised.
        password: What must not be shown.
    """
    _, told = _told(error)
    said = " ".join(str(_origin(error)).split())
    if password:
        said = said.replace(password, "***")
    # Drivers repeat themselves for every address of a host.
    return f"{told} ({said[:300]})" if said else told


def _origin(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, exc.StatementError) and error.orig is not None else error


def _told(error: BaseException) -> tuple[Fault, str]:
    origin = _origin(error)
    name: object = getattr(origin, "sqlite_errorname", None)
    if isinstance(name, str):
        short = re.sub(r"^SQLITE_([A-Z]+).*", r"\1", name)
        return _SQLITE.get(short, ("other", "SQLite refused it"))
    if isinstance(origin, sqlite3.OperationalError):  # the driver itself, of text that is none
        return "other", "a row can't be read, as if something else had written it"
    state: object = getattr(origin, "sqlstate", None)
    if isinstance(state, str):
        known = _POSTGRES.get(state) or _POSTGRES.get(state[:2])
        return known or ("other", "the server refused it")
    if isinstance(error, exc.OperationalError | exc.InterfaceError):
        return "lost", "the server can't be reached, or the connection was lost"
    return "other", "the database can't take it"
