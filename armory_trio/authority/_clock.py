"""What a time is to the stores, and the clock of those in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeGuard, final

LATEST: Final = 2**53
"""From here on, JSON readers do not agree about numbers, so they can't be signed."""


def is_time(value: object) -> TypeGuard[float]:
    """Whether *value* is seconds since 1970: neither before, nor beyond what can be signed, nor no number at all."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LATEST


@final
class MemoryClock:
    """What the time is. Where *clock* goes back, it goes on from the latest time that was told, at the pace of *clock*.

    Args:
        clock: The time in seconds since 1970.
        is_time: Which of its readings are times. The others are told as they are, and change nothing.
    """

    __slots__ = ("_ahead", "_clock", "_is_time", "_latest")

    def __init__(self, clock: Callable[[], float], is_time: Callable[[float], bool] = is_time) -> None:
        self._clock = clock
        self._is_time = is_time
        self._ahead = 0.0
        self._latest = float("-inf")

    def now(self) -> float:
        """The time; what the clock says if that is none, such as NaN."""
        reading = self._clock()
        if not self._is_time(reading):
            return reading
        now = max(reading + self._ahead, self._latest)
        self._ahead = max(self._ahead, now - reading)
        self._latest = now
        return now
