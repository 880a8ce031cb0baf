"""Replacing text in a file, and nothing but that text.

The file is bytes from the beginning to the end: it is never decoded, so line ends, a byte order mark and bytes that are
no UTF-8 stay what they are. The new content is written to a file beside it that takes its place in one step.
"""

from __future__ import annotations

import os
import secrets
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Final

import attrs
import msgspec

from ...definitions._call import ToolFailure
from ...definitions._context import EffectWindow
from ._descent import SWAPPED, Check, fail
from ._jail import Entry, Jail, RootHandle
from ._limits import at_least
from ._match import Edit, FoundText
from ._paths import printable, quoted, shown, split_path

MAX_EDITED: Final = 8 * 1024 * 1024
"""Most bytes of a file that is edited, before and after."""

_CHUNK: Final = 65_536
_NEW_FILE: Final[int] = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
# Between the last look at a file and its replacement nobody else in this process may replace it: what a call writes
# is kept apart within one owner only.
_REPLACING: Final = threading.Lock()

Window = Callable[[str], AbstractContextManager[EffectWindow]]
"""Opens the stretch in which the file of this path changes."""


class EditResult(msgspec.Struct, frozen=True):
    """What was changed.

    Args:
        path: As it was asked for.
        replacements: How many places were changed.
        line: The line of the first of them, counted from 1 as in the matches of a search.
    """

    path: str
    replacements: int
    line: int


@attrs.frozen
class EditLimits:
    """What one edit may cost.

    Args:
        max_file_bytes: Most bytes of the file, before and after.

    Raises:
        DefinitionError: The limit is no whole number, or too small.
    """

    max_file_bytes: int = attrs.field(default=MAX_EDITED, validator=at_least(1))


class _Unwatched:
    """A window that nobody looks at."""

    def happened(self) -> None: ...
    def nothing_happened(self) -> None: ...


def _unwatched(path: str) -> AbstractContextManager[EffectWindow]:
    del path
    return nullcontext(_Unwatched())


_DEFAULT_LIMITS: Final = EditLimits()


def edit_file(
    check: Check,
    jail: Jail,
    path: str,
    edit: Edit,
    *,
    limits: EditLimits = _DEFAULT_LIMITS,
    window: Window = _unwatched,
) -> EditResult:
    """Replace text in a file; every other byte of it stays as it is, and so do its owner and its permission bits.

    *check* is called for each chunk that is read or written, *window* opened around the step that changes the file.

    Raises:
        ToolFailure: The path is refused, the text does not occur as it must, the file is too large or may not be
            changed, or somebody else changed it meanwhile. The file is what it was.
    """
    edit.require_sense()
    with jail.handle(check) as root:
        entry = root.locate(path)
        try:
            return _Editor(root, path, entry, limits).edit(edit, window)
        except OSError as error:
            fail(path, error, changing=True)
        finally:
            os.close(entry.parent)


def place_of(jail: Jail, path: str) -> str:
    """The name that all spellings of one file have in common, for keeping calls apart; any path has one.

    It looks at names only and opens no file, so it is quick enough for the supervisor's own thread.
    """
    try:
        with jail.handle(lambda: None) as root:
            entry = root.locate(path)
            os.close(entry.parent)
            names = [*entry.trail, entry.name]
    except ToolFailure:  # the call itself will say so
        try:
            names = split_path(path)
        except ToolFailure:
            names = []
    # Without the place of the root: a model that waits for a call may be told what that one waits for.
    return f"file:{shown('/'.join(names))}"


@attrs.frozen
class _Seen:
    """A file as it was at one moment."""

    found: os.stat_result
    data: bytes

    def same(self, other: _Seen) -> bool:
        return _identity(self.found) == _identity(other.found) and self.data == other.data


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return (
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_uid,
        found.st_gid,
        found.st_size,
        found.st_mtime_ns,
    )


@attrs.frozen(eq=False)
class _Editor:
    root: RootHandle
    path: str
    entry: Entry
    limits: EditLimits

    def edit(self, edit: Edit, window: Window) -> EditResult:
        seen = self._see(writable=True)
        text = FoundText.find(self.path, seen.data, edit)
        if text.size_after > self.limits.max_file_bytes:
            raise self._too_large("would be")
        with self._beside(text.changed(), seen.found) as beside, window(self.path) as change:
            try:
                self._replace(beside, seen)
            except BaseException:
                # Also when the caller asked to stop: a name is given to the other file or it is not.
                change.nothing_happened()
                raise
            change.happened()
        self._settle()
        return EditResult(self.path, text.times, text.line)

    def _see(self, *, writable: bool = False) -> _Seen:
        try:
            # Replacing a file asks for no right to write it; who may not write it shall not change it in this way.
            fd = self.root.open_below(self.entry.parent, self.entry.name, "file", writable=writable)
        except OSError as error:
            if error.errno not in SWAPPED:
                raise
            raise self._changed() from None
        try:
            return _Seen(os.fstat(fd), self._read(fd))
        finally:
            os.close(fd)

    def _read(self, fd: int) -> bytes:
        most = self.limits.max_file_bytes
        data = bytearray()
        while len(data) <= most:
            self.root.check()
            chunk = os.read(fd, _CHUNK)
            if not chunk:
                return bytes(data)
            data += chunk
        raise self._too_large("is")

    @contextmanager
    def _beside(self, data: bytes, found: os.stat_result) -> Generator[str]:
        """A file of *data* in the same directory, on the disk, with the owner and the bits of the one it is for."""
        name = f".armory-edit-{secrets.token_hex(8)}"
        fd = os.open(name, _NEW_FILE, 0o600, dir_fd=self.entry.parent)
        try:
            try:
                self._write(fd, data)
                self._keep_rights(fd, found)
                os.fsync(fd)
            finally:
                os.close(fd)
            yield name
        finally:
            # Gone when it took the place of the other.
            with suppress(OSError):
                os.unlink(name, dir_fd=self.entry.parent)

    def _write(self, fd: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self.root.check()
            rest = rest[os.write(fd, rest[:_CHUNK]) :]

    def _keep_rights(self, fd: int, found: os.stat_result) -> None:
        made = os.fstat(fd)
        if (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
            os.fchown(fd, found.st_uid, found.st_gid)
        # After the owner: changing that drops some bits.
        os.fchmod(fd, stat.S_IMODE(found.st_mode))

    def _replace(self, beside: str, seen: _Seen) -> None:
        parent = self.entry.parent
        with _REPLACING:
            try:
                now = self._see()
            except FileNotFoundError:
                raise self._changed() from None
            if not seen.same(now):
                raise self._changed()
            os.replace(beside, self.entry.name, src_dir_fd=parent, dst_dir_fd=parent)

    def _settle(self) -> None:
        # The change stands already; this is about its surviving a loss of power, which not every system can promise.
        with suppress(OSError):
            fd = self.root.base.opener(".", os.O_RDONLY, dir_fd=self.entry.parent)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def _changed(self) -> ToolFailure:
        return ToolFailure(
            f"{quoted(self.path)} was changed by somebody else in the meantime; read it again",
            category="conflict",
            code="FILE_CHANGED",
            effect="none",
            retryable=True,
            details={"path": printable(self.path)},
        )

    def _too_large(self, verb: str) -> ToolFailure:
        most = self.limits.max_file_bytes
        return ToolFailure(
            f"{quoted(self.path)} {verb} larger than the {most:,} bytes that an edited file may have",
            category="validation",
            code="FILE_TOO_LARGE",
            effect="none",
            details={"path": printable(self.path), "max_bytes": most},
        )
