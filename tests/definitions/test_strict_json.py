"""Reading JSON: hostile texts, strictness, and refusals that say where."""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Final, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from armory_trio.definitions._canonical import (
    DEFAULT_LIMITS,
    JsonLimits,
    canonical_text,
    freeze_json,
    parse_json,
    require_json,
    thaw_json,
)
from armory_trio.definitions._careful_json import CarefulReader
from armory_trio.errors import DefinitionError, JsonError
from tests.definitions._json import Path, any_text, json_values, refusal, refused, refused_text, same
from tests.requirements import requirement

# ── Hostile texts ───────────────────────────────────────────────────────────────────────────────────────────


@requirement("canonical.hostile-text")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("[" * 20_000 + "]" * 20_000, "too-deep", id="20000 nested arrays"),
        pytest.param("[" * 20_000, "too-deep", id="20000 opened arrays"),
        pytest.param('{"a":' * 20_000 + "1" + "}" * 20_000, "too-deep", id="20000 nested objects"),
        pytest.param('[{"a":' * 20_000, "too-deep", id="20000 opened of both"),
        pytest.param("1" * 10_000, "too-many-digits", id="10000 digits"),
        pytest.param("[-" + "1" * 10_000 + "]", "too-many-digits", id="10000 digits below zero"),
        pytest.param('{"a":1,"a":2}', "duplicate-key", id="duplicate key"),
        pytest.param('{"a":NaN}', "non-finite-number", id="NaN"),
        pytest.param('{"a":1e400}', "number-overflow", id="1e400"),
        pytest.param("9" * 400 + ".0", "number-overflow", id="overflow without exponent"),
        pytest.param('{"a":1} and more', "trailing-text", id="trailing text"),
        pytest.param(" " * 50_000_000, "text-too-large", id="50 MB of spaces"),
        pytest.param(b" " * 50_000_000, "text-too-large", id="50 MB of spaces in bytes"),
        pytest.param(" " * 1_000_000, "empty-text", id="1 MB of spaces"),
        pytest.param("[[" + '"\\u0041' * 100_000, "invalid-syntax", id="many escapes"),
        pytest.param('"' + "\\" * 999_999, "unexpected-end", id="backslashes"),
        pytest.param("-" * 999_999, "invalid-number", id="minus signs"),
        pytest.param("[" + "0," * 20_000 + "x]", "invalid-syntax", id="an error at the end"),
    ],
)
def test_a_hostile_text_is_refused_with_its_own_code(text: str | bytes, code: str) -> None:
    assert refused_text(text)[0] == code
    assert parse_json('{"next": "call"}') == {"next": "call"}


@requirement("canonical.hostile-text")
@given(st.text(st.sampled_from('[]{},:"\\u0aNn 1-+.eE\n\ud83d\ude00tf')) | st.text(), st.binary())
def test_any_text_is_a_value_or_a_json_error(text: str, raw: bytes) -> None:
    for anything in (text, raw):
        try:
            require_json(parse_json(anything))
        except JsonError as error:
            assert str(error).isprintable()


@requirement("canonical.hostile-text")
@pytest.mark.parametrize("thing", [None, 1, {"a": 1}, ["x"], bytearray(b"{}")])
def test_what_is_no_text_is_refused_like_a_bad_one(thing: object) -> None:
    error = refusal(parse_json, thing)

    assert error.code == "unsupported-type"
    assert type(thing).__name__ in error.detail


@requirement("canonical.size-first")
def test_the_size_is_looked_at_before_anything_else() -> None:
    limits = JsonLimits(max_bytes=8)

    for text in ("\ufeff" + "[" * 99, b"\xff" * 9, "x" * 9, '"\ud800\ud800\ud800"', '"\N{GRINNING FACE}é!"'):
        assert refused_text(text, limits) == ("text-too-large", ())


@requirement("canonical.size-first")
def test_the_size_counts_bytes_of_utf_8() -> None:
    for text in ('"1234"', '"éé"', '"\N{GRINNING FACE}"', '"\ud800."'):
        size = len(text.encode("utf-8", "surrogatepass"))

        assert parse_json(text, limits=JsonLimits(max_bytes=size)) == text[1:-1]
        assert refused_text(text, JsonLimits(max_bytes=size - 1)) == ("text-too-large", ())


