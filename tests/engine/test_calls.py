"""Calls together: batches, nested calls, limits, callers that go away, clocks."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import pytest
import trio
import trio.testing

from armory_trio import (
    AbortRequested,
    BatchError,
    Budget,
    BudgetExceeded,
    DefinitionError,
    ElicitAccepted,
    ElicitAnswer,
    ElicitationUnavailable,
    ElicitCancelled,
    ElicitDeclined,
    ElicitRequest,
    ExecutionAdmitted,
    ExecutionSettled,
    Limits,
    Overloaded,
    PolicyRequest,
    RequestContext,
    Semantics,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.definitions import TargetMapping
from tests.engine.tools import add, relay, sleep, stubborn, watch
from tests.requirements import requirement


class Crowd:
    """Counts how many bodies run at once."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def stay(self, seconds: float, *names: str) -> None:
        for name in names:
            self.now[name] += 1
            self.most[name] = max(self.most[name], self.now[name])
        await trio.sleep(seconds)
        self.now.subtract(names)


# -- batches


@requirement("engine.siblings")
async def test_one_error_disturbs_no_sibling_and_the_batch_returns_when_all_are_over(
    autojump_clock: trio.abc.Clock,
) -> None:
    done: list[int] = []

    @tool
    async def work(n: int) -> int:
        await trio.sleep(0.2)
        if n == 5:
            raise ConnectionError
        done.append(n)
        return n

    async with open_supervisor(Toolbox([work])) as supervisor:
        results = await supervisor.execute_batch([ToolCall("work", {"n": n}) for n in range(27)])
        assert supervisor.active == 0
        before = list(done)
        await trio.sleep(1)

    assert [result.value for result in results if result.outcome == "success"] == [n for n in range(27) if n != 5]
    assert results[5].error is not None and results[5].error.code == "CONNECTION_LOST"
    assert done == before


@requirement("engine.fail-fast")
async def test_a_fail_fast_batch_says_of_each_call_whether_it_had_started(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def work(n: int) -> int:
        await trio.sleep(1)
        if n == 5:
            raise ValueError("file missing")
        await trio.sleep(1)
        return n

    async with open_supervisor(Toolbox([work]), limits=Limits(concurrent=6)) as supervisor:
        calls = [ToolCall("work", {"n": n}) for n in range(27)]
        with pytest.raises(BatchError, match=r"call 5 .*file missing") as caught:
            await supervisor.execute_batch(calls, on_error="fail_fast")
        assert supervisor.active == 0

    error = caught.value
    assert error.index == 5
    codes = Counter(result.error.code for result in error.results if result.error is not None)
    assert codes == {"INTERNAL_ERROR": 1, "CANCELLED": 5, "NOT_STARTED": 21}
    never = error.results[26]
    assert never.error is not None
    assert (never.effect, never.attempts, never.error.details) == ("none", 0, {"source": "batch"})
    assert "call 5" in never.error.message


@requirement("engine.fail-fast")
async def test_a_call_that_is_refused_at_once_trips_a_fail_fast_batch_before_anything_starts() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        calls = [ToolCall("nope"), ToolCall("add", {"a": 1, "b": 2})]
        with pytest.raises(BatchError) as caught:
            await supervisor.execute_batch(calls, on_error="fail_fast")

    assert [result.attempts for result in caught.value.results] == [0, 0]


@requirement("engine.batch-whole")
async def test_a_sequential_batch_runs_one_after_another_in_order(autojump_clock: trio.abc.Clock) -> None:
    order: list[int] = []

    @tool
    async def work(n: int) -> None:
        order.append(n)
        await trio.sleep(1)
        order.append(n)

    async with open_supervisor(Toolbox([work])) as supervisor:
        await supervisor.execute_batch([ToolCall("work", {"n": n}) for n in range(4)], mode="sequential")

    assert order == [0, 0, 1, 1, 2, 2, 3, 3]


@requirement("engine.batch-whole", "engine.concurrency")
async def test_a_batch_can_be_bounded_and_aborted_by_its_id(autojump_clock: trio.abc.Clock) -> None:
    crowd = Crowd()

    @tool
    async def work(n: int) -> None:
        await crowd.stay(1, "all")

    async with open_supervisor(Toolbox([work])) as supervisor:
        results = await supervisor.execute_batch([ToolCall("work", {"n": n}) for n in range(9)], concurrency=2)
        assert all(result.outcome == "success" for result in results)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.execute_batch, [ToolCall("work", {"n": n}) for n in range(3)])
            await trio.testing.wait_all_tasks_blocked()
            batch_id = supervisor.executions.inspect(live_only=True)[0].batch_id
            answers = supervisor.abort("enough", batch_id=batch_id)

    assert crowd.most["all"] == 3
    assert set(answers.values()) == {"requested"}


