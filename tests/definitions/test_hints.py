from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, cast

import annotated_types
import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import InvalidArguments, repair_hints, tool
from armory_trio.definitions import InputContract, contract_from_schema
from armory_trio.definitions._arguments import path_steps, path_text
from armory_trio.definitions._canonical import thaw_json
from armory_trio.definitions.contracts import ArgumentIssue
from armory_trio.definitions.contracts._hints import RepairHint
from tests.requirements import requirement


@dataclass
class Place:
    city: str
    zip: Annotated[str, msgspec.Meta(pattern="^[0-9]{4}$")] = "0000"


@tool
async def book(
    flight: str,
    seats: Annotated[int, annotated_types.Interval(ge=1, le=9)],
    cabin: Literal["economy", "business"] = "economy",
    home: Place | None = None,
    days: list[int] | None = None,
) -> None:
    """Book a flight."""


def hints(contract: InputContract, arguments: Mapping[str, object]) -> list[RepairHint]:
    with pytest.raises(InvalidArguments) as refused:
        contract.validate(arguments)
    return list(repair_hints(contract.schema, refused.value.issues))


@requirement("contracts.hints")
@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        ({"flight": "TP1", "seats": 1, "cabbin": "x"}, "Rename `cabbin` to `cabin`, or leave it out."),
        (
            {"flight": "TP1", "seats": 1, "meal": "x"},
            "Leave out `meal`; what may stand there: flight, seats, cabin, home, days.",
        ),
        ({"flight": "TP1"}, "Add `seats`: integer from 1 up to 9, such as 1."),
        ({"flight": "TP1", "seats": "two"}, "Make `seats` integer from 1 up to 9, such as 1."),
        ({"flight": "TP1", "seats": 12}, "Make `seats` integer from 1 up to 9, such as 1."),
        ({"flight": 7, "seats": 1}, 'Make `flight` string, such as "text".'),
        (
            {"flight": "TP1", "seats": 1, "cabin": "first"},
            'Make `cabin` "economy" or "business", such as "economy".',
        ),
        (
            {"flight": "TP1", "seats": 1, "home": {"town": "x"}},
            "Leave out `home.town`; what may stand there: city, zip.",
        ),
        ({"flight": "TP1", "seats": 1, "days": [1, "x"]}, "Make `days[1]` integer, such as 1."),
    ],
)
def test_a_hint_says_what_to_do(arguments: Mapping[str, object], suggestion: str) -> None:
    assert suggestion in [hint.suggestion for hint in hints(book.contract, arguments)]


@requirement("contracts.hints")
def test_a_hint_holds_its_parts_apart() -> None:
    [hint] = hints(book.contract, {"flight": "TP1", "seats": 1, "cabbin": "x"})
    assert hint == RepairHint("cabbin", "Rename `cabbin` to `cabin`, or leave it out.", near=("cabin",))
    [hint] = hints(book.contract, {"flight": "TP1", "seats": 0})
    assert msgspec.to_builtins(hint) == {
        "path": "seats",
        "suggestion": "Make `seats` integer from 1 up to 9, such as 1.",
        "expected": "integer from 1 up to 9",
        "example": "1",
    }


@requirement("contracts.hints")
def test_issues_of_a_users_own_and_of_the_whole_are_answered_too() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    own = repair_hints(schema, [ArgumentIssue("/n", "too-small", "m"), ArgumentIssue("", "type", "m")])

    assert [hint.suggestion for hint in own] == [
        "Correct `/n`.",
        'Make the arguments as a whole object, such as {"n":1}.',
    ]


@requirement("contracts.hints")
def test_nothing_that_was_sent_is_quoted_but_names() -> None:
    found = hints(book.contract, {"flight": ["secret-4711"], "seats": "secret-4711", "cabin": "secret-4711"})

    assert len(found) == 3
    assert "secret" not in str(found)


WRITTEN = [
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "uuid"},
    {"type": "string", "minLength": 12, "maxLength": 12},
    {"type": "integer", "exclusiveMinimum": 5, "multipleOf": 7},
    {"type": "number", "maximum": -3},
    {"type": "array", "items": {"$ref": "#/$defs/point"}, "minItems": 2},
    {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": False, "minItems": 2},
    {"anyOf": [{"type": "null"}, {"type": "string"}]},
    {"const": {"a": 1}},
    {"enum": ["x", 2]},
    {"type": "string", "pattern": "^z{3}$", "examples": ["no", "zzz"]},
    {"type": "boolean"},
    {"default": [1], "type": "array"},
]


