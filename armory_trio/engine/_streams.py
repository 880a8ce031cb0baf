"""Generators as tools: driving them, buffering their chunks, handing them to a reader."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import partial
from typing import Final, Protocol

import trio

from ..definitions import ChunkStage
from ..errors import ExecutionAborted
from ._concurrency import Signal, Token, current_token
from ._events import StreamClosed, StreamOpened
from ._execution import Record
from ._roles import Feeder
from .keeping._retelling import CHUNKS_KEPT, size_of

_STOPPED: Final = "this stream was stopped"
_STRIDE: Final = 64
"""Chunks after which a driver lets other tasks run, even if nothing made it wait."""

STALLED_AFTER: Final = 5.0
"""Seconds that a stream may wait for its reader while the supervisor drains."""


class ChunkBuffer:
    """Chunks between a tool and its reader. Tasks are switched only when it is empty or full."""

    __slots__ = (
        "_ahead",
        "_chunks",
        "_left",
        "_more",
        "_over",
        "_record",
        "_room",
        "_size",
        "_stalled_at",
        "waits_since",
        "when_room",
    )

    def __init__(self, record: Record, size: int) -> None:
        self._record = record
        self._size = size
        self._chunks: deque[object] = deque()
        self._more = Signal()
        self._room = Signal()
        self._over = False
        self._stalled_at = math.inf
        self._left = 0
        self._ahead = 0
        self.waits_since: float | None = None
        """Since when the tool waits for its reader, in seconds on trio's clock."""
        self.when_room: Callable[[], None] | None = None

    @property
    def full(self) -> bool:
        """Whether the tool has to wait."""
        return len(self._chunks) >= self._size and not self.runs_ahead

    @property
    def empty(self) -> bool:
        """Whether the reader has everything, so that nothing will be heard of him before there is more."""
        return not self._chunks

    @property
    def runs_ahead(self) -> bool:
        """Whether the tool need not wait for its reader: others wait for the same stream, and what is kept for them fits."""
        entry = self._record.entry
        return entry is not None and bool(entry.line) and self._ahead < CHUNKS_KEPT

    def others_wait(self) -> None:
        """Others wait for the same stream now."""
        if self.runs_ahead:
            self._make_room()

    def put(self, chunk: object) -> None:
        """Add *chunk*; the bound is the driver's to keep, by `room`."""
        if len(self._chunks) >= self._size:
            self._ahead += size_of(chunk)
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
            self._left = len(self._chunks)
            self._stalled_at = self._record.core.now() + STALLED_AFTER
            self._record.core.timers.at(self._stalled_at, self._record, "stalled")

    def stalled(self, at: float) -> bool:
        """Whether the time for which the tool may wait ran out at *at*, with nothing read meanwhile."""
        if self.waits_since is None or self._stalled_at != at:
            return False
        if len(self._chunks) < self._left:
            self.limit_wait()  # a slow reader is not a stalled one
            return False
        return True

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
        """The next chunk. A checkpoint when there is none, and at least every 64 chunks. Cancelled: nothing is lost.

        Raises:
            StopAsyncIteration: There is none, and there will be none.
        """
        chunks = self._chunks
        while not chunks:
            if self._over:
                await trio.lowlevel.checkpoint()
                raise StopAsyncIteration
            await self._more.wait()
        if len(chunks) > _STRIDE and not len(chunks) % _STRIDE:
            await trio.lowlevel.checkpoint()  # a buffer of no more than that makes its reader wait often enough
        return self.get_nowait()

    def get_nowait(self) -> object:
        """The next chunk, at once.

        Raises:
            trio.WouldBlock: There is none yet.
            StopAsyncIteration: There is none, and there will be none.
        """
        chunks = self._chunks
        if not chunks:
            raise StopAsyncIteration if self._over else trio.WouldBlock
        chunk = chunks.popleft()
        if not chunks:
            self._make_room()
        return chunk


class ChunkSink:
    """Where the chunks of one execution go: to the collection, to the reader, to whoever reads events."""

    __slots__ = ("_record", "_since_checkpoint", "buffer")

    def __init__(self, record: Record, buffer: Feeder | None) -> None:
        self._record = record
        self._since_checkpoint = 0
        self.buffer = buffer

    def accept(self, chunk: object) -> bool:
        """Take *chunk*, which is dropped once the outcome is decided.

        Returns:
            Whether the driver has to `wait` before it goes on.
        """
        stages = self._record.stages
        if stages is None:
            _take(self._record, chunk)
        else:
            for piece in through(stages, chunk):
                _take(self._record, piece)
        self._since_checkpoint += 1
        return self._since_checkpoint >= _STRIDE or (self.buffer is not None and self.buffer.full)

    async def wait(self) -> None:
        """Let others run; return when there is room. Cancelled: nothing has changed."""
        self._since_checkpoint = 0
        if self.buffer is not None and self.buffer.full and self._record.verdict is None:
            await self.buffer.room()
            # Whoever decides the outcome makes room first and cancels then: the generator must see the second.
            await trio.lowlevel.checkpoint_if_cancelled()
        else:
            await trio.lowlevel.checkpoint()

    def close(self, *, complete: bool) -> None:
        """The generator is at its end; its own one, or we closed it."""
        if complete:
            self._record.returned = True  # also when a stage fails now
        end_stages(self._record)
        if self._record.core.feed.readers:
            self._record.tell(StreamClosed, chunks=self._record.chunks, complete=complete)


def through(stages: Sequence[ChunkStage], chunk: object) -> list[object]:
    """What comes out behind the last of *stages* when *chunk* goes in."""
    pieces = [chunk]
    for stage in stages:
        pieces = [out for piece in pieces for out in stage.feed(piece)]
    return pieces


