"""The ledger of a supervisor: where it is kept, which attempts are held here, and that they stay held."""

from __future__ import annotations

import logging
import os
import socket
from typing import TYPE_CHECKING, Final

import trio

from ...definitions._exceptions import Withheld
from ...definitions._minting import IDS
from ...errors import StoreUnavailable
from .._concurrency import Latch, is_cancelled, raise_interrupt
from .._permits import RECORD_TIMEOUT
from ._refusals import LedgerUnavailable

if TYPE_CHECKING:  # loaded by who has a key
    from ...ledger import Attempt, LedgerStore, LeftBehind
    from ._entries import Entry

_log: Final = logging.getLogger("armory_trio.engine")

_LOOKS: Final = 3
"""How often a lease is renewed within its time."""

_PAGE: Final = 100
_LISTED: Final = 1_000
"""Attempts that are listed when a supervisor is opened: more than that nobody looks through."""


class Ledger:
    """What is done once.

    Args:
        store: Where attempts are kept; None until the first key comes, then in memory.
        prefix: Tells this supervisor from others on the same host.
        lease: Seconds for which an attempt is held without a sign of life.
        cap: Seconds beyond which none is held.
    """

    __slots__ = ("_store", "cap", "durable", "host", "lease", "mine", "recovered", "wanted")

    def __init__(self, store: LedgerStore | None, *, prefix: str, lease: float, cap: float) -> None:
        self._store = store
        self.host: str = f"{socket.gethostname()}:{os.getpid()}:{prefix}:{IDS.of_host()}"
        """Part of the keys of calls that have none: what one of another supervisor came to must never be theirs."""
        self.lease: float = lease
        self.cap: float = cap
        self.durable: bool = store is not None
        """Whether attempts are there to be found after a crash, so that calls without a key are recorded as well."""
        self.mine: dict[str, Entry] = {}
        """What executions of this supervisor hold, by the text of the key."""
        self.recovered: LeftBehind | None = None
        """What others had left behind when this was opened; None if nobody looked, or it could not be told."""
        self.wanted: Latch = Latch()
        """Set by the first claim: from then on leases are renewed."""

    @property
    def store(self) -> LedgerStore:
        """Where attempts are kept."""
        if self._store is None:
            from ...ledger import MemoryLedger  # noqa: PLC0415  # only who has a key pays for it

            self._store = MemoryLedger()
        return self._store

    async def look(self) -> None:
        """See what others left behind, within `RECORD_TIMEOUT`. Cancelled: nothing has changed."""
        if not self.durable:
            return
        try:
            with trio.fail_after(RECORD_TIMEOUT):
                self.recovered = await self.left()
        except BaseException as exc:  # noqa: ASYNC103  # as from any other operation of a store
            raise_interrupt(exc)
            if isinstance(exc, trio.Cancelled) and is_cancelled():
                raise
            _log.warning("what was left behind in the ledger could not be told: %s", Withheld(exc))

    async def left(self) -> LeftBehind:
        """What is left behind now. What goes wrong with the store is raised as it comes.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        from ...ledger import left_behind  # noqa: PLC0415  # only who keeps attempts pays for it

        found: list[Attempt] = []
        try:
            are_all = await _left_in(self.store, found)
        except trio.TooSlowError as exc:
            raise StoreUnavailable("the ledger", f"it did not answer within {RECORD_TIMEOUT:g} s") from exc
        if not are_all:
            _log.warning("more than %d attempts were left behind in the ledger; only the first are listed", _LISTED)
        return left_behind(found)

    def is_at(self, attempt: Attempt) -> bool:
        """Whether an execution of this supervisor made *attempt*, and has not ended."""
        entry = self.mine.get(attempt.key)
        return entry is not None and entry.attempt_id == attempt.attempt_id

    def hold(self, entry: Entry) -> None:
        """Keep the lease of *entry*, which was claimed just now, until it is let go."""
        self.mine[entry.text] = entry
        self.wanted.set()

    def let_go(self, entry: Entry) -> None:
        """It is over, or another has taken its place."""
        if self.mine.get(entry.text) is entry:
            del self.mine[entry.text]

    async def keep(self) -> None:
        """Renew the leases of what is held, for ever. Cancelled: they run out."""
        await self.wanted.wait()
        async with trio.open_nursery() as nursery:
            while True:
                await trio.sleep(self.lease / _LOOKS)
                for entry in tuple(self.mine.values()):
                    if not entry.renewing:  # one that the store does not answer holds up no other
                        entry.renewing = True
                        nursery.start_soon(self._renew, entry)

    async def _renew(self, entry: Entry) -> None:
        from ...ledger import FenceLost, Renew  # noqa: PLC0415  # loaded by then

        try:
            if entry.attempt_id is None or entry.ended:
                return
            fence = entry.attempt_id
            answer = await entry.do(Renew(entry.text, fence, self.lease))
            if isinstance(answer, FenceLost) and entry.attempt_id == fence and not entry.ended:
                entry.lost = True
        except LedgerUnavailable as exc:
            _log.warning("a lease could not be renewed: %s", Withheld(exc))
        finally:
            entry.renewing = False


async def _left_in(store: LedgerStore, found: list[Attempt]) -> bool:
    """Put into *found* those attempts in *store* that have no end, and that nobody holds; whether these are all.

    Raises:
        trio.TooSlowError: The store does not answer.
    """
    after: str | None = None
    while True:
        with trio.fail_after(RECORD_TIMEOUT):
            page = await store.list(states=("claimed", "started", "unknown"), after=after, limit=_PAGE)
        now = store.now()
        found += (each for each in page if each.state == "unknown" or each.lease_expires_at <= now)
        if len(found) > _LISTED:
            del found[_LISTED:]
            return False
        if len(page) < _PAGE:
            return True
        after = page[-1].key
        await trio.lowlevel.checkpoint()
