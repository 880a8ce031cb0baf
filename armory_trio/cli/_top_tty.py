"""The terminal of the full-screen view: keys in, pictures out, and left as it was found, whatever happens.

Trio's low level waits for the descriptor, so that no thread hangs on a terminal that gives or takes nothing.
"""

from __future__ import annotations

import codecs
import errno
import os
import select
import termios
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Self

import trio

_ENTER: Final = b"\x1b[?1049h\x1b[?25l\x1b[2J"
"""The other screen, without a cursor."""

_LEAVE: Final = b"\x1b[0m\x1b[?25h\x1b[?1049l"
_LAST_WORDS: Final = 1.0
"""Seconds that a terminal may take to take the last bytes."""

_ESCAPE: Final = 0.05
"""Seconds after which an escape that nothing follows is the key of that name."""

_CHUNK: Final = 4096

_CONTROL: Final = {
    "\r": "enter",
    "\n": "enter",
    "\x03": "ctrl-c",
    "\x08": "backspace",
    "\x0c": "ctrl-l",
    "\x15": "ctrl-u",
    "\x1a": "ctrl-z",
    "\x7f": "backspace",
}
_SEQUENCES: Final = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "H": "home",
    "F": "end",
    "1~": "home",
    "4~": "end",
    "5~": "page-up",
    "6~": "page-down",
    "7~": "home",
    "8~": "end",
}


class Tty:
    """A terminal in raw mode on its other screen; use it with ``with``.

    Args:
        like: A descriptor of the terminal.
        encoding: Of its texts.

    Raises:
        OSError: It can't be opened.
        termios.error: It can't be set up.
    """

    def __init__(self, like: int, encoding: str) -> None:
        # Opened anew, so that nobody who shares the terminal notices that ours does not block.
        self._fd = os.open(os.ttyname(like), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._before: list[int | list[bytes | int]] | None = None

    def __enter__(self) -> Self:
        try:
            self.enter()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
        os.close(self._fd)

    def enter(self) -> None:
        """Take the terminal over; again after somebody else had it."""
        if self._before is None:
            self._before = termios.tcgetattr(self._fd)
        taken, given, control, local, *rest = termios.tcgetattr(self._fd)
        assert isinstance(taken, int)
        assert isinstance(local, int)
        taken &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
        local &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        self._set([taken, given, control, local, *rest])
        self._write_now(_ENTER)

    def leave(self) -> None:
        """Give the terminal back as it was."""
        if self._before is None:
            return
        self._write_now(_LEAVE)
        with suppress(termios.error):  # it is gone
            self._set(self._before)

    def _set(self, attributes: list[int | list[bytes | int]]) -> None:
        """Set the terminal up; in the background that stops us until we are in the foreground again."""
        while True:
            try:
                termios.tcsetattr(self._fd, termios.TCSANOW, attributes)
            except termios.error as error:
                if error.args[0] != errno.EINTR:
                    raise
            else:
                return

    def _write_now(self, data: bytes) -> None:
        """Write a few bytes, unless the terminal takes none."""
        with suppress(OSError):
            while data and select.select([], [self._fd], [], _LAST_WORDS)[1]:
                data = data[os.write(self._fd, data) :]

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines; 80 and 24 where it does not know."""
        try:
            found = os.get_terminal_size(self._fd)
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24

    async def show(self, picture: str) -> None:
        """Write *picture*. Cancelled: some of it was written.

        Raises:
            OSError: The terminal is gone.
        """
        rest = memoryview(picture.encode(self._encoding, "backslashreplace"))
        await trio.lowlevel.checkpoint()
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._fd)

    async def keys(self) -> list[str]:
        """The next keys, at least one; none once the terminal is gone. Cancelled: nothing is lost.

        A key is a character, or a name such as ``up``, ``enter`` or ``ctrl-c``. What has no name is left out.
        """
        text = ""
        while True:
            with trio.move_on_after(_ESCAPE if text else float("inf")):
                await trio.lowlevel.wait_readable(self._fd)
            more = self._read()
            if more is None:
                return []
            text += more
            if text and (not more or not _may_go_on(text)):
                if found := list(keys_of(text)):
                    return found
                text = ""

    def _read(self) -> str | None:
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return ""
        except OSError:
            return None
        return self._decoder.decode(data) if data else None


def _may_go_on(text: str) -> bool:
    """Whether *text* ends within what may be the sequence of one key."""
    start = text.rfind("\x1b")
    return start >= 0 and _sequence_end(text, start) is None


def _sequence_end(text: str, start: int) -> int | None:
    """Where the sequence ends that begins at *start* with an escape; None if that is not to be seen yet."""
    if start + 1 >= len(text):
        return None
    if text[start + 1] not in "[O":
        return start + 1
    for place in range(start + 2, len(text)):
        if "@" <= text[place] <= "~":
            return place + 1
        if not " " <= text[place] <= "?":
            return place
    return None


def keys_of(text: str) -> Iterator[str]:
    """The keys that *text* stands for."""
    place = 0
    while place < len(text):
        char = text[place]
        if char != "\x1b":
            place += 1
            name = _CONTROL.get(char, char)
            if len(name) > 1 or name.isprintable():
                yield name
            continue
        end = _sequence_end(text, place) or len(text)
        inner = text[place + 2 : end]
        if end == place + 1 or not inner:
            yield "esc"
            end = place + 1
        elif inner in _SEQUENCES:
            yield _SEQUENCES[inner]
        place = end
