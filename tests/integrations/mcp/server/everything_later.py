"""What the conformance suite asks for besides, of protocol 2026-07-28: questions as answers, arguments as headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import trio
from mcp import types

from armory_trio import ElicitAccepted, ToolContext, define_tool, tool
from armory_trio.integrations.mcp.server import McpRequest

STREAM_FOR: Final = 1.0
"""Seconds."""


def _asking_for(name: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


async def _ask(ctx: ToolContext, question: str, name: str) -> str:
    answer = await ctx.elicit(question, schema=_asking_for(name))
    content = answer.content if isinstance(answer, ElicitAccepted) else None
    return str(cast("Mapping[str, object]", content).get(name)) if isinstance(content, Mapping) else "nobody"


@tool(effect="read-only")
async def test_input_required_result_elicitation(ctx: ToolContext) -> str:
    """Ask for a name."""
    return f"Hello, {await _ask(ctx, 'What is your name?', 'name')}!"


@tool(effect="read-only")
async def test_input_required_result_request_state(ctx: ToolContext) -> str:
    """Ask, and see that the answer comes back to this very call."""
    await _ask(ctx, "Please confirm", "ok")
    return "state-ok"


@tool(effect="read-only")
async def test_input_required_result_tampered_state(ctx: ToolContext) -> str:
    """The same; the suite answers to a call that there is not."""
    return await _ask(ctx, "Please confirm", "ok")


@tool(effect="read-only")
async def test_input_required_result_multi_round(ctx: ToolContext) -> str:
    """Ask twice."""
    name = await _ask(ctx, "Step 1: What is your name?", "name")
    return f"{name} likes {await _ask(ctx, 'Step 2: What is your favorite color?', 'color')}."


@tool(effect="read-only")
async def test_streaming_elicitation(ctx: ToolContext) -> str:
    """Ask while the answer is a stream."""
    ctx.progress(50)
    return await _ask(ctx, "What is your name?", "name")


@tool(effect="read-only")
async def test_logging_tool(ctx: ToolContext) -> str:
    """Log something that nobody wants to hear."""
    ctx.log("info", "said")
    await trio.lowlevel.checkpoint()
    return "logged"


@tool(effect="read-only")
async def test_reconnection() -> str:
    """Take longer than the stream of the answer stays open."""
    await trio.sleep(STREAM_FOR * 1.5)
    return "come back"


async def _region(arguments: object) -> str:
    await trio.lowlevel.checkpoint()
    return str(arguments)


with_header = define_tool(
    name="test_custom_header",
    description="Tool with an argument that comes as a header too",
    input={
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
    execute=_region,
    effect="read-only",
)

LATER: Final = (
    test_input_required_result_elicitation,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multi_round,
    test_streaming_elicitation,
    test_logging_tool,
    test_reconnection,
    with_header,
)

PROMPT: Final = "test_input_required_result_prompt"
_KEY: Final = "user_context"


async def ask_for_prompt(
    _request: McpRequest, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    """A prompt that asks first: the function of a host answers with a question, and gets the answer with the next."""
    await trio.lowlevel.checkpoint()
    answer = (params.input_responses or {}).get(_KEY)
    if not isinstance(answer, types.ElicitResult):
        form = types.ElicitRequestFormParams(
            message="What context should the prompt use?", requested_schema=_asking_for("context")
        )
        return types.InputRequiredResult(input_requests={_KEY: types.ElicitRequest(params=form)})
    text = types.TextContent(text=f"Context: {(answer.content or {}).get('context')}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])
