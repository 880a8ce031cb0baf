"""Rounds of both sides in turn, and the ratios between neighbours."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from ._child import sample_in_child, side_of
from ._row import Row
from ._sample import Sample

Clock = Literal["wall", "cpu"]
"""Which time counts: that of the clock on the wall, or only that which this process had a processor for."""


class Ratios(msgspec.Struct, frozen=True):
    """How often ours costs what the other costs.

    Args:
        median: The median of the paired ratios.
        low: Their first quartile.
        high: Their third quartile.
        bests: The ratio of the cheapest samples of both sides.
        ours: Our median cost of one unit, in seconds or bytes.
        worst: Our highest.
        other: The median cost of one unit of the other.
    """

    median: float
    low: float
    high: float
    bests: float
    ours: float
    worst: float
    other: float


class Series(msgspec.Struct, frozen=True):
    """All samples of one row: one of the other before and after each of ours."""

    count: int
    ours: tuple[Sample, ...]
    other: tuple[Sample, ...]


def measure(row: Row, *, rounds: int, count: int) -> Series:
    """Take *rounds* samples of ours, each between two of the other."""
    if not row.fresh:
        small = max(1, count // 20)
        row.other(small)
        row.ours(small)
    others = [_sample(row, "other", count)]
    ours: list[Sample] = []
    for _ in range(rounds):
        ours.append(_sample(row, "ours", count))
        others.append(_sample(row, "other", count))
    return Series(count, tuple(ours), tuple(others))


def _sample(row: Row, which: Literal["ours", "other"], count: int) -> Sample:
    return sample_in_child(row, which, count) if row.fresh else side_of(row, which)(count)


def ratios(row: Row, series: Series, clock: Clock) -> Ratios:
    """The ratios of *series*; each of ours is paired with the mean of the others right before and after it."""
    others = [_cost(row, sample, clock) for sample in series.other]
    return compare([_cost(row, sample, clock) for sample in series.ours], list(pairwise(others)))


def compare(costs: Sequence[float], around: Sequence[tuple[float, float]]) -> Ratios:
    """The ratios of *costs*, of which each was taken between the two of the other that *around* has in its place."""
    paired = [cost * 2 / (before + after) for cost, (before, after) in zip(costs, around, strict=True)]
    others = [cost for both in around for cost in both]
    low, median, high = _quartiles(paired)
    return Ratios(
        median=median,
        low=low,
        high=high,
        bests=min(costs) / min(others),
        ours=statistics.median(costs),
        worst=max(costs),
        other=statistics.median(others),
    )


def _cost(row: Row, sample: Sample, clock: Clock) -> float:
    if row.quantity == "bytes":
        return sample.size / sample.units
    return (sample.wall if clock == "wall" else sample.cpu) / sample.units


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, _, high = statistics.quantiles(values, method="inclusive")
    return low, statistics.median(values), high
