"""Whatever a tool throws, from wherever, is the end of its own call and of nothing else."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final, cast

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    BlockingContext,
    CallNext,
    Chunks,
    Effect,
    ElicitAnswer,
    ElicitRequest,
    ExecutionStarted,
    MiddlewareCall,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    define_tool,
    open_supervisor,
    tool,
)
from tests.engine.cancelling import assert_nothing_is_held
from tests.engine.throwing import THROWN, keep_a_stray
from tests.engine.tools import sleep
from tests.requirements import requirement

THROWING: Final[list[Callable[[], BaseException]]] = []
"""What the tools throw now."""


def throw() -> None:
    exc = THROWING[0]()
    raise exc


# ── the kinds of functions ───────────────────────────────────────────────────────────────────────────────────────────


@tool
async def coroutine() -> None:
    throw()


@tool
async def coroutine_later() -> None:
    await trio.sleep(0.01)
    throw()


@tool
async def in_a_nursery() -> None:
    async with trio.open_nursery() as nursery:

        async def child() -> None:
            await trio.sleep(0.01)
            throw()

        nursery.start_soon(child)
        nursery.start_soon(trio.sleep, 1)


@tool
def in_a_thread() -> None:
    throw()


@tool(placement="task")
def inline() -> None:
    throw()


@tool
async def stream() -> AsyncIterator[int]:
    throw()
    yield 1


@tool
async def stream_later() -> AsyncIterator[int]:
    yield 1
    throw()


@tool
async def stream_at_its_end() -> AsyncIterator[int]:
    try:
        yield 1
    finally:
        throw()


@tool
def generator() -> Iterator[int]:
    throw()
    yield 1


@tool
def generator_later() -> Iterator[int]:
    yield 1
    throw()


@tool(placement="task")
def inline_generator() -> Iterator[int]:
    yield 1
    throw()


def _reduce(_: list[int]) -> int:
    throw()
    return 0


@tool(reducer=_reduce)
async def reduced() -> AsyncIterator[int]:
    yield 1


@tool
async def asking(ctx: ToolContext) -> None:
    await ctx.elicit("well?")


@tool
def asking_in_a_thread(ctx: BlockingContext) -> None:
    ctx.elicit("well?")


@tool
async def wrapped() -> object:
    return coroutine.function()  # an awaitable as a value: awaited, and raises then


KINDS: Final[list[Tool[..., object]]] = [
    coroutine,
    coroutine_later,
    in_a_nursery,
    in_a_thread,
    inline,
    stream,
    stream_later,
    stream_at_its_end,
    generator,
    generator_later,
    inline_generator,
    reduced,
    asking,
    asking_in_a_thread,
    wrapped,
]


TRIOS_OWN: Final = ("no repr", "stray", "group of strays")
"""What trio itself does not bring out of a nursery: it breaks down on the first, and takes the others for its own."""


async def _answer(_: ElicitRequest) -> ElicitAnswer:
    throw()
    raise AssertionError


def _check(result: ToolResult[object], effect: Effect, name: str) -> None:
    assert result.outcome == "error"
    assert result.error is not None
    assert result.error.category == "internal"
    assert result.error.code in ("INTERNAL_ERROR", "STRAY_CANCELLED")
    if name in ("stray", "group of strays"):
        assert result.error.code == "STRAY_CANCELLED"
    assert result.effect == effect
    assert result.error.message
    assert result.text
    msgspec.json.encode(result)


async def _others_are_well(supervisor: Supervisor) -> None:
    result = await supervisor.execute(ToolCall("sleep", {"seconds": 0}))
    assert result.value == "slept"
    assert supervisor._core.bugs == []  # pyright: ignore[reportPrivateUsage]  # before the report


@requirement("engine.faults", "engine.faults.cancelled-by-others")
@pytest.mark.parametrize("name", THROWN)
async def test_whatever_is_thrown_by_whatever_function_ends_its_own_call(name: str) -> None:
    await keep_a_stray()
    THROWING[:] = [THROWN[name]]
    async with open_supervisor(Toolbox([*KINDS, sleep])) as supervisor:
        sibling = supervisor.start(ToolCall("sleep", {"seconds": 0.2}))
        for kind in KINDS:
            if kind is in_a_nursery and name in TRIOS_OWN:
                continue
            result = await supervisor.execute(ToolCall(kind.name), elicit=_answer)
            effect: Effect = "completed" if kind is reduced else "unknown"
            _check(result, effect, name)
        assert (await sibling.result()).value == "slept"
        await _others_are_well(supervisor)
    assert supervisor.report is not None
    assert supervisor.report.mode == "drain"
    assert_nothing_is_held(supervisor)


# ── the moments ──────────────────────────────────────────────────────────────────────────────────────────────────────


@tool
async def when_stopped() -> None:
    try:
        await trio.sleep(60)
    finally:
        throw()


@tool
async def instead_of_stopping() -> None:
    try:
        await trio.sleep(60)
    except trio.Cancelled:
        throw()


@tool
async def stream_when_stopped() -> AsyncIterator[int]:
    try:
        yield 1
        await trio.sleep(60)
    finally:
        throw()


@tool
def thread_when_stopped(ctx: BlockingContext) -> None:
    try:
        while True:
            ctx.check()
            time.sleep(0.001)
    finally:
        throw()


STOPPED: Final[list[Tool[..., object]]] = [when_stopped, instead_of_stopping, stream_when_stopped, thread_when_stopped]


@requirement("engine.faults", "engine.faults.cancelled-by-others")
@pytest.mark.parametrize("name", THROWN)
async def test_what_is_thrown_while_it_is_stopped_does_not_change_why_it_ended(name: str) -> None:
    await keep_a_stray()
    THROWING[:] = [THROWN[name]]
    async with open_supervisor(Toolbox([*STOPPED, sleep])) as supervisor:
        async with supervisor.events(ExecutionStarted) as begun:
            executions = [supervisor.start(ToolCall(kind.name)) for kind in STOPPED]
            for _ in executions:
                await anext(begun)
        for execution in executions:
            assert execution.abort() == "requested"
            result = await execution.result()
            snapshot = await execution.settled()
            assert result.error is not None
            assert (result.error.category, result.error.code) == ("cancelled", "CANCELLED")
            assert (snapshot.effect, snapshot.state) == ("unknown", "unknown-effect")
            assert snapshot.cleanup in ("failed", "completed")
            if name in ("Exception", "SystemExit", "mixed group", "no text"):
                assert snapshot.cleanup == "failed"
        await _others_are_well(supervisor)
    assert_nothing_is_held(supervisor)


@tool(effect_windows=True)
async def in_a_window(ctx: ToolContext, inside: bool) -> None:
    async with ctx.effect("change"):
        if inside:
            throw()
    throw()


@tool(effect_windows=True)
def in_a_blocking_window(ctx: BlockingContext, inside: bool) -> None:
    with ctx.effect("change"):
        if inside:
            throw()
    throw()


@requirement("engine.faults")
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("name", THROWN)
async def test_what_is_thrown_in_an_effect_window_leaves_it_unknown_and_after_it_completed(
    name: str, inside: bool
) -> None:
    await keep_a_stray()
    THROWING[:] = [THROWN[name]]
    async with open_supervisor(Toolbox([in_a_window, in_a_blocking_window, sleep])) as supervisor:
        for kind in (in_a_window, in_a_blocking_window):
            result = await supervisor.execute(ToolCall(kind.name, {"inside": inside}))
            _check(result, "unknown" if inside else "completed", name)
            assert [window.state for window in result.effects] == ["unknown" if inside else "completed"]
        await _others_are_well(supervisor)


@tool(effect="read-only")
async def careful(ctx: ToolContext) -> str:
    """Its child fails, and it lives."""
    result = await ctx.call("coroutine_later")
    assert result.error is not None
    return result.error.code


@tool(effect="read-only")
async def careless(ctx: ToolContext) -> object:
    """Its child fails, and it with it."""
    return (await ctx.call("coroutine_later")).unwrap()


@requirement("engine.faults")
@pytest.mark.parametrize("name", THROWN)
async def test_what_a_nested_call_throws_is_its_own_end_and_its_caller_decides(name: str) -> None:
    await keep_a_stray()
    THROWING[:] = [THROWN[name]]
    async with open_supervisor(Toolbox([careful, careless, coroutine_later, sleep])) as supervisor:
        lived = await supervisor.execute(ToolCall("careful"))
        failed = await supervisor.execute(ToolCall("careless"))
        await _others_are_well(supervisor)

    assert lived.value in ("INTERNAL_ERROR", "STRAY_CANCELLED")
    assert lived.effect == failed.effect == "unknown"  # the child's, which nobody declared
    assert failed.error is not None
    assert failed.error.code == "INTERNAL_ERROR"


class Staged:
    """What throws at each chunk, and at the end once more."""

    def feed(self, chunk: object) -> tuple[object]:
        throw()
        return (chunk,)

    def end(self) -> tuple[()]:
        throw()
        return ()


@tool
def numbers() -> Iterator[int]:
    yield 1
    yield 2


@tool(placement="task")
def inline_numbers() -> Iterator[int]:
    yield 1


@tool
async def async_numbers() -> AsyncIterator[int]:
    yield 1


NUMBERS: Final[list[Tool[..., object]]] = [numbers, inline_numbers, async_numbers]


async def staged(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    chunks = await call_next()
    return chunks.through(Staged) if isinstance(chunks, Chunks) else chunks


@requirement("engine.faults")
@pytest.mark.parametrize("name", THROWN)
async def test_what_a_stage_of_a_stream_throws_at_a_chunk_and_at_the_end_is_the_end_of_its_call(name: str) -> None:
    await keep_a_stray()
    THROWING[:] = [THROWN[name]]
    async with open_supervisor(Toolbox([*NUMBERS, sleep], middleware=[staged])) as supervisor:
        for kind in NUMBERS:
            result = await supervisor.execute(ToolCall(kind.name))
            assert result.effect in (("unknown", "completed") if kind is numbers else ("unknown",))  # a thread is ahead
            _check(result, result.effect, name)
        await _others_are_well(supervisor)
    assert_nothing_is_held(supervisor)


# ── interrupts ───────────────────────────────────────────────────────────────────────────────────────────────────────

INTERRUPTED: Final = [
    *KINDS,
    careless,
    in_a_window,
]


@requirement("engine.faults.interrupt")
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kind", INTERRUPTED, ids=lambda kind: str(kind.name))
async def test_an_interrupt_leaves_bare_and_aborts_everything(kind: Tool[..., object], grouped: bool) -> None:
    thrown = BaseExceptionGroup("some", [ValueError("no"), KeyboardInterrupt("^C")]) if grouped else None
    THROWING[:] = [lambda: thrown or KeyboardInterrupt("^C")]
    arguments: dict[str, object] = {"inside": True} if kind is in_a_window else {}
    box = Toolbox([*INTERRUPTED, sleep])
    opened: list[Supervisor] = []
    siblings: list[Callable[[], Awaitable[ToolResult[object]]]] = []

    async def serve() -> None:
        async with open_supervisor(box) as supervisor:
            opened.append(supervisor)
            siblings.append(supervisor.start(ToolCall("sleep", {"seconds": 60})).result)
            await trio.testing.wait_all_tasks_blocked()
            await supervisor.execute(ToolCall(kind.name, arguments), elicit=_answer)
            await trio.sleep(60)

    with pytest.raises(KeyboardInterrupt, match=r"\^C"):
        await serve()

    other = await siblings[0]()
    assert other.error is not None
    assert (other.error.category, other.effect) == ("cancelled", "unknown")
    assert opened[0].report is not None
    assert opened[0].report.unfinished == ()
    assert opened[0].report.mode == "abort"
    assert_nothing_is_held(opened[0])


@requirement("engine.faults.interrupt")
async def test_an_interrupt_while_a_tool_is_stopped_leaves_bare_too() -> None:
    THROWING[:] = [KeyboardInterrupt]
    opened: list[Supervisor] = []

    async def serve() -> None:
        async with open_supervisor(Toolbox([when_stopped])) as supervisor:
            opened.append(supervisor)
            execution = supervisor.start(ToolCall("when_stopped"))
            await trio.testing.wait_all_tasks_blocked()
            execution.abort()
            await trio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        await serve()

    assert opened[0].report is not None
    assert opened[0].report.unfinished == ()
    assert_nothing_is_held(opened[0])


# ── what was found on the way ────────────────────────────────────────────────────────────────────────────────────────


class Address(msgspec.Struct):
    street: str


@requirement("engine.context-with-input")
async def test_a_function_with_a_declared_input_gets_its_context() -> None:
    async def send(address: Address, ctx: ToolContext) -> str:
        return f"{address.street} {ctx.tool_name}"

    def look(address: Address, ctx: BlockingContext) -> str:
        return f"{address.street} {ctx.tool_name}"

    async def flow(given: dict[str, object], ctx: ToolContext) -> AsyncIterator[str]:
        yield f"{given['street']} {ctx.tool_name}"

    schema = cast("dict[str, object]", {"type": "object", "properties": {"street": {"type": "string"}}})
    made = [
        define_tool(input=Address, execute=send),
        define_tool(input=Address, execute=look),
        define_tool(input=schema, execute=flow),
    ]
    async with open_supervisor(Toolbox(made)) as supervisor:
        values = [(await supervisor.execute(ToolCall(tool.name, {"street": "Main"}))).value for tool in made]

    assert values == ["Main send", "Main look", ["Main flow"]]