@requirement("contracts.hints.legal")
@pytest.mark.parametrize("member", WRITTEN)
def test_an_example_is_legal(member: dict[str, object]) -> None:
    schema = {
        "type": "object",
        "properties": {"m": member},
        "required": ["m"],
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
    }
    contract = contract_from_schema(schema)
    [hint] = hints(contract, {})

    assert hint.example
    contract.validate({"m": msgspec.json.decode(hint.example)})


@requirement("contracts.hints.legal")
@pytest.mark.parametrize(
    "member",
    [
        {"type": "string", "pattern": "^z{3}$"},
        {"type": "string", "minLength": 1000},
        {"not": {}},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/m"}}, "required": ["a"]},
    ],
)
def test_where_no_legal_example_is_known_there_is_none(member: dict[str, object]) -> None:
    [hint] = hints(contract_from_schema({"type": "object", "properties": {"m": member}, "required": ["m"]}), {})

    assert hint.example == ""
    assert "such as" not in hint.suggestion


Schema = dict[str, object]


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def either(one: Schema, two: Schema) -> Schema:
    return {"anyOf": [one, two]}


def record(one: Schema) -> Schema:
    return {"type": "object", "properties": {"a": one}, "required": ["a"]}


def wider(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(array, inner) | st.builds(either, inner, inner) | st.builds(record, inner)


SCALARS: list[Schema] = [
    {"type": "integer"},
    {"type": "string"},
    {"type": "null"},
    {"enum": ["a", 1]},
    {"minimum": 3},
    {},
]
SCHEMAS = st.recursive(st.sampled_from(SCALARS), wider, max_leaves=6)


@requirement("contracts.hints.legal")
@given(SCHEMAS)
def test_whatever_the_schema_an_example_fits_it(member: dict[str, object]) -> None:
    root = {"type": "object", "properties": {"m": member}, "required": ["m"]}
    [hint] = repair_hints(root, [ArgumentIssue("m", "missing", "")])

    assert not hint.example or jsonschema_rs.is_valid(
        cast("dict[str, object]", thaw_json(member)), msgspec.json.decode(hint.example)
    )


@requirement("contracts.hints")
@given(st.lists(st.integers(0, 99) | st.text(st.characters(exclude_categories=()))))
def test_every_path_is_read_back_as_its_steps(steps: list[int | str]) -> None:
    assert path_steps(path_text(steps)) == tuple(steps)


@requirement("contracts.hints")
@pytest.mark.parametrize("path", ["/a", "a.", ".a", "a b", "[x]", 'a["b'])
def test_a_path_of_another_grammar_has_no_steps(path: str) -> None:
    assert path_steps(path) is None


@requirement("contracts.hints.legal")
def test_a_schema_that_branches_without_end_is_given_up() -> None:
    twice = [{"$ref": "#/$defs/t"}] * 20
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"m": {"$ref": "#/$defs/t"}, "n": {"type": "array", "items": {}, "minItems": 10**9}},
        "$defs": {"t": {"anyOf": twice}},
    }
    hints = repair_hints(schema, [ArgumentIssue("m", "missing", ""), ArgumentIssue("n", "missing", "")] * 50)

    assert {hint.example for hint in hints} == {""}
    assert len(hints) == 20


@requirement("contracts.hints")
def test_definitions_that_nobody_refers_to_are_not_compiled_for_an_example() -> None:
    many = {
        f"d{n}": {"type": "object", "properties": {f"p{m}": {"pattern": "^a+$"} for m in range(20)}} for n in range(400)
    }
    schema = {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/n"}},
        "$defs": {**many, "n": {"minimum": 3, "type": "integer"}},
    }
    everything = {**schema, "properties": {"n": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in many]}}}
    missing = [ArgumentIssue("n", "missing", "")]

    assert repair_hints(schema, missing)[0].example == "3"
    assert repair_hints(everything, missing)[0].example == ""


@requirement("contracts.hints")
def test_a_bound_that_no_float_can_hold_is_no_obstacle() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 10**400, "multipleOf": 0.1}}}

    assert repair_hints(schema, [ArgumentIssue("n", "missing", "")])[0].path == "n"
