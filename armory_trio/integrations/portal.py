"""A supervisor for programs without an event loop: trio runs in a thread of its own, and callers block."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Literal, TypeVar, Unpack

from .._on_demand import in_words
from ..definitions import ToolCall, ToolResult
from ..engine import (
    AbortAnswer,
    CallOptions,
    Execution,
    Report,
    Snapshot,
    Supervisor,
    open_supervisor,
)
from ..toolbox import Toolbox
from ._inside import Opening, require_function
from ._opening import opened_like
from ._portal_approvals import BlockingApprovals
from ._portal_handles import BlockingExecution, BlockingStream, Streaming, open_stream
from ._thread_side import ThreadSide

__all__ = ("BlockingExecution", "BlockingHost", "BlockingStream", "open_blocking_host")

if TYPE_CHECKING:  # loaded by who is looked at
    from ..observability.live import LiveServer
else:
    (LiveServer,) = in_words("armory_trio.observability.live", "LiveServer")

T = TypeVar("T")


class BlockingHost(BlockingApprovals):
    """A supervisor, as a program of threads uses it. Made by `open_blocking_host`, and only alive inside its block.

    Every member may be used from any thread but the host's own. A thread that waits in one and is interrupted by
    KeyboardInterrupt takes its call along; the host goes on.
    """

    def __init__(self, side: ThreadSide, supervisor: Supervisor) -> None:
        super().__init__(side, supervisor)
        self._supervisor = supervisor

    def __repr__(self) -> str:
        return repr(self._supervisor).replace("Supervisor", type(self).__name__, 1)

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
        """What became of everything; set once the host was shut down or left, however that was.

        Also when trio's own run was torn: then it says so, and names what was not ended.
        """
        return self._supervisor.report

    @property
    def toolbox(self) -> Toolbox:
        """The catalogue that calls are resolved in."""
        return self._supervisor.toolbox

    def inspect(
        self,
        *,
        owner_id: str | None = None,
        tool_name: str | None = None,
        started_by: str | None = None,
        live_only: bool = False,
    ) -> list[Snapshot]:
        """The newest snapshots, in order of admission; ended executions as long as they are kept. As `Executions.inspect`."""
        executions = self._supervisor.executions
        return self._side.call(
            lambda: executions.inspect(
                owner_id=owner_id, tool_name=tool_name, started_by=started_by, live_only=live_only
            )
        )

    def locate(self, execution_id: str, *, live_only: bool = False) -> Snapshot | None:
        """The newest snapshot of one execution; None when there never was one, or it is no longer kept.

        With *live_only* also when it has ended.
        """
        return self._side.call(lambda: self._supervisor.executions.locate(execution_id, live_only=live_only))

    def serve_live_view(
        self, *, path: str | os.PathLike[str] | None = None, name: str | None = None, allow_abort: bool = True
    ) -> AbstractContextManager[LiveServer]:
        """Let ``armory-trio top`` look at this host; use the answer with ``with``.

        Takes what `armory_trio.observability.live.serve_live_view` takes. It is served until its block is left, or the
        host closes, also while `shutdown` drains.

        Left or interrupted: viewers are let go, and the socket is removed.

        Raises (on entering the block):
            LiveViewError: The socket cannot be made, or another host listens there.
            AdmissionClosed: The host is closed.
        """
        from ..observability.live import serve_live_view  # noqa: PLC0415  # only who is looked at pays for it

        return self._side.hold(serve_live_view(self._supervisor, path=path, name=name, allow_abort=allow_abort))

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
        batch_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> list[ToolResult[object]]:
        """Run several calls, wait, and return their results in call order. As `Supervisor.execute_batch`.

        Interrupted: all of them are aborted, and waited for at most 0.05 s.

        Raises:
            AdmissionClosed: The host takes no new work.
            Overloaded: The queue bound cannot hold all of them.
            BudgetExceeded: The budget cannot pay for all of them.
            BatchError: The batch fails fast, and a call failed.
            TypeError, ValueError: An option is wrong, or a batch with this id is still running.
        """
        return self._side.run(
            lambda: self._supervisor.execute_batch(
                calls, mode=mode, concurrency=concurrency, on_error=on_error, batch_id=batch_id, **options
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
        streaming = Streaming(self._side, self._supervisor.stream(call, collect=collect, **options))
        return open_stream(streaming, self._side)

    def run(self, async_fn: Callable[[Supervisor], Awaitable[T]]) -> T:
        """Run a trio function on the host's own thread with the supervisor, wait, and return what it returns.

        It has until the host closes: then it is cancelled. Interrupted: it is cancelled, and waited for.

        Raises:
            AdmissionClosed: The host is closed, or was closed before the function ended.
            TypeError: It is no function, but perhaps what an async function was called to.
        """
        require_function(async_fn)
        return self._side.run(lambda: async_fn(self._supervisor), waits=True)

    def call(self, function: Callable[[Supervisor], T]) -> T:
        """Call a function that does not wait with the supervisor, on the host's own thread, and return what it returns.

        As in ``host.call(log_executions)``. Once the host is closed it is called in this thread.

        Raises:
            TypeError: It is no function.
        """
        require_function(function)
        return self._side.call(lambda: function(self._supervisor))

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
        started_by: str | None = None,
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
                started_by=started_by,
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
