"""What a guest run of trio needs of an asyncio loop: turns for itself, and tasks that wait for what it does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from ._inside import Awaited, Crossing

T = TypeVar("T")

CALLER_CANCELLED: Final = "its asyncio caller was cancelled"


class Ticker:
    """Brings trio's turns to the loop, and keeps them when the loop is gone."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_lost: Callable[[], None]) -> None:
        self._loop = loop
        self._on_lost = on_lost
        self._next: Callable[[], object] | None = None
        self._came = threading.Event()
        self._by_hand = False

    def soon(self, turn: Callable[[], object]) -> None:
        """Take *turn* in the next round of the loop. Called on its thread."""
        self._next = turn  # there is never more than one
        if not self._by_hand:
            self._loop.call_soon(self._take)

    def soon_from_helper(self, turn: Callable[[], object]) -> None:
        """Take *turn* in the next round of the loop. Called on trio's helper thread."""
        self._next = turn
        self._came.set()
        if not self._by_hand:
            try:
                self._loop.call_soon_threadsafe(self._take)
            except RuntimeError:  # the loop is closed
                self._on_lost()

    def _take(self) -> None:
        turn, self._next = self._next, None
        if turn is not None:
            turn()

    def take_over(self) -> None:
        """Bring the loop no more turns, since it will not take them; `finish` does."""
        self._by_hand = True

    def finish(self, is_over: Callable[[], bool]) -> None:
        """Take all further turns here and now."""
        while not is_over():
            if self._next is None:
                self._came.wait()
            self._came.clear()
            self._take()


class Waiter(Crossing[T]):
    """A crossing for which an asyncio task waits.

    Args:
        loop: The loop of that task.
        awaited: As of every crossing.
        steadfast: It is done whatever becomes of the task, which may be cancelled again and again: anyio does so in
            each round, until the task has ended.
    """

    __slots__ = ("_loop", "_news", "_steadfast")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, awaited: dict[Awaited, None], *, steadfast: bool = False
    ) -> None:
        super().__init__(awaited)
        self._loop = loop
        self._news: asyncio.Future[None] = loop.create_future()
        self._steadfast = steadfast

    def tell(self) -> None:
        """Wake the task, unless there is no loop any more that could."""
        if not self._news.done() and not self._loop.is_closed():
            self._news.set_result(None)

    def given_up(self) -> bool:
        """Whether its task was cancelled: that reaches the future at once, and the task in the next round only."""
        return self._news.cancelled() and not self._steadfast

    def _give_up(self) -> None:
        if not self._steadfast:
            self.scope.cancel(CALLER_CANCELLED)

    async def join(self) -> None:
        """Return when it is over. Cancelled: it is cancelled unless it is steadfast, and waited for all the same."""
        cancelled: asyncio.CancelledError | None = None
        try:
            while not self.over:
                try:
                    await self._news
                except asyncio.CancelledError as exc:  # noqa: ASYNC103  # raised below, when it is over
                    cancelled = exc
                    if not self.over:
                        self._give_up()
                        self._news = self._loop.create_future()
                except GeneratorExit:  # the coroutine that waits is thrown away
                    self._give_up()
                    raise
            if cancelled is not None:
                raise cancelled
        finally:
            del cancelled  # its traceback holds this frame
