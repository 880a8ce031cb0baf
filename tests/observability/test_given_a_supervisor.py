"""What watches, serves or records a supervisor, and is given something else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from armory_trio import DefinitionError, Supervisor, Toolbox, open_supervisor, serve_until_signal
from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.mcp.server import McpServer
from armory_trio.integrations.portal import open_blocking_host
from armory_trio.kits.background import BackgroundKit
from armory_trio.observability.live import serve_live_view
from armory_trio.observability.logs import log_executions
from armory_trio.observability.otel import instrument
from armory_trio.testing import ScriptedModel, record_calls, run_scripted
from tests.integrations.loops import run_on_asyncio
from tests.requirements import requirement

Door = Callable[[Supervisor], object]


def record(supervisor: Supervisor) -> None:
    with record_calls(supervisor):
        pytest.fail("it records")


kit = BackgroundKit()
AT_ONCE: dict[str, Door] = {
    "BackgroundKit.notices": kit.notices,
    "BackgroundKit.executions": kit.executions,
    "log_executions": log_executions,
    "instrument": instrument,
    "record_calls": record,
    "McpServer": McpServer,
}


@requirement("telemetry.supervisor")
@pytest.mark.parametrize("name", AT_ONCE)
def test_a_host_of_threads_is_no_supervisor(name: str) -> None:
    with (
        open_blocking_host(Toolbox([])) as host,
        pytest.raises(DefinitionError, match=f"{name}: supervisor: is .*host"),
    ):
        AT_ONCE[name](cast("Supervisor", host))


@requirement("telemetry.supervisor")
@pytest.mark.parametrize("name", AT_ONCE)
def test_an_asyncio_host_is_no_supervisor_but_has_one(name: str) -> None:
    async def main() -> None:
        async with open_asyncio_host(Toolbox([])) as host:
            with pytest.raises(DefinitionError, match=rf"{name}: supervisor: is .*; give .* host\.supervisor"):
                AT_ONCE[name](cast("Supervisor", host))

    run_on_asyncio(main)


async def script(supervisor: Supervisor) -> None:
    await run_scripted(ScriptedModel("anthropic", ["Hello."]), supervisor)


AWAITED: dict[str, Callable[[Supervisor], Awaitable[object]]] = {
    "serve_until_signal": serve_until_signal,
    "run_scripted": script,
}


@requirement("telemetry.supervisor")
@pytest.mark.parametrize("name", AWAITED)
async def test_what_is_opened_is_no_supervisor_before_it_is_entered(name: str) -> None:
    for wrong in (open_supervisor(Toolbox([])), Toolbox([]), None):
        with pytest.raises(DefinitionError, match=rf"{name}: supervisor: is .*; give what async with open_supervisor"):
            await AWAITED[name](cast("Supervisor", wrong))


@requirement("telemetry.supervisor")
async def test_the_live_view_of_a_toolbox_is_refused_before_anything_is_served() -> None:
    async with open_supervisor(Toolbox([])):
        with pytest.raises(DefinitionError, match="serve_live_view: supervisor: is <Toolbox"):
            async with serve_live_view(cast("Supervisor", Toolbox([]))):
                pytest.fail("it serves")
