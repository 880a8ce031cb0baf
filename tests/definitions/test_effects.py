from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import Classification, DefinitionError, EffectClass, EffectDeclaration, EffectTarget, Risk, Semantics
from armory_trio.definitions import TargetKind, Tier, classify
from armory_trio.definitions._effects import effective_risk, parse_effect, risk_tags
from tests.requirements import requirement

SERVICE = {"kind": "service", "id": "stripe"}
CLASSES: tuple[EffectClass, ...] = get_args(EffectClass)
STRICTER = [name for name in CLASSES if name != "read-only"]
TIERS = {
    "read-only": "read-only",
    "reversible": "mutating",
    "external-write": "mutating",
    "destructive": "dangerous",
    "privileged": "dangerous",
}


def declared(class_: EffectClass) -> EffectDeclaration:
    return EffectDeclaration(class_, (EffectTarget("service", "stripe"),))


# ── Declaring an effect ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.effect.read-only-bare")
def test_read_only_may_be_a_bare_word() -> None:
    assert parse_effect("read-only") == EffectDeclaration("read-only", ())
    assert parse_effect({"class": "read-only", "targets": []}) == parse_effect("read-only")
    assert parse_effect({"class": "read-only", "targets": [SERVICE]}).targets == (EffectTarget("service", "stripe"),)


@requirement("definitions.effect.targets-stated")
@pytest.mark.parametrize("word", STRICTER)
def test_every_other_class_has_to_state_its_targets(word: EffectClass) -> None:
    attempts: list[object] = [word, {"class": word, "targets": []}, {"class": word}]
    for attempt in attempts:
        with pytest.raises(DefinitionError) as caught:
            parse_effect(attempt)
        assert caught.value.field == "targets"
        article = "an" if word == "external-write" else "a"
        assert caught.value.reason.startswith(f"{article} {word} effect must state ")

    assert parse_effect({"class": word, "targets": [SERVICE]}) == declared(word)
    assert parse_effect({"class": word, "targets": (EffectTarget("service", "stripe"),)}) == declared(word)
    assert parse_effect(declared(word)) == declared(word)


@requirement("definitions.effect.checked")
@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        ("readonly", "class", "did you mean 'read-only'"),
        (None, "class", "must be 'read-only' or"),
        (3, "class", "must be 'read-only' or"),
        (["read-only"], "class", "must be 'read-only' or"),
        ({"class": "deadly", "targets": [SERVICE]}, "class", "'deadly' is not one of"),
        ({"targets": [SERVICE]}, "class", "None is not one of"),
        ({"class": "destructive", "target": [SERVICE]}, "target", "is unknown here"),
        ({"class": "destructive", "targets": "stripe"}, "targets", "must be a list"),
        ({"class": "destructive", "targets": SERVICE}, "targets", "must be a list"),
        ({"class": "destructive", "targets": ["stripe"]}, "targets[0]", 'must be a dict such as {"kind": "service"'),
        ({"class": "destructive", "targets": [SERVICE, {"kind": "planet", "id": "x"}]}, "targets[1].kind", "'planet'"),
        ({"class": "destructive", "targets": [{"kind": "service"}]}, "targets[0].id", "printable ASCII"),
        ({"class": "destructive", "targets": [{**SERVICE, "name": "x"}]}, "targets[0].name", "is unknown here"),
    ],
)
def test_a_wrong_effect_is_refused_with_its_place(wrong: object, field: str, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_effect(wrong)
    assert caught.value.field == field
    assert words in caught.value.reason


@requirement("definitions.effect.checked")
@pytest.mark.parametrize("id_", ["", " ", "a b", "é", "a\n", "\x7f", "x" * 256])
def test_a_target_id_is_printable_ascii_without_spaces(id_: str) -> None:
    with pytest.raises(DefinitionError, match="printable ASCII"):
        EffectTarget("service", id_)


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=255))
def test_any_printable_ascii_of_up_to_255_characters_is_a_target_id(id_: str) -> None:
    assert EffectTarget("other", id_).id == id_


@requirement("definitions.effect.order")
def test_targets_stand_in_order_of_kind_and_id_by_code_unit_and_repeat() -> None:
    ids = ["a1", "B", "a_b", "A", "a-b", "Z:1", "a", "a"]
    effect = EffectDeclaration(
        "privileged", (EffectTarget("tenant", "t"), *(EffectTarget("service", id_) for id_ in ids))
    )

    assert [target.id for target in effect.targets] == [*sorted(ids), "t"]
    assert effect.wire() == {
        "class": "privileged",
        "targets": [*({"kind": "service", "id": id_} for id_ in sorted(ids)), {"kind": "tenant", "id": "t"}],
    }


KINDS: tuple[TargetKind, ...] = get_args(TargetKind)


@given(
    st.sampled_from(STRICTER),
    st.lists(st.tuples(st.sampled_from(KINDS), st.text("abzAZ0:-", min_size=1)), min_size=1),
)
def test_an_effect_reads_back_from_its_wire_form(class_: EffectClass, targets: list[tuple[TargetKind, str]]) -> None:
    effect = EffectDeclaration(class_, tuple(EffectTarget(kind, id_) for kind, id_ in targets))
    assert parse_effect(effect.wire()) == effect


