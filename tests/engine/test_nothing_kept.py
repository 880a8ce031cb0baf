"""Calls that failed or were stopped: what they held is let go at once, without the garbage collector."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Final

import pytest
import trio

from armory_trio import (
    BlockingContext,
    CallNext,
    Chunks,
    Middleware,
    MiddlewareCall,
    RequestContext,
    Retention,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from tests.engine.placement._tools import TOOLS
from tests.engine.tools import add
from tests.requirements import requirement

PATIENCE: Final = 30


class Large:
    """What a body works with."""


held: list[weakref.ref[Large]] = []
holding = threading.Event()


def hold() -> Large:
    large = Large()
    held.append(weakref.ref(large))
    holding.set()
    return large


class Failed(Exception):
    pass


# -- bodies that fail


@tool
async def coroutine() -> None:
    _large = hold()
    await trio.lowlevel.checkpoint()
    raise Failed


@tool
def in_a_thread() -> None:
    _large = hold()
    raise Failed


@tool
def half_in_a_thread() -> object:
    return coroutine.function()


@tool(placement="task")
def inline() -> None:
    _large = hold()
    raise Failed


@tool
async def stream() -> AsyncIterator[int]:
    _large = hold()
    yield 1
    raise Failed


@tool
def generator() -> Iterator[int]:
    _large = hold()
    yield 1
    raise Failed


@tool(placement="task")
def inline_generator() -> Iterator[int]:
    _large = hold()
    yield 1
    raise Failed


@tool
async def caller(ctx: ToolContext) -> object:
    _large = hold()
    return (await ctx.call("in_a_thread")).unwrap()


FAILING: Final = (coroutine, in_a_thread, half_in_a_thread, inline, stream, generator, inline_generator, caller)


# -- bodies that go on until they are stopped


@tool
async def endless_coroutine() -> None:
    _large = hold()
    await trio.sleep_forever()


@tool
def endless_in_a_thread(ctx: BlockingContext) -> None:
    _large = hold()
    ctx.wait_abort_requested()
    ctx.check()


@tool
def asking_trio_in_a_thread(ctx: BlockingContext) -> None:
    _large = hold()
    ctx.wait_abort_requested()
    trio.from_thread.check_cancelled()


@tool
async def endless_stream() -> AsyncIterator[int]:
    _large = hold()
    while True:
        yield 1


@tool
async def waiting_stream() -> AsyncIterator[int]:
    _large = hold()
    while True:
        yield 1
        await trio.sleep_forever()


@tool
def endless_generator() -> Iterator[int]:
    _large = hold()
    while True:
        yield 1


@tool(placement="task")
def endless_inline_generator() -> Iterator[int]:
    _large = hold()
    while True:
        yield 1


@tool
async def endless_caller(ctx: ToolContext) -> object:
    _large = hold()
    return (await ctx.call("endless_coroutine")).unwrap()


ENDLESS: Final = (
    endless_coroutine,
    endless_in_a_thread,
    asking_trio_in_a_thread,
    endless_stream,
    waiting_stream,
    endless_generator,
    endless_inline_generator,
    endless_caller,
)


async def pass_on(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    return await call_next()


BARE_OR_WRAPPED: Final = pytest.mark.parametrize("middleware", [[], [pass_on]], ids=["bare", "wrapped"])


@pytest.fixture
def without_collector() -> Generator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def let_go() -> None:
    """Return once everything that was held is gone. What a thread holds goes when it takes its next work."""
    with trio.fail_after(PATIENCE):
        while any(large() is not None for large in held):
            await trio.to_thread.run_sync(lambda: None)
            await trio.sleep(0.001)


@requirement("engine.failures-not-kept")
@pytest.mark.usefixtures("without_collector")
@BARE_OR_WRAPPED
@pytest.mark.parametrize("kind", FAILING, ids=lambda kind: str(kind.name))
async def test_what_a_failed_call_held_is_let_go_without_the_collector(
    kind: Tool[..., object], middleware: list[Middleware]
) -> None:
    held.clear()
    async with open_supervisor(Toolbox(FAILING, middleware=middleware)) as supervisor:
        for _ in range(3):
            assert (await supervisor.execute(ToolCall(kind.name))).outcome == "error"
        await supervisor.wait_idle()

        assert len(held) >= 3
        await let_go()


@requirement("engine.failures-not-kept")
@pytest.mark.usefixtures("without_collector")
@BARE_OR_WRAPPED
@pytest.mark.parametrize("kind", ENDLESS, ids=lambda kind: str(kind.name))
async def test_what_a_stopped_call_held_is_let_go_without_the_collector(
    kind: Tool[..., object], middleware: list[Middleware]
) -> None:
    held.clear()
    async with open_supervisor(Toolbox(ENDLESS, middleware=middleware)) as supervisor:
        for _ in range(3):
            await stop_when_it_holds(supervisor, kind.name)

        assert len(held) >= 3
        await let_go()


async def stop_when_it_holds(supervisor: Supervisor, name: str) -> None:
    holding.clear()
    with trio.fail_after(PATIENCE):
        execution = supervisor.start(ToolCall(name))
        assert await trio.to_thread.run_sync(holding.wait, PATIENCE)
        execution.abort("enough")
        assert (await execution.result()).outcome == "error"
        await supervisor.wait_idle()


@requirement("engine.failures-not-kept")
@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("kind", [stream, generator, inline_generator], ids=lambda kind: str(kind.name))
@pytest.mark.parametrize("where", ["feed", "end"])
async def test_what_a_stage_of_a_stream_held_is_let_go_without_the_collector(
    kind: Tool[..., object], where: str
) -> None:
    class Stage:
        def feed(self, chunk: object) -> tuple[object]:
            _large = hold()
            if where == "feed":
                raise Failed
            return (chunk,)

        def end(self) -> tuple[()]:
            _large = hold()
            raise Failed

    async def staged(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        chunks = await call_next()
        assert isinstance(chunks, Chunks)
        return chunks.through(Stage)

    held.clear()
    async with open_supervisor(Toolbox([kind], middleware=[staged])) as supervisor:
        assert (await supervisor.execute(ToolCall(kind.name))).outcome == "error"
        await supervisor.wait_idle()

        assert len(held) == 3  # the body's, and one for each of the two
        await let_go()


ANYWHERE: Final = [
    ToolCall("add", {"a": 1, "b": 2}),
    ToolCall("add", {"a": "no number"}),
    ToolCall("in_a_thread"),
    ToolCall("coroutine"),
    ToolCall("echo", {"value": 3}),
    ToolCall("fail", {"how": "value"}),
    ToolCall("count", {"upto": 3}),
    ToolCall("nobody"),
]


@requirement("engine.failures-not-kept")
@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("key", [None, "k-1"])
@pytest.mark.parametrize("call", ANYWHERE, ids=lambda call: f"{call.name} {call.arguments}")
async def test_what_a_call_brought_with_it_is_let_go_without_the_collector(call: ToolCall, key: str | None) -> None:
    held.clear()
    toolbox = Toolbox([add, in_a_thread, coroutine, *(TOOLS["process"][name] for name in ("echo", "fail", "count"))])
    who = RequestContext(principal="p-1", tenant="t-1")
    async with open_supervisor(toolbox, retention=Retention(count=0), default_request_context=who) as supervisor:
        with trio.fail_after(PATIENCE):
            await supervisor.execute(call, metadata=hold(), idempotency_key=key)
            await supervisor.wait_idle()

        assert held
        await let_go()
