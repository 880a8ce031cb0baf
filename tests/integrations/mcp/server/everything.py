"""The server that the conformance suite of the protocol asks for: ``python -m tests.integrations.mcp.server.everything``.

It says its URL on standard output and serves until its standard input ends or a signal comes.
"""

from __future__ import annotations

import base64
import json
import sys
from functools import partial
from typing import Final

import trio
from mcp import types
from mcp.shared.exceptions import MCPError

from armory_trio import AudioContent as Sound
from armory_trio import (
    ElicitAccepted,
    ElicitAnswer,
    ImageContent,
    TextContent,
    TextResourceContent,
    Toolbox,
    ToolContext,
    ToolFailure,
    define_tool,
    open_supervisor,
    tool,
)
from armory_trio.integrations.mcp.server import HttpOptions, McpRequest, McpServer, Prompts, Resources
from tests.integrations.mcp.server.everything_later import LATER, PROMPT, STREAM_FOR, ask_for_prompt

PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WAV: Final = b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"
STEP: Final = 0.05
"""Seconds between two notifications, so that they are two."""

USER: Final = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}
DEFAULTS: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
_THREE: Final = [
    {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
]
_CHOICES: Final = [
    {"const": f"value{n}", "title": f"{word} Choice"} for n, word in enumerate(("First", "Second", "Third"), 1)
]
_OPTIONS: Final = ["option1", "option2", "option3"]
ENUMS: Final = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _OPTIONS},
        "titledSingle": {"type": "string", "oneOf": _THREE},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": _CHOICES}},
    },
}
ADDRESS: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@tool(effect="read-only")
async def test_simple_text() -> str:
    """Answer text."""
    return "This is a simple text response for testing."


@tool(effect="read-only")
async def test_image_content() -> ImageContent:
    """Answer a picture."""
    return ImageContent(PNG, "image/png")


@tool(effect="read-only")
async def test_audio_content() -> Sound:
    """Answer a sound."""
    return Sound(WAV, "audio/wav")


@tool(effect="read-only")
async def test_embedded_resource() -> TextResourceContent:
    """Answer a resource."""
    return TextResourceContent("test://embedded-resource", "This is an embedded resource content.", "text/plain")


@tool(effect="read-only")
async def test_multiple_content_types() -> list[object]:
    """Answer several kinds of content."""
    text = '{"test":"data","value":123}'
    return [
        TextContent("Multiple content types test:"),
        ImageContent(PNG, "image/png"),
        TextResourceContent("test://mixed-content-resource", text, "application/json"),
    ]