@requirement("canonical.hostile-text")
def test_limits_say_how_much_is_read() -> None:
    depth = DEFAULT_LIMITS.max_depth
    digits = "7" * DEFAULT_LIMITS.max_digits

    assert parse_json("[" * depth + "]" * depth) is not None
    assert parse_json('{"a":' * depth + "1" + "}" * depth) is not None
    assert parse_json('["' + "[" * 999 + '"]') == ["[" * 999]
    assert refused_text("[" * (depth + 1) + "]" * (depth + 1)) == ("too-deep", (0,) * depth)
    assert parse_json(f"-{digits}") == -int(digits)
    assert refused_text(f"{digits}0") == ("too-many-digits", ())
    assert parse_json("[1234, -1234]", limits=JsonLimits(max_digits=4)) == [1234, -1234]
    assert refused_text('["long enough", -12345]', JsonLimits(max_digits=4)) == ("too-many-digits", (1,))
    assert parse_json("[[1], [2]]", limits=JsonLimits(max_depth=2)) == [[1], [2]]
    assert refused_text("[1, [2, [3]]]", JsonLimits(max_depth=2)) == ("too-deep", (1, 1))


@requirement("canonical.hostile-text")
@pytest.mark.parametrize("name", ["max_bytes", "max_depth", "max_digits"])
@pytest.mark.parametrize("number", [0, -1, 1.5, True, "9", None])
def test_a_limit_is_a_whole_number_of_at_least_one(name: str, number: object) -> None:
    with pytest.raises(DefinitionError, match=f"JsonLimits: {name}: expected a whole number of at least 1"):
        JsonLimits(**{name: cast("int", number)})  # the wrong type on purpose


@pytest.fixture
def digits_of_python() -> Iterator[Callable[[int], None]]:
    before = sys.get_int_max_str_digits()
    yield sys.set_int_max_str_digits
    sys.set_int_max_str_digits(before)


@requirement("canonical.hostile-text")
def test_pythons_own_limit_on_digits_cannot_surprise(digits_of_python: Callable[[int], None]) -> None:
    digits_of_python(640)
    assert parse_json("1" * 640) is not None
    assert refused_text("1" * 641) == ("too-many-digits", ())
    assert refused([10**640], "exact") == ("too-many-digits", (0,))
    assert refusal(freeze_json, {"a": 10**640}).path == ("a",)

    digits_of_python(0)
    assert parse_json(" [" + "1" * 4300 + "]") is not None
    assert refused_text("[" + "1" * 4301 + "]") == ("too-many-digits", (0,))
    assert refused(10**4300, "exact") == ("too-many-digits", ())


def deepest(run: Callable[[], object], room: int) -> object:
    """What *run* answers when only *room* frames are left below it."""

    def sink(frames: int) -> object:
        return run() if frames <= 0 else sink(frames - 1)

    return sink(sys.getrecursionlimit() - len(inspect.stack(0)) - room)


@requirement("canonical.hostile-text", "canonical.deep-values")
def test_a_caller_that_is_deep_in_its_stack_can_still_read_and_write() -> None:
    depth = DEFAULT_LIMITS.max_depth
    text = "[" * (depth - 1) + '"x",1.5,true,{"k":null}' + "]" * (depth - 1)

    value = deepest(lambda: parse_json(text), room=40)

    assert canonical_text(value, mode="exact") == text
    assert deepest(lambda: canonical_text(value, mode="interop"), room=40) == text
    assert thaw_json(deepest(lambda: freeze_json(value), room=40)) == value


# ── Strictness, and saying where ────────────────────────────────────────────────────────────────────────────

