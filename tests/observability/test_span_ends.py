"""Whatever is called, stopped and broken, each span that was begun is ended once, and no call comes to harm."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

import pytest
import trio
import trio.testing
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult
from opentelemetry.trace import Link, SpanKind, TraceState
from opentelemetry.util.types import Attributes

from armory_trio import Limits, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from armory_trio.middleware import Retry, RetryPolicy
from armory_trio.observability.otel import instrument
from tests.engine.tools import add, count, relay, sleep, stubborn
from tests.requirements import requirement

from .exporting import context_of

Way = Literal["add", "add-wrongly", "nobody", "sleep", "stubborn", "count", "nests", "waits", "flaky"]
End = Literal["drain", "abort", "exception", "cancelled", "interrupt", "stop"]
Fault = Literal["none", "sampler", "exporter", "blocked", "on_start", "on_end"]

CALLS: Final[dict[Way, ToolCall]] = {
    "add": ToolCall("add", {"a": 1, "b": 2}),
    "add-wrongly": ToolCall("add", {"a": "x"}),
    "nobody": ToolCall("nobody"),
    "sleep": ToolCall("sleep", {"seconds": 3}),
    "stubborn": ToolCall("stubborn", {"seconds": 9}),
    "count": ToolCall("count", {"upto": 3, "pause": 1}),
    "nests": ToolCall("relay", {"name": "sleep", "seconds": 2}),
    "waits": ToolCall("waits"),
    "flaky": ToolCall("flaky"),
}


@tool(effect="read-only")
async def waits(ctx: ToolContext) -> None:
    """Wait for something."""
    async with ctx.waiting("the tide"):
        await trio.sleep(5)


@tool(effect="read-only")
async def flaky() -> None:
    """Fail for now."""
    raise ConnectionError("the line is down")


@tool
async def interrupted() -> None:
    """As if somebody pressed Ctrl-C."""
    raise KeyboardInterrupt


TOOLBOX: Final = Toolbox(
    [add, sleep, stubborn, count, relay, waits, flaky, interrupted],
    middleware=[Retry(RetryPolicy(attempts=2))],
)


class Every:
    """Fails at every so many-th call, at none if that is 0."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._calls = 0

    def __call__(self) -> None:
        self._calls += 1
        if self._step and not self._calls % self._step:
            raise RuntimeError("no telemetry today")


class Watcher(SpanProcessor):
    """Counts what begins and ends, and fails after that."""

    def __init__(self, on_start: Every, on_end: Every) -> None:
        self.begun: Counter[int] = Counter()
        self.ended: Counter[int] = Counter()
        self._on_start = on_start
        self._on_end = on_end

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self._on_start()
        self.begun[context_of(span).span_id] += 1

    def on_end(self, span: ReadableSpan) -> None:
        self.ended[context_of(span).span_id] += 1
        self._on_end()


class Choosy(Sampler):
    """A sampler that fails now and then."""

    def __init__(self, fail: Every) -> None:
        self._fail = fail

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        self._fail()
        return SamplingResult(Decision.RECORD_AND_SAMPLE)

    def get_description(self) -> str:
        return "choosy"


class Exporter(SpanExporter):
    """An exporter that fails now and then, or that takes what it gets and does not come back."""

    def __init__(self, fail: Every, gate: threading.Event) -> None:
        self._fail = fail
        self._gate = gate

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._gate.wait()
        self._fail()
        return SpanExportResult.SUCCESS


class Doubled(logging.Handler):
    """Hears what the SDK says of spans that are ended again, or changed after that."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "ended span" in record.getMessage():
            self.heard.append(record.getMessage())


async def play(ways: list[Way], end: End, provider: TracerProvider) -> None:
    """Make the calls, and end as asked."""
    with trio.CancelScope() as scope:
        async with open_supervisor(TOOLBOX, limits=Limits(concurrent=3), drain_for=4.0) as supervisor:
            stop = instrument(supervisor, tracer_provider=provider)
            running = [supervisor.start(CALLS[way], timeout=6.0) for way in ways]
            await trio.sleep(1.5)
            match end:
                case "drain":
                    await supervisor.shutdown("drain")
                case "abort":
                    for execution in running[::2]:
                        execution.abort("not wanted")
                    await supervisor.shutdown("abort")
                case "exception":
                    raise LookupError
                case "cancelled":
                    scope.cancel()
                case "interrupt":
                    await supervisor.execute(ToolCall("interrupted"))
                case "stop":
                    stop()


@requirement("telemetry.once", "telemetry.off")
@given(
    ways=st.lists(st.sampled_from(list(CALLS)), min_size=1, max_size=8),
    end=st.sampled_from(["drain", "abort", "exception", "cancelled", "interrupt", "stop"]),
    fault=st.sampled_from(["none", "sampler", "exporter", "blocked", "on_start", "on_end"]),
    step=st.integers(1, 4),
)
@example(ways=["stubborn", "waits", "sleep", "nests"], end="abort", fault="on_end", step=1)
@example(ways=list(CALLS), end="cancelled", fault="blocked", step=1)
def test_each_span_that_begins_is_ended_once(ways: list[Way], end: End, fault: Fault, step: int) -> None:
    def every(kind: Fault) -> Every:
        return Every(step if fault == kind else 0)

    watcher, gate, doubled = Watcher(every("on_start"), every("on_end")), threading.Event(), Doubled()
    if fault != "blocked":
        gate.set()
    provider = TracerProvider(
        sampler=Choosy(every("sampler")) if fault == "sampler" else ALWAYS_ON, shutdown_on_exit=False
    )
    exporter = Exporter(every("exporter"), gate)
    provider.add_span_processor(watcher)
    provider.add_span_processor(BatchSpanProcessor(exporter) if fault == "blocked" else SimpleSpanProcessor(exporter))
    logger = logging.getLogger("opentelemetry.sdk.trace")
    logger.addHandler(doubled)
    try:
        wanted = {"exception": LookupError, "interrupt": KeyboardInterrupt}.get(end)
        if wanted is None:
            trio.run(play, ways, end, provider, clock=trio.testing.MockClock(autojump_threshold=0))
        else:
            with pytest.raises(wanted):
                trio.run(play, ways, end, provider, clock=trio.testing.MockClock(autojump_threshold=0))
        assert watcher.ended == watcher.begun
        assert set(watcher.ended.values()) <= {1}
        assert doubled.heard == []
        if fault in ("none", "exporter", "blocked", "on_end"):
            assert len(watcher.begun) >= len(ways)
    finally:
        gate.set()
        provider.shutdown()
        logger.removeHandler(doubled)
