"""Where the sockets of the tests are, and a desk that does not rest."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from armory_trio.observability import _socket_desk


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path, as a socket needs it, that is this user's runtime folder for the length of a test."""
    with tempfile.TemporaryDirectory(prefix="at-") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", made)
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames come without a pause between them, so that ages are exact on a clock that jumps."""
    monkeypatch.setattr(_socket_desk, "_SHARE", 1)
