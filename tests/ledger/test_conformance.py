"""Ledgers that break the rules: the published suite finds out which."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Final

import pytest
import trio
from msgspec.structs import replace

from armory_trio.ledger import (
    Answer,
    Attempt,
    AttemptState,
    Claim,
    LedgerStore,
    Operation,
    Release,
    aged,
    apply,
    key_text,
)
from armory_trio.storage.memory import MemoryLedger
from armory_trio.testing import ledger_store_cases
from tests.requirements import requirement

CASES: Final = ledger_store_cases()


class OddLedger:
    """A ledger that is right, for those below to be wrong in one respect."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.right = MemoryLedger(clock)

    def now(self) -> float:
        return self.right.now()

    async def apply(self, operation: Operation, /) -> Answer:
        return await self.right.apply(operation)

    async def load(self, key_text: str, /) -> Attempt | None:
        return await self.right.load(key_text)

    async def list(
        self,
        *,
        states: Collection[AttemptState] | None = None,
        tenant: str | None = None,
        tool_name: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Attempt]:
        return await self.right.list(
            states=states, tenant=tenant, tool_name=tool_name, host=host, after=after, limit=limit
        )

    async def forget(self, *, ended_before: float) -> int:
        return await self.right.forget(ended_before=ended_before)


class Interruptible(OddLedger):
    """Can be cancelled before an operation, as one that waits for its turn."""

    async def apply(self, operation: Operation, /) -> Answer:
        await trio.lowlevel.checkpoint()
        return await self.right.apply(operation)


class Interrupted(OddLedger):
    """Can be cancelled after an operation, as one whose answer is lost."""

    async def apply(self, operation: Operation, /) -> Answer:
        answer = await self.right.apply(operation)
        await trio.lowlevel.checkpoint()
        return answer


class Torn(OddLedger):
    """Something comes between reading and writing."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.rows: dict[str, Attempt | None] = {}

    async def apply(self, operation: Operation, /) -> Answer:
        row = self.rows.get(key_text(operation))
        await trio.lowlevel.checkpoint()
        after, answer = apply(row, operation, self.now())
        self.rows[key_text(operation)] = after
        return answer

    async def load(self, key_text: str, /) -> Attempt | None:
        return self.rows.get(key_text)


class Jumpy(OddLedger):
    """Its clock goes back."""

    def now(self) -> float:
        return self.clock()


class Generous(OddLedger):
    """Gives every lease half a millisecond more."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.rows: dict[str, Attempt | None] = {}

    async def apply(self, operation: Operation, /) -> Answer:
        row = self.rows.get(key_text(operation))
        after, answer = apply(row, operation, self.now() - (0.0005 if row else 0.0))
        self.rows[key_text(operation)] = after
        return answer

    async def load(self, key_text: str, /) -> Attempt | None:
        row = self.rows.get(key_text)
        return None if row is None else aged(row, self.now())


class Unaged(OddLedger):
    """Shows what it wrote, whatever the time is."""

    async def load(self, key_text: str, /) -> Attempt | None:
        row = await self.right.load(key_text)
        return row if row is None or row.state != "unknown" else replace(row, state="started", ended_at=None)


class Careless(OddLedger):
    """Takes keys that look alike for one."""

    async def apply(self, operation: Operation, /) -> Answer:
        if isinstance(operation, Claim):
            operation = replace(operation, key=replace(operation.key, key=operation.key.key.strip()))
        return await self.right.apply(operation)


class Deaf(OddLedger):
    """Does not do what it answers."""

    async def apply(self, operation: Operation, /) -> Answer:
        if not isinstance(operation, Release):
            return await self.right.apply(operation)
        row = await self.right.load(operation.key_text)
        return apply(row, operation, self.now())[1]


class Hoarder(OddLedger):
    """Forgets nothing, and says that it did."""

    async def forget(self, *, ended_before: float) -> int:
        rows = await self.right.list(states=["completed", "abandoned"])
        return sum((row.ended_at or 0.0) < ended_before for row in rows)


class Forgetful(OddLedger):
    """Forgets what is unknown, too."""

    gone: frozenset[str] = frozenset()

    async def forget(self, *, ended_before: float) -> int:
        self.gone = frozenset(row.key for row in await self.right.list(states=["unknown"], limit=1_000))
        return await self.right.forget(ended_before=ended_before)

    async def list(
        self,
        *,
        states: Collection[AttemptState] | None = None,
        tenant: str | None = None,
        tool_name: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Attempt]:
        rows = await self.right.list(
            states=states, tenant=tenant, tool_name=tool_name, host=host, after=after, limit=limit
        )
        return [row for row in rows if row.key not in self.gone]


class Inclusive(OddLedger):
    """Forgets what ended at the very instant, too."""

    async def forget(self, *, ended_before: float) -> int:
        return await self.right.forget(ended_before=ended_before + 0.001)


class Unsorted(OddLedger):
    """Lists in the order of words."""

    async def list(
        self,
        *,
        states: Collection[AttemptState] | None = None,
        tenant: str | None = None,
        tool_name: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Attempt]:
        rows = await self.right.list(
            states=states, tenant=tenant, tool_name=tool_name, host=host, after=after, limit=limit
        )
        return sorted(rows, key=lambda row: row.key.casefold())


class Unfiltered(OddLedger):
    """Does not look at the host."""

    async def list(
        self,
        *,
        states: Collection[AttemptState] | None = None,
        tenant: str | None = None,
        tool_name: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Attempt]:
        return await self.right.list(states=states, tenant=tenant, tool_name=tool_name, after=after, limit=limit)


async def failing(make: Callable[[Callable[[], float]], LedgerStore], *words: str) -> list[str]:
    """The names of the cases that *make* does not pass, of those with one of the words in their names."""

    @asynccontextmanager
    async def opened(clock: Callable[[], float]) -> AsyncGenerator[LedgerStore]:
        yield make(clock)

    failed: list[str] = []
    for case in CASES:
        if not any(word in case.name for word in words):
            continue
        try:
            with trio.fail_after(20):
                await case(opened)
        except AssertionError:
            failed.append(case.name)
    return failed


@requirement("ledger.stores")
@pytest.mark.parametrize("make", [OddLedger, Interruptible, Interrupted])
async def test_a_ledger_that_is_right_passes(make: Callable[[Callable[[], float]], LedgerStore]) -> None:
    assert await failing(make, "") == []


@requirement("ledger.stores")
@pytest.mark.parametrize(
    ("make", "word"),
    [
        (Torn, "many-that-claim"),
        (Torn, "many-that-take-over"),
        (Torn, "many-that-retry"),
        (Torn, "all-counted"),
        (Torn, "or-it-is-taken-over"),
        (Jumpy, "whatever-the-clock-does"),
        (Generous, "until-the-instant"),
        (Unaged, "until-the-instant"),
        (Unaged, "whatever-the-clock-does"),
        (Careless, "keys-that-differ"),
        (Deaf, "what-is-claimed-does"),
        (Hoarder, "only-what-has-ended"),
        (Forgetful, "only-what-has-ended"),
        (Inclusive, "only-what-has-ended"),
        (Unsorted, "a-list-shows"),
        (Unfiltered, "a-list-shows"),
    ],
)
async def test_a_ledger_that_breaks_a_rule_fails_its_case(
    make: Callable[[Callable[[], float]], LedgerStore], word: str
) -> None:
    assert len(await failing(make, word)) == 1


@requirement("ledger.stores")
def test_cases_have_names_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert [case.__name__ for case in CASES] == [case.name for case in CASES]
