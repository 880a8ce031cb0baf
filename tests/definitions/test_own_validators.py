from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pydantic
import pytest
import trio
import trio.testing

from armory_trio import DefinitionError, InvalidArguments, Tool, ToolContext, tool
from armory_trio.definitions import contract_from_pair, contract_from_parser, contract_from_schema
from armory_trio.definitions.contracts import ArgumentIssue, admitted, contract_from_parts
from tests.definitions._loosely import loose_define
from tests.requirements import requirement

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@dataclass
class Point:
    n: int


def parse(arguments: Mapping[str, object]) -> Point:
    n = arguments.get("n")
    if not isinstance(n, int):
        raise ValueError("n must be an integer")  # noqa: TRY004  # as other libraries do
    return Point(n)


async def parse_later(arguments: Mapping[str, object]) -> Point:
    await trio.sleep(1)
    return parse(arguments)


async def decide_later(arguments: Mapping[str, object]) -> object:
    await trio.sleep(1)
    return {"valid": "n" in arguments, "issues": [{"path": "n", "code": "required"}]}


async def use(point: Point) -> int:
    return point.n


def over(input_: object, execute: object = use) -> Tool[..., object]:
    return loose_define(name="use", input=input_, execute=execute, effect="read-only")


# ── Validators of other libraries ────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.parser")
async def test_what_a_parser_answers_reaches_the_function() -> None:
    parsing = over({"schema": SCHEMA, "parse": parse})

    assert parsing.definition.to_json()["input"] == SCHEMA
    assert await parsing(n=3) == 3
    validated = parsing.contract.validate({"n": 3, "more": 1})
    assert parsing.contract.dump(validated) == {"n": 3}
    assert parsing.contract.named(validated) == {"n": 3}


@requirement("contracts.parser")
async def test_what_a_parser_raises_against_its_arguments_is_a_refusal() -> None:
    result = await over({"schema": SCHEMA, "parse": parse}).call(n="3")

    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"
    assert result.error.message == "the arguments were refused: n must be an integer"


@requirement("contracts.parser")
async def test_a_parser_may_list_issues_of_its_own() -> None:
    def picky(_arguments: Mapping[str, object]) -> object:
        raise InvalidArguments([ArgumentIssue("n", "too-small", "`n`: too small")])

    result = await over({"schema": SCHEMA, "parse": picky}).call(n=1)

    assert result.error is not None
    assert result.error.details is not None
    assert result.error.details["issues"] == [{"path": "n", "code": "too-small", "message": "`n`: too small"}]


class Model(pydantic.BaseModel):
    n: int


@requirement("contracts.parser")
async def test_another_library_decides_what_is_legal() -> None:
    async def take(model: Model) -> int:
        return model.n

    loose = over({"schema": Model.model_json_schema(), "parse": Model.model_validate}, take)

    assert await loose(n="7") == 7  # pydantic's own reading, which takes text for numbers
    refused = await loose.call(n="x")
    assert refused.error is not None
    assert "valid integer" in refused.error.message


@requirement("contracts.parser")
def test_what_a_parser_makes_that_has_no_form_is_written_as_it_was_sent() -> None:
    contract = contract_from_parser(SCHEMA, lambda _arguments: object())
    validated = contract.validate({"n": 1})

    assert contract.dump(validated) == {"n": 1}
    assert contract.named(validated) == {"n": 1}


@requirement("contracts.parser")
def test_a_parser_sees_a_frozen_copy_and_other_exceptions_pass_through() -> None:
    inner: list[object] = [1]

    def look(arguments: Mapping[str, object]) -> object:
        with pytest.raises(TypeError):
            cast("dict[str, object]", arguments)["n"] = 2
        raise LookupError("the parser's own")

    with pytest.raises(LookupError, match="the parser's own"):
        contract_from_parser(SCHEMA, look).validate({"n": inner})


