"""A store whose files are taken away while it is open: SQLite would go on with what it has open, and nobody would see it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from armory_trio import StoreUnavailable
from armory_trio.ledger import Fresh, Running
from armory_trio.storage.sql import SqlStore, open_store
from tests.requirements import requirement
from tests.storage.deeds import claim


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def is_there(path: Path) -> bool:
    return path.exists()


def delete_all(path: Path) -> None:
    for each in path.parent.iterdir():
        each.unlink()


def rename(path: Path) -> None:
    path.rename(path.with_name("old.db"))


def replace(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    copy.replace(path)


def delete_journal(path: Path) -> None:
    journal_of(path).unlink()


TAKEN: Final[dict[str, Callable[[Path], None]]] = {
    "deleted": lambda path: path.unlink(),
    "deleted with all beside it": delete_all,
    "renamed": rename,
    "replaced by a copy": replace,
    "without its journal": delete_journal,
}


async def refused(store: SqlStore) -> None:
    """Whoever writes or reads hears of it, and is told what would be right."""
    key = claim("key-1", "a").key.text
    for ask in (lambda: store.ledger.apply(claim("key-2", "b")), lambda: store.ledger.load(key), store.ledger.list):
        with pytest.raises(StoreUnavailable, match="was moved, deleted or replaced while it was open") as caught:
            await ask()
        assert not caught.value.maybe_done


@requirement("storage.same-file")
@pytest.mark.parametrize("take", TAKEN.values(), ids=TAKEN.keys())
async def test_a_store_whose_file_was_taken_away_answers_nothing_and_makes_no_other(
    path: Path, take: Callable[[Path], None]
) -> None:
    async with open_store(path) as store:
        await store.ledger.apply(claim("key-1", "a"))
        take(path)
        there = is_there(path)

        await refused(store)
        assert is_there(path) == there
        with pytest.raises(StoreUnavailable):
            await store.compact()
        assert is_there(path) == there


@requirement("storage.same-file")
async def test_nothing_that_was_answered_is_done_again_by_whoever_opens_the_path_anew(path: Path) -> None:
    async with open_store(path) as store:
        assert isinstance(await store.ledger.apply(claim("key-1", "a")), Fresh)
        rename(path)
        async with open_store(path) as other:
            assert isinstance(await other.ledger.apply(claim("key-2", "a")), Fresh)

            with pytest.raises(StoreUnavailable):
                await store.ledger.apply(claim("key-2", "b"))


@requirement("storage.same-file")
async def test_a_file_that_is_put_back_is_used_again(path: Path) -> None:
    async with open_store(path) as store:
        await store.ledger.apply(claim("key-1", "a"))
        rename(path)
        await refused(store)
        path.with_name("old.db").rename(path)

        assert isinstance(await store.ledger.apply(claim("key-1", "b")), Running)
        assert isinstance(await store.ledger.apply(claim("key-2", "b")), Fresh)


@requirement("storage.same-file", "storage.reconnect")
async def test_a_connection_that_is_made_anew_takes_no_other_file_for_the_one_that_was_there(path: Path) -> None:
    async with open_store(path, timeout=0.2) as store:
        await store.ledger.apply(claim("key-1", "a"))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="locked"):
                await store.ledger.apply(claim("key-2", "a"))  # the connection is given up for that
        replace(path)

        with pytest.raises(StoreUnavailable, match="was moved, deleted or replaced"):
            await store.ledger.apply(claim("key-2", "a"))


@requirement("storage.same-file")
async def test_a_store_behind_a_link_is_the_file_that_the_link_leads_to(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    os.symlink(path, link)  # noqa: PTH211 - as in the others, no path is walked in an async function
    async with open_store(link) as store:
        await store.ledger.apply(claim("key-1", "a"))
        assert isinstance(await store.ledger.apply(claim("key-2", "a")), Fresh)
        delete_journal(path)

        await refused(store)
