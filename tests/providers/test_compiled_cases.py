"""What people report of other compilers, and what each of our dialects makes of it."""

from __future__ import annotations

import copy
import json
from typing import Annotated, Final, Literal, cast

import jsonschema_rs
import pytest

from armory_trio import ToolDefinition, ToolId, define_tool, tool
from armory_trio.definitions import InvalidArguments
from armory_trio.providers import compile_tools
from armory_trio.toolbox import Manifest, ProviderName, SetAside, Strictness
from tests.requirements import requirement

from ._legality import as_json_schema, plain, schemas_in

Json = dict[str, object]
Offers = tuple[ProviderName, Strictness]

EVERY: Final[tuple[Offers, ...]] = (
    *(("openai-chat", strict) for strict in (True, False, "auto")),
    *(("anthropic", strict) for strict in (True, False)),
    ("gemini", False),
    ("gemini-openapi", False),
    ("common", False),
)
everywhere = pytest.mark.parametrize("offers", EVERY, ids=[f"{name}-{strict}" for name, strict in EVERY])

TREE: Final[Json] = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "required": ["root"],
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"value": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            "required": ["value"],
            "additionalProperties": False,
        }
    },
}


def execute(arguments: dict[str, object]) -> object:
    return arguments


def offered(schema: Json, offers: Offers) -> Manifest:
    before = copy.deepcopy(schema)
    manifest = compile_tools(
        [define_tool(execute=execute, name="t", description="d", input=schema)], offers[0], strict=offers[1]
    )
    assert schema == before
    return manifest


def written(schema: Json, offers: Offers) -> Json:
    (made,) = offered(schema, offers).offered
    return plain(made.schema)


def round_trip(schema: Json, offers: Offers, arguments: Json) -> Json:
    """*arguments*, written and read back, after our own validation has taken them."""
    made = define_tool(execute=execute, name="t", description="d", input=schema)
    manifest = compile_tools([made], offers[0], strict=offers[1])
    meant = manifest.read("t", manifest.write("t", arguments))
    return made.contract.dump(made.contract.validate(meant))


def of(name: str, *properties: Json, **more: object) -> Json:
    return {"type": "object", "properties": {name: properties[0]}, **more}


# ── strictness ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("compiling.strict")
def test_an_object_that_names_no_type_is_closed() -> None:
    schema = written(of("a", {"properties": {"b": {"type": "string"}}, "required": ["b"]}), ("openai-chat", "auto"))

    assert cast("dict[str, Json]", schema["properties"])["a"] == {
        "type": ["object", "null"],
        "properties": {"b": {"type": "string"}},
        "required": ["b"],
        "additionalProperties": False,
    }


@requirement("compiling.strict", "compiling.losses")
@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses", "anthropic"])
def test_members_of_any_name_make_a_tool_not_strict_and_it_says_why(provider: ProviderName) -> None:
    (made,) = offered(
        of("a", {"type": "object", "additionalProperties": {"type": "integer"}}), (provider, "auto")
    ).offered

    assert not made.strict
    assert made.why_not == "#/properties/a: an object with members of any name"
    assert cast("dict[str, Json]", plain(made.schema)["properties"])["a"]["additionalProperties"] == {"type": "integer"}


@requirement("compiling.strict")
def test_null_beside_object_is_closed_and_still_nullable() -> None:
    schema = written(
        of("a", {"type": ["object", "null"], "properties": {"b": {"type": "string"}}}, required=["a"]),
        ("openai-chat", "auto"),
    )

    inner = cast("dict[str, Json]", schema["properties"])["a"]
    assert inner["type"] == ["object", "null"]
    assert inner["additionalProperties"] is False
    assert inner["required"] == ["b"]


@requirement("compiling.strict", "compiling.way-back")
def test_what_is_left_out_is_null_to_a_strict_model_and_left_out_again_here() -> None:
    schema = of("a", {"type": "integer", "default": 3})
    made = define_tool(execute=execute, name="t", description="d", input=schema)
    manifest = compile_tools([made], "openai-chat")

    assert manifest.offered[0].strict
    assert manifest.write("t", {}) == {"a": None}
    assert manifest.read("t", {"a": None}) == {}
    assert made.contract.dump(made.contract.validate(manifest.read("t", {"a": None}))) == {"a": 3}


