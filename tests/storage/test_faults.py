"""What is wrong with a database is said, and nothing hangs."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import psycopg.errors
import pytest
import trio
from sqlalchemy import exc

from armory_trio import DefinitionError, StoreUnavailable
from armory_trio.storage._faults import fault_of, words_of
from armory_trio.storage._rows import Operation, View
from armory_trio.storage.sql import SqlStore, open_store
from tests.requirements import requirement
from tests.storage.deeds import approval, claim
from tests.storage.servers import DSN, restart, run_sql

BOUND = 30
"""Seconds: what takes longer hangs."""

OURS = pytest.mark.skipif(DSN in os.environ, reason="only a server of our own may be treated like that")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def opened(where: str | Path, *, limit: float = 1.0) -> StoreUnavailable:
    """The error with which opening *where* and writing there ends."""
    with pytest.raises(StoreUnavailable) as caught, trio.fail_after(BOUND):
        async with open_store(where, timeout=limit) as store:
            await store.ledger.apply(claim("key-1", "a"))
    return caught.value


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def read(path: Path) -> bytes:
    return path.read_bytes()


async def made(path: Path) -> None:
    """A store at *path*, with something in it."""
    async with open_store(path) as store:
        for index in range(50):
            await store.ledger.apply(claim(f"key-{index}", "a"))


@requirement("storage.faults")
async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "store.db"
    error = await opened(path)

    assert error.where == str(path)
    assert "the directory does not exist" in error.reason


@requirement("storage.faults")
async def test_a_directory_is_no_file(tmp_path: Path) -> None:
    error = await opened(tmp_path)

    assert (error.where, error.maybe_done) == (str(tmp_path), False)
    assert error.reason == f"this is a directory; name a file in it, such as {tmp_path / 'store.db'}"
    assert os.listdir(tmp_path) == []  # noqa: PTH208  # as read and write: no path is walked in an async function


@requirement("storage.faults")
async def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    write(path, letter := b"a letter to my aunt\n" * 100)

    assert "is no SQLite database" in (await opened(path)).reason
    assert read(path) == letter


@requirement("storage.faults")
async def test_a_damaged_file_is_said_to_be_damaged(path: Path) -> None:
    await made(path)
    whole = read(path)
    write(path, whole[:4096] + b"\xa5" * (len(whole) - 4096))

    assert "damaged" in (await opened(path)).reason


@contextmanager
def read_only(path: Path) -> Generator[None]:
    """Make *path* and its directory read-only, and be somebody other than root, who may write everything."""
    root = not os.geteuid()
    closed = [directory for directory in path.parents if not directory.stat().st_mode & 0o001]
    above = [path.parent, *(directory for directory in closed if directory != path.parent)]
    modes = [directory.stat().st_mode for directory in above]
    path.chmod(0o444)
    path.parent.chmod(0o555)
    for directory, mode in zip(above[1:], modes[1:], strict=True):
        directory.chmod(mode | 0o011)  # to be passed through
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for directory, mode in zip(above, modes, strict=True):
            directory.chmod(mode)


@requirement("storage.faults")
async def test_a_read_only_file_is_said_to_be(path: Path) -> None:
    await made(path)
    with read_only(path):
        error = await opened(path)

    assert "read-only" in error.reason or "can't be opened" in error.reason


@requirement("storage.faults")
async def test_a_locked_file_can_be_read_and_is_written_when_it_is_free_again(path: Path) -> None:
    await made(path)
    async with open_store(path, timeout=0.2) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="locked by another process"), trio.fail_after(BOUND):
                await store.ledger.apply(claim("key-new", "a"))
            assert await store.ledger.load(claim("key-1", "a").key.text) is not None
            other.execute("ROLLBACK")
        await store.ledger.apply(claim("key-new", "a"))

        assert await store.ledger.load(claim("key-new", "a").key.text) is not None


@contextmanager
def full_disk(path: Path) -> Generator[None]:
    """No file may grow beyond the size of the store."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = max(each.stat().st_size for each in path.parent.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def fill(store: SqlStore) -> None:
    """Write until it can't be."""
    for index in range(1000):
        await store.ledger.apply(claim(f"long-{index}-{'x' * 10_000}", "a"))


