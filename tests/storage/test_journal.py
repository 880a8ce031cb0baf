"""The journal in a database: over restarts, and after a process was killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec
import pytest
import trio

from armory_trio import Snapshot, StoreUnavailable, Toolbox, ToolCall, history_of, open_supervisor, replay
from armory_trio.journal import Publication
from armory_trio.storage.sql import open_store
from tests.engine.tools import add, watch
from tests.requirements import requirement

ROOT: Final = Path(__file__).parents[2]
BOUND: Final = 60

ONE: Final = ToolCall("add", {"a": 1, "b": 2})


def shown_and_killed(where: str) -> list[Snapshot]:
    """What the live view of a process showed before it was killed."""
    command = [sys.executable, "-m", "tests.storage.children", "journal", where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
        finally:
            process.kill()
    return [msgspec.json.decode(text, type=Snapshot) for text in msgspec.json.decode(line, type=list[str])]


@requirement("journal.killed", "journal.replay")
async def test_the_journal_of_a_killed_process_says_what_has_no_end(where: str) -> None:
    with trio.fail_after(BOUND):
        shown = await trio.to_thread.run_sync(shown_and_killed, where)
        async with open_store(where) as store:
            async with open_supervisor(Toolbox([add]), journal=store.journal) as supervisor:
                await supervisor.execute(ONE)
            past = await replay(store.journal)

    states = [shot.state for shot in shown]
    assert sorted(set(states)) == ["active", "queued", "terminal"]
    # A place in a queue moves without being published.
    moved = {shot.execution_id: past.locate(shot.execution_id) for shot in shown}
    for shot in shown:
        then = moved[shot.execution_id]
        assert then is not None
        assert msgspec.structs.replace(then, queue_position=shot.queue_position) == shot
    left = [found.snapshot.execution_id for found in past.without_end()]
    assert left == [shot.execution_id for shot in shown if shot.ended_at is None]
    [host] = {found.host for found in past.without_end()}
    assert past.without_end(host=host) == past.without_end()
    assert past.without_end(host="another") == []
    assert past.inspect(live_only=True) == [found.snapshot for found in past.without_end()]
    assert len(past.inspect()) == len(shown) + 1


@requirement("journal.replay", "journal.complete")
async def test_many_supervisors_write_into_one_journal(where: str) -> None:
    shown: list[Snapshot] = []

    async def run() -> None:
        async with open_store(where) as store, open_supervisor(Toolbox([add]), journal=store.journal) as supervisor:
            await supervisor.execute_batch([ONE] * 200)
        shown.extend(supervisor.executions.inspect())

    with trio.fail_after(BOUND):
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(run)
        async with open_store(where) as store:
            past = await replay(store.journal)
            for shot in shown[::50]:
                assert (await history_of(store.journal, shot.execution_id))[-1].snapshot == shot

    assert len(shown) == 800
    assert [past.locate(shot.execution_id) for shot in shown] == shown
    assert past.without_end() == []


@requirement("journal.slow", "journal.complete")
async def test_a_journal_in_a_database_does_not_wait_for_its_disk(where: str) -> None:
    """Closing writes what is left, of more executions than the supervisor keeps."""
    with trio.fail_after(BOUND):
        async with open_store(where) as store:
            async with open_supervisor(Toolbox([add, watch]), journal=store.journal) as supervisor:
                await supervisor.execute_batch([ONE] * 2_500)
            told, past = supervisor.executions.journal, await replay(store.journal)

    assert told is not None
    assert (told.unwritten, told.waiting) == (0, 0)
    assert {shot.state for shot in past.inspect()} == {"terminal"}
    assert len(past.inspect()) == 2_500


@requirement("journal.faults")
async def test_a_store_that_was_closed_too_early_is_counted_and_ends_nothing(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    with trio.fail_after(BOUND):
        async with open_store(where) as store:
            pass
        async with open_supervisor(Toolbox([add]), journal=store.journal) as supervisor:
            assert (await supervisor.execute(ONE)).outcome == "success"

    assert supervisor.report is not None
    assert supervisor.report.unwritten >= 1
    assert "the journal can't be written, and is tried again: StoreUnavailable" in caplog.text
    with pytest.raises(StoreUnavailable):
        await replay(store.journal)


@requirement("journal.killed")
async def test_an_entry_is_kept_as_text_that_others_can_read(where: str) -> None:
    async with open_store(where) as store:
        await store.journal.append([Publication(1.5, "host-1", "e-1", 1, '{"state":"queued"}')])
        [entry] = await store.journal.read(execution_id="e-1")

    assert json.loads(entry.publication.snapshot) == {"state": "queued"}
