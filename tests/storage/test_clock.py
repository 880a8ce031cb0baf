"""The clock of a store, what has expired, and what is deleted then."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from armory_trio import ApprovalError, GrantError
from armory_trio.ledger import Start, Unknown
from armory_trio.storage._clock import SqlClock
from armory_trio.storage.sql import SqlStore, open_store
from tests.requirements import requirement
from tests.storage.deeds import approval, claim, grant
from tests.storage.servers import TABLES, run_sql

T0 = 1_800_000_000.0


class Clock:
    """Wall time that goes where it is told to, back too."""

    def __init__(self, seconds: float = T0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


@requirement("storage.clock")
def test_the_clock_goes_on_from_the_latest_time_when_it_is_put_back() -> None:
    behind = Clock(100.0)
    clock = SqlClock(behind)
    assert clock.now() == 100.0

    behind.seconds = 40.0
    assert clock.now() == 100.0
    behind.seconds = 45.0
    assert clock.now() == 105.0


@requirement("storage.clock")
def test_a_time_that_is_kept_in_the_store_counts_as_seen() -> None:
    clock = SqlClock(Clock(100.0))

    assert clock.learn(150.0, None) == 150.0
    assert clock.now() == 150.0


@requirement("storage.clock")
def test_what_is_no_time_is_told_as_it_is_and_forgotten() -> None:
    behind = Clock(float("nan"))
    clock = SqlClock(behind)
    assert str(clock.now()) == "nan"

    behind.seconds = 5.0
    assert clock.now() == 5.0


@requirement("storage.server-clock")
def test_between_two_answers_the_time_of_the_server_is_estimated_and_never_goes_back() -> None:
    clock = SqlClock(None)
    assert clock.now() == float("-inf")

    told = [clock.learn(None, 1000.0), clock.now(), clock.learn(None, 999.9), clock.now(), clock.learn(None, 900.0)]

    assert told == sorted(told)
    assert 1000.0 <= told[-1] < 1100.0  # a server that was put back by much goes on from there


BINDING, GRANT, CLAIM = approval("nonce-1", T0), grant("grant:1", T0), claim("key-1", "a")
LOOKS: dict[str, Callable[[SqlStore], Awaitable[object]]] = {
    "state": lambda store: store.approvals.state(BINDING),
    "get": lambda store: store.grants.get(GRANT.id),
    "list": lambda store: store.grants.list(),
    "load": lambda store: store.ledger.load(CLAIM.key.text),
}


@requirement("storage.clock")
@pytest.mark.parametrize("look", LOOKS)
async def test_what_was_seen_to_be_over_stays_so_after_a_restart_with_an_earlier_clock(where: str, look: str) -> None:
    """It was only looked at: nobody changed anything, and the block did not end in order."""
    clock = Clock()
    with suppress(LookupError):
        async with open_store(where, clock=clock) as store:
            await store.approvals.issue(BINDING)
            await store.grants.issue(GRANT)
            await store.ledger.apply(CLAIM)
            await store.ledger.apply(Start(CLAIM.key.text, "a"))
            clock.seconds = T0 + 300.0
            await LOOKS[look](store)
            raise LookupError

    clock.seconds = T0
    async with open_store(where, clock=clock) as store:
        assert store.now() == T0 + 300.0
        assert await store.approvals.state(BINDING) is None
        with pytest.raises(ApprovalError, match="expired"):
            await store.approvals.reserve(BINDING, BINDING.scope)
        assert await store.grants.get(GRANT.id) is None
        with pytest.raises(GrantError):
            await store.grants.spend(GRANT.id)
        found = await store.ledger.load(CLAIM.key.text)
        assert found is not None
        assert found.state == "unknown"
        assert isinstance(await store.ledger.apply(claim("key-1", "b")), Unknown)


@requirement("storage.clock")
async def test_two_stores_on_one_place_have_one_time(where: str) -> None:
    early, late = Clock(), Clock(T0 + 300.0)
    async with open_store(where, clock=early) as one, open_store(where, clock=late) as other:
        binding = approval("nonce-1", T0)
        await one.approvals.issue(binding)
        assert await one.approvals.state(binding) == "issued"

        assert await other.approvals.state(binding) is None
        assert await one.approvals.state(binding) is None
        assert one.now() == T0 + 300.0


@requirement("storage.server-clock")
async def test_hosts_with_wrong_clocks_go_by_that_of_the_server(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 5.0)
    [(before,)] = run_sql(schema, "SELECT extract(epoch FROM clock_timestamp())::float8")
    async with open_store(schema) as one, open_store(schema) as other:
        binding = approval("nonce-1", one.now())
        await one.approvals.issue(binding)
        await other.approvals.consume(binding, binding.scope)
        told = one.now()
    [(after,)] = run_sql(schema, "SELECT extract(epoch FROM clock_timestamp())::float8")

    assert isinstance(before, float)
    assert isinstance(after, float)
    assert before - 5.0 <= told <= after


def rows(where: str) -> int:
    """How many rows there are in all tables."""
    import sqlite3  # noqa: PLC0415 - only here

    if "://" in where:
        return sum(int(str(run_sql(where, f"SELECT count(*) FROM {table}")[0][0])) for table in TABLES)  # noqa: S608
    connection = sqlite3.connect(where)
    try:
        return sum(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES)  # noqa: S608
    finally:
        connection.close()


@requirement("storage.retention")
async def test_what_has_expired_is_deleted_and_attempts_are_kept(where: str) -> None:
    clock = Clock()
    async with open_store(where, clock=clock) as store:
        for index in range(3):
            await store.approvals.issue(approval(f"nonce-{index}", T0))
            await store.grants.issue(grant(f"grant:{index}", T0))
            await store.grants.reserve(f"grant:{index}")
        await store.ledger.apply(claim("key-1", "a"))
        assert rows(where) == 10
        clock.seconds += 301.0
        with pytest.raises(ApprovalError, match="expired"):
            await store.approvals.issue(approval("nonce-0", T0))
    async with open_store(where, clock=clock) as store:
        kept = approval("nonce-9", clock.seconds)
        await store.approvals.issue(kept)

        assert rows(where) == 2
        assert await store.approvals.state(kept) == "issued"


@requirement("storage.retention")
async def test_an_id_that_was_forgotten_is_another_grant(where: str) -> None:
    """A reservation of the one before it must not be one of this."""
    clock = Clock()
    async with open_store(where, clock=clock) as store:
        await store.grants.issue(grant("grant:1", T0))
        old = await store.grants.reserve("grant:1")
        clock.seconds += 301.0
        again = grant("grant:1", clock.seconds)
        await store.grants.issue(again)

        with pytest.raises(GrantError, match="not-found"):
            await store.grants.commit(old)
        await store.grants.release(old)
        [state] = await store.grants.list()
        assert state.uses_remaining == 3


@requirement("storage.clock")
async def test_while_the_clock_says_no_time_nothing_is_lost(tmp_path: Path) -> None:
    clock = Clock()
    binding = approval("nonce-1", T0)
    async with open_store(tmp_path / "store.db", clock=clock) as store:
        await store.approvals.issue(binding)
        clock.seconds = float("nan")
        with pytest.raises(ApprovalError, match="invalid-binding"):
            await store.approvals.reserve(binding, binding.scope)
        clock.seconds = T0 + 1.0
        await store.approvals.consume(binding, binding.scope)
