"""Writing down what is published, for a journal: a subscriber that outlives the work, whatever its store does."""

from __future__ import annotations

import logging
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec
import trio

from ..definitions._checks import lacking
from ..definitions._exceptions import Withheld
from ..errors import DefinitionError
from ._concurrency import Latch, Signal, is_cancelled, raise_interrupt
from ._lifecycle import Snapshot
from ._permits import RECORD_TIMEOUT
from ._replay import text_of
from ._subscriptions import EVERYTHING, Publications, Published, Updates

if TYPE_CHECKING:  # loaded by who has a journal
    from ..journal import JournalStore, Publication

_MOST: Final = 256
"""Publications that are appended at once: what a store does together, and what it may have to do again."""

_HELD: Final = 10_000
"""Publications that wait for the store, some ten megabytes. While there are so many no more is read, and what is not
read is overtaken by what is newer."""

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
_LAST_PAUSE: Final = 0.5
"""Seconds until a store that failed is tried again: at first, at most, and at most while the supervisor is closed."""

_METHODS: Final = ("now", "append", "read", "forget")

_log: Final = logging.getLogger("armory_trio.engine")


class Journaled(msgspec.Struct, frozen=True):
    """What became of the publications of a supervisor with a journal.

    Args:
        written: How many are in the journal.
        overtaken: How many were followed by the next one before they could be read, as happens to a subscriber.
        unwritten: How many could not be written: the journal has a gap there.
        waiting: How many wait to be written.
    """

    written: int
    overtaken: int
    unwritten: int
    waiting: int


def require_journal(store: object) -> None:
    """Refuse what is no `JournalStore`.

    Raises:
        DefinitionError: It lacks a method.
    """
    missing = [name for name in _METHODS if not callable(getattr(store, name, None))]
    if missing:
        reason = f"must be a JournalStore with all of its methods; {lacking(store, missing[0], 'journal')}"
        raise DefinitionError("open_supervisor", "journal", reason)


class Recorder:
    """Writes what is published into a journal, from the opening of a supervisor on.

    One task reads as a subscriber does, and another one appends what was read, so that a slow store holds up nobody. A
    store that fails is tried again until the supervisor is closed. Then what is left is written, in `RECORD_TIMEOUT`.

    Args:
        log: What is published.
        store: The journal.
        host: What the supervisor is called there.
    """

    def __init__(self, log: Publications, store: JournalStore, host: str) -> None:
        from ..journal import Publication  # noqa: PLC0415  # only who has a journal pays for it

        self._publication = Publication
        self._log = log
        self._store = store
        self._host = host
        self._updates = Updates(log, EVERYTHING)
        self._updates.join([], 0)
        log.keeper = self._rescue
        self._pending: deque[Publication] = deque()
        self._stirred, self._room = Signal(), Signal()
        self._closing, self._over = Latch(), Latch()
        self._reading, self._writing = trio.CancelScope(), trio.CancelScope(shield=True)
        self._failing = self._unspeakable = False
        self._written = self._rescued_over = self._unwritten = 0

    @property
    def told(self) -> Journaled:
        """What became of everything so far."""
        overtaken = self._updates.missed + self._rescued_over
        return Journaled(self._written, overtaken, self._unwritten, len(self._pending))

    async def run(self) -> None:
        """Write, until `finish`."""
        with self._writing:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read, name="armory_trio: reading for the journal")
                await self._write()

    async def finish(self) -> None:
        """Write what is left, in at most `RECORD_TIMEOUT`, and count what is left then. Nothing is read afterwards.

        Cancelled: what is left is counted at once.
        """
        self._reading.cancel("the supervisor is closed")
        self._closing.set()
        self._stirred.set()
        try:
            with trio.move_on_after(RECORD_TIMEOUT):
                await self._over.wait()
        finally:
            self._writing.cancel("the supervisor is closed")
            self._log.keeper = None
            self._read_on()
            self._log.remove(self._updates)
            self._unwritten += len(self._pending)
            if self._pending:
                _log.warning("the journal lacks the last %d publications", len(self._pending))
            self._pending.clear()

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _read(self) -> None:
        with self._reading:
            async for shot in self._updates:
                self._take(shot)
                while len(self._pending) >= _HELD:
                    await self._room.wait()

    def _read_on(self) -> None:
        """Read all that there is: the records are still there, and nothing is waited for."""
        while True:
            try:
                self._take(self._updates.next_nowait())
            except (trio.WouldBlock, StopAsyncIteration):
                return

    def _rescue(self, record: Published) -> None:
        """*record* is about to be forgotten: read it, unless that was done."""
        unread = self._updates.unread(record)
        if not unread:
            return
        self._rescued_over += unread - 1
        if len(self._pending) < _HELD:
            self._take(record.snapshot())
        else:
            self._unwritten += 1

    def _take(self, shot: Snapshot) -> None:
        try:
            at, text = self._store.now(), text_of(shot)
        except BaseException as exc:  # noqa: ASYNC103  # whatever it is, it must neither end the journal nor be passed over
            raise_interrupt(exc)
            self._unwritten += 1
            if not self._unspeakable:
                said = Withheld(exc, frames=True)
                _log.error("a snapshot of %s can't be put into the journal: %s", shot.execution_id, said)
            self._unspeakable = True
            return  # noqa: ASYNC104  # as said
        self._unspeakable = False
        self._pending.append(self._publication(at, self._host, shot.execution_id, shot.revision, text))
        self._stirred.set()

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _write(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            closing = self._closing.is_set
            if closing:
                self._read_on()
            batch = list(islice(self._pending, _MOST))
            if not batch:
                if closing:
                    break
                await self._stirred.wait()
            elif await self._append(batch):
                pause = _FIRST_PAUSE
                for _ in batch:
                    self._pending.popleft()
                self._written += len(batch)
                self._room.set()
            else:
                await self._rest(pause, closing=closing)
                pause = min(2 * pause, _LONGEST_PAUSE)
        self._over.set()

    async def _rest(self, pause: float, *, closing: bool) -> None:
        """Leave the store alone for a while, or until the supervisor is closed."""
        if closing:
            await trio.sleep(min(pause, _LAST_PAUSE))
            return
        with trio.move_on_after(pause):
            await self._closing.wait()

    async def _append(self, batch: list[Publication]) -> bool:
        try:
            with trio.fail_after(RECORD_TIMEOUT):
                await self._store.append(batch)
        except BaseException as exc:  # noqa: ASYNC103  # whatever a store raises, it is no trouble of the supervisor's
            raise_interrupt(exc)
            if isinstance(exc, trio.Cancelled) and is_cancelled():
                raise
            if not self._failing:
                late = isinstance(exc, trio.TooSlowError)
                why = f"no answer within {RECORD_TIMEOUT:g} s" if late else Withheld(exc)
                _log.warning("the journal can't be written, and is tried again: %s", why)
            self._failing = True
            return False  # noqa: ASYNC104  # as said
        if self._failing:
            _log.warning("the journal can be written again; it lacks %d publications so far", self._unwritten)
        self._failing = False
        return True