BAD_TEXTS: Final[list[tuple[str, str, Path, str, str]]] = [
    # text, code, path, place, what the detail says
    ("", "empty-text", (), "line 1, column 1", "an empty object is written {}"),
    (" \n ", "empty-text", (), "line 2, column 2", "nothing to read"),
    ("\ufeff{}", "byte-order-mark", (), "line 1, column 1", "leave it out"),
    ("{} {}", "trailing-text", (), "line 1, column 4", "nothing but blanks may follow"),
    ('{"a":1},', "trailing-text", (), "line 1, column 8", "nothing but blanks may follow"),
    ('{"a":1,"b":2,"a":3}', "duplicate-key", ("a",), "line 1, column 14", "write each key once"),
    ('{"k":[0,{"a":1,\n "\\u0061":1}]}', "duplicate-key", ("k", 1, "a"), "line 2, column 2", "write each key once"),
    ("[1, NaN]", "non-finite-number", (1,), "line 1, column 5", "write null"),
    ('{"a":-Infinity}', "non-finite-number", ("a",), "line 1, column 6", "-Infinity is not JSON"),
    ("Infinity", "non-finite-number", (), "line 1, column 1", "say it in a string"),
    ('{"a":[1e400]}', "number-overflow", ("a", 0), "line 1, column 7", "1.7976931348623157e308"),
    ("-1e400", "number-overflow", (), "line 1, column 1", "'-1e400' would become infinite"),
    ("[01]", "invalid-number", (0,), "line 1, column 2", "'01' is no JSON number"),
    ("[+1]", "invalid-number", (0,), "line 1, column 2", "a positive number has no sign"),
    ("[.5]", "invalid-number", (0,), "line 1, column 2", "a number starts with a digit"),
    ("[1.]", "invalid-number", (0,), "line 1, column 2", "'1.'"),
    ("[1_000]", "invalid-number", (0,), "line 1, column 2", "'1_000'"),
    ("[0x10]", "invalid-number", (0,), "line 1, column 2", "'0x10'"),
    ("[--1]", "invalid-number", (0,), "line 1, column 2", "'--1'"),
    ("[1e5.0]", "invalid-number", (0,), "line 1, column 2", "'1e5.0'"),
    ("[\u0661]", "invalid-syntax", (0,), "line 1, column 2", "is no JSON value"),
    ('"a\nb"', "control-character", (), "line 1, column 3", "write it as \\u000a"),
    ('{"a\x00":1}', "control-character", (), "line 1, column 4", "write it as \\u0000"),
    ('["\\x41"]', "invalid-escape", (0,), "line 1, column 3", "four hexadecimal digits"),
    ('"\\u12G4"', "invalid-escape", (), "line 1, column 2", "four hexadecimal digits"),
    ("[True]", "invalid-syntax", (0,), "line 1, column 2", "write true"),
    ("[None]", "invalid-syntax", (0,), "line 1, column 2", "write null"),
    ("[undefined]", "invalid-syntax", (0,), "line 1, column 2", "write null, or leave"),
    ("{'a':1}", "invalid-syntax", (), "line 1, column 2", "expected a key in double quotes"),
    ("['a']", "invalid-syntax", (0,), "line 1, column 2", "strings stand in double quotes"),
    ("{a:1}", "invalid-syntax", (), "line 1, column 2", "expected a key in double quotes, not 'a'"),
    ("[1,]", "invalid-syntax", (), "line 1, column 4", "no comma may stand before ]"),
    ('{"a":1,}', "invalid-syntax", (), "line 1, column 8", "no comma may stand before }"),
    ("[1 2]", "invalid-syntax", (), "line 1, column 4", "expected a comma or ]"),
    ("[1}", "invalid-syntax", (), "line 1, column 3", "expected a comma or ], not '}'"),
    ('{"a" 1}', "invalid-syntax", ("a",), "line 1, column 6", "expected a colon after the key"),
    ('{"a":}', "invalid-syntax", ("a",), "line 1, column 6", "'}' is no JSON value"),
    ("// no\n1", "invalid-syntax", (), "line 1, column 1", "JSON has no comments"),
    ("[\f1]", "invalid-syntax", (0,), "line 1, column 2", "is no JSON value"),
    ("[\xa01]", "invalid-syntax", (0,), "line 1, column 2", "is no JSON value"),
    ("{1:2}", "invalid-syntax", (), "line 1, column 2", "expected a key in double quotes, not '1'"),
    ("x" * 99, "invalid-syntax", (), "line 1, column 1", "'" + "x" * 40 + "'..."),
]


@requirement("canonical.strict-text", "canonical.says-where")
@pytest.mark.parametrize(("text", "code", "path", "place", "words"), BAD_TEXTS)
def test_a_refused_text_is_told_its_code_its_place_and_what_would_be_right(
    text: str, code: str, path: Path, place: str, words: str
) -> None:
    error = refusal(parse_json, text)

    assert (error.code, error.path) == (code, path)
    assert error.detail.endswith(f"({place})")
    assert words in error.detail
    assert refusal(parse_json, text.encode()).args == error.args


@requirement("canonical.strict-text", "canonical.says-where")
@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b'{"a":"\xff"}', "byte 0xff at byte offset 6"),
        (b'"\xc3"', "byte 0xc3 at byte offset 1"),
        (b'"\xed\xa0\x80"', "byte 0xed at byte offset 1"),
        ("{}".encode("utf-16"), "byte 0xff at byte offset 0"),
    ],
)
def test_bytes_that_are_not_utf_8_are_refused_with_their_offset(raw: bytes, place: str) -> None:
    error = refusal(parse_json, raw)

    assert error.code == "invalid-utf8"
    assert place in error.detail


