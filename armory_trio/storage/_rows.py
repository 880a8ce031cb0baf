"""Operations on rows: each decides on what it reads, many are committed together, and all see one time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar, final

import attrs
import msgspec
import outcome
import sqlalchemy as sa
from sqlalchemy import exc

from ..authority._clock import is_time
from . import _statements as statements
from ._clock import SqlClock
from ._documents import chunks
from ._keep import Keep
from ._schema import EXPIRING, TABLES

T = TypeVar("T")
R = TypeVar("R", bound="Row")
R_co = TypeVar("R_co", bound="Row", covariant=True)

_MOST_KEYS: Final = 500
"""Keys in one statement: below the number of parameters that every SQLite takes, and planned in no time."""

_MARK_EVERY: Final = 1.0
"""Seconds after which the latest time is written again though nothing was seen to be over. Hosts of a shared store wait
for each other there, so it is seldom; and after a kill the clock may go back by no more than this unnoticed."""


class Row(msgspec.Struct, frozen=True):
    """A row without its key. The fields are the columns."""

    def instants(self) -> tuple[float, ...]:
        """From which instants on it means something else."""
        return ()


@attrs.frozen
class Kind(Generic[R_co]):
    """A table, and what its rows are."""

    table: sa.Table
    row: type[R_co]


Lock = tuple[Kind[Row], str]
"""A row, there or not, that an operation needs: its kind and its key."""


class View(Protocol):
    """What an operation sees and may change: the rows that it named, as the operations before it left them."""

    def get(self, kind: Kind[R], key: str) -> R | None:
        """The row, None if it is not there."""
        ...

    def put(self, kind: Kind[R], key: str, row: R) -> None:
        """Keep *row*."""
        ...

    def drop(self, kind: Kind[Row], key: str) -> None:
        """Forget the row."""
        ...

    def scan(self, kind: Kind[R], statement: sa.Select[tuple[object, ...]]) -> Sequence[tuple[str, R]]:
        """Rows that *statement* finds, with their keys, as they were before this group."""
        ...


@attrs.frozen(eq=False)
class Operation(Generic[T]):
    """Something to do, as a decision about rows.

    Args:
        decide: Decides, changes the rows, and gives the answer. If it raises, nothing is changed. It may be called
            again, when the transaction could not be committed.
        locks: The rows that it gets or changes.
        writes: Whether it can change anything.
        instants: The instants on which its answer depends, other than those of the rows.
    """

    decide: Callable[[View, float], T]
    locks: tuple[Lock, ...] = ()
    writes: bool = True
    instants: tuple[float, ...] = ()


class SeenToBeOver(Exception):
    """A reader saw that something is over which the store does not know to be. Only a writer may answer that."""


class Raced(Exception):
    """Another host made a row at the same time. Once more, and it will be seen."""


Outcomes = list[outcome.Outcome[object]]


@final
class Group:
    """Operations of one transaction.

    Args:
        connection: Where; not in a transaction.
        clock: What the time is.
        require_version: Raises if the tables are of another version.
        writes: Whether rows are locked and changes written.
    """

    def __init__(
        self,
        connection: sa.Connection,
        clock: SqlClock,
        require_version: Callable[[int | None], None],
        *,
        writes: bool,
    ) -> None:
        self.committing = False
        self.mark = float("-inf")
        self._connection = connection
        self._clock = clock
        self._require_version = require_version
        self._writes = writes
        self._rows: dict[tuple[str, str], Row | None] = {}
        self._before: Mapping[tuple[str, str], Row | None] = {}
        self._kinds: dict[str, Kind[Row]] = {}
        self._now = float("-inf")
        self._observed = False

    def run(self, operations: Iterable[Operation[object]]) -> Outcomes:
        """Do them, in order, and commit what they changed.

        Raises:
            Raced: Nothing was done, and it should be tried again.
        """
        operations = list(operations)
        with self._connection.begin() as transaction:
            self._load(lock for operation in operations for lock in operation.locks)
            self._read_clock()
            outcomes = [self._decide(operation) for operation in operations]
            changed = self._flush()
            marked = self._writes and self._raise_mark(changed=changed)
            if changed or marked:
                self.committing = True
                transaction.commit()
            else:
                transaction.rollback()
        return outcomes

    def sweep(self, most: int, keep: Keep) -> bool:
        """Delete up to *most* rows of each table that are old by the time that is kept; whether there may be more.

        Old is what has expired, or is to be kept no longer.
        """
        swept = [0]
        with self._connection.begin() as transaction:
            for statement, mark in self._old(keep):
                swept.append(self._connection.execute(statement, {"mark": mark, "most": most}).rowcount)
            if any(swept):
                transaction.commit()
            else:
                transaction.rollback()
        return max(swept) >= most

    def _old(self, keep: Keep) -> Iterable[tuple[sa.Delete, float]]:
        for table in EXPIRING:
            yield statements.sweep(table), self.mark
        if keep.attempts is not None:
            yield statements.sweep_ended(), self.mark - keep.attempts
        if keep.journal is not None:
            yield statements.sweep_journal(), self.mark - keep.journal

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _load(self, locks: Iterable[Lock]) -> None:
        wanted: dict[str, set[str]] = {}
        for kind, key in locks:
            self._kinds[kind.table.name] = kind
            wanted.setdefault(kind.table.name, set()).add(key)
        for table in TABLES:
            keys = sorted(wanted.get(table.name, ()))
            for some in chunks(keys, _MOST_KEYS):
                self._rows.update(dict.fromkeys(((table.name, key) for key in some), None))
                # Everybody locks in the same order: tables as they stand in TABLES, and rows by their keys.
                statement = statements.locked(table) if self._writes else statements.read(table)
                for found in self._connection.execute(statement, {"keys": some}).mappings():
                    key, row = _row_of(self._kinds[table.name], found)
                    self._rows[table.name, key] = row
        self._before = dict(self._rows)

    def _read_clock(self) -> None:
        # After the locks, so that nobody decides by a time from before he waited for them.
        asks = self._clock.asks_server and self._connection.dialect.name == "postgresql"
        found = self._connection.execute(statements.SERVER_CLOCK if asks else statements.CLOCK).one_or_none()
        version, latest, server = (None, None, None) if found is None else found
        self._require_version(version)
        self.mark = float("-inf") if latest is None else latest
        self._now = self._clock.learn(latest, None if server is None else float(server))

    def _decide(self, operation: Operation[object]) -> outcome.Outcome[object]:
        seen = _Seen(self._rows, self._connection)
        answer = outcome.capture(operation.decide, seen, self._now)
        instants = (*operation.instants, *seen.instants)
        over = is_time(self._now) and any(self.mark < instant <= self._now for instant in instants)
        self._observed = self._observed or over
        if isinstance(answer, outcome.Error) and not isinstance(answer.error, Exception):
            answer.unwrap()
        if isinstance(answer, outcome.Error) and isinstance(answer.error, exc.SQLAlchemyError):
            raise answer.error
        if over and not self._writes:
            return outcome.Error(SeenToBeOver())
        if isinstance(answer, outcome.Value):
            self._rows.update(seen.changes)
        return answer

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _flush(self) -> bool:
        changed = False
        for table in TABLES:
            new: list[dict[str, object]] = []
            other: list[dict[str, object]] = []
            gone: list[str] = []
            for name, key in sorted(self._rows):
                before, after = self._before[name, key], self._rows[name, key]
                if name != table.name or before is after or before == after:
                    continue
                if after is None:
                    gone.append(key)
                else:
                    columns = msgspec.structs.asdict(after)
                    # The name of a column that is set may not be that of a parameter, too.
                    if before is None:
                        new.append({"key": key, **columns})
                    else:
                        other.append({"row_key": key, **columns})
            changed = changed or bool(new or other or gone)
            self._write(table, new, other, gone)
        return changed

    def _write(
        self, table: sa.Table, new: list[dict[str, object]], other: list[dict[str, object]], gone: list[str]
    ) -> None:
        if new:
            made = self._connection.execute(statements.insert(table, self._connection.dialect.name), new)
            # A row that somebody else has made meanwhile is not made, and not returned.
            if made.returns_rows and len(made.all()) < len(new):
                raise Raced
        if other:
            self._connection.execute(statements.update(table), other)
        for some in chunks(gone, _MOST_KEYS):
            self._connection.execute(statements.delete(table), {"keys": some})

    def _raise_mark(self, *, changed: bool) -> bool:
        """Keep the time if something was seen to be over, or anything is written and it is long since."""
        if not is_time(self._now) or not self.mark < self._now:
            return False
        if not self._observed and not (changed and self._now - self.mark >= _MARK_EVERY):
            return False
        self._connection.execute(statements.MARK, {"now": self._now})
        self.mark = self._now
        return True


@final
class _Seen:
    """The `View` of one operation, and what it looked at."""

    def __init__(self, rows: Mapping[tuple[str, str], Row | None], connection: sa.Connection) -> None:
        self.changes: dict[tuple[str, str], Row | None] = {}
        self.instants: list[float] = []
        self._rows = rows
        self._connection = connection

    def get(self, kind: Kind[R], key: str) -> R | None:
        place = kind.table.name, key
        row = self.changes[place] if place in self.changes else self._rows[place]
        if row is None:
            return None
        if not isinstance(row, kind.row):
            raise TypeError(f"{kind.table.name} holds rows of two kinds")
        self.instants.extend(row.instants())
        return row

    def put(self, kind: Kind[R], key: str, row: R) -> None:
        self.changes[kind.table.name, key] = row

    def drop(self, kind: Kind[Row], key: str) -> None:
        self.changes[kind.table.name, key] = None

    def scan(self, kind: Kind[R], statement: sa.Select[tuple[object, ...]]) -> Sequence[tuple[str, R]]:
        found = [_row_of(kind, row) for row in self._connection.execute(statement).mappings()]
        for _, row in found:
            self.instants.extend(row.instants())
        return found


def _row_of(kind: Kind[R], columns: sa.RowMapping) -> tuple[str, R]:
    return str(columns["key"]), msgspec.convert({name: columns[name] for name in kind.row.__struct_fields__}, kind.row)
