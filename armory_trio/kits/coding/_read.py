"""Reading part of a text file, line by line, however large the file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final, Literal

import attrs
import msgspec

from ...definitions._call import ToolFailure
from ._descent import Check, fail
from ._jail import Jail
from ._limits import at_least
from ._paths import printable, quoted

MAX_BYTES: Final = 262_144
"""Most UTF-8 bytes of content in one result."""
DEFAULT_LINES: Final = 2_000
COUNT_AHEAD: Final = 8 * 1024 * 1024
"""Bytes read past the end of the result to count the file's lines; in a larger file the total is unknown."""

_CHUNK: Final = 65_536
_SNIFF: Final = 8_192
_INVALID: Final = re.compile("[\udc80-\udcff]")
_MAGIC: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or an office document"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x7fELF", "an ELF program"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\xff\xfe", "text in UTF-16, and only UTF-8 is read"),
    (b"\xfe\xff", "text in UTF-16, and only UTF-8 is read"),
)


class FileSlice(msgspec.Struct, frozen=True, omit_defaults=True):
    """Lines of a file, exactly as they are: line ends and byte order marks are kept.

    Slices that follow each other, joined with a line feed, are the file's text: the last line feed of a slice is left
    out when more follows. A line ends at a line feed; a carriage return before it belongs to the line.

    Args:
        path: As it was asked for.
        content: The text.
        start_line: The first line, counted from 0.
        end_line: The line after the last one; a line that was cut counts as read.
        total_lines: Lines of the whole file, or None when it is too large to count.
        truncated: Whether more of the file follows.
        truncated_reason: ``byte-cap`` or ``line-limit`` when it is truncated.
        next_offset: The ``offset`` to go on with, when it is truncated.
        next_column: The ``column`` to go on with, when a line was cut.
        invalid_bytes: Bytes that are no UTF-8; each is replaced by U+FFFD in the content.
    """

    path: str
    content: str
    start_line: int
    end_line: int
    total_lines: int | None
    truncated: bool
    truncated_reason: Literal["byte-cap", "line-limit"] | None = None
    next_offset: int | None = None
    next_column: int = 0
    invalid_bytes: int = 0


@attrs.frozen
class ReadLimits:
    """What one read may give and cost, in bytes.

    Args:
        max_bytes: Most UTF-8 bytes of content in one result; a character has up to 4.
        count_ahead: Bytes read past the end of the result to count the file's lines.

    Raises:
        DefinitionError: A limit is no whole number, or too small.
    """

    max_bytes: int = attrs.field(default=MAX_BYTES, validator=at_least(4))
    count_ahead: int = attrs.field(default=COUNT_AHEAD, validator=at_least(0))


_DEFAULT_LIMITS: Final = ReadLimits()


def read_file(
    check: Check,
    jail: Jail,
    path: str,
    *,
    offset: int = 0,
    limit: int = DEFAULT_LINES,
    column: int = 0,
    limits: ReadLimits = _DEFAULT_LIMITS,
) -> FileSlice:
    """Read at most *limit* lines of a text file, from line *offset* on, and from byte *column* of that line on.

    *check* is called for each chunk, so a read of a huge file can be stopped.

    Raises:
        ToolFailure: The path is refused, there is no such text file, or a number is out of range.
    """
    if offset < 0 or column < 0 or limit < 1:
        raise ToolFailure(
            f"offset and column must be 0 or more and limit 1 or more, not {offset}, {column} and {limit}",
            category="validation",
            effect="none",
        )
    with jail.handle(check) as root:
        fd = root.open_file(path)
        try:
            return _Reader(fd, path, check, limits).read(offset, limit, column)
        except OSError as error:
            fail(path, error)
        finally:
            os.close(fd)


@attrs.frozen
class _Kept:
    """What of the collected bytes goes into the result.

    Args:
        text: The text of it.
        lines: How many lines it touches.
        used: How many bytes it was.
        invalid: How many of them are no UTF-8.
        cut: Whether it ends within a line, which is then the only one.
    """

    text: str
    lines: int
    used: int
    invalid: int
    cut: bool = False