@requirement("compiling.strict")
def test_a_legal_null_stays_null_and_the_report_says_that_it_is_the_same_as_nothing() -> None:
    manifest = offered(of("a", {"type": ["integer", "null"]}), ("openai-chat", "auto"))

    assert manifest.read("t", {"a": None}) == {"a": None}
    (loss,) = manifest.losses["default:t"]
    assert (loss.pointer, loss.keyword, loss.action) == ("#/properties", "required", "narrowed")


def nested(depth: int) -> Json:
    """Objects, *depth* of them in one another."""
    schema: Json = {"type": "string"}
    for _ in range(depth):
        schema = of("a", schema)
    return schema


MANY_LONG: Json = {"enum": ["w" * 220 + str(n) for n in range(200)]}


@requirement("compiling.strict")
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (of("a", {"enum": [f"w{n}" for n in range(1_001)]}), "1001 choices"),
        (of("a", {"enum": ["w" * 100 + str(n) for n in range(260)]}), "characters of choices"),
        ({"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(5_001)}}, "5001 properties"),
        (nested(11), "11 objects in one another"),
        (nested(10), None),
        ({"type": "object", "properties": dict.fromkeys("abc", MANY_LONG)}, "characters of names and choices"),
        (of("p" * 60, {"type": "string"}), None),
    ],
    ids=["many choices", "long choices", "many members", "too deep", "deep", "long together", "small"],
)
def test_what_is_too_large_to_be_enforced_is_not_strict(schema: Json, reason: str | None) -> None:
    (made,) = offered(schema, ("openai-chat", "auto")).offered

    assert made.strict is (reason is None)
    assert reason is None or reason in str(made.why_not)
    aside = offered(schema, ("openai-chat", True)).set_aside
    assert len(aside) == (0 if reason is None else 1)


@requirement("compiling.budget")
def test_only_as_many_tools_are_strict_as_one_request_may_have() -> None:
    tools = [
        define_tool(execute=execute, name=f"t{n}", description="d", input=of("a", {"type": "string"}))
        for n in range(30)
    ]

    manifest = compile_tools(tools, "anthropic", strict="auto")

    assert [tool.strict for tool in manifest.offered] == [True] * 20 + [False] * 10
    assert manifest.offered[20].why_not == "#: one request takes at most 20 strict tools"
    assert len(compile_tools(tools, "anthropic", strict=True).set_aside) == 10


@requirement("compiling.budget")
def test_members_that_may_be_left_out_are_counted_over_all_strict_tools() -> None:
    wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(13)}}
    tools = [define_tool(execute=execute, name=f"t{n}", description="d", input=wide) for n in range(2)]

    assert [tool.strict for tool in compile_tools(tools, "anthropic", strict="auto").offered] == [True, False]


