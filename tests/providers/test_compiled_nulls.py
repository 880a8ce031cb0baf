"""Where null is legal for a member that may be left out, and what of each tree of alternatives is tried."""

from __future__ import annotations

from typing import Final

import pytest

from armory_trio import define_tool
from armory_trio.providers import compile_tools
from armory_trio.providers._json_kinds import json_kind
from armory_trio.toolbox import Manifest, ProviderName, Strictness
from tests.requirements import requirement

from ._legality import CHECKS, plain

Json = dict[str, object]


def execute(arguments: Json) -> object:
    return arguments


def offered(schema: Json, provider: ProviderName, strict: Strictness) -> Manifest:
    return compile_tools(
        [define_tool(execute=execute, name="t", description="d", input=schema)], provider, strict=strict
    )


NULL: Final[Json] = {"type": ["string", "null"]}
TEXT: Final[Json] = {"type": "string"}
OBJECT_OR_NULL: Final[Json] = {"anyOf": [{"$ref": "#/$defs/O"}, {"type": "null"}]}
BOTH: Final[list[Json]] = [{}, {"a": None}, {"b": "x"}, {"a": None, "b": "x"}]
WEIGHING: Final[list[Json]] = [
    {"properties": {"a": {"const": None}, "b": TEXT}, "dependentRequired": {"a": ["b"]}},
    {"properties": {"a": NULL, "b": TEXT}, "dependentSchemas": {"a": {"required": ["b"]}}},
    {"properties": {"a": NULL, "b": TEXT}, "minProperties": 0, "maxProperties": 1},
    {"properties": {"a": NULL, "b": TEXT}, "minProperties": 1},
    {"properties": {"a": NULL, "b": TEXT}, "not": {"required": ["a", "b"]}},
    {"properties": {"a": NULL, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"properties": {"a": NULL, "b": TEXT}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"properties": {"a": NULL, "b": TEXT}, "if": {"required": ["a"]}, "then": {"required": ["b"]}},
    {"properties": {"a": NULL, "b": TEXT}, "propertyNames": {"const": "b"}},
    {"properties": {"a": OBJECT_OR_NULL, "b": TEXT}, "required": [], "dependentRequired": {"a": ["b"]}, "title": "t"},
]
"""Contracts to which it matters whether ``a`` is null or left out."""


@requirement("compiling.way-back")
@pytest.mark.parametrize("strict", [True, "auto"])
def test_arguments_that_are_all_left_out_stay_legal_where_a_null_asks_for_another(strict: Strictness) -> None:
    schema: Json = {
        "type": "object",
        "properties": {"a": {"type": "null"}, "b": TEXT},
        "dependentRequired": {"a": ["b"]},
        "additionalProperties": False,
    }
    made = define_tool(execute=execute, name="t", description="d", input=schema)
    manifest = compile_tools([made], "openai-chat", strict=strict)

    meant = manifest.read("t", manifest.write("t", {}))

    assert meant == {}
    made.contract.validate(meant)


@requirement("compiling.strict", "compiling.losses")
@pytest.mark.parametrize("inside", [False, True], ids=["at the root", "inside"])
@pytest.mark.parametrize("schema", WEIGHING, ids=lambda schema: list(schema)[-1])
def test_a_tool_is_not_strict_where_null_and_left_out_are_both_legal_and_not_the_same(
    schema: Json, inside: bool
) -> None:
    whole: Json = {"type": "object", "additionalProperties": False, **schema}
    if inside:
        whole = {"type": "object", "properties": {"o": whole}, "required": ["o"], "additionalProperties": False}
    whole["$defs"] = {"O": {"type": "object", "properties": {"x": TEXT}, "additionalProperties": False}}
    (made,) = offered(whole, "openai-chat", "auto").offered

    assert not made.strict
    assert made.why_not is not None
    assert made.why_not.endswith("'a' left out can't be told from 'a' null, and that matters here")


@requirement("compiling.strict", "compiling.way-back")
@pytest.mark.parametrize("schema", WEIGHING, ids=lambda schema: list(schema)[-1])
def test_a_strict_model_can_write_null_and_nothing_where_they_are_not_the_same(schema: Json) -> None:
    whole: Json = {"type": "object", "additionalProperties": False, **schema}
    whole["$defs"] = {"O": {"type": "object", "properties": {"x": TEXT}, "additionalProperties": False}}
    manifest = offered(whole, "openai-chat", True)
    (made,) = manifest.offered

    assert made.strict
    CHECKS["openai-strict"](plain(made.schema))
    assert not [loss for loss in made.losses if loss.action == "narrowed"]
    for arguments in BOTH:
        assert manifest.read("t", manifest.write("t", arguments)) == arguments
    assert manifest.read("t", {"a": {"value": None}}) == {"a": None}
    assert manifest.read("t", {"a": None}) == {}


@requirement("compiling.way-back")
def test_an_object_or_null_keeps_its_members_where_null_is_not_left_out() -> None:
    schema: Json = {
        "type": "object",
        "properties": {"a": OBJECT_OR_NULL, "b": TEXT},
        "dependentRequired": {"a": ["b"]},
        "additionalProperties": False,
        "$defs": {"O": {"type": "object", "properties": {"x": TEXT}, "additionalProperties": False}},
    }
    manifest = offered(schema, "openai-chat", True)

    sent = manifest.write("t", {"a": {}, "b": "y"})

    assert sent == {"a": {"value": {"x": None}}, "b": "y"}
    assert manifest.read("t", sent) == {"a": {}, "b": "y"}


@requirement("compiling.way-back")
@pytest.mark.parametrize(
    ("member", "more", "sent"),
    [
        ({"type": ["integer", "null"], "default": None}, {}, {"a": None}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, {}, {"a": None}),
        ({"type": ["integer", "null"]}, {}, {}),
        ({"type": ["integer", "null"], "default": 3}, {}, {}),
        ({"type": ["integer", "null"], "default": None, "not": {"type": "null"}}, {}, {}),
        ({"enum": [1, None], "anyOf": [{"type": "integer"}, {"type": "string"}], "default": None}, {}, {}),
        (
            {"type": ["integer", "null"], "default": None},
            {"b": {"type": "array", "items": {"type": "object", "maxProperties": 1}}},
            {},
        ),
    ],
    ids=["null by default", "or null by default", "no default", "another default", "no null", "never", "elsewhere"],
)
def test_leaving_out_is_written_as_null_only_where_the_contract_means_null_by_it(
    member: Json, more: Json, sent: Json
) -> None:
    schema: Json = {"type": "object", "properties": {"a": member, **more}, "additionalProperties": False}
    manifest = offered(schema, "openai-chat", True)

    written = dict(manifest.write("t", {}))

    assert {name: each for name, each in written.items() if name == "a"} == sent
    assert manifest.read("t", written) == sent


@requirement("compiling.way-back")
@pytest.mark.parametrize("provider", ["openai-chat", "anthropic", "gemini", "gemini-openapi", "common"])
@pytest.mark.parametrize("strict", [True, False])
def test_a_member_that_is_called_as_another_is_written_is_not_taken_for_it(
    provider: ProviderName, strict: Strictness
) -> None:
    schema: Json = {"type": "object", "properties": {"filter[id]": {"type": "integer"}}, "required": ["filter[id]"]}
    manifest = offered({**schema, "additionalProperties": True}, provider, strict)
    arguments = {"filter[id]": 1, "filter_id_": 2}

    assert manifest.read("t", manifest.write("t", arguments)) == arguments


ALTERNATIVES: Final[list[Json]] = [
    {"properties": {"a": {"type": ["integer", "null"], "default": None}, "k": {"type": "string", "pattern": "^x"}}},
    {"properties": {"k": TEXT}},
]


@requirement("compiling.way-back")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("required", [[], ["k"]], ids=["open", "required"])
def test_a_value_is_written_as_the_alternative_that_gives_it_back(required: list[str], turned: bool) -> None:
    options = [{"type": "object", **each, "required": required, "additionalProperties": False} for each in ALTERNATIVES]
    member: Json = {"anyOf": options[::-1] if turned else options}
    schema: Json = {"type": "object", "properties": {"e": member}, "required": ["e"], "additionalProperties": False}
    manifest = offered(schema, "openai-chat", True)
    arguments = {"e": {"k": "y"}}

    sent = manifest.write("t", arguments)

    assert manifest.read("t", sent) == arguments


@requirement("compiling.way-back")
def test_a_value_that_two_alternatives_may_have_and_neither_gives_back_is_not_written() -> None:
    member: Json = {"type": ["integer", "null"], "default": None}
    options = [
        {"type": "object", "properties": {name: member, "k": {"type": "string", "pattern": pattern}}}
        for name, pattern in (("a", "^x"), ("b", "y$"))
    ]
    closed: Json = {"anyOf": [{**each, "additionalProperties": False} for each in options]}
    schema: Json = {"type": "object", "properties": {"e": closed}, "required": ["e"], "additionalProperties": False}
    manifest = offered(schema, "openai-chat", True)

    assert manifest.write("t", {"e": {"k": "xy"}}) == {"e": {"k": "xy"}}
    assert manifest.read("t", {"e": {"k": "xy"}}) == {"e": {"k": "xy"}}
    assert manifest.write("t", {"e": {"k": "xy", "b": 1}}) == {"e": {"k": "xy", "b": 1}}
    assert manifest.write("t", {"e": {"k": "y"}}) == {
        "e": {"k": "y", "b": None}
    }  # by its limits it is the second's alone


def tree_of(first: Json, second: Json, *, optional: Json) -> Json:
    """The schema of a tree, each node of which is one of two."""
    nodes = [
        {
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/E"}}, "op": op, **optional},
            "required": ["op", "kids"],
            "additionalProperties": False,
        }
        for op in (first, second)
    ]
    root: Json = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/E"}, "n": {"type": "integer"}},
        "required": ["tree"],
        "additionalProperties": False,
    }
    other: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"e": {"anyOf": [root, other]}},
        "required": ["e"],
        "additionalProperties": False,
        "$defs": {"E": {"anyOf": nodes}},
    }


