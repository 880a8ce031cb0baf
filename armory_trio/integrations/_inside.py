"""The trio side of a host that is not trio's: one supervisor, and the tasks that wait in it for callers outside."""

from __future__ import annotations

import inspect
import math
import os
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar, cast

import trio
from outcome import Error, Outcome, Value

from ..engine import Supervisor
from ..engine._concurrency import is_in_task
from ..engine._shutdown import TORN
from ..errors import AdmissionClosed

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Opening = AbstractAsyncContextManager[Supervisor, bool | None]
"""A supervisor that is still to be opened."""

CLOSED = "the host is closed"


class Awaited(Protocol):
    """What somebody outside waits for."""

    def drop(self, reason: str) -> None:
        """Trio's side will not tell what came of it: wait no longer."""


class Crossing(ABC, Generic[T]):
    """One async function that runs on trio's side for a caller outside, and what came of it.

    Args:
        awaited: All those of its host for which somebody waits; it is among them from `expect` to its end.

    Attributes:
        scope: Cancels it.
        outcome: What came of it. None while it runs, and when it was cancelled.
        over: Whether it has ended, in whatever way.
    """

    __slots__ = ("_awaited", "outcome", "over", "scope")

    def __init__(self, awaited: dict[Awaited, None]) -> None:
        self._awaited = awaited
        self.scope: trio.CancelScope = trio.CancelScope()
        self.outcome: Outcome[T] | None = None
        self.over: bool = False

    async def run(self, async_fn: Callable[[], Awaitable[T]]) -> None:
        """Its task. Raises nothing but a cancellation from outside of it."""
        try:
            with self.scope:
                if not self.given_up():
                    self.outcome = Value(await async_fn())
        except trio.Cancelled as exc:  # noqa: ASYNC103  # raised again if it is ours
            if trio.current_effective_deadline() == -math.inf:
                raise
            # Nobody cancelled it: it kept a cancellation from elsewhere, which would take all other crossings along.
            self.outcome = Error(RuntimeError(f"a stray cancellation: {exc!r}"))
        except GeneratorExit as exc:  # noqa: ASYNC103  # it is closed already, or for the caller
            if is_in_task():  # else the run was torn, and what is left of it is thrown away
                self.outcome = Error(RuntimeError(f"it raised {exc!r}"))
        except BaseException as exc:  # noqa: ASYNC103, BLE001  # whatever it is, it is for the caller
            self.outcome = Error(exc)
        finally:
            self._end()

    def expect(self) -> None:
        """Somebody is going to wait for it."""
        self._awaited[self] = None

    def drop(self, reason: str) -> None:
        """Trio's side will not tell what came of it, since its run was torn, or does not end: wait no longer."""
        if not self.over:
            self.fail(AdmissionClosed(reason))

    def fail(self, exc: BaseException) -> None:
        """It cannot even begin, or nobody will tell what came of it."""
        self.outcome = Error(exc)
        self._end()

    def _end(self) -> None:
        self.over = True
        self._awaited.pop(self, None)
        self.tell()

    @abstractmethod
    def given_up(self) -> bool:
        """Whether its caller went before it began, so that it need not."""

    @abstractmethod
    def tell(self) -> None:
        """Wake the caller. Called once, on trio's side."""

    def answer(self) -> T:
        """What came of it, once it is over.

        Raises:
            AdmissionClosed: The host was closed before it ended.
        """
        if self.outcome is None:
            raise AdmissionClosed("the host was closed before this ended")
        return self.outcome.unwrap()


class Source(Protocol[T_co]):
    """What can be read on trio's side, with or without waiting."""

    async def __anext__(self) -> T_co: ...
    def next_nowait(self) -> T_co: ...


def rest_of(source: Source[T]) -> Iterator[T]:
    """What can be read without waiting."""
    try:
        while True:
            yield source.next_nowait()
    except (trio.WouldBlock, StopAsyncIteration):
        return


class Leftover(Protocol):
    """A reader outside, who wants what there still is when the host closes."""

    def take_rest(self) -> None:
        """Take over what can be had without waiting."""


def require_function(async_fn: object) -> None:
    """Refuse what a trio function was mistaken for.

    Raises:
        TypeError: It is a coroutine (which is closed, so that Python does not complain about it), or no function.
    """
    if inspect.iscoroutine(async_fn):
        async_fn.close()
        name = async_fn.__name__
        raise TypeError(f"give the async function itself, not its call: run({name}), not run({name}(...))")
    if not callable(async_fn):
        raise TypeError(f"{async_fn!r} is no async function; give the function itself")


class Held(Generic[T]):
    """A context manager of trio's that a task of its own holds open, for a block outside.

    What is entered in one task has to be left in the same; `enter` and `leave` may be called in any on trio's side.

    Args:
        inside: Where the task runs. When its host closes, the manager is left.
        manager: What to hold open.
    """

    def __init__(self, inside: Inside, manager: AbstractAsyncContextManager[T, bool | None]) -> None:
        self._inside = inside
        self._manager = manager
        self._leave = trio.Event()
        self._over = trio.Event()
        self._failure: Exception | None = None
        self.entered = False
        """Whether there is something to leave."""

    async def enter(self) -> T:
        """Enter it, and raise what that raises. Cancelled: it is not entered.

        Raises:
            AdmissionClosed: The host is closed.
        """
        return cast("T", await self._inside.keep(self._hold_open))

    async def _hold_open(self, *, task_status: trio.TaskStatus[T]) -> None:
        try:
            async with self._manager as value:
                self.entered = True
                task_status.started(value)
                await self._leave.wait()
        except Exception as exc:
            if not self.entered:
                raise
            self._failure = exc  # for who leaves; here it would take everybody else along
        finally:
            self._over.set()

    async def leave(self) -> None:
        """Leave it, and raise once what went wrong in it. Cancelled: it is left all the same, a little later."""
        self._leave.set()
        await self._over.wait()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


