"""The statements that operations are made of, each built once."""

from __future__ import annotations

from functools import cache
from typing import Final

import sqlalchemy as sa

from ..ledger import ENDED
from ._schema import ATTEMPTS, JOURNAL, STORE

_KEYS: Final[sa.BindParameter[str]] = sa.bindparam("keys", type_=sa.Text, expanding=True)
_ROW: Final = STORE.c.id == 1
_MARK_THERE: Final[sa.BindParameter[float]] = sa.bindparam("mark", type_=sa.Double)

CLOCK: Final = sa.select(STORE.c.version, STORE.c.latest, sa.cast(sa.null(), sa.Double)).where(_ROW)
"""The version of the tables, the latest time that is kept, and nothing."""

SERVER_CLOCK: Final = sa.select(
    STORE.c.version, STORE.c.latest, sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Double)
).where(_ROW)
"""Likewise, and the time of the server."""

MARK: Final = (
    sa.update(STORE)
    .where(_ROW, sa.or_(STORE.c.latest.is_(None), STORE.c.latest < sa.bindparam("now", type_=sa.Double)))
    .values(latest=sa.bindparam("now", type_=sa.Double))
)
"""Keep a time, unless a later one is kept."""


@cache
def read(table: sa.Table) -> sa.Select[tuple[object, ...]]:
    """The rows of some keys."""
    return sa.select(table).where(table.c.key.in_(_KEYS)).order_by(table.c.key)


@cache
def locked(table: sa.Table) -> sa.Select[tuple[object, ...]]:
    """Likewise, and nobody else changes them until the transaction ends. SQLite has one writer, and leaves that out."""
    return read(table).with_for_update()


@cache
def insert(table: sa.Table, dialect: str) -> sa.Insert:
    """Make rows. Where others may make the same, it returns the keys of those that it made."""
    if dialect == "sqlite":
        return sa.insert(table)
    from sqlalchemy.dialects.postgresql import insert as insert_there  # noqa: PLC0415 - who uses SQLite does not load it

    return insert_there(table).on_conflict_do_nothing().returning(table.c.key)


@cache
def update(table: sa.Table) -> sa.Update:
    """Change the row of ``row_key``. A column that is set may not share its name with a parameter."""
    return sa.update(table).where(table.c.key == sa.bindparam("row_key"))


@cache
def delete(table: sa.Table) -> sa.Delete:
    """Forget the rows of some keys."""
    return sa.delete(table).where(table.c.key.in_(_KEYS))


def ended_before(instant: sa.ColumnElement[float] | float) -> sa.ColumnElement[bool]:
    """Whether an attempt was over before *instant*, and may be forgotten at all."""
    # Nearly all attempts have ended. By their state all of them would be looked at each time, so that is hidden from the
    # planner, and they are found by when they ended.
    state = ATTEMPTS.c.state.concat("")
    return sa.and_(state.in_(sorted(ENDED)), ATTEMPTS.c.ended_at < instant)


@cache
def sweep_ended() -> sa.Delete:
    """Forget so many of the attempts that were over before a time, and may be forgotten at all."""
    return _oldest(ATTEMPTS, ended_before(_MARK_THERE))


@cache
def sweep_journal() -> sa.Delete:
    """Forget so many of the entries of the journal that were read before a time."""
    return _oldest(JOURNAL, JOURNAL.c.at < _MARK_THERE)


@cache
def sweep(table: sa.Table) -> sa.Delete:
    """Forget so many of the rows that had expired at a time, but for those that somebody is about to change."""
    return _oldest(table, table.c.expires_at <= _MARK_THERE)


def _oldest(table: sa.Table, which: sa.ColumnElement[bool]) -> sa.Delete:
    old = sa.select(table.c.key).where(which)
    old = old.limit(sa.bindparam("most", type_=sa.Integer)).with_for_update(skip_locked=True)
    return sa.delete(table).where(table.c.key.in_(old))
