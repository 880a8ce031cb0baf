"""A server that speaks only the revision without a handshake, where it asks back in place of answering."""

from __future__ import annotations

import json

import pytest
import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.definitions import ElicitAccepted, ElicitAnswer, ElicitRequest
from armory_trio.integrations.mcp.client import ConnectionFailed
from tests.integrations.mcp.client.rough import open_rough, server
from tests.requirements import requirement


async def three(request: ElicitRequest) -> ElicitAnswer:
    await trio.lowlevel.checkpoint()
    assert request.message == "how many?"
    return ElicitAccepted({"n": 3})


@requirement("mcp-client.revisions")
@pytest.mark.parametrize("refusal", ["-32601", "-32020", "-32602", "-32600", "shakes"])
async def test_a_server_without_a_handshake_is_found_out_however_it_refuses_one(refusal: str) -> None:
    async with open_rough(server(f"modern:{refusal}")) as rough:
        assert rough.connection.protocol_version == "2026-07-28"
        assert await rough.value("echo", a=1) == '{"a": 1}'


@requirement("mcp-client.revisions")
@pytest.mark.parametrize("code", ["-32602", "-32603"])
async def test_a_server_that_refuses_everything_is_told_by_its_refusal_of_the_handshake(code: str) -> None:
    with pytest.raises(ConnectionFailed, match="not for you"):
        async with open_rough(server(f"refuses:{code}")):
            pytest.fail("it was entered")


@requirement("mcp-client.elicit")
async def test_a_question_of_a_call_is_asked_by_that_call_whatever_others_there_are() -> None:
    async with open_rough(server("modern")) as rough:
        assert rough.connection.protocol_version == "2026-07-28"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rough.call, "sleep", {"seconds": 30})
            asked = await rough.call("ask", elicit=three)
            assert json.loads(str(asked.value)) == [{"a": {"action": "accept", "content": {"n": 3}}}, "s1"]
            nursery.cancel_scope.cancel()


@requirement("mcp-client.asked-back")
async def test_what_is_refused_or_asked_without_end_ends_the_call() -> None:
    async with open_rough(server("modern")) as rough:
        for name, told in (("sample", "Sampling not supported"), ("never", "10 times")):
            result = await rough.call(name)
            assert result.error is not None
            assert (result.error.code, result.effect) == ("OUTPUT_INVALID", "unknown")
            assert told in result.error.message


@requirement("mcp-client.live", "mcp-client.pinned")
async def test_changes_are_heard_of_through_a_subscription() -> None:
    async with open_rough(server("modern")) as rough, open_supervisor(rough.connection.live) as supervisor:
        before = rough.connection.live.revision
        await supervisor.execute(ToolCall("change"))
        refused = await rough.call("mutable")
        assert refused.error is not None
        assert refused.error.code == "TOOL_CHANGED"
        assert rough.connection.live.revision > before


@requirement("mcp-client.asked-back")
async def test_directories_are_named_to_a_call_that_asks_for_them() -> None:
    async with open_rough(server("modern"), roots=("file:///home/ann",)) as rough:
        assert json.loads(str(await rough.value("roots"))) == {"a": {"roots": [{"uri": "file:///home/ann"}]}}


@requirement("mcp-client.errors")
async def test_once_the_server_asked_back_a_refusal_no_longer_says_that_nothing_happened() -> None:
    async with open_rough(server("modern")) as rough:
        refused, unreadable = await rough.call("fail"), await rough.call("content")
        assert refused.error is not None
        assert unreadable.error is not None
        assert (refused.error.code, refused.effect) == ("INVALID_ARGUMENTS", "unknown")
        assert (unreadable.error.code, unreadable.effect) == ("OUTPUT_INVALID", "unknown")


@requirement("mcp-client.live")
async def test_a_subscription_that_ends_is_asked_for_again() -> None:
    async with open_rough(server("modern")) as rough:
        assert rough.connection.live.revision == 1
        again = trio.Event()
        rough.connection.live.listen(lambda _: again.set())
        assert await rough.value("hush") == "hushed"
        with trio.fail_after(10):
            await again.wait()
        assert rough.connection.state == "open"


@requirement("mcp-client.pinned", "mcp-client.asked-back")
async def test_a_tool_that_changes_before_its_server_gets_what_it_asked_for_is_not_called_on() -> None:
    async with open_rough(server("modern")) as rough:
        refused = await rough.call("mutable")
        assert refused.error is not None
        assert (refused.error.code, refused.effect) == ("TOOL_CHANGED", "unknown")
        assert json.loads(str(await rough.value("seen")))["calls"] == [2]  # with the asking for it
