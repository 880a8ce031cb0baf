"""A call that is stopped closes its connection at once, wherever it is."""

from __future__ import annotations

import httpx2
import pytest
import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.integrations.openapi import toolbox_from_openapi
from tests.requirements import requirement

from .documents import document, of_path
from .server import Answer, open_server

HANGS = [Answer(how="hang"), Answer(200, {"content-type": "text/plain"}, [b"x"], how="hang-after-head")]


@requirement("openapi.cancellation")
@pytest.mark.parametrize("answer", HANGS, ids=["before the answer", "in the answer"])
@pytest.mark.parametrize(("method", "effect"), [("get", "none"), ("post", "unknown")])
@pytest.mark.parametrize("shared", [False, True], ids=["own connection", "host's client"])
async def test_the_server_sees_a_call_stop(answer: Answer, method: str, effect: str, shared: bool) -> None:
    async with open_server(answer) as server, httpx2.AsyncClient() as client:
        paths = of_path("/it", method)
        found = toolbox_from_openapi(document(paths, server=server.url), client=client if shared else None)
        async with open_supervisor(found.toolbox) as supervisor:
            execution = supervisor.start(ToolCall("it"))
            await server.arrived.wait()
            await trio.testing.wait_all_tasks_blocked(0.01)
            execution.abort("enough")
            snapshot = await execution.settled()
            await server.left.wait()

    expected = "completed" if method == "post" and answer.how == "hang-after-head" else effect
    assert (snapshot.error_category, snapshot.effect) == ("cancelled", expected)


@requirement("openapi.cancellation")
async def test_a_caller_that_is_cancelled_takes_the_request_with_it() -> None:
    async with open_server(Answer(how="hang")) as server:
        found = toolbox_from_openapi(document(of_path("/it"), server=server.url))
        async with open_supervisor(found.toolbox) as supervisor, trio.open_nursery() as nursery:

            async def stop() -> None:
                await server.arrived.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(stop)
            await supervisor.execute(ToolCall("it"))
        await server.left.wait()

    assert len(server.received) == 1


@requirement("openapi.cancellation")
@pytest.mark.parametrize(
    ("reached", "effect"), [("send_request_headers.started", "unknown"), ("connect_tcp.started", "none")]
)
async def test_the_timeout_of_a_tool_counts(reached: str, effect: str, autojump_clock: trio.abc.Clock) -> None:
    async with httpx2.AsyncClient(transport=_Waiting(reached)) as client:
        found = toolbox_from_openapi(document(of_path("/it", "post")), client=client, timeout=90)
        async with open_supervisor(found.toolbox) as supervisor:
            execution = supervisor.start(ToolCall("it"))
            snapshot = await execution.settled()

    assert (snapshot.error_category, snapshot.effect) == ("timeout", effect)
    assert trio.current_time() == 90


@requirement("openapi.cancellation")
async def test_a_clients_own_time_limit_is_a_lost_connection() -> None:
    limit = httpx2.Timeout(None, read=0.05)
    async with open_server(Answer(how="hang")) as server, httpx2.AsyncClient(timeout=limit) as client:
        found = toolbox_from_openapi(document(of_path("/it", "post"), server=server.url), client=client)
        async with open_supervisor(found.toolbox) as supervisor:
            result = await supervisor.execute(ToolCall("it"))
            await server.left.wait()

    assert result.error is not None
    assert (result.error.code, result.effect) == ("CONNECTION_LOST", "unknown")


@requirement("openapi.cancellation")
async def test_a_change_that_is_stopped_before_it_was_sent_has_not_happened() -> None:
    async with httpx2.AsyncClient(transport=_Waiting("connect_tcp.started")) as client:
        found = toolbox_from_openapi(document(of_path("/it", "post")), client=client)
        async with open_supervisor(found.toolbox) as supervisor:
            execution = supervisor.start(ToolCall("it"))
            await trio.testing.wait_all_tasks_blocked()
            execution.abort("enough")
            snapshot = await execution.settled()

    assert (snapshot.error_category, snapshot.effect) == ("cancelled", "none")


@requirement("openapi.cancellation")
async def test_a_change_that_is_stopped_while_it_waits_for_a_connection_has_not_happened() -> None:
    limits = httpx2.Limits(max_connections=1)
    async with open_server(Answer(how="hang")) as server, httpx2.AsyncClient(limits=limits, timeout=None) as client:
        found = toolbox_from_openapi(document(of_path("/it", "post"), server=server.url), client=client)
        async with open_supervisor(found.toolbox) as supervisor:
            sent = supervisor.start(ToolCall("it"))
            await server.arrived.wait()
            waiting = supervisor.start(ToolCall("it"))
            await trio.testing.wait_all_tasks_blocked(0.01)
            waiting.abort("enough")
            sent.abort("enough")
            effects = [(await execution.settled()).effect for execution in (waiting, sent)]

    assert effects == ["none", "unknown"]
    assert len(server.received) == 1


@requirement("openapi.effects")
@pytest.mark.parametrize("method", ["get", "post"])
async def test_a_client_that_the_host_has_closed_sends_nothing_and_that_is_told(method: str) -> None:
    client = httpx2.AsyncClient()
    found = toolbox_from_openapi(document(of_path("/it", method)), client=client)
    await client.aclose()
    async with open_supervisor(found.toolbox) as supervisor:
        result = await supervisor.execute(ToolCall("it"))

    assert result.error is not None
    assert (result.error.category, result.error.code, result.effect) == ("unavailable", "TOOL_UNAVAILABLE", "none")
    assert "closed its HTTP client" in result.error.message


@requirement("openapi.effects")
@pytest.mark.parametrize(("method", "effect"), [("get", "none"), ("post", "unknown")])
async def test_a_client_that_is_closed_under_a_call_ends_it(method: str, effect: str) -> None:
    client = httpx2.AsyncClient()
    async with open_server(Answer(how="hang")) as server:
        found = toolbox_from_openapi(document(of_path("/it", method), server=server.url), client=client)
        async with open_supervisor(found.toolbox) as supervisor:
            execution = supervisor.start(ToolCall("it"))
            await server.arrived.wait()
            await client.aclose()
            result = await execution.result()
            await server.left.wait()

    assert (result.error and result.error.code, result.effect) == ("CONNECTION_LOST", effect)


class _Waiting(httpx2.AsyncBaseTransport):
    """A transport that has come so far and no farther, and says so."""

    def __init__(self, reached: str) -> None:
        self.reached = reached

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.extensions["trace"](self.reached, {})
        await trio.sleep_forever()
        raise AssertionError
