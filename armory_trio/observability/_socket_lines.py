"""Lines over a socket, of bounded length."""

from __future__ import annotations

import trio

_CHUNK = 64 * 1024


class LineTooLong(Exception):
    """A line is longer than may be."""


class Lines:
    """Reads lines. At most one line and one chunk are held.

    Args:
        stream: Where they come from.
        longest: Bytes that a line may have.
    """

    def __init__(self, stream: trio.abc.ReceiveStream, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._held = bytearray()
        self._searched = 0

    async def next(self) -> bytes | None:
        """The next line without its end; None when there is none any more. Cancelled: nothing is lost.

        Raises:
            LineTooLong: It has no end where it has to have one.
            trio.BrokenResourceError: The other side is gone.
        """
        while True:
            end = self._held.find(b"\n", self._searched)
            if end > self._longest or (end < 0 and len(self._held) > self._longest):
                raise LineTooLong(f"a line has at most {self._longest} bytes")
            if end >= 0:
                line = bytes(self._held[:end])
                del self._held[: end + 1]
                self._searched = 0
                await trio.lowlevel.checkpoint_if_cancelled()
                return line
            self._searched = len(self._held)
            more = await self._stream.receive_some(min(_CHUNK, self._longest + 1))
            if not more:
                return None
            self._held += more
