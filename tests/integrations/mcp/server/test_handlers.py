"""Resources and prompts, which functions of the host serve."""

from __future__ import annotations

from typing import Final

import pytest
import trio
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from armory_trio import Toolbox, open_supervisor
from armory_trio.integrations.mcp.server import McpRequest, McpServer, Prompts, Resources
from tests.integrations.mcp.server.serving import MODERN, Mode, add, client_of, on_each_protocol, serving, wired
from tests.requirements import requirement

URI: Final = "memo:///one"


async def list_resources(_request: McpRequest, _params: types.PaginatedRequestParams) -> types.ListResourcesResult:
    await trio.lowlevel.checkpoint()
    return types.ListResourcesResult(resources=[types.Resource(uri=URI, name="one")])


async def read_resource(request: McpRequest, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    await trio.lowlevel.checkpoint()
    if params.uri == "memo:///broken":
        raise RuntimeError("postgres://u:p@h")
    if params.uri != URI:
        raise MCPError(types.INVALID_PARAMS, f"no such memo: {params.uri}")
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=URI, text=f"for {request.method}")])


async def list_templates(
    _request: McpRequest, _params: types.PaginatedRequestParams
) -> types.ListResourceTemplatesResult:
    await trio.lowlevel.checkpoint()
    template = types.ResourceTemplate(uri_template="memo:///{name}", name="memo")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def list_prompts(_request: McpRequest, _params: types.PaginatedRequestParams) -> types.ListPromptsResult:
    await trio.lowlevel.checkpoint()
    return types.ListPromptsResult(prompts=[types.Prompt(name="greeting")])


async def get_prompt(_request: McpRequest, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    await trio.lowlevel.checkpoint()
    text = types.TextContent(text=f"Greet {(params.arguments or {}).get('whom', 'everybody')}.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


async def complete(_request: McpRequest, params: types.CompleteRequestParams) -> types.CompleteResult:
    await trio.lowlevel.checkpoint()
    return types.CompleteResult(completion=types.Completion(values=[f"{params.argument.value}nn"]))


RESOURCES: Final = Resources(list=list_resources, read=read_resource, templates=list_templates)
PROMPTS: Final = Prompts(list=list_prompts, get=get_prompt, complete=complete)


@requirement("mcp-server.handlers")
@on_each_protocol
async def test_resources_and_prompts_are_served_by_functions_of_the_host(mode: Mode) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        server = McpServer(supervisor, resources=RESOURCES, prompts=PROMPTS)
        async with client_of(server, mode) as client:
            [resource] = (await client.list_resources()).resources
            [content] = (await client.read_resource(URI)).contents
            [template] = (await client.list_resource_templates()).resource_templates
            [prompt] = (await client.list_prompts()).prompts
            [message] = (await client.get_prompt("greeting", {"whom": "Bob"})).messages
            told = await client.complete(types.PromptReference(name="greeting"), {"name": "whom", "value": "A"})

    assert (resource.uri, template.uri_template, prompt.name) == (URI, "memo:///{name}", "greeting")
    assert isinstance(content, types.TextResourceContents) and content.text == "for resources/read"
    assert isinstance(message.content, types.TextContent) and message.content.text == "Greet Bob."
    assert told.completion.values == ["Ann"]


@requirement("mcp-server.handlers", "mcp-server.leaks")
@on_each_protocol
async def test_what_a_function_raises_reaches_the_client_only_where_it_is_an_answer(mode: Mode) -> None:
    async with (
        open_supervisor(Toolbox([add])) as supervisor,
        client_of(McpServer(supervisor, resources=RESOURCES), mode) as client,
    ):
        with pytest.raises(MCPError, match="no such memo: memo:///two"):
            await client.read_resource("memo:///two")
        with pytest.raises(MCPError, match="Internal error") as hidden:
            await client.read_resource("memo:///broken")

    assert "u:p" not in str(hidden.value)


@requirement("mcp-server.handlers")
async def test_what_is_not_served_is_not_offered() -> None:
    async with serving() as (server, _), wired(server) as wire:
        offered = str(wire.got[0])
        await wire.request(1, "prompts/list")
        refused = await wire.reply(1)

    assert "'resources': None" not in offered and "prompts" not in offered and "tools" in offered
    assert "-32601" in str(refused)


@requirement("mcp-server.handlers")
async def test_subscribers_hear_of_the_resource_that_changed_and_everybody_of_the_lists() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        server = McpServer(supervisor, resources=RESOURCES, prompts=PROMPTS)
        async with wired(server) as one, wired(server) as other:
            await one.request(1, "resources/subscribe", uri=URI)
            await one.request(2, "resources/subscribe", uri="memo:///other")
            await one.reply(1)
            await one.reply(2)
            await one.request(3, "resources/unsubscribe", uri="memo:///other")
            await one.reply(3)
            server.resource_changed(URI)
            server.resource_changed("memo:///other")
            server.resources_changed()
            server.prompts_changed()
            await trio.testing.wait_all_tasks_blocked()
            heard = [
                sorted(str(each["method"]).removeprefix("notifications/") for each in wire.got if "method" in each)
                for wire in (one, other)
            ]

    lists = ["prompts/list_changed", "resources/list_changed"]
    assert heard == [[*lists, "resources/updated"], lists]


@requirement("mcp-server.handlers")
async def test_a_later_client_that_listens_hears_of_resources_and_prompts() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        server = McpServer(supervisor, resources=RESOURCES, prompts=PROMPTS)
        async with (
            Client(server.sdk, mode=MODERN, cache=None) as client,
            client.listen(prompts_list_changed=True, resource_subscriptions=[URI]) as events,
        ):
            server.resources_changed()  # was not asked for
            server.resource_changed(URI)
            first = await events.__anext__()
            server.prompts_changed()
            second = await events.__anext__()

    assert [type(event).__name__ for event in (first, second)] == ["ResourceUpdated", "PromptsListChanged"]
