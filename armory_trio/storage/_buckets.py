"""Token buckets in a database."""

from __future__ import annotations

from functools import partial
from typing import Final, final

from ..buckets import Rate, Taken, take
from ._asked import check_taking
from ._documents import key_of
from ._part import StorePart
from ._rows import Kind, Operation, Row, View
from ._schema import BUCKETS


class BucketRow(Row, frozen=True):
    """A bucket that is full at ``expires_at``, and counts for nothing from then on: one that is not there is full."""

    expires_at: float


ROWS: Final = Kind(BUCKETS, BucketRow)


@final
class SqlBuckets(StorePart):
    """The token buckets of a store. A `BucketStore`; `open_store` makes it.

    Cancelled: an operation was not begun, and has taken nothing. One that has begun returns.

    Every operation raises `StoreUnavailable` when the database can't be used.
    """

    async def take(self, bucket: str, rate: Rate, most: int = 1, /) -> Taken:
        """As `BucketStore.take`."""
        check_taking(bucket, rate, most)
        key = key_of(bucket)
        return await self._lanes.run(Operation(partial(_take, key, rate, most), ((ROWS, key),)))


def _take(key: str, rate: Rate, most: int, view: View, now: float) -> Taken:
    row = view.get(ROWS, key)
    full_at, taken = take(None if row is None else row.expires_at, now, rate, most)
    if taken.tokens and full_at is not None:
        view.put(ROWS, key, BucketRow(full_at))
    return taken
