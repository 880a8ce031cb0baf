"""Hooks that answer later, and hooks that raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
import trio
import trio.testing

from armory_trio import (
    Supervisor,
    Toolbox,
    ToolCall,
    open_supervisor,
)
from armory_trio.authority.policy import BeforeExecute, PolicyRequest
from tests.engine.cancelling import assert_nothing_is_held
from tests.requirements import requirement

from .policies import LATER, WHOSE, Deciding, end_of, look, paying, stray_cancelled

PAY: Final = ToolCall("pay", {"cents": 1}, "call-1")


class Slow:
    """A hook that waits until it may answer, and notes whether it was cancelled."""

    def __init__(self, *, swallows: float = 0.0) -> None:
        self.swallows = swallows
        self.asked = self.cancelled = 0
        self.go = trio.Event()

    async def __call__(self, request: PolicyRequest) -> object:
        self.asked += 1
        try:
            await self.go.wait()
        except trio.Cancelled:
            self.cancelled += 1
            if not self.swallows:
                raise
            with trio.CancelScope(shield=True):
                await trio.sleep(self.swallows)
        return True


# -- waiting


@requirement("policing.waiting")
@WHOSE
async def test_a_call_is_queued_while_its_hook_decides(whose: str) -> None:
    hook = Slow()
    pay, toolbox = paying(hook, whose)
    async with open_supervisor(toolbox) as supervisor:
        running = supervisor.start(PAY)
        await trio.testing.wait_all_tasks_blocked()
        waiting = running.snapshot
        assert pay.ran == []
        hook.go.set()
        result = await running.result()

    assert (waiting.state, waiting.waits_for, waiting.attempts) == ("queued", "policy", 0)
    assert running.snapshot.waits_for is None
    assert (result.outcome, pay.ran, hook.asked) == ("success", [(1, "bob")], 1)


@requirement("policing.waiting")
@WHOSE
async def test_a_call_that_is_aborted_while_its_hook_decides_never_begins(whose: str) -> None:
    hook = Slow()
    pay, toolbox = paying(hook, whose)
    async with open_supervisor(toolbox) as supervisor:
        running = supervisor.start(PAY)
        await trio.testing.wait_all_tasks_blocked()
        answer = running.abort("no longer wanted")
        at_once = running.snapshot
        result = await running.result()
        await trio.testing.wait_all_tasks_blocked()
        after = running.snapshot
        assert_nothing_is_held(supervisor)

    assert answer == "not-started"
    assert (at_once.state, at_once.waits_for) == ("abort-requested", "policy")
    assert (after.state, after.waits_for, after.effect) == ("terminal", None, "none")
    assert (end_of(result), result.effect, result.attempts) == ("NOT_STARTED", "none", 0)
    assert (hook.cancelled, pay.ran) == (1, [])


@requirement("policing.waiting")
@WHOSE
async def test_a_deadline_ends_a_hook_that_decides_too_late(whose: str, autojump_clock: trio.testing.MockClock) -> None:
    hook = Slow()
    pay, toolbox = paying(hook, whose)
    async with open_supervisor(toolbox) as supervisor:
        start = trio.current_time()
        result = await supervisor.execute(PAY, deadline=start + 3)
        assert trio.current_time() == start + 3

    assert (end_of(result), result.effect, result.attempts) == ("DEADLINE_EXCEEDED", "none", 0)
    assert (hook.cancelled, pay.ran) == (1, [])


@requirement("policing.waiting")
async def test_a_time_limit_of_the_tool_does_not_count_while_a_hook_decides(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def thinks(request: PolicyRequest) -> object:
        await trio.sleep(100)
        return None

    pay, toolbox = paying(thinks, "toolbox")
    async with open_supervisor(toolbox) as supervisor:
        result = await supervisor.execute(PAY, timeout=1, idle_timeout=1)

    assert (result.outcome, pay.ran) == ("success", [(1, "bob")])


@requirement("policing.waiting")
async def test_a_hook_that_will_not_be_cancelled_is_waited_for_and_its_yes_counts_for_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    hook = Slow(swallows=3)
    pay, toolbox = paying(hook, "toolbox")
    async with open_supervisor(toolbox) as supervisor:
        running = supervisor.start(PAY)
        await trio.testing.wait_all_tasks_blocked()
        running.abort("no longer wanted")
        result = await running.result()
        await trio.sleep(1)
        meanwhile = running.snapshot
        await trio.sleep(3)
        after = running.snapshot

    assert (meanwhile.state, meanwhile.effect) == ("abort-requested", "none")
    assert (after.state, after.effect) == ("terminal", "none")
    assert (end_of(result), result.effect, pay.ran) == ("NOT_STARTED", "none", [])


@requirement("policing.waiting")
async def test_a_host_that_is_cancelled_while_a_hook_decides_leaves_nothing_behind(
    autojump_clock: trio.testing.MockClock,
) -> None:
    hook = Slow()
    pay, toolbox = paying(hook, "toolbox")
    async with open_supervisor(toolbox) as supervisor:
        with trio.move_on_after(1):
            await supervisor.execute(PAY)
        await trio.testing.wait_all_tasks_blocked()
        assert_nothing_is_held(supervisor)

    assert (hook.cancelled, pay.ran) == (1, [])


@requirement("policing.waiting")
@pytest.mark.parametrize("mode", ["abort", "drain"])
async def test_a_shutdown_ends_a_hook_or_waits_for_it(mode: str, autojump_clock: trio.testing.MockClock) -> None:
    hook = Slow()
    pay, toolbox = paying(hook, "tool")
    async with open_supervisor(toolbox) as supervisor, trio.open_nursery() as nursery:
        running = supervisor.start(PAY)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(supervisor.shutdown, "abort" if mode == "abort" else "drain")
        await trio.testing.wait_all_tasks_blocked()
        hook.go.set()

    result = await running.result()
    assert (end_of(result), pay.ran) == (("NOT_STARTED", []) if mode == "abort" else ("success", [(1, "bob")]))


# -- raising


RAISED: Final[dict[str, Callable[[], BaseException]]] = {
    "an exception": lambda: ValueError("password=hunter2"),
    "a group": lambda: ExceptionGroup("password=hunter2", [ValueError("x")]),
    "SystemExit": lambda: SystemExit("password=hunter2"),
    "GeneratorExit": lambda: GeneratorExit("password=hunter2"),
    "a group of others": lambda: BaseExceptionGroup("password=hunter2", [GeneratorExit(), ValueError("x")]),
    "a stray Cancelled": stray_cancelled,
    "StopIteration": lambda: StopIteration("password=hunter2"),
    "StopAsyncIteration": lambda: StopAsyncIteration("password=hunter2"),
}


def raising(make: Callable[[], BaseException], *, later: bool) -> BeforeExecute:
    def at_once(request: PolicyRequest) -> object:
        if request.tool_name == "pay":
            raise make()
        return None

    async def afterwards(request: PolicyRequest) -> object:
        await trio.lowlevel.checkpoint()
        return at_once(request)

    return afterwards if later else at_once


@requirement("policing.raises")
@LATER
@WHOSE
@pytest.mark.parametrize("what", RAISED)
async def test_a_hook_that_raises_denies_its_own_call_and_no_other(what: str, whose: str, later: bool) -> None:
    pay, toolbox = paying(raising(RAISED[what], later=later), whose)
    async with open_supervisor(toolbox) as supervisor:
        result, other = await supervisor.execute_batch([PAY, ToolCall("look")])
        nested = await supervisor.execute(ToolCall("relay", {"name": "pay", "arguments": {"cents": 1}}))
        assert_nothing_is_held(supervisor)

    assert (end_of(result), result.effect, result.attempts, pay.ran) == ("POLICY_DENIED", "none", 0, [])
    assert result.error is not None and result.error.category == "permission"
    assert "hunter2" not in result.text
    assert other.value == "seen"
    assert nested.value == "POLICY_DENIED"


@requirement("policing.raises")
@LATER
@WHOSE
async def test_a_keyboard_interrupt_in_a_hook_ends_the_program(whose: str, later: bool) -> None:
    pay, toolbox = paying(raising(KeyboardInterrupt, later=later), whose)
    supervisors: list[Supervisor] = []

    async def host() -> None:
        async with open_supervisor(toolbox) as supervisor:
            supervisors.append(supervisor)
            await supervisor.execute(PAY)

    with pytest.raises(KeyboardInterrupt):
        await host()

    assert pay.ran == []
    assert_nothing_is_held(supervisors[0])


@requirement("policing.waiting")
async def test_hooks_of_many_calls_decide_side_by_side(autojump_clock: trio.testing.MockClock) -> None:
    async def thinks(request: PolicyRequest) -> object:
        await trio.sleep(1)
        return None

    policy = Deciding(thinks)
    async with open_supervisor(Toolbox([look], policy=policy)) as supervisor:
        start = trio.current_time()
        results = await supervisor.execute_batch([ToolCall("look")] * 50)
        assert trio.current_time() == start + 1

    assert {end_of(result) for result in results} == {"success"}
    assert len(policy.asked) == len(policy.heard) == 50
