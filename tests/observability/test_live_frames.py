"""What viewers see: numbers, limits, pages, marks, and everything about one execution. Never what is private."""

from __future__ import annotations

import itertools
import time

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import Limits, RequestContext, Retention, ToolCall
from armory_trio.observability import _socket_desk, _socket_events
from armory_trio.observability._socket_desk import Pace
from armory_trio.observability.live import Frame, LiveLimit, Query, SortKey
from tests.requirements import requirement

from .hosts import begin, desk_of, watched

pytestmark = pytest.mark.usefixtures("restless")


def _names(frame: Frame) -> list[str | None]:
    return [each.tool_name for each in frame.executions]


def _owners(frame: Frame) -> list[str | None]:
    return [each.owner_id for each in frame.executions]


@requirement("live.frame")
async def test_a_frame_shows_who_runs_where_and_how_far_it_is(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        for owner in ("a", "b", "c"):
            begin(supervisor, "crawl", owner)
        await trio.sleep(10)
        frame = await look(Query())

    assert frame.host.admission == "open"
    assert frame.host.uptime == 10
    assert frame.totals.live == 3
    assert frame.totals.states == {"active": 2, "queued": 1}
    assert frame.limits == (
        LiveLimit(name="group:web", used=2, size=2, waiting=1),
        LiveLimit(name="supervisor", used=2, size=8, waiting=0),
    )
    runs, _, waits = frame.executions
    assert (runs.owner_id, runs.state, runs.age, runs.in_state, runs.ran, runs.idle) == ("a", "active", 10, 10, 10, 10)
    assert runs.progress is not None and (runs.progress.percent, runs.progress.message) == (25, "page 1")
    assert set(runs.capacity) == {"group:web", "supervisor"}
    assert (waits.state, waits.waits_for, waits.queue_position, waits.ran) == ("queued", "capacity:group:web", 1, None)


@requirement("live.frame")
async def test_rates_are_those_of_the_last_seconds(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        assert (await look(Query())).rates is None
        for _ in range(4):
            await trio.sleep(1)
            await supervisor.execute(ToolCall("quick", {}))
            await supervisor.execute(ToolCall("fail", {}))
        rates = (await look(Query())).rates
        for _ in range(20):
            await trio.sleep(1)
            await look(Query())
        later = (await look(Query())).rates

    assert rates is not None and later is not None
    assert (rates.started, rates.ended, rates.failed, rates.unseen, rates.over) == (2, 2, 1, 0, 4)
    assert (later.started, later.ended, later.over) == (0, 0, 10)


@requirement("live.frame")
async def test_what_ended_before_anybody_looked_is_there_as_far_as_it_is_kept(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as (supervisor, look):
        await supervisor.execute(ToolCall("quick", {}))
        frame = await look(Query(states=("ended",)))

    assert _names(frame) == ["quick"]
    assert (frame.totals.states, frame.totals.ended) == ({"terminal": 1}, 0)


@requirement("live.frame")
async def test_a_frame_says_that_admission_is_closed(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        supervisor.close_admission()
        closed = await look(Query())
        await supervisor.shutdown()
        ended = await look(Query())

    assert (closed.host.admission, ended.host.admission) == ("closed", "ended")


@requirement("live.frame")
async def test_chunks_are_as_many_as_there_are_when_somebody_looks(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look), supervisor.stream(ToolCall("stream", {})) as chunks:
        for _ in range(2):
            await anext(chunks)
        await trio.testing.wait_all_tasks_blocked()
        frame = await look(Query())
        for _ in range(1):
            await anext(chunks)
        await trio.testing.wait_all_tasks_blocked()
        later = await look(Query())

    assert frame.executions[0].state == later.executions[0].state == "streaming"
    assert later.executions[0].chunks == 3


@requirement("live.discreet")
async def test_no_frame_holds_what_is_private(autojump_clock: trio.testing.MockClock) -> None:
    secret = "s3cret"
    async with watched() as (supervisor, look):
        context = RequestContext(principal=secret, session=secret)
        running = supervisor.start(ToolCall("outer", {}), request_context=context, metadata=secret)
        supervisor.start(ToolCall("crawl", {"seconds": 123456.5}), owner_id="o")
        await look(Query(detail=running.id))
        await trio.sleep(1)
        running.abort(secret)
        ended = await supervisor.execute(ToolCall("crawl", {"seconds": 0}))
        await trio.sleep(1)
        frames = [await look(Query(detail=running.id, states=("all",))), await look(Query(detail=ended.execution_id))]

    told = msgspec.json.encode(frames).decode()
    assert any(each.abort is not None for each in frames[0].executions)
    assert [word for word in (secret, "123456", "the result", "a secret line", "principal") if word in told] == []


@requirement("live.query")
async def test_executions_are_chosen_by_state_tool_owner_and_text(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        await supervisor.execute(ToolCall("quick", {}), owner_id="run-1")
        for tool, owner in (("crawl", "run-1"), ("crawl", "run-22"), ("crawl", "x[1]"), ("deaf", "run-1")):
            begin(supervisor, tool, owner)
        await trio.sleep(1)

        async def chosen(**words: object) -> list[tuple[str | None, str | None]]:
            frame = await look(msgspec.convert(words, Query))
            return [(each.tool_name, each.owner_id) for each in frame.executions]

        assert await chosen() == [("crawl", "run-1"), ("crawl", "run-22"), ("deaf", "run-1"), ("crawl", "x[1]")]
        assert await chosen(states=["queued"]) == [("crawl", "x[1]")]
        assert await chosen(states=["terminal"]) == await chosen(states=["ended"]) == [("quick", "run-1")]
        assert len(await chosen(states=["all"])) == 5
        assert len(await chosen(states=["live"])) == 4
        assert await chosen(tools=["de*", "nothing"]) == [("deaf", "run-1")]
        assert await chosen(owners=["run-*"], tools=["crawl"]) == [("crawl", "run-1"), ("crawl", "run-22")]
        assert await chosen(owners=["x[*"]) == [("crawl", "x[1]")]
        assert await chosen(text="RUN-22") == [("crawl", "run-22")]
        assert await chosen(text="nobody") == []


@requirement("live.query")
@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("attention", "b"),
        ("state", "b"),
        ("tool", "b"),
        ("owner", "a"),
        ("age", "c"),
        ("in-state", "a"),
        ("waits-for", "c"),
        ("progress", "b"),
        ("chunks", "b"),
        ("attempts", "c"),
    ],
)
async def test_executions_are_sorted_by_every_column(
    autojump_clock: trio.testing.MockClock, sort: SortKey, first: str
) -> None:
    async with watched() as (supervisor, look), supervisor.stream(ToolCall("stream", {}), owner_id="a") as chunks:
        await anext(chunks)
        await trio.sleep(1)
        begin(supervisor, "crawl", "b")
        await trio.sleep(1)
        begin(supervisor, "crawl", "b")
        await trio.sleep(1)
        begin(supervisor, "crawl", "c")
        await trio.sleep(1)
        up = await look(Query(sort=sort))
        down = await look(Query(sort=sort, descending=True))

    assert _owners(up)[0] == first
    if sort in ("progress", "waits-for"):  # who has none is last in both directions
        assert _owners(up)[-1] != _owners(down)[0] == first
    else:
        assert [each.execution_id for each in down.executions] == [each.execution_id for each in up.executions][::-1]


@requirement("live.query")
@pytest.mark.parametrize("offset", [0, 1, 7, 1_203, 1_210, 5_000])
async def test_pages_follow_each_other_without_a_gap(autojump_clock: trio.testing.MockClock, offset: int) -> None:
    async with watched() as (supervisor, look):
        for number in range(1_210):
            begin(supervisor, "crawl", f"{number % 7}")
        await trio.sleep(1)
        everything = [
            each.execution_id
            for first in range(0, 1_210, 200)
            for each in (await look(Query(sort="owner", offset=first, limit=200))).executions
        ]
        page = await look(Query(sort="owner", offset=offset, limit=7))

    assert len(set(everything)) == 1_210
    assert [each.execution_id for each in page.executions] == everything[offset : offset + 7]
    assert (page.matched, page.offset) == (1_210, offset)


@requirement("live.marks")
async def test_the_stuck_come_first_and_then_the_slow(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        begin(supervisor, "deaf", "slow")
        await trio.sleep(20)
        begin(supervisor, "deaf", "fine")
        stuck = begin(supervisor, "deaf", "stuck")
        await trio.sleep(1)
        stuck.abort("enough")
        await supervisor.execute(ToolCall("gamble", {}), owner_id="unknown")
        await trio.sleep(5)
        frame = await look(Query(slow_after=10))
        only = await look(Query(slow_after=10, states=("stuck",)))

    assert [(each.owner_id, each.state, each.mark) for each in frame.executions] == [
        ("stuck", "cleanup-pending", "stuck"),
        ("unknown", "unknown-effect", "stuck"),
        ("slow", "active", "slow"),
        ("fine", "active", None),
    ]
    assert _owners(only) == ["stuck", "unknown"]
    assert frame.executions[0].in_state == pytest.approx(5, abs=0.1)


@requirement("live.detail")
async def test_everything_about_one_execution(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        top = begin(supervisor, "outer", "run-1")
        await look(Query(detail=top.id))
        await trio.sleep(5)
        child = next(shot for shot in supervisor.executions.inspect() if shot.parent_id == top.id)
        parent = (await look(Query(detail=top.id, limit=0))).detail
        inner = (await look(Query(detail=child.execution_id, limit=0))).detail

    assert parent is not None and inner is not None
    assert (parent.execution.declared_wait, parent.execution.state) == ("the weather", "waiting")
    assert [each.execution_id for each in parent.children] == [child.execution_id]
    assert [each.execution_id for each in inner.ancestors] == [top.id]
    assert [limit.name for limit in inner.limits] == ["group:web", "supervisor"]
    assert parent.ancestors == inner.children == ()


@requirement("live.detail")
async def test_the_events_of_one_execution_are_those_since_somebody_looks_at_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as (supervisor, look):
        running = begin(supervisor, "crawl")
        other = begin(supervisor, "crawl")
        await trio.sleep(1)
        first = (await look(Query(detail=running.id))).detail
        await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(1)
        running.abort("private words")
        other.abort("others")
        await trio.sleep(2)
        second = (await look(Query(detail=running.id))).detail
        await look(Query())
        forgotten = (await look(Query(detail=running.id))).detail

    assert first is not None and second is not None and forgotten is not None
    assert first.events == forgotten.events == ()
    assert [(event.kind, event.words) for event in second.events] == [
        ("AbortRequested", "source caller"),
        ("OutcomeDecided", "outcome error, category cancelled, code CANCELLED, effect none"),
        ("ExecutionSettled", "state terminal, outcome error, effect none"),
    ]
    assert second.events[0].ago == 2


@requirement("live.detail")
async def test_events_that_were_missed_are_said_to_be(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_socket_events, "_BUFFER", 600)
    async with watched() as (supervisor, look):
        async with supervisor.stream(ToolCall("stream", {})) as chunks:
            closely = Query(detail=chunks.execution.id)
            await look(closely)
            await trio.testing.wait_all_tasks_blocked()
            for _ in range(3):
                await anext(chunks)
            for _ in range(300):
                await supervisor.execute(ToolCall("quick", {}))
        await trio.sleep(1)
        detail = (await look(closely)).detail

    assert detail is not None
    assert detail.events_missed
    assert detail.events[-1].kind == "ExecutionSettled"


@requirement("live.detail")
async def test_events_tell_numbers_and_fixed_words(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        async with supervisor.stream(ToolCall("stream", {"ends": True})) as chunks:
            closely = Query(detail=chunks.execution.id)
            await look(closely)
            await trio.testing.wait_all_tasks_blocked()
            assert [chunk async for chunk in chunks] == ["chunk"] * 3
        detail = (await look(closely)).detail

    assert detail is not None
    assert [(event.kind, event.words) for event in detail.events if event.kind.startswith("Stream")] == [
        ("StreamClosed", "chunks 3, complete yes")
    ]


@requirement("live.detail")
async def test_an_execution_that_nobody_knows_has_no_detail(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (_, look):
        assert (await look(Query(detail="exe-nobody"))).detail is None


@requirement("live.counts")
@pytest.mark.parametrize("kept", [0, 5])
async def test_what_ends_faster_than_anybody_looks_is_counted_and_leaves_nothing(
    autojump_clock: trio.testing.MockClock, kept: int
) -> None:
    async with watched(retention=Retention(count=kept), limits=Limits()) as (supervisor, look):
        begun = [begin(supervisor, "crawl", seconds=5) for _ in range(50)]
        assert (await look(Query())).totals.live == len(begun)
        await trio.sleep(10)
        for _ in range(20):
            await supervisor.execute(ToolCall("quick", {}))
        frame = await look(Query())

    totals = frame.totals
    assert (frame.matched, totals.live, totals.ended, totals.unseen) == (0, 0, 70, 70 - kept)
    assert totals.states.get("terminal", 0) == kept


@requirement("live.free")
async def test_while_nobody_looks_nothing_is_followed(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, _):
        pass
    async with watched() as (supervisor, look):
        core = supervisor._core  # pyright: ignore[reportPrivateUsage]
        log, feed = core.log, core.feed
        before = (log.active, len(feed.readers))
        await look(Query())
        looking = (log.active, len(feed.readers))
        await look(Query(detail="exe-any"))
        await trio.testing.wait_all_tasks_blocked()
        closely = (log.active, len(feed.readers))
        await look(Query())
        await trio.testing.wait_all_tasks_blocked()
        again = (log.active, len(feed.readers))

    assert before in ((False, 0), (True, 0))  # somebody has come, and may be let in already
    assert (looking, closely, again) == ((True, 0), (True, 1), (True, 0))


@requirement("live.free")
async def test_the_last_viewer_takes_the_following_along(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        log = supervisor._core.log  # pyright: ignore[reportPrivateUsage]
        async with desk_of(supervisor) as (desk, _):
            with desk.viewer() as viewer:
                await desk.frame(Query(), re=1, viewer=viewer)
                with desk.viewer() as second:
                    await desk.frame(Query(), re=1, viewer=second)
                assert log.active
        await look(Query())
        followers = len(log._readers)  # pyright: ignore[reportPrivateUsage]

    assert followers == 1


@requirement("live.abort")
async def test_an_abort_says_what_it_did(autojump_clock: trio.testing.MockClock) -> None:
    async with watched(limits=Limits(concurrent=1)) as (supervisor, _):
        running, waiting = begin(supervisor, "deaf"), begin(supervisor, "crawl")
        await trio.sleep(1)
        async with desk_of(supervisor) as (desk, _), desk_of(supervisor, allow_abort=False) as (strict, _):
            answers = [
                await desk.abort(name, "why") for name in (running.id, running.id, waiting.id, waiting.id, "exe-nobody")
            ]
            refused = await strict.abort(running.id, "why")
        abort = running.snapshot.abort

    assert answers == ["requested", "already-requested", "not-started", "already-ended", "unknown"]
    assert refused == "not-allowed"
    assert abort is not None and (abort.source, abort.reason) == ("supervisor", "why")


@requirement("live.pace")
@pytest.mark.parametrize(("seconds", "rest"), [(0.01, 0.38), (0.5, 2.0)], ids=["short", "long"])
async def test_a_look_is_followed_by_a_rest_of_nineteen_times_its_length_but_not_for_ever(
    seconds: float, rest: float, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_socket_desk, "_SHARE", 20)
    ticks = itertools.count(0.0, seconds)
    monkeypatch.setattr(time, "thread_time", lambda: next(ticks))
    pace, began = Pace(), list[float]()
    for _ in range(3):
        async with pace.turn() as breathe:
            began.append(trio.current_time())
            await breathe()  # what others do meanwhile does not count

    assert [later - began[0] for later in began] == pytest.approx([0, rest, 2 * rest])


@requirement("live.pace")
async def test_others_run_while_thousands_are_looked_at(autojump_clock: trio.testing.MockClock) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with watched() as (supervisor, look):
        for _ in range(3_000):
            begin(supervisor, "crawl")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(count)
            frame = await look(Query())
            nursery.cancel_scope.cancel()

    assert frame.matched == 3_000
    assert turns >= 2 * 3_000 // 500


@requirement("live.pace")
async def test_a_look_that_is_cancelled_leaves_the_next_one_its_turn(autojump_clock: trio.testing.MockClock) -> None:
    async with watched() as (supervisor, look):
        for _ in range(1_200):
            begin(supervisor, "crawl")
        for steps in range(12):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_cancel_after, steps, scope)
                    await look(Query(detail="exe-any"))
        frame = await look(Query())

    assert frame.matched == 1_200


async def _cancel_after(steps: int, scope: trio.CancelScope) -> None:
    for _ in range(steps):
        await trio.lowlevel.checkpoint()
    scope.cancel()
