"""The few primitives that trio lacks. Nothing else uses ``trio.lowlevel`` beyond its checkpoints."""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NoReturn, cast

import trio

from ..definitions._exceptions import leaves
from ..errors import InternalError

enable_ki_protection: Final = trio.lowlevel.enable_ki_protection
"""A decorator: Ctrl-C waits until what the function does at once is done."""

Token = trio.lowlevel.TrioToken
"""A way back to trio's thread."""


class EnteredFirst:
    """What ``async with`` gives is read, and not this. Who reads it all the same is told so."""

    __slots__ = ()

    # Type checkers see that there is no such method.
    if not TYPE_CHECKING:

        def __aiter__(self) -> NoReturn:
            raise TypeError("enter it first: async with ... as reader, and in that block async for ... in reader")


def current_token() -> Token:
    """The way back to this thread, for a thread that is about to leave it."""
    return trio.lowlevel.current_trio_token()


def is_in_task() -> bool:
    """Whether this is called by a task of trio's, in its turn."""
    return trio.lowlevel.in_trio_task()


def current_clock() -> Callable[[], float]:
    """What reads the clock of this run: `trio.current_time` without looking up the run each time.

    Raises:
        RuntimeError: Trio does not run here.
    """
    try:
        return trio.lowlevel.current_clock().current_time
    except RuntimeError:
        raise RuntimeError(
            "a supervisor runs on trio, and trio does not run here: start the program with trio.run(main), or, in an "
            "asyncio program, use armory_trio.integrations.asyncio_host.open_asyncio_host"
        ) from None


_ENDED: Final = object()


def is_cancelled() -> bool:
    """Whether the next checkpoint of this task would raise `trio.Cancelled`.

    Known at once, while every checkpoint lets other tasks run first.
    """
    # One step of a checkpoint that only yields when it has to: the same in every depth of scopes, while
    # `trio.current_effective_deadline` walks through all of them.
    step = trio.lowlevel.checkpoint_if_cancelled()  # noqa: ASYNC105  # stepped by hand, below
    if next(step.__await__(), _ENDED) is _ENDED:  # by `send` it would have to raise to say so
        return False
    step.close()
    return True


class Latch:
    """Something that happens once, and a way to wait for it.

    A `trio.Event` that costs half as much: no parking lot is kept for the one task that usually waits.
    """

    __slots__ = ("_tasks", "is_set")

    is_set: bool

    def __init__(self) -> None:
        self.is_set = False
        self._tasks: list[trio.lowlevel.Task] | None = None

    def set(self) -> None:
        """Let everybody go who waits, and everybody who will."""
        self.is_set = True
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            for task in tasks:
                trio.lowlevel.reschedule(task)

    async def wait(self) -> None:
        """Return once it happened. Always a checkpoint; cancelled: nothing has changed."""
        if self.is_set:
            await trio.lowlevel.checkpoint()
            return
        task = trio.lowlevel.current_task()
        tasks = self._tasks
        if tasks is None:
            tasks = self._tasks = []
        tasks.append(task)

        def abort(_: object) -> trio.lowlevel.Abort:
            tasks.remove(task)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)


class Signal:
    """Something that happens again and again, for one task that waits for the next time."""

    __slots__ = ("_task",)

    def __init__(self) -> None:
        self._task: trio.lowlevel.Task | None = None

    def set(self) -> None:
        """Let the waiting task go, if there is one."""
        task, self._task = self._task, None
        if task is not None:
            trio.lowlevel.reschedule(task)

    async def wait(self) -> None:
        """Return at the next `set`. Cancelled: nothing has changed.

        Raises:
            trio.BusyResourceError: Another task waits already.
        """
        if self._task is not None:
            raise trio.BusyResourceError("another task is already waiting here")
        self._task = trio.lowlevel.current_task()

        def abort(_: object) -> trio.lowlevel.Abort:
            self._task = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)


class Alarm:
    """A point on trio's clock that may be moved while a task waits for it."""

    __slots__ = ("_scope", "due")

    due: float

    def __init__(self) -> None:
        self.due = math.inf
        self._scope: trio.CancelScope | None = None

    def move(self, due: float) -> None:
        """Ring at *due* instead."""
        self.due = due
        if self._scope is not None:
            self._scope.deadline = due

    async def wait(self) -> None:
        """Return when it rings. Cancelled: nothing has changed."""
        with trio.CancelScope(deadline=self.due) as self._scope:
            await trio.sleep_forever()
        self._scope = None


async def open_process(command: Sequence[str], *, stdout: int, pass_fds: Sequence[int]) -> trio.Process:
    """Start a process in a session of its own, with nothing to read. Cancelled: it was not started.

    Args:
        command: The program and its arguments.
        stdout: The file descriptor that it writes to.
        pass_fds: Descriptors that it shares with us, by the same numbers.

    Raises:
        OSError: It could not be started.
    """
    return await trio.lowlevel.open_process(
        command, stdin=subprocess.DEVNULL, stdout=stdout, start_new_session=True, pass_fds=pass_fds
    )


async def exit_of(process: trio.Process) -> None:
    """Return once *process* has ended. Where the system allows it is not reaped, so that nobody gets its number.

    Cancelled: nothing has changed.
    """
    try:
        watched = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        await process.wait()
        return
    try:
        await trio.lowlevel.wait_readable(watched)
    finally:
        os.close(watched)


def raise_interrupt(exc: BaseException) -> None:
    """Raise the KeyboardInterrupt that *exc* is, or holds as a group, if there is one.

    Raises:
        KeyboardInterrupt: There is.
    """
    for leaf in leaves(exc):
        if issubclass(type(leaf), KeyboardInterrupt):
            raise leaf from None


@asynccontextmanager
async def open_private_nursery() -> AsyncGenerator[trio.Nursery]:
    """A nursery that our callers never notice.

    What the ``async with`` body raises leaves as itself, not in a group. What a child raises is our bug and leaves
    as `InternalError`, but for KeyboardInterrupt, which leaves bare.
    """
    body_error: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as exc:
                body_error = exc
                raise
    except BaseExceptionGroup as group:
        _raise_the_one_that_counts(group, body_error)


def _raise_the_one_that_counts(group: BaseExceptionGroup[BaseException], body_error: BaseException | None) -> None:
    # Compare leaves: a cancel scope rebuilds groups but keeps their leaves.
    own = [] if body_error is None else list(leaves(body_error))
    others = [leaf for leaf in leaves(group) if not any(leaf is mine for mine in own)]
    for leaf in others:
        if isinstance(leaf, KeyboardInterrupt):
            raise KeyboardInterrupt(*leaf.args) from group
    if any(not isinstance(leaf, trio.Cancelled) for leaf in others):
        raise InternalError("a task of the engine failed; please report this") from group
    if body_error is None:
        raise group
    context = body_error.__context__
    try:
        raise body_error
    finally:
        body_error.__context__ = context
        del body_error, context


class _Unlimited:
    """Lets everybody in: the planner decides how many threads there are, before a thread is asked for.

    Trio takes anything with these methods. A `trio.CapacityLimiter` would cost a turn of the scheduler.
    """

    async def acquire_on_behalf_of(self, borrower: object) -> None:  # noqa: ASYNC910, ASYNC911  # nobody has to wait
        """Nothing to wait for."""

    def release_on_behalf_of(self, borrower: object) -> None:
        """Nothing to give back."""


UNLIMITED: Final = cast("trio.CapacityLimiter", _Unlimited())
"""For `trio.to_thread.run_sync`: no bound but the planner's."""
