"""The longest time for which everybody else had to wait."""

from __future__ import annotations

import math
import time

import trio

from ._sample import Sample


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
