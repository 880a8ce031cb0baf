"""pydantic-ai: searches in parallel, a booking that is deferred until a person agrees, and an honest failure.

``python -m examples.agents.pydantic_ai`` runs it with a model that is scripted. With a real one, name it in place of
``FunctionModel(Script().answer)``, and the rest stays.
"""

from __future__ import annotations

import asyncio

from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.pydantic_ai import ArmoryToolset

from ._desk import BEHALF, CITIES, KEYS, Desk

REQUESTS = TypeAdapter(DeferredToolRequests)


class Script:
    """What the model says, turn by turn."""

    def __init__(self) -> None:
        self._turns: list[list[ModelResponsePart]] = [
            [ToolCallPart("search", {"city": city}, f"search-{city}") for city in CITIES],
            [ToolCallPart("book", {"flight": "AT 101", "seats": 2}, "book-1")],
            [ToolCallPart("send_ticket", {"flight": "AT 101"}, "send-1")],
            [TextPart("Two seats to Rome are booked. I could not see whether the ticket was sent.")],
        ]

    def answer(self, _: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        """The next turn."""
        return ModelResponse(self._turns.pop(0))


async def run(desk: Desk) -> list[str]:
    """One conversation. Answers what its model read, and what a person was asked."""
    told: list[str] = []
    async with open_asyncio_host(desk.toolbox(), keys=KEYS) as host:
        toolset = ArmoryToolset[None](host, options=lambda _: {"request_context": BEHALF, "owner_id": "run-7"})
        agent = Agent[None, str | DeferredToolRequests](
            FunctionModel(Script().answer),
            deps_type=type(None),
            toolsets=[toolset],
            output_type=[str, DeferredToolRequests],
        )
        result = await agent.run("Two seats to wherever it is cheap.")
        while isinstance(result.output, DeferredToolRequests):
            stored = REQUESTS.dump_json(result.output)  # the person may take a day, and answer to another process
            history = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
            requests = REQUESTS.validate_json(stored)
            for call in requests.approvals:
                pending = requests.metadata[call.tool_call_id]["armory_trio"]["pending_approval"]
                told.append(f"may it {pending['tool_name']} {pending['arguments']}?")
            answers = requests.build_results(approve_all=True, metadata=requests.metadata)
            result = await agent.run(message_history=history, deferred_tool_results=answers)
        for message in result.all_messages():
            told += [f"{part.outcome}: {part.content}" for part in message.parts if isinstance(part, ToolReturnPart)]
    return [*told, str(result.output)]


def main() -> None:
    desk = Desk()
    for line in asyncio.run(run(desk)):
        print(line)
    print(f"at most {desk.most} searches at a time; booked: {', '.join(desk.booked)}")


if __name__ == "__main__":
    main()
