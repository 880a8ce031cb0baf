"""What the hosts of asyncio programs and of threads take from a supervisor, they offer as it does."""

from __future__ import annotations

import asyncio
import inspect
from typing import Final

import pytest
import trio

from armory_trio import Supervisor, Toolbox, ToolCall, current_supervisor, tool
from armory_trio.engine import Executions
from armory_trio.integrations.asyncio_host import AsyncioExecutions, AsyncioHost, open_asyncio_host
from armory_trio.integrations.portal import BlockingHost, open_blocking_host

PAIRS: Final = [
    (AsyncioHost, Supervisor),
    (AsyncioExecutions, Executions),
    (BlockingHost, Supervisor),
    (BlockingHost, Executions),
]


@tool
async def wait() -> None:
    """Wait until stopped."""
    await trio.sleep_forever()


@tool
async def begin() -> str:
    """Start a call that goes on without this one."""
    return current_supervisor().start(ToolCall("wait")).id


TOOLBOX: Final = Toolbox([wait, begin])


@pytest.mark.parametrize(("host", "within"), PAIRS)
def test_a_host_takes_whatever_the_supervisor_within_it_takes(host: type, within: type) -> None:
    shared = [name for name in vars(within) if not name.startswith("_") and inspect.isfunction(vars(host).get(name))]
    lacking = {
        name: missing
        for name in shared
        if inspect.isfunction(vars(within)[name]) and (missing := _parameters(within, name) - _parameters(host, name))
    }

    assert shared
    assert lacking == {}


def _parameters(owner: type, name: str) -> set[str]:
    return {parameter.name for parameter in inspect.signature(vars(owner)[name]).parameters.values()}


def test_what_an_execution_started_is_found_and_stopped_through_an_asyncio_host() -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            started = (await host.execute(ToolCall("begin"))).value
            assert isinstance(started, str)
            [by] = {shot.started_by for shot in host.executions.inspect() if shot.execution_id == started}
            assert by is not None

            assert [shot.execution_id for shot in host.executions.inspect(started_by=by)] == [started]
            assert host.executions.locate(by, live_only=True) is None
            assert host.abort("enough", started_by=by) == {started: "requested"}

    asyncio.run(main())


def test_what_an_execution_started_is_found_and_stopped_through_a_portal() -> None:
    with open_blocking_host(TOOLBOX) as host:
        started = host.execute(ToolCall("begin")).value
        assert isinstance(started, str)
        [by] = {shot.started_by for shot in host.inspect() if shot.execution_id == started}
        assert by is not None

        assert [shot.execution_id for shot in host.inspect(started_by=by)] == [started]
        assert host.locate(by, live_only=True) is None
        assert host.abort("enough", started_by=by) == {started: "requested"}


def test_a_batch_bears_the_name_that_it_was_given_through_a_host() -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            await host.execute_batch([ToolCall("begin")], batch_id="evening")
            assert {shot.batch_id for shot in host.executions.inspect(tool_name="begin")} == {"evening"}
            host.abort("enough", tool_name="wait")

    asyncio.run(main())
    with open_blocking_host(TOOLBOX) as host:
        host.execute_batch([ToolCall("begin")], batch_id="morning")
        assert {shot.batch_id for shot in host.inspect(tool_name="begin")} == {"morning"}
        host.abort("enough", tool_name="wait")


def test_hosts_and_what_they_show_say_how_much_there_is_when_they_are_printed() -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            await host.execute(ToolCall("begin"))
            assert repr(host) == "<AsyncioHost: 1 active>"
            assert repr(host.supervisor) == "<Supervisor: 1 active>"
            assert repr(host.executions) == "<AsyncioExecutions: 1 live, 1 kept>"
            host.abort("enough", tool_name="wait")
        assert repr(host) == "<AsyncioHost: 0 active, closed>"

    asyncio.run(main())
    with open_blocking_host(TOOLBOX) as host:
        assert repr(host) == "<BlockingHost: 0 active>"
