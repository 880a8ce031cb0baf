"""One behaviour in every place: what is promised of bodies is promised of tasks, threads and processes alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar, cast, get_args
from uuid import UUID

import pytest
import trio

from armory_trio import (
    CallNext,
    ChunkEmitted,
    Chunks,
    CustomEmitted,
    EffectClosed,
    EffectOpened,
    Execution,
    ExecutionSettled,
    ExecutionStarted,
    Limits,
    LogWritten,
    MiddlewareCall,
    OutcomeDecided,
    ProgressReported,
    RequestContext,
    Snapshot,
    StreamClosed,
    StreamOpened,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
)
from armory_trio.definitions import Placement
from tests.engine.placement._tools import PATIENCE, TOOLS, Answer, Ending, Point
from tests.requirements import requirement

E = TypeVar("E")
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
everywhere = pytest.mark.parametrize("place", PLACEMENTS)


def box(place: Placement) -> Toolbox:
    return Toolbox(TOOLS[place].values())


class Gate:
    """A file that bodies wait for; open at the latest when the test is over."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def open(self) -> None:
        Path(self.path).touch()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    gate = Gate(tmp_path / "gate")
    yield gate
    gate.open()


async def began(supervisor: Supervisor, execution: Execution) -> Snapshot:
    """Wait until the body has told of itself."""
    with trio.fail_after(PATIENCE):
        async with supervisor.executions.subscribe(execution_id=execution.id) as updates:
            async for snapshot in updates:
                if snapshot.progress is not None:
                    return snapshot
    raise AssertionError


async def next_of(events: AsyncIterator[E], count: int) -> list[E]:
    found: list[E] = []
    with trio.fail_after(PATIENCE):
        while len(found) < count:
            found.append(await anext(events))
    return found


async def settled(execution: Execution) -> Snapshot:
    with trio.fail_after(PATIENCE):
        return await execution.settled()


# -- values


@requirement("placement.values")
@everywhere
async def test_arguments_come_as_their_types_and_the_value_as_the_annotation_says(place: Placement) -> None:
    arguments = {
        "when": "2026-05-04T03:02:01Z",
        "colour": "blue",
        "points": [{"x": 2**40}, {"x": 1, "y": 2.5}],
        "key": "00000000-0000-0000-0000-000000000007",
    }
    async with open_supervisor(box(place)) as supervisor:
        result = await supervisor.execute(ToolCall("describe", arguments))
        again = await supervisor.execute(
            ToolCall("describe", {**arguments, "key": UUID(int=8), "when": datetime(2026, 1, 1, tzinfo=timezone.utc)})  # noqa: UP017  # 3.11 has both
        )
        shot = supervisor.executions.inspect()[0]

    assert isinstance(result.value, Answer), result.error
    assert result.value == Answer(
        ["datetime", "Colour", "Point", "UUID", "int"],
        Point(2**40, 0.5),
        datetime(2026, 5, 4, 3, 2, 1, tzinfo=timezone.utc),  # noqa: UP017  # as above
    )
    assert again.outcome == "success"
    assert (result.effect, shot.placement) == ("none", place)


@requirement("placement.values")
@everywhere
async def test_plain_values_come_back_as_they_were(place: Placement) -> None:
    values: list[object] = [None, True, -(2**63), 2**64 - 1, 0.1, "grüße \0", [], [1, [2]], {"a": {"b": None}}, 2**60]
    async with open_supervisor(box(place)) as supervisor:
        results = [await supervisor.execute(ToolCall("echo", {"value": value})) for value in values]
        wide = await supervisor.execute(ToolCall("echo", {"value": "x" * 3_000_000}))

    assert [result.value for result in results] == values
    assert wide.value == "x" * 3_000_000


@requirement("placement.validation")
@everywhere
async def test_arguments_that_do_not_fit_never_reach_the_body(place: Placement) -> None:
    async with open_supervisor(box(place)) as supervisor:
        result = await supervisor.execute(ToolCall("count", {"upto": "many"}))

    assert result.error is not None
    assert (result.error.category, result.error.code, result.effect) == ("validation", "INVALID_ARGUMENTS", "none")


