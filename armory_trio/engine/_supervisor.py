"""The supervisor: owns every execution from `open_supervisor` to its end."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Unpack, cast

import trio
from typing_extensions import TypeVar

from .._on_demand import in_words
from ..definitions import Tool, ToolCall, ToolResult
from ..errors import AdmissionClosed, ShutdownFromInside
from ..toolbox import Toolbox
from ._abort import AbortAnswer, abort_each, check_reason
from ._actor import running_in
from ._approvals import Approvals
from ._batch import Batch, BatchMode, OnError, check_batch
from ._concurrency import Latch, is_cancelled
from ._door import Door
from ._events import ChunkEmitted, Happening, is_kind
from ._execution import CURRENT, Core
from ._feed import EventReader, Subscription
from ._handle import CALLER_CANCELLED, Execution, OpenStream, Stream
from ._lifecycle import AbortSource
from ._options import DIRECTLY, check_buffer, check_seconds, freeze_options
from ._shutdown import (
    Mode,
    Report,
    abort_everything,
    close_admission,
    make_report,
    tear,
    wait_all_settled,
    wait_for_bodies,
    wait_idle,
)
from ._streams import ChunkBuffer
from ._views import Executions

if TYPE_CHECKING:
    from ._keywords import CallOptions
else:
    (CallOptions,) = in_words("armory_trio.engine._keywords", "CallOptions")

H = TypeVar("H", bound=Happening, default=Happening)
R = TypeVar("R")


def current_supervisor() -> Supervisor:
    """The supervisor whose tool this is called from: for tools that start, watch or stop other calls.

    In a ``def`` tool in a worker thread it answers, too, but may only be used through ``trio.from_thread``.

    Raises:
        RuntimeError: No tool of a supervisor is running here.
    """
    record = CURRENT.get()
    found = None if record is None else record.core.hooks.host()
    if not isinstance(found, Supervisor):
        raise RuntimeError("there is no current supervisor: this is not called from a running tool")  # noqa: TRY004
    return found


class Supervisor(Approvals):
    """Runs tool calls as supervised executions. Made by `open_supervisor`, and only alive inside its block."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, Door(core))
        core.hooks.host = weakref.ref(self)
        self._batches = itertools.count(1)
        self._named: weakref.WeakValueDictionary[str, Batch] = weakref.WeakValueDictionary()
        """Batches whose id was given: each is there as long as somebody waits for it or a member is not over."""
        self._mode: Mode = "drain"
        self._report: Report | None = None
        self._reported = Latch()
        self.executions: Executions = Executions(core)

    # -- looking

    @property
    def active(self) -> int:
        """How many executions are not over."""
        return len(self._core.live)

    @property
    def closed(self) -> bool:
        """Whether it takes no new work."""
        return self._core.closed

    @property
    def report(self) -> Report | None:
        """What became of everything; set once the supervisor was shut down or left."""
        return self._report

    @property
    def toolbox(self) -> Toolbox:
        """The catalogue that calls are resolved in."""
        return self._core.toolbox

    def events(self, *kinds: type[H], include_payloads: bool = False, buffer: int = 1024) -> Subscription[H]:
        """Read typed events in order; use the answer with ``async with``.

        Args:
            kinds: Which events; all of them when none is named.
            include_payloads: Whether chunks, checkpoints and data of log lines come along.
            buffer: How many events are held for a slow reader. One that is slower loses the oldest, and is told.

        Raises:
            TypeError: One of *kinds* is no class of events.
            ValueError: The buffer holds nothing, or only chunks are asked for, but no payloads.
        """
        for kind in kinds:
            if not is_kind(kind):
                raise TypeError(f"events({kind!r}): give classes of events, such as ExecutionSettled")
        if kinds and set(kinds) <= {ChunkEmitted} and not include_payloads:
            raise ValueError("events(ChunkEmitted) would never yield: chunks are payloads; give include_payloads=True")
        check_buffer(buffer)
        return Subscription(self._core.feed, EventReader[H](kinds, include_payloads=include_payloads, buffer=buffer))

    # -- running

    async def execute(self, call: ToolCall, **options: Unpack[CallOptions]) -> ToolResult[object]:
        """Run one call and return how it ended, whatever way that was.

        Cancelled: the execution is aborted, and waited for at most 0.05 s. A tool that cannot be interrupted is left
        behind, visibly.

        Raises:
            AdmissionClosed: The supervisor takes no new work.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
            ExecutionOver: It was called by a tool whose own outcome is decided.
        """
        frozen = freeze_options(options)
        try:
            caller = self._door.caller()
        except AdmissionClosed:
            # What closed the door may have cancelled its caller, too; then that is what the caller gets to see.
            await trio.lowlevel.checkpoint_if_cancelled()  # noqa: ASYNC120  # as said
            raise
        record = self._door.open(call, frozen, caller)
        await self._door.released(record)
        return record.take()

    def start(self, call: ToolCall, **options: Unpack[CallOptions]) -> Execution:
        """Begin one call and return its handle at once. The execution belongs to the supervisor, not to the caller.

        Started by a running tool it is no child of that one: it neither shares its deadline nor ends with it. Owner,
        request context and the way to ask a person are those of the tool, unless options say otherwise; a request
        context can only be narrower than the tool's.

        Raises:
            AdmissionClosed: The supervisor takes no new work.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
        """
        frozen = freeze_options(options)
        starter = running_in(self._core)
        self._door.must_be_open()
        record = self._door.make(call, frozen, starter)
        record.parent = None
        record.deadline = frozen.deadline
        record.started_by = starter.id if starter is not None else None
        return self._door.begin_with_handle(record, call)

    def stream(self, call: ToolCall, *, collect: bool = True, **options: Unpack[CallOptions]) -> OpenStream:
        """Run one call and read its chunks as they come; use the answer with ``async with``.

        Args:
            call: The call. A tool that is no generator yields no chunks.
            collect: Whether the chunks are also kept for the result's value. Without it the value is None.

        Raises (on entering the block): as `execute`.
        """
        frozen = freeze_options(options)

        def begin() -> Stream:
            record = self._door.make(call, frozen, self._door.caller())
            plan = self._door.plans.find(call.name)
            buffer = ChunkBuffer(record, plan.tool.options.buffer if plan is not None else 1)
            record.feeder = buffer
            record.collects = collect
            return Stream(self._door.begin_with_handle(record, call), record, buffer)

        return OpenStream(begin)

    async def execute_batch(
        self,
        calls: Sequence[ToolCall],
        *,
        mode: BatchMode = "parallel",
        concurrency: int | None = None,
        on_error: OnError = "collect",
        batch_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> list[ToolResult[object]]:
        """Run several calls and return their results in call order.

        The batch is admitted as a whole. One call that fails does not disturb the others, unless ``on_error`` is
        ``fail_fast``.

        Args:
            calls: The calls; none is fine.
            mode: ``sequential`` starts each call when the one before has ended.
            concurrency: How many of them may run at once.
            on_error: ``fail_fast`` stops the others as soon as one has failed.
            batch_id: What to call the batch, to abort it by; made up when absent.
            options: For each of the calls.

        Cancelled: all of them are aborted, and waited for at most 0.05 s.

        Raises:
            AdmissionClosed: The supervisor takes no new work.
            Overloaded: The queue bound cannot hold all of them.
            BudgetExceeded: The budget cannot pay for all of them.
            BatchError: The batch fails fast, and a call failed.
            TypeError, ValueError: An option is wrong, or a batch with this id is still running.
        """
        check_batch(calls, mode, concurrency, on_error, batch_id)
        frozen = freeze_options(options)
        try:
            parent = self._door.caller()
        except AdmissionClosed:
            await trio.lowlevel.checkpoint_if_cancelled()  # noqa: ASYNC120  # as for one call
            raise
        if not calls:
            await trio.lowlevel.checkpoint()
            return []
        batch = self._new_batch(batch_id, size=len(calls), fail_fast=on_error == "fail_fast")
        self._door.open_batch(batch, calls, frozen, parent, concurrency=concurrency, in_order=mode == "sequential")
        source: AbortSource = "caller" if parent is None else "parent"
        if is_cancelled():
            batch.abort(source, CALLER_CANCELLED)  # before any body gets its first turn
        try:
            await batch.join()
        except trio.Cancelled:
            batch.abort(source, CALLER_CANCELLED)
            batch.discard()
            with trio.CancelScope(shield=True):
                await batch.part()
            raise
        return batch.results()

    def _new_batch(self, given: str | None, *, size: int, fail_fast: bool) -> Batch:
        if given is None:
            return Batch(self._core, f"{self._core.prefix}-b{next(self._batches)}", size=size, fail_fast=fail_fast)
        known = self._named.get(given)
        if known is not None and not known.over:
            raise ValueError(f"batch_id={given!r}: a batch with this id is still running; give each its own")
        batch = self._named[given] = Batch(self._core, given, size=size, fail_fast=fail_fast)
        return batch

    async def run_directly(self, tool: Tool[..., R], arguments: Mapping[str, object]) -> ToolResult[R]:
        """Run *tool*, which is in the toolbox, without asking whether it may. For direct calls."""
        record = self._door.make(ToolCall(tool.name, arguments), DIRECTLY, None)
        record.plan = self._door.plans.find(str(tool.id))
        await self._door.released(self._door.begin(record))
        return cast("ToolResult[R]", record.take())

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
        """Ask executions to stop, and say for each of them, by its id, what that did.

        All selectors that are given must fit. An id that nobody knows any more gives an empty answer.

        Raises:
            TypeError: The reason is no string.
            ValueError: No selector is given; to stop everything, ``await shutdown("abort")``.
        """
        check_reason(reason)
        selectors = {
            "id": execution_id,
            "call_id": call_id,
            "owner": owner_id,
            "batch_id": batch_id,
            "name": tool_name,
            "started_by": started_by,
        }
        wanted = {name: value for name, value in selectors.items() if value is not None}
        if not wanted:
            raise ValueError("abort what? give execution_id, call_id, owner_id, batch_id, tool_name or started_by")
        source: AbortSource = "owner" if owner_id is not None else "batch" if batch_id is not None else "supervisor"
        known = (*self._core.kept, *self._core.live.values())
        chosen = [each for each in known if all(getattr(each, name) == value for name, value in wanted.items())]
        return abort_each(self._core, ((record, reason) for record in chosen), source)

    def when_closed(self, tell: Callable[[], None]) -> None:
        """Call *tell* once no new work is taken, in the same turn of the scheduler. For kits.

        It must neither raise nor wait.
        """
        self._core.hooks.closing.append(tell)
        if self._core.closed:
            tell()

    def close_admission(self, reason: str = "closed by its host") -> None:
        """Take no new work. What was admitted runs to its end, and so do its nested calls."""
        close_admission(self._core, reason)

    async def wait_idle(self) -> None:
        """Return when no execution is live. Cancelled: nothing has changed.

        Raises:
            ShutdownFromInside: A running tool called it; it would wait for itself.
        """
        self._must_be_outside()
        await wait_idle(self._core)

    async def wait_shut_down(self) -> Report:
        """Return the report once the supervisor was shut down, by whomever, or left. Cancelled: nothing has changed.

        Raises:
            ShutdownFromInside: A running tool called it; it would wait for itself.
        """
        self._must_be_outside()
        await self._reported.wait()
        return cast("Report", self._report)

    async def shutdown(self, mode: Mode = "drain", *, drain_for: float | None = None) -> Report:
        """End everything and tell what became of it. May be called again, also to turn a drain into an abort.

        Args:
            mode: ``drain`` lets what was admitted run to its end; ``abort`` asks everything to stop at once.
            drain_for: Seconds after which a drain aborts what is left; by default the supervisor's own.

        Returns once every state is final. Cancelled: admission stays closed, and the work goes on (or goes on
        ending).

        Raises:
            ShutdownFromInside: A running tool called it; it would wait for itself.
            DefinitionError: *drain_for* is no length of time.
        """
        if mode not in ("drain", "abort"):
            raise ValueError(f"mode={mode!r}: give 'drain' or 'abort'")
        self._must_be_outside()
        core = self._core
        seconds = core.settings.drain_for if drain_for is None else check_seconds("shutdown", "drain_for", drain_for)
        close_admission(core, f"the supervisor was asked to {mode}")
        if mode == "drain":
            with trio.move_on_after(seconds) as scope:
                await wait_all_settled(core)
            if scope.cancelled_caught:
                self._abort_all(f"the drain took longer than {seconds:g} s")
        else:
            self._abort_all("the supervisor was asked to abort")
        await wait_all_settled(core)
        return self._report_now()

    def _must_be_outside(self) -> None:
        inside = running_in(self._core)
        if inside is not None and not inside.over:
            raise ShutdownFromInside(
                f"{inside.name!r} ({inside.id}) runs in the supervisor whose end it would wait for"
            )

    def _abort_all(self, reason: str, *, source: Literal["shutdown", "supervisor"] = "shutdown") -> None:
        self._mode = "abort"
        abort_everything(self._core, reason, source=source)

    def _report_now(self) -> Report:
        self._report = make_report(self._core, "abort" if self._core.fallen else self._mode)
        self._reported.set()
        return self._report

    def tear(self) -> None:
        """Trio's run broke off: close, and tell what became of everything. For hosts, when nothing of it runs any more."""
        self._report = tear(self._core)

    def fall(self, reason: str) -> None:
        """Abort everything: the block is left by an exception, or cancelled from outside. For `open_supervisor`."""
        if any(not record.given_up for record in self._core.live.values()):
            self._abort_all(reason, source="supervisor")
        close_admission(self._core, reason)

    def exchange(self, toolbox: Toolbox) -> None:
        """Resolve the calls that come from now on in *toolbox*. For `open_supervisor`."""
        self._door.plans.exchange(toolbox)

    async def end(self, watch: trio.CancelScope, ending: Latch) -> None:
        """Wait until nothing runs that can be stopped, whatever is cancelled, and tell. For `open_supervisor`."""
        watch.cancel("the supervisor is closing")
        self.fall("the block of the supervisor was left")
        with trio.CancelScope(shield=True):
            await wait_for_bodies(self._core)
        self._report_now()
        for feed in (self._core.log, self._core.feed):
            feed.close()
        ending.set()
