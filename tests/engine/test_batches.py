"""Batches in full: admitted whole, in order or side by side, named, aborted, failing fast, nested, bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, cast

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import (
    AbortAnswer,
    BatchError,
    Budget,
    BudgetExceeded,
    CallOptions,
    ExecutionAdmitted,
    Limits,
    Overloaded,
    PolicyRequest,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.engine._batch import Batch
from armory_trio.engine._options import NO_OPTIONS
from armory_trio.engine.capacity import Claim, Planner, Waiting
from tests.engine.tools import add, stubborn
from tests.requirements import requirement


@tool(effect="read-only")
async def ask(seconds: float) -> str:
    """Answer after a while."""
    await trio.sleep(seconds)
    return "answered"


@tool(effect="read-only", concurrency=2)
async def paired(seconds: float) -> str:
    """At most two at once."""
    await trio.sleep(seconds)
    return "done"


@tool(effect="read-only")
async def fail(seconds: float) -> None:
    """Fail after a while."""
    await trio.sleep(seconds)
    raise ValueError("broken")


@tool(writes=lambda arguments: [str(arguments["path"])])
async def write(path: str, seconds: float = 1) -> str:
    """Write a file."""
    await trio.sleep(seconds)
    return path


@tool(reads=lambda arguments: [str(arguments["path"])], effect="read-only")
async def read(path: str, seconds: float = 1) -> str:
    """Read a file."""
    await trio.sleep(seconds)
    return path


TOOLBOX = Toolbox([add, ask, fail, paired, read, stubborn, write])


def asks(*seconds: float) -> list[ToolCall]:
    return [ToolCall("ask", {"seconds": each}) for each in seconds]


def codes(results: Sequence[ToolResult[object]]) -> list[str | None]:
    return [None if result.error is None else result.error.code for result in results]


class Running:
    """A batch that runs in a task of its own, and what became of it."""

    def __init__(self) -> None:
        self.results: list[ToolResult[object]] = []
        self.error: BatchError | None = None

    async def run(
        self,
        supervisor: Supervisor,
        calls: Sequence[ToolCall],
        mode: Literal["parallel", "sequential"] = "parallel",
        on_error: Literal["collect", "fail_fast"] = "collect",
        batch_id: str | None = "b",
    ) -> None:
        try:
            self.results = await supervisor.execute_batch(
                calls, mode=mode, on_error=on_error, batch_id=batch_id, owner_id="ada"
            )
        except BatchError as exc:
            self.error = exc
            self.results = list(exc.results)

    @property
    def reasons(self) -> set[str]:
        return {result.error.message for result in self.results if result.error is not None}


# -- by name


@requirement("engine.batch-id")
async def test_a_host_names_a_batch_and_aborts_it_by_that_name(autojump_clock: trio.abc.Clock) -> None:
    running, other = Running(), Running()
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(running.run, supervisor, asks(9, 9))
        nursery.start_soon(other.run, supervisor, asks(9), "parallel", "collect", "other")
        await trio.sleep(1)
        answers = supervisor.abort("the turn is over", batch_id="b")
        shots = {shot.execution_id: shot for shot in supervisor.executions.inspect()}

    assert set(answers.values()) == {"requested"}
    assert {(shots[each].batch_id, shots[each].batch_index) for each in answers} == {("b", 0), ("b", 1)}
    assert codes(running.results) == ["CANCELLED"] * 2
    assert codes(other.results) == [None]
    aborts = [shots[each].abort for each in answers]
    assert {(abort.source, abort.reason) for abort in aborts if abort is not None} == {("batch", "the turn is over")}


@requirement("engine.batch-id")
async def test_two_live_batches_never_share_a_name(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(Running().run, supervisor, asks(5))
        await trio.sleep(1)
        with pytest.raises(ValueError, match="batch_id='b': a batch with this id is still running; give each its own"):
            await supervisor.execute_batch(asks(1), batch_id="b")
        admitted = len(supervisor.executions.inspect())
        await trio.sleep(5)
        again = await supervisor.execute_batch(asks(1), batch_id="b")

    assert admitted == 1
    assert codes(again) == [None]


@requirement("engine.batch-id")
async def test_a_name_is_taken_as_long_as_a_member_that_was_left_behind_runs(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        with trio.move_on_after(1):
            await supervisor.execute_batch([ToolCall("stubborn", {"seconds": 5})], batch_id="b")
        with pytest.raises(ValueError, match="still running"):
            await supervisor.execute_batch(asks(1), batch_id="b")
        await supervisor.wait_idle()
        assert codes(await supervisor.execute_batch(asks(1), batch_id="b")) == [None]


@requirement("engine.batch-id")
async def test_a_batch_that_was_refused_takes_no_name(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(TOOLBOX, limits=Limits(concurrent=1, queued=0)) as supervisor:
        with pytest.raises(Overloaded):
            await supervisor.execute_batch(asks(1, 1), batch_id="b")
        assert codes(await supervisor.execute_batch(asks(1), batch_id="b")) == [None]


@requirement("engine.batch-id", "engine.options")
@pytest.mark.parametrize("given_id", ["", 7])
async def test_a_name_is_a_string_that_is_not_empty(given_id: object) -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        with pytest.raises(TypeError, match=f"batch_id={given_id!r}: give a string that is not empty, or None"):
            await supervisor.execute_batch(asks(1), batch_id=cast("str", given_id))


# -- aborted


@requirement("engine.batch-stops-honestly")
@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@pytest.mark.parametrize("on_error", ["collect", "fail_fast"])
@pytest.mark.parametrize("how", ["batch", "owner"])
async def test_an_abort_of_a_batch_says_of_each_call_what_it_did_and_each_says_why(
    how: str,
    on_error: Literal["collect", "fail_fast"],
    mode: Literal["parallel", "sequential"],
    autojump_clock: trio.abc.Clock,
) -> None:
    """One member has ended, those that run are asked to stop, and those that wait never begin."""
    running = Running()
    calls = [*asks(1), *(ToolCall("paired", {"seconds": 9}) for _ in range(4))]
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(running.run, supervisor, calls, mode, on_error)
        await trio.sleep(2)
        if how == "batch":
            answers = supervisor.abort("enough", batch_id="b")
        else:
            answers = supervisor.abort("enough", owner_id="ada")

    told: list[AbortAnswer] = [answers[result.execution_id] for result in running.results]
    at_once = 2 if mode == "parallel" else 1
    assert told[0] == "already-ended"
    assert Counter(told[1:]) == {"requested": at_once, "not-started": 4 - at_once}
    assert Counter(codes(running.results)) == {None: 1, "CANCELLED": at_once, "NOT_STARTED": 4 - at_once}
    assert running.reasons == {"enough"}
    assert (running.error is not None) == (on_error == "fail_fast")


@requirement("engine.batch-stops-honestly")
async def test_an_abort_of_one_call_trips_a_fail_fast_batch(autojump_clock: trio.abc.Clock) -> None:
    running = Running()
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(running.run, supervisor, asks(9, 9, 9), "parallel", "fail_fast")
        await trio.sleep(1)
        second = supervisor.executions.inspect()[1].execution_id
        answers = supervisor.abort("not this one", execution_id=second)
        active = supervisor.executions.inspect(live_only=True)

    assert answers == {second: "requested"}
    assert running.error is not None and running.error.index == 1
    assert running.reasons == {"not this one", "call 1 of the batch failed"}
    assert {shot.state for shot in active} == {"abort-requested"}
    assert trio.current_time() == pytest.approx(1)


@requirement("engine.batch-stops-honestly")
async def test_a_shutdown_of_a_fail_fast_batch_is_what_its_calls_say(autojump_clock: trio.abc.Clock) -> None:
    running = Running()
    async with trio.open_nursery() as nursery, open_supervisor(TOOLBOX) as supervisor:
        nursery.start_soon(running.run, supervisor, asks(9, 9, 9), "sequential", "fail_fast")
        await trio.sleep(1)
        await supervisor.shutdown("abort")
    sources = [shot.abort.source for shot in supervisor.executions.inspect() if shot.abort is not None]

    assert running.reasons == {"the supervisor was asked to abort"}
    assert sources == ["shutdown"] * 3


@requirement("engine.batch-stops-honestly")
async def test_a_cancelled_caller_of_a_fail_fast_batch_is_what_its_calls_say(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(TOOLBOX, limits=Limits(concurrent=2)) as supervisor:
        with trio.move_on_after(1):
            await supervisor.execute_batch(asks(9, 9, 9, 9), on_error="fail_fast")
        shots = supervisor.executions.inspect()

    assert [shot.abort.source for shot in shots if shot.abort is not None] == ["caller"] * 4
    assert Counter(shot.error_code for shot in shots) == {"CANCELLED": 2, "NOT_STARTED": 2}


@requirement("engine.fail-fast")
async def test_what_needs_an_action_does_not_trip_a_batch() -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        core, door = supervisor._core, supervisor._door  # pyright: ignore[reportPrivateUsage]  # no call pauses yet
        batch = Batch(core, "b", size=2, fail_fast=True)
        paused, waiting = (door.make(call, NO_OPTIONS, None) for call in asks(1, 1))
        for record in (paused, waiting):
            batch.add(record)
        paused.verdict = ("action_required", None, None)
        batch.released(paused)

    assert waiting.verdict is None


@requirement("engine.batch-stops-honestly")
async def test_a_nested_batch_that_fails_fast_says_that_its_caller_was_stopped(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(effect="read-only")
    async def outer() -> None:
        await current_supervisor().execute_batch(asks(9, 9, 9), on_error="fail_fast")

    async with open_supervisor(TOOLBOX.extend(outer), limits=Limits(concurrent=3)) as supervisor:
        await supervisor.execute(ToolCall("outer"), timeout=1)
        await supervisor.wait_idle()
        aborts = [shot.abort for shot in supervisor.executions.inspect(tool_name="ask")]

    told = {(abort.source, abort.reason.partition(":")[0]) for abort in aborts if abort is not None}
    assert len(aborts) == 3
    assert told == {("parent", "its caller was asked to stop")}


# -- one after another


@requirement("engine.batch-whole")
async def test_in_a_sequential_batch_a_failure_does_not_hold_up_the_next(autojump_clock: trio.abc.Clock) -> None:
    calls = [*asks(1), ToolCall("fail", {"seconds": 1}), ToolCall("nothing"), ToolCall("add", {"a": 1}), *asks(1)]
    async with open_supervisor(TOOLBOX) as supervisor:
        results = await supervisor.execute_batch(calls, mode="sequential")
        starts = [shot.started_at for shot in supervisor.executions.inspect()]

    assert codes(results) == [None, "INTERNAL_ERROR", "NOT_FOUND", "INVALID_ARGUMENTS", None]
    assert starts == [0, 1, None, None, 2]


@requirement("engine.fail-fast")
async def test_a_sequential_batch_that_fails_fast_begins_nothing_after_the_failure(
    autojump_clock: trio.abc.Clock,
) -> None:
    running = Running()
    async with open_supervisor(TOOLBOX) as supervisor:
        await running.run(
            supervisor, [*asks(1), ToolCall("fail", {"seconds": 1}), *asks(1, 1)], "sequential", "fail_fast"
        )

    assert running.error is not None and running.error.index == 1
    assert codes(running.results) == [None, "INTERNAL_ERROR", "NOT_STARTED", "NOT_STARTED"]
    assert [result.attempts for result in running.results] == [1, 1, 0, 0]


@requirement("engine.batch-whole")
@pytest.mark.parametrize(("index", "ended"), [(0, 6), (1, 5), (2, 4)])
async def test_an_aborted_call_of_a_sequential_batch_makes_way_for_the_next(
    index: int, ended: float, autojump_clock: trio.abc.Clock
) -> None:
    """The calls take 1, 2 and 3 seconds and one more; one of them is stopped before its turn, or in it."""
    running = Running()
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(running.run, supervisor, asks(1, 2, 3, 1), "sequential")
        await trio.testing.wait_all_tasks_blocked()
        chosen = supervisor.executions.inspect()[index].execution_id
        supervisor.abort("skip it", execution_id=chosen)
        await supervisor.wait_idle()

    expected: list[str | None] = [None] * 4
    expected[index] = "CANCELLED" if index == 0 else "NOT_STARTED"
    assert codes(running.results) == expected
    assert trio.current_time() == pytest.approx(ended)


@requirement("engine.batch-in-order")
async def test_a_call_that_is_still_judged_is_not_passed_by_the_next_of_its_sequential_batch(
    autojump_clock: trio.abc.Clock,
) -> None:
    begun: list[float] = []

    @tool(effect="read-only")
    async def note(pause: float) -> float:
        """Note that it runs."""
        begun.append(pause)
        await trio.sleep(1)
        return trio.current_time()

    async def think(request: PolicyRequest) -> None:
        await trio.sleep(request.arguments["pause"])  # type: ignore[arg-type]  # a number by its schema

    calls = [ToolCall("note", {"pause": pause}) for pause in (3.0, 0.0, 2.0, 1.0)]
    async with open_supervisor(Toolbox([note], policy=think)) as supervisor:
        start = trio.current_time()
        results = await supervisor.execute_batch(calls, mode="sequential")

    ends = [cast("float", result.value) - start for result in results]
    assert begun == [3.0, 0.0, 2.0, 1.0]
    assert ends == [4, 5, 8, 10]  # each is judged when the one before has ended


@requirement("engine.batch-in-order")
async def test_one_that_is_stopped_while_it_waits_for_a_judged_call_lets_nobody_pass_that_one(
    autojump_clock: trio.abc.Clock,
) -> None:
    begun: list[float] = []

    @tool(effect="read-only")
    async def note(pause: float) -> None:
        """Note that it runs."""
        begun.append(pause)

    async def think(request: PolicyRequest) -> None:
        await trio.sleep(request.arguments["pause"])  # type: ignore[arg-type]  # a number by its schema

    calls = [ToolCall("note", {"pause": pause}) for pause in (3.0, 1.0, 0.0)]
    async with open_supervisor(Toolbox([note], policy=think)) as supervisor, trio.open_nursery() as nursery:
        running = Running()
        nursery.start_soon(running.run, supervisor, calls, "sequential")
        await trio.sleep(0.5)
        second = supervisor.executions.inspect()[1]
        answer = supervisor.abort("not that one", execution_id=second.execution_id)

    assert second.waits_for == f"resource:batch:{second.batch_id}"
    assert list(answer.values()) in (["not-started"], ["requested"])
    assert [result.attempts for result in running.results] == [1, 0, 1]
    assert begun == [3.0, 0.0]


@requirement("engine.batch-whole")
async def test_a_stubborn_call_of_a_sequential_batch_keeps_its_place_until_it_is_gone(
    autojump_clock: trio.abc.Clock,
) -> None:
    running = Running()
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(running.run, supervisor, [ToolCall("stubborn", {"seconds": 5}), *asks(1)], "sequential")
        await trio.sleep(1)
        supervisor.abort("go away", execution_id=supervisor.executions.inspect()[0].execution_id)
        await trio.sleep(1)
        second = supervisor.executions.inspect()[-1]
        await supervisor.wait_idle()

    assert (second.state, second.waits_for) == ("queued", "resource:batch:b")
    assert trio.current_time() == pytest.approx(6)


# -- nested


@requirement("engine.nested", "engine.batch-whole")
@pytest.mark.parametrize(("mode", "took"), [("parallel", 2), ("sequential", 6)])
async def test_a_batch_made_by_a_tool_is_nested_and_borrows_what_its_caller_holds(
    mode: Literal["parallel", "sequential"], took: float, autojump_clock: trio.abc.Clock
) -> None:
    @tool(effect="read-only")
    async def outer(ctx: ToolContext) -> list[object]:
        results = await current_supervisor().execute_batch(asks(2, 2, 2), mode=mode)
        return [result.value for result in results]

    async with open_supervisor(TOOLBOX.extend(outer), limits=Limits(concurrent=3, queued=0)) as supervisor:
        result = await supervisor.execute(ToolCall("outer"), owner_id="ada")
        children = supervisor.executions.inspect(tool_name="ask")

    assert result.value == ["answered"] * 3
    assert {(shot.parent_id, shot.owner_id) for shot in children} == {(result.execution_id, "ada")}
    assert trio.current_time() == pytest.approx(took)


@requirement("engine.nested")
@pytest.mark.parametrize("mode", ["parallel", "sequential"])
async def test_a_nested_batch_runs_under_a_limit_of_one_and_is_aborted_with_its_caller(
    mode: Literal["parallel", "sequential"], autojump_clock: trio.abc.Clock
) -> None:
    @tool(effect="read-only")
    async def outer(seconds: float, ctx: ToolContext) -> list[object]:
        results = await current_supervisor().execute_batch(asks(seconds, seconds), mode=mode, batch_id="inner")
        return [result.value for result in results]

    async with open_supervisor(TOOLBOX.extend(outer), limits=Limits(concurrent=1)) as supervisor:
        fine = await supervisor.execute(ToolCall("outer", {"seconds": 1}))
        stopped = await supervisor.execute(ToolCall("outer", {"seconds": 9}), timeout=3)
        await supervisor.wait_idle()
        inner = supervisor.executions.inspect(tool_name="ask")[2:]

    assert fine.value == ["answered"] * 2
    assert codes([stopped]) == ["TIMEOUT"]
    assert [shot.abort.source for shot in inner if shot.abort is not None] == ["parent"] * 2
    assert Counter(shot.error_code for shot in inner) == {"CANCELLED": 1, "NOT_STARTED": 1}


# -- with other limits


@requirement("engine.concurrency")
@pytest.mark.parametrize(
    ("limits", "concurrency", "most"),
    [
        (Limits(), 3, 3),
        (Limits(concurrent=2), 3, 2),
        (Limits(per_owner=2), 5, 2),
        (Limits(concurrent=4), 1, 1),
        (Limits(groups={"db": 2}), 4, 2),
    ],
)
async def test_the_smallest_bound_counts(
    limits: Limits, concurrency: int, most: int, autojump_clock: trio.abc.Clock
) -> None:
    now = greatest = 0

    @tool(groups=["db"])
    async def query(n: int) -> int:
        nonlocal now, greatest
        now += 1
        greatest = max(greatest, now)
        await trio.sleep(1)
        now -= 1
        return n

    async with open_supervisor(Toolbox([query]), limits=limits) as supervisor:
        calls = [ToolCall("query", {"n": n}) for n in range(12)]
        results = await supervisor.execute_batch(calls, concurrency=concurrency, owner_id="ada")
        usage = supervisor._core.planner.usage()  # pyright: ignore[reportPrivateUsage]  # shows nowhere else

    assert greatest == most
    assert [result.value for result in results] == list(range(12))
    assert trio.current_time() == pytest.approx(12 / most)
    assert not any(name.startswith(("batch", "owner")) for name in usage)


@requirement("engine.concurrency")
async def test_the_bounds_of_two_batches_are_their_own(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(TOOLBOX) as supervisor:

        async def run(concurrency: int) -> None:
            await supervisor.execute_batch(asks(*[1] * 6), concurrency=concurrency)

        async with trio.open_nursery() as nursery:
            for concurrency in (2, 2, 3):
                nursery.start_soon(run, concurrency)
        assert trio.current_time() == pytest.approx(3)


# -- admitted whole


async def waiting_after(
    calls: Sequence[ToolCall],
    before: Sequence[ToolCall],
    limits: Limits,
    mode: Literal["parallel", "sequential"],
    options: CallOptions,
) -> int:
    """How many calls wait once the batch is in, when there is no bound on the queue."""
    async with open_supervisor(TOOLBOX, limits=limits) as supervisor:
        for call in before:
            supervisor.start(call, **options)
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_quietly, supervisor, calls, mode, options)
            await turn_of(supervisor, after=len(before))
            count = supervisor._core.planner.waiting_count  # pyright: ignore[reportPrivateUsage]  # shows nowhere else
            await supervisor.shutdown("abort")
    return count


async def turn_of(supervisor: Supervisor, *, after: int) -> None:
    """Return once a batch was admitted, which takes one turn: before any of its bodies gets one."""
    async with supervisor.events(ExecutionAdmitted) as admitted:
        if len(supervisor.executions.inspect()) == after:
            async for _ in admitted:
                return


async def run_quietly(
    supervisor: Supervisor, calls: Sequence[ToolCall], mode: Literal["parallel", "sequential"], options: CallOptions
) -> None:
    await supervisor.execute_batch(calls, mode=mode, **options)


CALLS = st.sampled_from(
    [
        ToolCall("ask", {"seconds": 1}),
        ToolCall("paired", {"seconds": 1}),
        ToolCall("write", {"path": "a"}),
        ToolCall("write", {"path": "b"}),
        ToolCall("read", {"path": "a"}),
        ToolCall("read", {"path": "b"}),
        ToolCall("read", {}),
        ToolCall("nothing", {}),
    ]
)


@requirement("engine.queue-bound-exact")
@given(
    calls=st.lists(CALLS, min_size=1, max_size=8),
    before=st.lists(CALLS, max_size=5),
    concurrent=st.sampled_from([None, 1, 3]),
    per_owner=st.sampled_from([None, 2]),
    mode=st.sampled_from(["parallel", "sequential"]),
    owner=st.sampled_from([None, "ada"]),
)
def test_a_batch_is_refused_exactly_when_more_of_its_calls_would_wait_than_the_bound_allows(
    calls: list[ToolCall],
    before: list[ToolCall],
    concurrent: int | None,
    per_owner: int | None,
    mode: Literal["parallel", "sequential"],
    owner: str | None,
) -> None:
    options: CallOptions = {"owner_id": owner}

    async def admits(bound: int) -> bool:
        limits = Limits(concurrent=concurrent, per_owner=per_owner, queued=bound)
        async with open_supervisor(TOOLBOX, limits=limits) as supervisor:
            for call in before:
                supervisor.start(call, **options)
            await trio.testing.wait_all_tasks_blocked()
            known = len(supervisor.executions.inspect())
            try:
                await supervisor.execute_batch(calls, mode=mode, **options)
            except Overloaded:
                assert len(supervisor.executions.inspect()) == known
                return False
            return True

    async def compare() -> None:
        needed = await waiting_after(calls, before, Limits(concurrent=concurrent, per_owner=per_owner), mode, options)
        assert await admits(needed)
        if needed > await _waiting_before(before, Limits(concurrent=concurrent, per_owner=per_owner), options):
            assert not await admits(needed - 1)

    trio.run(compare, clock=trio.testing.MockClock(autojump_threshold=0))


async def _waiting_before(before: Sequence[ToolCall], limits: Limits, options: CallOptions) -> int:
    async with open_supervisor(TOOLBOX, limits=limits) as supervisor:
        for call in before:
            supervisor.start(call, **options)
        count = supervisor._core.planner.waiting_count  # pyright: ignore[reportPrivateUsage]  # shows nowhere else
        await supervisor.shutdown("abort")
    return count


NEEDS = st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("owner:x",), ("a", "owner:x")])
USES = st.dictionaries(st.sampled_from(["docs", "mail"]), st.booleans(), max_size=2)
ASKED = st.tuples(NEEDS, USES).filter(lambda asked: bool(asked[0] or asked[1]))


def _claim(order: int, owner: str, asked: tuple[tuple[str, ...], dict[str, bool]]) -> Claim:
    needs, uses = asked
    return Claim(
        order=order,
        owner=owner,
        needs=needs,
        reads=[name for name, writes in uses.items() if not writes],
        writes=[name for name, writes in uses.items() if writes],
    )


@requirement("engine.queue-bound-exact")
@given(
    there=st.lists(st.tuples(st.sampled_from("xy"), ASKED), max_size=10),
    coming=st.lists(ASKED, min_size=1, max_size=12),
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    patience=st.sampled_from([1, 2, 1000]),
)
def test_the_planner_foresees_how_many_would_wait_and_touches_nothing(
    there: list[tuple[str, tuple[tuple[str, ...], dict[str, bool]]]],
    coming: list[tuple[tuple[str, ...], dict[str, bool]]],
    sizes: tuple[int, int],
    patience: int,
) -> None:
    planner = Planner(patience=patience)
    planner.set_family("owner", 2)
    for name, size in zip("ab", sizes, strict=True):
        planner.set_limit(name, size)
    for order, (owner, asked) in enumerate(there):
        planner.request(_claim(order, owner, asked))
    before = (planner.waiting_count, dict(planner.usage()), dict(planner.reserved()))
    claims = [_claim(100 + number, "x", asked) for number, asked in enumerate(coming)]
    foreseen = planner.would_wait(claims)

    assert (planner.waiting_count, dict(planner.usage()), dict(planner.reserved())) == before
    waited = sum(isinstance(planner.request(claim), Waiting) for claim in claims)
    if planner.reserved() == before[2]:
        assert waited == foreseen
    else:
        assert waited >= foreseen  # somebody lost patience meanwhile


@requirement("engine.queue-bound-exact")
async def test_calls_that_are_refused_anyway_take_no_room_in_the_queue(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(TOOLBOX, limits=Limits(concurrent=1, queued=1)) as supervisor:
        broken = [ToolCall("nothing"), ToolCall("ask"), ToolCall("ask", {"seconds": "x"})] * 5
        results = await supervisor.execute_batch([*broken, *asks(1, 1)])
        late = await supervisor.execute_batch(asks(1, 1, 1), deadline=trio.current_time())

    assert Counter(codes(results)) == {"NOT_FOUND": 5, "INVALID_ARGUMENTS": 10, None: 2}
    assert codes(late) == ["DEADLINE_EXCEEDED"] * 3


@requirement("engine.queue-bound-exact")
async def test_a_nested_batch_is_not_bound_by_the_queue(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def outer() -> int:
        return len(await current_supervisor().execute_batch(asks(*[1] * 5)))

    async with open_supervisor(TOOLBOX.extend(outer), limits=Limits(concurrent=1, queued=0)) as supervisor:
        assert (await supervisor.execute(ToolCall("outer"))).value == 5


# -- a budget


@requirement("engine.budget")
async def test_a_batch_is_paid_for_as_a_whole_and_gives_back_what_never_ran(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(TOOLBOX, budget=Budget(max_calls=4)) as supervisor:
        with pytest.raises(BudgetExceeded, match="the budget of 4 calls has 4 left, and the batch has 5"):
            await supervisor.execute_batch(asks(*[1] * 5))
        assert supervisor.executions.inspect() == []
        first = await supervisor.execute_batch([*asks(1), ToolCall("ask"), ToolCall("nothing")])
        running = Running()
        await running.run(supervisor, [ToolCall("fail", {"seconds": 1}), *asks(1, 1)], "sequential", "fail_fast")
        last = await supervisor.execute_batch(asks(1, 1))
        with pytest.raises(BudgetExceeded, match="has 0 left"):
            await supervisor.execute_batch(asks(1))

    assert codes(first) == [None, "INVALID_ARGUMENTS", "NOT_FOUND"]
    assert [result.attempts for result in running.results] == [1, 0, 0]
    assert codes(last) == [None, None]


@requirement("engine.budget")
async def test_a_batch_that_comes_after_the_time_of_the_budget_raises(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(TOOLBOX, budget=Budget(max_duration=5)) as supervisor:
        await supervisor.execute_batch(asks(9, 9))
        with pytest.raises(BudgetExceeded, match="the budget of 5 seconds is spent"):
            await supervisor.execute_batch(asks(1, 1))
        assert len(supervisor.executions.inspect()) == 2
