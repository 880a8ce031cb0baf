"""One call each, ended in every way: what is told of it, in which order, and what its result says."""

from __future__ import annotations

import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, cast

import pytest
import trio
import trio.testing

from armory_trio import (
    AbortRequested,
    BatchError,
    Budget,
    ChunkEmitted,
    CustomEmitted,
    ElicitAccepted,
    ElicitAnswer,
    ElicitRequest,
    ExecutionAdmitted,
    ExecutionRefused,
    ExecutionSettled,
    ExecutionStarted,
    Happening,
    Lifecycle,
    LoopDetection,
    LoopWarned,
    NameResolved,
    OfExecution,
    OutcomeDecided,
    Process,
    ProgressReported,
    Resolution,
    StreamClosed,
    StreamOpened,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    define_tool,
    lazy,
    open_supervisor,
    tool,
)

from ..requirements import requirement
from .tools import add, count, relay, sleep


@tool(effect="read-only")
async def broken() -> None:
    raise LookupError("no such row")


@tool(availability=lambda context: False, effect="read-only")
async def elsewhere() -> str:
    return "here"


@tool(concurrency=1, effect="read-only")
async def single(ctx: ToolContext) -> str:
    ctx.emit("begun", ctx.execution_id)
    ctx.progress(percent=50)
    await trio.sleep(1)
    return ctx.execution_id


@tool(lifecycle=Lifecycle(deprecated="slow"), effect="read-only")
async def old_one() -> str:
    return "old"


TOOLS: Final = Toolbox([add, count, sleep, broken, elsewhere, single, old_one])

# -- what is told

BEGUN: Final = (ExecutionAdmitted, ExecutionStarted)
ENDED: Final = (OutcomeDecided, ExecutionSettled)
REFUSED: Final = (OutcomeDecided, ExecutionRefused, ExecutionSettled)

Told = tuple[type[Happening], ...]
WAYS: list[tuple[ToolCall, Told, str | None]] = [
    (ToolCall("add", {"a": 1, "b": 2}), (*BEGUN, *ENDED), None),
    (ToolCall("default:add", {"a": 1, "b": 2}), (*BEGUN, *ENDED), None),
    (ToolCall("ADD", {"a": 1, "b": 2}), (ExecutionAdmitted, NameResolved, ExecutionStarted, *ENDED), None),
    (ToolCall("count", {"upto": 1}), (*BEGUN, StreamOpened, ChunkEmitted, StreamClosed, *ENDED), None),
    (ToolCall("single"), (*BEGUN, CustomEmitted, ProgressReported, *ENDED), None),
    (ToolCall("broken"), (*BEGUN, *ENDED), "INTERNAL_ERROR"),
    (ToolCall("sleep", {"seconds": 9}), (*BEGUN, AbortRequested, *ENDED), "TIMEOUT"),
    (ToolCall("add", {"a": "one", "b": 2}), (ExecutionAdmitted, *REFUSED), "INVALID_ARGUMENTS"),
    (ToolCall("nothing"), (ExecutionAdmitted, *REFUSED), "NOT_FOUND"),
    (ToolCall("elsewhere"), (ExecutionAdmitted, *REFUSED), "TOOL_UNAVAILABLE"),
]


@requirement("watching.ways-to-end")
@pytest.mark.parametrize(("call", "kinds", "code"), WAYS, ids=[f"{call.name}-{code}" for call, _, code in WAYS])
async def test_each_way_to_end_tells_its_events_in_one_order(
    call: ToolCall, kinds: Told, code: str | None, autojump_clock: trio.testing.MockClock
) -> None:
    async with (
        open_supervisor(TOOLS, resolution=Resolution()) as supervisor,
        supervisor.events(include_payloads=True) as events,
    ):
        await supervisor.start(call, timeout=5.0).settled()
        told = [await anext(events) for _ in kinds]
        with pytest.raises(trio.WouldBlock):
            events.next_nowait()

    assert tuple(type(event) for event in told) == kinds
    assert [event.code for event in told if isinstance(event, OutcomeDecided)] == [code]