# ── Risk ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.risk.flags")
def test_flags_in_the_metadata_count_as_risk_in_either_spelling() -> None:
    assert effective_risk(None, {"readOnly": True, "untrusted_output": True}) == Risk(
        read_only=True, untrusted_output=True
    )
    assert effective_risk(None, {"read_only": True, "untrustedOutput": True, "mutates": False}) == Risk(
        read_only=True, untrusted_output=True, mutates=False
    )
    assert effective_risk(None, {"team": "billing"}) is None
    assert effective_risk(None, {"dangerous": None}) is None
    assert effective_risk(Risk(notes=("slow",)), {"dangerous": True}) == Risk(dangerous=True, notes=("slow",))


@requirement("definitions.classify.stricter")
@pytest.mark.parametrize("field", ["mutates", "dangerous", "untrusted_output"])
def test_risk_and_metadata_that_disagree_are_read_strictly(field: str) -> None:
    for explicit, flag in ((True, False), (False, True)):
        risk = effective_risk(Risk(**{field: explicit}), {field: flag})
        assert risk is not None
        assert getattr(risk, field) is True
    disputed = Risk(read_only=False, mutates=True)
    assert effective_risk(Risk(read_only=True), {"readOnly": False}) == disputed
    assert effective_risk(Risk(read_only=False), {"readOnly": True}) == disputed
    assert effective_risk(None, {"readOnly": True, "read_only": False, "mutates": False}) == disputed
    assert effective_risk(disputed, {"readOnly": True}) == disputed


@requirement("definitions.risk.flags")
@pytest.mark.parametrize("key", ["readOnly", "read_only", "mutates", "dangerous", "untrustedOutput"])
@pytest.mark.parametrize("value", ["yes", 1, [True]])
def test_a_flag_that_is_neither_true_nor_false_is_refused(key: str, value: object) -> None:
    with pytest.raises(DefinitionError) as caught:
        effective_risk(None, {key: value})
    assert caught.value.field == f"metadata.{key}"


@requirement("definitions.risk.flags")
def test_a_risk_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(DefinitionError, match="mutates: must be True or False, not 'yes'"):
        Risk(mutates="yes")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(DefinitionError, match="permissions: must be a list of names"):
        Risk(permissions="disk")
    with pytest.raises(DefinitionError, match=r"notes\[1\]: is blank"):
        Risk(notes=("slow", " "))


def test_a_risk_is_written_with_only_what_was_said() -> None:
    assert Risk().wire() == {}
    assert Risk(read_only=False, dangerous=True, permissions=("disk",)).wire() == {
        "readOnly": False,
        "dangerous": True,
        "permissions": ["disk"],
    }


@requirement("definitions.risk.tags")
def test_risk_adds_its_tags() -> None:
    risk = Risk(mutates=True, dangerous=True, untrusted_output=True)
    assert risk_tags(risk, classify(None, risk, ())) == ("mutating", "dangerous", "untrusted-output")
    assert risk_tags(Risk(read_only=True), classify(None, Risk(read_only=True), ())) == ("readonly",)
    assert risk_tags(Risk(mutates=False), classify(None, Risk(mutates=False), ())) == ()
    assert risk_tags(None, classify(None, None, ())) == ()


@requirement("definitions.risk.tags")
def test_a_tool_that_does_not_count_as_read_only_is_not_tagged_so() -> None:
    risk = Risk(read_only=True, mutates=True)
    assert risk_tags(risk, classify(None, risk, ())) == ("mutating",)


# ── The one classifier ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.classify.one-reading")
@pytest.mark.parametrize("class_", CLASSES)
def test_a_declared_effect_is_its_class_and_its_tier(class_: EffectClass) -> None:
    found = classify(declared(class_), None, ())
    assert (found.effect_class, found.classified, found.tier) == (class_, True, TIERS[class_])
    assert found.contradiction == ()
    assert found.read_only is (class_ == "read-only")


@requirement("definitions.classify.one-reading")
@pytest.mark.parametrize(
    ("risk", "tags", "effect_class", "tier"),
    [
        (Risk(read_only=True), (), "read-only", "read-only"),
        (Risk(read_only=True, mutates=False, dangerous=False), (), "read-only", "read-only"),
        (Risk(mutates=True), (), "external-write", "mutating"),
        (Risk(dangerous=True), (), "destructive", "dangerous"),
        (Risk(mutates=True, dangerous=True), (), "destructive", "dangerous"),
        (None, ("readonly",), "read-only", "read-only"),
        (None, ("read-only", "files"), "read-only", "read-only"),
        (None, ("mutating",), "external-write", "mutating"),
        (None, ("dangerous",), "destructive", "dangerous"),
    ],
)
def test_risk_and_tags_classify_like_an_effect(
    risk: Risk | None, tags: tuple[str, ...], effect_class: EffectClass, tier: str
) -> None:
    found = classify(None, risk, tags)
    assert (found.effect_class, found.classified, found.tier) == (effect_class, True, tier)
    assert found.contradiction == ()


