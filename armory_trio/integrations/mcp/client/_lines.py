"""Bytes of a pipe to lines, with a bound on how much of one is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

_HEAD: Final = 512
"""Bytes that are kept of a line that is too long: enough to see what it was, or whose answer."""


class TooLong(msgspec.Struct, frozen=True):
    """What is left of a line over the bound.

    Args:
        head: How it began.
        size: How many bytes it had.
    """

    head: bytes
    size: int


class LineSplitter:
    """Puts lines together from pieces of any size.

    Args:
        most: Bytes of the longest line that is kept whole.
    """

    __slots__ = ("_head", "_most", "_parts", "_size")

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._head = b""
        self._size = 0

    def feed(self, piece: bytes | bytearray) -> Iterator[bytes | TooLong]:
        """The lines that *piece* completes, without what ends them."""
        *whole, rest = bytes(piece).split(b"\n")
        for part in whole:
            self._add(part)
            yield self._take()
        self._add(rest)

    def rest(self) -> bytes | TooLong | None:
        """The line that was begun and never ended; None if there is none."""
        return self._take() if self._size else None

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if len(self._head) < _HEAD:
            self._head += part[: _HEAD - len(self._head)]
        if self._size <= self._most:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _take(self) -> bytes | TooLong:
        line, head, size = b"".join(self._parts), self._head, self._size
        self._parts, self._head, self._size = [], b"", 0
        return line if size <= self._most else TooLong(head, size)
