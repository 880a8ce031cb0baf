"""Threads that never begin, and threads that raise what does not want to be held."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final, Self

import outcome
import pytest
import trio

from armory_trio import (
    CallNext,
    Chunks,
    Effect,
    Limits,
    Middleware,
    MiddlewareCall,
    Semantics,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from tests.engine.cancelling import assert_nothing_is_held
from tests.engine.test_threads import PATIENCE, Blocker, happened
from tests.requirements import requirement

entered: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_was_entered() -> None:
    entered.clear()


@tool
def block() -> str:
    entered.append("block")
    return "done"


@tool
def count() -> Iterator[int]:
    entered.append("count")
    yield 1


def counting() -> Iterator[int]:
    entered.append("second half")
    yield 1


@tool
def halves() -> object:
    entered.append("first half")
    return counting()


TOOLS: Final = (block, count, halves)


# -- a scope that was cancelled before


@tool
async def coroutine() -> str:
    entered.append("coroutine")
    await trio.lowlevel.checkpoint()
    return "done"


@tool(placement="task")
def inline() -> str:
    entered.append("inline")
    return "done"


@tool
async def stream() -> AsyncIterator[int]:
    entered.append("stream")
    yield 1


NEVER: Final = Semantics(cancellation="unsupported")
never_stopped: Final = tool(name="never_stopped", semantics=NEVER)(block.function)
never_stopped_stream: Final = tool(name="never_stopped_stream", semantics=NEVER)(count.function)


async def give_up_at_once(run: Callable[[], Awaitable[object]]) -> object:
    with trio.CancelScope() as scope:
        scope.cancel()
        return await run()
    return "gave up"


async def too_late(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    return await give_up_at_once(call_next)


async def too_late_for_chunks(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    chunks = await call_next()
    assert isinstance(chunks, Chunks)
    return chunks.around(give_up_at_once)


@requirement("threads.never-began", "middleware.too-late")
@pytest.mark.parametrize("kind", [block, never_stopped, coroutine, inline], ids=lambda kind: str(kind.name))
async def test_a_tool_that_its_middleware_gave_up_before_it_began_is_not_begun(kind: Tool[..., object]) -> None:
    await not_begun(kind, too_late)


@requirement("threads.never-began", "middleware.too-late")
@pytest.mark.parametrize("kind", [count, never_stopped_stream, stream], ids=lambda kind: str(kind.name))
async def test_a_stream_that_its_middleware_gave_up_before_it_began_is_not_begun(kind: Tool[..., object]) -> None:
    await not_begun(kind, too_late_for_chunks)


async def not_begun(kind: Tool[..., object], middleware: Middleware) -> None:
    async with open_supervisor(Toolbox([kind], middleware=[middleware]), limits=Limits(threads=1)) as supervisor:
        with trio.fail_after(PATIENCE):
            for _ in range(2):  # the one place for threads is free again
                execution = supervisor.start(ToolCall(kind.name))
                result = await execution.result()
                shot = await execution.settled()
                assert (result.value, result.effect, result.attempts) == ("gave up", "none", 0)
                assert (shot.state, shot.abort) == ("terminal", None)
    assert entered == []
    assert_nothing_is_held(supervisor)


@requirement("threads.never-began")
async def test_a_thread_of_a_supervisor_that_falls_first_has_done_nothing() -> None:
    async with open_supervisor(Toolbox([block])) as supervisor:
        execution = supervisor.start(ToolCall("block"))
        supervisor._core.nursery.cancel_scope.cancel()  # pyright: ignore[reportPrivateUsage]  # as when it falls
    assert entered == []
    shot = execution.snapshot
    assert (shot.effect, shot.state) == ("none", "terminal")
    assert_nothing_is_held(supervisor)


@requirement("threads.never-began")
async def test_a_call_that_is_stopped_between_its_two_halves_does_not_wait_for_the_second() -> None:
    supervisors: list[Supervisor] = []

    async def between() -> object:
        supervisors[0].abort("enough", tool_name="work")  # and nothing that would look whether it was
        return counting()

    @tool
    def work() -> object:
        entered.append("first half")
        return between()

    async with open_supervisor(Toolbox([work]), limits=Limits(threads=1)) as supervisor:
        supervisors.append(supervisor)
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            result = await execution.result()
            await supervisor.wait_idle()

    assert result.error is not None and result.error.code == "CANCELLED"
    assert entered == ["first half"]
    shot = execution.snapshot
    assert (shot.state, shot.effect, shot.cleanup) == ("unknown-effect", "unknown", "completed")
    assert shot.ended_at is not None
    assert_nothing_is_held(supervisor)


# -- a system that has no more threads


async def pass_on(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    return await call_next()


@requirement("threads.never-began")
@pytest.mark.parametrize("middleware", [[], [pass_on]], ids=["bare", "wrapped"])
@pytest.mark.parametrize(
    ("name", "has", "effect", "ran"),
    [("block", 0, "none", []), ("count", 0, "none", []), ("halves", 1, "unknown", ["first half"])],
)
async def test_a_thread_that_could_not_be_started_has_done_nothing_but_what_one_before_it_did(
    name: str, has: int, effect: Effect, ran: list[str], middleware: list[Middleware], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [has]

    def start(work: Callable[[], object], tell: Callable[[outcome.Outcome[object]], object], called: str) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        trio.lowlevel.start_thread_soon(work, tell, called)

    async with open_supervisor(Toolbox(TOOLS, middleware=middleware)) as supervisor:
        with trio.fail_after(PATIENCE):
            monkeypatch.setattr("trio._threads.start_thread_soon", start)
            result = await supervisor.execute(ToolCall(name))
            monkeypatch.undo()
            again = await supervisor.execute(ToolCall("block"))

    assert result.error is not None and result.error.code == "INTERNAL_ERROR"
    assert "can't start new thread" in result.error.message
    assert result.effect == effect
    assert entered == [*ran, "block"]
    assert again.value == "done"
    assert_nothing_is_held(supervisor)


# -- what does not want to be held


class Held(Exception):
    """Does not let go of where it was raised."""

    def with_traceback(self, tb: object, /) -> Self:
        raise SystemExit(5)


@requirement("threads.exceptions")
async def test_an_exception_that_refuses_to_be_handled_is_that_calls_own_failure() -> None:
    @tool
    def breaks() -> str:
        raise Held("no")

    async with open_supervisor(Toolbox([breaks, block]), limits=Limits(threads=1)) as supervisor:
        with trio.fail_after(PATIENCE):
            result = await supervisor.execute(ToolCall("breaks"))
            after = await supervisor.execute(ToolCall("block"))

    assert result.error is not None and result.error.message == "Held: no"
    assert (result.effect, after.value) == ("unknown", "done")


async def stopped(raised: type[BaseException]) -> tuple[Supervisor, list[str]]:
    """A supervisor whose only thread was left behind, and raised then."""
    blocker, codes = Blocker(), list[str]()

    @tool
    def breaks() -> str:
        blocker.block()
        raise raised("no")

    opened: list[Supervisor] = []
    try:
        with trio.fail_after(PATIENCE):
            async with open_supervisor(Toolbox([breaks])) as supervisor:
                opened.append(supervisor)
                execution = supervisor.start(ToolCall("breaks"))
                await happened(blocker.began)
                execution.abort("enough")
                result = await execution.result()
                assert result.error is not None
                codes.append(str(result.error.code))
                blocker.let_go.set()
                await supervisor.wait_idle()
                shot = await execution.settled()
                codes.append(shot.cleanup)
    finally:
        blocker.let_go.set()
        assert_nothing_is_held(opened[0])
    return opened[0], codes


@requirement("threads.exceptions", "threads.late-end")
async def test_the_end_of_a_thread_that_was_left_behind_is_recorded_whatever_it_raises() -> None:
    supervisor, codes = await stopped(Held)

    assert codes == ["CANCELLED", "failed"]
    assert supervisor.report is not None and supervisor.report.abandoned_threads == ()


@requirement("engine.faults.interrupt")
async def test_an_interrupt_in_a_thread_that_was_left_behind_leaves_bare_too() -> None:
    with pytest.raises(KeyboardInterrupt, match="no"):
        await stopped(KeyboardInterrupt)
