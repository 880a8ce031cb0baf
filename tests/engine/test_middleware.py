"""What stands around a tool: what a middleware is given, what it may do, and that nothing gets past it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Final, NoReturn, cast

import pytest
import trio
import trio.testing

from armory_trio import (
    BindsToTools,
    CallNext,
    Chunks,
    ChunkStage,
    DefinitionError,
    ExecutionStarted,
    Middleware,
    MiddlewareCall,
    Supervisor,
    Tool,
    Toolbox,
    ToolBuilder,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    combine_toolboxes,
    define_tool,
    open_supervisor,
    tool,
)
from armory_trio.definitions import WrappedTool
from armory_trio.errors import ExecutionOver, RepeatRefused
from tests.engine.placement._tools import TOOLS
from tests.engine.tools import add, sleep, watch
from tests.requirements import requirement

ADD: Final = ToolCall("add", {"a": 2, "b": 3})
Body = Callable[[MiddlewareCall, ToolContext, CallNext], Awaitable[object]]


def around(*middleware: Middleware | BindsToTools, tools: tuple[Tool[..., object], ...] = (add,)) -> Toolbox:
    return Toolbox(tools, middleware=middleware)


def noting(log: list[str], name: str) -> Middleware:
    """A middleware that writes down when it is entered and left."""

    async def note(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        log.append(f"{name}>")
        try:
            return await call_next()
        finally:
            log.append(f"<{name}")

    return note


async def run(toolbox: Toolbox, call: ToolCall = ADD) -> ToolResult[object]:
    async with open_supervisor(toolbox) as supervisor:
        return await supervisor.execute(call)


# -- the onion


@requirement("middleware.order")
async def test_the_first_listed_is_outermost() -> None:
    log: list[str] = []

    result = await run(around(noting(log, "a"), noting(log, "b")))

    assert result.value == 5
    assert log == ["a>", "b>", "<b", "<a"]


@requirement("middleware.call")
async def test_a_middleware_sees_the_validated_call_and_can_change_nothing_of_it() -> None:
    seen: list[object] = []

    @tool
    async def book(seats: list[int], day: str = "today") -> str:
        return f"{seats} {day}"

    async def look(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        seen.extend([call.tool.name, call.tool.id.text, call.id, dict(call.arguments), call.attempts])
        with pytest.raises(TypeError):
            cast("dict[str, object]", call.arguments)["day"] = "tomorrow"
        with pytest.raises((TypeError, AttributeError)):
            cast("list[int]", call.arguments["seats"]).append(3)
        assert (ctx.call_id, ctx.tool_name) == (call.id, "book")
        value = await call_next()
        seen.append(call.attempts)
        return value

    result = await run(around(look, tools=(book,)), ToolCall("book", {"seats": [1, 2]}, id="call-1"))

    assert result.value == "[1, 2] today"
    assert seen[:3] == ["book", "default:book", "call-1"]
    assert seen[3] == {"seats": (1, 2), "day": "today"}
    assert seen[4:] == [0, 1]


@requirement("middleware.call")
async def test_a_middleware_can_ask_what_the_caller_would_be_told_and_whether_a_tool_made_the_call() -> None:
    seen: list[object] = []

    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    async def look(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        if call.tool.name == "add":
            seen.append(call.nested)
            errors = (ConnectionError("gone"), ToolFailure("no", category="conflict"), ValueError("no"), Odd())
            seen.extend((error.category, error.code) for error in map(call.error_of, errors))
            group = BaseExceptionGroup("", [ToolFailure("no", code="MINE")])
            assert call.error_of(group).code == "MINE"
        return await call_next()

    async with open_supervisor(around(look, tools=(add, call_it))) as supervisor:
        await supervisor.execute(ADD)
        await supervisor.execute(ToolCall("call-it", {"name": "add", "arguments": {"a": 1, "b": 2}}))

    told = [("transient", "CONNECTION_LOST"), ("conflict", "CONFLICT"), *[("internal", "INTERNAL_ERROR")] * 2]
    assert seen == [False, *told, True, *told]


@requirement("middleware.answers")
async def test_what_a_middleware_answers_is_the_value() -> None:
    async def double(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return 2 * cast("int", await call_next())

    result = await run(around(double))

    assert (result.value, result.text, result.attempts) == (10, "10", 1)


@requirement("middleware.answers", "effects.never-entered")
async def test_a_middleware_that_does_not_go_on_keeps_the_tool_from_running() -> None:
    async def refuse(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return "instead"

    async with open_supervisor(around(refuse, tools=(sleep,))) as supervisor:
        execution = supervisor.start(ToolCall("sleep", {"seconds": 1.0}))
        result = await execution.result()
        snapshot = await execution.settled()

    assert (result.outcome, result.value, result.effect, result.attempts) == ("success", "instead", "none", 0)
    assert (snapshot.state, snapshot.effect, snapshot.attempts) == ("terminal", "none", 0)


@requirement("middleware.raises", "effects.never-entered")
@pytest.mark.parametrize("before", [True, False])
async def test_a_middleware_that_raises_fails_the_call_and_nothing_else(before: bool) -> None:
    async def broken(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        if not before:
            await call_next()
        raise ToolFailure("no", category="permission", code="NOT_TODAY")

    async with open_supervisor(around(broken, tools=(sleep,))) as supervisor:
        result = await supervisor.execute(ToolCall("sleep", {"seconds": 0.0}))
        assert supervisor.active == 0

    assert result.error is not None
    assert (result.error.category, result.error.code) == ("permission", "NOT_TODAY")
    assert (result.effect, result.attempts) == (("none", 0) if before else ("completed", 1))


@requirement("middleware.raises")
async def test_a_middleware_may_put_a_value_in_the_place_of_a_failure_which_keeps_its_effect() -> None:
    @tool
    async def fail() -> str:
        raise ValueError("no")

    async def catch(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            return await call_next()
        except ValueError:
            return "caught"

    result = await run(around(catch, tools=(fail,)), ToolCall("fail"))

    assert (result.outcome, result.value, result.effect) == ("success", "caught", "unknown")


@requirement("middleware.raises")
async def test_the_word_of_a_tool_on_its_effect_survives_a_middleware_that_says_nothing_of_it() -> None:
    @tool
    async def fail() -> str:
        raise ToolFailure("taken", category="conflict", effect="none")

    async def translate(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            return await call_next()
        except ToolFailure:
            raise ToolFailure("in other words") from None

    result = await run(around(translate, tools=(fail,)), ToolCall("fail"))

    assert (result.outcome, result.effect) == ("error", "none")


@requirement("middleware.raises")
async def test_something_else_than_a_coroutine_is_named() -> None:
    class Odd:
        async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
            return None

    def plain(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return 5

    class Sly:
        def bind(self, tool: WrappedTool) -> Middleware:
            return cast("Middleware", plain)

    assert (await run(around(Odd()))).value is None
    result = await run(around(Sly()))
    assert result.error is not None
    assert "plain answered 5; write it with async def" in result.error.message
    assert result.effect == "none"


class Unbinding:
    """Has nothing stand around a tool, for good."""

    def bind(self, tool: WrappedTool) -> Middleware | None:
        return None


def _as_a_def(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
    return None


@requirement("middleware.definition")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (_as_a_def, "write async def middleware(call, ctx, call_next)"),
        (5, "5 is no middleware"),
        (Unbinding, "Unbinding is a class; make one of it, such as Unbinding()"),
    ],
)
def test_what_is_no_middleware_is_refused_when_the_toolbox_is_made(wrong: object, said: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Toolbox([add], middleware=[cast("Middleware", wrong)])

    assert caught.value.field == "middleware[0]"
    assert said in caught.value.reason


@requirement("middleware.definition")
def test_a_bind_that_answers_no_middleware_is_refused() -> None:
    class Wrong:
        def bind(self, tool: WrappedTool) -> Middleware | None:
            return cast("Middleware", 5)

    with pytest.raises(DefinitionError, match=r"tool 'add': middleware: bind of .* answered 5"):
        Toolbox([add], middleware=[Wrong()])


# -- binding


class Marking:
    """Stands around the tools that have *tag*, and counts how often it was asked."""

    def __init__(self, log: list[str], tag: str) -> None:
        self.log = log
        self.tag = tag
        self.asked: list[str] = []

    def bind(self, tool: WrappedTool) -> Middleware | None:
        self.asked.append(tool.name)
        return noting(self.log, self.tag) if self.tag in tool.definition.tags else None


@requirement("middleware.bind")
async def test_a_middleware_with_bind_is_asked_once_for_each_tool() -> None:
    @tool(tags=["slow"], effect="read-only")
    async def crawl() -> str:
        return "there"

    log: list[str] = []
    marking = Marking(log, "slow")
    toolbox = Toolbox([crawl, add], middleware=[marking])

    assert (await run(toolbox)).value == 5
    assert log == []
    assert (await run(toolbox, ToolCall("crawl"))).value == "there"
    assert log == ["slow>", "<slow"]
    assert marking.asked == ["crawl", "add"]


@requirement("middleware.once")
async def test_no_other_toolbox_takes_middleware_off_or_puts_it_on_twice() -> None:
    log: list[str] = []
    guarded = around(noting(log, "a"))
    empty = Toolbox([])
    other = Toolbox([watch], middleware=[noting(log, "b")])

    boxes = [
        guarded.extend(watch),
        guarded.extend(add),
        guarded.extend(guarded),
        combine_toolboxes(guarded, guarded),
        combine_toolboxes(guarded, other),
        combine_toolboxes(other, guarded),
        combine_toolboxes(empty, guarded),
        empty.extend(guarded),
        Toolbox(guarded.tools),
        Toolbox(guarded.tools, middleware=[noting(log, "c")]),
        Toolbox(other.extend(guarded).tools, middleware=[noting(log, "c")]).extend(sleep),
    ]

    for box in boxes:
        log.clear()
        assert (await run(box)).value == 5
        assert log == ["a>", "<a"]


@requirement("middleware.once")
async def test_a_tool_that_joins_gets_the_middleware_of_the_toolbox_it_joins() -> None:
    log: list[str] = []
    box = around(noting(log, "a")).extend(watch).extend(Toolbox([sleep]))

    await run(box, ToolCall("watch", {"seconds": 0.0}))
    await run(box, ToolCall("sleep", {"seconds": 0.0}))

    assert log == ["a>", "<a"] * 2


@requirement("middleware.once")
async def test_host_code_that_calls_its_own_tool_meets_no_middleware() -> None:
    log: list[str] = []
    bound = around(noting(log, "a")).get("add")
    assert bound is not None

    assert await bound(a=1, b=2) == 3
    assert await bound.bare(a=1, b=2) == 3
    assert log == []
    assert add.middleware is None


# -- nothing gets past it


def _plus(a: int, b: int) -> int:
    return a + b


def _chunk_by_chunk(a: int, b: int) -> Iterator[int]:
    yield a
    yield b


async def _chunk_by_chunk_later(a: int, b: int) -> AsyncIterator[int]:
    yield a
    yield b


_SCHEMA: Final = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


def _has_both(given: Mapping[str, object]) -> bool:
    return {*given} == {"a", "b"}


async def _of_mapping(input: Mapping[str, int]) -> int:
    return input["a"] + input["b"]


def _every_kind() -> dict[str, Tool[..., object]]:
    def other(name: str, function: Callable[..., object]) -> Tool[..., object]:
        return define_tool(name=name, execute=function)

    return {
        "decorated": add,
        "thread": tool(name="thread", effect="read-only")(_plus),
        "inline": tool(name="inline", effect="read-only", placement="task")(_plus),
        "generator": tool(name="generator")(_chunk_by_chunk),
        "inline generator": tool(name="inline-generator", placement="task")(_chunk_by_chunk),
        "async generator": tool(name="async-generator")(_chunk_by_chunk_later),
        "defined": other("defined", _plus),
        "built": ToolBuilder("built").execute(_plus).build(),
        "defined with a pair": define_tool(
            name="pair", input={"schema": _SCHEMA, "validate": _has_both}, execute=_of_mapping
        ),
        "defined with a schema": define_tool(name="with-schema", input=_SCHEMA, execute=_of_mapping),
    }


_DOORS: Final = ("execute", "by id", "batch", "start", "stream", "nested", "nested by id")


async def _through(door: str, supervisor: Supervisor, made: Tool[..., object], arguments: dict[str, object]) -> object:
    call = ToolCall(made.name, arguments)
    match door:
        case "execute":
            return (await supervisor.execute(call)).unwrap()
        case "by id":
            return (await supervisor.execute(ToolCall(made.id.text, arguments))).unwrap()
        case "batch":
            [result] = await supervisor.execute_batch([call])
            return result.unwrap()
        case "start":
            return (await supervisor.start(call).result()).unwrap()
        case "stream":
            async with supervisor.stream(call) as stream:
                chunks = [chunk async for chunk in stream]
            return chunks or stream.result.unwrap()
        case _:
            name = made.id.text if door == "nested by id" else made.name
            return (await supervisor.execute(ToolCall("call-it", {"name": name, "arguments": arguments}))).unwrap()


@tool(name="call-it")
async def call_it(name: str, arguments: dict[str, int], ctx: ToolContext) -> object:
    """Call another tool, and answer its value."""
    return (await ctx.call(name, arguments)).unwrap()


@requirement("middleware.everywhere")
@pytest.mark.parametrize("door", _DOORS)
@pytest.mark.parametrize("kind", list(_every_kind()))
async def test_every_tool_is_met_with_its_middleware_at_every_door(kind: str, door: str) -> None:
    log: list[str] = []
    made = _every_kind()[kind]

    class Around:
        def bind(self, tool: WrappedTool) -> Middleware | None:
            return negating if tool.name == made.name else None

    async def negating(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        log.append(call.tool.name)
        value = await call_next()
        if isinstance(value, int):
            return -value
        return cast("Chunks", value).map(lambda chunk: -cast("int", chunk))

    async with open_supervisor(Toolbox([made, call_it], middleware=[Around()])) as supervisor:
        value = await _through(door, supervisor, made, {"a": 2, "b": 3})

    assert value == ([-2, -3] if "generator" in kind else -5)
    assert log == [made.name]


@requirement("middleware.everywhere")
async def test_a_tool_in_a_process_is_met_with_its_middleware_at_every_door() -> None:
    def pair(chunk: object) -> object:
        return [chunk, chunk]

    async def twice(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        value = await call_next()
        return cast("Chunks", value).map(pair) if call.tool.name == "count" else pair(value)

    echo, upto = TOOLS["process"]["echo"], TOOLS["process"]["count"]
    box = Toolbox([echo, upto], middleware=[twice]).extend(call_it.bound([Unbinding()]))
    async with open_supervisor(box) as supervisor:
        for door in _DOORS:
            assert await _through(door, supervisor, echo, {"value": 7}) == [7, 7]
            assert await _through(door, supervisor, upto, {"upto": 2}) == [[0, 0], [1, 1]]


@requirement("middleware.everywhere")
async def test_a_tool_that_is_called_as_an_object_has_the_middleware_that_is_bound_to_it() -> None:
    log: list[str] = []
    bound = around(noting(log, "a")).get("add")
    assert bound is not None

    @tool
    async def both(ctx: ToolContext) -> object:
        return [(await ctx.call(each, {"a": 1, "b": 1})).unwrap() for each in (bound, add)]

    assert (await run(Toolbox([both]), ToolCall("both"))).value == [2, 2]
    assert log == ["a>", "<a"]


# -- streams


@tool(effect="read-only")
async def letters(upto: int, *, fail: bool = False) -> AsyncIterator[str]:
    """Say the alphabet."""
    for index in range(upto):
        yield "abcdefghij"[index]
    if fail:
        raise ConnectionError("gone")


@tool(name="letters-in-thread", effect="read-only")
def letters_in_thread(upto: int) -> Iterator[str]:
    """Say the alphabet."""
    yield from "abcdefghij"[:upto]


LETTERS: Final = pytest.mark.parametrize("name", ["letters", "letters-in-thread"])
BOTH: Final = (letters, letters_in_thread)


class Pairs:
    """Joins two chunks to one, and gives what is left at the end."""

    def __init__(self) -> None:
        self.held = ""

    def feed(self, chunk: object) -> list[object]:
        self.held += str(chunk)
        if len(self.held) < 2:
            return []
        pair, self.held = self.held, ""
        return [pair]

    def end(self) -> list[object]:
        return [self.held] if self.held else []


def through(*makers: Callable[[], ChunkStage]) -> Middleware:
    async def stage(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        chunks = cast("Chunks", await call_next())
        for make in makers:
            chunks = chunks.through(make)
        return chunks

    return stage


@requirement("middleware.stages")
@LETTERS
@pytest.mark.parametrize("live", [False, True])
async def test_chunks_go_through_the_stages_from_the_inside_out(name: str, live: bool) -> None:
    async def upper(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return cast("Chunks", await call_next()).map(lambda chunk: str(chunk).upper())

    toolbox = around(through(Starred), upper, through(Pairs), tools=BOTH)
    async with open_supervisor(toolbox) as supervisor:
        call = ToolCall(name, {"upto": 3})
        if live:
            async with supervisor.stream(call) as stream:
                chunks = [chunk async for chunk in stream]
            result = stream.result
        else:
            result = await supervisor.execute(call)
            chunks = cast("list[object]", result.value)

    assert chunks == ["AB*", "C*", "!"]
    assert (result.outcome, result.value) == ("success", chunks)


class Starred:
    """Puts a star behind each chunk, and an exclamation mark at the end."""

    def feed(self, chunk: object) -> list[object]:
        return [f"{chunk}*"]

    def end(self) -> list[object]:
        return ["!"]


@requirement("middleware.stages")
async def test_the_stages_of_a_stream_that_fails_are_ended_before_its_chunks_are_kept() -> None:
    result = await run(around(through(Starred), tools=BOTH), ToolCall("letters", {"upto": 1, "fail": True}))

    assert (result.outcome, result.chunks) == ("error", ("a*", "!"))


def _starred_value(value: object) -> object:
    return ["value", *cast("list[object]", value)]


@requirement("middleware.stages")
@pytest.mark.parametrize(
    ("order", "chunks", "value"),
    [
        ("map star", ["A*", "B*", "!"], ["value", "A", "B"]),
        ("star map", ["A*", "B*", "!"], ["A*", "B*", "!"]),
        ("star star", ["a**", "b**", "!*", "!"], ["value", "value", "a", "b"]),
    ],
)
async def test_a_stage_may_say_what_becomes_of_the_value(order: str, chunks: list[str], value: list[str]) -> None:
    async def stages(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        stream = cast("Chunks", await call_next())
        for each in order.split():
            if each == "map":
                stream = stream.map(lambda chunk: str(chunk).upper())
            else:
                stream = stream.through(Starred, value=_starred_value)
        return stream

    call = ToolCall("letters", {"upto": 2})
    async with open_supervisor(around(stages, tools=BOTH)) as supervisor:
        async with supervisor.stream(call) as stream:
            assert [chunk async for chunk in stream] == chunks
        assert stream.result.value == value
        assert (await supervisor.execute(call)).value == value


class Broken:
    """A stage that fails at a chunk, or at the end."""

    def __init__(self, at_end: bool) -> None:
        self.at_end = at_end

    def feed(self, chunk: object) -> list[object]:
        if not self.at_end and chunk == "b":
            raise ValueError("a broken stage")
        return [chunk]

    def end(self) -> list[object]:
        if self.at_end:
            raise ValueError("a broken stage")
        return []


@requirement("middleware.stages")
@LETTERS
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("live", [False, True])
async def test_a_stage_that_raises_fails_its_own_call_and_nothing_else(name: str, at_end: bool, live: bool) -> None:
    async with open_supervisor(around(through(lambda: Broken(at_end)), tools=BOTH)) as supervisor:
        call = ToolCall(name, {"upto": 10})
        if live:
            async with supervisor.stream(call) as stream:
                chunks = [chunk async for chunk in stream]
            result = stream.result
        else:
            result = await supervisor.execute(call)
            chunks = list(result.chunks)
        fine = await supervisor.execute(ToolCall(name, {"upto": 1}))

    assert result.error is not None
    assert (result.error.code, result.error.message) == ("INTERNAL_ERROR", "ValueError: a broken stage")
    assert chunks == (list("abcdefghij") if at_end else ["a"])
    assert fine.outcome == ("error" if at_end else "success")


@requirement("middleware.stages")
@pytest.mark.parametrize("at_end", [False, True])
async def test_a_stage_that_raises_stops_a_stream_from_a_process(at_end: bool) -> None:
    def make() -> ChunkStage:
        return Broken(at_end)

    async def words(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return cast("Chunks", await call_next()).map(lambda chunk: "abc"[cast("int", chunk)]).through(make)

    async with open_supervisor(Toolbox([TOOLS["process"]["count"]], middleware=[words])) as supervisor:
        result = await supervisor.execute(ToolCall("count", {"upto": 3}))
        fine = await supervisor.execute(ToolCall("count", {"upto": 0}))

    assert result.error is not None
    assert result.error.message == "ValueError: a broken stage"
    assert result.effect == ("completed" if at_end else "unknown")
    assert fine.outcome == ("error" if at_end else "success")


class Framed:
    """Opens a frame, and says how it was closed."""

    def __init__(self, log: list[str], *, breaks: bool = False) -> None:
        self.log = log
        self.breaks = breaks

    def feed(self, chunk: object) -> list[object]:
        return [chunk]

    def end(self) -> list[object]:
        self.log.append("breaks" if self.breaks else "ends")
        if self.breaks:
            raise ValueError("cannot end")
        return ["the end"]


@requirement("middleware.stages")
async def test_a_stage_that_cannot_end_keeps_no_other_one_from_ending() -> None:
    log: list[str] = []
    middleware = through(lambda: Framed(log, breaks=True), lambda: Framed(log))
    async with open_supervisor(around(middleware, tools=BOTH)) as supervisor:
        result = await supervisor.execute(ToolCall("letters", {"upto": 2}))

    assert result.error is not None and result.error.message == "ValueError: cannot end"
    assert (result.chunks, log) == (("a", "b", "the end"), ["breaks", "ends"])


@tool(effect="read-only")
async def letters_slowly() -> AsyncIterator[str]:
    """Say the alphabet."""
    for letter in "abcdefghij":
        yield letter
        await trio.sleep(1)


@requirement("middleware.stages")
@pytest.mark.parametrize("breaks", [False, True])
async def test_stages_are_ended_once_before_a_stopped_stream_is_decided(
    breaks: bool, autojump_clock: trio.testing.MockClock
) -> None:
    log: list[str] = []
    middleware = through(lambda: Framed(log, breaks=breaks), lambda: Framed(log))
    async with (
        open_supervisor(around(middleware, tools=(letters_slowly,))) as supervisor,
        supervisor.stream(ToolCall("letters_slowly"), timeout=1.5) as stream,
    ):
        read = [chunk async for chunk in stream]

    assert stream.result.error is not None and stream.result.error.code == "TIMEOUT"
    assert read == ["a", "b", *(["the end"] if breaks else ["the end"] * 2)]
    assert log == (["breaks", "ends"] if breaks else ["ends", "ends"])


@requirement("middleware.stages")
async def test_nothing_is_kept_of_a_stream_that_is_not_collected() -> None:
    alive = 0

    class Piece(list[object]):
        def __init__(self) -> None:
            nonlocal alive
            alive += 1

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    @tool(effect="read-only")
    async def pieces() -> AsyncIterator[Piece]:
        while True:
            yield Piece()

    async def count(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return cast("Chunks", await call_next()).through(Pass, value=lambda value: value)

    async with (
        open_supervisor(around(count, tools=(pieces,))) as supervisor,
        supervisor.stream(ToolCall("pieces"), collect=False) as stream,
    ):
        for _ in range(1_000):
            await anext(stream)

        assert alive < 200


class Pass:
    """Lets everything go on."""

    def feed(self, chunk: object) -> list[object]:
        return [chunk]

    def end(self) -> list[object]:
        return []


@requirement("middleware.stream-around")
async def test_what_stands_around_a_stream_is_there_until_it_ends(autojump_clock: trio.testing.MockClock) -> None:
    log: list[str] = []

    @tool
    async def slow() -> AsyncIterator[int]:
        for number in range(3):
            yield number
            await trio.sleep(1)

    def outer(name: str) -> Middleware:
        async def stand(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
            async def hold(run: Callable[[], Awaitable[object]]) -> object:
                log.append(f"{name}> {trio.current_time() - began}")
                value = await run()
                log.append(f"<{name} {trio.current_time() - began}")
                return [name, value]

            return cast("Chunks", await call_next()).around(hold)

        return stand

    began = trio.current_time()
    result = await run(around(outer("a"), outer("b"), tools=(slow,)), ToolCall("slow"))

    assert result.value == ["a", ["b", [0, 1, 2]]]
    assert log == ["a> 0.0", "b> 0.0", "<b 3.0", "<a 3.0"]


@requirement("middleware.stream-around")
async def test_chunks_that_are_not_answered_never_run() -> None:
    async def withhold(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        await call_next()
        return "nothing"

    async with (
        open_supervisor(around(withhold, tools=BOTH)) as supervisor,
        supervisor.stream(ToolCall("letters", {"upto": 3})) as stream,
    ):
        assert [chunk async for chunk in stream] == []

    assert (stream.result.value, stream.result.attempts, stream.result.effect) == ("nothing", 0, "none")


@requirement("middleware.stream-around")
async def test_the_chunks_of_another_call_are_refused() -> None:
    kept: list[object] = []

    async def cache(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        kept.append(await call_next())
        return kept[0]

    async with open_supervisor(around(cache, tools=BOTH)) as supervisor:
        call = ToolCall("letters", {"upto": 2})
        first, second = await supervisor.execute(call), await supervisor.execute(call)

    assert first.value == ["a", "b"]
    assert second.error is not None
    assert "the Chunks of another call" in second.error.message
    assert (second.effect, second.attempts) == ("none", 0)


@requirement("middleware.no-peeking")
@pytest.mark.parametrize("placed", ["task", "thread"])
async def test_a_function_that_answers_a_generator_shows_no_chunk_before_its_middleware_has_its_value(
    placed: str,
) -> None:
    async def several() -> AsyncIterator[str]:
        yield "raw"
        yield "text"

    def in_thread() -> object:
        return several()

    async def in_task() -> object:
        return several()

    async def fence(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return f"<<{await call_next()}>>"

    sly = define_tool(name="sly", execute=in_thread if placed == "thread" else in_task)
    async with (
        open_supervisor(around(fence, tools=(sly,))) as supervisor,
        supervisor.stream(ToolCall("sly")) as stream,
    ):
        chunks = [chunk async for chunk in stream]

    assert chunks == []
    assert (stream.result.value, stream.result.effect) == ("<<['raw', 'text']>>", "completed")


# -- going on more than once


def trying(times: int, log: list[object]) -> Middleware:
    async def again(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        async def several(run: Callable[[], Awaitable[object]]) -> object:
            for left in reversed(range(times)):
                try:
                    return await run()
                except ConnectionError as exc:
                    log.append((call.attempts, call_next.may_repeat))
                    if not left or not call_next.may_repeat:
                        raise exc from None
            raise AssertionError

        if "letters" in call.tool.name:
            return cast("Chunks", await call_next()).around(several)
        return await several(call_next)

    return again


@requirement("middleware.attempts")
async def test_going_on_again_is_another_attempt_of_the_same_execution() -> None:
    left = [ConnectionError(), ConnectionError()]

    @tool(effect="read-only")
    async def flaky() -> str:
        if left:
            raise left.pop()
        return "there"

    log: list[object] = []
    async with (
        open_supervisor(around(trying(3, log), tools=(flaky,))) as supervisor,
        supervisor.events(ExecutionStarted) as events,
    ):
        result = await supervisor.execute(ToolCall("flaky"))
        told = [await anext(events) for _ in range(3)]

    assert (result.value, result.attempts, result.effect) == ("there", 3, "none")
    assert [event.attempt for event in told if isinstance(event, ExecutionStarted)] == [1, 2, 3]
    assert log == [(1, True), (2, True)]


@requirement("middleware.attempts", "middleware.call")
async def test_each_attempt_gets_the_arguments_as_they_were_validated() -> None:
    got: list[list[int]] = []

    @tool(effect="read-only")
    async def consume(items: list[int]) -> list[int]:
        got.append(list(items))
        while items:
            items.pop()
        raise ConnectionError

    shown: list[object] = []

    async def look(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            return await call_next()
        finally:
            shown.append(call.arguments["items"])

    async with open_supervisor(around(look, trying(3, []), tools=(consume,))) as supervisor:
        await supervisor.execute(ToolCall("consume", {"items": [1, 2]}))

    assert got == [[1, 2]] * 3
    assert shown == [(1, 2)]


class Alone:
    """Can be told from all others, and not be copied."""

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise SystemExit("there is one")


@requirement("middleware.attempts")
async def test_arguments_that_cannot_be_copied_are_shared_by_all_attempts() -> None:
    got: list[object] = []

    async def consume(item: object) -> None:
        got.append(item)
        raise ConnectionError

    def parse(given: object) -> Alone:
        return Alone()

    pair: dict[str, object] = {"schema": {"type": "object", "additionalProperties": False}, "parse": parse}
    made = define_tool(name="consume", input=pair, execute=consume, effect="read-only")
    async with open_supervisor(around(trying(2, []), tools=(made,))) as supervisor:
        result = await supervisor.execute(ToolCall("consume"))

    assert (result.attempts, got[0] is got[1]) == (2, True)


@requirement("middleware.attempts")
async def test_no_attempt_follows_one_that_may_have_changed_something() -> None:
    @tool
    async def change() -> str:
        raise ConnectionError("half way")

    refused: list[BaseException] = []

    async def insist(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        with pytest.raises(ConnectionError) as first:
            await call_next()
        assert not call_next.may_repeat
        with pytest.raises(RepeatRefused, match="its effect is unknown") as second:
            await call_next()
        refused.append(second.value)
        raise first.value

    result = await run(around(insist, tools=(change,)), ToolCall("change"))

    assert len(refused) == 1
    assert (result.attempts, result.effect) == (1, "unknown")
    assert result.error is not None
    assert (result.error.code, result.error.retryable) == ("CONNECTION_LOST", False)


@requirement("middleware.attempts")
async def test_a_later_attempt_never_hides_what_an_earlier_one_did() -> None:
    tried: list[str] = []

    @tool
    async def change() -> str:
        tried.append("once more")
        raise ToolFailure("again", category="transient", effect="none" if len(tried) < 3 else "completed")

    async def insist(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        while True:
            try:
                return await call_next()
            except ToolFailure:
                if not call_next.may_repeat:
                    raise

    result = await run(around(insist, tools=(change,)), ToolCall("change"))

    assert (result.attempts, result.effect) == (3, "completed")


@requirement("middleware.attempts")
async def test_a_success_is_not_repeated_unless_the_tool_only_reads() -> None:
    async def twice(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return [await call_next(), await call_next()]

    reading = await run(around(twice, tools=(watch,)), ToolCall("watch", {"seconds": 0.0}))
    changing = await run(around(twice, tools=(sleep,)), ToolCall("sleep", {"seconds": 0.0}))

    assert (reading.value, reading.attempts, reading.effect) == (["watched", "watched"], 2, "none")
    assert changing.error is not None
    assert "its effect is completed" in changing.error.message
    assert (changing.attempts, changing.effect) == (1, "completed")


@requirement("middleware.attempts")
async def test_an_attempt_that_streams_again_has_stages_of_its_own() -> None:
    failing = [True]

    @tool(effect="read-only", name="letters-flaky")
    async def flaky() -> AsyncIterator[str]:
        yield "a"
        if failing.pop() if failing else False:
            raise ConnectionError
        yield "b"

    log: list[object] = []
    toolbox = around(trying(2, log), through(Starred), tools=(flaky,))
    result = await run(toolbox, ToolCall("letters-flaky"))

    assert (result.value, result.attempts) == (["a*", "b*", "!"], 2)


@requirement("middleware.attempts")
async def test_a_stream_is_not_begun_again_under_the_eyes_of_its_reader() -> None:
    log: list[object] = []
    async with (
        open_supervisor(around(trying(2, log), tools=BOTH)) as supervisor,
        supervisor.stream(ToolCall("letters", {"upto": 2, "fail": True})) as stream,
    ):
        assert [chunk async for chunk in stream] == ["a", "b"]

    assert log == [(1, False)]
    assert stream.result.attempts == 1
    assert stream.result.error is not None
    assert stream.result.error.code == "CONNECTION_LOST"


@requirement("middleware.call-next")
@pytest.mark.parametrize("inner", [True, False])
async def test_it_cannot_go_on_twice_at_a_time(inner: bool) -> None:
    refusals: list[str] = []

    async def idle(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        await trio.lowlevel.checkpoint()
        return await call_next()

    async def first(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call_next)
            await trio.testing.wait_all_tasks_blocked()
            try:
                await call_next()
            except RuntimeError as exc:
                refusals.append(str(exc))
            nursery.cancel_scope.cancel()
        return "done"

    middleware = (first, idle) if inner else (first,)
    result = await run(around(*middleware, tools=(watch,)), ToolCall("watch", {"seconds": 10_000.0}))

    assert (result.value, result.attempts) == ("done", 1)
    assert refusals == ["call_next() runs already; await it before calling it again"]


@requirement("middleware.call-next")
@pytest.mark.parametrize("inner", [True, False])
async def test_a_call_next_that_was_kept_is_dead_once_the_call_is_over(inner: bool) -> None:
    kept: list[tuple[MiddlewareCall, CallNext]] = []
    entered: list[str] = []

    async def keep(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        kept.append((call, call_next))
        return "mine"

    middleware = (keep, noting(entered, "inner")) if inner else (keep,)
    async with open_supervisor(around(*middleware, tools=(sleep,))) as supervisor:
        result = await supervisor.execute(ToolCall("sleep", {"seconds": 0.0}))
        [(call, call_next)] = kept
        assert not call_next.may_repeat
        with pytest.raises(ExecutionOver):
            await call_next()
        with pytest.raises(ExecutionOver):
            _ = call.arguments
        assert (call.id, call.attempts, call.tool.name) == (result.call_id, 0, "sleep")

    assert entered == []
    assert (result.value, result.effect, result.attempts) == ("mine", "none", 0)
