"""LangChain's tools in threads, and in a program without an event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from armory_trio import AdmissionClosed
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.langchain import langchain_tools
from armory_trio.integrations.portal import open_blocking_host
from tests.integrations.langchain.calls import answer_to, asks, by_name
from tests.integrations.loops import PATIENCE, pending_futures, run_on_asyncio
from tests.integrations.workshop import Workshop
from tests.requirements import requirement


@requirement("agents.threads", "agents.supervised")
def test_in_a_program_without_a_loop_twenty_threads_obey_a_limit_of_two() -> None:
    workshop = Workshop(meet=2)
    with open_blocking_host(workshop.toolbox) as host, ThreadPoolExecutor(20) as pool:
        tools = by_name(langchain_tools(host))

        def work(number: int) -> ToolMessage:
            answer: object = tools["work"].invoke(asks("work", {"number": number}))
            assert isinstance(answer, ToolMessage)
            return answer

        assert [answer.content for answer in pool.map(work, range(20))] == [str(number * 10) for number in range(20)]
        assert workshop.most == 2
        assert "It may have taken effect." in str(tools["crash"].invoke(asks("crash", {})))


@requirement("agents.threads")
def test_threads_of_an_asyncio_program_call_through_its_loop() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            work = by_name(langchain_tools(host))["work"]
            assert await asyncio.to_thread(work.invoke, {"number": 4}) == "40"

    run_on_asyncio(main)


@requirement("agents.threads", "agents.shutdown")
def test_a_thread_that_calls_a_closed_host_is_told() -> None:
    async def main() -> BaseTool:
        async with open_asyncio_host(Workshop().toolbox) as host:
            work = by_name(langchain_tools(host))["work"]
            host.close_admission("the service is going down")
            with pytest.raises(AdmissionClosed, match="going down"):
                await asyncio.to_thread(work.invoke, {"number": 4})
        return work

    work = run_on_asyncio(main)
    with pytest.raises(AdmissionClosed, match="so is its loop"):
        work.invoke({"number": 4})


@requirement("agents.threads")
def test_a_thread_that_runs_the_loop_is_refused_with_what_to_do() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            work = by_name(langchain_tools(host))["work"]
            with pytest.raises(RuntimeError, match="await ainvoke"):
                work.invoke({"number": 4})
            assert await work.ainvoke({"number": 4}) == "40"

    run_on_asyncio(main)


@requirement("agents.threads")
def test_a_host_of_asyncio_is_no_use_to_a_thread_that_makes_tools_without_its_loop() -> None:
    async def main() -> None:
        async with open_asyncio_host(Workshop().toolbox) as host:
            with pytest.raises(RuntimeError, match="in the thread of its loop"):
                await asyncio.to_thread(langchain_tools, host)

    run_on_asyncio(main)


@requirement("agents.threads", "agents.cancel", "agents.cancel-everywhere")
def test_awaited_on_a_blocking_host_a_call_that_is_cancelled_is_aborted() -> None:
    workshop = Workshop()

    async def main() -> None:
        tools = langchain_tools(host)
        assert (await answer_to(tools, asks("work", {"number": 4}))).content == "40"
        for delay in (0, 1, 3):
            running = asyncio.create_task(answer_to(tools, asks("sleep", {})))
            for _ in range(delay):
                await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        workshop.began.clear()
        running = asyncio.create_task(answer_to(tools, asks("sleep", {})))
        assert await asyncio.to_thread(workshop.began.wait, PATIENCE)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert pending_futures() == []
        await asyncio.to_thread(host.wait_idle)
        assert {shot.abort.source for shot in host.inspect() if shot.abort} == {"caller"}
        assert workshop.said.count("began") == workshop.said.count("cleaned up") > 0

    with open_blocking_host(workshop.toolbox) as host:
        run_on_asyncio(main)
    assert not [each for each in threading.enumerate() if "armory" in each.name]
