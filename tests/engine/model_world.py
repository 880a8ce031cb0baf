"""The model of the model test: what bodies really did, told by themselves, and what must be true of it at any moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs
import trio

from armory_trio import Effect, Limits, Semantics, Supervisor, ToolFailure
from armory_trio.definitions._exceptions import leaves
from tests.engine.model_programs import NONE, Bounds, Call, Intent, Options, Shield, Swallow

_STRENGTH: Final[dict[Effect, int]] = {"none": 0, "completed": 1, "unknown": 2}
CLOSE_ENOUGH: Final = 1e-9


@attrs.frozen(kw_only=True)
class Spec:
    """What the model knows of a tool; `model_tools` declares the same to the engine."""

    read_only: bool = False
    windows: bool = False
    concurrency: int | None = None
    grouped: bool = False
    reads: bool = False
    writes: bool = False
    target: str | None = None
    grace: float = 0.0
    stoppable: bool = True
    timeout: float | None = None
    idle_timeout: float | None = None
    cleanup_timeout: float | None = None
    asks_first: bool = False
    semantics: Semantics = attrs.field(factory=Semantics)


SPECS: Final[dict[str, Spec]] = {
    "plain": Spec(),
    "reading": Spec(read_only=True),
    "windowed": Spec(windows=True),
    "narrow": Spec(concurrency=1),
    "paired": Spec(concurrency=2, grouped=True),
    "grouped": Spec(grouped=True, read_only=True),
    "writer": Spec(writes=True),
    "reader": Spec(reads=True, read_only=True),
    "exclusive": Spec(target="model", semantics=Semantics(concurrency="exclusive")),
    "graceful": Spec(grace=0.5),
    "unstoppable": Spec(semantics=Semantics(cancellation="unsupported"), stoppable=False),
    "limited": Spec(timeout=1.0, idle_timeout=0.5, cleanup_timeout=0.5, windows=True),
    "asked": Spec(asks_first=True),
    "flowing": Spec(timeout=5.0),
    "inline": Spec(),
}


@attrs.define(eq=False)
class Trace:
    """One intended call, and what became of its body, as the body itself saw it."""

    key: int
    intent: Intent
    parent: Trace | None
    owner: str | None
    options: Options
    deadline: float | None
    batch: tuple[str, int] | None = None
    """The limit of its batch, if that has one."""
    entered_at: float | None = None
    inside: bool = False
    ended: str = ""
    """``returned``, ``raised`` or ``cancelled``."""
    raised: BaseException | None = None
    cleanup_told: bool = False
    after: Trace | None = None
    """The member of a sequential batch before it."""
    said: Effect | None = None
    stray: BaseException | None = None
    """A cancellation of somebody else, which it raised."""
    windows: list[str] = attrs.field(factory=list[str])
    asked: float = 0.0
    """Seconds for which people were asked something."""
    asking_since: float | None = None
    alive_at: float = 0.0
    """When it, or something that it called, gave the last sign of life."""
    execution_id: str = ""
    final: Effect | None = None
    children: list[Trace] = attrs.field(factory=list["Trace"])

    @property
    def spec(self) -> Spec:
        return SPECS[self.intent.tool]

    @property
    def call_id(self) -> str:
        return f"k{self.key}"

    def tree(self) -> Iterator[Trace]:
        """It and all that it called."""
        yield self
        for child in self.children:
            yield from child.tree()

    def above(self) -> Iterator[Trace]:
        """Those that called it."""
        trace = self.parent
        while trace is not None:
            yield trace
            trace = trace.parent

    def own_effect(self) -> Effect:
        """The table of section 7, read from what the body did."""
        if self.entered_at is None or self.spec.read_only:
            return "none"
        if self.spec.windows:
            if "open" in self.windows or "unknown" in self.windows:
                return "unknown"
            return "completed" if "completed" in self.windows else "none"
        if self.ended == "returned":
            return "completed"
        return self.said or "unknown"

    def effect(self) -> Effect:
        """The strongest of its own and its children's."""
        if self.final is not None:
            return self.final
        return max((self.own_effect(), *(child.effect() for child in self.children)), key=_STRENGTH.__getitem__)

    def asked_below(self, now: float) -> float:
        """No less than the time for which its work clock stood still."""
        return sum(
            trace.asked + (0.0 if trace.asking_since is None else now - trace.asking_since) for trace in self.tree()
        )


def is_hard(intent: Intent, *, grace: bool = True) -> bool:
    """Whether a cancelled call of it may go on for a while; with *grace*, also when only that allows it."""
    spec = SPECS[intent.tool]
    return (
        (grace and spec.grace > 0)
        or not spec.stoppable
        or any(isinstance(move, Shield | Swallow) for move in intent.moves)
        or any(
            is_hard(child, grace=grace)
            for move in intent.moves
            if isinstance(move, Call) and move.how != "start"
            for child in move.children
        )
    )