# ── references ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("compiling.budget")
@pytest.mark.parametrize(
    "inner",
    [{"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "boolean"}]}],
    ids=["two types", "alternatives"],
)
def test_unions_are_counted_over_all_strict_tools(inner: Json) -> None:
    names = [f"p{n}" for n in range(9)]
    wide = {"type": "object", "properties": dict.fromkeys(names, inner), "required": names}
    tools = [define_tool(execute=execute, name=f"t{n}", description="d", input=wide) for n in range(2)]

    manifest = compile_tools(tools, "anthropic", strict="auto")

    assert [tool.strict for tool in manifest.offered] == [True, False]
    assert "16" in str(manifest.offered[1].why_not)


@requirement("compiling.way-back")
@everywhere
def test_a_tool_that_changes_a_choice_that_it_got_changes_no_later_call(offers: Offers) -> None:
    manifest = offered(of("a", {"enum": [["x"], {"b": 1}]}), offers)
    sent = manifest.write("t", {"a": ["x"]})

    cast("dict[str, list[str]]", manifest.read("t", copy.deepcopy(sent)))["a"].append("y")

    assert manifest.read("t", sent) == {"a": ["x"]}


@requirement("compiling.described-references")
@everywhere
def test_a_reference_with_a_description_keeps_both(offers: Offers) -> None:
    schema: Json = {
        "type": "object",
        "properties": {"c": {"$ref": "#/$defs/Colour", "description": "what to paint it"}},
        "required": ["c"],
        "$defs": {"Colour": {"enum": ["red", "blue"], "description": "any colour"}},
    }

    told = json.dumps(written(schema, offers))

    assert "what to paint it" in told
    assert '"red", "blue"' in told


@requirement("compiling.references")
@pytest.mark.parametrize(
    "offers", [("gemini", False), ("gemini-openapi", False), ("common", False), ("anthropic", True)], ids=str
)
def test_a_definition_that_never_ends_is_told_to_a_depth(offers: Offers) -> None:
    manifest = offered(TREE, offers)
    (made,) = manifest.offered
    deep: Json = {"root": {"value": "1", "kids": [{"value": "2", "kids": [{"value": "3", "kids": [{"value": "4"}]}]}]}}

    assert "$ref" not in json.dumps(plain(made.schema))
    assert any(loss.keyword == "$ref" and loss.pointer == "#/$defs/Node/properties/kids/items" for loss in made.losses)
    assert round_trip(TREE, offers, deep) == deep


@requirement("compiling.references", "compiling.strict")
@pytest.mark.parametrize("strict", [True, False, "auto"])
def test_a_definition_that_never_ends_stays_one_where_that_is_possible(strict: Strictness) -> None:
    (made,) = offered(TREE, ("openai-chat", strict)).offered

    assert made.strict is (strict is not False)
    assert list(cast("Json", plain(made.schema)["$defs"])) == ["Node"]
    deep: Json = {"root": {"value": "1", "kids": [{"value": "2", "kids": [{"value": "3"}]}]}}
    assert round_trip(TREE, ("openai-chat", strict), deep) == deep


@requirement("compiling.references")
@everywhere
def test_references_into_members_and_through_escapes_are_followed(offers: Offers) -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "headers": {
                "type": "object",
                "properties": {"x": {"type": "string"}},
                "additionalProperties": False,
                "required": ["x"],
            },
            "more": {"$ref": "#/properties/headers"},
            "odd": {"$ref": "#/$defs/a~1b~0c%2525"},
            "named": {"$ref": "#spot"},
        },
        "required": ["headers", "more", "odd", "named"],
        "$defs": {"a/b~c%25": {"type": "integer"}, "s": {"$anchor": "spot", "type": "boolean"}},
    }

    arguments: Json = {"headers": {"x": "1"}, "more": {"x": "2"}, "odd": 3, "named": True}

    assert round_trip(schema, offers, arguments) == arguments
    if offers[0] != "openai-chat" and offers != ("anthropic", False):
        assert "$ref" not in json.dumps(written(schema, offers))


@requirement("compiling.references")
@everywhere
def test_references_that_branch_end_in_bounded_size(offers: Offers) -> None:
    names = [f"D{n}" for n in range(12)]
    every = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    schema: Json = {
        "type": "object",
        "properties": every,
        "$defs": {name: {"type": "object", "properties": every, "additionalProperties": False} for name in names},
    }

    manifest = offered(schema, offers)

    assert len(json.dumps(manifest.tools)) < 2_000_000


@requirement("compiling.references")
@everywhere
@pytest.mark.parametrize("reference", ["#", "#/properties/a", "#/nowhere"])
def test_references_that_go_in_circles_or_nowhere_end(offers: Offers, reference: str) -> None:
    definition = ToolDefinition(ToolId("t"), "", of("a", {"$ref": reference}))
    made = define_tool(
        execute=execute, name="t", description="", input={"schema": dict(definition.input_schema), "parse": dict}
    )

    assert len(json.dumps(compile_tools([made], offers[0], strict=offers[1]).tools)) < 2_000


# ── null, constants, choices ─────────────────────────────────────────────────────────────────────────────────────────


@requirement("compiling.null-and-const")
def test_null_in_items_is_a_flag_for_gemini() -> None:
    schema = of("a", {"type": "array", "items": {"type": ["string", "null"]}})

    assert cast("dict[str, Json]", written(schema, ("gemini-openapi", False))["properties"])["a"] == {
        "type": "ARRAY",
        "items": {"type": "STRING", "nullable": True},
    }
    assert cast("dict[str, Json]", written(schema, ("gemini", False))["properties"])["a"]["items"] == {
        "type": ["string", "null"]
    }


