"""The tables and pictures say what was found out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from benchmarks import _page
from benchmarks._curves import CURVES, points_of, trace
from benchmarks._page import PAGE, PageError, Place, filled, told
from benchmarks._plots import draw_comparison, draw_report
from benchmarks._report import Report
from benchmarks._row import ROOT
from benchmarks._rows import ROWS
from benchmarks.peers._tables import Comparison, tables

from . import made_up


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def texts(path: Path) -> list[str]:
    """What a picture says. A file that is no well-formed XML fails here."""
    root = ET.parse(path).getroot()  # noqa: S314  # we have just drawn it
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return ["".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_report_is_drawn_as_budgets_and_curves(tmp_path: Path) -> None:
    drawn = draw_report(made_up.report(), tmp_path)

    assert [path.name for path in drawn] == ["budgets.svg", "live.svg"]
    budgets, live = map(texts, drawn)
    assert "Ratios against their budgets" in budgets
    # What has no budget is not among the bars.
    assert {text for text in budgets if "(" in text} == {"sequential (instructions)", "thread (time)"}
    assert {text for text in budgets if text[0].isdigit() and " of " in text} == {"1.40 of 1.50", "1.40 of 1.15"}
    assert {"Cost of a call", "live executions", "cost of a call, with 10 = 1"} <= set(live)


def test_a_comparison_is_drawn_once_for_each_number(tmp_path: Path) -> None:
    drawn = draw_comparison(made_up.comparison(), tmp_path)

    assert [path.name for path in drawn] == ["peers-sequential.svg", "peers-memory.svg", "peers-cancel.svg"]
    sequential, memory, _ = map(texts, drawn)
    assert {"armory_trio", "cheap", "dear", "0.50", "1.00", "4.00"} <= set(sequential)
    assert {"armory_trio", "cheap", "0.25", "1.00"} <= set(memory)
    assert "dear" not in memory


def test_a_picture_of_the_same_numbers_is_the_same(tmp_path: Path) -> None:
    [first, *_] = draw_report(made_up.report(), tmp_path)
    before = first.read_bytes()
    draw_report(made_up.report(), tmp_path)

    assert first.read_bytes() == before


def test_nothing_is_drawn_with_unless_something_is_drawn() -> None:
    program = "import sys, benchmarks.__main__, benchmarks.peers.__main__; print('matplotlib' in sys.modules)"

    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ended.stdout == "False\n"


def test_the_cheapest_stands_first_and_who_has_no_number_last() -> None:
    sequential, memory, _ = [table.splitlines() for table in tables(made_up.comparison())]

    assert sequential[0] == "**One validated call after the other**"
    assert [cells(line) for line in sequential[4:]] == [
        ["cheap", "cheap.call", "500 ms", "0.50", "0.50-0.50"],
        ["**armory_trio**", "", "**1 s**", "**1**", ""],
        ["dear", "dear.call", "4 s", "4.00", "4.00-4.00"],
        ["absent", "not installed: there is no such package", "-", "-", "-"],
    ]
    assert memory[0] == "**Memory of each of 10 calls that wait inside their tools**"
    assert [cells(line)[:2] for line in memory[4:]] == [
        ["cheap", "cheap.call"],
        ["**armory_trio**", ""],
        ["dear", "dear.call: it took more than 180 s"],
        ["absent", "not installed: there is no such package"],
    ]


def test_a_page_gets_its_numbers_between_the_marks_and_keeps_the_rest() -> None:
    tables = told(made_up.report(), made_up.comparison())
    marked = "Before.\n\n<!-- numbers: begin -->\nold\n<!-- numbers: end -->\n\nAfter.\n"

    assert list(tables) == ["numbers", "others"]
    assert tables["others"].startswith("### Others, side by side\n")
    once = filled(marked, "numbers", tables["numbers"])

    assert once.startswith("Before.\n\n<!-- numbers: begin -->\n\n### Against the work by hand\n")
    assert once.endswith("\n<!-- numbers: end -->\n\nAfter.\n")
    assert "old" not in once
    assert filled(once, "numbers", tables["numbers"]) == once
    assert [cells(line) for line in once.splitlines() if line.startswith("| `")] == [
        [
            "`sequential`",
            "1.60 (1.50-1.70)",
            "1.40",
            "1.50",
            "yes, by instructions",
            "16 us/call",
            "30 us",
            "10 us/call",
        ],
        ["`thread`", "1.40 (1.30-1.50)", "-", "1.15", "no, by time", "14 us/call", "30 us", "10 us/call"],
        ["`start`", "1.30 (1.20-1.40)", "-", "-", "-", "13 us/call", "30 us", "10 us/call"],
    ]


@pytest.mark.parametrize("page", ["", "<!-- numbers: end --><!-- numbers: begin -->", "<!-- numbers: begin -->" * 2])
def test_a_page_without_a_place_for_numbers_is_refused(page: str) -> None:
    with pytest.raises(PageError, match="the page needs"):
        filled(page, "numbers", "tables")


@pytest.mark.parametrize("place", ["numbers", "others"])
def test_the_page_about_performance_has_a_place_for_each_run(place: Place) -> None:
    page = PAGE.read_text(encoding="utf-8")
    other = "others" if place == "numbers" else "numbers"

    changed = filled(page, place, "tables")

    assert changed != page
    assert changed.count(f"<!-- {other}: begin -->") == 1


def test_the_page_lists_every_row_with_its_budget() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("<!-- numbers: begin -->")[0]
    listed = {cells(line)[0].strip("`"): cells(line)[-1] for line in page.splitlines() if line.startswith("| `")}

    assert {row.name: f"{row.budget:g}" if row.budget else "-" for row in ROWS if not row.large} == listed
    assert [row.name for row in ROWS if row.large and f"`{row.name.removesuffix('-large')}`" not in page] == []


def test_the_page_is_written_only_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, report = tmp_path / "page.md", tmp_path / "report.json"
    page.write_text("<!-- numbers: begin --><!-- numbers: end -->", encoding="utf-8")
    report.write_bytes(msgspec.json.encode(made_up.report()))
    monkeypatch.setattr(_page, "PAGE", page)

    printed_only = _page.main(["--report", os.fspath(report)])
    printed = capsys.readouterr().out
    unchanged = page.read_text(encoding="utf-8")
    written = _page.main(["--report", os.fspath(report), "--write"])

    assert (printed_only, written) == (0, 0)
    assert unchanged == "<!-- numbers: begin --><!-- numbers: end -->"
    assert page.read_text(encoding="utf-8") == f"<!-- numbers: begin -->\n\n{printed.strip()}\n\n<!-- numbers: end -->"


def test_what_was_written_down_can_be_read_again() -> None:
    report, comparison = made_up.report(), made_up.comparison()

    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report
    assert msgspec.json.decode(msgspec.json.encode(comparison), type=Comparison) == comparison


def test_a_curve_has_a_point_for_each_number() -> None:
    [live, ended] = CURVES

    line = trace(live, (10, 20), rounds=1, clock="wall")

    assert [point.at for point in line.points] == [10, 20]
    assert all(point.ratios.median > 0 for point in line.points)
    assert points_of(live, large=True, quick=False)[-1] == 100_000
    assert points_of(ended, large=True, quick=False)[-1] == 1_000_000
    assert max(points_of(ended, large=True, quick=True)) <= 1_000
