"""Numbers that nobody measured, to be told and drawn."""

from __future__ import annotations

from benchmarks._curves import Line as CurveLine
from benchmarks._curves import Point
from benchmarks._instructions import Instructions
from benchmarks._measure import Ratios, Series
from benchmarks._report import Line, Report, environment, line_of
from benchmarks._rows import row_of
from benchmarks._sample import Sample
from benchmarks.peers._compare import Found
from benchmarks.peers._tables import Comparison, Contender


def ratios_with(median: float) -> Ratios:
    return Ratios(
        median=median, low=median - 0.1, high=median + 0.1, bests=median, ours=median * 1e-5, worst=3e-5, other=1e-5
    )


def line_with(name: str, median: float, instructions: Instructions | None = None) -> Line:
    samples = Series(1, (Sample(1, 1.0, 1.0, 1),), (Sample(1, 1.0, 1.0, 1), Sample(1, 1.0, 1.0, 1)))
    return line_of(row_of(name), samples, ratios_with(median), instructions)


def report() -> Report:
    """A row inside its budget, one beyond it, one without any, and a curve."""
    samples = Series(1, (), ())
    points = tuple(Point(at, ratios_with(1.0 + at / 1e5), samples) for at in (10, 1_000, 10_000))
    rows = (
        line_with("sequential", 1.6, Instructions(140.0, 100.0)),
        line_with("thread", 1.4),
        line_with("start", 1.3),
    )
    return Report(environment(), "wall", rows, (CurveLine("live", "Cost of a call", "live executions", 10, points),))


def found(contender: str, measure: str, cost: float, error: str | None = None) -> Found:
    """Two samples of ten calls that each take *cost* seconds and as many kilobytes, where the base takes one of each."""
    base = Sample(10, 10.0, 10.0, 10_000)
    sample = Sample(10, cost * 10, cost * 10, round(cost * 10_000))
    return Found(contender, measure, f"{contender}.call", (sample, sample), ((base, base), (base, base)), error)


def comparison() -> Comparison:
    """One that is cheaper, one that is dearer, one that cannot do it all, and one that is not installed."""
    contenders = (
        Contender("armory_trio", "armory-trio", "0.1.0"),
        Contender("cheap", "cheap", "1.0"),
        Contender("dear", "dear", "2.0"),
        Contender("absent", "", "", "not installed: there is no such package"),
    )
    every = (
        found("cheap", "sequential", 0.5),
        found("dear", "sequential", 4.0),
        found("cheap", "hold", 0.25),
        found("dear", "hold", 4.0, "it took more than 180 s"),
    )
    return Comparison(environment(), contenders, every)
