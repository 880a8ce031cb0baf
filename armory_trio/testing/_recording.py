"""Recording what a supervisor is asked for and how that ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Final, ParamSpec, TypeAlias

from ..definitions import ToolCall, ToolResult
from ..engine import (
    ApprovalRequested,
    ApprovalResolved,
    ExecutionAdmitted,
    ExecutionSettled,
    Happening,
    OutcomeDecided,
    Supervisor,
    open_supervisor,
)
from ..engine._execution import Core, Record
from ..engine._feed import EventReader
from ..engine._opening import require_supervisor
from ._history import CallHistory, RecordedCall

P = ParamSpec("P")

OpenRecorded: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Supervisor, CallHistory]]]
"""What the fixture ``armory_supervisor`` is: it takes what `open_recorded` takes."""


_OPEN_RECORDED: Final = """Do what `open_supervisor` does, with the same arguments, and record the calls.

    Use it as ``async with open_recorded(toolbox) as (supervisor, calls)``. ``calls`` is what `record_calls` gives, but it
    goes on to the end, so that it also shows how those calls ended that were still running when the block was left.
    """


class _Entry:
    """One call, as long as somebody looks at it."""

    __slots__ = ("_call", "_record", "approvals", "result")

    def __init__(self, record: Record, call: ToolCall) -> None:
        self._record = record
        self._call = call
        self.result: ToolResult[object] | None = None
        self.approvals: list[ApprovalRequested | ApprovalResolved] = []

    def note(self) -> None:
        """Keep the result while the record still has it."""
        self.result = self._record.result or self.result

    def look(self) -> RecordedCall:
        return RecordedCall(self._call, self.result, self._record.snapshot(), tuple(self.approvals))


class _Tap(EventReader[Happening]):
    """A reader of events that is told of each at once, while the record still holds the call and the result."""

    def __init__(self, core: Core, history: CallHistory) -> None:
        super().__init__((), include_payloads=False, buffer=1)
        self._core = core
        self._history = history
        self._open: dict[str, _Entry] = {}

    def offer(self, event: Happening) -> None:
        match event:
            case ExecutionAdmitted(execution_id=execution_id):
                record = self._core.live[execution_id]
                assert record.call is not None
                entry = self._open[execution_id] = _Entry(record, record.call)
                self._history.add(entry.look)
            case ApprovalRequested() | ApprovalResolved() if event.execution_id in self._open:
                self._open[event.execution_id].approvals.append(event)
            case OutcomeDecided(execution_id=execution_id) if execution_id in self._open:
                self._open[execution_id].note()
            case ExecutionSettled(execution_id=execution_id) if execution_id in self._open:
                self._open.pop(execution_id).note()
            case _:
                pass


@contextmanager
def record_calls(supervisor: Supervisor) -> Generator[CallHistory]:
    """Record every call that *supervisor* is asked for in the ``with`` block, and how it ends.

    All of them are there, in the order in which they came in: those of batches, streams and started executions, those
    that running tools make, and those that never ran since they were refused. What raises instead of making an
    execution is not: `AdmissionClosed`, or a batch that does not fit. A tool that is called as a function, and
    `Toolbox.execute`, have supervisors of their own, so they are not there, either.

    Nothing about the calls is changed by it, and what was recorded stays readable after the block.

    Raises:
        DefinitionError: *supervisor* is none.
    """
    require_supervisor("record_calls", supervisor)
    history = CallHistory()
    core = supervisor._core  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # a reader of events comes too late for the arguments
    tap = _Tap(core, history)
    core.feed.add(tap)
    try:
        yield history
    finally:
        core.feed.remove(tap)


def _recording(
    opening: Callable[P, AbstractAsyncContextManager[Supervisor]],
) -> Callable[P, AbstractAsyncContextManager[tuple[Supervisor, CallHistory]]]:
    @asynccontextmanager
    async def opened(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[tuple[Supervisor, CallHistory]]:
        async with opening(*args, **kwargs) as supervisor:
            core = supervisor._core  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # as above
            history = CallHistory()
            core.feed.add(_Tap(core, history))  # until the end: also what only ends while the block is left
            yield supervisor, history

    opened.__name__ = opened.__qualname__ = "open_recorded"
    opened.__doc__ = _OPEN_RECORDED
    return opened


open_recorded: Final = _recording(open_supervisor)
