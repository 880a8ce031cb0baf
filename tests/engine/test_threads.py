"""``def`` tools in worker threads, on the real clock: events decide what happens when, never a sleep."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import pytest
import trio

from armory_trio import (
    ArmoryError,
    BlockingContext,
    ChunkEmitted,
    CustomEmitted,
    EffectClosed,
    EffectOpened,
    ElicitAccepted,
    ElicitAnswer,
    ElicitCancelled,
    ElicitRequest,
    Limits,
    LogWritten,
    ProgressReported,
    Semantics,
    Snapshot,
    StreamClosed,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.definitions import EffectMapping
from armory_trio.errors import ExecutionAborted, ExecutionOver
from tests.engine.tools import add
from tests.requirements import requirement

PATIENCE = 30
"""Seconds after which a test is taken for hung; no result depends on it."""

STRIPE: EffectMapping = {"class": "external-write", "targets": [{"kind": "service", "id": "stripe"}]}

request_id: ContextVar[str] = ContextVar("request_id", default="none")


async def happened(event: threading.Event) -> None:
    assert await trio.to_thread.run_sync(event.wait, PATIENCE)


async def reaches(supervisor: Supervisor, execution_id: str, state: str) -> Snapshot:
    """Wait until a live execution is in *state*."""
    with trio.fail_after(PATIENCE):
        async with supervisor.executions.subscribe(execution_id=execution_id) as updates:
            async for snapshot in updates:
                if snapshot.state == state:
                    return snapshot
    raise AssertionError


class Blocker:
    """A body that blocks its thread until the test lets it go."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.let_go = threading.Event()
        self.ended = threading.Event()
        self.runs = 0

    def block(self) -> None:
        self.runs += 1
        self.began.set()
        try:
            assert self.let_go.wait(PATIENCE)
        finally:
            self.ended.set()


@pytest.fixture
def blocker() -> Iterator[Blocker]:
    blocker = Blocker()
    yield blocker
    blocker.let_go.set()
    assert not blocker.runs or blocker.ended.wait(PATIENCE)


# -- where a body runs


@requirement("threads.placement", "threads.context-variables")
async def test_a_def_tool_runs_in_a_thread_of_its_own_with_the_callers_context_variables() -> None:
    @tool
    def where() -> dict[str, object]:
        before = request_id.get()
        request_id.set("changed in the thread")
        return {"thread": threading.get_ident(), "name": threading.current_thread().name, "request": before}

    async with open_supervisor(Toolbox([where])) as supervisor:
        request_id.set("r-7")
        execution = supervisor.start(ToolCall("where"))
        value = (await execution.result()).unwrap()
        after = (await supervisor.execute(ToolCall("where"))).unwrap()

    assert isinstance(value, dict) and isinstance(after, dict)
    assert after["request"] == "r-7"  # what one call changes, the next does not see
    assert value == {"thread": value["thread"], "name": f"armory:{execution.id}", "request": "r-7"}
    assert value["thread"] != threading.get_ident()
    assert request_id.get() == "r-7"
    assert execution.snapshot.placement == "thread"


@requirement("threads.nested-policy")
async def test_a_thread_below_a_caller_that_is_stopped_stays_in_sight_until_it_ends(blocker: Blocker) -> None:
    @tool
    def inner() -> str:
        blocker.block()
        return "late"

    @tool
    async def outer(ctx: ToolContext) -> str:
        return str((await ctx.call("inner")).value)

    async with open_supervisor(Toolbox([inner, outer])) as supervisor:
        with trio.fail_after(PATIENCE):
            caller = supervisor.start(ToolCall("outer"))
            await happened(blocker.began)
            caller.abort("took too long")
            result = await caller.result()
            [below] = supervisor.executions.inspect(tool_name="inner")
            blocker.let_go.set()
            await supervisor.wait_idle()

        assert result.error is not None and result.error.code == "CANCELLED"
        assert result.error.details == {
            "source": "caller",
            "children": [f"inner ({below.execution_id})"],
            "children_in_all": 1,
        }
        assert f"It had called inner ({below.execution_id}), which was asked to stop as well." in result.text
        assert below.parent_id == caller.id
        assert below.state in ("abort-requested", "cleanup-pending") and below.ended_at is None
        assert below.abort is not None and below.abort.source == "parent"
        [ended] = supervisor.executions.inspect(tool_name="inner")
        assert ended.ended_at is not None and ended.outcome == "error"
        assert (ended.effect, ended.cleanup) == ("completed", "completed")


