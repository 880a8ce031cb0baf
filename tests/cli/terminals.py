"""Terminals for the tests: the test is the screen, and the person before it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager

from .commands import BOUND, ROOT, Cli, interruptible


class Terminal:
    """A terminal that the test is the screen of."""

    def __init__(self, screen: int, popen: subprocess.Popen[bytes]) -> None:
        self.screen = screen
        self.popen = popen
        self.shown = b""

    def until(self, words: bytes, times: int = 1) -> None:
        """Read the screen until *words* were shown so many times."""
        while self.shown.count(words) < times:
            assert self._read(), self.shown

    def type(self, words: str) -> None:
        """Type *words*, control characters and the end of the line included."""
        os.write(self.screen, words.encode())

    def end(self) -> bytes:
        """Read the screen until the command has ended; answers standard output."""
        while self.popen.poll() is None:
            self._read(wait=0.05)
        while self._read(wait=0):
            pass
        return b"" if self.popen.stdout is None else self.popen.stdout.read()

    def _read(self, wait: float = BOUND) -> bool:
        ready, _, _ = select.select([self.screen], [], [], wait)
        assert ready or wait < BOUND, self.shown
        if not ready:
            return False
        try:
            self.shown += os.read(self.screen, 65_536)
        except OSError:  # the other end is closed
            return False
        return True


@contextmanager
def terminal(
    cli: Cli,
    *options: str,
    toolbox: str = "my_tools:toolbox",
    command: tuple[str, ...] = (),
    results_too: bool = False,
    **environment: str,
) -> Generator[Terminal]:
    """A run, or another *command*, whose stderr, and with *results_too* stdout, is a terminal.

    It is the terminal that controls the process, as the one of a shell does: Ctrl-C is a signal.
    """
    screen, tty = pty.openpty()
    with (
        interruptible(),
        subprocess.Popen(
            [sys.executable, "-m", "armory_trio", *(command or ("run", toolbox, "calls.jsonl")), *options],
            cwd=cli.directory,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "100", **environment},
            stdin=subprocess.DEVNULL,
            stdout=tty if results_too else subprocess.PIPE,
            stderr=tty,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0),  # noqa: PLW1509  # no other thread runs here
        ) as popen,
    ):
        os.close(tty)
        try:
            yield Terminal(screen, popen)
        finally:
            popen.kill()
            os.close(screen)
