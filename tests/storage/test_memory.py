"""The ledger in memory: the published suite, and what is its own."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import pytest
from msgspec.structs import replace

from armory_trio.buckets import BucketStore, Rate, Taken
from armory_trio.journal import JournalStore, Publication
from armory_trio.ledger import (
    Claim,
    Complete,
    Done,
    FenceLost,
    Fresh,
    LedgerKey,
    LedgerStore,
    Recorded,
    Refused,
    Start,
    Unknown,
)
from armory_trio.storage.memory import MemoryBuckets, MemoryJournal, MemoryLedger
from armory_trio.testing import (
    BucketStoreCase,
    JournalStoreCase,
    LedgerStoreCase,
    bucket_store_cases,
    journal_store_cases,
    ledger_store_cases,
)
from tests.requirements import requirement

T = TypeVar("T")
KEY: Final = LedgerKey("acme", "default:charge@1", "order-1")
CLAIM: Final = Claim(
    key=KEY,
    tool_name="charge",
    attempt_id="a",
    arguments="{}",
    execution_id="e1",
    host="h1",
    policy_revision="p1",
    lease=30.0,
    cap=300.0,
)


class Clock:
    def __init__(self, seconds: float = 1_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def at_once(doing: Coroutine[object, object, T]) -> T:
    """What *doing* answers without waiting for anything."""
    try:
        doing.send(None)
    except StopIteration as end:
        answer: T = end.value
        return answer
    raise AssertionError("it waited")


@asynccontextmanager
async def in_memory(clock: Callable[[], float]) -> AsyncGenerator[LedgerStore]:
    yield MemoryLedger(clock)


@requirement("ledger.stores", "ledger.claim", "ledger.lists", "ledger.kept", "ledger.clock")
@pytest.mark.parametrize("case", ledger_store_cases())
async def test_the_ledger_in_memory_is_a_ledger_store(case: LedgerStoreCase) -> None:
    await case(in_memory)


@asynccontextmanager
async def journal_in_memory(clock: Callable[[], float]) -> AsyncGenerator[JournalStore]:
    yield MemoryJournal(clock)


@requirement("journal.stores")
@pytest.mark.parametrize("case", journal_store_cases())
async def test_the_journal_in_memory_is_a_journal_store(case: JournalStoreCase) -> None:
    await case(journal_in_memory)


@requirement("journal.stores")
def test_a_journal_in_memory_is_true_and_says_how_much_it_keeps() -> None:
    journal = MemoryJournal()
    assert journal
    assert len(journal) == 0

    at_once(journal.append([Publication(journal.now(), "h", "e-1", 1, "{}")]))

    assert len(journal) == 1
    assert journal.now() > 1_600_000_000


@asynccontextmanager
async def buckets_in_memory(clock: Callable[[], float]) -> AsyncGenerator[BucketStore]:
    yield MemoryBuckets(clock)


@requirement("rate-limit.stores")
@pytest.mark.parametrize("case", bucket_store_cases())
async def test_the_buckets_in_memory_are_a_bucket_store(case: BucketStoreCase) -> None:
    await case(buckets_in_memory)


@requirement("rate-limit.swept")
def test_buckets_that_are_full_again_are_not_kept() -> None:
    clock = Clock()
    buckets = MemoryBuckets(clock)
    assert buckets
    rate = Rate(1.0, 2)
    for number in range(10_000):
        assert at_once(buckets.take(f"b{number}", rate)) == Taken(1, 0.0)
        clock.seconds += 0.01

    assert 100 <= len(buckets) <= 2_048


@requirement("ledger.memory")
def test_no_operation_waits_for_anything() -> None:
    ledger = MemoryLedger(Clock())

    assert isinstance(at_once(ledger.apply(CLAIM)), Fresh)
    assert at_once(ledger.load(KEY.text)) == at_once(ledger.list())[0]
    assert at_once(ledger.forget(ended_before=0.0)) == 0


@requirement("ledger.memory")
def test_a_ledger_is_true_and_says_how_much_it_keeps() -> None:
    ledger = MemoryLedger(Clock())
    assert ledger
    assert len(ledger) == 0

    at_once(ledger.apply(CLAIM))

    assert len(ledger) == 1


@requirement("ledger.memory")
def test_its_clock_is_wall_time_unless_it_is_given_one() -> None:
    answer = at_once(MemoryLedger().apply(CLAIM))

    assert isinstance(answer, Fresh)
    assert answer.attempt.claimed_at > 1_600_000_000


@requirement("ledger.clock")
def test_a_clock_that_was_put_back_goes_on_from_where_it_was() -> None:
    clock = Clock()
    ledger = MemoryLedger(clock)
    at_once(ledger.apply(CLAIM))
    at_once(ledger.apply(Start(KEY.text, "a")))
    clock.seconds -= 500.0

    assert ledger.now() == 1_000.0
    clock.seconds += 29.0
    assert isinstance(at_once(ledger.apply(Start(KEY.text, "a"))), Done)
    clock.seconds += 1.0
    assert isinstance(at_once(ledger.apply(replace(CLAIM, attempt_id="b"))), Unknown)


@requirement("ledger.clock")
def test_while_the_clock_says_no_time_nothing_is_done_and_nothing_is_over() -> None:
    clock = Clock()
    ledger = MemoryLedger(clock)
    at_once(ledger.apply(CLAIM))
    at_once(ledger.apply(Start(KEY.text, "a")))
    clock.seconds = math.nan

    assert isinstance(at_once(ledger.apply(Complete(KEY.text, "a", "completed", "1"))), Refused)
    shown = at_once(ledger.load(KEY.text))
    assert shown is not None
    assert shown.state == "started"

    clock.seconds = 1_001.0
    assert isinstance(at_once(ledger.apply(Complete(KEY.text, "a", "completed", "1"))), Done)


@requirement("ledger.kept")
def test_what_was_forgotten_can_be_done_again() -> None:
    clock = Clock()
    ledger = MemoryLedger(clock)
    for operation in (CLAIM, Start(KEY.text, "a"), Complete(KEY.text, "a", "completed", "1")):
        at_once(ledger.apply(operation))
    assert isinstance(at_once(ledger.apply(CLAIM)), Recorded)

    assert at_once(ledger.forget(ended_before=1_000.0)) == 0
    clock.seconds = 1_001.0
    assert at_once(ledger.forget(ended_before=1_000.5)) == 1

    assert at_once(ledger.list()) == ()
    assert isinstance(at_once(ledger.apply(CLAIM)), Fresh)


@requirement("ledger.lists")
def test_a_list_follows_what_comes_and_goes() -> None:
    ledger = MemoryLedger(Clock())
    keys = [LedgerKey("acme", "default:charge@1", letter) for letter in "cab"]
    for key in keys:
        at_once(ledger.apply(replace(CLAIM, key=key)))
    assert [row.key for row in at_once(ledger.list())] == sorted(key.text for key in keys)

    for key in keys:
        at_once(ledger.apply(Complete(key.text, "a", "none")))
        at_once(ledger.list())

    assert at_once(ledger.list()) == ()
    assert at_once(ledger.apply(Start(keys[0].text, "a"))) == FenceLost(None)
