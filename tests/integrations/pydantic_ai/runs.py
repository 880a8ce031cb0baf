"""Runs of pydantic-ai with a scripted model, and what to look at in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from armory_trio import RequestContext
from armory_trio.integrations.pydantic_ai import ArmoryToolset

Turn = Sequence[ToolCallPart]
Ended = str | DeferredToolRequests


def asks(name: str, arguments: str | Mapping[str, object], call_id: str) -> ToolCallPart:
    """A call, as the model writes it."""
    return ToolCallPart(name, arguments if isinstance(arguments, str) else dict(arguments), call_id)


class Script:
    """A model that makes the calls of each turn, and then says that it is done.

    Attributes:
        shown: The names of the tools that it was shown, turn by turn.
    """

    def __init__(self, *turns: Turn) -> None:
        self.shown: list[list[str]] = []
        self._turns = list(turns)

    def answer(self, _: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.shown.append([tool.name for tool in info.function_tools])
        return ModelResponse(self._turns.pop(0) if self._turns else [TextPart("done")])


def agent_of(toolset: ArmoryToolset[RequestContext | None], model: Script) -> Agent[RequestContext | None, Ended]:
    """An agent with one toolset, whose run may end with calls that wait."""
    return Agent[RequestContext | None, Ended](
        FunctionModel(model.answer),
        deps_type=cast("type[RequestContext | None]", RequestContext),
        toolsets=[toolset],
        output_type=[str, DeferredToolRequests],
    )


def returns(messages: Sequence[ModelMessage]) -> dict[str, ToolReturnPart]:
    """What the model reads of each call, by its id; of several answers the last."""
    parts = (part for message in messages for part in message.parts)
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolReturnPart)}
