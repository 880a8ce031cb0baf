"""Schemas that strangers write: whatever they ask for, checking a value and saying what is wrong with it come to an end."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from typing import cast
from unittest.mock import Mock

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, InvalidArguments, OutputInvalid
from armory_trio.definitions.contracts import _bounds, _fitting, _json_schema, contract_from_schema, output_contract
from armory_trio.definitions.contracts._compiled import SchemaValidator, compile_schema
from armory_trio.definitions.contracts._document import Document
from armory_trio.definitions.contracts._explaining import Explainer
from armory_trio.definitions.contracts._fitting import Speaking
from armory_trio.definitions.contracts._library import Unchecked, fits, validator_of
from armory_trio.definitions.contracts._loops import refuse_loops
from tests.requirements import requirement

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}


def to(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def branching(depth: int, word: str) -> Schema:
    """Each level has two ways to the next, so that there are 2**depth to the text in the end."""
    levels: Schema = {f"A{i}": {word: [{"properties": {"x": to(f"A{i + 1}")}}] * 2} for i in range(depth)}
    return {"properties": {"u": to("A0")}, "$defs": {**levels, f"A{depth}": TEXT}}


def nested(depth: int, leaf: object) -> Schema:
    for _ in range(depth):
        leaf = {"x": leaf}
    return {"u": leaf}


def expressions(operations: int, word: str = "oneOf") -> Schema:
    """What a language of expressions is: a text, or an operation on expressions."""

    def operation(name: str) -> Schema:
        arguments = {"type": "array", "items": to("E")}
        return {
            "type": "object",
            "properties": {"args": arguments, "op": {"const": name}},
            "required": ["op", "args"],
            "additionalProperties": False,
        }

    either = [*(operation(f"o{i}") for i in range(operations)), TEXT]
    return {"properties": {"u": to("E")}, "$defs": {"E": {word: either}}}


def expression(depth: int, leaf: object) -> Schema:
    for _ in range(depth):
        leaf = {"op": "o3", "args": ["a", leaf]}
    return {"u": leaf}


def refused(schema: Mapping[str, object], arguments: Mapping[str, object]) -> list[str]:
    with pytest.raises(InvalidArguments) as caught:
        contract_from_schema(schema).validate(arguments)
    return [issue.message for issue in caught.value.issues]


@requirement("contracts.schema.work")
@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_a_slip_deep_inside_an_expression_is_found_and_named(word: str) -> None:
    schema = expressions(20, word)

    contract_from_schema(schema).validate(expression(20, "a"))
    [message] = refused(schema, expression(20, 1))

    assert message == f"`u{'.args[1]' * 20}`: expected object or string, got integer"


@requirement("contracts.schema.work")
@pytest.mark.parametrize(("word", "leaf"), [("anyOf", 1), ("oneOf", "a"), ("oneOf", 1), ("allOf", "a")])
def test_a_value_that_takes_too_many_steps_to_check_is_refused_as_such(word: str, leaf: object) -> None:
    schema = branching(40, word)

    assert refused(schema, nested(40, leaf)) == [
        "the arguments: take too many steps to tell the alternatives of their schema apart; nest them less deeply"
    ]
    with pytest.raises(OutputInvalid, match="the result: take too many steps"):
        output_contract(schema).dump(nested(40, leaf))


@requirement("contracts.schema.work")
def test_what_can_be_checked_in_few_steps_is_checked_whatever_its_schema_could_ask() -> None:
    contract = contract_from_schema(branching(40, "anyOf"))

    assert contract.validate(nested(40, "a")) == nested(40, "a")
    assert contract.validate(nested(3, {})) == nested(3, {})
    assert refused(branching(40, "allOf"), nested(40, 1)) == [f"`u{'.x' * 40}`: expected string, got integer"]


@requirement("contracts.schema.work")
def test_a_long_document_of_blocks_within_blocks_is_checked_to_its_end() -> None:
    kinds = [f"block-{number}" for number in range(8)]

    def block(kind: str) -> Schema:
        content: Schema = {"type": "array", "items": to("Block")}
        return {"required": ["type"], "properties": {"content": content, "type": {"const": kind}}}

    words: Schema = {"required": ["type", "text"], "properties": {"type": {"const": "text"}, "text": TEXT}}
    schema: Schema = {
        "properties": {"page": to("Block")},
        "$defs": {
            **{kind: block(kind) for kind in kinds},
            "text": words,
            "Block": {"oneOf": [to(kind) for kind in (*kinds, "text")]},
        },
    }

    def written(depth: int) -> Schema:
        if not depth:
            return {"type": "text", "text": "and so on"}
        return {"content": [written(depth - 1) for _ in range(16)], "type": kinds[-1]}  # what tells it comes last

    page: Schema = {"page": written(3)}
    assert contract_from_schema(schema).validate(page) == page


@requirement("contracts.schema.work")
def test_a_large_value_may_take_steps_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bounds, "_STEPS", 50)
    contract = contract_from_schema(expressions(5))
    many: Schema = {"u": {"op": "o4", "args": [{"op": "o3", "args": ["a"]}] * 500}}

    assert contract.validate(many) == many
    with pytest.raises(InvalidArguments, match="too many steps"):
        contract_from_schema(branching(20, "allOf")).validate(nested(20, "a"))


@requirement("contracts.schema.work")
@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf"])
def test_what_asks_too_many_schemas_about_one_value_is_refused_at_definition(word: str) -> None:
    levels: Schema = {f"A{i}": {word: [to(f"A{i + 1}")] * 10} for i in range(30)}
    schema: Schema = {"properties": {"u": to("A0")}, "$defs": {**levels, "A30": TEXT}}

    with pytest.raises(DefinitionError, match=r"at \$defs\.A26: it asks more than 10,000 schemas about one value"):
        contract_from_schema(schema)
    with pytest.raises(DefinitionError, match="it asks more than 10,000 schemas about one value"):
        contract_from_schema({**to("A0"), "$defs": {**levels, "A30": {"type": "object"}}})


@requirement("contracts.schema.work")
@pytest.mark.parametrize("word", ["anyOf", "allOf"])
def test_what_leads_through_too_many_schemas_about_one_value_is_refused_at_definition(word: str) -> None:
    levels: Schema = {f"A{i}": {word: [to(f"A{i + 1}")]} for i in range(5_000)}

    with pytest.raises(DefinitionError, match=r"at \$defs\.A4875: it leads through more than 250 schemas"):
        contract_from_schema({"properties": {"u": to("A0")}, "$defs": {**levels, "A5000": TEXT}})


@requirement("contracts.schema.work")
def test_many_patterns_that_turn_back_about_one_value_are_refused_at_definition() -> None:
    def choice(pattern: str) -> Schema:
        return {"properties": {"u": {"anyOf": [{"pattern": f"{pattern}{i}$"} for i in range(150)]}}}

    with pytest.raises(DefinitionError, match=r"at properties\.u: it asks more than 10,000 schemas"):
        contract_from_schema(choice("^(?:(?!b)(a|aa))+"))
    assert contract_from_schema(choice("^(?:a|aa)+")).validate({"u": "aa149"}) == {"u": "aa149"}


@requirement("contracts.schema.work")
def test_of_many_alternatives_a_few_are_described() -> None:
    definitions: Schema = {f"A{i}": {"$anchor": f"a{i}", "type": "object", "title": f"T{i}"} for i in range(3_000)}
    schema: Schema = {"properties": {"u": {"anyOf": [{"$ref": f"#a{i}"} for i in range(3_000)]}}}

    [message] = refused({**schema, "$defs": definitions}, {"u": 1})

    assert message.startswith("`u`: expected T0, T1, ")
    assert message.endswith(" or one of 2960 more, got integer")


@requirement("contracts.schema.work")
def test_those_that_lead_back_to_each_other_in_many_ways_are_refused_and_a_family_is_not() -> None:
    def member(i: int) -> Schema:
        return {"required": ["z"], "allOf": [to(f"N{j}") for j in range(12) if j != i]}

    family: Schema = {f"N{i}": {"allOf": [to("base"), {"required": [f"n{i}"]}]} for i in range(60)}
    base: Schema = {"type": "object", "oneOf": [to(f"N{i}") for i in range(60)]}

    with pytest.raises(DefinitionError, match="it asks more than 10,000 schemas"):
        contract_from_schema({"properties": {"u": to("N0")}, "$defs": {f"N{i}": member(i) for i in range(12)}})
    contract = contract_from_schema({"properties": {"u": to("base")}, "$defs": {**family, "base": base}})
    assert contract.validate({"u": {"n7": 1}}) == {"u": {"n7": 1}}


@requirement("contracts.schema.work")
def test_what_a_document_asks_once_is_never_too_much() -> None:
    choices = [{"const": i, "title": str(i)} for i in range(12_000)]

    assert contract_from_schema({"properties": {"u": {"oneOf": choices}}}).validate({"u": 11_999}) == {"u": 11_999}


@requirement("contracts.schema.work")
@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "string"}},
        {"prefixItems": [TEXT], "items": False},
        {"propertyNames": {"minLength": 9}},
        {"additionalProperties": {"anyOf": [TEXT, {"type": "null"}]}},
        {"patternProperties": {"": TEXT}},
    ],
)
def test_of_many_wrong_members_only_as_many_are_told_as_are_listed(schema: Schema) -> None:
    explainer = Explainer(schema, None, formats=True)
    value: object = [1] * 3_000 if "items" in schema else {str(i): 1 for i in range(3_000)}

    assert len(explainer.level(schema, value) or ()) <= 51
    assert len(explainer.issues(value)) == 50


@requirement("contracts.schema.work")
def test_what_would_be_copied_too_often_to_explain_is_named_as_a_whole() -> None:
    schema: Schema = {"properties": {"u": {"required": [f"n{i}" for i in range(2_000)]}}}

    assert refused(schema, {"u": {str(i): 1 for i in range(2_000)}}) == ["`u`: does not fit its schema"]
    assert len(refused(schema, {"u": {}})) == 50


@requirement("contracts.schema.work")
def test_an_issue_names_a_member_as_it_is_spelled() -> None:
    schema: Schema = {"properties": {"u": {"additionalProperties": {"items": TEXT}}}}

    messages = refused(schema, {"u": {"1": [1], "02": ["", 1], "+3": [1], "x": [1]}})

    assert [message.partition(":")[0] for message in messages] == [
        '`u["1"][0]`',
        '`u["02"][1]`',
        '`u["+3"][0]`',
        "`u.x[0]`",
    ]


@requirement("contracts.schema.work")
def test_defaults_are_checked_by_one_validator(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []

    def noted(root: Schema, subject: str, *, formats: bool, field: str = "input schema") -> SchemaValidator:
        compiled.append(root)
        return compile_schema(root, subject, formats=formats, field=field)

    monkeypatch.setattr(_json_schema, "compile_schema", noted)
    properties: Schema = {f"p{i}": {"type": "integer", "default": i if i % 2 else "x"} for i in range(6)}

    assert contract_from_schema({"properties": properties}).validate({}) == {"p1": 1, "p3": 3, "p5": 5}
    assert len(compiled) == 2


@requirement("contracts.schema.work")
def test_whether_null_is_legal_is_found_out_once_for_each_schema() -> None:
    levels: Schema = {f"A{i}": {"anyOf": [to(f"A{i + 1}")] * 100} for i in range(7)}
    root: Schema = {"$defs": {**levels, "A7": TEXT}}

    assert not Speaking(root).takes_null(to("A0"))


@requirement("contracts.schema.work")
@pytest.mark.parametrize("leaf", [{"v": 1.0}, {"v": 1, "o": None}, {"v": "1"}])
def test_what_speaks_about_members_is_found_out_once_for_all_of_them(
    monkeypatch: pytest.MonkeyPatch, leaf: Schema
) -> None:
    beside, anchors = (Mock(wraps=vars(_fitting)[name]) for name in ("_beside", "_anchors"))
    monkeypatch.setattr(_fitting, "_beside", beside)
    monkeypatch.setattr(_fitting, "_anchors", anchors)
    node: Schema = {
        "$anchor": "node",
        "properties": {"c": {"prefixItems": [TEXT], "items": {"$ref": "#node"}}, "v": {"$ref": "#v"}, "o": TEXT},
    }
    definitions: Schema = {"N": node, "V": {"$anchor": "v", "type": "integer"}}
    contract = contract_from_schema({"properties": {"n": {"$ref": "#node"}}, "$defs": definitions}, lenient=True)

    assert contract.validate({"n": {"c": ["a", *([leaf] * 500)]}}) == {"n": {"c": ["a", *([{"v": 1}] * 500)]}}
    assert anchors.call_count == 1
    assert beside.call_count < 20


@requirement("contracts.schema.work")
def test_a_pattern_that_turns_back_too_often_matches_nothing() -> None:
    schema: Schema = {"properties": {"u": {"pattern": "^(?:(?!b)(a|aa))+$"}}}

    assert contract_from_schema(schema).validate({"u": "a" * 1_000}) == {"u": "a" * 1_000}
    assert refused(schema, {"u": "a" * 24 + "b"}) == ["`u`: takes too many steps to match its pattern; make it shorter"]


# ── the same verdict ─────────────────────────────────────────────────────────────────────────────────────────────────

_KEYS = ("x", "y", "1")
_NAMES = ("A", "B", "C")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "unevaluatedProperties", "propertyNames", "contains", "if", "then")
_BY_KEY = ("properties", "dependentSchemas")
_LIMITS: list[Schema] = [{"minLength": 2}, {"required": ["x"]}, {"type": "object"}, {"minItems": 1}, {"const": 1}]
_PLAIN: list[Schema | bool] = [TEXT, {"type": "integer"}, {"enum": ["a", 1]}, {}, True, False, *_LIMITS]


def any_schema(dice: random.Random, depth: int) -> Schema | bool:
    if depth == 0 or dice.random() < 0.15:
        return copy.deepcopy(dice.choice(_PLAIN))
    schema: Schema = {}
    for word in dice.sample((*_LISTS, *_SINGLE, *_BY_KEY, "$ref", "$dynamicRef"), dice.randint(1, 2)):
        if word in _LISTS:
            schema[word] = [any_schema(dice, depth - 1) for _ in range(dice.randint(1, 3))]
        elif word in _SINGLE:
            schema[word] = any_schema(dice, depth - 1)
        elif word in _BY_KEY:
            schema[word] = {dice.choice(_KEYS): any_schema(dice, depth - 1) for _ in range(2)}
        else:
            name = dice.choice(_NAMES)
            schema[word] = dice.choice((f"#/$defs/{name}", f"#{name}")) if word == "$ref" else f"#{name}"
    return schema


def any_document(dice: random.Random) -> Schema:
    definitions = {name: {"$dynamicAnchor": name, "allOf": [any_schema(dice, 3)]} for name in _NAMES}
    return {"properties": {"u": any_schema(dice, 2), "v": to("A")}, "$defs": definitions}


def any_value(dice: random.Random, depth: int) -> object:
    match dice.randrange(3) if depth else 0:
        case 0:
            return dice.choice(("a", "abc", 1, 2, None))
        case 1:
            return [any_value(dice, depth - 1) for _ in range(dice.randrange(3))]
        case _:
            return {dice.choice(_KEYS): any_value(dice, depth - 1) for _ in range(dice.randrange(4))}


@requirement("contracts.schema.work")
@given(st.integers(min_value=0, max_value=2**32))
def test_counting_the_work_never_changes_what_is_legal(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311  # no secret
    root = any_document(dice)
    plain = validator_of(root, formats=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_bounds, "_UNROLLED", 0)
        validator = SchemaValidator(Document(copy.deepcopy(root)), plain, formats=True)
        for _ in range(20):
            value: Schema = {"u": any_value(dice, 3), "v": any_value(dice, 3)}
            try:
                legal = fits(plain, value)
            except Unchecked:
                continue  # the library is wrong itself
            assert validator.is_valid(value) is legal


@requirement("contracts.schema.work")
@pytest.mark.parametrize("neighbours", [{}, {"type": "string"}, {"properties": {"next": {"type": "string"}}}])
def test_in_an_old_draft_a_reference_has_no_neighbours_also_where_work_is_counted(neighbours: Schema) -> None:
    node: Schema = {"type": "object", "properties": {"next": {"$ref": "#/definitions/N", **neighbours}}}
    schema: Schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/N",
        "definitions": {"N": node},
    }

    validator = compile_schema(schema, "input", formats=True)

    assert validator.is_valid({"next": {"next": {}}})
    assert not validator.is_valid({"next": {"next": "text"}})
    assert [issue.path for issue in validator.issues({"next": {"next": "text"}})] == ["next.next"]


@requirement("contracts.schema.work")
def test_a_keyword_of_the_same_name_as_the_counter_stays_one_that_says_nothing() -> None:
    tree: Schema = {"type": "object", "steps": 5, "below": 7, "properties": {"next": to("T")}}
    schema: Schema = {"properties": {"u": to("T")}, "$defs": {"T": tree}}

    assert contract_from_schema(schema).validate({"u": {"next": {}}}) == {"u": {"next": {}}}
    assert refused(schema, {"u": {"next": 1}}) == ["`u.next`: expected object, got integer"]


# ── where references lead ────────────────────────────────────────────────────────────────────────────────────────────

_IDS = ("http://example.com/a", "b", "c/", "../d", "http://example.com/", "urn:example:e")


def document_of_constants(dice: random.Random) -> Schema:
    """A document whose schemas each take one number, in resources inside of each other, and references to them."""
    numbers = iter(range(1_000))

    def resource(depth: int, path: str) -> Schema:
        own: Schema = {"const": next(numbers)}
        if dice.random() < 0.5:
            own["$id"] = dice.choice(_IDS[:5]) if path else "http://example.com/root"
        if dice.random() < 0.5:
            own["$anchor"] = dice.choice(("p", "q"))
        if depth:
            own["$defs"] = {key: resource(depth - 1, f"{path}/$defs/{key}") for key in ("k", "l~/%")}
        return own

    root = resource(2, "")
    del root["const"]
    address = dice.choice(("", *_IDS, "http://example.com/root", "json-schema:///"))
    fragment = dice.choice(("", "#", "#p", "#q", "#/$defs/k", "#/$defs/l~0~1%25", "#/$defs/k/$defs/l~0~1%25"))
    place = dice.choice(("properties", "inner"))
    asking: Schema = {"$ref": f"{address}{fragment}"}
    if place == "inner":
        cast("dict[str, Schema]", root["$defs"])["k"]["properties"] = {"u": asking}
        return {**root, "properties": {"u": {"$ref": "#/$defs/k/properties/u"}}}
    return {**root, "properties": {"u": asking}}


@requirement("contracts.schema.loops")
@given(st.integers(min_value=0, max_value=2**32))
def test_a_reference_leads_where_the_validator_goes(seed: int) -> None:
    root = document_of_constants(random.Random(seed))  # noqa: S311  # no secret
    try:
        validator = validator_of(root, formats=False)
    except ValueError:
        return  # it leads nowhere
    document = Document(root)
    schema = cast("Schema", cast("dict[str, object]", root["properties"])["u"])
    meant: list[Mapping[str, object]] = [schema]
    while any("$ref" in one for one in meant):
        meant = [inner for one in meant for inner in (document.targets(one, "$ref") if "$ref" in one else [one])]
    taken = [number for number in range(7) if validator.is_valid({"u": number})]
    assert meant
    assert any(one is root for one in meant) or set(taken) <= {one["const"] for one in meant}


@requirement("contracts.schema.legal")
def test_names_at_which_the_library_gives_up_are_refused_as_illegal() -> None:
    outer: Schema = {"$id": "http://example.com/a", "properties": {"u": {"$ref": "http://example.com/a#p"}}}
    schema: Schema = {"$anchor": "p", "properties": {"u": {"$ref": "#/$defs/k/properties/u"}}, "$defs": {"k": outer}}

    with pytest.raises(DefinitionError):
        contract_from_schema(schema)


@requirement("contracts.schema.legal")
def test_arguments_over_which_the_library_panics_are_refused_as_such() -> None:
    definitions: Schema = {
        "A": {"$ref": "#/$defs/C", "unevaluatedItems": False, "$anchor": "aA", "$dynamicAnchor": "dA"},
        "B": {"unevaluatedProperties": False, "$dynamicRef": "#dA", "$anchor": "aB", "$dynamicAnchor": "dB"},
        "C": {
            "if": {"$ref": "#aB"},
            "then": {"dependentSchemas": {"1": {"required": ["x"]}}},
            "else": {"patternProperties": {"^[xy]$": {"additionalProperties": {"enum": [1]}, "$ref": "#aC"}}},
            "$anchor": "aC",
            "$dynamicAnchor": "dC",
        },
    }
    schema: Schema = {"properties": {"v": to("A")}, "$defs": definitions}

    assert refused(schema, {"v": {"x": 1, "1": "abc"}}) == [
        "the arguments: can't be checked by their schema, which refers to itself in too many ways"
    ]


@requirement("contracts.schema.loops")
@pytest.mark.parametrize("reference", ["http://example.com/u", "u", "/u", "http://example.com/u#", "#whole"])
def test_a_loop_through_a_name_is_seen(reference: str) -> None:
    loop: Schema = {"$id": "http://example.com/u", "$anchor": "whole", "anyOf": [TEXT, {"$ref": reference}]}

    with pytest.raises(DefinitionError, match=r"at \$defs\.U.* is its own alternative"):
        contract_from_schema({"properties": {"u": to("U")}, "$defs": {"U": loop}})


@requirement("contracts.schema.loops")
def test_what_is_its_own_condition_is_refused() -> None:
    loop: Schema = {"type": "string", "if": to("U"), "then": {"minLength": 3}}

    with pytest.raises(DefinitionError, match=r"at \$defs\.U.* is its own alternative"):
        contract_from_schema({"properties": {"u": to("U")}, "$defs": {"U": loop}})


@requirement("contracts.schema.loops")
def test_a_part_that_only_repeats_the_whole_is_refused_since_the_validator_takes_anything_for_it() -> None:
    definitions: Schema = {
        "pet": {"type": "object", "oneOf": [to("cat"), to("dog")]},
        "cat": {"allOf": [to("pet")]},
        "dog": {"allOf": [to("pet"), {"required": ["bark"]}]},
    }
    schema: Schema = {"properties": {"u": to("pet")}, "$defs": definitions}

    with pytest.raises(DefinitionError, match=r"at \$defs\.\w+: it is its own alternative.*that only repeat it"):
        contract_from_schema(schema)
    assert not jsonschema_rs.validator_for(schema).is_valid({"u": {"bark": 1}})
    assert jsonschema_rs.validator_for(schema).is_valid({"u": {"anything": 1}})


@requirement("contracts.schema.loops")
def test_thousands_of_references_are_each_looked_at_a_few_times() -> None:
    looked_at: list[object] = []

    class Counting(Document):
        def beside(self, schema: Mapping[str, object]) -> list[Mapping[str, object]]:
            looked_at.append(schema)
            return super().beside(schema)

    chain: Schema = {f"U{i}": {"anyOf": [to(f"U{i + 1}"), TEXT]} for i in range(2_000)}
    said: Schema = {f"S{i}": {"type": "string", "anyOf": [to(f"U{i}")]} for i in range(2_000)}
    refuse_loops(Counting({"$defs": {**chain, **said, "U2000": TEXT}}), "input", "input schema")

    assert len(looked_at) < 8 * 4_000
