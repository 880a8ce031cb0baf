"""What a host holds of an execution that it started, and of one that it streams."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

import msgspec
import trio

from ..authority import Revisions
from ..definitions import RequestContext, ToolCall, ToolResult
from ..errors import AdmissionClosed
from ._abort import AbortAnswer, check_reason, mark_overdue, request_abort
from ._concurrency import EnteredFirst, Latch, is_cancelled
from ._execution import Record
from ._lifecycle import FINAL, AbortSource, Snapshot
from ._streams import ChunkBuffer
from ._timers import RELEASE_AFTER

CALLER_CANCELLED: Final = "its caller was cancelled"


class PrivilegedSnapshot(msgspec.Struct, frozen=True):
    """A snapshot with what ordinary watchers must not see.

    Args:
        call: The call with its arguments; None once an execution is over that was not started with a handle.
        result: The result, once the outcome is decided.
        late_value: What the body returned when its caller had been told something else already.
        cleanup_detail: What the tool said about how cleaning up went; empty if nothing.
        request_context: On whose behalf it is made, with the capabilities that policies left; or None.
        revisions: Under which rules it was judged; None when no tool was found for it.
    """

    snapshot: Snapshot
    call: ToolCall | None
    result: ToolResult[object] | None
    late_value: object
    cleanup_detail: str
    request_context: RequestContext | None = None
    revisions: Revisions | None = None


def privileged(
    record: Record, call: ToolCall | None, result: ToolResult[object] | None, late: object
) -> PrivilegedSnapshot:
    """Everything about *record*, whose *call* and *result* somebody else may keep."""
    plan, permit = record.plan, record.permit
    revisions: Revisions | None = None
    if plan is not None:
        judged_in = plan.toolbox if permit is None or permit.toolbox is None else permit.toolbox
        revisions = record.core.revisions(plan.tool.definition, judged_in)
    shot = record.snapshot()
    return PrivilegedSnapshot(shot, call, result, late, record.cleanup_detail, record.request_context, revisions)


class Execution:
    """One started execution. Made by `Supervisor.start`; outlives the record that the supervisor keeps."""

    __slots__ = ("_call", "_late", "_record", "_result")

    def __init__(self, call: ToolCall, record: Record) -> None:
        self._call = call
        self._record = record
        self._result: ToolResult[object] | None = None
        self._late: object = None

    def keep(self, result: ToolResult[object], late: object) -> None:
        """Take over what the record no longer keeps. For the supervisor, once."""
        self._result = result
        self._late = late

    def __repr__(self) -> str:
        return f"<Execution {self.id} of {self._record.name!r}: {self._record.state}>"

    @property
    def id(self) -> str:
        """The execution's id in snapshots and events."""
        return self._record.id

    @property
    def snapshot(self) -> Snapshot:
        """What it looks like now."""
        return self._record.snapshot()

    def privileged_snapshot(self) -> PrivilegedSnapshot:
        """What it looks like now, with arguments, result and authority."""
        record = self._record
        late = self._late if self._result is not None else record.late
        return privileged(record, self._call, self._decided, late)

    def abort(self, reason: str = "aborted by its host") -> AbortAnswer:
        """Ask it to stop, and say what that did. Whether it was honoured shows in the snapshot.

        Raises:
            TypeError: The reason is no string.
        """
        check_reason(reason)
        return request_abort(self._record, "caller", reason)

    async def result(self) -> ToolResult[object]:
        """The result, as soon as the outcome is decided. Cancelled: the execution goes on."""
        await latch_of_release(self._record).wait()
        result = self._decided
        assert result is not None
        return result

    async def settled(self) -> Snapshot:
        """The snapshot, once the state is final. Cancelled: the execution goes on."""
        await wait_settled(self._record)
        return self._record.snapshot()

    def when_settled(self, tell: Callable[[], None]) -> None:
        """Call *tell* as soon as the state is final, in the same turn of the scheduler. For kits; a host awaits.

        It must neither raise nor wait.
        """
        record = self._record
        if record.state in FINAL:
            tell()
        else:
            record.settled = _Bell(tell, record.settled)

    def joined(self) -> AbstractContextManager[str | None]:
        """Let the tool that waits for this execution in the ``with`` block count as waiting for it. For kits.

        Answers None; or, when this execution waits for something that the tool itself holds, a description of that
        cycle: then waiting would never end.
        """
        from ._joining import joined  # noqa: PLC0415  # only kits that wait for an execution pay for it

        return joined(self._record)

    @property
    def _decided(self) -> ToolResult[object] | None:
        return self._result if self._result is not None else self._record.result


