"""The page about telemetry lists exactly what is exported."""

from __future__ import annotations

import pytest

from armory_trio.observability._vocabulary import LABELS, METRICS
from tests.docs_pages.telemetry_page import PAGE, redrawn
from tests.requirements import requirement


def _page() -> str:
    return PAGE.read_text(encoding="utf-8")


@requirement("telemetry.pages")
def test_the_page_lists_what_the_code_exports() -> None:
    assert redrawn(_page()) == _page(), "it is stale: run `python -m tests.docs_pages.telemetry_page`"
    assert LABELS.keys() == METRICS.keys()


@requirement("telemetry.pages")
def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has 0 places"):
        redrawn("nothing")
