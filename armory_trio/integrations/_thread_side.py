"""Trio in a thread of its own, and the threads that wait for what it does.

A signal may raise KeyboardInterrupt in a thread wherever Python looks for signals: when one of our functions begins, and
after every call. So a thread waits for nothing but locks of its own, in C; what must not be half done happens on trio's
side, where no signal arrives; and a thread that goes says so there, whatever it had come to.
"""

from __future__ import annotations

import _thread
import atexit
import contextvars
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Final, TypeVar

import trio
from outcome import Error, Outcome, Value, capture

from ..errors import AdmissionClosed
from ._inside import CLOSED, Awaited, Crossing, Held, Inside, Opening

T = TypeVar("T")

_CALLER_GONE: Final = "its caller was interrupted"

_EXIT_PATIENCE: Final = 5.0
"""Seconds that an exiting interpreter waits for a host that nobody closed."""

_GIVEN_UP: Final = "the interpreter exits, and the host did not end in time"


class Moment:
    """What threads wait for, and comes once.

    `threading.Event` is Python code round a lock, which a thread that is interrupted in there keeps for ever. Here each
    thread waits for a lock that nobody else waits for: interrupted, it leaves nothing that another one needs.
    """

    __slots__ = ("_waiting", "come")

    def __init__(self) -> None:
        self._waiting: list[threading.Lock] = []
        self.come: bool = False
        """Whether it has come."""

    def set(self) -> None:
        """It comes. Called once, by a thread that no signal reaches."""
        self.come = True
        while self._waiting:
            self._waiting.pop().release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it comes, at most *timeout* seconds, and say whether it has come."""
        mine = threading.Lock()
        mine.acquire()
        self._waiting.append(mine)
        if not self.come:  # whoever sets it afterwards finds the lock
            mine.acquire(timeout=-1 if timeout is None else min(max(timeout, 0.0), threading.TIMEOUT_MAX))
        return self.come


class Waiter(Crossing[T]):
    """A crossing for which a thread waits."""

    __slots__ = ("_ended", "begun", "gone", "told", "undo")

    def __init__(self, awaited: dict[Awaited, None], undo: Callable[[T], Awaitable[object]] | None = None) -> None:
        super().__init__(awaited)
        self._ended: trio.Event | None = None
        self.told: Moment = Moment()
        """Comes when it is over."""
        self.begun: bool = False
        """Whether trio's side knows of it."""
        self.gone: bool = False
        """Set by a thread that was interrupted."""
        self.undo: Callable[[T], Awaitable[object]] | None = undo
        """What becomes of an answer that an interrupted thread can't take."""

    def given_up(self) -> bool:
        """Whether its thread was interrupted before it began."""
        return self.gone

    def tell(self) -> None:
        """Wake the thread."""
        self.told.set()
        if self._ended is not None and trio.lowlevel.in_trio_run():  # else the run was torn
            self._ended.set()

    async def forsake(self) -> None:
        """Its thread is gone: return when nothing of it is left. On trio's side, once."""
        if self.begun and not self.over:
            self._ended = trio.Event()
            self.scope.cancel(_CALLER_GONE)
            await self._ended.wait()
        if self.undo is not None and isinstance(self.outcome, Value):
            await self.undo(self.outcome.value)


