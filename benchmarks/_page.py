"""``python -m benchmarks._page``: put the tables of a run into the page about performance, between its two marks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from . import _report
from ._report import Report
from ._row import ROOT
from .peers import _tables
from .peers._tables import Comparison

PAGE: Final = ROOT / "docs" / "performance.md"

_BEGIN: Final = "<!-- numbers: begin -->"
_END: Final = "<!-- numbers: end -->"


class PageError(Exception):
    """The page has no place for numbers."""


def filled(page: str, numbers: str) -> str:
    """The page with *numbers* between the marks.

    Raises:
        PageError: The marks are not there, once each and in order.
    """
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end or _BEGIN in rest or _END in after:
        raise PageError(f"the page needs {_BEGIN} and then {_END}, once each")
    return f"{before}{_BEGIN}\n\n{numbers}\n\n{_END}{after}"


def told(report: Report | None, comparison: Comparison | None) -> str:
    """Everything in Markdown."""
    parts = [] if report is None else list(_of_report(report))
    return "\n\n".join(parts + ([] if comparison is None else list(_of_comparison(comparison))))


def _of_report(report: Report) -> Iterator[str]:
    yield "### Against the work by hand"
    yield f"{report.environment}."
    yield "\n".join([_report.VERDICTS.head(), *map(_report.told_by_verdict, report.rows)])
    if report.curves:
        yield "### A call beside others"
        yield "\n".join([_report.POINTS.head(), *map(_report.told_by_points, report.curves)])


def _of_comparison(comparison: Comparison) -> Iterator[str]:
    yield "### Others, side by side"
    yield f"{comparison.environment}. {_tables.versions(comparison)}."
    yield from _tables.tables(comparison)


def main(arguments: Sequence[str]) -> int:
    """Print the tables that *arguments* name, or write them into the page; answer the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks._page", description=__doc__)
    parser.add_argument("--report", type=Path, metavar="FILE", help="what `python -m benchmarks --json` wrote")
    parser.add_argument("--peers", type=Path, metavar="FILE", help="what `python -m benchmarks.peers --json` wrote")
    parser.add_argument("--write", action="store_true", help="change docs/performance.md; without it, only print")
    given = parser.parse_args(arguments)
    report = None if given.report is None else msgspec.json.decode(given.report.read_bytes(), type=Report)
    comparison = None if given.peers is None else msgspec.json.decode(given.peers.read_bytes(), type=Comparison)
    numbers = told(report, comparison)
    if given.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), numbers), encoding="utf-8")
    else:
        print(numbers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