@requirement("storage.faults")
async def test_a_full_disk_is_said_and_used_again_when_there_is_room(path: Path) -> None:
    """The limit of a file's size is met where a full disk would be."""
    await made(path)
    async with open_store(path) as store:
        await store.ledger.apply(claim("key-0", "a"))
        with full_disk(path), pytest.raises(StoreUnavailable, match="disk"), trio.fail_after(BOUND):
            await fill(store)
        before = len(await store.ledger.list(limit=10_000))
        await store.ledger.apply(claim("key-new", "a"))

        assert len(await store.ledger.list(limit=10_000)) == before + 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@requirement("storage.faults")
async def test_a_thread_that_hangs_is_given_up_and_the_next_one_goes_on(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armory_trio.storage._writer.GRACE", 0.2)
    stuck = threading.Event()

    def hang(_view: View, _now: float) -> None:
        stuck.wait(BOUND)

    async with open_store(where, timeout=4.0) as store:  # enough for the others, whatever else the machine has to do
        lanes = store.grants._lanes  # pyright: ignore[reportPrivateUsage]  # the public operations don't hang
        with pytest.raises(StoreUnavailable, match="no answer") as caught, trio.fail_after(BOUND):
            await lanes.run(Operation(hang))
        stuck.set()
        assert caught.value.maybe_done
        await store.ledger.apply(claim("key-1", "a"))

        assert len(await store.ledger.list()) == 1


@requirement("storage.faults", "storage.migrations")
async def test_tables_of_a_later_version_are_refused_and_left_alone(where: str) -> None:
    async with open_store(where):
        pass
    change(where, "UPDATE armory_store SET version = 99")
    error = await opened(where)

    assert "its tables are of version 99, and this armory_trio knows" in error.reason
    change(where, "DELETE FROM armory_store WHERE version = 99")


@requirement("storage.faults", "storage.migrations")
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE armory_store SET version = 99", "version 99"),
        ("UPDATE armory_store SET version = 1", "put back to another version"),
        ("DELETE FROM armory_store", "taken away"),
        ("DROP TABLE armory_store", "not those of this version"),
    ],
)
async def test_a_store_that_gets_another_version_meanwhile_is_used_no_more(
    where: str, statement: str, words: str
) -> None:
    binding = approval("nonce-1", 0.0)
    async with open_store(where, clock=lambda: 1.0) as store:
        await store.approvals.issue(binding)
        change(where, statement)

        with pytest.raises(StoreUnavailable, match=words):
            await store.approvals.consume(binding, binding.scope)
        with pytest.raises(StoreUnavailable, match=words):
            await store.approvals.state(binding)


@requirement("storage.faults", "storage.retention")
async def test_a_table_that_can_not_be_swept_is_the_trouble_of_nobody_else(where: str) -> None:
    async with open_store(where) as store:
        change(where, "ALTER TABLE armory_approvals RENAME TO armory_elsewhere")
        await store.ledger.apply(claim("key-1", "a"))

        assert len(await store.ledger.list()) == 1


@requirement("storage.shared")
async def test_a_file_that_is_locked_while_it_is_opened_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no store yet, so its journal has to be changed, for which SQLite itself does not wait."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE theirs (id INTEGER)")
        other.execute("BEGIN IMMEDIATE")
        waited: list[float] = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            other.execute("ROLLBACK")

        monkeypatch.setattr(time, "sleep", sleep)
        async with open_store(path) as store:
            await store.ledger.apply(claim("key-1", "a"))

    assert len(waited) == 1


@requirement("storage.options")
async def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DefinitionError, match=r"pip install 'armory-trio\[postgres\]'"):
        async with open_store("postgresql://nowhere/without-a-driver"):
            raise AssertionError("it is open")


@requirement("storage.faults")
async def test_tables_that_are_not_ours_are_said_to_be(where: str) -> None:
    async with open_store(where):
        pass
    change(where, "DROP TABLE armory_attempts", "CREATE TABLE armory_attempts (name TEXT)")

    assert "its tables are not those of this version" in (await opened(where)).reason


