"""Policies that are told how calls ended: once for each judged call, whatever way it ended, and to no effect."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest
import trio
import trio.testing

from armory_trio import (
    ExecutionAdmitted,
    Limits,
    LiveToolbox,
    LoopDetection,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import Ask, BeforeExecute, Deny, Edit, Gates, PolicyRequest
from tests.requirements import requirement

from .policies import ANN, KEYS, Deciding, Told, always, end_of, stray_cancelled

Step = Callable[[Supervisor], Awaitable[ToolResult[object]]]


class World:
    """A toolbox whose policy is told, and tools whose policies are told, into one log."""

    def __init__(self, decide: BeforeExecute | None = None, own: BeforeExecute | None = None) -> None:
        self.log: list[str] = []
        self.toolbox_policy: Told = Told("toolbox", self.log) if decide is None else Deciding(decide)
        self.tool_policy: Told = Told("tool", self.log) if own is None else Deciding(own, "tool")
        self.toolbox_policy.log = self.tool_policy.log = self.log

    def box(self, gates: Gates | None = None) -> Toolbox:
        return Toolbox(
            [self._tool("work", work), self._tool("fail", fail), self._tool("stubborn", stubborn), hold],
            policy=self.toolbox_policy,
            gates=gates,
        )

    def _tool(self, name: str, body: Callable[..., Awaitable[object]]) -> Tool[..., object]:
        return tool(name=name, description="Work.", policy=self.tool_policy, groups=["narrow"])(body)

    def hears(self, result: ToolResult[object], name: str) -> None:
        """See that both were told of the one call of *name*, in order, and nothing else of it."""
        for told in (self.toolbox_policy, self.tool_policy):
            heard = [end for request, end in told.heard if request.tool_name == name]
            assert heard == [result]
            assert heard[0].execution_id == result.execution_id
        assert self.log in (["toolbox", "tool"], ["toolbox", "tool", "toolbox"], ["toolbox", "toolbox", "tool"])


async def work(seconds: float = 0.0) -> str:
    await trio.sleep(seconds)
    return "done"


async def fail() -> str:
    await trio.lowlevel.checkpoint()
    raise ValueError("broken")


async def stubborn(seconds: float = 1.0) -> str:
    with trio.CancelScope(shield=True):
        await trio.sleep(seconds)
    return "made it"


@tool(groups=["narrow"])
async def hold() -> None:
    await trio.sleep(3)


NARROW: Final = Limits(groups={"narrow": 1})
WORK: Final = ToolCall("work")
LONG: Final = ToolCall("work", {"seconds": 60})


async def _waits(request: PolicyRequest) -> object:
    if request.tool_name != "hold":
        await trio.sleep(60)
    return None


async def _aborted_in_line(supervisor: Supervisor) -> ToolResult[object]:
    supervisor.start(ToolCall("hold"))
    running = supervisor.start(WORK)
    await trio.testing.wait_all_tasks_blocked()
    assert running.snapshot.waits_for is not None
    running.abort("no longer wanted")
    return await running.result()


async def _aborted(supervisor: Supervisor) -> ToolResult[object]:
    running = supervisor.start(LONG)
    await trio.testing.wait_all_tasks_blocked()
    running.abort("no longer wanted")
    return await running.result()


async def _shut_down(supervisor: Supervisor) -> ToolResult[object]:
    running = supervisor.start(LONG)
    await trio.testing.wait_all_tasks_blocked()
    await supervisor.shutdown("abort")
    return await running.result()


async def _deadline_in_line(supervisor: Supervisor) -> ToolResult[object]:
    supervisor.start(ToolCall("hold"))
    return await supervisor.execute(WORK, deadline=trio.current_time() + 1)


ENDS: Final[dict[str, tuple[str, Callable[[], World], Step]]] = {
    "success": ("success", World, lambda s: s.execute(WORK)),
    "error": ("INTERNAL_ERROR", World, lambda s: s.execute(ToolCall("fail"))),
    "timeout": ("TIMEOUT", World, lambda s: s.execute(LONG, timeout=1)),
    "deadline in line": ("DEADLINE_EXCEEDED", World, _deadline_in_line),
    "deadline in a hook": (
        "DEADLINE_EXCEEDED",
        lambda: World(_waits),
        lambda s: s.execute(WORK, deadline=trio.current_time() + 1),
    ),
    "denied by the toolbox's hook": ("POLICY_DENIED", lambda: World(always(Deny("no"))), lambda s: s.execute(WORK)),
    "denied by the tool's hook": ("POLICY_DENIED", lambda: World(own=always(False)), lambda s: s.execute(WORK)),
    "paused": ("action_required", lambda: World(always(Ask("?"))), lambda s: s.execute(WORK)),
    "an edit that does not fit": (
        "INVALID_ARGUMENTS",
        lambda: World(own=always(Edit({"seconds": "x"}))),
        lambda s: s.execute(WORK),
    ),
    "aborted while it waits for room": ("NOT_STARTED", World, _aborted_in_line),
    "aborted while a hook decides": ("NOT_STARTED", lambda: World(_waits), _aborted),
    "aborted while it runs": ("CANCELLED", World, _aborted),
    "shutdown": ("CANCELLED", World, _shut_down),
}


@requirement("policing.told")
@pytest.mark.parametrize("case", ENDS)
async def test_both_policies_are_told_once_how_a_call_ended(case: str, autojump_clock: trio.testing.MockClock) -> None:
    code, make, run = ENDS[case]
    world = make()
    async with open_supervisor(world.box(), limits=NARROW) as supervisor:
        result = await run(supervisor)
        await supervisor.shutdown()

    assert end_of(result) == code
    world.hears(result, result.tool_name)


@requirement("policing.told")
async def test_of_a_body_that_outlives_its_call_they_are_told_once_it_is_known_what_it_did(
    autojump_clock: trio.testing.MockClock,
) -> None:
    world = World()
    async with open_supervisor(world.box(), limits=NARROW) as supervisor:
        result = await supervisor.execute(ToolCall("stubborn"), timeout=0.5)
        assert world.log == []

    [(_, heard)] = world.toolbox_policy.heard
    assert (end_of(result), result.effect) == ("TIMEOUT", "unknown")
    assert (end_of(heard), heard.effect) == ("TIMEOUT", "completed")
    world.hears(heard, "stubborn")


@requirement("policing.told")
async def test_both_policies_are_told_of_a_call_that_no_gate_lets_through() -> None:
    world = World()
    async with open_supervisor(world.box(Gates(read_only=True)), limits=NARROW) as supervisor:
        result = await supervisor.execute(WORK)

    assert end_of(result) == "GATE_DENIED"
    world.hears(result, "work")


@requirement("policing.told")
async def test_they_are_told_of_the_call_that_a_person_refused_and_of_the_one_that_was_resumed() -> None:
    world = World(always(Ask("?")))
    async with open_supervisor(world.box(), limits=NARROW, approval_handler=lambda _: False) as supervisor:
        refused = await supervisor.execute(WORK)
    async with open_supervisor(world.box(), limits=NARROW, keys=KEYS, default_request_context=ANN) as supervisor:
        paused = await supervisor.execute(WORK)
        assert paused.pending_approval is not None
        await supervisor.resume_approval(paused.pending_approval)

    assert end_of(refused) == "HUMAN_DENIED"
    assert world.toolbox_policy.ends == world.tool_policy.ends == ["HUMAN_DENIED", "action_required", "success"]


@requirement("policing.told")
async def test_what_they_are_told_of_is_what_was_judged_last() -> None:
    world = World(lambda request: Edit({"seconds": 0}) if request.arguments["seconds"] else None)
    async with open_supervisor(world.box(), limits=NARROW, default_request_context=ANN) as supervisor:
        result = await supervisor.execute(ToolCall("work", {"seconds": 1}, "call-1"), owner_id="owner-1")

    [(request, heard)] = world.tool_policy.heard
    assert heard == result
    assert dict(request.arguments) == {"seconds": 0}
    assert (request.call_id, request.execution_id, request.owner_id) == ("call-1", result.execution_id, "owner-1")
    assert request.request_context == ANN


# -- whichever way the call came in


@requirement("policing.told")
async def test_they_are_told_of_batches_streams_and_nested_calls() -> None:
    told = Told()

    @tool
    async def count(upto: int) -> AsyncIterator[int]:
        for number in range(upto):
            yield number

    plain = tool(name="plain", description="Work.")(work)

    @tool
    async def outer(ctx: ToolContext) -> None:
        await ctx.call("plain", {})
        await ctx.call(plain, {})

    async with open_supervisor(Toolbox([count, plain, outer], policy=told)) as supervisor:
        await supervisor.execute_batch([ToolCall("plain"), ToolCall("plain")])
        async with supervisor.stream(ToolCall("count", {"upto": 2})) as stream:
            assert [chunk async for chunk in stream] == [0, 1]
        await supervisor.execute(ToolCall("outer"))
        await supervisor.start(ToolCall("plain")).result()

    names = [request.tool_name for request, _ in told.heard]
    assert sorted(names) == ["count", "outer", *["plain"] * 5]
    assert len({result.execution_id for _, result in told.heard}) == 7


@requirement("policing.told")
async def test_of_calls_that_were_never_judged_nobody_is_told() -> None:
    told = Told()
    plain = tool(name="plain", description="Work.", policy=told)(work)
    absent = tool(name="absent", description="Work.", policy=told, availability=lambda _: False)(work)
    toolbox = Toolbox([plain, absent], policy=told)
    async with open_supervisor(toolbox, loops=LoopDetection(warn_at=2, block_at=3)) as supervisor:
        ends = [
            end_of(await supervisor.execute(call))
            for call in (ToolCall("nobody"), ToolCall("plain", {"seconds": "x"}), ToolCall("absent"))
        ]
        repeated = [end_of(await supervisor.execute(ToolCall("plain"))) for _ in range(3)]
        await trio.testing.wait_all_tasks_blocked()
        heard = len(told.heard)
        assert await plain() == "done"
        assert (await supervisor.run_directly(plain, {})).value == "done"

    assert ends == ["NOT_FOUND", "INVALID_ARGUMENTS", "TOOL_UNAVAILABLE"]
    assert repeated == ["success", "success", "LOOP_BLOCKED"]
    assert heard == len(told.heard) == 4, "two calls that ran, and two policies that are one"


@requirement("policing.told")
async def test_of_a_call_that_waited_while_its_policy_was_exchanged_those_are_told_who_judged_it_last(
    autojump_clock: trio.testing.MockClock,
) -> None:
    early, late, own = Told("early"), Told("late"), Told("own")
    mine = tool(name="mine", description="Work.", policy=own, groups=["narrow"])(work)
    live = LiveToolbox(Toolbox([mine, hold], policy=early))
    async with open_supervisor(live, limits=NARROW) as supervisor:
        supervisor.start(ToolCall("hold"))
        waiting = supervisor.start(ToolCall("mine"))
        await trio.testing.wait_all_tasks_blocked()
        live.swap(Toolbox([mine, hold], policy=late))
        await waiting.result()

    assert [request.tool_name for request, _ in early.heard] == ["hold"]
    assert late.ends == own.ends == ["success"]


# -- it changes nothing


RAISED: Final[dict[str, Callable[[], BaseException]]] = {
    "an exception": lambda: ValueError("x"),
    "a group": lambda: ExceptionGroup("several", [ValueError("x")]),
    "SystemExit": lambda: SystemExit(3),
    "GeneratorExit": GeneratorExit,
    "a group of others": lambda: BaseExceptionGroup("several", [GeneratorExit()]),
    "a stray Cancelled": stray_cancelled,
}


class Broken:
    """It raises what it is told to."""

    def __init__(self, make: Callable[[], BaseException], *, later: bool) -> None:
        self.make = make
        self.later = later

    def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> object:
        if not self.later:
            raise self.make()
        return self.fail_later()

    async def fail_later(self) -> None:
        await trio.lowlevel.checkpoint()
        raise self.make()


async def _survives(make: Callable[[], BaseException], *, later: bool) -> None:
    told = Told()
    fine = tool(name="fine", description="Work.", policy=told)(work)
    async with open_supervisor(Toolbox([fine], policy=Broken(make, later=later))) as supervisor:
        results = [await supervisor.execute(ToolCall("fine")) for _ in range(2)]

    assert [end_of(result) for result in results] == ["success", "success"]
    assert told.ends == ["success", "success"]


@requirement("policing.told.harmless")
@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("what", RAISED)
async def test_what_is_raised_by_whom_we_tell_is_logged_and_no_more(
    what: str, later: bool, caplog: pytest.LogCaptureFixture
) -> None:
    await _survives(RAISED[what], later=later)

    assert sum("failed" in record.message for record in caplog.records) == 2


@requirement("policing.told.harmless")
async def test_what_is_answered_by_whom_we_tell_makes_no_difference() -> None:
    class Late(Told):
        def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> None:
            super().after_execute(request, result)
            return Deny("too late")  # type: ignore[return-value]  # a host need not be typed

    policy = Late()
    async with open_supervisor(Toolbox([tool(name="fine", description="x")(work)], policy=policy)) as supervisor:
        result = await supervisor.execute(ToolCall("fine"))

    assert result.outcome == "success"
    assert policy.ends == ["success"]


@requirement("policing.told.harmless")
async def test_a_call_that_is_made_by_whom_we_tell_belongs_to_no_tool_that_aborted_the_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Looking:
        async def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> None:
            if request.tool_name == "hold":
                await current_supervisor().execute(ToolCall("fine"))

    @tool
    async def stop() -> None:
        current_supervisor().abort("enough", tool_name="hold")
        await trio.sleep(1)

    fine = tool(name="fine", description="Work.")(work)
    parents: dict[str, str | None] = {}
    async with (
        open_supervisor(Toolbox([fine, stop, hold], policy=Looking()), limits=NARROW) as supervisor,
        supervisor.events(ExecutionAdmitted) as events,
    ):
        supervisor.start(ToolCall("hold"))
        supervisor.start(ToolCall("hold"))
        await trio.testing.wait_all_tasks_blocked()
        await supervisor.execute(ToolCall("stop"))
        while "fine" not in parents:
            event = await anext(events)
            if isinstance(event, ExecutionAdmitted):
                parents[event.tool_name] = event.parent_id

    assert parents["fine"] is None


@requirement("policing.told.harmless")
async def test_whom_we_tell_has_five_seconds(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Slow:
        async def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> None:
            await trio.sleep_forever()

    told = Told()
    fine = tool(name="fine", description="Work.", policy=told)(work)
    start = trio.current_time()
    with caplog.at_level(logging.WARNING):
        async with open_supervisor(Toolbox([fine], policy=Slow())) as supervisor:
            result = await supervisor.execute(ToolCall("fine"))
            answered_at = trio.current_time()
            assert told.heard == []

    assert end_of(result) == "success"
    assert answered_at == start
    assert trio.current_time() - start == pytest.approx(5.0)
    assert told.ends == ["success"]
    assert "longer than 5 s" in caplog.text


# -- while everything ends


class Careful(Told):
    """It takes a while to note what it is told."""

    async def after_execute(self, request: PolicyRequest, result: ToolResult[object], /) -> None:  # type: ignore[override]
        await trio.sleep(2)
        self.heard.append((request, result))


def careful() -> tuple[Careful, Toolbox]:
    policy = Careful()
    return policy, Toolbox([tool(name="fine", description="Work.")(work), hold], policy=policy)


@requirement("policing.told.shutdown")
@pytest.mark.parametrize("mode", ["abort", "drain"])
async def test_a_supervisor_is_not_left_before_they_were_told(
    mode: str, autojump_clock: trio.testing.MockClock
) -> None:
    policy, toolbox = careful()
    async with open_supervisor(toolbox) as supervisor:
        running = supervisor.start(ToolCall("fine", {"seconds": 1}))
        await trio.testing.wait_all_tasks_blocked()
        await supervisor.shutdown("abort" if mode == "abort" else "drain")

    assert policy.ends == [end_of(await running.result())] == ["CANCELLED" if mode == "abort" else "success"]


@requirement("policing.told.shutdown")
async def test_they_are_told_though_everything_is_cancelled_from_outside(
    autojump_clock: trio.testing.MockClock,
) -> None:
    policy, toolbox = careful()
    with trio.move_on_after(1):
        async with open_supervisor(toolbox) as supervisor:
            supervisor.start(ToolCall("fine"))
            supervisor.start(ToolCall("hold"))
            await trio.sleep_forever()

    assert sorted(policy.ends) == ["CANCELLED", "success"]


@requirement("policing.told.shutdown")
async def test_they_are_told_though_the_host_fails(autojump_clock: trio.testing.MockClock) -> None:
    policy, toolbox = careful()

    async def host() -> None:
        async with open_supervisor(toolbox) as supervisor:
            supervisor.start(ToolCall("hold"))
            await trio.testing.wait_all_tasks_blocked()
            raise LookupError

    with pytest.raises(LookupError):
        await host()

    assert policy.ends == ["CANCELLED"]
