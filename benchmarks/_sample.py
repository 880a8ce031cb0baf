"""What one run of one side of a row costs: time, or memory."""

from __future__ import annotations

import gc
import math
import mmap
import time
import tracemalloc
from pathlib import Path
from typing import Final

import msgspec
import trio

_STATM: Final = Path("/proc/self/statm")


class Sample(msgspec.Struct, frozen=True):
    """The cost of some units of work.

    Args:
        units: How many.
        wall: Seconds by the clock on the wall, all of them together.
        cpu: Seconds of processor time of this process.
        size: Bytes.
    """

    units: int
    wall: float = 0.0
    cpu: float = 0.0
    size: int = 0


class Stopwatch:
    """Runs from when it is made. The garbage of what was before is collected first, so that it is not paid for here."""

    __slots__ = ("_cpu", "_wall")

    def __init__(self) -> None:
        gc.collect()
        self._cpu = time.process_time()
        self._wall = time.perf_counter()

    def read(self, units: int) -> Sample:
        """What *units* pieces of work have cost since then."""
        wall = time.perf_counter() - self._wall
        return Sample(units, wall, time.process_time() - self._cpu)


class Gauge:
    """Measures by how many bytes the process grows.

    That is what the system says of its resident pages: nothing slows down, and all allocators count. Where ``/proc``
    does not exist it is what `tracemalloc` sees, which is Python's own memory only, and slow.
    """

    __slots__ = ("_before",)

    def __init__(self) -> None:
        if not _STATM.exists() and not tracemalloc.is_tracing():
            tracemalloc.start()
        self._before = self._now()

    def read(self, units: int) -> Sample:
        """By how many bytes the process has grown since this gauge was made, for *units* pieces of work."""
        return Sample(units, size=self._now() - self._before)

    def _now(self) -> int:
        gc.collect()
        if _STATM.exists():
            return int(_STATM.read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
        return tracemalloc.get_traced_memory()[0]


class Ticker:
    """A task that has nothing to do, and notes how long it ever had to wait for its turn."""

    __slots__ = ("_cpu", "_longest_cpu", "_longest_wall", "_wall")

    def __init__(self) -> None:
        self._longest_wall = self._longest_cpu = 0.0
        self._wall = self._cpu = math.inf

    async def run(self) -> None:
        """Have every turn that there is, until cancelled."""
        while True:
            wall, cpu = time.perf_counter(), time.process_time()
            self._longest_wall = max(self._longest_wall, wall - self._wall)
            self._longest_cpu = max(self._longest_cpu, cpu - self._cpu)
            self._wall, self._cpu = wall, cpu
            await trio.lowlevel.checkpoint()

    async def wait_for_turns(self) -> None:
        """Return when it has had a few turns. Cancelled: nothing has changed."""
        for _ in range(10):  # it runs each time that trio runs whoever can run, as this task does
            await trio.lowlevel.checkpoint()

    def read(self) -> Sample:
        """The longest wait, as the cost of one pause."""
        return Sample(1, self._longest_wall, self._longest_cpu)
