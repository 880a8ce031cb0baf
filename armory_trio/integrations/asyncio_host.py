"""A supervisor inside an asyncio program: trio runs as a guest of its loop, and everything is awaited natively."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypeVar, Unpack

from typing_extensions import TypeVar as TypeVarWithDefault

from .._on_demand import in_words
from ..definitions import ToolCall, ToolResult
from ..engine import (
    AbortAnswer,
    CallOptions,
    Happening,
    Lagged,
    PrivilegedSnapshot,
    Report,
    Snapshot,
    Supervisor,
    open_supervisor,
)
from ..toolbox import Toolbox
from ._asyncio_approvals import AsyncioApprovals
from ._asyncio_handles import AsyncioExecution, AsyncioReader, AsyncioStream, AsyncioUpdates, Opened
from ._guest import AsyncioSide, asked_in_asyncio
from ._inside import Opening, require_function
from ._opening import opened_like

if TYPE_CHECKING:  # loaded by who is looked at
    from ..observability.live import LiveServer
else:
    (LiveServer,) = in_words("armory_trio.observability.live", "LiveServer")

H = TypeVarWithDefault("H", bound=Happening, default=Happening)
T = TypeVar("T")


class AsyncioExecutions:
    """What runs, and what ran lately. The ``executions`` of an asyncio host."""

    __slots__ = ("_executions", "_side")

    def __init__(self, side: AsyncioSide, supervisor: Supervisor) -> None:
        self._side = side
        self._executions = supervisor.executions

    def __repr__(self) -> str:
        return f"<Asyncio{repr(self._executions)[1:]}"

    def inspect(
        self,
        *,
        owner_id: str | None = None,
        tool_name: str | None = None,
        started_by: str | None = None,
        live_only: bool = False,
    ) -> list[Snapshot]:
        """The newest snapshots, in order of admission; ended executions as long as they are kept. As `Executions.inspect`."""
        self._side.require_here()
        return self._executions.inspect(
            owner_id=owner_id, tool_name=tool_name, started_by=started_by, live_only=live_only
        )

    def locate(self, execution_id: str, *, live_only: bool = False) -> Snapshot | None:
        """The newest snapshot of one execution; None when there never was one, or it is no longer kept.

        With *live_only* also when it has ended.
        """
        self._side.require_here()
        return self._executions.locate(execution_id, live_only=live_only)

    def inspect_privileged(
        self, *, owner_id: str | None = None, tool_name: str | None = None
    ) -> list[PrivilegedSnapshot]:
        """What is live, with arguments and results: for the eyes of an operator only, never for a watcher."""
        self._side.require_here()
        return self._executions.inspect_privileged(owner_id=owner_id, tool_name=tool_name)

    def subscribe(
        self, *, owner_id: str | None = None, execution_id: str | None = None, tool_name: str | None = None
    ) -> Opened[AsyncioUpdates]:
        """Follow what changes, without ever slowing the work; use the answer with ``async with``."""
        watching = self._executions.subscribe(owner_id=owner_id, execution_id=execution_id, tool_name=tool_name)
        return Opened(self._side, watching, AsyncioUpdates)


class AsyncioHost(AsyncioApprovals):
    """A supervisor, as an asyncio program uses it. Made by `open_asyncio_host`, and only alive inside its block.

    What a supervisor does at once is done at once here, and what it awaits on trio is awaited here in asyncio. All of
    it belongs to the thread of the loop.
    """

    def __init__(self, side: AsyncioSide, supervisor: Supervisor) -> None:
        super().__init__(side, supervisor)
        self.supervisor = supervisor
        """The supervisor itself: its synchronous members may be used as they are, its async ones through `run`."""
        self.executions: AsyncioExecutions = AsyncioExecutions(side, supervisor)

    def __repr__(self) -> str:
        return repr(self.supervisor).replace("Supervisor", type(self).__name__, 1)

    # -- looking

    @property
    def active(self) -> int:
        """How many executions are not over."""
        return self.supervisor.active

    @property
    def closed(self) -> bool:
        """Whether it takes no new work."""
        return self.supervisor.closed

    @property
    def report(self) -> Report | None:
        """What became of everything; set once the host was shut down or left, however that was.

        Also when trio's own run was torn: then it says so, and names what was not ended.
        """
        return self.supervisor.report

    @property
    def toolbox(self) -> Toolbox:
        """The catalogue that calls are resolved in."""
        return self.supervisor.toolbox

    def events(
        self, *kinds: type[H], include_payloads: bool = False, buffer: int = 1024
    ) -> Opened[AsyncioReader[H | Lagged]]:
        """Read typed events in order; use the answer with ``async with``. As `Supervisor.events`."""
        subscription = self.supervisor.events(*kinds, include_payloads=include_payloads, buffer=buffer)
        return Opened(self._side, subscription, AsyncioReader[H | Lagged])

    def serve_live_view(
        self, *, path: str | os.PathLike[str] | None = None, name: str | None = None, allow_abort: bool = True
    ) -> AbstractAsyncContextManager[LiveServer]:
        """Let ``armory-trio top`` look at this host; use the answer with ``async with``.

        Takes what `armory_trio.observability.live.serve_live_view` takes. It is served until its block is left, or the
        host closes, also while `shutdown` drains.

        Left or cancelled: viewers are let go, and the socket is removed.

        Raises (on entering the block):
            LiveViewError: The socket cannot be made, or another host listens there.
            AdmissionClosed: The host is closed.
        """
        from ..observability.live import serve_live_view  # noqa: PLC0415  # only who is looked at pays for it

        self._side.require_here()
        return self._side.hold(serve_live_view(self.supervisor, path=path, name=name, allow_abort=allow_abort))

    # -- running

    async def execute(self, call: ToolCall, **options: Unpack[CallOptions]) -> ToolResult[object]:
        """Run one call and return how it ended, whatever way that was.

        Args:
            call: The call.
            options: Those of a call; ``elicit`` is an asyncio function here.

        Cancelled: the execution is aborted, and waited for at most 0.05 s. A tool that cannot be interrupted is left
        behind, visibly.

        Raises:
            AdmissionClosed: The host takes no new work.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
            ExecutionOver: It was called by a tool whose own outcome is decided.
        """
        adapted = self._adapt(options)
        return await self._side.run(lambda: self.supervisor.execute(call, **adapted))

    async def execute_batch(
        self,
        calls: Sequence[ToolCall],
        *,
        mode: Literal["parallel", "sequential"] = "parallel",
        concurrency: int | None = None,
        on_error: Literal["collect", "fail_fast"] = "collect",
        batch_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> list[ToolResult[object]]:
        """Run several calls and return their results in call order. As `Supervisor.execute_batch`.

        Cancelled: all of them are aborted, and waited for at most 0.05 s.

        Raises:
            AdmissionClosed: The host takes no new work.
            Overloaded: The queue bound cannot hold all of them.
            BudgetExceeded: The budget cannot pay for all of them.
            BatchError: The batch fails fast, and a call failed.
            TypeError, ValueError: An option is wrong, or a batch with this id is still running.
        """
        adapted = self._adapt(options)
        return await self._side.run(
            lambda: self.supervisor.execute_batch(
                calls, mode=mode, concurrency=concurrency, on_error=on_error, batch_id=batch_id, **adapted
            )
        )

    def start(self, call: ToolCall, **options: Unpack[CallOptions]) -> AsyncioExecution:
        """Begin one call and return its handle at once. The execution belongs to the host, not to the caller.

        Raises:
            AdmissionClosed: The host takes no new work.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
        """
        self._side.require_open()
        return AsyncioExecution(self._side, self.supervisor.start(call, **self._adapt(options)))

    def stream(self, call: ToolCall, *, collect: bool = True, **options: Unpack[CallOptions]) -> Opened[AsyncioStream]:
        """Run one call and read its chunks as they come; use the answer with ``async with``. As `Supervisor.stream`.

        Raises (on entering the block): as `execute`.
        """
        opening = self.supervisor.stream(call, collect=collect, **self._adapt(options))
        return Opened(self._side, opening, AsyncioStream)

    async def run(self, async_fn: Callable[[], Awaitable[T]]) -> T:
        """Run a trio function without arguments on trio's side, and return what it returns.

        It has until the host closes: then it is cancelled.

        Cancelled: it is cancelled, and waited for.

        Raises:
            AdmissionClosed: The host is closed, or was closed before the function ended.
            TypeError: It is no function, but perhaps what an async function was called to.
        """
        require_function(async_fn)
        return await self._side.run(async_fn, waits=True)

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
        self._side.require_going()
        return self.supervisor.abort(
            reason,
            execution_id=execution_id,
            call_id=call_id,
            owner_id=owner_id,
            batch_id=batch_id,
            tool_name=tool_name,
            started_by=started_by,
        )

    def close_admission(self, reason: str = "closed by its host") -> None:
        """Take no new work. What was admitted runs to its end, and so do its nested calls."""
        self._side.require_going()
        self.supervisor.close_admission(reason)

    async def wait_idle(self) -> None:
        """Return when no execution is live. Cancelled: nothing has changed.

        Raises:
            ShutdownFromInside: A running tool called it.
            AdmissionClosed: The host was closed, and a thread that cannot be stopped runs on.
        """
        await self._side.run(self.supervisor.wait_idle, waits=True)

    async def shutdown(self, mode: Literal["drain", "abort"] = "drain", *, drain_for: float | None = None) -> Report:
        """End everything and tell what became of it. As `Supervisor.shutdown`.

        Cancelled: admission stays closed, and the work goes on (or goes on ending).

        Raises:
            ShutdownFromInside: A running tool called it.
            DefinitionError: *drain_for* is no length of time.
        """

        async def shutdown() -> Report:
            await self._side.inside.let_in()
            return await self.supervisor.shutdown(mode, drain_for=drain_for)

        return await self._side.run(shutdown)


@opened_like(asked_in_asyncio(open_supervisor))
@asynccontextmanager
async def open_asyncio_host(opening: Opening) -> AsyncGenerator[AsyncioHost]:
    """Run tool calls in an asyncio program for as long as the block lasts. Takes what `open_supervisor` takes.

    An ``approval_handler`` is an asyncio function here, or a plain one.

    Trio runs as a guest of the loop: tools and all our code run on the loop's thread, in turns with its own work;
    one helper thread waits for trio's input and output. Signals belong to the asyncio program.

    Left normally, it drains; left by an exception or cancelled, everything is aborted at once. Either way nothing of a
    call runs on afterwards but threads that cannot be stopped, no future of ours is pending, and ``host.report`` is
    set. If the supervisor itself falls, the block is cancelled, and what made it fall is raised in its place.

    Raises:
        RuntimeError: No asyncio loop runs here, or trio runs in this thread already: there can be one host at a time
            in a thread.
        DefinitionError: An option is wrong.
        InternalError: A task of the engine itself failed.
        KeyboardInterrupt: It was raised in a tool, or arrived there; everything was aborted.
    """
    async with AsyncioSide(opening) as side:
        assert side.inside.supervisor is not None
        yield AsyncioHost(side, side.inside.supervisor)
