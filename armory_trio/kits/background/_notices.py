"""Telling a host what has ended, without polling."""

from __future__ import annotations

import trio

from ...engine import Supervisor
from ._calls import BackgroundNotice
from ._desk import Desk


class Notices:
    """The ends of background calls as they come, each told to one reader. Made by `BackgroundKit.notices`.

    Iterate: a call that ended before the reader came is told, too, as long as its result is kept. The iteration ends
    when the supervisor takes no new work and everything was told. A reader may leave at any time and another may go on.
    """

    __slots__ = ("_desk", "_missed", "_owner", "_supervisor")

    def __init__(self, desk: Desk, supervisor: Supervisor, owner: str | None) -> None:
        self._desk = desk
        self._supervisor = supervisor
        self._owner = owner
        self._missed = 0

    def __repr__(self) -> str:
        return "<Notices of everybody>" if self._owner is None else f"<Notices of {self._owner!r}>"

    @property
    def missed(self) -> int:
        """How many ends were not told to anybody, since their results were not kept that long."""
        self._missed += self._desk.take_lost(self._owner)
        return self._missed

    def __aiter__(self) -> Notices:
        return self

    async def __anext__(self) -> BackgroundNotice:
        """The next end. Always a checkpoint; cancelled: nothing is lost."""
        await trio.lowlevel.checkpoint()
        while (notice := self._desk.take_notice(self._owner)) is None:
            if self._supervisor.closed and not self._desk.has_running(self._owner):
                raise StopAsyncIteration
            await self._desk.stirred(self._owner)
            await trio.lowlevel.checkpoint()  # whoever waits for the same call gets it first: the notice then says so
        return notice