class _Bell(Latch):
    """A latch that also tells, and that lets those go who wait at the one before it."""

    __slots__ = ("_before", "_tell")

    def __init__(self, tell: Callable[[], None], before: Latch | None) -> None:
        super().__init__()
        self._tell = tell
        self._before = before

    def set(self) -> None:
        if not self.is_set:
            super().set()
            if self._before is not None:
                self._before.set()
            self._tell()


def latch_of_release(record: Record) -> Latch:
    """What is set once the outcome of *record* is decided."""
    latch = record.released
    if latch is None:
        latch = record.released = Latch()
        latch.is_set = record.verdict is not None and not record.withheld
    return latch


async def wait_settled(record: Record) -> None:
    """Return when the state of *record* is final. Always a checkpoint."""
    if record.settled is None:
        record.settled = Latch()
        record.settled.is_set = record.state in FINAL
    await record.settled.wait()


async def leave(record: Record, source: AbortSource, reason: str) -> None:
    """Its caller goes: ask *record* to stop, and wait a moment for its body, shielded from what made the caller go."""
    request_abort(record, source, reason)
    if not record.over:
        with trio.move_on_after(RELEASE_AFTER, shield=True):
            await wait_settled(record)
        mark_overdue(record)


class Stream:
    """Chunks of a running tool, and its result. Made by `Supervisor.stream`; use it with ``async with``.

    Iterate to read the chunks as they come. The iteration ends when the outcome is decided and everything was read;
    `result` then says how it ended, also when it was no success. Leaving the block early stops the tool.
    """

    __slots__ = ("_buffer", "_execution", "_record")

    def __init__(self, execution: Execution, record: Record, buffer: ChunkBuffer) -> None:
        self._execution = execution
        self._record = record
        self._buffer = buffer

    def __repr__(self) -> str:
        return f"<Stream of {self._execution!r}>"

    @property
    def execution(self) -> Execution:
        """The execution behind the stream."""
        return self._execution

    @property
    def result(self) -> ToolResult[object]:
        """The result.

        Raises:
            RuntimeError: The outcome is not decided yet; read the stream to its end first.
        """
        result = self._execution.privileged_snapshot().result
        if result is None:
            raise RuntimeError("the outcome of this stream is not decided yet; read it to its end first")
        return result

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> object:
        """The next chunk. Cancelled: nothing is lost."""
        return await self._buffer.get()

    def next_nowait(self) -> object:
        """The next chunk, at once. Raises `trio.WouldBlock` if there is none yet, StopAsyncIteration at the end."""
        return self._buffer.get_nowait()

    def never_read(self) -> None:
        """Its reader was cancelled before it could read: the body does not get its first turn."""
        request_abort(self._record, "caller" if self._record.parent is None else "parent", CALLER_CANCELLED)

    async def leave(self) -> None:
        """Stop the tool unless it has ended; what leaving the block does."""
        if not self._record.over:
            await leave(self._record, "caller", "the reader left the stream")


class OpenStream(EnteredFirst):
    """``async with`` round a stream: the call is made on entering, and stopped on leaving unless it has ended."""

    __slots__ = ("_begin", "_stream")

    def __init__(self, begin: Callable[[], Stream]) -> None:
        self._begin = begin
        self._stream: Stream | None = None

    async def __aenter__(self) -> Stream:
        try:
            self._stream = self._begin()
        except AdmissionClosed:
            await trio.lowlevel.checkpoint_if_cancelled()  # noqa: ASYNC120  # as for `Supervisor.execute`
            raise
        if is_cancelled():
            self._stream.never_read()
            await trio.lowlevel.checkpoint_if_cancelled()
        return self._stream

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._stream is not None:
            await self._stream.leave()  # noqa: ASYNC102  # shields itself, for RELEASE_AFTER