@tool(effect="read-only")
async def test_tool_with_logging(ctx: ToolContext) -> str:
    """Log three times."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log("info", words)
        await trio.sleep(STEP)
    return "logged"


@tool(effect="read-only")
async def test_error_handling() -> None:
    """Fail."""
    raise ToolFailure("This tool intentionally returns an error for testing")


@tool(effect="read-only")
async def test_tool_with_progress(ctx: ToolContext) -> str:
    """Report three times."""
    for percent in (0, 50, 100):
        ctx.progress(percent)
        await trio.sleep(STEP)
    return "done"


def _told(answer: ElicitAnswer) -> str:
    content = answer.content if isinstance(answer, ElicitAccepted) else None
    action = {"ElicitAccepted": "accept", "ElicitDeclined": "decline"}.get(type(answer).__name__, "cancel")
    return f"action={action}, content={json.dumps(content)}"


@tool(effect="read-only")
async def test_elicitation(message: str, ctx: ToolContext) -> str:
    """Ask for a name and an address."""
    return f"User response: {_told(await ctx.elicit(message, schema=USER))}"


@tool(effect="read-only")
async def test_elicitation_sep1034_defaults(ctx: ToolContext) -> str:
    """Ask with defaults."""
    return f"Elicitation completed: {_told(await ctx.elicit('Check these.', schema=DEFAULTS))}"


@tool(effect="read-only")
async def test_elicitation_sep1330_enums(ctx: ToolContext) -> str:
    """Ask with choices."""
    return f"Elicitation completed: {_told(await ctx.elicit('Choose.', schema=ENUMS))}"


async def _address(arguments: object) -> str:
    await trio.lowlevel.checkpoint()
    return str(arguments)


json_schema_2020_12_tool = define_tool(
    name="json_schema_2020_12_tool",
    description="Tool with JSON Schema 2020-12 features",
    input=ADDRESS,
    execute=_address,
)

TOOLBOX: Final = Toolbox(
    [
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_tool_with_logging,
        test_error_handling,
        test_tool_with_progress,
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
        json_schema_2020_12_tool,
        *LATER,
    ]
)

_TEXT: Final = types.TextResourceContents(
    uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
)
_BINARY: Final = types.BlobResourceContents(
    uri="test://static-binary", mime_type="image/png", blob=base64.b64encode(PNG).decode()
)
_WATCHED: Final = types.TextResourceContents(uri="test://watched-resource", mime_type="text/plain", text="watched")
_TEMPLATE: Final = "test://template/"


async def list_resources(_request: McpRequest, _params: types.PaginatedRequestParams) -> types.ListResourcesResult:
    """The resources that have a name."""
    await trio.lowlevel.checkpoint()
    named = [types.Resource(uri=each.uri, name=each.uri.partition("://")[2]) for each in (_TEXT, _BINARY, _WATCHED)]
    return types.ListResourcesResult(resources=named)


async def list_templates(
    _request: McpRequest, _params: types.PaginatedRequestParams
) -> types.ListResourceTemplatesResult:
    """The one that is filled in."""
    await trio.lowlevel.checkpoint()
    template = types.ResourceTemplate(uri_template=f"{_TEMPLATE}{{id}}/data", name="template")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_request: McpRequest, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """What a resource holds."""
    await trio.lowlevel.checkpoint()
    for each in (_TEXT, _BINARY, _WATCHED):
        if each.uri == params.uri:
            return types.ReadResourceResult(contents=[each])
    if not params.uri.startswith(_TEMPLATE):
        raise MCPError(types.INVALID_PARAMS, f"no such resource: {params.uri}", {"uri": params.uri})
    chosen = params.uri.removeprefix(_TEMPLATE).partition("/")[0]
    text = json.dumps({"id": chosen, "templateTest": True, "data": f"Data for ID: {chosen}"})
    filled = types.TextResourceContents(uri=params.uri, mime_type="application/json", text=text)
    return types.ReadResourceResult(contents=[filled])


_PROMPTS: Final = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    PROMPT: (),
}


async def list_prompts(_request: McpRequest, _params: types.PaginatedRequestParams) -> types.ListPromptsResult:
    """The prompts."""
    await trio.lowlevel.checkpoint()
    prompts = [
        types.Prompt(
            name=name,
            description=f"The prompt {name}.",
            arguments=[types.PromptArgument(name=each, required=True) for each in names],
        )
        for name, names in _PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=prompts)


async def get_prompt(
    request: McpRequest, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    """One prompt, filled in."""
    if params.name == PROMPT:
        return await ask_for_prompt(request, params)
    await trio.lowlevel.checkpoint()
    given = params.arguments or {}
    blocks: dict[str, list[types.ContentBlock]] = {
        "test_simple_prompt": [types.TextContent(text="This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            types.TextContent(text=f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            types.EmbeddedResource(
                resource=types.TextResourceContents(
                    uri=given.get("resourceUri", ""),
                    mime_type="text/plain",
                    text="Embedded resource content for testing.",
                )
            ),
            types.TextContent(text="Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [
            types.ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png"),
            types.TextContent(text="Please analyze the image above."),
        ],
    }
    if params.name not in blocks:
        raise MCPError(types.INVALID_PARAMS, f"no such prompt: {params.name}")
    messages = [types.PromptMessage(role="user", content=block) for block in blocks[params.name]]
    return types.GetPromptResult(messages=messages)


async def complete(_request: McpRequest, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Words that begin like that."""
    await trio.lowlevel.checkpoint()
    words = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=words, total=len(words), has_more=False))


async def main() -> None:
    """Serve until standard input ends."""
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        server = McpServer(
            supervisor,
            name="everything",
            version="1",
            resources=Resources(list=list_resources, read=read_resource, templates=list_templates),
            prompts=Prompts(list=list_prompts, get=get_prompt, complete=complete),
        )
        url = await nursery.start(partial(server.serve_http, port=0, options=HttpOptions(stream_for=STREAM_FOR)))
        print(url, flush=True)  # noqa: T201  # that is what is wanted
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        await supervisor.shutdown()


if __name__ == "__main__":
    trio.run(main)
