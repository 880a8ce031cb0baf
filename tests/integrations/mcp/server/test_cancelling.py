"""Calls whose client does not want them any more: no answer, no second one, and nothing that runs on."""

from __future__ import annotations

import os
import random
from typing import Final

import pytest
import trio
from hypothesis import settings

from armory_trio import State, Toolbox, ToolContext, open_supervisor, tool
from armory_trio.integrations.mcp.server import McpServer
from tests.integrations.mcp.server.serving import MODERN, TOOLBOX, client_of, nap, serving, wired
from tests.requirements import requirement

TIMINGS: Final = 100 if settings().max_examples < 1_000 else 500
"""Cancellations at random moments; more under ``--hypothesis-profile=soak``."""


@requirement("mcp-server.cancel")
async def test_a_cancelled_call_is_aborted_and_never_answered(autojump_clock: trio.abc.Clock) -> None:
    async with serving() as (server, supervisor), wired(server) as wire:
        await wire.call(1, "nap", seconds=60)
        await trio.testing.wait_all_tasks_blocked()
        await wire.cancel(1)
        await wire.call(2, "add", a=1, b=2)
        await wire.reply(2)
        [shot] = [each for each in supervisor.executions.inspect() if each.tool_name == "nap"]

        assert wire.replies(1) == []
        assert (shot.outcome, shot.error_category) == ("error", "cancelled")
        assert shot.abort is not None and shot.abort.source == "caller"


@requirement("mcp-server.cancel.race")
async def test_whenever_a_call_is_cancelled_there_is_one_answer_or_none_and_the_session_lives(
    autojump_clock: trio.abc.Clock,
) -> None:
    dice = random.Random(7)  # noqa: S311  # repeatable, not secret
    async with serving() as (server, supervisor), wired(server) as wire:

        async def call_and_cancel(number: int) -> None:
            await trio.sleep(dice.random() / 10)
            lasts = dice.choice([0.0, 0.01, dice.random() / 50])
            await wire.call(number, "nap", seconds=lasts)
            await trio.sleep(dice.choice([0.0, 0.01, lasts, dice.random() / 50]))
            await wire.cancel(number)

        async with trio.open_nursery() as nursery:
            for number in range(1, TIMINGS + 1):
                nursery.start_soon(call_and_cancel, number)
        await wire.call("last", "add", a=1, b=1)
        await wire.reply("last")
        answered = [len(wire.replies(number)) for number in range(1, TIMINGS + 1)]

        assert set(answered) == {0, 1}
        assert supervisor.active == 0


@requirement("mcp-server.cancel")
@pytest.mark.parametrize("number", [77, "77", "never"])
async def test_cancelling_what_is_not_there_changes_nothing(number: int | str) -> None:
    async with serving() as (server, _), wired(server) as wire:
        await wire.cancel(number)
        await wire.call(1, "add", a=1, b=2)

        assert "result" in await wire.reply(1)


@requirement("mcp-server.gone")
async def test_a_client_that_hangs_up_aborts_its_calls(autojump_clock: trio.abc.Clock) -> None:
    async with serving() as (server, supervisor):
        async with wired(server) as wire:
            await wire.call(1, "nap", seconds=3600)
            await trio.testing.wait_all_tasks_blocked()
        [shot] = supervisor.executions.inspect()

        assert (shot.state, shot.outcome) == ("terminal", "error")
        assert trio.current_time() < 10


@requirement("mcp-server.gone")
async def test_a_host_that_cancels_the_serving_aborts_its_calls(autojump_clock: trio.abc.Clock) -> None:
    async with serving() as (server, supervisor):
        with trio.move_on_after(1):
            async with wired(server) as wire:
                await wire.call(1, "nap", seconds=3600)
                await trio.sleep_forever()
        shots = supervisor.executions.inspect()

        assert [shot.outcome for shot in shots] == ["error"]
        assert supervisor.active == 0


