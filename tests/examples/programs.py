"""The examples as what they are: programs, run as processes of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import IO, Final

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 120.0
"""Seconds after which an example that should have ended hangs."""

ENVIRONMENT: Final = {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "PYTHONWARNINGS": "error"}


def run_example(module: str, *arguments: str, typed: str = "") -> str:
    """Run ``examples.<module>`` to its end, and answer what it printed. It has to end with 0, and without a word on stderr."""
    ended = subprocess.run(
        [sys.executable, "-m", f"examples.{module}", *arguments],
        env={**os.environ, **ENVIRONMENT},
        input=typed,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    return ended.stdout


class Running:
    """An example that runs until somebody ends it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.stdout: IO[str] = process.stdout
        self.stderr: IO[str] = process.stderr

    def until(self, words: str) -> str:
        """Read its output up to the line that holds *words*, and answer that line."""
        read = list[str]()
        for line in self.stdout:
            read.append(line)
            if words in line:
                return line
        raise AssertionError(f"{words!r} was not said, but\n{''.join(read)}{self.stderr.read()}")

    def end(self) -> tuple[int, str, str]:
        """Its exit code, and what it said from here on, on stdout and on stderr."""
        said, complained = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said, complained


@contextlib.contextmanager
def running_example(module: str, *arguments: str) -> Generator[Running]:
    """Start ``examples.<module>``. It is killed at the end of the block, if it has not ended by then."""
    with subprocess.Popen(
        [sys.executable, "-m", f"examples.{module}", *arguments],
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()
