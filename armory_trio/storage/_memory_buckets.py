"""Token buckets of one process, which end with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, final

from ..authority._clock import MemoryClock
from ..buckets import Rate, Taken, take
from ..definitions._plurals import counted
from ._asked import check_taking

_SWEPT_FROM: Final = 1024
"""Buckets from which on those that are full are looked for, each time that there are twice as many as were left."""


@final
class MemoryBuckets:
    """A `BucketStore` for the supervisors of one process. For one thread.

    Every operation is one step in which nothing is awaited: it takes no checkpoint, and can't be cancelled halfway.

    Args:
        clock: The time in seconds since 1970.
    """

    __slots__ = ("_clock", "_full_at", "_sweep_at")

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = MemoryClock(clock)
        self._full_at: dict[str, float] = {}
        self._sweep_at = _SWEPT_FROM

    def __repr__(self) -> str:
        return f"<MemoryBuckets: {counted(len(self), 'bucket')}>"

    def now(self) -> float:
        """The time: that of the clock, but never before the latest time that was told."""
        return self._clock.now()

    async def take(self, bucket: str, rate: Rate, most: int = 1, /) -> Taken:
        """As `BucketStore.take`."""
        check_taking(bucket, rate, most)
        now = self.now()
        full_at, taken = take(self._full_at.get(bucket), now, rate, most)
        if full_at is None:
            self._full_at.pop(bucket, None)
        else:
            self._full_at[bucket] = full_at
        if len(self._full_at) >= self._sweep_at:
            self._full_at = {name: full for name, full in self._full_at.items() if full > now}
            self._sweep_at = max(_SWEPT_FROM, 2 * len(self._full_at))
        return taken

    def __len__(self) -> int:
        """How many buckets are kept."""
        return len(self._full_at)

    def __bool__(self) -> bool:
        """True, also when none is kept."""
        return True
