"""A function that cannot be asked to stop, with processes of its own: what an abort has to kill.

Only the standard library is used here, so that its processes start quickly. They end by themselves after a while.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

_SECONDS: Final = 60.0
"""How long it computes if nobody kills it."""


def burn(pipe: str, descendants: int = 2) -> int:
    """Say on *pipe* that it runs, start a process that does so too, and compute.

    Args:
        pipe: A named pipe. It is held open, so that its reader sees when nobody is left.
        descendants: How many processes are below this one, each the child of the one before.
    """
    until = time.monotonic() + _SECONDS
    turns = 0
    with Path(pipe).open("wb", buffering=0) as running:
        if descendants:
            subprocess.Popen([sys.executable, "-S", __file__, pipe, str(descendants - 1)])  # noqa: S603  # ourselves
        running.write(b".")
        while time.monotonic() < until:
            turns += 1
    return turns


if __name__ == "__main__":
    burn(sys.argv[1], int(sys.argv[2]))
