"""Standard output: lines in the order of the calls, written so that a slow reader stops no tool."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import attrs
import trio

_AT_ONCE: Final = 1024 * 1024
"""Bytes that are handed to one write; what is ready beyond that goes with the next one."""


@attrs.define(eq=False)
class Slot:
    """A place in the output, held for the lines of so many calls."""

    calls: int
    lines: bytes | None = None


class Outlet:
    """Writes lines.

    Args:
        write: Writes all bytes that it gets. It may block, and then runs in a worker thread.
        takes: Whether `write` would take so many bytes without blocking, as far as that can be told.
        ordered: Whether lines come out in the order in which their slots were reserved, or as they are filled.
        on_failure: Told once when nothing more can be written; what comes after that is dropped.
        on_progress: Told whenever something was written.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        takes: Callable[[int], bool],
        *,
        ordered: bool,
        on_failure: Callable[[OSError], None],
        on_progress: Callable[[], None],
    ) -> None:
        self._write = write
        self._takes = takes
        self._ordered = ordered
        self._on_failure = on_failure
        self._on_progress = on_progress
        self._held: deque[Slot] = deque()
        self._ready: deque[Slot] = deque()
        self._filled = trio.Event()
        self._written = trio.Event()
        self._free = trio.Event()
        self._free.set()
        self._closing = False
        self.pending = 0
        """Calls whose lines are not written yet."""
        self.lost = 0
        """Calls whose lines were never written."""
        self.failure: OSError | None = None

    def reserve(self, calls: int) -> Slot:
        """Hold the next place in the output for *calls* calls."""
        slot = Slot(calls)
        self.pending += calls
        if self._ordered:
            self._held.append(slot)
        return slot

    def fill(self, slot: Slot, lines: bytes) -> None:
        """Put whole *lines* in their place. They are written once everything before them is."""
        slot.lines = lines
        if not self._ordered:
            self._ready.append(slot)
        while self._held and self._held[0].lines is not None:
            self._ready.append(self._held.popleft())
        if self._ready:
            self._filled.set()

    @contextmanager
    def held(self) -> Generator[None]:
        """Write nothing in this block: somebody is asked something on the same terminal."""
        self._free = trio.Event()
        try:
            yield
        finally:
            self._free.set()

    def close(self) -> None:
        """Nothing more will be filled. What stands behind a place that stays empty moves up."""
        self._closing = True
        self._ready += [slot for slot in self._held if slot.lines is not None]
        self._held.clear()
        self._filled.set()

    def give_up(self, reason: OSError) -> None:
        """Whoever has to read does not, and `run` was cancelled: nothing more will be written."""
        self.failure = reason
        self.lost += self.pending

    async def room(self, bound: int) -> None:
        """Return when fewer than *bound* calls are pending. Cancelled: nothing has changed."""
        while self.pending >= bound:
            self._written = trio.Event()
            await self._written.wait()
        await trio.lowlevel.checkpoint()

    async def run(self) -> None:
        """Write what is ready, until closed and everything is written. Cancelled: a write under way is left behind."""
        while True:
            while self._ready:
                await self._free.wait()
                await self._write_some()
            if self._closing:
                return
            self._filled = trio.Event()
            await self._filled.wait()

    async def _write_some(self) -> None:
        taken: list[bytes] = []
        calls = size = 0
        while self._ready and size < _AT_ONCE:
            slot = self._ready.popleft()
            taken.append(slot.lines or b"")
            size += len(taken[-1])
            calls += slot.calls
            slot.lines = b""
        if size and self.failure is None:
            await self._put_down(b"".join(taken))
        if self.failure is not None:
            self.lost += calls
        self.pending -= calls
        self._written.set()
        self._on_progress()

    async def _put_down(self, data: bytes) -> None:
        try:
            if self._takes(len(data)):  # a thread for each short line would cost more than the call that it is about
                self._write(data)
            else:
                await trio.to_thread.run_sync(self._write, data, abandon_on_cancel=True)
        except OSError as error:
            self.failure = error
            self._on_failure(error)
