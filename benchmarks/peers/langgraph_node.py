"""LangGraph: a ToolNode in a compiled graph, which is how it can be run."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from ._asyncio import add, add_blocking, hold, serve_calls

builder = StateGraph(MessagesState)
builder.add_node("tools", ToolNode([tool(function) for function in (add, add_blocking, hold)]))
builder.add_edge(START, "tools")
builder.add_edge("tools", END)
graph = builder.compile()


async def _answers(name: str, numbers: Sequence[int]) -> list[int]:
    wanted = [{"name": name, "args": {"a": number, "b": 1}, "id": f"call-{number}"} for number in numbers]
    state = await graph.ainvoke({"messages": [AIMessage("", tool_calls=wanted)]})
    return [int(message.content) for message in state["messages"][1:]]


async def call(name: str, a: int) -> int:
    """One call of a tool, in a message of its own."""
    [answer] = await _answers(name, [a])
    return answer


async def batch(name: str, numbers: Sequence[int]) -> Sequence[int]:
    """As many calls in one message."""
    return await _answers(name, numbers)


if __name__ == "__main__":
    one, many = "ToolNode in a graph, one call a message", "ToolNode in a graph, all calls in one message"
    serve_calls("langgraph", {"sequential": one, "batch": many, "thread": one, "hold": many}, call, batch)
