"""Grants in a database."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar, final

import sqlalchemy as sa
from msgspec.structs import replace

from ..authority._clock import is_time
from ..authority.grants import Grant, GrantState, Reservation
from ..definitions._checks import filters, text
from ..errors import GrantError
from ._documents import from_text, key_of, tag_of, to_text
from ._part import StorePart
from ._rows import Kind, Lock, Operation, Row, View
from ._schema import GRANTS, USES

T = TypeVar("T")


class GrantRow(Row, frozen=True):
    """A grant, and how much is left of it. ``used`` counts the uses that are set aside, too."""

    principal: str
    tenant: str
    agent: str
    tool_name: str
    max_uses: int
    used: int
    revoked: bool
    expires_at: float
    document: str

    def instants(self) -> tuple[float, ...]:
        """When it has expired."""
        return (self.expires_at,)

    @property
    def left(self) -> int:
        """How many uses are left."""
        return self.max_uses - self.used

    def counts_at(self, now: float) -> bool:
        """Whether it has not expired."""
        return is_time(now) and now < self.expires_at


class UseRow(Row, frozen=True):
    """A use that is set aside. It belongs to the grant of its id that expires at the same time."""

    committed: bool
    expires_at: float


ROWS: Final = Kind(GRANTS, GrantRow)
USE_ROWS: Final = Kind(USES, UseRow)


@final
class SqlGrants(StorePart):
    """The grants of a store. A `GrantStore`; `open_store` makes it.

    Cancelled: an operation was not begun, and has changed nothing. One that has begun returns.

    Every operation raises `StoreUnavailable` when the database can't be used.
    """

    async def issue(self, grant: Grant) -> None:
        """As `GrantStore.issue`."""
        await self._run(grant.id, partial(_issue, grant), instants=(grant.expires_at,))

    async def get(self, id: str, /) -> Grant | None:
        """As `GrantStore.get`."""
        return await self._run(id, partial(_get, id), writes=False)

    async def list(
        self,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        tool_name: str | None = None,
    ) -> Sequence[GrantState]:
        """As `GrantStore.list`."""
        asked = {"principal": principal, "tenant": tenant, "agent": agent, "tool_name": tool_name}
        filters("grants", asked)
        statement = sa.select(GRANTS)
        for name, value in asked.items():
            if value is not None:
                statement = statement.where(GRANTS.c[name] == tag_of(value))

        def decide(view: View, now: float) -> tuple[GrantState, ...]:
            return tuple(
                GrantState(from_text(row.document, Grant), row.left, row.revoked)
                for _, row in view.scan(ROWS, statement)
                if row.counts_at(now)
            )

        return await self._lanes.run(Operation(decide, writes=False))

    async def reserve(self, id: str, /) -> Reservation:
        """As `GrantStore.reserve`."""
        number = secrets.randbits(63)
        return await self._run(id, partial(_reserve, id, number), number)

    async def commit(self, reservation: Reservation, /) -> None:
        """As `GrantStore.commit`."""
        await self._run(reservation.grant_id, partial(_commit, reservation), reservation.number)

    async def release(self, reservation: Reservation, /) -> None:
        """As `GrantStore.release`."""
        await self._run(reservation.grant_id, partial(_release, reservation), reservation.number)

    async def spend(self, id: str, /) -> int:
        """As `GrantStore.spend`."""
        return await self._run(id, partial(_spend, id))

    async def revoke(self, id: str, /) -> None:
        """As `GrantStore.revoke`."""
        await self._run(id, partial(_revoke, id))

    async def _run(
        self,
        id: str,
        decide: Callable[[View, float], T],
        number: int | None = None,
        *,
        writes: bool = True,
        instants: tuple[float, ...] = (),
    ) -> T:
        text("grants", "id", id)
        locks: tuple[Lock, ...] = ((ROWS, key_of(id)),)
        if number is not None:
            locks = (*locks, (USE_ROWS, key_of(id, number)))
        return await self._lanes.run(Operation(decide, locks, writes=writes, instants=instants))


def _issue(grant: Grant, view: View, now: float) -> None:
    key = key_of(grant.id)
    known = view.get(ROWS, key)
    if known is not None and (known.counts_at(now) or not is_time(now)):
        raise GrantError("invalid-binding", f"a grant of the id {grant.id!r} was issued before")
    row = GrantRow(
        principal=tag_of(grant.principal),
        tenant=tag_of(grant.tenant),
        agent=tag_of(grant.agent),
        tool_name=tag_of(grant.tool_name),
        max_uses=grant.max_uses,
        used=0,
        revoked=False,
        expires_at=grant.expires_at,
        document=to_text(grant.to_json()),
    )
    _require_time(grant.id, row, now)
    view.put(ROWS, key, row)


def _get(id: str, view: View, now: float) -> Grant | None:
    row = view.get(ROWS, key_of(id))
    return from_text(row.document, Grant) if row is not None and row.counts_at(now) else None


def _reserve(id: str, number: int, view: View, now: float) -> Reservation:
    row = _usable(id, view, now)
    _require_use(id, row)
    view.put(ROWS, key_of(id), replace(row, used=row.used + 1))
    view.put(USE_ROWS, key_of(id, number), UseRow(committed=False, expires_at=row.expires_at))
    return Reservation(id, number, row.left - 1)


def _commit(reservation: Reservation, view: View, now: float) -> None:
    use = _use(reservation, view)
    if use is None:
        raise GrantError("not-found", f"reservation {reservation.number} was released, or never made")
    if not use.committed:
        _usable(reservation.grant_id, view, now)
        view.put(USE_ROWS, key_of(reservation.grant_id, reservation.number), replace(use, committed=True))


def _release(reservation: Reservation, view: View, _now: float) -> None:
    key = key_of(reservation.grant_id)
    row = view.get(ROWS, key)
    if row is not None and _use(reservation, view) is not None:
        view.put(ROWS, key, replace(row, used=row.used - 1))
        view.drop(USE_ROWS, key_of(reservation.grant_id, reservation.number))


def _use(reservation: Reservation, view: View) -> UseRow | None:
    """The use of the grant that is there, not of one that had the same id and was forgotten."""
    row = view.get(ROWS, key_of(reservation.grant_id))
    use = view.get(USE_ROWS, key_of(reservation.grant_id, reservation.number))
    return use if row is not None and use is not None and use.expires_at == row.expires_at else None


def _spend(id: str, view: View, now: float) -> int:
    row = _usable(id, view, now)
    _require_use(id, row)
    view.put(ROWS, key_of(id), replace(row, used=row.used + 1))
    return row.left - 1


def _revoke(id: str, view: View, _now: float) -> None:
    row = view.get(ROWS, key_of(id))
    if row is not None:
        view.put(ROWS, key_of(id), replace(row, revoked=True))


def _usable(id: str, view: View, now: float) -> GrantRow:
    row = view.get(ROWS, key_of(id))
    if row is None:
        raise GrantError("not-found", f"there is no grant {id!r}")
    if row.revoked:
        raise GrantError("revoked", f"the grant {id!r} was revoked")
    _require_time(id, row, now)
    return row


def _require_time(id: str, row: GrantRow, now: float) -> None:
    if not row.counts_at(now):
        detail = "has expired" if is_time(now) else "counts for nothing while the clock says no time"
        raise GrantError("expired", f"the grant {id!r} {detail}")


def _require_use(id: str, row: GrantRow) -> None:
    if row.left < 1:
        raise GrantError("already-consumed", f"no use of the grant {id!r} is left")
