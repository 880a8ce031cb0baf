"""The clock of a durable store: one for all who share it, and never earlier than the latest time that was seen."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final, final

from ..authority._clock import is_time

_LAG: Final = 1.0
"""Seconds by which the estimate of a server's clock may lie behind what was seen before we take it that the clock was
put back. Less than that is the way of the answer, and time stands still until the clock has caught up."""


@final
class SqlClock:
    """What the time is, for a store. May be used by any thread.

    Where the clock behind it goes back, it goes on from the latest time that was seen, at the pace of that clock.

    Args:
        clock: The time in seconds since 1970. None: that of the server, of which `learn` is told; between two answers
            it is estimated, never ahead of the server.
    """

    __slots__ = ("_ahead", "_clock", "_latest", "_lock", "_offset")

    def __init__(self, clock: Callable[[], float] | None) -> None:
        self._clock = clock
        self._offset = -math.inf
        self._ahead = 0.0
        self._latest = -math.inf
        self._lock = threading.Lock()

    @property
    def asks_server(self) -> bool:
        """Whether `learn` has to be told what the server says."""
        return self._clock is None

    def now(self) -> float:
        """The time, but never before the latest that was seen. What the clock says if that is no time."""
        reading = time.monotonic() + self._offset if self._clock is None else self._clock()
        return self._tell(reading)

    def learn(self, mark: float | None, server: float | None) -> float:
        """The time, after something was read.

        Args:
            mark: The latest time that is kept in the store, None if none is.
            server: What the server's clock said, where that is the one that counts.
        """
        if mark is not None:
            with self._lock:
                self._latest = max(self._latest, mark)
        if server is None:
            return self.now()
        # The answer took its time to arrive, so this is rather too early than too late.
        self._offset = server - time.monotonic()
        return self._tell(server)

    def _tell(self, reading: float) -> float:
        if not is_time(reading):
            return reading
        with self._lock:
            now = reading + self._ahead
            if now < self._latest - (_LAG if self._clock is None else 0.0):
                self._ahead = self._latest - reading
                now = self._latest
            self._latest = now = max(now, self._latest)
            return now
