"""``python -m examples.shared_state`` runs two hosts in turn, kills the first one, and shows what the second one makes of it."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from .bank import Bank


@contextmanager
def running(name: str, folder: Path, env: Mapping[str, str]) -> Generator[tuple[subprocess.Popen[str], IO[str]]]:
    """One of the hosts, and its lines. At the end of the block it is killed, if it has not ended: no drain, no cleaning up."""
    command = [sys.executable, "-m", "examples.shared_state.host", name, str(folder)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as host:  # noqa: S603  # ourselves
        assert host.stdout is not None
        try:
            yield host, host.stdout
        finally:
            host.kill()


def run_until_killed(folder: Path, env: Mapping[str, str]) -> None:
    """Start the first host, and leave it when it is in the middle of everything."""
    print("The first host begins its work:")
    with running("first", folder, env) as (_, lines):
        for _ in range(4):
            print("  first:", lines.readline().rstrip() or sys.exit("it has ended by itself"))
    print("It is killed: the line to the bank and to the post office is dead, and nobody was told how it ended.\n")


def run_to_the_end(folder: Path, env: Mapping[str, str]) -> int:
    """Start the second host over the same store. Answers its exit code."""
    print("The second host waits until the first one's lease is over, and asks whoever may know:")
    with running("second", folder, env) as (host, lines):
        for line in lines:
            print("  second:", line, end="")
        return host.wait()


def stop(number: int, _frame: FrameType | None) -> NoReturn:
    """End, so that no host is left behind."""
    sys.exit(128 + number)


def main() -> int:
    """Tell the story. Answers the exit code of the second host."""
    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory() as name:
        folder, env = Path(name), {**os.environ, "HOST_SECRET": secrets.token_hex(32)}
        run_until_killed(folder, env)
        code = run_to_the_end(folder, env)
        print("\nWhat the bank really did:")
        for line in Bank(folder, answers=True).paid().values():
            print(" ", line)
    return code


if __name__ == "__main__":
    sys.exit(main())
