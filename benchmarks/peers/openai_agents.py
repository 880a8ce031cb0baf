"""OpenAI Agents SDK: a function tool as the runner invokes it."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false

from __future__ import annotations

import json

from agents import function_tool
from agents.tool_context import ToolContext

from ._asyncio import add, add_blocking, hold, serve_calls

tools = {function.__name__: function_tool(function) for function in (add, add_blocking, hold)}


async def call(tool: str, a: int) -> int:
    """One call of a tool; its arguments come as the text that a model wrote."""
    arguments = json.dumps({"a": a, "b": 1})
    context = ToolContext(None, tool_name=tool, tool_call_id=f"call-{a}", tool_arguments=arguments)
    return await tools[tool].on_invoke_tool(context, arguments)


if __name__ == "__main__":
    one = "FunctionTool.on_invoke_tool"
    serve_calls("openai-agents", {"sequential": one, "batch": f"gather of {one}", "thread": one, "hold": one}, call)
