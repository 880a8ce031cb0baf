"""Token buckets in a database: what is kept of them, and how few transactions they take."""

from __future__ import annotations

from functools import partial

import pytest
import sqlalchemy as sa
import trio
import trio.testing

from armory_trio import StoreUnavailable, Toolbox, ToolCall, open_supervisor
from armory_trio.buckets import Rate, Taken
from armory_trio.middleware import RateLimit
from armory_trio.storage._database import Database, place_of
from armory_trio.storage._rows import Operation
from armory_trio.storage.sql import open_store
from armory_trio.testing import StoreClock
from tests.engine.tools import watch
from tests.requirements import requirement
from tests.storage.test_operations import Gate, commits, run

BOUND = 30
SLOW = Rate(interval=10.0, burst=5)
NOW = ToolCall("watch", {"seconds": 0.0})


def rows(where: str) -> int:
    """How many buckets are kept."""
    with Database(place_of(where), timeout=5.0, synchronous="full").engine.connect() as connection:
        return int(str(connection.execute(sa.text("SELECT count(*) FROM armory_buckets")).scalar()))


@requirement("rate-limit.shared", "storage.durable")
async def test_a_bucket_is_as_empty_after_a_restart_as_it_was(where: str) -> None:
    clock = StoreClock()
    async with open_store(where, clock=clock) as store:
        assert await store.buckets.take("b", SLOW, 5) == Taken(5, 10.0)
    async with open_store(where, clock=clock) as store:
        assert await store.buckets.take("b", SLOW) == Taken(0, 10.0)
        clock.seconds += 20.0
        assert await store.buckets.take("b", SLOW, 5) == Taken(2, 10.0)


@requirement("storage.groups")
async def test_those_who_take_at_the_same_time_share_a_transaction(where: str) -> None:
    gate = Gate()
    async with open_store(where) as store:
        with commits() as found:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run, store, Operation(gate.decide))
                await gate.wait()
                for number in range(100):
                    nursery.start_soon(store.buckets.take, f"b{number % 50}", SLOW)
                await trio.testing.wait_all_tasks_blocked()
                gate.go.set()

        assert len(found) == 1


@requirement("rate-limit.swept", "storage.retention")
async def test_rows_of_buckets_that_are_full_again_are_swept(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.storage._writer._SWEEP_EVERY", 0.0)
    clock = StoreClock()
    async with open_store(where, clock=clock) as store:
        for number in range(20):
            await store.buckets.take(f"b{number}", SLOW, 1 + number % 2)
        clock.seconds += 15.0
        for _ in range(3):
            await store.buckets.take("other", SLOW)
            clock.seconds += 1.5
        left = rows(where)
        assert await store.buckets.take("b0", SLOW, 9) == Taken(5, 10.0)
        assert await store.buckets.take("b1", SLOW, 9) == Taken(4, 0.5)

    assert left <= 11


@requirement("rate-limit.shared")
async def test_supervisors_on_one_store_begin_no_more_than_its_limit(where: str) -> None:
    outcomes: list[str] = []

    async def host(supervise: int) -> None:
        async with open_store(where) as store:
            limit = RateLimit(5, per=100_000.0, store=store.buckets, name="watches")
            async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:
                results = await supervisor.execute_batch([NOW] * (10 + supervise))
                outcomes.extend(result.outcome if result.error is None else result.error.code for result in results)

    with trio.fail_after(BOUND):
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(partial(host, number))

    assert outcomes.count("success") == 5
    assert outcomes.count("RATE_LIMITED") == 28


@requirement("rate-limit.unavailable")
async def test_a_limit_whose_store_is_closed_refuses(where: str) -> None:
    async with open_store(where) as store:
        pass
    limit = RateLimit(5, per=1.0, store=store.buckets, name="watches")
    with trio.fail_after(BOUND):
        async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:
            result = await supervisor.execute(NOW)

    assert result.error is not None
    assert result.error.code == "RATE_LIMIT_UNAVAILABLE"
    with pytest.raises(StoreUnavailable):
        await store.buckets.take("b", SLOW)
