"""A client that is cancelled at any of its awaits leaves nothing behind, and what it shares still works."""

from __future__ import annotations

import pytest
import trio
from hypothesis import settings

from armory_trio import ToolCall, open_supervisor
from armory_trio.integrations.mcp.client import Connection, InMemoryServer, MemoryTokenStorage, open_mcp
from tests.engine.cancelling import Probe, assert_nothing_is_held, cancel_everywhere
from tests.integrations.mcp.client.small_servers import counter
from tests.requirements import requirement

ADD = ToolCall("add", {"a": 1})


@requirement("mcp-client.owner")
def test_opening_and_closing_may_be_cancelled_anywhere() -> None:
    async def case(probe: Probe) -> None:
        opened: list[Connection] = []

        async def work() -> None:
            async with open_mcp(InMemoryServer(counter()), name="one") as connection:
                opened.append(connection)
                await connection.aclose()

        await probe.run(work)
        assert [connection.state for connection in opened] in ([], ["closed"])

    assert cancel_everywhere(case) >= 3


@requirement("mcp-client.owner")
async def test_opening_and_closing_may_be_cancelled_after_any_number_of_steps_of_anybody() -> None:
    ended: set[str] = set()
    for wait in range(0, 150, 1 if settings().max_examples > 1_000 else 4):
        opened: list[Connection] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_open_and_close, opened)
            for _ in range(wait):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        ended.update(connection.state for connection in opened)
    assert ended == {"closed"}


async def _open_and_close(opened: list[Connection]) -> None:
    async with open_mcp(InMemoryServer(counter()), name="one") as connection:
        opened.append(connection)


@requirement("mcp-client.cancel")
def test_a_call_may_be_cancelled_anywhere_and_the_session_lives_on() -> None:
    async def case(probe: Probe) -> None:
        async with (
            open_mcp(InMemoryServer(counter()), name="one") as connection,
            open_supervisor(connection.toolbox()) as supervisor,
        ):

            async def work() -> None:
                await supervisor.execute(ToolCall("steps", {"count": 3}))

            await probe.run(work)
            assert (await supervisor.execute(ADD)).value == {"result": 3}
            assert connection.state == "open"
            assert connection._owner.record.exchanges == {}  # pyright: ignore[reportPrivateUsage]
        assert_nothing_is_held(supervisor)

    assert cancel_everywhere(case) > 0


@requirement("mcp-client.one-end")
@pytest.mark.parametrize("steps", [0, 1, 5])
async def test_a_call_that_is_stopped_after_any_number_of_steps_ends_once(steps: int) -> None:
    async with (
        open_mcp(InMemoryServer(counter()), name="one") as connection,
        open_supervisor(connection.toolbox()) as supervisor,
    ):
        for wait in range(40):
            execution = supervisor.start(ToolCall("steps", {"count": steps}))
            for _ in range(wait):
                await trio.lowlevel.checkpoint()
            execution.abort("the test stops it")
            result = await execution.result()
            code = None if result.error is None else result.error.code
            settled = await execution.settled()
            assert (result.value, code) in {("there", None), (None, "CANCELLED"), (None, "NOT_STARTED")}
            assert settled.outcome == result.outcome
        assert (await supervisor.execute(ADD)).value == {"result": 3}


@requirement("mcp-client.oauth")
async def test_a_storage_may_be_cancelled() -> None:
    storage = MemoryTokenStorage()
    for work in (storage.get_tokens, storage.get_client_info, storage.get_metadata):
        with trio.CancelScope() as scope:
            scope.cancel()
            await work()
        assert scope.cancelled_caught
