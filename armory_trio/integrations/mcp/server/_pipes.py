"""Reading and writing descriptors that may block, on trio's thread, without making them anything else.

Whoever shares a pipe with us shares whether it blocks, so that is left alone: the system is asked first.
"""

from __future__ import annotations

import os
import select
from collections.abc import Awaitable, Callable
from typing import Final

import trio

_MOST: Final = 64 * 1024
"""Bytes that one read asks for: what a pipe holds."""

_HANGUPS: Final[int] = select.POLLHUP | getattr(select, "POLLRDHUP", 0)
"""Of a pipe; of a socket, of which one half is closed, where the system knows of that."""


async def read_some(fd: int) -> bytes:
    """What there is to read, or nothing at the end. Cancelled: nothing was read.

    Raises:
        OSError: What the system says.
    """
    if await _is_ready(fd, trio.lowlevel.wait_readable):
        return os.read(fd, _MOST)
    return await trio.to_thread.run_sync(os.read, fd, _MOST, abandon_on_cancel=True)


async def write_all(fd: int, data: bytes, wrote: Callable[[], None]) -> None:
    """Write all of *data*, and say with each piece that there was room for it. Cancelled: a part of it was written.

    Raises:
        OSError: What the system says; `BrokenPipeError` when nobody reads.
    """
    rest = memoryview(data)
    while rest:
        # So much a pipe takes without blocking once there is room; a file, which cannot be waited for, does not block.
        await _is_ready(fd, trio.lowlevel.wait_writable)
        rest = rest[os.write(fd, rest[: select.PIPE_BUF]) :]
        wrote()


def has_hung_up(fd: int) -> bool:
    """Whether whoever writes to *fd* has closed it, even if there is something left to read. Never of a file."""
    poll = select.poll()
    poll.register(fd, _HANGUPS)
    return any(events & _HANGUPS for _, events in poll.poll(0))


async def _is_ready(fd: int, wait: Callable[[int], Awaitable[None]]) -> bool:
    """Return True once *fd* is ready; False for a descriptor that cannot be waited for, such as that of a file."""
    try:
        await wait(fd)
    except PermissionError:
        await trio.lowlevel.checkpoint()
        return False
    return True
