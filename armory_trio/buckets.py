"""Token buckets that hosts share: what a bucket is, how tokens are taken, and what a store of them must do."""

from __future__ import annotations

from typing import Protocol

import msgspec

from .authority._clock import is_time
from .definitions._declared import Declared

__all__ = ("BucketStore", "Rate", "Taken", "take")


class Rate(Declared, frozen=True):
    """How a bucket fills.

    Args:
        interval: Seconds in which one token comes.
        burst: How many it holds when it is full.
    """

    interval: float
    burst: int


class Taken(msgspec.Struct, frozen=True):
    """What somebody got out of a bucket.

    Args:
        tokens: How many.
        wait: Seconds until the next token is there; 0 if one is there already.
    """

    tokens: int
    wait: float


class BucketStore(Protocol):
    """Keeps token buckets. Whoever shares a limit shares one store, and so one clock.

    All of it is required. `armory_trio.testing.bucket_store_cases` are tests for this. A bucket is kept as the time at
    which it is full; one that is full is like one that nobody has ever asked for, and may be dropped.

    Cancelled: tokens were taken, or were not. What goes wrong with the storage itself is raised as it comes.
    """

    def now(self) -> float:
        """The time, in seconds since 1970, on the one clock that counts for these buckets. It never goes back."""
        ...

    async def take(self, bucket: str, rate: Rate, most: int = 1, /) -> Taken:
        """Take as many tokens as there are, up to *most*, as `take` says, at the time `now`.

        That is one step that nothing comes between, whoever else uses the store, from whatever process. Who asks for
        one bucket by two rates gets what the one says that he gives.

        Args:
            bucket: Its name.
            rate: How it fills.
            most: How many are wanted, from 1 on.
        """
        ...


def take(full_at: float | None, now: float, rate: Rate, most: int) -> tuple[float | None, Taken]:
    """When a bucket is full after somebody has taken from it, and what they got. None: it is full already.

    Nobody gets anything while *now* is no time.

    Args:
        full_at: When it is full before that.
        now: The time, in seconds since 1970.
        rate: How it fills.
        most: How many tokens are wanted.
    """
    if not is_time(now):
        return full_at, Taken(0, rate.interval)
    slack = rate.interval * (rate.burst - 1)
    full = now if full_at is None else max(full_at, now)
    tokens = 0
    while tokens < most and full - slack <= now:
        full += rate.interval
        tokens += 1
    return full if full > now else None, Taken(tokens, max(full - slack - now, 0.0))