@requirement("engine.batch-whole")
async def test_a_batch_that_does_not_fit_is_refused_whole(autojump_clock: trio.abc.Clock) -> None:
    limits = Limits(concurrent=2, queued=2)
    async with open_supervisor(Toolbox([watch]), limits=limits, budget=Budget(max_calls=5)) as supervisor:
        calls = [ToolCall("watch", {"seconds": 1})] * 5
        with pytest.raises(Overloaded, match="3 calls would be waiting, and the bound is 2"):
            await supervisor.execute_batch(calls)
        assert supervisor.executions.inspect() == []
        assert len(await supervisor.execute_batch(calls[:4])) == 4
        with pytest.raises(BudgetExceeded, match="has 1 left, and the batch has 2"):
            await supervisor.execute_batch(calls[:2])
        assert await supervisor.execute_batch([]) == []
        with pytest.raises(ValueError, match="mode='serial'"):
            await supervisor.execute_batch(calls, mode="serial")  # type: ignore[arg-type]


@requirement("engine.order")
async def test_results_come_in_call_order_and_events_in_order_of_completion(autojump_clock: trio.abc.Clock) -> None:
    settled: list[str] = []
    async with open_supervisor(Toolbox([watch])) as supervisor:

        async def listen(task_status: trio.TaskStatus[None]) -> None:
            async with supervisor.events(ExecutionSettled) as events:
                task_status.started()
                async for event in events:
                    assert isinstance(event, ExecutionSettled)
                    settled.append(event.call_id)

        async with trio.open_nursery() as nursery:
            await nursery.start(listen)
            results = await supervisor.execute_batch(
                [
                    ToolCall("watch", {"seconds": 2}, id="A"),
                    ToolCall("watch", {"seconds": 1}, id="B"),
                    ToolCall("watch", {"seconds": "soon"}, id="C"),
                ]
            )
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

    assert [result.call_id for result in results] == ["A", "B", "C"]
    assert settled == ["C", "B", "A"]


# -- callers that go away


@requirement("engine.caller-cancelled")
async def test_after_a_cancelled_call_there_is_no_more_work(autojump_clock: trio.abc.Clock) -> None:
    ticks: list[float] = []

    @tool
    async def tick() -> None:
        while True:
            await trio.sleep(0.01)
            ticks.append(trio.current_time())

    async with open_supervisor(Toolbox([tick])) as supervisor:
        with trio.move_on_after(0.1) as scope:
            await supervisor.execute(ToolCall("tick"))
        left = trio.current_time()
        await trio.sleep(1)
        [snapshot] = supervisor.executions.inspect()

    assert scope.cancelled_caught
    assert max(ticks) <= left
    assert (snapshot.error_category, snapshot.error_code) == ("cancelled", "CANCELLED")
    assert snapshot.abort is not None and snapshot.abort.source == "caller"


@requirement("engine.caller-cancelled")
async def test_a_cancelled_caller_leaves_a_stubborn_tool_behind_in_sight(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([stubborn])) as supervisor:
        with trio.move_on_after(1):
            await supervisor.execute(ToolCall("stubborn", {"seconds": 9}))
        left = trio.current_time()
        [snapshot] = supervisor.executions.inspect()
        await supervisor.wait_idle()
        gone = trio.current_time()

    assert left == pytest.approx(gone - 8 + 0.05, abs=1e-6)
    assert snapshot.state == "cleanup-pending"


