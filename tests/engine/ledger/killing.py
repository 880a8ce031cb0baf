"""Starts victims, kills them, and reads what they had said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from tests.engine.ledger.victim_terms import Command, Go, Hear, Life, Said, Start, Still, Wait

ROOT: Final = Path(__file__).parents[3]

_SAID: Final = msgspec.json.Decoder(Said)


class Victims:
    """Victims that are forked from one process. Every method blocks."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program
        self._alive: set[int] = set()

    def start(self, life: Life) -> int:
        """Begin *life*; its process id."""
        pid = self._command(Start(life))
        self._alive.add(pid)
        return pid

    def hear(self, pid: int) -> bool:
        """Wait until the victim says that it is as far; whether it did. False: it is gone."""
        return bool(self._command(Hear(pid)))

    def go(self, pid: int) -> None:
        """Let it go on."""
        self._command(Go(pid))

    def send(self, pid: int, number: signal.Signals) -> None:
        """Send a signal to it. Its id stays its own until it is waited for."""
        assert pid in self._alive
        os.kill(pid, number)

    def stop(self, pid: int) -> None:
        """Let it stand still; return when it does."""
        self.send(pid, signal.SIGSTOP)
        assert self._command(Still(pid)) == signal.SIGSTOP

    def wait(self, pid: int) -> int:
        """Wait until it is gone: its exit code, negative for the signal that ended it."""
        status = self._command(Wait(pid))
        self._alive.remove(pid)
        assert status in (0, -signal.SIGKILL), f"a victim ended with {status}; -14 means that it hung"
        return status

    def close(self) -> None:
        """End what is left, after a test that failed."""
        for pid in tuple(self._alive):
            with suppress(ProcessLookupError):
                self.send(pid, signal.SIGKILL)
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait()

    def _command(self, command: Command) -> int:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(msgspec.json.encode(command).decode() + "\n")
        self._program.stdin.flush()
        return int(self._program.stdout.readline())


@contextmanager
def open_victims() -> Generator[Victims]:
    """What starts victims, and ends with those that are left."""
    command = [sys.executable, "-m", "tests.engine.ledger.victim"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        victims = Victims(program)
        try:
            yield victims
        finally:
            victims.close()


def said_in(path: Path) -> list[Said]:
    """What a victim said until its end."""
    return [_SAID.decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


class Line(msgspec.Struct, frozen=True):
    """One change of the world."""

    what: str
    key: str
    execution: str


def world_in(path: Path) -> list[Line]:
    """All changes of the world, in their order."""
    return [Line(*line.split()) for line in path.read_text(encoding="utf-8").splitlines()]
