"""SIGINT and SIGTERM: counted as they arrive, so that two quick ones are two."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from types import FrameType
from typing import Final

import attrs
import trio

from ._exit import UNFINISHED
from ._streams import plain, write_all

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
_AT_ONCE: Final = 3
"""The signal that exits without waiting for anything. It works even while a tool blocks the trio thread."""

_LISTED: Final = 20
"""Calls that are named when the process exits at once."""

Handler = Callable[[int, FrameType | None], object]


def _nothing() -> Sequence[str]:
    return ()


@attrs.define(eq=False)
class Caught:
    """The signals so far.

    Args:
        arrivals: Wakes its reader after a signal; several quick ones may wake it once.
        count: How many there were.
        last: The newest one.
        left: Names what is left behind when the process exits at once.
        farewell: Written to stderr before that.
    """

    arrivals: AsyncIterator[int]
    count: int = 0
    last: signal.Signals | None = None
    left: Callable[[], Sequence[str]] = _nothing
    farewell: bytes = b""

    @property
    def name(self) -> str:
        """The newest signal, as people call it."""
        return "" if self.last is None else self.last.name


@contextlib.contextmanager
def catch_signals() -> Generator[Caught | None]:
    """Catch the signals that ask a process to end; only those that whoever started us did not have ignored.

    The third one exits at once with a list of what is left. Yields None when both are ignored.
    """
    heeded = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    if not heeded:
        yield None
        return
    with trio.open_signal_receiver(*heeded) as arrivals:
        caught = Caught(arrivals)
        for number in heeded:
            # trio hands a signal that comes again before it was read to its reader once; the count must not lose it.
            deliver = signal.getsignal(number)
            if callable(deliver):
                signal.signal(number, _counting(caught, deliver))
        yield caught


def _counting(caught: Caught, deliver: Handler) -> Handler:
    def handle(number: int, frame: FrameType | None) -> None:
        caught.count += 1
        caught.last = signal.Signals(number)
        if caught.count >= _AT_ONCE:
            _exit_at_once(caught)
        deliver(number, frame)

    return handle


def _exit_at_once(caught: Caught) -> None:
    names: Sequence[str] = ()
    with contextlib.suppress(Exception):  # the handler may have interrupted whoever was changing these
        names = caught.left()
    lines = [f"{caught.name}: exiting at once; {len(names)} calls are left in an unknown state", *names[:_LISTED]]
    if len(names) > _LISTED:
        lines.append(f"and {len(names) - _LISTED} more")
    told = "".join(f"armory-trio: {plain(line)}\n" for line in lines).encode("ascii", "backslashreplace")
    with contextlib.suppress(OSError):
        write_all(2, caught.farewell + told)
    os._exit(UNFINISHED)
