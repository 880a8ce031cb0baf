"""One line of the table, and how its sides are run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec
import trio

from ._sample import Sample

ROOT: Final = Path(__file__).parents[1]
BYTECODE: Final = ROOT / ".bench" / "bytecode"
"""Where the modules whose import is timed are kept compiled, those of Python itself among them."""

Side = Callable[[int], Sample]
"""Does so much of the work, and tells what it cost."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table.

    Args:
        name: What ``--only`` calls it.
        work: What is measured.
        against: What it is compared with.
        unit: What one number is the cost of.
        ours: The work.
        other: What it is compared with.
        count: How much of it one sample is.
        rounds: How many samples are taken.
        budget: The ratio that it should not exceed; None when the number is only published.
        quantity: What it costs.
        fresh: Whether each sample is taken in a process of its own.
        large: Whether it is only measured when it is asked for, because it takes minutes.
        lengths: Two counts whose difference in instructions is told; None when instructions say nothing about it.
        setups: What comes before the two sides and is not meant, to be taken off their instructions.
        judged_by: Whose ratio is held against the budget. Instructions decide only where they were counted.
    """

    name: str
    work: str
    against: str
    unit: str
    ours: Side
    other: Side
    count: int
    rounds: int
    budget: float | None
    quantity: Literal["time", "bytes"] = "time"
    fresh: bool = False
    large: bool = False
    lengths: tuple[int, int] | None = None
    setups: tuple[Side, Side] | None = None
    judged_by: Literal["sample", "instructions"] = "sample"


@cache
def run(side: Callable[[int], Awaitable[Sample]]) -> Side:
    """*side* as a function that is called, on trio. The same for the same, so that rows are seen to share a side."""

    def sample(count: int) -> Sample:
        return trio.run(side, count)

    return sample


def run_on_asyncio(side: Callable[[int], Coroutine[object, object, Sample]]) -> Side:
    """*side* as a function that is called, on asyncio."""

    def sample(count: int) -> Sample:
        return asyncio.run(side(count))

    return sample


def run_with_fewer(side: Callable[[int], Awaitable[Sample]]) -> Side:
    """*side* on trio, with a tenth of what it is told."""

    def sample(count: int) -> Sample:
        return trio.run(side, max(1, count // 10))

    return sample


def importing(statement: str) -> Side:
    """Time an import in a new process, where the interpreter is up and the bytecode of all modules on disk already."""
    program = (
        "import time; wall, cpu = time.perf_counter(), time.process_time(); "
        f"{statement}; print(time.perf_counter() - wall, time.process_time() - cpu)"
    )

    def sample(count: int) -> Sample:
        wall = cpu = 0.0
        command = [sys.executable, "-c", program]
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(BYTECODE)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(count + 1):
            ended = subprocess.run(  # noqa: S603  # our own
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
            )
            took = ended.stdout.split()
            if number:  # the first writes what bytecode there is not yet
                wall, cpu = wall + float(took[0]), cpu + float(took[1])
        return Sample(count, wall, cpu)

    return sample
