"""Middleware that is stopped, stops its tool, or lets go of it: what the caller is told, and what may have happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, Literal, TypedDict, cast

import pytest
import trio
import trio.testing

from armory_trio import (
    CallNext,
    Chunks,
    Middleware,
    MiddlewareCall,
    ProgressReported,
    Semantics,
    Snapshot,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    define_tool,
    lazy,
    open_supervisor,
    tool,
)
from armory_trio.errors import AdmissionClosed, ExecutionAborted, ExecutionOver
from tests.engine.placement._tools import TOOLS
from tests.engine.test_threads import Blocker, happened, reaches
from tests.engine.tools import sleep, watch
from tests.requirements import requirement

PATIENCE: Final = 30
SLEEP: Final = ToolCall("sleep", {"seconds": 10.0})
Stop = Literal["abort", "timeout", "deadline", "idle", "drain"]


def around(*middleware: Middleware, tools: tuple[Tool[..., object], ...] = (sleep, watch)) -> Toolbox:
    return Toolbox(tools, middleware=middleware)


def waiting(before: float, after: float) -> Middleware:
    """Waits for so many seconds before and after the tool."""

    async def wait(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        await trio.sleep(before)
        value = await call_next()
        await trio.sleep(after)
        return value

    return wait


def giving_up(after: float, *, instead: object = "gave up") -> Middleware:
    """Waits so long for the tool, and answers something else then."""

    async def give_up(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        with trio.move_on_after(after):
            return await call_next()
        return instead

    return give_up


async def stop(supervisor: Supervisor, call: ToolCall, how: Stop) -> tuple[ToolResult[object], Snapshot]:
    """Start *call*, and have it stopped after a second."""
    if how in ("timeout", "idle"):
        execution = (
            supervisor.start(call, timeout=1.0) if how == "timeout" else supervisor.start(call, idle_timeout=1.0)
        )
    elif how == "deadline":
        execution = supervisor.start(call, deadline=trio.current_time() + 1.0)
    else:
        execution = supervisor.start(call)
        await trio.sleep(1)
        if how == "abort":
            execution.abort("enough")
        else:
            await supervisor.shutdown("drain", drain_for=1.0)
    return await execution.result(), await execution.settled()


CODES: Final = {
    "abort": "CANCELLED",
    "timeout": "TIMEOUT",
    "deadline": "DEADLINE_EXCEEDED",
    "idle": "IDLE_TIMEOUT",
    "drain": "CANCELLED",
}


# -- stopped inside a middleware


@requirement("middleware.stopped")
@pytest.mark.parametrize("how", list(CODES))
async def test_stopped_before_the_tool_began_it_never_ran(how: Stop, autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(around(waiting(100, 0))) as supervisor:
        result, snapshot = await stop(supervisor, SLEEP, how)

    assert result.error is not None
    assert result.error.code == {**CODES, "abort": "NOT_STARTED", "drain": "NOT_STARTED"}[how]
    assert (result.effect, result.attempts) == ("none", 0)
    assert (snapshot.state, snapshot.effect, snapshot.attempts) == ("terminal", "none", 0)


@requirement("middleware.stopped")
@pytest.mark.parametrize("how", list(CODES))
async def test_stopped_after_the_tool_ended_it_took_effect(how: Stop, autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(around(waiting(0, 100))) as supervisor:
        result, snapshot = await stop(supervisor, ToolCall("sleep", {"seconds": 0.0}), how)

    assert result.error is not None
    assert (result.error.code, result.error.retryable) == (CODES[how], False)
    assert (result.effect, result.attempts) == ("completed", 1)
    assert (snapshot.state, snapshot.effect) == ("terminal", "completed")


@requirement("middleware.stopped")
async def test_a_tool_is_not_begun_once_somebody_asked_to_stop_though_there_is_a_grace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    entered: list[str] = []
    raised: list[type[BaseException]] = []

    @tool(grace=10.0)
    async def change() -> str:
        entered.append("here")
        return "changed"

    async def slow(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        await trio.sleep(2)
        assert ctx.abort_requested
        assert not call_next.may_repeat
        try:
            return await call_next()
        except ExecutionAborted as exc:
            raised.append(type(exc))
            raise

    async with open_supervisor(around(slow, tools=(change,))) as supervisor:
        result, snapshot = await stop(supervisor, ToolCall("change"), "abort")

    assert (entered, raised) == ([], [ExecutionAborted])
    assert result.error is not None
    assert (result.error.code, result.error.message, result.effect) == ("NOT_STARTED", "enough", "none")
    assert snapshot.cleanup == "completed"


@requirement("middleware.stopped")
async def test_within_its_grace_a_middleware_may_finish_what_its_tool_gave(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(grace=10.0)
    async def change() -> str:
        return "changed"

    async with open_supervisor(around(waiting(0, 3), tools=(change,))) as supervisor:
        result, snapshot = await stop(supervisor, ToolCall("change"), "abort")

    assert (result.outcome, result.value, result.effect) == ("success", "changed", "completed")
    assert snapshot.abort is not None
    assert snapshot.abort.honoured is False


@requirement("middleware.stopped", "middleware.call-next")
async def test_a_middleware_that_swallows_its_cancellation_cannot_begin_the_tool(
    autojump_clock: trio.testing.MockClock,
) -> None:
    refused: list[BaseException] = []

    async def deaf(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            await trio.sleep(100)
        except trio.Cancelled:  # noqa: ASYNC103  # what must not be done
            try:
                await call_next()  # noqa: ASYNC102  # it does not get as far as waiting
            except ExecutionOver as exc:
                refused.append(exc)
        return "all the same"  # noqa: ASYNC104

    async with open_supervisor(around(deaf)) as supervisor:
        result, snapshot = await stop(supervisor, SLEEP, "abort")

    assert len(refused) == 1
    assert result.error is not None
    assert (result.error.code, result.effect, result.attempts) == ("NOT_STARTED", "none", 0)
    assert (snapshot.state, snapshot.effect) == ("terminal", "none")


@requirement("middleware.stopped")
@pytest.mark.parametrize("how", ["abort", "timeout"])
async def test_a_middleware_that_answers_its_cancellation_with_a_value_is_still_cancelled(
    how: Stop, autojump_clock: trio.testing.MockClock
) -> None:
    async def deaf(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            return await call_next()
        except trio.Cancelled:  # noqa: ASYNC103  # what must not be done
            return "all the same"  # noqa: ASYNC104

    async with open_supervisor(around(deaf)) as supervisor:
        result, snapshot = await stop(supervisor, SLEEP, how)

    assert result.error is not None
    assert (result.error.code, result.effect) == (CODES[how], "unknown")
    assert snapshot.state == "unknown-effect"


@requirement("middleware.stopped")
async def test_the_timeout_of_a_call_covers_all_attempts_and_what_lies_between(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(effect="read-only", timeout=10.0)
    async def flaky() -> str:
        await trio.sleep(3)
        raise ConnectionError

    async def again(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        while True:
            try:
                return await call_next()
            except ConnectionError:
                await trio.sleep(1)

    async with open_supervisor(around(again, tools=(flaky,))) as supervisor:
        result = await supervisor.execute(ToolCall("flaky"))

    assert result.error is not None
    assert (result.error.code, result.attempts, result.duration, result.effect) == ("TIMEOUT", 3, 10.0, "none")


@requirement("middleware.attempts")
async def test_no_attempt_begins_while_the_supervisor_drains(autojump_clock: trio.testing.MockClock) -> None:
    seen: list[bool] = []

    @tool(effect="read-only")
    async def flaky() -> str:
        await trio.sleep(3)
        raise ConnectionError

    async def again(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            return await call_next()
        except ConnectionError:
            seen.append(call_next.may_repeat)
            return await call_next()

    async with open_supervisor(around(again, waiting(2, 0), tools=(flaky,))) as supervisor:
        execution = supervisor.start(ToolCall("flaky"))
        await trio.sleep(1)
        supervisor.close_admission()
        with pytest.raises(AdmissionClosed):
            supervisor.start(ToolCall("flaky"))
        result = await execution.result()

    assert seen == [False]
    assert result.error is not None
    assert "the supervisor takes no new work" in result.error.message
    assert result.attempts == 1


# -- a scope of its own round the tool


@requirement("middleware.own-scope")
@pytest.mark.parametrize(("name", "effect"), [("sleep", "unknown"), ("watch", "none")])
async def test_a_middleware_may_stop_waiting_and_answer_something_else(
    name: str, effect: str, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_supervisor(around(giving_up(1))) as supervisor:
        execution = supervisor.start(ToolCall(name, {"seconds": 10.0}))
        result = await execution.result()
        snapshot = await execution.settled()

    assert (result.outcome, result.value, result.effect) == ("success", "gave up", effect)
    assert (snapshot.abort, snapshot.state) == (None, "unknown-effect" if effect == "unknown" else "terminal")


@requirement("middleware.own-scope")
async def test_what_the_tool_called_is_stopped_with_it(autojump_clock: trio.testing.MockClock) -> None:
    @tool
    async def parent(ctx: ToolContext) -> object:
        return (await ctx.call("sleep", {"seconds": 100.0})).value

    async def only_parent(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        if call.tool.name != "parent":
            return await call_next()
        return await giving_up(1)(call, ctx, call_next)

    async with open_supervisor(around(only_parent, tools=(parent, sleep))) as supervisor:
        result = await supervisor.execute(ToolCall("parent"))
        assert supervisor.active == 0
        [child] = [each for each in supervisor.executions.inspect() if each.tool_name == "sleep"]

    assert (result.value, result.effect) == ("gave up", "unknown")
    assert child.abort is not None
    assert child.error_category == "cancelled"


@requirement("middleware.own-scope")
async def test_what_a_middleware_called_counts_for_the_effect_of_its_call() -> None:
    async def prepare(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        if call.tool.name == "watch":
            (await ctx.call("sleep", {"seconds": 0.0})).unwrap()
        return await call_next()

    async with open_supervisor(around(prepare)) as supervisor:
        result = await supervisor.execute(ToolCall("watch", {"seconds": 0.0}))

    assert (result.value, result.effect) == ("watched", "completed")


@requirement("middleware.own-scope")
@pytest.mark.parametrize("shielded", [False, True])
@pytest.mark.parametrize("grace", [0.0, 0.2])
async def test_a_thread_that_it_stopped_waiting_for_ends_the_execution_and_is_watched_to_its_end(
    shielded: bool, grace: float
) -> None:
    blocker = Blocker()

    @tool(concurrency=1, grace=grace)
    def block() -> str:
        blocker.block()
        return "late"

    async def give_up(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        with trio.CancelScope(shield=shielded) as scope:
            async with trio.open_nursery() as nursery:

                async def cancel() -> None:
                    await happened(blocker.began)
                    scope.cancel()

                nursery.start_soon(cancel)
                await call_next()
        return "gave up"

    async with open_supervisor(around(give_up, tools=(block,))) as supervisor:
        execution = supervisor.start(ToolCall("block"))
        result = await execution.result()
        second = supervisor.start(ToolCall("block"))
        await reaches(supervisor, execution.id, "cleanup-pending")
        assert not blocker.ended.is_set()
        assert second.snapshot.state == "queued"
        blocker.let_go.set()
        snapshot = await execution.settled()
        assert blocker.ended.is_set()
        await second.result()

    assert result.error is not None
    assert (result.error.category, result.error.code) == ("timeout", "TIMEOUT")
    assert "cannot be interrupted" in result.error.message
    assert (result.effect, snapshot.effect, snapshot.state) == ("unknown", "completed", "terminal")


@requirement("middleware.own-scope")
async def test_a_generator_in_a_thread_is_told_and_watched_to_its_end() -> None:
    blocker = Blocker()

    @tool
    def numbers() -> Iterator[int]:
        yield 1
        blocker.block()
        yield 2

    async def give_up(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        async def until_it_blocks(run: Callable[[], Awaitable[object]]) -> object:
            async with trio.open_nursery() as nursery:

                async def cancel() -> None:
                    await happened(blocker.began)
                    nursery.cancel_scope.cancel()

                nursery.start_soon(cancel)
                await run()
            return "gave up"

        return cast("Chunks", await call_next()).around(until_it_blocks)

    async with open_supervisor(around(give_up, tools=(numbers,))) as supervisor:
        execution = supervisor.start(ToolCall("numbers"))
        result = await execution.result()
        blocker.let_go.set()
        snapshot = await execution.settled()

    assert result.error is not None
    assert (result.error.code, result.chunks) == ("TIMEOUT", (1,))
    assert (snapshot.effect, snapshot.ended_at is not None) == ("unknown", True)


@requirement("middleware.own-scope")
@pytest.mark.parametrize("deaf", [False, True])
async def test_a_process_that_it_stopped_waiting_for_is_killed_before_it_goes_on(tmp_path: Path, deaf: bool) -> None:
    async def give_up(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            with trio.CancelScope() as scope:
                scopes.append(scope)
                return await call_next()
        except trio.Cancelled:  # noqa: ASYNC103  # what must not be done
            assert deaf
            return "deaf"  # noqa: ASYNC104
        return "gave up"

    scopes: list[trio.CancelScope] = []
    async with (
        open_supervisor(around(give_up, tools=(TOOLS["process"]["hold"],))) as supervisor,
        supervisor.events(ProgressReported) as events,
    ):
        execution = supervisor.start(ToolCall("hold", {"gate": str(tmp_path / "gate")}))
        with trio.fail_after(PATIENCE):
            await anext(events)
            if deaf:
                execution.abort("enough")
            else:
                scopes[0].cancel()
            result = await execution.result()
            snapshot = await execution.settled()

    assert result.effect == "unknown"
    assert (snapshot.state, snapshot.ended_at is not None) == ("unknown-effect", True)
    assert result.value == (None if deaf else "gave up")


@requirement("middleware.own-scope")
async def test_a_tool_that_must_never_be_cancelled_is_not_cancelled_by_its_middleware(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ended: list[str] = []

    @tool(semantics=Semantics(cancellation="unsupported"))
    async def migrate() -> str:
        await trio.sleep(10)
        ended.append("whole")
        return "migrated"

    async with open_supervisor(around(giving_up(1), tools=(migrate,))) as supervisor:
        began = trio.current_time()
        execution = supervisor.start(ToolCall("migrate"))
        result = await execution.result()
        assert (trio.current_time() - began, execution.snapshot.state) == (1.0, "abort-requested")
        snapshot = await execution.settled()
        assert trio.current_time() - began == 10.0

    assert ended == ["whole"]
    assert result.error is not None
    assert (result.error.code, result.effect) == ("TIMEOUT", "unknown")
    assert (snapshot.state, snapshot.effect) == ("terminal", "completed")


@requirement("middleware.own-scope")
async def test_a_tool_that_must_never_be_cancelled_answers_and_raises_as_ever(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(semantics=Semantics(cancellation="unsupported"))
    async def migrate(fail: bool) -> str:
        await trio.sleep(1)
        if fail:
            raise ToolFailure("no", category="conflict", effect="none")
        return "migrated"

    async with open_supervisor(around(giving_up(10), tools=(migrate,))) as supervisor:
        good, bad = await supervisor.execute_batch([ToolCall("migrate", {"fail": fail}) for fail in (False, True)])

    assert (good.value, good.effect) == ("migrated", "completed")
    assert bad.error is not None
    assert (bad.error.category, bad.effect) == ("conflict", "none")


# -- letting go of it


@requirement("middleware.stray")
@pytest.mark.parametrize("deaf", [False, True])
async def test_a_tool_that_its_middleware_let_go_of_is_stopped_before_the_call_ends(
    deaf: bool, autojump_clock: trio.testing.MockClock
) -> None:
    ended: list[str] = []
    told: list[str] = []

    @tool
    async def linger() -> str:
        try:
            with trio.CancelScope(shield=deaf):
                await trio.sleep(5)
        finally:
            ended.append("gone")
        return "late"

    async with trio.open_nursery() as outside:

        async def let_go(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
            async def go_on() -> None:
                try:
                    await call_next()
                except ExecutionOver as exc:
                    told.append(str(exc))

            outside.start_soon(go_on)
            await trio.sleep(1)
            return "at once"

        async with open_supervisor(around(let_go, tools=(linger,))) as supervisor:
            execution = supervisor.start(ToolCall("linger"))
            result = await execution.result()
            assert (ended, supervisor.active) == (["gone"], 0)
            snapshot = await execution.settled()

    assert (result.outcome, result.value) == ("success", "at once")
    assert (result.effect, snapshot.effect) == (("completed", "completed") if deaf else ("unknown", "unknown"))
    assert told == ([] if deaf else ["the middleware of 'linger' answered without waiting for it, so it was stopped"])


@requirement("middleware.stray")
async def test_a_tool_that_was_let_go_of_is_stopped_by_an_abort(autojump_clock: trio.testing.MockClock) -> None:
    ended: list[str] = []

    @tool
    async def linger() -> str:
        try:
            await trio.sleep(100)
        finally:
            ended.append("gone")
        return "late"

    async with trio.open_nursery() as outside:

        async def let_go(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
            async def go_on() -> None:
                with pytest.raises(ExecutionOver):
                    await call_next()

            outside.start_soon(go_on)
            await trio.sleep(100)
            return "too late"

        async with open_supervisor(around(let_go, tools=(linger,))) as supervisor:
            result, snapshot = await stop(supervisor, ToolCall("linger"), "abort")
            assert (ended, supervisor.active) == (["gone"], 0)

    assert result.error is not None
    assert (result.error.code, result.effect, snapshot.state) == ("CANCELLED", "unknown", "unknown-effect")


@requirement("middleware.stray")
async def test_a_thread_that_its_middleware_let_go_of_is_watched_to_its_end() -> None:
    blocker = Blocker()

    @tool
    def block() -> str:
        blocker.block()
        return "late"

    async with trio.open_nursery() as outside:

        async def let_go(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
            async def go_on() -> None:
                with pytest.raises(ExecutionOver):
                    await call_next()

            outside.start_soon(go_on)
            await happened(blocker.began)
            return "at once"

        async with open_supervisor(around(let_go, tools=(block,))) as supervisor:
            execution = supervisor.start(ToolCall("block"))
            result = await execution.result()
            assert supervisor.active == 1
            blocker.let_go.set()
            snapshot = await execution.settled()

    assert result.error is not None
    assert (result.error.code, result.effect) == ("TIMEOUT", "unknown")
    assert (snapshot.state, snapshot.effect) == ("terminal", "completed")


# -- while the function is loaded


class Loading:
    """A tool whose function is loaded when the test says so."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.loaded = trio.Event()

        async def load() -> Callable[[object], Awaitable[str]]:
            await self.loaded.wait()
            return self.change

        self.tool = define_tool(name="change", input=Nothing, execute=lazy(load), grace=10.0)

    async def change(self, _given: object) -> str:
        self.entered.append("here")
        return "changed"


