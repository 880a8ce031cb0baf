"""Connections to servers that die, hang, or leave something behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest
import trio
import trio.testing

from armory_trio import DefinitionError, ToolCall, open_supervisor
from armory_trio.integrations.mcp.client import (
    ConnectionFailed,
    ConnectionOptions,
    HttpServer,
    InMemoryServer,
    Reconnect,
    StdioServer,
    open_mcp,
)
from tests.integrations.mcp.client.rough import ONCE, open_rough, runs, server
from tests.integrations.mcp.client.rough_server import NAMES
from tests.requirements import requirement


@requirement("mcp-client.lost", "mcp-client.reconnect")
@pytest.mark.parametrize(
    ("tool", "why"),
    [("die", "it was killed by SIGKILL"), ("leave", "it exited with status 3"), ("mute", "it closed its output")],
)
async def test_a_server_that_goes_in_a_call_loses_it_and_the_next_one_finds_a_new_server(tool: str, why: str) -> None:
    async with open_rough(server(stop_after=0.0, kill_after=0.0)) as rough:
        with trio.fail_after(5):
            result = await rough.call(tool)
        assert result.error is not None
        assert (result.error.code, result.effect) == ("CONNECTION_LOST", "unknown")
        assert why in result.error.message
        assert await rough.value("echo") == "{}"
        assert rough.connection.why == why


@requirement("mcp-client.lost")
async def test_what_only_reads_has_no_effect_also_when_it_is_lost() -> None:
    async with open_rough(effects={"die": "read-only"}) as rough:
        result = await rough.call("die")
        assert result.error is not None
        assert (result.error.code, result.effect, result.error.retryable) == ("CONNECTION_LOST", "none", True)


@requirement("mcp-client.lost")
async def test_calls_that_wait_beside_it_are_lost_too() -> None:
    async with open_rough() as rough:
        waiting = [rough.supervisor.start(ToolCall("never")) for _ in range(2)]
        await trio.testing.wait_all_tasks_blocked()
        results = [await rough.call("die"), *[await each.result() for each in waiting]]
        assert [result.error and result.error.code for result in results] == ["CONNECTION_LOST"] * 3


@requirement("mcp-client.reconnect")
async def test_without_another_attempt_calls_are_unavailable_at_once() -> None:
    async with open_rough(reconnect=ONCE) as rough:
        await rough.call("die")
        while rough.connection.state == "reconnecting":  # noqa: ASYNC110  # a state that is read, and changes once
            await trio.sleep(0.01)
        result = await rough.call("echo")
        assert result.error is not None
        assert (result.error.code, result.effect) == ("TOOL_UNAVAILABLE", "none")
        assert "it was killed by SIGKILL" in result.error.message
        assert rough.connection.state == "failed"


@requirement("mcp-client.reconnect")
@pytest.mark.parametrize(
    ("failures", "chance", "delay"),
    [(1, 0.0, 1.0), (2, 0.0, 2.0), (4, 0.0, 8.0), (9, 0.0, 60.0), (5_000, 0.0, 60.0), (1, 1.0, 0.5), (4, 0.5, 6.0)],
)
def test_pauses_grow_to_a_bound_and_are_spread(failures: int, chance: float, delay: float) -> None:
    assert Reconnect(first=1.0, most=60.0, jitter=0.5).delay(failures, chance) == delay


@requirement("mcp-client.opening")
@pytest.mark.parametrize(
    ("way", "told", "last"),
    [
        ("silent", "it was not ready within 3 s", "waiting for the moon"),
        ("dies", "it exited with status 7", "no licence found"),
        ("refuses", "not for you", ""),
        ("loop", "came to the page 'again' again", ""),
    ],
)
async def test_a_server_that_cannot_be_opened_says_why(way: str, told: str, last: str) -> None:
    with pytest.raises(ConnectionFailed) as caught:
        async with open_mcp(server(way, stop_after=0.0), name="mill", open_timeout=3.0 if way == "silent" else 10.0):
            pytest.fail("it was entered")
    assert told in str(caught.value)
    assert last == caught.value.stderr


@requirement("mcp-client.opening")
async def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(ConnectionFailed, match="no-such-program"):
        async with open_mcp(StdioServer("no-such-program"), name="mill"):
            pytest.fail("it was entered")


@requirement("mcp-client.paging")
async def test_a_list_without_an_end_is_an_error() -> None:
    with pytest.raises(ConnectionFailed, match="more than 50 tools"):
        async with open_mcp(server("endless"), name="mill", max_tools=50):
            pytest.fail("it was entered")


@requirement("mcp-client.paging")
async def test_ten_thousand_tools_and_an_empty_cursor_are_followed() -> None:
    async with open_mcp(server("many"), name="mill", include=["t0", "t9999"]) as connection:
        assert len(connection.listed) == 10_000
        assert [tool.name for tool in connection.toolbox()] == ["t0", "t9999"]
    async with open_rough(server("empty-cursor")) as rough:
        assert len(rough.connection.listed) == len(NAMES)
        assert await rough.value("echo") == "{}"


@requirement("mcp-client.set-aside")
async def test_a_tool_that_cannot_be_imported_is_set_aside() -> None:
    async with open_rough(server("odd")) as rough:
        aside = {each.name: each.reason for each in rough.connection.set_aside}
        assert aside.keys() == {"tools[0]", "no schema", "tools[2]", "broken", "task", "text only", "echo"}
        assert "listed twice" in aside["echo"]
        assert await rough.value("echo") == "{}"


@requirement("mcp-client.environment")
async def test_a_child_sees_what_it_is_allowed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setenv("ALLOWED", "2")
    plain = server()
    free = StdioServer(plain.command, plain.args, env_allow=["ALLOWED"], env={"GIVEN": "3"})
    async with open_rough(plain) as closed, open_rough(free) as opened:
        one, other = str(await closed.value("environment")), str(await opened.value("environment"))
    assert "SECRET" not in one
    assert "ALLOWED" not in one
    assert "PATH" in one
    assert "SECRET" not in other
    assert '"ALLOWED"' in other
    assert '"GIVEN"' in other


@requirement("mcp-client.children")
async def test_closing_ends_the_whole_group_down_to_the_stubborn() -> None:
    async with open_rough(server("stays", stop_after=0.05, kill_after=0.05)) as rough:
        child = int(str(await rough.value("child")))
        assert runs(child)
    assert not runs(child)


@requirement("mcp-client.children")
async def test_a_server_that_dies_leaves_no_children_of_its_own() -> None:
    async with open_rough(server(stop_after=0.05, kill_after=0.05)) as rough:
        child = int(str(await rough.value("child")))
        await rough.call("die")
        assert await rough.value("echo") == "{}"
        assert not runs(child)


@requirement("mcp-client.children")
async def test_a_block_that_is_cancelled_leaves_no_process() -> None:
    pids: list[int] = []
    with trio.move_on_after(5) as scope:
        async with open_rough(server("stays", stop_after=0.0, kill_after=0.0)) as rough:
            pids.append(int(str(await rough.value("child"))))
            scope.cancel()
            await trio.sleep_forever()
    assert [pid for pid in pids if runs(pid)] == []


@requirement("mcp-client.owner")
async def test_connections_close_from_another_task_in_any_order_and_again() -> None:
    async with (
        open_mcp(server(), name="one") as one,
        open_mcp(server(), name="two") as two,
        open_supervisor(one.toolbox()) as supervisor,
    ):
        lost = supervisor.start(ToolCall("never"))
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.aclose)
            nursery.start_soon(two.aclose)
            nursery.start_soon(one.aclose)
        await one.aclose()
        assert (one.state, two.state) == ("closed", "closed")
        result = await lost.result()
        assert result.error is not None
        assert (result.error.code, result.effect) == ("CONNECTION_LOST", "unknown")
        assert "it was closed here" in result.error.message
        refused = await supervisor.execute(ToolCall("echo"))
        assert refused.error is not None
        assert refused.error.code == "TOOL_UNAVAILABLE"


@requirement("mcp-client.owner")
async def test_one_that_cannot_be_opened_leaves_the_other_working() -> None:
    async with open_rough() as rough:
        with pytest.raises(ConnectionFailed):
            async with open_mcp(server("dies"), name="other"):
                pytest.fail("it was entered")
        assert await rough.value("echo") == "{}"


@requirement("mcp-client.owner")
async def test_it_can_be_closed_while_it_is_opened_again() -> None:
    pause = Reconnect(first=100.0, most=100.0, jitter=0.0, wait=0.05)
    async with open_rough(reconnect=pause) as rough:
        await rough.call("die")
        waiting = await rough.call("echo")
        assert waiting.error is not None
        assert (waiting.error.code, waiting.error.retryable) == ("TOOL_UNAVAILABLE", True)
        with trio.fail_after(5):
            await rough.connection.aclose()
        await rough.connection.aclose()


@requirement("mcp-client.owner")
async def test_what_the_block_raises_leaves_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with open_rough():
            raise KeyError("mine")


@requirement("mcp-client.owner")
async def test_closing_may_be_cancelled_and_goes_on() -> None:
    async with open_rough(server("stays", stop_after=0.1, kill_after=0.0)) as rough:
        with trio.move_on_after(0.01) as scope:
            await rough.connection.aclose()
        assert scope.cancelled_caught
        with trio.fail_after(5):
            await rough.connection.aclose()


@requirement("mcp-client.lost")
async def test_a_server_that_is_killed_between_calls_costs_no_call() -> None:
    async with open_rough() as rough:
        pid = int(str(await rough.value("pid")))
        os.kill(pid, signal.SIGKILL)
        while runs(pid):
            time.sleep(0.001)  # noqa: ASYNC251  # nobody here may notice meanwhile
        assert await rough.value("echo") == "{}"


@requirement("mcp-client.options")
@pytest.mark.parametrize(
    ("make", "told"),
    [
        pytest.param(lambda: StdioServer(""), "command: is empty", id="no command"),
        pytest.param(lambda: StdioServer("x", "one two"), "args: must be a list", id="arguments as one text"),
        pytest.param(lambda: StdioServer("x", [], env={"A": 1}), "env['A']", id="a number in the environment"),  # pyright: ignore[reportArgumentType]
        pytest.param(lambda: StdioServer("x", [], stop_after=-1), "stop_after", id="a negative time"),
        pytest.param(lambda: StdioServer(5), "command: must be the path", id="a number for a command"),  # pyright: ignore[reportArgumentType]
        pytest.param(lambda: StdioServer("x", [], cwd=5), "cwd: must be a directory", id="a number for a directory"),  # pyright: ignore[reportArgumentType]
        pytest.param(lambda: StdioServer("x", [], env=5), "env: must be a mapping", id="a number for variables"),  # pyright: ignore[reportArgumentType]
        pytest.param(lambda: StdioServer("x", [1]), "args[0]", id="a number for an argument"),
        pytest.param(lambda: HttpServer("ftp://x"), "url: must begin with http", id="another protocol"),
        pytest.param(lambda: HttpServer("http:///mcp"), "url: must begin with http", id="no host"),
        pytest.param(lambda: HttpServer("http://x\n"), "url: is no address", id="two lines for an address"),
        pytest.param(lambda: HttpServer("http://x", headers={"a b": "c"}), "headers: 'a b'", id="a header of words"),
        pytest.param(
            lambda: HttpServer("http://x", headers={"a": "b\r\nc: d"}), "headers: 'a'", id="two headers in one"
        ),
        pytest.param(lambda: HttpServer("http://x", max_message=0), "max_message", id="no bytes over HTTP"),
        pytest.param(lambda: StdioServer("x", max_message=-1), "max_message", id="fewer than no bytes"),
        pytest.param(lambda: HttpServer("http://x", auth="me"), "auth: must be an OAuth", id="a word for consent"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pytest.param(lambda: Reconnect(jitter=2), "jitter", id="too much jitter"),
        pytest.param(lambda: Reconnect(attempts=-1), "attempts", id="negative attempts"),
        pytest.param(lambda: InMemoryServer("x"), "must be a Server or an MCPServer", id="no server"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ],
)
def test_a_wrong_declaration_is_refused_with_what_would_be_right(make: Callable[[], object], told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert told in str(caught.value)


@requirement("mcp-client.options")
async def test_an_option_about_a_tool_that_is_not_listed_is_refused() -> None:
    with pytest.raises(DefinitionError, match="did you mean 'echo'"):
        async with open_mcp(server(), name="rough", effects={"ecko": "read-only"}):
            pytest.fail("it was entered")
    with pytest.raises(DefinitionError, match="must be 1 to 255 printable"):
        async with open_mcp(server(), name="with space"):
            pytest.fail("it was entered")
    with pytest.raises(DefinitionError, match="did you mean 'prefix'"):
        async with open_mcp(server(), name="rough", prefx="a"):  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
            pytest.fail("it was entered")


@requirement("mcp-client.options")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param({"timeout": 0}, "timeout", id="no time"),
        pytest.param({"log_level": "loud"}, "log_level", id="an unknown level"),
        pytest.param({"reconnect": 5}, "reconnect: must be a Reconnect", id="a number for reconnecting"),
        pytest.param({"declare": 5}, "declare: must be a function", id="a number for declarations"),
        pytest.param({"effects": 5}, "effects: must be a mapping or a function", id="a number for effects"),
        pytest.param({"effects": {"echo": "harmless"}}, "class", id="an unknown effect"),
        pytest.param({"max_tools": 0}, "max_tools", id="no tools"),
    ],
)
async def test_a_wrong_option_is_refused_with_what_would_be_right(options: ConnectionOptions, told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        async with open_mcp(server(), name="rough", **options):
            pytest.fail("it was entered")
    assert told in str(caught.value)


@requirement("mcp-client.options")
async def test_what_is_no_server_is_refused() -> None:
    with pytest.raises(DefinitionError, match="server: must be a StdioServer"):
        async with open_mcp("python", name="rough"):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            pytest.fail("it was entered")
