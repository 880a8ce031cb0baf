"""Hooks that reach into the supervisor while they decide."""

from __future__ import annotations

from typing import Final

import pytest
import trio
import trio.testing

from armory_trio import (
    AdmissionClosed,
    Execution,
    ExecutionAdmitted,
    Limits,
    LiveToolbox,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import BeforeExecute, PolicyRequest
from armory_trio.errors import ShutdownFromInside
from tests.engine.cancelling import assert_nothing_is_held
from tests.requirements import requirement

from .policies import LATER, WHOSE, always, end_of, look, paying

PAY: Final = ToolCall("pay", {"cents": 1}, "call-1")


# -- reaching into the supervisor


@requirement("policing.from-inside")
@LATER
@WHOSE
async def test_a_hook_may_abort_its_own_call(whose: str, later: bool) -> None:
    def at_once(request: PolicyRequest) -> object:
        supervisors[0].abort("I have seen enough", call_id="call-1")
        return True

    async def afterwards(request: PolicyRequest) -> object:
        at_once(request)
        await trio.lowlevel.checkpoint()
        return True

    supervisors: list[Supervisor] = []
    pay, toolbox = paying(afterwards if later else at_once, whose)
    async with open_supervisor(toolbox, limits=Limits(concurrent=1)) as supervisor:
        supervisors.append(supervisor)
        result = await supervisor.execute(PAY)
        await trio.testing.wait_all_tasks_blocked()
        assert_nothing_is_held(supervisor)

    assert (end_of(result), result.effect, pay.ran) == ("NOT_STARTED", "none", [])
    assert result.error is not None and "seen enough" in result.error.message


@requirement("policing.from-inside")
@LATER
async def test_a_hook_may_close_admission_and_its_own_call_still_runs(later: bool) -> None:
    def at_once(request: PolicyRequest) -> object:
        supervisors[0].close_admission("enough for today")
        return True

    async def afterwards(request: PolicyRequest) -> object:
        await trio.lowlevel.checkpoint()
        return at_once(request)

    supervisors: list[Supervisor] = []
    pay, toolbox = paying(afterwards if later else at_once, "toolbox")
    async with open_supervisor(toolbox) as supervisor:
        supervisors.append(supervisor)
        result = await supervisor.execute(PAY)
        with pytest.raises(AdmissionClosed):
            await supervisor.execute(PAY)

    assert (result.outcome, pay.ran) == ("success", [(1, "bob")])


@requirement("policing.from-inside")
async def test_a_hook_that_would_shut_down_what_waits_for_it_is_refused_and_denies() -> None:
    refused: list[str] = []

    async def hook(request: PolicyRequest) -> object:
        try:
            await current_supervisor().shutdown()
        except ShutdownFromInside as exc:
            refused.append(type(exc).__name__)
            raise
        return True

    pay, toolbox = paying(hook, "toolbox")
    async with open_supervisor(toolbox) as supervisor:
        result = await supervisor.execute(PAY)

    assert (end_of(result), pay.ran, refused) == ("POLICY_DENIED", [], ["ShutdownFromInside"])


def asking_first(supervisors: list[Supervisor], *, answer: bool = True) -> BeforeExecute:
    """A hook that makes a call of its own before it decides about a payment of one cent."""

    async def hook(request: PolicyRequest) -> object:
        if request.arguments.get("cents") == 1:
            with trio.fail_after(100):
                before = await supervisors[0].execute(ToolCall("pay", {"cents": 2}))
            assert before.outcome == "success"
            return answer
        return True

    return hook


@requirement("policing.from-inside")
async def test_a_hook_may_make_a_call_though_only_one_may_run_at_once(autojump_clock: trio.testing.MockClock) -> None:
    supervisors: list[Supervisor] = []
    pay, toolbox = paying(asking_first(supervisors), "toolbox")
    async with open_supervisor(toolbox, limits=Limits(concurrent=1)) as supervisor:
        supervisors.append(supervisor)
        result = await supervisor.execute(PAY)
        nested = await supervisor.execute(ToolCall("relay", {"name": "look", "arguments": {}}))
        assert_nothing_is_held(supervisor)

    assert (result.outcome, pay.ran) == ("success", [(2, "bob"), (1, "bob")])
    assert end_of(nested) == "success"


@requirement("policing.from-inside")
async def test_a_call_whose_hook_made_one_keeps_within_its_limits(autojump_clock: trio.testing.MockClock) -> None:
    running = most = 0
    supervisors: list[Supervisor] = []

    @tool(concurrency=1)
    async def pay(cents: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1

    async with open_supervisor(Toolbox([pay], policy=asking_first(supervisors))) as supervisor:
        supervisors.append(supervisor)
        results = await supervisor.execute_batch([ToolCall("pay", {"cents": 1}) for _ in range(5)])

    assert {end_of(result) for result in results} == {"success"}
    assert most == 1


@requirement("policing.from-inside")
async def test_a_hooks_calls_are_nested_in_the_call_that_it_decides_about_and_so_is_their_effect() -> None:
    supervisors: list[Supervisor] = []
    pay, toolbox = paying(asking_first(supervisors, answer=False), "toolbox")
    async with open_supervisor(toolbox) as supervisor, supervisor.events(ExecutionAdmitted) as events:
        supervisors.append(supervisor)
        result = await supervisor.execute(PAY)
        admitted = [await anext(events) for _ in range(2)]

    assert (end_of(result), result.effect, result.attempts) == ("POLICY_DENIED", "completed", 0)
    assert pay.ran == [(2, "bob")]
    parents = [event.parent_id for event in admitted if isinstance(event, ExecutionAdmitted)]
    assert parents == [None, result.execution_id]


@requirement("policing.from-inside")
async def test_result_and_snapshot_agree_about_what_the_calls_of_a_hook_did() -> None:
    supervisors: list[Supervisor] = []
    _, toolbox = paying(asking_first(supervisors, answer=False), "toolbox")
    async with open_supervisor(toolbox) as supervisor:
        supervisors.append(supervisor)
        running = supervisor.start(PAY)
        result = await running.result()

    assert running.snapshot.effect == result.effect


@requirement("policing.from-inside")
async def test_a_hook_may_call_the_very_tool_below_which_it_decides_though_it_runs_once_at_a_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    codes: list[str] = []

    @tool(concurrency=1)
    async def outer(ctx: ToolContext) -> str:
        return end_of(await ctx.call("look", {}))

    async def hook(request: PolicyRequest) -> object:
        if request.tool_name == "look" and not codes:
            codes.append("")
            codes.append(end_of(await current_supervisor().execute(ToolCall("outer"))))
        return True

    async with open_supervisor(Toolbox([outer, look], policy=hook)) as supervisor:
        with trio.fail_after(5):
            result = await supervisor.execute(ToolCall("outer"))

    assert codes == ["", "success"]
    assert result.value == "success"


@requirement("policing.from-inside")
async def test_a_call_that_was_aborted_by_the_function_that_answers_its_policy_context_holds_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    available = trio.Event()
    supervisors: list[Supervisor] = []

    async def is_available(context: object) -> bool:
        await available.wait()
        return True

    def abort_it() -> dict[str, object]:
        supervisors[0].abort("I have seen enough", call_id="call-1")
        return {}

    @tool(concurrency=1, availability=is_available)
    async def narrow() -> str:
        await trio.sleep(1)
        return "done"

    live = LiveToolbox(Toolbox([narrow], policy=always(True)))
    async with open_supervisor(live) as supervisor:
        supervisors.append(supervisor)
        aborted = supervisor.start(ToolCall("narrow", {}, "call-1"))
        await trio.testing.wait_all_tasks_blocked()
        live.swap(Toolbox([narrow], policy_context=abort_it))
        available.set()
        result = await aborted.result()
        assert_nothing_is_held(supervisor)
        with trio.fail_after(5):
            later = await supervisor.execute(ToolCall("narrow"))

    assert end_of(result) == "NOT_STARTED"
    assert later.value == "done"


@requirement("policing.from-inside")
async def test_a_hook_that_starts_a_call_waits_for_nothing_and_owns_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def hook(request: PolicyRequest) -> object:
        if request.tool_name == "pay":
            started.append(supervisors[0].start(ToolCall("look")))
            return False
        return True

    supervisors: list[Supervisor] = []
    started: list[Execution] = []
    _, toolbox = paying(hook, "tool")
    async with open_supervisor(toolbox) as supervisor:
        supervisors.append(supervisor)
        denied = await supervisor.execute(PAY)
        [other] = started
        assert (await other.result()).value == "seen"

    assert (end_of(denied), denied.effect) == ("POLICY_DENIED", "none")
