"""The benchmarks run and count what they say. How fast anything is, is nobody's business here."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec
import pytest

from benchmarks import _instructions
from benchmarks.__main__ import main, parse
from benchmarks._child import Which, side_of
from benchmarks._instructions import Instructions, ValgrindError
from benchmarks._measure import Series, measure, ratios
from benchmarks._report import Report, line_of, told_by_instructions, told_by_samples
from benchmarks._row import ROOT, Row
from benchmarks._rows import ROWS, row_of
from benchmarks._sample import Sample

TINY: Final = 20
"""Units of work that show whether a row runs."""

GROWTH: Final = 2_000
"""Executions that are enough for the system to give the process more pages."""


def names(*, large: bool = False) -> list[str]:
    return [row.name for row in ROWS if row.large is large]


def less(name: str, units: int) -> int:
    """How much the other side of a row does when ours does so much: the same, but where more and fewer are compared."""
    return units // 10 if name.startswith("inspect") or name.endswith("-linear") else units


@pytest.mark.parametrize("name", names())
def test_each_row_measures_both_sides(name: str) -> None:
    row = row_of(name)
    count = 1 if row.count == 1 else GROWTH if row.quantity == "bytes" else TINY

    series = measure(row, rounds=1, count=count)
    found = ratios(row, series, "wall")

    assert len(series.ours) == 1
    assert len(series.other) == 2
    assert {sample.units for sample in series.other} == {less(name, series.ours[0].units)}
    for number in (found.median, found.low, found.high, found.bests, found.ours, found.other):
        assert 0 < number < math.inf
    if row.quantity == "bytes":
        # A task alone takes some hundreds; what was there before the executions is megabytes.
        assert 500 < found.ours < 50_000
        assert 500 < found.other < 50_000


def test_the_large_rows_are_the_small_ones_with_more() -> None:
    for name in names(large=True):
        large, small = row_of(name), row_of(name.removesuffix("-large").removesuffix("-linear"))
        assert large.count > small.count
        assert (large.unit, large.quantity) == (small.unit, small.quantity)
        # Ten times as many are compared with what is linear in them, not with what is written by hand.
        assert (large.budget == small.budget) is not name.endswith("-linear")


@pytest.mark.parametrize("which", ["ours-setup", "other-setup"])
def test_a_set_up_ends_its_process_before_the_work_begins(which: Which) -> None:
    command = [sys.executable, "-m", "benchmarks._child", "abort", which, str(TINY)]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_row_without_a_set_up_of_its_own_says_so() -> None:
    with pytest.raises(LookupError, match="row batch has no set-up"):
        side_of(row_of("batch"), "ours-setup")


def row_with(*, budget: float | None = 1.5, by_instructions: bool = False) -> Row:
    def nothing(count: int) -> Sample:
        return Sample(count)

    return Row(
        name="made-up",
        work="something",
        against="something else",
        unit="call",
        ours=nothing,
        other=nothing,
        count=10,
        rounds=3,
        budget=budget,
        judged_by="instructions" if by_instructions else "sample",
    )


def series_of(ours: list[float], other: list[float]) -> Series:
    """Ten calls a sample, so long by the clock on the wall and half as long by that of the processor."""
    return Series(
        10,
        tuple(Sample(10, wall, wall / 2) for wall in ours),
        tuple(Sample(10, wall, wall / 2) for wall in other),
    )


def test_each_sample_of_ours_is_paired_with_its_neighbours() -> None:
    found = ratios(row_with(), series_of([3.0, 40.0, 6.0], [1.0, 2.0, 18.0, 2.0]), "wall")

    # 3 / 1.5, 40 / 10 and 6 / 10
    assert [found.low, found.median, found.high] == pytest.approx([1.3, 2.0, 3.0])
    assert found.bests == pytest.approx(3.0)
    assert [found.ours, found.other] == pytest.approx([0.6, 0.2])


def test_the_clock_of_the_processor_can_be_read_instead() -> None:
    found = ratios(row_with(), series_of([4.0], [2.0, 2.0]), "cpu")

    assert found.ours == pytest.approx(0.2)
    assert [found.low, found.median, found.high] == pytest.approx([2.0, 2.0, 2.0])


def test_instructions_decide_where_they_were_counted_and_are_meant_to() -> None:
    row, series = row_with(by_instructions=True), series_of([4.0], [2.0, 2.0])
    found = ratios(row, series, "wall")

    by_time = line_of(row, series, found, None)
    by_instructions = line_of(row, series, found, Instructions(140.0, 100.0))
    for_information = line_of(row_with(), series, found, Instructions(140.0, 100.0))

    assert (by_time.judged_by, by_time.inside) == ("time", False)
    assert (by_instructions.judged_by, by_instructions.inside) == ("instructions", True)
    assert (for_information.judged_by, for_information.inside) == ("time", False)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_says_its_budget_and_whether_it_is_inside() -> None:
    series = series_of([4.0], [2.0, 2.0])
    found = ratios(row_with(), series, "wall")

    beyond = cells(told_by_samples(row_with(), found))
    inside = cells(told_by_samples(row_with(budget=2.0), found))
    published = cells(told_by_samples(row_with(budget=None), found))
    counted = cells(told_by_instructions(row_with(), Instructions(150_000.0, 100_000.0)))

    assert beyond == ["made-up", "2.00", "2.00-2.00", "2.00", "1.50", "no", "400 ms/call", "400 ms", "200 ms/call"]
    assert inside[4:6] == ["2.00", "yes"]
    assert published[4:6] == ["-", "-"]
    assert counted == ["made-up", "1.50", "1.50", "yes", "150,000", "100,000"]


def test_instructions_are_those_of_the_difference_without_the_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # A process takes 5,000 to start; holding an execution takes 30, stopping ours 20 and the other 10.
    costs = {"ours": 50, "other": 40, "ours-setup": 30, "other-setup": 30}

    def collected(name: str, which: Which, count: int) -> int:
        assert name == "abort"
        return 5_000 + costs[which] * count

    monkeypatch.setattr(_instructions, "collected", collected)

    assert _instructions.count_instructions(row_of("abort")) == Instructions(20.0, 10.0)


def valgrind_that(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called valgrind first in the path."""
    program = directory / "valgrind"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")


