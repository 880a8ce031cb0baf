"""Each state of the table, reached through the public face."""

from __future__ import annotations

import trio
import trio.testing

from armory_trio import Limits, Toolbox, ToolCall, ToolContext, open_supervisor, tool
from tests.engine.tools import add, count, sleep, stubborn
from tests.requirements import requirement


@requirement("engine.state-queued")
async def test_a_call_that_waits_for_room_is_queued_and_says_for_what(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep]), limits=Limits(concurrent=1)) as supervisor:
        first = supervisor.start(ToolCall("sleep", {"seconds": 5}))
        second = supervisor.start(ToolCall("sleep", {"seconds": 5}))
        third = supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()

        assert first.snapshot.state == "active"
        assert first.snapshot.capacity == ("supervisor",)
        assert (second.snapshot.state, second.snapshot.waits_for) == ("queued", "capacity:supervisor")
        assert (second.snapshot.queue_position, third.snapshot.queue_position) == (1, 2)
        assert second.snapshot.started_at is None


@requirement("engine.state-active", "engine.state-terminal")
async def test_a_body_that_runs_is_active_and_one_that_ended_is_terminal(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        execution = supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()
        running = execution.snapshot
        ended = await execution.settled()

    assert (running.state, running.attempts, running.outcome) == ("active", 1, None)
    assert (ended.state, ended.outcome, ended.effect) == ("terminal", "success", "completed")
    assert ended.settled_at is not None and running.started_at is not None
    assert ended.settled_at - running.started_at == 5


@requirement("engine.state-waiting")
async def test_a_declared_wait_shows_and_leads_back(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def polite(ctx: ToolContext) -> None:
        async with ctx.waiting("rate limit"):
            await trio.sleep(1)
            async with ctx.waiting("its turn"):
                await trio.sleep(1)
            await trio.sleep(1)
        await trio.sleep(1)

    async with open_supervisor(Toolbox([polite])) as supervisor:
        execution = supervisor.start(ToolCall("polite"))
        seen: list[tuple[str, str | None]] = []
        for _ in range(4):
            await trio.sleep(0.5)
            seen.append((execution.snapshot.state, execution.snapshot.declared_wait))
            await trio.sleep(0.5)

    assert seen == [("waiting", "rate limit"), ("waiting", "its turn"), ("waiting", "rate limit"), ("active", None)]


@requirement("engine.state-streaming")
async def test_a_tool_that_yielded_is_streaming(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([count])) as supervisor:
        execution = supervisor.start(ToolCall("count", {"upto": 3, "pause": 1.0}))
        await trio.testing.wait_all_tasks_blocked()

        assert (execution.snapshot.state, execution.snapshot.chunks) == ("streaming", 1)


@requirement("engine.state-abort-requested", "engine.state-cleanup-pending")
async def test_a_body_that_takes_long_to_end_is_cleaning_up(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([stubborn])) as supervisor:
        execution = supervisor.start(ToolCall("stubborn", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()

        assert execution.abort("enough") == "requested"
        asked = execution.snapshot
        await trio.sleep(1)
        late = execution.snapshot
        ended = await execution.settled()

    assert (asked.state, asked.cleanup, asked.outcome) == ("abort-requested", "pending", "error")
    assert asked.abort is not None and asked.abort.honoured is None
    assert (late.state, late.ended_at) == ("cleanup-pending", None)
    assert (ended.state, ended.cleanup) == ("terminal", "completed")
    assert ended.effect == "completed"  # it made its way to the end
    assert ended.abort is not None and ended.abort.honoured is False


@requirement("engine.state-unknown-effect")
async def test_a_body_that_was_cut_off_leaves_an_unknown_effect(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep])) as supervisor:
        execution = supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()
        execution.abort("enough")
        ended = await execution.settled()

    assert (ended.state, ended.effect, ended.error_code) == ("unknown-effect", "unknown", "CANCELLED")
    assert ended.abort is not None and ended.abort.honoured is True


@requirement("engine.state-unknown-effect", "engine.late-end")
async def test_a_body_past_its_cleanup_timeout_is_given_up_and_its_late_end_recorded(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with open_supervisor(Toolbox([stubborn, add]), cleanup_timeout=2, limits=Limits(concurrent=1)) as supervisor:
        execution = supervisor.start(ToolCall("stubborn", {"seconds": 9}))
        await trio.testing.wait_all_tasks_blocked()
        execution.abort("enough")
        given_up = await execution.settled()
        behind = supervisor.start(ToolCall("add", {"a": 1, "b": 2}))
        await trio.testing.wait_all_tasks_blocked()
        held = behind.snapshot
        await behind.settled()
        ended = execution.snapshot

    assert (given_up.state, given_up.cleanup, given_up.ended_at) == ("unknown-effect", "unresolved", None)
    assert held.state == "queued"  # the slot is held until the body really ends
    assert (ended.state, ended.revision) == ("unknown-effect", given_up.revision + 1)
    assert ended.ended_at is not None and ended.effect == "unknown"
    assert execution.privileged_snapshot().late_value == "made it"


@requirement("engine.state-queued", "engine.not-started")
async def test_a_queued_call_that_is_aborted_never_ran(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([sleep]), limits=Limits(concurrent=1)) as supervisor:
        supervisor.start(ToolCall("sleep", {"seconds": 5}))
        queued = supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()

        assert queued.abort("changed my mind") == "not-started"
        result = await queued.result()
        snapshot = await queued.settled()

    assert result.error is not None and result.error.code == "NOT_STARTED"
    assert (result.effect, result.attempts) == ("none", 0)
    assert (snapshot.state, snapshot.started_at) == ("terminal", None)
    assert "did not run" in result.text


@requirement("engine.state-abort-requested")
async def test_a_call_aborted_while_a_hook_of_the_users_runs_waits_for_the_hook(autojump_clock: trio.abc.Clock) -> None:
    closed = trio.Event()

    async def slowly_available(context: object) -> bool:
        try:
            await trio.sleep(5)
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
            closed.set()
        return True

    @tool(availability=slowly_available)
    async def rare() -> str:
        return "ran"

    async with open_supervisor(Toolbox([rare])) as supervisor:
        execution = supervisor.start(ToolCall("rare"))
        await trio.testing.wait_all_tasks_blocked()
        asking = execution.snapshot
        execution.abort("enough")
        asked = execution.snapshot
        ended = await execution.settled()

    assert (asking.state, asking.waits_for) == ("queued", "policy")
    assert asked.state == "abort-requested"
    assert closed.is_set()
    assert (ended.state, ended.error_code, ended.attempts) == ("terminal", "NOT_STARTED", 0)
