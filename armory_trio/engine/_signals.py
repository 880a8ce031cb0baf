"""The signals that ask a process to end: counted as they arrive, so that two quick ones are two."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from types import FrameType
from typing import Final

from ..definitions._plurals import counted
from ._concurrency import Signal, Token, current_token

_AT_ONCE: Final = 3
"""The signal that exits without waiting for anything. It works even while a tool blocks the trio thread."""

_LEFT_BEHIND: Final = 4
"""The exit code then: something was left running."""

_LISTED: Final = 20
"""What is named when the process exits at once; the rest is counted."""

_PATIENCE: Final = 1.0
"""Seconds that somebody has to read some more of stderr before the process exits without having said everything."""

_PIECE: Final = 512
"""Bytes that every pipe takes without blocking once it says that there is room (what POSIX promises)."""


def _nothing() -> Sequence[str]:
    return ()


class Caught:
    """The signals so far. Iterate to heed each of them once, in the order in which they came.

    Args:
        speaker: Who speaks on stderr.
        noun: What is left behind when the process exits at once, such as ``call``.
        left: Names all of it, a line for each; whoever catches may say so later.

    What is put into ``farewell`` is written to stderr before that.
    """

    def __init__(self, speaker: str, noun: str, left: Callable[[], Sequence[str]] = _nothing) -> None:
        self.speaker = speaker
        self.noun = noun
        self.left = left
        self.farewell = b""
        self.arrived: list[signal.Signals] = []
        self._heeded = 0
        self._woken = Signal()
        self._token: Token = current_token()

    def __aiter__(self) -> Caught:
        return self

    async def __anext__(self) -> signal.Signals:
        """The next signal that nobody has heeded. Cancelled: none is lost."""
        while self._heeded == len(self.arrived):
            await self._woken.wait()
        self._heeded += 1
        return self.arrived[self._heeded - 1]

    def raise_again(self) -> None:
        """Hand on what nobody has heeded to whoever handles it now."""
        unheeded = self.arrived[self._heeded :]
        self._heeded = len(self.arrived)
        with contextlib.ExitStack() as stack:  # all of them, also when one raises
            for number in reversed(unheeded):
                stack.callback(signal.raise_signal, number)

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """What Python calls, between any two steps of the main thread."""
        self.arrived.append(signal.Signals(number))
        if len(self.arrived) >= _AT_ONCE:
            self._exit_at_once()
        self._token.run_sync_soon(self._woken.set, idempotent=True)

    def _exit_at_once(self) -> None:
        names: Sequence[str] = ()
        with contextlib.suppress(Exception):  # the handler may have interrupted whoever was changing these
            names = self.left()
        left = counted(len(names), self.noun)
        lines = [f"{self.arrived[-1].name}: exiting at once; {left} left in an unknown state", *names[:_LISTED]]
        if len(names) > _LISTED:
            lines.append(f"and {len(names) - _LISTED} more")
        told = "".join(f"{self.speaker}: {line}\n" for line in lines).encode("ascii", "backslashreplace")
        with contextlib.suppress(OSError):
            _write_promptly(2, self.farewell + told)
        os._exit(_LEFT_BEHIND)


def _write_promptly(fd: int, data: bytes) -> None:
    """Write *data* past Python's own buffers, which the handler may have interrupted; give up when nobody reads."""
    while data:
        _, writable, _ = select.select([], [fd], [], _PATIENCE)
        if not writable:
            return
        data = data[os.write(fd, data[:_PIECE]) :]


@contextlib.contextmanager
def catch_signals(caught: Caught, numbers: Iterable[signal.Signals]) -> Generator[None]:
    """Count *numbers* in *caught* as long as the block lasts; the third exits at once with a list of what is left.

    However the block is left, those who handled the signals before handle them again. Left by an exception, they also
    get those that nobody has heeded.

    Raises:
        RuntimeError: This is not the main thread, the only one to which Python tells signals.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "only the main thread can catch signals: call trio.run there, or catch them there yourself and let this "
            "thread know, for instance by supervisor.shutdown through trio.from_thread.run with its trio_token"
        )
    before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}
    try:
        for number in numbers:
            before[number] = signal.getsignal(number)
            signal.signal(number, caught.handle)
        yield
    except BaseException:
        _restore(before)
        caught.raise_again()
        raise
    finally:
        _restore(before)


def _restore(before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None]) -> None:
    while before:
        number, handler = before.popitem()
        # None: somebody handled it who is no Python code, and whom only that one could put back.
        signal.signal(number, signal.SIG_DFL if handler is None else handler)
