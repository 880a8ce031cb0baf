"""A terminal that somebody is asked at. Whoever waits for an answer can be cancelled, and nothing else stands still."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
from contextlib import suppress
from typing import Final

import trio

from ._streams import plain, write_all

_LINE: Final = 64 * 1024
"""Bytes that one read asks for; a terminal gives a line, of 4 KiB on Linux."""

_PERIOD: Final = 0.1
"""Seconds after which a thread that waits for an answer that nobody wants any more goes away."""

_THREADS: Final = 2
"""Threads of a terminal: one writes or reads, and one that was left behind may hang on a terminal that takes nothing."""


class Terminal:
    """A terminal, opened anew, so that nobody who shares it is affected. It stays open as long as the process.

    Args:
        fd: The descriptor, which does not block, for reading and writing.
        encoding: Of its texts. What it can't show is written with a backslash.
    """

    def __init__(self, fd: int, encoding: str) -> None:
        self._fd = fd
        self._encoding = encoding
        self._limiter = trio.CapacityLimiter(_THREADS)
        self._typed = b""

    @property
    def in_front(self) -> bool:
        """Whether we may read from it. Whoever does so in the background is stopped by the system."""
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:  # it does not control us, and so stops nobody
            return True

    def forget_typed(self) -> None:
        """What was typed before a question was shown is no answer to it."""
        self._typed = b""
        with suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)

    async def say(self, text: str) -> None:
        """Write *text* as it is. Cancelled: some of it may have been written.

        Raises:
            OSError: The terminal is gone.
        """
        data = text.encode(self._encoding, "backslashreplace")
        await trio.to_thread.run_sync(write_all, self._fd, data, abandon_on_cancel=True, limiter=self._limiter)

    def note(self, text: str) -> None:
        """Write a short *text* at once, if the terminal takes it."""
        with suppress(OSError):
            os.write(self._fd, text.encode(self._encoding, "backslashreplace"))

    async def line(self) -> str | None:
        """The next line that is typed, without its end; None when there will be none. Cancelled: nothing is lost.

        Raises:
            OSError: The terminal is gone.
        """
        while b"\n" not in self._typed:
            await self._readable()
            try:
                more = os.read(self._fd, _LINE)
            except BlockingIOError:  # another reader took it
                continue
            if not more:
                return None
            self._typed += more
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(self._encoding, "replace").strip()

    async def _readable(self) -> None:
        left = threading.Event()

        def wait() -> None:
            while not left.is_set() and not select.select([self._fd], [], [], _PERIOD)[0]:
                pass

        try:
            await trio.to_thread.run_sync(wait, abandon_on_cancel=True, limiter=self._limiter)
        finally:
            left.set()


def open_terminal() -> Terminal | str:
    """The terminal of stderr, or why there is none to ask at."""
    if not os.isatty(2):
        return "stderr is no terminal"
    try:
        fd = os.open(os.ttyname(2), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        return f"the terminal cannot be opened: {plain(error.strerror or str(error))}"
    return Terminal(fd, getattr(sys.stderr, "encoding", None) or "utf-8")
