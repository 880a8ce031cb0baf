"""Runs of the OpenAI Agents SDK with a scripted model, and what to look at in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from agents import Agent, FunctionTool, RunConfig, Runner, RunResult, RunState, Tool, ToolCallOutputItem
from agents.items import TResponseOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tool_context import ToolContext

from armory_trio import RequestContext

QUIET: Final = RunConfig(tracing_disabled=True)
"""Nothing of a run is sent anywhere."""


def asks(name: str, arguments: str | Mapping[str, object], call_id: str) -> TResponseOutputItem:
    """A call, as the model writes it."""
    return function_call(name, arguments, call_id=call_id)


def agent_of(
    tools: Sequence[FunctionTool], *turns: Sequence[TResponseOutputItem]
) -> tuple[Agent[RequestContext], ScriptedModel]:
    """An agent whose model makes the calls of each turn, and then says that it is done; and that model."""
    model = ScriptedModel([*turns, [assistant_message("done")]])
    return Agent[RequestContext](name="clerk", model=model, tools=cast("list[Tool]", list(tools))), model


async def run_agent(
    agent: Agent[RequestContext],
    given: str | RunState[RequestContext] = "go on",
    *,
    context: RequestContext | None = None,
) -> RunResult:
    """One run, or the rest of one."""
    return await Runner.run(agent, given, context=context, run_config=QUIET)


def outputs(result: RunResult) -> dict[str, object]:
    """What the model reads of each call, by its id."""
    return {
        cast("dict[str, str]", item.raw_item)["call_id"]: cast("dict[str, object]", item.raw_item)["output"]
        for item in result.new_items
        if isinstance(item, ToolCallOutputItem)
    }


def shown(model: ScriptedModel) -> list[str]:
    """The names of the tools that the model was shown last."""
    call = model.last_call
    assert call is not None
    return [tool.name for tool in call.tools]


def in_call(tool: FunctionTool, arguments: str, call_id: str = "call-1") -> ToolContext[RequestContext | None]:
    """What the SDK hands to a tool that it calls, without an agent round it."""
    return ToolContext[RequestContext | None](None, tool_name=tool.name, tool_call_id=call_id, tool_arguments=arguments)
