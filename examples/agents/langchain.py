"""LangChain: searches in parallel, a booking whose message is replaced when a person agreed, and an honest failure.

``python -m examples.agents.langchain`` runs it with a model that is scripted. With a real one, ``model`` is
``ChatSomething(...).bind_tools(tools)``, and the rest stays.
"""

from __future__ import annotations

import asyncio
from typing import cast

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from armory_trio import ToolResult
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from armory_trio.integrations.langchain import langchain_tools, tool_message

from ._desk import BEHALF, CITIES, KEYS, Desk


def asks(name: str, call_id: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, args=arguments, id=call_id, type="tool_call")


def script() -> GenericFakeChatModel:
    """What the model says, turn by turn."""
    return GenericFakeChatModel(
        messages=iter(
            (
                AIMessage("", tool_calls=[asks("search", f"search-{city}", city=city) for city in CITIES]),
                AIMessage("", tool_calls=[asks("book", "book-1", flight="AT 101", seats=2)]),
                AIMessage("", tool_calls=[asks("send_ticket", "send-1", flight="AT 101")]),
                AIMessage("Two seats to Rome are booked. I could not see whether the ticket was sent."),
            )
        )
    )


async def answer(host: AsyncioHost, tool: BaseTool, call: ToolCall, told: list[str]) -> ToolMessage:
    """Make one call, and put it to a person if it waits for one."""
    message = cast("ToolMessage", await tool.ainvoke(call))
    pending = cast("ToolResult[object]", message.artifact).pending_approval
    if pending is not None:
        told.append(f"may it {pending.tool_name} {dict(pending.arguments)}?")
        message = tool_message(await host.resume_approval(pending, request_context=BEHALF, owner_id="run-7"))
    return message


async def run(desk: Desk) -> list[str]:
    """One conversation. Answers what its model read, and what a person was asked."""
    told: list[str] = []
    async with open_asyncio_host(desk.toolbox(), keys=KEYS) as host:
        tools = langchain_tools(host, options=lambda _: {"request_context": BEHALF, "owner_id": "run-7"})
        named, model = {tool.name: tool for tool in tools}, script()
        messages: list[BaseMessage] = [HumanMessage("Two seats to wherever it is cheap.")]
        while True:
            said = await model.ainvoke(messages)
            messages.append(said)
            if not said.tool_calls:
                return [*told, said.text]
            answers = [answer(host, named[call["name"]], call, told) for call in said.tool_calls]
            messages += await asyncio.gather(*answers)
            told += [
                f"{each.status}: {each.text}" for each in messages[-len(answers) :] if isinstance(each, ToolMessage)
            ]


def main() -> None:
    desk = Desk()
    for line in asyncio.run(run(desk)):
        print(line)
    print(f"at most {desk.most} searches at a time; booked: {', '.join(desk.booked)}")


if __name__ == "__main__":
    main()