@requirement("compiling.null-and-const")
@pytest.mark.parametrize("offers", EVERY[:1] + EVERY[3:4] + EVERY[5:], ids=str)
def test_a_constant_is_a_choice_of_one(offers: Offers) -> None:
    schema = written(of("a", {"const": "x"}, required=["a"]), offers)

    inner = cast("dict[str, Json]", schema["properties"])["a"]
    assert inner["enum"] == ["x"]
    assert str(inner["type"]).lower() == "string"


@requirement("compiling.null-and-const")
@everywhere
def test_compiling_twice_gives_the_same(offers: Offers) -> None:
    schema = of("a", {"anyOf": [{"const": 1}, {"type": ["string", "null"]}]})

    assert written(schema, offers) == written(schema, offers)


@requirement("compiling.choices")
@everywhere
def test_choices_of_any_kind_stay_apart_and_come_back(offers: Offers) -> None:
    values: list[object] = [1, "1", "1 (integer)", True, "true", None, "null", 2.5, [1], {"a": 1}, ""]
    schema = of("a", {"enum": values}, required=["a"])

    for value in values:
        assert json.dumps(round_trip(schema, offers, {"a": value})) == json.dumps({"a": value})


@requirement("compiling.choices")
def test_whole_numbers_to_choose_from_are_written_as_text_for_gemini() -> None:
    manifest = offered(
        of("room", {"type": "integer", "enum": [101, 201]}, required=["room"]), ("gemini-openapi", False)
    )

    assert cast("dict[str, Json]", plain(manifest.offered[0].schema)["properties"])["room"] == {
        "type": "STRING",
        "enum": ["101", "201"],
    }
    assert manifest.read("t", {"room": "101"}) == {"room": 101}
    assert manifest.read("t", {"room": 101}) == {"room": 101}
    assert manifest.read("t", {"room": "7"}) == {"room": "7"}
    assert [loss.action for loss in manifest.losses["default:t"] if loss.keyword == "enum"] == ["encoded"]


# ── unions ───────────────────────────────────────────────────────────────────────────────────────────────────────────

ROOT_UNION: Final[Json] = {
    "type": "object",
    "oneOf": [
        {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"]},
        {"properties": {"kind": {"const": "b"}, "y": {"type": "integer"}}, "required": ["kind", "y"]},
    ],
}


@requirement("compiling.root-unions")
@everywhere
def test_a_union_at_the_root_is_offered_and_enforced(offers: Offers) -> None:
    made = define_tool(execute=execute, name="t", description="d", input=ROOT_UNION)
    manifest = compile_tools([made], offers[0], strict=offers[1])

    schema = plain(manifest.offered[0].schema)
    assert not schema.keys() & {"anyOf", "oneOf", "allOf"}
    assert round_trip(ROOT_UNION, offers, {"kind": "b", "y": 1}) == {"kind": "b", "y": 1}
    for wrong in ({"kind": "a", "y": 1}, {"kind": "b"}):
        with pytest.raises(InvalidArguments):
            made.contract.validate(manifest.read("t", wrong))


@requirement("compiling.root-unions")
def test_a_union_at_the_root_is_one_argument_to_a_strict_model_and_its_members_to_others() -> None:
    strict = written(ROOT_UNION, ("openai-chat", "auto"))
    plain = written(ROOT_UNION, ("gemini", False))

    assert list(cast("Json", strict["properties"])) == ["input"]
    assert list(cast("Json", plain["properties"])) == ["kind", "x", "y"]
    assert plain["required"] == ["kind"]


@requirement("compiling.way-back")
@everywhere
def test_alternatives_that_look_alike_get_names_where_they_are_written_differently(offers: Offers) -> None:
    schema = of(
        "a",
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"v": {"enum": [1, 2]}},
                    "required": ["v"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"v": {"type": "string"}},
                    "required": ["v"],
                    "additionalProperties": False,
                },
            ]
        },
        required=["a"],
    )

    for value in (1, "1", "x"):
        assert round_trip(schema, offers, {"a": {"v": value}}) == {"a": {"v": value}}


