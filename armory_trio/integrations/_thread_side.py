"""Trio in a thread of its own, and the threads that wait for what it does."""

from __future__ import annotations

import atexit
import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Final, Self, TypeVar

import trio
from outcome import Outcome, Value, capture

from ..errors import AdmissionClosed
from ._inside import CLOSED, Crossing, Inside, Opening

T = TypeVar("T")

_CALLER_GONE: Final = "its caller was interrupted"

_EXIT_PATIENCE: Final = 5.0
"""Seconds that an exiting interpreter waits for a host that nobody closed."""


class Waiter(Crossing[T]):
    """A crossing for which a thread waits."""

    __slots__ = ("_told", "gone")

    def __init__(self) -> None:
        super().__init__()
        self._told = threading.Event()
        self.gone = False
        """Set by a thread that was interrupted."""

    def given_up(self) -> bool:
        """Whether its thread was interrupted before it began."""
        return self.gone

    def tell(self) -> None:
        """Wake the thread."""
        self._told.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is over, and say whether it is."""
        return self._told.wait(timeout)


class ThreadSide:
    """The side of the threads of one host; ``with`` opens and closes it."""

    def __init__(self, opening: Opening) -> None:
        self.inside = Inside(opening, self._on_open)
        self._opened = threading.Event()
        self._ended = threading.Event()
        self._alone = threading.Lock()
        self._outcome: Outcome[None] | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        # A daemon, since an interpreter that exits waits for others for ever; `_at_exit` waits for a while.
        self._thread = threading.Thread(target=self._run, name="armory_trio: host", daemon=True)

    def _run(self) -> None:
        self._outcome = capture(trio.run, self.inside.run)
        self._ended.set()
        self._opened.set()

    def _on_open(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._opened.set()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._opened.wait()
        except BaseException as exc:
            self.__exit__(type(exc), exc, exc.__traceback__)
            raise
        if self._token is None:
            assert self._outcome is not None
            self._outcome.unwrap()
        atexit.register(self._at_exit)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        atexit.unregister(self._at_exit)
        try:
            self._soon(self.inside.leave if exc is None else self._abort)
            self._ended.wait()
        except BaseException:  # KeyboardInterrupt, while it drains
            self._soon(self._abort)
            self._ended.wait()
            raise
        finally:
            self._thread.join()
        assert self._outcome is not None
        self._outcome.unwrap()

    def _abort(self) -> None:
        self.inside.abort("the block of the host was left by an exception")

    def _at_exit(self) -> None:
        self._soon(self._abort)
        self._ended.wait(_EXIT_PATIENCE)

    # -- crossing

    def _soon(self, function: Callable[[], None]) -> bool:
        """Call *function* on trio's thread, and say whether that is still possible."""
        self._opened.wait()
        try:
            if self._token is not None:
                self._token.run_sync_soon(function)
                return True
        except trio.RunFinishedError:
            pass
        return False

    def begin(self, waiter: Waiter[T], async_fn: Callable[[], Awaitable[T]], *, waits: bool) -> None:
        """Run *async_fn* on trio's side, with a copy of the context of this thread.

        Raises:
            AdmissionClosed: The host is closed.
            RuntimeError: This is trio's own thread, which would wait for itself.
        """
        if threading.get_ident() == self._thread.ident:
            raise RuntimeError(
                "this is the thread of the host itself, which would wait for itself for ever; "
                "a tool makes further calls by `await ctx.call(...)`"
            )
        context = contextvars.copy_context()

        def begin() -> None:
            try:
                context.run(lambda: self.inside.begin(waiter, async_fn, waits=waits))
            except Exception as exc:  # noqa: BLE001  # it is for the caller; here it would end the run
                waiter.fail(exc)

        if not self._soon(begin):
            raise AdmissionClosed(CLOSED)

    def run(
        self,
        async_fn: Callable[[], Awaitable[T]],
        *,
        waits: bool = False,
        timeout: float | None = None,
        undo: Callable[[T], object] | None = None,
    ) -> T:
        """Run *async_fn* on trio's side, wait for it, and return what it returns.

        A thread that is interrupted cancels it, and waits until it is over.

        Args:
            async_fn: The function.
            waits: Whether it may wait for what never comes, so that it has to be cancelled when the host closes.
            timeout: Seconds to wait; None to wait as long as it takes.
            undo: What becomes of an answer that an interrupted thread can't take.

        Raises:
            TimeoutError: It took too long, and was cancelled.
        """
        waiter = Waiter[T]()
        begun = False
        try:
            self.begin(waiter, async_fn, waits=waits)
            begun = True
            in_time = waiter.wait(timeout)
            if not in_time:
                self._cancel(waiter)
        except BaseException:
            waiter.gone = True
            if not begun:
                self._soon(lambda: waiter.scope.cancel(_CALLER_GONE))  # perhaps it has begun all the same
            else:
                self._cancel(waiter)
                if undo is not None and isinstance(waiter.outcome, Value):
                    undo(waiter.outcome.unwrap())
            raise
        if not in_time and waiter.outcome is None:
            raise TimeoutError(f"this was not over after {timeout:g} s")
        return waiter.answer()

    def call(self, function: Callable[[], T], *, undo: Callable[[T], object] | None = None) -> T:
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

    def _cancel(self, waiter: Waiter[T]) -> None:
        self._soon(lambda: waiter.scope.cancel(_CALLER_GONE))
        waiter.wait()

    def enter(self, manager: AbstractAsyncContextManager[T, bool | None]) -> T:
        """Enter *manager* on trio's side. Interrupted: it is not entered."""
        return self.run(manager.__aenter__, undo=lambda _: self.leave(manager))

    def leave(self, manager: AbstractAsyncContextManager[T, bool | None]) -> None:
        """Leave *manager*, which was entered on trio's side."""
        with suppress(AdmissionClosed):  # then it was left together with the host
            self.run(lambda: manager.__aexit__(None, None, None))

    def ended(self) -> None:
        """Return when the host is closed."""
        self._ended.wait()
