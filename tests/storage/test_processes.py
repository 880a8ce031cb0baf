"""Several processes on one store, and a process that is killed while it writes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Final

import trio

from armory_trio.ledger import Recorded
from armory_trio.storage.sql import open_store
from tests.requirements import requirement
from tests.storage.children import CHILDREN, KEYS, QUICK, SLOW, USES
from tests.storage.deeds import approval, claim, grant
from tests.storage.servers import run_sql

ROOT: Final = Path(__file__).parents[2]
BOUND: Final = 150
DEADLOCKS: Final = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
KILLS: Final = (1, 60)
"""After how many answers a writer is killed."""


def child(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.storage.children", *arguments]


@requirement("storage.once", "storage.shared")
async def test_of_ten_processes_one_gets_what_all_of_them_want(where: str) -> None:
    before = run_sql(where, DEADLOCKS) if "://" in where else []
    async with open_store(where) as store:
        now = store.now()
        for number in range(KEYS):
            await store.approvals.issue(approval(f"nonce-{number}", now))
        await store.grants.issue(grant("grant:1", now, uses=USES))
    with trio.fail_after(BOUND):
        ended = await trio.run_process(child("race", where, repr(now)), capture_stdout=True, cwd=ROOT)

    won = Counter(what for line in ended.stdout.decode().splitlines() for what in json.loads(line))
    each = {f"{kind} {number}": 1 for kind in ("claim", "approval") for number in range(KEYS)}
    assert won == each | {"use": USES}
    async with open_store(where) as store:
        [state] = await store.grants.list()
        assert state.uses_remaining == 0
    if "://" in where:
        # Everybody locks in one order. A deadlock would be tried again, and cost a second that nobody sees.
        assert run_sql(where, DEADLOCKS) == before


@requirement("rate-limit.shared", "storage.once", "storage.shared")
async def test_ten_processes_together_take_no_more_out_of_a_bucket_than_there_is(where: str) -> None:
    async with open_store(where):
        pass
    before = run_sql(where, DEADLOCKS) if "://" in where else []
    with trio.fail_after(BOUND):
        ended = await trio.run_process(child("take", where, "0"), capture_stdout=True, cwd=ROOT)

    got = [what for line in ended.stdout.decode().splitlines() for what in json.loads(line)]
    times = [float(what.removeprefix("at ")) for what in got if what.startswith("at ")]
    assert len(times) == 2 * CHILDREN
    assert got.count("slow") == SLOW.burst
    stretch = max(times) - min(times)
    assert QUICK.burst <= got.count("quick") <= QUICK.burst + stretch / QUICK.interval
    if "://" in where:
        assert run_sql(where, DEADLOCKS) == before


def killed_after(where: str, prefix: str, answers: int) -> list[str]:
    """What a writer had been answered when it was killed."""
    with subprocess.Popen(child("write", where, prefix), stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            answered = [process.stdout.readline().strip() for _ in range(answers)]
        finally:
            process.kill()
        answered.extend(line.strip() for line in process.stdout)
    return answered


@requirement("storage.durable")
async def test_nothing_that_was_answered_is_lost_when_a_process_is_killed(where: str) -> None:
    answered: list[str] = []
    with trio.fail_after(BOUND):
        for answers in KILLS:
            answered += await trio.to_thread.run_sync(killed_after, where, f"until-{answers}", answers)
            # Nobody tidies up before the next one comes.

        async with open_store(where) as store:
            for key in answered:
                answer = await store.ledger.apply(claim(key, "b"))
                assert isinstance(answer, Recorded), key
                assert answer.attempt.result == json.dumps(key)
            everything = await store.ledger.list(limit=100_000)

    assert len(answered) >= sum(KILLS)
    assert len(everything) >= len(answered)
    assert all(attempt.state != "completed" or attempt.result for attempt in everything)
    if "://" not in where:
        with closing(sqlite3.connect(where)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
