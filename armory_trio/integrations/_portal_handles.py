"""What a blocking host holds of executions, and how its threads read what they yield."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

from ..definitions import ToolResult
from ..engine import AbortAnswer, Execution, PrivilegedSnapshot, Snapshot, Stream
from ..errors import AdmissionClosed
from ._inside import rest_of
from ._thread_side import ThreadSide


class BlockingExecution:
    """One started execution. Made by `BlockingHost.start`; for any thread."""

    __slots__ = ("_execution", "_side")

    def __init__(self, side: ThreadSide, execution: Execution) -> None:
        self._side = side
        self._execution = execution

    def __repr__(self) -> str:
        return f"<BlockingExecution {self.id}>"

    @property
    def id(self) -> str:
        """The execution's id in snapshots and events."""
        return self._execution.id

    @property
    def snapshot(self) -> Snapshot:
        """What it looks like now."""
        return self._side.call(lambda: self._execution.snapshot)

    def privileged_snapshot(self) -> PrivilegedSnapshot:
        """What it looks like now, with arguments and results."""
        return self._side.call(self._execution.privileged_snapshot)

    def abort(self, reason: str = "aborted by its host") -> AbortAnswer:
        """Ask it to stop, and say what that did. Whether it was honoured shows in the snapshot."""
        return self._side.call(lambda: self._execution.abort(reason))

    def result(self, *, timeout: float | None = None) -> ToolResult[object]:
        """The result, as soon as the outcome is decided. Interrupted: the execution goes on.

        Raises:
            AdmissionClosed: It never will be: trio's own run was torn.
            TimeoutError: It is not decided after *timeout* seconds. The execution goes on.
        """
        try:
            return self._side.run(self._execution.result, timeout=timeout)
        except AdmissionClosed:
            result = self.privileged_snapshot().result
            if result is None:  # a host closes when every outcome is decided, unless it is torn
                raise
            return result

    def settled(self, *, timeout: float | None = None) -> Snapshot:
        """The snapshot, once the state is final. Interrupted: the execution goes on.

        Raises:
            AdmissionClosed: It never will be: trio's own run was torn.
            TimeoutError: It is not final after *timeout* seconds. The execution goes on.
        """
        try:
            return self._side.run(self._execution.settled, timeout=timeout)
        except AdmissionClosed:
            snapshot = self.snapshot
            if snapshot.settled_at is None:  # as for the result
                raise
            return snapshot


class BlockingStream:
    """Chunks of a running tool, and its result. Made by `BlockingHost.stream`; for one thread at a time."""

    def __init__(self, side: ThreadSide, stream: Stream) -> None:
        self._side = side
        self._stream = stream
        self._kept: deque[object] = deque()
        self.execution: BlockingExecution = BlockingExecution(side, stream.execution)
        """The execution behind the stream."""

    def __repr__(self) -> str:
        return f"<BlockingStream of {self.execution!r}>"

    @property
    def result(self) -> ToolResult[object]:
        """The result.

        Raises:
            RuntimeError: The outcome is not decided yet; read the stream to its end first.
        """
        return self._side.call(lambda: self._stream.result)

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        """The next chunk. Interrupted: nothing is lost, the next step yields it.

        Raises:
            AdmissionClosed: Trio's own run was torn, so that the rest is lost.
        """
        kept = self._kept
        if not kept:
            try:
                self._side.run(self._read, waits=True)
            except StopAsyncIteration:
                raise StopIteration from None
            except AdmissionClosed:
                self._side.ended()
        if not kept:
            self._side.inside.require_whole()
            raise StopIteration
        chunk = kept[0]
        del kept[0]  # no call: Python looks for no signal before the chunk is returned
        return chunk

    async def _read(self) -> None:
        self._kept.append(await self._stream.__anext__())

    def take_rest(self) -> None:
        """Keep what was not read yet, once the outcome is decided."""
        self._kept.extend(rest_of(self._stream))


class Streaming:
    """The part of a stream on trio's side: its functions run there."""

    __slots__ = ("_manager", "_side", "reader")

    def __init__(self, side: ThreadSide, manager: AbstractAsyncContextManager[Stream, bool | None]) -> None:
        self._side = side
        self._manager = manager
        self.reader: BlockingStream | None = None

    async def enter(self) -> BlockingStream:
        reader = self.reader = BlockingStream(self._side, await self._manager.__aenter__())
        self._side.inside.readers[reader] = None
        return reader

    async def leave(self) -> None:
        if self.reader is not None:
            self._side.inside.readers.pop(self.reader, None)
            self.reader = None
            await self._manager.__aexit__(None, None, None)

    async def undo(self, _: BlockingStream) -> None:
        await self.leave()


@contextmanager
def open_stream(streaming: Streaming, side: ThreadSide) -> Generator[BlockingStream]:
    # A generator, since Python closes one that an interrupted `with` leaves behind.
    try:
        yield side.run(streaming.enter, undo=streaming.undo)
        side.see_to(streaming.leave)
    except BaseException:
        if streaming.reader is not None:
            side.see_to(streaming.leave)
        raise