# -- exceptions

TOLD = {
    "value": ("internal", "INTERNAL_ERROR", "ValueError: no such account", False, "unknown"),
    "own": ("internal", "INTERNAL_ERROR", "OwnError", False, "unknown"),
    "timeout": ("transient", "TRANSIENT_ERROR", "OwnTimeout: too slow", False, "unknown"),
    "connection": ("transient", "CONNECTION_LOST", "ConnectionResetError: gone", False, "unknown"),
    "exit": ("internal", "INTERNAL_ERROR", "SystemExit: 3", False, "unknown"),
    "generator exit": ("internal", "INTERNAL_ERROR", "GeneratorExit", False, "unknown"),
    "stop": ("internal", "INTERNAL_ERROR", None, False, "unknown"),
    "one of a group": ("internal", "INTERNAL_ERROR", "ValueError: x", False, "unknown"),
    "two of a group": ("internal", "INTERNAL_ERROR", "2 errors: ValueError: x; KeyError: 'y'", False, "unknown"),
    "declared": ("permission", "NO_FUNDS", "no funds", False, "none"),
    "retryable": ("transient", "TRANSIENT_ERROR", "later", True, "none"),
}


@requirement("placement.exceptions")
@everywhere
async def test_whatever_a_body_raises_is_told_alike_and_is_its_own_failure(place: Placement) -> None:
    async with open_supervisor(box(place)) as supervisor:
        results = {how: await supervisor.execute(ToolCall("fail", {"how": how})) for how in TOLD}
        after = await supervisor.execute(ToolCall("echo", {"value": 1}))

    for how, (category, code, message, retryable, effect) in TOLD.items():
        error = results[how].error
        assert error is not None, how
        assert (error.category, error.code, error.retryable) == (category, code, retryable), how
        assert message in (None, error.message), how  # Python itself rewords a StopIteration in an async function
        assert results[how].effect == effect, how
    declared = results["declared"].error
    assert declared is not None and declared.details == {"cents": 7}
    assert after.value == 1


@requirement("placement.exceptions")
@everywhere
async def test_undeclared_exceptions_are_hidden_everywhere_where_that_was_asked_for(place: Placement) -> None:
    async with open_supervisor(box(place), error_detail="declared") as supervisor:
        hidden = await supervisor.execute(ToolCall("fail", {"how": "value"}))
        shown = await supervisor.execute(ToolCall("fail", {"how": "declared"}))

    assert hidden.error is not None and "account" not in hidden.error.message
    assert shown.error is not None and shown.error.message == "no funds"


# -- chunks


@requirement("placement.chunks")
@everywhere
async def test_chunks_come_in_order_collected_reduced_or_live(place: Placement) -> None:
    async with (
        open_supervisor(box(place)) as supervisor,
        supervisor.events(StreamOpened, StreamClosed) as events,
    ):
        collected = await supervisor.execute(ToolCall("count", {"upto": 1000}))
        told = await next_of(events, 2)
        nothing = await supervisor.execute(ToolCall("count", {"upto": 0}))
        reduced = await supervisor.execute(ToolCall("total", {"upto": 10}))
        unreduced = await supervisor.execute(ToolCall("unreduced", {"upto": 3}))
        async with supervisor.stream(ToolCall("count", {"upto": 500})) as stream:
            live = [chunk async for chunk in stream]

    assert collected.value == list(range(1000))
    assert collected.effect == "completed"
    assert nothing.value == []
    assert reduced.value == 45
    assert unreduced.error is not None and unreduced.error.message == "ValueError: no value in 3 chunks"
    assert unreduced.effect == "completed"
    assert live == stream.result.value == list(range(500))
    assert [type(event).__name__ for event in told] == ["StreamOpened", "StreamClosed"]
    assert isinstance(told[1], StreamClosed) and (told[1].chunks, told[1].complete) == (1000, True)


