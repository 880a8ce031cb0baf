"""One tool after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import trio
from pydantic import BaseModel

from armory_trio import (
    DefinitionError,
    Limits,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    define_tool,
    open_supervisor,
    tool,
)
from armory_trio.composition import PipelineError, bind, pipe, postprocess
from armory_trio.definitions import CallNext, MiddlewareCall
from tests.composition.tools import AnyTool, add, count, double, increment, nap, parse, run, run_and_listen, stringify
from tests.requirements import requirement


@requirement("composition.pipe")
async def test_each_step_takes_what_the_one_before_answered() -> None:
    result = await run(pipe(parse, double, stringify), {"text": "21"})

    assert result.value == "Result: 42"


@requirement("composition.pipe")
async def test_a_mapping_is_the_arguments_by_name_even_if_it_looks_like_a_call() -> None:
    @tool
    async def ask(n: int) -> dict[str, object]:
        return {"id": "call-1", "name": "answer", "arguments": {"n": n}}

    @tool
    async def answer(id: str, name: str, arguments: dict[str, int]) -> str:
        return f"{id} {name} {arguments}"

    result = await run(pipe(ask, answer), {"n": 3})

    assert result.value == "call-1 answer {'n': 3}"


@dataclass
class Order:
    item: str
    count: int


class OrderModel(BaseModel):
    item: str
    count: int


@requirement("composition.pipe")
async def test_an_object_with_fields_is_taken_apart_for_a_step_that_needs_several() -> None:
    @tool
    async def order(item: str) -> Order:
        return Order(item, 2)

    async def price(order: Order) -> str:
        return f"{order.count} of {order.item}"

    @tool
    async def order_as_a_model(item: str) -> OrderModel:
        return OrderModel(item=item, count=3)

    described = define_tool(name="price", input=Order, execute=price)

    assert (await run(pipe(order, described), {"item": "pears"})).value == "2 of pears"
    assert (await run(pipe(order_as_a_model, described), {"item": "pears"})).value == "3 of pears"


@requirement("composition.pipe")
async def test_a_bare_value_is_the_first_required_parameter_and_nothing_for_a_step_without_any() -> None:
    @tool
    async def total(numbers: list[int], start: int = 0) -> int:
        return sum(numbers, start)

    @tool
    async def optional(start: int = 1, end: int = 5) -> int:
        return end - start

    @tool
    async def now() -> str:
        return "noon"

    assert (await run(pipe(count, total), {"n": 4})).value == 6
    assert (await run(pipe(count, total, optional), {"n": 3})).value == 2
    assert (await run(pipe(double, now), {"n": 3})).value == "noon"


@requirement("composition.pipe")
async def test_what_does_not_fit_is_refused_by_the_next_step_and_names_it() -> None:
    @tool(effect="read-only")
    async def words() -> str:
        return "no number"

    for second, said in ((double, "`n`"), (add, "`b` is required")):
        result = await run(pipe(words, second), {})
        assert result.error is not None
        assert (result.error.category, result.error.code) == ("validation", "INVALID_ARGUMENTS")
        assert result.error.message.startswith(f"step 1 ({second.name}) failed: ")
        assert said in result.error.message
        assert result.error.details is not None and "issues" in result.error.details


@requirement("composition.steps", "composition.kinds")
async def test_tools_of_every_kind_are_steps() -> None:
    @tool(effect="read-only")
    def in_a_thread(n: int) -> int:
        return n + 1

    @tool(effect="read-only")
    async def flow(n: int) -> AsyncIterator[int]:
        for number in range(n):
            yield number

    async def from_a_schema(arguments: dict[str, list[int]]) -> int:
        return len(arguments["numbers"])

    schema = {"type": "object", "properties": {"numbers": {"type": "array"}}, "required": ["numbers"]}
    raw = define_tool(name="length", input=schema, execute=from_a_schema, effect="read-only")
    made = pipe(pipe(in_a_thread, flow), raw, bind(add, {"b": 100}))

    result = await run(made, {"n": 4})

    assert (result.value, result.effect) == (105, "none")


@requirement("composition.steps")
async def test_steps_are_executions_of_their_own_below_that_of_the_whole() -> None:
    async with open_supervisor(Toolbox([made := pipe(parse, double)])) as supervisor:
        whole = await supervisor.execute(ToolCall(made.name, {"text": "1"}), owner_id="run-7")
        shots = supervisor.executions.inspect(owner_id="run-7")

    steps = [shot for shot in shots if shot.parent_id == whole.execution_id]
    assert [shot.tool_name for shot in steps] == ["parse", "double"]
    assert [shot.state for shot in steps] == ["terminal", "terminal"]


@requirement("composition.events")
async def test_events_tell_which_step_runs() -> None:
    _, heard = await run_and_listen(pipe(parse, double), {"text": "4"})

    assert [(event.name, event.data) for event in heard] == [
        ("step-start", {"step_index": 0, "step_name": "parse", "input": {"text": "4"}}),
        ("step-complete", {"step_index": 0, "step_name": "parse", "output": 4}),
        ("step-start", {"step_index": 1, "step_name": "double", "input": {"n": 4}}),
        ("step-complete", {"step_index": 1, "step_name": "double", "output": 8}),
    ]


@requirement("composition.events")
async def test_a_step_that_fails_is_told_once_and_no_other_one_begins() -> None:
    _, heard = await run_and_listen(pipe(parse, double), {"text": "x"})

    assert [event.name for event in heard] == ["step-start", "step-error"]


@tool(effect="read-only")
async def broken(n: int) -> int:
    """Says exactly what happened."""
    raise ToolFailure("the far side is full", category="conflict", code="FULL", retryable=True, details={"left": n})


@requirement("composition.failure")
async def test_the_failure_of_a_step_travels_as_it_is() -> None:
    result = await run(pipe(increment, pipe(increment, broken)), {"n": 3})

    assert result.error is not None
    assert result.error.message == "step 1 (pipe-increment-broken) failed: step 1 (broken) failed: the far side is full"
    assert (result.error.category, result.error.code, result.error.retryable) == ("conflict", "FULL", True)
    assert result.error.details == {"left": 5}
    assert result.effect == "none"


@requirement("composition.failure")
async def test_middleware_around_the_whole_sees_the_step_and_its_result() -> None:
    caught: list[PipelineError] = []

    async def watch(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        try:
            return await call_next()
        except PipelineError as failure:
            caught.append(failure)
            raise

    made = pipe(increment, broken)
    await Toolbox([made], middleware=[watch]).execute(ToolCall(made.name, {"n": 1}))

    [failure] = caught
    assert (failure.index, failure.step) == (1, "broken")
    assert failure.result.tool_name == "broken" and failure.result.attempts == 1


@requirement("composition.effect")
async def test_the_effect_of_the_whole_is_what_its_steps_did() -> None:
    @tool
    async def write(n: int) -> int:
        return n

    @tool
    async def lose(n: int) -> int:
        raise ValueError("half done")

    refused_at_once = pipe(parse, write)
    for made, arguments, effect in (
        (pipe(double, write), {"n": 1}, "completed"),
        (pipe(write, broken), {"n": 1}, "completed"),
        (pipe(write, lose), {"n": 1}, "unknown"),
        (refused_at_once, {"text": "x"}, "none"),
    ):
        assert (await run(made, arguments)).effect == effect


@requirement("composition.limits")
async def test_steps_use_the_place_of_the_whole(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only", concurrency=1)
    async def only_one(n: int) -> int:
        await trio.sleep(1)
        return n + 1

    nested = pipe(only_one, pipe(only_one, only_one))
    async with open_supervisor(Toolbox([nested]), limits=Limits(concurrent=1)) as supervisor:
        with trio.fail_after(100):
            results = await supervisor.execute_batch([ToolCall(nested.name, {"n": n}) for n in range(3)])

    assert [result.value for result in results] == [3, 4, 5]


@requirement("composition.deadline")
async def test_the_deadline_is_shared_and_timeouts_of_steps_are_their_own(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only", timeout=2)
    async def slow(n: int) -> int:
        await trio.sleep(n)
        return n

    made = pipe(slow, slow, slow, slow)
    async with open_supervisor(Toolbox([made])) as supervisor:
        in_time = await supervisor.execute(ToolCall(made.name, {"n": 1}), deadline=trio.current_time() + 10)
        too_slow = await supervisor.execute(ToolCall(made.name, {"n": 3}))
        too_late = await supervisor.execute(ToolCall(made.name, {"n": 1}), deadline=trio.current_time() + 2.5)

    assert in_time.value == 1
    assert too_slow.error is not None and too_slow.error.code == "TIMEOUT"
    assert too_slow.error.message.startswith("step 0 (slow) failed")
    assert too_late.error is not None and too_late.error.code == "DEADLINE_EXCEEDED"


@requirement("composition.deadline")
async def test_the_whole_may_have_a_timeout_of_its_own(autojump_clock: trio.abc.Clock) -> None:
    made = pipe(nap, nap, nap, timeout=5)
    async with open_supervisor(Toolbox([made])) as supervisor:
        result = await supervisor.execute(ToolCall(made.name, {"seconds": 2}))
        with trio.fail_after(0.1):
            await supervisor.wait_idle()

    assert result.error is not None and result.error.code == "TIMEOUT"
    assert (result.duration, result.effect) == (5, "none")


@requirement("composition.failure")
async def test_what_a_host_does_not_tell_of_a_step_it_does_not_tell_of_the_whole() -> None:
    @tool(effect="read-only")
    async def leaky(n: int) -> int:
        raise ValueError("the password is 1234")

    made = pipe(double, leaky)
    async with open_supervisor(Toolbox([made]), error_detail="declared") as supervisor:
        result = await supervisor.execute(ToolCall(made.name, {"n": 1}))

    assert result.error is not None
    assert result.error.message.startswith("step 1 (leaky) failed: The tool failed (exe-")
    assert "1234" not in result.text


@requirement("composition.abort")
async def test_an_abort_ends_the_whole_as_an_abort_and_no_further_step_begins(autojump_clock: trio.abc.Clock) -> None:
    begun: list[int] = []

    @tool(effect="read-only", grace=10)
    async def polite(n: int, ctx: ToolContext) -> int:
        begun.append(n)
        await ctx.wait_abort_requested()
        return n + 1

    made = pipe(polite, polite)
    async with open_supervisor(Toolbox([made])) as supervisor:
        execution = supervisor.start(ToolCall(made.name, {"n": 1}))
        await trio.sleep(1)
        execution.abort("enough")
        result = await execution.result()
        shot = await execution.settled()
        left = supervisor.executions.inspect(live_only=True)

    assert begun == [1]
    assert result.error is not None and (result.error.code, result.error.message) == ("CANCELLED", "enough")
    assert shot.cleanup == "completed"
    assert list(left) == []


@requirement("composition.call")
async def test_a_composed_tool_can_be_called_as_a_function() -> None:
    made = pipe(parse, double)

    assert await made("4") == 8
    assert await made(text="5") == 10


@requirement("composition.middleware")
async def test_a_step_keeps_the_middleware_that_is_bound_to_it() -> None:
    async def shout(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        return f"{await call_next()}!"

    bound = Toolbox([stringify], middleware=[shout]).get("stringify")
    assert bound is not None

    assert (await run(postprocess(bound, str), {"n": 1})).value == "Result: 1!"


@requirement("composition.defined")
@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ((double,), "pipe: tools: takes at least two$"),
        (([double, double],), r"pipe: tools: takes at least two; give what it holds one by one, as \*tools$"),
        ((double, len), r"tools\[1\]: .* is no tool; decorate it with @tool"),
        ((3, double), r"tools\[0\]: 3 is no tool"),
    ],
)
def test_what_cannot_be_piped_is_refused_where_it_is_made(tools: tuple[AnyTool, ...], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        pipe(*tools)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]  # that is the test
