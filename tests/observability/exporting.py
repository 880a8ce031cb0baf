"""What the tests of telemetry share: providers that keep what they are given, and tools that can be watched."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final, Unpack, cast

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, StatusCode

from armory_trio import AuthorityOptions, Limits, Supervisor, Toolbox, open_supervisor
from armory_trio.observability.otel import Identity, instrument

Labels = tuple[tuple[str, object], ...]

NO_LIMITS: Final = Limits()


class Exported:
    """Providers, and what they were given."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader])
        self.tracer = self.tracers.get_tracer("the tests")

    @property
    def spans(self) -> list[ReadableSpan]:
        """Those that have ended, in the order of their ends."""
        return list(self.exporter.get_finished_spans())

    def called(self, name: str) -> ReadableSpan:
        """The one span of that name."""
        [found] = [span for span in self.spans if span.name == name]
        return found

    def of_tool(self, name: str) -> ReadableSpan:
        """The one span of a call of that tool."""
        return self.called(f"execute_tool {name}")

    def parent_of(self, name: str) -> str | None:
        """The name of the span above the one of that name, which has ended, too."""
        above = self.called(name).parent
        if above is None:
            return None
        return next(span.name for span in self.spans if context_of(span).span_id == above.span_id)

    def points(self, metric: str) -> dict[Labels, float]:
        """What a metric says, by its labels; of a histogram, how much was measured."""
        data = self.reader.get_metrics_data()
        found: dict[Labels, float] = {}
        for resource in () if data is None else data.resource_metrics:
            for scope in resource.scope_metrics:
                for each in scope.metrics:
                    if each.name == metric:
                        for point in each.data.data_points:
                            labels = tuple(sorted((point.attributes or {}).items()))
                            found[labels] = point.value if isinstance(point, NumberDataPoint) else point.sum
        return found

    @asynccontextmanager
    async def supervisor(
        self,
        toolbox: Toolbox,
        *,
        limits: Limits = NO_LIMITS,
        identify: tuple[Identity, ...] = (),
        **authority: Unpack[AuthorityOptions],
    ) -> AsyncGenerator[Supervisor]:
        """A supervisor that is instrumented."""
        async with open_supervisor(toolbox, limits=limits, **authority) as supervisor:
            instrument(supervisor, tracer_provider=self.tracers, meter_provider=self.meters, identify=identify)
            yield supervisor


def context_of(span: ReadableSpan) -> SpanContext:
    """Its place in its trace."""
    found = span.get_span_context()
    assert found is not None
    return found


def said(span: ReadableSpan) -> Mapping[str, object]:
    """Its attributes."""
    return cast("Mapping[str, object]", span.attributes or {})


def event_names(span: ReadableSpan) -> list[str]:
    """The names of its events, without what all of them begin with."""
    return [event.name.removeprefix("armory.tool.") for event in span.events]


def is_error(span: ReadableSpan) -> bool:
    """Whether it shows as one."""
    return span.status.status_code is StatusCode.ERROR
