"""What counts as a JSON value: plain forms, depth and cycles, and frozen copies."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import cast

import pytest
from hypothesis import given

from armory_trio.definitions._canonical import (
    MAX_DEPTH,
    JsonMode,
    canonical_text,
    freeze_json,
    parse_json,
    require_json,
    thaw_json,
)
from tests.definitions._json import (
    BOTH,
    Colour,
    Count,
    Extended,
    Name,
    Pair,
    Point,
    Ratio,
    Word,
    any_text,
    cycle,
    json_values,
    refusal,
    refused,
)
from tests.requirements import requirement

# ── Plain values ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("canonical.plain-values")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (OrderedDict([("b", 1), ("a", 2)]), '{"a":2,"b":1}'),
        (UserDict(b=1, a=2), '{"a":2,"b":1}'),
        (MappingProxyType({"a": (1, [2])}), '{"a":[1,[2]]}'),
        (Extended([2, 1]), "[2,1]"),
        ([Name("x"), Word.A, Count.ONE, Ratio(1.5), Ratio(2)], '["x","a",1,1.5,2]'),
        ({Word.A: 1, Name("b"): 2}, '{"a":1,"b":2}'),
        ((), "[]"),
    ],
)
def test_exact_mode_takes_subclasses_by_their_plain_value(value: object, text: str) -> None:
    assert canonical_text(value, mode="exact") == text
    require_json(value)


@requirement("canonical.plain-values")
@BOTH
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (Pair(1, 2), "non-plain-object"),
        (Point(), "non-plain-object"),
        (Colour.RED, "non-plain-object"),
        (b"x", "non-plain-object"),
        ({1, 2}, "non-plain-object"),
        (datetime(2026, 1, 2, tzinfo=UTC), "non-plain-object"),
        (Decimal("1.1"), "unsupported-type"),
        (range(3), "unsupported-type"),
        (iter([1]), "unsupported-type"),
        (Point, "unsupported-type"),
        (math.nan, "non-finite-number"),
        ({1: 2}, "symbol-key"),
        (cycle(), "cyclic-reference"),
    ],
)
def test_what_has_no_one_plain_value_is_refused_in_both_modes(value: object, code: str, mode: JsonMode) -> None:
    assert refused(value, mode)[0] == code
    assert refusal(require_json, value).code == code


@requirement("canonical.plain-values")
def test_interop_takes_frozen_json_and_calls_no_hook() -> None:
    value: object = {"toJSON": "x", "__proto__": {"__class__": 1}, "list": [1, {"a": [2]}]}

    assert canonical_text(freeze_json(value), mode="interop") == canonical_text(value, mode="interop")
    assert parse_json(canonical_text(value, mode="interop")) == value


class Unlike(str):
    """A string that says it equals no other, so that a dict takes it beside its twin."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@requirement("canonical.plain-values")
def test_two_keys_that_would_be_written_alike_are_refused() -> None:
    twins = {"k": {"a": 1, Unlike("a"): 2}}

    assert refused(twins, "exact") == ("duplicate-key", ("k",))
    assert refused(twins, "interop") == ("symbol-key", ("k",))
    assert refusal(freeze_json, twins).code == "duplicate-key"


# ── Depth and cycles ─────────────────────────────────────────────────────────────────────────────────────────────────


def in_list(inner: object) -> object:
    return [inner]


def in_dict(inner: object) -> object:
    return {"a": inner}


def in_tuple(inner: object) -> object:
    return (inner,)


def in_proxy(inner: object) -> object:
    return MappingProxyType({"a": inner})


def nested(depth: int, wrap: Callable[[object], object]) -> object:
    value: object = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@requirement("canonical.deep-values")
@pytest.mark.parametrize(
    "wrap",
    [in_list, in_dict, in_tuple, in_proxy],
)
def test_a_value_may_nest_so_deep_and_no_deeper(wrap: Callable[[object], object]) -> None:
    fits, over, far_over = nested(MAX_DEPTH, wrap), nested(MAX_DEPTH + 1, wrap), nested(50_000, wrap)

    assert canonical_text(fits, mode="interop") == canonical_text(thaw_json(freeze_json(fits)), mode="exact")
    for value in (over, far_over):
        assert refused(value, "interop")[0] == "too-deep"
        assert refused(value, "exact")[0] == "too-deep"
        assert refusal(freeze_json, value).code == "too-deep"


