"""pydantic-ai: the manager that an agent's step calls its tools through."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false, reportReturnType=false

from __future__ import annotations

import asyncio

from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

from ._asyncio import add, add_blocking, hold, serve_calls

context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
manager = asyncio.run(ToolManager(FunctionToolset([add, add_blocking, hold])).for_run_step(context))


async def call(tool: str, a: int) -> int:
    """One call of a tool."""
    return await manager.handle_call(ToolCallPart(tool, {"a": a, "b": 1}, tool_call_id=f"call-{a}"))


if __name__ == "__main__":
    one = "ToolManager.handle_call"
    apis = {"sequential": one, "batch": f"gather of {one}", "thread": one, "hold": one}
    serve_calls("pydantic-ai-slim", apis, call)
