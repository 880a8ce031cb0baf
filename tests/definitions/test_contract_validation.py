from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal, cast

import msgspec
import pytest
from annotated_types import Le, Len

from armory_trio.definitions._canonical import freeze_json
from armory_trio.definitions.contracts import (
    ArgumentIssue,
    InputContract,
    InvalidArguments,
    contract_from_schema,
    contract_from_signature,
    contract_from_type,
    path_text,
)
from tests.requirements import requirement

REFUSED = object()


def refused(contract: InputContract, arguments: object) -> tuple[ArgumentIssue, ...]:
    with pytest.raises(InvalidArguments) as caught:
        contract.validate(cast("Mapping[str, object]", arguments))
    return caught.value.issues


def one(kind: object) -> Callable[..., object]:
    """A function whose one parameter ``a`` has the annotation *kind*."""

    def use(a: object) -> object:
        return a

    use.__annotations__["a"] = kind
    return use


def value_of(kind: object, value: object, *, lenient: bool = False) -> object:
    """What arrives for *value*, or `REFUSED`."""
    contract = contract_from_signature(one(kind), lenient=lenient)
    try:
        return contract.named(contract.validate({"a": value}))["a"]
    except InvalidArguments:
        return REFUSED


# ── Unknown and missing ──────────────────────────────────────────────────────────────────────────────────────────────


def read(topic: str = "", max_results: int = 10) -> str:
    return topic * max_results


@requirement("contracts.closed")
def test_a_misspelt_argument_is_refused_and_the_near_one_is_named() -> None:
    [issue] = refused(contract_from_signature(read), {"topik": "x"})
    assert issue == ArgumentIssue("topik", "unknown", "`topik` is not a known argument; did you mean `topic`?")


@requirement("contracts.closed", "contracts.issues")
def test_all_unknown_and_all_missing_arguments_are_named_at_once() -> None:
    def use(query: str, limit: int, page: int) -> None: ...

    issues = refused(contract_from_signature(use), {"querry": "x", "maxResults": 1, "page": "2", "zzz": 0})
    assert len(issues) == 6
    assert {(issue.path, issue.code) for issue in issues} == {
        ("page", "type"),
        ("query", "missing"),
        ("limit", "missing"),
        ("querry", "unknown"),
        ("maxResults", "unknown"),
        ("zzz", "unknown"),
    }
    words = {issue.path: issue.message for issue in issues}
    assert words["querry"].endswith("did you mean `query`?")
    assert words["zzz"].endswith("known here: limit, page, query")
    assert words["query"] == "`query` is required and missing"
    assert words["page"] == "`page`: expected integer, got string"


@dataclass
class Inner:
    number: int
    when: dt.date | None = None


@dataclass
class Outer:
    inner: list[Inner]
    by_name: dict[str, Inner] | None = None


@requirement("contracts.closed", "contracts.issues")
def test_objects_inside_are_closed_and_their_issues_have_a_place() -> None:
    contract = contract_from_signature(one(Outer))
    inner: list[object] = [{"number": 1}, {"numbr": 2, "number": "x"}]
    by_name: dict[str, object] = {"k.x": {}}
    issues = refused(contract, {"a": {"inner": inner, "by_name": by_name, "other": 0}})
    assert {(issue.path, issue.code) for issue in issues} == {
        ("a.inner[1].number", "type"),
        ("a.inner[1].numbr", "unknown"),
        ('a.by_name["k.x"].number', "missing"),
        ("a.other", "unknown"),
    }


@requirement("contracts.issues")
def test_errors_of_schema_and_of_conversion_are_listed_together() -> None:
    def use(a: Inner, b: int, c: dt.date, d: dict[str, dt.date]) -> None: ...

    contract = contract_from_signature(use)
    issues = refused(contract, {"a": {"number": 1, "when": "2024-02-30"}, "b": True, "c": "soon", "d": {"x": "y"}})
    assert {(issue.path, issue.code) for issue in issues} == {
        ("a.when", "format"),
        ("b", "type"),
        ("c", "format"),
        ("d", "format"),
    }


@requirement("contracts.issues")
def test_what_was_sent_as_text_is_never_quoted() -> None:
    secret = "hunter2-hunter2"  # the point of the test

    class Colour(enum.Enum):
        RED = "red"

    def use(  # one parameter for each kind
        a: int,
        b: Colour,
        c: Annotated[str, Len(100)],
        d: Annotated[str, msgspec.Meta(pattern="^a+$")],
        e: int | list[int],
        f: dt.date,
        g: Literal["x"],
    ) -> None: ...

    contract = contract_from_signature(use, localns=locals())
    with pytest.raises(InvalidArguments) as caught:
        contract.validate(dict.fromkeys("abcdefg", secret))
    assert len(caught.value.issues) == 7
    assert "hunter2" not in str(caught.value)


