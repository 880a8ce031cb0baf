"""`Cache`: what counts as the same call, who runs, who waits, and what is kept."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from typing import cast

import pytest
import trio
import trio.testing

from armory_trio import (
    CallNext,
    DefinitionError,
    MiddlewareCall,
    RequestContext,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    current_supervisor,
    open_supervisor,
    tool,
    with_context,
)
from armory_trio.middleware import Cache, CacheInfo
from tests.engine.test_threads import PATIENCE
from tests.requirements import requirement


class Oracle:
    """Tools that answer something new each time, and note what they were asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.failures: list[BaseException] = []

        @tool(effect="read-only")
        async def ask(question: object = None, seconds: float = 0.0) -> dict[str, object]:
            self.asked.append(question)
            number = len(self.asked)
            await trio.sleep(seconds)
            if self.failures:
                raise self.failures.pop(0)
            return {"number": number, "words": ["a"]}

        @tool
        async def change(question: object = None) -> int:
            self.asked.append(question)
            return len(self.asked)

        @tool(effect="read-only")
        async def recite(question: object = None) -> AsyncIterator[int]:
            self.asked.append(question)
            yield len(self.asked)

        self.tools: tuple[Tool[..., object], ...] = (ask, change, recite)

    def toolbox(self, *middleware: Cache) -> Toolbox:
        return Toolbox(self.tools, middleware=middleware)


def ask(question: object = None, **more: object) -> ToolCall:
    return ToolCall("ask", {"question": question, **more})


# -- what is the same call


@requirement("cache.same")
async def test_the_same_call_is_answered_with_what_it_gave() -> None:
    oracle, cache = Oracle(), Cache()
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        first = await supervisor.execute(ask({"a": {"x": 1, "y": [1.0]}}))
        second = await supervisor.execute(ask({"a": {"y": [1.0], "x": 1}}))
        other = await supervisor.execute(ask({"a": {"x": 2, "y": [1.0]}}))
        assert cache.info() == CacheInfo(hits=1, joined=0, misses=2, entries=2)

    assert first.value == second.value == {"number": 1, "words": ["a"]}
    assert (first.attempts, second.attempts, second.effect) == (1, 0, "none")
    assert cast("dict[str, object]", other.value)["number"] == 2


@requirement("cache.same")
async def test_a_default_that_is_written_out_makes_no_other_call() -> None:
    oracle = Oracle()
    async with open_supervisor(oracle.toolbox(Cache())) as supervisor:
        for call in (ToolCall("ask"), ask(None), ask(None, seconds=0.0), ask(None, seconds=0)):
            await supervisor.execute(call)

    assert len(oracle.asked) == 1


@requirement("cache.authority")
async def test_nobody_is_answered_with_what_was_found_for_somebody_else() -> None:
    oracle = Oracle()
    contexts = [
        None,
        RequestContext(tenant="a"),
        RequestContext(tenant="b"),
        RequestContext(tenant="a", principal="p"),
        RequestContext(tenant="a", principal="p", delegation=("q",)),
        RequestContext(tenant="a", principal="p", capabilities=frozenset({"read"})),
        RequestContext(tenant="a", principal="p", audience="public"),
    ]
    async with open_supervisor(oracle.toolbox(Cache())) as supervisor:
        for _ in range(2):
            for context in contexts:
                await supervisor.execute(ask(), request_context=context)
        assert len(oracle.asked) == len(contexts)
        for run in ("r-1", "r-2"):
            again = RequestContext(tenant="a", principal="p", run=run, session=run, request=run, owner=run)
            await supervisor.execute(ask(), request_context=again, owner_id=run)

    assert len(oracle.asked) == len(contexts)


@requirement("cache.authority")
async def test_a_key_of_ones_own_tells_callers_apart() -> None:
    oracle = Oracle()
    cache = Cache(key=lambda _, ctx: ctx.metadata)
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        for metadata in ("x", "y", "x"):
            await supervisor.execute(ask(), metadata=metadata, request_context=RequestContext(tenant=metadata * 3))
        assert len(oracle.asked) == 2
        for _ in range(2):
            await supervisor.execute(ask(), metadata=["cannot be compared"])

    assert len(oracle.asked) == 4


@requirement("cache.same")
async def test_tools_and_toolboxes_that_share_a_cache_share_no_answer() -> None:
    first, second, cache = Oracle(), Oracle(), Cache()

    @tool(name="ask2", effect="read-only")
    async def other(question: object = None) -> str:
        return "other"

    boxes = [
        Toolbox([*first.tools, other], middleware=[cache], context={"db": 1}),
        Toolbox(first.tools, middleware=[cache], context={"db": 2}),
        second.toolbox(cache),
    ]
    for box in boxes:
        async with open_supervisor(box) as supervisor:
            await supervisor.execute(ask())
            await supervisor.execute(ask())
            if box is boxes[0]:
                assert (await supervisor.execute(ToolCall("ask2"))).value == "other"

    assert (len(first.asked), len(second.asked)) == (2, 1)
    assert cache.info().hits == 3