@requirement("definitions.classify.unclassified")
@pytest.mark.parametrize(
    "risk", [None, Risk(), Risk(untrusted_output=True), Risk(mutates=False), Risk(read_only=False)]
)
def test_a_tool_about_which_nobody_said_anything_counts_as_an_external_write(risk: Risk | None) -> None:
    assert classify(None, risk, ("billing", "math")) == Classification("external-write", classified=False, tier=None)


@requirement("definitions.classify.stricter")
@pytest.mark.parametrize(
    ("effect", "risk", "tag", "expected"),
    [
        ("read-only", Risk(mutates=True), "", ("external-write", "mutating", ("effect=read-only", "risk.mutates"))),
        ("read-only", None, "dangerous", ("destructive", "dangerous", ("effect=read-only", "tag dangerous"))),
        ("privileged", Risk(read_only=True), "", ("privileged", "dangerous", ("risk.read_only", "effect=privileged"))),
        (None, Risk(read_only=True), "mutating", ("external-write", "mutating", ("risk.read_only", "tag mutating"))),
        (
            None,
            Risk(read_only=False),
            "readonly",
            ("external-write", "mutating", ("tag readonly", "risk.read_only=False")),
        ),
        ("reversible", Risk(mutates=True), "", ("reversible", "mutating", ())),
        ("external-write", Risk(dangerous=True), "", ("external-write", "dangerous", ())),
        ("destructive", Risk(mutates=True), "", ("destructive", "dangerous", ())),
    ],
)
def test_of_two_readings_the_stricter_one_stands(
    effect: EffectClass | None, risk: Risk | None, tag: str, expected: tuple[EffectClass, Tier, tuple[str, ...]]
) -> None:
    found = classify(declared(effect) if effect else None, risk, [tag])
    assert (found.effect_class, found.tier, found.contradiction) == expected
    assert found.classified


_RISKS = st.builds(
    Risk,
    read_only=st.sampled_from([None, True, False]),
    mutates=st.sampled_from([None, True, False]),
    dangerous=st.sampled_from([None, True, False]),
)
_TAGS = st.lists(st.sampled_from(["readonly", "read-only", "mutating", "dangerous", "math"]), max_size=3)
_EFFECTS = st.one_of(st.none(), st.sampled_from(CLASSES).map(declared))
_STRICTNESS: Mapping[str | None, int] = {"read-only": 0, None: 1, "mutating": 1, "dangerous": 2}


@requirement("definitions.classify.stricter")
@given(_EFFECTS, _RISKS, _TAGS, _RISKS, _TAGS)
def test_saying_more_never_makes_a_classified_tool_count_as_milder(
    effect: EffectDeclaration | None, risk: Risk, tags: list[str], more_risk: Risk, more_tags: list[str]
) -> None:
    before = classify(effect, risk, tags)
    flags = {"read_only": more_risk.read_only, "mutates": more_risk.mutates, "dangerous": more_risk.dangerous}
    after = classify(effect, effective_risk(risk, flags), [*tags, *more_tags])

    assert after.classified or not before.classified
    if before.classified:
        assert _STRICTNESS[after.tier] >= _STRICTNESS[before.tier]
        assert CLASSES.index(after.effect_class) >= CLASSES.index(before.effect_class)


@given(_EFFECTS, _RISKS, _TAGS)
def test_only_what_nobody_denies_is_read_only(effect: EffectDeclaration | None, risk: Risk, tags: list[str]) -> None:
    found = classify(effect, risk, tags)
    assert found.read_only is (found.tier == "read-only")
    if found.read_only:
        assert not risk.mutates
        assert not risk.dangerous
        assert risk.read_only is not False
        assert {"mutating", "dangerous"}.isdisjoint(tags)


# ── Semantics ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.semantics")
def test_semantics_have_defaults_and_the_words_of_action_documents() -> None:
    assert Semantics().wire() == {
        "concurrency": "shared",
        "cancellation": "cooperative",
        "idempotency": "not-supported",
        "retryAfterStart": "never",
    }
    spelled = Semantics(
        concurrency="exclusive",
        cancellation="provider-acknowledged",
        idempotency="provider-enforced",
        retry_after_start="requires-conformance",
    )
    assert spelled.wire() == {
        "concurrency": "exclusive",
        "cancellation": "provider-acknowledged",
        "idempotency": "provider-enforced",
        "retryAfterStart": "requires-conformance",
    }


@requirement("definitions.semantics")
@pytest.mark.parametrize("field", ["concurrency", "cancellation", "idempotency", "retry_after_start"])
def test_a_semantic_that_does_not_exist_is_refused(field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Semantics(**{field: "sometimes"})  # type: ignore[arg-type]  # the mistake under test
    assert caught.value.field == field
    assert "'sometimes' is not one of" in caught.value.reason
