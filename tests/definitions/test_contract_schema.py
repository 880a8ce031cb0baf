from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

import pytest

from armory_trio.definitions._canonical import thaw_json
from armory_trio.definitions.contracts import (
    ArgumentIssue,
    InputContract,
    InvalidArguments,
    contract_from_pair,
    contract_from_schema,
)
from armory_trio.errors import DefinitionError
from tests.requirements import requirement

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
CONTEXT = object()


def only(arguments: object) -> object:
    return arguments


def schema_of(contract: InputContract) -> dict[str, object]:
    return cast("dict[str, object]", thaw_json(contract.schema))


def refused(contract: InputContract, arguments: object) -> tuple[ArgumentIssue, ...]:
    with pytest.raises(InvalidArguments) as caught:
        contract.validate(cast("Mapping[str, object]", arguments))
    return caught.value.issues


# ── Legal schemas ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.schema.legal")
@pytest.mark.parametrize(
    ("schema", "field", "words"),
    [
        ({"properties": {"a": {"type": "integr"}}}, "input schema at properties.a.type", "integr"),
        ({"properties": {"a": {"minLength": -1}}}, "input schema at properties.a.minLength", "minimum of 0"),
        ({"properties": {"a": {"pattern": "("}}}, "input schema at properties.a.pattern", "regex"),
        ({"properties": {"a": {"$ref": "#/$defs/no"}}}, "input schema at properties.a.$ref", "does not exist"),
        (
            {"properties": {"a": {"items": [{"$ref": "https://example.com/x.json"}]}}, "$schema": DRAFT_7},
            "input schema at properties.a.items[0].$ref",
            "https://example.com/x.json",
        ),
        ({"$ref": "file:///etc/passwd"}, "input schema at $ref", "file:///etc/passwd"),
        ({"$schema": "https://example.com/dialect"}, "input schema", "https://example.com/dialect"),
        ({"type": "string"}, "input schema", 'about "string"; wrap it in a property'),
        ({"type": ["array", "null"]}, "input schema", 'about ["array","null"]'),
        ({"anyOf": [{"type": "object"}, {"type": "array"}]}, "input schema", 'about "array"'),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"type": "integer"}]}}}, "input schema", 'about "integer"'),
        ([1], "input schema", "must be an object of keywords, not list"),
        (True, "input schema", "must be an object of keywords, not bool"),
        ({"default": float("nan")}, "input schema", "non-finite-number"),
        ({"x": {1, 2}}, "input schema", "write a list"),
    ],
)
def test_an_illegal_schema_is_refused_at_definition_with_the_place(schema: object, field: str, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        contract_from_schema(cast("Mapping[str, object]", schema), subject="tool 'x'")
    assert caught.value.subject == "tool 'x'"
    assert caught.value.field == field
    assert words in caught.value.reason


@requirement("contracts.schema.legal")
def test_the_whole_vocabulary_of_2020_12_is_enforced() -> None:
    contract = contract_from_schema(
        {
            "properties": {
                "mode": {"enum": ["fast", "slow"]},
                "seconds": {"type": "number"},
                "tags": {"type": "array", "prefixItems": [{"const": "first"}], "contains": {"const": "x"}},
                "day": {"type": "string", "format": "date"},
                "kind": {"type": "string", "format": "int32"},
            },
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": False,
            "if": {"properties": {"mode": {"const": "slow"}}, "required": ["mode"]},
            "then": {"required": ["seconds"]},
            "dependentRequired": {"tags": ["mode"]},
        }
    )
    assert contract.validate({"mode": "slow", "seconds": 2, "x-a": 1.0, "kind": "any"}) == {
        "mode": "slow",
        "seconds": 2,
        "x-a": 1,
        "kind": "any",
    }
    assert refused(contract, {"mode": "slow"})[0] == ArgumentIssue(
        "seconds", "missing", "`seconds` is required and missing"
    )
    assert refused(contract, {"x-a": "1"})[0].path == "x-a"
    assert {issue.path for issue in refused(contract, {"tags": ["second"], "mode": "fast"})} == {"tags[0]", "tags"}
    assert refused(contract, {"tags": ["first", "x"]})[0].path == "mode"
    [issue] = refused(contract, {"day": "2024-02-30"})
    assert (issue.path, issue.code, issue.message) == ("day", "format", "`day`: is not a legal date")


@requirement("contracts.schema.legal")
def test_an_older_draft_is_read_as_what_it_says_it_is() -> None:
    contract = contract_from_schema(
        {
            "$schema": DRAFT_7,
            "type": "object",
            "properties": {"pair": {"items": [{"type": "integer"}], "additionalItems": False}},
            "definitions": {"n": {"type": "integer"}},
        }
    )
    assert contract.validate({"pair": [1]}) == {"pair": [1]}
    assert refused(contract, {"pair": [1, 2]})[0].path.startswith("pair")
    assert refused(contract, {"other": 1})[0].code == "unknown"
    with pytest.raises(DefinitionError, match="only be closed in draft 2020-12"):
        contract_from_schema({"$schema": DRAFT_7, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})


@requirement("contracts.issues")
@pytest.mark.parametrize(
    ("schema", "value", "issues"),
    [
        ({"not": {"type": "integer"}}, 1, [("a", "constraint", "`a`: does not fit not")]),
        ({"anyOf": [{"type": ["integer", "null"]}, {"const": "x"}]}, [], [("a", "type", None)]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 2, [("a", "choice", None)]),
        ({"properties": {"b": False}}, {"b": 1}, [("a.b", "unknown", "`a.b`: is not allowed here")]),
        ({"propertyNames": {"maxLength": 1}}, {"bb": 1}, [("a.bb", "unknown", None)]),
        ({"minProperties": 1}, {}, [("a", "constraint", "`a`: expected at least 1 member, got 0")]),
        ({"anyOf": [{"$ref": "#/$defs/t"}, {"type": "array", "items": {"type": "string"}}]}, 1, [("a", "type", None)]),
        ({"anyOf": [True, False]}, 1, []),
        ({"if": {"type": "integer"}, "then": {"minimum": 5}}, 1, [("a", "constraint", None)]),
    ],
)
def test_every_keyword_has_an_issue(schema: object, value: object, issues: list[tuple[str, str, str | None]]) -> None:
    contract = contract_from_schema({"properties": {"a": schema}, "$defs": {"t": {"title": "Thing", "type": "object"}}})
    if not issues:
        assert contract.validate({"a": value}) == {"a": value}
        return
    found = refused(contract, {"a": value})
    assert [(issue.path, issue.code) for issue in found] == [(path, code) for path, code, _ in issues]
    for issue, (_, _, words) in zip(found, issues, strict=True):
        assert issue.message == (words or issue.message)
        assert issue.message.startswith("`a")


@requirement("contracts.issues")
def test_the_alternatives_are_described_in_words() -> None:
    thing = {"title": "Thing", "type": "object"}
    branches = [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/u"}, {"type": "array", "items": {"type": "string"}}]
    more = [{"const": 7}, {"enum": ["x", 8]}, {"type": ["null", "boolean"]}]
    contract = contract_from_schema(
        {"properties": {"a": {"anyOf": [*branches, *more]}}, "$defs": {"t": thing, "u": {"type": "object"}}}
    )
    [issue] = refused(contract, {"a": 1.5})
    wanted = '`a`: expected Thing, u, array of string, 7, "x" or 8 or null or boolean, got number'
    assert issue.message == wanted


@requirement("contracts.hostile")
def test_a_pattern_that_takes_for_ever_elsewhere_does_no_harm() -> None:
    contract = contract_from_schema(
        {"patternProperties": {"^(a+)+$": {"type": "integer"}}, "additionalProperties": False}
    )
    assert refused(contract, {"a" * 40 + "!": 1.0})[0].code == "unknown"
    assert contract.validate({"aaa": 1.0}) == {"aaa": 1}


# ── The root ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.schema.root")
@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}])
def test_no_schema_and_an_empty_one_mean_no_arguments(schema: Mapping[str, object] | None) -> None:
    contract = contract_from_schema(schema)
    assert schema_of(contract) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert contract.validate({}) == {}
    assert refused(contract, {"a": 1})[0].code == "unknown"


