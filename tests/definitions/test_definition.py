from __future__ import annotations

import json
from typing import cast

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import (
    DefinitionError,
    EffectDeclaration,
    EffectTarget,
    Lifecycle,
    Risk,
    Semantics,
    ToolDefinition,
    ToolId,
)
from armory_trio.definitions import parse_json
from tests.requirements import requirement

CHARGE = EffectDeclaration("external-write", (EffectTarget("service", "stripe"),))


def definition(**parts: object) -> ToolDefinition:
    base = ToolDefinition(ToolId("charge", "billing", "1.2.0"), "Charge a card.")
    return attrs.evolve(base, **parts)  # type: ignore[arg-type]  # some tests give parts of the wrong type


# ── Tags, lifecycle, JSON parts ──────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.tags")
def test_tags_are_trimmed_and_not_repeated_and_keep_their_order() -> None:
    assert definition(tags=["  hello-world ", "b", "hello-world", "a", "b"]).tags == ("hello-world", "b", "a")


@requirement("definitions.tags")
@pytest.mark.parametrize("tag", ["Bad_Tag", "CamelCase", "a--b", "-a", "a-", "ä", "a b", "a\nb"])
def test_a_tag_that_is_not_kebab_case_is_refused(tag: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        definition(tags=["fine", tag])
    assert caught.value.subject == "tool 'charge'"
    assert caught.value.field == "tags[1]"
    assert "kebab-case" in caught.value.reason


@requirement("definitions.tags")
@pytest.mark.parametrize(("tags", "words"), [("math", "must be a list"), ([1], "must be text"), ([" "], "is blank")])
def test_tags_that_are_no_list_of_words_are_refused(tags: object, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        definition(tags=tags)


@requirement("definitions.risk.tags")
def test_tags_that_the_risk_implies_come_behind_the_users() -> None:
    assert definition(tags=["dangerous", "money"], risk=Risk(mutates=True, dangerous=True)).tags == (
        "dangerous",
        "money",
        "mutating",
    )


@requirement("definitions.risk.flags")
def test_the_risk_of_a_definition_includes_the_metadatas_flags() -> None:
    found = definition(metadata={"readOnly": True})
    assert found.risk == Risk(read_only=True)
    assert found.tags == ("readonly",)
    assert found.classification.tier == "read-only"


@requirement("definitions.lifecycle")
@pytest.mark.parametrize(("deprecated", "counts"), [(True, True), ("old", True), (False, False), ("", False)])
def test_a_tool_is_deprecated_by_true_or_by_text(deprecated: bool | str, counts: bool) -> None:
    assert definition(lifecycle=Lifecycle(deprecated=deprecated)).deprecated is counts


@requirement("definitions.lifecycle")
def test_a_replacement_is_named_by_id() -> None:
    lifecycle = Lifecycle(deprecated=True, message="slow", replaced_by="billing:charge@2")
    assert lifecycle.replaced_by == ToolId("charge", "billing", "2")
    assert lifecycle.wire() == {"deprecated": True, "message": "slow", "replacedBy": "billing:charge@2"}
    assert Lifecycle(replaced_by=ToolId("other")).replaced_by == ToolId("other")
    assert Lifecycle().wire() == {}


@requirement("definitions.lifecycle")
@pytest.mark.parametrize(
    ("field", "value"), [("deprecated", 1), ("message", 3), ("replaced_by", 5), ("replaced_by", " ")]
)
def test_a_lifecycle_of_the_wrong_type_is_refused(field: str, value: object) -> None:
    with pytest.raises(DefinitionError):
        Lifecycle(**{field: value})  # type: ignore[arg-type]  # the mistake under test


@requirement("definitions.json-checked")
@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"metadata": {"nested": {"value": float("nan")}}}, "metadata.nested.value"),
        ({"metadata": {"list": [1, {2}]}}, "metadata.list[1]"),
        ({"metadata": {"when": object()}}, "metadata.when"),
        ({"metadata": [1]}, "metadata"),
        ({"metadata": None}, "metadata"),
        ({"examples": [{"a": 1}, {"b": print}]}, "examples[1].b"),
        ({"examples": "one"}, "examples"),
        ({"input_schema": {"type": object}}, "input_schema.type"),
    ],
)
def test_what_is_no_json_is_refused_with_its_path(parts: dict[str, object], field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        definition(**parts)
    assert caught.value.subject == "tool 'charge'"
    assert caught.value.field == field


@requirement("definitions.json-checked")
def test_metadata_that_contains_itself_is_refused() -> None:
    metadata: dict[str, object] = {}
    metadata["self"] = metadata
    with pytest.raises(DefinitionError, match="metadata"):
        definition(metadata=metadata)


@requirement("definitions.tool.wrong-declaration")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("description", None),
        ("title", 3),
        ("risk", {"mutates": True}),
        ("effect", "read-only"),
        ("lifecycle", True),
        ("semantics", {"concurrency": "shared"}),
        ("effect_windows", 1),
        ("requires_approval", "yes"),
    ],
)
def test_a_part_of_the_wrong_type_is_refused(field: str, value: object) -> None:
    with pytest.raises(DefinitionError) as caught:
        definition(**{field: value})
    assert (caught.value.subject, caught.value.field) == ("tool 'charge'", field)


