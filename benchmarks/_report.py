"""The numbers as tables for people, and as JSON for programs."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Final, Literal

import msgspec

from . import _curves
from ._instructions import Instructions
from ._measure import Clock, Ratios, Series
from ._row import Row

_UNITS: Final = (("us", 1e6), ("ms", 1e3), ("s", 1.0))
_WIDE_FROM: Final = 1_000
"""A number that has so many digits before the point is told in the next larger unit."""


class Environment(msgspec.Struct, frozen=True):
    """What the numbers were taken with."""

    python: str
    trio: str
    msgspec: str
    armory_trio: str
    system: str
    cores: int
    load: float | None

    def __str__(self) -> str:
        load = "" if self.load is None else f", load {self.load:.1f}"
        return (
            f"{self.python}, trio {self.trio}, msgspec {self.msgspec}, armory_trio {self.armory_trio}; "
            f"{self.system}, {self.cores} cores{load}"
        )


def environment() -> Environment:
    """What this process runs with."""
    return Environment(
        python=f"{platform.python_implementation()} {platform.python_version()}",
        trio=metadata.version("trio"),
        msgspec=metadata.version("msgspec"),
        armory_trio=metadata.version("armory-trio"),
        system=f"{platform.system()} {platform.machine()}",
        cores=os.cpu_count() or 1,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


class Line(msgspec.Struct, frozen=True):
    """What was found out about one row.

    Args:
        judged_by: What was held against the budget: ``time``, ``bytes`` or ``instructions``.
        judged: That ratio.
        inside: Whether it is within the budget; None when there is none.
    """

    name: str
    work: str
    against: str
    unit: str
    quantity: Literal["time", "bytes"]
    budget: float | None
    judged_by: str
    judged: float
    inside: bool | None
    ratios: Ratios
    instructions: Instructions | None
    series: Series


class Report(msgspec.Struct, frozen=True):
    """Everything that was measured, samples and all."""

    environment: Environment
    clock: Clock
    rows: tuple[Line, ...]
    curves: tuple[_curves.Line, ...] = ()


def line_of(row: Row, series: Series, found: Ratios, instructions: Instructions | None) -> Line:
    """Hold what was found out about *row* against its budget."""
    if row.judged_by == "instructions" and instructions is not None:
        judged_by, judged = "instructions", instructions.ratio
    else:
        judged_by, judged = row.quantity, found.median
    return Line(
        name=row.name,
        work=row.work,
        against=row.against,
        unit=row.unit,
        quantity=row.quantity,
        budget=row.budget,
        judged_by=judged_by,
        judged=judged,
        inside=None if row.budget is None else judged <= row.budget,
        ratios=found,
        instructions=instructions,
        series=series,
    )


# -- for people


class Table:
    """A Markdown table of fixed widths, so that each line can be printed when it is known."""

    __slots__ = ("_columns",)

    def __init__(self, *columns: tuple[str, int]) -> None:
        self._columns = columns

    def head(self) -> str:
        """The names of the columns, and the rule below."""
        rule = "|".join("-" * (width + 2) for _, width in self._columns)
        return f"{self.line(*(name for name, _ in self._columns))}\n|{rule}|"

    def line(self, *cells: str) -> str:
        """One line."""
        padded = (cell.ljust(width) for cell, (_, width) in zip(cells, self._columns, strict=True))
        return f"| {' | '.join(padded)} |"


TIMES: Final = Table(
    ("row", 15),
    ("ratio", 5),
    ("quartiles", 9),
    ("bests", 5),
    ("budget", 6),
    ("inside", 6),
    ("ours", 18),
    ("worst", 7),
    ("against", 18),
)
COUNTS: Final = Table(("row", 15), ("ratio", 5), ("budget", 6), ("inside", 6), ("ours", 12), ("against", 12))

VERDICTS: Final = Table(
    ("row", 17),
    ("ratio (quartiles)", 17),
    ("instructions", 12),
    ("budget", 6),
    ("inside", 20),
    ("ours", 18),
    ("worst", 7),
    ("against", 18),
)
POINTS: Final = Table(("with", 26), ("ratio", 5), ("quartiles", 9), ("cost", 12))


def told_by_samples(row: Row, found: Ratios) -> str:
    """The line of `TIMES` for *row*."""
    return TIMES.line(
        row.name,
        f"{found.median:.2f}",
        f"{found.low:.2f}-{found.high:.2f}",
        f"{found.bests:.2f}",
        *_against_budget(row, found.median),
        f"{amount(row.quantity, found.ours)}/{row.unit}",
        amount(row.quantity, found.worst),
        f"{amount(row.quantity, found.other)}/{row.unit}",
    )


def told_by_instructions(row: Row, found: Instructions) -> str:
    """The line of `COUNTS` for *row*."""
    return COUNTS.line(
        row.name,
        f"{found.ratio:.2f}",
        *_against_budget(row, found.ratio),
        f"{found.ours:,.0f}",
        f"{found.other:,.0f}",
    )


def _against_budget(row: Row, ratio: float) -> tuple[str, str]:
    if row.budget is None:
        return "-", "-"
    return f"{row.budget:.2f}", "yes" if ratio <= row.budget else "no"


def amount(quantity: str, cost: float) -> str:
    """A number of seconds or bytes, in the unit that suits it."""
    if quantity == "bytes":
        return f"{cost:,.0f} B"
    unit, factor = next((pair for pair in _UNITS if cost * pair[1] < _WIDE_FROM), _UNITS[-1])
    return f"{cost * factor:.3g} {unit}"


def told_by_points(line: _curves.Line) -> str:
    """The lines of `POINTS` for a curve."""
    return "\n".join(
        POINTS.line(
            f"{point.at:,} {line.across}",
            f"{point.ratios.median:.2f}",
            f"{point.ratios.low:.2f}-{point.ratios.high:.2f}",
            f"{amount('time', point.ratios.ours)}/call",
        )
        for point in line.points
    )


def told_by_verdict(line: Line) -> str:
    """The line of `VERDICTS` for what was found out about one row."""
    found, counted = line.ratios, line.instructions
    verdict = "-" if line.inside is None else f"{'yes' if line.inside else 'no'}, by {line.judged_by}"
    return VERDICTS.line(
        f"`{line.name}`",
        f"{found.median:.2f} ({found.low:.2f}-{found.high:.2f})",
        "-" if counted is None else f"{counted.ratio:.2f}",
        "-" if line.budget is None else f"{line.budget:.2f}",
        verdict,
        f"{amount(line.quantity, found.ours)}/{line.unit}",
        amount(line.quantity, found.worst),
        f"{amount(line.quantity, found.other)}/{line.unit}",
    )


def legend(row: Row) -> str:
    """What the two sides of *row* are."""
    return f"{row.name}: {row.work}; against {row.against}"
