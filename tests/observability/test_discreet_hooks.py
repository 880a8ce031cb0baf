"""A secret that code of the host's raises, in whatever place that is called, is told to nobody."""

from __future__ import annotations

import io
import tempfile
from typing import Final, cast

import msgspec
import pytest
import trio

from armory_trio import Happening, ToolCall, open_supervisor, replay
from armory_trio.cli._top_once import Output, document, lines_of
from armory_trio.engine import AuthorityOptions, CallOptions
from armory_trio.engine._feed import EventReader
from armory_trio.journal import JournalStore
from armory_trio.ledger import MemoryLedger, words_of
from armory_trio.observability.live import Query
from armory_trio.observability.logs import log_executions
from armory_trio.observability.otel import instrument
from armory_trio.storage.memory import MemoryJournal
from tests.requirements import requirement

from .exporting import Exported
from .failing import SECRET
from .hooks import NAMES, Raise, chained, grouped, places
from .hosts import desk_of
from .test_discreet import METADATA, WHO, written

__all__ = ("written",)


OUTPUT: Final = Output(as_json=False, encoding="utf-8", is_colored=False, interval=1.0)


def all_of(reader: EventReader[Happening]) -> list[str]:
    """What there is to be read."""
    found: list[str] = []
    while True:
        try:
            found.append(repr(reader.next_nowait()))
        except trio.WouldBlock:
            return found


@requirement("telemetry.discreet", "logs.withheld")
@pytest.mark.parametrize("fail", [chained, grouped])
@pytest.mark.parametrize("name", NAMES)
async def test_a_secret_that_a_hook_raises_is_told_to_nobody(
    name: str,
    fail: Raise,
    written: io.StringIO,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    recwarn: pytest.WarningsRecorder,
) -> None:
    raised: list[object] = []

    def counted(*_: object, **__: object) -> None:
        raised.append(fail)
        fail()

    [place] = [each for each in places(counted) if each.name == name]
    exported, frames = Exported(), list[str]()
    journal = MemoryJournal() if place.journal is None else cast("JournalStore", place.journal)
    authority: AuthorityOptions = {"ledger": MemoryLedger(), **place.authority}
    options: CallOptions = {"request_context": WHO, "metadata": METADATA}
    if place.elicit is not None:
        options["elicit"] = place.elicit
    if name != "key-of-the-tool":
        options["idempotency_key"] = SECRET
    async with (
        open_supervisor(place.made(), journal=journal, **authority) as supervisor,
        supervisor.events() as reader,
    ):
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        log_executions(supervisor)
        place.attach(supervisor)
        executions = [supervisor.start(ToolCall("pay", {"secret": SECRET}), **options) for _ in range(place.calls)]
        for execution in executions:
            await execution.settled()
        async with desk_of(supervisor) as (_, look):
            query = Query(states=("all",), detail=executions[-1].id)
            for _ in range(2):
                frame = await look(query)
                with tempfile.TemporaryFile() as no_terminal:
                    frames += [document(frame), *lines_of(frame, query, no_terminal.fileno(), OUTPUT)]
        snapshots = supervisor.executions.inspect()
        events = all_of(reader)
        metrics = exported.reader.get_metrics_data()

    assert raised, "the place is not reached"
    assert supervisor.report is not None and metrics is not None
    assert any("pay" in text for text in frames)
    shown = capfd.readouterr()
    told = {
        "spans": [span.to_json() for span in exported.spans],
        "metrics": [metrics.to_json()],
        "log lines": [written.getvalue()],
        "log records": [f"{record.getMessage()} {record.exc_text} {record.args}" for record in caplog.records],
        "warnings": [f"{each.message}" for each in recwarn],
        "standard streams": [shown.out, shown.err],
        "snapshots": [msgspec.json.encode(snapshots).decode(), repr(snapshots)],
        "events": events,
        "the report": [*supervisor.report.lines(), repr(supervisor.report)],
        "the live view": frames,
    }
    ledger = authority.get("ledger")
    if isinstance(ledger, MemoryLedger):
        told["the ledger"] = [words_of(attempt) for attempt in await ledger.list()]
    if isinstance(journal, MemoryJournal):
        told["the journal"] = [repr(shot) for shot in (await replay(journal)).inspect()]
    assert [where for where, texts in told.items() if any(SECRET in text for text in texts)] == []
