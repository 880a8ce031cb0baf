"""A connection that is cancelled after any step of any of its tasks leaves no process, no task and nothing half done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Final, cast

import pytest
import trio
from hypothesis import settings
from mcp.shared.auth import OAuthToken

from armory_trio import ToolCall, open_supervisor
from armory_trio.integrations.mcp.client import Connection, FileTokenStorage, HttpServer, open_mcp
from tests.integrations.mcp.client.authority import ENDPOINT, Agreeing, Authority, client
from tests.integrations.mcp.client.http_servers import serving
from tests.integrations.mcp.client.rough import runs, server
from tests.integrations.mcp.client.small_servers import counter
from tests.requirements import requirement

pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
"""httpx2 reads streams by generators, and the SDK leaves those where it has what it wants."""

THOROUGH: Final = settings().max_examples > 1_000
"""Whether each place is tried, as with the profile for soaking; else some are."""

_TOO_MANY: Final = 5_000


class _After(trio.abc.Instrument):
    """Cancels once so many steps were begun, by whatever task; the one in which it is made counts."""

    def __init__(self, steps: int, scope: trio.CancelScope) -> None:
        self._left = steps
        self._scope = scope
        self._cut()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._cut()

    def _cut(self) -> None:
        if not self._left:
            self._scope.cancel("the test cancels here")
        self._left -= 1


async def cancel_after(steps: int, work: Callable[[], Awaitable[object]]) -> bool:
    """Do *work*, cancelled after so many steps of whatever task. Answers whether it was."""
    with trio.fail_after(60), trio.CancelScope() as scope:
        instrument = _After(steps, scope)
        trio.lowlevel.add_instrument(instrument)
        try:
            await work()
        finally:
            trio.lowlevel.remove_instrument(instrument)
    return scope.cancelled_caught


async def cancel_after_each(
    work: Callable[[], Awaitable[object]], check: Callable[[], Awaitable[None]], *, stride: int = 1
) -> int:
    """Do *work* again and again, cancelled ever later, until it is done. Answers how often it was cancelled."""
    for times, steps in enumerate(range(0, _TOO_MANY, 1 if THOROUGH else stride)):
        cancelled = await cancel_after(steps, work)
        await check()
        if not cancelled:
            return times
    raise AssertionError("it was never done")


def tasks() -> list[str]:
    """The names of all tasks that there are below the one that asks."""
    found: list[str] = []
    nurseries = list(trio.lowlevel.current_task().child_nurseries)
    while nurseries:
        for task in nurseries.pop().child_tasks:
            found.append(task.name)
            nurseries += task.child_nurseries
    return found


@requirement("mcp-client.children", "mcp-client.owner")
async def test_a_child_process_is_gone_wherever_its_connection_was_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[trio.Process] = []
    connections: list[Connection] = []
    start = cast("Callable[..., Awaitable[trio.Process]]", trio.lowlevel.open_process)

    async def noted(*args: object, **options: object) -> trio.Process:
        started.append(await start(*args, **options))
        return started[-1]

    monkeypatch.setattr("trio.lowlevel.open_process", noted)

    async def work() -> None:
        async with (
            open_mcp(server(stop_after=0.0, kill_after=0.0), name="mill") as connection,
            open_supervisor(connection.toolbox()) as supervisor,
        ):
            connections.append(connection)
            await supervisor.execute(ToolCall("echo"))
            await connection.aclose()

    async def check() -> None:
        await trio.lowlevel.checkpoint()
        assert [process.pid for process in started if runs(process.pid)] == []
        assert {connection.state for connection in connections} <= {"closed"}
        assert tasks() == []

    assert await cancel_after_each(work, check, stride=5) > 3
    assert started
    assert connections


@requirement("mcp-client.http", "mcp-client.owner")
async def test_a_connection_over_http_is_gone_wherever_it_was_cancelled_and_the_server_serves_the_next() -> None:
    connections: list[Connection] = []
    async with serving(counter().streamable_http_app()) as url:
        serving_tasks = len(tasks())

        async def work() -> None:
            async with (
                open_mcp(HttpServer(f"{url}/mcp", close_timeout=0.2), name="web") as connection,
                open_supervisor(connection.toolbox()) as supervisor,
            ):
                connections.append(connection)
                assert (await supervisor.execute(ToolCall("add", {"a": 1}))).value == {"result": 3}

        async def check() -> None:
            await trio.lowlevel.checkpoint()
            assert {connection.state for connection in connections} <= {"closed"}
            assert [name for name in tasks() if name.startswith("mcp:")] == []

        assert await cancel_after_each(work, check, stride=41) > 3
    assert serving_tasks > 0
    assert connections


@requirement("mcp-client.oauth")
async def test_an_authorization_that_is_cancelled_anywhere_is_begun_anew_by_the_next_request() -> None:
    cancelled = 0
    for steps in range(_TOO_MANY):
        authority = Authority()
        async with client(authority, Agreeing(authority).oauth().authentication(ENDPOINT, nullcontext)) as host:
            done = not await cancel_after(steps, partial(host.post, ENDPOINT))
            with trio.fail_after(10):
                assert (await host.post(ENDPOINT)).text == "let in"
        assert len(authority.forms) <= 2
        if done:
            break
        cancelled += 1
    assert cancelled > 5


@requirement("mcp-client.oauth")
async def test_tokens_in_a_file_are_the_old_or_the_new_ones_wherever_keeping_them_was_cancelled(tmp_path: Path) -> None:
    storage = FileTokenStorage(tmp_path / "tokens.json")
    await storage.set_tokens(OAuthToken(access_token="old"))
    kept: set[str] = set()

    async def check() -> None:
        tokens = await storage.get_tokens()
        assert tokens is not None
        kept.add(tokens.access_token)
        assert [path.name for path in tmp_path.iterdir()] == ["tokens.json"]  # noqa: ASYNC240  # one file

    assert await cancel_after_each(partial(storage.set_tokens, OAuthToken(access_token="new")), check) > 0
    assert await cancel_after_each(storage.get_tokens, check) > 0
    assert kept == {"old", "new"}
