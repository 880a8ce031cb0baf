"""How an older store becomes one of today."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from armory_trio.buckets import Rate
from armory_trio.journal import Publication
from armory_trio.storage import _schema
from armory_trio.storage._database import Database, place_of
from armory_trio.storage.sql import open_store
from tests.requirements import requirement
from tests.storage.deeds import approval, claim, grant

T0 = 1_800_000_000.0
LATER = ("armory_attempts", "armory_heads", "armory_journal", "armory_buckets")
"""The tables that version 1 did not have."""


def tables(where: str) -> sa.Connection:
    """A connection to the tables that checks nothing."""
    return Database(place_of(where), timeout=5.0, synchronous="full").engine.connect()


def at_version(where: str, version: int) -> None:
    """Make the tables as they were at *version*."""
    with tables(where) as connection, connection.begin():
        _schema.migrate(connection, _schema.MIGRATIONS[:version])


@requirement("storage.migrations")
async def test_a_store_of_version_1_is_brought_up_to_date_and_keeps_what_it_has(where: str) -> None:
    binding, made = approval("nonce-1", T0), grant("grant:1", T0)
    async with open_store(where, clock=lambda: T0) as store:
        await store.approvals.issue(binding)
        await store.grants.issue(made)
    # What that version had, without what came later.
    with tables(where) as connection, connection.begin():
        for table in LATER:
            connection.execute(sa.text(f"DROP TABLE {table}"))
        connection.execute(sa.text("UPDATE armory_store SET version = 1"))

    async with open_store(where, clock=lambda: T0) as store:
        assert await store.approvals.state(binding) == "issued"
        assert await store.grants.get(made.id) == made
        await store.ledger.apply(claim("key-1", "a"))

    with tables(where) as connection:
        assert _schema.version_of(connection) == _schema.VERSION


@requirement("storage.migrations")
async def test_a_store_of_version_2_keeps_its_attempts_and_gets_what_came_later(where: str) -> None:
    asked = claim("key-1", "a")
    async with open_store(where, clock=lambda: T0) as store:
        await store.ledger.apply(asked)
    with tables(where) as connection, connection.begin():
        for table in LATER[1:]:
            connection.execute(sa.text(f"DROP TABLE {table}"))
        connection.execute(sa.text("UPDATE armory_store SET version = 2"))

    async with open_store(where, clock=lambda: T0) as store:
        assert [attempt.key for attempt in await store.ledger.list()] == [asked.key.text]
        await store.journal.append([Publication(T0, "host-1", "e-1", 1, "{}")])
        assert len(await store.journal.read()) == 1
        assert (await store.buckets.take("b", Rate(1.0, 1))).tokens == 1


@requirement("storage.migrations")
@pytest.mark.parametrize("version", range(_schema.VERSION + 1))
async def test_every_version_leads_to_the_same_tables(where: str, version: int) -> None:
    at_version(where, version)
    async with open_store(where):
        pass

    with tables(where) as connection:
        inspector = sa.inspect(connection)
        for table in (_schema.STORE, *_schema.TABLES):
            found = {column["name"]: bool(column["nullable"]) for column in inspector.get_columns(table.name)}
            assert set(found) == {column.name for column in table.columns}
            for column in table.columns:
                assert column.primary_key or found[column.name] == column.nullable
        assert _schema.version_of(connection) == _schema.VERSION


@requirement("storage.migrations")
def test_a_migration_that_fails_changes_nothing(where: str) -> None:
    at_version(where, 1)
    broken = (*_schema.MIGRATIONS[:1], ("CREATE TABLE armory_new (id INTEGER)", "THIS IS NO SQL"))
    with tables(where) as connection:
        with pytest.raises(exc.DBAPIError), connection.begin():
            _schema.migrate(connection, broken)

        assert not sa.inspect(connection).has_table("armory_new")
        assert _schema.version_of(connection) == 1
