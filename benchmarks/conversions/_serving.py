"""The loop round one conversion. Only the standard library is used here."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks._sample import Sample, Stopwatch

__all__ = ("repeated", "timed")

_FIRST = 5
"""Conversions before those that are timed."""


def timed(work: Callable[[int], object]) -> Callable[[int], Sample]:
    """The measure of *work*, which converts as often as it is told to."""

    def measure(count: int) -> Sample:
        work(_FIRST)
        watch = Stopwatch()
        work(count)
        return watch.read(count)

    return measure


def repeated(convert: Callable[[], object]) -> Callable[[int], Sample]:
    """The measure of one conversion."""

    def work(count: int) -> None:
        for _ in range(count):
            convert()

    return timed(work)
