"""A host that serves several agents at once: they share its limits in turns, one user leaves, and the day ends in order.

``python -m examples.agent_host`` runs it with models that are scripted, on a clock that jumps: nothing is waited for. With
a real model, ``model.respond`` is the call of its client, and the rest stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

import attrs
import trio
import trio.testing

from armory_trio import (
    AdmissionClosed,
    Limits,
    OutcomeDecided,
    RequestContext,
    Supervisor,
    Toolbox,
    open_supervisor,
    tool,
)
from armory_trio.testing import Line, ScriptedCall, ScriptedModel

LIMITS: Final = Limits(concurrent=4, per_owner=3, groups={"web": 2})
"""Four calls at once in all, three of one agent, two that read from the web."""


@tool(effect="read-only", groups=["web"], timeout=60)
async def read_page(topic: str) -> str:
    """Read the page about a topic."""
    await trio.sleep(5)
    return f"all about {topic}"


@tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "mail"}]})
async def send_mail(to: str) -> str:
    """Send somebody what was found out."""
    await trio.sleep(3)
    return f"sent to {to}"


def pages(*topics: str) -> list[str | ScriptedCall]:
    """A message of a model that asks for several pages at once."""
    return [ScriptedCall("read_page", {"topic": topic}) for topic in topics]


@attrs.frozen
class Agent:
    """One agent: on whose behalf it acts, when it comes, when its user leaves, and what its model will say."""

    owner: str
    arrives: float
    script: Sequence[Line]
    leaves: float = float("inf")

    async def run(self, supervisor: Supervisor) -> None:
        """Talk to the model until it is content, its user has left, or the host takes no more."""
        await trio.sleep(self.arrives)
        with trio.CancelScope(deadline=self.leaves) as user:
            try:
                say(self.owner, await self.talk(supervisor))
            except AdmissionClosed:
                say(self.owner, "has to go on tomorrow")
        if user.cancelled_caught:
            still = supervisor.executions.inspect(owner_id=self.owner, live_only=True)
            say(self.owner, f"its user left; {len(still)} of its calls still run")

    async def talk(self, supervisor: Supervisor) -> str:
        """The whole conversation; answers the model's last words."""
        model = ScriptedModel("anthropic", self.script)
        context = RequestContext(principal=self.owner, owner=self.owner)
        history: list[Mapping[str, object]] = [model.ask("Find out, and tell Ada.")]
        while True:
            message = model.respond(history)
            history += model.said(message)
            turn = model.parse(message)
            if not turn.calls:
                return words_of(message)
            say(self.owner, f"asks for {', '.join(call.name for call in turn.calls)}")
            history += turn.reply(await supervisor.execute_batch(turn.calls, request_context=context))


MAIL: Final = ScriptedCall("send_mail", {"to": "Ada"})
AGENTS: Final = (
    Agent("ann", 0, [pages("moss", "fern", "ivy", "oak", "elm", "ash"), MAIL, "says: six pages, and Ada knows"]),
    Agent("ben", 1, [pages("bees"), "says: bees it is"]),
    Agent("cleo", 2, [pages("bats", "cats", "rats"), "is not there to say this"], leaves=12),
    Agent("dora", 40, [pages("owls"), MAIL, "is too late to say this"]),
)
"""Ann asks for much, Ben for one page, Cleo's user closes the window, and Dora comes shortly before the end."""


def words_of(message: Mapping[str, object]) -> str:
    """What a message of Anthropic's API says in words."""
    blocks = cast("Sequence[Mapping[str, str]]", message["content"])
    return " ".join(block["text"] for block in blocks if block["type"] == "text")


def say(who: str, words: str) -> None:
    """A line of the story, with the time."""
    print(f"{trio.current_time():3.0f} s  {who:5} {words}")


async def watch(supervisor: Supervisor, task_status: trio.TaskStatus[None]) -> None:
    """Say how each call ended, whosever it was. A host would draw a page of this, or write a log."""
    async with supervisor.events(OutcomeDecided) as events:
        task_status.started()
        async for event in events:
            if isinstance(event, OutcomeDecided):
                effect = f", effect {event.effect}" if event.effect != "none" else ""
                say(event.owner_id or "?", f"  {event.tool_name}: {event.code or event.outcome}{effect}")


async def run() -> int:
    """The day. Answers the exit code."""
    toolbox = Toolbox([read_page, send_mail])
    async with trio.open_nursery() as outside, open_supervisor(toolbox, limits=LIMITS) as supervisor:
        await outside.start(watch, supervisor)  # noqa: ASYNC111  # it sees the end, too, and ends with it
        async with trio.open_nursery() as agents:
            for agent in AGENTS:
                agents.start_soon(agent.run, supervisor)
            await trio.sleep(42)
            supervisor.close_admission("it is evening")  # what has begun goes on
        report = await supervisor.shutdown("drain", drain_for=30)
    print("\n".join(report.lines()))
    return report.exit_code


def main() -> int:
    """Run the day, which takes no time."""
    return trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))


if __name__ == "__main__":
    raise SystemExit(main())
