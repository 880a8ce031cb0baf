"""Two feeds for watchers, neither of which can slow the work: newest snapshots, and typed events."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from types import TracebackType
from typing import Final, Generic, Protocol, TypeVar

import attrs
import msgspec
import trio

from ._concurrency import Signal
from ._events import Happening, Lagged
from ._lifecycle import Snapshot

_STRIDE: Final = 64
"""Steps that a reader takes without a checkpoint while there is more to read."""

_COMPACT_FROM: Final = 256
"""Overtaken publications are kept until they outnumber this and the current ones."""

_FORGOTTEN_KEPT: Final = 4096
"""Forgotten executions are looked at by each reader at its next step, or all at once when there are so many."""


class Named(Protocol):
    """An execution, as far as choosing it needs it."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def owner(self) -> str | None: ...


class Published(Named, Protocol):
    """A record, as far as watchers need it."""

    number: int
    published: int
    """The place of its last publication in the log; 0 for none."""

    @property
    def revision(self) -> int: ...
    @property
    def over(self) -> bool: ...
    def snapshot(self) -> Snapshot: ...


@attrs.frozen
class Selection:
    """Which executions a watcher wants; None means any."""

    owner_id: str | None = None
    execution_id: str | None = None
    tool_name: str | None = None

    def __call__(self, record: Named) -> bool:
        return (
            (self.owner_id is None or record.owner == self.owner_id)
            and (self.execution_id is None or record.id == self.execution_id)
            and (self.tool_name is None or record.name == self.tool_name)
        )


class Forgotten(msgspec.Struct, frozen=True, gc=False):
    """An execution that is no longer kept; ``place`` is that of its last publication."""

    place: int
    id: str
    name: str
    owner: str | None


@attrs.frozen
class ForgottenGroup:
    """Executions that are forgotten together.

    Args:
        owners: How many of each owner there are.
        ids: Which they are.
        first: The first place at which one of them was published.
    """

    owners: Counter[str | None]
    ids: set[str]
    first: int


class Publications:
    """One log of the executions that changed, in the order of their last publication.

    Nothing is written while nobody subscribes. A subscriber is a place in the log, so a stalled one costs nothing.
    """

    __slots__ = ("_base", "_entries", "_forgotten", "_places", "_readers", "_stale", "active", "place", "waiting")

    def __init__(self) -> None:
        self.active = False
        self.place = 0
        self.waiting: list[Updates] = []
        self._base = 0
        self._stale = 0
        self._entries: list[Published] = []
        self._places: list[int] = []
        self._forgotten: list[Forgotten] = []
        self._readers: dict[Updates, None] = {}

    def publish(self, record: Published) -> None:
        """Note that *record* changed. Only called while `active`."""
        if record.published > self._base:
            self._stale += 1
        self.place = record.published = self.place + 1
        self._entries.append(record)
        self._places.append(self.place)
        if self._stale > _COMPACT_FROM and self._stale * 2 > len(self._entries):
            self._compact()
        if self.waiting:
            for reader in self.waiting:
                reader.wake()
            self.waiting.clear()

    def forget(self, record: Published) -> None:
        """Drop *record*, which is no longer kept. Only called while `active`."""
        if record.published > self._base:
            self._forgotten.append(Forgotten(record.published, record.id, record.name, record.owner))
            self._stale += 1
            record.published = 0
        if len(self._forgotten) >= _FORGOTTEN_KEPT:
            group = ForgottenGroup(
                owners=Counter(gone.owner for gone in self._forgotten),
                ids={gone.id for gone in self._forgotten},
                first=min(gone.place for gone in self._forgotten),
            )
            for reader in self._readers:
                reader.count_forgotten(group)
            self._forgotten.clear()

    def _compact(self) -> None:
        kept = [pair for pair in zip(self._entries, self._places, strict=True) if pair[0].published == pair[1]]
        self._entries = [record for record, _ in kept]
        self._places = [place for _, place in kept]
        self._stale = 0

    def add(self, reader: Updates, live: list[Published]) -> None:
        """Let *reader* follow the log. *live* are the executions that are not over, in order of admission."""
        if not self.active:
            self.active = True
            self._base = self.place
            for record in live:
                self.publish(record)
        self._readers[reader] = None

    def remove(self, reader: Updates) -> None:
        """Let *reader* go; the last one takes the log along."""
        self._readers.pop(reader, None)
        if not self._readers:
            self.active = False
            self._stale = 0
            self._entries.clear()
            self._places.clear()
            self._forgotten.clear()

    def forgotten_since(self, index: int) -> list[Forgotten]:
        """The forgotten executions from *index* on."""
        return self._forgotten[index:]

    def next_after(self, place: int) -> tuple[int, Published] | None:
        """The first current publication after *place*."""
        index = bisect_right(self._places, place)
        while index < len(self._entries):
            record, found = self._entries[index], self._places[index]
            if record.published == found:
                return found, record
            index += 1
        return None


