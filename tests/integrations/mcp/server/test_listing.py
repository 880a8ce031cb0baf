"""What clients see of a toolbox: names, schemas, hints, pages, and what they do not see."""

from __future__ import annotations

from typing import Final, cast

import attrs
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from armory_trio import (
    DefinitionError,
    Lifecycle,
    LiveToolbox,
    RequestContext,
    Risk,
    Tool,
    Toolbox,
    ToolDefinition,
    ToolId,
    open_supervisor,
    tool,
)
from armory_trio.integrations.mcp.server import McpRequest, McpServer
from tests.integrations.mcp.server.serving import (
    HANDSHAKE,
    TOOLBOX,
    Mode,
    add,
    client_of,
    nap,
    on_each_protocol,
    serving,
    text_of,
    wired,
)
from tests.requirements import requirement

SERVICE: Final = [{"kind": "service", "id": "s"}]


def plain(name: str, **options: object) -> Tool[..., object]:
    """A tool without arguments."""

    async def run() -> str:
        return name

    return tool(name=name, **options)(run)  # type: ignore[call-overload, no-any-return]  # pyright: ignore[reportCallIssue, reportUnknownVariableType, reportArgumentType]  # options by name


def keyed(_arguments: object) -> str:
    """One key for all calls."""
    return "k"


async def all_tools(client: Client) -> list[types.Tool]:
    """All pages."""
    found = await client.list_tools()
    tools = list(found.tools)
    while found.next_cursor is not None:
        found = await client.list_tools(cursor=found.next_cursor)
        tools += found.tools
    return tools


