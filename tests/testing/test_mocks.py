"""Mock tools that are told what to do after they were made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec
import pytest
import trio

from armory_trio import (
    CallNext,
    DefinitionError,
    MiddlewareCall,
    Process,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.testing import MockTool, Pause, mock_tool, run_seeded
from tests.requirements import requirement


@tool(effect="read-only", output=Annotated[int, msgspec.Meta(ge=0)], placement=Process())
def price(sku: str, currency: str = "EUR") -> int:
    """The price of an article."""
    raise NotImplementedError


NOTHING: list[dict[str, object]] = [{}]


async def ask(mock: MockTool, *calls: Mapping[str, object]) -> list[ToolResult[object]]:
    async with open_supervisor(Toolbox([mock])) as supervisor:
        batch = [ToolCall(mock.name, arguments) for arguments in calls or ({},)]
        return await supervisor.execute_batch(batch, mode="sequential")


def ends(results: list[ToolResult[object]]) -> list[object]:
    return [result.value if result.error is None else result.error.code for result in results]


@requirement("testing.mock.told")
async def test_a_mock_answers_and_fails_as_it_was_told_last() -> None:
    mock = mock_tool("search", result="usual")

    assert ends(await ask(mock)) == ["usual"]
    assert ends(await ask(mock.resolve(["a"]), {}, {})) == [["a"], ["a"]]
    assert ends(await ask(mock.reject(ConnectionError))) == ["CONNECTION_LOST"]
    assert ends(await ask(mock.reject(ToolFailure("no", category="conflict", code="TAKEN")))) == ["TAKEN"]
    assert ends(await ask(mock.resolve(None))) == [None]
    assert len(mock.calls) == 6


@requirement("testing.mock.told")
async def test_a_mock_that_is_reset_has_no_calls_and_does_what_it_did_at_first() -> None:
    mock = mock_tool("search", result="usual").when({"q": "a"}, "a").sequence(1, 2)
    await ask(mock, {"q": "a"}, {"q": "b"})
    kept = mock.calls

    assert mock.reset() is mock
    assert (kept, mock.calls) == ([], [])
    assert ends(await ask(mock, {"q": "a"}, {"q": "b"})) == ["usual", "usual"]


@requirement("testing.mock.told")
async def test_each_answer_may_take_its_own_time(autojump_clock: trio.abc.Clock) -> None:
    mock = mock_tool("search", delay=5).when({"q": "quick"}, 1, delay=0).when({"q": "dead"}, OSError(), delay=7)

    results = await ask(mock, {"q": "quick"}, {"q": "dead"}, {})

    assert [result.duration for result in results] == [0, 7, 5]
    assert [result.duration for result in await ask(mock.resolve(1, delay=2), {})] == [2]
    assert [result.duration for result in await ask(mock.sequence(1, 2, delay=3), {}, {})] == [3, 3]
    assert [result.duration for result in await ask(mock.reject(OSError, delay=4), {})] == [4]


@requirement("testing.mock.sequence")
async def test_a_sequence_gives_values_and_failures_in_turn_and_says_when_it_is_used_up() -> None:
    mock = mock_tool("search", result="usual").sequence(1, ConnectionError, None, ToolFailure("no", code="BUSY"))

    *given, spent = await ask(mock, *NOTHING * 5)

    assert ends(given) == [1, "CONNECTION_LOST", None, "BUSY"]
    assert spent.error is not None
    assert (spent.error.code, spent.effect) == ("MOCK_EXHAUSTED", "none")
    assert spent.error.message == "the sequence of 4 answers that this mock tool was given is used up"
    assert len(mock.calls) == 5


@requirement("testing.mock.sequence")
async def test_a_sequence_may_repeat_its_last_answer_and_begins_anew_when_it_is_told_again() -> None:
    mock = mock_tool("search").sequence(OSError, 2, repeat_last=True)

    assert ends(await ask(mock, *NOTHING * 4)) == ["INTERNAL_ERROR", 2, 2, 2]
    assert ends(await ask(mock.sequence(5), {}, {})) == [5, "MOCK_EXHAUSTED"]
    assert ends(await ask(mock.resolve("over"), {})) == ["over"]


@requirement("testing.mock.sequence")
@pytest.mark.parametrize("seed", range(8))
def test_a_sequence_goes_by_the_order_in_which_calls_begin_under_every_schedule(seed: int) -> None:
    async def scenario() -> list[tuple[object, float]]:
        mock = mock_tool("search", delay=1).sequence(*range(10))
        async with open_supervisor(Toolbox([mock])) as supervisor:
            results = await supervisor.execute_batch([ToolCall("search", id=str(n)) for n in range(10)])
        given = {result.call_id: result.value for result in results}
        assert [given[call.call_id] for call in mock.calls] == list(range(10))
        return [(result.value, result.duration) for result in results]

    assert {duration for _, duration in run_seeded(scenario, seed=seed)} == {1}


@requirement("testing.mock.arguments")
async def test_answers_go_by_the_arguments_whatever_else_was_said_and_the_last_word_counts() -> None:
    mock = mock_tool(price, result=1).when({"sku": "A"}, 2).when({"sku": "A", "currency": "USD"}, 3)
    mock.when({"sku": "gone"}, ToolFailure("no such article", category="not_found")).sequence(7)

    results = await ask(
        mock, {"sku": "A"}, {"sku": "A", "currency": "USD"}, {"sku": "gone"}, {"sku": "B"}, {"sku": "B"}
    )

    assert ends(results) == [2, 3, "NOT_FOUND", 7, "MOCK_EXHAUSTED"]
    assert ends(await ask(mock.when({"currency": "EUR"}, 9), {"sku": "A"})) == [9]  # a default that was filled in


@requirement("testing.mock.arguments")
async def test_a_function_may_answer_from_the_arguments(autojump_clock: trio.abc.Clock) -> None:
    async def later(arguments: Mapping[str, object]) -> object:
        await trio.sleep(2)
        return arguments["q"]

    def broken(_: Mapping[str, object]) -> object:
        raise LookupError("nothing")

    doubled = mock_tool("double", answer=lambda arguments: [*arguments, *arguments], delay=1)
    [double] = await ask(doubled, {"a": 1})
    [slow] = await ask(mock_tool("slow", answer=later, delay=1), {"q": "x"})
    [failed] = await ask(mock_tool("broken", answer=broken))

    assert (double.value, double.duration) == (["a", "a"], 1)
    assert (slow.value, slow.duration) == ("x", 3)
    assert failed.error is not None
    assert "nothing" in failed.error.message
    assert ends(await ask(doubled.resolve(1))) == [1]


@requirement("testing.mock.stream")
async def test_a_stream_pauses_where_it_was_told_to_and_fails_in_the_middle(autojump_clock: trio.abc.Clock) -> None:
    mock = mock_tool("tail", chunks=["a", Pause(5), "b", ToolFailure("cut", code="CUT"), "never"], delay=1)
    began = trio.current_time()
    async with open_supervisor(Toolbox([mock])) as supervisor, supervisor.stream(ToolCall("tail")) as stream:
        got = [(chunk, trio.current_time() - began) async for chunk in stream]

    assert got == [("a", 1), ("b", 7)]
    assert stream.result.error is not None
    assert (stream.result.error.code, stream.result.chunks) == ("CUT", ("a", "b"))
    assert stream.result.duration == 8


@requirement("testing.mock.stream")
async def test_what_a_streaming_mock_is_told_are_chunks() -> None:
    mock = mock_tool("tail", chunks=())

    assert ends(await ask(mock)) == [[]]
    assert ends(await ask(mock.stream(1, 2))) == [[1, 2]]
    assert ends(await ask(mock.resolve([3]))) == [[3]]
    assert ends(await ask(mock.sequence([4], OSError, (5, 6)), {}, {}, {}, {})) == [
        [4],
        "INTERNAL_ERROR",
        [5, 6],
        "MOCK_EXHAUSTED",
    ]
    assert ends(await ask(mock.when({"a": 1}, ["xy"]), {"a": 1})) == [["xy"]]
    assert ends(await ask(mock.reject(ConnectionError))) == ["CONNECTION_LOST"]


@requirement("testing.mock.stand-in")
async def test_a_stand_in_runs_in_a_task_and_keeps_the_promise_of_the_output(autojump_clock: trio.abc.Clock) -> None:
    mock = mock_tool(price).sequence(250, -1, "much", delay=3600)

    results = await ask(mock, *[{"sku": "A"}] * 3)

    assert ends(results) == [250, "OUTPUT_INVALID", "OUTPUT_INVALID"]
    assert [result.duration for result in results] == [3600] * 3
    assert mock.definition is price.definition
    assert mock.output_contract is price.output_contract is not None
    assert (mock.options.placement, mock.options.process) == ("task", None)


@requirement("testing.mock.stand-in")
async def test_what_a_mock_is_told_holds_where_it_is_listed_with_middleware_around_it() -> None:
    async def twice(_call: MiddlewareCall, _ctx: ToolContext, call_next: CallNext) -> object:
        return [await call_next(), "wrapped"]

    mock = mock_tool("search", result=1)
    toolbox = Toolbox([mock], middleware=[twice])
    async with open_supervisor(toolbox) as supervisor:
        mock.resolve(2)
        result = await supervisor.execute(ToolCall("search"))

    assert result.value == [2, "wrapped"]
    assert len(mock.calls) == 1


@requirement("testing.mock.wrong")
@pytest.mark.parametrize(
    ("tell", "words"),
    [
        (lambda: mock_tool("a", result=1, answer=dict), "result: is never given beside answer"),
        (lambda: mock_tool("a", answer=dict, chunks=[1]), "answer: is never given beside chunks"),
        (lambda: mock_tool("a", answer="x"), "no function of the arguments"),  # type: ignore[arg-type]
        (lambda: mock_tool("a", error="x"), "'x' is no exception"),  # type: ignore[arg-type]
        (lambda: mock_tool("a", chunks="abc"), "give a list of chunks"),
        (lambda: mock_tool("a").sequence(), "sequence: is empty"),
        (lambda: mock_tool("a").stream(1), "'a' does not stream; make it with chunks"),
        (lambda: mock_tool("a", chunks=[]).resolve(1), "this mock streams"),
        (lambda: mock_tool("a", chunks=[]).sequence([1], "abc"), "this mock streams"),
        (lambda: mock_tool("a", chunks=[]).when({}, 1), "this mock streams"),
        (lambda: mock_tool("a").reject("x"), "'x' is no exception"),  # type: ignore[arg-type]
        (lambda: mock_tool("a").when("x", 1), "'x' are no arguments"),  # type: ignore[arg-type]
        (lambda: mock_tool("a").resolve(1, delay=-1), "delay"),
        (lambda: mock_tool("a").sequence(1, delay=float("nan")), "delay"),
        (lambda: mock_tool("a", delay=True), "delay"),
        (lambda: Pause(-1), "Pause: seconds"),
    ],
)
def test_what_a_mock_cannot_do_is_refused_when_it_is_told(tell: Callable[[], object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        tell()
