"""Servers whose lists, streams and manners are bad: what can be used is, and what cannot is told."""

from __future__ import annotations

import logging

import pytest
import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.integrations.mcp.client import ConnectionFailed, open_mcp
from tests.integrations.mcp.client.rough import open_rough, server
from tests.integrations.mcp.client.rough_server import ODD_NAMES
from tests.requirements import requirement


@requirement("mcp-client.set-aside")
async def test_whatever_a_tool_is_called_it_is_called_by_that_name_and_a_blank_one_is_set_aside() -> None:
    async with open_rough(server("names")) as rough:
        assert [tool.name for tool in rough.connection.toolbox()] == [name for name in ODD_NAMES if name.strip()]
        assert [each.name for each in rough.connection.set_aside] == ["", " "]
        for tool in rough.connection.toolbox():
            result = await rough.call(tool.name)
            assert result.error is not None
            assert f"no tool {tool.name} (" in result.error.message  # as the server read it


@requirement("mcp-client.set-aside")
async def test_a_bad_schema_sets_its_own_tool_aside_and_says_where_it_is_wrong() -> None:
    async with open_rough(server("schemas")) as rough:
        aside = {each.name: each.reason for each in rough.connection.set_aside}
        assert [tool.name for tool in rough.connection.toolbox()] == ["s5", "s7", "s8"]
        assert (await rough.call("s7", {"next": {"next": {}}})).error is not None  # which the server gave
    for name, told in {
        "s0": "at properties: 5 is not of type",
        "s1": "at properties.a.type",
        "s2": "Retrieval is disabled",
        "s3": "at required",
        "s4": "at properties.a.pattern",
        "s6": "it is its own alternative",
        "s9": "inputSchema: Input should be a valid dictionary",
        "s10": "inputSchema: Input should be a valid dictionary",
    }.items():
        assert told in aside.pop(name)
    assert aside == {}


@requirement("mcp-client.opening")
async def test_a_server_that_never_lists_its_tools_is_not_waited_for_longer_than_was_said() -> None:
    with pytest.raises(ConnectionFailed, match="it was not ready within"):
        async with open_mcp(server("listless", stop_after=0.0), name="mill", open_timeout=0.5):
            pytest.fail("it was entered")


@requirement("mcp-client.receiving")
async def test_a_flood_on_standard_error_neither_blocks_nor_is_kept() -> None:
    async with open_rough() as rough:
        with trio.fail_after(30):
            assert await rough.value("shout") == "done"
            while not rough.connection.stderr.endswith("enough"):  # noqa: ASYNC110  # nobody is told of it
                await trio.sleep(0.01)
        assert len(rough.connection.stderr) < 10_000
        assert await rough.value("echo") == "{}"


@requirement("mcp-client.live", "mcp-client.receiving")
async def test_a_storm_of_changes_is_one_change_and_its_tools_are_as_they_were_last() -> None:
    async with open_rough() as rough, open_supervisor(rough.connection.live) as supervisor:
        with trio.fail_after(30):
            assert (await supervisor.execute(ToolCall("storm"))).value == "done"
            seen = str((await supervisor.execute(ToolCall("seen"))).value)
        [mutable] = [tool for tool in rough.connection.toolbox() if tool.name == "mutable"]
        assert mutable.description == "The 1999th."
        listings = int(seen.partition('"listings": [')[2].partition("]")[0])
        assert 2 <= listings < 100


@requirement("mcp-client.pinned")
async def test_a_list_in_another_order_down_to_the_keys_changes_no_tool() -> None:
    async with open_rough() as rough:
        before = {listed.name: listed.digest for listed in rough.connection.listed}
        assert await rough.value("shuffle") == "shuffled"
        assert await rough.value("echo") == "{}"
        assert [listed.name for listed in rough.connection.listed] == list(reversed(before))
        assert {listed.name: listed.digest for listed in rough.connection.listed} == before


@requirement("mcp-client.receiving", "mcp-client.live")
async def test_a_host_that_fails_when_it_hears_of_a_change_is_told_in_the_log_and_the_call_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(change: object) -> None:
        raise KeyError("no screen")

    async with open_rough() as rough:
        rough.connection.live.listen(fail)
        assert await rough.value("change") == "changed"
        assert await rough.value("ping") == "pong"
    assert "a listener of revision 2 failed; the change stands: KeyError" in caplog.text


@requirement("mcp-client.progress", "mcp-client.one-end")
async def test_progress_and_logs_after_the_answer_are_nobodys_and_change_nothing() -> None:
    async with open_rough() as rough:
        assert await rough.value("after") == "done"
        assert (await rough.value("echo"), rough.connection.stray) == ("{}", 0)  # which the server read after all that
        assert rough.supervisor.active == 0


@requirement("mcp-client.ids")
async def test_an_answer_that_nobody_asked_for_is_nobodys(caplog: pytest.LogCaptureFixture) -> None:
    async with open_rough() as rough:
        with caplog.at_level(logging.CRITICAL, "armory_trio.mcp"):
            assert await rough.value("stranger") == "done"
        assert await rough.value("echo") == "{}"
        assert rough.connection.state == "open"


@requirement("mcp-client.receiving")
async def test_a_request_that_is_not_known_is_refused_and_its_call_goes_on() -> None:
    async with open_rough() as rough:
        assert await rough.value("wonder") == "-32601"