def test_the_total_is_read_from_what_valgrind_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in says one million, and a thousand for each unit: the last of its arguments is the count."""
    script = 'for last; do :; done; echo "==1== I   refs:      $((1000 + last)),000" >&2'
    valgrind_that(tmp_path, monkeypatch, script)
    _instructions.collected.cache_clear()

    assert _instructions.available()
    assert _instructions.count_instructions(row_of("sequential")) == Instructions(1_000.0, 1_000.0)


def test_a_side_that_rows_share_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[str, Which]] = []

    def collected(name: str, which: Which, count: int) -> int:
        counted.append((name, which))
        return count

    monkeypatch.setattr(_instructions, "collected", collected)
    _instructions.count_instructions(row_of("stalled"))

    # Nothing is stalled on the other side, which is what `batch` measures.
    assert set(counted) == {("stalled", "ours"), ("batch", "ours")}


def test_a_valgrind_that_fails_is_told_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    valgrind_that(tmp_path, monkeypatch, "echo 'unhandled instruction' >&2; exit 1")
    _instructions.collected.cache_clear()

    with pytest.raises(ValgrindError, match="ended with 1:\nunhandled instruction"):
        _instructions.count_instructions(row_of("sequential"))


# -- the command


def test_the_command_prints_a_table_and_writes_everything_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "numbers.json"

    status = main(["--only", "sequential", "--only", "stream", "--quick", "--rounds", "2", "--json", str(path)])
    report = msgspec.json.decode(path.read_bytes(), type=Report)

    printed = capsys.readouterr().out
    assert status == 0
    assert [cells(line)[0] for line in printed.splitlines() if line.startswith("|")][2:] == ["sequential", "stream"]
    assert "stream: chunks of a stream; against numbers through a memory channel of 64" in printed
    assert [line.name for line in report.rows] == ["sequential", "stream"]
    for line in report.rows:
        assert line.series.count == row_of(line.name).count // 10
        assert len(line.series.ours) == 2
        assert line.instructions is None
    assert report.environment.trio in printed
    assert report.curves == ()


def test_without_a_choice_all_but_the_large_rows_are_measured() -> None:
    assert [row.name for row in parse([]).rows] == names()
    assert [row.name for row in parse(["--large"]).rows] == [row.name for row in ROWS]
    assert [row.name for row in parse(["--only", "live-large"]).rows] == ["live-large"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nothing"], "invalid choice: 'nothing'"),
        (["--rounds", "0"], "'0' is no number of rounds; give 1 or more"),
        (["--rounds", "many"], "'many' is no number of rounds; give 1 or more"),
        (["--json", "no/such/place/x.json"], "there is no directory"),
    ],
)
def test_a_wrong_command_line_is_refused_before_anything_is_measured(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)

    assert leaving.value.code == 2
    assert message in capsys.readouterr().err


def test_instructions_without_valgrind_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SystemExit) as leaving:
        main(["--instructions"])

    assert leaving.value.code == 2
    assert "--instructions needs valgrind, which is not installed here" in capsys.readouterr().err


def test_help_names_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["--help"])

    printed = capsys.readouterr().out
    assert leaving.value.code == 0
    assert [row.name for row in ROWS if f"  {row.name}: " not in printed] == []


def test_a_row_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(LookupError, match="there is no row 'fast'; there are sequential, batch, batch-joined"):
        row_of("fast")
