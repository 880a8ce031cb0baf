"""Generators as tools: driving them, buffering their chunks, handing them to a reader."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
from typing import Final

import trio

from ..errors import ExecutionAborted
from ._concurrency import Signal, Token, current_token
from ._events import StreamClosed, StreamOpened
from ._execution import Feeder, Record

_STRIDE: Final = 64
"""Chunks after which a driver lets other tasks run, even if nothing made it wait."""

STALLED_AFTER: Final = 5.0
"""Seconds that a stream may wait for its reader while the supervisor drains."""


class ChunkBuffer:
    """Chunks between a tool and its reader. Tasks are switched only when it is empty or full."""

    __slots__ = ("_chunks", "_more", "_over", "_record", "_room", "_size", "_stalled_at", "waits_since", "when_room")

    def __init__(self, record: Record, size: int) -> None:
        self._record = record
        self._size = size
        self._chunks: deque[object] = deque()
        self._more = Signal()
        self._room = Signal()
        self._over = False
        self._stalled_at = math.inf
        self.waits_since: float | None = None
        """Since when the tool waits for its reader, in seconds on trio's clock."""
        self.when_room: Callable[[], None] | None = None

    @property
    def full(self) -> bool:
        """Whether the tool has to wait."""
        return len(self._chunks) >= self._size

    def put(self, chunk: object) -> None:
        """Add *chunk*; the bound is the driver's to keep, by `room`."""
        self._chunks.append(chunk)
        self._more.set()

    def mark_waiting(self) -> None:
        """The tool waits for the reader from now on."""
        if self.waits_since is None:
            self.waits_since = self._record.core.now()
            if self._record.core.closed:
                self.limit_wait()

    async def room(self) -> None:
        """Return when there is room. Cancelled: nothing has changed."""
        self.mark_waiting()
        try:
            await self._room.wait()
        finally:
            self.waits_since = None

    def limit_wait(self) -> None:
        """The supervisor drains: a reader that does not come holds it up only so long."""
        if self.waits_since is not None:
            self._stalled_at = self._record.core.now() + STALLED_AFTER
            self._record.core.timers.at(self._stalled_at, self._record, "stalled")

    def stalled(self, at: float) -> bool:
        """Whether the time for which the tool may wait ran out at *at*, with nothing read meanwhile."""
        return self.waits_since is not None and self._stalled_at == at

    def decided(self) -> None:
        """Nothing more will come that a reader should wait for."""
        self._over = True
        self._more.set()
        self._make_room()

    def _make_room(self) -> None:
        self.waits_since = None
        self._room.set()
        if self.when_room is not None:
            self.when_room()

    async def get(self) -> object:
        """The next chunk. Cancelled: nothing is lost.

        Raises:
            StopAsyncIteration: There is none, and there will be none.
        """
        while not self._chunks:
            if self._over:
                await trio.lowlevel.checkpoint()
                raise StopAsyncIteration
            await self._more.wait()
        chunk = self._chunks.popleft()
        if not self._chunks:
            self._make_room()
        return chunk


class ChunkSink:
    """Where the chunks of one execution go: to the collection, to the reader, to whoever reads events."""

    __slots__ = ("_record", "buffer", "since_checkpoint")

    def __init__(self, record: Record, buffer: Feeder | None) -> None:
        self._record = record
        self.buffer = buffer
        self.since_checkpoint = 0

    def accept(self, chunk: object) -> None:
        """Take *chunk*; dropped once the outcome is decided."""
        record = self._record
        if record.verdict is not None:
            return
        record.touch()
        if not record.chunks:
            record.apply("stream")
            if record.core.feed.readers:
                record.tell(StreamOpened)
        record.chunks += 1
        if record.collected is not None:
            record.collected.append(chunk)
        if self.buffer is not None:
            self.buffer.put(chunk)
        if record.core.feed.payloads:
            record.tell_chunk(record.chunks - 1, chunk)

    @property
    def must_wait(self) -> bool:
        """Whether the driver has to let others run before it goes on."""
        self.since_checkpoint += 1
        return self.since_checkpoint >= _STRIDE or (self.buffer is not None and self.buffer.full)

    async def wait(self) -> None:
        """Let others run; return when there is room. Cancelled: nothing has changed."""
        self.since_checkpoint = 0
        if self.buffer is not None and self.buffer.full and self._record.verdict is None:
            await self.buffer.room()
        else:
            await trio.lowlevel.checkpoint()

    def close(self, complete: bool) -> None:
        """The generator is at its end."""
        if self._record.core.feed.readers:
            self._record.tell(StreamClosed, chunks=self._record.chunks, complete=complete)


async def drive(record: Record, generator: AsyncGenerator[object, None], sink: ChunkSink) -> None:
    """Run an async generator to its end, in the execution's own task.

    A cancellation that arrives between two chunks is thrown into the generator at its ``yield``, so that the scopes
    which it holds open there, and its ``finally``, see it as if it had waited itself.
    """
    step: Callable[[], Awaitable[object]] = generator.__anext__
    thrown = complete = False
    try:
        while True:
            try:
                chunk = await step()
            except StopAsyncIteration:
                complete = not thrown
                return
            if thrown and record.cut:
                return  # asked to stop, it went on
            step = generator.__anext__
            sink.accept(chunk)
            if sink.must_wait:
                try:
                    await sink.wait()
                except trio.Cancelled as exc:
                    step = partial(generator.athrow, exc)
                    thrown = record.cut
    finally:
        await generator.aclose()
        sink.close(complete)


async def drive_inline(generator: Generator[object, None, object], sink: ChunkSink) -> None:
    """Run a generator to its end on trio's thread."""
    complete = False
    try:
        for chunk in generator:
            sink.accept(chunk)
            if sink.must_wait:
                await sink.wait()
        complete = True
    finally:
        generator.close()
        sink.close(complete)


class ThreadPump:
    """Runs a generator to its end in a worker thread, and brings its chunks to trio's thread in order."""

    __slots__ = ("_owed", "_record", "_room", "_sink", "_token")

    def __init__(self, record: Record, sink: ChunkSink, size: int) -> None:
        self._record = record
        self._sink = sink
        self._room = threading.Semaphore(size)
        self._owed = 0
        self._token: Token = current_token()
        if sink.buffer is not None:
            sink.buffer.when_room = self._pay

    def __call__(self, generator: Generator[object, None, object]) -> bool:
        """The thread's work; answers whether the generator came to its own end."""
        try:
            while True:
                try:
                    chunk = next(generator)
                except StopIteration:
                    return True
                self._room.acquire()
                if self._record.verdict is not None:
                    return self._stop(generator)
                self._token.run_sync_soon(self._deliver, chunk)
        finally:
            generator.close()

    def _stop(self, generator: Generator[object, None, object]) -> bool:
        reason = "the outcome of this stream is decided"
        try:
            generator.throw(ExecutionAborted(reason))
        except StopIteration:
            pass
        return False

    def _deliver(self, chunk: object) -> None:
        self._sink.accept(chunk)
        buffer = self._sink.buffer
        if buffer is not None and buffer.full and self._record.verdict is None:
            self._owed += 1
            buffer.mark_waiting()
        else:
            self._room.release()

    def _pay(self) -> None:
        if self._owed:
            self._room.release(self._owed)
            self._owed = 0
