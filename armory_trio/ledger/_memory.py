"""A ledger of one process, which ends with it."""

from __future__ import annotations

import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import final

from ..authority._clock import MemoryClock
from ..definitions._plurals import counted
from ._asked import check_ended_before, check_key_text, check_operation, check_page
from ._attempts import Answer, Attempt, AttemptState
from ._operations import Operation
from ._rules import aged, apply, key_text, may_be_forgotten


@final
class MemoryLedger:
    """A `LedgerStore` that keeps attempts as long as the process lives, and so is no help after a crash. For one thread.

    Every operation is one step in which nothing is awaited: it takes no checkpoint, and can't be cancelled halfway.

    Its clock never goes back. Where *clock* does, it goes on from the latest time that was seen, at the pace of
    *clock*: leases may then end early, and none that is over becomes live.

    Args:
        clock: The time in seconds since 1970. While it says none, such as NaN, every operation is refused.
    """

    __slots__ = ("_clock", "_order", "_rows")

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = MemoryClock(clock)
        self._rows: dict[str, Attempt] = {}
        # The keys in order, until one comes or goes: who lists is rare, who claims is not.
        self._order: list[str] | None = None

    def __repr__(self) -> str:
        return f"<MemoryLedger: {counted(len(self._rows), 'attempt')}>"

    def now(self) -> float:
        """The time: that of the clock, but never before the latest time that was seen."""
        return self._clock.now()

    async def apply(self, operation: Operation, /) -> Answer:
        """Do *operation*. See `LedgerStore.apply`."""
        check_operation(operation)
        key = key_text(operation)
        before = self._rows.get(key)
        after, answer = apply(before, operation, self.now())
        if after is not None:
            self._rows[key] = after
        elif before is not None:
            del self._rows[key]
        if (before is None) != (after is None):
            self._order = None
        return answer

    async def load(self, key_text: str, /) -> Attempt | None:
        """The attempt that is there for a key, or None. See `LedgerStore.load`."""
        check_key_text(key_text)
        row = self._rows.get(key_text)
        return None if row is None else aged(row, self.now())

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
        """A page of attempts in the order of their keys. See `LedgerStore.list`."""
        sought = {"tenant": tenant, "tool_name": tool_name, "host": host, "after": after}
        wanted = check_page(states, limit, sought)
        if self._order is None:
            self._order = sorted(self._rows)
        order, now = self._order, self.now()
        start = 0 if after is None else bisect_right(order, after)
        rows = (aged(self._rows[order[index]], now) for index in range(start, len(order)))
        found = (
            row
            for row in rows
            if (wanted is None or row.state in wanted)
            and tenant in {None, row.tenant}
            and tool_name in {None, row.tool_name}
            and host in {None, row.host}
        )
        return tuple(islice(found, min(limit, sys.maxsize)))

    async def forget(self, *, ended_before: float) -> int:
        """Forget what was completed or abandoned before the instant; how many. See `LedgerStore.forget`."""
        instant = check_ended_before(ended_before, self.now())
        over = [
            key
            for key, row in self._rows.items()
            if may_be_forgotten(row) and row.ended_at is not None and row.ended_at < instant
        ]
        for key in over:
            del self._rows[key]
        if over:
            self._order = None
        return len(over)

    def __len__(self) -> int:
        """How many attempts are kept."""
        return len(self._rows)

    def __bool__(self) -> bool:
        """True, also when none is kept."""
        return True
