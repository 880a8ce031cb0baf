"""Calls that are recorded, and the same writes by hand."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import trio

from armory_trio import RequestContext, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.ledger import LedgerStore, field_key
from armory_trio.storage.sql import open_store

_HER = RequestContext(principal="ann", tenant="acme")
_NUMBERS = count()
"""Every call of a run has a key of its own."""

_WRITES = 3
"""What one call writes down: that its key is claimed, that its body begins, and how it ended."""

_DOCUMENT = "x" * 700
"""As long as the document of an attempt is."""


@tool(
    effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}, idempotency_key=field_key("n")
)
async def charge(n: int) -> int:
    """Do nothing, once."""
    return n


async def seconds_of_calls(ledger: LedgerStore | None, calls: int, *, at_once: bool) -> float:
    """Seconds that *calls* take, each with a key of its own, one after another or all at once."""
    async with open_supervisor(Toolbox([charge]), ledger=ledger, default_request_context=_HER) as supervisor:
        asked = [ToolCall("charge", {"n": next(_NUMBERS)}) for _ in range(calls)]
        begin = time.perf_counter()
        if at_once:
            results = list(await supervisor.execute_batch(asked))
        else:
            results = [await supervisor.execute(call) for call in asked]
        spent = time.perf_counter() - begin
    told = {None if result.idempotency is None else result.idempotency.outcome for result in results}
    if told != {"fresh"}:
        raise RuntimeError(f"calls were not what they should be: {told}")
    return spent


def in_memory(calls: int, *, at_once: bool) -> float:
    """Seconds of calls whose keys are kept in memory."""
    return trio.run(lambda: seconds_of_calls(None, calls, at_once=at_once))


def in_store(where: str, calls: int, *, at_once: bool, group_commit: bool) -> float:
    """Seconds of calls that a store at *where* keeps."""

    async def main() -> float:
        async with open_store(where, group_commit=group_commit) as store:
            await store.ledger.list(limit=1)  # the store is open, its tables are there, both threads have begun
            return await seconds_of_calls(store.ledger, calls, at_once=at_once)

    return trio.run(main)


Write = Callable[[int], None]
Commit = Callable[[], None]


def by_hand(where: str, calls: int, *, at_once: bool) -> float:
    """Seconds of as many writes to a table like that of the store, with no code in between.

    One after another each write is a transaction; at once, all those of one step of all calls are one.
    """
    with (_sqlite if "://" not in where else _postgres)(where) as (write, commit):
        begin = time.perf_counter()
        if at_once:
            for _ in range(_WRITES):
                for number in range(calls):
                    write(number)
                commit()
        else:
            for number in range(calls):
                for _ in range(_WRITES):
                    write(number)
                    commit()
        return time.perf_counter() - begin


_TABLE = "CREATE TABLE by_hand (key TEXT PRIMARY KEY, version INTEGER, document TEXT)"
_UPSERT = """\
INSERT INTO by_hand VALUES ({0}, 1, {0}) ON CONFLICT (key) DO UPDATE SET version = by_hand.version + 1"""


@contextmanager
def _sqlite(where: str) -> Generator[tuple[Write, Commit]]:
    connection = sqlite3.connect(Path(where).with_suffix(".by-hand"))
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("DROP TABLE IF EXISTS by_hand")
        connection.execute(_TABLE)
        connection.commit()
        statement = _UPSERT.format("?")

        def write(number: int) -> None:
            connection.execute(statement, (f"key-{number}", _DOCUMENT))

        yield write, connection.commit
    finally:
        connection.close()


@contextmanager
def _postgres(where: str) -> Generator[tuple[Write, Commit]]:
    with psycopg.connect(where) as connection:
        connection.execute("DROP TABLE IF EXISTS by_hand")
        connection.execute(_TABLE.encode())
        connection.commit()
        statement = _UPSERT.format("%s").encode()

        def write(number: int) -> None:
            connection.execute(statement, (f"key-{number}", _DOCUMENT), prepare=True)

        yield write, connection.commit
