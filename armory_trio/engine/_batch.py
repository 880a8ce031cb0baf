"""Several calls admitted together, joined by one latch."""

from __future__ import annotations

from typing import Literal

import trio

from ..definitions import BatchError, ToolResult
from ._abort import request_abort
from ._concurrency import Latch
from ._execution import RELEASE_AFTER, Record
from ._handle import wait_settled
from ._lifecycle import AbortSource

BatchMode = Literal["parallel", "sequential"]
OnError = Literal["collect", "fail_fast"]


class Batch:
    """The members of one batch. A batch is no execution: it has no state of its own."""

    __slots__ = ("_all_released", "_first", "_left", "_records", "_trips", "id")

    def __init__(self, identity: str, *, size: int, fail_fast: bool) -> None:
        self.id = identity
        self._trips = fail_fast
        self._records: list[Record] = []
        self._left = size
        self._first: Record | None = None
        self._all_released = Latch()

    def add(self, record: Record) -> None:
        """Take *record*, which was admitted just now, as the next member."""
        self._records.append(record)
        if record.verdict is not None:
            self.released(record)
        else:
            record.on_released = self.released
            if self._first is not None:
                self._stop(record)

    def released(self, record: Record) -> None:
        """The outcome of a member is decided."""
        self._left -= 1
        if not self._left:
            self._all_released.set()
        if self._trips and self._first is None and record.verdict is not None and record.verdict[0] == "error":
            self._first = record
            for member in self._records:
                self._stop(member)

    def _stop(self, record: Record) -> None:
        assert self._first is not None
        if record.verdict is None:
            request_abort(record, "batch", f"call {self._first.batch_index} of the batch failed")

    def abort(self, source: AbortSource, reason: str) -> None:
        """Ask all members to stop."""
        for record in self._records:
            request_abort(record, source, reason)

    def discard(self) -> None:
        """Nobody will ask for the results any more."""
        for record in self._records:
            record.discard()

    async def join(self) -> None:
        """Return when every outcome is decided and the bodies are gone, or had a moment to go.

        Cancelled: nothing has changed.
        """
        await self._all_released.wait()
        if any(not record.over for record in self._records):
            await self.part()

    async def part(self) -> None:
        """Wait a moment for the bodies that were asked to stop."""
        with trio.move_on_after(RELEASE_AFTER):  # noqa: ASYNC912  # nothing to wait for, nothing to cancel
            for record in self._records:
                if not record.over:
                    await wait_settled(record)

    def results(self) -> list[ToolResult[object]]:
        """The results in call order.

        Raises:
            BatchError: The batch fails fast, and one of its calls failed.
        """
        results = [record.take() for record in self._records]
        if self._first is not None:
            index = self._first.batch_index or 0
            raise BatchError(index, results[index], results)
        return results


def check_batch(mode: str, concurrency: int | None, on_error: str) -> None:
    """Refuse wrong options of a batch.

    Raises:
        ValueError: One of them is not legal.
    """
    if mode not in ("parallel", "sequential"):
        raise ValueError(f"mode={mode!r}: give 'parallel' or 'sequential'")
    if on_error not in ("collect", "fail_fast"):
        raise ValueError(f"on_error={on_error!r}: give 'collect' or 'fail_fast'")
    if concurrency is not None and concurrency < 1:
        raise ValueError(f"concurrency={concurrency!r}: give at least 1, or None for no bound")