class Inside:
    """What runs on trio's side of one host: the supervisor, then two kinds of crossings.

    *Work* ends by itself once the supervisor has ended everything, and is waited for. *Waiting* is for what may never
    come, and is cancelled then.
    """

    def __init__(self, opening: Opening, on_open: Callable[[], None]) -> None:
        self._opening = opening
        self._on_open = on_open
        self._leave = trio.Event()
        self._block = trio.CancelScope()
        self._work: trio.Nursery
        self._waiting: trio.Nursery
        self.supervisor: Supervisor | None = None
        """The supervisor, once it is open, and afterwards."""
        self.closed: bool = False
        """Whether nothing can cross any more."""
        self.torn: bool = False
        """Whether trio's own run broke off, so that nothing of this was ended: as by an interrupt within trio."""
        self.awaited: dict[Awaited, None] = {}
        """The crossings for which somebody waits outside."""
        self._whole = False
        self._process = os.getpid()
        self.readers: dict[Leftover, None] = {}
        self._line: OrderedDict[object, None] = OrderedDict()
        """The work that has not begun, in the order in which it came."""

    @property
    def is_copy(self) -> bool:
        """Whether this process was forked while the host was open: it runs in the other one, and nothing of it here."""
        return os.getpid() != self._process

    def require_no_copy(self) -> None:
        """Let nobody wait for what does not run in this process.

        Raises:
            RuntimeError: This process was forked while the host was open.
        """
        if self.is_copy:
            raise RuntimeError(
                "this process was forked while the host was open, and the host is not in it: open one here"
            )

    async def run(self) -> None:
        """Open the supervisor, wait until the host leaves, and end everything: the whole run.

        Raises: whatever `open_supervisor` raises.
        """
        try:
            async with trio.open_nursery() as self._work:
                async with trio.open_nursery() as self._waiting:
                    ended = await self._supervise()
                    self.closed = True
                    self._waiting.cancel_scope.cancel(CLOSED)
                for reader in tuple(self.readers):
                    reader.take_rest()
            ended.unwrap()
        except GeneratorExit:  # torn, and thrown away
            raise
        except BaseException:
            self._whole = True
            raise
        self._whole = True

    def end(self) -> None:
        """Trio's run is over, however it ended. On its thread, before `let_go`."""
        if not self._whole and self.supervisor is not None:
            self.torn = True
            self.supervisor.tear()
        self.closed = True

    def let_go(self, reason: str = TORN) -> None:
        """Let nobody wait any more for what trio's side has not told."""
        for crossing in tuple(self.awaited):
            crossing.drop(reason)

    def require_whole(self) -> None:
        """Let nobody take what a torn run left for what a host leaves that was closed.

        Raises:
            AdmissionClosed: The run was torn.
        """
        if self.torn:
            raise AdmissionClosed(TORN)

    async def _supervise(self) -> Outcome[None]:
        # What it raises must not reach the nurseries: those who still wait there would lose their answers.
        try:
            with self._block:
                async with self._opening as supervisor:
                    self.supervisor = supervisor
                    self._on_open()
                    await self._leave.wait()
                    await self.let_in()
        except (trio.Cancelled, GeneratorExit):
            raise
        except BaseException as exc:  # noqa: ASYNC103, BLE001  # raised again at the end of the run
            return Error(exc)
        return Value(None)

    async def let_in(self) -> None:
        """Return when the calls that were made before have begun. They are in the queue of the scheduler."""
        await trio.lowlevel.checkpoint()
        last = next(reversed(self._line), None)
        while last in self._line:  # noqa: ASYNC110  # each round lets some begin
            await trio.lowlevel.checkpoint()

    def leave(self) -> None:
        """The host leaves its block normally: drain."""
        self._leave.set()

    def abort(self, reason: str) -> None:
        """The host leaves its block by an exception, or was cancelled: abort."""
        self._block.cancel(reason)

    def begin(self, crossing: Crossing[T], async_fn: Callable[[], Awaitable[T]], *, waits: bool = False) -> None:
        """Run *async_fn* in a task of its own, with a copy of the current context.

        Raises:
            AdmissionClosed: The host is closed.
        """
        if self.closed:
            raise AdmissionClosed(CLOSED)
        if waits:
            self._waiting.start_soon(crossing.run, async_fn, name="armory_trio: crossing")
            return
        self._line[crossing] = None
        self._work.start_soon(self._run_in_line, crossing, async_fn, name="armory_trio: crossing")

    async def keep(self, async_fn: Callable[..., Awaitable[None]]) -> object:
        """Begin what runs until the host closes and raises nothing once it has begun; answer what it begins with.

        Cancelled: it does not begin.

        Raises:
            AdmissionClosed: The host is closed.
        """
        if self.closed:
            raise AdmissionClosed(CLOSED)
        return await self._waiting.start(async_fn, name="armory_trio: held open")

    async def _run_in_line(self, crossing: Crossing[T], async_fn: Callable[[], Awaitable[T]]) -> None:
        """Begin *crossing* when all that came before it has begun, or was given up.

        Trio lets the tasks that became ready together run in their order, or in the reverse of it. All of them are ready:
        those whose turn has not come ask again in the next round, of which few are needed.
        """

        async def begin() -> T:
            while next(iter(self._line)) is not crossing:  # noqa: ASYNC110  # an event would wake all of them each time
                await trio.lowlevel.checkpoint()
            del self._line[crossing]
            return await async_fn()

        try:
            await crossing.run(begin)
        finally:
            self._line.pop(crossing, None)