@requirement("engine.caller-cancelled")
async def test_a_cancelled_batch_takes_all_its_calls_along(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep]), limits=Limits(concurrent=2)) as supervisor:
        with trio.move_on_after(1):
            await supervisor.execute_batch([ToolCall("sleep", {"seconds": 9})] * 5)
        assert supervisor.active == 0
        codes = Counter(snapshot.error_code for snapshot in supervisor.executions.inspect())

    assert codes == {"CANCELLED": 2, "NOT_STARTED": 3}


@requirement("engine.caller-cancelled")
async def test_a_call_made_in_a_cancelled_scope_never_starts() -> None:
    ran: list[str] = []

    @tool
    async def effectful() -> None:
        ran.append("ran")

    async with open_supervisor(Toolbox([effectful])) as supervisor:
        with trio.CancelScope() as scope:
            scope.cancel()
            await supervisor.execute(ToolCall("effectful"))
        await supervisor.wait_idle()
        [snapshot] = supervisor.executions.inspect()

    assert ran == []
    assert (snapshot.error_code, snapshot.attempts) == ("NOT_STARTED", 0)


@requirement("engine.abort-answers")
async def test_an_abort_answers_what_it_did_and_its_end_can_be_waited_for(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def tidy() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0.2)

    async with open_supervisor(Toolbox([tidy])) as supervisor:
        execution = supervisor.start(ToolCall("tidy"), owner_id="run-7")
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        answers = [execution.abort("enough"), execution.abort("again")]
        states = [execution.snapshot.state]
        await trio.sleep(0.1)
        states.append(execution.snapshot.state)
        settled = await execution.settled()
        answers.append(execution.abort("once more"))

        assert supervisor.abort("x", owner_id="nobody") == {}
        assert supervisor.abort("x", execution_id=execution.id) == {execution.id: "already-ended"}
        with pytest.raises(ValueError, match="abort what"):
            supervisor.abort("x")

    assert answers == ["requested", "already-requested", "already-ended"]
    assert states == ["abort-requested", "cleanup-pending"]
    assert settled.settled_at == pytest.approx(began + 0.2)
    assert (settled.state, settled.cleanup) == ("unknown-effect", "completed")


# -- nested calls


DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John"},
        "age": {"type": "integer", "default": 30},
        "sure": {"type": "boolean"},
    },
    "required": ["name"],
}


@requirement("engine.elicit.defaults")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(None, {"name": "John", "age": 30}, id="all of them"),
        pytest.param({"age": 7, "sure": True}, {"name": "John", "age": 7, "sure": True}, id="one of them"),
        pytest.param({"name": "", "age": 0}, {"name": "", "age": 0}, id="none: empty is an answer"),
    ],
)
async def test_what_a_person_left_at_its_default_is_answered_with_it(
    content: object, expected: object, autojump_clock: trio.abc.Clock
) -> None:
    @tool
    async def asking(ctx: ToolContext) -> object:
        return await ctx.elicit("Who?", schema=DEFAULTS)

    handler = answers(ElicitAccepted(content), 1, [])
    async with open_supervisor(Toolbox([asking])) as supervisor:
        result = await supervisor.execute(ToolCall("asking"), elicit=handler)  # type: ignore[arg-type]  # as above
    assert result.unwrap() == ElicitAccepted(expected)


@requirement("engine.nested")
async def test_a_nested_call_belongs_to_its_caller(autojump_clock: trio.abc.Clock) -> None:
    context = RequestContext(principal="ada", owner="run-7")
    async with open_supervisor(Toolbox([relay, watch])) as supervisor:
        deadline = trio.current_time() + 60
        call = ToolCall("relay", {"name": "watch", "seconds": 5})
        execution = supervisor.start(call, request_context=context, deadline=deadline)
        await trio.testing.wait_all_tasks_blocked()
        [outer, inner] = supervisor.executions.inspect(owner_id="run-7")
        result = await execution.result()

    assert result.unwrap() == "watched"
    assert (inner.parent_id, inner.deadline, inner.tool_name) == (outer.execution_id, deadline, "watch")


