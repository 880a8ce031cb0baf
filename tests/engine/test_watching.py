"""Looking without disturbing: snapshots, subscriptions, typed events, and how long ended executions stay."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Literal

import attrs
import msgspec
import pytest
import trio
import trio.testing
from hypothesis import example, given
from hypothesis import strategies as st

from armory_trio import (
    AbortRequested,
    AdmissionWasClosed,
    ChunkEmitted,
    CustomEmitted,
    DefinitionError,
    ExecutionAdmitted,
    ExecutionRefused,
    ExecutionSettled,
    ExecutionStarted,
    Happening,
    Lagged,
    Limits,
    LimitUse,
    LogWritten,
    OfExecution,
    OutcomeDecided,
    ProgressReported,
    RequestContext,
    Retention,
    Revisions,
    Snapshot,
    StreamClosed,
    StreamOpened,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.engine._execution import Record
from armory_trio.engine._feed import EventReader
from armory_trio.engine._subscriptions import Publications, Selection, Updates
from armory_trio.engine._views import Watching
from tests.engine.tools import add, count, relay, sleep, stubborn, watch
from tests.requirements import requirement

FINAL: Final = ("terminal", "unknown-effect")


async def at_hand(updates: Updates) -> list[Snapshot]:
    """Everything that a watcher would be shown now, without waiting."""
    found: list[Snapshot] = []
    while True:
        with trio.CancelScope() as scope:
            scope.cancel()
            found.append(await anext(updates))
        if scope.cancelled_caught:  # caught up, or at the checkpoint of every 64th step
            with trio.CancelScope() as again:
                again.cancel()
                found.append(await anext(updates))
            if again.cancelled_caught:
                return found


# -- snapshots


@requirement("watching.snapshot-facts")
async def test_a_snapshot_shows_who_what_when_and_where(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        began = trio.current_time()
        execution = supervisor.start(
            ToolCall("sleep", {"seconds": 2}, id="call-1"), owner_id="run-7", deadline=began + 60
        )
        queued = execution.snapshot
        await trio.testing.wait_all_tasks_blocked()
        active = execution.snapshot
        ended = await execution.settled()

    assert (queued.execution_id, queued.call_id, queued.tool_name) == (execution.id, "call-1", "sleep")
    assert (queued.owner_id, queued.parent_id, queued.batch_id, queued.started_by) == ("run-7", None, None, None)
    assert queued.tool_id is not None and "sleep" in queued.tool_id
    assert (queued.state, queued.revision, queued.attempts, queued.started_at) == ("queued", 1, 0, None)
    assert (active.state, active.revision, active.attempts, active.deadline) == ("active", 2, 1, began + 60)
    assert (active.outcome, active.effect, active.settled_at) == (None, "unknown", None)
    assert (ended.state, ended.revision, ended.outcome, ended.effect) == ("terminal", 3, "success", "completed")
    assert (ended.admitted_at, ended.started_at) == (began, began)
    assert (ended.ended_at, ended.settled_at, ended.last_activity_at) == (began + 2, began + 2, began + 2)
    assert (ended.abort, ended.cleanup, ended.placement) == (None, "not-required", "task")


@requirement("watching.snapshot-immutable")
async def test_a_snapshot_never_changes(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        execution = supervisor.start(ToolCall("sleep", {"seconds": 2}))
        before = execution.snapshot
        copy = msgspec.structs.replace(before)
        await execution.settled()

    assert before == copy != execution.snapshot
    with pytest.raises(AttributeError):
        before.state = "terminal"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  # the point of the test


@requirement("watching.snapshot-discreet")
async def test_a_snapshot_holds_neither_arguments_nor_results_nor_authority() -> None:
    @tool
    async def tell(secret: str) -> str:
        return f"it was {secret}"

    context = RequestContext(principal="mallory-principal", tenant="acme-tenant")
    async with open_supervisor(Toolbox([tell])) as supervisor:
        execution = supervisor.start(
            ToolCall("tell", {"secret": "hunter2"}), request_context=context, metadata={"token": "hunter2"}
        )
        result = await execution.result()
        shown = msgspec.json.encode(await execution.settled()).decode()
        privileged = execution.privileged_snapshot()

    assert result.value == "it was hunter2"
    assert all(word not in shown for word in ("hunter2", "mallory", "acme"))
    assert privileged.call is not None and privileged.call.arguments == {"secret": "hunter2"}
    assert privileged.result == result


@requirement("watching.progress")
async def test_progress_shows_and_is_a_revision_of_its_own(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def work(ctx: ToolContext) -> None:
        ctx.progress(percent=50, message="halfway")
        await trio.sleep(1)

    async with open_supervisor(Toolbox([work])) as supervisor:
        execution = supervisor.start(ToolCall("work"))
        await trio.testing.wait_all_tasks_blocked()
        snapshot = execution.snapshot

    assert snapshot.progress is not None
    assert (snapshot.progress.percent, snapshot.progress.message) == (50, "halfway")
    assert snapshot.revision == 3


@requirement("watching.declared-waits")
async def test_of_several_open_waits_one_that_is_still_open_shows(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def work(ctx: ToolContext) -> None:
        async def wait(reason: str, seconds: float) -> None:
            async with ctx.waiting(reason):
                await trio.sleep(seconds)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, "the printer", 2)
            await trio.sleep(1)
            nursery.start_soon(wait, "the postman", 4)

    async with open_supervisor(Toolbox([work])) as supervisor:
        execution = supervisor.start(ToolCall("work"))
        shown: list[str | None] = []
        for _ in range(3):
            await trio.sleep(1)
            await trio.testing.wait_all_tasks_blocked()
            shown.append(execution.snapshot.declared_wait)

    assert shown == ["the postman"] * 3


# -- inspect, locate, retention


@requirement("watching.inspect")
async def test_inspect_shows_what_is_asked_for_in_order_of_admission(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep, watch])) as supervisor:
        first = supervisor.start(ToolCall("sleep", {"seconds": 9}), owner_id="a")
        second = supervisor.start(ToolCall("watch", {"seconds": 1}), owner_id="b")
        third = supervisor.start(ToolCall("sleep", {"seconds": 2}), owner_id="b")
        await third.settled()
        executions = supervisor.executions

        def ids(snapshots: list[Snapshot]) -> list[str]:
            return [snapshot.execution_id for snapshot in snapshots]

        assert ids(executions.inspect()) == [first.id, second.id, third.id]
        assert ids(executions.inspect(owner_id="b")) == [second.id, third.id]
        assert ids(executions.inspect(tool_name="sleep")) == [first.id, third.id]
        assert ids(executions.inspect(owner_id="b", tool_name="watch")) == [second.id]
        assert ids(executions.inspect(live_only=True)) == [first.id]
        assert executions.locate(second.id) == second.snapshot
        assert executions.locate(first.id) == first.snapshot
        assert executions.locate("nobody") is None


@requirement("watching.inspect")
async def test_a_look_at_what_is_live_or_has_ended_lately(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep]), retention=Retention(count=2)) as supervisor:
        ended = [supervisor.start(ToolCall("sleep", {"seconds": seconds})) for seconds in (1, 2, 3)]
        live = supervisor.start(ToolCall("sleep", {"seconds": 9}))
        await trio.sleep(5)
        executions = supervisor.executions

        assert [shot.execution_id for shot in executions.ended(10)] == [ended[2].id, ended[1].id]
        assert [shot.execution_id for shot in executions.ended(1)] == [ended[2].id]
        assert executions.locate(ended[2].id) is not None
        assert executions.locate(ended[2].id, live_only=True) is None
        assert executions.locate(live.id, live_only=True) == live.snapshot


@requirement("watching.limits")
async def test_a_look_at_the_limits_tells_what_is_used_and_who_waits(autojump_clock: trio.abc.Clock) -> None:
    limits = Limits(concurrent=4, per_owner=2, threads=3)
    async with open_supervisor(Toolbox([sleep]), limits=limits) as supervisor:
        executions = supervisor.executions
        before = executions.limits(), executions.queues()
        for owner in ("a", "a", "a", "a", "b", None):
            supervisor.start(ToolCall("sleep", {"seconds": 5}), owner_id=owner)
        await trio.sleep(1)
        busy, queues = executions.limits(), executions.queues()
        await supervisor.wait_idle()
        after = executions.limits(), executions.queues()

    assert (before[0]["supervisor"], before[0]["threads"]) == (LimitUse(0, 4), LimitUse(0, 3))
    assert (busy["supervisor"], busy["owner:a"], busy["owner:b"]) == (LimitUse(4, 4), LimitUse(2, 2), LimitUse(1, 2))
    assert queues == {"owner:a": 2}
    assert after == before


@requirement("watching.inspect-privileged")
async def test_only_privileged_looks_show_arguments(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        execution = supervisor.start(ToolCall("sleep", {"seconds": 1}), owner_id="a")
        supervisor.start(ToolCall("sleep", {"seconds": 2}), owner_id="b")
        [privileged] = supervisor.executions.inspect_privileged(owner_id="a")

    assert privileged.snapshot.execution_id == execution.id
    assert privileged.call is not None and privileged.call.arguments == {"seconds": 1}


@requirement("watching.authority-kept")
async def test_on_whose_behalf_and_under_which_rules_a_call_ran_is_kept_and_not_shown_to_watchers() -> None:
    context = RequestContext(principal="ann", tenant="acme", capabilities=frozenset(("read",)))
    toolbox = Toolbox([add], revision="tools:7", policy_revision="policy:3")
    async with open_supervisor(toolbox, revisions=Revisions(catalog="catalog:2")) as supervisor:
        execution = supervisor.start(ToolCall("add", {"a": 1, "b": 2}), request_context=context)
        await execution.settled()
        [kept] = supervisor.executions.inspect_privileged()

    assert kept.request_context == execution.privileged_snapshot().request_context == context
    assert kept.revisions == Revisions(
        catalog="catalog:2", toolbox="tools:7", tool_definition=add.definition.digest, policy="policy:3"
    )
    assert "ann" not in repr(kept.snapshot)


@requirement("watching.retention")
@pytest.mark.parametrize("count_kept", [0, 1, 3])
async def test_the_newest_ended_executions_are_kept_and_a_handle_keeps_its_own(count_kept: int) -> None:
    async with open_supervisor(Toolbox([add]), retention=Retention(count=count_kept)) as supervisor:
        handles = [supervisor.start(ToolCall("add", {"a": number, "b": 0})) for number in range(5)]
        for handle in handles:
            await handle.settled()
        kept = [snapshot.execution_id for snapshot in supervisor.executions.inspect()]

        assert len(kept) == count_kept
        assert [supervisor.executions.locate(handle.id) is not None for handle in handles].count(True) == count_kept

    assert [(await handle.result()).value for handle in handles] == [0, 1, 2, 3, 4]
    assert {handle.snapshot.state for handle in handles} == {"terminal"}


@requirement("watching.retention")
async def test_ended_executions_are_forgotten_after_the_time_that_was_asked_for(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([watch]), retention=Retention(count=10, seconds=5)) as supervisor:
        first = supervisor.start(ToolCall("watch", {"seconds": 1}))
        await first.settled()
        await trio.sleep(5)

        assert supervisor.executions.locate(first.id) is not None
        await trio.sleep(0.5)
        assert supervisor.executions.locate(first.id) is None
        assert supervisor.executions.inspect() == []
        assert first.snapshot.state == "terminal"


@requirement("watching.retention")
@pytest.mark.parametrize("wrong", [{"count": -1}, {"seconds": -1.0}, {"seconds": float("nan")}])
def test_a_retention_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(DefinitionError, match="Retention"):
        Retention(**wrong)  # type: ignore[arg-type]  # the point of the test


# -- subscriptions


@requirement("watching.begins-with-live")
async def test_a_watcher_begins_with_what_is_live_and_not_with_what_is_over(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep, add, stubborn]), cleanup_timeout=1) as supervisor:
        await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))
        live = supervisor.start(ToolCall("sleep", {"seconds": 20}))
        given_up = supervisor.start(ToolCall("stubborn", {"seconds": 20}))
        await trio.testing.wait_all_tasks_blocked()
        given_up.abort("enough")
        await given_up.settled()
        async with supervisor.executions.subscribe() as early:
            begun = await at_hand(early)
            await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))
            async with supervisor.executions.subscribe() as late:
                begun_late = await at_hand(late)
            followed = await at_hand(early)

    expected = [(live.id, "active"), (given_up.id, "unknown-effect")]
    assert sorted((shot.execution_id, shot.state) for shot in begun) == sorted(expected)
    assert sorted((shot.execution_id, shot.state) for shot in begun_late) == sorted(expected)
    assert [shot.state for shot in followed] == ["terminal"]


@requirement("watching.newest-only")
async def test_a_watcher_is_shown_the_newest_only_and_told_how_many_it_missed(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def work(ctx: ToolContext) -> None:
        for percent in range(10):
            ctx.progress(percent=percent)
        await trio.sleep(1)

    async with open_supervisor(Toolbox([work])) as supervisor, supervisor.executions.subscribe() as updates:
        execution = supervisor.start(ToolCall("work"))
        await trio.testing.wait_all_tasks_blocked()
        [working] = await at_hand(updates)
        missed = updates.missed
        await execution.settled()
        [ended] = await at_hand(updates)

    assert working.progress is not None and working.progress.percent == 9
    assert (working.revision, missed) == (12, 11)
    assert (ended.state, ended.revision, updates.missed, updates.forgotten) == ("terminal", 13, 11, 0)


@requirement("watching.selection")
async def test_a_watcher_sees_only_what_it_selected(autojump_clock: trio.abc.Clock) -> None:
    async with (
        open_supervisor(Toolbox([watch, sleep]), retention=Retention(count=0)) as supervisor,
        supervisor.executions.subscribe(owner_id="a") as by_owner,
        supervisor.executions.subscribe(tool_name="watch") as by_tool,
        supervisor.executions.subscribe(owner_id="b", tool_name="watch") as by_both,
    ):
        supervisor.start(ToolCall("sleep", {"seconds": 9}), owner_id="a")
        one = supervisor.start(ToolCall("watch", {"seconds": 1}), owner_id="b")
        await trio.testing.wait_all_tasks_blocked()
        async with supervisor.executions.subscribe(execution_id=one.id) as by_id:
            shown = [
                [(shot.owner_id, shot.tool_name) for shot in await at_hand(updates)]
                for updates in (by_owner, by_tool, by_both, by_id)
            ]
        await one.settled()
        rest = [await at_hand(updates) for updates in (by_owner, by_tool, by_both)]

    assert shown == [[("a", "sleep")], [("b", "watch")], [("b", "watch")], [("b", "watch")]]
    assert rest == [[], [], []]  # it was forgotten at once
    assert [updates.forgotten for updates in (by_owner, by_tool, by_both)] == [0, 1, 1]


@requirement("watching.many")
async def test_many_watchers_at_their_own_paces_all_see_each_last_revision(autojump_clock: trio.abc.Clock) -> None:
    seen: list[dict[str, Snapshot]] = [{} for _ in range(20)]

    async def follow(supervisor: Supervisor, index: int, *, task_status: trio.TaskStatus[None]) -> None:
        async with supervisor.executions.subscribe() as updates:
            task_status.started()
            async for snapshot in updates:
                before = seen[index].get(snapshot.execution_id)
                assert before is None or before.revision < snapshot.revision
                seen[index][snapshot.execution_id] = snapshot
                await trio.sleep(index * 0.01)

    async with open_supervisor(Toolbox([relay, watch])) as supervisor, trio.open_nursery() as nursery:
        for index in range(20):
            await nursery.start(follow, supervisor, index)
        await supervisor.execute_batch(
            [ToolCall("relay", {"name": "watch", "seconds": number / 10}) for number in range(10)]
        )
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
        last = {shot.execution_id: shot for shot in supervisor.executions.inspect()}

    assert len(last) == 20
    assert all(found == last for found in seen)


@requirement("watching.stalled-costs-nothing")
async def test_ten_thousand_executions_pass_a_stalled_watcher_and_leave_nothing_behind() -> None:
    def records() -> int:
        return sum(type(thing) is Record for thing in gc.get_objects())

    gc.collect()
    before = records()  # of other tests
    async with open_supervisor(Toolbox([add]), retention=Retention(count=10)) as supervisor:
        async with (
            supervisor.executions.subscribe() as stalled,
            supervisor.executions.subscribe(tool_name="x") as other,
        ):
            most = 0
            for _ in range(20):
                await supervisor.execute_batch([ToolCall("add", {"a": 1, "b": 2})] * 500)
                most = max(most, records() - before)
            shown = await at_hand(stalled)
            await at_hand(other)

            assert len(shown) == 10
            assert stalled.forgotten == 10_000 - 10
            assert other.forgotten == 0
        gc.collect()
        after = records() - before

    assert most <= 500 + 10 + 600  # a batch, what is kept, and at most as many overtaken entries again
    assert after <= 10 + 1


@requirement("watching.checkpoints")
async def test_a_watcher_with_much_to_read_lets_others_run_at_least_every_64_steps(
    autojump_clock: trio.abc.Clock,
) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with open_supervisor(Toolbox([sleep])) as supervisor, supervisor.executions.subscribe() as updates:
        for _ in range(640):
            supervisor.start(ToolCall("sleep", {"seconds": 1}))
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            for _ in range(640):
                await anext(updates)
            nursery.cancel_scope.cancel()

    assert turns >= 640 // 64 - 3  # nobody runs before the first of them, and who runs last may have had no turn


@requirement("watching.cancelled-step")
async def test_a_cancelled_step_loses_nothing_not_even_at_the_64th(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor, supervisor.events(ExecutionAdmitted) as events:
        started = [supervisor.start(ToolCall("sleep", {"seconds": 1})).id for _ in range(200)]
        await trio.testing.wait_all_tasks_blocked()
        await follow_closely(supervisor.executions.subscribe(), events, started)


async def follow_closely(watching: Watching, events: EventReader[ExecutionAdmitted], started: list[str]) -> None:
    async with watching as updates:
        shown: list[str] = []
        told: list[str] = []
        while len(shown) < 200:
            with trio.move_on_after(0):
                shown.append((await anext(updates)).execution_id)
        while len(told) < 200:
            with trio.move_on_after(0):
                event = await anext(events)
                assert isinstance(event, ExecutionAdmitted)
                told.append(event.execution_id)
        with trio.move_on_after(0.5) as waiting:
            await anext(updates)
        rest = [snapshot.state for snapshot in await at_hand(updates)]

    assert shown == told == started
    assert waiting.cancelled_caught
    assert rest == []


# -- counters against a model

Step = tuple[Literal["admit", "change", "end", "subscribe", "leave", "read", "forget"], int, int]

BLANK: Final = Snapshot(
    execution_id="",
    call_id="",
    tool_name="",
    tool_id=None,
    owner_id=None,
    parent_id=None,
    started_by=None,
    batch_id=None,
    batch_index=None,
    state="active",
    revision=0,
    waits_for=None,
    outcome=None,
    error_category=None,
    error_code=None,
    effect="none",
    queue_position=None,
    capacity=(),
    deadline=None,
    admitted_at=0.0,
    started_at=None,
    last_activity_at=0.0,
    ended_at=None,
    settled_at=None,
    progress=None,
    declared_wait=None,
    chunks=0,
    attempts=0,
    abort=None,
    cleanup="not-required",
    placement="task",
)


@attrs.define(eq=False)
class Paper:
    """A record, as the log sees it."""

    number: int
    owner: str | None
    id: str = ""
    name: str = "tool"
    published: int = 0
    revision: int = 1
    shot: Snapshot | None = None
    over: bool = False

    @property
    def state(self) -> Literal["active", "terminal"]:
        return "terminal" if self.over else "active"

    def snapshot(self) -> Snapshot:
        return msgspec.structs.replace(BLANK, execution_id=self.id, revision=self.revision, owner_id=self.owner)


@attrs.define(eq=False)
class Expectation:
    """What one watcher has to be shown, kept the slow and obvious way: for each execution of its own."""

    updates: Updates
    selection: Selection
    there_before: set[str]
    pending: dict[str, Paper] = attrs.Factory(dict[str, Paper])
    """Changed executions that it has not been shown since."""
    seen: dict[str, int] = attrs.Factory(dict[str, int])
    missed: int = 0
    forgotten: int = 0

    def changed(self, paper: Paper) -> None:
        if self.selection(paper):
            self.pending[paper.id] = paper

    def gone(self, paper: Paper) -> None:
        self.forgotten += self.pending.pop(paper.id, None) is not None

    def next(self) -> tuple[str, int] | None:
        if not self.pending:
            return None
        # In the order of the log. A change of what no reader was given yet is not written a second time, so that order
        # is the log's own business; what comes, and that all of it does, is not.
        paper = self.pending.pop(min(self.pending.values(), key=lambda paper: paper.published).id)
        before = self.seen.get(paper.id, paper.revision - 1 if paper.id in self.there_before else 0)
        self.missed += paper.revision - before - 1
        self.seen[paper.id] = paper.revision
        return paper.id, paper.revision


class World:
    """A log with executions and watchers, beside what each watcher has to be shown."""

    def __init__(self) -> None:
        self.log = Publications()
        self.papers: list[Paper] = []
        self.kept: list[Paper] = []
        self.watchers: list[Expectation] = []
        self.admitted = 0

    def publish(self, paper: Paper) -> None:
        if self.log.active:
            self.log.publish(paper)
        for watcher in self.watchers:
            watcher.changed(paper)

    def step(self, what: str, one: int, two: int) -> None:
        live = self.papers
        if what == "admit":
            self.admitted += 1
            paper = Paper(self.admitted, ("a", "b", None)[one % 3], id=f"e{self.admitted}")
            live.append(paper)
            self.publish(paper)
        elif what in ("change", "end") and live:
            paper = live[one % len(live)]
            paper.revision += 1
            if what == "end":
                paper.over = True
                live.remove(paper)
                self.kept.append(paper)
            self.publish(paper)
        elif what == "forget" and self.kept:
            paper = self.kept.pop(one % len(self.kept))
            if self.log.active:
                self.log.forget(paper)
            for watcher in self.watchers:
                watcher.gone(paper)
        elif what == "subscribe":
            self.subscribe(Selection(owner_id=(None, "a", "b")[one % 3], tool_name=(None, None, "tool")[two % 3]))
        elif what == "leave" and self.watchers:
            self.log.remove(self.watchers.pop(one % len(self.watchers)).updates)

    def subscribe(self, selection: Selection) -> None:
        updates = Updates(self.log, selection)
        updates.join(list(self.papers), self.admitted)
        watcher = Expectation(updates, selection, {paper.id for paper in self.papers})
        # What is live comes first, in the order of the last changes: of admission, if nobody watched before.
        for paper in sorted(self.papers, key=lambda paper: paper.published):
            watcher.changed(paper)
        self.watchers.append(watcher)

    async def read(self, watcher: Expectation, steps: int) -> None:
        for _ in range(steps):
            expected = watcher.next()
            with trio.CancelScope() as scope:
                if expected is None:
                    scope.cancel()
                snapshot = await anext(watcher.updates)
                assert (snapshot.execution_id, snapshot.revision) == expected
            assert scope.cancelled_caught == (expected is None)
            assert (watcher.updates.missed, watcher.updates.forgotten) == (watcher.missed, watcher.forgotten)


STEPS: Final = st.tuples(
    st.sampled_from(["admit", "admit", "change", "change", "end", "subscribe", "leave", "read", "read", "forget"]),
    st.integers(0, 6),
    st.integers(0, 6),
)


@requirement("watching.counters", "watching.newest-only", "watching.last-revision")
@given(steps=st.lists(STEPS, max_size=60), batch=st.sampled_from([1, 2, 4096]), overtaken=st.sampled_from([0, 3, 256]))
@example(
    # A watcher that has seen an execution stalls while many are forgotten together.
    steps=[
        ("subscribe", 0, 0),
        ("admit", 0, 0),
        ("read", 0, 0),
        ("end", 0, 0),
        ("forget", 0, 0),
        ("admit", 0, 0),
        ("end", 0, 0),
        ("forget", 0, 0),
        ("read", 0, 3),
    ],
    batch=2,
    overtaken=0,
)
def test_watchers_are_shown_and_told_what_a_brute_force_model_says(
    steps: list[tuple[str, int, int]], batch: int, overtaken: int
) -> None:
    async def main() -> None:
        world = World()
        for what, one, two in steps:
            if what == "read" and world.watchers:
                await world.read(world.watchers[one % len(world.watchers)], two)
            else:
                world.step(what, one, two)
        for watcher in world.watchers:
            await world.read(watcher, len(watcher.pending) + 1)
            assert not watcher.pending

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("armory_trio.engine._subscriptions._FORGOTTEN_KEPT", batch)
        patch.setattr("armory_trio.engine._subscriptions._COMPACT_FROM", overtaken)
        trio.run(main)


# -- events


@requirement("watching.events")
async def test_events_come_typed_in_order_and_numbered() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor, supervisor.events() as events:
        execution = supervisor.start(ToolCall("add", {"a": 1, "b": 2}, id="call-1"), owner_id="run-7")
        await execution.settled()
        supervisor.close_admission("maintenance")
        told = [await anext(events) for _ in range(5)]

    assert [type(event) for event in told] == [
        ExecutionAdmitted,
        ExecutionStarted,
        OutcomeDecided,
        ExecutionSettled,
        AdmissionWasClosed,
    ]
    assert [event.sequence for event in told] == [1, 2, 3, 4, 5]
    for event in told[:4]:
        assert isinstance(event, OfExecution)
        assert (event.execution_id, event.call_id, event.tool_name) == (execution.id, "call-1", "add")
        assert event.owner_id == "run-7"


@requirement("watching.events")
async def test_a_refused_call_tells_that_it_was_refused() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor, supervisor.events() as events:
        await supervisor.execute(ToolCall("nobody"))
        told = [await anext(events) for _ in range(4)]

    assert [type(event) for event in told] == [ExecutionAdmitted, OutcomeDecided, ExecutionRefused, ExecutionSettled]
    refused = told[2]
    assert isinstance(refused, ExecutionRefused)
    assert (refused.category, refused.code) == ("not_found", "NOT_FOUND")


@requirement("watching.owner")
async def test_events_carry_the_owner_and_leave_it_out_when_there_is_none() -> None:
    async with (
        open_supervisor(Toolbox([add, relay, watch])) as supervisor,
        supervisor.events(ExecutionSettled) as events,
    ):
        call = ToolCall("add", {"a": 1, "b": 2})
        await supervisor.execute(call)
        await supervisor.execute(call, owner_id="run-7")
        context = RequestContext(principal="p", owner="from-context")
        await supervisor.execute(call, request_context=context)
        await supervisor.execute(call, request_context=context, owner_id="named")
        await supervisor.execute(ToolCall("relay", {"name": "watch", "seconds": 0}), owner_id="parent")
        told = [await anext(events) for _ in range(6)]

    owners = [event.owner_id for event in told if isinstance(event, ExecutionSettled)]
    assert owners == [None, "run-7", "from-context", "named", "parent", "parent"]
    encoded = [msgspec.json.decode(msgspec.json.encode(event)) for event in told]
    assert "owner_id" not in encoded[0]
    assert encoded[1]["owner_id"] == "run-7"


@requirement("watching.payloads")
async def test_payloads_go_only_to_readers_who_ask_for_them() -> None:
    @tool
    async def work(ctx: ToolContext) -> AsyncIterator[str]:
        ctx.progress(percent=50, message="halfway", checkpoint={"page": 7})
        ctx.log("info", "a line", data={"secret": 1})
        ctx.emit("custom", {"body": 2})
        yield "chunk"

    kinds = (ProgressReported, LogWritten, CustomEmitted, ChunkEmitted)
    async with (
        open_supervisor(Toolbox([work])) as supervisor,
        supervisor.events(*kinds, include_payloads=True) as full,
        supervisor.events(*kinds) as plain,
    ):
        await supervisor.execute(ToolCall("work"))
        rich = [await anext(full) for _ in range(4)]
        poor = [await anext(plain) for _ in range(3)]
        with trio.move_on_after(0) as nothing:
            await anext(plain)

    progress, log, custom, chunk = rich
    assert isinstance(progress, ProgressReported) and progress.checkpoint == {"page": 7}
    assert isinstance(log, LogWritten) and log.data == {"secret": 1}
    assert isinstance(custom, CustomEmitted) and custom.data == {"body": 2}
    assert isinstance(chunk, ChunkEmitted) and (chunk.index, chunk.chunk) == (0, "chunk")
    progress, log, custom = poor
    assert isinstance(progress, ProgressReported)
    assert (progress.percent, progress.message, progress.checkpoint) == (50, "halfway", None)
    assert isinstance(log, LogWritten) and (log.level, log.message, log.data) == ("info", "a line", None)
    assert isinstance(custom, CustomEmitted) and (custom.name, custom.data) == ("custom", None)
    assert nothing.cancelled_caught
    assert [event.sequence for event in poor] == [event.sequence for event in rich[:3]]


@requirement("watching.lagged")
async def test_a_reader_that_falls_behind_is_told_where_and_how_many_it_lost() -> None:
    async with (
        open_supervisor(Toolbox([add])) as supervisor,
        supervisor.events(ExecutionAdmitted, buffer=4) as slow,
        supervisor.events(ExecutionAdmitted) as quick,
    ):

        async def admit(times: int) -> None:
            for _ in range(times):
                await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))

        await admit(10)
        first = [await anext(slow) for _ in range(3)]
        await admit(4)
        second = [await anext(slow) for _ in range(5)]
        everything = [await anext(quick) for _ in range(14)]

    lagged, *_ = first
    assert isinstance(lagged, Lagged) and lagged.missed == 6
    again, *rest = second
    assert isinstance(again, Lagged) and again.missed == 2
    assert first[1:] == everything[6:8]
    assert rest == everything[10:]
    numbers = [event.sequence for event in first + second]
    assert numbers == sorted(set(numbers))


@requirement("watching.lagged")
async def test_a_buffer_for_nothing_is_refused() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        with pytest.raises(ValueError, match="buffer=0: give a whole number, at least 1"):
            supervisor.events(buffer=0)


@requirement("watching.revision-rule")
async def test_when_an_event_arrives_a_look_shows_at_least_its_revision(autojump_clock: trio.abc.Clock) -> None:
    checked: Counter[str] = Counter()

    async def check(supervisor: Supervisor, *, task_status: trio.TaskStatus[None]) -> None:
        async with supervisor.events() as events:
            task_status.started()
            async for event in events:
                if isinstance(event, OfExecution):
                    snapshot = supervisor.executions.locate(event.execution_id)
                    assert snapshot is not None and snapshot.revision >= event.revision
                    if isinstance(event, ExecutionSettled):
                        assert snapshot.state == event.state in FINAL
                    if isinstance(event, OutcomeDecided):
                        assert snapshot.outcome == event.outcome
                checked[type(event).__name__] += 1

    async with open_supervisor(Toolbox([sleep, count, relay, watch])) as supervisor, trio.open_nursery() as nursery:
        await nursery.start(check, supervisor)
        supervisor.start(ToolCall("sleep", {"seconds": 9}), timeout=1)
        supervisor.start(ToolCall("count", {"upto": 3, "pause": 1}))
        supervisor.start(ToolCall("relay", {"name": "watch", "seconds": 2}))
        supervisor.start(ToolCall("relay", {"name": "watch", "seconds": "no"}))
        await supervisor.wait_idle()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert checked["ExecutionSettled"] == checked["OutcomeDecided"] == checked["ExecutionAdmitted"] == 5
    assert checked["AbortRequested"] == 1


# -- random interleavings

Kind = Literal["watch", "sleep", "count", "stubborn", "broken", "refused", "relay", "graceful", "clumsy"]


@attrs.frozen
class Act:
    """One call of a random scenario."""

    kind: Kind
    at: int
    lasts: int
    abort_at: int | None
    timeout: int | None
    owner: str | None


@tool(grace=1.5)
async def graceful(seconds: float, ctx: ToolContext) -> str:
    """Wrap up when asked to stop."""
    with trio.move_on_after(seconds):
        await ctx.wait_abort_requested()
    await trio.sleep(1)
    return "wrapped up"


@tool
async def broken(seconds: float, ctx: ToolContext) -> None:
    """Fail after a while."""
    async with ctx.waiting("the end"):
        await trio.sleep(seconds)
    raise ValueError("as always")


@tool
async def clumsy(seconds: float) -> None:
    """Fail while cleaning up."""
    try:
        await trio.sleep(seconds)
    finally:
        raise OSError("disk full")


def call_for(act: Act) -> ToolCall:
    match act.kind:
        case "count":
            return ToolCall("count", {"upto": act.lasts, "pause": 1})
        case "refused":
            return ToolCall("sleep", {"seconds": "five"})
        case "relay":
            return ToolCall("relay", {"name": "sleep", "seconds": act.lasts})
        case _:
            return ToolCall(act.kind, {"seconds": act.lasts})


ACTS: Final = st.builds(
    Act,
    kind=st.sampled_from(["watch", "sleep", "count", "stubborn", "broken", "refused", "relay", "graceful", "clumsy"]),
    at=st.integers(0, 3),
    lasts=st.integers(0, 4),
    abort_at=st.none() | st.integers(0, 5),
    timeout=st.none() | st.integers(1, 4),
    owner=st.sampled_from([None, "a", "b"]),
)


class Scenario:
    """Plays random acts, and writes down what a reader of events and two watchers are told."""

    def __init__(self, acts: list[Act], concurrent: int, shutdown_at: int | None) -> None:
        self.acts = acts
        self.concurrent = concurrent
        self.shutdown_at = shutdown_at
        self.told: list[Happening] = []
        self.quick: list[Snapshot] = []
        self.slow: list[Snapshot] = []
        self.last: dict[str, Snapshot] = {}
        self.missed = 0

    async def act(self, supervisor: Supervisor, act: Act) -> None:
        await trio.sleep(act.at)
        if supervisor.closed:
            return
        execution = supervisor.start(call_for(act), owner_id=act.owner, timeout=act.timeout)
        if act.abort_at is not None:
            await trio.sleep(act.abort_at)
            execution.abort("the scenario says so")

    async def watch(
        self, supervisor: Supervisor, found: list[Snapshot], pace: float, *, task_status: trio.TaskStatus[None]
    ) -> None:
        async with supervisor.executions.subscribe() as updates:
            task_status.started()
            try:
                async for snapshot in updates:
                    found.append(snapshot)
                    await trio.sleep(pace)
            finally:
                self.missed += updates.missed
                assert updates.forgotten == 0

    async def listen(self, supervisor: Supervisor, *, task_status: trio.TaskStatus[None]) -> None:
        async with supervisor.events(buffer=100_000) as events:
            task_status.started()
            async for event in events:
                self.told.append(event)  # it is cut off in the middle

    async def main(self) -> None:
        tools: list[Tool[..., object]] = [watch, sleep, count, stubborn, broken, relay, graceful, clumsy]
        limits = Limits(concurrent=self.concurrent)
        async with (
            trio.open_nursery() as watchers,
            open_supervisor(Toolbox(tools), limits=limits, cleanup_timeout=1) as supervisor,
        ):
            await watchers.start(self.listen, supervisor)
            await watchers.start(self.watch, supervisor, self.quick, 0)
            await watchers.start(self.watch, supervisor, self.slow, 0.7)
            async with trio.open_nursery() as players:
                for act in self.acts:
                    players.start_soon(self.act, supervisor, act)
                if self.shutdown_at is not None:
                    await trio.sleep(self.shutdown_at)
                    await supervisor.shutdown("abort")
            await supervisor.wait_idle()
            await trio.sleep(1000)
            watchers.cancel_scope.cancel()
            self.last = {shot.execution_id: shot for shot in supervisor.executions.inspect()}


ORDER: Final[dict[type[Happening], int]] = {
    ExecutionAdmitted: 0,
    ExecutionStarted: 1,
    StreamOpened: 2,
    OutcomeDecided: 3,
    ExecutionSettled: 4,
}
"""Those of which each comes at most once, in this order."""


@requirement("watching.exactly-once", "watching.last-revision", "watching.strictly-growing")
@given(
    acts=st.lists(ACTS, min_size=1, max_size=6),
    concurrent=st.integers(1, 4),
    shutdown_at=st.none() | st.integers(0, 4),
)
def test_whatever_happens_each_outcome_and_each_end_is_told_once_and_in_order(
    acts: list[Act], concurrent: int, shutdown_at: int | None
) -> None:
    scenario = Scenario(acts, concurrent, shutdown_at)
    trio.run(scenario.main, clock=trio.testing.MockClock(autojump_threshold=0))

    assert [event.sequence for event in scenario.told] == list(range(1, len(scenario.told) + 1))
    histories: dict[str, list[OfExecution]] = {name: [] for name in scenario.last}
    for event in scenario.told:
        if isinstance(event, OfExecution):
            histories[event.execution_id].append(event)
    for name, history in histories.items():
        check_history(history, scenario.last[name])
    for found in (scenario.quick, scenario.slow):
        check_followed(found, scenario.last)
    shown = len(scenario.quick) + len(scenario.slow)
    assert shown + scenario.missed == 2 * sum(shot.revision for shot in scenario.last.values())


def check_history(history: list[OfExecution], last: Snapshot) -> None:
    counts = Counter(type(event) for event in history)
    assert counts[ExecutionAdmitted] == counts[OutcomeDecided] == counts[ExecutionSettled] == 1
    assert counts[ExecutionStarted] == last.attempts
    assert counts[AbortRequested] == (last.abort is not None)
    assert counts[StreamOpened] == (last.chunks > 0)
    assert counts[StreamClosed] == (last.tool_name == "count" and last.attempts > 0)
    single = [ORDER[type(event)] for event in history if type(event) in ORDER]
    assert single == sorted(single)
    revisions = [event.revision for event in history]
    assert revisions == sorted(revisions)
    assert {event.owner_id for event in history} == {last.owner_id}
    for event in history:
        if isinstance(event, OutcomeDecided):
            assert (event.outcome, event.category, event.code) == (
                last.outcome,
                last.error_category,
                last.error_code,
            )
        if isinstance(event, ExecutionSettled):
            assert (event.state, event.outcome, event.effect) == (last.state, last.outcome, last.effect)


def check_followed(found: list[Snapshot], last: dict[str, Snapshot]) -> None:
    newest: dict[str, Snapshot] = {}
    for snapshot in found:
        before = newest.get(snapshot.execution_id)
        assert before is None or before.revision < snapshot.revision
        newest[snapshot.execution_id] = snapshot
    assert newest == last


# -- the contract of what is awaited


@requirement("watching.checkpoints")
async def test_what_waits_is_a_checkpoint_also_when_there_is_nothing_to_wait_for() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor, supervisor.stream(ToolCall("add")) as stream:
        execution = supervisor.start(ToolCall("add", {"a": 1, "b": 2}))
        await execution.settled()
        waits: list[Callable[[], Awaitable[object]]] = [execution.result, execution.settled, supervisor.wait_idle]
        for wait in waits:
            with trio.testing.assert_checkpoints():
                await wait()
        with trio.testing.assert_checkpoints():
            await supervisor.execute(ToolCall("nobody"))
        with trio.testing.assert_checkpoints():
            await supervisor.execute_batch([])
        with trio.testing.assert_checkpoints(), pytest.raises(StopAsyncIteration):
            await anext(stream)


@requirement("watching.cancelled-step")
@pytest.mark.parametrize("turns", range(6))
async def test_waiting_for_an_execution_can_be_cancelled_at_any_turn_and_changes_nothing(
    turns: int, autojump_clock: trio.abc.Clock
) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        execution = supervisor.start(ToolCall("sleep", {"seconds": 2}))
        waits: list[Callable[[], Awaitable[object]]] = [execution.result, execution.settled, supervisor.wait_idle]
        for wait in waits:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(wait)
                    for _ in range(turns):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
            assert scope.cancelled_caught
        assert execution.snapshot.abort is None
        result = await execution.result()

    assert result.value == "slept"


@requirement("watching.cancelled-step")
async def test_two_tasks_that_follow_one_subscription_are_told_so() -> None:
    async with (
        open_supervisor(Toolbox([add])) as supervisor,
        trio.open_nursery() as nursery,
        supervisor.executions.subscribe() as updates,
        supervisor.events() as events,
    ):
        nursery.start_soon(anext, updates)
        nursery.start_soon(anext, events)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await anext(updates)
        with pytest.raises(trio.BusyResourceError):
            await anext(events)
        await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))


@requirement("watching.decided-in-grace")
@pytest.mark.parametrize("how", ["grace", "timeout", "deadline", "shutdown"])
async def test_an_outcome_that_is_decided_while_a_grace_runs_is_a_revision_of_its_own(
    how: str, autojump_clock: trio.abc.Clock
) -> None:
    @tool(grace=10)
    async def linger(ctx: ToolContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(5)

    seen: list[Snapshot] = []

    async def follow(execution_id: str, *, task_status: trio.TaskStatus[None]) -> None:
        async with supervisor.executions.subscribe(execution_id=execution_id) as updates:
            task_status.started()
            while True:
                seen.append(await anext(updates))

    async with open_supervisor(Toolbox([linger])) as supervisor, trio.open_nursery() as nursery:
        deadline = trio.current_time() + 3 if how == "deadline" else None
        execution = supervisor.start(ToolCall("linger"), timeout=3 if how == "timeout" else None, deadline=deadline)
        await nursery.start(follow, execution.id)
        await trio.sleep(1)
        execution.abort("enough")
        await trio.sleep(1)
        told = {shot.revision: shot.outcome for shot in seen}
        assert execution.snapshot.outcome is None
        if how == "shutdown":
            with trio.move_on_after(0):
                await supervisor.shutdown("abort")
        await execution.result()
        decided = execution.snapshot
        await trio.testing.wait_all_tasks_blocked()

        assert (decided.state, decided.error_code) == ("abort-requested", "CANCELLED")
        assert decided.revision not in told
        assert seen[-1] == decided
        await execution.settled()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    revisions = [shot.revision for shot in seen]
    assert revisions == sorted(set(revisions))
    assert seen[-1].state in ("terminal", "unknown-effect")


@requirement("watching.events")
async def test_wrong_kinds_of_events_are_refused_before_anybody_is_disturbed() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        with pytest.raises(TypeError, match="give classes of events"):
            supervisor.events("LogWritten")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the point
        with pytest.raises(ValueError, match="include_payloads=True"):
            supervisor.events(ChunkEmitted)
        async with supervisor.events(ChunkEmitted, ExecutionSettled) as events:
            result = await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))
            told = await anext(events)

    assert result.value == 3
    assert isinstance(told, ExecutionSettled)


@requirement("watching.ends")
@pytest.mark.parametrize("late", [False, True], ids=["while it is open", "once it is closed"])
async def test_who_watches_or_reads_comes_to_an_end_with_the_supervisor(
    late: bool, autojump_clock: trio.abc.Clock
) -> None:
    seen: list[tuple[str, str]] = []
    told: list[str] = []

    async def watch(supervisor: Supervisor) -> None:
        async with supervisor.executions.subscribe() as updates:
            seen.extend([(snapshot.tool_name, snapshot.state) async for snapshot in updates])

    async def read(supervisor: Supervisor) -> None:
        async with supervisor.events(ExecutionSettled, AdmissionWasClosed) as events:
            told.extend([type(event).__name__ async for event in events])

    async with trio.open_nursery() as nursery:
        async with open_supervisor(Toolbox([sleep])) as supervisor:
            if not late:
                nursery.start_soon(watch, supervisor)
                nursery.start_soon(read, supervisor)
                await trio.testing.wait_all_tasks_blocked()
            supervisor.start(ToolCall("sleep", {"seconds": 5}))
        if late:
            nursery.start_soon(watch, supervisor)
            nursery.start_soon(read, supervisor)

    assert seen[-1:] == ([] if late else [("sleep", "terminal")])
    assert told == ([] if late else ["AdmissionWasClosed", "ExecutionSettled"])
