"""Google ADK: what a step of an agent does with the function calls of one event."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.flows.llm_flows.functions import handle_function_calls_async
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.genai import types

from ._asyncio import add, add_blocking, hold, serve_calls

tools = {function.__name__: FunctionTool(function) for function in (add, add_blocking, hold)}
sessions = InMemorySessionService()
context = InvocationContext(
    session_service=sessions,
    invocation_id="peer",
    agent=LlmAgent(name="peer", tools=list(tools.values())),
    session=asyncio.run(sessions.create_session(app_name="peer", user_id="peer")),
)


def _part(name: str, number: int) -> types.Part:
    wanted = types.FunctionCall(name=name, args={"a": number, "b": 1}, id=f"call-{number}")
    return types.Part(function_call=wanted)


async def batch(name: str, numbers: Sequence[int]) -> Sequence[int]:
    """As many calls in one event."""
    content = types.Content(role="model", parts=[_part(name, number) for number in numbers])
    answer = await handle_function_calls_async(context, Event(author="peer", content=content), tools)
    return [part.function_response.response["result"] for part in answer.content.parts]


async def call(name: str, a: int) -> int:
    """One call of a tool, in an event of its own."""
    [answer] = await batch(name, [a])
    return answer


if __name__ == "__main__":
    one, many = "handle_function_calls_async, one call an event", "handle_function_calls_async, all calls in one event"
    apis = {"sequential": one, "batch": many, "thread": f"{one}; on the event loop's own thread", "hold": many}
    serve_calls("google-adk", apis, call, batch)
