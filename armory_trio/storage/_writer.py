"""Threads that do operations on a database: one that commits many together, and one that only reads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Final, TypeVar, cast, final

import attrs
import msgspec
import outcome
import sqlalchemy as sa
import trio
from sqlalchemy import exc

from ..errors import StoreUnavailable
from ._clock import SqlClock
from ._database import Database, discard, interrupt
from ._faults import fault_of
from ._files import Files
from ._keep import FOR_EVER, Keep
from ._rows import Group, Operation, Outcomes, Raced, SeenToBeOver

T = TypeVar("T")

MOST: Final = 256
"""Operations in one transaction: a sync of the disk is long paid for by then, and nobody waits long for his turn."""

GRACE: Final = 2.0
"""Seconds beyond the timeout until a thread is left alone with a database that does not even time out."""

_TRIES: Final = 10
"""How often a group is tried that other hosts are in the way of. Each time one of them got further."""

_SWEEP_EVERY: Final = 60.0
_SWEEP: Final = 500
"""Seconds between two looks for rows that have expired, and how many of a table go at once."""


@attrs.define(eq=False)
class _Waiting:
    """An operation, and whoever waits for it."""

    operation: Operation[object]
    begun: trio.Event = attrs.field(factory=trio.Event)
    done: trio.Event = attrs.field(factory=trio.Event)
    withdrawn: bool = False
    given_up: bool = False
    """Whether nobody waits for its answer any more: the thread did not come back in time."""

    answer: outcome.Outcome[object] | None = None


@final
class Worker:
    """What happens in the thread: one connection, which is made again when it breaks."""

    def __init__(self, database: Database, clock: SqlClock, *, writes: bool, keep: Keep) -> None:
        self._database = database
        self._keep = keep
        self._clock = clock
        self._writes = writes
        self._connection: sa.Connection | None = None
        self._files: Files | None = None
        self._next_sweep = 0.0
        self._given_up = False

    def work(self, batch: Sequence[_Waiting]) -> None:
        """Do the operations of *batch*, and give each its answer."""
        deadline = time.monotonic() + self._database.timeout
        for waiting, answer in zip(batch, self._answers([one.operation for one in batch], deadline), strict=True):
            waiting.answer = self._told(answer)
        self._sweep()
        if self._given_up:
            self.close()

    def give_up(self) -> None:
        """Break the connection under a thread that does not come back. Called from another thread."""
        self._given_up = True
        if self._connection is not None:
            interrupt(self._connection)

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection, self._files = self._connection, None, None
        if connection is not None:
            discard(connection)

    def _told(self, answer: outcome.Outcome[object]) -> outcome.Outcome[object]:
        """*answer*, where a row that cannot be read is an error of the store."""
        if not isinstance(answer, outcome.Error) or not isinstance(answer.error, msgspec.MsgspecError):
            return answer
        reason = f"a row can't be read, as if something else had written it: {answer.error}"
        return outcome.Error(_caused(StoreUnavailable(self._database.place.name, reason), answer.error))

    def _answers(self, operations: Sequence[Operation[object]], deadline: float) -> Outcomes:
        """The answer to each of *operations*: as one group, or one by one where one of them spoils it."""
        try:
            return self._group(operations, deadline)
        except StoreUnavailable as error:
            return [outcome.Error(again(error)) for _ in operations]
        except exc.SQLAlchemyError as error:
            told = self._database.unavailable(error)
            if len(operations) == 1 or fault_of(error) != "other":
                return [outcome.Error(_caused(again(told), error)) for _ in operations]
        except Exception as error:  # noqa: BLE001 - what can't be encoded is the caller's own, and must not end the thread
            if len(operations) == 1:
                return [outcome.Error(error)]
        # One of them is why, and the others must not suffer for it.
        answers: Outcomes = []
        for operation in operations:
            if time.monotonic() > deadline:
                answers.append(outcome.Error(self._late()))
            else:
                answers.extend(self._answers([operation], deadline))
        return answers

    def _group(self, operations: Sequence[Operation[object]], deadline: float) -> Outcomes:
        """The answers to *operations* in one transaction, tried again where others came between, or a line was dead."""
        renewed = False
        for turn in range(_TRIES):
            fresh = self._connection is None
            if fresh:
                self._connection = self._database.connect(writes=self._writes)
            group = Group(self._alive(), self._clock, self._database.require_version, writes=self._writes)
            if self._files is not None:
                self._database.require_files(self._files)
            try:
                answers = group.run(operations)
            except Raced:
                continue
            except exc.SQLAlchemyError as error:
                fault = fault_of(error)
                if fault != "again":
                    self.close()
                if group.committing and fault not in {"again", "locked"}:
                    raise _caused(self._database.unavailable(error, maybe_done=True), error) from error
                # A connection that has been idle may have broken long ago; a new one that breaks is the trouble itself.
                if fault == "lost" and not fresh and not renewed and time.monotonic() < deadline:
                    renewed = True
                    continue
                if fault != "again" or turn == _TRIES - 1 or time.monotonic() > deadline:
                    raise
            except BaseException:
                self.close()
                raise
            else:
                self._mark = group.mark
                self._files = self._files or self._database.files()
                return answers
        raise StoreUnavailable(self._database.place.name, "other hosts were in the way, again and again")

    def _alive(self) -> sa.Connection:
        if self._connection is None or self._given_up:
            raise self._late()
        return self._connection

    def _late(self) -> StoreUnavailable:
        return StoreUnavailable(self._database.place.name, "no answer within the timeout")

    def _sweep(self) -> None:
        if not self._writes or self._connection is None or time.monotonic() < self._next_sweep:
            return
        group = Group(self._connection, self._clock, self._database.require_version, writes=True)
        group.mark = self._mark
        try:
            more = group.sweep(_SWEEP, self._keep)
        except exc.SQLAlchemyError:
            # What was to be swept counts for nothing anyway; the next operation tells what is wrong.
            self.close()
            more = False
        # Where much is left, it goes on beside the operations to come.
        self._next_sweep = time.monotonic() + (0.0 if more else _SWEEP_EVERY)

    _mark = float("-inf")


@final
class Lane:
    """A queue of operations in front of one thread.

    Args:
        nursery: Where its task runs while there is something to do.
        database: The database.
        clock: What the time is.
        writes: Whether operations may change anything.
        most: How many are done in one transaction.
        keep: What is forgotten beside them, if they may change anything.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        database: Database,
        clock: SqlClock,
        *,
        writes: bool,
        most: int,
        keep: Keep = FOR_EVER,
    ) -> None:
        self._nursery = nursery
        self._database = database
        self._clock = clock
        self._writes = writes
        self._most = most
        self._keep = keep
        self._worker = Worker(database, clock, writes=writes, keep=keep)
        self._limiter = trio.CapacityLimiter(4)  # one works; the others may be stuck, until the system lets go of them
        # As long as there are callers: each waits for one operation.
        self._queue: deque[_Waiting] = deque()
        self._idle = trio.Event()
        self._idle.set()
        self._closed = False

    async def run(self, operation: Operation[T]) -> T:
        """Do *operation* and return what it answered, once that is kept.

        Cancelled: it was not begun. Once it is begun, it is waited for and returns, which takes no longer than the
        timeout and `GRACE`.

        Raises:
            StoreUnavailable: The database can't be used, or the store is closed. What the operation raises passes.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        self.require_open()
        waiting = _Waiting(cast("Operation[object]", operation))
        self._queue.append(waiting)
        if self._idle.is_set():
            self._idle = trio.Event()
            self._nursery.start_soon(self._serve, name="armory_trio: a lane of a store")
        try:
            await waiting.begun.wait()
        finally:
            waiting.withdrawn = not waiting.begun.is_set()
        with trio.CancelScope(shield=True):
            await waiting.done.wait()
        if waiting.given_up or waiting.answer is None:
            raise StoreUnavailable(self._database.place.name, "no answer within the timeout", maybe_done=True)
        return cast("T", waiting.answer.unwrap())

    def require_open(self) -> None:
        """Refuse to go on when the store is closed.

        Raises:
            StoreUnavailable: It is.
        """
        if self._closed:
            raise StoreUnavailable(self._database.place.name, "the store is closed")

    async def aclose(self) -> None:
        """Take nothing more, wait for what was queued, and close the connection."""
        self._closed = True
        with trio.CancelScope(shield=True):
            await self._idle.wait()
            with trio.move_on_after(GRACE):
                await trio.to_thread.run_sync(self._worker.close, limiter=self._limiter, abandon_on_cancel=True)

    async def _serve(self) -> None:
        # Shielded: whoever waits is answered whatever becomes of us, and each turn is bounded.
        try:
            with trio.CancelScope(shield=True):
                while batch := self._take():
                    await self._work(batch)
        finally:
            self._idle.set()

    async def _work(self, batch: list[_Waiting]) -> None:
        try:
            with trio.move_on_after(self._database.timeout + GRACE) as bound:
                await trio.to_thread.run_sync(self._worker.work, batch, limiter=self._limiter, abandon_on_cancel=True)
            if bound.cancelled_caught:
                for waiting in batch:
                    waiting.given_up = waiting.answer is None
                self._worker.give_up()
                self._worker = Worker(self._database, self._clock, writes=self._writes, keep=self._keep)
        finally:
            for waiting in batch:
                waiting.done.set()

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        while self._queue and len(batch) < self._most:
            waiting = self._queue.popleft()
            if not waiting.withdrawn:
                waiting.begun.set()
                batch.append(waiting)
        return batch


@final
class Lanes:
    """The two ways to a database: operations that write queue for one, those that only read for the other.

    Args:
        writer: Where operations that write queue.
        reader: Where those that only read do.
        clock: What the time is.
        where: What the database is called in errors.
    """

    def __init__(self, writer: Lane, reader: Lane, clock: SqlClock, where: str) -> None:
        self.where = where
        self._writer = writer
        self._reader = reader
        self._clock = clock

    def now(self) -> float:
        """The time of the store. Never blocks."""
        return self._clock.now()

    def require_open(self) -> None:
        """Refuse to go on when the store is closed. See `Lane.require_open`."""
        self._writer.require_open()

    async def run(self, operation: Operation[T]) -> T:
        """Do *operation*. See `Lane.run`."""
        if operation.writes:
            return await self._writer.run(operation)
        try:
            return await self._reader.run(operation)
        except SeenToBeOver:
            # What somebody was told is over must stay so, and that has to be written.
            return await self._writer.run(operation)


def again(error: StoreUnavailable) -> StoreUnavailable:
    """Another one that says the same: two tasks must not raise one exception."""
    return _caused(StoreUnavailable(error.where, error.reason, maybe_done=error.maybe_done), error.__cause__)


def _caused(error: StoreUnavailable, cause: BaseException | None) -> StoreUnavailable:
    error.__cause__ = cause
    return error
