from __future__ import annotations

import enum
import io
import itertools
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import PurePosixPath
from typing import overload

import attrs
import msgspec
import pytest

from armory_trio.content import MAX_DEPTH, UnencodableResult, encode_content, encode_json
from armory_trio.definitions import (
    AudioContent,
    BlobResourceContent,
    ImageContent,
    JsonContent,
    LinkContent,
    ResourceAnnotations,
    TextResourceContent,
)
from armory_trio.errors import ArmoryError
from tests.requirements import requirement


class Opaque:
    def __repr__(self) -> str:
        raise AssertionError("no repr of an unknown object may reach a model")

    def __str__(self) -> str:
        raise AssertionError("nor its str")


class Matrix:
    def tolist(self) -> list[int]:
        return [1]


class Pending:
    def __await__(self) -> Iterator[None]:
        yield


async def ticks() -> AsyncIterator[int]:
    yield 1


def refusal(value: object) -> UnencodableResult:
    """The error of both functions, which must be the same."""
    with pytest.raises(UnencodableResult) as caught:
        encode_json(value)
    with pytest.raises(UnencodableResult) as again:
        encode_content(value)
    assert str(again.value) == str(caught.value)
    return caught.value


@requirement("content.unencodable")
def test_an_unknown_object_is_an_error_that_says_where_what_and_what_would_be_right() -> None:
    error = refusal({"rows": [1, {"two words": (Opaque(),)}]})

    assert isinstance(error, ArmoryError)
    assert error.path == ("rows", 1, "two words", 0)
    assert error.type_name == f"{__name__}.Opaque"
    assert str(error).startswith(f"the result cannot be shown: $.rows[1]['two words'][0] ({__name__}.Opaque): ")
    assert "return a str" in error.reason


@requirement("content.unencodable")
@pytest.mark.parametrize(
    ("value", "kind", "hint"),
    [
        (object(), "object", "no documented form"),
        (1 + 2j, "complex", "no documented form"),
        (..., "ellipsis", "no documented form"),
        (len, "builtin_function_or_method", "no documented form"),
        (Matrix(), f"{__name__}.Matrix", "return what its tolist() gives"),
        (int, "type", "it is a class"),
        (ImageContent, "StructMeta", "it is a class"),
        (msgspec.Raw(b"1"), "msgspec.Raw", "JsonContent"),
        (Pending(), f"{__name__}.Pending", "await it"),
        ({"a": 1 + 2j}, "complex", "no documented form"),
    ],
)
def test_each_error_names_the_type_and_what_would_be_right(value: object, kind: str, hint: str) -> None:
    error = refusal(value)

    assert error.type_name.endswith(kind)
    assert hint in error.reason


@requirement("content.iterators-unread")
def test_iterators_are_refused_and_left_unread() -> None:
    numbers = (number for number in (1, 2))
    for iterator, rest in ((numbers, [1, 2]), (iter([3]), [3]), (map(str, [4]), ["4"]), (io.StringIO("a\n"), ["a\n"])):
        assert "return list(...)" in refusal([iterator]).reason
        assert list(iterator) == rest


@requirement("content.iterators-unread")
async def test_coroutines_and_async_generators_are_refused_and_left_alone() -> None:
    async def answer() -> int:
        return 42

    coroutine = answer()
    assert "never awaited" in refusal({"a": coroutine}).reason
    assert await coroutine == 42

    generator = ticks()
    assert "collect it in the tool" in refusal([generator]).reason
    assert [number async for number in generator] == [1]


@requirement("content.key-clash")
def test_two_keys_that_become_one_name_are_an_error_that_names_them() -> None:
    error = refusal({"map": {1: "a", "1": "b"}})

    assert error.path == ("map", "1")
    assert "the keys 1 (int) and '1' (str) both become the name '1'" in error.reason


@requirement("content.key-clash")
@pytest.mark.parametrize(
    "value",
    [
        {True: 1, "true": 2},
        {None: 1, "null": 2},
        {1.5: 1, "1.5": 2},
        {(1,): 1, "[1]": 2},
        {date(2024, 1, 2): 1, "2024-01-02": 2},
        {PurePosixPath("a"): 1, "a": 2},
        {"\ud83d\ude00": 1, "😀": 2},
        {2**70: 1, str(2**70): 2},
    ],
    ids=repr,
)
def test_every_kind_of_clash_is_seen(value: object) -> None:
    assert "both become the name" in refusal(value).reason