@requirement("watching.ways-to-end")
async def test_a_spent_budget_and_a_loop_refuse_with_the_same_events() -> None:
    calls = [ToolCall("add", {"a": 1, "b": 2})] * 3
    async with (
        open_supervisor(TOOLS, budget=Budget(max_calls=2), loops=LoopDetection(warn_at=2, block_at=3)) as supervisor,
        supervisor.events() as events,
    ):
        await supervisor.execute(calls[0])
        warned = await told_of(supervisor, calls[1], 5)
        await supervisor.execute(calls[2])  # the budget is looked at first: no loop is counted
        refused = [type(await anext(events)) for _ in range(13)][9:]
    async with open_supervisor(TOOLS, loops=LoopDetection(warn_at=None, block_at=2)) as supervisor:
        await supervisor.execute(calls[0])
        blocked = await told_of(supervisor, calls[1], 4)

    assert warned == [ExecutionAdmitted, LoopWarned, ExecutionStarted, *ENDED]
    assert refused == [ExecutionAdmitted, *REFUSED]
    assert blocked == [ExecutionAdmitted, *REFUSED]


async def told_of(supervisor: Supervisor, call: ToolCall, events: int) -> list[type[Happening]]:
    """The kinds of the first *events* that are told of *call*."""
    async with supervisor.events() as reader:
        await supervisor.execute(call)
        return [type(await anext(reader)) for _ in range(events)]


@requirement("watching.whose-event")
async def test_two_calls_of_one_tool_tell_each_their_own(autojump_clock: trio.testing.MockClock) -> None:
    @tool(effect="read-only")
    async def twin(ctx: ToolContext) -> str:
        for _ in range(3):
            ctx.emit("mine", ctx.execution_id)
            await trio.sleep(1)
        return ctx.execution_id

    async with (
        open_supervisor(Toolbox([twin])) as supervisor,
        supervisor.events(CustomEmitted, OutcomeDecided, include_payloads=True) as events,
    ):
        results = await supervisor.execute_batch([ToolCall("twin", id="same"), ToolCall("twin", id="same")])
        told = [await anext(events) for _ in range(8)]

    assert [result.value for result in results] == [result.execution_id for result in results]
    assert len({result.execution_id for result in results}) == 2
    mine = [event for event in told if isinstance(event, CustomEmitted)]
    assert len(mine) == 6
    assert all(event.data == event.execution_id for event in mine)
    assert {event.execution_id for event in told if isinstance(event, OfExecution)} == {r.value for r in results}


# -- what a result says


@requirement("engine.by-full-id")
async def test_a_call_by_full_id_is_a_call_of_that_tool() -> None:
    @tool(name="pick", version="1.0.0", effect="read-only")
    async def first() -> str:
        return "1.0.0"

    @tool(name="pick", version="2.0.0", effect="read-only")
    async def second() -> str:
        return "2.0.0"

    async with open_supervisor(Toolbox([second, first])) as supervisor:
        by_name, by_id = await supervisor.execute_batch([ToolCall("pick"), ToolCall("default:pick@1.0.0")])
        unfit = await supervisor.execute(ToolCall("default:pick@1.0.0", {"name": "pick"}))

    assert (by_name.value, by_name.tool_name) == ("2.0.0", "pick")
    assert (by_id.value, by_id.tool_name) == ("1.0.0", "pick")
    assert unfit.error is not None
    assert (unfit.error.code, unfit.tool_name) == ("INVALID_ARGUMENTS", "pick")


@requirement("engine.queue-time")
async def test_time_in_the_queue_is_no_time_of_the_tools(autojump_clock: trio.testing.MockClock) -> None:
    begun = trio.current_time()
    async with (
        open_supervisor(TOOLS) as supervisor,
        supervisor.events(ExecutionStarted) as events,
    ):
        results = await supervisor.execute_batch([ToolCall("single"), ToolCall("single")])
        started = [await anext(events) for _ in results]

    assert [result.duration for result in results] == [1, 1]
    assert [event.at - begun for event in started] == [0, 1]


