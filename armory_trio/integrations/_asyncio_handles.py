"""What an asyncio host holds of executions, and how it reads what they yield."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Final, Generic, TypeVar

import trio
from outcome import Value

from ..definitions import ToolResult
from ..engine import AbortAnswer, Execution, PrivilegedSnapshot, Snapshot, Stream, Updates
from ..engine._concurrency import EnteredFirst
from ._guest import AsyncioSide
from ._inside import Leftover, Source, rest_of

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R", bound=Leftover)

_STRIDE: Final = 64
"""Steps that a reader takes without letting the loop go on while there is more to read."""


class AsyncioExecution:
    """One started execution. Made by `AsyncioHost.start`."""

    __slots__ = ("_execution", "_side")

    def __init__(self, side: AsyncioSide, execution: Execution) -> None:
        self._side = side
        self._execution = execution

    def __repr__(self) -> str:
        return f"<Asyncio{repr(self._execution)[1:]}"

    @property
    def id(self) -> str:
        """The execution's id in snapshots and events."""
        return self._execution.id

    @property
    def snapshot(self) -> Snapshot:
        """What it looks like now."""
        return self._execution.snapshot

    def privileged_snapshot(self) -> PrivilegedSnapshot:
        """What it looks like now, with arguments and results."""
        return self._execution.privileged_snapshot()

    def abort(self, reason: str = "aborted by its host") -> AbortAnswer:
        """Ask it to stop, and say what that did. Whether it was honoured shows in the snapshot."""
        self._side.require_going()
        return self._execution.abort(reason)

    async def result(self) -> ToolResult[object]:
        """The result, as soon as the outcome is decided. Cancelled: the execution goes on."""
        decided = self._execution.privileged_snapshot().result
        return decided if decided is not None else await self._side.run(self._execution.result)

    async def settled(self) -> Snapshot:
        """The snapshot, once the state is final. Cancelled: the execution goes on."""
        now = self._execution.snapshot
        return now if now.settled_at is not None else await self._side.run(self._execution.settled)


class AsyncioReader(Generic[T]):
    """An async iterator over what trio's side yields.

    It ends when what it reads from ends, or when the host is closed and everything there was has been read.
    """

    def __init__(self, side: AsyncioSide, source: Source[T]) -> None:
        self._side = side
        self._stride = 0
        self._source = source
        self._kept: deque[T] = deque()

    def __aiter__(self) -> AsyncioReader[T]:
        return self

    async def __anext__(self) -> T:
        """The next one. Cancelled: nothing is lost, the next step yields it."""
        side = self._side
        side.require_here()
        self._stride += 1
        if self._stride >= _STRIDE:
            self._stride = 0
            await asyncio.sleep(0)
        if not self._kept and not side.inside.closed:
            with suppress(trio.WouldBlock):
                return self._source.next_nowait()
            self._stride = 0
            fetched = side.begin(self._source.__anext__, waits=True)
            try:
                await fetched.join()
            except asyncio.CancelledError:
                if isinstance(fetched.outcome, Value):
                    self._kept.append(fetched.outcome.unwrap())
                raise
            if fetched.outcome is not None:
                return fetched.outcome.unwrap()
        if not self._kept:
            await side.ended()
        if self._kept:
            return self._kept.popleft()
        side.inside.require_whole()
        raise StopAsyncIteration

    def take_rest(self) -> None:
        """Keep what can be had without waiting, once nothing more will come."""
        self._kept.extend(rest_of(self._source))


class AsyncioUpdates(AsyncioReader[Snapshot]):
    """A watcher's view of the executions that it selected; see `Updates`."""

    def __init__(self, side: AsyncioSide, updates: Updates) -> None:
        super().__init__(side, updates)
        self._updates = updates

    @property
    def missed(self) -> int:
        """How many revisions were overtaken before this watcher came to them."""
        return self._updates.missed

    @property
    def forgotten(self) -> int:
        """How many executions were forgotten before this watcher saw their last revision."""
        return self._updates.forgotten


class AsyncioStream(AsyncioReader[object]):
    """Chunks of a running tool, and its result. Made by `AsyncioHost.stream`; leaving its block stops the tool."""

    def __init__(self, side: AsyncioSide, stream: Stream) -> None:
        super().__init__(side, stream)
        self._stream = stream
        self.execution = AsyncioExecution(side, stream.execution)
        """The execution behind the stream."""

    @property
    def result(self) -> ToolResult[object]:
        """The result.

        Raises:
            RuntimeError: The outcome is not decided yet; read the stream to its end first.
        """
        return self._stream.result


class Opened(EnteredFirst, Generic[R]):
    """``async with`` round something that is entered and left on trio's side, and read in asyncio."""

    __slots__ = ("_enter", "_leave", "_leave_soon", "_reader", "_readers")

    def __init__(
        self,
        side: AsyncioSide,
        manager: AbstractAsyncContextManager[S, bool | None],
        wrap: Callable[[AsyncioSide, S], R],
    ) -> None:
        async def enter() -> R:
            return wrap(side, await side.enter(manager))

        async def leave() -> None:
            await side.leave(manager)

        def leave_soon() -> None:
            side.leave_soon(manager)

        self._enter = enter
        self._leave = leave
        self._leave_soon = leave_soon
        self._readers = side.inside.readers
        self._reader: R | None = None

    async def __aenter__(self) -> R:
        reader = self._reader = await self._enter()
        self._readers[reader] = None
        return reader

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._reader is not None:
            self._readers.pop(self._reader, None)
            if isinstance(exc, GeneratorExit):  # the block is thrown away, and nothing can be awaited
                self._leave_soon()
                return
            await self._leave()  # noqa: ASYNC102  # ends when trio's side has
