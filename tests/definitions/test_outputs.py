from __future__ import annotations

import datetime as dt
import enum
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypedDict, cast

import attrs
import msgspec
import pydantic
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, OutputInvalid, Tool, Toolbox, ToolCall, tool
from armory_trio.definitions import output_contract
from tests.definitions._loosely import loose_define, loose_tool
from tests.requirements import requirement


class Count(TypedDict):
    n: int


@dataclass
class Inner:
    when: dt.date
    tags: set[str] = field(default_factory=set[str])


@attrs.frozen
class Outer:
    name: str
    inner: list[Inner]
    price: Decimal | None = None


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Row(msgspec.Struct):
    level: Level


class Model(pydantic.BaseModel):
    n: int


def giving(value: object, output: object, **declared: object) -> Tool[..., object]:
    async def give() -> object:
        return value

    return loose_tool(give, output=output, **declared)


@requirement("definitions.output.declared")
@pytest.mark.parametrize(
    ("output", "schema"),
    [
        (int, {"type": "integer"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (type(None), {"type": "null"}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ({"type": "object", "required": ["n"]}, {"type": "object", "required": ["n"]}),
    ],
)
def test_what_is_promised_stands_in_the_definition(output: object, schema: object) -> None:
    made = giving(1, output)

    assert made.definition.to_json()["output"] == schema
    assert made.definition.digest != giving(1, None).definition.digest
    assert "output" not in giving(1, None).definition.to_json()


@requirement("definitions.output.declared")
def test_the_annotation_is_read_when_that_is_asked_for() -> None:
    async def later() -> Count: ...  # type: ignore[empty-body]  # pyright: ignore[reportReturnType]  # only its annotation is read
    def now() -> list[int]: ...  # type: ignore[empty-body]  # pyright: ignore[reportReturnType]  # the same
    def awaitable() -> Awaitable[str]: ...  # type: ignore[empty-body]  # pyright: ignore[reportReturnType]  # the same
    def nothing() -> None: ...
    def chunks() -> Iterator[int]:
        yield 1

    async def flow() -> AsyncIterator[str]:
        yield ""

    def schema_of(function: Callable[..., object]) -> object:
        return tool(function, output="annotation").definition.to_json()["output"]

    assert cast("dict[str, object]", schema_of(later))["required"] == ["n"]
    assert schema_of(now) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(awaitable) == {"type": "string"}
    assert schema_of(nothing) == {"type": "null"}
    assert schema_of(chunks) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(flow) == {"type": "array", "items": {"type": "string"}}
    assert tool(now).definition.output_schema is None


@requirement("definitions.output.declared")
def test_a_wrong_promise_is_refused_at_definition() -> None:
    def silent():  # type: ignore[no-untyped-def]  # noqa: ANN202  # the case
        pass

    def chunks() -> Iterator[int]:
        yield 1

    def refused(words: str, function: Callable[..., object], output: object, **more: object) -> None:
        with pytest.raises(DefinitionError, match=words):
            loose_define(name="t", execute=function, output=output, **more)

    refused("tool 't': output: the function has no return annotation", silent, "annotation")
    refused("tool 't': output: must be a type, a JSON Schema, or the word", silent, "anotation")
    refused("tool 't': output: the annotation is about the chunks", chunks, "annotation", reducer=sum)
    refused("tool 't': output at type: ", silent, {"type": "nothing"})
    refused("tool 't': output: .*JSON", silent, {"default": object()})
    refused("tool 't': output: type has no form in JSON", silent, type)


GOOD: list[tuple[object, object]] = [
    ({"n": 1}, Count),
    (Outer("a", [Inner(dt.date(2026, 1, 31), {"x", "y"})], Decimal("1.5")), Outer),
    (Row(Level.HIGH), Row),
    (Model(n=1), Model),
    ((1, 2), list[int]),
    ({"a": 1.0}, dict[str, int | float]),
    (b"bytes", bytes),
    (None, None.__class__),
    ([1, "x"], {"type": "array"}),
    (Inner(dt.date(2026, 1, 1)), {"type": "object", "properties": {"when": {"format": "date"}}}),
]


@requirement("definitions.output.kept")
@pytest.mark.parametrize(("value", "output"), GOOD)
async def test_a_value_that_keeps_its_promise_reaches_the_caller_as_it_is(value: object, output: object) -> None:
    result = await giving(value, output).call()

    assert result.outcome == "success"
    assert result.value is value


@requirement("definitions.output.kept")
@pytest.mark.parametrize(("value", "output"), GOOD[:8])
def test_a_value_that_was_written_down_is_read_back_equal(value: object, output: object) -> None:
    contract = output_contract(output)

    read = contract.load(msgspec.json.decode(msgspec.json.encode(contract.dump(value))))
    assert read == (list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value)


@requirement("definitions.output.kept")
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8))
def test_any_json_keeps_the_promise_to_be_json(value: object) -> None:
    contract = output_contract(object)

    assert contract.validate(value) is value
    assert contract.load(contract.dump(value)) == value


BAD: list[tuple[object, object, str]] = [
    ({"wrong": 1}, Count, "`wrong` is not declared; known here: n; `n` is required and missing"),
    ({"n": "1"}, Count, "`n`: expected integer, got string"),
    ("x", int, "the result: expected integer, got string"),
    (True, int, "the result: expected integer, got boolean"),
    (Inner(cast("dt.date", "tomorrow")), Inner, "`when`: "),
    (Outer(cast("str", 5), []), Outer, "`name`: expected string, got integer"),
    ([1, "x"], {"type": "array", "items": {"type": "integer"}}, "`[1]`: expected integer, got string"),
    (object(), int, "the result: object has no JSON form"),
    (float("nan"), float, "the result: nan is not a number"),
    ({"a": {2}}, dict[str, str], "`a`: expected string, got array"),
    ("\ud800", int, "the result"),
]


@requirement("definitions.output.checked")
@pytest.mark.parametrize(("value", "output", "words"), BAD)
async def test_a_broken_promise_is_an_error_whose_effect_stays_completed(
    value: object, output: object, words: str
) -> None:
    result = await Toolbox([giving(value, output)]).execute(ToolCall("give"))

    assert result.error is not None
    assert (result.error.category, result.error.code) == ("internal", "OUTPUT_INVALID")
    assert words in result.error.message
    assert result.error.details is not None
    assert result.error.details["issues"]
    assert not result.error.retryable
    assert (result.effect, result.value, result.attempts) == ("completed", None, 1)


@requirement("definitions.output.checked")
async def test_direct_calls_and_read_only_tools_are_checked_too() -> None:
    result = await giving("x", int, effect="read-only").call()

    assert result.error is not None
    assert (result.error.code, result.effect) == ("OUTPUT_INVALID", "none")


@requirement("definitions.output.checked")
async def test_the_value_of_a_stream_is_what_is_checked() -> None:
    async def flow(n: int) -> AsyncIterator[int]:
        for each in range(n):
            await trio.lowlevel.checkpoint()
            yield each

    def wrong(n: int) -> Iterator[str]:
        yield from ["x"] * n

    assert await tool(flow, output="annotation")(n=2) == [0, 1]
    assert await loose_tool(flow, reducer=sum, output=int)(n=3) == 3
    result = await tool(wrong, output=list[int]).call(n=1)
    assert result.error is not None
    assert result.error.code == "OUTPUT_INVALID"


@requirement("definitions.output.checked")
def test_the_check_of_a_tool_is_that_of_its_contract() -> None:
    made = giving(1, int)

    assert made.output_contract is not None
    assert made.check_output is not None
    assert made.check_output(3) == 3
    with pytest.raises(OutputInvalid) as refused:
        made.check_output("x")
    assert [issue.code for issue in refused.value.issues] == ["type"]
    assert giving(1, None).check_output is None
