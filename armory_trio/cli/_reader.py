"""Bytes to JSON values: one document, or JSON Lines as they come."""

from __future__ import annotations

import os
import re
import stat
from typing import Final

import msgspec
import trio

from ..definitions import JsonLimits, parse_json
from ..errors import JsonError
from ._exit import Unusable
from ._streams import read_some

_CHUNK: Final = 1024 * 1024
"""Bytes that one read asks for; a pipe gives what it has."""

_LARGE: Final = 256 * 1024
"""A text of so many bytes is parsed in a worker thread, so that running calls do not wait for it."""

_PLACE: Final = re.compile(r" \(line (\d+), column (\d+)\)\Z")
_BOM: Final = b"\xef\xbb\xbf"
_NO_TEXT: Final = (
    (b"\xff\xfe", "it looks like UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "it looks like UTF-16; save it as UTF-8"),
    (b"\x1f\x8b", "it looks like gzip; unpack it first"),
    (b"PK\x03\x04", "it looks like a zip archive; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "it looks like zstd; unpack it first"),
)
"""How common files begin that are no text, and what to say about them."""


class Entry(msgspec.Struct, frozen=True):
    """One JSON value of the input, and where it stands: ``calls.json``, or ``calls.jsonl:3``."""

    value: object
    origin: str


class Source:
    """The input, as lines of bytes. Reads in worker threads; cancelled, a read is left behind.

    Args:
        fd: What to read.
        name: What messages call it.
        max_bytes: The most that one line, or one document, may have.
    """

    def __init__(self, fd: int, name: str, max_bytes: int) -> None:
        self.name = name
        self.max_bytes = max_bytes
        self._fd = fd
        self._lines: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._ended = False

    @property
    def at_end(self) -> bool:
        """Whether nothing but blank lines is left, as far as is known without reading."""
        return self._ended and not any(line.strip() for line in self._lines)

    async def line(self) -> bytes | None:
        """The next line without its line feed; None at the end.

        Raises:
            Unusable: It is too long, or the input cannot be read.
        """
        while not self._lines:
            if self._ended:
                return None
            chunk, last = await self._read()
            self._take(chunk, last=last)
        line = self._lines.pop()
        if len(line) > self.max_bytes:
            raise self._too_long("a line of")
        return line

    async def rest(self, first: bytes) -> bytes:
        """*first* and everything that follows it.

        Raises:
            Unusable: It is too long, or the input cannot be read.
        """
        pieces = [first]
        size = len(first)
        while (line := await self.line()) is not None:
            size += len(line) + 1
            if size > self.max_bytes:
                raise self._too_long("a document of")
            pieces.append(line)
        return b"\n".join(pieces)

    def _take(self, chunk: bytes, *, last: bool) -> None:
        head, *others = chunk.split(b"\n")
        self._parts.append(head)
        self._size += len(head)
        if self._size > self.max_bytes:
            raise self._too_long("a line of")
        if others:
            *whole, rest = others
            self._lines = [b"".join(self._parts), *whole][::-1]
            self._parts, self._size = [rest], len(rest)
        if last:
            self._ended = True
            if self._size:
                self._lines.insert(0, b"".join(self._parts))

    def _too_long(self, what: str) -> Unusable:
        return Unusable(f"{self.name}: {what} more than {self.max_bytes} bytes; --max-bytes allows more")

    async def _read(self) -> tuple[bytes, bool]:
        try:
            return await trio.to_thread.run_sync(_chunk_of, self._fd, abandon_on_cancel=True)
        except OSError as error:
            raise Unusable(f"{self.name}: cannot be read: {error.strerror}") from error


def _chunk_of(fd: int) -> tuple[bytes, bool]:
    """What there is to read, and whether it is the last: so that a run knows early that it has read a whole file."""
    chunk = read_some(fd, _CHUNK)
    status = os.fstat(fd)
    # Some special files that look regular have no size, and are read to where a read gives nothing.
    whole = stat.S_ISREG(status.st_mode) and 0 < status.st_size <= os.lseek(fd, 0, os.SEEK_CUR)
    return chunk, whole or not chunk


async def open_source(file: str | None, stdin: int, max_bytes: int) -> Source:
    """The input that the user named: a file, or standard input.

    Raises:
        Unusable: There is no such file, or it cannot be read.
    """
    if file is None or file == "-":
        return Source(stdin, "<stdin>", max_bytes)
    try:
        # A named pipe waits here for its writer. Left behind by a cancellation, the descriptor goes with the process.
        fd = await trio.to_thread.run_sync(os.open, file, os.O_RDONLY | os.O_CLOEXEC, abandon_on_cancel=True)
    except (OSError, ValueError) as error:
        # A ValueError is about the name, in words that each Python chooses for itself.
        reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
        raise Unusable(f"{file}: cannot be read: {reason}") from error
    return Source(fd, file, max_bytes)


class Entries:
    """The JSON values of an input, in order.

    When the first line is a whole JSON value, each line is one. When the first line only begins one, the whole input
    is one document, which is read to its end first.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._limits = JsonLimits(max_bytes=source.max_bytes)
        self._number = 0
        self._began = False
        self._ended = False

    @property
    def at_end(self) -> bool:
        """Whether every value was given, as far as is known without reading."""
        return self._began and self._source.at_end

    async def next(self) -> Entry | None:
        """The next value; None at the end.

        Raises:
            Unusable: The input is empty, cannot be read, or is not strict JSON; the text says where.
        """
        while not self._ended:
            line = await self._source.line()
            if line is None:
                break
            self._number += 1
            text = self._text(line)
            if not text.strip(" \t\r"):
                continue
            return await (self._one_of_many(text) if self._began else self._first(line, text))
        if not self._began:
            raise Unusable(f"{self._source.name}: it is empty; expected calls or messages as JSON")
        return None

    async def _first(self, line: bytes, text: str) -> Entry:
        self._began = True
        try:
            return Entry(await self._parsed(text), f"{self._source.name}:{self._number}")
        except JsonError as error:
            if error.code != "unexpected-end":
                raise self._broken(error, self._number) from None
        before = self._number
        document = await self._source.rest(line)
        self._ended = True
        try:
            return Entry(await self._parsed(self._text(document)), self._source.name)
        except JsonError as error:
            raise self._broken(error, before) from None

    async def _one_of_many(self, text: str) -> Entry:
        try:
            return Entry(await self._parsed(text), f"{self._source.name}:{self._number}")
        except JsonError as error:
            raise self._broken(error, self._number) from None

    async def _parsed(self, text: str) -> object:
        if len(text) < _LARGE:
            return parse_json(text, limits=self._limits)
        return await trio.to_thread.run_sync(lambda: parse_json(text, limits=self._limits), abandon_on_cancel=True)

    def _text(self, data: bytes) -> str:
        if self._number == 1:
            data = data.removeprefix(_BOM)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            at, reason = error.start, f"byte 0x{data[error.start]:02x} is not UTF-8"
        else:
            at, reason = text.find("\0"), "byte 0x00 is no text"
            if at < 0:
                return text
        line = self._number + data.count(b"\n", 0, at)
        column = at - data.rfind(b"\n", 0, at)
        hints = [hint for magic, hint in _NO_TEXT if self._number == 1 and data.startswith(magic)]
        right = hints[0] if hints else "the input must be JSON text in UTF-8"
        raise Unusable(f"{self._source.name}:{line}:{column}: {reason}; {right}")

    def _broken(self, error: JsonError, first_line: int) -> Unusable:
        name, detail = self._source.name, error.detail
        place = _PLACE.search(detail)
        if place is None:
            return Unusable(f"{name}:{first_line}: not JSON: {detail}")
        line = first_line + int(place[1]) - 1
        return Unusable(f"{name}:{line}:{place[2]}: not JSON: {detail[: place.start()]}")