class Updates:
    """A watcher's view of the executions that it selected. Made by ``supervisor.executions.subscribe``.

    It begins with every selected execution that is live, then follows what changes. Each step yields the newest
    snapshot of the next changed execution; revisions of one execution grow strictly, and the last one of each comes,
    unless the record was forgotten meanwhile. A step is a checkpoint when there is nothing to show yet, and at least
    every 64 steps.

    Args:
        missed: How many revisions were overtaken before this watcher came to them. Of an execution that was there
            before the watcher was, only what comes after its first snapshot counts.
        forgotten: How many executions were forgotten before this watcher saw their last revision.
    """

    def __init__(self, log: Publications, selection: Selection) -> None:
        self._log = log
        self._selection = selection
        self._signal = Signal()
        self._place = 0
        self._joined_at = 0
        self._joined_number = 0
        self._seen: dict[str, int] = {}
        self._forgotten_index = 0
        self._stride = 0
        self.missed = 0
        self.forgotten = 0

    def __aiter__(self) -> Updates:
        return self

    async def __anext__(self) -> Snapshot:
        """The next change. Cancelled: nothing is lost, the next step yields it."""
        self._stride += 1
        if self._stride >= _STRIDE:
            self._stride = 0
            await trio.lowlevel.checkpoint()
        while True:
            snapshot = self._step()
            if snapshot is not None:
                return snapshot
            self._stride = 0
            self._log.waiting.append(self)
            try:
                await self._signal.wait()
            except BaseException:
                if self in self._log.waiting:
                    self._log.waiting.remove(self)
                raise

    def wake(self) -> None:
        """There is something to read."""
        self._signal.set()

    def join(self, live: list[Published], newest: int) -> None:
        """Follow the log from here, beginning with what is live; what ended before is not shown.

        Args:
            live: The executions that are not over, in order of admission.
            newest: The number of the last one that was admitted.
        """
        self._log.add(self, live)
        self._joined_at = self._log.place
        self._joined_number = newest

    def count_forgotten(self, group: ForgottenGroup) -> None:
        """Count all forgotten executions of the log, of which nothing is kept afterwards."""
        selection = self._selection
        by_owner = selection.execution_id is None and selection.tool_name is None
        if by_owner and self._forgotten_index == 0 and max(self._place, self._joined_at) < group.first:
            owners = group.owners
            self.forgotten += owners.total() if selection.owner_id is None else owners[selection.owner_id]
            if self._seen:
                self._seen = {name: revision for name, revision in self._seen.items() if name not in group.ids}
        else:
            self._look_at_forgotten()
        self._forgotten_index = 0

    def _look_at_forgotten(self) -> None:
        for gone in self._log.forgotten_since(self._forgotten_index):
            self._forgotten_index += 1
            self._seen.pop(gone.id, None)
            if gone.place > max(self._place, self._joined_at) and self._selection(gone):
                self.forgotten += 1

    def _step(self) -> Snapshot | None:
        self._look_at_forgotten()
        while (found := self._log.next_after(self._place)) is not None:
            self._place, record = found
            was_past = record.over and self._place <= self._joined_at
            if self._selection(record) and not was_past:
                return self._show(record)
        return None

    def _show(self, record: Published) -> Snapshot:
        revision = record.revision
        before = self._seen.get(record.id)
        if before is None:
            before = revision - 1 if record.number <= self._joined_number else 0
        self.missed += max(0, revision - before - 1)
        self._seen[record.id] = revision
        return record.snapshot()


E_co = TypeVar("E_co", bound=Happening, covariant=True)


class EventReader(Generic[E_co]):
    """Typed events of one supervisor, in order. Made by ``supervisor.events``.

    Holds at most ``buffer`` events. A reader that falls further behind loses the oldest and is told how many by a
    `Lagged` in their place. A step is a checkpoint when there is nothing to read yet, and at least every 64 steps.
    """

    def __init__(self, kinds: tuple[type[E_co], ...], *, include_payloads: bool, buffer: int) -> None:
        self._kinds = kinds
        self._signal = Signal()
        self._queue: deque[Happening] = deque()
        self._buffer = buffer
        self._missed = 0
        self._stride = 0
        self.include_payloads = include_payloads

    def __aiter__(self) -> EventReader[E_co]:
        return self

    async def __anext__(self) -> E_co | Lagged:
        """The next event. Cancelled: nothing is lost."""
        self._stride += 1
        if self._stride >= _STRIDE:
            self._stride = 0
            await trio.lowlevel.checkpoint()
        while not self._queue:
            self._stride = 0
            await self._signal.wait()
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
        self._queue.append(event)
        self._signal.set()


class EventFeed:
    """Numbers the events of one supervisor and hands them to whoever reads them."""

    __slots__ = ("payloads", "readers", "sequence")

    def __init__(self) -> None:
        self.readers: list[EventReader[Happening]] = []
        self.sequence = 0
        self.payloads = False
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

    def add(self, reader: EventReader[Happening]) -> None:
        """Let *reader* have what happens from here on."""
        self.readers.append(reader)
        self.payloads = self.payloads or reader.include_payloads

    def remove(self, reader: EventReader[Happening]) -> None:
        """Let *reader* go."""
        self.readers = [other for other in self.readers if other is not reader]
        self.payloads = any(other.include_payloads for other in self.readers)


class Subscription(Generic[E_co]):
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