class World:
    """All traces of one run. What is wrong is collected in `faults`: a tool's task is no place to raise."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.traces: list[Trace] = []
        self.by_execution: dict[str, Trace] = {}
        self.batches: list[str] = []
        self.faults: list[str] = []
        self.supervisor: Supervisor

    def fault(self, words: str) -> None:
        self.faults.append(f"at {trio.current_time():g}: {words}")

    def expect(self, intent: Intent, parent: Trace | None, owner: str | None, options: Options = NONE) -> Trace:
        """A call is about to be made."""
        deadline = None if options.deadline is None else trio.current_time() + options.deadline
        if parent is not None and parent.deadline is not None and (deadline is None or parent.deadline < deadline):
            deadline = parent.deadline
        trace = Trace(len(self.traces), intent, parent, owner, options, deadline)
        self.traces.append(trace)
        if parent is not None:
            parent.children.append(trace)
        return trace

    def limits(self) -> Limits:
        bounds = self.bounds
        groups = {} if bounds.group is None else {"g": bounds.group}
        return Limits(concurrent=bounds.concurrent, per_owner=bounds.per_owner, groups=groups, queued=bounds.queued)

    def needs(self, trace: Trace) -> dict[str, int]:
        """The limits that a call needs a slot of, and their sizes."""
        spec, bounds = trace.spec, self.bounds
        needs: dict[str, int] = {}
        if spec.concurrency is not None:
            needs[f"tool:default:{trace.intent.tool}"] = spec.concurrency
        if spec.grouped and bounds.group is not None:
            needs["group:g"] = bounds.group
        if bounds.concurrent is not None:
            needs["supervisor"] = bounds.concurrent
        if bounds.per_owner is not None and trace.owner is not None:
            needs[f"owner:{trace.owner}"] = bounds.per_owner
        if trace.batch is not None:
            needs[trace.batch[0]] = trace.batch[1]
        return needs

    # -- told by bodies

    def alive(self, trace: Trace) -> None:
        """The body of *trace* gave a sign of life, for those that called it, too."""
        for member in (trace, *trace.above()):
            member.alive_at = trio.current_time()

    def enter(self, trace: Trace, execution_id: str) -> None:
        """The body of *trace* begins."""
        if trace.entered_at is not None:
            self.fault(f"{trace.key} was entered twice")
        trace.entered_at = trio.current_time()
        trace.inside = True
        trace.alive_at = trace.entered_at
        trace.execution_id = execution_id
        self.by_execution[execution_id] = trace
        inside = [other for other in self.traces if other.inside]
        for limit, size in self.needs(trace).items():
            holders = [other for other in inside if limit in self.needs(other)]
            lenders = {above.key for holder in holders for above in holder.above()}
            leaves = [holder.key for holder in holders if holder.key not in lenders]
            if len(leaves) > size:
                self.fault(f"{leaves} run at once under {limit} = {size}")
        for other in inside:
            if conflict(trace, other):
                self.fault(f"{trace.key} overlaps {other.key}, which touches the same")
        if trace.after is not None and trace.after.inside:
            self.fault(f"{trace.key} did not wait for {trace.after.key}, which comes before it in its batch")
        self._check_order(trace)

    def _check_order(self, trace: Trace) -> None:
        if trace.parent is not None:
            return
        by_call = {other.call_id: other for other in self.traces}
        for snapshot in self.supervisor.executions.inspect(live_only=True):
            if snapshot.execution_id == trace.execution_id:
                return
            other = by_call.get(snapshot.call_id)
            if snapshot.state == "queued" and other is not None and other.parent is None and conflict(trace, other):
                self.fault(f"{trace.key} overtook {other.key}, which touches the same and was admitted before")

    def leave(self, trace: Trace, exc: BaseException | None = None) -> None:
        """The body of *trace* ends, by *exc* if it does not return."""
        trace.inside = False
        trace.raised = exc
        found = [] if exc is None else list(leaves(exc))
        cancelled = bool(found) and all(
            isinstance(leaf, trio.Cancelled | GeneratorExit) and leaf is not trace.stray for leaf in found
        )
        trace.ended = "returned" if exc is None else "cancelled" if cancelled else "raised"
        trace.said = exc.effect if isinstance(exc, ToolFailure) else None
        if cancelled and not trace.spec.stoppable:
            self.fault(f"{trace.key} was cancelled, which it must never be")


def conflict(one: Trace, other: Trace) -> bool:
    """Whether two calls must never run at once: neither is inside the other, and one writes what the other touches."""
    if one is other or one in other.above() or other in one.above():
        return False
    if one.spec.target is not None and one.spec.target == other.spec.target:
        return True
    if one.owner != other.owner or one.intent.touch != other.intent.touch:
        return False
    touches = (one.spec.reads or one.spec.writes) and (other.spec.reads or other.spec.writes)
    return touches and (one.spec.writes or other.spec.writes)
