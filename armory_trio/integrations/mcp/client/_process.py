"""A server as a child process: how it starts, how it is seen to end, and how nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import Final

import trio

from ....engine._concurrency import exit_of
from ....engine.placement._group import end_group, group_runs
from ._servers import StdioServer

_PATIENCE: Final = 5.0
"""Seconds of real time for a killed group to be gone. Only what the system itself holds up takes longer."""

_LOOK: Final = 0.02
"""Seconds between two looks at a group that was asked to end."""


async def start(server: StdioServer) -> trio.Process:
    """Start *server* in a session of its own, with pipes. Cancelled: it was not started.

    Raises:
        OSError: It could not be started.
        ValueError: There is a null byte in its command, arguments or environment.
    """
    return await trio.lowlevel.open_process(
        [server.command, *server.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=server.environment(),
        cwd=server.cwd,
        start_new_session=True,
    )


async def end_of(process: trio.Process, patience: float) -> str | None:
    """How *process* ends, in words, if it does within *patience* seconds. It is not reaped."""
    with trio.move_on_after(patience):
        await exit_of(process)
    try:
        told = _peek(process.pid)
    except ChildProcessError:
        return "it ended"  # somebody else reaped it
    if told is None:
        return None
    if told.si_code == os.CLD_EXITED:
        return f"it exited with status {told.si_status}"
    with suppress(ValueError):
        return f"it was killed by {signal.Signals(told.si_status).name}"
    return f"it was killed by signal {told.si_status}"


async def stop(process: trio.Process, server: StdioServer) -> bool:
    """End a process whose input is closed, and its whole group. Bounded, and to be called under a shield.

    Returns:
        Whether nothing of it runs any more.
    """
    with trio.move_on_after(server.stop_after):
        await exit_of(process)
    if group_runs(process.pid):
        _ask_to_end(process.pid)
        with trio.move_on_after(server.kill_after):
            while group_runs(process.pid):  # noqa: ASYNC110  # the system tells nobody when a group is empty
                await trio.sleep(_LOOK)
    # While the first of the group is not reaped, no other process can get its number.
    gone = await trio.to_thread.run_sync(end_group, process.pid, _PATIENCE)
    with trio.move_on_after(_PATIENCE):
        await process.wait()
    return gone


def _peek(pid: int) -> os.waitid_result | None:
    """How a child ended, which is not reaped; None while it runs. Does not wait."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)


def _ask_to_end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGTERM)
