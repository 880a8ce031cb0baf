"""How many requests are being answered, and ways to wait until that is none, and until no more come."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager

import trio


class Gate:
    """Counts who is inside."""

    def __init__(self) -> None:
        self._inside = 0
        self._empty = trio.Event()
        self._empty.set()
        self._emptied = -math.inf

    @contextmanager
    def passing(self) -> Generator[None]:
        """Count one more for as long as the block lasts."""
        if not self._inside:
            self._empty = trio.Event()
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside:
                self._emptied = trio.current_time()
                self._empty.set()

    async def wait_empty(self) -> None:
        """Return when nobody is inside. Cancelled: nothing has changed."""
        await self._empty.wait()

    async def wait_quiet(self, seconds: float) -> None:
        """Return when nobody has been inside for *seconds*. Cancelled: nothing has changed."""
        await self.wait_empty()
        while (rest := self._emptied + seconds - trio.current_time()) > 0:
            await trio.sleep(rest)
            await self.wait_empty()
