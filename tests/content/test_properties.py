from __future__ import annotations

import dataclasses
import enum
import json
import math
from collections import deque
from datetime import timedelta, timezone
from typing import NamedTuple, cast

import attrs
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.content import UnencodableResult, encode_content, encode_json
from armory_trio.definitions import (
    AudioContent,
    BlobResourceContent,
    Content,
    ImageContent,
    JsonContent,
    LinkContent,
    TextContent,
    TextResourceContent,
)
from tests.requirements import requirement


class Kind(enum.Enum):
    A = "a"
    B = 1


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Data:
    value: object


@attrs.define
class Attributes:
    value: object


class Struct(msgspec.Struct):
    value: object


class Pair(NamedTuple):
    value: object
    other: object


class SlowDict(dict[str, object]):
    """A dict that the shortcut does not know."""


class SlowList(list[object]):
    """A list that the shortcut does not know."""


ZONES = st.none() | st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone)
ANY_TEXT = st.text(st.characters(), max_size=8)  # lone surrogates too
INTEGERS = st.integers() | st.integers(-(2**70), 2**70) | st.just(10**400)
PLAIN_LEAVES = st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False)
NAMING = (
    PLAIN_LEAVES
    | st.floats()
    | ANY_TEXT
    | st.dates()
    | st.datetimes(timezones=ZONES)
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)  # a signalling NaN cannot be hashed
    | st.uuids()
    | st.sampled_from([*Kind, *Level])
)
SCALARS = NAMING | st.binary(max_size=8)
HASHABLE = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=4)
KEYS = ANY_TEXT | st.integers(-2, 12) | NAMING | st.tuples(SCALARS, st.integers())
BLOCKS: st.SearchStrategy[Content] = (
    ANY_TEXT.map(TextContent)
    | INTEGERS.map(str).map(JsonContent)
    | st.binary(min_size=1, max_size=4).map(lambda data: ImageContent(data, "image/png"))
    | st.binary(min_size=1, max_size=4).map(lambda data: AudioContent(data, "audio/wav"))
    | ANY_TEXT.filter(bool).map(LinkContent)
    | st.builds(TextResourceContent, ANY_TEXT.filter(bool), ANY_TEXT, st.none() | ANY_TEXT.filter(bool))
    | st.builds(BlobResourceContent, ANY_TEXT.filter(bool), st.binary(max_size=4), st.just("application/pdf"))
)


def _containers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.lists(inner, max_size=3).map(deque)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.dictionaries(ANY_TEXT, inner, max_size=4)
        | st.builds(Data, inner)
        | st.builds(Attributes, inner)
        | st.builds(Struct, inner)
        | st.builds(Pair, inner, inner)
        | st.sets(HASHABLE, max_size=4)
    )


VALUES = st.recursive(SCALARS | HASHABLE | BLOCKS, _containers, max_leaves=12)
PLAIN = st.recursive(
    PLAIN_LEAVES | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


def slowed(value: object) -> object:
    """The same value, in containers that only the walk can read."""
    if isinstance(value, dict):
        return SlowDict({name: slowed(item) for name, item in cast("dict[str, object]", value).items()})
    return SlowList(map(slowed, cast("list[object]", value))) if isinstance(value, list) else value


@requirement("content.total")
@given(value=VALUES)
def test_every_supported_value_is_shown_or_refused_for_a_clash_of_its_keys(value: object) -> None:
    before = repr(value)
    try:
        content = encode_content(value)
        text = encode_json(value)
    except UnencodableResult as error:
        assert "both become the name" in error.reason  # nothing else may be wrong with these values
        return

    assert repr(value) == before
    assert content
    for block in content:
        match block:
            case TextContent(text=words):
                assert words.strip()
                assert words.encode()
            case JsonContent(json=written):
                json.loads(written, parse_constant=refuse)
                assert written.encode()
            case _:
                pass
    json.loads(text, parse_constant=refuse)
    assert json.loads(encode_json(value, ascii=True)) == json.loads(text)
    assert encode_json(value, ascii=True).isascii()


def refuse(word: str) -> object:
    raise AssertionError(f"{word} is no JSON")


@requirement("content.total")
@given(value=PLAIN)
def test_what_is_json_already_comes_back_as_it_was(value: object) -> None:
    assert repr(json.loads(encode_json(value))) == repr(value)
    if not isinstance(value, str):
        assert encode_content(value) == (JsonContent(encode_json(value)),)


@requirement("content.shortcut-agrees")
@given(value=PLAIN)
def test_the_shortcut_and_the_walk_write_the_same_text(value: object) -> None:
    assert encode_json(slowed(value)) == encode_json(value)


@requirement("content.numbers-exact")
@given(numbers=st.lists(st.integers() | st.integers(10**300, 10**400) | st.floats(allow_nan=False), max_size=5))
def test_no_number_is_rounded(numbers: list[float]) -> None:
    back = json.loads(encode_json({"n": numbers, "set": {1}}))["n"]

    assert [float(item) if isinstance(item, str) else item for item in back] == numbers
    assert [type(item) for item in back] == [str if abs(number) == math.inf else type(number) for number in numbers]