SOMETIMES: Final[Json] = {"properties": {"days": {"type": "integer"}}, "required": ["days"]}
CONDITIONS: Final[dict[str, Json]] = {
    "then": {"if": {"properties": {"kind": {"const": "trip"}}}, "then": SOMETIMES},
    "else": {"if": {"properties": {"kind": {"const": "call"}}}, "then": {}, "else": SOMETIMES},
    "dependentSchemas": {"dependentSchemas": {"kind": SOMETIMES}},
    "more": {"if": {"required": ["kind"]}, "then": {"allOf": [SOMETIMES]}},
}


@requirement("compiling.way-back")
@everywhere
@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("place", ["root", "inside"])
def test_a_member_that_only_a_condition_speaks_of_can_be_written(offers: Offers, condition: Json, place: str) -> None:
    schema: Json = {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        **condition,
        "unevaluatedProperties": False,
    }
    arguments: Json = {"kind": "trip", "days": 3}
    if place == "inside":
        schema, arguments = of("plan", schema, additionalProperties=False), {"plan": arguments}
    (made,) = offered(schema, offers).offered
    wire = as_json_schema(plain(made.schema)) if offers[0] == "gemini-openapi" else plain(made.schema)

    closes = any(loss.action == "narrowed" and loss.keyword == "additionalProperties" for loss in made.losses)
    sent = offered(schema, offers).write("t", arguments)
    assert closes or jsonschema_rs.is_valid(cast("Json", wire), sent)
    assert round_trip(schema, offers, arguments) == arguments
    assert not closes or "allOf" in str(condition)


@requirement("compiling.losses")
@everywhere
def test_members_of_any_name_are_told_whichever_word_allows_them(offers: Offers) -> None:
    inside: Json = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "unevaluatedProperties": {"type": "integer"},
    }
    schema = of("o", inside, additionalProperties=False)

    (made,) = offered(schema, offers).offered

    assert not [loss for loss in made.losses if loss.action == "narrowed" and loss.keyword == "additionalProperties"]
    assert round_trip(schema, offers, {"o": {"a": "x", "n": 1}}) == {"o": {"a": "x", "n": 1}}


@requirement("compiling.set-aside")
@everywhere
def test_a_tool_that_asks_for_a_member_which_it_does_not_allow_is_set_aside(offers: Offers) -> None:
    manifest = offered({"type": "object", "properties": {"a": {}}, "required": ["b"]}, offers)

    assert manifest.offered == ()
    assert "nothing is legal" in manifest.set_aside[0].reason