@requirement("engine.result-frozen")
async def test_a_result_cannot_be_changed() -> None:
    async with open_supervisor(TOOLS) as supervisor:
        result = await supervisor.execute(ToolCall("broken"))

    assert result.error is not None
    for value, field in ((result, "value"), (result, "error"), (result.error, "code")):
        with pytest.raises(AttributeError):
            setattr(value, field, None)


@requirement("engine.arguments-untouched")
async def test_what_a_tool_does_to_its_arguments_changes_nobody_elses() -> None:
    @tool
    async def by_annotation(items: list[int]) -> list[int]:
        items.append(1)
        return items

    @tool
    async def by_nothing(items: object) -> object:
        added = cast("list[int]", items)
        added.append(1)
        return added

    async def change(arguments: dict[str, list[int]]) -> list[int]:
        arguments["items"].append(1)
        return arguments["items"]

    schema = {"type": "object", "properties": {"items": {"type": "array"}}}
    by_schema = define_tool(name="by_schema", input=schema, execute=change)
    names = ("by_annotation", "by_nothing", "by_schema")
    async with open_supervisor(Toolbox([by_annotation, by_nothing, by_schema])) as supervisor:
        for name in names:
            arguments: Mapping[str, list[int]] = {"items": [0]}
            assert (await supervisor.execute(ToolCall(name, arguments))).value == [0, 1]
            assert arguments == {"items": [0]}


@requirement("engine.reason-said")
@pytest.mark.parametrize("reason", ["", "  "])
async def test_an_abort_without_a_reason_still_says_something(reason: str) -> None:
    async with open_supervisor(TOOLS) as supervisor:
        handle = supervisor.start(ToolCall("sleep", {"seconds": 9}))
        handle.abort(reason)
        result = await handle.result()

    assert result.error is not None
    assert (result.error.category, result.error.message) == ("cancelled", "no reason was given")


@requirement("engine.reason-said", "engine.nested")
async def test_what_was_called_says_that_its_caller_was_stopped_with_or_without_a_reason() -> None:
    async with open_supervisor(Toolbox([relay, sleep])) as supervisor, supervisor.events(AbortRequested) as events:
        for reason in ("", "enough"):
            handle = supervisor.start(ToolCall("relay", {"name": "sleep", "seconds": 9}))
            await trio.testing.wait_all_tasks_blocked()
            handle.abort(reason)
            await handle.settled()
        told = [await anext(events) for _ in range(4)]

    assert [event.reason for event in told if isinstance(event, AbortRequested)] == [
        "",
        "its caller was asked to stop",
        "enough",
        "its caller was asked to stop: enough",
    ]


# -- what an undeclared exception counts as


def _of_trio(*attempts: OSError) -> OSError:
    """What `trio.open_tcp_stream` raises when every attempt failed."""
    failed = OSError("all attempts to connect to example.invalid:1 failed")
    failed.__cause__ = ExceptionGroup("all attempts failed", attempts)
    return failed


PASSING: list[tuple[Exception, str]] = [
    (OSError(errno.ECONNRESET, "reset"), "CONNECTION_LOST"),
    (OSError(errno.ECONNREFUSED, "refused"), "CONNECTION_LOST"),
    (OSError(errno.ENETDOWN, "down"), "CONNECTION_LOST"),
    (OSError(errno.ENETUNREACH, "unreachable"), "CONNECTION_LOST"),
    (OSError(errno.EHOSTUNREACH, "unreachable"), "CONNECTION_LOST"),
    (_of_trio(ConnectionRefusedError("refused"), OSError(errno.ENETUNREACH, "unreachable")), "CONNECTION_LOST"),
    (OSError(errno.ETIMEDOUT, "slow"), "TRANSIENT_ERROR"),
    (socket.gaierror(socket.EAI_AGAIN, "try again"), "TRANSIENT_ERROR"),
    (socket.gaierror(socket.EAI_NONAME, "no such name"), "INTERNAL_ERROR"),
    (OSError(errno.ENOENT, "no such file"), "INTERNAL_ERROR"),
    (OSError("no number, no cause"), "INTERNAL_ERROR"),
    (_of_trio(ConnectionRefusedError("refused"), FileNotFoundError("gone")), "INTERNAL_ERROR"),
    (ValueError("rate limit exceeded: timeout"), "INTERNAL_ERROR"),
]


