"""Watches one run of the model test from within: each event and each step, as it happens, against the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

import attrs
import trio

from armory_trio import (
    AbortRequested,
    CleanupOverdue,
    CleanupPending,
    EffectClosed,
    ExecutionAdmitted,
    ExecutionOver,
    ExecutionRefused,
    ExecutionSettled,
    ExecutionStarted,
    Happening,
    OfExecution,
    OutcomeDecided,
    Snapshot,
    StreamClosed,
    WaitBegan,
    WaitEnded,
)
from armory_trio.definitions._exceptions import leaves
from armory_trio.engine._feed import EventReader
from armory_trio.engine._lifecycle import TRANSITIONS, Event, Lifecycle
from armory_trio.engine._timers import RELEASE_AFTER
from tests.engine.model_world import CLOSE_ENOUGH, Trace, World, is_hard

_SILENT = ("abort-requested", "cleanup-pending")


@attrs.define
class Known:
    """What the events have told of one execution."""

    admitted: ExecutionAdmitted
    started: ExecutionStarted | None = None
    refused: ExecutionRefused | None = None
    aborted: AbortRequested | None = None
    decided: OutcomeDecided | None = None
    settled: ExecutionSettled | None = None
    pending: CleanupPending | None = None
    waits: Counter[tuple[str, str | None]] = attrs.field(factory=Counter[tuple[str, str | None]])
    revision: int = 0


class Witness(EventReader[Happening]):
    """Sees each event at the moment at which it is sent, and says what is wrong with it."""

    def __init__(self, world: World) -> None:
        super().__init__((), include_payloads=True, buffer=1)
        self._world = world
        self.known: dict[str, Known] = {}
        self.sequences: list[int] = []

    def close(self) -> None:
        """Nothing more will come."""

    def offer(self, event: Happening) -> None:
        world = self._world
        if self.sequences and event.sequence <= self.sequences[-1]:
            world.fault(f"event {event.sequence} came after {self.sequences[-1]}")
        self.sequences.append(event.sequence)
        if not isinstance(event, OfExecution):
            return
        if isinstance(event, ExecutionAdmitted):
            if event.execution_id in self.known:
                world.fault(f"{event.execution_id} was admitted twice")
            self.known[event.execution_id] = Known(event)
        known = self.known.get(event.execution_id)
        if known is None:
            world.fault(f"{event.execution_id} was never admitted: {event}")
            return
        if event.revision < known.revision:
            world.fault(f"{event.execution_id} went back from revision {known.revision} to {event.revision}")
        known.revision = event.revision
        shown = world.supervisor.executions.locate(event.execution_id)
        if shown is not None and shown.revision < event.revision:
            world.fault(f"{event.execution_id} shows revision {shown.revision}, but its event says {event.revision}")
        self._note(known, event)

    def trace_of(self, known: Known) -> Trace | None:
        found = self._world.by_execution.get(known.admitted.execution_id)
        if found is None and known.admitted.call_id.startswith("k"):
            found = self._world.traces[int(known.admitted.call_id[1:])]
        return found

    def _note(self, known: Known, event: OfExecution) -> None:
        world, identity = self._world, event.execution_id
        match event:
            case ExecutionStarted():
                if known.started or known.refused or known.decided:
                    world.fault(f"{identity} started, but it was {known}")
                known.started = event
            case ExecutionRefused():
                if known.started:
                    world.fault(f"{identity} was refused after it had started")
                known.refused = event
                if event.code == "BUDGET_EXCEEDED":
                    self._check_budget()
            case AbortRequested():
                if known.aborted or known.settled:
                    world.fault(f"{identity} was asked to stop again, or too late")
                known.aborted = event
            case OutcomeDecided():
                if known.decided:
                    world.fault(f"{identity} was decided twice")
                known.decided = event
                self._check_decision(known, event)
            case ExecutionSettled():
                if known.settled or not known.decided:
                    world.fault(f"{identity} was settled twice, or undecided")
                known.settled = event
                if +known.waits:
                    world.fault(f"{identity} was settled while it waits: {known.waits}")
                self._check_end(known, event)
            case WaitBegan() | WaitEnded():
                self._check_wait(known, event)
            case CleanupPending():
                if known.pending or not known.aborted or known.settled:
                    world.fault(f"{identity} is cleaning up, but it was {known}")
                known.pending = event
            case CleanupOverdue():
                if not known.pending or known.settled:
                    world.fault(f"{identity} is late with its cleanup, but it was {known}")
            case StreamClosed() | EffectClosed():
                pass  # a body that was given up may still come to these
            case _:
                if known.settled:
                    world.fault(f"{identity} said after its end: {event}")

    def _check_wait(self, known: Known, event: WaitBegan | WaitEnded) -> None:
        """Each wait begins and ends once, before the end; a queued one waits for other things than its tool does."""
        if known.settled or (event.kind in ("declared", "elicitation")) is not bool(known.started):
            self._world.fault(f"{event.execution_id} said at the wrong time: {event}")
        known.waits[event.kind, event.subject] += 1 if isinstance(event, WaitBegan) else -1
        if known.waits[event.kind, event.subject] < 0:
            self._world.fault(f"{event.execution_id} never began what is over: {event}")

    def _check_budget(self) -> None:
        """Only what runs, ran or may still run is paid for."""
        paid = sum(1 for known in self.known.values() if known.started or not (known.refused or known.settled))
        bound = self._world.bounds.max_calls
        if bound is None or paid < bound:
            self._world.fault(f"the budget of {bound} is spent by {paid} calls")

    def _check_decision(self, known: Known, event: OutcomeDecided) -> None:
        world, trace = self._world, self.trace_of(known)
        if trace is None or trace.entered_at is None:
            if event.outcome == "success" or event.effect != "none":
                world.fault(f"{event.execution_id} never began, but is told as {event}")
            if known.started and not (known.aborted or world.supervisor.closed):
                world.fault(f"{event.execution_id} never began, though it was started")
            return
        if (event.outcome == "success") and trace.ended != "returned":
            world.fault(f"{trace.key} succeeded, though its body {trace.ended or 'goes on'}")
        if known.aborted is None and trace.ended != {"success": "returned", "error": "raised"}[event.outcome]:
            world.fault(f"{trace.key} is told as {event.outcome}, though its body {trace.ended or 'goes on'}")
        if event.effect != trace.effect():
            world.fault(f"{trace.key} is told as {event.effect}, but was {trace.effect()} at its decision")
        self._check_times(trace, event)

    def _check_times(self, trace: Trace, event: OutcomeDecided) -> None:
        """A limit is kept, and not sooner than it runs out."""
        assert trace.entered_at is not None
        asked = trace.asked_below(event.at)
        limits = (
            ("DEADLINE_EXCEEDED", trace.deadline, trace.deadline),
            ("TIMEOUT", *_plus(trace.entered_at, trace.options.timeout, trace.spec.timeout, asked, trace.asked)),
            ("IDLE_TIMEOUT", *_plus(trace.alive_at, trace.options.idle_timeout, trace.spec.idle_timeout, asked, 0.0)),
        )
        for code, latest, earliest in limits:
            if latest is not None and event.at > max(latest, trace.entered_at) + CLOSE_ENOUGH:
                self._world.fault(f"{trace.key} was decided at {event.at}, after its {code} at {latest}")
            if event.code == code and (earliest is None or event.at < earliest - CLOSE_ENOUGH):
                self._world.fault(f"{trace.key} is told {code} at {event.at}, before {earliest}")

    def _check_end(self, known: Known, event: ExecutionSettled) -> None:
        world, trace = self._world, self.trace_of(known)
        if not (known.started or known.aborted or known.refused):
            world.fault(f"{event.execution_id} ended before it began, and nobody had a reason")
        expected = "none" if trace is None else trace.effect()
        if event.effect != expected:
            world.fault(f"{event.execution_id} ends with effect {event.effect}, and was {expected}")
        if trace is not None:
            trace.final = event.effect
            self._check_promptness(known, trace, event)
        shown = world.supervisor.executions.locate(event.execution_id)
        if shown is not None:
            self._check_state(shown, event)
            if trace is not None and known.aborted is not None:
                self._check_cleanup(trace, shown)

    def _check_promptness(self, known: Known, trace: Trace, event: ExecutionSettled) -> None:
        """Who is asked to stop, and can be stopped, is gone after its grace."""
        members = list(trace.tree())
        if known.aborted is None or any(is_hard(member.intent, grace=False) for member in members):
            return
        latest = known.aborted.at + max(member.spec.grace for member in members) + RELEASE_AFTER * len(members)
        if event.at > latest + CLOSE_ENOUGH:
            self._world.fault(f"{trace.key} was asked to stop at {known.aborted.at}, and ended at {event.at}")

    def _check_state(self, shown: Snapshot, event: ExecutionSettled) -> None:
        unsure = shown.started_at is not None and (event.effect == "unknown" or shown.cleanup == "unresolved")
        if event.state != ("unknown-effect" if unsure else "terminal") or shown.state != event.state:
            self._world.fault(f"{event.execution_id} is {event.state}: {shown}")
        if shown.abort is None and shown.cleanup in ("pending", "completed") and not unsure:
            self._world.fault(f"{event.execution_id} cleans up, though nobody asked it to stop")

    def _check_cleanup(self, trace: Trace, shown: Snapshot) -> None:
        """What is raised after the abort, and was not the abort itself, is a cleanup that failed."""
        if trace.ended != "raised" or trace.cleanup_told or trace.raised is None:
            return
        if any(isinstance(leaf, ExecutionOver) or leaf is trace.stray for leaf in leaves(trace.raised)):
            return
        if shown.cleanup != "failed":
            self._world.fault(
                f"{trace.key} raised {trace.raised!r} after its abort, and its cleanup is {shown.cleanup}"
            )

    def check_all_ended(self) -> None:
        """Nothing that was admitted is lost."""
        for identity, known in self.known.items():
            if known.settled is None or known.decided is None:
                self._world.fault(f"{identity} never ended: {known}")
            trace = self.trace_of(known)
            if trace is not None and trace.inside:
                self._world.fault(f"the body of {trace.key} never ended")
            code = None if known.decided is None else known.decided.code
            if code == "CAPACITY_CYCLE" and known.admitted.parent_id is None:
                self._world.fault(f"{identity} is in a cycle, though nobody called it")
            if code == "OVERLOADED" and self._world.bounds.queued is None:
                self._world.fault(f"{identity} was too much, though there is no bound")
            if code == "ENGINE_ERROR":
                self._world.fault(f"{identity} met a bug of the engine")
        if self.sequences and self.sequences != list(range(1, self.sequences[-1] + 1)):
            self._world.fault("some events were never sent")

    def check_quiescent(self) -> None:
        """All tasks wait: whoever was asked to stop has told those that it called."""
        for known in self.known.values():
            trace = self.trace_of(known)
            if known.aborted is not None or known.settled is not None or trace is None or trace.parent is None:
                continue
            above = self.known.get(trace.parent.execution_id)
            if above is None or above.aborted is None or not trace.parent.inside:
                continue
            if known.admitted.at < above.aborted.at:  # what is called in the grace ends with the grace
                self._world.fault(f"{trace.key} was not asked to stop with {trace.parent.key}, which called it")


def _plus(
    since: float, own: float | None, declared: float | None, most: float, least: float
) -> tuple[float | None, float | None]:
    """The latest and the earliest time at which a limit runs out."""
    limit = declared if own is None else own
    return (None, None) if limit is None else (since + limit + most, since + limit + least)


@contextmanager
def every_step_checked(world: World) -> Generator[None]:
    """While it lasts, each step of each execution is held against the table."""
    original = Lifecycle.apply

    def apply(record: Lifecycle, event: Event) -> None:
        before, revision = record.state, record.revision
        original(record, event)
        allowed = {TRANSITIONS[before].get(event)}
        if event == "resume-last" and before == "waiting":
            allowed.add("streaming")
        if record.state not in allowed:
            world.fault(f"{event} led from {before} to {record.state}")
        published = record.state != before or before not in _SILENT
        if record.revision != revision + published:
            world.fault(f"{event} in {before} made revision {record.revision} of {revision}")

    Lifecycle.apply = apply  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Lifecycle.apply = original  # type: ignore[method-assign]


def check_quiescent(world: World) -> None:
    """All tasks wait: nobody waits for a slot that is free."""
    live = world.supervisor.executions.inspect(live_only=True)
    by_call = {trace.call_id: trace for trace in world.traces}
    nested = any(snapshot.parent_id is not None for snapshot in live)
    used: dict[str, int] = {}
    for snapshot in live:
        for limit in snapshot.capacity:
            used[limit] = used.get(limit, 0) + 1
    for snapshot in live:
        trace = by_call.get(snapshot.call_id)
        if snapshot.state != "queued" or snapshot.waits_for == "policy" or trace is None or nested:
            continue
        spec = trace.spec
        if spec.reads or spec.writes or spec.target or snapshot.batch_id is not None or len(live) > 16:
            continue
        if all(used.get(limit, 0) < size for limit, size in world.needs(trace).items()):
            world.fault(f"{trace.key} waits for {snapshot.waits_for}, and nothing that it needs is taken")


def tasks_alive() -> int:
    """How many tasks there are in this run."""
    return trio.lowlevel.current_statistics().tasks_living
