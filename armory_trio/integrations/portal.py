"""A supervisor for programs without an event loop: trio runs in a thread of its own, and callers block."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import Literal, TypeVar, Unpack

from ..definitions import ToolCall, ToolResult
from ..engine import (
    AbortAnswer,
    CallOptions,
    Execution,
    PrivilegedSnapshot,
    Report,
    Snapshot,
    Stream,
    Supervisor,
    open_supervisor,
)
from ..errors import AdmissionClosed
from ..toolbox import Toolbox
from ._inside import Opening, require_function, rest_of
from ._opening import opened_like
from ._portal_approvals import BlockingApprovals
from ._thread_side import ThreadSide

T = TypeVar("T")


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
            TimeoutError: It is not decided after *timeout* seconds. The execution goes on.
        """
        try:
            return self._side.run(self._execution.result, timeout=timeout)
        except AdmissionClosed:
            result = self.privileged_snapshot().result
            assert result is not None  # a host closes when every outcome is decided
            return result

    def settled(self, *, timeout: float | None = None) -> Snapshot:
        """The snapshot, once the state is final. Interrupted: the execution goes on.

        Raises:
            TimeoutError: It is not final after *timeout* seconds. The execution goes on.
        """
        try:
            return self._side.run(self._execution.settled, timeout=timeout)
        except AdmissionClosed:
            return self.snapshot


class BlockingStream:
    """Chunks of a running tool, and its result. Made by `BlockingHost.stream`; for one thread at a time."""

    def __init__(self, side: ThreadSide, stream: Stream) -> None:
        self._side = side
        self._stream = stream
        self._kept: deque[object] = deque()
        self.execution: BlockingExecution = BlockingExecution(side, stream.execution)
        """The execution behind the stream."""

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
        """The next chunk. Interrupted: nothing is lost, the next step yields it."""
        kept = self._kept
        if not kept:
            try:
                self._side.run(self._read, waits=True)
            except StopAsyncIteration:
                raise StopIteration from None
            except AdmissionClosed:
                self._side.ended()
        if not kept:
            raise StopIteration
        chunk = kept[0]
        del kept[0]  # no call: Python looks for no signal before the chunk is returned
        return chunk

    async def _read(self) -> None:
        self._kept.append(await self._stream.__anext__())

    def take_rest(self) -> None:
        """Keep what was not read yet, once the outcome is decided."""
        self._kept.extend(rest_of(self._stream))


class _Streaming:
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
def _open_stream(streaming: _Streaming, side: ThreadSide) -> Generator[BlockingStream]:
    # A generator, since Python closes one that an interrupted `with` leaves behind.
    try:
        yield side.run(streaming.enter, undo=streaming.undo)
        side.see_to(streaming.leave)
    except BaseException:
        if streaming.reader is not None:
            side.see_to(streaming.leave)
        raise


