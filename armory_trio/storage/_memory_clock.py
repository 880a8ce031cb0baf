"""The clock of stores in memory: never earlier than the latest time that it told."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from ..authority._grants import is_time


@final
class MemoryClock:
    """What the time is. Where *clock* goes back, it goes on from the latest time that was told, at the pace of *clock*.

    Args:
        clock: The time in seconds since 1970.
    """

    __slots__ = ("_ahead", "_clock", "_latest")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ahead = 0.0
        self._latest = 0.0

    def now(self) -> float:
        """The time; what the clock says if that is none, such as NaN."""
        reading = self._clock()
        if not is_time(reading):
            return reading
        now = max(reading + self._ahead, self._latest)
        self._ahead = max(self._ahead, now - reading)
        self._latest = now
        return now