async def listed(toolbox: Toolbox, mode: Mode = HANDSHAKE, **options: object) -> list[types.Tool]:
    """All tools that a client is shown."""
    async with open_supervisor(toolbox) as supervisor:
        server = McpServer(supervisor, **options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # options by name
        async with client_of(server, mode) as client:
            return await all_tools(client)


@requirement("mcp-server.list")
@on_each_protocol
async def test_a_tool_is_listed_with_its_contract_and_what_it_is(mode: Mode) -> None:
    [found] = await listed(Toolbox([add]), mode)

    assert (found.name, found.title, found.description) == ("add", "add", "Add two numbers.")
    assert found.input_schema == add.definition.to_json()["input"]
    assert found.meta == {
        "armory-trio/id": "default:add",
        "armory-trio/definition-digest": add.definition.digest,
        "armory-trio/effect-class": "read-only",
        "armory-trio/tags": ["math"],
    }


@requirement("mcp-server.hints")
@pytest.mark.parametrize(
    ("options", "hints"),
    [
        pytest.param({"effect": "read-only"}, (True, False, None, None), id="read-only"),
        pytest.param({}, (False, None, None, None), id="nothing said"),
        pytest.param(
            {"effect": {"class": "reversible", "targets": SERVICE}}, (False, False, None, None), id="reversible"
        ),
        pytest.param(
            {"effect": {"class": "external-write", "targets": SERVICE}}, (False, None, None, None), id="external write"
        ),
        pytest.param(
            {"effect": {"class": "destructive", "targets": SERVICE}}, (False, True, None, None), id="destroys"
        ),
        pytest.param({"risk": Risk(dangerous=True)}, (False, True, None, None), id="dangerous"),
        pytest.param({"metadata": {"readOnly": True}}, (True, False, None, None), id="a flag in the metadata"),
        pytest.param(
            {"effect": "read-only", "risk": Risk(untrusted_output=True)}, (True, False, None, True), id="untrusted"
        ),
        pytest.param({"idempotency_key": keyed}, (False, None, True, None), id="keyed"),
        pytest.param(
            {"metadata": {"mcp": {"annotations": {"openWorldHint": False, "idempotentHint": True}}}},
            (False, None, True, False),
            id="its own words",
        ),
        pytest.param(
            {"risk": Risk(dangerous=True), "metadata": {"mcp": {"annotations": {"destructiveHint": False}}}},
            (False, True, None, None),
            id="own words never make it look better",
        ),
    ],
)
async def test_hints_follow_from_how_the_tool_counts(
    options: dict[str, object], hints: tuple[bool | None, ...]
) -> None:
    [found] = await listed(Toolbox([plain("t", **options)]))
    told = found.annotations

    assert told is not None
    assert (told.read_only_hint, told.destructive_hint, told.idempotent_hint, told.open_world_hint) == hints


@requirement("mcp-server.names")
async def test_names_are_legal_and_lead_back_to_their_tools() -> None:
    names = ["fine", "with.dot", "two words", "two_words", "größe", "x" * 200, "two/words", "calc:add"]
    toolbox = Toolbox([plain(name) for name in names])
    async with serving(toolbox) as (server, _), client_of(server, HANDSHAKE) as client:
        wires = [each.name for each in (await client.list_tools()).tools]
        said = [text_of(await client.call_tool(wire, {})) for wire in wires]

    assert said == names
    assert len(set(wires)) == len(names)
    assert all(len(wire) <= 128 and wire.isascii() and "/" not in wire and " " not in wire for wire in wires)
    assert wires[:2] == names[:2]


@requirement("mcp-server.names")
async def test_of_several_versions_the_one_that_the_name_means_is_listed() -> None:
    old, new = (plain("t", version=version, description=version) for version in ("1.0", "2.0"))
    other = plain("t", namespace="other", description="other")

    assert [found.description for found in await listed(Toolbox([old, new, other]))] == ["2.0"]


@requirement("mcp-server.pages")
async def test_ten_thousand_tools_are_listed_page_by_page() -> None:
    like = plain("tool")
    names = [f"tool-{number}" for number in range(10_000)]
    definitions = (attrs.evolve(like.definition, id=ToolId(name), title=name) for name in names)
    toolbox = Toolbox([attrs.evolve(like, definition=definition) for definition in definitions])
    found: list[str] = []
    async with open_supervisor(toolbox) as supervisor, wired(McpServer(supervisor, page_size=1_000)) as wire:
        cursor: dict[str, object] = {}
        for page in range(10):
            await wire.request(page + 1, "tools/list", **cursor)
            result = cast("dict[str, object]", (await wire.reply(page + 1))["result"])
            found += [str(each["name"]) for each in cast("list[dict[str, object]]", result["tools"])]
            cursor = {"cursor": result.get("nextCursor")}

    assert found == names and cursor == {"cursor": None}


@requirement("mcp-server.pages")
async def test_a_page_goes_on_behind_the_tool_that_was_last_also_when_the_toolbox_changed() -> None:
    live = LiveToolbox(Toolbox([plain(name) for name in "abcdef"]))
    async with open_supervisor(live) as supervisor:
        server = McpServer(supervisor, page_size=2)
        async with client_of(server, HANDSHAKE) as client:
            first = await client.list_tools()
            live.unregister("a")
            second = await client.list_tools(cursor=first.next_cursor)
            live.unregister("d")
            third = await client.list_tools(cursor=second.next_cursor)

    assert [[each.name for each in page.tools] for page in (first, second, third)] == [
        ["a", "b"],
        ["c", "d"],
        ["e", "f"],
    ]


@requirement("mcp-server.pages")
@pytest.mark.parametrize("cursor", ["", "x", "-1", "MTpi!", "OTk5", "e30", "é", "OTk5OTk5OTk5OTk5OTk5OTk6YQ"])
async def test_a_cursor_that_nobody_gave_out_is_refused(cursor: str) -> None:
    async with serving() as (server, _), client_of(server, HANDSHAKE) as client:
        with pytest.raises(MCPError, match="Invalid cursor") as refused:
            await client.list_tools(cursor=cursor)

    assert refused.value.code == types.INVALID_PARAMS


@requirement("mcp-server.visible")
async def test_a_client_sees_and_calls_only_what_it_may_know_of() -> None:
    def visible(definition: ToolDefinition, request: McpRequest) -> bool:
        return definition.name != "nap" or request.client == "somebody/1"

    hidden = plain("secret", metadata={"mcp": {"visible": False}})
    async with (
        open_supervisor(Toolbox([add, nap, hidden])) as supervisor,
        client_of(McpServer(supervisor, visible=visible), HANDSHAKE) as client,
    ):
        names = [each.name for each in (await client.list_tools()).tools]
        refusals: list[str] = []
        for name in ("nap", "secret", "nothing"):
            with pytest.raises(MCPError) as refused:
                await client.call_tool(name, {"seconds": 0})
            refusals.append(refused.value.message)

    assert names == ["add"]
    assert refusals == [f"Unknown tool: {name!r}" for name in ("nap", "secret", "nothing")]
    assert list(supervisor.executions.inspect()) == []


@requirement("mcp-server.unknown")
async def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_a_near_one() -> None:
    async with serving() as (server, _), client_of(server, HANDSHAKE) as client:
        with pytest.raises(MCPError, match=r"^Unknown tool: 'ad'; did you mean 'add'\?$") as refused:
            await client.call_tool("ad", {})

    assert refused.value.code == types.INVALID_PARAMS


@requirement("mcp-server.visible")
async def test_only_true_shows_a_tool_so_that_a_function_that_forgot_to_decide_shows_none() -> None:
    def undecided(_definition: ToolDefinition, _request: McpRequest) -> bool:
        return cast("bool", "perhaps")

    async with (
        open_supervisor(Toolbox([add])) as supervisor,
        client_of(McpServer(supervisor, visible=undecided), HANDSHAKE) as client,
    ):
        assert (await client.list_tools()).tools == []


@requirement("mcp-server.visible")
async def test_a_tool_that_cannot_be_used_now_is_not_listed_and_says_so_when_it_is_called() -> None:
    there = [True]

    def is_there(_context: object) -> bool:
        return there[0]

    changing = plain("changing", availability=is_there)
    async with serving(Toolbox([changing, add])) as (server, _), client_of(server, HANDSHAKE) as client:
        before = [each.name for each in (await client.list_tools()).tools]
        there[0] = False
        after = [each.name for each in (await client.list_tools()).tools]
        refused = await client.call_tool("changing", {})

    assert (before, after) == (["changing", "add"], ["add"])
    assert refused.is_error and "TOOL_UNAVAILABLE" in text_of(refused)


@requirement("mcp-server.list")
async def test_metadata_is_private_but_for_what_speaks_to_clients() -> None:
    said = {"title": "The tool", "description": "Better words.", "meta": {"com.example/x": [1]}}
    [found] = await listed(Toolbox([plain("t", metadata={"mcp": said, "secret": "hunter2"})]))

    assert (found.title, found.description) == ("The tool", "Better words.")
    assert found.meta is not None and found.meta["com.example/x"] == [1]
    assert "hunter2" not in found.model_dump_json()


@requirement("mcp-server.list")
async def test_a_deprecated_tool_says_what_to_use_instead() -> None:
    life = Lifecycle(deprecated="too slow", replaced_by=ToolId("fast"))
    [found] = await listed(Toolbox([plain("slow", description="Slow.", lifecycle=life)]))

    assert found.description == "Slow.\n\nDeprecated: too slow; use 'fast' instead."


@requirement("mcp-server.arguments")
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"name": " "}, "name"),
        ({"version": 3}, "version"),
        ({"error_detail": "all"}, "error_detail"),
        ({"page_size": 0}, "page_size"),
        ({"page_size": True}, "page_size"),
        ({"patience": 0}, "patience"),
    ],
    ids=str,
)
async def test_a_wrong_argument_is_refused_with_its_name(options: dict[str, object], field: str) -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        with pytest.raises(DefinitionError, match=f"McpServer: {field}"):
            McpServer(supervisor, **options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # what is refused
    with pytest.raises(DefinitionError, match="supervisor"):
        McpServer(RequestContext())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # what is refused
