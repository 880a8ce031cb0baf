"""What a tool gives comes to the same wherever it runs, and whether a middleware stands around it or a key goes with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

import msgspec
import pytest
import trio

from armory_trio import (
    CallNext,
    Middleware,
    MiddlewareCall,
    RequestContext,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolExecutionError,
    ToolResult,
    open_supervisor,
    tool,
)
from tests.requirements import requirement

PATIENCE: Final = 30


class Text(str):
    __slots__ = ()


class Point(NamedTuple):
    x: int
    y: int


class Row(msgspec.Struct):
    id: int


async def coroutine() -> int:
    await trio.lowlevel.checkpoint()
    return 5


async def coroutine_of_a_coroutine() -> Awaitable[int]:
    await trio.lowlevel.checkpoint()
    return coroutine()


def generator() -> Iterator[int]:
    yield 1
    yield 2


async def async_generator() -> AsyncGenerator[int]:
    yield 1


class Later:
    """Something to await that is no coroutine."""

    def __await__(self) -> Generator[None, None, int]:
        return (yield from coroutine().__await__()) + 2


class Lying:
    @property  # type: ignore[misc]
    def __class__(self) -> type[object]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        raise SystemExit(3)


def endless() -> list[object]:
    found: list[object] = []
    found.append(found)
    return found


RESULT: Final = ToolResult[object]("exe-1", "call-1", "other", "success", value=1)

GIVEN: Final[dict[str, Callable[[], object]]] = {
    "nothing": lambda: None,
    "a number": lambda: 3,
    "a number that is none": lambda: float("nan"),
    "half a character": lambda: "\ud800",
    "bytes": lambda: b"x",
    "an object": lambda: {"a": [1, (2, 3)]},
    "names that are none": lambda: {1: 2},
    "a text of a class of its own": lambda: Text("x"),
    "a named tuple": lambda: Point(1, 2),
    "a struct": lambda: Row(1),
    "a set": lambda: {1},
    "an exception": lambda: ValueError("as a value"),
    "the end of an iterator": lambda: StopIteration(3),
    "a list in itself": endless,
    "a class": lambda: int,
    "a function": lambda: coroutine,
    "a promise in a list": lambda: [Later()],
    "a coroutine": coroutine,
    "a coroutine of a coroutine": coroutine_of_a_coroutine,
    "something else to await": Later,
    "a generator": generator,
    "an async generator": async_generator,
    "what lies about its class": Lying,
    "a result": lambda: RESULT,
    "a failure as a value": lambda: ToolExecutionError(RESULT),
}


def tools(give: Callable[[], object]) -> dict[str, Tool[..., object]]:
    """One that gives it for each place where a body runs in this process."""

    async def in_its_task() -> object:
        await trio.lowlevel.checkpoint()
        return give()

    def elsewhere() -> object:
        return give()

    return {
        "async": tool(name="give")(in_its_task),
        "thread": tool(name="give")(elsewhere),
        "inline": tool(name="give", placement="task")(elsewhere),
    }


async def pass_on(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    return await call_next()


@requirement("engine.places-alike")
@pytest.mark.parametrize("given", GIVEN)
async def test_what_a_tool_gives_comes_to_the_same_wherever_it_runs_and_whatever_stands_around_it(given: str) -> None:
    ends: dict[object, list[str]] = {}
    for (place, kind), around, key in product(tools(GIVEN[given]).items(), ([], [pass_on]), (None, "k-1")):
        found = await end_of(kind, around, key)
        ends.setdefault(found, []).append(f"{place}{' wrapped' if around else ''}{' with a key' if key else ''}")

    assert len(ends) == 1, ends


async def end_of(kind: Tool[..., object], around: Sequence[Middleware], key: str | None) -> object:
    who = RequestContext(principal="p-1", tenant="t-1")
    async with open_supervisor(Toolbox([kind], middleware=around), default_request_context=who) as supervisor:
        with trio.fail_after(PATIENCE):
            result = await supervisor.execute(ToolCall("give"), idempotency_key=key)
            again = result if key is None else await supervisor.execute(ToolCall("give"), idempotency_key=key)
    code = None if result.error is None else result.error.code
    assert supervisor.report is not None and supervisor.report.bugs == ()
    assert (again.outcome, again.effect) == (result.outcome, result.effect)
    return result.outcome, code, result.effect, result.content if result.error is None else result.error.message
