"""smolagents: the calls of a ToolCallingAgent. It is synchronous, and has nothing to cancel a call with."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from smolagents import ChatMessage, LogLevel, Model, ToolCallingAgent, tool
from smolagents.agents import ToolOutput
from smolagents.memory import ActionStep, Timing
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

from ._asyncio import serve_calls


class NoModel(Model):
    """A model that is never asked."""

    def generate(self, *_: object, **__: object) -> NoReturn:
        """Refuse."""
        raise NotImplementedError


@tool
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return a + b


agent = ToolCallingAgent([add], NoModel(), verbosity_level=LogLevel.OFF)


async def call(name: str, a: int) -> int:
    """One call of a tool, in the thread of its caller."""
    return agent.execute_tool_call(name, {"a": a, "b": 1})


async def batch(name: str, numbers: Sequence[int]) -> Sequence[int]:
    """As many calls in one message; the agent has threads for them."""
    wanted = [
        ChatMessageToolCall(
            ChatMessageToolCallFunction(name=name, arguments={"a": number, "b": 1}), f"call-{number}", "function"
        )
        for number in numbers
    ]
    step = ActionStep(step_number=1, timing=Timing(start_time=0.0))
    ended = agent.process_tool_calls(ChatMessage(MessageRole.ASSISTANT, tool_calls=wanted), step)
    answers = {output.id: output.output for output in ended if isinstance(output, ToolOutput)}
    return [answers[f"call-{number}"] for number in numbers]


if __name__ == "__main__":
    one = "ToolCallingAgent.execute_tool_call, in its caller's thread"
    apis = {
        "sequential": one,
        "batch": "ToolCallingAgent.process_tool_calls, a pool of threads",
        "thread": "it runs a tool in its caller's thread, or several in a pool that is made for them",
        "hold": "its tools are synchronous, and cannot be cancelled",
    }
    serve_calls("smolagents", apis, call, batch, without=["thread", "hold"])
