"""The three standard streams: results own standard output, whatever the tools print."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from collections.abc import Callable
from typing import Final

import attrs

from ._exit import Unusable

_SHOWN: Final = 2_000
"""Characters of one line on stderr; an error that quotes more floods the log of whoever reads it."""


@attrs.frozen
class Streams:
    """Where the input comes from and the results go to, as file descriptors."""

    stdin: int
    stdout: int


Claim = Callable[[], Streams]
"""What takes over the standard streams."""


def claim_streams() -> Streams:
    """Keep standard input and output for ourselves, for the rest of the process.

    What tools and the programs that they start print goes to stderr, and they find an empty standard input: else one
    `print` would break the lines of results, and one `input` would swallow a call.

    Raises:
        Unusable: Standard output is closed.
    """
    closed = [fd for fd in (0, 1, 2) if _fill_if_closed(fd)]
    there: object = sys.stderr  # None when it was closed at the start, whatever its declared type
    if there is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), errors="backslashreplace")
    if 1 in closed:
        sys.stdout = sys.stderr
        raise Unusable("standard output is closed, so there is nowhere to write results to")
    streams = Streams(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    _accept_anything(sys.stdout)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return streams


def _accept_anything(stream: object) -> None:
    """Let whoever still holds *stream* print any text in any locale."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)


def _fill_if_closed(fd: int) -> bool:
    """Put the null device in the place of a descriptor that is closed, before something else gets its number."""
    try:
        os.fstat(fd)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest number, and those below *fd* are taken
        return True
    return False


def say(line: str) -> None:
    """Write one line to stderr. A stderr that nobody reads any more stops nothing."""
    with contextlib.suppress(OSError, ValueError):
        print(f"armory-trio: {plain(line)}", file=sys.stderr, flush=True)  # noqa: T201  # this is what it is for


def plain(text: str, longest: int = _SHOWN) -> str:
    """*text* as one line that cannot steer a terminal: characters that are not printable become escapes."""
    shown = text if len(text) <= longest else f"{text[:longest]}..."
    if shown.isprintable():
        return shown
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in shown)


def is_colored() -> bool:
    """Whether the user wants colors on a terminal, and it has them."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")


def read_some(fd: int, most: int) -> bytes:
    """What there is to read, at most *most* bytes; nothing at the end. May block; for worker threads.

    Raises:
        OSError: What the system says.
    """
    while True:
        try:
            return os.read(fd, most)
        except BlockingIOError:  # whoever shares this pipe made it non-blocking
            select.select([fd], [], [])


def takes(fd: int, size: int) -> bool:
    """Whether *fd* would take *size* bytes at once; False also when that cannot be told."""
    if size > select.PIPE_BUF:  # so much is promised by the system once it says that there is room
        return False
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(0))


def write_all(fd: int, data: bytes) -> None:
    """Write all of *data*. May block; for worker threads.

    Raises:
        OSError: What the system says; `BrokenPipeError` when nobody reads.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:  # the same
            select.select([], [fd], [])


def let_go() -> None:
    """Write out what is still buffered. Where nobody reads any more it is dropped, as Python would else complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # None when it was closed from the start
            null = os.open(os.devnull, os.O_WRONLY)
            for fd in (1, 2):
                os.dup2(null, fd)
