"""What was published is there afterwards, whatever becomes of the store, of the supervisor and of those who call."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, cast

import pytest
import trio
import trio.testing
from hypothesis import settings

from armory_trio import (
    ArmoryError,
    DefinitionError,
    Journaled,
    RequestContext,
    Retention,
    Snapshot,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    history_of,
    open_supervisor,
    replay,
    tool,
)
from armory_trio.engine._permits import RECORD_TIMEOUT
from armory_trio.journal import JournalEntry, JournalStore, Publication
from armory_trio.storage.memory import MemoryJournal
from armory_trio.testing import run_seeded
from tests.engine.model_random import make
from tests.engine.model_run import run
from tests.engine.tools import add, sleep, stubborn, watch
from tests.requirements import requirement

EACH: Final = settings().max_examples // 2

ONE = ToolCall("add", {"a": 1, "b": 2})


class Around:
    """A journal in memory, for one that does more."""

    def __init__(self) -> None:
        self.kept = MemoryJournal(trio.current_time)

    def now(self) -> float:
        return self.kept.now()

    async def append(self, publications: Sequence[Publication], /) -> None:
        await self.kept.append(publications)

    async def read(
        self, *, after: int = 0, limit: int = 100, execution_id: str | None = None
    ) -> Sequence[JournalEntry]:
        return await self.kept.read(after=after, limit=limit, execution_id=execution_id)

    async def forget(self, *, before: float) -> int:
        return await self.kept.forget(before=before)


class Held(Around):
    """A journal that can be told to stand still, or to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.lost_answers = 0
        self.asked = 0
        self.going = trio.Event()
        self.going.set()

    async def append(self, publications: Sequence[Publication], /) -> None:
        self.asked += 1
        await self.going.wait()
        if self.broken:
            raise OSError("no space left")
        await super().append(publications)
        if self.lost_answers:
            self.lost_answers -= 1
            raise OSError("the answer was lost")


