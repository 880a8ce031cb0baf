"""The table of what is measured, against what, and what it may cost."""

from __future__ import annotations

from typing import Final

from . import _by_hand, _hosted, _killing, _supervised, _telemetry
from ._row import Row, importing, run, run_on_asyncio, run_with_fewer
from ._sizes import BATCH, BUFFER, CALLS, FEW, STALLED, WATCHERS

_KEPT: Final = 1_000
"""Ended executions that a supervisor keeps: with fewer, dropping the oldest for each new one would not be counted."""


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
            ours=run(_supervised.memory),
            other=run(_by_hand.memory),
            count=count,
            rounds=2 if large else 3,
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
            ours=run(_supervised.stop_all),
            other=run(_by_hand.stop_all),
            count=count,
            rounds=4 if large else 7,
            budget=1.3,
            large=large,
            lengths=None if large else (_KEPT, 2 * _KEPT),
            setups=(run(_supervised.hold_all), run(_by_hand.hold_all)),
            judged_by="instructions",
        ),
        Row(
            name=f"pause{suffix}",
            work=f"longest wait of another task while {count:,} executions are aborted",
            against="the same while as many scopes are cancelled",
            unit="pause",
            ours=run(_supervised.pause),
            other=run(_by_hand.pause),
            count=count,
            rounds=2 if large else 3,
            budget=None,
            large=large,
        ),
        Row(
            name=f"inspect{suffix}",
            work=f"a snapshot of each of {count:,} waiting executions",
            against=f"the same of {count // 10:,}",
            unit="snapshot",
            ours=run(_supervised.inspect),
            other=run_with_fewer(_supervised.inspect),
            count=count,
            rounds=2 if large else 5,
            budget=None,
            large=large,
        ),
        Row(
            name=f"live{suffix}",
            work=f"one call after the other while {count:,} executions wait",
            against=f"the same while {FEW} wait",
            unit="call",
            ours=run(_supervised.among),
            other=run(_supervised.among_few),
            count=count,
            rounds=4 if large else 7,
            budget=1.1,
            large=large,
        ),
        Row(
            name=f"live-pause{suffix}",
            work=f"longest wait of another task during {CALLS:,} calls while {count:,} executions wait",
            against=f"the same while {FEW} wait",
            unit="pause",
            ours=run(_supervised.pause_among),
            other=run(_supervised.pause_among_few),
            count=count,
            rounds=2 if large else 5,
            budget=None,
            large=large,
        ),
        Row(
            name=f"ended{suffix}",
            work=f"one call after the other when {ended:,} executions have ended",
            against=f"the same when {FEW} have ended",
            unit="call",
            ours=run(_supervised.after),
            other=run(_supervised.after_few),
            count=ended,
            rounds=2 if large else 5,
            budget=1.1,
            large=large,
        ),
    )


_LINEAR: Final = (
    Row(
        name="memory-linear",
        work="each of 100,000 waiting executions, with their handles",
        against="each of 10,000",
        unit="execution",
        ours=run(_supervised.memory),
        other=run_with_fewer(_supervised.memory),
        count=100_000,
        rounds=2,
        budget=1.1,
        quantity="bytes",
        fresh=True,
        large=True,
    ),
    Row(
        name="abort-linear",
        work="abort of 100,000 waiting executions, until all have ended",
        against="abort of 10,000",
        unit="execution",
        ours=run(_supervised.stop_all),
        other=run_with_fewer(_supervised.stop_all),
        count=100_000,
        rounds=2,
        budget=1.25,
        large=True,
    ),
)
"""Ten times as many cost ten times as much, within what large heaps cost a processor."""


