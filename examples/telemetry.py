"""An agent's turn as OpenTelemetry and a log see it: what hung below what, how it ended, and no secret in any of it.

``python -m examples.telemetry`` prints the trace, the metrics and the lines. A service would export them with OTLP.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Final

import trio
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from armory_trio import Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.observability.logs import configure_logging, log_executions
from armory_trio.observability.otel import instrument

SECRET: Final = "hunter2"  # noqa: S105  # made up
"""The password of the mailbox, which the model passes along and the tool repeats in its error."""


@tool(effect="read-only")
def search_mail(query: str, password: str) -> list[str]:
    """Search a mailbox. Runs in a thread."""
    if query == "invoices":
        raise PermissionError(f"the server refused {password!r}")
    return [f"mail about {query}"]


@tool(effect="read-only")
async def plan_trip(city: str, password: str, ctx: ToolContext) -> str:
    """Plan a trip by what is in the mailbox."""
    found = await ctx.call("search_mail", {"query": city, "password": password})
    return f"{city}: {found.unwrap()}"


class Seen:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter, self.reader, self.log = InMemorySpanExporter(), InMemoryMetricReader(), io.StringIO()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def trace(self) -> Iterator[str]:
        """The spans as a tree."""
        yield from _below(None, self.exporter.get_finished_spans(), 0)

    def lines(self) -> Iterator[str]:
        """The log, but for times and ids."""
        for line in map(json.loads, self.log.getvalue().splitlines()):
            facts = [f"{name}={line[name]}" for name in ("tool", "outcome", "code", "effect") if name in line]
            yield " ".join([f"{line['level']:7}", line["event"], *facts])

    def everything(self) -> str:
        """All that anybody could read."""
        metrics = self.reader.get_metrics_data()
        spans = "".join(span.to_json() for span in self.exporter.get_finished_spans())
        return spans + self.log.getvalue() + ("" if metrics is None else metrics.to_json())


def _below(parent: int | None, spans: Sequence[ReadableSpan], depth: int) -> Iterator[str]:
    for span in spans:
        if (None if span.parent is None else span.parent.span_id) == parent:
            told = span.attributes or {}
            words = [told.get("armory.tool.outcome"), told.get("error.type"), span.status.status_code.name]
            yield "  " * depth + " ".join([span.name, *(str(word) for word in words if word)])
            context = span.get_span_context()
            assert context is not None
            yield from _below(context.span_id, spans, depth + 1)


async def run() -> Seen:
    """A turn with three calls: one that calls another, one that fails, one of a tool that there is not."""
    seen = Seen()
    configure_logging("json", stream=seen.log)
    async with open_supervisor(Toolbox([search_mail, plan_trip])) as supervisor:
        instrument(supervisor, tracer_provider=seen.tracers, meter_provider=seen.meters)
        log_executions(supervisor)
        with seen.tracers.get_tracer("agent").start_as_current_span("turn 7"):
            for name, arguments in (
                ("plan_trip", {"city": "Lima", "password": SECRET}),
                ("search_mail", {"query": "invoices", "password": SECRET}),
                ("delete_mail", {"password": SECRET}),
            ):
                await supervisor.execute(ToolCall(name, arguments))
    return seen


def main() -> None:
    """Print what was seen."""
    seen = trio.run(run)
    print("The trace:", *seen.trace(), "\nThe log:", *seen.lines(), sep="\n")
    print("\nThe password was told:", SECRET in seen.everything())


if __name__ == "__main__":
    main()
