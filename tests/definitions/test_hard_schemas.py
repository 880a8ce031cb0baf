"""Schemas on which others stumble: whatever a provider makes of them, our validation enforces what they say."""

from __future__ import annotations

import copy
import enum
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, cast

import pytest
from msgspec import Meta

from armory_trio import DefinitionError, InvalidArguments, tool
from armory_trio.definitions._canonical import thaw_json
from armory_trio.definitions.contracts import _document, contract_from_schema, contract_from_signature
from armory_trio.definitions.contracts._document import Document
from armory_trio.definitions.contracts._fitting import target
from armory_trio.definitions.contracts._loops import refuse_loops
from tests.requirements import requirement

Schema = dict[str, object]


def accepts(schema: Mapping[str, object], arguments: Mapping[str, object]) -> bool:
    try:
        contract_from_schema(schema).validate(arguments)
    except InvalidArguments:
        return False
    return True


def properties_of(function: object) -> Mapping[str, Mapping[str, object]]:
    written = cast("Mapping[str, object]", tool(function).definition.to_json()["input"])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]  # any function
    return cast("Mapping[str, Mapping[str, object]]", written["properties"])


@requirement("contracts.schema.hard")
@pytest.mark.parametrize("kind", [{}, {"type": "object"}, {"type": ["object", "null"]}])
def test_an_object_is_closed_whatever_it_says_of_its_type(kind: Schema) -> None:
    schema = {**kind, "properties": {"a": {"type": "integer"}}}

    assert accepts(schema, {"a": 1})
    assert not accepts(schema, {"a": 1, "b": 2})


@requirement("contracts.schema.hard")
def test_a_free_mapping_stays_one_and_its_values_are_checked() -> None:
    def count(words: dict[str, int]) -> None: ...

    contract = contract_from_signature(count)
    sent = {"words": {"any": 1, "other": 2}}

    assert contract.dump(contract.validate(sent)) == sent
    with pytest.raises(InvalidArguments, match="words"):
        contract.validate({"words": {"any": "x"}})


class Shade(enum.Enum):
    DARK = "dark"
    LIGHT = "light"


@requirement("contracts.schema.hard")
def test_choices_keep_the_text_that_stands_beside_them_and_no_reference_has_neighbours() -> None:
    def paint(shade: Annotated[Shade, Meta(description="How dark.")], other: Shade = Shade.DARK) -> None:
        """Paint.

        Args:
            other: The second coat.
        """

    shown = properties_of(paint)

    assert (shown["shade"]["enum"], shown["shade"]["description"]) == (["dark", "light"], "How dark.")
    assert (shown["other"]["enum"], shown["other"]["description"]) == (["dark", "light"], "The second coat.")
    assert "$ref" not in shown["shade"].keys() | shown["other"].keys()


@requirement("contracts.schema.hard")
@pytest.mark.parametrize(
    ("item", "fits"),
    [
        ({"kind": "circle", "radius": 1}, True),
        ({"kind": "square", "side": 1}, True),
        ({"kind": "circle", "side": 1}, False),
        ({"kind": "circle"}, False),
        ({"kind": "line", "radius": 1}, False),
    ],
)
def test_alternatives_deep_inside_are_told_apart_exactly(item: Schema, fits: bool) -> None:
    def shape(kind: str, member: str) -> Schema:
        properties = {"kind": {"const": kind}, member: {"type": "integer"}}
        return {"type": "object", "properties": properties, "required": ["kind", member], "additionalProperties": False}

    either = {"oneOf": [shape("circle", "radius"), shape("square", "side")], "discriminator": {"propertyName": "kind"}}
    schema = {"properties": {"shapes": {"type": "array", "items": either}}}

    assert accepts(schema, {"shapes": [{"kind": "circle", "radius": 2}, item]}) is fits


TREE: Schema = {
    "properties": {
        "tree": {"$ref": "#/$defs/a~1b%25"},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "trailers": {"$ref": "#/properties/headers"},
    },
    "$defs": {
        "a/b%": {
            "type": "object",
            "properties": {
                "n": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/a~1b%25"}},
            },
            "required": ["n"],
        }
    },
}


TREES: Sequence[tuple[Schema, bool]] = [
    ({"tree": {"n": 1, "children": [{"n": 2, "children": [{"n": 3}]}]}}, True),
    ({"tree": {"n": 1, "children": [{"n": 2, "children": [{"n": "3"}]}]}}, False),
    ({"tree": {"n": 1, "children": [{}]}}, False),
    ({"trailers": {"x": "y"}}, True),
    ({"trailers": {"x": 1}}, False),
]


@requirement("contracts.schema.hard")
@pytest.mark.parametrize(("arguments", "fits"), TREES)
def test_references_of_every_form_and_recursion_are_followed(arguments: Schema, fits: bool) -> None:
    assert accepts(TREE, arguments) is fits


@requirement("contracts.schema.hard")
@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"names": ["a", None]}, True),
        ({"names": [1]}, False),
        ({"unit": "x"}, True),
        ({"unit": "y"}, False),
        ({"lists": [[1], "x"]}, True),
    ],
)
def test_nulls_in_items_constants_and_arrays_that_say_nothing_mean_what_they_say(arguments: Schema, fits: bool) -> None:
    nullable = {"type": "array", "items": {"type": ["string", "null"]}}
    schema = {"properties": {"names": nullable, "unit": {"const": "x"}, "lists": {"type": "array"}}}

    assert accepts(schema, arguments) is fits


