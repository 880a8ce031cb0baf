"""The translation of the Berkeley data's type language, construct by construct."""

from __future__ import annotations

from typing import Final

import pytest

from examples.demo.dialect import TYPES, DialectError, translate
from tests.requirements import requirement


def _with(**properties: object) -> dict[str, object]:
    return {"type": "dict", "properties": properties, "required": []}


@requirement("examples.bfcl.dialect")
@pytest.mark.parametrize(("word", "meaning"), TYPES.items())
def test_each_type_has_its_meaning(word: str, meaning: str | None) -> None:
    schema = translate(_with(p={"type": word, "description": "what it is"}))

    wanted = {"description": "what it is"} if meaning is None else {"type": meaning, "description": "what it is"}
    assert schema == {"type": "object", "properties": {"p": wanted}, "required": []}


@requirement("examples.bfcl.dialect")
def test_what_both_languages_share_stays_as_it_is() -> None:
    shared: dict[str, object] = {"description": "d", "enum": ["a", "b"], "default": "c", "format": "date", "maximum": 4}

    assert translate({"type": "string", **shared}) == {"type": "string", **shared}


@requirement("examples.bfcl.dialect")
def test_items_properties_and_required_names_are_translated_at_every_depth() -> None:
    inner = {"type": "dict", "properties": {"x": {"type": "float"}}, "required": ["x"]}
    deep = {"type": "array", "items": {"type": "tuple", "items": inner}}

    assert translate(deep) == {
        "type": "array",
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        },
    }


@requirement("examples.bfcl.dialect")
def test_a_parameter_may_be_called_like_a_keyword() -> None:
    named: dict[str, object] = {word: {"type": "float"} for word in ("type", "items", "properties", "optional", "enum")}

    assert translate(_with(**named))["properties"] == {word: {"type": "number"} for word in named}


@requirement("examples.bfcl.dialect")
def test_an_object_without_members_keeps_the_names_that_it_requires() -> None:
    assert translate({"type": "dict", "required": ["a", "b"]}) == {"type": "object", "required": ["a", "b"]}


@requirement("examples.bfcl.dialect")
@pytest.mark.parametrize("mark", [True, "True"])
def test_a_parameter_that_is_called_optional_is_one_that_is_not_required(mark: object) -> None:
    spec = _with(a={"type": "float", "optional": mark})

    assert translate(spec)["properties"] == {"a": {"type": "number"}}
    assert translate({**spec, "optional": ["a"]}) == translate(spec)


OPTIONAL: Final[dict[str, object]] = {"type": "float", "optional": True}


@requirement("examples.bfcl.dialect")
@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (_with(a={"type": "float", "minimum": 1}), r"^parameters\.a: unknown keyword 'minimum'$"),
        (_with(a={"type": "array", "items": {"type": "list"}}), r"^parameters\.a\[\]: type 'list' is none of any, "),
        (_with(a={"type": ["float"]}), r"^parameters\.a: type \['float'\] is none of"),
        (_with(a={}), r"^parameters\.a: type None is none of"),
        (_with(a="float"), r"^parameters\.a: expected an object, found 'float'$"),
        ({"type": "dict", "properties": []}, r"^parameters\.properties: expected an object"),
        ({"type": "array", "items": True}, r"^parameters\[\]: expected an object, found True$"),
        ({"type": "dict", "required": "a"}, r"^parameters\.required: expected a list of names, found 'a'$"),
        ({"type": "dict", "required": ["a", 1]}, r"^parameters\.required: expected a list of names"),
        ({"type": "dict", "optional": "a"}, r"^parameters\.optional: expected a list of names"),
        (_with(a={"type": "float", "optional": "no"}), r"^parameters\.a\.optional: expected a list of names"),
        ({**_with(a=OPTIONAL), "required": ["a"]}, r"^parameters\.a: is called optional, and is required$"),
        ({"type": "dict", "optional": ["a"], "required": ["a"]}, r"^parameters\.a: is called optional"),
    ],
)
def test_what_it_does_not_know_is_refused_with_its_place(parameters: dict[str, object], reason: str) -> None:
    with pytest.raises(DialectError, match=reason):
        translate(parameters)
