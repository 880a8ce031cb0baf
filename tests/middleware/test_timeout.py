"""`Timeout`: who is given up on, what is cancelled, and what the caller is told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import trio
import trio.testing

from armory_trio import DefinitionError, Semantics, Tool, Toolbox, ToolCall, ToolResult, open_supervisor, tool
from armory_trio.definitions import WrappedTool
from armory_trio.middleware import RateLimit, Retry, RetryPolicy, Timeout
from tests.engine.placement._tools import TOOLS
from tests.engine.test_threads import Blocker, happened
from tests.engine.tools import count, sleep, stubborn, watch
from tests.requirements import requirement


async def run(toolbox: Toolbox, name: str, **arguments: object) -> ToolResult[object]:
    async with open_supervisor(toolbox) as supervisor:
        return await supervisor.execute(ToolCall(name, arguments))


def ended(result: ToolResult[object]) -> tuple[str | None, str | None, bool, str]:
    error = result.error
    return (
        (None, None, False, result.effect)
        if error is None
        else (
            error.category,
            error.code,
            error.retryable,
            result.effect,
        )
    )


@requirement("timeout.ends")
@pytest.mark.parametrize(("name", "retryable", "effect"), [("sleep", False, "unknown"), ("watch", True, "none")])
async def test_what_takes_too_long_is_cancelled_and_ends_as_a_timeout(
    name: str, retryable: bool, effect: str, autojump_clock: trio.testing.MockClock
) -> None:
    toolbox = Toolbox([sleep, watch], middleware=[Timeout(2)])
    began = trio.current_time()

    assert (await run(toolbox, name, seconds=1.5)).outcome == "success"
    result = await run(toolbox, name, seconds=100)

    assert trio.current_time() - began == 3.5
    assert ended(result) == ("timeout", "TIMEOUT", retryable, effect)
    assert result.error is not None
    assert result.error.message == f"'{name}' did not finish within 2 s"


@requirement("timeout.ends")
@pytest.mark.parametrize("live", [False, True])
async def test_a_stream_is_covered_from_its_first_chunk_to_its_last(
    live: bool, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_supervisor(Toolbox([count], middleware=[Timeout(2.5)])) as supervisor:
        call = ToolCall("count", {"upto": 10, "pause": 1.0})
        if live:
            async with supervisor.stream(call) as stream:
                assert [chunk async for chunk in stream] == [0, 1, 2]
            result = stream.result
        else:
            result = await supervisor.execute(call)

    assert ended(result) == ("timeout", "TIMEOUT", False, "unknown")
    assert result.chunks == (0, 1, 2)


@requirement("timeout.ends")
async def test_a_tool_that_swallows_its_cancellation_did_not_make_it(autojump_clock: trio.testing.MockClock) -> None:
    result = await run(Toolbox([stubborn], middleware=[Timeout(1)]), "stubborn", seconds=5.0)

    assert ended(result) == ("timeout", "TIMEOUT", False, "completed")


@requirement("timeout.ends")
async def test_a_thread_is_left_behind_and_its_end_recorded() -> None:
    blocker = Blocker()

    @tool
    def block() -> str:
        blocker.block()
        return "late"

    async with open_supervisor(Toolbox([block], middleware=[Timeout(0.05)])) as supervisor:
        execution = supervisor.start(ToolCall("block"))
        await happened(blocker.began)
        result = await execution.result()
        assert ended(result) == ("timeout", "TIMEOUT", False, "unknown")
        blocker.let_go.set()
        assert (await execution.settled()).effect == "completed"


@requirement("timeout.ends")
async def test_a_process_is_killed(tmp_path: Path) -> None:
    async with open_supervisor(Toolbox([TOOLS["process"]["hold"]], middleware=[Timeout(0.5)])) as supervisor:
        execution = supervisor.start(ToolCall("hold", {"gate": str(tmp_path / "gate")}))
        result = await execution.result()
        snapshot = await execution.settled()

    assert result.error is not None
    assert (result.error.category, result.error.code) == ("timeout", "TIMEOUT")
    assert snapshot.ended_at is not None


@requirement("timeout.ends")
async def test_a_tool_that_must_never_be_cancelled_runs_to_its_end(autojump_clock: trio.testing.MockClock) -> None:
    @tool(semantics=Semantics(cancellation="unsupported"))
    async def migrate() -> str:
        await trio.sleep(10)
        return "migrated"

    async with open_supervisor(Toolbox([migrate], middleware=[Timeout(1)])) as supervisor:
        execution = supervisor.start(ToolCall("migrate"))
        assert ended(await execution.result()) == ("timeout", "TIMEOUT", False, "unknown")
        assert (await execution.settled()).effect == "completed"


@requirement("timeout.covers")
async def test_outside_of_a_retry_it_covers_all_attempts_and_inside_each_of_them(
    autojump_clock: trio.testing.MockClock,
) -> None:
    policy = RetryPolicy(3, delay=1.0, jitter="none")
    inside = await run(Toolbox([watch], middleware=[Retry(policy), Timeout(2)]), "watch", seconds=100)
    outside = await run(Toolbox([watch], middleware=[Timeout(2), Retry(policy)]), "watch", seconds=100)

    assert (inside.attempts, inside.duration) == (3, 8.0)
    assert (outside.attempts, outside.duration) == (1, 2.0)
    assert ended(inside) == ended(outside) == ("timeout", "TIMEOUT", True, "none")


@requirement("timeout.covers")
@pytest.mark.parametrize("which", [watch, count])
async def test_it_covers_what_waits_further_in(
    which: Tool[..., object], autojump_clock: trio.testing.MockClock
) -> None:
    toolbox = Toolbox([which], middleware=[Timeout(2), RateLimit(1, per=60, max_wait=None)])
    call = ToolCall(which.name, {"seconds": 0.0} if which is watch else {"upto": 1})
    async with open_supervisor(toolbox) as supervisor:
        assert (await supervisor.execute(call)).outcome == "success"
        result = await supervisor.execute(call)

    assert ended(result) == ("timeout", "TIMEOUT", True, "none")
    assert (result.attempts, result.duration) == (0, 2.0)


@requirement("timeout.definition")
async def test_each_tool_can_have_a_limit_of_its_own(autojump_clock: trio.testing.MockClock) -> None:
    def limit(tool: WrappedTool) -> float | None:
        return 1.0 if tool.name == "watch" else None

    toolbox = Toolbox([watch, sleep], middleware=[Timeout(limit)])

    assert (await run(toolbox, "watch", seconds=5.0)).outcome == "error"
    assert (await run(toolbox, "sleep", seconds=5.0)).outcome == "success"
    bound = toolbox.get("sleep")
    assert bound is not None
    assert bound.middleware == ()


@requirement("timeout.definition")
@pytest.mark.parametrize("limit", [0, -1, math.inf, math.nan, True, "5", None])
def test_a_limit_is_seconds_above_zero(limit: float) -> None:
    with pytest.raises(DefinitionError, match="middleware Timeout: limit: must be a number of seconds above 0, not"):
        Timeout(limit)


@requirement("timeout.definition")
def test_a_wrong_limit_of_one_tool_names_the_tool() -> None:
    with pytest.raises(DefinitionError, match="tool 'watch': middleware: the limit must be a number of seconds"):
        Toolbox([watch], middleware=[Timeout(lambda _: -1)])


@requirement("timeout.ends")
async def test_a_deadline_of_the_call_that_comes_first_is_the_callers(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([watch], middleware=[Timeout(5)])) as supervisor:
        result = await supervisor.execute(ToolCall("watch", {"seconds": 100}), deadline=trio.current_time() + 1)

    assert ended(result) == ("timeout", "DEADLINE_EXCEEDED", True, "none")
