"""Partial JSON: what can be shown of arguments that are still being written."""

from __future__ import annotations

import copy
import json
import sys
from itertools import pairwise
from typing import Final, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.providers import PartialJson
from tests.requirements import requirement

_KEYS: Final = st.text(max_size=6)
_SCALARS: Final = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12)
)
VALUES: Final = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=8
)


def read(*fragments: str) -> PartialJson:
    reader = PartialJson()
    for fragment in fragments:
        reader.feed(fragment)
    return reader


@requirement("assembly.preview")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        (" \n", None),
        ("{", {}),
        ('{"', {}),
        ('{"a', {}),
        ('{"a"', {}),
        ('{"a":', {}),
        ('{"a": 1', {}),
        ('{"a": 1,', {"a": 1}),
        ('{"a": 12}', {"a": 12}),
        ('{"a": -', {}),
        ('{"a": 1.5e3 ', {"a": 1500.0}),
        ('{"a": tru', {}),
        ('{"a": true', {}),
        ('{"a": true,', {"a": True}),
        ('{"a": null}', {"a": None}),
        ('{"a": "', {"a": ""}),
        ('{"a": "x', {"a": "x"}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\n', {"a": "x\n"}),
        ('{"a": "x\\u00', {"a": "x"}),
        ('{"a": "x\\u00e4', {"a": "xä"}),
        ('{"a": "\\ud83d', {"a": ""}),
        ('{"a": "\\ud83d\\ude', {"a": ""}),
        ('{"a": "\\ud83d\\ude00', {"a": "😀"}),
        ('{"a": "\\ud83dx', {"a": "\ud83dx"}),
        ('{"a": ["x", "y', {"a": ["x", "y"]}),
        ('{"a": [1, [2, {"b": "c', {"a": [1, [2, {"b": "c"}]]}),
        ('{"a": [], "b": {}', {"a": [], "b": {}}),
        ('{"a": "1", "a": "2', {"a": "2"}),
        ('["x', ["x"]),
        ('"x', "x"),
    ],
)
def test_the_longest_prefix_that_is_a_value_is_shown(text: str, value: object) -> None:
    assert read(text).value == value
    assert read(*text).value == value


@requirement("assembly.preview")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x", None),
        ("{]", {}),
        ('{"a": 1 2', {"a": 1}),
        ('{"a": 01,', {}),
        ('{"a": NaN,', {}),
        ('{"a": truth,', {}),
        ('{"a": "x\ny"}', {"a": "x"}),
        ('{"a": "\\q"}', {"a": ""}),
        ('{"a": "\\u00zz"}', {"a": ""}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1,]', {"a": [1]}),
        ("{a: 1}", {}),
        ('{"a" 1}', {}),
        ("{}{}", {}),
        ("{} x", {}),
        ('{"a": ' + "9" * 5000 + "}", {}),
    ],
)
def test_what_is_no_json_stops_where_it_is(text: str, value: object) -> None:
    for reader in (read(text), read(*text)):
        assert (reader.value, reader.is_broken, reader.is_whole) == (value, True, False)
        reader.feed('"more"}')
        assert reader.value == value


@requirement("assembly.preview")
@given(VALUES, st.booleans(), st.lists(st.integers(0, 200)))
def test_a_whole_text_shows_its_value_however_it_is_cut(value: object, ascii_only: bool, cuts: list[int]) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only) + " "
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    reader = PartialJson()
    for begin, end in pairwise(places):
        reader.feed(text[begin:end])
        _ = reader.value

    assert (reader.value, reader.is_whole, reader.is_broken) == (value, True, False)
    assert reader.is_object == isinstance(value, dict)


@requirement("assembly.preview")
@given(st.dictionaries(_KEYS, VALUES, max_size=3))
def test_what_is_shown_only_ever_grows(value: dict[str, object]) -> None:
    reader = PartialJson()
    before: object = None
    for char in json.dumps(value):
        reader.feed(char)
        assert grows(before, reader.value)
        before = copy.deepcopy(reader.value)


def grows(before: object, after: object) -> bool:
    if before is None:
        return True
    if isinstance(before, str) and isinstance(after, str):
        return after.startswith(before)
    if isinstance(before, list) and isinstance(after, list):
        old, new = cast("list[object]", before), cast("list[object]", after)
        return len(new) >= len(old) and all(map(grows, old, new))
    if isinstance(before, dict) and isinstance(after, dict):
        was, now = cast("dict[str, object]", before), cast("dict[str, object]", after)
        return all(key in now and grows(member, now[key]) for key, member in was.items())
    return before == after


@requirement("assembly.preview")
@given(st.text('{}[]",:\\ue0123456789.-+tfn aZ\x00\ud83d', max_size=40))
def test_any_text_is_read_without_an_error(text: str) -> None:
    reader = read(*text)

    assert not (reader.is_whole and reader.is_broken)
    _ = reader.value


@requirement("assembly.preview")
def test_depth_is_bounded() -> None:
    reader = read('{"a":' * 10_000)

    assert reader.is_broken
    assert len(repr(reader.value)) < 2000


@requirement("assembly.preview")
def test_feeding_takes_steps_in_proportion_to_the_text() -> None:
    """Counted in calls of functions and not in seconds: four times the text, one character at a time, is four times the work."""

    def steps(size: int) -> int:
        count = 0

        def counting(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += 1

        reader = read('{"a": "')
        sys.setprofile(counting)
        for _ in range(size):
            reader.feed("x")
        sys.setprofile(None)
        assert reader.value == {"a": "x" * size}
        return count

    assert steps(8000) < 4.5 * steps(2000)
