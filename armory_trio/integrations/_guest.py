"""Trio as a guest of an asyncio loop: its run takes turns with the loop's own work, on the loop's thread."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import wraps
from types import TracebackType
from typing import Final, ParamSpec, Self, TypeVar

import trio
from outcome import Outcome, Value

from ..errors import AdmissionClosed
from ._inside import CLOSED, Held, Inside, Opening
from ._turns import Ticker, Waiter

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")

_log: Final = logging.getLogger("armory_trio.integrations")

_OTHER_LOOP: Final = "this host belongs to the asyncio loop that it was opened in, and another one runs here"


class AsyncioSide:
    """The asyncio side of one host; ``async with`` opens and closes it."""

    def __init__(self, opening: Opening) -> None:
        self._loop = _running_loop()
        self._thread = threading.get_ident()
        self._ticker = Ticker(self._loop, self._lost)
        self.inside: Inside = Inside(opening, self._on_open)
        self._opened = asyncio.Event()
        self._ended = asyncio.Event()
        self._outcome: Outcome[None] | None = None
        self._owner: weakref.ref[asyncio.Task[object]] | None = None
        self._felled = False

    # -- opening and closing

    async def __aenter__(self) -> Self:
        self._start()
        try:
            await self._opened.wait()
        except BaseException as exc:
            await self.__aexit__(type(exc), exc, exc.__traceback__)  # noqa: ASYNC102  # ends when trio's run has
            raise
        if self._outcome is not None:
            self._outcome.unwrap()
        owner = asyncio.current_task()
        # Held by trio's run, it could never be thrown away.
        self._owner = None if owner is None else weakref.ref(owner)
        return self

    def _start(self) -> None:
        try:
            trio.lowlevel.start_guest_run(
                self.inside.run,
                run_sync_soon_threadsafe=self._ticker.soon_from_helper,
                run_sync_soon_not_threadsafe=self._ticker.soon,
                done_callback=self._on_end,
                host_uses_signal_set_wakeup_fd=True,
            )
        except RuntimeError as exc:
            raise RuntimeError(
                "trio runs in this thread already, and it can do so only once: share the host that is open here (or was "
                "open when its loop was closed), or open this one in another thread"
            ) from exc

    def _on_open(self) -> None:
        self._opened.set()

    def _on_end(self, outcome: Outcome[None]) -> None:
        self._outcome = outcome
        self.inside.end()
        self.inside.let_go()
        if self._loop.is_closed():
            return
        self._opened.set()
        self._ended.set()
        owner = None if self._owner is None else self._owner()
        if owner is not None:  # the block is still open: it fell from inside
            self._felled = owner.cancel("the supervisor of this host fell")

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.inside.is_copy:
            return
        if isinstance(exc, GeneratorExit):
            self._thrown_away()
            return
        if self._outcome is None and _loop_here() is not self._loop:
            self._thrown_away()
            raise RuntimeError(
                "the block of this host was left outside of the asyncio loop that it was entered in; what ran was aborted"
            )
        owner = None if self._owner is None else self._owner()
        self._owner = None
        if self._outcome is not None:
            pass  # it fell from inside, and nothing of it is left that could be told
        elif exc is None:
            self.inside.leave()
        else:
            self.inside.abort("the block of the host was left by an exception")
        try:
            cancelled = await self._join()  # noqa: ASYNC102  # ends when trio's run has, whatever is cancelled
            if self._felled and owner is not None:
                await _take_back(owner, delivered=isinstance(exc, asyncio.CancelledError))  # noqa: ASYNC102  # one round
        except GeneratorExit:
            self._thrown_away()
            raise
        assert self._outcome is not None
        self._outcome.unwrap()
        if cancelled is not None:
            raise cancelled

    async def _join(self) -> asyncio.CancelledError | None:
        cancelled: asyncio.CancelledError | None = None
        while self._outcome is None:
            try:
                await self._ended.wait()
            except asyncio.CancelledError as exc:  # noqa: ASYNC103  # raised by the caller, once trio's run is over
                cancelled = exc
                self.inside.abort("the block of the host was cancelled")
        return cancelled

    # -- when the loop goes first

    def _lost(self) -> None:
        _log.error("the asyncio loop was closed while a host was open in it; %s", self._left())

    def _left(self) -> str:
        left = [] if (host := self.inside.supervisor) is None else host.executions.inspect(live_only=True)
        names = ", ".join(f"{shot.execution_id} ({shot.tool_name}: {shot.state})" for shot in left[:20])
        return f"left in an unknown state: {names}" if names else "nothing was running"

    def _thrown_away(self) -> None:
        """The coroutine of the block is thrown away, so nothing can be awaited: abort, by hand if need be."""
        self._owner = None
        if self._outcome is not None or sys.is_finalizing():
            return  # nothing is left to do, or nothing to do it with
        reason = "the block of the host was thrown away"
        if self._loop.is_running():
            self._loop.call_soon_threadsafe(self.inside.abort, reason)
            return
        _log.error("the asyncio loop ended before the block of a host that was open in it; %s", self._left())
        if threading.get_ident() == self._thread:
            self._ticker.take_over()
            self.inside.abort(reason)
            self._ticker.finish(lambda: self._outcome is not None)

    # -- crossing

    def require_here(self) -> None:
        """Let nobody in from another thread.

        Raises:
            RuntimeError: This is not the thread of the loop, or a process that was forked from the host's.
        """
        self.inside.require_no_copy()
        if threading.get_ident() != self._thread:
            raise RuntimeError(
                "this host belongs to the thread of its asyncio loop; from others go through "
                "asyncio.run_coroutine_threadsafe, or loop.call_soon_threadsafe"
            )

    def require_going(self) -> None:
        """As `require_here`, for what asks for something to happen.

        Raises:
            RuntimeError: As there, or the loop was closed, so that nothing happens any more.
        """
        self.require_here()
        if self._loop.is_closed() and not self.inside.closed:
            raise RuntimeError(
                "the asyncio loop of this host was closed while it was open: nothing of it runs any more"
            )

    def require_open(self) -> None:
        """As `require_going`, for what begins something.

        Raises:
            RuntimeError: As there, or another loop runs here.
            AdmissionClosed: The host is closed.
        """
        self.require_going()
        if self.inside.closed:
            raise AdmissionClosed(CLOSED)
        if _loop_here() not in (None, self._loop):
            raise RuntimeError(_OTHER_LOOP)

    def _require_loop(self) -> None:
        """Let nobody wait where nobody would be woken.

        Raises:
            RuntimeError: This is no task of the loop, but one of another loop, or of trio.
        """
        if trio.lowlevel.in_trio_task():
            raise RuntimeError(
                "this is trio's side of the host, where nothing of asyncio can be awaited: "
                "a tool makes further calls by `await ctx.call(...)`"
            )
        if _loop_here() is not self._loop:
            raise RuntimeError(_OTHER_LOOP)

    def begin(self, async_fn: Callable[[], Awaitable[T]], *, waits: bool = False, steadfast: bool = False) -> Waiter[T]:
        """Run *async_fn* on trio's side.

        Raises:
            AdmissionClosed: The host is closed.
            RuntimeError: As `require_open`, or this is no task of the loop.
        """
        self.require_open()
        self._require_loop()
        waiter = Waiter[T](self._loop, self.inside.awaited, steadfast=steadfast)
        self.inside.begin(waiter, async_fn, waits=waits)
        waiter.expect()
        return waiter

    async def run(self, async_fn: Callable[[], Awaitable[T]], *, waits: bool = False) -> T:
        """Run *async_fn* on trio's side, and return what it returns.

        Cancelled: it is cancelled, and waited for.
        """
        waiter = self.begin(async_fn, waits=waits)
        await waiter.join()
        return waiter.answer()

    async def enter(self, manager: AbstractAsyncContextManager[T, bool | None]) -> T:
        """Enter *manager* on trio's side. Cancelled: it is not entered."""
        waiter = self.begin(manager.__aenter__)
        try:
            await waiter.join()
        except asyncio.CancelledError:
            if isinstance(waiter.outcome, Value):
                await self.leave(manager)  # noqa: ASYNC102  # asyncio interrupts only what is cancelled again
            raise
        return waiter.answer()

    async def leave(self, manager: AbstractAsyncContextManager[T, bool | None]) -> None:
        """Leave *manager*, which was entered on trio's side. Cancelled: it is left all the same."""
        if not (self.inside.closed or self.inside.is_copy):
            waiter = self._begin_leaving(manager)
            await waiter.join()
            waiter.answer()

    def _begin_leaving(self, manager: AbstractAsyncContextManager[T, bool | None]) -> Waiter[bool | None]:
        return self.begin(lambda: manager.__aexit__(None, None, None), steadfast=True)

    def leave_soon(self, manager: AbstractAsyncContextManager[T, bool | None]) -> None:
        """Leave *manager* without waiting for that: its block was thrown away, in whatever thread.

        Without a loop that would do it, whatever ends the host ends this.
        """

        def begin() -> None:
            with suppress(AdmissionClosed):
                self._begin_leaving(manager)

        if not self.inside.is_copy:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(begin)

    @asynccontextmanager
    async def hold(self, manager: AbstractAsyncContextManager[T, bool | None]) -> AsyncGenerator[T]:
        """Hold *manager* open on trio's side for as long as the block lasts, or until the host closes.

        Cancelled: it is left.
        """
        held = Held(self.inside, manager)
        value = await self._entered(held)
        thrown_away = False
        try:
            yield value
        except GeneratorExit:  # nothing can be awaited; whatever ends the host ends this
            thrown_away = True
            raise
        finally:
            if not (thrown_away or self.inside.closed or self.inside.is_copy):
                with suppress(AdmissionClosed):  # the host closed meanwhile
                    await self.run(held.leave)  # noqa: ASYNC102  # ends when trio's side has

    async def _entered(self, held: Held[T]) -> T:
        waiter = self.begin(held.enter)
        try:
            await waiter.join()
        except asyncio.CancelledError:
            if isinstance(waiter.outcome, Value):
                await self.run(held.leave)  # noqa: ASYNC102  # asyncio interrupts only what is cancelled again
            raise
        return waiter.answer()

    async def ended(self) -> None:
        """Return when the host is closed.

        Raises:
            RuntimeError: This is no task of the loop, or the loop was closed first.
        """
        self.require_going()
        self._require_loop()
        await self._ended.wait()

    def calling_asyncio(self, async_fn: Callable[[A], Awaitable[T]]) -> Callable[[A], Awaitable[T]]:
        """Make a function for trio's side of *async_fn*, which runs as a task of the loop."""

        async def call(argument: A) -> T:
            return await _in_loop(self._loop, lambda: async_fn(argument), "elicit")

        return call