# -- for how long, and how many


@requirement("cache.ttl")
async def test_a_value_is_good_for_its_time_and_no_longer(autojump_clock: trio.testing.MockClock) -> None:
    oracle, cache = Oracle(), Cache(10.0)
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        await supervisor.execute(ask(seconds=4.0))
        await trio.sleep(5.9)
        await supervisor.execute(ask(seconds=4.0))
        assert (len(oracle.asked), cache.info().entries) == (1, 1)
        await trio.sleep(0.1)
        assert cache.info().entries == 0
        await supervisor.execute(ask(seconds=4.0))

    assert len(oracle.asked) == 2


@requirement("cache.bounded")
async def test_what_was_not_asked_for_for_the_longest_time_makes_room() -> None:
    oracle, cache = Oracle(), Cache(max_entries=2)
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        for question in "abacb":
            await supervisor.execute(ask(question))
        assert cache.info().entries == 2
        await supervisor.execute(ask("c"))

    assert oracle.asked == ["a", "b", "c", "b"]


@requirement("cache.bounded")
async def test_what_is_no_longer_good_makes_room_before_what_is(autojump_clock: trio.testing.MockClock) -> None:
    oracle, cache = Oracle(), Cache(10.0, max_entries=2)
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        await supervisor.execute(ask("old"))
        await trio.sleep(6)
        await supervisor.execute(ask("young"))
        await supervisor.execute(ask("old"))
        await trio.sleep(5)
        await supervisor.execute(ask("new"))
        await supervisor.execute(ask("young"))

    assert oracle.asked == ["old", "young", "new"]


@requirement("cache.bounded")
async def test_its_bookkeeping_is_bounded_too() -> None:
    oracle, cache = Oracle(), Cache(max_entries=3)
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        for question in range(50):
            await supervisor.execute(ask(question))
        shelf = cache._shelves.get()  # pyright: ignore[reportPrivateUsage]  # it shows nowhere else
        assert len(shelf._expiries) <= 7  # pyright: ignore[reportPrivateUsage]  # likewise
        assert shelf.flights == {}
        assert cache.info().entries == 3


@requirement("cache.bounded")
async def test_it_can_be_cleared_and_what_is_being_made_is_not_kept(autojump_clock: trio.testing.MockClock) -> None:
    oracle, cache = Oracle(), Cache()
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        await supervisor.execute(ask("kept"))
        execution = supervisor.start(ask("flying", seconds=5.0))
        await trio.sleep(1)
        cache.clear()
        assert cache.info().entries == 0
        late = supervisor.start(ask("flying", seconds=5.0))
        await execution.result()
        assert cache.info().entries == 0
        await late.result()
        assert cache.info().entries == 1

    assert oracle.asked == ["kept", "flying", "flying"]


