"""Typed events for whoever reads them, which can never slow the work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final, Generic, Protocol, TypeVar

import trio

from ._concurrency import EnteredFirst, Signal
from ._events import Happening, Lagged

_STRIDE: Final = 64
"""Steps that a reader takes without a checkpoint while there is more to read."""

E_co = TypeVar("E_co", bound=Happening, covariant=True)


class Reader(Protocol):
    """Who gets events, as the feed sees it."""

    lost: int
    """How many events it never got because it was too slow."""

    @property
    def include_payloads(self) -> bool:
        """Whether it asks for payloads."""
        ...

    def offer(self, event: Happening) -> None:
        """Hand *event* over, without ever waiting."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class EventReader(Generic[E_co]):
    """Typed events of one supervisor, in order. Made by ``supervisor.events``.

    Holds at most ``buffer`` events. A reader that falls further behind loses the oldest and is told how many by a
    `Lagged` in their place. A step is a checkpoint when there is nothing to read yet, and at least every 64 steps. The
    iteration ends once the block of the supervisor was left and everything was read.
    """

    def __init__(self, kinds: tuple[type[E_co], ...], *, include_payloads: bool, buffer: int) -> None:
        self._kinds = kinds
        self._signal = Signal()
        self._queue: deque[Happening] = deque()
        self._buffer = buffer
        self._missed = 0
        self._stride = 0
        self._closed = False
        self.include_payloads = include_payloads
        self.lost: int = 0

    def __aiter__(self) -> EventReader[E_co]:
        return self

    async def __anext__(self) -> E_co | Lagged:
        """The next event. Cancelled: nothing is lost."""
        self._stride += 1
        if self._stride >= _STRIDE:
            self._stride = 0
            await trio.lowlevel.checkpoint()
        while not self._queue and not self._closed:
            self._stride = 0
            await self._signal.wait()
        return self.next_nowait()

    def next_nowait(self) -> E_co | Lagged:
        """The next event, at once. Raises `trio.WouldBlock` if there is none yet, StopAsyncIteration at the end."""
        if not self._queue:
            if self._closed:
                raise StopAsyncIteration
            raise trio.WouldBlock
        if self._missed:
            first = self._queue[0]
            lagged = Lagged(sequence=first.sequence - 1, at=first.at, missed=self._missed)
            self._missed = 0
            return lagged
        event = self._queue.popleft()
        assert isinstance(event, self._kinds or Happening)
        return event  # type: ignore[return-value]  # `offer` lets only the kinds in, of which an empty tuple means all

    def offer(self, event: Happening) -> None:
        """Hand *event* over, without ever waiting."""
        if self._kinds and not isinstance(event, self._kinds):
            return
        if len(self._queue) >= self._buffer:
            self._queue.popleft()
            self._missed += 1
            self.lost += 1
        self._queue.append(event)
        self._signal.set()

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._signal.set()


class EventFeed:
    """Numbers the events of one supervisor and hands them to whoever reads them."""

    __slots__ = ("_closed", "_lost", "entering", "payloads", "readers", "sequence")

    def __init__(self) -> None:
        self.readers: list[Reader] = []
        self.entering: tuple[Callable[[str], None], ...] = ()
        """Whom to tell the id of each execution, in its task, before anything else is done there."""
        self.sequence: int = 0
        self._closed = False
        self._lost = 0
        self.payloads: bool = False
        """Whether any reader asks for payloads."""

    def next(self) -> int:
        """The number of the next event."""
        self.sequence += 1
        return self.sequence

    def send(self, event: Happening, *, without_payload: Happening | None = None) -> None:
        """Hand *event* to all readers; *without_payload*, if given, to those who do not ask for payloads."""
        for reader in self.readers:
            reader.offer(event if reader.include_payloads or without_payload is None else without_payload)

    def send_payload(self, event: Happening) -> None:
        """Hand *event*, which is nothing but payload, to the readers who ask for that."""
        for reader in self.readers:
            if reader.include_payloads:
                reader.offer(event)

    @property
    def lost(self) -> int:
        """How many events some reader never got because it was too slow; each reader counts."""
        return self._lost + sum(reader.lost for reader in self.readers)

    def add(self, reader: Reader) -> None:
        """Let *reader* have what happens from here on."""
        self.readers.append(reader)
        if self._closed:
            reader.close()
        self.payloads = self.payloads or reader.include_payloads

    def remove(self, reader: Reader) -> None:
        """Let *reader* go."""
        if reader in self.readers:
            self._lost += reader.lost
        self.readers = [other for other in self.readers if other is not reader]
        self.payloads = any(other.include_payloads for other in self.readers)

    def close(self) -> None:
        """The supervisor is closed: let the readers go once they have read what there is."""
        self._closed = True
        for reader in self.readers:
            reader.close()


class Subscription(EnteredFirst, Generic[E_co]):
    """``async with`` round a reader of events."""

    def __init__(self, feed: EventFeed, reader: EventReader[E_co]) -> None:
        self._feed = feed
        self._reader = reader

    async def __aenter__(self) -> EventReader[E_co]:
        self._feed.add(self._reader)
        return self._reader

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._feed.remove(self._reader)
