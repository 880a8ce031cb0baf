"""What type checkers make of tools. Nothing here runs: `test_typing` has both checkers read it.

Each ``type: ignore`` marks code that must not pass, and both checkers complain about one that is not needed.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator, Mapping
from functools import partial
from typing import TypedDict, assert_type

import msgspec

from armory_trio import (
    BlockingContext,
    EffectDeclaration,
    EffectTarget,
    Process,
    Tool,
    Toolbox,
    ToolContext,
    ToolResult,
    combine_toolboxes,
    define_tool,
    is_tool,
    is_toolbox,
    tool,
)
from armory_trio.definitions import Catalogue, ToolLike


@tool
async def later(a: int, b: str = "") -> bytes:
    return b.encode() * a


@tool(name="now", effect="read-only", timeout=5, groups=["db"], placement="task")
def now(a: int, *, b: str = "") -> bytes:
    return b.encode() * a


@tool(placement=Process(fresh=True, context={"region": "north"}, max_frame=1000))
def apart(a: int, *, b: str = "") -> bytes:
    return b.encode() * a


@tool
async def with_context(ctx: ToolContext, a: int) -> bytes:
    return bytes(a)


@tool
def with_blocking_context(ctx: BlockingContext, a: int) -> bytes:
    return bytes(a)


@tool
def with_either_context(ctx: ToolContext, a: int) -> bytes:
    return bytes(a)


@tool
async def with_context_last(a: int, ctx: ToolContext) -> bytes:
    return bytes(a)


@tool
async def only_context(ctx: ToolContext) -> bytes:
    return b""


@tool
def nothing() -> None: ...


@tool
def awaitable(a: int) -> Awaitable[bytes]:
    return with_context(a)


@tool
async def chunks_later(a: int) -> AsyncGenerator[bytes, None]:
    yield bytes(a)


@tool
async def chunks_with_context(ctx: ToolContext, a: int) -> AsyncIterator[bytes]:
    yield bytes(a)


@tool
def chunks(a: int) -> Generator[bytes, None, str]:
    yield bytes(a)
    return ""


@tool(buffer=1)
def chunks_with_blocking_context(ctx: BlockingContext, a: int) -> Iterator[bytes]:
    yield bytes(a)


def joined(parts: list[bytes]) -> str:
    return b"".join(parts).decode()


@tool(reducer=joined)
async def reduced(ctx: ToolContext, a: int) -> AsyncIterator[bytes]:
    yield bytes(a)


@tool(reducer=joined, tags=["x"])
def reduced_now(a: int) -> Iterator[bytes]:
    yield bytes(a)


@tool
async def anything(value: object, b: int) -> bytes:
    return bytes(b)


class Service:
    async def find(self, key: str) -> int:
        return len(key)

    def find_now(self, ctx: BlockingContext, key: str) -> int:
        return len(key)


reader = tool(effect="read-only")
found = tool(Service().find)
found_now = reader(Service().find_now, name="find_now")
halfway = tool(partial(later.call, 1), name="halfway")


async def calling_gives_what_the_function_returns() -> None:
    assert_type(await later(1, b="x"), bytes)
    assert_type(await later(a=1), bytes)
    assert_type(await later.call(1), ToolResult[bytes])
    assert_type((await later.call(1)).unwrap(), bytes)
    assert_type((await later.call(1)).value, bytes | None)
    assert_type(await now(1, b="x"), bytes)
    assert_type(await apart(1, b="x"), bytes)
    assert_type(await nothing(), None)
    assert_type(await awaitable(1), bytes)
    assert_type(await anything(value=[1], b=2), bytes)
    assert_type(await found("x"), int)
    assert_type(await halfway(b="x"), ToolResult[bytes])


async def a_context_that_comes_first_is_not_seen() -> None:
    assert_type(await with_context(1), bytes)
    assert_type(await with_context(a=1), bytes)
    assert_type(await with_blocking_context(a=1), bytes)
    assert_type(await with_either_context(1), bytes)
    assert_type(await only_context(), bytes)
    assert_type(await found_now(key="x"), int)
    assert_type(await chunks_with_context(1), list[bytes])
    assert_type(await chunks_with_blocking_context(a=1), list[bytes])


async def a_generator_gives_its_chunks_or_what_its_reducer_makes_of_them() -> None:
    assert_type(await chunks_later(1), list[bytes])
    assert_type(await chunks(a=1), list[bytes])
    assert_type(await chunks.call(1), ToolResult[list[bytes]])
    assert_type(await reduced(1), str)
    assert_type(await reduced_now(a=1), str)


async def wrong_arguments_are_found() -> None:
    await later("x")  # type: ignore[arg-type]  # a is an int
    await later()  # type: ignore[call-arg]  # a is missing
    await later(1, c=2)  # type: ignore[call-arg]  # there is no c
    await now(1, "x")  # type: ignore[call-arg]  # b is keyword-only
    await with_context(ctx=1, a=1)  # type: ignore[call-arg]  # the context is not the caller's to give
    await with_context()  # type: ignore[call-arg]  # a is missing
    await with_context_last(a=1)  # type: ignore[call-arg]  # a context that comes last is seen
    await chunks("x")  # type: ignore[arg-type]  # a is an int
    await found(1)  # type: ignore[arg-type]  # key is a str
    (await later.call(1)).unwrap().upper().encode()  # type: ignore[attr-defined]  # bytes have no encode


def wrong_declarations_are_found() -> None:
    tool(effect="destructive")  # type: ignore[call-overload]  # it has to state its targets
    tool(effect={"class": "deadly", "targets": []})  # type: ignore[call-overload]  # there is no such class
    tool(timeout="5")  # type: ignore[call-overload]  # seconds are a number
    tool(timeuot=5)  # type: ignore[call-overload]  # no such declaration
    tool(placement="moon")  # type: ignore[call-overload]  # no such place
    tool(3)  # type: ignore[call-overload]  # not a function
    tool(reducer=joined)(later.function.__code__)  # type: ignore[call-overload]  # not a generator


def an_effect_may_be_declared_in_three_ways() -> None:
    tool(effect="read-only")
    tool(effect=EffectDeclaration("destructive", (EffectTarget("service", "s3"),)))
    tool(effect={"class": "destructive", "targets": [{"kind": "service", "id": "s3"}]})


class Order(msgspec.Struct):
    item: str


class Point(TypedDict):
    x: int


def buy(order: Order) -> bytes:
    return order.item.encode()


async def buy_later(order: Order, ctx: ToolContext) -> bytes:
    return order.item.encode()


async def list_items(order: Order) -> AsyncIterator[str]:
    yield order.item


def place(point: Point) -> int:
    return point["x"]


def raw(arguments: Mapping[str, object]) -> int:
    return len(arguments)


def count(items: list[str]) -> int:
    return len(items)


async def define_tool_gives_what_the_executor_returns() -> None:
    bought = define_tool(name="buy", input=Order, execute=buy)
    assert_type(await bought(Order("tea")), bytes)
    assert_type(await bought(item="tea"), bytes)
    assert_type(await define_tool(name="buy", input=Order, execute=buy_later, timeout=3)(item="tea"), bytes)
    assert_type(await define_tool(name="list", input=Order, execute=list_items)(item="tea"), list[str])
    assert_type(await define_tool(name="list", input=Order, execute=list_items, reducer=count)(item="tea"), int)
    assert_type(await define_tool(name="place", input=Point, execute=place)(x=1), int)
    assert_type(await define_tool(name="raw", input={"type": "object"}, execute=raw)({}), int)
    assert_type(await define_tool(execute=buy_later)(order=Order("tea")), bytes)


def an_executor_takes_what_the_input_makes() -> None:
    define_tool(name="raw", input=Order, execute=raw)  # type: ignore[arg-type,misc]  # an Order is no mapping
    define_tool(name="list", input=Order, execute=list_items, reducer=joined)  # type: ignore[misc]  # str chunks
    define_tool(name="raw", input=3, execute=raw)  # type: ignore[call-overload]  # neither class nor schema


def a_toolbox_holds_tools_of_any_type() -> None:
    toolbox = Toolbox([later, chunks, found, bought_elsewhere()], context={"region": "eu"})
    assert_type(toolbox.extend(now, toolbox), Toolbox)
    assert_type(combine_toolboxes(toolbox), Toolbox)
    assert_type(toolbox.get("later"), Tool[..., object] | None)
    catalogue: Catalogue = toolbox
    listed: ToolLike = later
    assert_type([item.name for item in catalogue], list[str])
    assert_type(listed.input_schema, Mapping[str, object])
    Toolbox([buy])  # type: ignore[list-item]  # a function is no tool yet
    toolbox.tools = ()  # type: ignore[misc]  # a toolbox is frozen


def bought_elsewhere() -> Tool[[int], str]:
    raise NotImplementedError


def a_tool_of_one_type_is_no_tool_of_another() -> None:
    text: Tool[..., str] = bought_elsewhere()
    wider: Tool[..., object] = text
    narrower: Tool[..., int] = text  # type: ignore[assignment]  # it gives a str
    assert_type(wider.name, str)
    assert_type(narrower.name, str)


def guards_narrow(value: object) -> None:
    if is_tool(value):
        assert_type(value, Tool[..., object])
    if is_toolbox(value):
        assert_type(value, Toolbox)
