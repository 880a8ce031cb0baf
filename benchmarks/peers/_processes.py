"""The driver's side of a worker: a process that is asked for one sample after the other."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import IO, Final

import msgspec
import trio

from benchmarks._row import ROOT
from benchmarks._sample import Sample

PATIENCE: Final = 180.0
"""Seconds for one sample. What takes longer is not measured: a sample is meant to take less than one, or a few."""

_GOODBYE: Final = 5.0
"""Seconds for a worker to end when its input has ended."""


class WorkerError(Exception):
    """A worker has no sample to give; the message says why."""


class Introduction(msgspec.Struct, frozen=True):
    """What a worker says first."""

    distribution: str
    version: str
    apis: dict[str, str]


class _Answer(msgspec.Struct, frozen=True):
    sample: Sample | None = None
    error: str | None = None


class Worker:
    """A running worker."""

    def __init__(self, process: trio.Process, said: IO[bytes]) -> None:
        self._process = process
        self._said = said
        self._unread = b""

    async def introduction(self) -> Introduction:
        """Who it is; to be asked once, first.

        Raises:
            WorkerError: It ended instead.
        """
        return msgspec.json.decode(await self._line(), type=Introduction)

    async def sample(self, measure: str, count: int) -> Sample:
        """Let it do *count* pieces of work.

        Raises:
            WorkerError: It cannot, or took too long, or ended.
        """
        assert self._process.stdin is not None
        try:
            await self._process.stdin.send_all(msgspec.json.encode({"measure": measure, "count": count}) + b"\n")
        except trio.BrokenResourceError as error:
            raise WorkerError(self._last_words()) from error
        answer = msgspec.json.decode(await self._line(), type=_Answer)
        if answer.sample is None:
            raise WorkerError(answer.error or "it gave no reason")
        return answer.sample

    async def _line(self) -> bytes:
        assert self._process.stdout is not None
        with trio.move_on_after(PATIENCE):
            while b"\n" not in self._unread:
                more = await self._process.stdout.receive_some()
                if not more:
                    raise WorkerError(self._last_words())
                self._unread += more
            line, _, self._unread = self._unread.partition(b"\n")
            return line
        self._process.kill()
        raise WorkerError(f"it took more than {PATIENCE:.0f} s")

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return f"it ended: {lines[-1]}" if lines else "it ended without a word"


@asynccontextmanager
async def open_worker(command: Sequence[str]) -> AsyncGenerator[Worker]:
    """Start *command*, which is a worker; it has ended when the block is left."""
    with tempfile.TemporaryFile() as said:
        process = await trio.lowlevel.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, cwd=ROOT
        )
        try:
            yield Worker(process, said)
        finally:
            with trio.CancelScope(shield=True):
                await _end(process)


async def _end(process: trio.Process) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.aclose()
    with trio.move_on_after(_GOODBYE):
        await process.wait()
    if process.returncode is None:
        process.kill()
    await process.wait()
    await process.stdout.aclose()