@requirement("engine.nested")
async def test_a_nested_call_is_aborted_with_its_caller_once(autojump_clock: trio.abc.Clock) -> None:
    aborts: list[AbortRequested] = []
    async with open_supervisor(Toolbox([relay, sleep])) as supervisor:
        async with supervisor.events(AbortRequested) as events:
            execution = supervisor.start(ToolCall("relay", {"name": "sleep", "seconds": 9}))
            await trio.testing.wait_all_tasks_blocked()
            execution.abort("user left")
            await supervisor.wait_idle()
            with trio.move_on_after(1):
                async for event in events:
                    assert isinstance(event, AbortRequested)
                    aborts.append(event)
        outer, inner = supervisor.executions.inspect()

    assert [event.source for event in aborts] == ["caller", "parent"]
    assert inner.abort is not None and "user left" in inner.abort.reason
    assert (outer.state, inner.state) == ("unknown-effect", "unknown-effect")
    assert outer.abort is not None and outer.abort.honoured


@requirement("engine.nested")
async def test_a_door_used_inside_a_tool_is_nested_and_start_is_not(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def inside(ctx: ToolContext) -> list[object]:
        started = supervisor.start(ToolCall("watch", {"seconds": 1}))
        nested = await supervisor.execute(ToolCall("watch", {"seconds": 1}))
        batch = await supervisor.execute_batch([ToolCall("watch", {"seconds": 1})])
        top = supervisor.executions.locate(started.id)
        child = supervisor.executions.locate(nested.execution_id)
        member = supervisor.executions.locate(batch[0].execution_id)
        assert top is not None and child is not None and member is not None
        return [(shot.parent_id, shot.started_by) for shot in (top, child, member)]

    async with open_supervisor(Toolbox([inside, watch])) as supervisor:
        result = await supervisor.execute(ToolCall("inside"))

    me = result.execution_id
    assert result.unwrap() == [(None, me), (me, None), (me, None)]


@requirement("engine.nested")
async def test_nested_calls_go_on_while_the_supervisor_drains(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def two_steps(ctx: ToolContext) -> str:
        await trio.sleep(1)
        assert ctx.draining
        return (await ctx.call("watch", {"seconds": 1})).outcome

    async with open_supervisor(Toolbox([two_steps, watch])) as supervisor:
        execution = supervisor.start(ToolCall("two_steps"))
        await trio.testing.wait_all_tasks_blocked()

    assert (await execution.result()).value == "success"


# -- limits


@requirement("engine.concurrency")
async def test_eight_hundred_calls_never_exceed_their_limits(autojump_clock: trio.abc.Clock) -> None:
    crowd = Crowd()

    @tool(concurrency=3, groups=["db"])
    async def query(n: int) -> int:
        await crowd.stay(0.01, "query", "db", "all")
        return n

    @tool(groups=["db"])
    async def store(n: int) -> int:
        await crowd.stay(0.01, "db", "all")
        return n

    @tool
    async def think(n: int) -> int:
        await crowd.stay(0.01, "all")
        return n

    names = ("query", "store", "think")
    calls = [ToolCall(names[n % 3], {"n": n}) for n in range(800)]
    limits = Limits(concurrent=7, groups={"db": 4})
    async with open_supervisor(Toolbox([query, store, think]), limits=limits) as supervisor:
        results = await supervisor.execute_batch(calls)

    assert [result.value for result in results] == list(range(800))
    assert crowd.most["query"] <= 3
    assert (crowd.most["db"], crowd.most["all"]) == (4, 7)


@requirement("engine.concurrency")
async def test_owners_have_their_own_limits_and_take_turns(autojump_clock: trio.abc.Clock) -> None:
    crowd = Crowd()

    @tool
    async def work(owner: str) -> None:
        await crowd.stay(1, owner)

    limits = Limits(concurrent=4, per_owner=3)
    async with open_supervisor(Toolbox([work]), limits=limits) as supervisor:
        for _ in range(20):
            supervisor.start(ToolCall("work", {"owner": "greedy"}), owner_id="greedy")
        late = supervisor.start(ToolCall("work", {"owner": "modest"}), owner_id="modest")
        await trio.testing.wait_all_tasks_blocked()
        assert late.snapshot.state == "active"

    assert crowd.most == {"greedy": 3, "modest": 1}


@requirement("engine.concurrency")
async def test_a_limit_for_a_group_that_no_tool_is_in_is_refused() -> None:
    @tool(groups=["db"])
    async def query() -> None: ...

    with pytest.raises(DefinitionError, match="no tool is in group 'dbs'; the groups of the tools: db"):
        async with open_supervisor(Toolbox([query]), limits=Limits(groups={"dbs": 1})):
            pass  # pragma: no cover


@requirement("engine.concurrency")
async def test_an_exclusive_tool_runs_alone_among_those_with_its_target(autojump_clock: trio.abc.Clock) -> None:
    crowd = Crowd()
    target: TargetMapping = {"kind": "service", "id": "ledger"}
    other: TargetMapping = {"kind": "service", "id": "mail"}
    exclusive = Semantics(concurrency="exclusive")

    @tool(semantics=exclusive, effect={"class": "external-write", "targets": [target]})
    async def book() -> None:
        await crowd.stay(1, "ledger", "all")

    @tool(semantics=exclusive, effect={"class": "reversible", "targets": [other, target]})
    async def notify() -> None:
        await crowd.stay(1, "ledger", "mail", "all")

    @tool(semantics=exclusive, effect={"class": "external-write", "targets": [other]})
    async def mail() -> None:
        await crowd.stay(1, "mail", "all")

    async with open_supervisor(Toolbox([book, notify, mail])) as supervisor:
        await supervisor.execute_batch([ToolCall(name) for name in ("book", "notify", "mail")] * 3)

    assert crowd.most == {"ledger": 1, "mail": 1, "all": 2}


@requirement("engine.reads-writes")
async def test_writers_of_one_thing_go_in_call_order_and_others_overlap(autojump_clock: trio.abc.Clock) -> None:
    shelf: dict[str, list[int]] = {"docs": [], "notes": []}
    crowd = Crowd()

    @tool(writes=lambda arguments: [str(arguments["key"])])
    async def append(key: str, n: int) -> None:
        seen = list(shelf[key])
        await crowd.stay(1, key, "all")
        shelf[key] = [*seen, n]

    @tool(reads=["docs"])
    async def look() -> int:
        await crowd.stay(1, "all")
        return len(shelf["docs"])

    async with open_supervisor(Toolbox([append, look])) as supervisor:
        results = await supervisor.execute_batch(
            [
                ToolCall("append", {"key": "docs", "n": 1}),
                ToolCall("append", {"key": "docs", "n": 2}),
                ToolCall("append", {"key": "notes", "n": 3}),
                ToolCall("look"),
                ToolCall("look"),
                ToolCall("append", {"key": "docs", "n": 4}),
            ]
        )

    assert shelf == {"docs": [1, 2, 4], "notes": [3]}
    assert [result.value for result in results[3:5]] == [2, 2]
    assert crowd.most["docs"] == 1
    assert crowd.most["all"] == 2


@requirement("engine.capacity-cycle")
async def test_a_nested_call_that_would_wait_for_ever_is_refused_with_the_cycle(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(writes=["left"])
    async def left(ctx: ToolContext) -> str:
        await trio.sleep(1)
        result = await ctx.call("right_leaf")
        return result.error.code if result.error is not None else "ran"

    @tool(writes=["right"])
    async def right(ctx: ToolContext) -> str:
        await trio.sleep(1)
        result = await ctx.call("left_leaf")
        return result.error.code if result.error is not None else "ran"

    @tool(writes=["left"])
    async def left_leaf() -> str:
        return "ran"

    @tool(writes=["right"])
    async def right_leaf() -> str:
        return "ran"

    async with open_supervisor(Toolbox([left, right, left_leaf, right_leaf])) as supervisor:
        results = await supervisor.execute_batch([ToolCall("left"), ToolCall("right")])

    assert sorted(str(result.value) for result in results) == ["CAPACITY_CYCLE", "ran"]


@requirement("engine.capacity-cycle")
async def test_a_tool_that_calls_itself_under_a_limit_of_one_does_not_hang(autojump_clock: trio.abc.Clock) -> None:
    @tool(concurrency=1)
    async def dig(depth: int, ctx: ToolContext) -> object:
        if depth == 0:
            return 0
        return (await ctx.call("dig", {"depth": depth - 1})).unwrap()

    async with open_supervisor(Toolbox([dig]), limits=Limits(concurrent=1)) as supervisor:
        results = await supervisor.execute_batch([ToolCall("dig", {"depth": 5})] * 3)

    assert [result.value for result in results] == [0, 0, 0]


# -- clocks


@requirement("engine.grace")
@pytest.mark.parametrize(("needs", "outcome"), [(1, "success"), (5, "error")])
async def test_a_tool_with_a_grace_may_finish_within_it(
    needs: float, outcome: str, autojump_clock: trio.abc.Clock
) -> None:
    @tool(grace=2)
    async def polite(ctx: ToolContext) -> str:
        await ctx.wait_abort_requested()
        assert ctx.abort_requested
        await trio.sleep(needs)
        return "saved"

    async with open_supervisor(Toolbox([polite])) as supervisor:
        execution = supervisor.start(ToolCall("polite"))
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        execution.abort("enough")
        result = await execution.result()
        told = trio.current_time() - began
        settled = await execution.settled()

    assert (result.outcome, told) == (outcome, min(needs, 2))
    assert settled.abort is not None and settled.abort.honoured is (outcome == "error")


@requirement("engine.grace", "engine.clocks")
async def test_a_deadline_has_no_grace_for_its_outcome_only_for_its_body(autojump_clock: trio.abc.Clock) -> None:
    @tool(grace=2)
    async def polite(ctx: ToolContext) -> str:
        await ctx.wait_abort_requested()
        await trio.sleep(1)
        return "saved"

    async with open_supervisor(Toolbox([polite])) as supervisor:
        began = trio.current_time()
        execution = supervisor.start(ToolCall("polite"), deadline=began + 3)
        result = await execution.result()
        told = trio.current_time() - began
        settled = await execution.settled()

    assert result.error is not None and result.error.code == "DEADLINE_EXCEEDED"
    assert (told, settled.settled_at) == (3, began + 4)
    assert settled.effect == "completed"


@requirement("engine.clocks")
async def test_a_timeout_counts_work_and_a_deadline_everything(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([watch]), limits=Limits(concurrent=1)) as supervisor:
        began = trio.current_time()
        first = supervisor.start(ToolCall("watch", {"seconds": 5}))
        patient = supervisor.start(ToolCall("watch", {"seconds": 2}), timeout=3)
        hurried = supervisor.start(ToolCall("watch", {"seconds": 2}), deadline=began + 6)
        results = [await execution.result() for execution in (first, patient, hurried)]

    assert [result.error.code if result.error is not None else "ok" for result in results] == [
        "ok",
        "ok",
        "DEADLINE_EXCEEDED",
    ]
    assert results[2].attempts == 0


@requirement("engine.clocks")
async def test_signs_of_life_of_a_descendant_reset_the_idle_timeout(autojump_clock: trio.abc.Clock) -> None:
    @tool(idle_timeout=2)
    async def outer(ctx: ToolContext) -> str:
        return (await ctx.call("lively")).outcome

    @tool
    async def lively(ctx: ToolContext) -> None:
        for percent in range(0, 100, 20):
            ctx.progress(percent)
            await trio.sleep(1.5)

    @tool(idle_timeout=2)
    async def quiet(ctx: ToolContext) -> None:
        await trio.sleep(1.5)
        ctx.log("info", "still here")
        await trio.sleep(9)

    async with open_supervisor(Toolbox([outer, lively, quiet])) as supervisor:
        live, idle = await supervisor.execute_batch([ToolCall("outer"), ToolCall("quiet")])

    assert live.value == "success"
    assert idle.error is not None and idle.error.code == "IDLE_TIMEOUT"
    assert idle.duration == pytest.approx(3.5)


# -- people


def answers(answer: ElicitAnswer, after: float, asked: list[ElicitRequest]) -> object:
    async def ask(request: ElicitRequest) -> ElicitAnswer:
        asked.append(request)
        await trio.sleep(after)
        return answer

    return ask


SCHEMA = {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]}


@tool
async def asks(ctx: ToolContext) -> object:
    """Ask which account."""
    await trio.sleep(1)
    answer = await ctx.elicit("Which account?", schema=SCHEMA)
    await trio.sleep(1)
    return answer


@requirement("engine.elicit", "engine.clocks")
async def test_the_work_clock_stands_still_while_a_person_thinks(autojump_clock: trio.abc.Clock) -> None:
    asked: list[ElicitRequest] = []
    handler = answers(ElicitAccepted({"account": "a-1"}), 100, asked)
    async with open_supervisor(Toolbox([asks, relay_asks])) as supervisor:
        options = {"timeout": 3.0, "idle_timeout": 3.0, "elicit": handler}
        execution = supervisor.start(ToolCall("asks"), **options)  # type: ignore[arg-type]  # as above
        await trio.sleep(50)
        during = execution.snapshot
        result = await execution.result()
        nested = await supervisor.execute(ToolCall("relay_asks"), **options)  # type: ignore[arg-type]  # as above

    assert (during.state, during.declared_wait) == ("waiting", "Which account?")
    assert result.unwrap() == ElicitAccepted({"account": "a-1"})
    assert asked[0].schema == SCHEMA
    assert asked[0].execution_id == result.execution_id
    assert nested.outcome == "success"


@tool
async def relay_asks(ctx: ToolContext) -> object:
    """Let another tool ask."""
    return (await ctx.call("asks")).outcome


@requirement("engine.elicit")
@pytest.mark.parametrize(
    ("answer", "after", "expected"),
    [
        (ElicitDeclined(), 1, ElicitDeclined()),
        (ElicitCancelled(), 1, ElicitCancelled()),
        (ElicitAccepted({"account": "a"}), 99, ElicitCancelled()),
    ],
)
async def test_a_question_is_declined_dismissed_or_runs_out(
    answer: ElicitAnswer, after: float, expected: ElicitAnswer, autojump_clock: trio.abc.Clock
) -> None:
    async with open_supervisor(Toolbox([asks])) as supervisor:
        result = await supervisor.execute(
            ToolCall("asks"),
            human_timeout=10,
            elicit=answers(answer, after, []),  # type: ignore[arg-type]  # as above
        )

    assert result.unwrap() == expected


@requirement("engine.elicit")
async def test_a_question_is_withdrawn_by_a_drain_and_by_an_abort(autojump_clock: trio.abc.Clock) -> None:
    handler = answers(ElicitAccepted({"account": "a"}), 999, [])
    async with open_supervisor(Toolbox([asks])) as supervisor:
        drained = supervisor.start(ToolCall("asks"), elicit=handler)  # type: ignore[arg-type]  # as above
        aborted = supervisor.start(ToolCall("asks"), elicit=handler)  # type: ignore[arg-type]  # as above
        await trio.sleep(5)
        aborted.abort("enough")
        report = await supervisor.shutdown("drain")

    assert (await drained.result()).unwrap() == ElicitCancelled()
    assert aborted.snapshot.error_code == "CANCELLED"
    assert [shot.execution_id for shot in report.unknown_effects] == [aborted.id]


@requirement("engine.elicit")
async def test_a_question_nobody_can_be_asked_and_an_answer_that_does_not_fit_are_errors_of_the_tool(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool
    async def needy(ctx: ToolContext) -> None:
        with pytest.raises(ElicitationUnavailable, match="without an `elicit` option"):
            await ctx.elicit("Well?")
        raise ToolFailure("as expected", effect="none")

    async with open_supervisor(Toolbox([asks, needy])) as supervisor:
        nobody = await supervisor.execute(ToolCall("needy"))
        wrong = await supervisor.execute(
            ToolCall("asks"),
            elicit=answers(ElicitAccepted({"acount": 1}), 1, []),  # type: ignore[arg-type]  # as above
        )

    assert nobody.error is not None and nobody.error.message == "as expected"
    assert wrong.error is not None and "account" in wrong.error.message


@requirement("engine.nested")
async def test_what_is_nested_is_announced_with_its_parent() -> None:
    async with (
        open_supervisor(Toolbox([relay, watch])) as supervisor,
        supervisor.events(ExecutionAdmitted) as events,
    ):
        await supervisor.execute(ToolCall("relay", {"name": "watch", "seconds": 0}))
        first = await events.__anext__()
        second = await events.__anext__()

    assert isinstance(first, ExecutionAdmitted) and isinstance(second, ExecutionAdmitted)
    assert (first.parent_id, second.parent_id) == (None, first.execution_id)


@requirement("engine.results-not-kept")
async def test_the_supervisor_keeps_no_result_that_its_caller_has(autojump_clock: trio.abc.Clock) -> None:
    class Payload:
        """Something large."""

    payloads: list[weakref.ref[Payload]] = []

    @tool
    async def make(seconds: float, shielded: bool) -> list[str]:
        payload = Payload()
        payloads.append(weakref.ref(payload))
        with trio.CancelScope(shield=shielded):
            await trio.sleep(seconds)
        return Chunk(["x"], payload)

    class Chunk(list[str]):
        def __init__(self, items: list[str], payload: Payload) -> None:
            super().__init__(items)
            self.payload = payload

    async with open_supervisor(Toolbox([make])) as supervisor:
        await supervisor.execute(ToolCall("make", {"seconds": 1, "shielded": False}))
        await supervisor.execute(ToolCall("make", {"seconds": 5, "shielded": True}), timeout=1)
        with trio.move_on_after(1):
            await supervisor.execute(ToolCall("make", {"seconds": 5, "shielded": True}))
        await supervisor.execute_batch([ToolCall("make", {"seconds": 1, "shielded": False})])
        supervisor.start(ToolCall("make", {"seconds": 1, "shielded": False}))
        await supervisor.wait_idle()
        gc.collect()
        assert [payload() for payload in payloads] == [None] * 5
        assert len(supervisor.executions.inspect()) == 5


@requirement("engine.calls-of-hooks")
async def test_a_call_whose_policy_makes_calls_of_its_own_still_needs_its_slot(autojump_clock: trio.abc.Clock) -> None:
    crowd = Crowd()

    @tool(effect="read-only", concurrency=1)
    async def enter() -> None:
        """Be counted."""
        await crowd.stay(1, "enter")

    @tool(effect="read-only", concurrency=1)
    async def look() -> str:
        """Say who is there."""
        await crowd.stay(0.1, "look")
        return "nobody"

    async def ask_around(request: PolicyRequest) -> bool:
        if request.tool_name == "look":
            return True
        return (await current_supervisor().execute(ToolCall("look"))).value == "nobody"

    async with open_supervisor(Toolbox([enter, look], policy=ask_around), limits=Limits(concurrent=2)) as supervisor:
        results = await supervisor.execute_batch([ToolCall("enter")] * 5)
        shots = supervisor.executions.inspect(tool_name="look")

    assert [result.outcome for result in results] == ["success"] * 5
    assert crowd.most == {"enter": 1, "look": 1}
    assert {shot.parent_id for shot in shots} == {result.execution_id for result in results}
