"""From an abort until a computing process, its child and its grandchild are gone; by hand, and under a supervisor."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import trio

from armory_trio import Supervisor, Toolbox, ToolCall, open_supervisor, tool

from . import _burning
from ._sample import Sample, Stopwatch

_DESCENDANTS: Final = 2
_TOOLBOX: Final = Toolbox([tool(_burning.burn, effect="read-only", placement="process")])


class Processes:
    """What can be known of processes that hold a named pipe open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def close(self) -> None:
        """Know no more."""
        os.close(self._end)

    async def wait_running(self) -> None:
        """Return when all of them have said that they run. Cancelled: nothing has changed."""
        said = 0
        while said <= _DESCENDANTS:
            await trio.lowlevel.wait_readable(self._end)
            said += len(os.read(self._end, 64))

    async def wait_gone(self) -> None:
        """Return when none of them is left. Cancelled: nothing has changed."""
        await trio.lowlevel.wait_readable(self._end)
        assert os.read(self._end, 64) == b""


@contextmanager
def _processes() -> Generator[Processes]:
    with tempfile.TemporaryDirectory() as directory:
        processes = Processes(Path(directory) / "running")
        try:
            yield processes
        finally:
            processes.close()


async def _stop_some(count: int, stop_one: Callable[[Processes], Awaitable[Sample]]) -> Sample:
    taken: list[Sample] = []
    for _ in range(count):
        with _processes() as processes:
            taken.append(await stop_one(processes))
    return Sample(count, sum(sample.wall for sample in taken), sum(sample.cpu for sample in taken))


async def supervised(count: int) -> Sample:
    """Abort an execution that is placed in a process, again and again."""
    async with open_supervisor(_TOOLBOX) as supervisor:
        return await _stop_some(count, partial(_abort, supervisor))


async def _abort(supervisor: Supervisor, processes: Processes) -> Sample:
    call = ToolCall("burn", {"pipe": os.fspath(processes.path), "descendants": _DESCENDANTS})
    execution = supervisor.start(call)
    await processes.wait_running()
    watch = Stopwatch()
    execution.abort("no longer wanted")
    await processes.wait_gone()
    sample = watch.read(1)
    await execution.settled()
    return sample


async def by_hand(count: int) -> Sample:
    """Kill a process group, again and again."""
    return await _stop_some(count, _kill)


async def _kill(processes: Processes) -> Sample:
    command = [sys.executable, _burning.__file__, os.fspath(processes.path), str(_DESCENDANTS)]
    process = await trio.lowlevel.open_process(command, start_new_session=True)
    await processes.wait_running()
    watch = Stopwatch()
    os.killpg(process.pid, signal.SIGKILL)
    await processes.wait_gone()
    sample = watch.read(1)
    await process.wait()
    return sample
