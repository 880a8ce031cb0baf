"""What several keywords say of one place: unions inside of ``allOf``, nulls behind references, and a whole loss report."""

from __future__ import annotations

from typing import Final, cast

import jsonschema_rs
import pytest

from armory_trio import define_tool
from armory_trio.providers import compile_tools
from armory_trio.providers._codings import members_of
from armory_trio.toolbox import Manifest, OfferedTool, ProviderName, Strictness
from tests.requirements import requirement

from ._legality import CHECKS, as_json_schema, plain

Json = dict[str, object]

TEXT: Final[Json] = {"type": "string"}
A: Final[Json] = {"type": "object", "properties": {"k": {"const": "a"}, "x": TEXT}, "required": ["k"]}
B: Final[Json] = {"type": "object", "properties": {"k": {"const": "b"}, "y": TEXT}, "required": ["k"]}
DIALECTS: Final[list[tuple[ProviderName, Strictness, str]]] = [
    ("openai-chat", True, "openai-strict"),
    ("openai-chat", False, "openai"),
    ("anthropic", True, "anthropic-strict"),
    ("anthropic", False, "anthropic"),
    ("gemini", False, "gemini"),
    ("gemini-openapi", False, "gemini-classic"),
    ("common", False, "common"),
]
every_dialect = pytest.mark.parametrize(
    ("provider", "strict", "rules"), DIALECTS, ids=[f"{rules}" for _, _, rules in DIALECTS]
)


def execute(arguments: Json) -> object:
    return arguments


def offered(schema: Json, provider: ProviderName, strict: Strictness) -> Manifest:
    made = define_tool(execute=execute, name="t", description="d", input=schema)
    return compile_tools([made], provider, strict=strict)


def only(manifest: Manifest) -> OfferedTool:
    (tool,) = manifest.offered
    return tool


def closed(properties: Json, **more: object) -> Json:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def lost(tool: OfferedTool) -> set[tuple[str, str]]:
    return {(loss.keyword, loss.action) for loss in tool.losses}


@requirement("compiling.any-schema", "compiling.legal", "compiling.way-back")
@every_dialect
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_union_inside_of_all_of_is_told_and_not_read_for_ever(
    provider: ProviderName, strict: Strictness, rules: str, keyword: str
) -> None:
    cases: list[tuple[Json, Json]] = [
        ({"type": "object", "allOf": [{keyword: [A, B]}]}, {"k": "b", "y": "z"}),
        (closed({"p": {"allOf": [{keyword: [A, B]}]}}, required=["p"]), {"p": {"k": "b", "y": "z"}}),
    ]
    for schema, arguments in cases:
        manifest = offered(schema, provider, strict)
        tool = only(manifest)

        CHECKS[rules](plain(tool.schema))
        told = str(tool.schema)
        assert "'x'" in told
        assert "'y'" in told
        assert not [loss for loss in tool.losses if "too large" in loss.detail]
        assert manifest.read("t", manifest.write("t", arguments)) == arguments


@requirement("compiling.way-back", "compiling.losses")
def test_null_behind_a_reference_that_stays_one_is_not_taken_for_left_out() -> None:
    node = closed({"next": {"$ref": "#/$defs/N"}, "v": TEXT}, type=["object", "null"])
    tree = closed({"n": {"$ref": "#/$defs/N"}}, required=["n"], **{"$defs": {"N": node}})
    said = only(offered(tree, "openai-chat", True))
    assert ("required", "narrowed") in lost(said)

    counted = closed({"n": {"$ref": "#/$defs/N"}}, required=["n"], **{"$defs": {"N": {**node, "minProperties": 0}}})
    manifest = offered(counted, "openai-chat", True)
    assert ("required", "encoded") in lost(only(manifest))
    CHECKS["openai-strict"](plain(only(manifest).schema))
    cases: list[Json] = [{"n": {}}, {"n": {"next": None}}, {"n": None}, {"n": {"next": {"next": None, "v": "x"}}}]
    for arguments in cases:
        assert manifest.read("t", manifest.write("t", arguments)) == arguments


