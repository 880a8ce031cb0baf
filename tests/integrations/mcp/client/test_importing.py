"""What becomes of a server's tools here."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types
import pytest
import trio
import trio.testing

from armory_trio import DefinitionError, ToolCall, combine_toolboxes, open_supervisor
from armory_trio.definitions import ElicitAccepted, ElicitAnswer, ElicitRequest, ImageContent, JsonContent
from armory_trio.definitions._options import Declarations
from armory_trio.integrations.mcp.client import InMemoryServer, Listed, open_mcp
from tests.integrations.mcp.client.rough import open_rough
from tests.integrations.mcp.client.small_servers import counter, listing, open_small, tool
from tests.requirements import requirement


@requirement("mcp-client.import")
async def test_tools_of_a_server_are_tools_in_a_namespace_of_their_own() -> None:
    async with open_small(counter()) as small:
        add = small.connection.toolbox().get("small:add")
        assert add is not None
        assert (add.id.text, add.description) == ("small:add", "Add two numbers.")
        assert "untrusted-output" in add.definition.tags
        assert (add.options.timeout, add.options.idle_timeout) == (1_800.0, 120.0)
        result = await small.call("add", {"a": 1})
        assert (result.value, result.effect) == ({"result": 3}, "completed")
        assert [(each.label, each.target, each.state) for each in result.effects] == [
            ("call add", "small", "completed")
        ]


@requirement("mcp-client.declare")
async def test_calls_without_time_limits_can_be_had() -> None:
    async with open_small(counter(), timeout=None, idle_timeout=None) as small:
        add = small.connection.toolbox().get("add")
        assert add is not None
        assert (add.options.timeout, add.options.idle_timeout) == (None, None)


@requirement("mcp-client.import")
async def test_two_servers_stand_side_by_side() -> None:
    async with (
        open_mcp(InMemoryServer(counter()), name="one", prefix="one_") as one,
        open_mcp(InMemoryServer(counter()), name="two", namespace="numbers") as two,
        open_supervisor(combine_toolboxes(one.toolbox(), two.toolbox())) as supervisor,
    ):
        for name in ("one_add", "one:one_add", "numbers:add"):
            assert (await supervisor.execute(ToolCall(name, {"a": 1, "b": 1}))).value == {"result": 2}


@requirement("mcp-client.import")
async def test_only_what_is_wanted_is_imported() -> None:
    async with open_mcp(InMemoryServer(counter()), name="one", include=["add"]) as one:
        assert [each.name for each in one.toolbox()] == ["add"]
    async with open_mcp(InMemoryServer(counter()), name="one", include=lambda listed: "s" in listed.name) as one:
        assert [each.name for each in one.toolbox()] == ["steps", "ask"]
    with pytest.raises(DefinitionError, match="include: 'one' lists no tool 'sub'"):
        async with open_mcp(InMemoryServer(counter()), name="one", include=["sub"]):
            pytest.fail("it was entered")


@requirement("mcp-client.import")
async def test_a_connection_tells_about_itself() -> None:
    async with open_small(counter()) as small:
        connection = small.connection
        assert (connection.name, connection.state, connection.why) == ("small", "open", "")
        assert connection.server_version.startswith("counter")
        assert connection.protocol_version == "2025-11-25"
        assert connection.instructions is None
        assert repr(connection) == "<Connection 'small': open>"
    assert repr(connection) == "<Connection 'small': closed>"
    assert connection.server_version == ""
    assert not connection.protocol_version


HINTED = (
    tool("nothing"),
    tool("reads", readOnlyHint=True),
    tool("writes", readOnlyHint=False),
    tool("wrecks", readOnlyHint=False, destructiveHint=True),
    tool("adds", readOnlyHint=False, destructiveHint=False),
)


@requirement("mcp-client.effects")
@pytest.mark.parametrize(
    ("trusted", "classes"),
    [
        pytest.param(
            False,
            ["external-write", "external-write", "external-write", "destructive", "external-write"],
            id="not trusted",
        ),
        pytest.param(
            True, ["external-write", "read-only", "external-write", "destructive", "external-write"], id="trusted"
        ),
    ],
)
async def test_hints_make_a_tool_stricter_and_milder_only_when_they_are_trusted(
    trusted: bool, classes: list[str]
) -> None:
    async with open_small(listing(*HINTED), trust_annotations=trusted) as small:
        found = [each.definition.classification for each in small.connection.toolbox()]
        assert [each.effect_class for each in found] == classes
        assert [each.classified for each in found] == [False, trusted, True, True, True]


@requirement("mcp-client.effects")
async def test_the_host_has_the_last_word_about_effects() -> None:
    said: Mapping[str, str] = {"nothing": "read-only", "reads": "read-only"}
    async with open_small(listing(*HINTED), effects={"nothing": "read-only", "wrecks": "read-only"}) as small:
        found = {each.name: each.definition.classification.effect_class for each in small.connection.toolbox()}
        assert (found["nothing"], found["reads"], found["wrecks"]) == ("read-only", "external-write", "destructive")
        result = await small.call("nothing")
        assert (result.effect, result.effects) == ("none", ())
    async with open_small(
        listing(*HINTED), effects=lambda listed: "read-only" if listed.name in said else None
    ) as small:
        assert [each.definition.classification.read_only for each in small.connection.toolbox()] == [
            True,
            True,
            False,
            False,
            False,
        ]


@requirement("mcp-client.declare")
async def test_whatever_can_be_declared_can_be_declared_with_an_imported_tool() -> None:
    def declare(listed: Listed) -> Declarations:
        return {"concurrency": 1, "timeout": 5, "requires_approval": True} if listed.name == "writes" else {}

    async with open_small(listing(*HINTED), declare=declare) as small:
        writes = small.connection.toolbox().get("writes")
        assert writes is not None
        assert (writes.options.concurrency, writes.options.timeout) == (1, 5)
        refused = await small.call("writes")
        assert refused.error is not None
        assert (refused.error.code, refused.effect) == ("APPROVAL_UNAVAILABLE", "none")


@requirement("mcp-client.declare")
@pytest.mark.parametrize(
    ("declared", "told"),
    [({"concurency": 1}, "did you mean 'concurrency'"), ({"concurrency": 0}, "concurrency")],
    ids=["unknown", "wrong"],
)
async def test_a_wrong_declaration_is_refused(declared: Declarations, told: str) -> None:
    async with open_mcp(InMemoryServer(listing(*HINTED)), name="small", declare=lambda _: declared) as connection:
        with pytest.raises(DefinitionError, match=told):
            connection.toolbox()


@requirement("mcp-client.contracts")
async def test_arguments_are_checked_before_anything_is_sent() -> None:
    async with open_small(counter()) as small:
        for arguments in ({"a": "one"}, {}, {"a": 1, "c": 2}):
            refused = await small.call("add", arguments)
            assert refused.error is not None
            assert (refused.error.code, refused.effect, refused.attempts) == ("INVALID_ARGUMENTS", "none", 0)


PICTURE = types.ImageContent(data="iVBORw0KGgo=", mime_type="image/png")


@requirement("mcp-client.content")
async def test_structured_content_and_a_picture_are_both_there() -> None:
    both = types.CallToolResult(content=[types.TextContent(text='{"n": 1}'), PICTURE], structured_content={"n": 1})
    promised = types.Tool(
        name="draw", input_schema={"type": "object"}, output_schema={"type": "object", "required": ["n"]}
    )
    async with open_small(listing(promised, result=both)) as small:
        result = await small.call("draw")
        assert result.content == (JsonContent('{"n":1}'), ImageContent(b"\x89PNG\r\n\x1a\n", "image/png"))
        assert result.error is None


@requirement("mcp-client.contracts")
async def test_the_promise_is_about_the_structured_part_also_beside_a_picture() -> None:
    both = types.CallToolResult(content=[PICTURE], structured_content={"m": 1})
    promised = types.Tool(
        name="draw", input_schema={"type": "object"}, output_schema={"type": "object", "required": ["n"]}
    )
    async with open_small(listing(promised, result=both)) as small:
        result = await small.call("draw")
        assert result.error is not None
        assert (result.error.code, result.effect) == ("OUTPUT_INVALID", "completed")


@requirement("mcp-client.idle")
async def test_only_progress_keeps_a_call_alive(autojump_clock: trio.testing.MockClock) -> None:
    async with open_small(counter(), idle_timeout=10.0, timeout=100.0) as small:
        assert await small.value("work", seconds=60.0, told=12) == "done"
        assert trio.current_time() == pytest.approx(60.0)
        idle, capped = (
            (await small.call("work", {"seconds": 60.0, "told": 3})).error,
            (await small.call("work", {"seconds": 200.0, "told": 40})).error,
        )
        assert idle is not None
        assert capped is not None
        assert (idle.code, capped.code) == ("IDLE_TIMEOUT", "TIMEOUT")
        assert trio.current_time() == pytest.approx(60.0 + 10.0 + 100.0)


@requirement("mcp-client.elicit")
async def test_a_person_may_think_for_an_hour(autojump_clock: trio.testing.MockClock) -> None:
    async def slow(request: ElicitRequest) -> ElicitAnswer:
        assert (request.tool_name, request.message) == ("ask", "how many?")
        await trio.sleep(3_600)
        return ElicitAccepted({"n": 4})

    async with open_small(counter(), idle_timeout=10.0, timeout=100.0) as small:
        assert (await small.call("ask", elicit=slow)).value == "4 of them"


@requirement("mcp-client.elicit")
async def test_a_form_that_is_sent_off_as_it_stands_is_answered_with_its_defaults() -> None:
    async def send_off(request: ElicitRequest) -> ElicitAnswer:
        await trio.lowlevel.checkpoint()
        return ElicitAccepted({"age": 7})

    async with open_small(counter()) as small:
        assert (await small.call("fill", elicit=send_off)).value == '{"name":"John","age":7}'


@requirement("mcp-client.elicit")
async def test_a_way_to_ask_that_breaks_fails_its_own_call() -> None:
    async def breaking(request: ElicitRequest) -> ElicitAnswer:
        await trio.lowlevel.checkpoint()
        raise KeyError("no screen")

    async with open_small(counter()) as small:
        broken = await small.call("ask", elicit=breaking)
        assert broken.error is not None
        assert broken.error.code == "INTERNAL_ERROR"
        assert await small.value("add", a=1) == {"result": 3}


@requirement("mcp-client.pinned")
async def test_a_tool_that_changed_is_refused_until_it_is_imported_again() -> None:
    async with open_rough() as rough:
        assert (await rough.call("change")).value == "changed"
        refused = await rough.call("mutable")
        assert refused.error is not None
        assert (refused.error.category, refused.error.code, refused.effect) == ("unavailable", "TOOL_CHANGED", "none")
        assert refused.error.details == {"changed": ["description"]}
        assert await rough.value("echo") == "{}"
        async with open_supervisor(rough.connection.toolbox()) as again:
            told = await again.execute(ToolCall("mutable"))
            assert told.error is not None
            assert told.error.code == "INVALID_ARGUMENTS"  # the server's own answer: it was reached
        await rough.value("remove")
        gone = await rough.call("mutable")
        assert gone.error is not None
        assert (gone.error.code, gone.effect) == ("NOT_FOUND", "none")


@requirement("mcp-client.pinned")
async def test_an_approval_of_the_old_tool_does_not_count_for_the_new_one() -> None:
    async with open_rough() as rough:
        before = rough.connection.toolbox().get("mutable")
        await rough.value("change")
        await rough.call("mutable")
        after = rough.connection.toolbox().get("mutable")
        assert before is not None
        assert after is not None
        assert before.definition.digest != after.definition.digest


@requirement("mcp-client.pinned", "mcp-client.reconnect")
async def test_a_server_that_does_not_say_how_its_tools_changed_is_connected_to_anew() -> None:
    async with open_rough() as rough:
        assert await rough.value("sulk") == "hmpf"
        assert await rough.value("echo") == "{}"
        assert "it does not say how: MCPError: not now" in rough.connection.why


@requirement("mcp-client.live")
async def test_what_the_host_declares_wrongly_of_a_new_tool_leaves_the_old_ones() -> None:
    def declare(listed: Listed) -> Declarations:
        if listed.description == "Something else.":
            raise KeyError("nobody thought of that")
        return {}

    async with open_rough(declare=declare) as rough:
        before = rough.connection.live.toolbox
        await rough.value("change")
        assert rough.connection.live.toolbox is before
        refused = await rough.call("mutable")
        assert refused.error is not None
        assert refused.error.code == "TOOL_CHANGED"


@requirement("mcp-client.live")
async def test_a_live_toolbox_follows_the_server() -> None:
    async with open_rough() as rough, open_supervisor(rough.connection.live) as supervisor:
        changes: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        rough.connection.live.listen(lambda change: changes.append((change.changed, change.removed)))
        assert (await supervisor.execute(ToolCall("change"))).value == "changed"
        assert len(changes) == 1  # before the result of the call that made it
        assert (await supervisor.execute(ToolCall("remove"))).value == "removed"
        assert changes == [(("rough:mutable",), ()), ((), ("rough:mutable",))]