@requirement("engine.whose-timeout", "engine.passing")
@pytest.mark.parametrize(("raised", "code"), PASSING, ids=[f"{raised}-{code}" for raised, code in PASSING])
async def test_what_an_exception_counts_as_is_said_by_its_type_and_its_number(raised: Exception, code: str) -> None:
    @tool(effect="read-only")
    async def fails() -> None:
        raise raised

    result = await fails.call()

    assert result.error is not None
    assert (result.error.code, result.error.retryable) == (code, code != "INTERNAL_ERROR")


def unreachable() -> None:
    """Fail as in a process that has no network."""
    raise OSError(errno.ENETUNREACH, "unreachable")


@requirement("engine.passing")
async def test_an_exception_counts_the_same_when_it_comes_from_a_process() -> None:
    there = tool(unreachable, effect="read-only", placement=Process())
    async with open_supervisor(Toolbox([there])) as supervisor:
        result = await supervisor.execute(ToolCall("unreachable"))

    assert result.error is not None
    assert (result.error.category, result.error.code) == ("transient", "CONNECTION_LOST")


# -- what is asked before a body begins


@requirement("definitions.lazy.cancelled")
async def test_a_function_whose_load_was_stopped_is_never_called(autojump_clock: trio.testing.MockClock) -> None:
    called = False

    async def function(arguments: Mapping[str, object]) -> None:
        nonlocal called
        called = True

    async def load() -> Callable[[Mapping[str, object]], Awaitable[None]]:
        await trio.sleep(5)
        return function

    late: Tool[..., object] = define_tool(name="late", input={}, execute=lazy(load))
    async with open_supervisor(Toolbox([late])) as supervisor:
        handle = supervisor.start(ToolCall("late"))
        await trio.sleep(1)
        handle.abort("not needed")
        result = await handle.result()
        await trio.sleep(9)

    assert result.error is not None
    assert (result.error.code, result.effect, result.attempts) == ("NOT_STARTED", "none", 0)
    assert not called


@requirement("engine.unknown-tool")
async def test_a_name_of_any_length_is_answered_in_few_words() -> None:
    async with open_supervisor(TOOLS) as supervisor:
        result = await supervisor.execute(ToolCall("ad" * 50_000))

    assert result.error is not None
    assert result.error.message.startswith("there is no tool 'adad")
    assert len(result.text) < 500
    assert len(result.error.message) < 100


@requirement("engine.budget")
async def test_only_bodies_that_begin_are_paid_for() -> None:
    unpaid = [
        ToolCall("nothing"),
        ToolCall("elsewhere"),
        ToolCall("add", {"a": "one", "b": 2}),
        ToolCall("add", {"a": 1, "b": 2}),
        ToolCall("add", {"a": 1, "b": 2}),
        ToolCall("broken"),
        ToolCall("add", {"a": 2, "b": 2}),
    ]
    loops = LoopDetection(warn_at=None, block_at=2)
    async with open_supervisor(TOOLS, budget=Budget(max_calls=2), loops=loops) as supervisor:
        results = [await supervisor.execute(call) for call in unpaid]

    assert [result.error and result.error.code for result in results] == [
        "NOT_FOUND",
        "TOOL_UNAVAILABLE",
        "INVALID_ARGUMENTS",
        None,  # paid
        "LOOP_BLOCKED",
        "INTERNAL_ERROR",  # paid: its body began
        "BUDGET_EXCEEDED",
    ]