_OVERWRITE: Final = (
    "UPDATE armory_attempts SET document = 'DOCUMENT' WHERE key_text LIKE '%key-1%'",
    "UPDATE armory_approvals SET document = 'DOCUMENT'",
)


@requirement("storage.faults")
@pytest.mark.parametrize("document", ["[]", "a letter", "", '{"key":', "[" * 10_000, '{"key": "\\ud800"}'])
async def test_a_row_that_something_else_wrote_harms_nobody_but_who_asks_for_it(where: str, document: str) -> None:
    binding = approval("nonce-1", time.time())
    async with open_store(where) as store:
        for key in ("key-1", "key-2"):
            await store.ledger.apply(claim(key, "a"))
        await store.approvals.issue(binding)
        change(where, *(statement.replace("DOCUMENT", document) for statement in _OVERWRITE))

        for ask in (
            partial(store.ledger.apply, claim("key-1", "b")),
            partial(store.ledger.load, claim("key-1", "a").key.text),
            store.ledger.list,
            partial(store.approvals.consume, binding, binding.scope),
        ):
            with pytest.raises(StoreUnavailable, match="a row can't be read"):
                await ask()
        assert await store.ledger.load(claim("key-2", "a").key.text) is not None


@requirement("storage.faults", "storage.groups")
async def test_a_row_that_is_no_text_harms_none_of_those_who_share_its_transaction(path: Path) -> None:
    answers: dict[str, object] = {}

    async def ask(store: SqlStore, key: str) -> None:
        try:
            answers[key] = type(await store.ledger.apply(claim(key, "b"))).__name__
        except StoreUnavailable as error:
            answers[key] = error.reason

    async with open_store(path) as store:
        await store.ledger.apply(claim("key-1", "a"))
        change(str(path), "UPDATE armory_attempts SET document = CAST(x'ff41' AS TEXT)")
        async with trio.open_nursery() as nursery:
            for key in ("key-0", "key-1", "key-2"):
                nursery.start_soon(ask, store, key)

    assert str(answers.pop("key-1")).startswith("a row can't be read")
    assert answers == {"key-0": "Fresh", "key-2": "Fresh"}


