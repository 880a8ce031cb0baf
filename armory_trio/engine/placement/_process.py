"""A worker process as its host holds it: started, watched, killed with everything in its group, and reaped."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, cast

import trio

from .._concurrency import UNLIMITED, Latch, exit_of, open_process
from ._group import end_group, kill_group, shows_processes

IDLE_FOR: Final = 30.0
"""Seconds after which a worker that nobody needed is closed."""

_CLOSING: Final = 1.0
"""Seconds that an idle worker may take to end by itself, running what it has registered for that."""

PATIENCE: Final = 30.0
"""Seconds of real time after which a group that cannot be killed is given up."""

_AT_ONCE: Final = 2**18
_BOOT: Final = (
    "import sys; argv = sys.argv; sys.argv = ['armory_trio worker']; sys.path[:] = argv[3:]; "
    "from armory_trio.engine.placement._worker import main; main(int(argv[1]), int(argv[2]))"
)
_log: Final = logging.getLogger("armory_trio.engine")


def _flags() -> list[str]:
    """The options that this interpreter was started with, as `multiprocessing` finds them."""
    known = getattr(subprocess, "_args_from_interpreter_flags", None)
    return cast("list[str]", known()) if known is not None else []


_WORKERS: Final = weakref.WeakSet["WorkerProcess"]()


def _let_go_of_all() -> None:
    for worker in list(_WORKERS):
        worker.let_go()


# A child that the host forks, as `multiprocessing` does, would keep the workers alive when the host is killed.
os.register_at_fork(after_in_child=_let_go_of_all)


class WorkerProcess:
    """One worker. `live` is its task; what else there is, is for the body that has it and for the pool."""

    def __init__(self) -> None:
        self.opened = Latch()
        """Set once it can be spoken to, or could not be started."""
        self.exited = Latch()
        """Set once the process has ended; others of its group may still run."""
        self.gone = Latch()
        """Set once nothing of its group runs, and nothing of it is left to be reaped."""
        self.scope = trio.CancelScope()
        """Cancelled, it is closed; its deadline is when it has been idle for too long."""
        self.failure: OSError | None = None
        self.calls = 0
        self.killed = False
        self.unkillable = False
        self._process: trio.Process | None = None
        self._reaping = False
        self._held = False
        self._channel: trio.SocketStream | None = None
        self._lifeline: int | None = None
        _WORKERS.add(self)

    @property
    def pid(self) -> int | None:
        """Its process id, which is the id of its group and its session as well."""
        return None if self._process is None else self._process.pid

    @property
    def usable(self) -> bool:
        """Whether a body may have it."""
        return not (self.killed or self.exited.is_set or self.failure is not None or self.scope.cancel_called)

    @property
    def how_it_ended(self) -> int | None:
        """The exit status, or the negative number of the signal that killed it; None before it is gone."""
        return None if self._process is None or not self.gone.is_set else self._process.returncode

    # -- the task

    async def live(self) -> None:
        """Start it, wait until it ends or is to be closed, and end everything in its group.

        Cancelled: it is closed, too; that takes a moment, shielded.
        """
        try:
            with self.scope:
                try:
                    await self._open()
                except OSError as exc:
                    self.failure = exc
                    return
                self.opened.set()
                assert self._process is not None
                await exit_of(self._process)
                self.exited.set()
        finally:
            self.opened.set()
            with trio.CancelScope(shield=True):
                await self._end()  # noqa: ASYNC102  # bounded by _CLOSING and PATIENCE

    async def _open(self) -> None:
        with ExitStack() as passed_on:
            ours, theirs = socket.socketpair()
            passed_on.callback(theirs.close)
            self._channel = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
            waits, self._lifeline = os.pipe()
            passed_on.callback(os.close, waits)
            numbers = (theirs.fileno(), waits)
            self._process = await open_process(
                [sys.executable, *_flags(), "-c", _BOOT, *map(str, numbers), *sys.path],
                # What a host writes to its own output may be a protocol; what a tool prints never is.
                stdout=_standard_error(),
                pass_fds=numbers,
            )

    async def _end(self) -> None:
        process = self._process
        if process is not None:
            if not (self.killed or self.exited.is_set):
                await self._close_politely(process)
            self.exited.set()
            await self._kill_all(process)
        if not self._held:
            self._close()
        self.gone.set()

    async def _close_politely(self, process: trio.Process) -> None:
        assert self._channel is not None
        with suppress(OSError):
            self._channel.socket.shutdown(socket.SHUT_WR)
        with trio.move_on_after(_CLOSING):
            await exit_of(process)

    async def _kill_all(self, process: trio.Process) -> None:
        if not shows_processes():
            self.kill()
            with trio.move_on_after(PATIENCE):
                await process.wait()
        self.unkillable = not await trio.to_thread.run_sync(end_group, process.pid, PATIENCE, limiter=UNLIMITED)
        self._reaping = True
        if self.unkillable:
            _log.error("the process group %d of a worker cannot be killed; it is left alone", process.pid)
            process.poll()
        else:
            await process.wait()

    def _close(self) -> None:
        if self._channel is not None:
            self._channel.socket.close()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def let_go(self) -> None:
        """Close what holds the worker, in a child that the host forked and that has no part in it."""
        with suppress(OSError):
            if self._channel is not None:
                os.close(self._channel.socket.detach())
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    # -- for the body that has it

    @contextmanager
    def held(self) -> Generator[None]:
        """Keep the channel open to the end of the block, so that what came before the worker's end can be read."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            if self.gone.is_set:
                self._close()

    def kill(self) -> None:
        """Kill everything in its group at once; `gone` tells when that is done."""
        self.killed = True
        if self._process is not None and not self._reaping:
            kill_group(self._process.pid)
        self.scope.cancel()

    async def send(self, data: bytes) -> None:
        """Send *data*, which is lost when the worker does not listen any more. Cancelled: it may be torn."""
        assert self._channel is not None
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._channel.send_all(data)

    async def receive(self) -> bytes | bytearray:
        """What comes next; nothing once the worker has closed the channel. Cancelled: nothing is lost."""
        assert self._channel is not None
        try:
            return await self._channel.receive_some(_AT_ONCE)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    def receive_rest(self) -> bytes:
        """What has come and was not read; for a worker that has exited."""
        assert self._channel is not None
        rest = bytearray()
        with suppress(OSError):  # there is nothing more
            while more := os.read(self._channel.socket.fileno(), _AT_ONCE):
                rest += more
        return bytes(rest)


def _standard_error() -> int:
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2
