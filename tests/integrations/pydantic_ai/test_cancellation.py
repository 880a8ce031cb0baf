"""Runs that are cancelled, and hosts that go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from pydantic_ai import Agent, FunctionToolCallEvent, RunContext
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai.usage import RunUsage

from armory_trio import ApprovalPolicy, CallOptions, RequestContext
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.pydantic_ai import ArmoryToolset
from tests.integrations.banks import KEYS
from tests.integrations.loops import Run, on_each_loop, pending_futures, run_on_asyncio
from tests.integrations.pydantic_ai.runs import Script, agent_of, asks, returns
from tests.integrations.workshop import WHO, Workshop, cancel_everywhere
from tests.requirements import requirement

Toolset = ArmoryToolset[RequestContext | None]


@requirement("agents.cancel")
@on_each_loop
def test_a_cancelled_run_aborts_its_executions_and_they_settle(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            calls = [asks("sleep", {}, "call-1"), asks("sleep", {}, "call-2")]
            running = asyncio.create_task(agent_of(Toolset(host), Script(calls)).run("go on", deps=None))
            await workshop.running.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await host.wait_idle()
            shots = host.executions.inspect()
            assert {each.abort.source for each in shots if each.abort} == {"caller"}
            assert all(each.settled_at is not None for each in shots)
            assert workshop.said.count("began") == workshop.said.count("cleaned up") > 0

    run(main)


@requirement("agents.cancel")
def test_a_reader_that_raises_in_the_middle_of_a_stream_aborts_what_runs() -> None:
    async def say(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[DeltaToolCalls]:
        await asyncio.sleep(0)
        yield {0: DeltaToolCall("sleep", "{}", tool_call_id="call-1")}

    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent = Agent(
                FunctionModel(stream_function=say), deps_type=type(None), toolsets=[ArmoryToolset[None](host)]
            )

            async def read() -> None:
                async with agent.run_stream_events("go on") as events:
                    async for event in events:
                        if isinstance(event, FunctionToolCallEvent):
                            await workshop.running.wait()
                            raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await read()
            await host.wait_idle()
            [shot] = host.executions.inspect()
            assert shot.abort is not None
            assert (shot.abort.source, workshop.said) == ("caller", ["began", "cleaned up"])

    run_on_asyncio(main)


@requirement("agents.cancel")
def test_a_call_that_ends_the_run_by_an_exception_aborts_those_beside_it() -> None:
    def options(context: RunContext[RequestContext | None]) -> CallOptions:
        if context.tool_call_id == "call-2":
            raise LookupError("nobody knows this user")
        return {}

    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            calls = [asks("sleep", {}, "call-1"), asks("work", {"number": 1}, "call-2")]
            with pytest.raises(LookupError, match="nobody knows this user"):
                await agent_of(Toolset(host, options=options), Script(calls)).run("go on", deps=None)
            await host.wait_idle()
            assert workshop.said.count("began") == workshop.said.count("cleaned up")
            assert {each.abort.source for each in host.executions.inspect() if each.abort} <= {"caller"}

    run_on_asyncio(main)


@requirement("agents.words", "agents.cancel")
def test_an_execution_that_the_host_aborts_is_told_to_the_model_and_the_run_goes_on() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent = agent_of(Toolset(host), Script([asks("sleep", {}, "call-1")]))
            running = asyncio.create_task(agent.run("go on", deps=None))
            await workshop.running.wait()
            host.abort("the user left", call_id="call-1")
            part = returns((await running).all_messages())["call-1"]
            assert "was cancelled while it ran (CANCELLED).\nthe user left\nIt may have taken" in str(part.content)
            assert part.outcome == "failed"

    run_on_asyncio(main)


@requirement("agents.shutdown")
@on_each_loop
def test_a_host_that_is_shut_down_under_a_run_answers_its_calls_and_leaves_nothing_pending(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            agent = agent_of(Toolset(host), Script([asks("sleep", {}, "call-1")]))
            running = asyncio.create_task(agent.run("go on", deps=None))
            await workshop.running.wait()
            await host.shutdown("abort")
            ended = await running
            assert "was cancelled while it ran" in str(returns(ended.all_messages())["call-1"].content)
            assert ended.output == "done"
        assert host.active == 0
        assert pending_futures() == []

    run(main)


@requirement("agents.cancel-everywhere")
@on_each_loop
@pytest.mark.parametrize("what", ["call_tool", "call_tool, approved", "get_tools"])
def test_cancelled_in_any_round_a_toolset_leaves_nothing_behind(run: Run, what: str) -> None:
    async def main() -> None:
        approved = what.endswith("approved")
        workshop = Workshop(approval_policy=ApprovalPolicy("on-mutation")) if approved else Workshop()
        async with open_asyncio_host(workshop.toolbox, keys=KEYS) as host:
            toolset = Toolset(host, options=lambda _: {"request_context": WHO})
            context = RunContext[RequestContext | None](
                deps=None, model=TestModel(), usage=RunUsage(), tool_call_id="call-1", tool_call_approved=approved
            )
            tool: ToolsetTool[RequestContext | None] = (await toolset.get_tools(context))["sleep"]
            calls: dict[str, Callable[[], Awaitable[object]]] = {
                "get_tools": lambda: toolset.get_tools(context),
                "call_tool": lambda: toolset.call_tool("sleep", {}, context, tool),
            }
            call = calls[what.partition(",")[0]]
            await cancel_everywhere(host, workshop, call, sleeps=what != "get_tools")

    run(main)
