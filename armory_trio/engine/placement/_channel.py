"""A worker's end of the channel to its host."""

from __future__ import annotations

import os
import threading
from typing import Final, NoReturn

from ._frames import LARGEST, FromHost, FromWorker, Splitter, pack, read_from_host

LOST_CHANNEL: Final = 71
"""The exit status of a worker that cannot reach its host any more."""

_AT_ONCE: Final = 2**16


class Channel:
    """Messages over a file descriptor. Any thread may send; one receives.

    A tool may close descriptors that are not its own, and open files that get their numbers: what is not the channel
    any more is neither written nor read. A worker without its channel ends at once.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._identity = self._look()
        self._sending = threading.Lock()
        self._pid = os.getpid()
        self._splitter = Splitter(2**32 - 1)
        self._waiting: list[bytes] = []

    def send(self, message: FromWorker, most: int = LARGEST) -> None:
        """Send *message*, whose value has at most *most* bytes; wait while the host does not read.

        Raises:
            TooLarge: It has too many bytes beside that value. Nothing was sent.
            RuntimeError: This is a child that the tool forked; only the worker itself may speak.
        """
        self.must_be_the_worker()
        left = memoryview(pack(message, most))
        with self._sending:
            try:
                while left:
                    self._must_be_ours()
                    left = left[os.write(self._descriptor, left[:_AT_ONCE]) :]
            except OSError:
                give_up()

    def receive(self) -> FromHost | None:
        """The next message; None when the host is gone."""
        while not self._waiting:
            try:
                self._must_be_ours()
                received = os.read(self._descriptor, _AT_ONCE)
            except OSError:
                return None
            if not received:
                return None
            self._waiting += self._splitter.feed(received)
        return read_from_host(self._waiting.pop(0))

    def must_be_the_worker(self) -> None:
        """Refuse a child that the tool forked.

        Raises:
            RuntimeError: This is one.
        """
        if os.getpid() != self._pid:
            raise RuntimeError("a child that was forked by the tool has no context; only its worker process has")

    def _must_be_ours(self) -> None:
        if self._look() != self._identity:
            raise OSError("the channel was closed by the tool")

    def _look(self) -> tuple[int, int]:
        seen = os.fstat(self._descriptor)
        return seen.st_dev, seen.st_ino


def give_up() -> NoReturn:
    """End this process at once: there is nobody whom it could tell anything."""
    os._exit(LOST_CHANNEL)
