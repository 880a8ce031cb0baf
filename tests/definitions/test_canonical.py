"""Writing JSON: the canonical text of a value in both modes, digests, and frozen copies."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections import OrderedDict, UserDict
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from armory_trio.definitions._canonical import (
    JsonMode,
    canonical_bytes,
    canonical_text,
    freeze_json,
    parse_json,
    schema_digest,
    sha256_hex,
)
from armory_trio.errors import JsonError
from tests.definitions._json import (
    BOTH,
    Colour,
    Computed,
    Count,
    Extended,
    Name,
    Pair,
    Point,
    Ratio,
    Throwing,
    Word,
    any_text,
    cycle,
    json_values,
    numbers,
    raw_text,
    refusal,
    refused,
    same,
    whole,
)
from tests.requirements import requirement


class CanonicalVector(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    input_json: str
    canonical: str
    canonical_utf8_hex: str
    sha256: str


class RejectVector(msgspec.Struct, frozen=True):
    value: str
    code: str
    path: list[str | int]


class SchemaVector(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    schema_json: str
    canonical: str
    canonical_hex: str
    sha256: str


class Vectors(msgspec.Struct, frozen=True):
    canonical: list[CanonicalVector]
    rejects: list[RejectVector]
    schemas: list[SchemaVector]


VECTORS: Final = msgspec.convert(
    json.loads((Path(__file__).parents[1] / "data" / "canonical_vectors.json").read_text("utf-8")), Vectors
)


# ── The vectors ─────────────────────────────────────────────────────────────────────────────────────────────


@requirement("canonical.interop-vectors")
@pytest.mark.parametrize("vector", VECTORS.canonical, ids=lambda vector: vector.id)
def test_interop_text_is_that_of_the_vectors(vector: CanonicalVector) -> None:
    value = parse_json(vector.input_json)

    assert canonical_text(value, mode="interop") == vector.canonical
    assert canonical_bytes(value, mode="interop") == bytes.fromhex(vector.canonical_utf8_hex)
    assert sha256_hex(vector.canonical) == vector.sha256
    assert canonical_text(value, mode="exact") == vector.canonical


@requirement("canonical.interop-vectors")
@pytest.mark.parametrize("vector", VECTORS.schemas, ids=lambda vector: vector.id)
def test_schema_digests_are_those_of_the_vectors(vector: SchemaVector) -> None:
    schema = parse_json(vector.schema_json)

    assert canonical_bytes(schema, mode="interop") == bytes.fromhex(vector.canonical_hex)
    assert schema_digest(schema) == vector.sha256
    assert schema_digest(freeze_json(schema)) == vector.sha256


REJECTED: Final[dict[str, list[object]]] = {
    "NaN": [math.nan],
    "Infinity": [math.inf],
    "-Infinity": [-math.inf],
    "{a:[1,NaN]}": [{"a": [1, math.nan]}],
    "9007199254740992 (2^53)": [2**53, 2.0**53],
    "-9007199254740992": [-(2**53), -(2.0**53)],
    "1e16": [1e16],
    "1e20": [1e20],
    "1e21": [1e21],
    "1e308": [1e308],
    "1n": [Decimal(1), Fraction(1, 2), 1j],
    "undefined": [msgspec.UNSET, ...],
    "{a:undefined}": [{"a": msgspec.UNSET}],
    "symbol": [object()],
    "function": [print, lambda: None, int],
    "Date": [datetime(2026, 1, 2, tzinfo=UTC)],
    "Map": [OrderedDict(a=1), UserDict(a=1)],
    "class instance": [Point(), Pair(1, 2), Colour.RED, Computed()],
    "Uint8Array": [b"x", bytearray(b"x"), memoryview(b"x")],
    "boxed string": [Name("x"), Word.A],
    "boxed number": [Count.ONE, Ratio(1.5)],
    "lone high surrogate": ["\ud800"],
    "lone low surrogate": ["a\udc00"],
    "reversed pair": ["\ude00\ud83d"],
    "lone surrogate in a key": [{"\ud800": 1}],
    "cycle": [cycle()],
    "array with extra property": [Extended([1])],
    "symbol key": [{1: 2}, {None: 1}, {True: 1}, {(1,): 1}, {Word.A: 1}],
    "throwing proxy": [Throwing(a=1), MappingProxyType(cast("Mapping[str, int]", Throwing(a=1)))],
}
NOT_IN_PYTHON: Final = {"sparse array", "accessor", "hidden property"}


@requirement("canonical.interop-refusals")
def test_every_refusal_of_the_vectors_has_its_counterpart() -> None:
    assert {vector.value for vector in VECTORS.rejects} == REJECTED.keys() | NOT_IN_PYTHON
    assert len(VECTORS.rejects) == 32


@requirement("canonical.interop-refusals")
@pytest.mark.parametrize(
    "vector", [vector for vector in VECTORS.rejects if vector.value in REJECTED], ids=lambda vector: vector.value
)
def test_interop_refuses_with_the_code_and_path_of_the_vectors(vector: RejectVector) -> None:
    for value in REJECTED[vector.value]:
        assert refused(value, "interop") == (vector.code, tuple(vector.path))
        assert refused({"k": [0, value]}, "interop") == (vector.code, ("k", 1, *vector.path))


@requirement("canonical.interop-refusals", "canonical.says-where")
def test_a_refused_value_is_told_what_would_be_right() -> None:
    told = {
        2**53: "pass it as a string",
        1e16: "pass it as a string",
        math.nan: "pass None",
        Decimal(1): "int, float or text",
        b"x": "base64",
        frozenset([1]): "write a list",
        datetime(2026, 1, 2, tzinfo=UTC): "ISO 8601",
        Name("x"): "pass the plain value",
        Colour.RED: "pass its value",
        "\udc00": "U+DC00 at position 0",
    }

    for value, words in told.items():
        assert words in refusal(canonical_text, value, mode="interop").detail


@requirement("canonical.interop-refusals")
@BOTH
def test_what_a_broken_mapping_raised_is_not_shown_but_can_be_found(mode: JsonMode) -> None:
    error = refusal(canonical_text, {"a": Throwing(b=1)}, mode=mode)

    assert (error.code, error.path) == ("inspection-failed", ("a",))
    assert "4711" not in str(error)
    assert "RuntimeError" in str(error)
    assert isinstance(error.__cause__, RuntimeError)


@BOTH
@requirement("canonical.interop-refusals", "canonical.exact-mode")
def test_the_path_leads_to_the_object_whose_key_is_wrong(mode: JsonMode) -> None:
    assert refused({"a": [{"b": {1: 2}}]}, mode) == ("symbol-key", ("a", 0, "b"))
    assert refused([{"\ud83d\ude00": 1, "\N{GRINNING FACE}": 2}], mode) == ("duplicate-key", (0,))


def test_a_mode_is_one_of_two_words() -> None:
    with pytest.raises(ValueError, match="mode must be 'interop' or 'exact', not 'pretty'"):
        canonical_text(1, mode=cast("JsonMode", "pretty"))


# ── The exact mode ──────────────────────────────────────────────────────────────────────────────────────────


@requirement("canonical.exact-mode", "canonical.surrogates-kept")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**53, "9007199254740992"),
        (2.0**53, "9007199254740992"),
        (10**40, "1" + "0" * 40),
        (-(2**64), "-18446744073709551616"),
        (9999999999999998.0, "9999999999999998"),
        (1e16, "1e+16"),
        (-1.5e300, "-1.5e+300"),
        (123456789012345680000.0, "1.2345678901234568e+20"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (-0.0, "0"),
        (1e-05, "0.00001"),
        (-1.5e-06, "-0.0000015"),
        (1e-07, "1e-7"),
        ("\ud800", '"\\ud800"'),
        ("a\udfffb", '"a\\udfffb"'),
        ("\ude00\ud83d", '"\\ude00\\ud83d"'),
        ("\ud83d\ude00", '"\N{GRINNING FACE}"'),
        ({"\udc00": [True, False, None]}, '{"\\udc00":[true,false,null]}'),
    ],
)
def test_exact_mode_writes_what_interop_cannot_say(value: object, text: str) -> None:
    assert canonical_text(value, mode="exact") == text
    assert canonical_bytes(value, mode="exact") == text.encode()


@requirement("canonical.exact-mode")
@given(json_values(st.text()))
def test_where_interop_writes_a_value_exact_writes_the_same(value: object) -> None:
    exact = canonical_text(value, mode="exact")
    try:
        interop = canonical_text(value, mode="interop")
    except JsonError as error:
        assert error.code == "unsafe-integer"
    else:
        assert interop == exact


# ── One text for one value ──────────────────────────────────────────────────────────────────────────────────


@requirement("canonical.round-trip")
@given(json_values(any_text))
def test_reading_a_canonical_text_gives_the_value_back(value: object) -> None:
    text = canonical_text(value, mode="exact")
    read = parse_json(text)

    assert same(read, value)
    assert same(read, json.loads(text))
    assert canonical_text(read, mode="exact") == text


@requirement("canonical.round-trip")
@given(st.dictionaries(raw_text, raw_text))
def test_writing_joined_halves_gives_the_same_text_again(value: dict[str, str]) -> None:
    try:
        text = canonical_text(value, mode="exact")
    except JsonError as error:
        assert error.code == "duplicate-key"
        assert len({whole(key) for key in value}) < len(value)
    else:
        assert parse_json(text) == {whole(key): whole(item) for key, item in value.items()}
        assert canonical_text(parse_json(text), mode="exact") == text


def with_shuffled_items(
    value: dict[str, object],
) -> st.SearchStrategy[tuple[dict[str, object], list[tuple[str, object]]]]:
    return st.tuples(st.just(value), st.permutations(list(value.items())))


@requirement("canonical.one-text")
@given(st.dictionaries(any_text, json_values(any_text)).flatmap(with_shuffled_items))
@example(({"\ue000": 1, "\N{GRINNING FACE}": 2, "\uffff": 3}, [("\uffff", 3), ("\ue000", 1), ("\N{GRINNING FACE}", 2)]))
def test_the_order_of_keys_makes_no_difference(given_in: tuple[dict[str, object], list[tuple[str, object]]]) -> None:
    value, shuffled = given_in
    text = canonical_text(value, mode="exact")

    assert canonical_text(dict(shuffled), mode="exact") == text
    assert list(cast("dict[str, object]", parse_json(text))) == sorted(value, key=units)


def units(text: str) -> tuple[int, ...]:
    """The UTF-16 code units of *text*."""
    raw = text.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(raw) // 2}H", raw)


@requirement("canonical.one-text")
@given(numbers, numbers)
@example(2**53, 2.0**53)
@example(10**20, 1e20)
@example(1, True)
@example(123456789012345680000, 123456789012345680000.0)
def test_numbers_with_one_text_are_equal(one: float, other: float) -> None:
    if canonical_text(one, mode="exact") == canonical_text(other, mode="exact"):
        assert one == other
    if one == other and abs(one) < 10**16 and isinstance(one, bool) is isinstance(other, bool):
        assert canonical_text([one], mode="exact") == canonical_text([other], mode="exact")


@requirement("canonical.one-text")
def test_one_and_one_point_zero_give_one_text_but_true_another() -> None:
    assert canonical_text({"a": 1}, mode="exact") == canonical_text({"a": 1.0}, mode="exact") == '{"a":1}'
    assert canonical_text({"a": True}, mode="exact") == '{"a":true}'
    assert canonical_text({"a": "1"}, mode="exact") == '{"a":"1"}'


def ecmascript(number: float) -> str:
    """The text of *number* by ECMA-262's Number::toString: digits and exponent first, then one of its five layouts."""
    sign, digit_tuple, power = Decimal(repr(number)).normalize().as_tuple()
    digits, exponent = "".join(map(str, digit_tuple)), int(power)
    point, count = len(digits) + exponent, len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        text = digits[0] + (f".{digits[1:]}" if count > 1 else "") + f"e{point - 1:+d}"
    return f"-{text}" if sign else text


@requirement("canonical.interop-vectors", "canonical.one-text")
@given(st.floats(-(2.0**53), 2.0**53, exclude_min=True, exclude_max=True) | st.floats(-1e-3, 1e-3))
@example(1e-6)
@example(9.999999999999999e-7)
@example(4503599627370495.5)
@example(5e-324)
@example(-2.2250738585072014e-308)
def test_a_float_is_laid_out_as_ecmascript_does(number: float) -> None:
    text = canonical_text(number, mode="interop")

    assert text == (ecmascript(number) if number else "0")
    assert float(text) == number


@requirement("canonical.exact-mode")
@given(st.floats(1e16, allow_infinity=False) | st.floats(1e16, 1e23))
def test_a_large_float_keeps_its_exponent_and_its_value(number: float) -> None:
    text = canonical_text(-number, mode="exact")

    assert "e+" in text
    assert float(text) == -number
    assert type(parse_json(text)) is float
    if number >= 1e21:
        assert text == ecmascript(-number)


@requirement("canonical.one-text")
@given(any_text)
def test_digests_are_sha_256_of_utf_8(text: str) -> None:
    assert sha256_hex(text) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