@requirement("contracts.parser")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"parse": parse}, r"tool 'use': input\.schema: is missing"),
        ({"validate": parse}, r"tool 'use': input\.schema: is missing"),
        ({"schema": SCHEMA, "parse": parse, "validate": parse}, "'validate' or 'parse', not both"),
        ({"schema": SCHEMA, "parse": 3}, r"input\.parse: must be a function, not 3"),
        (
            {"schema": SCHEMA, "parse": parse, "scheme": 1},
            "scheme: there is no such declaration; did you mean 'schema'",
        ),
        ({"schema": 3, "parse": parse}, "input schema: must be an object of keywords"),
    ],
)
def test_a_wrong_part_is_refused_with_its_place(given: Mapping[str, object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        contract_from_parts(given, subject="tool 'use'")


# ── Validators that have to be awaited ───────────────────────────────────────────────────────────────────────────────


@requirement("contracts.awaited")
async def test_an_async_parser_is_awaited(autojump_clock: trio.testing.MockClock) -> None:
    parsing = over({"schema": SCHEMA, "parse": parse_later})

    assert await parsing(n=4) == 4
    assert trio.current_time() == 1
    refused = await parsing.call(n="4")
    assert refused.error is not None
    assert refused.error.message == "the arguments were refused: n must be an integer"
    assert refused.attempts == 0


@requirement("contracts.awaited")
async def test_an_async_validator_is_awaited(autojump_clock: trio.testing.MockClock) -> None:
    async def take(arguments: Mapping[str, object], ctx: ToolContext) -> object:
        return f"{ctx.tool_name} {arguments['n']}"

    deciding = over({"schema": SCHEMA, "validate": decide_later}, take)

    assert await deciding(n="as it is") == "use as it is"
    refused = await deciding.call(m=1)
    assert refused.error is not None
    assert refused.error.details is not None
    assert refused.error.details["issues"] == [{"path": "n", "code": "required", "message": "`n`: required"}]


@requirement("contracts.awaited")
async def test_values_that_are_not_json_never_reach_an_async_validator() -> None:
    contract = contract_from_pair(SCHEMA, decide_later)

    assert contract.awaits
    with pytest.raises(InvalidArguments, match="expected object"):
        await contract.validate_async(cast("Mapping[str, object]", [1]))
    with pytest.raises(InvalidArguments, match="no JSON type"):
        await contract.validate_async({"n": {1, 2}})


@requirement("contracts.awaited")
async def test_what_was_decided_counts_for_the_contract_that_decided(autojump_clock: trio.testing.MockClock) -> None:
    contract, other = contract_from_pair(SCHEMA, decide_later), contract_from_pair(SCHEMA, decide_later)
    decided = await admitted(contract, {"n": 1})

    assert dict(decided) == {"n": 1}
    assert contract.dump(contract.validate(decided)) == {"n": 1}
    with pytest.raises(InvalidArguments, match="checked for another tool"):
        other.validate(decided)
    with pytest.raises(InvalidArguments, match="has to be awaited"):
        contract.validate({"n": 1})


@requirement("contracts.awaited")
async def test_a_contract_that_needs_no_waiting_answers_both_ways() -> None:
    contract = contract_from_pair(SCHEMA, lambda _arguments: True)

    assert not contract.awaits
    assert await contract.validate_async({"n": 1}) == {"n": 1}


@requirement("contracts.awaited")
async def test_a_cancelled_call_cancels_its_validator(autojump_clock: trio.testing.MockClock) -> None:
    ended: list[str] = []

    async def slow(_arguments: Mapping[str, object]) -> bool:
        try:
            await trio.sleep(10)
        finally:
            ended.append("cancelled")
        return True

    with trio.move_on_after(1) as scope:
        await over({"schema": SCHEMA, "validate": slow}).call(n=1)

    assert scope.cancelled_caught
    assert ended == ["cancelled"]


# ── As another house writes it ───────────────────────────────────────────────────────────────────────────────────────


def look_at(value: Mapping[str, object]) -> Mapping[str, object]:
    if len(value) == 1 and isinstance(value.get("query"), str):
        return {"valid": True}
    return {"valid": False, "issues": [{"path": "query", "code": "required"}]}


@requirement("contracts.pair")
@pytest.mark.parametrize("arguments", [{}, {"query": 1}, {"query": "a", "x": 1}])
async def test_what_a_pair_refuses_never_reaches_the_function(arguments: dict[str, object]) -> None:
    ran: list[object] = []
    result = await over({"schema": {"type": "object"}, "validate": look_at}, ran.append).call(**arguments)

    assert ran == []
    assert result.error is not None
    assert result.error.details is not None
    assert result.error.details["issues"] == [{"path": "query", "code": "required", "message": "`query`: required"}]


@requirement("contracts.pair", "contracts.frozen")
async def test_what_was_given_can_be_changed_afterwards_without_changing_the_tool() -> None:
    schema: dict[str, object] = {"type": "object"}
    parts: dict[str, object] = {"schema": schema, "validate": look_at}
    made = over(parts, dict[str, object])
    digest = made.definition.digest
    schema["type"], parts["validate"] = "string", None

    assert await made(query="2") == {"query": "2"}
    assert made.definition.to_json()["input"] == {"type": "object"}
    assert made.definition.digest == digest


class Shade(enum.Enum):
    DARK = "dark"
    LIGHT = "light"


@requirement("definitions.tool.description", "contracts.constraints")
def test_an_argument_keeps_both_its_choices_and_its_own_text() -> None:
    def paint(shade: Shade, place: Point) -> None:
        """Paint.

        Args:
            shade: How dark.
            place: Where.
        """

    properties = cast("dict[str, dict[str, object]]", tool(paint).definition.to_json()["input"])["properties"]
    assert properties["shade"] == {"description": "How dark.", "type": "string", "enum": ["dark", "light"]}
    assert cast("dict[str, object]", properties["place"])["description"] == "Where."


@requirement("contracts.schema.root")
@pytest.mark.parametrize("schema", [{"properties": {"n": {}}}, {"type": ["object", "null"], "properties": {"n": {}}}])
def test_a_root_is_closed_whatever_it_says_of_its_type(schema: dict[str, object]) -> None:
    contract = contract_from_schema(schema)

    assert contract.validate({"n": 1}) == {"n": 1}
    with pytest.raises(InvalidArguments, match="`m` is not a known argument"):
        contract.validate({"m": 1})


@requirement("contracts.pair", "contracts.parser")
@pytest.mark.parametrize("word", ["validate", "parse"])
async def test_a_wrapper_round_an_async_function_may_have_its_answer_at_hand(word: str) -> None:
    @functools.wraps(decide_later)
    def remembered(_arguments: Mapping[str, object]) -> object:
        return True

    async def run(_given: object) -> str:
        return "ran"

    assert await over({"schema": SCHEMA, word: remembered}, run)(n=1) == "ran"


@requirement("contracts.pair")
@pytest.mark.parametrize("path", ['["\\x"]', f"a[{'9' * 5000}]", '["\n"]'])
async def test_a_path_that_nobody_can_read_does_no_harm(path: str) -> None:
    def refuse(_arguments: Mapping[str, object]) -> object:
        return {"valid": False, "issues": [{"path": path, "code": "odd", "message": "half \ud800"}]}

    result = await over({"schema": SCHEMA, "validate": refuse}).call(n=1)
    assert result.error is not None
    assert (result.error.category, result.error.message) == ("validation", "half \\ud800")


@requirement("definitions.tool.wrong-declaration")
@pytest.mark.parametrize("fields", [{"n": "int"}, {"n": None}, {"n": int, "m": "int"}])
def test_what_is_neither_a_schema_nor_names_with_types_is_refused(fields: object) -> None:
    with pytest.raises(
        DefinitionError, match=r"tool 'use': input\['[nm]'\]: .* is no type, and the whole is no JSON Schema"
    ):
        over(fields)


@requirement("definitions.tool.wrong-declaration")
def test_odd_keys_of_an_input_are_named() -> None:
    with pytest.raises(DefinitionError, match="input key 1: must be text, not 1"):
        over({1: int})
    with pytest.raises(DefinitionError, match="tool 'use': 1: there is no such declaration; there are schema"):
        over({"schema": SCHEMA, "validate": decide_later, 1: 2})
