"""Calls that are cancelled, and hosts that go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

import pytest
from langchain_core.runnables.schema import StreamEvent
from langchain_core.tools import ToolException

from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.langchain import langchain_tools
from tests.integrations.langchain.calls import answer_to, asks, by_name
from tests.integrations.loops import Run, on_each_loop, pending_futures, run_on_asyncio
from tests.integrations.workshop import Workshop, cancel_everywhere
from tests.requirements import requirement


@requirement("agents.cancel")
@on_each_loop
def test_a_cancelled_call_aborts_its_execution_which_settles(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            running = asyncio.create_task(answer_to(langchain_tools(host), asks("sleep", {})))
            await workshop.running.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            [shot] = host.executions.inspect()
            assert shot.abort is not None
            assert (shot.abort.source, shot.error_code, shot.state) == ("caller", "CANCELLED", "unknown-effect")
            assert workshop.said == ["began", "cleaned up"]

    run(main)


@requirement("agents.cancel")
def test_a_call_that_raises_in_a_group_aborts_those_beside_it() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            tools = by_name(langchain_tools(host))

            async def call() -> None:
                async with asyncio.TaskGroup() as group:
                    group.create_task(tools["sleep"].ainvoke({}))
                    await workshop.running.wait()
                    group.create_task(tools["crash"].ainvoke({}))

            with pytest.RaisesGroup(ToolException):
                await call()
            await host.wait_idle()
            assert workshop.said == ["began", "cleaned up"]

    run_on_asyncio(main)


@requirement("agents.cancel")
def test_a_reader_that_leaves_the_events_of_a_call_aborts_it() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            events = by_name(langchain_tools(host))["sleep"].astream_events({}, version="v2")
            async with aclosing(cast("AsyncGenerator[StreamEvent]", events)):
                assert (await anext(events))["event"] == "on_tool_start"
                await workshop.running.wait()
            await host.wait_idle()
            assert workshop.said == ["began", "cleaned up"]

    run_on_asyncio(main)


@requirement("agents.words", "agents.cancel")
def test_an_execution_that_the_host_aborts_is_told_to_the_model() -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            running = asyncio.create_task(answer_to(langchain_tools(host), asks("sleep", {}, "call-1")))
            await workshop.running.wait()
            host.abort("the user left", call_id="call-1")
            message = await running
            assert "was cancelled while it ran (CANCELLED).\nthe user left\nIt may have taken effect." in message.text
            assert message.status == "error"

    run_on_asyncio(main)


@requirement("agents.shutdown")
@on_each_loop
def test_a_host_that_is_shut_down_under_calls_answers_them_and_leaves_nothing_pending(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            tools = langchain_tools(host)
            running = asyncio.create_task(answer_to(tools, asks("sleep", {})))
            await workshop.running.wait()
            others = [asyncio.create_task(answer_to(tools, asks("work", {"number": n}))) for n in range(20)]
            await asyncio.sleep(0)
            await host.shutdown("abort")
            assert "was cancelled while it ran" in (await running).text
            for number, message in enumerate(await asyncio.gather(*others)):
                text = message.text
                assert text == str(number * 10) or "did not run: it was cancelled" in text or "while it ran" in text
        assert host.active == 0
        assert pending_futures() == []

    run(main)


@requirement("agents.cancel-everywhere")
@on_each_loop
def test_cancelled_in_any_round_a_call_leaves_nothing_behind(run: Run) -> None:
    async def main() -> None:
        workshop = Workshop()
        async with open_asyncio_host(workshop.toolbox) as host:
            tools = langchain_tools(host)
            await cancel_everywhere(host, workshop, lambda: answer_to(tools, asks("sleep", {})))

    run(main)