def end_stages(record: Record) -> None:
    """Let go on what the stages still hold, once; what one holds goes through those behind it.

    Each is asked, whatever another one raises: that is raised afterwards.
    """
    stages, record.stages = record.stages or (), None
    broken: BaseException | None = None
    for index, stage in enumerate(stages):
        try:
            pieces = [out for held in stage.end() for out in through(stages[index + 1 :], held)]
        except BaseException as exc:  # noqa: ASYNC103  # raised below; nothing is awaited
            broken = exc if broken is None else broken
        else:
            for piece in pieces:
                _take(record, piece)
    if broken is not None:
        try:
            raise broken
        finally:
            del broken  # its way leads to this frame: no circle shall keep it


def _take(record: Record, chunk: object) -> None:
    """Count *chunk*, and hand it to whoever wants it. Once the outcome is decided it is dropped."""
    if record.verdict is not None:
        return
    record.touch()
    if not record.chunks:
        record.apply("stream")
        if record.core.feed.readers:
            record.tell(StreamOpened)
    record.chunks += 1
    if record.collected is not None:
        record.collected.append(chunk if record.feeder is None else record.kept_of(chunk))
    if record.feeder is not None:
        record.feeder.put(chunk)
    if record.core.feed.payloads:
        record.tell_chunk(record.chunks - 1, chunk)


def _was_stopped(record: Record) -> bool:
    """Whether a body has to stop for good; one that must never be cancelled goes on while the supervisor stands."""
    return record.core.fallen or (record.cut and (record.plan is None or record.plan.interruptible))


class Drivable(Protocol):
    """What a driver needs of an async generator."""

    def __anext__(self) -> Awaitable[object]: ...
    def athrow(self, exc: BaseException, /) -> Awaitable[object]: ...
    def aclose(self) -> Awaitable[None]: ...


async def drive(record: Record, generator: Drivable, sink: ChunkSink) -> None:
    """Run a generator to its end, in the execution's own task.

    A cancellation that arrives between two chunks is thrown into the generator at its ``yield``, so that the scopes
    which it holds open there, and its ``finally``, see it as if it had waited itself. One that goes on after it was
    told to stop is closed.

    Cancelled: the generator was told, and is closed.
    """
    step: Callable[[], Awaitable[object]] = generator.__anext__
    told: trio.Cancelled | None = None
    complete = False
    try:
        while True:  # noqa: ASYNC913  # `sink.wait` comes at least every 64 chunks
            try:
                chunk = await step()
            except StopAsyncIteration:
                complete = told is None
                return
            if told is not None:
                raise told
            step = generator.__anext__
            if sink.accept(chunk):
                try:
                    await sink.wait()
                except trio.Cancelled as exc:  # noqa: ASYNC103  # thrown into the generator, or raised above
                    step = partial(generator.athrow, exc)
                    told = exc if _was_stopped(record) else None
    finally:
        del step, told  # their way leads to this frame: no circle shall keep it
        try:
            await _close(generator)  # noqa: ASYNC102  # the generator's own cleanup, under the rules of its scopes
        finally:
            sink.close(complete=complete)


async def _close(generator: Drivable) -> None:
    try:
        await generator.aclose()
    except BaseExceptionGroup as group:
        # A nursery round the ``yield`` wraps even our request to close.
        _, others = group.split(GeneratorExit)
        if others is not None:
            raise others from None


class ThreadPump:
    """Runs a generator to its end in a worker thread, and brings its chunks to trio's thread in order.

    Each chunk needs one of ``size`` places until its reader has it, or, when nobody reads, until it is collected.
    """

    __slots__ = ("_owed", "_places", "_record", "_sink", "_token", "broken")

    def __init__(self, record: Record, sink: ChunkSink, size: int) -> None:
        self.broken: BaseException | None = None
        """What a stage raised: on trio's thread, where nobody would catch it."""
        self._record = record
        self._sink = sink
        self._places = threading.Semaphore(size)
        self._owed = 0
        self._token: Token = current_token()
        if sink.buffer is not None:
            sink.buffer.when_room = self._pay

    def __call__(self, generator: Generator[object, None, object]) -> None:
        """The thread's work."""
        complete = False
        try:
            for chunk in generator:
                self._places.acquire()
                if self.broken is not None or _was_stopped(self._record):
                    self._stop(generator)
                    return
                self._token.run_sync_soon(self._deliver, chunk)
            complete = True
        finally:
            try:
                generator.close()
            finally:
                self._token.run_sync_soon(partial(self._close, complete=complete))

    def _stop(self, generator: Generator[object, None, object]) -> None:
        try:
            generator.throw(ExecutionAborted(_STOPPED))
        except StopIteration:
            return
        raise ExecutionAborted(_STOPPED)  # it went on

    def _deliver(self, chunk: object) -> None:
        buffer = self._sink.buffer
        wanted = self._record.verdict is None and self.broken is None
        if wanted:
            try:
                self._sink.accept(chunk)
            except BaseException as exc:  # noqa: ASYNC103  # raised in the execution's task; nothing is awaited
                self.broken, wanted = exc, False
        if buffer is None or not wanted or buffer.runs_ahead or buffer.empty:  # a stage may have kept it
            self._places.release()
            return
        self._owed += 1
        if buffer.full:
            buffer.mark_waiting()

    def _close(self, *, complete: bool) -> None:
        try:
            self._sink.close(complete=complete)
        except BaseException as exc:  # noqa: ASYNC103  # likewise
            self.broken = exc if self.broken is None else self.broken

    def _pay(self) -> None:
        if self._owed:
            self._places.release(self._owed)
            self._owed = 0