ROWS: Final = (
    Row(
        name="sequential",
        work="one validated call of a trivial async tool after the other",
        against="a task with a scope and an event",
        unit="call",
        ours=run(_supervised.sequential),
        other=run(_by_hand.sequential),
        count=2_000,
        rounds=15,
        budget=1.5,
        lengths=(_KEPT, 2 * _KEPT),
        judged_by="instructions",
    ),
    Row(
        name="batch",
        work=f"batches of {BATCH:,} such calls",
        against="tasks with a scope and an event each, all waited for",
        unit="call",
        ours=run(_supervised.batch),
        other=run(_by_hand.batch),
        count=3_000,
        rounds=15,
        budget=1.5,
        lengths=(_KEPT, 2 * _KEPT),
        judged_by="instructions",
    ),
    Row(
        name="batch-joined",
        work=f"batches of {BATCH:,} such calls",
        against="tasks with a scope but no event, joined by a nursery of the batch: the least that does it",
        unit="call",
        ours=run(_supervised.batch),
        other=run(_by_hand.batch_joined),
        count=3_000,
        rounds=15,
        budget=None,
        lengths=(_KEPT, 2 * _KEPT),
    ),
    Row(
        name="start",
        work=f"{BATCH:,} such calls through their handles: all started, then each asked for its result",
        against="tasks with a scope and an event each, all waited for",
        unit="call",
        ours=run(_supervised.started),
        other=run(_by_hand.batch),
        count=3_000,
        rounds=15,
        budget=None,
        lengths=(_KEPT, 2 * _KEPT),
    ),
    *_rows_of_the_live(large=False),
    Row(
        name="stalled",
        work=f"batches of {BATCH:,}, with {STALLED} subscribers that never read",
        against="the same with none",
        unit="call",
        ours=run(_supervised.batch_before_stalled_subscribers),
        other=run(_supervised.batch),
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
        ours=run(_supervised.batch_before_watchers),
        other=run(_supervised.batch),
        count=3_000,
        rounds=15,
        budget=1.4,
        lengths=(_KEPT, 6 * _KEPT),  # several batches: in each, readers wake at other places
        judged_by="instructions",
    ),
    Row(
        name="telemetry",
        work="one call after the other, with a span and metrics of OpenTelemetry's SDK, not exported",
        against="the same without",
        unit="call",
        ours=run(_telemetry.traced),
        other=run(_supervised.sequential),
        count=1_000,
        rounds=15,
        budget=None,
        lengths=(_KEPT, 2 * _KEPT),
    ),
    Row(
        name="telemetry-unsampled",
        work="one call after the other, with metrics, and a span that the sampler does not want",
        against="the same without",
        unit="call",
        ours=run(_telemetry.unsampled),
        other=run(_supervised.sequential),
        count=1_000,
        rounds=15,
        budget=None,
        lengths=(_KEPT, 2 * _KEPT),
    ),
    Row(
        name="stream",
        work="chunks of a stream",
        against=f"numbers through a memory channel of {BUFFER}",
        unit="chunk",
        ours=run(_supervised.stream),
        other=run(_by_hand.stream),
        count=20_000,
        rounds=15,
        budget=0.2,
    ),
    Row(
        name="thread",
        work="one call of a sync tool after the other, each in a thread",
        against="a task with a scope and an event round trio.to_thread.run_sync",
        unit="call",
        ours=run(_supervised.in_threads),
        other=run(_by_hand.in_threads),
        count=500,
        rounds=45,  # threads wake each other at very different speeds
        budget=1.15,
        lengths=(_KEPT, _KEPT + 500),
    ),
    Row(
        name="process",
        work="from the abort of a computing tool in a process until it, its child and its grandchild are gone",
        against="the same after killing such a process group",
        unit="abort",
        ours=run(_killing.supervised),
        other=run(_killing.by_hand),
        count=1,
        rounds=15,
        budget=None,
    ),
    Row(
        name="asyncio",
        work=f"batches of {BATCH:,} through a host in an asyncio program",
        against="the same on trio",
        unit="call",
        ours=run_on_asyncio(_hosted.batch),
        other=run(_supervised.batch),
        count=3_000,
        rounds=15,
        budget=1.3,
        lengths=(_KEPT, 2 * _KEPT),
    ),
    Row(
        name="asyncio-lone",
        work="one call after the other through a host in an asyncio program",
        against="the same on trio",
        unit="call",
        ours=run_on_asyncio(_hosted.sequential),
        other=run(_supervised.sequential),
        count=500,
        rounds=15,
        budget=None,
    ),
    Row(
        name="import",
        work="import armory_trio",
        against="import trio, msgspec",
        unit="import",
        ours=importing("import armory_trio"),
        other=importing("import trio, msgspec"),
        count=3,
        rounds=9,
        budget=1.25,
    ),
    Row(
        name="import-host",
        work="from armory_trio import open_supervisor, tool: what a host needs",
        against="import trio, msgspec",
        unit="import",
        ours=importing("from armory_trio import open_supervisor, tool"),
        other=importing("import trio, msgspec"),
        count=3,
        rounds=9,
        budget=None,
    ),
    *_rows_of_the_live(large=True),
    *_LINEAR,
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
