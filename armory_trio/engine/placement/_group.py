"""Killing a process group, and knowing that nothing of it runs any more."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = "/proc"
_ENDED: Final = (b"Z", b"X")
"""States of a process that runs no more: it only waits for its parent to look at its end."""


def shows_processes() -> bool:
    """Whether this system tells the dead members of a group from those that run.

    Where it does not, a group runs until its leader has been reaped.
    """
    return Path(_PROC, "self", "stat").exists()


def kill_group(group: int) -> None:
    """Kill whatever is in *group*. What belongs to another user cannot be killed."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def end_group(group: int, patience: float) -> bool:
    """Kill *group* until nothing of it runs; block this thread, at most *patience* seconds of real time.

    Returns:
        Whether nothing of it runs. The leader itself may be left, dead, for its parent to reap: until that has
        happened, no other process can get its number.
    """
    until = time.monotonic() + patience
    pause = 0.001
    while True:
        kill_group(group)
        if not group_runs(group):
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def others_run(group: int) -> bool:
    """Whether something beside this very process runs in its *group*, as far as this system shows."""
    if not shows_processes():
        return False
    me = str(os.getpid())
    with os.scandir(_PROC) as entries:
        return any(_is_member(name, group) for entry in entries if (name := entry.name).isdigit() and name != me)


def _is_member(number: str, group: int) -> bool:
    try:
        if os.getpgid(int(number)) != group:  # far quicker than to read a file for each process there is
            return False
    except OSError:
        return False  # it ended meanwhile
    return _is_running_member(number, group)


def group_runs(group: int) -> bool:
    """Whether something of *group* runs, dead members that nobody looked at yet not counted."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's, or on some systems: only dead ones
    if not shows_processes():
        return True
    with os.scandir(_PROC) as entries:
        return any(_is_running_member(entry.name, group) for entry in entries if entry.name.isdigit())


def _is_running_member(number: str, group: int) -> bool:
    try:
        told = Path(_PROC, number, "stat").read_bytes()
    except OSError:
        return False  # it ended meanwhile
    # The name of the program stands in brackets, and may hold anything; then come state, parent and group.
    state, _, found = told[told.rfind(b")") + 2 :].split(b" ", 3)[:3]
    return int(found) == group and state not in _ENDED
