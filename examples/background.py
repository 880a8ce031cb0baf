"""A host whose model starts slow work in the background, goes on talking, and is told when something has ended.

``python -m examples.background`` runs it with a model that is scripted, on a clock that jumps: nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import trio
import trio.testing

from armory_trio import Limits, Supervisor, Toolbox, ToolCall, ToolContext, ToolResult, open_supervisor, tool
from armory_trio.kits.background import BackgroundCall, BackgroundKit, BackgroundOptions, notice_text

RUN: Final = "run-7"
"""The owner of all that this one run of an agent does."""


@tool(effect="read-only", tags=["slow"])
async def survey(topic: str, ctx: ToolContext) -> str:
    """Read everything about a topic. Takes long."""
    for percent in (0, 50):
        ctx.progress(percent, f"{percent} % read")
        await trio.sleep(300)
    return f"{topic}: 40 papers, 3 worth reading"


@tool(effect="read-only")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Conversation:
    """What the model has been told, and the calls that it makes: here a script decides, not a model."""

    def __init__(self, supervisor: Supervisor, kit: BackgroundKit) -> None:
        self.history: list[str] = []
        self._supervisor = supervisor
        self._kit = kit

    async def call(self, name: str, arguments: Mapping[str, object]) -> ToolResult[object]:
        """One call of the model; its result goes into the history."""
        result = await self._supervisor.execute(ToolCall(name, arguments), owner_id=RUN)
        self.history.append(f"{name}: {result.text}")
        return result

    async def start(self, topic: str) -> str:
        """The model starts a survey in the background and remembers its id."""
        result = await self.call("start_background", {"name": "survey", "arguments": {"topic": topic}})
        started = result.unwrap()
        assert isinstance(started, BackgroundCall)
        return started.id

    async def listen(self) -> None:
        """What ends in the background goes into the history, too, unless the model has fetched it by itself."""
        async for notice in self._kit.notices(self._supervisor, owner_id=RUN):
            if not notice.seen:
                self.history.append(notice_text(notice))


async def talk(conversation: Conversation) -> None:
    """Two surveys at once, a sum meanwhile; one of them is not needed any more, the other one is waited for."""
    trees = await conversation.start("trees")
    bees = await conversation.start("bees")
    await conversation.start("moss")
    await conversation.call("add", {"a": 2, "b": 3})
    await trio.sleep(301)
    await conversation.call("check_background", {"id": trees})
    await conversation.call("cancel_background", {"id": bees, "reason": "the user asked for trees only"})
    await conversation.call("await_background", {"id": trees, "seconds": 600})


async def run() -> Sequence[str]:
    """Everything that the model has been told, in order."""
    kit = BackgroundKit(tags=["slow"], options=BackgroundOptions(per_owner=4))
    toolbox = Toolbox([survey, add, *kit.tools])
    async with trio.open_nursery() as nursery, open_supervisor(toolbox, limits=Limits(per_owner=8)) as supervisor:
        conversation = Conversation(supervisor, kit)
        nursery.start_soon(conversation.listen)
        await talk(conversation)
    return conversation.history


def main() -> None:
    """Print what the model has been told."""
    for line in trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0)):
        print(line)


if __name__ == "__main__":
    main()
