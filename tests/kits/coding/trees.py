"""Real trees of files for the tests of the coding kit, and ways to watch what is opened in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from armory_trio.kits.coding import GlobQuery, GlobResult, GrepQuery, GrepResult, Jail, collect_matches, glob, grep
from armory_trio.kits.coding._grep import GrepLimits

SECRET = "the-secret-outside"


def never() -> None:
    """A check for a caller who never asks to stop."""


class Stopped(Exception):
    """What the checks of these tests raise."""


def stop_after(count: int) -> Callable[[], None]:
    """A check that lets *count* calls pass."""
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > count:
            raise Stopped

    return check


def plant(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write *files* below *root*; a name that ends with a slash is a directory."""
    for name, content in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


class Doorkeeper:
    """Opens like the system and keeps the handles, or refuses the names that it is told to refuse."""

    def __init__(self, refused: Mapping[str, int] | None = None) -> None:
        self.refused = dict(refused or {})
        self.opened: list[str] = []
        self.handles: list[tuple[int, tuple[int, int]]] = []

    def __call__(self, path: str, flags: int, *, dir_fd: int) -> int:
        if path in self.refused:
            raise OSError(self.refused[path], os.strerror(self.refused[path]))
        fd = os.open(path, flags, dir_fd=dir_fd)
        found = os.fstat(fd)
        self.opened.append(path)
        self.handles.append((fd, (found.st_dev, found.st_ino)))
        return fd

    def still_open(self) -> list[int]:
        """Handles that were opened here and lead to the same file still."""
        return [fd for fd, identity in self.handles if _identity(fd) == identity]


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def search(root: Path | Jail, query: GrepQuery, *, limits: GrepLimits | None = None) -> GrepResult:
    """The whole result of one search."""
    jail = root if isinstance(root, Jail) else Jail(root)
    return collect_matches(list(grep(never, jail, query, limits=limits or GrepLimits())))


def listing(root: Path | Jail, query: GlobQuery) -> GlobResult:
    """The whole result of one listing."""
    return glob(never, root if isinstance(root, Jail) else Jail(root), query)


def places(result: GrepResult) -> list[tuple[str, int]]:
    """Where the matches are."""
    return [(match.path, match.line) for match in result.matches]
