"""What is exported arrives at a receiver that speaks OTLP over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import pytest
import trio
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from armory_trio import Toolbox, ToolCall, open_supervisor
from armory_trio.observability.otel import instrument
from tests.engine.tools import add
from tests.requirements import requirement

ADD: Final = ToolCall("add", {"a": 1, "b": 2})


class Receiver:
    """A collector that keeps what it is sent."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.metrics: set[str] = set()

    def take(self, path: str, body: bytes) -> None:
        """Keep what stands in *body*."""
        if path == "/v1/traces":
            traces = ExportTraceServiceRequest.FromString(body)
            for resource in traces.resource_spans:
                for scope in resource.scope_spans:
                    assert scope.scope.name == "armory_trio"
                    self.spans.extend(scope.spans)
        else:
            sent = ExportMetricsServiceRequest.FromString(body)
            for group in sent.resource_metrics:
                for part in group.scope_metrics:
                    self.metrics.update(metric.name for metric in part.metrics)


@contextmanager
def serving(receiver: Receiver) -> Generator[str]:
    """Its address, as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(self.path, self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@requirement("telemetry.otlp")
async def test_spans_and_metrics_arrive_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    receiver = Receiver()
    with serving(receiver) as address:
        tracers = TracerProvider(shutdown_on_exit=False)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{address}/v1/traces", timeout=5)))
        exporter = OTLPMetricExporter(f"{address}/v1/metrics", timeout=5)
        meters = MeterProvider([PeriodicExportingMetricReader(exporter)], shutdown_on_exit=False)
        async with open_supervisor(Toolbox([add])) as supervisor:
            instrument(supervisor, tracer_provider=tracers, meter_provider=meters)
            result = await supervisor.execute(ADD)
            await supervisor.execute(ToolCall("nobody"))
            await trio.to_thread.run_sync(meters.force_flush)
        for provider in (tracers, meters):
            await trio.to_thread.run_sync(provider.shutdown)

    first, second = receiver.spans
    assert (first.name, first.kind, second.name) == ("execute_tool add", Span.SPAN_KIND_INTERNAL, "execute_tool")
    told = {each.key: each.value.string_value for each in first.attributes}
    assert told["armory.tool.execution.id"] == result.execution_id
    assert second.status.message == ""
    assert {"gen_ai.execute_tool.duration", "armory.tool.calls", "armory.executions.live"} <= receiver.metrics
