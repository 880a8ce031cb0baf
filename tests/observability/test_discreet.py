"""A secret, wherever it is planted, is told to nobody."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest
import structlog
import trio

from armory_trio import Happening, RequestContext, Supervisor, Toolbox, ToolCall, open_supervisor
from armory_trio.ledger import MemoryLedger, words_of
from armory_trio.observability.logs import configure_logging, log_executions
from armory_trio.observability.otel import instrument
from tests.requirements import requirement

from .exporting import Exported
from .failing import SECRET, TOOLS, WAYS

WHO: Final = RequestContext(
    principal=SECRET,
    tenant=SECRET,
    delegation=(SECRET,),
    capabilities=frozenset({SECRET}),
    authorization_revision=SECRET,
    agent=SECRET,
    run=SECRET,
    session=SECRET,
    audience="tenant",
    request=SECRET,
)
METADATA: Final = {
    "headers": {"Authorization": f"Bearer {SECRET}", "Cookie": SECRET},
    "traceparent": SECRET,
    "key": SECRET,
}


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What is logged, by everybody."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = list(root.handlers), root.level
    configure_logging("json", level="DEBUG", redact=None, stream=stream)
    yield stream
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level


async def run(supervisor: Supervisor, way: str) -> None:
    """Make a call with a secret in everything, and stop it if it would not end."""
    call = ToolCall(way, {"secret": SECRET})
    execution = supervisor.start(call, request_context=WHO, metadata=METADATA, idempotency_key=SECRET)
    if way == "stopped":
        await trio.sleep(0.01)
        supervisor.abort("it has to end", execution_id=execution.id)
    await execution.settled()


@requirement("telemetry.discreet")
@pytest.mark.parametrize(("way", "code"), [(each.name, code) for each, code in WAYS], ids=[each.name for each in TOOLS])
async def test_a_secret_is_told_to_nobody(
    way: str,
    code: str | None,
    written: io.StringIO,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    exported, ledger = Exported(), MemoryLedger()
    toolbox = Toolbox(TOOLS, context={"key": SECRET})
    events: list[Happening] = []
    async with open_supervisor(toolbox, ledger=ledger) as supervisor, supervisor.events() as reader:
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        log_executions(supervisor)
        await run(supervisor, way)
        await supervisor.wait_idle()
        metrics = exported.reader.get_metrics_data()
        snapshots = supervisor.executions.inspect()
        try:
            while True:
                events.append(reader.next_nowait())
        except trio.WouldBlock:
            pass
        attempts = await ledger.list()

    assert metrics is not None
    assert supervisor.report is not None
    assert {"admitted", "settled"} <= {
        json.loads(line)["event"].removeprefix("execution.") for line in written.getvalue().splitlines()
    }
    told = {
        "spans": [span.to_json() for span in exported.spans],
        "metrics": [metrics.to_json()],
        "log lines": [written.getvalue()],
        "log records": [f"{record.getMessage()} {record.exc_text} {record.args}" for record in caplog.records],
        "snapshots": [msgspec.json.encode(snapshots).decode(), repr(snapshots)],
        "events": [repr(events)],
        "the report": [*supervisor.report.lines(), str(supervisor.report)],
        "the terminal": list(capfd.readouterr()),
        "the ledger": [words_of(attempt) for attempt in attempts],
    }
    if (
        way == "fails"
    ):  # the code of a declared failure is no secret of the tool's: snapshots and events say what it says
        assert SECRET in told.pop("snapshots")[0]
        assert SECRET in told.pop("events")[0]
    if way == "in_a_window":  # nor are the label and the target of a window, for who reads events
        assert SECRET in told.pop("events")[0]
    assert {shot.error_code for shot in snapshots} == {code}
    assert len(exported.spans) == (2 if way == "nests" else 1)
    assert [where for where, texts in told.items() if any(SECRET in text for text in texts)] == []


@requirement("telemetry.discreet")
async def test_the_reason_of_an_abort_is_not_exported(written: io.StringIO) -> None:
    exported = Exported()
    async with open_supervisor(Toolbox(TOOLS)) as supervisor:
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        log_executions(supervisor)
        execution = supervisor.start(ToolCall("stopped", {"secret": "none"}))
        await trio.sleep(0.01)
        execution.abort(SECRET)
        await execution.settled()
        supervisor.close_admission(SECRET)

    assert SECRET not in "".join(span.to_json() for span in exported.spans)
    assert SECRET not in written.getvalue()