class Nothing(TypedDict):
    """An input without fields."""


@requirement("middleware.stopped")
@pytest.mark.parametrize("middleware", [[], [waiting(0, 0)]])
async def test_a_tool_that_is_asked_to_stop_while_it_is_loaded_is_not_begun(
    middleware: list[Middleware], autojump_clock: trio.testing.MockClock
) -> None:
    loading = Loading()
    async with open_supervisor(Toolbox([loading.tool], middleware=middleware)) as supervisor:
        execution = supervisor.start(ToolCall("change"))
        await trio.sleep(1)
        execution.abort("enough")
        loading.loaded.set()
        result, snapshot = await execution.result(), await execution.settled()

    assert loading.entered == []
    assert result.error is not None
    assert (result.error.code, result.effect, snapshot.state) == ("NOT_STARTED", "none", "terminal")


@requirement("middleware.stray")
async def test_a_tool_that_was_let_go_of_while_it_is_loaded_is_not_begun(
    autojump_clock: trio.testing.MockClock,
) -> None:
    loading = Loading()
    async with trio.open_nursery() as outside:

        async def let_go(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
            async def go_on() -> None:
                with pytest.raises(ExecutionOver):
                    await call_next()

            outside.start_soon(go_on)
            await trio.sleep(1)
            return "at once"

        async with open_supervisor(around(let_go, tools=(loading.tool,))) as supervisor:
            execution = supervisor.start(ToolCall("change"))
            await trio.sleep(2)
            loading.loaded.set()
            result = await execution.result()

    assert loading.entered == []
    assert (result.value, result.effect, result.attempts) == ("at once", "none", 0)


@requirement("middleware.own-scope")
@pytest.mark.parametrize("middleware", [[], [waiting(0, 0)]])
async def test_a_thread_that_could_not_be_started_is_not_waited_for(
    middleware: list[Middleware], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_threads(*_: object, **__: object) -> object:
        raise RuntimeError("can't start new thread")

    @tool(effect="read-only")
    def block() -> str:
        return "never"

    monkeypatch.setattr(trio.to_thread, "run_sync", no_threads)
    async with open_supervisor(Toolbox([block], middleware=middleware)) as supervisor:
        with trio.fail_after(PATIENCE):
            result = await supervisor.execute(ToolCall("block"))

    assert result.error is not None
    assert "can't start new thread" in result.error.message
