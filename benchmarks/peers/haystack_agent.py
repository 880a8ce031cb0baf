"""Haystack: what its Agent does with the tool calls of one message.

The function has no public name, since only an agent calls it; whole runs of an agent cost more still. Arguments are
not validated there.
"""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false

from __future__ import annotations

from collections.abc import Sequence

from haystack.components.agents import State
from haystack.components.agents.tool_calling import _run_tool_async
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import tool

from ._asyncio import add, add_blocking, hold, serve_calls

tools = [tool(function) for function in (add, add_blocking, hold)]


async def batch(name: str, numbers: Sequence[int]) -> Sequence[int]:
    """As many calls in one message."""
    wanted = [ToolCall(tool_name=name, arguments={"a": number, "b": 1}, id=f"call-{number}") for number in numbers]
    messages = [ChatMessage.from_assistant(tool_calls=wanted)]
    answers, _ = await _run_tool_async(messages=messages, state=State({}), tools=tools, max_workers=len(wanted))
    return [int(message.tool_call_result.result) for message in answers]


async def call(name: str, a: int) -> int:
    """One call of a tool, in a message of its own."""
    [answer] = await batch(name, [a])
    return answer


if __name__ == "__main__":
    one, many = "Agent's tool calling, one call a message", "Agent's tool calling, all calls in one message"
    apis = {"sequential": one, "batch": many, "thread": one, "hold": many}
    serve_calls("haystack-ai", apis, call, batch)