@requirement("compiling.set-aside")
@everywhere
def test_no_one_of_is_left_deep_inside_where_a_provider_refuses_it(offers: Offers) -> None:
    schema = of(
        "a",
        {
            "type": "array",
            "items": {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}},
                        "required": ["kind", "x"],
                        "additionalProperties": False,
                    },
                    {
                        "type": "object",
                        "properties": {
                            "kind": {"const": "b"},
                            "y": {"type": "object", "additionalProperties": {"type": "integer"}},
                        },
                        "required": ["kind", "y"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
        required=["a"],
    )

    whole = offers[1] is False and offers[0] in ("openai-chat", "anthropic")
    made = offered(schema, offers).offered[0]
    assert ("oneOf" in json.dumps(plain(made.schema))) is (
        whole or (offers == ("openai-chat", "auto") and not made.strict)
    )
    arguments: Json = {"a": [{"kind": "a", "x": 1}, {"kind": "b", "y": {"k": 2}}]}
    assert round_trip(schema, offers, arguments) == arguments


@requirement("compiling.set-aside")
@everywhere
def test_one_impossible_tool_is_set_aside_and_the_rest_is_offered(offers: Offers) -> None:
    good = define_tool(execute=execute, name="good", description="", input={})
    bad = define_tool(
        execute=execute,
        name="bad",
        description="",
        input={"schema": {"allOf": [{"type": "object"}, {"type": "string"}]}, "parse": dict},
    )

    manifest = compile_tools([bad, good], offers[0], strict=offers[1])

    assert [tool.name for tool in manifest.offered] == ["good"]
    assert manifest.set_aside == (SetAside("default:bad", "#/allOf/1", "nothing is legal here"),)


# ── incomplete ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("compiling.incomplete", "compiling.losses")
@everywhere
def test_an_array_without_items_gets_some_with_a_note(offers: Offers) -> None:
    manifest = offered(of("a", {"type": "array"}, required=["a"]), offers)
    (made,) = manifest.offered

    assert "items" in cast("dict[str, Json]", plain(made.schema)["properties"])["a"]
    assert ("#/properties/a", "items", "added") in [(loss.pointer, loss.keyword, loss.action) for loss in made.losses]


@requirement("compiling.incomplete")
@everywhere
def test_an_empty_schema_means_no_arguments(offers: Offers) -> None:
    (tool_,) = offered({}, offers).offered

    assert plain(tool_.schema)["properties"] == {}
    assert str(plain(tool_.schema)["type"]).lower() == "object"
    assert offers[0] == "gemini-openapi" or plain(tool_.schema)["additionalProperties"] is False


# ── the other forms ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("compiling.way-back")
@everywhere
@pytest.mark.parametrize(
    ("inner", "value"),
    [
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"k": 1, "type": 2, "": 3}),
        ({"type": "object"}, {"k": [1, {"x": None}]}),
        ({}, {"any": ["thing", None, 10**20]}),
        ({}, "hello"),
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}], "type": "array", "items": False}, ["a", 1]),
        ({"prefixItems": [{"type": "number"}, {"type": "number"}], "type": "array", "maxItems": 2}, [1.5, 2.5]),
        ({"prefixItems": [{"type": "string"}], "type": "array", "items": {"type": "integer"}}, ["a", 1, 2]),
        ({"type": ["string", "integer", "boolean"]}, 7),
        ({"type": "string", "format": "date-time"}, "2020-01-01T00:00:00Z"),
        ({"allOf": [{"type": "integer", "minimum": 1}, {"maximum": 9}]}, 5),
        (
            {
                "type": "object",
                "properties": {"user-name": {"type": "string"}},
                "additionalProperties": {"type": "integer"},
            },
            {"user-name": "u", "n": 1},
        ),
    ],
    ids=[
        "map",
        "free object",
        "any object",
        "any text",
        "tuple",
        "pair",
        "open tuple",
        "types",
        "format",
        "all of",
        "renamed and open",
    ],
)
def test_values_come_back_as_they_were_meant(offers: Offers, inner: Json, value: object) -> None:
    assert round_trip(of("a", inner, required=["a"]), offers, {"a": value}) == {"a": value}


@requirement("compiling.reading-is-total")
@pytest.mark.parametrize(
    ("inner", "sent"),
    [
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"k": 1}),
        ({"type": "object"}, {"k": 1}),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}, ["a", 1]),
        ({"enum": [1, 2]}, 1),
    ],
    ids=["map", "free object", "tuple", "choice"],
)
def test_a_model_that_writes_the_plain_form_is_understood(inner: Json, sent: object) -> None:
    manifest = offered(of("a", inner, required=["a"]), ("gemini-openapi", False))

    assert manifest.read("t", {"a": sent}) == {"a": sent}


@requirement("compiling.reading-is-total")
def test_a_tuple_with_members_that_nobody_asked_for_is_left_to_the_contract() -> None:
    pair: Json = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}
    manifest = offered(of("a", pair), ("openai-chat", True))
    sent = {"a": {"item_1": "x", "item_2": 1}}
    more = {"a": {"item_1": "x", "item_2": 1, "item_3": 2}}

    assert manifest.read("t", copy.deepcopy(sent)) == {"a": ["x", 1]}
    assert manifest.read("t", copy.deepcopy(more)) == more


@requirement("compiling.reading-is-total")
def test_an_argument_beside_the_only_one_is_not_dropped() -> None:
    manifest = offered(ROOT_UNION, ("openai-chat", True))
    more: Json = {"input": {"kind": "a", "x": 1}, "y": 2}

    assert manifest.read("t", {"input": {"kind": "a", "x": 1}}) == {"kind": "a", "x": 1}
    assert manifest.read("t", copy.deepcopy(more)) == more


