"""Storms: what the engine promises holds whatever is cancelled when, however deep calls nest, whatever tools raise."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest
import trio

from armory_trio import (
    AdmissionClosed,
    BatchError,
    ElicitAccepted,
    ElicitAnswer,
    ElicitCancelled,
    ElicitRequest,
    ExecutionOver,
    ExecutionSettled,
    Lagged,
    Limits,
    Overloaded,
    Retention,
    ShutdownFromInside,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from tests.engine.tools import count, sleep, stubborn
from tests.requirements import requirement


@tool(concurrency=2)
async def crowded(seconds: float, ctx: ToolContext) -> str:
    """Work where few fit in."""
    ctx.progress(10)
    await trio.sleep(seconds)
    return "worked"


@tool(grace=0.02, timeout=0.2)
async def patient(seconds: float, ctx: ToolContext) -> str:
    """Stop when asked, in its own time."""
    with trio.move_on_after(seconds):
        await ctx.wait_abort_requested()
    return "stopped"


@tool
async def rude(seconds: float) -> str:
    """Raise what no tool should."""
    await trio.sleep(seconds)
    raise SystemExit(3)


@tool
async def fan(depth: int, seconds: float, ctx: ToolContext) -> str:
    """Call others side by side, and itself."""

    async def one(name: str) -> None:
        await ctx.call(name, {"seconds": seconds})

    async with trio.open_nursery() as nursery:
        for name in ("crowded", "sleep", "stubborn", "rude"):
            nursery.start_soon(one, name)
        if depth:
            await ctx.call("fan", {"depth": depth - 1, "seconds": seconds})
    return "fanned"


@tool
async def dive(depth: int, ctx: ToolContext) -> str:
    """Call itself, and wait at the bottom."""
    if depth:
        return str((await ctx.call("dive", {"depth": depth - 1})).outcome)
    await trio.sleep(10_000)
    return "never"


def _available(_: Mapping[str, object]) -> Awaitable[bool]:
    async def ask() -> bool:
        await trio.sleep(0.01)
        return True

    return ask()


@tool(availability=_available, writes=("ledger",))
async def asked(seconds: float) -> str:
    """Run once it is known to be available."""
    await trio.sleep(seconds)
    return "asked"


STORM = Toolbox([crowded, patient, rude, fan, asked, sleep, stubborn, count])


async def _one_request(supervisor: Supervisor, rng: random.Random) -> None:
    seconds = rng.random() * 0.2
    calls = [ToolCall(name, {"seconds": seconds}) for name in ("crowded", "patient", "rude", "asked", "stubborn")]
    calls.append(ToolCall("fan", {"depth": rng.randint(0, 2), "seconds": seconds}))
    call, owner = rng.choice(calls), rng.choice(["ann", "bob", None])
    match rng.randint(0, 4):
        case 0:
            await supervisor.execute(call, owner_id=owner, timeout=rng.choice([0.05, None]))
        case 1:
            execution = supervisor.start(call, owner_id=owner, deadline=trio.current_time() + rng.random() * 0.3)
            await trio.sleep(rng.random() * 0.1)
            execution.abort()
            await execution.settled()
        case 2:
            async with supervisor.stream(ToolCall("count", {"upto": 9, "pause": seconds / 9})) as stream:
                async for _ in stream:
                    if rng.random() < 0.2:
                        break
        case 3:
            mode, on_error = rng.choice(["parallel", "sequential"]), rng.choice(["collect", "fail_fast"])
            some = rng.sample(calls, 4)
            await supervisor.execute_batch(
                some,
                mode="parallel" if mode == "parallel" else "sequential",
                on_error="collect" if on_error == "collect" else "fail_fast",
                concurrency=rng.choice([None, 2]),
                owner_id=owner,
            )
        case _:
            supervisor.abort("a storm", owner_id="ann")


async def _client(supervisor: Supervisor, rng: random.Random) -> None:
    for _ in range(6):
        await trio.sleep(rng.random() * 0.1)
        with trio.move_on_after(rng.choice([rng.random() * 0.2, 1000.0])):
            try:
                await _one_request(supervisor, rng)
            except (AdmissionClosed, BatchError, Overloaded):
                continue


def assert_nothing_is_left(supervisor: Supervisor) -> None:
    core = supervisor._core  # pyright: ignore[reportPrivateUsage]  # what is held shows nowhere else
    assert supervisor.active == 0
    assert [name for name, (used, _) in core.planner.usage().items() if used] == []
    assert core.planner.waiting_count == 0
    assert core.bugs == []


@requirement("engine.storm")
@pytest.mark.parametrize("seed", range(40))
async def test_a_storm_leaves_nothing_behind_and_settles_everything_once(
    seed: int, autojump_clock: trio.abc.Clock
) -> None:
    rng = random.Random(seed)  # noqa: S311  # a storm that can be repeated
    limits = Limits(concurrent=rng.choice([None, 1, 4]), per_owner=rng.choice([None, 2]), queued=rng.choice([None, 4]))
    settled: Counter[str] = Counter()
    revisions: dict[str, int] = {}
    async with (
        open_supervisor(STORM, limits=limits, retention=Retention(100_000), drain_for=0.3) as supervisor,
        supervisor.events(ExecutionSettled, buffer=100_000) as events,
        supervisor.executions.subscribe() as updates,
        trio.open_nursery() as watchers,
    ):

        async def follow_events() -> None:
            async for event in events:
                assert not isinstance(event, Lagged)
                settled[event.execution_id] += 1

        async def follow_updates() -> None:
            async for snapshot in updates:
                assert snapshot.revision > revisions.get(snapshot.execution_id, 0)
                revisions[snapshot.execution_id] = snapshot.revision

        watchers.start_soon(follow_events)
        watchers.start_soon(follow_updates)
        with trio.move_on_after(rng.choice([0.3, 1000.0])):
            async with trio.open_nursery() as clients:
                for _ in range(8):
                    clients.start_soon(_client, supervisor, rng)
        await supervisor.shutdown("abort" if rng.random() < 0.5 else "drain")
        await supervisor.wait_idle()
        await trio.sleep(1)
        watchers.cancel_scope.cancel()
    shown = supervisor.executions.inspect()
    assert set(settled) == {snapshot.execution_id for snapshot in shown}
    assert set(settled.values()) <= {1}
    assert {snapshot.execution_id: snapshot.revision for snapshot in shown} == revisions
    assert_nothing_is_left(supervisor)


class _CancelAfter(trio.abc.Instrument):
    """Cancels a scope before a given step of the scheduler."""

    def __init__(self, scope: trio.CancelScope, steps: int) -> None:
        self._scope = scope
        self._steps = steps

    def before_task_step(self, task: trio.lowlevel.Task) -> None:  # trio's signature
        self._steps -= 1
        if self._steps == 0:
            self._scope.cancel()


async def _under(scope: trio.CancelScope, steps: int, work: Callable[[], Awaitable[object]]) -> None:
    instrument = _CancelAfter(scope, steps)
    trio.lowlevel.add_instrument(instrument)
    try:
        with scope:
            await work()
    finally:
        trio.lowlevel.remove_instrument(instrument)


@requirement("engine.cancelled-anywhere")
@pytest.mark.parametrize("steps", range(1, 50))
async def test_a_supervisor_that_is_cancelled_at_any_step_ends_with_everything_settled(
    steps: int, autojump_clock: trio.abc.Clock
) -> None:
    opened: list[Supervisor] = []

    async def work() -> None:
        async with open_supervisor(STORM) as supervisor, trio.open_nursery() as nursery:
            opened.append(supervisor)
            nursery.start_soon(supervisor.execute, ToolCall("fan", {"depth": 1, "seconds": 0.1}))
            nursery.start_soon(supervisor.execute_batch, [ToolCall("asked", {"seconds": 0.1})] * 2)
            supervisor.start(ToolCall("crowded", {"seconds": 0.1}))

    await _under(trio.CancelScope(), steps, work)
    for supervisor in opened:
        assert_nothing_is_left(supervisor)
        assert supervisor.report is not None
        assert supervisor.report.unfinished == ()


@requirement("engine.deep-nesting")
@pytest.mark.parametrize("how", ["abort", "deadline", "shutdown"])
async def test_calls_that_nest_deeper_than_pythons_stack_are_stopped_like_any_other(
    how: str, autojump_clock: trio.abc.Clock
) -> None:
    async with open_supervisor(Toolbox([dive]), retention=Retention(5000)) as supervisor:
        top = supervisor.start(ToolCall("dive", {"depth": 1500}), timeout=5.0)
        await trio.sleep(1)
        assert top.snapshot.effect == "unknown"
        assert supervisor.active == 1501
        if how == "abort":
            assert top.abort() == "requested"
        elif how == "shutdown":
            await supervisor.shutdown("abort")
        await top.settled()
        await supervisor.wait_idle()
        assert all(snapshot.outcome == "error" for snapshot in supervisor.executions.inspect())
    assert_nothing_is_left(supervisor)


@requirement("engine.user-code-raises")
@pytest.mark.parametrize("where", ["availability", "async availability", "reads"])
async def test_a_hook_that_raises_systemexit_ends_its_own_call_only(where: str, autojump_clock: trio.abc.Clock) -> None:
    def leave(_: Mapping[str, object]) -> bool:
        raise SystemExit(1)

    async def leave_later(_: Mapping[str, object]) -> bool:
        await trio.sleep(0.1)
        raise SystemExit(1)

    def no_names(_: Mapping[str, object]) -> list[str]:
        raise SystemExit(1)

    async def work() -> str:
        """Never runs."""
        return "ran"

    if where == "reads":
        hooked = tool(reads=no_names)(work)
    else:
        hooked = tool(availability=leave if where == "availability" else leave_later)(work)
    async with open_supervisor(Toolbox([hooked, sleep])) as supervisor:
        other = supervisor.start(ToolCall("sleep", {"seconds": 1}))
        result = await supervisor.execute(ToolCall("work"))
        assert result.error is not None
        assert result.error.code == ("INTERNAL_ERROR" if where == "reads" else "TOOL_UNAVAILABLE")
        assert (await other.result()).outcome == "success"
    assert_nothing_is_left(supervisor)


class _Nameless(BaseException):
    def __str__(self) -> str:
        raise SystemExit(1)


@requirement("engine.user-code-raises")
async def test_an_exception_whose_text_raises_and_a_group_of_any_depth_are_that_calls_failure() -> None:
    bottom: list[Exception] = [ValueError("at the bottom")]
    for _ in range(3000):
        bottom = [ExceptionGroup("one more", bottom)]

    @tool
    async def fail(deeply: bool) -> str:
        """Fail."""
        raise bottom[0] if deeply else _Nameless

    async with open_supervisor(Toolbox([fail])) as supervisor:
        nameless = await supervisor.execute(ToolCall("fail", {"deeply": False}))
        grouped = await supervisor.execute(ToolCall("fail", {"deeply": True}))
    assert nameless.error is not None
    assert nameless.error.message == "_Nameless"
    assert grouped.error is not None
    assert grouped.error.message == "ValueError: at the bottom"
    assert_nothing_is_left(supervisor)


@requirement("engine.across-supervisors")
async def test_a_call_that_comes_back_through_another_supervisor_is_nested(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([]), drain_for=1) as nowhere:
        there: list[Supervisor] = [nowhere, nowhere]

        @tool
        async def leave() -> str:
            """Call over there."""
            return str((await there[1].execute(ToolCall("come_back"))).unwrap())

        @tool
        async def come_back() -> str:
            """Call back, and try to wait for the end of the caller."""
            with pytest.raises(ShutdownFromInside):
                await there[0].wait_idle()
            return str((await there[0].execute(ToolCall("sleep", {"seconds": 0.1}))).unwrap())

        async with (
            open_supervisor(Toolbox([leave, sleep]), limits=Limits(concurrent=1)) as one,
            open_supervisor(Toolbox([come_back]), limits=Limits(concurrent=1)) as two,
        ):
            there[:] = [one, two]
            with trio.fail_after(10):
                assert (await one.execute(ToolCall("leave"))).unwrap() == "slept"
            first, second = one.executions.inspect()
            assert second.parent_id == first.execution_id


@requirement("engine.left-behind-waits")
async def test_what_waits_on_a_context_whose_execution_ended_does_not_wait_for_ever(
    autojump_clock: trio.abc.Clock,
) -> None:
    ended: list[str] = []

    async def think(_: ElicitRequest) -> ElicitAnswer:
        await trio.sleep(1000)
        return ElicitAccepted({})

    async with trio.open_nursery() as host:

        @tool
        async def forgetful(ctx: ToolContext) -> str:
            """Leave tasks behind with the host."""

            async def wait() -> None:
                with pytest.raises(ExecutionOver):
                    await ctx.wait_abort_requested()
                ended.append("wait")

            async def ask() -> None:
                assert await ctx.elicit("which?") == ElicitCancelled()
                ended.append("ask")

            host.start_soon(wait)
            host.start_soon(ask)
            await trio.sleep(0.1)
            return "gone"

        with trio.fail_after(10):
            async with open_supervisor(Toolbox([forgetful])) as supervisor:
                assert (await supervisor.execute(ToolCall("forgetful"), elicit=think)).outcome == "success"
                await trio.sleep(1)
    assert sorted(ended) == ["ask", "wait"]


@requirement("engine.cancelled-reader")
async def test_a_reader_that_is_cancelled_already_starts_no_stream() -> None:
    entered: list[int] = []

    @tool
    async def flow() -> AsyncIterator[int]:
        """Say one thing."""
        entered.append(1)
        yield 1

    async with open_supervisor(Toolbox([flow])) as supervisor:
        for _ in range(20):
            with trio.CancelScope() as scope:
                scope.cancel()
                async with supervisor.stream(ToolCall("flow")) as stream:
                    async for _chunk in stream:
                        pass
            assert scope.cancelled_caught
    assert entered == []


@requirement("engine.timers-bounded")
async def test_many_questions_leave_one_idle_timer_each_execution(autojump_clock: trio.abc.Clock) -> None:
    async def answer(_: ElicitRequest) -> ElicitAnswer:
        await trio.sleep(0.01)
        return ElicitAccepted({})

    @tool
    async def curious(ctx: ToolContext) -> int:
        """Ask a lot, then rest, and count the timers that are left."""
        for _ in range(200):
            await ctx.elicit("again?")
        for _ in range(4):
            await trio.sleep(1)
            ctx.progress(50)
        return len(supervisor._core.timers)  # pyright: ignore[reportPrivateUsage]  # shows nowhere else

    async with open_supervisor(Toolbox([curious])) as supervisor:
        result = await supervisor.execute(ToolCall("curious"), elicit=answer, idle_timeout=1.5)
    assert result.value == 1
