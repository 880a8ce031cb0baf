"""The OpenAI Agents SDK: searches in parallel, a booking that interrupts the run, and a failure that nobody should repeat.

``python -m examples.agents.openai_agents`` runs it with a model that is scripted. With a real one, leave ``model=`` out, and
the rest stays.
"""

from __future__ import annotations

import asyncio

from agents import Agent, RunConfig, Runner, RunState, ToolCallOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call

from armory_trio.integrations.asyncio_host import open_asyncio_host
from armory_trio.integrations.openai_agents import agent_tools, outcome_of

from ._desk import BEHALF, CITIES, KEYS, Desk

SCRIPT = (
    [function_call("search", {"city": city}, call_id=f"search-{city}") for city in CITIES],
    [function_call("book", {"flight": "AT 101", "seats": 2}, call_id="book-1")],
    [function_call("send_ticket", {"flight": "AT 101"}, call_id="send-1")],
    [assistant_message("Two seats to Rome are booked. I could not see whether the ticket was sent.")],
)
QUIET = RunConfig(tracing_disabled=True)


async def run(desk: Desk) -> list[str]:
    """One conversation. Answers what its model read, and what a person was asked."""
    told: list[str] = []
    async with open_asyncio_host(desk.toolbox(), keys=KEYS) as host:
        tools = agent_tools(host, options=lambda _: {"request_context": BEHALF, "owner_id": "run-7"}, interrupt=True)
        agent = Agent[None](name="desk", model=ScriptedModel(SCRIPT), tools=list(tools))
        result = await Runner.run(agent, "Two seats to wherever it is cheap.", run_config=QUIET)
        while result.interruptions:
            stored = result.to_state().to_string()  # the person may take a day, and answer to another process
            state = await RunState[None].from_string(agent, stored)
            for question in state.get_interruptions():
                told.append(f"may it {question.name} {question.arguments}?")
                state.approve(question)
            result = await Runner.run(agent, state, run_config=QUIET)
        for item in result.new_items:
            outcome = outcome_of(item)
            if isinstance(item, ToolCallOutputItem) and outcome is not None:
                told.append(f"{outcome['outcome']}, effect {outcome['effect']}: {item.output}")
    return [*told, str(result.final_output)]


def main() -> None:
    desk = Desk()
    for line in asyncio.run(run(desk)):
        print(line)
    print(f"at most {desk.most} searches at a time; booked: {', '.join(desk.booked)}")


if __name__ == "__main__":
    main()
