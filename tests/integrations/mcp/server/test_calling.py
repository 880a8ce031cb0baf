"""Calls over MCP: values, errors, pauses, authority, keys and traces."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from armory_trio import (
    ApprovalPolicy,
    AudioContent,
    BlobResourceContent,
    ImageContent,
    LinkContent,
    RequestContext,
    ResourceAnnotations,
    TextContent,
    TextResourceContent,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    tool,
)
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.integrations.mcp.server import McpCall, McpRequest, McpServer
from armory_trio.integrations.mcp.server._catalogue import output_schema
from armory_trio.middleware import Fence
from tests.integrations.mcp.server.serving import (
    HANDSHAKE,
    Mode,
    add,
    client_of,
    leaky,
    meta_of,
    on_each_protocol,
    serving,
    text_of,
    wired,
)
from tests.observability.exporting import Exported, context_of
from tests.requirements import requirement

TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Point(msgspec.Struct):
    x: int
    y: int


@tool(effect="read-only", output=Point)
async def point() -> Point:
    return Point(1, 2)


@tool(effect="read-only", output=list[int])
async def numbers() -> list[int]:
    return [1, 2, 3]


@tool(effect="read-only", output=str)
async def words() -> str:
    return "a word"


@tool(effect="read-only")
async def mapping() -> dict[str, int]:
    return {"total": 5}


@tool(effect="read-only")
async def nothing() -> None:
    """Answer nothing."""


@tool(effect="read-only")
async def streamed() -> list[object]:
    return [TextContent("a"), ImageContent(b"\x89PNG", "image/png")]


@tool(effect="read-only")
async def linked() -> LinkContent:
    return LinkContent("file:///a.txt", "a.txt", "text/plain", "the first")


ABOUT: Final = ResourceAnnotations(("user",), 0.5, "2025-01-12T15:00:58Z")


@tool(effect="read-only")
async def included() -> list[object]:
    return [
        TextResourceContent("file:///a.txt", "inside", "text/plain", ABOUT),
        BlobResourceContent("file:///a.pdf", b"%PDF", annotations=ResourceAnnotations()),
    ]


@tool(effect="read-only")
async def sound() -> AudioContent:
    return AudioContent(b"RIFF", "audio/wav")


@tool(effect="read-only")
async def chunks():  # type: ignore[no-untyped-def]  # pyright: ignore[reportUnknownParameterType]  # noqa: ANN201  # a generator of whatever
    for number in range(3):
        yield number


BOX: Final = Toolbox([add, leaky, point, numbers, words, mapping, nothing, streamed, linked, included, sound, chunks])


@requirement("mcp-server.values")
@on_each_protocol
@pytest.mark.parametrize(
    ("name", "text", "structured"),
    [
        ("point", '{"x":1,"y":2}', {"x": 1, "y": 2}),
        ("numbers", "[1,2,3]", {"result": [1, 2, 3]}),
        ("words", "a word", {"result": "a word"}),
        ("mapping", '{"total":5}', {"total": 5}),
        ("nothing", "", None),
        ("chunks", "[0,1,2]", None),
    ],
)
async def test_a_value_comes_as_words_and_where_it_is_an_object_as_one(
    name: str, text: str, structured: object, mode: Mode
) -> None:
    async with serving(BOX) as (server, _), client_of(server, mode) as client:
        await client.list_tools()  # from here on the client checks what was promised
        result = await client.call_tool(name, {})

    assert (result.is_error, text_of(result), result.structured_content) == (False, text, structured)
    assert result.meta is not None and result.meta["armory-trio/outcome"] == "success"


@requirement("mcp-server.values")
async def test_pictures_sounds_and_links_come_as_what_they_are() -> None:
    async with serving(BOX) as (server, _), client_of(server, HANDSHAKE) as client:
        blocks = [
            *(await client.call_tool("streamed", {})).content,
            *(await client.call_tool("linked", {})).content,
            *(await client.call_tool("sound", {})).content,
        ]

    assert [block.type for block in blocks] == ["text", "image", "resource_link", "audio"]
    assert isinstance(blocks[1], types.ImageContent) and blocks[1].data == "iVBORw=="
    assert isinstance(blocks[2], types.ResourceLink)
    assert (blocks[2].uri, blocks[2].name, blocks[2].description) == ("file:///a.txt", "a.txt", "the first")


@requirement("mcp-server.values")
@on_each_protocol
async def test_resources_come_with_what_they_hold_and_whom_they_are_for(mode: Mode) -> None:
    async with serving(BOX) as (server, _), client_of(server, mode) as client:
        blocks = (await client.call_tool("included", {})).content

    assert [block.model_dump(by_alias=True, exclude_none=True) for block in blocks] == [
        {
            "type": "resource",
            "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"},
            "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z"},
        },
        {"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": "JVBERg=="}, "annotations": {}},
    ]


@requirement("mcp-server.values")
async def test_what_an_older_client_cannot_show_is_described() -> None:
    async with serving(BOX) as (server, _), wired(server, version="2024-11-05") as wire:
        await wire.call(1, "linked")
        await wire.call(2, "sound")
        told = [str(await wire.reply(1)), str(await wire.reply(2))]

    assert "a.txt <file:///a.txt> text/plain the first" in told[0]
    assert "[audio audio/wav, 4 bytes]" in told[1]


@requirement("mcp-server.promised")
async def test_a_tool_promises_an_output_only_where_nothing_stands_around_it() -> None:
    risky = tool(name="risky", effect="read-only", output=dict[str, int], metadata={"untrusted_output": True})
    fenced = Toolbox([risky(mapping.function)], middleware=[Fence()])
    async with serving(BOX) as (server, _), client_of(server, HANDSHAKE) as client:
        promised = {each.name: each.output_schema for each in (await client.list_tools()).tools}
    async with serving(fenced) as (server, _), client_of(server, HANDSHAKE) as client:
        [shown] = (await client.list_tools()).tools
        result = await client.call_tool("risky", {})

    assert promised["point"] is not None and promised["point"]["type"] == "object"
    assert promised["numbers"] is not None and promised["numbers"]["required"] == ["result"]
    assert promised["mapping"] is None
    assert shown.output_schema is None and result.structured_content is None and "total" in text_of(result)


@requirement("mcp-server.errors")
@on_each_protocol
async def test_an_error_says_in_words_whether_it_ran_and_what_the_world_may_have_seen(mode: Mode) -> None:
    @tool(effect="read-only")
    async def elsewhere(city: str) -> None:
        raise ToolFailure(f"no such city: {city}", category="not_found")

    async with serving(Toolbox([add, elsewhere])) as (server, _), client_of(server, mode) as client:
        invalid = await client.call_tool("add", {"a": "x"})
        declared = await client.call_tool("elsewhere", {"city": "Atlantis"})

    assert invalid.is_error and "did not run: its arguments are invalid (INVALID_ARGUMENTS)" in text_of(invalid)
    assert "Nothing was changed. Correct the call and send it again." in text_of(invalid)
    assert invalid.meta is not None
    assert invalid.meta["armory-trio/error"] == {
        "category": "validation",
        "code": "INVALID_ARGUMENTS",
        "retryable": False,
    }
    assert declared.is_error and "no such city: Atlantis" in text_of(declared)


@requirement("mcp-server.leaks")
@on_each_protocol
async def test_the_text_of_an_undeclared_exception_stays_in_the_house(mode: Mode) -> None:
    async with serving() as (server, supervisor), client_of(server, mode) as client:
        hidden = await client.call_tool("leaky", {})
        in_house = await supervisor.execute(ToolCall("leaky"))
    async with (
        open_supervisor(Toolbox([leaky])) as supervisor,
        client_of(McpServer(supervisor, error_detail="message"), mode) as client,
    ):
        told = await client.call_tool("leaky", {})

    assert hidden.is_error and "u:p" not in hidden.model_dump_json()
    assert hidden.meta is not None and hidden.meta["armory-trio/execution-id"] in text_of(hidden)
    assert "u:p" in in_house.text and "u:p" in text_of(told)


@requirement("mcp-server.leaks")
async def test_what_an_earlier_call_told_in_the_house_is_not_retold_to_a_client() -> None:
    @tool(effect_windows=True, effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
    async def pay(ctx: ToolContext) -> None:
        async with ctx.effect("pay"):
            pass
        raise RuntimeError("postgres://u:p@h")

    me = RequestContext(principal="ann", tenant="acme")
    async with open_supervisor(Toolbox([pay]), default_request_context=me) as supervisor:
        first = await supervisor.execute(ToolCall("pay"), idempotency_key="once")
        async with client_of(McpServer(supervisor), HANDSHAKE) as client:
            again = await client.call_tool("pay", {}, meta=meta_of(**{"armory-trio__idempotency-key": "once"}))

    assert "u:p" in first.text
    assert again.is_error and "u:p" not in again.model_dump_json()
    assert "It has taken effect" in text_of(again)


@requirement("mcp-server.leaks")
async def test_a_function_of_the_host_that_fails_costs_one_answer_and_tells_nothing() -> None:
    def broken(_request: McpRequest) -> RequestContext:
        raise RuntimeError("postgres://u:p@h")

    async with open_supervisor(Toolbox([add])) as supervisor:
        server = McpServer(supervisor, request_context=broken)
        async with client_of(server, HANDSHAKE) as client:
            with pytest.raises(MCPError, match="Internal error") as refused:
                await client.call_tool("add", {"a": 1, "b": 2})
            names = [each.name for each in (await client.list_tools()).tools]

    assert "u:p" not in str(refused.value) and refused.value.code == types.INTERNAL_ERROR
    assert names == ["add"]


@requirement("mcp-server.pauses")
async def test_a_call_that_waits_for_an_approval_says_so_and_is_no_success() -> None:
    @tool(requires_approval=True)
    async def send() -> str:
        return "sent"

    keys = Keyring({"default": [SigningKey("k1", b"0" * 32)]})
    me = RequestContext(principal="ann", tenant="acme", audience="tenant", agent="a", run="r")
    toolbox = Toolbox([send], approval_policy=ApprovalPolicy("on-mutation"))
    async with (
        open_supervisor(toolbox, keys=keys, default_request_context=me) as supervisor,
        client_of(McpServer(supervisor), HANDSHAKE) as client,
    ):
        result = await client.call_tool("send", {})

    assert result.is_error and "has not run yet: it needs an approval first" in text_of(result)
    assert result.meta is not None
    action = result.meta["armory-trio/action"]
    assert action["type"] == "approval" and action["approval"]
    assert result.meta["armory-trio/effect"] == "none"


@requirement("mcp-server.authority")
async def test_a_call_is_made_on_behalf_of_whom_the_host_says_within_its_own_context() -> None:
    @tool(effect="read-only")
    async def whose(ctx: ToolContext) -> dict[str, object]:
        context = ctx.request_context or RequestContext()
        return {"owner": ctx.owner_id, "tenant": context.tenant, "may": sorted(context.capabilities or ())}

    async def ask(request: McpRequest) -> RequestContext | None:
        assert request.default is not None and request.tool == "whose" and request.method == "tools/call"
        return RequestContext(capabilities=frozenset({"read", "rule"}), tenant=request.meta.get("tenant"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # text in this test

    house = RequestContext(owner="run-7", tenant="acme", capabilities=frozenset({"read", "write"}))
    async with (
        open_supervisor(Toolbox([whose]), default_request_context=house) as supervisor,
        client_of(McpServer(supervisor, request_context=ask), HANDSHAKE) as client,
    ):
        mine = await client.call_tool("whose", {}, meta=meta_of(tenant="acme"))
        with pytest.raises(MCPError, match="Internal error"):
            await client.call_tool("whose", {}, meta=meta_of(tenant="others"))

    assert mine.structured_content == {"owner": "run-7", "tenant": "acme", "may": ["read"]}


@requirement("mcp-server.keys")
async def test_a_key_in_the_request_makes_two_calls_one() -> None:
    ran: list[int] = []

    @tool
    async def pay() -> int:
        ran.append(1)
        return len(ran)

    me = RequestContext(principal="ann", tenant="acme")
    async with (
        open_supervisor(Toolbox([pay]), default_request_context=me) as supervisor,
        client_of(McpServer(supervisor), HANDSHAKE) as client,
    ):
        said = [
            text_of(await client.call_tool("pay", {}, meta=meta_of(**{"armory-trio__idempotency-key": "order-8"})))
            for _ in range(3)
        ]
        with pytest.raises(MCPError, match=r"idempotency-key.*text that is not blank"):
            await client.call_tool("pay", {}, meta=meta_of(**{"armory-trio__idempotency-key": 8}))

    assert said == ["1", "1", "1"] and ran == [1]


@requirement("mcp-server.trace")
@pytest.mark.parametrize(
    ("meta", "trace"),
    [
        pytest.param({"traceparent": TRACE}, {"traceparent": TRACE}, id="a parent"),
        pytest.param(
            {"traceparent": TRACE, "tracestate": "a=b", "baggage": "k=v"},
            {"traceparent": TRACE, "tracestate": "a=b", "baggage": "k=v"},
            id="all of it",
        ),
        pytest.param({"traceparent": TRACE, "tracestate": 7}, {"traceparent": TRACE}, id="a state that is none"),
        pytest.param({"traceparent": "rubbish", "tracestate": "a=b"}, {}, id="rubbish"),
        pytest.param({"traceparent": 42}, {}, id="a number"),
        pytest.param({"traceparent": TRACE.replace("00-", "ff-", 1)}, {}, id="no such version"),
        pytest.param({"traceparent": f"00-{'0' * 32}-b7ad6b7169203331-01"}, {}, id="no trace"),
        pytest.param({"traceparent": f"{TRACE}-extra"}, {}, id="too long"),
        pytest.param({"traceparent": f"01{TRACE[2:]}-x"}, {"traceparent": f"01{TRACE[2:]}-x"}, id="a later version"),
    ],
)
async def test_the_trace_of_the_client_comes_along_and_rubbish_does_not(
    meta: dict[str, object], trace: dict[str, str]
) -> None:
    found: list[object] = []

    @tool(effect="read-only")
    async def look(ctx: ToolContext) -> str:
        found.append(ctx.metadata)
        return "looked"

    async with serving(Toolbox([look])) as (server, _), wired(server) as wire:
        await wire.request(5, "tools/call", name="look", arguments={}, _meta=meta)
        await wire.reply(5)
        await wire.request(6, "tools/call", name="look", arguments={"traceparent": TRACE}, _meta=meta)
        refused = await wire.reply(6)

    [call] = found
    assert isinstance(call, McpCall)
    assert (dict(call.trace), call.request_id, call.client) == (trace, 5, "wire/0")
    assert (dict(call), len(call)) == (trace, len(trace))
    assert "INVALID_ARGUMENTS" in str(refused)


@requirement("mcp-server.authority")
async def test_where_the_host_says_nothing_the_supervisors_own_context_counts() -> None:
    @tool(effect="read-only")
    async def whose(ctx: ToolContext) -> str:
        return str(ctx.request_context and ctx.request_context.principal)

    house = RequestContext(principal="house")
    async with open_supervisor(Toolbox([whose]), default_request_context=house) as supervisor:
        server = McpServer(supervisor, request_context=lambda _request: None)
        async with client_of(server, HANDSHAKE) as client:
            assert text_of(await client.call_tool("whose", {})) == "house"


@requirement("mcp-server.promised")
@pytest.mark.parametrize(
    ("schema", "listed"),
    [
        ({"type": "object"}, ({"type": "object"}, False)),
        (
            {"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "integer"}}},
            (
                {
                    "type": "object",
                    "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
                    "required": ["result"],
                    "$defs": {"a": {"type": "integer"}},
                },
                True,
            ),
        ),
        ({"type": "array", "items": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}, (None, False)),
    ],
    ids=["an object", "definitions stay at the root", "a reference to all of it"],
)
def test_an_output_that_is_no_object_is_listed_as_a_part_of_one(schema: dict[str, object], listed: object) -> None:
    assert output_schema(schema) == listed


@requirement("mcp-server.trace")
@pytest.mark.parametrize(("parent", "joined"), [(TRACE, True), ("rubbish", False)])
async def test_the_span_of_a_call_is_in_the_trace_of_its_client(parent: str, *, joined: bool) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([add])) as supervisor, wired(McpServer(supervisor)) as wire:
        meta = {"traceparent": parent}
        await wire.request(1, "tools/call", name="add", arguments={"a": 1, "b": 2}, _meta=meta)
        await wire.reply(1)
        await supervisor.wait_idle()
    span = exported.of_tool("add")

    assert (f"{context_of(span).trace_id:032x}" == TRACE[3:35]) is joined
    assert (span.parent is not None and f"{span.parent.span_id:016x}" == TRACE[36:52]) is joined


@requirement("mcp-server.values")
async def test_a_number_that_is_too_long_for_the_answer_does_not_hide_what_was_done() -> None:
    @tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "post"}]})
    async def count() -> dict[str, int]:
        return {"n": 10**5_000}

    async with open_supervisor(Toolbox([count])) as supervisor, Client(McpServer(supervisor).sdk) as client:
        told = await client.call_tool("count", {})
    assert (told.is_error, told.structured_content) == (False, None)
    assert told.meta is not None
    assert told.meta["armory-trio/effect"] == "completed"