@requirement("contracts.issues")
@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Literal["a", 2], "b", '`a`: expected "a" or 2, got string'),
        (Literal["a"], 3, '`a`: expected "a", got 3'),
        (int | list[str] | None, {}, "`a`: expected integer, array of string or null, got object"),
        (Annotated[list[int], Len(1)], [], "`a`: expected at least 1 member, got 0"),
        (Annotated[str, Len(0, 2)], "abc", "`a`: expected at most 2 characters, got 3"),
        (Annotated[float, msgspec.Meta(gt=0, lt=2)], 0, "`a`: expected more than 0, got 0"),
        (Annotated[float, msgspec.Meta(gt=0, lt=2)], 2.5, "`a`: expected less than 2, got 2.5"),
        (Annotated[int, msgspec.Meta(multiple_of=5)], 7, "`a`: expected a multiple of 5, got 7"),
        (set[int], [1, 1], "`a`: expected members that differ, but some are equal"),
        (Inner | int, {"number": "x"}, "`a.number`: expected integer, got string"),
        (Inner | int, "x", "`a`: expected Inner or integer, got string"),
        (dt.date | int, [], "`a`: expected string (date) or integer, got array"),
        (dict[int, int], {"x": 1}, "`a.x`: is no legal name here: does not match the pattern ^-?(0|[1-9][0-9]*)$"),
        (dict[Literal["k"], int], {"x": 1}, '`a.x`: is no legal name here: expected "k"'),
        (tuple[int, str], [1], "`a`: expected at least 2 members, got 1"),
    ],
)
def test_a_message_says_where_what_was_expected_and_what_came(kind: object, value: object, words: str) -> None:
    [issue] = refused(contract_from_signature(one(kind)), {"a": value})
    assert issue.message == words


@requirement("contracts.issues")
@pytest.mark.parametrize("arguments", [None, [], "{}", 3, True])
def test_arguments_that_are_no_object_are_refused(arguments: object) -> None:
    contracts = [contract_from_signature(read), contract_from_schema({}), contract_from_type(Inner)]
    for contract in contracts:
        [issue] = refused(contract, arguments)
        assert (issue.path, issue.code) == ("", "type")
        assert issue.message.startswith("the arguments: expected object, got ")


@requirement("contracts.issues")
def test_paths_are_bare_names_dots_and_brackets() -> None:
    assert path_text(()) == ""
    assert path_text(("a",)) == "a"
    assert path_text(("a", 0, "b", "c-d")) == "a[0].b.c-d"
    assert path_text(("page[size]", "x")) == '["page[size]"].x'
    assert path_text(("a", "b.c", 1)) == 'a["b.c"][1]'
    assert path_text(("", "é")) == '[""]["é"]'


# ── Strictness ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.strict")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, "5"),
        (int, True),
        (int, 3.5),
        (int, None),
        (int, [5]),
        (float, "1.5"),
        (float, False),
        (bool, 1),
        (bool, 0.0),
        (bool, "true"),
        (bool, "false"),
        (bool, "banana"),
        (str, 5),
        (str, True),
        (str, None),
        (list[str], '["a"]'),
        (list[str], "a"),
        (list[int], {"0": 1}),
        (dict[str, int], '{"a": 1}'),
        (dict[str, int], [["a", 1]]),
        (Inner, '{"number": 1}'),
        (tuple[int, int], [1, 2, 3]),
        (None, 0),
        (Literal[1], True),
        (Literal[1], "1"),
        (Literal[True], 1),
        (Literal["a", True], 1),
        (dt.datetime, 5),
        (dt.timedelta, 5),
        (dt.date, "5"),
        (bytes, "not base64!"),
        (object, float("inf")),
    ],
)
def test_nothing_is_coerced(kind: object, value: object) -> None:
    assert value_of(kind, value) is REFUSED


@requirement("contracts.strict")
@pytest.mark.parametrize("text", ["12345", "true", "null", "[1]", '{"a": 1}', "", " "])
def test_text_stays_text(text: str) -> None:
    assert value_of(str, text) == text
    assert value_of(str, text, lenient=True) == text
    assert value_of(str | int | bool | None, text, lenient=True) == text
    assert value_of(object, text, lenient=True) == text


# ── Integers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.integers")
@pytest.mark.parametrize("value", [9007199254740993, 2**63, -(2**63) - 1, 10**40, -(10**300)])
@pytest.mark.parametrize("number", [int | float, float | int, float | int | list[int] | set[int]])
def test_integers_are_exact_however_large(value: int, number: object) -> None:
    def give(a: int, b: object, c: object, d: list[int] | int, e: Annotated[int, Le(10**18)] = 0) -> None: ...

    give.__annotations__["b"] = number
    contract = contract_from_signature(give)
    given = {"a": value, "b": value, "c": value, "d": value}
    assert contract.named(contract.validate(given)) == {**given, "e": 0}
    assert contract.dump(contract.validate(given)) == {**given, "e": 0}
    schema = contract_from_schema({"properties": {"a": {"type": "integer"}}})
    assert schema.dump(schema.validate({"a": value})) == {"a": value}


