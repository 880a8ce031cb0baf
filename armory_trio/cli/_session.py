"""The calls of one run: from turns that were read to lines that were written."""

from __future__ import annotations

import math
import traceback
from collections.abc import Sequence

import attrs
import trio

from ..definitions import ToolCall, ToolResult
from ..definitions._plurals import counted
from ..engine import CallOptions, Execution, Supervisor
from ..errors import AdmissionClosed
from ..providers import Provider, Turn
from ._exit import Unusable
from ._format import not_started, reply_lines, result_line
from ._input import PROVIDERS, InputReader
from ._output import Outlet, Slot
from ._reader import Entries, open_source
from ._settings import RunSettings
from ._streams import say
from ._summary import Tally


@attrs.define(eq=False)
class _Group:
    """The calls of one turn while they run, and the places of their lines."""

    turn: Turn
    slots: Sequence[Slot]
    results: list[ToolResult[object] | None]
    left: int
    done: trio.Event = attrs.Factory(trio.Event)


class Session:
    """Makes the calls of an input, and hands their results to the outlet.

    Args:
        settings: How.
        supervisor: Runs them.
        outlet: Takes the lines.
        deadline: The point on trio's clock by which everything ends; None for none.
    """

    def __init__(
        self, settings: RunSettings, supervisor: Supervisor, outlet: Outlet, *, deadline: float | None
    ) -> None:
        self._settings = settings
        self._supervisor = supervisor
        self._outlet = outlet
        self._jobs: trio.Nursery
        self._provider: Provider | None = PROVIDERS.get(settings.format)
        self._options: CallOptions = {
            "timeout": settings.timeout,
            "human_timeout": settings.approval_timeout,
            "owner_id": settings.owner,
            "deadline": deadline,
        }
        self._reading = trio.CancelScope(deadline=math.inf if deadline is None else deadline)
        self._running: dict[str, tuple[Execution, _Group, int]] = {}
        self._settling: dict[str, Execution] = {}
        """Those whose result was handed over, and whose state is not final yet."""
        self.tally = Tally()
        self.stopped: str | None = None
        """Why no further call is started, once that is so."""
        self.all_read = False
        self.unusable = False

    @property
    def status(self) -> str:
        """What the run as a whole is doing, in a few words."""
        tally = self.tally
        doing = f"stopped {self.stopped}" if self.stopped else "input read" if self.all_read else "reading"
        late = self._outlet.pending - len(self._running)
        unwritten = [f"{counted(late, 'result')} held back"] if late > 0 else []
        return ", ".join([f"{tally.succeeded} succeeded", f"{tally.failed} failed", doing, *unwritten])

    async def run(self, stdin: int, reader: InputReader) -> None:
        """Start the calls of the input as they are read, with as many under way as the settings allow.

        Returns when the state of each of them is final. What is wrong with the input is said on stderr. Cancelled: the
        executions go on.
        """
        async with trio.open_nursery() as self._jobs:
            await self._read(stdin, reader)

    async def _read(self, stdin: int, reader: InputReader) -> None:
        try:
            with self._reading:
                entries = Entries(await open_source(self._settings.file, stdin, self._settings.max_bytes))
                while (entry := await entries.next()) is not None:
                    self._take(reader.turns(entry.value, entry.origin))
                    self.all_read = entries.at_end
                    await self._outlet.room(self._settings.window)
                self.all_read = True
        except Unusable as error:
            self.unusable = True
            if self._settings.debug:
                traceback.print_exception(error)
            say(str(error))

    def stop(self, reason: str) -> None:
        """Read no more, and start nothing that was read. What was started goes on."""
        if self.stopped is None:
            self.stopped = reason
        self._reading.cancel(reason)

    def _take(self, turns: Sequence[Turn]) -> None:
        groups = [self._group(turn) for turn in turns]
        if len(groups) == 1:
            self._begin(groups[0])
        elif groups:
            self._jobs.start_soon(self._one_after_another, groups, name="armory-trio: transcript")

    def _group(self, turn: Turn) -> _Group:
        self.tally.met(turn)
        count = len(turn.calls)
        sizes = [count] if self._provider is not None else [1] * count
        slots = [self._outlet.reserve(size) for size in sizes]
        return _Group(turn, slots, [None] * count, count)

    async def _one_after_another(self, groups: Sequence[_Group]) -> None:
        """A transcript: the model wrote the second message when it had the results of the first."""
        for group in groups:
            self._begin(group)
            await group.done.wait()

    def _begin(self, group: _Group) -> None:
        for index, call in enumerate(group.turn.calls):
            execution = self._start(call)
            if execution is None:
                reason = f"The run was stopped ({self.stopped or 'no new work is taken'}) before this call."
                self._put(group, index, not_started(call, reason))
            else:
                self._running[execution.id] = (execution, group, index)
                self._jobs.start_soon(self._follow, execution, group, index, name=f"armory-trio: {execution.id}")
        if not group.turn.calls:
            self._close(group)

    def _start(self, call: ToolCall) -> Execution | None:
        if self.stopped is not None:
            return None
        try:
            return self._supervisor.start(call, **self._options)
        except AdmissionClosed:
            return None

    async def _follow(self, execution: Execution, group: _Group, index: int) -> None:
        result = await execution.result()
        del self._running[execution.id]
        self._settling[execution.id] = execution
        self._put(group, index, result)
        if self._settings.fail_fast and result.outcome == "error":
            self._fail_fast(result)
        self.tally.settled(await execution.settled())
        del self._settling[execution.id]

    def collect(self) -> None:
        """Hand over what has ended and was not followed to its end: the supervisor fell, and `run` was cancelled."""
        for execution, group, index in self._running.values():
            result = execution.privileged_snapshot().result
            if result is not None:
                self._settling[execution.id] = execution
                self._put(group, index, result)
        for execution in self._settling.values():
            self.tally.settled(execution.snapshot)
        self._running.clear()
        self._settling.clear()

    def _put(self, group: _Group, index: int, result: ToolResult[object]) -> None:
        self.tally.decided(result)
        group.left -= 1
        if self._provider is None:
            self._outlet.fill(group.slots[index], result_line(result))
        else:
            group.results[index] = result
        if not group.left:
            self._close(group)

    def _close(self, group: _Group) -> None:
        if self._provider is not None:
            results = [result for result in group.results if result is not None]
            self._outlet.fill(group.slots[0], reply_lines(group.turn, results, self._provider))
        group.done.set()

    def _fail_fast(self, result: ToolResult[object]) -> None:
        reason = f"call {result.call_id} of {result.tool_name!r} failed, and the run fails fast"
        self.stop(reason)
        for execution, _, _ in list(self._running.values()):
            execution.abort(reason)
