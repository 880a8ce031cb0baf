"""An execution that waits for another which is not its child: cycles are seen, so that no such wait is endless."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import trio

from ...ledger import Attempt
from .._execution import Record
from .._lifecycle import FINAL
from .._room import standing_of
from .._settlement import wake
from ..capacity import Claim, Refused
from ._entries import Entry
from ._refusals import LedgerUnavailable

_LOOK_AGAIN_AFTER: Final = 0.25
"""Seconds between two looks at an attempt that runs in another process."""

_SOON: Final = 0.01

_FOLLOWED: Final = 1_000
"""Attempts of other hosts that are looked at for a cycle: one that long nobody builds."""


def above_of(record: Record, starter: Record | None = None) -> Iterator[Record]:
    """Those that called *record*, directly or not, from here or from within another supervisor; the nearest first.

    Where nobody did, those count that had it started by *starter*, itself included.
    """
    above = record.parent or record.outside or starter
    while above is not None:
        yield above
        above = above.parent or above.outside


@contextmanager
def joining(waiter: Record, leader: Record, *, holder: Record | None) -> Generator[str | None]:
    """As long as the block lasts, *waiter* counts as waiting for *leader*, and *holder* for what that waits for.

    The holder is who holds slots meanwhile: the waiter, or the call that made it; None if nobody does.

    Yields None; or, when *leader* waits, directly or not, for *waiter*, or for something that it or its callers hold, that
    cycle in words. Then nothing is counted, and waiting would never end.
    """
    if leader.state in FINAL:
        yield None
        return
    if _waits_for(leader, waiter):
        yield f"{leader.id} ({leader.name}) waits for it, or for one of its callers"
        return
    waiting = (waiter, *above_of(waiter))
    for each in waiting:
        each.core.awaited.setdefault(each, []).append(leader)
    try:
        with _told_to_planner(holder, leader) as cycle:
            yield cycle
    finally:
        for each in waiting:
            each.core.awaited[each].remove(leader)
            if not each.core.awaited[each]:
                del each.core.awaited[each]


def _waits_for(leader: Record, waiter: Record) -> bool:
    """Whether *leader* can't end before *waiter* does, as far as it is known what executions wait for each other."""
    targets = {waiter, *above_of(waiter)}
    seen: set[Record] = set()
    ahead = [leader]
    while ahead:
        record = ahead.pop()
        if record in targets:
            return True
        if record in seen:
            continue
        seen.add(record)
        ahead.extend(record.core.awaited.get(record, ()))
        ahead.extend((record.children or {}).values())
    return False


@contextmanager
def _told_to_planner(holder: Record | None, leader: Record) -> Generator[str | None]:
    if holder is None or _is_still_asked(leader):
        yield None  # nobody holds anything; or it will be told when it is known what the leader needs
        return
    core = leader.core
    core.numbered += 1
    follower = Claim(order=core.numbered, owner=holder.owner, parent=standing_of(holder), label=holder.id)
    decision = core.planner.join(follower, standing_of(leader))
    if decision.others:
        wake(core, decision.others)
    if isinstance(decision, Refused):
        yield decision.text
        return
    try:
        yield None
    finally:
        core.planner.leave(follower)


def _is_still_asked(record: Record) -> bool:
    """Whether it is not known yet what *record* needs: a hook of the user's has not answered."""
    return record.hook is not None or record.hook_scope is not None


class Elsewhere:
    """A call that waits for the attempts of others, as other hosts see it.

    Args:
        record: The call.
        entry: What it holds in the ledger.
        callers: What those hold that called it, and that others may wait for.
    """

    __slots__ = ("_callers", "_entry", "_noted", "_record")

    def __init__(self, record: Record, entry: Entry, callers: Iterable[Entry]) -> None:
        self._record = record
        self._entry = entry
        self._callers = tuple(callers) if record.core.ledger.durable else ()
        self._noted = False

    async def wait(self, attempt: Attempt) -> str | None:
        """Wait for a moment while another host is at *attempt*. None: ask again; else the cycle in words.

        Raises:
            LedgerUnavailable: Nobody knows whether it is written down that it waits.
        """
        cycle = None
        if self._callers:
            cycle = await self._cycle(attempt)
            if cycle is None:
                await self.note()
        if cycle is None:
            left = attempt.lease_expires_at - self._entry.store.now()
            await trio.sleep(min(_LOOK_AGAIN_AFTER, max(_SOON, left)))
        return cycle

    async def note(self) -> None:
        """Write down that its callers wait for its key, unless that is known.

        Raises:
            LedgerUnavailable: Nobody knows whether that is written down.
        """
        await self._note(waiting=True)

    async def stop(self) -> None:
        """It waits no more. Shielded, and bounded; what can't be written down looks as if it still did."""
        with suppress(LedgerUnavailable):
            await self._note(waiting=False)

    async def _note(self, *, waiting: bool) -> None:
        if waiting is self._noted:
            return
        self._noted = waiting
        for caller in self._callers:
            if not caller.ended:
                await caller.note_wait(self._entry.text, waiting=waiting)

    async def _cycle(self, attempt: Attempt) -> str | None:
        """Whether *attempt* waits, directly or not, for what the callers hold: keys, or here also slots."""
        held = {caller.text for caller in self._callers}
        seen, ahead = {self._entry.text}, list(attempt.waits_for)
        while ahead and len(seen) < _FOLLOWED:
            key_text = ahead.pop()
            if key_text in held:
                return f"the call that has the key on {attempt.host} waits for a key of one of its callers"
            if key_text in seen:
                continue
            seen.add(key_text)
            cycle = self._cycle_here(key_text)
            if cycle is not None:
                return cycle
            row = await self._entry.load(key_text)
            if row is not None and row.state in ("claimed", "started"):
                ahead.extend(row.waits_for)
        return None

    def _cycle_here(self, key_text: str) -> str | None:
        """Whether whoever has that key in this supervisor waits for what the callers hold."""
        core = self._record.core
        mine = core.ledger.mine.get(key_text)
        leader = None if mine is None else core.live.get(mine.execution_id)
        if leader is None:
            return None
        with joining(self._record, leader, holder=self._record.parent) as cycle:
            return cycle
