"""Walking one path from the root's handle, one name at a time, so that nothing leads out.

A check of a path's text, followed by an open, can be raced: a directory becomes a link in between. Here every
component is opened relative to the handle of the one before it and never through a link. Links are read and followed
by hand, from handles again, so a link is just another spelling of a path inside. ``..`` is never asked of the kernel:
a directory that was moved away meanwhile would lead out.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import Final, Literal, NoReturn, Protocol

import attrs

from ...definitions._call import ToolFailure
from ._paths import InvalidPath, NotAFile, NothingThere, PathEscape, printable, quoted, split_names

Kind = Literal["file", "directory", "link", "special"]
Check = Callable[[], None]
"""Raises when the caller asked to stop; called often, so it must be cheap."""

MAX_LINKS: Final = 40
"""Links followed for one path before it counts as a loop: what Linux allows."""

_NO_LINK: Final[int] = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
OPEN_ROOT: Final = _DIRECTORY | getattr(os, "O_CLOEXEC", 0)
"""The root itself may be a link: the host chose it."""
OPEN_DIRECTORY: Final = _DIRECTORY | _NO_LINK
# O_PATH passes through directories that may be entered but not listed, as the kernel's own walk does.
OPEN_PASSAGE: Final[int] = getattr(os, "O_PATH", 0) | _DIRECTORY | _NO_LINK
# O_NONBLOCK: a FIFO swapped in after the look must not hang the open.
OPEN_FILE: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NO_LINK

SWAPPED: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO})
"""What an open says when the name is no longer what the look before it found."""
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})


class Opener(Protocol):
    """The one way to open a name below a handle; `os.open` unless a test wants otherwise."""

    def __call__(self, path: str, flags: int, *, dir_fd: int) -> int: ...


def os_open(path: str, flags: int, *, dir_fd: int) -> int:
    """`os.open` as an `Opener`."""
    return os.open(path, flags, dir_fd=dir_fd)


def kind_of(found: os.stat_result) -> Kind:
    """What a look at a name found."""
    if stat.S_ISREG(found.st_mode):
        return "file"
    if stat.S_ISDIR(found.st_mode):
        return "directory"
    return "link" if stat.S_ISLNK(found.st_mode) else "special"


def look(name: str, parent: int) -> Kind:
    """What *name* is in the directory *parent*, links not followed.

    Raises:
        OSError: There is no such name, or it may not be looked at.
    """
    return kind_of(os.stat(name, dir_fd=parent, follow_symlinks=False))


def fail(path: str, error: OSError, *, linked: bool = False, changing: bool = False) -> NoReturn:
    """Turn the file system's error about *path* into a `ToolFailure` that names no place outside the root."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        raise NothingThere(path, "is a link to something that does not exist" if linked else "does not exist") from None
    if error.errno == errno.ENAMETOOLONG:
        raise InvalidPath(path, "has a name that is too long for this file system") from None
    words = (
        f"{quoted(path)} cannot be {'changed' if changing else 'read'}: {(error.strerror or 'unknown reason').lower()}"
    )
    facts = {"path": printable(path)}
    if error.errno in _DENIED:
        raise ToolFailure(words, category="permission", code="ACCESS_DENIED", effect="none", details=facts) from None
    if is_exhaustion(error):
        raise ToolFailure(words, category="transient", effect="none", retryable=True, details=facts) from None
    code = "EDIT_FAILED" if changing else "READ_FAILED"
    raise ToolFailure(words, category="internal", code=code, effect="none", details=facts) from None


def is_exhaustion(error: OSError) -> bool:
    """Whether *error* is about this process running out of something, not about the file: skipping would be a lie."""
    return error.errno in _EXHAUSTED


@attrs.frozen(eq=False)
class Base:
    """Where descents begin.

    Args:
        fd: The root's handle.
        spellings: The absolute paths of the root, to recognise absolute link targets that stay inside.
        opener: Opens one name below a handle.
        check: Raises when the caller asked to stop.
    """

    fd: int
    spellings: tuple[str, ...]
    opener: Opener
    check: Check


@attrs.define(eq=False)
class Descent:
    """One path on its way from the root.

    Args:
        path: As it was asked for, for messages.
        base: Where it begins.
        pending: The names still to walk, the next one last.
        fd: The directory reached so far; None when it has to be reached again.
        trail: The real names that lead to it: no links, no ``..``.
        links: How many links were followed.
    """

    path: str
    base: Base
    pending: list[str]
    fd: int | None = None
    trail: list[str] = attrs.Factory(list[str])
    links: int = 0

    def close(self) -> None:
        """Let go of the handle."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def reach(self) -> tuple[int, str | None, Kind]:
        """Walk to the last directory. Gives its handle, and the name and kind of what is wanted in it.

        The name is None when the path ends at the directory itself: the root, or after ``..``. The kind is never
        ``link``.

        Raises:
            PathEscape: The path, or a link on it, leads out of the root.
            ToolFailure: There are too many links, or a name on the way is no directory.
            OSError: A name on the way does not exist or may not be entered.
        """
        while True:
            self.base.check()
            if self.pending and self.pending[-1] == "..":
                self._go_up()
            elif self.fd is None:
                self._reopen()
            elif not self.pending:
                return self.fd, None, "directory"
            else:
                kind = look(self.pending[-1], self.fd)
                name = self.pending.pop()
                if kind == "link":
                    self._follow(name, self.fd)
                elif not self.pending:
                    return self.fd, name, kind
                elif kind == "directory":
                    self._go_down(name, self.fd)
                else:
                    raise NothingThere(self.path, f"does not exist: {quoted(name)} on the way is not a directory")

    def again(self, name: str) -> None:
        """Put *name* back: it was swapped between the look and the open.

        Raises:
            NotAFile: That happened too often.
        """
        self._count()
        self.pending.append(name)

    def _count(self) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            raise NotAFile(self.path, f"goes through more than {MAX_LINKS} links, or through a loop of them")

    def _go_up(self) -> None:
        self.pending.pop()
        if not self.trail:
            raise PathEscape(self.path, "leads out of the root")
        self.trail.pop()
        self.close()

    def _go_down(self, name: str, parent: int) -> None:
        try:
            below = self.base.opener(name, OPEN_PASSAGE, dir_fd=parent)
        except OSError as error:
            if error.errno not in SWAPPED:
                raise
            self.again(name)
            return
        self.close()
        self.fd = below
        self.trail.append(name)

    def _reopen(self) -> None:
        # The names are walked like any others: one that was a directory before may be a link by now.
        self.pending.extend(reversed(self.trail))
        self.trail = []
        self.fd = os.dup(self.base.fd)

    def _follow(self, name: str, parent: int) -> None:
        self._count()
        try:
            target = os.readlink(name, dir_fd=parent)
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: no link any more
                raise
            self.pending.append(name)
            return
        if target.startswith("/"):
            target = self._inside(target)
            self.trail = []
            self.close()
        self.pending.extend(reversed(split_names(target)))

    def _inside(self, target: str) -> str:
        for base in self.base.spellings:
            if target == base or target.startswith(f"{base.rstrip('/')}/"):
                return target[len(base) :]
        raise PathEscape(self.path, "leads out of the root through a link")