class Moody(Around):
    """A journal that takes its time, and fails now and then: before it has done what it was asked, or after that."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)  # noqa: S311 - chance, and nothing secret
        self._failed = False

    async def append(self, publications: Sequence[Publication], /) -> None:
        await trio.sleep(self._random.choice((0.0, 0.0, 0.1, 0.3)))
        fails = not self._failed and self._random.random() < 0.3
        self._failed = fails
        if fails and self._random.random() < 0.5:
            raise OSError("not begun")
        await super().append(publications)
        if fails:
            raise OSError("done, and not answered")


async def entries(store: JournalStore) -> list[JournalEntry]:
    return list(await store.read(limit=100_000))


def spells(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage().split(",")[0].split(";")[0] for record in caplog.records if "journal" in record.getMessage()
    ]


# ── What is in it ────────────────────────────────────────────────────────────────────────────────────────────────────


async def play(seed: int) -> None:
    journal = Moody(seed)
    world = await run(make(seed), journal)
    supervisor = world.supervisor
    live, past = supervisor.executions.inspect(), await replay(journal)
    told = supervisor.executions.journal

    assert world.faults == []
    assert told is not None and supervisor.report is not None
    assert (told.unwritten, told.waiting, told.written) == (0, 0, len(journal.kept))
    assert supervisor.report.unwritten == 0
    assert [past.locate(shot.execution_id) for shot in live] == live
    assert len(past.inspect()) == supervisor._core.admitted  # pyright: ignore[reportPrivateUsage]
    assert past.without_end() == []
    revisions = 0
    for shot in past.inspect():
        history = await history_of(journal, shot.execution_id)
        assert history[-1].snapshot == shot
        assert [each.snapshot.revision for each in history] == sorted({each.snapshot.revision for each in history})
        revisions += shot.revision
    assert revisions == told.written + told.overtaken


@requirement("journal.replay", "journal.history", "journal.complete", "journal.faults")
@pytest.mark.parametrize("part", range(4))
def test_after_any_program_the_journal_shows_what_the_live_view_shows(part: int) -> None:
    logger = logging.getLogger("armory_trio")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        for seed in range(part * EACH, (part + 1) * EACH):
            run_seeded(play, seed, seed=seed)
    finally:
        logger.setLevel(before)


@requirement("journal.replay")
async def test_a_replay_selects_as_the_live_view_does(autojump_clock: trio.testing.MockClock) -> None:
    journal = MemoryJournal()

    @tool
    async def starter(ctx: ToolContext) -> str:
        """Start another call."""
        from armory_trio import current_supervisor  # noqa: PLC0415 - as a tool would that needs it

        return current_supervisor().start(ToolCall("watch", {"seconds": 1.0})).id

    async with open_supervisor(Toolbox([add, watch, starter]), journal=journal) as supervisor:
        await supervisor.execute_batch([ONE] * 12, owner_id="ada")
        started = await supervisor.execute(ToolCall("starter"), owner_id="bob")
        await trio.testing.wait_all_tasks_blocked()
        live, past = supervisor.executions, await replay(journal)

        assert past.inspect() == live.inspect()
        assert past.inspect(owner_id="ada") == live.inspect(owner_id="ada")
        assert past.inspect(tool_name="watch") == live.inspect(tool_name="watch")
        assert past.inspect(started_by=started.execution_id) == live.inspect(started_by=started.execution_id) != []
        assert past.inspect(live_only=True) == live.inspect(live_only=True) != []
        assert past.locate(started.execution_id) == live.locate(started.execution_id)
        assert past.locate("exe-nobody") is None
        assert past.last("exe-nobody") is None


@requirement("journal.replay")
async def test_supervisors_that_share_a_journal_come_one_after_the_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    journal = MemoryJournal()
    shown: list[Snapshot] = []
    for _ in range(2):
        async with open_supervisor(Toolbox([add]), journal=journal) as supervisor:
            await supervisor.execute_batch([ONE] * 11)
        shown += supervisor.executions.inspect()

    past = await replay(journal)
    hosts = list(dict.fromkeys(entry.publication.host for entry in await entries(journal)))
    assert past.inspect() == shown
    assert len(hosts) == 2
    assert (await replay(journal, host=hosts[1])).inspect() == shown[11:]
    last = past.last(shown[0].execution_id)
    assert last is not None
    assert (last.snapshot, last.host) == (shown[0], hosts[0])


@requirement("journal.history")
async def test_the_history_of_an_execution_is_what_a_subscriber_would_have_seen(
    autojump_clock: trio.testing.MockClock,
) -> None:
    journal = MemoryJournal(lambda: 1_000.0 + trio.current_time())

    @tool(effect="read-only")
    async def crawl(ctx: ToolContext) -> None:
        """Report twice."""
        for percent in (50, 100):
            await trio.sleep(1)
            ctx.progress(percent, f"{percent} %")

    seen: list[Snapshot] = []

    async def follow() -> None:
        async with supervisor.executions.subscribe() as updates:
            seen.extend([shot async for shot in updates])

    async with trio.open_nursery() as nursery, open_supervisor(Toolbox([crawl]), journal=journal) as supervisor:
        nursery.start_soon(follow)
        await trio.testing.wait_all_tasks_blocked()
        await supervisor.execute(ToolCall("crawl"))

    [execution] = supervisor.executions.inspect()
    history = await history_of(journal, execution.execution_id)
    assert [each.snapshot for each in history] == seen
    assert [each.snapshot.progress.percent for each in history if each.snapshot.progress] == [50.0, 100.0]
    assert [each.at - history[0].at for each in history] == [0.0, 1.0, 2.0]
    assert await history_of(journal, "exe-nobody") == []


@requirement("journal.replay")
async def test_odd_texts_and_numbers_come_back_as_they_were(autojump_clock: trio.testing.MockClock) -> None:
    journal = MemoryJournal()
    odd = 'half \ud800 a pair, "deadline":null, Infinity'

    class Text(str):
        __slots__ = ()

    @tool(effect="read-only")
    async def report(ctx: ToolContext) -> None:
        """Report what nobody checks."""
        ctx.progress(50, odd)
        await trio.sleep(1)
        ctx.progress(cast("float", True), Text("mine"))
        await trio.sleep(1)
        ctx.progress(1, cast("str", ["no", "text"]))

    shown: list[Snapshot] = []
    async with open_supervisor(Toolbox([report]), journal=journal) as supervisor:
        for deadline in (math.inf, 10**30, 1_000, 1_000.5, None):
            await supervisor.execute(ToolCall("report", id=odd), owner_id=odd, deadline=deadline)
        shown = supervisor.executions.inspect()

    past = (await replay(journal)).inspect()
    assert [shot.deadline for shot in past] == [math.inf, 1e30, 1_000, 1_000.5, None]
    for then, now in zip(past, shown, strict=True):
        assert (then.owner_id, then.call_id) == (odd, odd)
        assert then.progress is not None and then.progress.message == "['no', 'text']"
        assert then.outcome == now.outcome == "success"
    first = await history_of(journal, past[0].execution_id)
    assert [each.snapshot.progress and each.snapshot.progress.message for each in first][-3:-1] == [odd, "mine"]


@requirement("journal.faults")
async def test_a_snapshot_that_has_no_json_is_counted_and_ends_nothing(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Unspeakable:
        def __str__(self) -> str:
            raise RuntimeError("no words")

    @tool(effect="read-only")
    async def report(ctx: ToolContext) -> None:
        """Report what nobody can write."""
        ctx.progress(1, cast("str", Unspeakable()))
        await trio.sleep(1)
        ctx.progress(1, "better")

    journal = MemoryJournal()
    async with open_supervisor(Toolbox([report]), journal=journal) as supervisor:
        await supervisor.execute(ToolCall("report"))

    assert supervisor.report is not None
    assert supervisor.report.unwritten == 1
    [shot] = (await replay(journal)).inspect()
    assert shot.progress is not None and shot.progress.message == "better"
    [told] = spells(caplog)
    assert told.startswith(f"a snapshot of {shot.execution_id} can't be put into the journal: ")
    assert "_replay.py" in caplog.text, "the way that it came"
    assert "no words" not in caplog.text


@requirement("journal.faults")
async def test_a_store_that_does_not_know_the_time_is_logged_once_and_ends_nothing(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Timeless(Around):
        def now(self) -> float:
            raise OSError("what time is it?")

    async with open_supervisor(Toolbox([watch]), journal=Timeless()) as supervisor:
        for _ in range(3):
            assert (await supervisor.execute(ToolCall("watch", {"seconds": 1.0}))).outcome == "success"

    told = supervisor.executions.journal
    assert told is not None
    assert told.unwritten + told.overtaken == sum(shot.revision for shot in supervisor.executions.inspect())
    assert len(spells(caplog)) == 1


@requirement("journal.discreet")
async def test_an_entry_holds_neither_arguments_nor_results_nor_authority() -> None:
    @tool
    async def tell(secret: str) -> str:
        """Tell a secret."""
        return f"it was {secret}"

    journal = MemoryJournal()
    context = RequestContext(principal="mallory-principal", tenant="acme-tenant")
    async with open_supervisor(Toolbox([tell]), journal=journal) as supervisor:
        await supervisor.execute(
            ToolCall("tell", {"secret": "hunter2"}), request_context=context, metadata={"token": "hunter2"}
        )

    kept = [entry.publication for entry in await entries(journal)]
    assert kept
    assert all(word not in repr(kept) for word in ("hunter2", "mallory", "acme"))
    assert all(set(json.loads(each.snapshot)) == set(Snapshot.__struct_fields__) for each in kept)


@requirement("journal.replay", "journal.history")
async def test_the_newest_revision_counts_in_whatever_order_entries_came(
    autojump_clock: trio.testing.MockClock,
) -> None:
    journal, other = MemoryJournal(), MemoryJournal()
    async with open_supervisor(Toolbox([watch]), journal=journal) as supervisor:
        await supervisor.execute(ToolCall("watch", {"seconds": 1.0}))
    await other.append([entry.publication for entry in reversed(await entries(journal))])

    assert (await replay(other)).inspect() == supervisor.executions.inspect()
    [execution] = supervisor.executions.inspect()
    snapshots = [then.snapshot for then in await history_of(journal, execution.execution_id)]
    assert [then.snapshot for then in await history_of(other, execution.execution_id)] == snapshots
    assert len(snapshots) == 2


@requirement("journal.replay")
async def test_an_entry_that_something_else_wrote_is_named() -> None:
    journal = MemoryJournal()
    await journal.append([Publication(1.0, "h", "e-1", 1, '{"not": "ours"}')])

    with pytest.raises(ArmoryError, match="entry 1 of the journal can't be read"):
        await replay(journal)
    with pytest.raises(ArmoryError, match="entry 1"):
        await history_of(journal, "e-1")


# ── To the end ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("journal.complete")
@pytest.mark.parametrize("kept", [0, 1, 1000])
async def test_what_ends_at_once_is_all_there_however_little_is_kept(
    kept: int, autojump_clock: trio.testing.MockClock
) -> None:
    journal = MemoryJournal()
    async with open_supervisor(Toolbox([add]), journal=journal, retention=Retention(count=kept)) as supervisor:
        await supervisor.execute_batch([ONE] * 3_000)

    past = (await replay(journal)).inspect()
    assert [shot.state for shot in past] == ["terminal"] * 3_000
    told = supervisor.executions.journal
    assert told == Journaled(
        written=len(journal), overtaken=sum(shot.revision for shot in past) - len(journal), unwritten=0, waiting=0
    )


@requirement("journal.complete")
@pytest.mark.parametrize("how", ["error", "cancelled"])
async def test_however_the_supervisor_is_left_the_last_revisions_are_written(
    how: str, autojump_clock: trio.testing.MockClock
) -> None:
    journal = Held()
    supervisors: list[Supervisor] = []
    with trio.CancelScope() as scope, suppress(LookupError):
        async with open_supervisor(Toolbox([sleep, stubborn]), journal=journal) as supervisor:
            supervisors.append(supervisor)
            supervisor.start(ToolCall("sleep", {"seconds": 100.0}))
            supervisor.start(ToolCall("stubborn", {"seconds": 3.0}))
            await trio.testing.wait_all_tasks_blocked()
            if how == "cancelled":
                scope.cancel()
                await trio.lowlevel.checkpoint()
            raise LookupError(how)

    past = await replay(journal)
    assert past.inspect() == supervisors[0].executions.inspect()
    assert [shot.state for shot in past.inspect()] == ["unknown-effect", "terminal"]
    assert past.without_end() == []


# ── Stores that are slow, or fail ────────────────────────────────────────────────────────────────────────────────────


@requirement("journal.slow", "journal.faults")
async def test_a_store_that_stands_still_holds_up_no_call_and_the_exit_for_five_seconds(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Held()
    journal.going = trio.Event()
    async with open_supervisor(Toolbox([add, watch]), journal=journal) as supervisor:
        began = trio.current_time()
        await supervisor.execute_batch([ONE] * 100)
        assert trio.current_time() == began
        await supervisor.execute(ToolCall("watch", {"seconds": 1.0}))
        assert trio.current_time() == began + 1.0

    told = supervisor.executions.journal
    assert trio.current_time() == began + 1.0 + RECORD_TIMEOUT
    assert supervisor.report is not None
    assert told is not None and told.written == 0
    assert supervisor.report.unwritten == told.unwritten >= 101
    assert f"not in the journal: {told.unwritten} publications" in supervisor.report.lines()
    assert supervisor.report.exit_code == 0
    lacks = f"the journal lacks the last {told.unwritten} publications"
    assert spells(caplog) == ["the journal can't be written", lacks]
    assert "no answer within 5 s" in caplog.text


@requirement("journal.faults")
async def test_a_store_that_fails_is_tried_again_and_each_spell_is_logged_once(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Held()
    async with open_supervisor(Toolbox([watch]), journal=journal) as supervisor:
        for spell in range(2):
            journal.broken = True
            journal.asked = 0
            assert (await supervisor.execute(ToolCall("watch", {"seconds": 30.0}))).outcome == "success"
            assert 5 < journal.asked < 20  # further and further apart
            journal.broken = False
            await trio.sleep(20.0)
            assert len(spells(caplog)) == 2 * (spell + 1)
            told = supervisor.executions.journal
            assert told is not None
            assert (told.unwritten, told.waiting) == (0, 0)

    failed, again = "the journal can't be written", "the journal can be written again"
    assert spells(caplog) == [failed, again] * 2
    assert (await replay(journal)).inspect() == supervisor.executions.inspect()


@requirement("journal.faults")
async def test_what_was_kept_and_not_answered_is_there_once(autojump_clock: trio.testing.MockClock) -> None:
    journal = Held()
    journal.lost_answers = 3
    async with open_supervisor(Toolbox([add]), journal=journal) as supervisor:
        await supervisor.execute_batch([ONE] * 10)

    kept = [(entry.publication.execution_id, entry.publication.revision) for entry in await entries(journal)]
    assert len(kept) == len(set(kept))
    assert (await replay(journal)).inspect() == supervisor.executions.inspect()


@requirement("journal.faults", "journal.slow")
async def test_behind_a_store_that_fails_for_long_a_bounded_number_waits_and_what_is_lost_is_counted(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armory_trio.engine._recording._HELD", 50)
    journal = Held()
    journal.broken = True
    async with open_supervisor(Toolbox([add, watch]), journal=journal, retention=Retention(count=20)) as supervisor:
        long = supervisor.start(ToolCall("watch", {"seconds": 60.0}))
        for _ in range(30):
            await supervisor.execute_batch([ONE] * 10)
            await trio.sleep(1)
        told = supervisor.executions.journal
        assert told is not None
        assert told.waiting == 50
        journal.broken = False
        await long.settled()

    report, told, past = supervisor.report, supervisor.executions.journal, await replay(journal)
    assert report is not None and told is not None
    assert report.unwritten == told.unwritten > 0
    assert told.written == len(journal.kept)
    ended = [shot for shot in past.inspect() if shot.ended_at is not None]
    missing = 301 - len(ended)
    assert 0 < missing <= told.unwritten
    live = supervisor.executions.inspect()
    assert [past.locate(shot.execution_id) for shot in live] == live
    history = await history_of(journal, long.id)
    assert history[-1].snapshot.state == "terminal"


@requirement("journal.faults")
async def test_a_store_that_comes_back_while_the_supervisor_is_left_gets_everything(
    autojump_clock: trio.testing.MockClock,
) -> None:
    journal = Held()
    journal.broken = True

    async def repair() -> None:
        await trio.sleep(62.0)
        journal.broken = False

    async with trio.open_nursery() as nursery:
        nursery.start_soon(repair)
        async with open_supervisor(Toolbox([watch]), journal=journal) as supervisor:
            await supervisor.execute(ToolCall("watch", {"seconds": 60.0}))

    assert supervisor.report is not None
    assert supervisor.report.unwritten == 0
    assert (await replay(journal)).inspect() == supervisor.executions.inspect()


class Wild(Held):
    """A journal that raises whatever it likes, for a while."""

    def __init__(self, error: BaseException, where: str) -> None:
        super().__init__()
        self.error: BaseException | None = error
        self.where = where

    def now(self) -> float:
        if self.error is not None and self.where == "now":
            raise self.error
        return super().now()

    async def append(self, publications: Sequence[Publication], /) -> None:
        if self.error is not None and self.where == "append":
            raise self.error
        await super().append(publications)


@requirement("journal.faults")
@pytest.mark.parametrize("where", ["append", "now"])
@pytest.mark.parametrize(
    "error",
    [SystemExit(2), GeneratorExit(), asyncio.CancelledError(), BaseExceptionGroup("two", [SystemExit(1)])],
    ids=["exit", "generator", "asyncio", "group"],
)
async def test_whatever_a_store_raises_is_no_trouble_of_the_supervisors(
    error: BaseException, where: str, autojump_clock: trio.testing.MockClock
) -> None:
    journal = Wild(error, where)
    async with open_supervisor(Toolbox([add]), journal=journal) as supervisor:
        first = await supervisor.execute(ONE)
        await trio.sleep(1)
        journal.error = None
        second = await supervisor.execute(ONE)
        await trio.sleep(60)

    assert (first.value, second.value) == (3, 3)
    assert supervisor.report is not None and supervisor.report.bugs == ()
    assert (await replay(journal)).locate(second.execution_id) is not None


@requirement("journal.faults")
def test_an_interrupt_that_arrives_in_the_store_leaves_the_supervisor() -> None:
    async def main() -> None:
        async with open_supervisor(Toolbox([add]), journal=Wild(KeyboardInterrupt(), "append")) as supervisor:
            await supervisor.execute(ONE)
            await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)


# ── Without one ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("journal.off")
async def test_without_a_journal_nothing_follows_the_publications() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        await supervisor.execute(ONE)
        core = supervisor._core  # pyright: ignore[reportPrivateUsage]  # what it costs shows nowhere else

        assert core.journal is None
        assert core.log.keeper is None
        assert not core.log.active
        assert supervisor.executions.journal is None
    assert supervisor.report is not None
    assert supervisor.report.unwritten == 0


@requirement("journal.options")
@pytest.mark.parametrize("wrong", [True, "store.db", {}], ids=["bool", "text", "mapping"])
async def test_what_is_no_journal_is_refused(wrong: object) -> None:
    with pytest.raises(DefinitionError, match="journal: must be a JournalStore"):
        async with open_supervisor(Toolbox([add]), journal=cast("JournalStore", wrong)):
            raise AssertionError("it is open")
