"""Tools that pretend, tools without threads, ids that stay the same."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated

import msgspec
import pytest
import trio

from armory_trio import (
    BlockingContext,
    DefinitionError,
    ElicitAccepted,
    ElicitAnswer,
    ElicitDeclined,
    ElicitRequest,
    Limits,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    tool,
)
from armory_trio.testing import fixed_ids, inline, mock_tool, sample_toolbox
from tests.requirements import requirement


class Order(msgspec.Struct):
    sku: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


@tool(effect="read-only", timeout=5, tags=["shop"])
async def price(ctx: ToolContext, sku: str, currency: str = "EUR") -> int:
    """The price of an article."""
    raise NotImplementedError


@requirement("testing.mock")
async def test_a_mock_answers_and_keeps_what_it_was_called_with(autojump_clock: trio.abc.Clock) -> None:
    mock = mock_tool("search", result=["a"], delay=2)
    began = trio.current_time()
    async with open_supervisor(Toolbox([mock])) as supervisor:
        result = await supervisor.execute(ToolCall("search", {"q": "x", "deep": [1]}, id="one"), owner_id="ann")

    assert (result.value, result.duration, result.effect) == (["a"], 2, "completed")
    (call,) = mock.calls
    assert (call.arguments, call.call_id, call.owner_id, call.at) == ({"q": "x", "deep": [1]}, "one", "ann", began)
    assert call.execution_id == result.execution_id


@requirement("testing.mock")
@pytest.mark.parametrize("error", [ConnectionError("gone"), ConnectionError])
async def test_a_mock_fails_as_it_was_told_each_time(
    error: BaseException | type[BaseException], autojump_clock: trio.abc.Clock
) -> None:
    mock = mock_tool("search", error=error, delay=1)
    async with open_supervisor(Toolbox([mock])) as supervisor:
        results = await supervisor.execute_batch([ToolCall("search")] * 2, mode="sequential")

    assert [result.error and result.error.code for result in results] == ["CONNECTION_LOST"] * 2
    assert [call.at - mock.calls[0].at for call in mock.calls] == [0, 1]


@requirement("testing.mock")
async def test_a_mock_streams_slowly_and_fails_afterwards(autojump_clock: trio.abc.Clock) -> None:
    mock = mock_tool("tail", chunks=(n for n in range(3)), delay=1, error=ToolFailure("cut off"), buffer=2)
    began = trio.current_time()
    async with open_supervisor(Toolbox([mock])) as supervisor:
        for _ in range(2):
            async with supervisor.stream(ToolCall("tail")) as stream:
                got = [(chunk, trio.current_time() - began) async for chunk in stream]
            assert got == [(0, 1), (1, 2), (2, 3)]
            assert stream.result.error is not None
            assert stream.result.error.message == "cut off"
            assert stream.result.duration == 4
            began = trio.current_time()
    assert len(mock.calls) == 2


@requirement("testing.mock")
async def test_a_mock_stops_when_it_is_stopped_and_counts_only_calls_that_began(autojump_clock: trio.abc.Clock) -> None:
    mock = mock_tool("slow", delay=9, effect="read-only", concurrency=1)
    async with open_supervisor(Toolbox([mock]), limits=Limits(queued=1)) as supervisor:
        first, second, third = (supervisor.start(ToolCall("slow"), timeout=3) for _ in range(3))
        await trio.sleep(1)
        second.abort()
        assert (await third.result()).error is not None
        snapshot = await first.settled()

    assert (snapshot.error_code, snapshot.effect) == ("TIMEOUT", "none")
    assert [call.execution_id for call in mock.calls] == [first.id]


@requirement("testing.mock")
async def test_a_mock_may_declare_its_input_and_anything_else() -> None:
    mock = mock_tool("order", result="ordered", input=Order, description="Order.", tags=["shop"])
    async with open_supervisor(Toolbox([mock])) as supervisor:
        good = await supervisor.execute(ToolCall("order", {"sku": "A"}))
        bad = await supervisor.execute(ToolCall("order", {"sku": "A", "count": 0}))

    assert good.value == "ordered"
    assert bad.error is not None
    assert bad.error.code == "INVALID_ARGUMENTS"
    assert [call.arguments for call in mock.calls] == [{"sku": "A", "count": 1}]
    assert (mock.description, mock.definition.tags) == ("Order.", ("shop",))
    assert await mock(sku="B") == "ordered"


@requirement("testing.mock.stand-in")
async def test_a_mock_takes_the_place_of_a_tool(autojump_clock: trio.abc.Clock) -> None:
    mock = mock_tool(price, result=250, delay=1)
    toolbox = Toolbox([price]).extend(mock, replace=True)
    async with open_supervisor(toolbox) as supervisor:
        good = await supervisor.execute(ToolCall("price", {"sku": "A"}))
        bad = await supervisor.execute(ToolCall("price", {"sku": 7}))

    assert good.value == 250
    assert bad.error is not None
    assert bad.error.code == "INVALID_ARGUMENTS"
    assert [call.arguments for call in mock.calls] == [{"sku": "A", "currency": "EUR"}]
    assert mock.definition is price.definition
    assert mock.options == price.options


@requirement("testing.mock.stand-in")
async def test_a_mock_may_stream_where_a_thread_did_not_and_the_reverse() -> None:
    @tool
    def blocking(n: int) -> int:
        raise NotImplementedError

    def total(chunks: list[int]) -> int:
        return sum(chunks)

    @tool(reducer=total)
    async def counting(n: int) -> AsyncIterator[int]:
        yield n

    assert (await mock_tool(blocking, chunks=[1, 2]).call(n=1)).value == [1, 2]
    assert (await mock_tool(counting, chunks=[1, 2]).call(n=1)).value == 3
    assert (await mock_tool(counting, result=7).call(n=1)).value == 7


@requirement("testing.mock.wrong")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mock_tool("a", result=1, error=ValueError()), "result"),
        (lambda: mock_tool("a", result=1, chunks=[1]), "result"),
        (lambda: mock_tool("a", delay=-1), "delay"),
        (lambda: mock_tool("a", delay=float("nan")), "delay"),
        (lambda: mock_tool(price, tags=["x"]), "whose place it takes"),
        (lambda: mock_tool(price, input=Order), "whose place it takes"),
        (lambda: mock_tool("a", timeout=-1), "timeout"),
        (lambda: mock_tool(""), "name"),
        (lambda: mock_tool("a", name="b"), "name"),
    ],
)
def test_a_mock_that_contradicts_itself_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        make()


# ── inline ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@tool(effect="read-only", timeout=60)
def where() -> str:
    """Which thread this is."""
    return threading.current_thread().name


@tool(effect="read-only")
def three(ctx: BlockingContext) -> Iterator[int]:
    """Three chunks."""
    for number in range(3):
        ctx.check()
        yield number


@tool
def needy(ctx: BlockingContext, what: str) -> object:
    """Do what would block."""
    if what == "call":
        return ctx.call("where")
    if what == "elicit":
        return ctx.elicit("well?")
    return ctx.wait_abort_requested()


@requirement("testing.inline")
async def test_def_tools_run_on_trios_thread_and_everything_else_is_as_it_was(autojump_clock: trio.abc.Clock) -> None:
    here = threading.current_thread().name
    toolbox = Toolbox([where, three, price], context={"a": 1}, revision="seven", default_timeout=9)
    tested = inline(toolbox)
    async with open_supervisor(tested) as supervisor:
        assert (await supervisor.execute(ToolCall("where"))).value == here
        assert (await supervisor.execute(ToolCall("three"))).value == [0, 1, 2]
        assert {snapshot.placement for snapshot in supervisor.executions.inspect()} == {"task"}

    assert (tested.context, tested.revision, tested.default_timeout) == ({"a": 1}, "seven", 9)
    assert tested.get("price") is price
    assert [made.definition for made in tested] == [made.definition for made in toolbox]
    made = tested.get("where")
    assert made is not None
    assert made.options.timeout == 60
    assert where.options.placement == "thread"


@requirement("testing.inline")
@pytest.mark.parametrize("what", ["call", "elicit", "wait_abort_requested"])
async def test_what_would_block_trio_says_so(what: str) -> None:
    async with open_supervisor(inline(Toolbox([where, needy]))) as supervisor:
        result = await supervisor.execute(ToolCall("needy", {"what": what}))

    assert result.error is not None
    assert f"ctx.{what} would block trio's thread" in result.error.message


@requirement("testing.inline")
async def test_mocks_and_async_tools_are_left_alone() -> None:
    mock = mock_tool("a")

    assert list(inline(Toolbox([mock, price]))) == [mock, price]


# ── ids ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _ids() -> list[str]:
    async with open_supervisor(sample_toolbox()) as supervisor:
        calls = [ToolCall("echo", {"text": "a"}) for _ in range(2)]
        results = await supervisor.execute_batch(calls)
        snapshots = supervisor.executions.inspect()
    return [text for result in results for text in (result.call_id, result.execution_id)] + [
        snapshot.batch_id or "" for snapshot in snapshots
    ]


@requirement("testing.ids")
async def test_ids_can_be_fixed_and_are_free_again_afterwards() -> None:
    before = ToolCall("echo").id
    with fixed_ids("doc"):
        first = await _ids()
        again = await _ids()
    with fixed_ids("doc"):
        assert await _ids() == first
    after = ToolCall("echo").id

    assert first[:4] == ["call-doc-1", "exe-doc.1-1", "call-doc-2", "exe-doc.1-2"]
    assert again[:4] == ["call-doc-3", "exe-doc.2-1", "call-doc-4", "exe-doc.2-2"]
    assert len({first[4], again[4]}) == 2
    assert before.rpartition("-")[0] == after.rpartition("-")[0] != "call-doc"


# ── the sample ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("testing.sample")
@pytest.mark.parametrize(
    ("call", "value", "code", "effect", "seconds"),
    [
        (ToolCall("echo", {"text": "hello"}), "hello", None, "none", 0),
        (ToolCall("sleep", {"seconds": 5}), "slept", None, "completed", 5),
        (ToolCall("sleep", {"seconds": 50}), None, "TIMEOUT", "unknown", 10),
        (ToolCall("fail", {"after": 1.0}), None, "INTERNAL_ERROR", "none", 1),
        (ToolCall("count", {"upto": 3, "pause": 1}), [1, 2, 3], None, "none", 3),
        (ToolCall("stubborn", {"seconds": 20}), None, "TIMEOUT", "unknown", 10),
        (ToolCall("relay", {"name": "sleep", "arguments": {"seconds": 1}}), "slept", None, "completed", 1),
        (ToolCall("ask", {"question": "well?"}), "accepted", None, "none", 2),
        (ToolCall("change"), "changed", None, "completed", 0),
        (ToolCall("change", {"seconds": 50}), None, "TIMEOUT", "unknown", 10),
    ],
)
async def test_the_sample_does_what_a_host_has_to_cope_with(
    call: ToolCall,
    value: object,
    code: str | None,
    effect: str,
    seconds: float,
    autojump_clock: trio.abc.Clock,
) -> None:
    async def agree(_: ElicitRequest) -> ElicitAnswer:
        await trio.sleep(2)
        return ElicitAccepted()

    async with open_supervisor(sample_toolbox()) as supervisor:
        result = await supervisor.execute(call, timeout=10.0, elicit=agree)

    assert (result.value, result.error and result.error.code) == (value, code)
    assert (result.effect, result.duration) == (effect, seconds)


@requirement("testing.sample")
async def test_a_person_may_decline_what_the_sample_asks() -> None:
    async def decline(_: ElicitRequest) -> ElicitAnswer:
        return ElicitDeclined()

    async with open_supervisor(sample_toolbox()) as supervisor:
        result = await supervisor.execute(ToolCall("ask", {"question": "well?"}), elicit=decline)

    assert result.value == "declined"