@requirement("content.keys")
@pytest.mark.parametrize(
    ("key", "hint"), [(b"x", "decode it"), (frozenset({1}), "cannot be a key"), (len, "cannot be a key")]
)
def test_a_key_without_a_text_of_its_own_is_refused(key: object, hint: str) -> None:
    error = refusal({"a": {key: 1}})

    assert error.path == ("a",)
    assert hint in error.reason


@requirement("content.keys")
def test_a_long_key_is_cut_in_the_error() -> None:
    error = refusal({("x" * 1000): object(), 1: 1})

    assert len(str(error)) < 600
    assert error.path == ("x" * 1000,)
    assert "..." in refusal({b"y" * 1000: 1}).reason


@requirement("content.cycles")
def test_a_container_that_holds_itself_is_an_error_that_says_where() -> None:
    items: list[object] = [1]
    value: dict[str, object] = {"a": {"b": items}}
    items.append(value["a"])

    error = refusal(value)

    assert error.path == ("a", "b", 1)
    assert "it is the very object at $.a" in error.reason


@requirement("content.cycles")
def test_cycles_are_seen_in_every_kind_of_container() -> None:
    @attrs.define
    class Node:
        next: object

    node = Node(None)
    node.next = [node]
    assert "contains itself" in refusal(node).reason

    twice: list[object] = []
    twice += [twice, twice]
    assert "contains itself" in refusal(twice).reason

    pictured: list[object] = [ImageContent(b"x", "image/png")]
    pictured.append(pictured)
    with pytest.raises(UnencodableResult, match="contains itself"):
        encode_content(pictured)

    group: list[object] = []
    error = ValueError()
    error.__notes__ = group  # type: ignore[assignment]  # any code may write there
    group.append(error)
    assert "contains itself" in refusal(error).reason


@requirement("content.depth")
@pytest.mark.parametrize("core", [1, date(2024, 1, 2), [], ()], ids=["shortcut", "walk", "empty", "empty tuple"])
def test_values_may_be_nested_as_deep_as_promised_and_no_deeper(core: object) -> None:
    value = core
    for _ in range(MAX_DEPTH - isinstance(core, (list, tuple))):
        value = [value]

    assert encode_json(value).startswith("[" * MAX_DEPTH)
    error = refusal([value])
    assert f"deeper than {MAX_DEPTH} containers" in error.reason
    assert f"... {MAX_DEPTH - 16} more ..." in str(error)


@requirement("content.depth")
def test_a_hundred_thousand_levels_are_an_error_and_no_crash() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]

    assert "nested deeper" in refusal(value).reason
    while value:  # taken apart by hand: not every interpreter frees so deep a list
        [value] = value  # type: ignore[assignment]  # each level is a list


@requirement("content.depth")
def test_a_stack_that_is_nearly_used_up_is_an_error_and_no_crash() -> None:
    value: object = date(2024, 1, 2)
    for _ in range(MAX_DEPTH):
        value = {"k": value}

    def deep_down(frames: int, act: Callable[[], str]) -> str:
        return act() if frames == 0 else deep_down(frames - 1, act)

    used = sum(1 for _ in traceback.walk_stack(None))
    with pytest.raises(UnencodableResult, match="too deeply for the stack that is left"):
        deep_down(sys.getrecursionlimit() - used - 200, lambda: encode_json(value))


@requirement("content.shared")
def test_sharing_that_explodes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.content._writer.MAX_REPEATS", 1_000)
    value: list[object] = [date(2024, 1, 2)]
    for _ in range(60):
        value = [value, value]

    assert "in more than one place over 1,000 times" in refusal(value).reason


@requirement("content.numbers-exact")
def test_an_integer_too_long_to_write_is_an_error() -> None:
    error = refusal({"n": 10**100_001})

    assert error.path == ("n",)
    assert "more than 100,000 digits" in error.reason