@attrs.define(eq=False)
class _Reader:
    """One open file; ``rest`` is what was read of it and not used yet."""

    fd: int
    path: str
    check: Check
    limits: ReadLimits
    rest: bytes = b""

    def read(self, offset: int, limit: int, column: int) -> FileSlice:
        self._fill()
        self._require_text()
        skipped = self._skip_lines(offset)
        if skipped < offset or not self._fill():
            return FileSlice(self.path, "", skipped, skipped, skipped, truncated=False)
        self._skip_column(column)
        if not self._fill():
            return FileSlice(self.path, "", offset, offset + 1, offset + 1, truncated=False)
        data = self._collect(limit)
        more = self._fill()
        kept = self._keep(data, more=more)
        end = offset + kept.lines
        if kept.used == len(data) and not more:
            return FileSlice(self.path, kept.text, offset, end, end, truncated=False, invalid_bytes=kept.invalid)
        return FileSlice(
            self.path,
            kept.text,
            offset,
            end,
            self._count_lines(end - kept.cut, data[kept.used :]),
            truncated=True,
            truncated_reason="line-limit" if kept.lines == limit and not kept.cut else "byte-cap",
            next_offset=end - kept.cut,
            next_column=column + kept.used if kept.cut else 0,
            invalid_bytes=kept.invalid,
        )

    def _fill(self) -> bool:
        """Read on when nothing is left; False at the end of the file."""
        if not self.rest:
            self.check()
            self.rest = os.read(self.fd, _CHUNK)
        return bool(self.rest)

    def _require_text(self) -> None:
        kind = next((name for magic, name in _MAGIC if self.rest.startswith(magic)), None)
        if kind is None and b"\0" in self.rest[:_SNIFF]:
            kind = "a binary file"
        if kind is not None:
            size = os.fstat(self.fd).st_size
            raise ToolFailure(
                f"{quoted(self.path)} is {kind}; its {size:,} bytes cannot be read as text",
                category="validation",
                code="BINARY_FILE",
                effect="none",
                details={"path": printable(self.path), "size": size, "kind": kind},
            )

    def _skip_lines(self, count: int) -> int:
        """Pass over *count* lines; fewer when the file has fewer. Gives how many there were."""
        seen, partial = 0, False
        while seen < count and self._fill():
            found = self.rest.count(b"\n")
            if seen + found < count:
                partial = not self.rest.endswith(b"\n")
                seen += found
                self.rest = b""
            else:
                self.rest = self.rest[_after_lines(self.rest, count - seen) :]
                return count
        return seen + partial

    def _skip_column(self, column: int) -> None:
        """Pass over *column* bytes, but not over the end of the line."""
        while column > 0 and self._fill():
            line_end = self.rest.find(b"\n")
            step = min(column, len(self.rest) if line_end < 0 else line_end)
            if step == 0:
                return
            self.rest = self.rest[step:]
            column -= step

    def _collect(self, limit: int) -> bytes:
        """Up to *limit* lines, and one byte more than may be kept at most."""
        collected = bytearray()
        lines = 0
        while lines < limit and len(collected) <= self.limits.max_bytes and self._fill():
            piece = self.rest[: self.limits.max_bytes + 1 - len(collected)]
            found = piece.count(b"\n")
            if lines + found >= limit:
                piece = piece[: _after_lines(piece, limit - lines)]
            lines += found
            collected += piece
            self.rest = self.rest[len(piece) :]
        return bytes(collected)

    def _keep(self, data: bytes, *, more: bool) -> _Kept:
        """As many whole lines of *data* as fit, or the head of the first one."""
        texts: list[str] = []
        size = used = invalid = 0
        for line in _lines(data):
            text, bad = _decode(line)
            length = len(text.encode())
            follows = more or used + len(line) < len(data)
            if size + length - (follows and line.endswith(b"\n")) > self.limits.max_bytes:
                break
            texts.append(text)
            size, used, invalid = size + length, used + len(line), invalid + bad
        if not texts:
            return self._keep_head(data)
        text = "".join(texts)
        if (more or used < len(data)) and text.endswith("\n"):
            text = text[:-1]
        return _Kept(text, len(texts), used, invalid)

    def _keep_head(self, data: bytes) -> _Kept:
        """The head of a line that is too long, cut between two characters."""
        line = next(_lines(data)).decode("utf-8", "surrogateescape")
        fitting = _INVALID.sub("\ufffd", line).encode()[: self.limits.max_bytes].decode("utf-8", "ignore")
        kept = line[: len(fitting)]
        used = len(kept.encode("utf-8", "surrogateescape"))
        return _Kept(fitting, 1, used, len(_INVALID.findall(kept)), cut=True)

    def _count_lines(self, before: int, data: bytes) -> int | None:
        """Lines of the whole file, *before* of them read and *data* after those; None when it is too far to the end."""
        lines, read, last = data.count(b"\n"), 0, data[-1:]
        while self._fill():
            if read > self.limits.count_ahead:
                return None
            lines += self.rest.count(b"\n")
            read += len(self.rest)
            last = self.rest[-1:]
            self.rest = b""
        return before + lines + (last not in (b"", b"\n"))


def _after_lines(data: bytes, count: int) -> int:
    """The position after the *count*-th line feed."""
    position = 0
    for _ in range(count):
        position = data.index(b"\n", position) + 1
    return position


def _lines(data: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _decode(line: bytes) -> tuple[str, int]:
    text = line.decode("utf-8", "surrogateescape")
    return (text, 0) if text.isascii() else _INVALID.subn("\ufffd", text)
