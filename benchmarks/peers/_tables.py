"""What was found out about everybody, as tables for people and as JSON for programs."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter
from typing import Final

import msgspec

from benchmarks._measure import Ratios
from benchmarks._report import Environment, amount

from ._compare import Found, Quantity


class Heading(msgspec.Struct, frozen=True):
    """One table: what it is called, what stands above it, and which number of a measure it shows."""

    name: str
    measure: str
    title: str
    quantity: Quantity = "time"


HEADINGS: Final = (
    Heading("sequential", "sequential", "One validated call after the other"),
    Heading("batch", "batch", "A batch of {count:,} at once, per call"),
    Heading("thread", "thread", "A sync tool, one call after the other"),
    Heading("memory", "hold", "Memory of each of {count:,} calls that wait inside their tools", "bytes"),
    Heading("cancel", "hold", "Cancelling {count:,} calls that wait inside their tools, per call"),
)
"""Every table, in order."""


class Contender(msgspec.Struct, frozen=True):
    """Which version of whom; or why it was not measured."""

    name: str
    distribution: str
    version: str
    error: str | None = None


class Comparison(msgspec.Struct, frozen=True):
    """Everything that was measured, samples and all. The first contender is what the others are compared with."""

    environment: Environment
    contenders: tuple[Contender, ...]
    found: tuple[Found, ...]


def title_of(comparison: Comparison, heading: Heading) -> str:
    """What stands above a table: it says how many calls one sample was, where that was the same for all."""
    counts = [found.samples[0].units for found, _ in _measured(comparison, heading)]
    return heading.title.format(count=counts[0] if counts else 0)


def ranked(comparison: Comparison, heading: Heading) -> list[tuple[str, float, float]]:
    """Everybody who has a number there, the base included: the ratio to the base, and the cost in seconds or bytes.

    The smallest ratio stands first. It was taken in pairs, so it says more than the costs, which are medians of the run.
    """
    every = [(found.contender, ratios.median, ratios.ours) for found, ratios in _measured(comparison, heading)]
    bases = [ratios.other for _, ratios in _measured(comparison, heading)]
    base = [(comparison.contenders[0].name, 1.0, statistics.median(bases))] if bases else []
    return sorted([*every, *base], key=itemgetter(1))


def tables(comparison: Comparison, headings: Sequence[Heading] = HEADINGS) -> Iterator[str]:
    """Each table in Markdown, with a heading; the cheapest first, and whoever has no number last."""
    measured = {found.measure for found in comparison.found}
    return (_table(comparison, heading) for heading in headings if heading.measure in measured)


def _table(comparison: Comparison, heading: Heading) -> str:
    base = comparison.contenders[0].name
    known = {found.contender: (found, ratios) for found, ratios in _measured(comparison, heading)}
    head = ["| | what is called | cost | times that of " + base + " | quartiles |", "|---|---|---|---|---|"]
    lines = [
        _row(heading, known[name][0], cost, known[name][1])
        if name in known
        else f"| **{name}** | | **{amount(heading.quantity, cost)}** | **1** | |"
        for name, _, cost in ranked(comparison, heading)
    ]
    return "\n".join(
        [f"**{title_of(comparison, heading)}**", "", *head, *lines, *_without_numbers(comparison, heading, known)]
    )


def _without_numbers(comparison: Comparison, heading: Heading, known: Collection[str]) -> Iterator[str]:
    for found in comparison.found:
        if found.measure == heading.measure and found.contender not in known:
            why = found.api if found.error in {None, found.api} else f"{found.api}: {found.error}"
            yield f"| {found.contender} | {why} | - | - | - |"
    for contender in comparison.contenders:
        if contender.error is not None:
            yield f"| {contender.name} | {contender.error} | - | - | - |"


def _measured(comparison: Comparison, heading: Heading) -> Iterator[tuple[Found, Ratios]]:
    for found in comparison.found:
        ratios = found.ratios(heading.quantity) if found.measure == heading.measure else None
        if ratios is not None:
            yield found, ratios


def _row(heading: Heading, found: Found, cost: float, ratios: Ratios) -> str:
    quartiles = f"{ratios.low:.2f}-{ratios.high:.2f}"
    return f"| {found.contender} | {found.api} | {amount(heading.quantity, cost)} | {ratios.median:.2f} | {quartiles} |"


def versions(comparison: Comparison) -> str:
    """Who was measured, in a line."""
    return ", ".join(f"{one.distribution} {one.version}" for one in comparison.contenders if one.error is None)
