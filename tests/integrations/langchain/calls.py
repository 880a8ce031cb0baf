"""Calls of LangChain tools, as a model makes them, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from armory_trio import ToolResult


def asks(name: str, arguments: Mapping[str, object], call_id: str = "call-1") -> ToolCall:
    """A call, as the model makes it."""
    return ToolCall(name=name, args=dict(arguments), id=call_id, type="tool_call")


def by_name(tools: Iterable[BaseTool]) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in tools}


async def answer_to(tools: Iterable[BaseTool], call: ToolCall, config: RunnableConfig | None = None) -> ToolMessage:
    """What the tool that *call* names answers."""
    answer: object = await by_name(tools)[call["name"]].ainvoke(call, config)
    assert isinstance(answer, ToolMessage)
    return answer


def result_of(message: ToolMessage) -> ToolResult[object]:
    """The result behind *message*."""
    artifact: object = message.artifact
    assert isinstance(artifact, ToolResult)
    return cast("ToolResult[object]", artifact)
