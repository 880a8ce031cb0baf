"""Databases for these tests, and victims."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.ledger.killing import Victims, open_victims
from tests.storage.conftest import database, schema, where

__all__ = ("database", "schema", "where")


@pytest.fixture(scope="package")
def victims() -> Iterator[Victims]:
    """What starts victims, and ends with those that are left: before other tests look for processes of theirs."""
    with open_victims() as opened:
        yield opened
