"""Several tools at once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import trio

from armory_trio import DefinitionError, Limits, Toolbox, ToolCall, ToolFailure, define_tool, open_supervisor, tool
from armory_trio.composition import bind, parallel, pipe
from tests.composition.tools import add, double, increment, nap, parse, run, run_and_listen, stringify, told, write
from tests.requirements import requirement


@requirement("composition.parallel")
async def test_values_come_in_the_order_of_the_tools(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only")
    async def slowly(n: int) -> int:
        await trio.sleep(n)
        return n + 1

    @tool(effect="read-only")
    async def at_once(n: int) -> int:
        return n * 2

    assert (await run(parallel(slowly, at_once), {"n": 4})).value == [5, 8]
    assert (await run(parallel({"later": slowly, "now": at_once}), {"n": 4})).value == {"later": 5, "now": 8}


@requirement("composition.parallel")
async def test_all_run_at_once(autojump_clock: trio.abc.Clock) -> None:
    started = trio.current_time()

    result = await run(parallel(nap, nap, nap, name="naps"), {"seconds": 5})

    assert result.value == [5, 5, 5]
    assert trio.current_time() - started == 5


@requirement("composition.parallel")
async def test_each_gets_the_arguments_that_it_has() -> None:
    made = parallel(stringify, double)

    assert (await run(made, {"n": 2, "prefix": "Sum"})).value == ["Sum: 2", 4]


@requirement("composition.parallel")
async def test_a_tool_that_takes_anything_gets_all() -> None:
    async def names(arguments: dict[str, object]) -> list[str]:
        return sorted(arguments)

    open_one = define_tool(name="names", input={"type": "object", "additionalProperties": True}, execute=names)

    assert (await run(parallel(stringify, open_one), {"n": 2})).value == ["Result: 2", ["n", "prefix"]]


@requirement("composition.parallel")
async def test_the_whole_may_have_an_input_of_its_own() -> None:
    properties = {"n": {"type": "integer"}, "text": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["n", "text"]}

    made = parallel(double, parse, input=schema)

    assert (await run(made, {"n": 2, "text": "9"})).value == [4, 9]
    with pytest.raises(DefinitionError, match=r"parallel: tools\[1\]: 'add' needs a, b, and .* are n, text; bind it"):
        parallel(double, add, input=schema)


@requirement("composition.parallel")
async def test_it_works_in_a_pipe() -> None:
    made = pipe(parallel({"a": increment, "b": double}), add)

    assert (await run(made, {"n": 3})).value == 10


@tool(effect="read-only")
async def fail(seconds: float) -> float:
    """Fail after a while."""
    await trio.sleep(seconds / 2)
    raise ToolFailure(f"gave up after {seconds / 2}", category="conflict", code="BUSY", details={"of": "fail"})


@requirement("composition.parallel.on-error", "composition.failure")
async def test_the_others_go_on_and_the_error_names_who_failed(autojump_clock: trio.abc.Clock) -> None:
    made = parallel(nap, fail, bind(fail, {"seconds": 1}, name="second"), name="group", input=nap_input())
    async with open_supervisor(Toolbox([made])) as supervisor:
        result = await supervisor.execute(ToolCall("group", {"seconds": 8}))
        shots = supervisor.executions.inspect()

    assert {shot.tool_name: shot.outcome for shot in shots if shot.parent_id} == {
        "nap": "success",
        "fail": "error",
        "second": "error",
    }
    assert result.error is not None
    assert result.error.message == "step 1 (fail) failed: gave up after 4.0; step 2 (second) failed: gave up after 0.5"
    assert (result.error.category, result.error.code, result.error.details) == ("conflict", "BUSY", {"of": "fail"})


def nap_input() -> Mapping[str, object]:
    return {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]}


@requirement("composition.parallel.on-error")
async def test_the_others_are_stopped_if_that_was_asked_for(autojump_clock: trio.abc.Clock) -> None:
    made = parallel(nap, fail, nap, name="group", on_error="fail_fast")
    async with open_supervisor(Toolbox([made])) as supervisor:
        result = await supervisor.execute(ToolCall("group", {"seconds": 8}))
        now = trio.current_time()
        shots = supervisor.executions.inspect()

    assert result.error is not None and result.error.message == "step 1 (fail) failed: gave up after 4.0"
    assert result.duration == 4
    assert sorted(shot.error_code or "" for shot in shots if shot.parent_id) == ["BUSY", "CANCELLED", "CANCELLED"]
    assert max(shot.ended_at or 0 for shot in shots) <= now


@requirement("composition.parallel.on-error")
async def test_all_ends_are_collected_if_that_was_asked_for(autojump_clock: trio.abc.Clock) -> None:
    made = parallel({"good": nap, "bad": fail}, on_error="collect")

    result = await run(made, {"seconds": 2})

    assert result.value == {
        "good": {"value": 2},
        "bad": {
            "error": {"category": "conflict", "code": "BUSY", "message": "gave up after 1.0", "retryable": False},
        },
    }


@requirement("composition.events")
async def test_events_tell_of_each_step(autojump_clock: trio.abc.Clock) -> None:
    _, heard = await run_and_listen(parallel(nap, fail), {"seconds": 2})

    assert sorted((event.name, told(event, "step_name")) for event in heard) == [
        ("step-complete", "nap"),
        ("step-error", "fail"),
        ("step-start", "fail"),
        ("step-start", "nap"),
    ]


@requirement("composition.limits")
async def test_under_a_limit_of_one_the_steps_take_turns(autojump_clock: trio.abc.Clock) -> None:
    made = parallel(nap, parallel(nap, nap, name="inner"), nap, name="outer")
    async with open_supervisor(Toolbox([made]), limits=Limits(concurrent=1, per_owner=1)) as supervisor:
        with trio.fail_after(100):
            result = await supervisor.execute(ToolCall("outer", {"seconds": 1}), owner_id="run-7")

    assert result.value == [1, [1, 1], 1]
    assert result.duration == 4


@requirement("composition.effect")
async def test_the_effect_is_the_strongest_of_all() -> None:
    assert (await run(parallel(double, write), {"n": 1})).effect == "completed"
    assert (await run(parallel(double, increment), {"n": 1})).effect == "none"


@requirement("composition.abort")
async def test_an_abort_of_the_whole_stops_all_and_is_no_failure_of_a_step(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect="read-only", grace=2)
    async def patient(seconds: float) -> float:
        await trio.sleep(seconds)
        return seconds

    made = parallel(nap, patient)
    async with open_supervisor(Toolbox([made])) as supervisor:
        execution = supervisor.start(ToolCall(made.name, {"seconds": 50}))
        await trio.sleep(1)
        execution.abort("enough")
        result = await execution.result()
        shot = await execution.settled()
        assert supervisor.active == 0

    assert result.error is not None and (result.error.code, result.error.message) == ("CANCELLED", "enough")
    assert shot.cleanup == "completed"


@requirement("composition.defined")
def test_what_cannot_run_at_once_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"tools: takes at least two; give what it holds one by one, as \*tools$"):
        parallel([double, double])  # type: ignore[call-overload]  # the mistake under test
    with pytest.raises(DefinitionError, match="parallel: tools: takes at least two"):
        parallel({"only": double})
    with pytest.raises(DefinitionError, match="takes one mapping, or tools one by one"):
        parallel({"a": double}, double)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]  # that is the test
    with pytest.raises(DefinitionError, match="the key 1 is no text"):
        parallel({1: double, 2: double})  # type: ignore[dict-item]  # pyright: ignore[reportCallIssue, reportArgumentType]  # that is the test
    with pytest.raises(DefinitionError, match="on_error: 'wait' is not one of finish, fail_fast, collect"):
        parallel(double, double, on_error="wait")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]  # that is the test
    with pytest.raises(DefinitionError, match=r"tools\[1\]: 'add' needs a, b"):
        parallel(double, add)