@requirement("contracts.schema.hard")
def test_a_schema_can_be_used_twice_and_stays_as_it_was() -> None:
    before = copy.deepcopy(TREE)
    first, second = contract_from_schema(TREE), contract_from_schema(TREE)
    first.validate({"tree": {"n": 1.0}})

    assert before == TREE
    assert thaw_json(first.schema) == thaw_json(second.schema)


TEXT: Schema = {"type": "string"}
OF_U: Schema = {"$ref": "#/$defs/U"}


@requirement("contracts.schema.loops")
@pytest.mark.parametrize(
    ("definitions", "place"),
    [
        ({"U": {"anyOf": [TEXT, OF_U]}}, "$defs.U"),
        ({"U": {"type": "string", "oneOf": [{"minLength": 3}, OF_U]}}, "$defs.U"),
        ({"U": OF_U}, "$defs.U"),
        ({"U": {"not": OF_U}}, "$defs.U"),
        ({"U": {"anyOf": [TEXT, {"title": "once more", "allOf": [OF_U]}]}}, "$defs.U"),
        ({"U": {"$dynamicAnchor": "u", "anyOf": [TEXT, {"$dynamicRef": "#u"}]}}, "$defs.U"),
        ({"V": OF_U, "U": {"anyOf": [TEXT, {"$ref": "#/$defs/V"}]}}, "$defs.V"),
        ({"U": {"anyOf": [TEXT, {"anyOf": [{"type": "null"}, OF_U]}]}}, "$defs.U"),
        ({"U": {"allOf": [{}, {"title": "any"}, {"anyOf": [TEXT, OF_U]}]}}, "$defs.U"),
        ({"U": {"allOf": [{}, OF_U]}}, "$defs.U"),
        ({"U": {"$anchor": "u", "anyOf": [TEXT, {"$ref": "#u"}]}}, "$defs.U"),
        ({"U": {"$id": "http://example.com/u", "anyOf": [TEXT, {"$ref": ""}]}}, "$defs.U"),
        ({"V": {"x-more": 1, **OF_U}, "U": {"x-more": 1, "anyOf": [TEXT, {"$ref": "#/$defs/V"}]}}, "$defs.V"),
    ],
)
def test_what_is_its_own_alternative_is_refused_at_definition(definitions: Schema, place: str) -> None:
    with pytest.raises(DefinitionError, match=rf"at {re.escape(place)}.* is its own alternative"):
        contract_from_schema({"properties": {"u": OF_U}, "$defs": definitions})


@requirement("contracts.schema.loops")
def test_parts_that_repeat_the_whole_and_say_more_are_followed() -> None:
    small: Schema = {"allOf": [OF_U, {"required": ["small"]}]}
    large: Schema = {"allOf": [OF_U, {"required": ["large"]}]}
    whole: Schema = {"type": "object", "oneOf": [{"$ref": "#/$defs/small"}, {"$ref": "#/$defs/large"}]}
    schema: Schema = {"properties": {"u": OF_U}, "$defs": {"U": whole, "small": small, "large": large}}

    assert accepts(schema, {"u": {"small": 1}})
    assert not accepts(schema, {"u": {"other": 1}})


@requirement("contracts.schema.loops")
@pytest.mark.parametrize("word", ["const", "default"])
def test_a_value_that_looks_like_a_schema_is_no_loop(word: str) -> None:
    like: Schema = {word: {"anyOf": [{"$ref": f"#/properties/like/{word}"}]}}

    assert accepts({"properties": {"like": like}}, {"like": like[word]})


@requirement("contracts.schema.loops")
def test_a_reference_inside_a_schema_with_an_id_is_read_from_there() -> None:
    inner: Schema = {"$id": "http://example.com/inner", "anyOf": [{"$ref": "#/$defs/U"}], "$defs": {"U": TEXT}}
    schema: Schema = {"properties": {"a": inner}, "$defs": {"U": {"$ref": "#/properties/a"}}}

    assert accepts(schema, {"a": "text"})
    assert not accepts(schema, {"a": 1})


@requirement("contracts.schema.loops")
def test_each_schema_is_looked_at_once_however_many_lead_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []

    def counted(root: Schema, reference: str) -> object:
        looked_up.append(reference)
        return target(root, reference)

    monkeypatch.setattr(_document, "target", counted)
    chain: Schema = {f"U{i}": {"anyOf": [{"$ref": f"#/$defs/U{i + 1}"}, TEXT]} for i in range(50)}
    refuse_loops(Document({"$ref": "#/$defs/U0", "$defs": {**chain, "U50": TEXT}}), "input", "input schema")

    assert len(looked_up) == len(set(looked_up)) == 51


@requirement("contracts.schema.loops")
def test_what_comes_back_inside_of_a_value_is_recursion_and_no_loop() -> None:
    tree: Schema = {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"next": OF_U}}]}
    schema: Schema = {"properties": {"u": OF_U, "like": {"const": {"anyOf": [OF_U]}}}, "$defs": {"U": tree}}

    assert accepts(schema, {"u": {"next": {"next": None}}})
    assert not accepts(schema, {"u": {"next": 1}})