class ThreadSide:
    """The side of the threads of one host, which is opened once, and then left or aborted."""

    def __init__(self, opening: Opening) -> None:
        self.inside: Inside = Inside(opening, self._on_open)
        self._claim = threading.Lock()
        self._opened = Moment()
        self._ended = Moment()
        self._given_up = False
        self._alone = threading.Lock()
        self._outcome: Outcome[None] | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        # A daemon, since an interpreter that exits waits for others for ever; `_at_exit` waits for a while.
        self._thread = threading.Thread(target=self._run, name="armory_trio: host", daemon=True)

    # -- trio's thread

    def _launch(self) -> None:
        # `Thread.start` waits for an event of Python code, so it runs in a thread that no signal reaches.
        if not self._claim.acquire(blocking=False):
            return  # who wanted it was interrupted
        try:
            self._thread.start()
        except Exception as exc:  # noqa: BLE001  # for who waits
            self._end(Error(exc))

    def _run(self) -> None:
        self._end(capture(trio.run, self.inside.run))

    def _end(self, outcome: Outcome[None]) -> None:
        self._outcome = outcome
        self.inside.end()
        self._ended.set()  # who comes from here on is not begun
        self.inside.let_go()
        if not self._opened.come:
            self._opened.set()

    def _on_open(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._opened.set()

    # -- the host's own life

    def open(self) -> None:
        """Start trio, and return when the supervisor is open. Raises what kept it from that."""
        atexit.register(self._at_exit)
        _thread.start_new_thread(self._launch, ())
        self._opened.wait()
        if self._token is None:
            self._finish()

    def leave(self) -> None:
        """Drain, and return when trio's thread is gone. Raises what made it end."""
        self._soon(self.inside.leave)
        self._finish()

    def abort(self) -> None:
        """As `leave`, but abort everything. However far `open` or `leave` came, and in any thread."""
        if self.inside.is_copy:
            return
        if self._claim.acquire(blocking=False):  # trio's thread will never start
            atexit.unregister(self._at_exit)
        elif self._is_inside():  # the garbage collector found it there
            self._abort()
        else:
            self._opened.wait()
            self._soon(self._abort)
            self._finish()

    def _finish(self) -> None:
        if self.inside.is_copy:
            return
        if self._given_up:
            raise RuntimeError(_GIVEN_UP)
        self._ended.wait()
        if self._thread.ident is not None:
            self._thread.join()
        atexit.unregister(self._at_exit)
        outcome, self._outcome = self._outcome, None
        if outcome is not None:
            outcome.unwrap()

    def _abort(self) -> None:
        self.inside.abort("the block of the host was left by an exception")

    def _at_exit(self) -> None:
        if not self.inside.is_copy:
            self._soon(self._abort)
            try:
                self._ended.wait(_EXIT_PATIENCE)
            finally:
                self._given_up = not self._ended.come  # what else is done at the exit may use the host, or leave it
                if self._given_up:
                    self.inside.let_go(_GIVEN_UP)

    def ended(self) -> None:
        """Return when the host is closed.

        Raises:
            AdmissionClosed: It will not be: the interpreter exits.
        """
        if self._given_up:
            raise AdmissionClosed(_GIVEN_UP)
        self._ended.wait()

    # -- crossing

    def _is_inside(self) -> bool:
        # When it is over, another thread may have its number.
        return threading.get_ident() == self._thread.ident and self._thread.is_alive()

    def _require_outside(self) -> None:
        self.inside.require_no_copy()
        if self._is_inside():
            raise RuntimeError(
                "this is the thread of the host itself, which would wait for itself for ever; "
                "a tool makes further calls by `await ctx.call(...)`"
            )

    def _soon(self, function: Callable[[], None]) -> bool:
        """Call *function* on trio's thread, in the order of such calls, and say whether that is still possible."""
        try:
            if self._token is not None and not (self.inside.is_copy or self._ended.come or self._given_up):
                self._token.run_sync_soon(function)
                return True
        except (trio.RunFinishedError, OSError):  # the latter of a run that is being torn: its socket is closed
            pass
        return False

    def begin(self, waiter: Waiter[T], async_fn: Callable[[], Awaitable[T]], *, waits: bool = False) -> None:
        """Run *async_fn* on trio's side, with a copy of the context of this thread, and don't wait for it.

        Raises:
            AdmissionClosed: The host is closed.
        """
        context = contextvars.copy_context()

        def begin() -> None:
            waiter.begun = True
            try:
                context.run(lambda: self.inside.begin(waiter, async_fn, waits=waits))
            except Exception as exc:  # noqa: BLE001  # it is for the caller; here it would end the run
                waiter.fail(exc)

        waiter.expect()  # first: a run that is torn meanwhile tells only those it knows of
        if not self._soon(begin):
            waiter.drop(CLOSED)
            self.inside.require_whole()
            raise AdmissionClosed(_GIVEN_UP if self._given_up else CLOSED)

    def run(
        self,
        async_fn: Callable[[], Awaitable[T]],
        *,
        waits: bool = False,
        timeout: float | None = None,
        undo: Callable[[T], Awaitable[object]] | None = None,
    ) -> T:
        """Run *async_fn* on trio's side, wait for it, and return what it returns.

        A thread that is interrupted cancels it, and waits until it is over.

        Args:
            async_fn: The function.
            waits: Whether it may wait for what never comes, so that it has to be cancelled when the host closes.
            timeout: Seconds to wait; None to wait as long as it takes.
            undo: What becomes, on trio's side, of an answer that an interrupted thread can't take.

        Raises:
            AdmissionClosed: The host is closed.
            RuntimeError: This is trio's own thread, which would wait for itself, or a process forked from the host's.
            TimeoutError: It took too long, and was cancelled.
        """
        self._require_outside()
        waiter = Waiter(self.inside.awaited, undo)
        try:
            self.begin(waiter, async_fn, waits=waits)
            if not waiter.told.wait(timeout):
                self._time_out(waiter, timeout)
            answer = waiter.answer()
        except BaseException:
            waiter.gone = True
            self._forsake(waiter)
            raise
        return answer  # between the end of the block and the caller's next call, Python looks for no signal

    def _time_out(self, waiter: Waiter[T], timeout: float | None) -> None:
        self._soon(lambda: waiter.scope.cancel(_CALLER_GONE))
        waiter.told.wait()
        if waiter.outcome is None:
            raise TimeoutError(f"this was not over after {timeout:g} s")

    def _forsake(self, waiter: Waiter[T]) -> None:
        if waiter.over and (waiter.undo is None or not isinstance(waiter.outcome, Value)):
            return
        goodbye = Waiter[None](self.inside.awaited)
        with suppress(AdmissionClosed):  # everything has ended
            self.begin(goodbye, waiter.forsake)  # after the beginning of the other one, if that came so far
            goodbye.told.wait()

    def see_to(self, async_fn: Callable[[], Awaitable[None]]) -> None:
        """Run *async_fn* on trio's side, if that still runs, and wait for it.

        Interrupted: it goes on, if it had begun. In trio's own thread, where only the garbage collector can call this:
        it is not waited for.
        """
        waiter = Waiter[None](self.inside.awaited)
        with suppress(AdmissionClosed):
            self.begin(waiter, async_fn)
            if not self._is_inside():
                waiter.told.wait()
                waiter.answer()

    @contextmanager
    def hold(self, manager: AbstractAsyncContextManager[T, bool | None]) -> Generator[T]:
        """Hold *manager* open on trio's side for as long as the block lasts, or until the host closes.

        Interrupted: it is left.
        """
        held = Held(self.inside, manager)

        async def undo(_: T) -> None:
            await held.leave()

        # A generator, since Python closes one that an interrupted `with` leaves behind.
        try:
            yield self.run(held.enter, undo=undo)
            self.see_to(held.leave)
        except BaseException:
            if held.entered:
                self.see_to(held.leave)
            raise

    def call(self, function: Callable[[], T], *, undo: Callable[[T], Awaitable[object]] | None = None) -> T:
        """Call *function* on trio's thread, and return what it returns. Once there is none any more, call it here."""

        async def call() -> T:  # noqa: ASYNC124  # to run in a task
            return function()

        try:
            return self.run(call, undo=undo)
        except AdmissionClosed:
            if not self.inside.closed:
                raise
            self.ended()
            with self._alone:
                return function()