async def _in_loop(loop: asyncio.AbstractEventLoop, async_fn: Callable[[], Awaitable[T]], name: str) -> T:
    """Run *async_fn* as a task of *loop*, which trio is a guest of. Cancelled: the task is, and waited for."""
    done = trio.Event()

    async def run() -> T:
        await asyncio.sleep(0)  # an eager task begins in trio's turn, where others would take it for a task of trio's
        return await async_fn()

    task = loop.create_task(run(), name=f"armory_trio: {name}")
    task.add_done_callback(lambda _: done.set())
    try:
        await done.wait()
    except trio.Cancelled:
        task.cancel()
        with trio.CancelScope(shield=loop.is_running()):
            await done.wait()  # noqa: ASYNC102  # asyncio code may take its time to end, as any of its tasks
        if not task.cancelled():
            task.result()  # raises what it raised instead, as trio code would: else asyncio logs it, with its words
        raise
    if task.cancelled():
        raise RuntimeError("the asyncio code cancelled itself")
    return task.result()


def asked_in_asyncio(opener: Callable[P, Opening]) -> Callable[P, Opening]:
    """*opener*, but the ``approval_handler`` that it is given is called in a task of the loop that runs here."""

    @wraps(opener)
    def opening(*args: P.args, **kwargs: P.kwargs) -> Opening:
        handler: object = kwargs.get("approval_handler")
        if callable(handler):
            kwargs["approval_handler"] = _asking(handler)
        return opener(*args, **kwargs)

    return opening


def _asking(handler: Callable[..., object]) -> Callable[[object], Awaitable[object]]:
    async def ask(request: object) -> object:
        async def answer() -> object:
            given = handler(request)
            return await given if inspect.isawaitable(given) else given

        # Trio's turns are taken by the loop, also this one.
        return await _in_loop(asyncio.get_running_loop(), answer, "approval")

    return ask


def _loop_here() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _running_loop() -> asyncio.AbstractEventLoop:
    loop = _loop_here()
    if loop is None:
        raise RuntimeError(
            "open_asyncio_host needs a running asyncio loop; on trio use open_supervisor, without a loop open_blocking_host"
        )
    return loop


async def _take_back(owner: asyncio.Task[object], *, delivered: bool) -> None:
    # The cancellation that told the block that its host fell: nobody else may see it.
    if not delivered:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
    owner.uncancel()
