"""How many requests are being answered, and a way to wait until that is none."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import trio


class Gate:
    """Counts who is inside."""

    def __init__(self) -> None:
        self._inside = 0
        self._empty = trio.Event()
        self._empty.set()

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
                self._empty.set()

    async def wait_empty(self) -> None:
        """Return when nobody is inside. Cancelled: nothing has changed."""
        await self._empty.wait()