@requirement("canonical.truncated-text")
def test_every_beginning_of_a_text_is_told_apart_as_cut_off() -> None:
    text = '{"city":"Par\\u00e9\\n","n":[-1.5e-3,true,null,{}],"f":false}'

    assert parse_json(text) is not None
    assert {refused_text(text[:cut])[0] for cut in range(1, len(text))} == {"unexpected-end"}


@requirement("canonical.truncated-text", "canonical.says-where")
def test_a_string_that_was_cut_off_is_named_by_its_beginning() -> None:
    error = refusal(parse_json, '{"city":"Par')

    assert error.path == ("city",)
    assert error.detail == "the string that starts here is not closed (line 1, column 9)"


@requirement("canonical.says-where")
def test_a_message_quotes_odd_keys_so_that_any_log_can_take_it() -> None:
    error = refusal(parse_json, '{"a.b":{"\\ud800":[{"plain":NaN}]}}')

    assert str(error).startswith("non-finite-number at $['a.b']['\\ud800'][0].plain: ")
    assert str(error).isascii()


@requirement("canonical.no-second-reading")
@pytest.mark.parametrize("word", ["12345", "true", "null", "[1]", '{"a":1}', "NaN"])
def test_a_string_that_looks_like_json_stays_a_string(word: str) -> None:
    assert parse_json(json.dumps({"p": word})) == {"p": word}
    assert parse_json(canonical_text({"p": word}, mode="interop")) == {"p": word}


@requirement("canonical.exact-integers")
def test_integers_keep_every_digit_and_floats_stay_floats() -> None:
    text = "[9007199254740993,-9223372036854775809,18446744073709551617,3.0,1e2,5e-324,-0.0]"

    value = cast("list[object]", parse_json(text))

    assert value == [9007199254740993, -(2**63) - 1, 2**64 + 1, 3, 100, 5e-324, 0]
    assert [type(number) for number in value] == [int, int, int, float, float, float, float]
    assert math.copysign(1, cast("float", value[-1])) == -1
    assert parse_json("1e-400") == 0
    assert canonical_text(2**63, mode="exact") == "9223372036854775808"


@requirement("canonical.surrogates-kept")
def test_a_lone_surrogate_is_read_as_it_stands() -> None:
    assert parse_json('{"\\ud800":"\\udc00\\ud83d"}') == {"\ud800": "\udc00\ud83d"}
    assert parse_json('"\ud800"') == "\ud800"
    assert parse_json('"\\ud83d\\ude00"') == "\N{GRINNING FACE}"


@requirement("canonical.like-everyone")
@given(value=json_values(any_text), ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 3, "\t"]))
def test_what_the_standard_library_writes_is_read_back(
    value: object, *, ascii_only: bool, indent: int | str | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    for read in (parse_json(text), CarefulReader(text, DEFAULT_LIMITS).read()):
        assert same(read, json.loads(text))
        assert same(read, value)


@st.composite
def damaged_texts(draw: st.DrawFn) -> str:
    """A JSON text in which a few characters were left out, and a few others put in."""
    layout = draw(st.sampled_from([None, 1]))
    text = json.dumps(draw(json_values(any_text)), ensure_ascii=draw(st.booleans()), indent=layout)
    at, cut = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
    put_in = draw(st.text(st.sampled_from('[]{},:"\\ud8 01-+.eE\n\x00tNx\xa0'), max_size=3))
    return text[:at] + put_in + text[at + cut :]


def strict_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError(pairs)
    return dict(pairs)


def strict_float(word: str) -> float:
    number = float(word)
    if math.isinf(number):
        raise ValueError(word)
    return number


def no_constant(word: str) -> object:
    raise ValueError(word)


STANDARD: Final = json.JSONDecoder(
    object_pairs_hook=strict_pairs, parse_float=strict_float, parse_constant=no_constant, strict=True
)


def outcome(read: Callable[[str], object], text: str) -> tuple[bool, object]:
    try:
        return True, read(text)
    except (JsonError, ValueError):
        return False, None


@requirement("canonical.like-everyone", "canonical.strict-text")
@given(damaged_texts())
@example("[1]]")
@example('{"a":1e999}')
@example("[-]")
@example("\x0b1")
@example("\ufeff1")
@example('{"a":1,"\\u0061":1}')
def test_the_quick_reader_the_careful_one_and_the_standard_library_agree(text: str) -> None:
    quick, value = outcome(parse_json, text)
    careful, again = outcome(lambda text: CarefulReader(text, DEFAULT_LIMITS).read(), text)
    standard, theirs = outcome(STANDARD.decode, text)

    assert quick is careful is standard
    assert same(value, again)
    assert same(value, theirs)
