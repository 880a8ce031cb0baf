"""``python -m examples.shared_state`` runs two hosts in turn, kills the first one, and shows what the second one makes of it."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .bank import Bank


def start(name: str, folder: Path, env: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start one of the hosts, whose lines are read."""
    command = [sys.executable, "-m", "examples.shared_state.host", name, str(folder)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)  # noqa: S603  # ourselves


def run_until_killed(folder: Path, env: Mapping[str, str]) -> None:
    """Start the first host, and kill it when it is in the middle of everything: no drain, no cleaning up."""
    print("The first host begins its work:")
    with start("first", folder, env) as host:
        try:
            assert host.stdout is not None
            for _ in range(4):
                print("  first:", host.stdout.readline().rstrip() or sys.exit("it has ended by itself"))
        finally:
            host.kill()
    print("It is killed: the line to the bank and to the post office is dead, and nobody was told how it ended.\n")


def run_to_the_end(folder: Path, env: Mapping[str, str]) -> int:
    """Start the second host over the same store. Answers its exit code."""
    print("The second host waits until the first one's lease is over, and asks whoever may know:")
    with start("second", folder, env) as host:
        assert host.stdout is not None
        for line in host.stdout:
            print("  second:", line, end="")
    return host.returncode


def main() -> int:
    """Tell the story. Answers the exit code of the second host."""
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