@requirement("threads.context-variables")
async def test_a_def_generator_sees_the_callers_context_variables_too() -> None:
    @tool
    def where() -> Iterator[object]:
        yield threading.get_ident() != main
        yield request_id.get()

    main = threading.get_ident()
    request_id.set("r-8")
    async with open_supervisor(Toolbox([where])) as supervisor:
        result = await supervisor.execute(ToolCall("where"))

    assert result.value == [True, "r-8"]


@requirement("threads.inline")
async def test_a_def_tool_placed_in_the_task_runs_on_trios_thread_and_may_not_block() -> None:
    refused: list[str] = []

    @tool(placement="task")
    def inline(ctx: BlockingContext) -> int:
        for member in (ctx.wait_abort_requested, lambda: ctx.call("add"), lambda: ctx.elicit("which?")):
            with pytest.raises(ArmoryError, match="would block trio's thread") as refusal:
                member()
            refused.append(str(refusal.value))
        ctx.progress(50)
        ctx.check()
        return threading.get_ident()

    async with open_supervisor(Toolbox([inline, add])) as supervisor:
        result = await supervisor.execute(ToolCall("inline"))

    assert result.value == threading.get_ident()
    assert len(refused) == 3


@requirement("threads.placement")
async def test_an_awaitable_that_a_def_tool_returns_is_awaited_on_trios_thread() -> None:
    async def later() -> int:
        await trio.lowlevel.checkpoint()
        return threading.get_ident()

    @tool
    def lazy() -> object:
        return later()

    async with open_supervisor(Toolbox([lazy])) as supervisor:
        result = await supervisor.execute(ToolCall("lazy"))

    assert result.value == threading.get_ident()


@requirement("threads.limit")
async def test_threads_are_bounded_by_the_supervisors_own_limit_and_not_by_trios() -> None:
    together = threading.Barrier(3)
    running = most = 0
    lock = threading.Lock()

    @tool
    def meet() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(PATIENCE)
        with lock:
            running -= 1

    trio.to_thread.current_default_thread_limiter().total_tokens = 1
    async with open_supervisor(Toolbox([meet]), limits=Limits(threads=3)) as supervisor:
        with trio.fail_after(PATIENCE):
            results = await supervisor.execute_batch([ToolCall("meet")] * 9)

    assert [result.outcome for result in results] == ["success"] * 9
    assert most == 3


# -- being stopped


@requirement("threads.abandoned", "threads.slot-held", "threads.late-end")
async def test_a_thread_that_cannot_be_stopped_is_left_behind_visibly_and_holds_its_slot(blocker: Blocker) -> None:
    @tool
    def work() -> str:
        blocker.block()
        return "done late"

    @tool
    def other() -> str:
        return "other"

    async with open_supervisor(Toolbox([work, other]), limits=Limits(threads=1)) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            await happened(blocker.began)
            assert execution.abort("enough") == "requested"
            result = await execution.result()  # the caller is released though the thread runs on
            pending = await reaches(supervisor, execution.id, "cleanup-pending")
            waiting = supervisor.start(ToolCall("other"))
            held = waiting.snapshot
            blocker.let_go.set()
            settled = await execution.settled()
            freed = await waiting.settled()

    assert result.error is not None and (result.error.code, result.effect) == ("CANCELLED", "unknown")
    assert (pending.ended_at, pending.cleanup) == (None, "pending")
    assert (held.state, held.waits_for) == ("queued", "capacity:threads")
    assert (settled.state, settled.effect, settled.cleanup) == ("terminal", "completed", "completed")
    assert settled.abort is not None and settled.abort.honoured is False
    assert execution.privileged_snapshot().late_value == "done late"
    assert freed.outcome == "success"


