"""Runs that are cancelled, and hosts that go."""

from __future__ import annotations

import asyncio

import pytest
from agents import RunContextWrapper, Runner, UserError
from agents.tool_context import ToolContext

from armory_trio import CallOptions, RequestContext
from armory_trio.authority import ApprovalPolicy
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.openai_agents import agent_tools
from tests.integrations.banks import KEYS
from tests.integrations.loops import Run, on_each_loop, pending_futures, run_on_asyncio
from tests.integrations.openai_agents.runs import QUIET, agent_of, asks, in_call, outputs, run_agent
from tests.integrations.workshop import WHO, Workshop, cancel_everywhere
from tests.requirements import requirement


@requirement("agents.cancel")
@on_each_loop
def test_a_cancelled_run_aborts_its_executions_and_they_settle(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host), [asks("sleep", {}, "call-1"), asks("sleep", {}, "call-2")])
            running = asyncio.create_task(run_agent(agent))
            await workshop.running.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await host.wait_idle()
            shots = host.executions.inspect()
            assert {(each.state, each.error_code) for each in shots} <= {
                ("unknown-effect", "CANCELLED"),
                ("terminal", "NOT_STARTED"),
            }
            assert {each.abort.source for each in shots if each.abort} == {"caller"}
            assert all(each.settled_at is not None for each in shots)
            assert workshop.said.count("began") == workshop.said.count("cleaned up") > 0

    run(main)


@requirement("agents.cancel")
def test_a_streamed_run_that_is_cancelled_aborts_its_executions() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host), [asks("sleep", {}, "call-1")])
            streamed = Runner.run_streamed(agent, "go on", run_config=QUIET)

            async def read() -> None:
                async for _ in streamed.stream_events():
                    pass

            reading = asyncio.create_task(read())
            await workshop.running.wait()
            streamed.cancel()
            await reading
            await host.wait_idle()
            [shot] = host.executions.inspect()
            assert shot.abort is not None
            assert (shot.abort.source, workshop.said) == ("caller", ["began", "cleaned up"])

    run_on_asyncio(main)


@requirement("agents.cancel")
def test_a_reader_that_raises_in_the_middle_of_a_stream_and_cancels_it_aborts_what_runs() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host), [asks("sleep", {}, "call-1")])
            streamed = Runner.run_streamed(agent, "go on", run_config=QUIET)

            async def read() -> None:
                async for event in streamed.stream_events():
                    if event.type == "run_item_stream_event":
                        await workshop.running.wait()
                        raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await read()
            streamed.cancel()
            await host.wait_idle()
            [shot] = host.executions.inspect()
            assert shot.abort is not None
            assert (shot.abort.source, workshop.said) == ("caller", ["began", "cleaned up"])

    run_on_asyncio(main)


@requirement("agents.cancel")
def test_a_call_that_ends_the_run_by_an_exception_aborts_those_beside_it() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:

            def options(context: RunContextWrapper[RequestContext]) -> CallOptions:
                assert isinstance(context, ToolContext)
                if context.tool_call_id == "call-2":
                    raise LookupError("nobody knows this user")
                return {}

            calls = [asks("sleep", {}, "call-1"), asks("work", {"number": 1}, "call-2")]
            agent, _ = agent_of(agent_tools(host, options=options), calls)
            with pytest.raises(UserError, match="nobody knows this user"):
                await run_agent(agent)
            await host.wait_idle()
            assert workshop.said.count("began") == workshop.said.count("cleaned up")
            assert {each.abort.source for each in host.executions.inspect() if each.abort} <= {"caller"}

    run_on_asyncio(main)


@requirement("agents.shutdown")
def test_a_run_in_another_thread_is_told_whose_the_host_is() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            agent, _ = agent_of(agent_tools(host), [asks("work", {"number": 1}, "call-1")])
            with pytest.raises(RuntimeError, match="this host belongs to the thread of its asyncio loop"):
                await asyncio.to_thread(lambda: asyncio.run(run_agent(agent)))

    run_on_asyncio(main)


@requirement("agents.words", "agents.cancel")
def test_an_execution_that_the_host_aborts_is_told_to_the_model_and_the_run_goes_on() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent, _ = agent_of(agent_tools(host), [asks("sleep", {}, "call-1")])
            running = asyncio.create_task(run_agent(agent))
            await workshop.running.wait()
            host.abort("the user left", call_id="call-1")
            said = str(outputs(await running)["call-1"])
            assert "was cancelled while it ran (CANCELLED).\nthe user left\nIt may have taken effect." in said

    run_on_asyncio(main)


@requirement("agents.shutdown")
@on_each_loop
def test_a_host_that_is_shut_down_under_a_run_answers_its_calls_and_leaves_nothing_pending(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            calls = [asks("sleep", {}, "call-1"), *(asks("work", {"number": n}, f"work-{n}") for n in range(20))]
            agent, _ = agent_of(agent_tools(host), calls)
            running = asyncio.create_task(run_agent(agent))
            await workshop.running.wait()
            await host.shutdown("abort")
            said = outputs(await running)
            assert "was cancelled while it ran" in str(said["call-1"])
            for number in range(20):
                text = str(said[f"work-{number}"])
                assert text == str(number * 10) or "did not run: it was cancelled" in text or "while it ran" in text
        assert host.active == 0
        assert pending_futures() == []

    run(main)


@requirement("agents.cancel-everywhere")
@on_each_loop
@pytest.mark.parametrize("interrupt", [False, True])
def test_cancelled_in_any_round_a_call_leaves_nothing_behind(run: Run, interrupt: bool) -> None:
    async def main() -> None:
        workshop = Workshop(approval_policy=ApprovalPolicy("on-mutation")) if interrupt else Workshop()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            tools = agent_tools(host, tools=["sleep"], options=lambda _: {"request_context": WHO}, interrupt=interrupt)
            tool = tools[0]

            async def call() -> object:
                context = in_call(tool, "{}")
                if interrupt:
                    needs = tool.needs_approval
                    assert callable(needs)
                    assert await needs(context, {}, "call-1")
                return await tool.on_invoke_tool(context, "{}")

            await cancel_everywhere(host, workshop, call, sleeps=not interrupt)

    run(main)
