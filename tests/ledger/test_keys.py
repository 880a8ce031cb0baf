"""Keys made of arguments."""

from __future__ import annotations

import hashlib
from typing import Final, cast

import pytest

from armory_trio import DefinitionError, JsonError
from armory_trio.ledger import KeyRule, composite_key, field_key, full_input_key, namespaced_key
from tests.requirements import requirement


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_like(key: str, beginning: str, end: str) -> bool:
    return len(key) == 64 and key.startswith(beginning) and key.endswith(end)


VALUES: Final[list[object]] = [
    None,
    "",
    "u1",
    1,
    "1",
    0,
    False,
    "false",
    [],
    {},
    "null",
    '""',
    "empty",
    [""],
    ["", ""],
    1.5,
]


@requirement("ledger.keys.made")
def test_a_key_of_everything_is_that_of_the_systems_before() -> None:
    assert is_like(full_input_key({}), "44136fa3", "aff8a")
    assert is_like(full_input_key({"a": 1, "b": 2}), "43258cff", "2777")
    assert is_like(full_input_key({"b": 2, "a": 1}), "43258cff", "2777")
    assert is_like(full_input_key(None), "74234e98", "b90b")


@requirement("ledger.keys.made")
def test_a_key_of_everything_does_not_care_how_it_was_written() -> None:
    assert full_input_key({"a": {"x": 1, "y": [1, 2]}}) == full_input_key({"a": {"y": [1.0, 2], "x": 1}})
    assert full_input_key({"a": [1, 2]}) != full_input_key({"a": [2, 1]})
    assert full_input_key({"a": 10**30}) != full_input_key({"a": 10**30 + 1})


@requirement("ledger.keys.made")
def test_a_key_of_one_argument_is_that_of_the_systems_before() -> None:
    assert is_like(field_key("id")({"id": "u1"}), "93926d17", "5879")
    assert is_like(field_key("id")({}), "12ae32cb", "e126")


@requirement("ledger.keys.made")
def test_a_key_of_several_arguments_is_that_of_the_systems_before() -> None:
    rule = composite_key("id", "kind")

    assert is_like(rule({"id": "u1", "kind": "x"}), "5e51e140", "0c9c")
    assert is_like(rule({}), "439083f3", "7375")


@requirement("ledger.keys.made")
def test_other_arguments_make_no_difference() -> None:
    assert field_key("id")({"id": 7, "note": "a"}) == field_key("id")({"note": "b", "id": 7}) == digest("7")
    rule = composite_key("id", "kind")
    assert rule({"id": 7, "kind": {"b": 1, "a": 2}, "note": "a"}) == digest('[7,{"a":2,"b":1}]')


@requirement("ledger.keys.made")
def test_the_order_of_the_names_counts() -> None:
    arguments = {"id": "u1", "kind": "x"}

    assert composite_key("id", "kind")(arguments) != composite_key("kind", "id")(arguments)


@requirement("ledger.keys.told-apart")
def test_no_two_values_make_one_key_nor_is_any_like_a_missing_one() -> None:
    one, two = field_key("id"), composite_key("id", "kind")

    assert len({one({}), *(one({"id": value}) for value in VALUES)}) == len(VALUES) + 1
    pairs = [{"id": left, "kind": right} for left in VALUES for right in VALUES]
    single = [{name: value} for name in ("id", "kind") for value in VALUES]
    assert len({two(arguments) for arguments in [{}, *single, *pairs]}) == 1 + len(single) + len(pairs)


@requirement("ledger.keys.namespaces")
def test_no_two_pairs_of_namespace_and_key_make_one_key() -> None:
    texts = ["a", "b", "a:b", "b:c", "c", '"', '","', "a,b"]

    assert len({namespaced_key(space, key) for space in texts for key in texts}) == len(texts) ** 2
    assert namespaced_key("a:b", "c") == '["a:b","c"]'


@requirement("ledger.keys.namespaces")
def test_a_rule_within_a_namespace_is_a_rule() -> None:
    rule = namespaced_key("orders", field_key("id"))

    assert rule({"id": 7}) == namespaced_key("orders", digest("7"))


@requirement("ledger.keys.made")
def test_rules_show_what_they_read_and_those_that_do_the_same_are_equal() -> None:
    assert field_key(" id ") == field_key("id")
    assert field_key("id") != composite_key("id")
    assert namespaced_key("a", field_key("id")) == namespaced_key("a", field_key("id"))
    assert "id" in repr(field_key("id"))
    assert getattr(composite_key("id", "kind"), "fields", None) == ("id", "kind")


@requirement("ledger.keys.made")
def test_what_is_no_json_makes_no_key() -> None:
    for rule in (full_input_key, field_key("id"), composite_key("id")):
        with pytest.raises(JsonError):
            rule({"id": float("nan")})


@requirement("ledger.keys.settings")
def test_wrong_names_are_refused_when_the_rule_is_made() -> None:
    with pytest.raises(DefinitionError, match="blank"):
        field_key(" ")
    with pytest.raises(DefinitionError, match="must be text"):
        field_key(cast("str", 7))
    with pytest.raises(DefinitionError, match="are missing"):
        composite_key()
    with pytest.raises(DefinitionError, match="twice"):
        composite_key("id", "id ")


@requirement("ledger.keys.settings")
def test_wrong_namespaces_and_rules_are_refused() -> None:
    with pytest.raises(DefinitionError, match="blank"):
        namespaced_key("", "key")
    with pytest.raises(DefinitionError, match="function of the arguments"):
        namespaced_key("orders", cast("KeyRule", 7))