@requirement("contracts.integers")
def test_an_integral_float_becomes_an_integer_where_one_is_asked_for() -> None:
    def give(  # one parameter for each kind
        a: int, b: float, c: list[int], d: dict[str, Inner], e: Literal[3, "x"], f: int | str, g: object = None
    ) -> None: ...

    contract = contract_from_signature(give)
    given = {"a": 3.0, "b": 3.0, "c": [1.0, -2.0], "d": {"k": {"number": 4.0}}, "e": 3.0, "f": 1e20, "g": 7.0}
    got = contract.named(contract.validate(given))
    assert got == {"a": 3, "b": 3.0, "c": [1, -2], "d": {"k": Inner(4)}, "e": 3, "f": 10**20, "g": 7.0}
    kinds = {name: type(value) for name, value in got.items()}
    assert (kinds["a"], kinds["b"], kinds["e"], kinds["f"]) == (int, float, int, int)
    assert kinds["g"] is float
    assert [type(member) for member in cast("list[object]", got["c"])] == [int, int]
    assert value_of(int, 1e300) == int(1e300)


@requirement("contracts.integers")
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("kind", [int, float, object, list[float], dict[str, object], int | float, float | None, Inner])
def test_infinities_and_nan_are_refused_everywhere(kind: object, value: float) -> None:
    places: list[object] = [value, [value], {"x": value}, {"number": value}]
    assert all(value_of(kind, place) is REFUSED for place in places)
    contract = contract_from_schema({"additionalProperties": True})
    [issue] = refused(contract, {"a": [value]})
    assert (issue.path, issue.code) == ("a[0]", "not-json")


# ── Leniency ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.lenient")
@pytest.mark.parametrize(
    ("kind", "value", "meant"),
    [
        (int, "5", 5),
        (int, " -12 ", -12),
        (int, "1e3", 1000),
        (int, "9007199254740993", 9007199254740993),
        (int, "5.5", REFUSED),
        (int, "", REFUSED),
        (int, "0x10", REFUSED),
        (int, "1_000", REFUSED),
        (int, "9" * 5000, REFUSED),
        (int, True, REFUSED),
        (float, "1.5", 1.5),
        (float, "1e400", REFUSED),
        (float, "NaN", REFUSED),
        (bool, "true", True),
        (bool, "False", False),
        (bool, "yes", REFUSED),
        (bool, 1, True),
        (bool, 0, False),
        (bool, 2, REFUSED),
        (int | None, "5", 5),
        (list[str], '["a", "1"]', ["a", "1"]),
        (list[int], '["1", 2.0]', [1, 2]),
        (list[str], "[broken", REFUSED),
        (list[str], '{"a": 1}', REFUSED),
        (dict[str, int], '{"a": "1"}', {"a": 1}),
        (Inner, '{"number": "7"}', Inner(7)),
        (list[Inner], [{"number": "7"}], [Inner(7)]),
        (str, 5, REFUSED),
    ],
)
def test_leniency_reads_text_where_text_is_not_legal(kind: object, value: object, meant: object) -> None:
    got = value_of(kind, value, lenient=True)
    assert got == meant
    assert type(got) is type(meant)
    assert value_of(kind, value) is REFUSED