@requirement("compiling.way-back")
def test_of_alternatives_that_look_alike_the_one_is_written_that_the_value_is() -> None:
    def alike(kind: str) -> Json:
        return {**of("v", {"type": "object", "additionalProperties": {"type": kind}}), "additionalProperties": False}

    manifest = offered(of("a", {"anyOf": [alike("integer"), alike("string")]}), ("openai-chat", True))

    assert json.dumps(manifest.write("t", {"a": {"v": {"k": 1}}})).count("option_1") == 1
    assert json.dumps(manifest.write("t", {"a": {"v": {"k": "x"}}})).count("option_2") == 1


@requirement("compiling.reading-is-total")
def test_a_key_that_comes_twice_is_no_object() -> None:
    manifest = offered(
        of("a", {"type": "object", "additionalProperties": {"type": "integer"}}), ("gemini-openapi", False)
    )
    twice = [{"key": "k", "value": 1}, {"key": "k", "value": 2}]

    assert manifest.read("t", {"a": twice}) == {"a": twice}


@requirement("compiling.reading-is-total")
def test_arguments_deeper_than_anybody_means_are_left_to_the_contract() -> None:
    manifest = offered(TREE, ("openai-chat", "auto"))
    deep: Json = {"value": "1"}
    for _ in range(2_000):
        deep = {"value": "1", "kids": [deep]}

    assert manifest.read("t", {"root": deep})["root"] is deep
    assert manifest.write("t", {"root": deep})["root"] is deep


@requirement("compiling.any-schema")
@everywhere
def test_a_contract_deeper_than_any_provider_takes_ends(offers: Offers) -> None:
    schema: Json = {"type": "string"}
    for _ in range(100):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}

    manifest = offered(schema, offers)

    assert len(manifest.offered) + len(manifest.set_aside) == 1


@requirement("compiling.losses")
def test_the_report_names_each_keyword_and_where_it_stands() -> None:
    schema = of(
        "a",
        {
            "type": "string",
            "minLength": 2,
            "pattern": "^x",
            "not": {"const": "xx"},
            "x-ours": 1,
            "title": "A",
            "default": "xy",
        },
        additionalProperties=False,
    )

    told = {
        (loss.pointer, loss.keyword, loss.action) for loss in offered(schema, ("gemini", False)).losses["default:t"]
    }

    assert told == {
        ("#/properties/a", "minLength", "described"),
        ("#/properties/a", "pattern", "described"),
        ("#/properties/a", "not", "dropped"),
        ("#/properties/a", "x-ours", "dropped"),
        ("#/properties/a", "default", "described"),
    }
    inner = cast("dict[str, Json]", written(schema, ("gemini", False))["properties"])["a"]
    assert inner["description"] == '(minLength: 2; pattern: "^x"; default: "xy")'


@requirement("compiling.losses")
@pytest.mark.parametrize("offers", [("openai-chat", False), ("anthropic", False)], ids=str)
def test_what_takes_json_schema_gets_it_as_it_is(offers: Offers) -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "not": {"const": "x"}, "minLength": 1},
            "b": {"if": {"const": 1}, "then": True, "patternProperties": {"^x": {"type": "integer"}}},
        },
        "dependentRequired": {"a": ["b"]},
        "additionalProperties": False,
    }
    manifest = offered(schema, offers)

    assert plain(manifest.offered[0].schema) == schema
    assert manifest.losses == {}


@requirement("compiling.keyword-names")
@everywhere
def test_a_definition_of_data_is_no_schema(offers: Offers) -> None:
    value = {"$ref": "#/nowhere", "type": "banana", "items": [1]}

    assert round_trip(of("a", {"const": value, "default": value}, required=["a"]), offers, {"a": value}) == {"a": value}


@requirement("compiling.legal")
def test_a_signature_is_strict_without_losses() -> None:
    @tool(effect="read-only")
    def find(
        query: Annotated[str, "What to look for."], kind: Literal["file", "folder"] = "file", limit: int | None = None
    ) -> str:
        """Find something."""
        return query

    manifest = compile_tools([find], "openai-chat")
    (made,) = manifest.offered

    assert made.strict
    assert next(each for _, each in schemas_in(plain(made.schema)))["required"] == ["query", "kind", "limit"]
    assert manifest.read("find", {"query": "q", "kind": None, "limit": None}) == {"query": "q", "limit": None}
