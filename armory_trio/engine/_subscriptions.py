"""Following what runs by its newest snapshots, which can never slow the work."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator
from operator import itemgetter
from typing import Final, Protocol

import msgspec
import trio

from ._concurrency import Signal
from ._lifecycle import TERMINAL, UNKNOWN_EFFECT, Snapshot

_STRIDE: Final = 64
"""Steps that a reader takes without a checkpoint while there is more to read, and what a watcher reads ahead."""

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

    shot: Snapshot | None
    """Its snapshot, if somebody has asked for it and it can only change together with its revision."""

    @property
    def state(self) -> str: ...
    @property
    def revision(self) -> int: ...
    @property
    def over(self) -> bool: ...
    def snapshot(self) -> Snapshot: ...


class Selection(msgspec.Struct, frozen=True):
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


EVERYTHING: Final = Selection()
"""No choice at all."""


class Forgotten(msgspec.Struct, frozen=True, gc=False):
    """An execution that is no longer kept; ``place`` is that of its last publication."""

    place: int
    id: str
    name: str
    owner: str | None


class ForgottenGroup(msgspec.Struct, frozen=True):
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
    """One log of the executions that changed, in the order in which readers were last given a change of them.

    Nothing is written while nobody subscribes. A subscriber is a place in the log, so a stalled one costs nothing.
    """

    __slots__ = (
        "_base",
        "_entries",
        "_forgotten",
        "_furthest",
        "_handed_out",
        "_readers",
        "_stale",
        "active",
        "closed",
        "keeper",
        "place",
        "waiting",
    )

    def __init__(self) -> None:
        self.active: bool = False
        self.closed: bool = False
        self.place: int = 0
        self.waiting: list[Updates] = []
        self.keeper: Callable[[Published], None] | None = None
        """Looks at each record before it is forgotten."""
        self._base = 0
        self._handed_out = 0
        """The last place that a reader was given, or that was there when it came."""
        self._stale = 0
        self._entries: list[tuple[int, Published]] = []
        self._forgotten: list[Forgotten] = []
        self._furthest = 0
        """The last place at which one of the forgotten was published."""
        self._readers: dict[Updates, None] = {}

    def publish(self, record: Published) -> None:
        """Note that *record* changed. Only called while `active`."""
        place = self.place
        if record.published > self._base:
            if record.published > self._handed_out:
                return  # nobody was given the one before, and whoever comes to it will see what is newest then
            self._stale += 1
        self.place = record.published = place = place + 1
        self._entries.append((place, record))
        if self._stale > _COMPACT_FROM and self._stale * 2 > len(self._entries):
            self._compact()
        if self.waiting:
            for reader in self.waiting:
                reader.wake()
            self.waiting.clear()

    def forget(self, record: Published) -> None:
        """Drop *record*, which is no longer kept. Only called while `active`."""
        if record.published > self._base:
            if self.keeper is not None:
                self.keeper(record)
            self._forgotten.append(Forgotten(record.published, record.id, record.name, record.owner))
            self._furthest = max(self._furthest, record.published)
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
        self._entries = [entry for entry in self._entries if entry[1].published == entry[0]]
        self._stale = 0

    def add(self, reader: Updates, live: list[Published]) -> None:
        """Let *reader* follow the log. *live* are the executions that are not over, in order of admission."""
        if not self.active:
            self.active = True
            self._base = self.place
            for record in live:
                self.publish(record)
        self._readers[reader] = None
        self._handed_out = self.place  # what it finds here is before its time, and what comes is not

    def remove(self, reader: Updates) -> None:
        """Let *reader* go; the last one takes the log along."""
        self._readers.pop(reader, None)
        if not self._readers:
            self.active = False
            self._stale = 0
            self._entries.clear()
            self._forgotten.clear()

    def close(self) -> None:
        """The supervisor is closed: let the readers go once they have read what there is."""
        self.closed = True
        for reader in self.waiting:
            reader.wake()
        self.waiting.clear()

    def forgotten_since(self, index: int, place: int) -> tuple[int, list[Forgotten]]:
        """How many are forgotten, and those from *index* on, if any of them was published after *place*."""
        return len(self._forgotten), [] if self._furthest <= place else self._forgotten[index:]

    def after(self, place: int, most: int) -> list[tuple[int, Published]]:
        """The next publications after *place*, at most so many; some may be overtaken."""
        first = bisect_right(self._entries, place, key=_place_of)
        found = self._entries[first : first + most]
        if found:
            self._handed_out = max(self._handed_out, found[-1][0])
        return found


_place_of: Final = itemgetter(0)


class Updates:
    """A watcher's view of the executions that it selected. Made by ``supervisor.executions.subscribe``.

    It begins with every selected execution that is live, then follows what changes. Each step yields the newest
    snapshot of the next changed execution; revisions of one execution grow strictly, and the last one of each comes,
    unless the record was forgotten meanwhile. A step is a checkpoint when there is nothing to show yet, and at least
    every 64 steps. The iteration ends once the block of the supervisor was left, and everything
    was read.

    Args:
        missed: How many revisions were overtaken before this watcher came to them. Of an execution that was there
            before the watcher was, only what comes after its first snapshot counts.
        forgotten: How many executions were forgotten before this watcher saw their last revision.
    """

    def __init__(self, log: Publications, selection: Selection) -> None:
        self._log = log
        self._selection = None if selection == EVERYTHING else selection
        self._signal = Signal()
        self._place = 0
        self._joined_at = 0
        self._joined_number = 0
        self._seen: dict[str, int] = {}
        self._forgotten_index = 0
        self._unsettled = False
        """Whether it has seen the end of one whose effect is unknown, which may still be resolved."""
        self._behind = False
        self._steps = self._walk()
        self.missed: int = 0
        self.forgotten: int = 0

    def __repr__(self) -> str:
        return f"<Updates: {self.missed} missed, {self.forgotten} forgotten>"

    def __aiter__(self) -> Updates:
        return self

    async def __anext__(self) -> Snapshot:
        """The next change. Cancelled: nothing is lost, the next step yields it."""
        shot = next(self._steps)
        while shot is None:
            if self._behind:
                await trio.lowlevel.checkpoint()
            elif self._log.closed:
                raise StopAsyncIteration
            else:
                await self._woken()
                # Those who work go first: what they publish in this turn is then read once, in its last form.
                await trio.lowlevel.cancel_shielded_checkpoint()
            shot = next(self._steps)
        return shot

    async def _woken(self) -> None:
        self._log.waiting.append(self)
        try:
            await self._signal.wait()
        except BaseException:
            if self in self._log.waiting:
                self._log.waiting.remove(self)
            raise

    def next_nowait(self) -> Snapshot:
        """The next change, at once.

        Raises:
            trio.WouldBlock: There is none yet.
            StopAsyncIteration: There will be none any more.
        """
        shot = next(self._steps)
        if shot is None and self._behind:
            shot = next(self._steps)
        if shot is None:
            if self._log.closed:
                raise StopAsyncIteration
            raise trio.WouldBlock
        return shot

    def _walk(self) -> Generator[Snapshot | None]:
        # A generator, because its place in the log costs nothing to find again. It answers None where the reader has
        # to wait, or, while it is behind, to let others run.
        seen, selection, joined_at, joined_number = self._seen, self._selection, self._joined_at, self._joined_number
        terminal = TERMINAL
        stride = 0
        while True:
            self._look_at_forgotten()
            ahead = self._log.after(self._place, _STRIDE - stride or 1)
            self._behind = bool(ahead)
            if not ahead or stride == _STRIDE:
                stride = 0
                yield None
                continue
            stale = 0
            for place, record in ahead:
                if record.published != place:  # overtaken: its newest publication comes later, or none
                    stale += 1
                    if not record.published:
                        self._look_at_forgotten()
                    continue
                self._place = place
                if (place <= joined_at and record.over) or (selection is not None and not selection(record)):
                    continue
                revision = record.revision
                before = seen.pop(record.id, 0) if seen else 0
                if record.state != terminal:  # else nothing can follow
                    seen[record.id] = revision
                    self._unsettled |= record.state == UNKNOWN_EFFECT
                if not before and record.number <= joined_number:
                    before = revision - 1
                if revision > before + 1:
                    self.missed += revision - before - 1
                shot = record.shot
                yield record.snapshot() if shot is None or shot.revision != revision else shot
            self._place = ahead[-1][0]
            stride += len(ahead) - stale

    def unread(self, record: Published) -> int:
        """How many revisions of *record*, which it has selected, this watcher has not come to."""
        if record.published <= max(self._place, self._joined_at):
            return 0
        return record.revision - self._seen.get(record.id, 0)

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
        selection = self._selection or EVERYTHING
        by_owner = selection.execution_id is None and selection.tool_name is None
        if by_owner and self._forgotten_index == 0 and max(self._place, self._joined_at) < group.first:
            owners = group.owners
            self.forgotten += owners.total() if selection.owner_id is None else owners[selection.owner_id]
            if self._seen:
                for name in group.ids & self._seen.keys():
                    del self._seen[name]
        else:
            self._look_at_forgotten()
        self._forgotten_index = 0

    def _look_at_forgotten(self) -> None:
        # Who was shown to its end is not among the seen any more, unless it may still be resolved.
        self._forgotten_index, gone_since = self._log.forgotten_since(
            self._forgotten_index, -1 if self._unsettled else max(self._place, self._joined_at)
        )
        for gone in gone_since:
            self._seen.pop(gone.id, None)
            if gone.place > max(self._place, self._joined_at) and (self._selection is None or self._selection(gone)):
                self.forgotten += 1
