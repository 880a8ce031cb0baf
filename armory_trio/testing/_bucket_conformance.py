"""What every `BucketStore` has to do, as cases that its tests run against it."""

from __future__ import annotations

import math
import secrets
from collections.abc import Awaitable, Callable
from typing import Final, cast

import trio

from ..buckets import BucketStore, Rate, Taken, take
from ._grant_trials import require
from ._store_case import NO_NUMBER, NO_TEXT, OpenStore, StoreCase, require_refused
from ._store_clock import StoreClock

_CROWD: Final = 32
"""Tasks that take at once: more than the connections of a pool, so that some have to queue."""

_ODD: Final = "odd ' \" % \\ ; -- \n \0 \ud800 \u00e9 \U0001f512 end"

_RATE: Final = Rate(interval=2.0, burst=5)

OpenBucketStore = OpenStore[BucketStore]
"""Opens a new, empty store that reads the clock that it is given, in seconds since 1970, and closes it."""

_Check = Callable[[BucketStore, StoreClock], Awaitable[None]]


BucketStoreCase = StoreCase[BucketStore]
"""One thing that such a store has to do: a name for reports, and a check that is tried with an empty store."""


def bucket_store_cases() -> tuple[BucketStoreCase, ...]:
    """Everything that a store of token buckets has to do.

    Hand them to ``pytest.mark.parametrize("case", bucket_store_cases())``; the test is ``await case(open_my_store)``.
    They share nothing, and take no time but that of the store.
    """
    return tuple(BucketStoreCase(name.replace(" ", "-"), check) for name, check in _CASES)


def _new() -> str:
    return f"bucket:{secrets.token_hex(8)}"


async def _as_the_rules_say(store: BucketStore, clock: StoreClock) -> None:
    for rate in (_RATE, Rate(0.25, 1), Rate(0.1, 40), Rate(1_000.0, 3)):
        bucket = _new()
        full_at: float | None = None
        for index in range(12):
            most = 1 + index % 4
            full_at, wanted = take(full_at, clock.seconds, rate, most)
            answer = await store.take(bucket, rate, most)
            require(answer == wanted, f"take of {most} by {rate} is answered with {answer}, not {wanted}")
            clock.seconds += (0.0, rate.interval, rate.interval / 2, 3 * rate.interval)[index % 4]


async def _burst(store: BucketStore, clock: StoreClock) -> None:
    bucket = _new()
    answer = await store.take(bucket, _RATE, 100)
    require(answer == Taken(5, 2.0), f"a full bucket of 5 gives {answer}")
    clock.seconds += answer.wait
    answer = await store.take(bucket, _RATE)
    require(answer.tokens == 1, "after the wait that was told there is nothing")
    clock.seconds += 1_000.0
    answer = await store.take(bucket, _RATE, 100)
    require(answer.tokens == 5, f"after a long time a bucket of 5 gives {answer}")


async def _names(store: BucketStore, _clock: StoreClock) -> None:
    names = ["b", "B", "b ", _ODD, "x" * 5_000, "x" * 5_001, ""]
    for name in names:
        answer = await store.take(name, _RATE, 5)
        require(answer.tokens == 5, f"the bucket {name[:40]!r} is taken for another one")
    for name in names:
        answer = await store.take(name, _RATE)
        require(answer.tokens == 0, f"the bucket {name[:40]!r} is not found again")


async def _never_more(store: BucketStore, _clock: StoreClock) -> None:
    bucket = _new()
    answers: list[Taken] = []

    async def want() -> None:
        await trio.lowlevel.checkpoint()
        answers.append(await store.take(bucket, _RATE))

    async with trio.open_nursery() as nursery:
        for _ in range(_CROWD):
            nursery.start_soon(want, name="armory_trio.testing: one who takes")
    taken = sum(answer.tokens for answer in answers)
    require(taken == 5, f"{_CROWD} who take at once from a bucket of 5 get {taken}")


async def _never_back(store: BucketStore, clock: StoreClock) -> None:
    bucket = _new()
    await store.take(bucket, _RATE, 5)
    clock.seconds += 100.0
    await store.take(bucket, _RATE, 5)
    seen = store.now()
    clock.seconds -= 50.0
    require(store.now() >= seen, "the time goes back when the clock does")
    answer = await store.take(bucket, _RATE)
    require(answer == Taken(0, 2.0), f"when the clock goes back an empty bucket answers {answer}")


async def _no_time(store: BucketStore, clock: StoreClock) -> None:
    bucket = _new()
    await store.take(bucket, _RATE)
    before, clock.seconds = clock.seconds, math.nan
    answer = await store.take(bucket, _RATE)
    require(answer.tokens == 0 and answer.wait > 0, f"while the clock says no time, a bucket answers {answer}")
    clock.seconds = before
    answer = await store.take(bucket, _RATE, 10)
    require(answer.tokens == 4, "something was taken while the clock said no time")


async def _cancelled(store: BucketStore, _clock: StoreClock) -> None:
    bucket, answer = _new(), None
    with trio.CancelScope() as scope:
        scope.cancel()
        answer = await store.take(bucket, _RATE, 2)
    left = (await store.take(bucket, _RATE, 10)).tokens
    require(left in (3, 5), f"taking 2 of 5, cancelled, leaves {left}")
    require(answer is None or left == 3, "what was taken is there again")


async def _wrong_types(store: BucketStore, _clock: StoreClock) -> None:
    bucket = _new()
    await require_refused(
        {
            "a bucket that is no text": lambda: store.take(NO_TEXT, _RATE),
            "what is no rate": lambda: store.take(bucket, cast("Rate", 5)),
            "an interval that is no number": lambda: store.take(bucket, Rate(NO_NUMBER, 5)),
            "an interval of nothing": lambda: store.take(bucket, Rate(0.0, 5)),
            "a burst that is no number": lambda: store.take(bucket, Rate(2.0, NO_NUMBER)),
            "a burst of nothing": lambda: store.take(bucket, Rate(2.0, 0)),
            "to take what is no number": lambda: store.take(bucket, _RATE, NO_NUMBER),
            "to take nothing": lambda: store.take(bucket, _RATE, 0),
        }
    )
    answer = await store.take(bucket, _RATE, 10)
    require(answer.tokens == 5, "what is refused takes something")


_CASES: Final[tuple[tuple[str, _Check], ...]] = (
    ("what is taken is what the rules say", _as_the_rules_say),
    ("a full bucket gives its burst and no more", _burst),
    ("buckets whose names differ in anything are different", _names),
    ("many who take at once get no more than there is", _never_more),
    ("a bucket does not fill when the clock goes back", _never_back),
    ("while the clock says no time nothing is taken", _no_time),
    ("what is of a wrong type is refused", _wrong_types),
    ("taking that is cancelled was done or was not", _cancelled),
)
