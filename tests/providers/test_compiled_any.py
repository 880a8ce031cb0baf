"""Any JSON Schema, in every dialect: it compiles, is legal there, and what is legal here makes the round trip."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Final, cast

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from armory_trio import DefinitionError, ToolDefinition, ToolId
from armory_trio.definitions import InputContract, InvalidArguments, canonical_text, thaw_json
from armory_trio.definitions.contracts import contract_from_schema
from armory_trio.providers._codings import Coding, Misfit, decoded, encoded
from armory_trio.providers._dialects import (
    ANTHROPIC,
    ANTHROPIC_STRICT,
    COMMON,
    GEMINI,
    GEMINI_CLASSIC,
    OPENAI,
    OPENAI_STRICT,
    Ceiling,
    Rules,
)
from armory_trio.providers._loss import NotSayable
from armory_trio.providers._roots import written
from armory_trio.providers._strictness import require_within
from armory_trio.providers._verbatim import copied
from armory_trio.toolbox import Loss
from tests.requirements import requirement

from ._legality import CHECKS, as_json_schema
from ._schemas import Json, anything, instance, schemas

DIALECTS: Final = (OPENAI, OPENAI_STRICT, ANTHROPIC, ANTHROPIC_STRICT, GEMINI, GEMINI_CLASSIC, COMMON)
objects = st.dictionaries(st.sampled_from(("a", "b", "input", "user_name", "type")), anything)
KEYWORDS: Final = (
    *("type", "$ref", "enum", "properties", "required", "format", "items", "anyOf", "not", "const", "default"),
    *("description", "additionalProperties"),
)
slow_to_draw = settings(
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.large_base_example,
        HealthCheck.data_too_large,
    ]
)


def same(one: object, other: object) -> bool:
    return canonical_text(one, mode="exact") == canonical_text(other, mode="exact")


def compiled(contract: InputContract, rules: Rules) -> tuple[Json, Coding | None, list[Loss]]:
    """What the compiler makes of it, and the proof that it left its input alone."""
    plain = cast("Json", thaw_json(contract.schema))
    made = (copied if rules.whole else written)(plain, rules)
    assert same(plain, contract.schema)
    return made


def is_small(schema: Json, rules: Rules) -> bool:
    try:
        require_within(schema, rules.ceiling or Ceiling())
    except NotSayable:
        return False
    return True


@st.composite
def contracts(draw: st.DrawFn) -> tuple[InputContract, list[Json]]:
    """A contract, and arguments that it takes."""
    schema = draw(schemas())
    try:
        contract = contract_from_schema(schema)
    except DefinitionError:  # such as a root that closes itself in an older draft's way
        assume(False)  # that is how it is called
        raise
    validator = jsonschema_rs.validator_for(cast("Json", thaw_json(contract.schema)), validate_formats=True)
    drawn = [instance(draw, schema, schema) for _ in range(3)]
    return contract, [cast("Json", each) for each in drawn if isinstance(each, dict) and validator.is_valid(each)]


@requirement("compiling.any-schema", "compiling.legal")
@slow_to_draw
@given(given_=contracts())
def test_what_is_written_is_legal_by_the_providers_rules(given_: tuple[InputContract, list[Json]]) -> None:
    for rules in DIALECTS:
        schema, _, _ = compiled(given_[0], rules)
        if is_small(schema, rules):
            CHECKS[rules.name](schema)


@requirement("compiling.way-back")
@slow_to_draw
@given(given_=contracts())
def test_what_is_legal_can_be_written_and_comes_back_unchanged(given_: tuple[InputContract, list[Json]]) -> None:
    contract, legal = given_
    for rules in DIALECTS:
        schema, coding, losses = compiled(contract, rules)
        if any(loss.action == "narrowed" for loss in losses):
            continue
        wire = jsonschema_rs.validator_for(
            cast("Json", as_json_schema(schema)) if rules.upper else schema, validate_formats=True
        )
        for arguments in legal:
            sent = encoded(coding, copy.deepcopy(arguments))
            assert wire.is_valid(sent), json.dumps([rules.name, schema, sent])
            meant = decoded(coding, sent)
            assert same(meant, arguments)
            contract.validate(cast("Json", meant))


@requirement("compiling.way-back")
@slow_to_draw
@given(given_=contracts())
def test_what_comes_back_of_a_narrowed_contract_is_legal_all_the_same(
    given_: tuple[InputContract, list[Json]],
) -> None:
    contract, legal = given_
    _, coding, _ = compiled(contract, OPENAI_STRICT)

    for arguments in legal:
        try:
            sent = encoded(coding, copy.deepcopy(arguments))
        except Misfit:
            continue
        meant = decoded(coding, sent)
        contract.validate(cast("Json", meant))
        assert same(without_added_nulls(meant, arguments), arguments)


def without_added_nulls(value: object, original: object) -> object:
    """*value* without the members that are null there and missing in *original*: by default they are null."""
    plain: object = value
    if isinstance(value, list) and isinstance(original, list):
        pairs = zip(cast("list[object]", value), cast("list[object]", original), strict=True)
        return [without_added_nulls(each, other) for each, other in pairs]
    if not isinstance(value, dict) or not isinstance(original, dict):
        return plain
    members, others = cast("Json", value), cast("Json", original)
    return {
        name: without_added_nulls(each, others.get(name))
        for name, each in members.items()
        if each is not None or name in others
    }


@requirement("compiling.reading-is-total")
@slow_to_draw
@given(contract=contracts(), arguments=objects)
def test_anything_can_be_read(contract: tuple[InputContract, list[Json]], arguments: Json) -> None:
    before = copy.deepcopy(arguments)
    for rules in DIALECTS:
        _, coding, _ = compiled(contract[0], rules)

        meant = decoded(coding, arguments)

        assert same(arguments, before)
        with contextlib.suppress(InvalidArguments):
            contract[0].validate(cast("Json", meant))


words = st.sampled_from(
    [
        *("type", "$ref", "enum", "const", "properties", "required", "items", "prefixItems", "additionalProperties"),
        *("unevaluatedProperties", "patternProperties", "anyOf", "oneOf", "allOf", "not", "if", "then", "minimum"),
        *("exclusiveMinimum", "minLength", "pattern", "format", "minItems", "maxItems", "$defs", "$id", "$anchor"),
        *("additionalItems", "dependentRequired", "description", "title", "default", "contains", "a", "b"),
    ]
)
nonsense = st.recursive(
    st.sampled_from(
        ["object", "array", "string", "null", "#", "#/$defs/a", "#a", "", -1, 0, 2, 1.5, True, False, None]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@requirement("compiling.any-schema", "compiling.legal")
@slow_to_draw
@given(schema=st.dictionaries(words, nonsense, max_size=6))
def test_a_schema_that_nobody_checked_compiles_or_is_set_aside(schema: Json) -> None:
    for rules in DIALECTS:
        try:
            made, coding, _ = (copied if rules.whole else written)(schema, rules)
        except NotSayable as answer:
            assert answer.reason
            continue
        if not rules.whole and is_small(made, rules):
            CHECKS[rules.name](made)
        decoded(coding, cast("Json", {"a": 1, "b": [{}]}))


@requirement("compiling.strict", "compiling.legal")
@pytest.mark.parametrize("rules", [OPENAI_STRICT, ANTHROPIC_STRICT], ids=["openai", "anthropic"])
@slow_to_draw
@given(given_=contracts())
def test_strict_without_another_form_is_legal_or_says_why_not(
    rules: Rules, given_: tuple[InputContract, list[Json]]
) -> None:
    plain = msgspec.structs.replace(rules, inventive=False)
    try:
        schema, _, losses = compiled(given_[0], plain)
        if plain.ceiling is not None:
            require_within(schema, plain.ceiling)
    except NotSayable as answer:
        assert answer.pointer.startswith("#")
        assert answer.reason
        return
    CHECKS[rules.name](schema)
    assert all(loss.keyword in ("enum", "type") for loss in losses if loss.action == "encoded")


@requirement("compiling.keyword-names")
@pytest.mark.parametrize("rules", DIALECTS, ids=[rules.name for rules in DIALECTS])
@slow_to_draw
@given(names=st.lists(st.sampled_from(KEYWORDS), min_size=1, unique=True))
def test_members_that_are_called_like_keywords_survive(rules: Rules, names: list[str]) -> None:
    members = {name: {"type": "string", "description": name} for name in names}
    nested = {"type": "object", "properties": members, "required": names, "additionalProperties": False}
    definition = ToolDefinition(
        ToolId("t"),
        "",
        {
            "type": "object",
            "properties": {**members, "nested": nested},
            "required": [*names, "nested"],
            "additionalProperties": False,
        },
    )
    schema, coding, _ = (copied if rules.whole else written)(cast("Json", thaw_json(definition.input_schema)), rules)
    arguments = {**dict.fromkeys(names, "x"), "nested": dict.fromkeys(names, "y")}

    sent = cast("Json", encoded(coding, arguments))

    told = cast("dict[str, Json]", schema["properties"])
    assert sorted(str(told[name].get("description")) for name in sent if name != "nested") == sorted(names)
    inside = cast("dict[str, Json]", told["nested"]["properties"])
    assert sorted(str(inside[name].get("description")) for name in cast("Json", sent["nested"])) == sorted(names)
    assert decoded(coding, sent) == arguments
