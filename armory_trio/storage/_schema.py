"""The tables of a durable store, and how an older store becomes one of today."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

METADATA: Final = sa.MetaData()

STORE: Final = sa.Table(
    "armory_store",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("latest", sa.Double),
)
"""One row: the version of the tables, and the latest time at which something was seen to be over."""

APPROVALS: Final = sa.Table(
    "armory_approvals",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)

GRANTS: Final = sa.Table(
    "armory_grants",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("principal", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("tool_name", sa.Text, nullable=False),
    sa.Column("max_uses", sa.BigInteger, nullable=False),
    sa.Column("used", sa.BigInteger, nullable=False),
    sa.Column("revoked", sa.Boolean, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)

USES: Final = sa.Table(
    "armory_grant_uses",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("committed", sa.Boolean, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
)
"""A row for each reservation that was not released. Those of one grant are changed only under the lock of its row."""

ATTEMPTS: Final = sa.Table(
    "armory_attempts",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("prefix", sa.Text, nullable=False),
    sa.Column("key_text", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("tool_name", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("lease_expires_at", sa.Double, nullable=False),
    sa.Column("deadline", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    sa.Column("document", sa.Text, nullable=False),
)
"""``prefix`` is the beginning of ``key_text``, short enough for every index."""

HEADS: Final = sa.Table(
    "armory_heads",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("last", sa.BigInteger, nullable=False),
)
"""The last number that was given in each sequence."""

JOURNAL: Final = sa.Table(
    "armory_journal",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("execution", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)

BUCKETS: Final = sa.Table(
    "armory_buckets",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("expires_at", sa.Double, nullable=False),
)
"""A bucket is full from ``expires_at`` on, and so is one that is not there."""

TABLES: Final = (APPROVALS, GRANTS, USES, ATTEMPTS, HEADS, JOURNAL, BUCKETS)
"""In the order in which rows are locked, the same for everybody."""

MOST_ROWS: Final = (1 << 31) - 1
"""More than a statement can be told to answer, and nobody has so many."""

MOST: Final = (1 << 63) - 1
"""The largest number of a row."""

EXPIRING: Final = (APPROVALS, GRANTS, USES, BUCKETS)
"""Those with rows that count for nothing from ``expires_at`` on."""

_FIRST: Final = """\
CREATE TABLE armory_store (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, latest DOUBLE PRECISION)"""

MIGRATIONS: Final[Sequence[Sequence[str]]] = (
    (
        """\
CREATE TABLE armory_approvals (
    key TEXT COLLATE {binary} PRIMARY KEY, state TEXT NOT NULL, expires_at DOUBLE PRECISION NOT NULL,
    document TEXT NOT NULL)""",
        "CREATE INDEX armory_approvals_expiry ON armory_approvals (expires_at)",
        """\
CREATE TABLE armory_grants (
    key TEXT COLLATE {binary} PRIMARY KEY, principal TEXT NOT NULL, tenant TEXT NOT NULL, agent TEXT NOT NULL,
    tool_name TEXT NOT NULL, max_uses BIGINT NOT NULL, used BIGINT NOT NULL, revoked BOOLEAN NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL, document TEXT NOT NULL)""",
        "CREATE INDEX armory_grants_principal ON armory_grants (principal, tool_name)",
        "CREATE INDEX armory_grants_expiry ON armory_grants (expires_at)",
        """\
CREATE TABLE armory_grant_uses (
    key TEXT COLLATE {binary} PRIMARY KEY, committed BOOLEAN NOT NULL, expires_at DOUBLE PRECISION NOT NULL)""",
        "CREATE INDEX armory_grant_uses_expiry ON armory_grant_uses (expires_at)",
    ),
    (
        """\
CREATE TABLE armory_attempts (
    key TEXT COLLATE {binary} PRIMARY KEY, prefix TEXT COLLATE {binary} NOT NULL,
    key_text TEXT COLLATE {binary} NOT NULL, tenant TEXT NOT NULL, tool_name TEXT NOT NULL, host TEXT NOT NULL,
    state TEXT NOT NULL, lease_expires_at DOUBLE PRECISION NOT NULL, deadline DOUBLE PRECISION NOT NULL,
    ended_at DOUBLE PRECISION, document TEXT NOT NULL)""",
        "CREATE INDEX armory_attempts_order ON armory_attempts (prefix)",
        "CREATE INDEX armory_attempts_state ON armory_attempts (state, prefix)",
        "CREATE INDEX armory_attempts_ended ON armory_attempts (ended_at)",
    ),
    (
        "CREATE TABLE armory_heads (key TEXT COLLATE {binary} PRIMARY KEY, last BIGINT NOT NULL)",
        """\
CREATE TABLE armory_journal (
    key TEXT COLLATE {binary} PRIMARY KEY, sequence BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
    execution TEXT COLLATE {binary} NOT NULL, document TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX armory_journal_sequence ON armory_journal (sequence)",
        "CREATE INDEX armory_journal_execution ON armory_journal (execution, sequence)",
        "CREATE INDEX armory_journal_at ON armory_journal (at)",
    ),
    (
        """\
CREATE TABLE armory_buckets (key TEXT COLLATE {binary} PRIMARY KEY, expires_at DOUBLE PRECISION NOT NULL)""",
        "CREATE INDEX armory_buckets_expiry ON armory_buckets (expires_at)",
    ),
)
"""What leads from each version to the next, from a store without tables on. What is written here is never changed:
stores out there were made by it. Text is compared by its bytes, so that the order is the same everywhere."""

VERSION: Final = len(MIGRATIONS)
"""The version of today."""

_BINARY: Final = {"sqlite": "BINARY", "postgresql": '"C"'}
_LOCK: Final = 0x61726D6F7279
"""The advisory lock of those who make or change the tables of a PostgreSQL store: "armory" in hexadecimal."""


def version_of(connection: sa.Connection) -> int:
    """The version of the tables; 0 if there are none."""
    if not sa.inspect(connection).has_table(STORE.name):
        return 0
    found = connection.execute(sa.select(STORE.c.version).where(STORE.c.id == 1)).scalar()
    return 0 if found is None else found


def migrate(connection: sa.Connection, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the tables to the last version, in the transaction that *connection* is in. That must have the write lock.

    Does nothing if they are of that version, or of a later one.
    """
    dialect = connection.dialect.name
    if dialect == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    if not sa.inspect(connection).has_table(STORE.name):
        connection.exec_driver_sql(_FIRST)
        connection.execute(sa.insert(STORE).values(id=1, version=0, latest=None))
    version = version_of(connection)
    for statements in migrations[version:]:
        for statement in statements:
            connection.exec_driver_sql(statement.format(binary=_BINARY[dialect]))
    if version < len(migrations):
        connection.execute(sa.update(STORE).where(STORE.c.id == 1).values(version=len(migrations)))
