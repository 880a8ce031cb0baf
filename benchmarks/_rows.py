"""The table of what is measured, against what, and what it may cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal

import msgspec
import trio

from . import _by_hand, _supervised
from ._sample import Sample
from ._sizes import BATCH, BUFFER, FEW, STALLED, WATCHERS

ROOT: Final = Path(__file__).parents[1]

_KEPT: Final = 1_000
"""Ended executions that a supervisor keeps: with fewer, dropping the oldest for each new one would not be counted."""

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


def _run(side: Callable[[int], Awaitable[Sample]]) -> Side:
    def sample(count: int) -> Sample:
        return trio.run(side, count)

    return sample


def _importing(modules: str) -> Side:
    """Time an import in a new process, where the interpreter itself is up already."""
    program = (
        "import time; wall, cpu = time.perf_counter(), time.process_time(); "
        f"import {modules}; print(time.perf_counter() - wall, time.process_time() - cpu)"
    )

    def sample(count: int) -> Sample:
        wall = cpu = 0.0
        for _ in range(count):
            command = [sys.executable, "-c", program]
            ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603  # our own
            took = ended.stdout.split()
            wall, cpu = wall + float(took[0]), cpu + float(took[1])
        return Sample(count, wall, cpu)

    return sample


def _rows_of_the_live(*, large: bool) -> tuple[Row, ...]:
    """The rows that are measured twice: with many executions, and with very many."""
    suffix, count = ("-large", 100_000) if large else ("", 10_000)
    ended = 1_000_000 if large else 50_000
    return (
        Row(
            name=f"memory{suffix}",
            work=f"{count:,} waiting executions, with their handles",
            against="as many tasks with a scope and an event",
            unit="execution",
            ours=_run(_supervised.memory),
            other=_run(_by_hand.memory),
            count=count,
            rounds=3,
            budget=1.5,
            quantity="bytes",
            fresh=True,
            large=large,
        ),
        Row(
            name=f"abort{suffix}",
            work=f"abort of {count:,} waiting executions, until all have ended",
            against="cancelling as many scopes, until all have ended",
            unit="execution",
            ours=_run(_supervised.stop_all),
            other=_run(_by_hand.stop_all),
            count=count,
            rounds=3 if large else 7,
            budget=1.3,
            large=large,
            lengths=None if large else (_KEPT, 2 * _KEPT),
            setups=(_run(_supervised.hold_all), _run(_by_hand.hold_all)),
            judged_by="instructions",
        ),
        Row(
            name=f"pause{suffix}",
            work=f"longest wait of another task while {count:,} executions are aborted",
            against="the same while as many scopes are cancelled",
            unit="pause",
            ours=_run(_supervised.pause),
            other=_run(_by_hand.pause),
            count=count,
            rounds=3,
            budget=None,
            large=large,
        ),
        Row(
            name=f"live{suffix}",
            work=f"one call after the other while {count:,} executions wait",
            against=f"the same while {FEW} wait",
            unit="call",
            ours=_run(_supervised.among),
            other=_run(_supervised.among_few),
            count=count,
            rounds=3 if large else 7,
            budget=1.1,
            large=large,
        ),
        Row(
            name=f"ended{suffix}",
            work=f"one call after the other when {ended:,} executions have ended",
            against=f"the same when {FEW} have ended",
            unit="call",
            ours=_run(_supervised.after),
            other=_run(_supervised.after_few),
            count=ended,
            rounds=3 if large else 5,
            budget=1.1,
            large=large,
        ),
    )


ROWS: Final = (
    Row(
        name="sequential",
        work="one validated call of a trivial async tool after the other",
        against="a task with a scope and an event",
        unit="call",
        ours=_run(_supervised.sequential),
        other=_run(_by_hand.sequential),
        count=2_000,
        rounds=15,
        budget=1.5,
        lengths=(_KEPT, 2 * _KEPT),
        judged_by="instructions",
    ),
    Row(
        name="batch",
        work=f"batches of {BATCH:,} such calls",
        against="tasks with a scope, joined by their nursery",
        unit="call",
        ours=_run(_supervised.batch),
        other=_run(_by_hand.batch),
        count=3_000,
        rounds=15,
        budget=1.5,
        lengths=(_KEPT, 2 * _KEPT),
        judged_by="instructions",
    ),
    *_rows_of_the_live(large=False),
    Row(
        name="stalled",
        work=f"batches of {BATCH:,}, with {STALLED} subscribers that never read",
        against="the same with none",
        unit="call",
        ours=_run(_supervised.batch_before_stalled_subscribers),
        other=_run(_supervised.batch),
        count=3_000,
        rounds=15,
        budget=1.1,
        lengths=(_KEPT, 2 * _KEPT),
        judged_by="instructions",
    ),
    Row(
        name="watched",
        work=f"batches of {BATCH:,}, with {WATCHERS} subscribers that keep up",
        against="the same with none",
        unit="call",
        ours=_run(_supervised.batch_before_watchers),
        other=_run(_supervised.batch),
        count=3_000,
        rounds=15,
        budget=1.4,
        lengths=(_KEPT, 2 * _KEPT),
        judged_by="instructions",
    ),
    Row(
        name="stream",
        work="chunks of a stream",
        against=f"numbers through a memory channel of {BUFFER}",
        unit="chunk",
        ours=_run(_supervised.stream),
        other=_run(_by_hand.stream),
        count=20_000,
        rounds=15,
        budget=0.2,
    ),
    Row(
        name="thread",
        work="one call of a sync tool after the other, each in a thread",
        against="a task with a scope and an event round trio.to_thread.run_sync",
        unit="call",
        ours=_run(_supervised.in_threads),
        other=_run(_by_hand.in_threads),
        count=500,
        rounds=15,
        budget=1.15,
        lengths=(_KEPT, _KEPT + 500),
    ),
    Row(
        name="import",
        work="import armory_trio",
        against="import trio, msgspec",
        unit="import",
        ours=_importing("armory_trio"),
        other=_importing("trio, msgspec"),
        count=1,
        rounds=9,
        budget=1.25,
    ),
    *_rows_of_the_live(large=True),
)
"""Every row, in the order of the table. Budgets are ratios to what the row is compared with."""


def row_of(name: str) -> Row:
    """The row called *name*.

    Raises:
        LookupError: There is none.
    """
    for row in ROWS:
        if row.name == name:
            return row
    raise LookupError(f"there is no row {name!r}; there are {', '.join(row.name for row in ROWS)}")