@requirement("compiling.way-back", "compiling.losses")
def test_null_in_a_union_behind_a_reference_is_legal_null() -> None:
    node = {"anyOf": [closed({"next": {"$ref": "#/$defs/N"}}, maxProperties=1), {"type": "null"}]}
    tree = closed({"n": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": node}})
    manifest = offered(tree, "openai-chat", True)

    cases: list[Json] = [{"n": {}}, {"n": {"next": None}}, {"n": {"next": {"next": None}}}]
    for arguments in cases:
        assert manifest.read("t", manifest.write("t", arguments)) == arguments


@requirement("compiling.way-back")
def test_a_reference_as_the_only_alternative_is_no_recursion() -> None:
    schema = closed(
        {"p": {"anyOf": [{"$ref": "#/$defs/O"}]}},
        required=["p"],
        **{"$defs": {"O": {"anyOf": [TEXT, {"type": "integer"}]}}},
    )

    tool = only(offered(schema, "openai-chat", True))

    assert "$ref" not in str(tool.schema)
    assert tool.losses == ()


@requirement("compiling.way-back")
@pytest.mark.parametrize("items", [[{}, None], [{}, "a"], [{"x": 1}, None, "z"]])
def test_a_fixed_item_that_is_null_is_there(items: list[object]) -> None:
    pair: Json = {
        "type": "array",
        "prefixItems": [{"type": "object"}, {"type": ["string", "null"]}, TEXT],
        "items": False,
        "minItems": 2,
    }
    manifest = offered(closed({"p": pair}, required=["p"]), "openai-chat", True)

    assert manifest.read("t", manifest.write("t", {"p": items})) == {"p": items}


@requirement("compiling.way-back")
def test_a_tuple_with_too_few_items_is_not_written_as_one() -> None:
    pair: Json = {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False, "minItems": 2}
    manifest = offered(closed({"p": pair}, required=["p"]), "openai-chat", True)

    assert manifest.write("t", {"p": ["x"]}) == {"p": ["x"]}
    assert manifest.write("t", {"p": ["x", 1]}) != {"p": ["x", 1]}


@requirement("compiling.way-back")
@every_dialect
def test_null_stays_legal_beside_an_object_that_nothing_fits(
    provider: ProviderName, strict: Strictness, rules: str
) -> None:
    impossible = closed({"x": TEXT}, type=["object", "null"], required=["missing"])
    manifest = offered(closed({"p": impossible, "q": TEXT}, required=["p"]), provider, strict)

    CHECKS[rules](plain(only(manifest).schema))
    assert "p" in members_of(plain(only(manifest).schema)["properties"])
    assert manifest.read("t", manifest.write("t", {"p": None})) == {"p": None}


@requirement("compiling.any-schema", "compiling.legal")
@every_dialect
def test_a_schema_that_refers_to_itself_in_its_own_place_says_nothing_by_it(
    provider: ProviderName, strict: Strictness, rules: str
) -> None:
    itself: Json = {"$ref": "#/$defs/L", "minLength": 0}  # one that says no more than that is refused at definition
    schema = closed({"a": {"$ref": "#/$defs/L"}}, required=["a"], **{"$ref": "#", "$defs": {"L": itself}})
    tool = only(offered(schema, provider, strict))

    CHECKS[rules](plain(tool.schema))
    definitions = members_of(plain(tool.schema).get("$defs"))
    if rules not in ("openai", "anthropic"):  # the others copy what stands in $defs
        assert not [name for name, node in definitions.items() if node == {"$ref": f"#/$defs/{name}"}]


UNTOLD: Final[list[tuple[str, Json, ProviderName, tuple[str, str]]]] = [
    (
        "patterns",
        {"type": "object", "additionalProperties": False, "patternProperties": {"^a": TEXT, "b$": {"type": "number"}}},
        "gemini",
        ("patternProperties", "widened"),
    ),
    (
        "a closed object",
        {"type": "object", "additionalProperties": False},
        "gemini-openapi",
        ("additionalProperties", "dropped"),
    ),
    (
        "a union that any value fits",
        closed({"p": {"oneOf": [{}, {"type": "integer"}]}}),
        "gemini",
        ("oneOf", "widened"),
    ),
    (
        "null that is legal twice",
        closed({"p": {"oneOf": [{"type": ["string", "null"]}, {"type": "null"}]}}),
        "gemini",
        ("oneOf", "widened"),
    ),
    (
        "choices at the root",
        closed({"a": TEXT}, **{"$ref": "#/$defs/E", "$defs": {"E": {"enum": [{"a": "x"}]}}}),
        "openai-chat",
        ("enum", "dropped"),
    ),
    (
        "what holds beside choices",
        closed({"p": {"enum": [{"a": 1}, {"b": 1}], "required": ["a"]}}),
        "gemini",
        ("properties", "dropped"),
    ),
    (
        "a limit beside choices",
        closed({"p": {"enum": [1, 5], "minimum": 2}}),
        "gemini",
        ("minimum", "dropped"),
    ),
    (
        "members that a condition at the root speaks of",
        {
            "type": "object",
            "properties": {"c": TEXT},
            "if": {"required": ["c"]},
            "then": {"properties": {"d": {"type": "integer"}}},
            "unevaluatedProperties": {"type": "boolean"},
        },
        "openai-chat",
        ("unevaluatedProperties", "dropped"),
    ),
]


@requirement("compiling.losses")
@pytest.mark.parametrize(("schema", "provider", "loss"), [row[1:] for row in UNTOLD], ids=[row[0] for row in UNTOLD])
def test_what_the_dialect_says_otherwise_stands_in_the_report(
    schema: Json, provider: ProviderName, loss: tuple[str, str]
) -> None:
    assert loss in lost(only(offered(schema, provider, False)))


@requirement("compiling.losses", "compiling.way-back")
def test_a_condition_that_is_dropped_at_the_root_forbids_no_member_that_it_allowed() -> None:
    schema = UNTOLD[-1][1]

    assert "unevaluatedProperties" not in only(offered(schema, "openai-chat", False)).schema


@requirement("compiling.losses")
@pytest.mark.parametrize("word", ["additionalProperties", "unevaluatedProperties"])
def test_members_that_can_only_be_null_are_not_told_as_any_members(word: str) -> None:
    tool = only(offered({"type": "object", word: {"type": "null"}}, "gemini", False))

    assert plain(tool.schema)["additionalProperties"] == {"type": "null"}


@requirement("compiling.losses")
def test_an_object_that_one_of_two_schemas_closes_is_closed() -> None:
    schema: Json = {
        "type": "object",
        "additionalProperties": TEXT,
        "allOf": [{"type": "object", "properties": {"a": TEXT}, "additionalProperties": False}],
    }

    assert plain(only(offered(schema, "gemini", False)).schema)["additionalProperties"] is False


@requirement("compiling.way-back")
def test_null_among_the_choices_behind_a_reference_is_legal_null() -> None:
    inner = closed({"next": {"$ref": "#/$defs/N"}}, maxProperties=1)
    node = {"anyOf": [inner, {"enum": [None, "end"]}]}
    manifest = offered(closed({"n": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": node}}), "openai-chat", True)

    for last in (None, "end"):
        arguments = {"n": {"next": {"next": last}}}
        assert manifest.read("t", manifest.write("t", arguments)) == arguments


@requirement("compiling.way-back")
@pytest.mark.parametrize("written", [{}, {"option_1": {}, "option_2": {}}, {"option_9": {}}, "option_1", ["option_1"]])
def test_what_is_no_one_of_the_named_alternatives_stays_as_it_is(written: object) -> None:
    either = {"anyOf": [{"type": "array"}, {"type": "array", "items": TEXT}]}
    manifest = offered(closed({"p": either}, required=["p"]), "openai-chat", True)
    assert "option_2" in str(only(manifest).schema)

    assert manifest.read("t", {"p": written}) == {"p": written}


@requirement("compiling.way-back", "compiling.losses")
def test_items_that_every_array_gets_do_not_hide_what_nothing_else_may_look_at() -> None:
    lists: Json = {"type": "array", "unevaluatedItems": False}
    schema = closed({"c": {"oneOf": [{"const": [""]}, lists]}})
    tool = only(offered(schema, "openai-chat", strict=False))
    told = plain(tool.schema)
    assert isinstance(told, dict)

    legal = jsonschema_rs.validator_for(told).is_valid

    assert [legal({"c": [""]}), legal({"c": []}), legal({"c": ["a"]})] == [True, True, False]
    assert not [loss for loss in tool.losses if loss.action == "narrowed"]


@requirement("compiling.losses")
@pytest.mark.parametrize(
    "inner",
    [
        {"type": "array", "contains": {"const": 1}, "unevaluatedItems": False},
        {"allOf": [{"type": "array"}], "unevaluatedItems": False},
    ],
    ids=["beside a word that looks", "from outside"],
)
def test_items_that_hide_something_from_unevaluated_items_are_told_as_what_may_refuse_too_much(inner: Json) -> None:
    tool = only(offered(closed({"c": {"oneOf": [{"const": [""]}, inner]}}), "openai-chat", strict=False))

    assert ("items", "narrowed") in lost(tool)
    assert ("items", "narrowed") not in lost(
        only(offered(closed({"c": {"type": "array"}}), "openai-chat", strict=False))
    )


@requirement("compiling.way-back")
@every_dialect
@pytest.mark.parametrize(
    ("limit", "legal", "other"),
    [
        ({"type": "string", "pattern": "^a"}, "ab", ""),
        ({"type": "string", "format": "date"}, "2026-12-01", "soon"),
        ({"type": "integer", "multipleOf": 3}, 9, 10),
        ({"type": "number", "exclusiveMinimum": 0}, 1, 0),
    ],
    ids=["pattern", "format", "step", "bound"],
)
def test_an_alternative_is_chosen_by_its_limits_too(
    provider: ProviderName, strict: Strictness, rules: str, limit: Json, legal: object, other: object
) -> None:
    narrow, wide = closed({"a": limit}, required=["a"]), {"type": "object"}
    manifest = offered(closed({"c": {"anyOf": [narrow, wide, TEXT]}}, required=["c"]), provider, strict)

    for value in (legal, other):
        sent = manifest.write("t", {"c": {"a": value}})

        assert manifest.read("t", sent) == {"c": {"a": value}}
        told = plain(only(manifest).schema)
        wire = cast("Json", as_json_schema(told) if rules.startswith("gemini") else told)
        assert jsonschema_rs.validator_for(wire, validate_formats=True).is_valid(sent)


AGAIN: Final[Json] = {"$ref": "#/$defs/U"}
AND_MORE: Final[Json] = {"allOf": [AGAIN, {"minLength": 0}]}
"""What repeats the whole has to say something more; else it is refused at definition."""

COUNTS: Final[Json] = {"type": "object", "additionalProperties": {"type": "integer"}}
INSIDE: Final = closed({"u": AGAIN}, required=["u"])


@requirement("compiling.way-back")
@every_dialect
@pytest.mark.parametrize(
    ("place", "again", "values"),
    [
        (AGAIN, {"anyOf": [COUNTS, AND_MORE, TEXT]}, ["x", {"a": 1}, ["a", 1]]),
        (INSIDE, {"anyOf": [AND_MORE, {"type": "integer"}, TEXT]}, [{"u": "x"}, {"u": 5}, ["a", 1]]),
    ],
    ids=["written otherwise", "written as it is"],
)
def test_an_alternative_that_is_all_the_alternatives_once_more_is_passed_over(
    provider: ProviderName, strict: Strictness, rules: str, place: Json, again: Json, values: list[object]
) -> None:
    pair: Json = {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False, "minItems": 2}
    schema = closed({"c": {"anyOf": [place, pair]}}, required=["c"], **{"$defs": {"U": again}})
    manifest = offered(schema, provider, strict)
    told = plain(only(manifest).schema)
    wire = jsonschema_rs.validator_for(cast("Json", as_json_schema(told) if rules.startswith("gemini") else told))

    for value in values:
        sent = manifest.write("t", {"c": value})

        assert wire.is_valid(sent)
        assert manifest.read("t", sent) == {"c": value}


@requirement("compiling.way-back")
@every_dialect
def test_an_alternative_whose_mark_may_be_null_is_found_by_what_else_it_has(
    provider: ProviderName, strict: Strictness, rules: str
) -> None:
    pair: Json = {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False, "minItems": 2}
    first = closed({"k": {"enum": ["a", None]}, "x": pair}, required=["k", "x"])
    second = closed({"k": {"enum": ["b", None]}, "y": pair}, required=["k", "y"])
    alike = {**second, "properties": {"x": pair, "k": {"enum": ["b", None]}}, "required": ["k", "x"]}
    for other in (second, alike):
        manifest = offered(closed({"c": {"anyOf": [first, other]}}, required=["c"]), provider, strict)
        told = plain(only(manifest).schema)
        wire = jsonschema_rs.validator_for(cast("Json", as_json_schema(told) if rules.startswith("gemini") else told))

        for value in ({"k": None, "x": ["s", 1]}, {"k": "a", "x": ["s", 1]}):
            sent = manifest.write("t", {"c": value})

            assert wire.is_valid(sent)
            assert manifest.read("t", sent) == {"c": value}


@requirement("compiling.legal")
@every_dialect
def test_a_reference_that_is_the_only_alternative_left_keeps_the_words_beside_it(
    provider: ProviderName, strict: Strictness, rules: str
) -> None:
    each: Json = {"anyOf": [{"$ref": "#/$defs/N"}, False], "description": "the next"}
    node = closed({"n": {"type": "array", "items": each}}, required=["n"])
    tool = only(offered(closed({"n": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": node}}), provider, strict))

    CHECKS[rules](plain(tool.schema))
    assert "the next" in str(plain(tool.schema))