@requirement("mcp-server.cancel")
async def test_a_client_of_the_later_protocol_that_gives_up_aborts_its_call(autojump_clock: trio.abc.Clock) -> None:
    async with serving() as (server, supervisor), client_of(server, MODERN) as client:
        with trio.move_on_after(1):
            await client.call_tool("nap", {"seconds": 3600})
        [shot] = supervisor.executions.inspect()

        assert shot.outcome == "error"
        assert (await client.call_tool("add", {"a": 1, "b": 2})).is_error is False


@requirement("mcp-server.drain")
async def test_a_drain_answers_what_runs_refuses_what_comes_and_ends_the_serving(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        server = McpServer(supervisor)
        async with wired(server) as wire, trio.open_nursery() as nursery:
            await wire.call(1, "nap", seconds=5)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(supervisor.shutdown)
            await trio.testing.wait_all_tasks_blocked()
            await wire.call(2, "add", a=1, b=2)
            refused, ended = await wire.reply(2), await wire.reply(1)

    assert "did not run: it was cancelled before it started (NOT_STARTED)" in str(refused)
    assert "The server is shutting down." in str(refused)
    assert "rested" in str(ended)


@requirement("mcp-server.ping")
async def test_a_ping_is_answered_while_a_call_runs(autojump_clock: trio.abc.Clock) -> None:
    async with serving() as (server, _), wired(server) as wire:
        await wire.call(1, "nap", seconds=2)
        await wire.request(2, "ping")
        await wire.reply(2)

        assert wire.replies(1) == []
        assert trio.current_time() < 1


@requirement("mcp-server.cancel")
async def test_a_tool_that_cannot_be_stopped_holds_nobody_up() -> None:
    held, states = trio.Event(), list[State]()

    @tool
    async def stubborn(_ctx: ToolContext) -> str:
        with trio.CancelScope(shield=True):
            await held.wait()
        return "late"

    async with serving(Toolbox([stubborn, nap])) as (server, supervisor), wired(server) as wire:
        await wire.call(1, "stubborn")
        await trio.testing.wait_all_tasks_blocked()
        await wire.cancel(1)
        await wire.request(2, "ping")
        await wire.reply(2)
        states += [shot.state for shot in supervisor.executions.inspect()]
        held.set()
        await supervisor.wait_idle()

        assert wire.replies(1) == []
    assert states in (["abort-requested"], ["cleanup-pending"])


@requirement("mcp-server.cancel", "mcp-server.gone")
async def test_nothing_is_kept_of_calls_that_are_over(autojump_clock: trio.abc.Clock) -> None:
    async with serving() as (server, supervisor), wired(server) as wire:
        [hub] = server._hubs  # pyright: ignore[reportPrivateUsage]  # what is left behind is not to be seen from outside
        await wire.call("first", "tells")
        await wire.reply("first")
        await trio.testing.wait_all_tasks_blocked()
        before = len(hub.nursery.child_tasks)
        for number in range(100):
            await wire.request(number, "tools/call", name="tells", arguments={}, _meta={"progressToken": number})
            await wire.call(f"{number} slow", "nap", seconds=60)
            await wire.cancel(f"{number} slow")
        for number in range(100):
            await wire.reply(number)
        await supervisor.wait_idle()
        await trio.testing.wait_all_tasks_blocked()

        assert (len(hub.nursery.child_tasks), hub.parked, hub.relay._lines) == (before, {}, {})  # pyright: ignore[reportPrivateUsage]  # as above


@requirement("mcp-server.gone", "mcp-server.stdout")
async def test_a_host_that_cancels_the_serving_of_its_standard_streams_gets_them_back() -> None:
    kept, (reading, writing) = os.dup(0), os.pipe()
    os.dup2(reading, 0)
    try:
        async with open_supervisor(TOOLBOX) as supervisor:
            for _ in range(2):  # the second time nobody holds them any more
                with trio.move_on_after(0.05) as scope:
                    await McpServer(supervisor).serve_stdio()
                assert scope.cancelled_caught
        os.write(writing, b"for the host")
        found = os.read(0, 100)
    finally:
        os.dup2(kept, 0)
        for fd in (kept, reading, writing):
            os.close(fd)

    assert found == b"for the host"
