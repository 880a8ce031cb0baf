"""The clients of the model test: they do what their program says, and check what they are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise

import trio

from armory_trio import (
    AdmissionClosed,
    BatchError,
    BudgetExceeded,
    CallOptions,
    Lagged,
    Overloaded,
    ToolCall,
    ToolResult,
)
from tests.engine import model_programs as do
from tests.engine.model_tools import person
from tests.engine.model_world import Trace, World, is_hard


class Clients:
    """Does what the clients of a program do."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._left = 0
        self.all_gone = trio.Event()

    def start(self, program: do.Program, nursery: trio.Nursery) -> None:
        self._left = len(program.clients)
        for client in program.clients:
            nursery.start_soon(self._serve, client)

    async def _serve(self, client: do.Client) -> None:
        try:
            for step in client.steps:
                await trio.sleep(step.pause)
                await self._one(step.op, client.owner)
        finally:
            self._left -= 1
            if not self._left:
                self.all_gone.set()

    async def _one(self, op: do.Op, owner: str | None) -> None:
        world, closed = self._world, self._world.supervisor.closed
        try:
            await self._do(op, owner)
        except AdmissionClosed:
            if not world.supervisor.closed:
                world.fault(f"{op} was turned away from an open door")
        except Overloaded:
            if world.bounds.queued is None:
                world.fault(f"{op} was too much, though there is no bound")
        except BudgetExceeded:
            if world.bounds.max_calls is None:
                world.fault(f"{op} was too much, though there is no budget")
        else:
            cancelled_at_once = getattr(op, "patience", None) == 0.0
            if closed and isinstance(op, do.Execute | do.Start | do.Read) and not cancelled_at_once:
                world.fault(f"{op} came in through a closed door")

    async def _do(self, op: do.Op, owner: str | None) -> None:
        supervisor = self._world.supervisor
        match op:
            case do.Execute():
                await self._execute(op, owner)
            case do.Start():
                await self._start(op, owner)
            case do.Read():
                await self._read(op, owner)
            case do.Batch():
                await self._batch(op, owner)
            case do.Abort():
                self._abort(op)
            case do.Watch():
                await self._watch(op)
            case do.Shutdown(mode, drain_for, patience):
                await self._shutdown(mode, drain_for, patience)
            case do.Close():
                supervisor.close_admission()
            case do.Idle(patience):
                with trio.move_on_after(1e9 if patience is None else patience) as scope:
                    await supervisor.wait_idle()
                    if supervisor.active and not scope.cancelled_caught:
                        self._world.fault("it is idle, and something is live")
            case _:
                raise AssertionError(op)

    def _call(self, trace: Trace) -> ToolCall:
        return ToolCall(trace.intent.tool, {"key": trace.key}, id=trace.call_id)

    def _options(self, trace: Trace) -> CallOptions:
        given = trace.options
        return CallOptions(
            owner_id=trace.owner,
            timeout=given.timeout,
            deadline=trace.deadline,
            idle_timeout=given.idle_timeout,
            human_timeout=given.human_timeout,
            elicit=person,
        )

    async def _patiently(
        self, patience: float | None, traces: list[Trace], work: Callable[[], Awaitable[object]]
    ) -> None:
        """Do *work* at most so long. What it called is gone afterwards, unless it cannot be stopped."""
        with trio.move_on_after(1e9 if patience is None else patience) as scope:
            await work()
        if scope.cancelled_caught:
            left = [
                inside.key
                for trace in traces
                if not any(is_hard(member.intent) for member in trace.tree())
                for inside in trace.tree()
                if inside.inside
            ]
            if left:
                self._world.fault(f"{left} go on, though their caller was cancelled")

    async def _execute(self, op: do.Execute, owner: str | None) -> None:
        trace = self._world.expect(op.intent, None, owner, op.options)

        async def work() -> None:
            self._check_result(trace, await self._world.supervisor.execute(self._call(trace), **self._options(trace)))

        await self._patiently(op.patience, [trace], work)

    async def _start(self, op: do.Start, owner: str | None) -> None:
        trace = self._world.expect(op.intent, None, owner, op.options)
        execution = self._world.supervisor.start(self._call(trace), **self._options(trace))
        with trio.move_on_after(1e9 if op.patience is None else op.patience):
            if op.then == "result":
                self._check_result(trace, await execution.result())
            elif op.then == "settled":
                snapshot = await execution.settled()
                if snapshot.settled_at is None or snapshot.state not in ("terminal", "unknown-effect"):
                    self._world.fault(f"{trace.key} is settled, and {snapshot}")
        if op.then == "abort":
            before = execution.snapshot
            answer = execution.abort()
            fits = {
                "already-ended": before.settled_at is not None,
                "already-requested": before.abort is not None,
                "not-started": before.started_at is None and trace.entered_at is None,
                "requested": before.started_at is not None and before.abort is None,
            }
            if not fits[answer]:
                self._world.fault(f"the abort of {trace.key} answered {answer}: {before}")

    async def _read(self, op: do.Read, owner: str | None) -> None:
        trace = self._world.expect(op.intent, None, owner, op.options)
        got: list[object] = []

        async def work() -> None:
            async with self._world.supervisor.stream(self._call(trace), **self._options(trace)) as stream:
                await trio.sleep(op.stall)
                while op.chunks is None or len(got) < op.chunks:
                    chunk = await anext(stream, None)
                    if chunk is None:
                        self._check_result(trace, stream.result, streamed=got)
                        return
                    got.append(chunk)
                    await trio.sleep(op.pause)

        await self._patiently(op.patience, [trace], work)
        if got != list(range(len(got))):
            self._world.fault(f"{trace.key} streamed {got}")

    async def _batch(self, op: do.Batch, owner: str | None) -> None:
        world = self._world
        traces = [world.expect(intent, None, owner, op.options) for intent in op.intents]
        if op.mode == "sequential":
            for before, after in pairwise(traces):
                after.after = before
        if op.concurrency is not None:
            for trace in traces:
                trace.batch = (f"batch of {traces[0].key}", op.concurrency)

        async def work() -> None:
            options = self._options(traces[0]) if traces else CallOptions()
            try:
                results = await world.supervisor.execute_batch(
                    [self._call(trace) for trace in traces],
                    mode=op.mode,
                    concurrency=op.concurrency,
                    on_error=op.on_error,
                    **options,
                )
            except BatchError as exc:
                results = list(exc.results)
                if op.on_error != "fail_fast" or results[exc.index].outcome == "success":
                    world.fault(f"a batch failed for no reason: {op}")
            else:
                if op.on_error == "fail_fast" and any(result.outcome == "error" for result in results):
                    world.fault("a batch that fails fast did not")
            if len(results) != len(traces):
                world.fault(f"{len(traces)} calls had {len(results)} results")
            for trace, result in zip(traces, results, strict=False):
                self._check_result(trace, result)

        await self._patiently(op.patience, traces, work)

    def _check_result(self, trace: Trace, result: ToolResult[object], streamed: list[object] | None = None) -> None:
        world = self._world
        if result.call_id != trace.call_id:
            world.fault(f"{trace.key} got the result of {result.call_id}")
        if result.attempts != (trace.entered_at is not None):
            world.fault(f"{trace.key} has {result.attempts} attempts: {trace}")
        if result.outcome == "success":
            chunks = sum(move.chunks for move in trace.intent.moves if isinstance(move, do.Flow))
            value = list(range(chunks)) if trace.intent.tool == "flowing" else trace.key
            if result.value != value:
                world.fault(f"{trace.key} answered {result.value}")
            if streamed is not None and trace.intent.tool == "flowing" and streamed != value:
                world.fault(f"{trace.key} streamed {streamed} of {value}")

    def _abort(self, op: do.Abort) -> None:
        world = self._world
        shown = world.supervisor.executions.inspect()
        if not shown:
            return
        chosen = shown[op.which % len(shown)]
        value = getattr(chosen, op.by)
        if value is None:
            return
        hit = {snapshot.execution_id for snapshot in shown if getattr(snapshot, op.by) == value}
        answers = world.supervisor.abort("model", **{op.by: value})
        if set(answers) != hit:
            world.fault(f"an abort by {op.by} hit {sorted(answers)} and not {sorted(hit)}")

    async def _watch(self, op: do.Watch) -> None:
        supervisor, revisions = self._world.supervisor, dict[str, int]()
        with trio.move_on_after(20), suppress(StopAsyncIteration):  # the supervisor may be left first
            if op.what == "events":
                await self._read_events(op)
                return
            async with supervisor.executions.subscribe() as updates:
                for _ in range(op.steps):
                    snapshot = await anext(updates)
                    if snapshot.revision <= revisions.get(snapshot.execution_id, 0):
                        self._world.fault(f"{snapshot.execution_id} was shown again")
                    revisions[snapshot.execution_id] = snapshot.revision
                    await trio.sleep(op.pause)

    async def _read_events(self, op: do.Watch) -> None:
        """Every event comes, or is counted as missed just before the place where the next one does."""
        due: int | None = None
        async with self._world.supervisor.events(include_payloads=True, buffer=3) as events:
            for _ in range(op.steps):
                event = await anext(events)
                if isinstance(event, Lagged):
                    due = None if due is None else due + event.missed
                    continue
                if due is not None and event.sequence != due:
                    self._world.fault(f"event {due} is missing: {event.sequence} came")
                due = event.sequence + 1
                await trio.sleep(op.pause)

    async def _shutdown(self, mode: str, drain_for: float | None, patience: float | None) -> None:
        with trio.move_on_after(1e9 if patience is None else patience):
            report = await self._world.supervisor.shutdown("drain" if mode == "drain" else "abort", drain_for=drain_for)
            if any(snapshot.settled_at is None for snapshot in report.unfinished):
                self._world.fault("a shutdown returned before all was settled")