def change(where: str, *statements: str) -> None:
    """Do something to the tables behind the store's back."""
    if "://" in where:
        run_sql(where, *statements)
        return
    with closing(sqlite3.connect(where, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@requirement("storage.faults")
async def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    error = await opened("postgresql://ann:s3cret@127.0.0.1:1/armory?application_name=x")
    told = "".join(traceback.format_exception(error))

    assert error.where == "postgresql://127.0.0.1:1/armory"
    assert "Connection refused" in error.reason
    assert "s3cret" not in told


@OURS
@requirement("storage.faults")
async def test_a_database_that_is_not_there_is_said_to_be_missing(database: str) -> None:
    error = await opened(database.replace("/postgres?", "/nowhere?"))

    assert 'database "nowhere" does not exist' in error.reason


@requirement("storage.faults")
async def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = await opened(f"postgresql://127.0.0.1:{silent.getsockname()[1]}/armory", limit=0.1)

    assert "can't be reached" in error.reason or "no answer" in error.reason


@requirement("storage.faults")
async def test_a_row_that_somebody_else_holds_is_not_waited_for_for_ever(schema: str) -> None:
    asked = claim("key-1", "a")
    async with open_store(schema, timeout=1.0) as store:
        await store.ledger.apply(asked)
        with psycopg.connect(schema) as other:
            other.execute("SELECT * FROM armory_attempts FOR UPDATE")
            with pytest.raises(StoreUnavailable, match="timeout"), trio.fail_after(BOUND):
                await store.ledger.apply(asked)
        await store.ledger.apply(asked)


@OURS
@requirement("storage.faults")
async def test_a_server_that_stands_still_is_given_up_and_used_again_when_it_goes_on(schema: str) -> None:
    async with open_store(schema, timeout=1.0) as store:
        await store.ledger.apply(claim("key-1", "a"))
        found = run_sql(schema, "SELECT pid FROM pg_stat_activity WHERE application_name = 'armory_trio'")
        stopped = [int(str(pid)) for (pid,) in found]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(StoreUnavailable, match="no answer") as caught, trio.fail_after(BOUND):
                await store.ledger.apply(claim("key-2", "a"))
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert caught.value.maybe_done
        with trio.fail_after(BOUND):
            await store.ledger.apply(claim("key-3", "a"))


@OURS
@requirement("storage.reconnect")
async def test_after_its_connections_were_ended_the_next_operation_connects_again(schema: str) -> None:
    async with open_store(schema) as store:
        await store.ledger.apply(claim("key-1", "a"))
        await store.ledger.list()
        run_sql(schema, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'armory_trio'")
        await store.ledger.apply(claim("key-2", "a"))

        assert len(await store.ledger.list()) == 2


@OURS
@requirement("storage.reconnect")
async def test_after_the_server_was_restarted_the_next_operation_connects_again(schema: str) -> None:
    async with open_store(schema) as store:
        await store.ledger.apply(claim("key-1", "a"))
        await trio.to_thread.run_sync(restart, schema)
        await store.ledger.apply(claim("key-2", "a"))

        assert len(await store.ledger.list()) == 2


@requirement("storage.faults")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SQLITE_FULL", "the disk is full"),
        ("SQLITE_IOERR_WRITE", "the disk can't be read or written"),
        ("SQLITE_READONLY_DBMOVED", "read-only"),
        ("SQLITE_BUSY_SNAPSHOT", "locked"),
        ("SQLITE_CORRUPT_INDEX", "damaged"),
        ("SQLITE_MISUSE", "SQLite refused it"),
    ],
)
def test_what_sqlite_says_is_told_in_words(name: str, words: str) -> None:
    error = sqlite3.OperationalError("it says s3cret")
    error.sqlite_errorname = name

    assert words in words_of(error, "s3cret")
    assert "s3cret" not in words_of(error, "s3cret")


@requirement("storage.faults")
@pytest.mark.parametrize(
    ("state", "fault", "words"),
    [
        ("08006", "lost", "the connection was lost"),
        ("08P01", "lost", "the connection was lost"),
        ("25006", "lost", "read-only"),
        ("25P03", "lost", "stood still"),
        ("25P04", "lost", "took too long"),
        ("28P01", "lost", "refused the user"),
        ("3D000", "lost", "no such database"),
        ("53300", "other", "disk, memory or connections"),
        ("55P03", "locked", "held a lock"),
        ("57014", "slow", "no answer within the timeout"),
        ("57P01", "lost", "shutting down or starting"),
        ("57P03", "lost", "shutting down or starting"),
        ("57P05", "lost", "shutting down or starting"),
        ("XX001", "other", "damaged"),
        (None, "lost", "can't be reached"),
    ],
)
def test_what_a_server_says_is_told_in_words_whatever_class_of_error_it_comes_as(
    state: str | None, fault: str, words: str
) -> None:
    try:
        kind = psycopg.OperationalError if state is None else psycopg.errors.lookup(state)
    except KeyError:  # newer than the driver
        kind = type("Newer", (psycopg.InternalError,), {"sqlstate": state})
    origin = kind("it says s3cret")
    error = exc.DBAPIError.instance("SELECT 1", None, origin, psycopg.Error)

    assert isinstance(error, exc.DBAPIError)
    assert (type(error) is not exc.DBAPIError, error.orig) == (True, origin)
    assert fault_of(error) == fault
    assert words in words_of(error, "s3cret")


@OURS
@requirement("storage.faults")
@pytest.mark.parametrize("writes", [True, False], ids=["writes", "reads"])
async def test_a_transaction_that_the_server_ended_because_it_stood_still_is_an_unavailable_store(
    schema: str, writes: bool
) -> None:
    def dawdle(_view: View, _now: float) -> None:
        time.sleep(2.0)

    async with open_store(schema, timeout=1.5) as store:
        lanes = store.grants._lanes  # pyright: ignore[reportPrivateUsage]  # the public operations don't dawdle
        with pytest.raises(StoreUnavailable, match="stood still") as caught, trio.fail_after(BOUND):
            await lanes.run(Operation(dawdle, writes=writes))

    assert not caught.value.maybe_done