@requirement("content.blame")
def test_what_the_values_own_code_raises_is_an_error_with_the_place() -> None:
    class Broken(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            raise ConnectionError(f"no {key}")

        def __iter__(self) -> Iterator[str]:
            return iter("k")

        def __len__(self) -> int:
            return 1

    error = refusal([{"lazy": Broken(), "at": date(2024, 1, 2)}])

    assert error.path == (0, "lazy")
    assert error.type_name.endswith("Broken")
    assert "reading it raised ConnectionError: no k" in error.reason
    assert isinstance(error.__cause__, ConnectionError)


@requirement("content.blame")
def test_even_an_exception_that_cannot_be_read_is_blamed() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise ValueError

    class Row(Sequence[int]):
        def __len__(self) -> int:
            return 1

        @overload
        def __getitem__(self, index: int) -> int: ...
        @overload
        def __getitem__(self, index: slice) -> Row: ...
        def __getitem__(self, index: int | slice) -> int | Row:
            raise Unreadable

    assert "its message cannot be read" in refusal(Row()).reason
    assert refusal(Unreadable()).reason == "reading it raised ValueError: no message"


@requirement("content.blame")
def test_a_memoryview_that_was_released_is_an_error() -> None:
    view = memoryview(b"x")
    view.release()

    with pytest.raises(UnencodableResult, match="released"):
        encode_json([view])
    with pytest.raises(UnencodableResult, match="released"):
        encode_content([view])


@requirement("content.blame")
def test_what_stops_the_program_is_not_caught() -> None:
    class Stopping:
        def model_dump(self, *, mode: str) -> object:
            raise KeyboardInterrupt(mode)

    with pytest.raises(KeyboardInterrupt):
        encode_json([Stopping()])


@requirement("content.blocks-sound")
@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (JsonContent("nope"), "not valid JSON"),
        (JsonContent(""), "not valid JSON"),
        (JsonContent("[NaN]"), "NaN is no JSON"),
        (JsonContent({"a": 1}), "returned as it is"),  # type: ignore[arg-type]  # structs do not check
        (ImageContent(b"", "image/png"), "not empty"),
        (ImageContent("aGk=", "image/png"), "must be bytes"),  # type: ignore[arg-type]  # structs do not check
        (ImageContent(b"x", "png"), "must begin with 'image/'"),
        (AudioContent(b"x", "image/png"), "must begin with 'audio/'"),
        (LinkContent(""), "not empty"),
        (TextResourceContent("", "x"), "uri must be a str that is not empty"),
        (TextResourceContent("a:b", b"x"), "text must be a str"),  # type: ignore[arg-type]  # structs do not check
        (BlobResourceContent("a:b", "eA=="), "data must be bytes"),  # type: ignore[arg-type]  # structs do not check
        (BlobResourceContent("a:b", b"", ""), "media_type must be a str that is not empty"),
        (TextResourceContent("a:b", "", None, {}), "must be ResourceAnnotations"),  # type: ignore[arg-type]  # as above
        (TextResourceContent("a:b", "", None, ResourceAnnotations(priority=2)), "`float` <= 1.0 - at `$.priority`"),
        (TextResourceContent("a:b", "", None, ResourceAnnotations(("all",))), "$.audience"),  # type: ignore[arg-type]  # as above
    ],
)
def test_a_content_block_that_no_provider_would_take_is_an_error(block: object, reason: str) -> None:
    assert reason in refusal(block).reason
    assert refusal({"a": [block]}).path == ("a", 0)


class EndlessRow(Sequence[int]):
    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        return 1 if isinstance(index, int) else self


class EndlessList(list[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


class EndlessTable(Mapping[int, int]):
    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[int]:
        return itertools.count()

    def __getitem__(self, key: int) -> int:
        return key


@requirement("content.endless")
@pytest.mark.parametrize("value", [EndlessRow(), EndlessList([1]), EndlessTable(), range(10**12)], ids=type)
def test_what_has_no_end_is_an_error(monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    for module in ("_blocks", "_writer"):
        monkeypatch.setattr(f"armory_trio.content.{module}.MAX_VALUES", 1_000)
    for encode in (encode_content, encode_json):
        with pytest.raises(UnencodableResult, match="more than 1,000 values"):
            encode(value)


@requirement("content.endless")
def test_an_enum_that_answers_itself_for_its_value_is_an_error() -> None:
    class Mirror(enum.Enum):
        SELF = 1

        @property
        def value(self) -> Mirror:  # type: ignore[override]  # the mistake under test
            return self

    with pytest.raises(UnencodableResult, match="it has no documented form"):
        encode_content(Mirror.SELF)
