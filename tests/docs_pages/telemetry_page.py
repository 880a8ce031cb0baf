"""Draw the tables of docs/telemetry.md from what the code exports.

``python -m tests.docs_pages.telemetry_page`` puts what it draws into the page, in place of what was drawn before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from armory_trio.observability._vocabulary import ATTRIBUTES, EVENTS, LABELS, METRICS
from tests.docs import ROOT

PAGE: Final = ROOT / "docs" / "telemetry.md"


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [titles, ("---",) * len(titles), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("| --- ", "|---").replace("--- |", "---|")


def tables() -> tuple[str, ...]:
    """The tables in Markdown: attributes, events, metrics."""
    return (
        _table(("attribute", "says"), ((f"`{name}`", meaning) for name, meaning in ATTRIBUTES.items())),
        _table(("event of the span", "when, and what it says"), ((f"`{name}`", what) for name, what in EVENTS.items())),
        _table(
            ("metric", "what", "labels"),
            ((f"`{name}`", what, ", ".join(f"`{label}`" for label in LABELS[name])) for name, what in METRICS.items()),
        ),
    )


def redrawn(page: str) -> str:
    """*page* with its tables as they should be.

    Raises:
        ValueError: It does not have one place for each.
    """
    for drawn in tables():
        header = "".join(drawn.splitlines(keepends=True)[:2])
        places = list(re.finditer(re.escape(header) + r"(\|.*\n)*", page))
        if len(places) != 1:
            raise ValueError(f"the page has {len(places)} places for {header.splitlines()[0]!r}, not one")
        page = page[: places[0].start()] + drawn + page[places[0].end() :]
    return page


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
