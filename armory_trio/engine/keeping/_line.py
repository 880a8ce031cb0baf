"""The line of those who wait for one attempt: when it comes to nothing, they ask for its key in their order."""

from __future__ import annotations

from collections import OrderedDict

from .._concurrency import Latch


class Place:
    """Where somebody stands in the line of those who wait for an attempt; nowhere at first."""

    __slots__ = ("_line", "_turn")

    def __init__(self) -> None:
        self._line: Line | None = None
        self._turn = Latch()

    def stand(self, line: Line) -> None:
        """Stand behind all of *line*."""
        self._line = line
        self._turn = Latch()
        line[self] = None

    async def come_first(self) -> None:
        """Return when all those before it have left. Cancelled: nothing has changed."""
        if self._line is not None and next(iter(self._line)) is not self:
            await self._turn.wait()

    def leave(self) -> None:
        """Let the next one go, if it stands anywhere."""
        line, self._line = self._line, None
        if line is None:
            return
        was_first = next(iter(line)) is self
        del line[self]
        if was_first and line:
            next(iter(line)).may_go()

    def may_go(self) -> None:
        """All those before it have left."""
        self._turn.set()


Line = OrderedDict[Place, None]
"""Those who wait, in the order in which they came."""