@requirement("engine.fail-fast", "engine.loops")
async def test_a_call_that_goes_round_in_circles_trips_a_batch() -> None:
    calls = [ToolCall("add", {"a": 1, "b": 2})] * 3
    async with open_supervisor(TOOLS, loops=LoopDetection(warn_at=None, block_at=2)) as supervisor:
        assert await supervisor.execute_batch([]) == []
        with pytest.raises(BatchError) as caught:
            await supervisor.execute_batch(calls, mode="sequential", on_error="fail_fast")

    assert caught.value.index == 1
    codes = [result.error and result.error.code for result in caught.value.results]
    assert codes == ["NOT_STARTED", "LOOP_BLOCKED", "LOOP_BLOCKED"]  # it is refused at the door, before anything starts


WRONG_BATCHES: list[tuple[object, object, str]] = [
    (ToolCall("add"), None, "is no list of calls; give .* or use execute for one call"),
    (None, None, "None is no list of calls"),
    ("add", None, "'add' is no list of calls"),
    ([None], None, "None is no ToolCall"),
    ([ToolCall("add")], 0, "concurrency=0: give a whole number, 1 or more"),
    ([ToolCall("add")], 2.5, "concurrency=2.5: give a whole number"),
    ([ToolCall("add")], float("nan"), "concurrency=nan: give a whole number"),
    ([ToolCall("add")], "3", "concurrency='3': give a whole number"),
    ([ToolCall("add")], True, "concurrency=True: give a whole number"),
]


@requirement("engine.options")
@pytest.mark.parametrize(("calls", "concurrency", "words"), WRONG_BATCHES, ids=[words for _, _, words in WRONG_BATCHES])
async def test_a_wrong_batch_is_refused_at_the_door(calls: object, concurrency: object, words: str) -> None:
    async with open_supervisor(TOOLS) as supervisor:
        with pytest.raises((TypeError, ValueError), match=words):
            await supervisor.execute_batch(calls, concurrency=concurrency)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # the mistake under test
        assert supervisor.executions.inspect() == []


@requirement("engine.deprecated", "engine.fuzzy")
async def test_a_deprecated_tool_is_told_of_also_when_its_name_is_misspelt_or_it_is_refused() -> None:
    told: list[tuple[str, str]] = []
    toolbox = Toolbox([old_one], on_deprecated=lambda each, call: told.append((each.name, call.name)))
    async with open_supervisor(toolbox, resolution=Resolution()) as supervisor:
        understood = await supervisor.execute(ToolCall("Old-One"))
        await supervisor.execute(ToolCall("old_one", {"extra": 1}))

    assert (understood.value, understood.tool_name) == ("old", "old_one")
    assert told == [("old_one", "Old-One"), ("old_one", "old_one")]


@requirement("engine.elicit")
async def test_a_question_may_name_a_page_where_it_is_answered() -> None:
    asked: list[ElicitRequest] = []

    @tool
    async def sign_in(ctx: ToolContext) -> object:
        return await ctx.elicit("Sign in, please", url="https://example.invalid/sign-in")

    async def ask(request: ElicitRequest) -> ElicitAnswer:
        asked.append(request)
        await trio.lowlevel.checkpoint()
        return ElicitAccepted()

    async with open_supervisor(Toolbox([sign_in])) as supervisor:
        result = await supervisor.execute(ToolCall("sign_in"), elicit=ask)

    assert result.value == ElicitAccepted()
    assert [(each.message, each.url, each.schema) for each in asked] == [
        ("Sign in, please", "https://example.invalid/sign-in", None)
    ]


# -- digests of streams


@requirement("engine.digests")
async def test_a_stream_that_nobody_kept_has_no_digest_of_its_value() -> None:
    @tool(digests=True)
    async def chunks(upto: int) -> AsyncIterator[int]:
        for number in range(upto):
            yield number
            await trio.lowlevel.checkpoint()

    call = ToolCall("chunks", {"upto": 2})
    async with open_supervisor(Toolbox([chunks])) as supervisor:
        collected = await supervisor.execute(call)
        async with supervisor.stream(call) as kept:
            _ = [chunk async for chunk in kept]
        async with supervisor.stream(call, collect=False) as left:
            _ = [chunk async for chunk in left]

    assert collected.output_digest is not None
    assert kept.result.output_digest == collected.output_digest
    assert left.result.output_digest is None
    assert left.result.input_digest == collected.input_digest
