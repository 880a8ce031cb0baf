"""What clients hear while their calls run: progress, log lines, changes of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import cast

import pytest
import trio
from mcp import Client, types
from mcp.server.session import ServerSession

from armory_trio import LiveToolbox, Toolbox, ToolContext, open_supervisor, tool
from armory_trio.integrations.mcp.server import McpServer
from tests.integrations.mcp.server.serving import (
    MODERN,
    TOOLBOX,
    Mode,
    Wire,
    add,
    client_of,
    nap,
    on_each_protocol,
    serving,
    text_of,
    wired,
)
from tests.requirements import requirement


def told(wire: Wire, method: str) -> list[Mapping[str, object]]:
    """The parameters of all notifications of *method*, in order."""
    return [cast("Mapping[str, object]", each["params"]) for each in wire.got if each.get("method") == method]


@requirement("mcp-server.progress")
@on_each_protocol
async def test_progress_reaches_who_asked_for_it_and_always_grows(mode: Mode) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with serving() as (server, _), client_of(server, mode) as client:
        result = await client.call_tool("tells", {}, progress_callback=hear)

    assert text_of(result) == "told"
    assert [message for _, _, message in heard] == ["begun", "still there", "no number", None]
    assert [round(progress) for progress, _, _ in heard] == [20, 20, 20, 90]
    assert all(one < other for (one, _, _), (other, _, _) in pairwise(heard))
    assert {total for _, total, _ in heard} == {100.0}


@requirement("mcp-server.progress")
async def test_progress_comes_before_the_answer_and_only_to_who_asked() -> None:
    @tool(effect="read-only")
    async def stream():  # type: ignore[no-untyped-def]  # pyright: ignore[reportUnknownParameterType]  # noqa: ANN202  # a generator of whatever
        yield "a"
        yield "b"

    async with serving(Toolbox([stream, *TOOLBOX])) as (server, _), wired(server) as wire:
        await wire.call(1, "tells")
        await wire.reply(1)
        await wire.request(2, "tools/call", name="stream", arguments={}, _meta={"progressToken": "t"})
        await wire.reply(2)
        methods = [each.get("method") for each in wire.got]
        chunks = told(wire, "notifications/progress")

    assert [(chunk["progressToken"], chunk["progress"]) for chunk in chunks] == [("t", 1), ("t", 2)]
    assert methods[-3:] == ["notifications/progress", "notifications/progress", None]


@requirement("mcp-server.progress")
async def test_a_client_that_does_not_read_holds_no_tool_up() -> None:
    @tool(effect="read-only")
    async def chatter(ctx: ToolContext) -> str:
        for number in range(10_000):
            ctx.progress(number / 100, str(number))
            if number % 500 == 0:
                await trio.lowlevel.checkpoint()
        return "said"

    async with serving(Toolbox([chatter])) as (server, supervisor), wired(server) as wire:
        await wire.request(1, "tools/call", name="chatter", arguments={}, _meta={"progressToken": 1})
        await supervisor.wait_idle()
        await wire.reply(1)
        heard = [float(cast("float", each["progress"])) for each in told(wire, "notifications/progress")]

    assert heard == sorted(set(heard))
    assert heard[-1] == 99.99


@requirement("mcp-server.progress")
async def test_a_notification_that_fails_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_arguments: object) -> None:
        raise RuntimeError("the wire is cut")

    monkeypatch.setattr(ServerSession, "report_progress", fail)
    async with serving() as (server, _), wired(server) as wire:
        await wire.call(1, "tells")

        assert "told" in str(await wire.reply(1))


@requirement("mcp-server.progress")
async def test_what_cannot_be_said_is_left_out() -> None:
    @tool(effect="read-only")
    async def odd(ctx: ToolContext) -> str:
        ctx.progress(100)
        ctx.progress(100, "more than all")
        ctx.log("info", "see this", {"thing": object()})
        return "odd"

    async with serving(Toolbox([odd])) as (server, _), wired(server) as wire:
        await wire.request(1, "tools/call", name="odd", arguments={}, _meta={"progressToken": 1})
        await wire.reply(1)

        assert [each["progress"] for each in told(wire, "notifications/progress")] == [100]
        assert [each["data"] for each in told(wire, "notifications/message")] == ["see this"]


@requirement("mcp-server.logs")
@pytest.mark.parametrize(
    ("level", "heard"),
    [(None, ["warning"]), ("debug", ["debug", "warning"]), ("warning", ["warning"]), ("error", [])],
)
async def test_log_lines_come_from_the_level_on_that_the_client_chose(level: str | None, heard: list[str]) -> None:
    async with serving() as (server, _), wired(server) as wire:
        if level is not None:
            await wire.request("level", "logging/setLevel", level=level)
            await wire.reply("level")
        await wire.call(1, "tells")
        await wire.reply(1)
        lines = told(wire, "notifications/message")

    assert [line["level"] for line in lines] == heard
    assert [line["logger"] for line in lines] == ["tells"] * len(heard)
    if heard:
        assert lines[-1]["data"] == {"message": "beware", "data": {"of": "dog"}}


@requirement("mcp-server.logs")
@pytest.mark.parametrize(("level", "heard"), [(None, []), ("debug", ["debug", "warning"]), ("warning", ["warning"])])
async def test_a_later_client_says_with_each_request_what_it_wants_to_hear(
    level: types.LoggingLevel | None, heard: Sequence[str]
) -> None:
    lines: list[str] = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        lines.append(params.level)

    async with (
        serving() as (server, _),
        Client(server.sdk, mode=MODERN, logging_callback=hear, log_level=level) as client,
    ):
        await client.call_tool("tells", {})

    assert lines == heard


@requirement("mcp-server.logs")
async def test_two_sessions_choose_their_levels_apart() -> None:
    async with serving() as (server, _), wired(server) as one, wired(server) as other:
        await one.request(1, "logging/setLevel", level="emergency")
        await one.reply(1)
        for wire in (one, other):
            await wire.call(2, "tells")
            await wire.reply(2)

        assert len(told(one, "notifications/message")) == 0
        assert len(told(other, "notifications/message")) == 1


@requirement("mcp-server.changes")
async def test_every_open_session_is_told_when_the_toolbox_changes_and_calls_the_new_one() -> None:
    live = LiveToolbox(Toolbox([add]))
    async with open_supervisor(live) as supervisor:
        server = McpServer(supervisor)
        async with wired(server) as one, wired(server) as other:
            live.register(nap)
            for wire in (one, other):
                await wire.notification("notifications/tools/list_changed")
            await one.call(1, "nap", seconds=0)
            await one.request(2, "tools/list")
            called, listed = await one.reply(1), await one.reply(2)
            live.unregister("add")
            await other.call(3, "add", a=1, b=2)
            gone = await other.reply(3)

    assert "rested" in str(called) and "'nap'" in str(listed)
    assert "Unknown tool: 'add'" in str(gone)


@requirement("mcp-server.changes")
async def test_a_call_that_runs_keeps_the_tool_that_it_began_with() -> None:
    go = trio.Event()

    @tool(effect="read-only")
    async def gate() -> str:
        await go.wait()
        return "the old one"

    live = LiveToolbox(Toolbox([gate]))
    async with open_supervisor(live) as supervisor, wired(McpServer(supervisor)) as wire:
        await wire.call(1, "gate")
        await trio.testing.wait_all_tasks_blocked()
        live.swap(Toolbox([add]))
        await wire.notification("notifications/tools/list_changed")
        go.set()

        assert "the old one" in str(await wire.reply(1))


@requirement("mcp-server.changes")
async def test_a_later_client_that_listens_is_told_of_changes() -> None:
    live = LiveToolbox(Toolbox([add]))
    async with (
        open_supervisor(live) as supervisor,
        Client(McpServer(supervisor).sdk, mode=MODERN, cache=None) as client,
        client.listen(tools_list_changed=True) as events,
    ):
        live.register(nap)
        event = await events.__anext__()
        names = [each.name for each in (await client.list_tools()).tools]

    assert type(event).__name__ == "ToolsListChanged" and names == ["add", "nap"]


@requirement("mcp-server.changes")
async def test_changes_that_come_faster_than_a_client_reads_are_told_once_more_at_the_end() -> None:
    live = LiveToolbox(Toolbox([add]))
    async with open_supervisor(live) as supervisor, wired(McpServer(supervisor)) as wire:
        for _ in range(1_000):
            live.swap(Toolbox([add]))
        await trio.testing.wait_all_tasks_blocked()
        changes = len(told(wire, "notifications/tools/list_changed"))

    assert 1 <= changes <= 40
