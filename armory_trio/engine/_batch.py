"""Several calls admitted together, joined by one latch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import trio

from ..definitions import BatchError, ToolResult
from ..definitions._checks import shown
from ._abort import abort_each, request_abort
from ._concurrency import Latch
from ._execution import Core, Record
from ._handle import wait_settled
from ._lifecycle import AbortSource
from ._timers import RELEASE_AFTER

BatchMode = Literal["parallel", "sequential"]
OnError = Literal["collect", "fail_fast"]


class Batch:
    """The members of one batch. A batch is no execution: it has no state of its own."""

    __slots__ = ("__weakref__", "_all_released", "_core", "_first", "_left", "_records", "_trips", "id")

    def __init__(self, core: Core, identity: str, *, size: int, fail_fast: bool) -> None:
        self._core = core
        self.id: str = identity
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
            sweep = self._core.hooks.sweep
            if sweep is None:
                self.trip()
            else:
                sweep.tripped.append(self.trip)

    def trip(self) -> None:
        """A member has failed and the batch fails fast: ask the others to stop."""
        for member in self._records:
            self._stop(member)

    def _stop(self, record: Record) -> None:
        assert self._first is not None
        if record.verdict is None:
            request_abort(record, "batch", f"call {self._first.batch_index} of the batch failed")

    def abort(self, source: AbortSource, reason: str) -> None:
        """Ask all members to stop."""
        abort_each(self._core, ((record, reason) for record in self._records), source)

    @property
    def over(self) -> bool:
        """Whether every body is gone."""
        return all(record.over for record in self._records)

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


def check_batch(calls: object, mode: str, concurrency: object, on_error: str, batch_id: str | None) -> None:
    """Refuse wrong options of a batch.

    Raises:
        TypeError: The calls are no sequence, or the id is no string.
        ValueError: One of them is not legal.
    """
    if not isinstance(calls, Sequence) or isinstance(calls, str | bytes):
        raise TypeError(f"{shown(calls)} is no list of calls; give [ToolCall(...), ...], or use execute for one call")
    if batch_id is not None and not (isinstance(batch_id, str) and batch_id):  # type: ignore[redundant-expr]  # pyright: ignore[reportUnnecessaryIsInstance]  # a host may give anything
        raise TypeError(f"batch_id={batch_id!r}: give a string that is not empty, or None")
    if mode not in ("parallel", "sequential"):
        raise ValueError(f"mode={mode!r}: give 'parallel' or 'sequential'")
    if on_error not in ("collect", "fail_fast"):
        raise ValueError(f"on_error={on_error!r}: give 'collect' or 'fail_fast'")
    if concurrency is None:
        return
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise ValueError(f"concurrency={concurrency!r}: give a whole number, 1 or more, or None for no bound")
