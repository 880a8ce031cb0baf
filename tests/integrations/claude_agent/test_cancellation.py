"""Sessions that are interrupted, and hosts that go."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("claude_agent_sdk", reason="the SDK is too large to be installed here: make claude-agent")

from armory_trio.authority import ApprovalPolicy
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from armory_trio.integrations.claude_agent import ClaudeTools
from tests.integrations.banks import KEYS
from tests.integrations.claude_agent.cli import Use
from tests.integrations.claude_agent.sessions import Person, converse, hold_session, open_session, words
from tests.integrations.loops import Run, on_each_loop, pending_futures, run_on_asyncio
from tests.integrations.workshop import WHO, Workshop
from tests.requirements import requirement

SLEEP = Use("mcp__armory__sleep")


async def settled(host: AsyncioHost, workshop: Workshop) -> None:
    """Raise AssertionError unless everything was aborted by its caller, and has ended."""
    await host.wait_idle()
    shots = host.executions.inspect()
    assert {each.abort.source for each in shots if each.abort} == {"caller"}
    assert all(each.settled_at is not None for each in shots)
    assert workshop.said.count("began") == workshop.said.count("cleaned up") > 0


@requirement("agents.cancel")
@on_each_loop
def test_an_interrupted_turn_aborts_its_executions_and_the_session_goes_on(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with (
            open_asyncio_host(workshop.toolbox) as host,
            open_session(ClaudeTools(host), SLEEP, SLEEP) as (client, cli),
        ):
            talking = asyncio.create_task(converse(client))
            await workshop.running.wait()
            await client.interrupt()
            await talking
            assert cli.failed == {"toolu_0", "toolu_1"}
            await settled(host, workshop)
        assert pending_futures() == []

    run(main)


@requirement("agents.cancel")
@on_each_loop
def test_a_client_that_is_left_aborts_what_runs(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            async with open_session(ClaudeTools(host), SLEEP) as (client, _):
                await client.query("go on")
                await workshop.running.wait()
            await settled(host, workshop)

    run(main)


@requirement("agents.cancel")
@on_each_loop
def test_a_task_that_is_cancelled_inside_of_its_session_aborts_what_runs(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:

            async def session() -> None:
                await hold_session(
                    ClaudeTools(host), SLEEP, *(Use("mcp__armory__work", {"number": n}) for n in range(9))
                )

            talking = asyncio.create_task(session())
            await workshop.running.wait()
            talking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await talking
            await settled(host, workshop)

    run(main)


@requirement("agents.words", "agents.cancel")
def test_an_execution_that_the_host_aborts_is_told_to_the_model_and_the_session_goes_on() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            talking = asyncio.create_task(hold_session(ClaudeTools(host), SLEEP))
            await workshop.running.wait()
            host.abort("the user left", call_id="toolu_0")
            said = words(await talking)
            assert "was cancelled while it ran (CANCELLED).\nthe user left\nIt may have taken effect." in said

    run_on_asyncio(main)


@requirement("agents.shutdown")
@on_each_loop
def test_a_host_that_is_shut_down_under_a_session_answers_its_calls(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            turn = [SLEEP, *(Use("mcp__armory__work", {"number": n}) for n in range(20))]
            talking = asyncio.create_task(hold_session(ClaudeTools(host), *turn))
            await workshop.running.wait()
            await host.shutdown("abort")
            cli = await talking
            assert "was cancelled while it ran" in words(cli)
            assert len(cli.told) == 21
        assert pending_futures() == []

    run(main)


@requirement("agents.shutdown")
def test_calls_of_a_closed_host_are_told_that_the_program_is_shutting_down() -> None:
    async def main() -> None:
        workshop = Workshop(approval_policy=ApprovalPolicy("on-mutation"))
        person = Person()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            tools = ClaudeTools(host, options=lambda _: {"request_context": WHO}, ask=person, effects={})
        turn = [Use("mcp__armory__work", {"number": 1}), Use("mcp__armory__pay", {"to": "eve"}), Use("Bash")]
        cli = await hold_session(tools, *turn)
        for use in ("toolu_0", "toolu_1", "toolu_2"):
            assert "did not run" in words(cli, use)
            assert "he program is shutting down" in words(cli, use)
        assert (person.asked, workshop.said) == ([], [])

    run_on_asyncio(main)


@requirement("agents.cancel-everywhere")
@on_each_loop
@pytest.mark.parametrize("asking", [False, True])
def test_interrupted_in_any_round_a_session_leaves_nothing_behind(run: Run, asking: bool) -> None:
    async def main() -> None:
        workshop = Workshop(approval_policy=ApprovalPolicy("on-mutation")) if asking else Workshop()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            ask = Person() if asking else None
            tools = ClaudeTools(host, options=lambda _: {"request_context": WHO}, ask=ask)
            for rounds in (*range(0, 120, 3), None):
                talking = asyncio.create_task(hold_session(tools, SLEEP))
                if rounds is None:
                    workshop.running.clear()
                    await workshop.running.wait()
                for _ in range(rounds or 0):
                    await asyncio.sleep(0)
                talking.cancel()
                await asyncio.wait([talking])
                await host.wait_idle()
                assert workshop.said.count("began") == workshop.said.count("cleaned up")
            assert workshop.said
            assert not host.closed
        assert pending_futures() == []

    run(main)