class BlockingHost(BlockingApprovals):
    """A supervisor, as a program of threads uses it. Made by `open_blocking_host`, and only alive inside its block.

    Every member may be used from any thread but the host's own. A thread that waits in one and is interrupted by
    KeyboardInterrupt takes its call along; the host goes on.
    """

    def __init__(self, side: ThreadSide, supervisor: Supervisor) -> None:
        super().__init__(side, supervisor)
        self._supervisor = supervisor

    # -- looking

    @property
    def active(self) -> int:
        """How many executions are not over."""
        return self._supervisor.active

    @property
    def closed(self) -> bool:
        """Whether it takes no new work."""
        return self._supervisor.closed

    @property
    def report(self) -> Report | None:
        """What became of everything; set once the host was shut down or left, however that was."""
        return self._supervisor.report

    @property
    def toolbox(self) -> Toolbox:
        """The catalogue that calls are resolved in."""
        return self._supervisor.toolbox

    def inspect(
        self, *, owner_id: str | None = None, tool_name: str | None = None, live_only: bool = False
    ) -> list[Snapshot]:
        """The newest snapshots, in order of admission; ended executions as long as they are kept."""
        executions = self._supervisor.executions
        return self._side.call(lambda: executions.inspect(owner_id=owner_id, tool_name=tool_name, live_only=live_only))

    def locate(self, execution_id: str) -> Snapshot | None:
        """The newest snapshot of one execution; None when there never was one, or it is no longer kept."""
        return self._side.call(lambda: self._supervisor.executions.locate(execution_id))

    # -- running

    def execute(self, call: ToolCall, **options: Unpack[CallOptions]) -> ToolResult[object]:
        """Run one call, wait, and return how it ended, whatever way that was.

        Args:
            call: The call.
            options: Those of a call; ``timeout`` limits the tool, and ``elicit`` is a trio function.

        Interrupted: the execution is aborted, and waited for at most 0.05 s.

        Raises:
            AdmissionClosed: The host takes no new work.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
        """
        return self._side.run(lambda: self._supervisor.execute(call, **options))

    def execute_batch(
        self,
        calls: Sequence[ToolCall],
        *,
        mode: Literal["parallel", "sequential"] = "parallel",
        concurrency: int | None = None,
        on_error: Literal["collect", "fail_fast"] = "collect",
        **options: Unpack[CallOptions],
    ) -> list[ToolResult[object]]:
        """Run several calls, wait, and return their results in call order. As `Supervisor.execute_batch`.

        Interrupted: all of them are aborted, and waited for at most 0.05 s.

        Raises:
            AdmissionClosed: The host takes no new work.
            Overloaded: The queue bound cannot hold all of them.
            BudgetExceeded: The budget cannot pay for all of them.
            BatchError: The batch fails fast, and a call failed.
            TypeError, ValueError: An option is wrong.
        """
        return self._side.run(
            lambda: self._supervisor.execute_batch(
                calls, mode=mode, concurrency=concurrency, on_error=on_error, **options
            )
        )

    def start(self, call: ToolCall, **options: Unpack[CallOptions]) -> BlockingExecution:
        """Begin one call and return its handle. The execution belongs to the host, not to the thread.

        Interrupted: it is aborted, since nobody holds its handle.

        Raises:
            AdmissionClosed: The host takes no new work.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
        """
        started: list[Execution] = []

        def start() -> BlockingExecution:
            started.append(self._supervisor.start(call, **options))
            return BlockingExecution(self._side, started[0])

        async def undo(_: BlockingExecution) -> None:  # noqa: ASYNC124  # to run in a task
            started[0].abort("the thread that started it was interrupted")

        return self._side.call(start, undo=undo)

    def stream(
        self, call: ToolCall, *, collect: bool = True, **options: Unpack[CallOptions]
    ) -> AbstractContextManager[BlockingStream]:
        """Run one call and read its chunks as they come; use the answer with ``with``. As `Supervisor.stream`.

        Interrupted while it is entered: the execution is aborted, and waited for at most 0.05 s.

        Raises (on entering the block): as `execute`.
        """
        streaming = _Streaming(self._side, self._supervisor.stream(call, collect=collect, **options))
        return _open_stream(streaming, self._side)

    def run(self, async_fn: Callable[[Supervisor], Awaitable[T]]) -> T:
        """Run a trio function on the host's own thread with the supervisor, wait, and return what it returns.

        It has until the host closes: then it is cancelled. Interrupted: it is cancelled, and waited for.

        Raises:
            AdmissionClosed: The host is closed, or was closed before the function ended.
            TypeError: It is no function, but perhaps what an async function was called to.
        """
        require_function(async_fn)
        return self._side.run(lambda: async_fn(self._supervisor), waits=True)

    # -- stopping

    def abort(
        self,
        reason: str,
        *,
        execution_id: str | None = None,
        call_id: str | None = None,
        owner_id: str | None = None,
        batch_id: str | None = None,
        tool_name: str | None = None,
    ) -> dict[str, AbortAnswer]:
        """Ask executions to stop, and say for each of them, by its id, what that did. As `Supervisor.abort`.

        Raises:
            ValueError: No selector is given.
        """
        return self._side.call(
            lambda: self._supervisor.abort(
                reason,
                execution_id=execution_id,
                call_id=call_id,
                owner_id=owner_id,
                batch_id=batch_id,
                tool_name=tool_name,
            )
        )

    def close_admission(self, reason: str = "closed by its host") -> None:
        """Take no new work. What was admitted runs to its end, and so do its nested calls."""
        self._side.call(lambda: self._supervisor.close_admission(reason))

    def wait_idle(self, *, timeout: float | None = None) -> None:
        """Return when no execution is live. Interrupted: nothing has changed.

        Raises:
            TimeoutError: One still is after *timeout* seconds.
            AdmissionClosed: The host was closed, and a thread that cannot be stopped runs on.
        """
        self._side.run(self._supervisor.wait_idle, waits=True, timeout=timeout)

    def shutdown(self, mode: Literal["drain", "abort"] = "drain", *, drain_for: float | None = None) -> Report:
        """End everything and tell what became of it. As `Supervisor.shutdown`.

        Interrupted: admission stays closed, and the work goes on (or goes on ending).

        Raises:
            ShutdownFromInside: A tool in a thread called it.
            DefinitionError: *drain_for* is no length of time.
        """
        return self._side.run(lambda: self._supervisor.shutdown(mode, drain_for=drain_for))


def _refuse_loop() -> None:
    # Who never loaded asyncio runs no loop, and need not load it now.
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "an asyncio loop runs in this thread, and a blocking host would hold it up: use `open_asyncio_host` of "
        "armory_trio.integrations.asyncio_host, or open this one in another thread"
    )


@opened_like(open_supervisor)
@contextmanager
def open_blocking_host(opening: Opening) -> Generator[BlockingHost]:
    """Run tool calls for a program without an event loop, as long as the block lasts. Takes what `open_supervisor` takes.

    Trio and all our code run in one thread of their own. Left normally, it drains; left by an exception, everything is
    aborted at once. Either way the thread is gone afterwards, nothing of a call runs on but threads that cannot be
    stopped, and ``host.report`` is set.

    Raises:
        RuntimeError: An asyncio loop runs in this thread, which would stand still; `open_asyncio_host` is for it.
        DefinitionError: An option is wrong.
        InternalError: A task of the engine itself failed.
        KeyboardInterrupt: It was raised in a tool; everything was aborted.
    """
    _refuse_loop()
    side = ThreadSide(opening)
    try:
        side.open()
        assert side.inside.supervisor is not None
        yield BlockingHost(side, side.inside.supervisor)
        side.leave()
    except BaseException:
        side.abort()
        raise