@requirement("contracts.schema.root", "contracts.closed")
def test_a_root_is_closed_unless_it_says_otherwise() -> None:
    properties = {"topic": {"type": "string"}}
    closed = contract_from_schema({"properties": properties})
    [issue] = refused(closed, {"topik": "x"})
    assert issue == ArgumentIssue("topik", "unknown", "`topik` is not a known argument; did you mean `topic`?")

    assert contract_from_schema({"properties": properties, "additionalProperties": True}).validate({"x": 1}) == {"x": 1}
    typed = contract_from_schema({"additionalProperties": {"type": "integer"}})
    assert typed.validate({"x": 1.0}) == {"x": 1}
    assert refused(typed, {"x": "1"})[0].path == "x"
    assert contract_from_schema({"unevaluatedProperties": True}).validate({"x": 1}) == {"x": 1}


@requirement("contracts.schema.root")
def test_objects_inside_are_as_open_as_they_say() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}}
    contract = contract_from_schema({"properties": {"o": inner, "c": {**inner, "additionalProperties": False}}})
    assert contract.validate({"o": {"a": 1, "x": 2}}) == {"o": {"a": 1, "x": 2}}
    assert refused(contract, {"c": {"a": 1, "x": 2}})[0].path == "c.x"


UNION = {
    "oneOf": [
        {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"]},
        {"properties": {"kind": {"const": "b"}, "y": {"type": "integer"}}, "required": ["kind", "y"]},
    ]
}


@requirement("contracts.schema.root")
def test_alternatives_at_the_root_are_closed_and_enforced() -> None:
    contract = contract_from_schema(UNION)
    assert contract.validate({"kind": "a", "x": 1.0}) == {"kind": "a", "x": 1}
    assert contract.validate({"kind": "b", "y": 1}) == {"kind": "b", "y": 1}
    [issue] = refused(contract, {"kind": "a", "y": 1})
    assert (issue.path, issue.code) == ("x", "missing")
    [issue] = refused(contract, {"kind": "a", "x": 1, "y": 1})
    assert issue == ArgumentIssue("y", "unknown", "`y` does not go together with the other arguments")
    issues = refused(contract, {"kind": "a", "x": "1", "z": 1})
    assert {(issue.path, issue.code) for issue in issues} == {("x", "type"), ("z", "unknown")}
    [issue] = refused(contract, {"kind": "c"})
    assert (issue.path, issue.code) == ("kind", "choice")


@requirement("contracts.schema.root")
def test_a_reference_at_the_root_is_followed_and_closed() -> None:
    tree = {"type": "object", "properties": {"n": {"type": "integer"}, "sub": {"$ref": "#/$defs/t"}}}
    contract = contract_from_schema({"$ref": "#/$defs/t", "$defs": {"t": tree}})
    assert contract.validate({"n": 1.0, "sub": {"sub": {"n": 2.0}}}) == {"n": 1, "sub": {"sub": {"n": 2}}}
    [issue] = refused(contract, {"m": 1})
    assert issue.message == "`m` is not a known argument; known here: n, sub"

    said = contract_from_schema({"$ref": "#/$defs/t", "$defs": {"t": {**tree, "additionalProperties": True}}})
    assert said.validate({"m": 1}) == {"m": 1}
    escaped = contract_from_schema(
        {"properties": {"v": {"$ref": "#/$defs/a~1b%25"}}, "$defs": {"a/b%": {"type": "integer"}}}
    )
    assert escaped.validate({"v": 2.0}) == {"v": 2}
    nested = {"type": "array", "items": [{"type": "integer"}]}
    listed = contract_from_schema(
        {"$schema": DRAFT_7, "properties": {"v": {"$ref": "#/definitions/l/items/0"}}, "definitions": {"l": nested}}
    )
    assert listed.validate({"v": 2.0}) == {"v": 2}
    dynamic = contract_from_schema(
        {"properties": {"v": {"$dynamicRef": "#node"}}, "$defs": {"x": {"$dynamicAnchor": "node", "type": "integer"}}}
    )
    assert repr(dynamic.validate({"v": 2.0})) == "{'v': 2}"
    anchored = contract_from_schema(
        {"properties": {"v": {"$ref": "#here"}}, "$defs": {"x": {"$anchor": "here", "type": "integer"}}}
    )
    assert anchored.dump(anchored.validate({"v": 2.0})) == {"v": 2}


@requirement("contracts.schema.root", "contracts.frozen")
def test_the_schema_is_copied_and_never_changed() -> None:
    schema: dict[str, object] = {"properties": {"a": {"type": "integer"}}}
    before = copy.deepcopy(schema)
    contract = contract_from_schema(schema)
    contract.validate({"a": 1})
    assert schema == before
    cast("dict[str, dict[str, object]]", schema["properties"])["a"]["type"] = "string"
    assert contract.validate({"a": 2}) == {"a": 2}
    with pytest.raises(TypeError):
        contract.schema["x"] = 1  # type: ignore[index]  # pyright: ignore[reportIndexIssue]  # the point of the test


# ── What arrives ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.schema.filled")
def test_legal_defaults_of_the_root_are_filled_in() -> None:
    contract = contract_from_schema(
        {
            "properties": {
                "a": {"type": "integer", "default": 3},
                "b": {"type": "string", "default": None},
                "c": {"$ref": "#/$defs/list", "default": [1]},
                "d": {"type": "object", "properties": {"x": {"default": 1}}},
            },
            "$defs": {"list": {"type": "array"}},
        }
    )
    first = cast("dict[str, list[int]]", contract.validate({"d": {}}))
    assert first == {"a": 3, "c": [1], "d": {}}
    first["c"].append(2)
    assert contract.validate({}) == {"a": 3, "c": [1]}
    assert contract.dump(contract.validate({"a": 4})) == {"a": 4, "c": [1]}
    assert contract.named(contract.validate({})) == {"a": 3, "c": [1]}


@requirement("contracts.schema.filled")
def test_defaults_that_would_make_the_arguments_illegal_are_left_out() -> None:
    contract = contract_from_schema({"properties": {"a": {}, "b": {"default": 1}}, "maxProperties": 1})
    assert contract.validate({"a": 1}) == {"a": 1}
    assert contract.validate({}) == {"b": 1}


@requirement("contracts.schema.filled", "contracts.integers")
def test_integral_floats_become_integers_at_every_depth() -> None:
    contract = contract_from_schema(
        {
            "properties": {
                "deep": {
                    "type": "array",
                    "items": {"properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}},
                },
                "tuple": {"prefixItems": [{"type": "integer"}, {"type": "number"}], "items": {"enum": [7, "x"]}},
                "free": {},
                "number": {"type": "number"},
                "const": {"const": 2},
            }
        }
    )
    given = {"deep": [{"n": 1.0}], "tuple": [1.0, 1.0, 7.0], "free": 1.0, "number": 1.0, "const": 2.0}
    got = contract.dump(contract.validate(given))
    assert got == given
    assert repr(got["deep"]) == "[{'n': 1}]"
    assert repr(got["tuple"]) == "[1, 1.0, 7]"
    assert [type(got[name]) for name in ("free", "number", "const")] == [float, float, int]


@requirement("contracts.caller")
def test_the_function_gets_the_dict_and_the_context_where_it_wants_them() -> None:
    contract = contract_from_schema({"properties": {"a": {"type": "integer"}}})
    validated = contract.validate({"a": 1})

    def alone(arguments: object) -> object:
        return arguments

    def with_context(arguments: object, ctx: object) -> object:
        return arguments, ctx

    def context_first(ctx: object, arguments: object) -> object:
        return arguments, ctx

    def context_first_only(ctx: object, arguments: object, /) -> object:
        return arguments, ctx

    def by_name(arguments: object, *, ctx: object) -> object:
        return arguments, ctx

    assert contract.caller(alone)(validated, CONTEXT) == {"a": 1}
    for function in (with_context, context_first, context_first_only, by_name):
        assert contract.caller(function, "ctx")(validated, CONTEXT) == ({"a": 1}, CONTEXT)


# ── Pairs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}


@requirement("contracts.pair")
def test_a_pair_is_shown_as_it_is_and_decides_itself() -> None:
    seen: list[Mapping[str, object]] = []

    def validate(value: Mapping[str, object]) -> object:
        seen.append(value)
        if "query" in value:
            return {"valid": True}
        return {"valid": False, "issues": [{"path": "query", "code": "required"}]}

    contract = contract_from_pair(SCHEMA, validate)
    assert schema_of(contract) == SCHEMA
    validated = contract.validate({"query": 2.0, "other": ["x"]})
    assert validated is seen[0]
    assert contract.dump(validated) == {"query": 2.0, "other": ["x"]}
    assert contract.named(validated)["query"] == 2.0
    assert contract.caller(only)(validated, None) is validated
    assert refused(contract, {}) == (ArgumentIssue("query", "required", "`query`: required"),)


@requirement("contracts.pair", "contracts.frozen")
def test_a_validator_cannot_change_what_will_run() -> None:
    inner: list[object] = [1]
    given: dict[str, object] = {"a": {"b": inner}}

    def tamper(value: Mapping[str, object]) -> object:
        with pytest.raises(TypeError):
            cast("dict[str, object]", value)["a"] = 0
        with pytest.raises(TypeError):
            cast("dict[str, dict[str, object]]", value)["a"]["b"] = 0
        inner.append(2)
        return True

    contract = contract_from_pair(SCHEMA, tamper)
    validated = contract.validate(given)
    assert type(validated) is MappingProxyType
    assert contract.dump(cast("object", validated)) == {"a": {"b": [1]}}


@requirement("contracts.pair")
@pytest.mark.parametrize(
    ("answer", "issues"),
    [
        (False, [("", "invalid", "the arguments were refused")]),
        ({"valid": False}, [("", "invalid", "the arguments were refused")]),
        ({"valid": False, "issues": []}, [("", "invalid", "the arguments were refused")]),
        (
            {"valid": False, "issues": [{"path": "/amount", "code": "not-an-integer", "safeMessage": "whole numbers"}]},
            [("/amount", "not-an-integer", "whole numbers")],
        ),
        (
            {"valid": False, "issues": ({"path": "$.a", "code": "type"}, {"code": "odd", "message": "m"})},
            [("$.a", "type", "`$.a`: type"), ("", "odd", "m")],
        ),
    ],
)
def test_the_issues_of_a_pair_pass_through(answer: object, issues: list[tuple[str, str, str]]) -> None:
    contract = contract_from_pair(SCHEMA, lambda _value: answer)
    assert [(issue.path, issue.code, issue.message) for issue in refused(contract, {})] == issues


@requirement("contracts.pair")
@pytest.mark.parametrize("answer", [None, 1, "yes", [], {}, {"valid": 1}, {"valid": None}])
def test_an_answer_that_is_no_clear_yes_is_a_refusal(answer: object) -> None:
    [issue] = refused(contract_from_pair(SCHEMA, lambda _value: answer), {})
    assert issue.code == "invalid"
    assert "must answer True, False or a mapping" in issue.message


@requirement("contracts.pair")
def test_what_a_validator_raises_passes_through_and_a_coroutine_is_no_answer() -> None:
    def broken(_value: Mapping[str, object]) -> object:
        raise LookupError("the validator's own")

    async def later(_value: Mapping[str, object]) -> object:
        return True

    class Later:
        def __call__(self, value: Mapping[str, object]) -> object:
            return later(value)

    with pytest.raises(LookupError, match="the validator's own"):
        contract_from_pair(SCHEMA, broken).validate({})
    [issue] = refused(contract_from_pair(SCHEMA, Later()), {})
    assert issue.code == "invalid"
    with pytest.raises(DefinitionError, match=r"input\.validate: must be a function, not 'x'"):
        contract_from_pair(SCHEMA, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # the point of the test


@requirement("contracts.pair", "contracts.hostile")
def test_a_pair_never_sees_what_is_not_json() -> None:
    def never(_value: Mapping[str, object]) -> object:
        raise AssertionError("seen")

    contract = contract_from_pair(SCHEMA, never)
    for arguments in ({"a": float("nan")}, {"a": {1, 2}}, {1: 2}):
        assert refused(contract, arguments)[0].code == "not-json"
    assert refused(contract, [1])[0].code == "type"