@requirement("contracts.lenient")
def test_leniency_can_be_declared_for_schemas_and_types() -> None:
    schema = contract_from_schema({"properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}, lenient=True)
    assert schema.validate({"n": "5", "s": "5"}) == {"n": 5, "s": "5"}
    assert contract_from_type(Inner, lenient=True).validate({"number": "5"}) == Inner(5)


# ── Null ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.null")
def test_an_illegal_null_for_an_optional_argument_means_left_out() -> None:
    def use(a: int, b: int = 7, c: str | None = "c", d: list[Inner] | None = None, e: object = 1) -> None: ...

    contract = contract_from_signature(use)
    got = contract.named(contract.validate({"a": 1, "b": None, "c": None, "e": None}))
    assert got == {"a": 1, "b": 7, "c": None, "d": None, "e": None}
    [issue] = refused(contract, {"a": None})
    assert (issue.path, issue.code) == ("a", "type")
    [issue] = refused(contract, {"a": 1, "unknown": None})
    assert issue.code == "unknown"


@requirement("contracts.null")
def test_nulls_inside_and_in_schemas_follow_the_same_rule() -> None:
    class Settings(msgspec.Struct):
        level: int = 3
        name: str | None = "n"

    assert value_of(Settings, {"level": None, "name": None}) == Settings(3, None)
    contract = contract_from_schema(
        {
            "properties": {
                "level": {"type": "integer", "default": 3},
                "kind": {"enum": ["a", "b"]},
                "any": {},
                "both": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]},
                "none": {"allOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]},
            },
            "required": ["kind"],
            "$defs": {"n": {"type": ["null", "integer"]}},
        }
    )
    got = contract.validate({"level": None, "kind": "a", "any": None, "both": None, "none": None})
    assert got == {"level": 3, "kind": "a", "any": None, "both": None, "none": None}
    assert refused(contract, {"kind": None})[0].code == "choice"


# ── Hostile ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def nested(depth: int) -> object:
    value: object = []
    for _ in range(depth):
        value = [value]
    return value


class Node(msgspec.Struct):
    children: list[Node] = []


@requirement("contracts.hostile")
def test_deep_and_cyclic_values_are_refused() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    tree: dict[str, object] = {}
    for _ in range(5_000):
        tree = {"children": [tree]}
    contracts = [
        contract_from_signature(one(object)),
        contract_from_signature(one(list[object])),
        contract_from_signature(one(Node)),
        contract_from_signature(one(int)),
        contract_from_schema({"additionalProperties": True}),
    ]
    for contract in contracts:
        for value in (nested(20_000), cycle, tree):
            issues = refused(contract, {"a": value})
            assert {issue.code for issue in issues} <= {"not-json", "type"}


@requirement("contracts.hostile")
def test_a_refusal_has_a_bounded_length() -> None:
    contract = contract_from_signature(read)
    issues = refused(contract, {f"k{number}": 0 for number in range(2_000)})
    assert len(issues) == 50
    [issue] = refused(contract, {"k" * 100_000: 0})
    assert len(issue.message) < 500
    numbers = contract_from_signature(one(list[int]))
    assert len(refused(numbers, {"a": ["x"] * 2_000})) == 50


@requirement("contracts.hostile")
@pytest.mark.parametrize(
    ("value", "code"),
    [({1: 2}, "not-json"), ({"a": {1, 2}}, "type"), ({"a": object()}, "type"), ({"a": b"x"}, "type")],
)
def test_python_objects_that_are_no_json_are_refused(value: object, code: str) -> None:
    [issue] = refused(contract_from_signature(one(int)), value)
    assert issue.code == code
    [issue] = refused(contract_from_schema({"properties": {"a": {}}}), value)
    assert issue.code == "not-json"


@requirement("contracts.hostile")
def test_half_a_character_is_kept_as_text_and_no_accident_elsewhere() -> None:
    assert value_of(str, "\ud800") == "\ud800"
    assert value_of(int, "\ud800") is REFUSED
    assert value_of(dt.date | str, "\ud800") == "\ud800"
    assert refused(contract_from_signature(read), {"\ud800": 1})[0].code in ("unknown", "not-json")
    cases: list[tuple[dict[str, object], dict[str, object]]] = [
        ({"a": {"minLength": 3}}, {"a": "\ud800"}),
        ({"a": {"enum": ["x"]}}, {"a": "\ud800"}),
        ({"a": {}}, {"\ud800": 1}),
    ]
    for schema, given in cases:
        [issue] = refused(contract_from_schema({"properties": schema}), given)
        assert issue.code == "not-json"
    assert contract_from_schema({"properties": {"a": {}}}).validate({"a": "\ud800"}) == {"a": "\ud800"}


@requirement("contracts.strict")
def test_frozen_arguments_are_as_good_as_plain_ones() -> None:
    def use(a: list[Inner], b: dict[str, int], c: object) -> object:
        return a, b, c

    plain = {"a": [{"number": 1.0}], "b": {"x": 1}, "c": {"y": [1]}}
    frozen = cast("Mapping[str, object]", freeze_json(plain))
    assert isinstance(frozen, MappingProxyType)
    contract = contract_from_signature(use)
    assert contract.validate(frozen) == contract.validate(plain)
    schema = contract_from_schema({"additionalProperties": True})
    assert schema.validate(frozen) == plain


@requirement("contracts.types")
def test_host_code_may_pass_values_that_have_their_type_already() -> None:
    day = dt.date(2024, 1, 2)

    def use(a: Inner, b: list[Inner], c: dt.date, d: Inner | int, e: set[int]) -> None: ...

    contract = contract_from_signature(use)
    given: dict[str, object] = {"a": Inner(1, day), "b": [Inner(2)], "c": day, "d": Inner(3), "e": {1, 2}}
    assert contract.named(contract.validate(given)) == given
    [issue] = refused(contract, {**given, "c": "x"})
    assert (issue.path, issue.code) == ("c", "format")