@requirement("compiling.way-back")
@pytest.mark.parametrize(
    ("options", "op"),
    [
        (tree_of({"const": "a"}, {"const": "b"}, optional={"n": {"type": "integer"}}), "b"),
        (tree_of({"type": "string"}, {"type": "integer"}, optional={"n": {"type": "integer"}}), 1),
        (tree_of({"const": "a"}, {"const": "b"}, optional={}), "b"),
    ],
    ids=["tagged", "alike", "written as they are"],
)
def test_alternatives_that_stand_in_themselves_are_each_tried_once(
    options: Json, op: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = offered(options, "openai-chat", True)
    tree: Json = {"kids": [], "op": op}
    for _ in range(40):
        tree = {"kids": [tree], "op": op}
    looks = 0

    def counting(value: object) -> str:
        nonlocal looks
        looks += 1
        assert looks < 50_000
        return json_kind(value)

    monkeypatch.setattr("armory_trio.providers._fits.json_kind", counting)
    sent = manifest.write("t", {"e": {"tree": tree}})

    assert sent != {"e": {"tree": tree}}
    assert manifest.read("t", sent) == {"e": {"tree": tree}}


@requirement("compiling.way-back")
def test_null_is_never_written_as_an_alternative_where_it_means_left_out() -> None:
    open_ended: Json = {"type": "object", "properties": {"x": TEXT}}
    other: Json = {"type": "object", "properties": {"k": TEXT, "l": TEXT}, "additionalProperties": False}
    schema: Json = {"type": "object", "properties": {"c": {"anyOf": [open_ended, other]}}, "required": ["c"]}
    manifest = offered({**schema, "additionalProperties": False}, "openai-chat", strict=True)

    assert manifest.read("t", manifest.write("t", {"c": {"k": None}})) == {"c": {"k": None}}
