"""What one run of one side of a row costs: time, or memory.

Only the standard library is used here: other packages are measured with this too, in environments of their own.
"""

from __future__ import annotations

import gc
import mmap
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_STATM: Final = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Sample:
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
