"""`RateLimit`: how many may begin, in which order, and what the others are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from armory_trio import (
    DefinitionError,
    Execution,
    MiddlewareCall,
    RequestContext,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.middleware import RateLimit
from armory_trio.testing import run_seeded
from tests.engine.tools import count, watch
from tests.requirements import requirement

NOW = ToolCall("watch", {"seconds": 0.0})


def allowed(results: list[ToolResult[object]]) -> list[bool]:
    return [result.outcome == "success" for result in results]


@requirement("rate-limit.refuses")
async def test_what_comes_too_often_is_refused_before_it_begins(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([watch], middleware=[RateLimit(2, per=10.0)])) as supervisor:
        first = [await supervisor.execute(NOW) for _ in range(3)]
        await trio.sleep(4.9)
        second = await supervisor.execute(NOW)
        await trio.sleep(0.2)
        third = [await supervisor.execute(NOW) for _ in range(2)]

    assert allowed([*first, second, *third]) == [True, True, False, False, True, False]
    refused = first[2]
    assert refused.error is not None
    assert (refused.error.category, refused.error.code, refused.error.retryable) == ("transient", "RATE_LIMITED", True)
    assert refused.error.details == {"retry_after": 5.0}
    assert "'watch' was called too often; try again in 5 s" in refused.text
    assert (refused.effect, refused.attempts) == ("none", 0)


@requirement("rate-limit.refuses")
async def test_after_the_wait_that_it_named_it_lets_the_call_through(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([watch], middleware=[RateLimit(3, per=7.0)])) as supervisor:
        for _ in range(3):
            await supervisor.execute(NOW)
        for _ in range(20):
            refused = await supervisor.execute(NOW)
            assert refused.error is not None
            assert refused.error.details is not None
            await trio.sleep(cast("float", refused.error.details["retry_after"]))
            assert (await supervisor.execute(NOW)).outcome == "success"


@requirement("rate-limit.refuses")
async def test_a_stream_counts_once_for_each_attempt(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([count], middleware=[RateLimit(1, per=10.0)])) as supervisor:
        results = [await supervisor.execute(ToolCall("count", {"upto": 2})) for _ in range(2)]

    assert [result.value for result in results] == [[0, 1], None]
    assert (results[1].effect, results[1].attempts) == ("none", 0)


@requirement("rate-limit.by")
async def test_a_bucket_is_for_one_tool_owner_or_tenant_or_what_a_function_says() -> None:
    @tool(effect="read-only")
    async def other() -> str:
        return "other"

    async def shares(limit: RateLimit) -> list[bool]:
        async with open_supervisor(Toolbox([watch, other], middleware=[limit])) as supervisor:
            calls = [(NOW, "a", "x"), (ToolCall("other"), "a", "x"), (NOW, "b", "x"), (NOW, "a", "y"), (NOW, "c", "z")]
            return allowed(
                [
                    await supervisor.execute(call, owner_id=owner, request_context=RequestContext(tenant=tenant))
                    for call, owner, tenant in calls
                ]
            )

    assert await shares(RateLimit(1, per=100.0)) == [True, True, False, False, False]
    assert await shares(RateLimit(1, per=100.0, by="owner")) == [True, False, True, False, True]
    assert await shares(RateLimit(1, per=100.0, by="tenant")) == [True, False, False, True, True]
    by_both = RateLimit(1, per=100.0, by=lambda call, ctx: (call.tool.name, ctx.owner_id))
    assert await shares(by_both) == [True, True, True, False, True]


@requirement("rate-limit.waits")
async def test_who_may_wait_is_served_in_order_of_arrival(autojump_clock: trio.testing.MockClock) -> None:
    served: list[tuple[str, float]] = []

    @tool(effect="read-only")
    async def serve(name: str) -> None:
        served.append((name, trio.current_time() - began))

    began = trio.current_time()
    async with open_supervisor(Toolbox([serve], middleware=[RateLimit(1, per=2.0, max_wait=None)])) as supervisor:
        started: list[Execution] = []
        for name in "abcd":
            started.append(supervisor.start(ToolCall("serve", {"name": name})))
            await trio.testing.wait_all_tasks_blocked()
        waiting = started[1].snapshot
        for execution in started:
            assert (await execution.result()).outcome == "success"

    assert served == [("a", 0.0), ("b", 2.0), ("c", 4.0), ("d", 6.0)]
    assert (waiting.state, waiting.declared_wait, waiting.attempts) == ("waiting", "rate limit", 0)


@requirement("rate-limit.waits")
async def test_who_would_have_to_wait_for_too_long_is_refused_at_once(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([watch], middleware=[RateLimit(1, per=2.0, max_wait=4.0)])) as supervisor:
        began = trio.current_time()
        started = [supervisor.start(NOW) for _ in range(4)]
        results = [await execution.result() for execution in started]
        ended = trio.current_time() - began

    assert sorted(allowed(results)) == [False, True, True, True]
    [refused] = [result for result in results if result.error is not None]
    assert refused.error is not None
    assert refused.error.details == {"retry_after": 6.0}
    assert (ended, refused.duration) == (4.0, 0.0)


@requirement("rate-limit.waits")
async def test_who_gives_up_waiting_takes_nothing(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([watch], middleware=[RateLimit(1, per=2.0, max_wait=None)])) as supervisor:
        began = trio.current_time()
        await supervisor.execute(NOW)
        first = supervisor.start(NOW)
        await trio.testing.wait_all_tasks_blocked()
        second = supervisor.start(NOW)
        await trio.testing.wait_all_tasks_blocked()
        first.abort("enough")
        aborted = await first.result()
        result = await second.result()
        assert trio.current_time() - began == 2.0

    assert aborted.error is not None
    assert (aborted.error.code, aborted.effect) == ("NOT_STARTED", "none")
    assert result.outcome == "success"


@requirement("rate-limit.waits")
@pytest.mark.parametrize("seed", range(8))
def test_a_newcomer_does_not_overtake_who_waits(seed: int) -> None:
    clock = trio.testing.MockClock()

    async def main() -> None:
        async with open_supervisor(Toolbox([watch], middleware=[RateLimit(1, per=2.0, max_wait=None)])) as supervisor:
            await supervisor.execute(NOW)
            waiting = supervisor.start(NOW)
            await trio.testing.wait_all_tasks_blocked()
            clock.jump(2.5)  # its turn has come, and nobody has told it yet
            newcomer = supervisor.start(NOW)
            clock.autojump_threshold = 0
            results = await waiting.result(), await newcomer.result()

        assert [result.duration for result in results] == [2.5, 2.0]

    run_seeded(main, seed=seed, clock=clock)


@requirement("rate-limit.bounded")
async def test_no_more_buckets_are_kept_than_allowed_and_nobody_gets_more_by_coming_under_many_names(
    autojump_clock: trio.testing.MockClock,
) -> None:
    limit = RateLimit(1, per=10.0, by="owner", max_buckets=3)
    async with open_supervisor(Toolbox([watch], middleware=[limit])) as supervisor:

        async def come(*owners: str) -> list[bool]:
            return allowed([await supervisor.execute(NOW, owner_id=owner) for owner in owners])

        assert await come("a", "b", "c") == [True, True, True]
        assert await come("d", "e", "f", "a") == [True, False, False, False]
        await trio.sleep(10)
        assert await come("g", "h", "i", "j", "a") == [True, True, True, True, False]


@requirement("rate-limit.never-more")
@settings(max_examples=40)
@given(
    calls=st.integers(1, 5),
    per=st.floats(0.5, 20),
    burst=st.integers(1, 5),
    pauses=st.lists(st.floats(0, 10), min_size=1, max_size=30),
    max_wait=st.sampled_from([0.0, 3.0, None]),
)
def test_no_window_of_time_sees_more_calls_than_allowed(
    calls: int, per: float, burst: int, pauses: list[float], max_wait: float | None
) -> None:
    began: list[float] = []

    @tool(effect="read-only")
    async def note() -> None:
        began.append(trio.current_time())

    async def main() -> None:
        limit = RateLimit(calls, per=per, burst=burst, max_wait=max_wait)
        async with open_supervisor(Toolbox([note], middleware=[limit])) as supervisor:
            for pause in pauses:
                supervisor.start(ToolCall("note"))
                await trio.sleep(pause)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))

    assert began
    for first, start in enumerate(began):
        for last, end in enumerate(began[first:], start=first):
            assert last - first + 1 <= burst + (end - start) * calls / per + 1e-6


async def later(call: MiddlewareCall, ctx: ToolContext) -> str:
    """Would be another key each time."""
    return "key"


@requirement("rate-limit.definition")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: RateLimit(0, per=1.0), "calls: must be a whole number from 1 on"),
        (lambda: RateLimit(1, per=0.0), "per: must be a number of seconds above 0"),
        (lambda: RateLimit(1, per=1.0, by=later), "by: must be a plain function of the call and its context"),  # type: ignore[arg-type]  # what is tested
        (lambda: RateLimit(1, per=1.0, burst=0), "burst: must be"),
        (lambda: RateLimit(1, per=1.0, max_buckets=0), "max_buckets: must be"),
        (lambda: RateLimit(1, per=1.0, max_wait=-1.0), "max_wait: must be a number of seconds from 0 on"),
        (lambda: RateLimit(1, per=1.0, by=cast("Literal['tenant']", "tennant")), "did you mean 'tenant'"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(make: Callable[[], RateLimit], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        make()


@requirement("middleware.state")
def test_nothing_is_remembered_from_another_run() -> None:
    toolbox = Toolbox([watch], middleware=[RateLimit(1, per=1000.0)])

    async def once() -> list[bool]:
        async with open_supervisor(toolbox) as supervisor:
            return allowed([await supervisor.execute(NOW) for _ in range(2)])

    assert [trio.run(once) for _ in range(2)] == [[True, False], [True, False]]
