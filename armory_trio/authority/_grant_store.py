"""Where grants are kept: which there are, how often each may still be used, and which were revoked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Protocol, final

import attrs
import msgspec

from ..definitions._checks import filters, text
from ..definitions._plurals import counted
from ..errors import GrantError
from ._clock import MemoryClock, is_time
from ._grants import Grant


class Reservation(msgspec.Struct, frozen=True):
    """One use of a grant that is set aside for a call: it counts as used until it is released.

    Args:
        grant_id: The grant.
        number: Tells it from every other reservation of the same grant.
        uses_remaining: How many uses were left behind it.
    """

    grant_id: str
    number: int
    uses_remaining: int


class GrantState(msgspec.Struct, frozen=True):
    """A grant, and what the store knows of it.

    Args:
        grant: The grant as it was issued.
        uses_remaining: How many uses are left, without those that are set aside; from 0 on.
        revoked: Whether it was revoked, so that it counts for nothing whatever is left.
    """

    grant: Grant
    uses_remaining: int
    revoked: bool


class GrantStore(Protocol):
    """Keeps grants. Every operation happens as a whole or not at all, whoever else uses the store.

    A use is reserved before the call is let through, committed when its body is about to begin, and released if it does
    not begin. Grants that have expired are not shown and may be forgotten; none is ever usable again, even if a clock is
    put back. Signatures are not looked at here.

    An operation that is cancelled has changed nothing, or else has returned: no use is lost on the way.
    `armory_trio.testing.grant_store_cases` are tests for all of this.
    """

    def now(self) -> float:
        """Seconds since 1970 on the one clock that decides what has expired. It never goes back.

        If it is no time, such as NaN, everything counts as expired until it is one again.
        """
        ...

    async def issue(self, grant: Grant) -> None:
        """Keep *grant*, with all of its uses.

        Raises:
            GrantError: One of that id is known, the same or another (``invalid-binding``), or it has expired
                (``expired``).
        """
        ...

    async def get(self, id: str, /) -> Grant | None:
        """The grant of that id, revoked or used up as it may be; None if there is none, or it has expired."""
        ...

    async def list(
        self,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        tool_name: str | None = None,
    ) -> Sequence[GrantState]:
        """Grants that have not expired, in no order that means anything.

        Args:
            principal: Only those of this principal.
            tenant: Only those of this tenant.
            agent: Only those that name exactly this agent; ``"*"`` are those for any.
            tool_name: Only those for this tool.
        """
        ...

    async def reserve(self, id: str, /) -> Reservation:
        """Set one use aside, if there is one.

        Raises:
            GrantError: There is no such grant (``not-found``), it was revoked (``revoked``), it has expired
                (``expired``; ``not-found`` once it is forgotten), or no use is left (``already-consumed``).
        """
        ...

    async def commit(self, reservation: Reservation, /) -> None:
        """Make it a use, for a body that is about to begin. Doing it again changes nothing.

        Raises:
            GrantError: The grant was revoked or has expired meanwhile (``revoked``, ``expired``), or the reservation
                was released, or never made (``not-found``). The body must not begin.
        """
        ...

    async def release(self, reservation: Reservation, /) -> None:
        """Give the use back, whether it was committed or not, since the body did not begin.

        Doing it again changes nothing, nor does a reservation that is unknown.
        """
        ...

    async def spend(self, id: str, /) -> int:
        """Reserve one use and commit it; how many are left.

        Raises:
            GrantError: As for `reserve`.
        """
        ...

    async def revoke(self, id: str, /) -> None:
        """Let the grant count for nothing from now on. Doing it again changes nothing, nor does an unknown id."""
        ...


@attrs.define(eq=False)
class _Record:
    """What is known of one grant. ``held`` says of each reservation that was not released whether it was committed."""

    grant: Grant
    revoked: bool = False
    spent: int = 0
    held: dict[int, bool] = attrs.field(factory=dict[int, bool])

    @property
    def left(self) -> int:
        return self.grant.max_uses - self.spent - len(self.held)

    def counts_at(self, now: float) -> bool:
        return is_time(now) and now < self.grant.expires_at


@final
class MemoryGrants:
    """Grants of one process, which end with it. For one thread.

    Every operation is one step in which nothing is awaited: it takes no checkpoint, and can't be cancelled halfway.
    A grant that has expired is forgotten when the next one is issued.

    Its clock never goes back. Where *clock* does, it goes on from the latest time that was seen, at the pace of
    *clock*: grants may then expire early, and none lives longer than it was given.

    Args:
        clock: The time in seconds since 1970.
    """

    __slots__ = ("_clock", "_expiries", "_numbers", "_principals", "_records")

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = MemoryClock(clock)
        self._records: dict[str, _Record] = {}
        self._principals: dict[str, dict[str, _Record]] = {}
        # One entry for each that is kept: when it expires, and its id.
        self._expiries: list[tuple[float, str]] = []
        # One count for all grants: an id that was forgotten may be issued again, and old reservations must not fit it.
        self._numbers = count(1)

    def __repr__(self) -> str:
        return f"<MemoryGrants: {counted(len(self._records), 'grant')}>"

    def now(self) -> float:
        """The time: that of the clock, but never before the latest time that was seen."""
        return self._clock.now()

    async def issue(self, grant: Grant) -> None:
        """Keep *grant*, and forget what has expired. See `GrantStore.issue`."""
        self._forget(now := self.now())
        if grant.id in self._records:
            raise GrantError("invalid-binding", f"a grant of the id {grant.id!r} was issued before")
        record = _Record(grant)
        _require_time(record, now)
        self._records[grant.id] = record
        self._principals.setdefault(grant.principal, {})[grant.id] = record
        heappush(self._expiries, (grant.expires_at, grant.id))

    async def get(self, id: str, /) -> Grant | None:
        """The grant of that id, or None. See `GrantStore.get`."""
        text("grants", "id", id)
        record = self._records.get(id)
        return record.grant if record is not None and record.counts_at(self.now()) else None

    async def list(
        self,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        tool_name: str | None = None,
    ) -> Sequence[GrantState]:
        """Grants that have not expired, in the order in which they were issued. See `GrantStore.list`."""
        filters("grants", {"principal": principal, "tenant": tenant, "agent": agent, "tool_name": tool_name})
        now = self.now()
        records = self._records if principal is None else self._principals.get(principal, {})
        return tuple(
            GrantState(record.grant, record.left, record.revoked)
            for record in records.values()
            if tenant in {None, record.grant.tenant}
            and agent in {None, record.grant.agent}
            and tool_name in {None, record.grant.tool_name}
            and record.counts_at(now)
        )

    async def reserve(self, id: str, /) -> Reservation:
        """Set one use aside, if there is one. See `GrantStore.reserve`."""
        record = self._usable(id)
        _require_use(record)
        number = next(self._numbers)
        record.held[number] = False
        return Reservation(id, number, record.left)

    async def commit(self, reservation: Reservation, /) -> None:
        """Make it a use. See `GrantStore.commit`."""
        record = self._records.get(reservation.grant_id)
        committed = None if record is None else record.held.get(reservation.number)
        if committed is None:
            raise GrantError("not-found", f"reservation {reservation.number} was released, or never made")
        if not committed:
            self._usable(reservation.grant_id).held[reservation.number] = True

    async def release(self, reservation: Reservation, /) -> None:
        """Give the use back. See `GrantStore.release`."""
        record = self._records.get(reservation.grant_id)
        if record is not None:
            record.held.pop(reservation.number, None)

    async def spend(self, id: str, /) -> int:
        """Use it once; how many uses are left. See `GrantStore.spend`."""
        record = self._usable(id)
        _require_use(record)
        record.spent += 1
        return record.left

    async def revoke(self, id: str, /) -> None:
        """Let it count for nothing. See `GrantStore.revoke`."""
        text("grants", "id", id)
        record = self._records.get(id)
        if record is not None:
            record.revoked = True

    def __len__(self) -> int:
        """How many are kept, those included that have expired and were not forgotten yet."""
        return len(self._records)

    def __bool__(self) -> bool:
        """True, also when none is kept."""
        return True

    def _usable(self, id: str) -> _Record:
        text("grants", "id", id)
        record = self._records.get(id)
        if record is None:
            raise GrantError("not-found", f"there is no grant {id!r}")
        if record.revoked:
            raise GrantError("revoked", f"the grant {id!r} was revoked")
        _require_time(record, self.now())
        return record

    def _forget(self, now: float) -> None:
        while self._expiries and is_time(now) and self._expiries[0][0] <= now:
            grant = self._records.pop(heappop(self._expiries)[1]).grant
            mine = self._principals[grant.principal]
            del mine[grant.id]
            if not mine:
                del self._principals[grant.principal]


def _require_time(record: _Record, now: float) -> None:
    if not record.counts_at(now):
        detail = "has expired" if is_time(now) else "counts for nothing while the clock says no time"
        raise GrantError("expired", f"the grant {record.grant.id!r} {detail}")


def _require_use(record: _Record) -> None:
    if record.left < 1:
        raise GrantError("already-consumed", f"no use of the grant {record.grant.id!r} is left")
