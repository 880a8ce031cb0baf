"""The toolbox is exchanged for one with another policy while calls wait."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final, Unpack

import attrs
import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalRequest,
    AuthorityOptions,
    Execution,
    Limits,
    LiveToolbox,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import Allow, ApprovalPolicy, Ask, BeforeExecute, Deny, Edit, Gates, PolicyRequest
from tests.engine.cancelling import assert_nothing_is_held
from tests.requirements import requirement

from .policies import ANN, KEYS, Deciding, always, end_of

CAPABLE: Final = msgspec.structs.replace(ANN, capabilities=frozenset(("read", "write")))


class World:
    """A tool that may run once at a time, one call of which runs while others wait for it."""

    def __init__(self) -> None:
        self.ran: list[int] = []
        self.began = trio.Event()
        self.capabilities: list[frozenset[str] | None] = []

        @tool(concurrency=1)
        async def work(n: int, ctx: ToolContext) -> int:
            self.ran.append(n)
            self.began.set()
            context = ctx.request_context
            self.capabilities.append(None if context is None else context.capabilities)
            await trio.sleep(10)
            return n

        self.tool: Tool[..., int] = work
        self.live = LiveToolbox(self.box())

    def box(
        self,
        policy: BeforeExecute | Deciding | None = None,
        *,
        approval_policy: ApprovalPolicy | None = None,
        gates: Gates | None = None,
        policy_revision: str = "p1",
        approval_revision: str = "a1",
    ) -> Toolbox:
        return Toolbox(
            [self.tool],
            policy=policy,
            approval_policy=approval_policy,
            gates=gates,
            policy_revision=policy_revision,
            approval_revision=approval_revision,
        )

    @asynccontextmanager
    async def open(self, before: Toolbox, **authority: Unpack[AuthorityOptions]) -> AsyncGenerator[Supervisor]:
        """A supervisor in which call 0 runs."""
        self.live.swap(before)
        async with open_supervisor(self.live, default_request_context=CAPABLE, **authority) as supervisor:
            await self.start(supervisor, 0)
            await self.began.wait()
            yield supervisor
            await supervisor.wait_idle()
            await trio.testing.wait_all_tasks_blocked()
            assert_nothing_is_held(supervisor)

    async def start(self, supervisor: Supervisor, n: int) -> Execution:
        """Start call *n*, and let it come as far as it gets now."""
        started = supervisor.start(ToolCall("work", {"n": n}))
        await trio.testing.wait_all_tasks_blocked()
        return started


def quick(answer: object) -> BeforeExecute:
    return always(answer)


def slow(answer: object) -> BeforeExecute:
    async def hook(request: PolicyRequest) -> object:
        await trio.sleep(3)
        return answer

    return hook


# -- judged again


ENDS: Final = {"deny": "POLICY_DENIED", "ask": "action_required", "allow": "success", "raise": "POLICY_DENIED"}


def _raise(request: PolicyRequest) -> object:
    raise LookupError(request.tool_name)


@requirement("policing.exchanged")
@pytest.mark.parametrize("make", [quick, slow], ids=["at once", "later"])
@pytest.mark.parametrize("before", [None, "quick", "slow"])
@pytest.mark.parametrize("after", ENDS)
async def test_a_call_that_waits_for_room_is_judged_by_the_policy_that_came_meanwhile(
    after: str,
    before: str | None,
    make: Callable[[object], BeforeExecute],
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World()
    old = {None: None, "quick": quick(None), "slow": slow(None)}[before]
    new = Deciding({"deny": make(Deny("no more")), "ask": make(Ask("?")), "allow": make(None)}.get(after, _raise))
    async with world.open(world.box(old)) as supervisor:
        waiting = [await world.start(supervisor, n) for n in (1, 2)]
        await trio.sleep(4)
        await trio.testing.wait_all_tasks_blocked()
        assert world.ran == [0]
        assert waiting[0].snapshot.waits_for is not None
        world.live.swap(world.box(new))
        results = [await each.result() for each in waiting]

    assert [end_of(result) for result in results] == [ENDS[after]] * 2
    assert [(result.attempts, result.effect) for result in results] == [
        (1, "completed") if after == "allow" else (0, "none")
    ] * 2
    assert world.ran == ([0, 1, 2] if after == "allow" else [0])
    assert [request.arguments["n"] for request in new.asked] == [1, 2]
    assert new.ends == [ENDS[after]] * 2, "and nobody is told of the call that ran before"


@requirement("policing.exchanged")
async def test_a_call_that_waits_for_nothing_but_its_first_turn_is_judged_by_the_policy_that_came_meanwhile() -> None:
    ran: list[int] = []

    @tool
    async def work(n: int) -> None:
        ran.append(n)

    live, new = LiveToolbox(Toolbox([work])), Deciding(always(Deny("no more")))
    async with open_supervisor(live) as supervisor:
        started = supervisor.start(ToolCall("work", {"n": 1}))
        live.swap(Toolbox([work], policy=new))
        result = await started.result()

    assert (end_of(result), ran) == ("POLICY_DENIED", [])
    assert len(new.asked) == 1


@requirement("policing.exchanged")
async def test_gates_and_approval_policies_count_for_what_waits(autojump_clock: trio.testing.MockClock) -> None:
    for box, code in (
        ({"gates": Gates(read_only=True)}, "GATE_DENIED"),
        ({"approval_policy": ApprovalPolicy("deny")}, "POLICY_DENIED"),
        ({"approval_policy": ApprovalPolicy("always")}, "action_required"),
    ):
        world = World()
        async with world.open(world.box()) as supervisor:
            waiting = await world.start(supervisor, 1)
            gates, approvals = box.get("gates"), box.get("approval_policy")
            world.live.swap(
                world.box(
                    gates=gates if isinstance(gates, Gates) else None,
                    approval_policy=approvals if isinstance(approvals, ApprovalPolicy) else None,
                )
            )
            result = await waiting.result()

        assert (end_of(result), world.ran) == (code, [0])


@requirement("policing.exchanged")
async def test_another_toolbox_with_the_same_policy_asks_nobody_again(autojump_clock: trio.testing.MockClock) -> None:
    world, policy = World(), Deciding(always(None))
    async with world.open(world.box(policy)) as supervisor:
        waiting = await world.start(supervisor, 1)
        world.live.swap(world.box(policy))
        first = await waiting.result()
        asked = len(policy.asked)
        waiting = await world.start(supervisor, 2)
        running = waiting
        waiting = await world.start(supervisor, 3)
        world.live.swap(world.box(policy, policy_revision="p2"))
        second = await waiting.result()
        assert (await running.result()).outcome == "success"

    assert (first.outcome, second.outcome) == ("success", "success")
    assert asked == 2
    assert [request.arguments["n"] for request in policy.asked] == [0, 1, 2, 3, 3]


@requirement("policing.exchanged")
async def test_a_call_that_is_judged_again_keeps_its_place(autojump_clock: trio.testing.MockClock) -> None:
    world = World()
    async with world.open(world.box(quick(None))) as supervisor:
        waiting = [await world.start(supervisor, n) for n in (1, 2, 3)]
        world.live.swap(world.box(slow(None)))
        await trio.sleep(11)
        judged = waiting[0].snapshot
        late = await world.start(supervisor, 4)
        ends = [end_of(await each.result()) for each in (*waiting, late)]

    assert (judged.state, judged.waits_for) == ("queued", "policy")
    assert judged.capacity, "its slot"
    assert ends == ["success"] * 4
    assert world.ran == [0, 1, 2, 3, 4]


@requirement("policing.exchanged")
async def test_a_call_that_runs_is_not_judged_again(autojump_clock: trio.testing.MockClock) -> None:
    world, new = World(), Deciding(always(Deny("no more")))
    async with world.open(world.box()) as supervisor:
        [running] = supervisor.executions.inspect()
        world.live.swap(world.box(new))
        await supervisor.wait_idle()
        located = supervisor.executions.locate(running.execution_id)

    assert located is not None and located.outcome == "success"
    assert new.asked == []


@requirement("policing.exchanged")
async def test_a_call_about_which_a_hook_or_a_person_decides_is_judged_by_the_new_policy_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def thinks(request: ApprovalRequest) -> bool:
        await trio.sleep(3)
        return True

    for old in (slow(None), quick(Ask("?"))):
        world, new = World(), Deciding(always(Deny("no more")))
        world.live.swap(world.box(old))
        async with open_supervisor(world.live, approval_handler=thinks) as supervisor:
            waiting = await world.start(supervisor, 1)
            assert waiting.snapshot.waits_for in ("policy", "approval")
            world.live.swap(world.box(new))
            result = await waiting.result()

        assert (end_of(result), world.ran, len(new.asked)) == ("POLICY_DENIED", [], 1)


@requirement("policing.exchanged")
async def test_members_of_a_batch_and_nested_calls_are_judged_again(autojump_clock: trio.testing.MockClock) -> None:
    world = World()

    @tool
    async def outer(ctx: ToolContext) -> str:
        return end_of(await ctx.call("work", {"n": 7}))

    world.live.swap(Toolbox([world.tool, outer]))
    async with open_supervisor(world.live) as supervisor, trio.open_nursery() as nursery:
        results: list[str] = []

        async def batch() -> None:
            calls = [ToolCall("work", {"n": n}) for n in (1, 2)]
            results.extend(end_of(each) for each in await supervisor.execute_batch(calls, mode="sequential"))

        nursery.start_soon(batch)
        await trio.testing.wait_all_tasks_blocked()
        calling = supervisor.start(ToolCall("outer"))
        await trio.testing.wait_all_tasks_blocked()
        denying = always(Deny("no more"))
        world.live.swap(Toolbox([world.tool, outer], policy=denying))
        assert (await calling.result()).value == "POLICY_DENIED"

    assert results == ["success", "POLICY_DENIED"]
    assert world.ran == [1]


@requirement("policing.exchanged", "policing.narrowing")
async def test_the_capabilities_are_those_that_the_new_policy_leaves(autojump_clock: trio.testing.MockClock) -> None:
    world = World()
    read, write = frozenset(("read",)), frozenset(("write",))
    async with world.open(world.box(quick(Allow(read)))) as supervisor:
        first, second = [await world.start(supervisor, n) for n in (1, 2)]
        world.live.swap(world.box(quick(Allow(write))))
        await trio.sleep(15)
        assert first.snapshot.state == "active"
        world.live.swap(world.box())
        await second.result()

    assert world.capabilities == [read, write, CAPABLE.capabilities]


@requirement("policing.exchanged")
async def test_an_edit_of_the_new_policy_touches_what_the_edited_arguments_say(
    autojump_clock: trio.testing.MockClock,
) -> None:
    running: dict[str, int] = {}
    most: dict[str, int] = {}

    @tool(writes=lambda arguments: [str(arguments["path"])])
    async def write(path: str) -> None:
        running[path] = running.get(path, 0) + 1
        most[path] = max(most.get(path, 0), running[path])
        await trio.sleep(10)
        running[path] -= 1

    live = LiveToolbox(Toolbox([write]))
    async with open_supervisor(live) as supervisor:
        calls = [supervisor.start(ToolCall("write", {"path": path})) for path in ("a", "b", "a", "b")]
        await trio.testing.wait_all_tasks_blocked()
        live.swap(Toolbox([write], policy=quick(Edit({"path": "c"}))))
        results = [await each.result() for each in calls]
        assert_nothing_is_held(supervisor)

    assert [result.outcome for result in results] == ["success"] * 4
    assert [result.executed_arguments_edited for result in results] == [False, False, True, True]
    assert most == {"a": 1, "b": 1, "c": 1}


@requirement("policing.exchanged")
async def test_a_policy_that_comes_back_judges_what_only_the_one_in_between_has_judged(
    autojump_clock: trio.testing.MockClock,
) -> None:
    available, ran = trio.Event(), list[str]()

    async def is_available(context: object) -> bool:
        await available.wait()
        return True

    @tool(groups=["narrow"])
    async def hold() -> None:
        await trio.sleep(10)

    @tool(groups=["narrow"], availability=is_available)
    async def act() -> None:
        await trio.lowlevel.checkpoint()
        ran.append("act")

    denying = Toolbox([hold, act], policy=lambda request: request.tool_name == "hold")
    live = LiveToolbox(denying)
    async with open_supervisor(live, limits=Limits(groups={"narrow": 1})) as supervisor:
        supervisor.start(ToolCall("hold"))
        waiting = supervisor.start(ToolCall("act"))
        await trio.testing.wait_all_tasks_blocked()
        live.swap(Toolbox([hold, act], policy=quick(None)))
        available.set()
        await trio.testing.wait_all_tasks_blocked()
        assert waiting.snapshot.waits_for == "capacity:group:narrow"
        live.swap(denying)
        result = await waiting.result()

    assert (end_of(result), ran) == ("POLICY_DENIED", [])


# -- what was agreed to before


REVISED: Final[dict[str, Callable[[Toolbox], Toolbox]]] = {
    "revision": lambda toolbox: attrs.evolve(toolbox, revision="another"),
    "policy_revision": lambda toolbox: attrs.evolve(toolbox, policy_revision="another"),
    "approval_revision": lambda toolbox: attrs.evolve(toolbox, approval_revision="another"),
}


@requirement("policing.exchanged.answers")
@pytest.mark.parametrize(("revision", "asked"), [("p1", 1), ("p2", 2)], ids=["the same revision", "another revision"])
async def test_a_yes_counts_for_the_same_question_as_long_as_the_revision_is_the_same(
    revision: str, asked: int, autojump_clock: trio.testing.MockClock
) -> None:
    world, questions = World(), list[object]()

    def person(request: ApprovalRequest) -> bool:
        questions.append(request.arguments["n"])
        return True

    async with world.open(world.box(quick(Ask("?"))), approval_handler=person) as supervisor:
        waiting = await world.start(supervisor, 1)
        world.live.swap(world.box(quick(Ask("?")), policy_revision=revision))
        result = await waiting.result()

    assert result.outcome == "success"
    assert questions.count(1) == asked


@requirement("policing.exchanged.answers")
@pytest.mark.parametrize("revision", REVISED)
async def test_a_yes_under_other_revisions_counts_for_nothing(
    revision: str,
    autojump_clock: trio.testing.MockClock,
) -> None:
    world, answers = World(), iter((True, True, False))
    ask = quick(Ask("?"))
    async with world.open(world.box(ask), approval_handler=lambda _: next(answers)) as supervisor:
        waiting = await world.start(supervisor, 1)
        world.live.swap(REVISED[revision](world.box(ask)))
        result = await waiting.result()

    assert (end_of(result), world.ran) == ("HUMAN_DENIED", [0])


@requirement("policing.exchanged.answers")
@pytest.mark.parametrize("revision", ["p1", "p2"])
async def test_a_grant_of_another_revision_lets_nothing_run_and_its_use_is_given_back(
    revision: str, autojump_clock: trio.testing.MockClock
) -> None:
    world = World()
    asks = ApprovalPolicy("always")
    world.live.swap(world.box(approval_policy=asks))
    async with open_supervisor(world.live, keys=KEYS, default_request_context=CAPABLE) as supervisor:
        await supervisor.issue_grant(
            "work", principal="ann", tenant="acme", agent="*", lifetime=3600, max_uses=5, scope="principal"
        )
        await world.start(supervisor, 0)
        waiting = await world.start(supervisor, 1)
        assert world.ran == [0]
        world.live.swap(world.box(quick(None), approval_policy=asks, policy_revision=revision))
        result = await waiting.result()
        await supervisor.wait_idle()
        [state] = await supervisor.list_grants()
        assert_nothing_is_held(supervisor)

    allowed = revision == "p1"
    assert end_of(result) == ("success" if allowed else "action_required")
    assert world.ran == ([0, 1] if allowed else [0])
    assert state.uses_remaining == (3 if allowed else 4)
