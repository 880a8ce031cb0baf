"""The page about telemetry lists exactly what is exported."""

from __future__ import annotations

import re

import pytest

import armory_trio
from armory_trio import ChunkEmitted, CustomEmitted, LogWritten, OfExecution, ProgressReported
from armory_trio.observability._narration import FACTS, NAMES
from armory_trio.observability._spans import SPAN_EVENTS, attribute_of
from armory_trio.observability._vocabulary import EVENTS, LABELS, METRICS
from tests.docs import ROOT
from tests.docs_pages.telemetry_page import PAGE, redrawn
from tests.requirements import requirement


def _page() -> str:
    return PAGE.read_text(encoding="utf-8")


@requirement("telemetry.pages")
def test_the_page_lists_what_the_code_exports() -> None:
    assert redrawn(_page()) == _page(), "it is stale: run `python -m tests.docs_pages.telemetry_page`"
    assert LABELS.keys() == METRICS.keys()


@requirement("telemetry.pages", "telemetry.events")
def test_every_event_that_a_span_may_have_is_listed_with_its_attributes() -> None:
    told = {name: {attribute_of(fact) for fact in FACTS.get(kind, ())} for kind, name in SPAN_EVENTS.items()}

    assert told.keys() == EVENTS.keys()
    for name, facts in told.items():
        assert set(re.findall(r"`([\w.]+)`", EVENTS[name])) == facts, name


@requirement("telemetry.pages")
def test_every_kind_of_event_is_told_or_is_the_tool_s_own_words() -> None:
    offered: list[object] = [getattr(armory_trio, name) for name in dir(armory_trio)]
    kinds = {kind for kind in offered if isinstance(kind, type) and issubclass(kind, OfExecution)}

    assert kinds - set(NAMES) == {OfExecution, ChunkEmitted, CustomEmitted, LogWritten, ProgressReported}


@requirement("logs.lines")
def test_the_page_about_logs_lists_every_line() -> None:
    page = (ROOT / "docs" / "logging.md").read_text(encoding="utf-8")

    assert [name for name in NAMES.values() if f"`execution.{name}`" not in page] == []


@requirement("telemetry.pages")
def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has 0 places"):
        redrawn("nothing")
