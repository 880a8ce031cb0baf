"""What the tests of reading and of writing JSON share: refusals, equality, and values to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from typing import Final, NamedTuple, NoReturn, cast

import pytest
from hypothesis import strategies as st

from armory_trio.definitions._canonical import DEFAULT_LIMITS, JsonLimits, JsonMode, canonical_text, parse_json
from armory_trio.errors import JsonError

Path = tuple[str | int, ...]


def refusal(function: Callable[..., object], *args: object, **options: object) -> JsonError:
    """The `JsonError` that *function* raises."""
    with pytest.raises(JsonError) as caught:
        function(*args, **options)
    return caught.value


def refused_text(text: str | bytes, limits: JsonLimits = DEFAULT_LIMITS) -> tuple[str, Path]:
    """The code and the path with which reading *text* is refused."""
    error = refusal(parse_json, text, limits=limits)
    return error.code, error.path


def refused(value: object, mode: JsonMode) -> tuple[str, Path]:
    """The code and the path with which writing *value* is refused."""
    error = refusal(canonical_text, value, mode=mode)
    return error.code, error.path


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal, where True is not 1 but 1.0 is."""
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(one, list) and isinstance(other, list):
        first, second = cast("list[object]", one), cast("list[object]", other)
        return len(first) == len(second) and all(map(same, first, second))
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def whole(text: str) -> str:
    """*text* with the halves of a character joined, as every reader of JSON joins them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def json_values(texts: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    """JSON values whose strings and keys are drawn from *texts*."""
    scalars: st.SearchStrategy[object] = st.none() | st.booleans() | numbers | texts
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
    )


raw_text: Final = st.text(st.characters(exclude_categories=()))
any_text: Final = raw_text.map(whole)
numbers: Final = st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)

BOTH: Final = pytest.mark.parametrize("mode", ["interop", "exact"])


class Name(str):
    __slots__ = ()


class Count(IntEnum):
    ONE = 1


class Word(StrEnum):
    A = "a"


class Colour(Enum):
    RED = "red"


class Ratio(float):
    __slots__ = ()


class Extended(list[int]):
    extra = 1


@dataclass
class Point:
    x: int = 1


class Pair(NamedTuple):
    first: int
    second: int


class Throwing(dict[str, int]):
    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("secret-4711")

    def keys(self) -> NoReturn:
        raise RuntimeError("secret-4711")


class Computed:
    @property
    def a(self) -> int:
        return 1


def cycle() -> dict[str, object]:
    inner: list[object] = []
    value: dict[str, object] = {"a": {"b": inner}}
    inner.append(value)
    return value
