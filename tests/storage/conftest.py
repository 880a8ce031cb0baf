"""Stores for these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storage.servers import open_database, open_schema


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The URL of a PostgreSQL database."""
    with open_database() as url:
        yield url


@pytest.fixture
def schema(database: str) -> Iterator[str]:
    """The URL of an empty schema of PostgreSQL's."""
    with open_schema(database) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be opened that is not there yet: a file, and then PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    found: object = request.getfixturevalue("schema")
    assert isinstance(found, str)
    return found