@requirement("canonical.deep-values")
@BOTH
def test_a_value_that_holds_itself_is_refused_where_it_comes_round(mode: JsonMode) -> None:
    ring: list[object] = [1, 2]
    ring.append(ring)
    inner: dict[str, object] = {}
    inner["proxy"] = MappingProxyType(inner)

    assert refused(ring, mode) == ("cyclic-reference", (2,))
    assert refused(cycle(), mode) == ("cyclic-reference", ("a", "b", 0))
    assert refused({"a": inner}, mode) == ("cyclic-reference", ("a", "proxy", "proxy"))
    assert refusal(freeze_json, cycle()).path == ("a", "b", 0)


@requirement("canonical.deep-values")
@BOTH
def test_a_part_that_stands_twice_is_no_cycle(mode: JsonMode) -> None:
    part = {"x": [1]}

    assert canonical_text({"a": part, "b": [part, part]}, mode=mode) == '{"a":{"x":[1]},"b":[{"x":[1]},{"x":[1]}]}'


# ── Checked and frozen copies ────────────────────────────────────────────────────────────────────────────────────────


@requirement("canonical.frozen-copies")
@given(json_values(any_text))
def test_a_frozen_value_thaws_to_what_it_was(value: object) -> None:
    frozen = freeze_json(value)
    thawed = thaw_json(frozen)

    assert thawed == value
    assert json.dumps(thawed) == json.dumps(value)
    assert canonical_text(frozen, mode="exact") == canonical_text(value, mode="exact")


@requirement("canonical.frozen-copies")
def test_a_frozen_value_shares_nothing_and_cannot_change() -> None:
    inner: list[object] = [1, {"deep": 1.0}]
    value: dict[str, object] = {"b": inner, "a": Name("x")}

    frozen = freeze_json(value)
    inner.append(2)
    value["c"] = 3

    assert isinstance(frozen, Mapping)
    assert list(cast("Mapping[str, object]", frozen)) == ["b", "a"]
    assert frozen == {"b": (1, {"deep": 1.0}), "a": "x"}
    assert type(cast("Mapping[str, object]", frozen)["a"]) is str
    with pytest.raises(TypeError):
        cast("dict[str, object]", frozen)["d"] = 1
    with pytest.raises(TypeError):
        cast("dict[str, list[dict[str, object]]]", frozen)["b"][1]["deep"] = 2


@requirement("canonical.frozen-copies")
def test_a_thawed_value_is_the_callers_own() -> None:
    frozen = freeze_json({"a": [{"b": 1}]})
    one, other = thaw_json(frozen), thaw_json(frozen)

    cast("dict[str, list[object]]", one)["a"].append(2)

    assert other == {"a": [{"b": 1}]}
    assert frozen == {"a": ({"b": 1},)}


@requirement("canonical.frozen-copies")
def test_what_was_frozen_here_is_not_copied_again_and_a_proxy_of_anything_else_is() -> None:
    frozen, theirs = freeze_json({"a": [{"b": 1}]}), {"a": 1}
    inner = cast("Mapping[str, tuple[object]]", frozen)["a"][0]
    proxy = MappingProxyType(theirs)
    copied = freeze_json(proxy)
    theirs["a"] = 2

    assert freeze_json(frozen) is frozen
    assert freeze_json(inner) is inner
    assert copied == {"a": 1}
    assert thaw_json(proxy) == {"a": 2}
    with pytest.raises(KeyError):
        cast("Mapping[str, object]", frozen)["b"]


class Answering(dict[str, object]):
    def __missing__(self, key: object) -> object:
        return key


@requirement("canonical.frozen-copies")
@pytest.mark.parametrize("theirs", [Answering(a=[1]), UserDict({"a": [1]}), defaultdict(list, {"a": [1]})], ids=type)
def test_a_mapping_that_answers_to_everything_is_not_taken_for_frozen(theirs: Mapping[str, object]) -> None:
    assert freeze_json(MappingProxyType(theirs)) == {"a": (1,)}
    assert list(theirs) == ["a"]


@requirement("canonical.frozen-copies", "canonical.says-where")
@pytest.mark.parametrize("check", [freeze_json, require_json])
def test_a_value_that_cannot_be_kept_is_named_with_its_root(check: Callable[..., object]) -> None:
    error = refusal(check, {"a": [1, {"b": object()}]}, root="metadata")

    assert (error.code, error.path) == ("unsupported-type", ("a", 1, "b"))
    assert str(error).startswith("unsupported-type at metadata.a[1].b: builtins.object is no JSON type")
    assert refusal(check, math.inf).path == ()
    assert str(refusal(check, math.inf)).startswith("non-finite-number at $: inf is not JSON")
