"""The root jail: one directory, opened once, and everything below it opened by handle.

Hard links and mounts inside the root are inside: they can only be made by somebody who may already read their targets.
"""

from __future__ import annotations

import errno
import os
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, cast

import attrs

from ...definitions._call import ToolFailure
from ...definitions._checks import shown
from ...errors import DefinitionError
from ._descent import (
    OPEN_DIRECTORY,
    OPEN_FILE,
    OPEN_PASSAGE,
    OPEN_ROOT,
    SWAPPED,
    Base,
    Check,
    Descent,
    Kind,
    Opener,
    fail,
    kind_of,
    os_open,
)
from ._paths import NotAFile, split_path

if TYPE_CHECKING:
    Finalizer = weakref.finalize[[int], "Jail"]
else:
    Finalizer = weakref.finalize  # which takes no parameters at run time


@attrs.frozen
class Entry:
    """Where a file stands, links on the way followed.

    Args:
        parent: The handle of its directory; whoever asked closes it.
        name: Its name in there.
        trail: The real names of the directories on the way, from the root.
    """

    parent: int
    name: str
    trail: tuple[str, ...]


@attrs.frozen(eq=False)
class RootHandle:
    """The root for as long as one operation lasts. All opening happens below it."""

    base: Base

    @property
    def check(self) -> Check:
        """Raises when the caller of this operation asked to stop."""
        return self.base.check

    def open_file(self, path: str) -> int:
        """Open a regular file for reading; the caller closes the handle. Links are followed while they stay inside.

        Raises:
            PathEscape: The path, or a link on it, leads out of the root.
            ToolFailure: There is no such file, it is no regular file, or it may not be read.
        """
        return self._open(path, "file")

    def open_directory(self, path: str) -> int:
        """Open a directory for listing; see `open_file`."""
        return self._open(path, "directory")

    def locate(self, path: str) -> Entry:
        """Find a regular file without opening it. Raises like `open_file`."""
        with self._descent(path) as descent:
            parent, name, kind = descent.reach()
            if name is None or kind != "file":
                raise NotAFile(path, _mismatch(kind))
            return Entry(os.dup(parent), name, tuple(descent.trail))

    def kind(self, path: str) -> Kind:
        """What is there, links followed: never ``link``. Raises like `open_file`."""
        with self._descent(path) as descent:
            return descent.reach()[2]

    def open_below(self, parent: int, name: str, kind: Literal["file", "directory"], *, writable: bool = False) -> int:
        """Open *name* in the directory *parent*, never through a link; a file for writing, too, if *writable*.

        Raises:
            OSError: It cannot be opened, or is something else by now.
        """
        flags = OPEN_FILE if kind == "file" else OPEN_DIRECTORY
        fd = self.base.opener(name, flags | os.O_RDWR if writable else flags, dir_fd=parent)
        if kind_of(os.fstat(fd)) == kind:
            return fd
        os.close(fd)
        raise OSError(errno.ENXIO, "is not what it was")

    def reopen(self, names: Sequence[str]) -> int:
        """Open the directory at *names* for listing, never through a link.

        Raises:
            OSError: It cannot be opened, or a name on the way is a link by now.
        """
        fd = os.dup(self.base.fd)
        try:
            for name in names:
                below = self.base.opener(name, OPEN_PASSAGE, dir_fd=fd)
                os.close(fd)
                fd = below
            return self.base.opener(".", OPEN_DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)

    @contextmanager
    def _descent(self, path: str) -> Generator[Descent]:
        descent = Descent(path, self.base, split_path(path)[::-1])
        try:
            yield descent
        except OSError as error:
            fail(path, error, linked=descent.links > 0)
        finally:
            descent.close()

    def _open(self, path: str, want: Literal["file", "directory"]) -> int:
        with self._descent(path) as descent:
            while True:
                parent, name, kind = descent.reach()
                if kind != want:
                    raise NotAFile(path, _mismatch(kind))
                if name is None:
                    return self.base.opener(".", OPEN_DIRECTORY, dir_fd=parent)
                try:
                    return self.open_below(parent, name, want)
                except OSError as error:
                    if error.errno not in SWAPPED:
                        raise
                    descent.again(name)


def _mismatch(kind: Kind) -> str:
    if kind == "directory":
        return "is a directory, not a file; list it with a glob such as 'src/*'"
    if kind == "file":
        return "is a file, not a directory"
    return "is a pipe, socket or device, not a regular file"


@attrs.define(eq=False, init=False)
class Jail:
    """A directory that nothing leads out of, opened at its first use and then pinned: renaming it changes nothing.

    Safe to use from several threads. ``close()`` ends it; operations under way keep their own handle. A jail that is
    collected closes itself.

    Args:
        root: The directory. It may be a link.
        opener: Opens one name below a handle; for tests.

    Raises:
        DefinitionError: *root* is blank or no directory, or this system cannot open by handle.
    """

    _spellings: tuple[str, ...]
    _opener: Opener
    _lock: threading.Lock
    _fd: int | None
    _finalizer: Finalizer | None
    _closed: bool

    def __init__(self, root: str | os.PathLike[str], *, opener: Opener = os_open) -> None:
        _require_handles()
        text = _text_of(root)
        if not text.strip():
            raise DefinitionError("coding kit", "root", "is blank; give the directory that the tools may read")
        try:
            self._spellings = (str(Path(text).absolute()), str(Path(text).resolve()))
            found = Path(text).is_dir()
        except (OSError, ValueError, RuntimeError) as error:  # a name too long, a NUL, a loop of links
            raise DefinitionError("coding kit", "root", f"{shown(text)} can't be looked at: {error}") from error
        if not found:
            raise DefinitionError("coding kit", "root", f"{text!r} is not a directory")
        self._opener = opener
        self._lock = threading.Lock()
        self._fd = None
        self._finalizer = None
        self._closed = False

    @contextmanager
    def handle(self, check: Check) -> Generator[RootHandle]:
        """The root for one operation; *check* is called along the way.

        Raises:
            ToolFailure: The root is gone, or the jail is closed.
        """
        fd = self._duplicate()
        try:
            yield RootHandle(Base(fd, self._spellings, self._opener, check))
        finally:
            os.close(fd)

    @property
    def place(self) -> str:
        """The path of the root without links, for the host: nothing that a model reads may say it."""
        return self._spellings[1]

    def close(self) -> None:
        """Let go of the root. Closing twice is fine."""
        with self._lock:
            self._closed = True
            if self._finalizer is not None:
                self._finalizer()
            self._fd = self._finalizer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _duplicate(self) -> int:
        with self._lock:
            if self._closed:
                raise ToolFailure("the files are closed: the host has ended this root", category="unavailable")
            try:
                if self._fd is None:
                    self._fd = os.open(self._spellings[0], OPEN_ROOT)
                    self._finalizer = weakref.finalize(self, os.close, self._fd)
                if os.fstat(self._fd).st_nlink == 0:
                    raise ToolFailure("the root directory was deleted", category="unavailable", effect="none")
                return os.dup(self._fd)
            except OSError as error:
                fail(".", error)


def _text_of(root: object) -> str:
    try:
        path: object = os.fspath(cast("os.PathLike[str]", root))
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise DefinitionError("coding kit", "root", f"must be a path of text, not {shown(root)}")
    return path


def _require_handles() -> None:
    known = hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY") and os.scandir in os.supports_fd
    if not known or not {os.open, os.stat, os.readlink} <= os.supports_dir_fd:
        raise DefinitionError(
            "coding kit", "root", "needs POSIX directory handles (openat, O_NOFOLLOW), which this system does not have"
        )
