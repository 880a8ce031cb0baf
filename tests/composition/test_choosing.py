"""Choosing between tools, looking at values, mapping what goes in and comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
import trio

from armory_trio import DefinitionError, LogWritten, Toolbox, ToolCall, ToolContext, ToolFailure, open_supervisor, tool
from armory_trio.composition import pipe, postprocess, preprocess, tap, when
from tests.composition.tools import add, double, increment, parse, run, stringify, write
from tests.requirements import requirement


async def is_big(arguments: Mapping[str, int], ctx: ToolContext) -> bool:
    await trio.lowlevel.checkpoint()
    return arguments["n"] > 5 and ctx.tool_name.startswith("when")


def above_five(arguments: Mapping[str, int]) -> bool:
    return arguments["n"] > 5


def never(arguments: object) -> bool:
    return False


@requirement("composition.when")
@pytest.mark.parametrize("predicate", [above_five, is_big])
async def test_a_predicate_chooses_the_tool(predicate: Callable[..., object]) -> None:
    made = when(predicate, increment, double)

    assert [(await run(made, {"n": n})).value for n in (3, 6)] == [6, 7]


@requirement("composition.when")
async def test_without_another_tool_the_arguments_are_the_value_and_go_on_through_a_pipe() -> None:
    made = when(above_five, stringify)

    assert (await run(made, {"n": 3})).value == {"n": 3, "prefix": "Result"}
    assert (await run(pipe(made, stringify), {"n": 3})).value == "Result: 3"


@requirement("composition.when")
async def test_the_other_tool_is_given_the_arguments_that_it_has() -> None:
    assert (await run(when(never, stringify, double), {"n": 3, "prefix": "x"})).value == 6


@requirement("composition.when")
async def test_a_predicate_that_raises_fails_the_call_and_neither_tool_runs() -> None:
    def unsure(arguments: object) -> bool:
        raise LookupError("no idea")

    result = await run(when(unsure, write, write), {"n": 1})

    assert result.error is not None and result.error.message == "LookupError: no idea"
    assert result.effect == "none"


def divmod_of_three(first: int, second: int, third: int) -> bool:
    return (first, second) < (second, third)


@requirement("composition.when", "composition.defined")
def test_a_second_tool_that_could_never_run_is_refused() -> None:
    with pytest.raises(
        DefinitionError, match=r"when: if_false: 'add' needs a, b, and the arguments of the whole are n"
    ):
        when(bool, double, add)
    with pytest.raises(DefinitionError, match="when: predicate: must be a function of one value, or of the value"):
        when(divmod_of_three, double)
    with pytest.raises(DefinitionError, match="when: predicate: must be a function, not 3"):
        when(3, double)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]  # that is the test


# -- tap


@requirement("composition.tap")
async def test_an_observer_sees_the_value_and_cannot_change_it() -> None:
    seen: list[object] = []

    async def look(value: int, ctx: ToolContext) -> str:
        await trio.lowlevel.checkpoint()
        seen.append((value, ctx.tool_name))
        return "ignored"

    assert (await run(tap(double, look), {"n": 2})).value == 4
    assert (await run(tap(double, seen.append), {"n": 3})).value == 6
    assert seen == [(4, "tap-double"), 6]


@requirement("composition.tap")
async def test_a_failure_is_not_shown() -> None:
    seen: list[object] = []

    result = await run(tap(parse, seen.append), {"text": "x"})

    assert result.error is not None and result.error.message.startswith("ValueError")
    assert seen == []


def spoilsport(value: int) -> None:
    raise ToolFailure(f"cannot look at {value}", category="unavailable")


@requirement("composition.tap")
async def test_an_observer_that_fails_is_logged_and_the_value_stands() -> None:
    made = tap(double, spoilsport)
    async with open_supervisor(Toolbox([made])) as supervisor, supervisor.events(LogWritten) as events:
        result = await supervisor.execute(ToolCall(made.name, {"n": 2}))
        event = await anext(aiter(events))

    assert result.value == 4
    assert isinstance(event, LogWritten)
    assert (event.level, event.message) == (
        "warning",
        "the observer of double failed: ToolFailure: cannot look at 4",
    )


class Speechless(Exception):
    """Cannot even be shown."""

    def __str__(self) -> str:
        raise ValueError("no words")


@requirement("composition.tap")
async def test_an_observer_that_cannot_say_why_it_failed_costs_nothing_either() -> None:
    def look(value: int) -> None:
        raise Speechless

    assert (await run(tap(double, look), {"n": 2})).value == 4


@requirement("composition.tap")
async def test_an_observer_that_fails_fails_the_call_if_that_was_asked_for() -> None:
    result = await run(tap(write, spoilsport, on_error="fail"), {"n": 2})

    assert result.error is not None and result.error.code == "TOOL_UNAVAILABLE"
    assert result.effect == "completed"
    with pytest.raises(DefinitionError, match="tap: on_error: 'raise' is not one of log, fail"):
        tap(double, print, on_error="raise")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the test


@requirement("composition.tap")
async def test_an_observer_that_is_a_tool_runs_as_a_call_and_counts() -> None:
    written: list[int] = []

    @tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "audit"}]})
    async def audit(n: int) -> None:
        written.append(n)

    made = tap(double, audit)
    result = await run(made, {"n": 2})

    assert (result.value, result.effect, written) == (4, "completed", [4])
    assert made.definition.classification.effect_class == "external-write"


# -- preprocess and postprocess


@dataclass
class Sum:
    left: str
    right: str


@requirement("composition.mapping")
async def test_a_mapper_makes_the_arguments() -> None:
    def to_numbers(given: Mapping[str, str]) -> dict[str, int]:
        return {name: int(text) for name, text in given.items()}

    made = preprocess(add, to_numbers)

    assert (await run(made, {"a": "5", "b": "3"})).value == 8
    assert made.input_schema["additionalProperties"] is True


def twice(given: Mapping[str, object]) -> dict[str, object]:
    return {"a": given["n"], "b": given["n"]}


@requirement("composition.mapping")
async def test_a_model_can_be_told_what_goes_into_the_mapper() -> None:
    async def from_texts(given: Sum) -> dict[str, int]:
        await trio.lowlevel.checkpoint()
        return {"a": int(given.left), "b": int(given.right)}

    described = preprocess(add, from_texts, input=Sum)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    raw = preprocess(add, twice, input=schema)

    assert list(described.input_schema["properties"]) == ["left", "right"]  # type: ignore[call-overload]  # an object
    assert (await run(described, {"left": "5", "right": "3"})).value == 8
    assert (await run(raw, {"n": 4})).value == 8
    refused = await run(raw, {"n": "4"})
    assert (refused.error is not None and refused.error.code, refused.attempts) == ("INVALID_ARGUMENTS", 0)


@requirement("composition.mapping")
async def test_what_a_mapper_answers_is_validated_by_the_tool() -> None:
    def nothing_of(given: object) -> None:
        """Forgets to answer."""

    wrong = await run(preprocess(add, twice), {"n": "x"})
    nothing = await run(preprocess(add, nothing_of), {})

    assert wrong.error is not None and wrong.error.code == "INVALID_ARGUMENTS"
    assert nothing.error is not None
    assert "the mapper of 'preprocess-add' answered None, not a mapping of arguments" in nothing.error.message


@requirement("composition.mapping")
async def test_a_mapper_changes_the_value_and_the_schema_stays() -> None:
    made = postprocess(double, lambda value: {"post": value})

    assert (await run(made, {"n": 5})).value == {"post": 10}
    assert made.input_schema == double.input_schema
    chained = postprocess(preprocess(add, twice), lambda value: f"Result: {value}")
    assert (await run(chained, {"n": 5})).value == "Result: 10"


@requirement("composition.mapping", "composition.effect")
async def test_a_mapper_that_raises_fails_the_call_and_the_effect_stays_known() -> None:
    def fail(value: object) -> object:
        raise KeyError(value)

    result = await run(postprocess(write, fail), {"n": 5})

    assert result.error is not None and result.error.code == "INTERNAL_ERROR"
    assert result.effect == "completed"


@requirement("composition.mapping", "composition.failure")
async def test_a_failure_is_not_mapped_and_travels_as_it_is() -> None:
    mapped: list[object] = []

    @tool(effect="read-only")
    async def busy() -> int:
        raise ToolFailure("too many", category="transient", code="RATE_LIMITED", details={"retry_after": 3})

    result = await run(postprocess(busy, mapped.append), {})

    assert mapped == []
    assert result.error is not None
    assert (result.error.category, result.error.code, result.error.message, result.error.retryable) == (
        "transient",
        "RATE_LIMITED",
        "too many",
        True,
    )
    assert result.error.details == {"retry_after": 3}


@requirement("composition.mapping")
async def test_a_parameter_with_a_default_is_left_alone() -> None:
    async def scaled(value: int, factor: int = 10) -> int:
        return value * factor

    assert (await run(postprocess(double, scaled), {"n": 1})).value == 20
    assert (await run(postprocess(double, str), {"n": 1})).value == "2"