@requirement("placement.chunks")
@everywhere
async def test_an_error_after_chunks_keeps_them(place: Placement) -> None:
    async with open_supervisor(box(place)) as supervisor, supervisor.events(StreamClosed) as events:
        result = await supervisor.execute(ToolCall("breaks", {"after": 3}))
        [closed] = await next_of(events, 1)

    assert result.error is not None and result.error.message == "ValueError: halfway"
    assert result.chunks == (0, 1, 2)
    assert isinstance(closed, StreamClosed) and (closed.chunks, closed.complete) == (3, False)


class Batches:
    """A stage that lets nothing pass before it has as many chunks as it wants."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: list[object] = []

    def feed(self, chunk: object) -> list[object]:
        self._held.append(chunk)
        return self.end() if len(self._held) == self._size else []

    def end(self) -> list[object]:
        held, self._held = self._held, []
        return [held] if held else []


@requirement("placement.chunks-held", "middleware.stages")
@pytest.mark.parametrize("size", [1, 7, 100, 1000])
@everywhere
async def test_a_stage_may_keep_more_chunks_back_than_the_buffer_of_the_tool_holds(place: Placement, size: int) -> None:
    async def in_batches(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        chunks = await call_next()
        assert isinstance(chunks, Chunks)
        return chunks.through(lambda: Batches(size))

    upto = 10 * TOOLS[place]["count"].options.buffer
    numbers = list(range(upto))
    async with open_supervisor(Toolbox([TOOLS[place]["count"]], middleware=[in_batches])) as supervisor:
        with trio.fail_after(PATIENCE):
            async with supervisor.stream(ToolCall("count", {"upto": upto})) as stream:
                live = [chunk async for chunk in stream]

    assert live == [numbers[at : at + size] for at in range(0, upto, size)]
    assert stream.result.value == live


@requirement("placement.backpressure", "placement.leaving")
@everywhere
async def test_a_stalled_reader_stalls_only_its_own_tool_and_leaving_stops_it(place: Placement, tmp_path: Path) -> None:
    made = tmp_path / "made"
    async with (
        open_supervisor(box(place)) as supervisor,
        supervisor.events(ChunkEmitted, include_payloads=True) as events,
    ):
        with trio.fail_after(PATIENCE):
            async with supervisor.stream(ToolCall("rush", {"made": str(made)})) as stream:
                for _ in range(4):
                    await anext(events)  # now the buffer is full
                for _ in range(5):
                    await supervisor.execute(ToolCall("echo", {"value": 1}))
                ahead = made.stat().st_size
                read = [await anext(stream) for _ in range(20)]
                after = made.stat().st_size
            snapshot = await settled(stream.execution)

    assert ahead <= 5  # the buffer, and the chunk in its hand
    assert read == list(range(20))
    assert after <= 25
    assert made.stat().st_size <= 30
    assert snapshot.abort is not None and (snapshot.abort.source, snapshot.abort.honoured) == ("caller", True)


# -- the context


@requirement("placement.context")
@everywhere
async def test_a_body_knows_who_it_is_and_on_whose_behalf_it_runs(place: Placement) -> None:
    context = RequestContext(principal="ann", capabilities=frozenset({"write", "read"}))
    call = ToolCall("identify", {})
    async with open_supervisor(box(place)) as supervisor:
        execution = supervisor.start(
            call, owner_id="run-7", request_context=context, deadline=trio.current_time() + PATIENCE
        )
        result = await execution.result()
        bare = await supervisor.execute(ToolCall("identify", {}))

    assert result.value == {
        "execution": execution.id,
        "call": call.id,
        "tool": "identify",
        "owner": "run-7",
        "deadline": True,
        "principal": "ann",
        "capabilities": ["read", "write"],
        "abort": False,
        "draining": False,
    }
    without = cast("dict[str, object]", bare.value)
    assert [without[key] for key in ("owner", "deadline", "principal")] == [None, False, None]


@requirement("placement.context")
@everywhere
async def test_a_body_sees_that_no_new_work_is_taken(place: Placement) -> None:
    async with open_supervisor(box(place)) as supervisor:
        execution = supervisor.start(ToolCall("identify", {}))
        supervisor.close_admission()
        result = await execution.result()

    assert cast("dict[str, object]", result.value)["draining"] is True


@requirement("placement.telling")
@everywhere
async def test_what_a_body_tells_arrives_in_order_and_whole(place: Placement) -> None:
    kinds = (
        ExecutionStarted,
        ProgressReported,
        LogWritten,
        CustomEmitted,
        EffectOpened,
        EffectClosed,
        OutcomeDecided,
        ExecutionSettled,
    )
    async with open_supervisor(box(place)) as supervisor, supervisor.events(*kinds, include_payloads=True) as events:
        result = await supervisor.execute(ToolCall("talk", {}))
        told = await next_of(events, 10)
        [shot] = supervisor.executions.inspect()

    assert (result.value, result.effect) == ("said", "completed")
    assert [type(event).__name__ for event in told] == [
        "ExecutionStarted",
        "ProgressReported",
        "LogWritten",
        "CustomEmitted",
        "EffectOpened",
        "LogWritten",
        "EffectClosed",
        "ProgressReported",
        "OutcomeDecided",
        "ExecutionSettled",
    ]
    _, progress, log, custom, opened, _, closed, *_ = told
    assert isinstance(progress, ProgressReported) and isinstance(log, LogWritten) and isinstance(custom, CustomEmitted)
    assert (progress.percent, progress.message, progress.checkpoint) == (10, "begun", {"at": 1})
    assert (log.level, log.message, log.data) == ("info", "a line", {"k": [1, 2]})
    assert (custom.name, custom.data) == ("custom", {"a": 1})
    assert isinstance(opened, EffectOpened) and isinstance(closed, EffectClosed)
    assert (opened.label, opened.target, closed.state) == ("charge card", "stripe:1", "completed")
    assert (shot.state, shot.cleanup) == ("terminal", "completed")


@requirement("placement.telling")
@everywhere
async def test_a_context_that_is_used_wrongly_says_so_in_the_body(place: Placement) -> None:
    said = {
        "progress": "ValueError: progress of 101 percent",
        "log": "ValueError: log level 'loud'",
        "cleanup": "ValueError: cleanup 'fine'",
        "window": "ArmoryError: tool 'misuse' opened an effect window without declaring",
    }
    async with open_supervisor(box(place)) as supervisor:
        for how, words in said.items():
            result = await supervisor.execute(ToolCall("misuse", {"how": how}))

            assert result.error is not None and result.error.message.startswith(words)


CHANGES: list[tuple[Ending, str, list[str]]] = [
    ("leave", "completed", ["completed", "completed"]),
    ("happened", "completed", ["completed", "completed"]),
    ("nothing", "completed", ["completed", "nothing-happened"]),
    ("raise", "unknown", ["unknown", "unknown"]),
    ("raise after happened", "unknown", ["unknown", "completed"]),
    ("raise after nothing", "unknown", ["unknown", "nothing-happened"]),
    ("none opened", "none", []),
]


@requirement("placement.windows")
@everywhere
async def test_effect_windows_say_what_the_world_may_have_seen(place: Placement) -> None:
    async with open_supervisor(box(place)) as supervisor:
        for ending, effect, states in CHANGES:
            result = await supervisor.execute(ToolCall("change", {"ending": ending}))

            assert (ending, result.effect) == (ending, effect)
            assert [record.state for record in result.effects] == states
            assert [record.target for record in result.effects] == [None, "stripe:2"][: len(states)]


# -- being stopped


@requirement("placement.stopped-before")
@everywhere
async def test_a_call_that_is_stopped_while_it_waits_never_enters_its_body(place: Placement, gate: Gate) -> None:
    async with open_supervisor(box(place), limits=Limits(concurrent=1)) as supervisor:
        first = supervisor.start(ToolCall("look", {"gate": gate.path}))
        await began(supervisor, first)
        second = supervisor.start(ToolCall("hold", {"gate": gate.path}))
        answer = second.abort("not needed")
        snapshot = await settled(second)
        gate.open()
        await settled(first)

    assert answer == "not-started"
    assert (snapshot.error_code, snapshot.effect, snapshot.attempts) == ("NOT_STARTED", "none", 0)


@requirement("placement.stopped-inside", "placement.honoured")
@everywhere
@pytest.mark.parametrize("name", ["hold", "look"])
async def test_a_call_that_is_stopped_releases_its_caller_and_settles_once_its_body_is_gone(
    place: Placement, name: str, gate: Gate
) -> None:
    async with open_supervisor(box(place)) as supervisor:
        execution = supervisor.start(ToolCall(name, {"gate": gate.path}))
        await began(supervisor, execution)
        answer = execution.abort("enough")
        with trio.fail_after(PATIENCE):
            result = await execution.result()
        running = execution.snapshot
        gate.open()  # only a thread needs it
        snapshot = await settled(execution)
        after = await supervisor.execute(ToolCall("echo", {"value": 1}))

    assert answer == "requested"
    assert result.error is not None and (result.error.category, result.error.code) == ("cancelled", "CANCELLED")
    assert result.effect == ("none" if name == "look" else "unknown")
    if running.ended_at is None:  # never shown as honoured before the body has ended
        assert running.abort is not None and running.abort.honoured is None
    stopped = place != "thread"
    assert snapshot.abort is not None and snapshot.abort.honoured is stopped
    assert snapshot.effect == ("none" if name == "look" else "unknown" if stopped else "completed")
    assert snapshot.cleanup == "completed"
    assert after.value == 1


@requirement("placement.windows", "placement.stopped-inside")
@everywhere
@pytest.mark.parametrize(("when", "effect"), [("before", "none"), ("inside", "unknown"), ("after", "completed")])
async def test_a_body_that_is_stopped_may_have_changed_what_its_windows_say(
    place: Placement, when: str, effect: str, gate: Gate
) -> None:
    async with open_supervisor(box(place)) as supervisor:
        execution = supervisor.start(ToolCall("hold_window", {"gate": gate.path, "when": when}))
        await began(supervisor, execution)
        execution.abort("enough")
        with trio.fail_after(PATIENCE):
            result = await execution.result()
        gate.open()
        snapshot = await settled(execution)

    assert result.effect == effect
    assert snapshot.effect == ("completed" if place == "thread" and when == "inside" else effect)


@requirement("placement.time-limits")
@everywhere
@pytest.mark.parametrize(("limit", "code"), [("timeout", "TIMEOUT"), ("deadline", "DEADLINE_EXCEEDED")])
async def test_a_body_that_takes_too_long_is_stopped(place: Placement, limit: str, code: str, gate: Gate) -> None:
    async with open_supervisor(box(place)) as supervisor:
        with trio.fail_after(PATIENCE):
            if limit == "timeout":
                execution = supervisor.start(ToolCall("look", {"gate": gate.path}), timeout=0.2)
            else:
                execution = supervisor.start(ToolCall("look", {"gate": gate.path}), deadline=trio.current_time() + 0.2)
            result = await execution.result()
        gate.open()
        snapshot = await settled(execution)

    assert result.error is not None and (result.error.category, result.error.code) == ("timeout", code)
    assert snapshot.abort is not None and snapshot.abort.source == "deadline"


@requirement("placement.time-limits")
@everywhere
async def test_a_body_without_a_sign_of_life_is_stopped(place: Placement, gate: Gate) -> None:
    silence = 5 if place == "process" else 0.2  # a process has to start within that time
    async with open_supervisor(box(place)) as supervisor, supervisor.events(LogWritten) as events:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("quiet", {"gate": gate.path}), idle_timeout=silence)
            for _ in range(3):
                await anext(events)
            result = await execution.result()
        gate.open()
        await settled(execution)

    assert result.error is not None and result.error.code == "IDLE_TIMEOUT"


@requirement("placement.grace")
@everywhere
async def test_within_its_grace_a_body_may_still_finish(place: Placement) -> None:
    async with open_supervisor(box(place)) as supervisor:
        execution = supervisor.start(ToolCall("wrap_up", {}))
        await began(supervisor, execution)
        execution.abort("enough")
        with trio.fail_after(PATIENCE):
            result = await execution.result()
        snapshot = await settled(execution)

    assert (result.outcome, result.value) == ("success", "wrapped up")
    assert snapshot.abort is not None and snapshot.abort.honoured is False
    assert snapshot.cleanup == "completed"


@requirement("placement.time-limits", "placement.grace")
@everywhere
async def test_a_deadline_has_no_grace_for_the_outcome_but_for_the_body(place: Placement) -> None:
    async with open_supervisor(box(place)) as supervisor:
        execution = supervisor.start(ToolCall("wrap_up", {}))
        await began(supervisor, execution)
        hurried = supervisor.start(ToolCall("wrap_up", {}), timeout=0.001)
        with trio.fail_after(PATIENCE):
            result = await hurried.result()
        snapshot = await settled(hurried)
        execution.abort("enough")
        await settled(execution)

    assert result.error is not None and result.error.code == "TIMEOUT"
    assert (snapshot.error_code, snapshot.effect) == ("TIMEOUT", "completed")
    assert hurried.privileged_snapshot().late_value == "wrapped up"


# -- capacity


@requirement("placement.capacity")
@everywhere
async def test_a_slot_is_held_until_the_body_is_gone_and_then_free_for_the_next(place: Placement, gate: Gate) -> None:
    limits = Limits(concurrent=2, threads=2, processes=2)
    async with open_supervisor(box(place), limits=limits) as supervisor:
        executions = [supervisor.start(ToolCall("hold", {"gate": gate.path}), timeout=0.2) for _ in range(5)]
        with trio.fail_after(PATIENCE):
            for execution in executions[:2]:
                await execution.result()
            left = supervisor.executions.inspect(live_only=True)
            gate.open()
            for execution in executions:
                await execution.settled()
            after = await supervisor.execute(ToolCall("echo", {"value": 1}))

    assert {shot.placement for shot in left} == {place}
    for shot in left:  # what still holds a slot is named; what does not, waits for one
        assert shot.capacity or (shot.state == "queued" and shot.waits_for is not None)
    assert after.value == 1
    assert supervisor.report is not None and supervisor.report.unfinished == ()


@requirement("placement.late-abort", "placement.capacity")
@everywhere
async def test_aborts_that_come_just_as_bodies_end_cost_no_capacity(place: Placement) -> None:
    rounds = 200 if place == "thread" else 24
    async with open_supervisor(box(place), limits=Limits(threads=1, processes=1)) as supervisor:
        with trio.fail_after(PATIENCE):
            for number in range(rounds):
                execution = supervisor.start(ToolCall("echo", {"value": number}))
                await trio.sleep(number % 12 * 0.0003)  # about as long as such a call takes; no result depends on it
                execution.abort("too late, or just not")
                await execution.settled()
            after = await supervisor.execute(ToolCall("echo", {"value": "alive"}))

    assert after.value == "alive"


@requirement("placement.middleware-after")
@everywhere
@pytest.mark.parametrize("name", ["fail", "echo"])
async def test_what_a_body_came_to_is_its_middlewares_and_no_late_end_of_its_own(place: Placement, name: str) -> None:
    ended = trio.Event()

    async def slowly(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        with suppress(Exception):
            await call_next()
        ended.set()
        await trio.sleep_forever()
        raise AssertionError

    body = TOOLS[place][name]
    async with open_supervisor(Toolbox([body], middleware=[slowly])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall(name, {"how": "value"} if name == "fail" else {"value": 3}))
            await ended.wait()
            execution.abort("enough")
            result = await execution.result()
            snapshot = await execution.settled()

    assert result.error is not None and result.error.code == "CANCELLED"
    assert snapshot.cleanup == "completed"  # it failed before anybody asked it to stop, if it did
    assert execution.privileged_snapshot().late_value is None
