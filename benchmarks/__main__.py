"""``python -m benchmarks``: measure the rows of the table, and say which are inside their budgets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from . import _instructions, _report
from ._curves import CURVES, Curve, Line, points_of, trace
from ._instructions import Instructions, ValgrindError
from ._measure import Clock, Ratios, Series, measure, ratios
from ._plots import draw_report
from ._row import Row
from ._rows import ROWS
from ._sizes import FEW

_QUICK_ROUNDS: Final = 3
_QUICK_PART: Final = 10

_ABOUT: Final = """\
Each row is a ratio: what armory_trio takes, to what the same work takes when a careful engineer writes it by hand on
trio, without supervision (or, where the row says so, to armory_trio itself without the burden). Both sides run in turn
in one go, and each sample of ours is paired with those of the other right before and after it, since machines swing
twofold within seconds. Read the ratios; the absolute numbers are for information.
"""

_LEGEND: Final = """\
ratio: median of the paired ratios; quartiles: of the same; bests: cheapest sample of ours to cheapest of the other.
budget: what the ratio may be; inside: whether it is. Costs are medians, but for the worst of ours. Of sequential, batch,
abort, stalled and watched the ratio of instructions decides, where it was counted (--instructions)."""


_TIMES_BY: Final[dict[Clock, str]] = {
    "wall": "Times by the clock on the wall:",
    "cpu": "Times for which the process had a processor:",
}


class Options(msgspec.Struct, frozen=True):
    """What was asked for."""

    rows: tuple[Row, ...]
    rounds: int | None
    quick: bool
    clock: Clock
    instructions: bool
    curves: tuple[tuple[Curve, tuple[int, ...]], ...]
    json: Path | None
    plots: Path | None

    def rounds_of(self, row: Row) -> int:
        """How many samples of *row* are taken."""
        if self.rounds is not None:
            return self.rounds
        return min(_QUICK_ROUNDS, row.rounds) if self.quick else row.rounds

    def count_of(self, row: Row) -> int:
        """How much work one sample of *row* is."""
        return max(1, row.count // _QUICK_PART) if self.quick else row.count


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line.

    Raises:
        SystemExit: It is wrong, which was said on stderr, or it only asked for help.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=_ABOUT,
        epilog="rows:\n" + "\n".join(f"  {_report.legend(row)}" for row in ROWS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [row.name for row in ROWS]
    parser.add_argument(
        "--only", action="append", metavar="ROW", choices=names, help="measure this row; may be repeated"
    )
    parser.add_argument("--large", action="store_true", help="measure the large rows too; they take many minutes")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work and three rounds, for a first look")
    parser.add_argument("--rounds", type=_rounds, metavar="N", help="samples of ours in each row; by default 3 to 45")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu counts only the time for which the process had a processor: steadier beside busy neighbours, but "
        "blind to waiting (default: wall)",
    )
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="also count instructions where they say more; needs valgrind and many minutes",
    )
    parser.add_argument(
        "--curves",
        action="store_true",
        help="also measure how a call's cost depends on what else is live, or has ended",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to FILE, all samples included")
    parser.add_argument(
        "--plots", type=Path, metavar="DIR", help="draw the budgets and the curves in DIR; needs matplotlib"
    )
    given = parser.parse_args(arguments)
    if given.instructions and not _instructions.available():
        parser.error("--instructions needs valgrind, which is not installed here")
    if given.json is not None and not given.json.absolute().parent.is_dir():
        parser.error(f"--json {given.json}: there is no directory {given.json.absolute().parent}")
    if given.plots is not None and find_spec("matplotlib") is None:
        parser.error("--plots needs matplotlib, which is not installed here")
    rows = tuple(row for row in ROWS if (row.name in given.only if given.only else given.large or not row.large))
    curves = tuple((curve, points_of(curve, large=given.large, quick=given.quick)) for curve in CURVES)
    return Options(
        rows=rows,
        rounds=given.rounds,
        quick=given.quick,
        clock=given.clock,
        instructions=given.instructions,
        curves=curves if given.curves else (),
        json=given.json,
        plots=given.plots,
    )


def _rounds(text: str) -> int:
    try:
        rounds = int(text)
    except ValueError:
        rounds = 0
    if rounds < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rounds; give 1 or more")
    return rounds


def main(arguments: Sequence[str]) -> int:
    """Measure what *arguments* ask for, and answer the exit status: 0 also when a row is beyond its budget."""
    options = parse(arguments)
    environment = _report.environment()
    print(f"{environment}\n\n{_TIMES_BY[options.clock]}\n\n{_report.TIMES.head()}", flush=True)
    measured = [_measure(row, options) for row in options.rows]
    counted = _count(options)
    curves = _trace(options)
    print("\n" + "\n".join(_report.legend(row) for row in options.rows))
    print(f"\n{_LEGEND}")
    lines = tuple(
        _report.line_of(row, series, found, counted.get(row.name))
        for row, (series, found) in zip(options.rows, measured, strict=True)
    )
    _keep(_report.Report(environment, options.clock, lines, curves), options)
    return 0


def _keep(report: _report.Report, options: Options) -> None:
    if options.json is not None:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    if options.plots is not None:
        options.plots.mkdir(parents=True, exist_ok=True)
        for path in draw_report(report, options.plots):
            print(f"drawn: {path}")


def _measure(row: Row, options: Options) -> tuple[Series, Ratios]:
    series = measure(row, rounds=options.rounds_of(row), count=options.count_of(row))
    found = ratios(row, series, options.clock)
    print(_report.told_by_samples(row, found), flush=True)
    return series, found


def _count(options: Options) -> dict[str, Instructions]:
    rows = [row for row in options.rows if row.lengths is not None] if options.instructions else []
    counted: dict[str, Instructions] = {}
    if rows:
        print(f"\nInstructions of one unit:\n\n{_report.COUNTS.head()}", flush=True)
    for row in rows:
        counted[row.name] = _instructions.count_instructions(row)
        print(_report.told_by_instructions(row, counted[row.name]), flush=True)
    judged = [row.name for row in rows if row.judged_by == "instructions"]
    if judged:
        print(f"\nJudged by instructions: {', '.join(judged)}.")
    return counted


def _trace(options: Options) -> tuple[Line, ...]:
    traced: list[Line] = []
    for curve, at in options.curves:
        print(f"\n{curve.title}, against the same with {FEW}:\n\n{_report.POINTS.head()}", flush=True)
        traced.append(trace(curve, at, rounds=options.rounds, clock=options.clock))
        print(_report.told_by_points(traced[-1]), flush=True)
    return tuple(traced)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ValgrindError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
