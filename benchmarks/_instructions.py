"""Instructions instead of seconds: repeatable on any machine, and slow. Needs valgrind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from typing import Final

import msgspec

from ._child import Which, command_of, side_of
from ._row import ROOT, Row
from ._rows import ROWS, row_of

_CACHEGRIND: Final = ("valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={os.devnull}")
_TOTAL: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


_SIDES: Final[tuple[Which, ...]] = ("ours", "other")


class Instructions(msgspec.Struct, frozen=True):
    """What one unit costs on both sides, in instructions."""

    ours: float
    other: float

    @property
    def ratio(self) -> float:
        """How often ours costs what the other costs."""
        return self.ours / self.other


class ValgrindError(Exception):
    """Valgrind did not count anything."""


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def count_instructions(row: Row) -> Instructions:
    """Count the instructions of one unit of both sides of *row*, which has lengths.

    Each side runs with two lengths, so that what does not grow with them, such as starting Python, cancels out.

    Raises:
        ValgrindError: Valgrind failed.
    """
    return Instructions(_of_one_unit(row, "ours", "ours-setup"), _of_one_unit(row, "other", "other-setup"))


def _of_one_unit(row: Row, side: Which, setup: Which) -> float:
    assert row.lengths is not None
    short, long = row.lengths
    both = collected(*_first_like(row, side), long) - collected(*_first_like(row, side), short)
    if row.setups is not None:
        both -= collected(row.name, setup, long) - collected(row.name, setup, short)
    return both / (long - short)


def _first_like(row: Row, which: Which) -> tuple[str, Which]:
    """The first row with the same function on one of its sides: many share one, which is counted only once."""
    for other in ROWS:
        for side in _SIDES:
            if side_of(other, side) is side_of(row, which):
                return other.name, side
    return row.name, which


@cache
def collected(name: str, which: Which, count: int) -> int:
    """The instructions of a whole process, all its threads together."""
    command = [*_CACHEGRIND, *command_of(row_of(name), which, count)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    ended = subprocess.run(  # noqa: S603  # our own program
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    found = _TOTAL.search(ended.stderr)
    if ended.returncode or found is None:
        raise ValgrindError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
    return int(found[1].replace(",", ""))
