"""``python -m benchmarks._page``: put the tables of a run into the page about performance, each between its own marks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from . import _report
from ._report import Report
from ._row import ROOT
from .peers import _tables
from .peers._tables import Comparison

PAGE: Final = ROOT / "docs" / "performance.md"

Place = Literal["numbers", "others"]
"""What marks a place on the page: of the rows by hand, and of other packages."""


class PageError(Exception):
    """The page has no place for these tables."""


def filled(page: str, place: Place, tables: str) -> str:
    """The page with *tables* between the marks of *place*.

    Raises:
        PageError: The marks are not there, once each and in order.
    """
    first, last = f"<!-- {place}: begin -->", f"<!-- {place}: end -->"
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end or first in rest or last in after:
        raise PageError(f"the page needs {first} and then {last}, once each")
    return f"{before}{first}\n\n{tables}\n\n{last}{after}"


def told(report: Report | None, comparison: Comparison | None) -> dict[Place, str]:
    """What there is to tell, in Markdown, by its place."""
    found: dict[Place, str] = {}
    if report is not None:
        found["numbers"] = "\n\n".join(_of_report(report))
    if comparison is not None:
        found["others"] = "\n\n".join(_of_comparison(comparison))
    return found


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
    found = told(report, comparison)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        for place, tables in found.items():
            page = filled(page, place, tables)
        PAGE.write_text(page, encoding="utf-8")
    else:
        print("\n\n".join(found.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