@requirement("middleware.state")
def test_nothing_is_kept_from_another_run() -> None:
    oracle, cache = Oracle(), Cache()

    async def once() -> CacheInfo:
        async with open_supervisor(oracle.toolbox(cache)) as supervisor:
            await supervisor.execute(ask())
            return cache.info()

    assert [trio.run(once).entries for _ in range(2)] == [1, 1]
    threads = [threading.Thread(target=trio.run, args=(once,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert len(oracle.asked) == 4


# -- what is kept


@requirement("cache.copies")
async def test_nobody_can_change_what_another_one_gets() -> None:
    oracle = Oracle()
    async with open_supervisor(oracle.toolbox(Cache())) as supervisor:
        for _ in range(3):
            value = cast("dict[str, list[str]]", (await supervisor.execute(ask())).value)
            assert value == {"number": 1, "words": ["a"]}
            value["words"].append("b")
            value.clear()


@requirement("cache.copies")
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("how", ["raises", "exits", "gives-another"])
async def test_a_value_that_cannot_be_copied_is_not_kept(
    how: str, nth: int, autojump_clock: trio.testing.MockClock
) -> None:
    copied: list[int] = []

    class Shy(dict[str, int]):
        def __deepcopy__(self, memo: object) -> object:
            copied.append(len(copied) + 1)
            if len(copied) < nth:
                return Shy(self)
            if how == "gives-another":
                return None
            raise ValueError("no copies") if how == "raises" else SystemExit("no copies")

    asked: list[float] = []

    @tool(effect="read-only")
    async def shy() -> Shy:
        asked.append(trio.current_time())
        await trio.sleep(1)
        return Shy(a=1)

    cache = Cache()
    async with open_supervisor(Toolbox([shy], middleware=[cache])) as supervisor:
        for _ in range(2):
            results = await supervisor.execute_batch([ToolCall("shy")] * 3)
            assert [result.value for result in results] == [{"a": 1}] * 3

    assert len(asked) == 6
    assert cache.info().hits + cache.info().joined + cache.info().misses == 6


@requirement("cache.values")
async def test_failures_are_not_kept() -> None:
    oracle = Oracle()
    oracle.failures.append(ToolFailure("no", category="conflict"))
    async with open_supervisor(oracle.toolbox(Cache())) as supervisor:
        outcomes = [(await supervisor.execute(ask())).outcome for _ in range(3)]

    assert (outcomes, len(oracle.asked)) == (["error", "success", "success"], 2)


@requirement("cache.values")
async def test_streams_are_not_kept() -> None:
    oracle = Oracle()
    async with open_supervisor(oracle.toolbox(Cache(changing_tools=True))) as supervisor:
        values = [(await supervisor.execute(ToolCall("recite"))).value for _ in range(2)]

    assert values == [[1], [2]]


@requirement("cache.values")
async def test_tools_that_may_change_something_are_left_alone_unless_told() -> None:
    for cache, values in ((Cache(), [1, 2]), (Cache(changing_tools=True), [1, 1])):
        async with open_supervisor(Oracle().toolbox(cache)) as supervisor:
            results = [await supervisor.execute(ToolCall("change")) for _ in range(2)]
        assert [result.value for result in results] == values
        assert [result.effect for result in results] == ["completed", "completed" if values[1] == 2 else "none"]


# -- at a time


@requirement("cache.single-flight")
async def test_the_same_call_at_a_time_runs_once(autojump_clock: trio.testing.MockClock) -> None:
    oracle, cache = Oracle(), Cache()
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        calls = [ask(seconds=5.0)] * 10 + [ask("other", seconds=5.0)]
        started = [supervisor.start(call) for call in calls]
        await trio.sleep(1)
        shown = [execution.snapshot.state for execution in started]
        results = [await execution.result() for execution in started]
        assert cache.info() == CacheInfo(hits=0, joined=9, misses=2, entries=2)

    assert sorted(shown) == ["active", "active", *["waiting"] * 9]
    assert len({id(result.value) for result in results}) == 11
    assert all(result.value == results[0].value for result in results[:10])
    assert sorted(result.attempts for result in results[:10]) == [*[0] * 9, 1]


@requirement("cache.single-flight")
async def test_a_joiner_gets_a_value_that_is_no_longer_good_when_it_comes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    oracle = Oracle()
    async with open_supervisor(oracle.toolbox(Cache(2.0))) as supervisor:
        results = await supervisor.execute_batch([ask(seconds=5.0)] * 3)

    assert {result.outcome for result in results} == {"success"}
    assert len(oracle.asked) == 1


@requirement("cache.single-flight")
async def test_a_joiner_that_gives_up_stops_nobody(autojump_clock: trio.testing.MockClock) -> None:
    oracle = Oracle()
    async with open_supervisor(oracle.toolbox(Cache())) as supervisor:
        leader = supervisor.start(ask(seconds=5.0))
        await trio.testing.wait_all_tasks_blocked()
        joiner = supervisor.start(ask(seconds=5.0), timeout=1.0)
        with trio.move_on_after(2):
            await supervisor.execute(ask(seconds=5.0))
        given_up = await joiner.result()
        result = await leader.result()

    assert given_up.error is not None
    assert (given_up.error.code, given_up.effect, given_up.attempts) == ("TIMEOUT", "none", 0)
    assert (result.outcome, result.duration) == ("success", 5.0)
    assert len(oracle.asked) == 1


@requirement("cache.single-flight")
@pytest.mark.parametrize("how", ["abort", "timeout", "failure"])
async def test_a_leader_that_ends_without_a_value_hands_over(how: str, autojump_clock: trio.testing.MockClock) -> None:
    oracle = Oracle()
    if how == "failure":
        oracle.failures.append(ConnectionError())
    async with open_supervisor(oracle.toolbox(Cache())) as supervisor:
        began = trio.current_time()
        leader = supervisor.start(ask(seconds=3.0), timeout=1.0 if how == "timeout" else None)
        await trio.testing.wait_all_tasks_blocked()
        joiners = [supervisor.start(ask(seconds=3.0)) for _ in range(4)]
        await trio.sleep(1.0)
        if how == "abort":
            leader.abort("enough")
        results = [await joiner.result() for joiner in joiners]
        ended = trio.current_time() - began

    assert (await leader.result()).outcome == "error"
    assert [result.outcome for result in results] == ["success"] * 4
    assert sorted(result.attempts for result in results) == [0, 0, 0, 1]
    assert (len(oracle.asked), ended) == (2, 6.0 if how == "failure" else 4.0)


@requirement("cache.no-deadlock")
@pytest.mark.parametrize("door", ["call", "execute", "start"])
async def test_a_tool_that_asks_itself_the_same_question_does_not_wait_for_itself(
    door: str, autojump_clock: trio.testing.MockClock
) -> None:
    depth: list[str] = []

    @tool(effect="read-only")
    async def ponder(ctx: ToolContext) -> object:
        depth.append("deeper")
        if len(depth) >= 3:
            return "enough"
        call = ToolCall("ponder")
        if door == "call":
            return (await ctx.call("ponder")).unwrap()
        supervisor = current_supervisor()
        if door == "execute":
            return (await supervisor.execute(call)).unwrap()
        return (await supervisor.start(call).result()).unwrap()

    async with open_supervisor(Toolbox([ponder], middleware=[Cache()])) as supervisor:
        with trio.fail_after(10):
            result = await supervisor.execute(ToolCall("ponder"))

    assert (result.value, len(depth)) == ("enough", 3)


@requirement("cache.no-deadlock")
async def test_a_call_from_within_a_tool_does_not_wait_for_one_that_needs_what_its_caller_holds(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(effect="read-only", writes=["file"])
    async def write() -> str:
        return "written"

    @tool(effect="read-only")
    async def look(ctx: ToolContext) -> object:
        await trio.sleep(1)
        return (await ctx.call("write")).unwrap()

    @tool(writes=["file"])
    async def edit(ctx: ToolContext) -> object:
        await trio.sleep(0.5)
        return (await ctx.call("look")).unwrap()

    async with open_supervisor(Toolbox([write, look, edit], middleware=[Cache()])) as supervisor:
        with trio.fail_after(10):
            results = await supervisor.execute_batch([ToolCall("edit"), ToolCall("look")])

    assert [result.value for result in results] == ["written", "written"]


@requirement("cache.values")
async def test_a_call_from_within_a_tool_is_answered_with_what_is_kept() -> None:
    oracle = Oracle()

    @tool(effect="read-only")
    async def relay(ctx: ToolContext) -> object:
        return (await ctx.call("ask")).unwrap()

    async with open_supervisor(oracle.toolbox(Cache()).extend(relay)) as supervisor:
        await supervisor.execute(ask())
        value = (await supervisor.execute(ToolCall("relay"))).value

    assert (value, len(oracle.asked)) == ({"number": 1, "words": ["a"]}, 1)


@requirement("cache.values")
async def test_what_stands_further_in_is_part_of_what_is_kept() -> None:
    seen: list[int] = []

    async def mark(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        seen.append(call.attempts)
        return [await call_next()]

    toolbox = Toolbox(Oracle().tools, middleware=[Cache(), mark])
    async with open_supervisor(toolbox) as supervisor:
        values = [(await supervisor.execute(ask())).value for _ in range(2)]

    assert values == [[{"number": 1, "words": ["a"]}]] * 2
    assert seen == [0]


@requirement("cache.same")
async def test_tools_that_were_made_of_one_by_binding_other_values_share_no_answer() -> None:
    @tool(effect="read-only")
    async def whose(ctx: ToolContext) -> object:
        return ctx.context["tenant"]

    [cached] = Toolbox([whose], middleware=[Cache()])

    @tool
    async def ask_both(ctx: ToolContext) -> list[object]:
        each = [with_context(cached, {"tenant": name}) for name in ("a", "b")]
        return [(await ctx.call(made, {})).unwrap() for made in (*each, each[0])]

    assert (await Toolbox([ask_both]).execute(ToolCall("ask_both"))).value == ["a", "b", "a"]


@requirement("cache.definition")
async def test_a_key_that_cannot_be_asked_fails_the_call_instead_of_keeping_nothing() -> None:
    oracle = Oracle()
    cache = Cache(key=cast("Callable[[MiddlewareCall, ToolContext], int]", lambda: 7))
    async with open_supervisor(oracle.toolbox(cache)) as supervisor:
        result = await supervisor.execute(ask())

    assert result.error is not None and "takes 0 positional arguments but 2 were given" in result.error.message
    assert (oracle.asked, result.effect) == ([], "none")


async def later(call: MiddlewareCall, ctx: ToolContext) -> str:
    """Would be another key each time."""
    return "key"


@requirement("cache.definition")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Cache(0.0), "middleware Cache: ttl: must be a number of seconds above 0"),
        (lambda: Cache(max_entries=0), "max_entries: must be a whole number from 1 on"),
        (lambda: Cache(changing_tools=cast("bool", "yes")), "changing_tools: must be True or False"),
        (lambda: Cache(key=cast("Callable[..., int]", 5)), "key: must be a function"),
        (lambda: Cache(key=later), "key: must be a plain function of the call and its context"),  # type: ignore[arg-type]  # what is tested
    ],
)
def test_a_cache_that_makes_no_sense_is_refused(make: Callable[[], Cache], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        make()