@requirement("threads.late-end", "threads.slot-held")
async def test_a_thread_past_its_cleanup_timeout_is_given_up_and_its_late_end_recorded(blocker: Blocker) -> None:
    @tool(cleanup_timeout=0.01)
    def work() -> str:
        blocker.block()
        return "done late"

    async with open_supervisor(Toolbox([work]), limits=Limits(threads=1)) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"), timeout=0.01)
            await happened(blocker.began)
            given_up = await execution.settled()
            idle = trio.Event()

            async def wait_idle() -> None:
                await supervisor.wait_idle()
                idle.set()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait_idle)
                blocker.let_go.set()
            ended = execution.snapshot

    assert (given_up.state, given_up.cleanup, given_up.ended_at) == ("unknown-effect", "unresolved", None)
    assert given_up.capacity == ("threads",)
    assert (ended.state, ended.effect, ended.revision) == ("unknown-effect", "unknown", given_up.revision + 1)
    assert ended.ended_at is not None and ended.capacity == ()
    assert idle.is_set()


@requirement("threads.abandoned")
async def test_a_cancelled_caller_is_let_go_though_its_thread_runs_on(blocker: Blocker) -> None:
    @tool
    def work() -> None:
        blocker.block()

    async with open_supervisor(Toolbox([work])) as supervisor:
        with trio.fail_after(PATIENCE), trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(supervisor.execute, ToolCall("work"))
                await happened(blocker.began)
                scope.cancel()
        [left] = supervisor.executions.inspect(live_only=True)
        blocker.let_go.set()

    assert scope.cancelled_caught
    assert left.state in ("abort-requested", "cleanup-pending")
    assert left.abort is not None and left.abort.source == "caller"


