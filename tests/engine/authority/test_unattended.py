"""Policies where nobody is there to ask, and batches in order while somebody decides."""

from __future__ import annotations

from itertools import product
from typing import Final

import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalRequest,
    Tool,
    Toolbox,
    ToolCall,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import (
    ApprovalPolicy,
    Ask,
    BeforeExecute,
    HeadlessGate,
    HeadlessPolicy,
    PolicyRequest,
)
from armory_trio.definitions import EffectClass
from tests.requirements import requirement

from .policies import defined, end_of


def always_yes(request: ApprovalRequest) -> bool:
    return True


# -- headless


GATES: Final[dict[str, HeadlessGate | None]] = {
    "no gate": None,
    "a gate that allows": lambda name, arguments: True,
    "a gate that asks": lambda name, arguments: Ask("really?"),
    "a gate that does not decide": lambda name, arguments: None,
}
EFFECTS: Final[tuple[EffectClass | None, ...]] = ("read-only", "external-write", "destructive", None)


@requirement("policing.headless")
@pytest.mark.parametrize("mode", [None, "never", "on-mutation", "always", "deny"])
async def test_under_a_headless_policy_nobody_is_ever_waited_for(mode: str | None) -> None:
    ran: list[str] = []

    def make(name: str, effect: EffectClass | None, *, needs_approval: bool) -> Tool[..., int]:
        async def body() -> int:
            await trio.lowlevel.checkpoint()
            ran.append(name)
            return 1

        return defined(body, effect, name=name, description="x", requires_approval=needs_approval)

    tools = {
        f"tool_{index}": make(f"tool_{index}", effect, needs_approval=needs_approval)
        for index, (effect, needs_approval) in enumerate(product(EFFECTS, (False, True)))
    }
    capability = None if mode is None else ApprovalPolicy(mode)  # type: ignore[arg-type]  # one of the modes
    ends: set[str] = set()
    for gate, listed in product(GATES.values(), (True, False)):
        policy = HeadlessPolicy(list(tools) if listed else ["other"], capability=capability, gate=gate)
        toolbox = Toolbox(tools.values(), policy=policy)
        async with open_supervisor(toolbox, approval_handler=always_yes) as supervisor:
            for name, made in tools.items():
                before = len(ran)
                result = await supervisor.execute(ToolCall(name))
                ends.add(end_of(result))
                assert (result.outcome == "success") == (len(ran) > before)
                assert not (made.definition.requires_approval and len(ran) > before)

    assert ends == ({"POLICY_DENIED"} if mode in ("always", "deny") else {"success", "POLICY_DENIED"})


# -- sequential batches


class Queue:
    """Three tools that note when they begin and end; about the first somebody has to decide for a while."""

    def __init__(self, who: str, answer: object) -> None:
        self.log: list[str] = []
        self.who = who
        self.answer = answer
        hook = self.later if who == "tool" else None
        self.tools = [self._tool("first", hook), self._tool("second", None), self._tool("third", None)]

    def _tool(self, name: str, policy: BeforeExecute | None) -> Tool[..., None]:
        @tool(name=name, description="x", policy=policy, requires_approval=self.who == "person" and name == "first")
        async def body() -> None:
            self.log.append(f"{name} begins")
            await trio.sleep(1)
            self.log.append(f"{name} ends")

        return body

    async def later(self, request: PolicyRequest) -> object:
        await trio.sleep(5 if request.tool_name == "first" else 0)
        return self.answer if request.tool_name == "first" else None

    async def person(self, request: ApprovalRequest) -> object:
        await trio.sleep(5)
        return self.answer

    async def run(self) -> list[str]:
        toolbox = Toolbox(self.tools, policy=self.later if self.who == "toolbox" else None)
        async with open_supervisor(toolbox, approval_handler=self.person) as supervisor:
            calls = [ToolCall(each.name) for each in self.tools]
            return [end_of(result) for result in await supervisor.execute_batch(calls, mode="sequential")]


IN_ORDER: Final = [f"{name} {what}" for name in ("first", "second", "third") for what in ("begins", "ends")]


@requirement("policing.sequence")
@pytest.mark.parametrize("who", ["toolbox", "tool", "person"])
async def test_nobody_in_a_sequential_batch_passes_one_about_whom_somebody_decides(
    who: str, autojump_clock: trio.testing.MockClock
) -> None:
    allowed, denied = Queue(who, answer=True), Queue(who, answer=False)

    assert await allowed.run() == ["success"] * 3
    assert allowed.log == IN_ORDER
    assert await denied.run() == ["HUMAN_DENIED" if who == "person" else "POLICY_DENIED", "success", "success"]
    assert denied.log == IN_ORDER[2:]


@requirement("policing.sequence")
async def test_one_that_is_put_aside_for_a_person_lets_those_behind_it_go_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    queue = Queue("toolbox", answer=Ask("?"))
    async with open_supervisor(Toolbox(queue.tools, policy=queue.later)) as supervisor:
        calls = [ToolCall(each.name) for each in queue.tools]
        results = await supervisor.execute_batch(calls, mode="sequential")

    assert [end_of(result) for result in results] == ["action_required", "success", "success"]
    assert queue.log == IN_ORDER[2:]
