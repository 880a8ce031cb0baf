"""The attempts of a ledger in a database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Final, final

import sqlalchemy as sa

from ..authority._clock import is_time
from ..ledger import ENDED, LIVE, Answer, Attempt, AttemptState, aged, may_be_forgotten
from ..ledger import Operation as LedgerOperation
from ..ledger import apply as apply_rules
from ..ledger import key_text as key_text_of
from ..ledger._asked import check_ended_before, check_key_text, check_operation, check_page
from . import _statements as statements
from ._documents import from_text, key_of, tag_of, to_text
from ._part import StorePart
from ._rows import Kind, Operation, Row, View
from ._schema import ATTEMPTS, MOST_ROWS

_PREFIX: Final = 200
"""Characters of a key that are indexed: at most 800 bytes, a third of what PostgreSQL takes in an index."""

_PAGE: Final = 500
"""Attempts that are forgotten in one transaction."""


class AttemptRow(Row, frozen=True):
    """The last attempt of a key."""

    prefix: str
    key_text: str
    tenant: str
    tool_name: str
    host: str
    state: AttemptState
    lease_expires_at: float
    deadline: float
    ended_at: float | None  # of one that may not be forgotten only the document has it
    document: str

    def instants(self) -> tuple[float, ...]:
        """When its lease is over, and when it can't be renewed any more."""
        return (self.lease_expires_at, self.deadline) if self.state in LIVE else ()


ROWS: Final = Kind(ATTEMPTS, AttemptRow)


@final
class SqlLedger(StorePart):
    """The attempts of a store. A `LedgerStore`; `open_store` makes it.

    Cancelled: an operation was not begun, and has changed nothing. One that has begun returns.

    Every operation raises `StoreUnavailable` when the database can't be used.
    """

    async def apply(self, operation: LedgerOperation, /) -> Answer:
        """As `LedgerStore.apply`."""
        check_operation(operation)
        text = key_text_of(operation)
        return await self._lanes.run(Operation(partial(_apply, text, operation), ((ROWS, key_of(text)),)))

    async def load(self, key_text: str, /) -> Attempt | None:
        """As `LedgerStore.load`."""
        check_key_text(key_text)
        decide = partial(_load, key_of(key_text))
        return await self._lanes.run(Operation(decide, ((ROWS, key_of(key_text)),), writes=False))

    async def list(
        self,
        *,
        states: Collection[AttemptState] | None = None,
        tenant: str | None = None,
        tool_name: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Attempt]:
        """As `LedgerStore.list`."""
        sought = {"tenant": tenant, "tool_name": tool_name, "host": host, "after": after}
        wanted = check_page(states, limit, sought)
        table = ATTEMPTS.c
        statement = sa.select(ATTEMPTS).order_by(table.prefix, table.key_text).limit(min(limit, MOST_ROWS))
        for column, value in ((table.tenant, tenant), (table.tool_name, tool_name), (table.host, host)):
            if value is not None:
                statement = statement.where(column == tag_of(value))
        if after is not None:
            start = after[:_PREFIX]
            statement = statement.where(table.prefix >= start)
            statement = statement.where(sa.or_(table.prefix > start, table.key_text > after))

        def decide(view: View, now: float) -> tuple[Attempt, ...]:
            found = view.scan(ROWS, statement if wanted is None else statement.where(_in_states(wanted, now)))
            return tuple(_aged(row, now) for _, row in found)

        return await self._lanes.run(Operation(decide, writes=False))

    async def forget(self, *, ended_before: float) -> int:
        """As `LedgerStore.forget`. Cancelled: some were forgotten, and the next time goes on from there."""
        instant = check_ended_before(ended_before, self.now())
        forgotten = 0
        ended = sa.select(ATTEMPTS).where(statements.ended_before(instant)).limit(_PAGE)
        while True:
            look: Operation[Sequence[str]] = Operation(
                lambda view, _now: [key for key, _ in view.scan(ROWS, ended)], writes=False
            )
            keys = await self._lanes.run(look)
            locks = tuple((ROWS, key) for key in keys)
            forgotten += await self._lanes.run(Operation(partial(_forget, keys, instant), locks))
            if len(keys) < _PAGE:
                return forgotten


def _apply(text: str, operation: LedgerOperation, view: View, now: float) -> Answer:
    key = key_of(text)
    row = view.get(ROWS, key)
    before = None if row is None else from_text(row.document, Attempt)
    after, answer = apply_rules(before, operation, now)
    if after is None:
        if before is not None:
            view.drop(ROWS, key)
    elif after != before:
        view.put(ROWS, key, _row(after))
    return answer


def _row(attempt: Attempt) -> AttemptRow:
    return AttemptRow(
        prefix=attempt.key[:_PREFIX],
        key_text=attempt.key,
        tenant=tag_of(attempt.tenant),
        tool_name=tag_of(attempt.tool_name),
        host=tag_of(attempt.host),
        state=attempt.state,
        lease_expires_at=attempt.lease_expires_at,
        deadline=attempt.deadline,
        ended_at=None if attempt.state in ENDED and not may_be_forgotten(attempt) else attempt.ended_at,
        document=to_text(attempt),
    )


def _load(key: str, view: View, now: float) -> Attempt | None:
    row = view.get(ROWS, key)
    return None if row is None else _aged(row, now)


def _aged(row: AttemptRow, now: float) -> Attempt:
    attempt = from_text(row.document, Attempt)
    return aged(attempt, now) if is_time(now) else attempt


def _in_states(states: Collection[AttemptState], now: float) -> sa.ColumnElement[bool]:
    """Which rows are in one of *states*, where a started one whose lease is over is ``unknown``."""
    table = ATTEMPTS.c
    over = sa.and_(table.state == "started", table.lease_expires_at <= now) if is_time(now) else sa.false()
    wanted = sa.and_(table.state.in_(sorted(states)), sa.not_(over))
    return sa.or_(wanted, over) if "unknown" in states else wanted


def _forget(keys: Sequence[str], ended_before: float, view: View, _now: float) -> int:
    forgotten = 0
    for key in keys:
        row = view.get(ROWS, key)
        if row is not None and row.state in ENDED and row.ended_at is not None and row.ended_at < ended_before:
            view.drop(ROWS, key)
            forgotten += 1
    return forgotten