@requirement("definitions.tool.wrong-declaration")
@pytest.mark.parametrize(
    "parts", [{"effect": EffectDeclaration("read-only")}, {"risk": Risk(read_only=True)}, {"tags": ["readonly"]}]
)
def test_a_read_only_tool_has_no_effect_windows(parts: dict[str, object]) -> None:
    with pytest.raises(DefinitionError, match="effect_windows: a read-only tool has no effect"):
        definition(effect_windows=True, **parts)


def test_a_tool_that_only_seems_read_only_may_have_effect_windows() -> None:
    found = definition(effect_windows=True, effect=CHARGE, risk=Risk(read_only=True))
    assert found.effect_windows
    assert found.classification.effect_class == "external-write"


# ── A portable value ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.portable")
def test_a_definition_is_written_in_full() -> None:
    found = definition(
        title="Charge",
        tags=["money"],
        examples=[{"cents": 100}, "Charge one euro."],
        metadata={"team": "billing", "limits": [1, 2]},
        risk=Risk(mutates=True),
        effect=CHARGE,
        effect_windows=True,
        requires_approval=True,
        lifecycle=Lifecycle(deprecated="use v2"),
        semantics=Semantics(concurrency="exclusive"),
        input_schema={"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]},
    )
    assert found.to_json() == {
        "schemaVersion": "2020-12",
        "id": "billing:charge@1.2.0",
        "identity": {"namespace": "billing", "name": "charge", "version": "1.2.0"},
        "display": {
            "title": "Charge",
            "description": "Charge a card.",
            "examples": [{"cents": 100}, "Charge one euro."],
        },
        "name": "charge",
        "description": "Charge a card.",
        "tags": ["money", "mutating"],
        "metadata": {"team": "billing", "limits": [1, 2]},
        "risk": {"mutates": True},
        "lifecycle": {"deprecated": "use v2"},
        "effect": {"class": "external-write", "targets": [{"kind": "service", "id": "stripe"}]},
        "effectWindows": True,
        "requiresApproval": True,
        "execution": {
            "concurrency": "exclusive",
            "cancellation": "cooperative",
            "idempotency": "not-supported",
            "retryAfterStart": "never",
        },
        "input": {"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]},
    }
    assert json.loads(json.dumps(found.to_json())) == found.to_json()


@requirement("definitions.portable")
def test_what_was_not_said_is_not_written_and_the_title_is_the_name() -> None:
    bare = ToolDefinition(ToolId("add"))
    assert (bare.name, bare.title) == ("add", "add")
    written = bare.to_json()
    assert written["identity"] == {"namespace": "default", "name": "add"}
    assert written["display"] == {"title": "add", "description": ""}
    assert {"tags", "metadata", "risk", "lifecycle", "effect"}.isdisjoint(written)
    assert written["input"] == {"type": "object", "properties": {}, "additionalProperties": False}


@requirement("definitions.portable")
def test_changing_what_a_definition_was_made_of_changes_nothing() -> None:
    metadata: dict[str, object] = {"a": {"b": [1]}}
    schema: dict[str, object] = {"type": "object", "required": ["a"]}
    example: dict[str, object] = {"a": 1}
    tags = ["one"]
    found = definition(metadata=metadata, input_schema=schema, examples=[example], tags=tags)
    before, digest = found.to_json(), found.digest

    cast("dict[str, list[int]]", metadata["a"])["b"].append(2)
    schema["required"] = []
    example["a"] = 2
    tags.append("two")

    assert found.to_json() == before
    assert attrs.evolve(found).digest == digest


@requirement("definitions.portable")
def test_a_definition_itself_cannot_be_changed() -> None:
    found = definition(metadata={"a": {"b": 1}})
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        found.description = "other"  # type: ignore[misc]  # the mistake under test
    with pytest.raises(TypeError):
        found.metadata["a"] = 2  # type: ignore[index]  # the mistake under test
    with pytest.raises(TypeError):
        cast("dict[str, object]", found.metadata["a"])["b"] = 2
    with pytest.raises(TypeError):
        found.input_schema["type"] = "array"  # type: ignore[index]  # the mistake under test

    cast("dict[str, object]", found.to_json()["metadata"])["a"] = 2
    assert found.metadata["a"] == {"b": 1}


@requirement("definitions.portable")
def test_definitions_of_the_same_content_are_equal() -> None:
    assert definition(tags=["a"], metadata={"x": [1]}) == definition(tags=["a", "a"], metadata={"x": [1]})
    assert definition(tags=["a"]) != definition(tags=["b"])
    assert len({definition(tags=["a"]), definition(tags=["a"])}) == 1


@requirement("definitions.portable")
@pytest.mark.parametrize(
    "parts",
    [
        {"risk": Risk(read_only=True, mutates=True)},
        {"risk": Risk(read_only=True), "metadata": {"readOnly": False}},
        {"effect": EffectDeclaration("read-only"), "tags": ["dangerous"]},
        {"metadata": {"dangerous": True, "untrusted_output": True}},
    ],
)
def test_making_a_definition_anew_of_its_own_parts_changes_nothing(parts: dict[str, object]) -> None:
    found = definition(**parts)
    again = attrs.evolve(found)
    assert again == found
    assert again.digest == found.digest
    assert again.classification == found.classification


# ── The digest ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.digest")
def test_the_digest_does_not_depend_on_how_equal_content_was_spelled() -> None:
    one = definition(metadata={"a": 1, "b": 2}, effect=CHARGE)
    other = definition(metadata={"b": 2.0, "a": 1}, effect=attrs.evolve(CHARGE))
    assert one.digest == other.digest
    assert len(one.digest) == 64
    assert set(one.digest) <= set("0123456789abcdef")


@requirement("definitions.digest")
@pytest.mark.parametrize(
    "change",
    [
        {"id": ToolId("charge", "billing", "1.2.1")},
        {"description": "Charge a card!"},
        {"title": "Other"},
        {"tags": ["x"]},
        {"examples": [1]},
        {"metadata": {"x": 1}},
        {"risk": Risk(notes=("slow",))},
        {"effect": CHARGE},
        {"effect_windows": True},
        {"requires_approval": True},
        {"lifecycle": Lifecycle(deprecated=True)},
        {"semantics": Semantics(concurrency="exclusive")},
        {"input_schema": {"type": "object"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_difference_in_content_gives_another_digest(change: dict[str, object]) -> None:
    assert definition(**change).digest != definition().digest


@requirement("definitions.digest")
def test_a_large_bound_in_a_schema_is_no_obstacle_to_a_digest() -> None:
    def bounded(maximum: int) -> str:
        return definition(input_schema={"properties": {"n": {"maximum": maximum}}}).digest

    assert bounded(2**63 - 1) == bounded(2**63 - 1)
    assert len({bounded(2**63 - 1), bounded(2**63), bounded(2**53), bounded(2**53 - 1)}) == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@requirement("definitions.digest", "definitions.portable")
@given(st.dictionaries(st.text("abc"), JSON, max_size=4))
def test_any_json_metadata_survives_being_written_and_read(metadata: dict[str, object]) -> None:
    found = definition(metadata=metadata)
    read = cast("dict[str, object]", parse_json(json.dumps(found.to_json())))
    again = definition(metadata=read.get("metadata", {}))
    assert again.digest == found.digest
