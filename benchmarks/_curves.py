"""How the cost of a call depends on how much else there is or was: points of a line, each beside its own base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from . import _supervised
from ._measure import Clock, Ratios, Series, measure, ratios
from ._row import Row, run
from ._sample import Sample
from ._sizes import FEW

_QUICK_MOST: Final = 1_000
"""The largest number that a first look goes to."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One line.

    Args:
        name: What the file of the plot is called.
        title: What it says.
        across: What the numbers count.
        ours: The work, while or after there are so many.
        base: The same with `FEW`.
        at: The numbers.
        large: Numbers that are only measured when it is asked for.
        rounds: How many samples are taken at each.
    """

    name: str
    title: str
    across: str
    ours: Callable[[int], Sample]
    base: Callable[[int], Sample]
    at: tuple[int, ...]
    large: tuple[int, ...]
    rounds: int


class Point(msgspec.Struct, frozen=True):
    """The cost at one number, against that with `FEW`."""

    at: int
    ratios: Ratios
    series: Series


class Line(msgspec.Struct, frozen=True):
    """What was found out about one curve."""

    name: str
    title: str
    across: str
    base: int
    points: tuple[Point, ...]


CURVES: Final = (
    Curve(
        name="live",
        title="Cost of a call while others are live",
        across="live executions",
        ours=run(_supervised.among),
        base=run(_supervised.among_few),
        at=(10, 100, 1_000, 10_000),
        large=(100_000,),
        rounds=5,
    ),
    Curve(
        name="ended",
        title="Cost of a call after others have ended",
        across="ended executions",
        ours=run(_supervised.after),
        base=run(_supervised.after_few),
        at=(10, 1_000, 10_000, 100_000),
        large=(1_000_000,),
        rounds=3,
    ),
)
"""Every curve."""


def points_of(curve: Curve, *, large: bool, quick: bool) -> tuple[int, ...]:
    """The numbers at which *curve* is measured."""
    every = curve.at + (curve.large if large else ())
    return tuple(number for number in every if number <= _QUICK_MOST) if quick else every


def trace(curve: Curve, at: tuple[int, ...], *, rounds: int | None, clock: Clock) -> Line:
    """Measure *curve* at each of the numbers."""
    return Line(
        curve.name, curve.title, curve.across, FEW, tuple(_point(curve, number, rounds, clock) for number in at)
    )


def _point(curve: Curve, number: int, rounds: int | None, clock: Clock) -> Point:
    row = Row(
        name=curve.name,
        work=f"one call after the other, {number:,} {curve.across}",
        against=f"the same with {FEW}",
        unit="call",
        ours=curve.ours,
        other=curve.base,
        count=number,
        rounds=curve.rounds,
        budget=None,
    )
    series = measure(row, rounds=_rounds(curve, number) if rounds is None else rounds, count=number)
    return Point(number, ratios(row, series, clock), series)


def _rounds(curve: Curve, number: int) -> int:
    """Where there are so many that it takes long, once is enough: such a sample is a long one."""
    return 1 if number in curve.large else curve.rounds
