"""What the calls of all instrumented supervisors come to, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation

from ..engine import Executions, ExecutionSettled, ExecutionStarted, Observed, WaitEnded
from . import _vocabulary as words
from ._vocabulary import METRICS, Codes

SCOPE: Final = "armory_trio"
"""The name of the tracer and of the meter."""

_SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""The buckets that the conventions publish for operations of generative AI."""

_STATES: Final = ("queued", "active", "waiting", "streaming", "abort-requested", "cleanup-pending")
"""States of executions that are not over; a thread that was given up shows as ``unknown-effect`` or ``terminal``."""

_DURATION, _QUEUE, _WAIT, _OVERDUE, _CALLS, _CHUNKS, _LEDGER, _LIVE, _USED, _SIZE, _LOST = METRICS
"""What they are called: the order of the table."""


def _unit_of(metric: str) -> str:
    return METRICS[metric].split("`")[1]


class Gauges:
    """What is asked of supervisors whenever metrics are collected, from whatever thread does that."""

    def __init__(self, meter: Meter) -> None:
        self._watched: dict[Executions, int] = {}
        """How often each of them is instrumented."""
        self._lost_besides = 0
        """What those lost that are not watched any more, less what those that are had lost before that."""
        self._changing = Lock()
        for name, ask in ((_LIVE, self._live), (_USED, self._used), (_SIZE, self._size)):
            meter.create_observable_gauge(name, [ask], _unit_of(name), METRICS[name])
        meter.create_observable_counter(_LOST, [self._lost], _unit_of(_LOST), METRICS[_LOST])

    def watch(self, executions: Executions) -> None:
        """Count the executions of one more supervisor; of one that is counted already nothing twice."""
        with self._changing:
            if executions not in self._watched:
                self._lost_besides -= executions.statistics().events_lost
            self._watched[executions] = self._watched.get(executions, 0) + 1

    def leave(self, executions: Executions) -> None:
        """Forget a supervisor, once for each time that it is watched; what it lost meanwhile stays counted."""
        with self._changing:
            self._watched[executions] -= 1
            if not self._watched[executions]:
                del self._watched[executions]
                self._lost_besides += executions.statistics().events_lost

    def _live(self, _: CallbackOptions) -> Iterable[Observation]:
        watched = self._watched.copy()
        found: dict[str, int] = dict.fromkeys(_STATES, 0) if watched else {}
        for executions in watched:
            for state, count in executions.statistics().live.items():
                found[state] = found.get(state, 0) + count
        return [Observation(count, {"armory.state": state}) for state, count in found.items()]

    def _used(self, _: CallbackOptions) -> Iterable[Observation]:
        return _of_limits(self._limits(used=True))

    def _size(self, _: CallbackOptions) -> Iterable[Observation]:
        return _of_limits(self._limits(used=False))

    def _limits(self, *, used: bool) -> Mapping[str, int]:
        found = Counter[str]()
        for executions in self._watched.copy():
            found.update({name: use.used if used else use.size for name, use in executions.statistics().limits.items()})
        return found

    def _lost(self, _: CallbackOptions) -> Iterable[Observation]:
        with self._changing:  # as a whole, since it never falls
            now = sum(executions.statistics().events_lost for executions in self._watched)
            return [Observation(self._lost_besides + now)]


def _of_limits(found: Mapping[str, int]) -> list[Observation]:
    return [Observation(count, {"armory.limit.name": name}) for name, count in found.items()]


_gauges: Final[WeakKeyDictionary[MeterProvider, Gauges]] = WeakKeyDictionary()
"""One set for each provider: of instruments with the same name it would ask only the first."""


class Measures:
    """The numbers of one supervisor.

    Args:
        provider: Whose meter keeps them.
        executions: What runs there.
    """

    __slots__ = (
        "_calls",
        "_chunks",
        "_codes",
        "_duration",
        "_executions",
        "_gauges",
        "_ledger",
        "_overdue",
        "_queue",
        "_wait",
    )

    def __init__(self, provider: MeterProvider, executions: Executions) -> None:
        meter = provider.get_meter(SCOPE)
        self._codes = Codes()
        self._duration = meter.create_histogram(
            _DURATION, _unit_of(_DURATION), METRICS[_DURATION], explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._queue = meter.create_histogram(
            _QUEUE, _unit_of(_QUEUE), METRICS[_QUEUE], explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._wait = meter.create_histogram(
            _WAIT, _unit_of(_WAIT), METRICS[_WAIT], explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._overdue = meter.create_counter(_OVERDUE, _unit_of(_OVERDUE), METRICS[_OVERDUE])
        self._calls = meter.create_counter(_CALLS, _unit_of(_CALLS), METRICS[_CALLS])
        self._chunks = meter.create_counter(_CHUNKS, _unit_of(_CHUNKS), METRICS[_CHUNKS])
        self._ledger = meter.create_counter(_LEDGER, _unit_of(_LEDGER), METRICS[_LEDGER])
        if provider not in _gauges:
            _gauges[provider] = Gauges(meter)
        self._gauges = _gauges[provider]
        self._executions = executions
        self._gauges.watch(executions)

    def started(self, event: ExecutionStarted, execution: Observed) -> None:
        """The body of *execution* was entered; only the first time ends its queueing."""
        if event.attempt == 1:
            since = execution.started_at or event.at
            self._queue.record(since - execution.admitted_at, {words.TOOL_NAME: _tool_of(execution)})

    def waited(self, event: WaitEnded, execution: Observed) -> None:
        """A wait of *execution* is over."""
        self._wait.record(event.seconds, {words.TOOL_NAME: _tool_of(execution), words.WAIT: event.kind})

    def given_up(self, execution: Observed) -> None:
        """The body of *execution* is still there after the time that it had for cleaning up."""
        self._overdue.add(1, {words.TOOL_NAME: _tool_of(execution)})

    def decided(self, execution: Observed) -> None:
        """The outcome of *execution* is decided: its result tells what the ledger said."""
        about = None if execution.result is None else execution.result.idempotency
        if about is not None:
            self._ledger.add(1, {words.TOOL_NAME: _tool_of(execution), words.LEDGER: about.outcome})

    def settled(self, event: ExecutionSettled, execution: Observed) -> None:
        """The state of *execution* is final."""
        shot, name = execution.snapshot(), _tool_of(execution)
        counted = {words.TOOL_NAME: name, words.OUTCOME: event.outcome}
        timed = {words.OPERATION: "execute_tool", words.TOOL_NAME: name, words.TOOL_TYPE: "function"}
        if shot.error_category is not None:
            counted[words.CATEGORY] = shot.error_category
        if shot.error_code is not None:
            timed[words.ERROR_TYPE] = self._codes.of(shot.error_code)
        self._calls.add(1, counted)
        self._duration.record(event.at - shot.admitted_at, timed)
        if shot.chunks:
            self._chunks.add(shot.chunks, {words.TOOL_NAME: name})

    def end(self) -> None:
        """The supervisor is not looked at any more."""
        self._gauges.leave(self._executions)


def _tool_of(execution: Observed) -> str:
    """The name of its tool: one of those that there are, never what a model wrote."""
    tool = execution.definition
    return words.OTHER if tool is None else tool.id.name
