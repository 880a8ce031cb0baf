"""How long things are kept, and that the room they took is given back."""

from __future__ import annotations

import itertools
import re
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, cast

import psycopg
import pytest
import sqlalchemy as sa
import trio
from sqlalchemy import event

from armory_trio import DefinitionError, Effect, StoreUnavailable
from armory_trio.journal import Publication
from armory_trio.ledger import Complete, Done, Fresh, MarkUnknown, Recorded, Resolve, Start
from armory_trio.storage._compaction import _Job  # pyright: ignore[reportPrivateUsage]  # to stop it where it is
from armory_trio.storage.sql import Keep, SqlStore, open_store
from armory_trio.testing import StoreClock
from tests.requirements import requirement
from tests.storage.deeds import claim

BOUND = 60
ENDLESS = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT sum(n) FROM n"


@pytest.fixture(autouse=True)
def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep beside every operation."""
    monkeypatch.setattr("armory_trio.storage._writer._SWEEP_EVERY", 0.0)


async def complete(store: SqlStore, key: str) -> None:
    asked = claim(key, "a")
    for operation in (asked, Start(asked.key.text, "a"), Complete(asked.key.text, "a", "completed", '"done"')):
        await store.ledger.apply(operation)


def published(number: int, at: float, *, size: int = 10) -> Publication:
    return Publication(at, "host-1", f"e-{number}", 1, f'"{"x" * size}"')


async def tick(store: SqlStore, clock: StoreClock, number: int) -> None:
    """Something is written, some seconds later, so that the time is kept and the store is swept."""
    clock.seconds += 2.0
    await store.journal.append([published(number, store.now())])


async def left(store: SqlStore) -> tuple[int, int]:
    """How many attempts, and how many entries of the journal there are."""
    return len(await store.ledger.list(limit=10_000)), len(await store.journal.read(limit=10_000))


# ── Keeping ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("storage.keep", "storage.retention")
async def test_by_default_attempts_and_the_journal_are_kept_for_ever(where: str) -> None:
    clock = StoreClock()
    async with open_store(where, clock=clock) as store:
        await complete(store, "key-1")
        await store.journal.append([published(1, store.now())])
        clock.seconds += 10 * 365 * 86_400.0
        await tick(store, clock, 2)
        await tick(store, clock, 3)

        assert await left(store) == (1, 3)


@requirement("storage.keep")
async def test_after_their_seconds_ended_attempts_and_entries_go_and_nothing_else(where: str) -> None:
    clock = StoreClock()
    async with open_store(where, clock=clock, keep=Keep(attempts=1_000.0, journal=100.0)) as store:
        await complete(store, "ended")
        running, unknown, waiting = (claim(name, "a", lease=10_000.0) for name in ("running", "unknown", "waiting"))
        for operation in (running, Start(running.key.text, "a"), waiting):
            await store.ledger.apply(operation)
        await store.ledger.apply(unknown)
        await store.ledger.apply(Start(unknown.key.text, "a"))
        await store.ledger.apply(MarkUnknown(unknown.key.text, "a"))
        await store.journal.append([published(1, store.now())])
        clock.seconds += 90.0
        await tick(store, clock, 2)
        await tick(store, clock, 3)
        assert await left(store) == (4, 3)
        clock.seconds += 20.0
        await tick(store, clock, 4)
        await tick(store, clock, 5)
        assert await left(store) == (4, 4)
        clock.seconds += 900.0
        await tick(store, clock, 6)
        await tick(store, clock, 7)

        found = {attempt.key: attempt.state for attempt in await store.ledger.list()}
        assert found == {running.key.text: "started", unknown.key.text: "unknown", waiting.key.text: "claimed"}
        assert len(await store.journal.read()) == 2
        await complete(store, "ended")  # and is done again


@requirement("storage.keep", "storage.retention")
@pytest.mark.parametrize(("effect", "stays"), [("completed", True), ("unknown", True), ("none", False)])
async def test_what_did_a_part_and_waits_for_somebody_stays(where: str, effect: Effect, *, stays: bool) -> None:
    clock, asked = StoreClock(), claim("key-1", "a")
    key = asked.key.text
    async with open_store(where, clock=clock, keep=Keep(attempts=100.0)) as store:
        for operation in (asked, Start(key, "a"), Complete(key, "a", effect, '"it waits"', pause=True)):
            await store.ledger.apply(operation)
        clock.seconds += 1_000.0
        await tick(store, clock, 1)
        await tick(store, clock, 2)
        forgotten = await store.ledger.forget(ended_before=store.now() - 500.0)

        assert forgotten == 0
        again = await store.ledger.apply(claim("key-1", "b"))
        assert isinstance(again, Recorded if stays else Fresh)
        if stays:
            settled = Resolve(key_text=key, attempt_id="a", decision="abandoned", receipt="{}")
            assert isinstance(await store.ledger.apply(settled), Done)
            clock.seconds += 1_000.0
            assert await store.ledger.forget(ended_before=store.now() - 500.0) == 1


@requirement("storage.keep")
async def test_what_is_old_goes_a_page_at_a_time(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.storage._writer._SWEEP", 10)
    monkeypatch.setattr("armory_trio.storage._writer._SWEEP_EVERY", 1e9)
    clock = StoreClock()
    async with open_store(where, clock=clock) as store:
        await store.journal.append([published(number, store.now()) for number in range(35)])
        await tick(store, clock, 100)
    clock.seconds += 1_000.0
    async with open_store(where, clock=clock, keep=Keep(journal=100.0)) as store:
        counts: list[int] = []
        for number in range(101, 107):
            await tick(store, clock, number)
            counts.append(len(await store.journal.read(limit=1_000)) - (number - 100))

    assert [before - after for before, after in zip([36, *counts], counts, strict=False)] == [10, 10, 10, 6, 0, 0]


_INDEX: Final = {
    "armory_approvals": "armory_approvals_expiry",
    "armory_grants": "armory_grants_expiry",
    "armory_grant_uses": "armory_grant_uses_expiry",
    "armory_buckets": "armory_buckets_expiry",
    "armory_attempts": "armory_attempts_ended",
    "armory_journal": "armory_journal_at",
}
"""By table, what leads to its old rows."""


@requirement("storage.keep", "storage.retention")
async def test_what_is_old_is_found_without_looking_at_what_is_not(tmp_path: Path) -> None:
    path, asked = tmp_path / "store.db", dict[str, tuple[str, object]]()

    def note(_c: object, _cursor: object, statement: str, parameters: object, _x: object, _m: object) -> None:
        if "LIMIT" in statement and "<" in statement:
            table = next(table for table in _INDEX if re.search(rf"FROM {table}\b", statement))
            asked[f"{statement.split(maxsplit=1)[0]} {table}"] = (statement, parameters)

    clock = StoreClock()
    event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        async with open_store(path, clock=clock, keep=Keep(attempts=1_000.0, journal=100.0)) as store:
            await tick(store, clock, 1)
            await store.ledger.forget(ended_before=store.now())
            await store.journal.forget(before=store.now())
    finally:
        event.remove(sa.Engine, "before_cursor_execute", note)

    assert set(asked) == {*(f"DELETE {table}" for table in _INDEX), "SELECT armory_attempts", "SELECT armory_journal"}
    with closing(sqlite3.connect(path)) as connection:
        for what, (statement, parameters) in asked.items():
            plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", cast("tuple[object, ...]", parameters))
            steps = [step for *_, step in plan if "_autoindex_" not in step and step.startswith(("SEARCH", "SCAN"))]
            assert [re.findall(r"INDEX (\w+)", step) for step in steps] == [[_INDEX[what.split()[1]]]], steps


@requirement("storage.keep", "storage.options")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Keep(attempts=0), "Keep: attempts: must be a number of seconds above 0, or None"),
        (lambda: Keep(journal=cast("float", "a week")), "Keep: journal: must be a number of seconds"),
        (lambda: open_store("store.db", keep=cast("Keep", 5)), "store: keep: must be a Keep, not 5"),
    ],
    ids=["nothing", "text", "number"],
)
async def test_what_is_no_length_of_time_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        async with cast("trio.abc.AsyncResource", make()):
            raise AssertionError("it is open")


# ── Compacting ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def fill(store: SqlStore, count: int = 400, *, first: int = 0, kept: int = 20) -> None:
    """Write *count* entries of some kilobytes each, and forget all but a few."""
    began = store.now() - count
    for start in range(0, count, 100):
        numbers = range(first + start, first + start + 100)
        await store.journal.append([published(number, began + number - first, size=5_000) for number in numbers])
    await store.journal.forget(before=began + count - kept)


async def entries(store: SqlStore) -> list[str]:
    return [entry.publication.execution_id for entry in await store.journal.read(limit=1_000)]


@requirement("storage.compact")
async def test_compacting_gives_back_the_room_of_what_was_forgotten_and_loses_nothing(where: str) -> None:
    with trio.fail_after(BOUND):
        async with open_store(where) as store:
            await fill(store)
            await complete(store, "key-1")
            kept = await entries(store)
            done = await store.compact()
            await complete(store, "key-2")

            assert done.whole
            assert await entries(store) == kept
            assert len(kept) == 20
            assert len(await store.ledger.list()) == 2
            assert done.before is not None
            assert done.after is not None
            if "://" in where:  # what the rows took is free for others
                await store.journal.forget(before=store.now())
                await fill(store, first=1_000)
                again = await store.compact()
                assert again.after is not None
                assert again.after - done.after < done.before / 4
            else:
                assert done.after < done.before / 3
                assert done.after == (await trio.Path(where).stat()).st_size
    if "://" not in where:
        with closing(sqlite3.connect(where)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@requirement("storage.compact", "storage.shared")
async def test_others_go_on_while_a_store_is_compacted(where: str) -> None:
    over = False

    async def write(store: SqlStore, name: str) -> None:
        number = 0
        while not over:
            await complete(store, f"{name}-{number}")
            number += 1
        written.append(number)

    written: list[int] = []
    with trio.fail_after(BOUND):
        async with open_store(where) as one, open_store(where) as other:
            await fill(one)
            kept = await entries(one)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write, one, "one")
                nursery.start_soon(write, other, "other")
                for _ in range(3):
                    await one.compact()
                over = True
            assert len(await other.ledger.list(limit=100_000)) == sum(written)
            assert await entries(other) == kept
            assert min(written) > 0
            assert (await other.compact()).whole


@requirement("storage.compact")
async def test_somebody_who_holds_the_lock_is_not_waited_for_for_long(where: str) -> None:
    with trio.fail_after(BOUND):
        async with open_store(where, timeout=1.0) as store:
            await fill(store)
            if "://" in where:
                with psycopg.connect(where) as holder:
                    holder.execute("LOCK TABLE armory_journal IN ACCESS EXCLUSIVE MODE")
                    done = await store.compact()
            else:
                with closing(sqlite3.connect(where, isolation_level=None)) as lock:
                    lock.execute("BEGIN IMMEDIATE")
                    done = await store.compact()
                    lock.execute("ROLLBACK")
            assert not done.whole
            await complete(store, "key-1")
            assert len(await entries(store)) == 20
            assert (await store.compact()).after


@requirement("storage.compact")
async def test_what_takes_too_long_is_stopped_and_leaves_everything_as_it_was(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with trio.fail_after(BOUND):
        async with open_store(where) as store:
            await fill(store, 1_000)
            kept = await entries(store)
            with monkeypatch.context() as patched:
                patched.setattr("armory_trio.storage._compaction._SHARE", 0.0)
                done = await store.compact()
            assert not done.whole
            assert await entries(store) == kept
            await complete(store, "key-1")
            assert (await store.compact()).whole


@requirement("storage.compact")
async def test_a_file_that_is_being_written_anew_is_stopped_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = itertools.count()

    def over(_job: _Job) -> bool:
        return next(looks) > 2

    path = tmp_path / "store.db"
    with trio.fail_after(BOUND):
        async with open_store(path) as store:
            await fill(store, 1_000, kept=900)
            kept = await entries(store)
            before = await file_size(path)
            with monkeypatch.context() as patched:
                patched.setattr(_Job, "_over", over)
                done = await store.compact()
            assert next(looks) > 3
            assert not done.whole
            assert await file_size(path) == before
            assert await entries(store) == kept
            assert (await store.compact()).whole


@requirement("storage.compact", "storage.cancellation")
async def test_who_gives_up_on_compacting_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, ended = threading.Event(), threading.Event()

    def endless(handle: sqlite3.Connection) -> bool:
        entered.set()
        try:
            handle.execute(ENDLESS).fetchall()
        finally:
            ended.set()
        return True

    async def give_up(scope: trio.CancelScope) -> None:
        assert await trio.to_thread.run_sync(entered.wait, BOUND)
        scope.cancel()

    with trio.fail_after(BOUND):
        async with open_store(tmp_path / "store.db") as store:
            await fill(store, 1_000, kept=900)
            with monkeypatch.context() as patched:
                patched.setattr("armory_trio.storage._compaction._vacuum", endless)
                async with trio.open_nursery() as nursery:
                    with trio.CancelScope() as scope:
                        nursery.start_soon(give_up, scope)
                        await store.compact()
                assert scope.cancelled_caught
                assert await trio.to_thread.run_sync(ended.wait, BOUND)
            await complete(store, "key-1")
            assert (await store.compact()).whole


async def file_size(path: Path) -> int:
    """How long the file is."""
    return (await trio.Path(path).stat()).st_size


@requirement("storage.compact", "storage.cancellation")
async def test_compacting_that_is_cancelled_leaves_the_store_whole(where: str) -> None:
    with trio.fail_after(BOUND):
        async with open_store(where) as store:
            await fill(store)
            with trio.CancelScope() as scope:
                scope.cancel()
                await store.compact()
            with trio.move_on_after(0.001):
                await store.compact()
            assert scope.cancelled_caught
            await complete(store, "key-1")
            assert len(await entries(store)) == 20
            assert (await store.compact()).after


@requirement("storage.compact", "storage.faults")
async def test_a_store_that_is_closed_is_not_compacted(where: str) -> None:
    async with open_store(where) as store:
        pass
    with pytest.raises(StoreUnavailable, match="the store is closed"):
        await store.compact()
