"""OpenTelemetry: a span for each execution, and metrics. Never arguments, results, reasons or the text of exceptions."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from ..definitions import ToolDefinition
from ..engine import (
    CleanupOverdue,
    ExecutionAdmitted,
    ExecutionSettled,
    ExecutionStarted,
    Happening,
    NameResolved,
    Observed,
    OfExecution,
    OutcomeDecided,
    Supervisor,
    WaitEnded,
)
from ..engine._opening import require_supervisor
from ._metrics import SCOPE, Measures
from ._propagation import PROCESS_CONTEXT, Trace, trace_context_of, with_trace_context
from ._spans import Spans
from ._vocabulary import Identity, check_identities

__all__ = ("PROCESS_CONTEXT", "Identity", "Trace", "instrument", "trace_context_of", "with_trace_context")


class _Telemetry:
    """A probe that keeps spans and measures."""

    __slots__ = ("_measures", "_spans")

    def __init__(self, spans: Spans, measures: Measures) -> None:
        self._spans = spans
        self._measures = measures

    def happened(self, event: Happening, execution: Observed | None) -> None:
        if execution is None or not isinstance(event, OfExecution):
            return
        try:
            self._measure(event, execution)
        finally:  # a meter that fails leaves no span open
            self._trace(event, execution)

    def _measure(self, event: OfExecution, execution: Observed) -> None:
        match event:
            case ExecutionStarted():
                self._measures.started(event, execution)
            case WaitEnded():
                self._measures.waited(event, execution)
            case CleanupOverdue():
                self._measures.given_up(execution)
            case OutcomeDecided():
                self._measures.decided(execution)
            case ExecutionSettled():
                self._measures.settled(event, execution)
            case _:
                pass

    def _trace(self, event: OfExecution, execution: Observed) -> None:
        spans = self._spans
        spans.note(event, execution)
        match event:
            case ExecutionAdmitted():
                spans.begin(event, execution)
            case NameResolved():
                spans.found(execution, event.tier)
            case OutcomeDecided():
                spans.decided(execution)
            case ExecutionSettled():
                spans.end(event, execution)
            case _:
                pass

    def entered(self, execution: Observed) -> None:
        self._spans.enter(execution)

    def closed(self) -> None:
        try:
            self._spans.end_all()
        finally:
            self._measures.end()


def instrument(
    supervisor: Supervisor,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    identify: Collection[Identity] = (),
) -> Callable[[], None]:
    """Make a span of each execution that *supervisor* admits from now on, and measure them.

    The parent of a span is what is current where the call is made; or what ``traceparent`` in the call's ``metadata``
    names, and then the current span is linked; or what its option ``trace`` says, a `Trace`. What a tool starts with ``supervisor.start`` begins a trace of its own,
    linked to the tool. In the task of the execution, and in its threads, the span is current: what hooks, middleware and
    the body open there are its children. It ends when the state is final.

    Args:
        supervisor: Whose executions.
        tracer_provider: Who makes spans; the global one by default.
        meter_provider: Who measures; the global one by default.
        identify: What may be told of on whose behalf calls are made: ``owner``, ``agent`` and ``conversation`` (the
            session of the request context). Nothing by default.

    Returns:
        What stops it, and ends the spans that are open. It stops by itself when the supervisor is closed.

    Raises:
        DefinitionError: *supervisor* is none, or *identify* names something else.
    """
    require_supervisor("instrument", supervisor)
    said = check_identities("instrument", identify)
    tracers = tracer_provider if tracer_provider is not None else trace.get_tracer_provider()
    meters = meter_provider if meter_provider is not None else metrics.get_meter_provider()

    host = weakref.ref(supervisor)  # which does not know what it shares with its executions, and should be let go

    def find(name: str) -> ToolDefinition | None:
        there = host()
        found = None if there is None else there.toolbox.get(name)
        return None if found is None else found.definition

    spans = Spans(tracers.get_tracer(SCOPE), find, said)
    return supervisor.executions.attach(_Telemetry(spans, Measures(meters, supervisor.executions)))
