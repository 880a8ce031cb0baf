"""The published suites, on a file and on a real PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
import trio

from armory_trio.storage.sql import SqlApprovals, SqlBuckets, SqlGrants, SqlJournal, SqlLedger, SqlStore, open_store
from armory_trio.testing import (
    ApprovalStoreCase,
    BucketStoreCase,
    GrantStoreCase,
    JournalStoreCase,
    LedgerStoreCase,
    approval_store_cases,
    bucket_store_cases,
    grant_store_cases,
    journal_store_cases,
    ledger_store_cases,
)
from tests.requirements import requirement
from tests.storage.servers import empty, open_schema

BOUND: Final = 120

_FEW: Final = ("not-there", "started", "started-and-over", "unknown")
"""Where an attempt stands for all operations to be tried on it whenever the tests run. What they do is one pure function
for all stores; what is tried here is that each of its answers is kept."""

OpenEmpty = Callable[[Callable[[], float]], AbstractAsyncContextManager[SqlStore]]
"""Opens a store without anything in it, that reads the clock."""


@pytest.fixture(scope="module")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a store without anything in it."""
    path = tmp_path_factory.mktemp("template") / "empty.db"

    async def make() -> None:
        async with open_store(path, clock=lambda: float("nan")):
            pass

    trio.run(make)
    return path


@pytest.fixture(scope="module")
def shared_schema(database: str) -> Iterator[str]:
    with open_schema(database) as url:
        yield url


def copied(empty_file: Path) -> str:
    """A copy of the file, at the same path each time: what was compiled for it can be used again."""
    path = empty_file.with_name("store.db")
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    return str(shutil.copy(empty_file, path))


@pytest.fixture(params=["sqlite", "postgresql"])
def open_empty(request: pytest.FixtureRequest) -> OpenEmpty:
    place: object = request.getfixturevalue("empty_file" if request.param == "sqlite" else "shared_schema")

    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[SqlStore]:
        if isinstance(place, Path):
            where = copied(place)
        else:
            assert isinstance(place, str)
            empty(where := place)
        with trio.fail_after(BOUND):
            # What a power failure would take away is not what these are about.
            async with open_store(where, clock=clock, synchronous="normal") as store:
                yield store

    return opened


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try every ledger case in `make soak`, and otherwise a few of those that cost hundreds of transactions."""
    if "ledger_case" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--hypothesis-profile") == "soak"
        cases = [
            case for case in ledger_store_cases() if everything or "every-operation" not in case.name or _few(case)
        ]
        metafunc.parametrize("ledger_case", cases)


def _few(case: LedgerStoreCase) -> bool:
    return case.name.endswith(tuple(f"on-what-is-{state}-does-what-the-rules-say" for state in _FEW))


@pytest.mark.parametrize("case", approval_store_cases())
@requirement("storage.conformance")
async def test_approvals_do_all_that_a_store_of_them_has_to(case: ApprovalStoreCase, open_empty: OpenEmpty) -> None:
    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[SqlApprovals]:
        async with open_empty(clock) as store:
            yield store.approvals

    await case(opened)


@pytest.mark.parametrize("case", grant_store_cases())
@requirement("storage.conformance")
async def test_grants_do_all_that_a_store_of_them_has_to(case: GrantStoreCase, open_empty: OpenEmpty) -> None:
    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[SqlGrants]:
        async with open_empty(clock) as store:
            yield store.grants

    await case(opened)


@requirement("storage.conformance")
async def test_attempts_do_all_that_a_store_of_them_has_to(ledger_case: LedgerStoreCase, open_empty: OpenEmpty) -> None:
    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[SqlLedger]:
        async with open_empty(clock) as store:
            yield store.ledger

    await ledger_case(opened)


@pytest.mark.parametrize("case", journal_store_cases())
@requirement("storage.conformance", "journal.stores")
async def test_a_journal_does_all_that_a_store_of_one_has_to(case: JournalStoreCase, open_empty: OpenEmpty) -> None:
    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[SqlJournal]:
        async with open_empty(clock) as store:
            yield store.journal

    await case(opened)


@pytest.mark.parametrize("case", bucket_store_cases())
@requirement("storage.conformance", "rate-limit.stores")
async def test_buckets_do_all_that_a_store_of_them_has_to(case: BucketStoreCase, open_empty: OpenEmpty) -> None:
    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[SqlBuckets]:
        async with open_empty(clock) as store:
            yield store.buckets

    await case(opened)
