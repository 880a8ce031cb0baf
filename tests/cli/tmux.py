"""A real terminal, whose screen the tests read and whose keys they press: tmux."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from .commands import BOUND, ROOT

PROGRAM: Final = shutil.which("tmux")
needs_tmux: Final = pytest.mark.skipif(
    PROGRAM is None, reason="tmux is not installed, so there is no terminal to show on"
)
_LOOK: Final = 0.05


class Screen:
    """One terminal with a shell in it."""

    def __init__(self, socket: Path, command: str) -> None:
        self._socket = socket
        self._command = command

    def _tmux(self, *arguments: str) -> str:
        return _run(self._socket, *arguments)

    @property
    def text(self) -> str:
        """What stands there, without spaces at the ends of lines."""
        return self._tmux("capture-pane", "-p", "-t", "t")

    @property
    def lines(self) -> list[str]:
        """The same by lines."""
        return self.text.split("\n")

    @property
    def colored(self) -> str:
        """The same with its colors."""
        return self._tmux("capture-pane", "-p", "-e", "-t", "t")

    def ask(self, form: str) -> str:
        """What tmux knows of the terminal, such as ``#{alternate_on}``."""
        return self._tmux("display-message", "-p", "-t", "t", form).strip()

    def until(self, *words: str, without: str = "") -> str:
        """What stands there once all of *words* do, and not *without*."""
        deadline = time.monotonic() + BOUND
        while True:
            text = self.text
            if all(word in text for word in words) and not (without and without in text):
                return text
            assert time.monotonic() < deadline, f"{words} did not come, or {without!r} did not go:\n{text}"
            time.sleep(_LOOK)

    def press(self, *keys: str) -> None:
        """Press keys, as tmux names them."""
        self._tmux("send-keys", "-t", "t", *keys)

    def resize(self, columns: int, lines: int) -> None:
        """Make the terminal larger or smaller."""
        self._tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(lines))

    def start(self, *options: str, within: str = "{}") -> None:
        """Start the view, in the place of the braces of a command; what that was left with is shown after it."""
        command = within.format(" ".join((self._command, *options)))
        self.press(f"clear; {command}; echo left with $?", "Enter")


def _run(socket: Path, *arguments: str) -> str:
    assert PROGRAM is not None
    return subprocess.run(
        [PROGRAM, "-S", str(socket), "-f", os.devnull, *arguments], capture_output=True, check=True, encoding="utf-8"
    ).stdout


@contextmanager
def screen(
    folder: Path, columns: int = 80, lines: int = 24, program: str = "", **environment: str
) -> Generator[Screen]:
    """A terminal for the length of the block.

    Args:
        folder: Where files of it go.
        columns: Its width.
        lines: Its height.
        program: Python that is run before the command is, in its process.
        environment: What the shell in it has beside what we have.
    """
    socket = folder / "tmux"
    main = folder / "armory_top.py"
    main.write_text(f"{program}\nfrom armory_trio.cli import main\nmain()\n", encoding="utf-8")
    given = {"PS1": "$ ", "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(folder), "PYTHONUTF8": "0", **environment}
    made = ["new-session", "-d", "-s", "t", "-x", str(columns), "-y", str(lines)]
    for name, value in given.items():
        made += ["-e", f"{name}={value}"]
    _run(socket, *made, "exec sh")
    try:
        yield Screen(socket, f"{sys.executable} {main} top")
    finally:
        _run(socket, "kill-server")