@requirement("threads.check")
@pytest.mark.parametrize("way", ["ctx.check", "check_cancelled", "both swallowed"])
async def test_a_thread_that_looks_learns_that_it_was_stopped(way: str) -> None:
    began = threading.Event()
    go_on = threading.Event()

    @tool(effect="read-only")
    def work(ctx: BlockingContext) -> str:
        ctx.check()
        trio.from_thread.check_cancelled()
        began.set()
        assert go_on.wait(PATIENCE)
        try:
            if way == "check_cancelled":
                trio.from_thread.check_cancelled()
            else:
                assert ctx.abort_requested
                ctx.check()
        except ExecutionAborted as exc:
            assert str(exc) == "enough"
            if way != "both swallowed":
                raise
        return "did not look"

    async with open_supervisor(Toolbox([work])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            await happened(began)
            execution.abort("enough")
            await trio.lowlevel.checkpoint()
            await reaches(supervisor, execution.id, "abort-requested")
            go_on.set()
            snapshot = await execution.settled()

    swallowed = way == "both swallowed"
    assert (snapshot.outcome, snapshot.error_code, snapshot.cleanup) == ("error", "CANCELLED", "completed")
    assert snapshot.abort is not None and snapshot.abort.honoured is not swallowed
    assert execution.privileged_snapshot().late_value == ("did not look" if swallowed else None)


@requirement("threads.check")
async def test_an_exception_of_its_own_after_the_abort_is_a_failed_cleanup(blocker: Blocker) -> None:
    @tool(effect="read-only")
    def work() -> None:
        blocker.block()
        raise OSError("disk full")

    async with open_supervisor(Toolbox([work])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            await happened(blocker.began)
            execution.abort("enough")
            blocker.let_go.set()
            snapshot = await execution.settled()

    assert (snapshot.error_code, snapshot.cleanup, snapshot.state) == ("CANCELLED", "failed", "terminal")


@requirement("threads.grace")
async def test_within_its_grace_a_thread_may_still_finish() -> None:
    began = threading.Event()

    @tool(grace=PATIENCE)
    def work(ctx: BlockingContext) -> str:
        began.set()
        ctx.wait_abort_requested()
        assert ctx.abort_requested
        return "wrapped up"

    async with open_supervisor(Toolbox([work])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            await happened(began)
            execution.abort("enough")
            result = await execution.result()

    assert (result.outcome, result.value) == ("success", "wrapped up")


@requirement("threads.never-cancelled")
async def test_a_thread_that_must_never_be_cancelled_is_waited_for_and_then_given_up(blocker: Blocker) -> None:
    @tool(semantics=Semantics(cancellation="unsupported"), cleanup_timeout=0.01)
    def transfer() -> str:
        blocker.block()
        trio.from_thread.check_cancelled()  # does not raise: nothing was cancelled
        return "transferred"

    async with open_supervisor(Toolbox([transfer])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("transfer"))
            await happened(blocker.began)
            execution.abort("enough")
            result = await execution.result()
            given_up = await execution.settled()
            blocker.let_go.set()
            await supervisor.wait_idle()

    assert result.error is not None and result.error.code == "CANCELLED"
    assert given_up.state == "unknown-effect"
    assert execution.privileged_snapshot().late_value == "transferred"


@requirement("threads.exit")
@pytest.mark.parametrize("cancellation", ["cooperative", "unsupported"])
async def test_leaving_the_supervisor_abandons_a_thread_that_does_not_end_and_says_so(
    cancellation: str, blocker: Blocker
) -> None:
    semantics = Semantics(cancellation=cancellation)  # type: ignore[arg-type]  # one of its words

    @tool(cleanup_timeout=0.01, semantics=semantics)
    def work() -> None:
        blocker.block()

    with trio.fail_after(PATIENCE):
        async with open_supervisor(Toolbox([work]), drain_for=0.01) as supervisor:
            execution = supervisor.start(ToolCall("work"))
            await happened(blocker.began)

    report = supervisor.report
    assert not blocker.ended.is_set()
    assert report is not None
    assert [shot.execution_id for shot in report.abandoned_threads] == [execution.id]
    assert [shot.execution_id for shot in report.unfinished] == [execution.id]
    assert (report.mode, report.exit_code) == ("abort", 4)
    assert any("thread left running" in line for line in report.lines())
    assert execution.snapshot.ended_at is None


# -- what the context of a thread does


@requirement("threads.blocking-members")
async def test_the_awaiting_members_of_the_context_block_the_thread_instead() -> None:
    states: list[str] = []

    @tool(effect_windows=True, effect=STRIPE)
    def work(ctx: BlockingContext) -> list[object]:
        child = ctx.call("add", {"a": 1, "b": 2})
        with ctx.waiting("rate limit"):
            states.append(supervisor.executions.inspect(tool_name="work")[0].state)
        states.append(supervisor.executions.inspect(tool_name="work")[0].state)
        with ctx.effect("charge card", target="stripe:1"):
            pass
        answer = ctx.elicit("Which account?")
        assert isinstance(answer, ElicitAccepted)
        return [child.unwrap(), answer.content]

    async def ask(request: ElicitRequest) -> ElicitAnswer:
        await trio.lowlevel.checkpoint()
        return ElicitAccepted(f"{request.message} the second")

    async with open_supervisor(Toolbox([work, add])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"), elicit=ask)
            result = await execution.result()
            await execution.settled()

        children = supervisor.executions.inspect(tool_name="add")

    assert result.value == [3, "Which account? the second"]
    assert states == ["waiting", "active"]
    assert (result.effect, [record.state for record in result.effects]) == ("completed", ["completed"])
    assert [child.parent_id for child in children] == [execution.id]


@requirement("threads.blocking-members")
async def test_what_a_thread_tells_arrives_in_order() -> None:
    @tool(effect_windows=True, effect=STRIPE)
    def work(ctx: BlockingContext) -> None:
        ctx.progress(10, "begun")
        ctx.log("info", "a line")
        ctx.emit("custom", {"a": 1})
        ctx.progress(90)
        with ctx.effect("charge card"):
            ctx.log("warning", "inside")

    kinds = (ProgressReported, LogWritten, CustomEmitted, EffectOpened, EffectClosed)
    async with open_supervisor(Toolbox([work])) as supervisor, supervisor.events(*kinds) as events:
        await supervisor.execute(ToolCall("work"))
        told = [await anext(events) for _ in range(7)]

    assert [type(event).__name__ for event in told] == [
        "ProgressReported",
        "LogWritten",
        "CustomEmitted",
        "ProgressReported",
        "EffectOpened",
        "LogWritten",
        "EffectClosed",
    ]
    assert [event.sequence for event in told] == sorted(event.sequence for event in told)


@requirement("threads.blocking-members")
async def test_a_child_that_a_thread_waits_for_is_stopped_with_it() -> None:
    child_began = trio.Event()

    @tool
    async def endless() -> None:
        child_began.set()
        await trio.sleep_forever()

    @tool
    def work(ctx: BlockingContext) -> str | None:
        error = ctx.call("endless").error
        codes.append(None if error is None else error.code)
        return codes[0]

    codes: list[str | None] = []
    async with open_supervisor(Toolbox([work, endless])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            await child_began.wait()
            execution.abort("enough")
            snapshot = await execution.settled()
            [child] = supervisor.executions.inspect(tool_name="endless")

    assert codes == ["CANCELLED"]
    assert child.abort is not None and child.abort.source == "parent"
    assert snapshot.error_code == "CANCELLED"


@requirement("threads.blocking-members")
async def test_a_question_of_a_thread_is_withdrawn_when_it_is_stopped() -> None:
    asked = trio.Event()
    answers: list[ElicitAnswer] = []

    @tool
    def work(ctx: BlockingContext) -> None:
        answers.append(ctx.elicit("Which account?"))

    async def ask(request: ElicitRequest) -> ElicitAnswer:
        asked.set()
        await trio.sleep_forever()
        raise AssertionError

    async with open_supervisor(Toolbox([work])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"), elicit=ask)
            await asked.wait()
            execution.abort("enough")
            await execution.settled()

    assert answers == [ElicitCancelled()]


@requirement("threads.check")
async def test_a_thread_that_was_asked_to_stop_enters_no_effect_window() -> None:
    entered: list[str] = []

    @tool(effect_windows=True, effect=STRIPE)
    def work(ctx: BlockingContext) -> None:
        with ctx.effect("first"):
            entered.append("first")
        opened = ctx.effect("second")
        ctx.wait_abort_requested()
        with opened:
            entered.append("second")

    async with open_supervisor(Toolbox([work])) as supervisor, supervisor.events(EffectOpened) as events:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            await anext(events)
            await anext(events)
            execution.abort("enough")
            result = await execution.result()

        await execution.settled()
        result = await execution.result()

    assert entered == ["first"]
    assert result.error is not None and result.error.code == "CANCELLED"
    assert [record.state for record in result.effects] == ["completed", "nothing-happened"]
    assert result.effect == "completed"


@requirement("threads.check", "engine.grace")
async def test_a_thread_within_its_grace_may_go_on() -> None:
    @tool(effect_windows=True, effect=STRIPE, grace=PATIENCE)
    def work(ctx: BlockingContext) -> str:
        ctx.wait_abort_requested()
        ctx.check()
        with ctx.effect("save"):
            return "saved"

    async with open_supervisor(Toolbox([work])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            async with supervisor.executions.subscribe() as updates:
                async for snapshot in updates:
                    if snapshot.state == "active":
                        break
            execution.abort("enough")
            result = await execution.result()
            settled = await execution.settled()

    assert (result.value, result.effect) == ("saved", "completed")
    assert settled.abort is not None and settled.abort.honoured is False


def refuses(action: Callable[[], object]) -> bool:
    try:
        action()
    except ExecutionOver:
        return True
    return False


@requirement("threads.after-the-outcome")
async def test_after_the_outcome_a_thread_may_look_and_say_but_start_nothing(blocker: Blocker) -> None:
    refused: list[bool] = []
    worked: list[object] = []

    @tool(effect_windows=True, effect=STRIPE)
    def work(ctx: BlockingContext) -> None:
        blocker.block()
        actions: list[Callable[[], object]] = [
            lambda: ctx.call("add", {"a": 1, "b": 2}),
            lambda: ctx.elicit("which?"),
            lambda: ctx.effect("charge card"),
            lambda: ctx.waiting("rate limit"),
            lambda: ctx.emit("custom"),
        ]
        refused.extend(refuses(action) for action in actions)
        ctx.progress(99)
        ctx.log("info", "still here")
        worked.extend([ctx.execution_id, ctx.abort_requested])
        ctx.report_cleanup("failed", "could not remove the lock")

    async with (
        open_supervisor(Toolbox([work, add])) as supervisor,
        supervisor.events(ProgressReported, LogWritten) as events,
    ):
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            await happened(blocker.began)
            execution.abort("enough")
            blocker.let_go.set()
            snapshot = await execution.settled()
        with trio.move_on_after(0) as nothing:
            await anext(events)

    assert refused == [True] * 5
    assert worked == [execution.id, True]
    assert snapshot.progress is None
    assert nothing.cancelled_caught
    assert snapshot.cleanup == "failed"


@requirement("threads.after-the-outcome")
async def test_once_its_state_is_final_a_thread_has_only_its_identifiers(blocker: Blocker) -> None:
    refused: list[bool] = []
    looked = threading.Event()

    @tool(cleanup_timeout=0.01)
    def work(ctx: BlockingContext) -> None:
        blocker.block()
        actions: list[Callable[[], object]] = [
            ctx.check,
            lambda: ctx.abort_requested,
            lambda: ctx.draining,
            lambda: ctx.progress(99),
            lambda: ctx.log("info", "still here"),
            lambda: ctx.emit("custom"),
            lambda: ctx.report_cleanup("completed"),
            lambda: ctx.call("add", {"a": 1, "b": 2}),
            ctx.wait_abort_requested,
        ]
        refused.extend(refuses(action) for action in actions)
        refused.append(ctx.execution_id != execution.id)
        looked.set()

    async with open_supervisor(Toolbox([work, add])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("work"))
            await happened(blocker.began)
            execution.abort("enough")
            assert (await execution.settled()).state == "unknown-effect"
            blocker.let_go.set()
            await happened(looked)

    assert refused == [True] * 9 + [False]


# -- what a thread may raise


@requirement("threads.exceptions")
@pytest.mark.parametrize("exception", [ValueError("no"), SystemExit(3), GeneratorExit(), StopIteration(4)])
async def test_whatever_a_thread_raises_is_that_calls_own_failure(exception: BaseException) -> None:
    @tool
    def breaks() -> None:
        raise exception

    async with open_supervisor(Toolbox([breaks, add])) as supervisor:
        result = await supervisor.execute(ToolCall("breaks"))
        after = await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))

    assert result.error is not None and result.error.code == "INTERNAL_ERROR"
    assert result.effect == "unknown"
    assert after.value == 3


# -- generators


@requirement("threads.generators")
@pytest.mark.parametrize("live", [False, True])
async def test_a_def_generator_streams_from_its_thread(live: bool) -> None:
    @tool(buffer=3)
    def letters() -> Iterator[str]:
        yield from "abcdefghij"

    async with open_supervisor(Toolbox([letters])) as supervisor, supervisor.events(StreamClosed) as events:
        with trio.fail_after(PATIENCE):
            if live:
                async with supervisor.stream(ToolCall("letters")) as stream:
                    assert [chunk async for chunk in stream] == list("abcdefghij")
                result = stream.result
            else:
                result = await supervisor.execute(ToolCall("letters"))
            closed = await anext(events)

    assert result.value == list("abcdefghij")
    assert isinstance(closed, StreamClosed) and (closed.chunks, closed.complete) == (10, True)


@requirement("threads.generators")
async def test_an_error_after_chunks_of_a_thread_keeps_the_chunks() -> None:
    @tool
    def breaks() -> Iterator[int]:
        yield 1
        raise ValueError("halfway")

    async with open_supervisor(Toolbox([breaks])) as supervisor, supervisor.events(StreamClosed) as events:
        result = await supervisor.execute(ToolCall("breaks"))
        closed = await anext(events)

    assert result.error is not None and result.error.message == "ValueError: halfway"
    assert result.chunks == (1,)
    assert isinstance(closed, StreamClosed) and not closed.complete


@requirement("threads.backpressure")
@pytest.mark.parametrize("size", [1, 4])
async def test_a_thread_is_never_more_than_its_buffer_and_the_chunk_in_its_hand_ahead(size: int) -> None:
    made = 0

    @tool(buffer=size)
    def rush() -> Iterator[int]:
        nonlocal made
        for number in range(50):
            made += 1
            yield number

    @tool
    def other() -> str:
        return "other"

    async with (
        open_supervisor(Toolbox([rush, other])) as supervisor,
        supervisor.events(ChunkEmitted, include_payloads=True) as events,
    ):
        with trio.fail_after(PATIENCE):
            async with supervisor.stream(ToolCall("rush")) as stream:
                for _ in range(size):
                    await anext(events)  # now the buffer is full
                for _ in range(10):
                    await supervisor.execute(ToolCall("other"))  # the stalled reader stalls only its own tool
                assert made <= size + 1
                assert stream.execution.snapshot.chunks == size
                read = 0
                async for chunk in stream:
                    read += 1
                    assert made - read <= size + 1
                    assert chunk == read - 1

    assert read == 50
    assert stream.result.value == list(range(50))


@requirement("threads.generators", "threads.abandoned")
@pytest.mark.parametrize("answer", ["raises", "swallows", "returns"])
async def test_a_thread_that_waits_for_its_reader_is_stopped_at_its_yield(answer: str) -> None:
    seen: list[str] = []

    @tool(buffer=2)
    def forever() -> Iterator[int]:
        try:
            while True:
                try:
                    yield 1
                except ExecutionAborted:
                    seen.append("aborted")
                    if answer == "raises":
                        raise
                    if answer == "returns":
                        return
        finally:
            seen.append("closed")

    async with (
        open_supervisor(Toolbox([forever])) as supervisor,
        supervisor.events(ChunkEmitted, StreamClosed, include_payloads=True) as events,
    ):
        with trio.fail_after(PATIENCE):
            async with supervisor.stream(ToolCall("forever")) as stream:
                for _ in range(2):
                    assert isinstance(await anext(events), ChunkEmitted)
                stream.execution.abort("enough")
                snapshot = await stream.execution.settled()
                chunks = [chunk async for chunk in stream]
            closed = await anext(events)

    assert seen == ["aborted", "closed"]
    assert chunks == [1, 1]
    assert stream.result.error is not None and stream.result.error.code == "CANCELLED"
    assert isinstance(closed, StreamClosed) and closed.chunks == 2
    assert closed.complete is False
    assert (snapshot.effect, snapshot.cleanup) == ("completed" if answer == "returns" else "unknown", "completed")


@requirement("threads.generators", "threads.grace")
async def test_a_generator_in_a_thread_has_its_grace_though_its_outcome_is_decided() -> None:
    seen: list[str] = []

    @tool(buffer=1, grace=PATIENCE)
    def saves(ctx: BlockingContext) -> Iterator[int]:
        while not ctx.abort_requested:
            yield 1
        yield 2
        seen.append("saved")

    async with open_supervisor(Toolbox([saves])) as supervisor:
        with trio.fail_after(PATIENCE):
            async with supervisor.stream(ToolCall("saves"), timeout=0.01) as stream:
                snapshot = await stream.execution.settled()

    assert seen == ["saved"]
    assert (snapshot.error_code, snapshot.effect) == ("TIMEOUT", "completed")


@requirement("threads.generators")
async def test_a_reader_that_leaves_early_stops_the_thread() -> None:
    closed = threading.Event()

    @tool(buffer=2)
    def forever() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    async with open_supervisor(Toolbox([forever])) as supervisor:
        with trio.fail_after(PATIENCE):
            async with supervisor.stream(ToolCall("forever")) as stream:
                await anext(stream)
            await happened(closed)
            snapshot = await stream.execution.settled()

    assert snapshot.abort is not None and (snapshot.abort.source, snapshot.abort.honoured) == ("caller", True)


@requirement("threads.generators", "threads.never-cancelled")
async def test_a_generator_in_a_thread_that_must_never_be_cancelled_goes_on_to_its_end() -> None:
    seen: list[int] = []

    @tool(buffer=1, semantics=Semantics(cancellation="unsupported"))
    def transfer() -> Iterator[int]:
        for number in range(5):
            yield number
            seen.append(number)

    async with (
        open_supervisor(Toolbox([transfer])) as supervisor,
        supervisor.events(ChunkEmitted, include_payloads=True) as events,
    ):
        with trio.fail_after(PATIENCE):
            async with supervisor.stream(ToolCall("transfer")) as stream:
                await anext(events)
                stream.execution.abort("enough")
                snapshot = await stream.execution.settled()

    assert seen == [0, 1, 2, 3, 4]
    assert (snapshot.error_code, snapshot.effect) == ("CANCELLED", "completed")


@requirement("threads.generators")
async def test_a_generator_in_a_thread_may_use_its_context_between_chunks() -> None:
    @tool
    def sums(ctx: BlockingContext) -> Iterator[object]:
        for number in range(3):
            yield ctx.call("add", {"a": number, "b": 1}).unwrap()

    async with open_supervisor(Toolbox([sums, add])) as supervisor:
        result = await supervisor.execute(ToolCall("sums"))

    assert result.value == [1, 2, 3]


@requirement("threads.blocking-members")
async def test_a_def_tool_may_annotate_its_context_as_the_other_kind() -> None:
    @tool
    def work(ctx: ToolContext) -> str:
        ctx.check()
        return ctx.tool_name

    async with open_supervisor(Toolbox([work])) as supervisor:
        assert (await supervisor.execute(ToolCall("work"))).value == "work"
