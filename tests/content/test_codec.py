from __future__ import annotations

import array
import dataclasses
import enum
import json
import types
import uuid
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from typing import NamedTuple, TypedDict

import attrs
import msgspec
import pydantic
import pytest

from armory_trio.content import EMPTY_TEXT, encode_content, encode_json
from armory_trio.definitions import JsonContent, TextContent
from tests.requirements import requirement


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2
    DAY = date(2024, 1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Mode(enum.StrEnum):
    FAST = "fast"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass(slots=True)
class Point:
    x: int
    label: object = None
    hidden: int = dataclasses.field(default=7, repr=False)


@attrs.frozen
class Account:
    name: str
    _balance: Decimal


class Pair(NamedTuple):
    left: int
    right: object


class Wire(msgspec.Struct, tag="wire", rename="camel"):
    long_name: int
    other_items: list[int] = []


class Sparse(msgspec.Struct, omit_defaults=True):
    count: int = 1
    items: list[int] = []
    note: str | msgspec.UnsetType = msgspec.UNSET
    made: dict[str, int] = msgspec.field(default_factory=lambda: {"a": 1})


class Row(msgspec.Struct, array_like=True, tag=7):
    a: int
    b: str


class Event(pydantic.BaseModel):
    at: datetime
    url: pydantic.HttpUrl
    price: Decimal
    names: list[str] = pydantic.Field(default_factory=list[str], serialization_alias="NAMES")


class Film(TypedDict):
    title: str
    year: int


class Registry(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return {"b": 2, "a": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("b", "a"))

    def __len__(self) -> int:
        return 2


class Odd(AbstractSet[int]):
    def __contains__(self, item: object) -> bool:
        return item in (5, 1, 3)

    def __iter__(self) -> Iterator[int]:
        return iter((5, 1, 3))

    def __len__(self) -> int:
        return 3


class Words(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "not the content"


class Whole(int):
    def __repr__(self) -> str:
        return "not a number"


IDENTITY = uuid.UUID("12345678-1234-5678-1234-567812345678")
LOCAL_MEAN_TIME = timezone(timedelta(minutes=19, seconds=32))


@requirement("content.text")
@pytest.mark.parametrize("text", ["hello", "→😀", "0", "null", "a\nb\x00", " a "])
def test_text_is_shown_as_it_is(text: str) -> None:
    assert encode_content(text) == (TextContent(text),)


@requirement("content.never-empty")
def test_an_empty_text_is_shown_as_a_stated_placeholder() -> None:
    assert encode_content("") == (TextContent("(empty text)"),)
    assert EMPTY_TEXT == "(empty text)"


@requirement("content.never-empty")
@pytest.mark.parametrize("text", [" ", "\n\t", "\u00a0", "\u3000"])
def test_white_space_alone_is_shown_in_quotes(text: str) -> None:
    [block] = encode_content(text)

    assert isinstance(block, JsonContent)
    assert json.loads(block.json) == text
    assert block.json.startswith('"')


@requirement("content.never-empty")
@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), ([], "[]"), ((), "[]"), ({}, "{}"), (set[int](), "[]"), (deque[int](), "[]"), (Sparse(), None)],
)
def test_nothing_and_empty_containers_are_shown_as_json(value: object, text: str | None) -> None:
    assert encode_content(value) == (JsonContent(text or '{"made":{"a":1}}'),)


@requirement("content.numbers-exact")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-7, "-7"),
        (True, "true"),
        (False, "false"),
        (9007199254740993, "9007199254740993"),
        (2**63, "9223372036854775808"),
        (2**64, "18446744073709551616"),
        (-(2**63) - 1, "-9223372036854775809"),
        (10**400, "1" + "0" * 400),
        (-(10**5000), "-1" + "0" * 5000),
        (10**99_999, "1" + "0" * 99_999),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e308"),
        (Whole(5), "5"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_keep_every_digit(value: object, text: str) -> None:
    assert encode_content(value) == (JsonContent(text),)
    assert encode_json([value, {"n": value}]) == f'[{text},{{"n":{text}}}]'


@requirement("content.non-finite")
def test_numbers_that_json_cannot_write_become_their_names() -> None:
    values = {"a": float("nan"), "b": [float("inf"), None], "c": (float("-inf"), 1.5)}

    assert encode_content(values) == (JsonContent('{"a":"NaN","b":["Infinity",null],"c":["-Infinity",1.5]}'),)
    assert encode_content(float("nan")) == (TextContent("NaN"),)


WORDS = [
    pytest.param(date(2024, 1, 2), "2024-01-02", id="date"),
    pytest.param(datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05", id="naive"),  # noqa: DTZ001  # what is tested
    pytest.param(datetime(2024, 1, 2, 3, 4, 5, 6, UTC), "2024-01-02T03:04:05.000006+00:00", id="aware"),
    pytest.param(datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=-5))), "2024-01-02T00:00:00-05:00", id="offset"),
    pytest.param(
        datetime(1900, 1, 1, tzinfo=LOCAL_MEAN_TIME), "1900-01-01T00:00:00+00:19:32", id="offset with seconds"
    ),
    pytest.param(time(1, 2), "01:02:00", id="time"),
    pytest.param(timedelta(0), "PT0S", id="no time"),
    pytest.param(timedelta(days=1, hours=2, microseconds=500_000), "P1DT2H0.5S", id="duration"),
    pytest.param(timedelta(days=400), "P400D", id="days"),
    pytest.param(timedelta(minutes=90, seconds=1), "PT1H30M1S", id="hours"),
    pytest.param(timedelta(microseconds=-1), "-PT0.000001S", id="negative duration"),
    pytest.param(Decimal("1.10"), "1.10", id="Decimal"),
    pytest.param(Decimal("1E+5"), "1E+5", id="Decimal with exponent"),
    pytest.param(Decimal("NaN"), "NaN", id="Decimal NaN"),
    pytest.param(Decimal("sNaN"), "sNaN", id="signalling NaN"),
    pytest.param(IDENTITY, "12345678-1234-5678-1234-567812345678", id="UUID"),
    pytest.param(PurePosixPath("/a/ü"), "/a/ü", id="Path"),
    pytest.param(Colour.RED, "red", id="Enum"),
    pytest.param(Colour.DAY, "2024-01-02", id="Enum of a date"),
    pytest.param(Mode.FAST, "fast", id="StrEnum"),
    pytest.param(Words("words"), "words", id="str subclass"),
    pytest.param(UserString("words"), "words", id="UserString"),
    pytest.param(b"hello", "data:application/octet-stream;base64,aGVsbG8=", id="bytes"),
    pytest.param(b"", "data:application/octet-stream;base64,", id="no bytes"),
    pytest.param(bytearray(b"\xff"), "data:application/octet-stream;base64,/w==", id="bytearray"),
    pytest.param(memoryview(b"abcd")[::2], "data:application/octet-stream;base64,YWM=", id="memoryview"),
]


@requirement("content.documented-forms")
@pytest.mark.parametrize(("value", "text"), WORDS)
def test_what_json_writes_as_a_string_is_text_alone_and_a_string_within(value: object, text: str) -> None:
    assert encode_content(value) == (TextContent(text),)
    assert json.loads(encode_json([value, {"k": value}])) == [text, {"k": text}]


CONTAINERS = [
    pytest.param([1, (2, list[int]())], "[1,[2,[]]]", id="rows"),
    pytest.param({"b": 1, "a": {"z": 0}}, '{"b":1,"a":{"z":0}}', id="insertion order"),
    pytest.param(Film(title="M", year=1931), '{"title":"M","year":1931}', id="TypedDict"),
    pytest.param(OrderedDict[str, object](b=1, a=date(2024, 1, 2)), '{"b":1,"a":"2024-01-02"}', id="OrderedDict"),
    pytest.param(defaultdict[str, int](int, a=1), '{"a":1}', id="defaultdict"),
    pytest.param(Counter("aab"), '{"a":2,"b":1}', id="Counter"),
    pytest.param(types.MappingProxyType({"a": 1}), '{"a":1}', id="mappingproxy"),
    pytest.param(ChainMap({"a": 1}, {"b": 2}), '{"b":2,"a":1}', id="ChainMap"),
    pytest.param(UserDict(a=1), '{"a":1}', id="UserDict"),
    pytest.param(Registry(), '{"b":2,"a":1}', id="Mapping of one's own"),
    pytest.param(UserList([1, 2]), "[1,2]", id="UserList"),
    pytest.param(deque([2, 1]), "[2,1]", id="deque"),
    pytest.param(range(3), "[0,1,2]", id="range"),
    pytest.param(array.array("d", [1.5]), "[1.5]", id="array"),
    pytest.param({"b": 1, "a": 2}.keys(), '["b","a"]', id="keys"),
    pytest.param({"b": 1, "a": 2}.values(), "[1,2]", id="values"),
    pytest.param({"b": 1}.items(), '[["b",1]]', id="items"),
    pytest.param(Level.HIGH, "3", id="IntEnum"),
    pytest.param(Access.READ | Access.WRITE, "3", id="Flag"),
    pytest.param([Colour.BLUE, Level.HIGH, Mode.FAST], '[2,3,"fast"]', id="Enums within"),
]


@requirement("content.documented-forms")
@pytest.mark.parametrize(("value", "text"), CONTAINERS)
def test_containers_become_compact_json_in_their_own_order(value: object, text: str) -> None:
    assert encode_content(value) == (JsonContent(text),)
    assert encode_json(value) == text


RECORDS = [
    pytest.param(Point(1, label=Point(2)), {"x": 1, "label": {"x": 2, "label": None, "hidden": 7}, "hidden": 7}),
    pytest.param(Account("ada", Decimal("1.10")), {"name": "ada", "_balance": "1.10"}),
    pytest.param(Pair(1, Pair(2, None)), {"left": 1, "right": {"left": 2, "right": None}}),
    pytest.param(Wire(1), {"type": "wire", "longName": 1, "otherItems": []}),
    pytest.param(Sparse(2, [1], "x"), {"count": 2, "items": [1], "note": "x", "made": {"a": 1}}),
    pytest.param(Row(1, "b"), [7, 1, "b"]),
    pytest.param(
        Event(at=datetime(2024, 1, 2, tzinfo=UTC), url=pydantic.HttpUrl("http://x.y"), price=Decimal("1.10")),
        {"at": "2024-01-02T00:00:00Z", "url": "http://x.y/", "price": "1.10", "names": []},
    ),
]


@requirement("content.records")
@pytest.mark.parametrize(("value", "plain"), RECORDS)
def test_records_become_objects_of_their_fields(value: object, plain: object) -> None:
    assert json.loads(encode_json(value)) == plain
    assert json.loads(encode_json({"at": date(2024, 1, 2), "deep": [value]}))["deep"] == [plain]


@requirement("content.records")
@pytest.mark.parametrize("value", [Wire(1), Wire(2, [3]), Sparse(), Sparse(2, [1], "x", {}), Row(1, "b")])
def test_a_struct_is_written_as_msgspec_writes_it(value: msgspec.Struct) -> None:
    assert encode_json(value) == msgspec.json.encode(value).decode()


@requirement("content.records")
def test_exceptions_that_are_returned_say_their_type_and_message() -> None:
    error = ValueError("bad")
    error.add_note("seen in row 3")
    group = ExceptionGroup("two", [error, KeyError("k")])

    assert json.loads(encode_json([group, ValueError()])) == [
        {
            "type": "ExceptionGroup",
            "message": "two",
            "exceptions": [
                {"type": "ValueError", "message": "bad", "notes": ["seen in row 3"]},
                {"type": "KeyError", "message": "'k'"},
            ],
        },
        {"type": "ValueError", "message": ""},
    ]


@requirement("content.sets-deterministic")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({10, 9, 1, 2.5, -3}, "[-3,1,2.5,9,10]"),
        ({"b", "a", "c"}, '["a","b","c"]'),
        ({"10", 9, None, (2, 1), Colour.RED, True}, '[true,9,"10","red",[2,1],null]'),
        (frozenset({frozenset({2, 1}), frozenset({3})}), "[[1,2],[3]]"),
        ({float("nan"), float("inf"), 0}, '[0,"Infinity","NaN"]'),
        ({2**70, 1.5}, "[1.5,1180591620717411303424]"),
        ({10**400, 1.5}, f"[1.5,1{'0' * 400}]"),
        (Odd(), "[1,3,5]"),
    ],
)
def test_sets_are_written_in_one_order(value: object, text: str) -> None:
    assert encode_json(value) == text


@requirement("content.sets-deterministic")
def test_two_equal_sets_that_iterate_differently_have_one_text() -> None:
    one, other = {0, 8}, {8, 0}
    assert list(one) != list(other)

    assert encode_json(one) == encode_json(other)


@requirement("content.keys")
def test_keys_become_the_text_that_their_values_would_have() -> None:
    value: dict[object, object] = {
        True: 1,
        None: 2,
        1.5: 3,
        7: 4,
        (1, ("a", None)): 5,
        Colour.RED: 6,
        Level.HIGH: 7,
        date(2024, 1, 2): 8,
        IDENTITY: 9,
        Decimal("1.10"): 10,
        float("nan"): 11,
        PurePosixPath("/a"): 12,
        timedelta(seconds=1): 13,
        Words("w"): 14,
        "": 15,
        2**70: 16,
    }

    assert list(json.loads(encode_json(value)).items()) == [
        ("true", 1),
        ("null", 2),
        ("1.5", 3),
        ("7", 4),
        ('[1,["a",null]]', 5),
        ("red", 6),
        ("3", 7),
        ("2024-01-02", 8),
        ("12345678-1234-5678-1234-567812345678", 9),
        ("1.10", 10),
        ("NaN", 11),
        ("/a", 12),
        ("PT1S", 13),
        ("w", 14),
        ("", 15),
        ("1180591620717411303424", 16),
    ]


@requirement("content.surrogates")
def test_lone_surrogates_are_escaped_and_pairs_joined() -> None:
    assert encode_content("\ud83d x é") == (TextContent("\\ud83d x é"),)
    assert encode_content("\ud83d\ude00") == (TextContent("😀"),)

    text = encode_json({"\udc80": ["\ud83d é", "\ud83d\ude00"]})

    assert text == '{"\\udc80":["\\ud83d é","😀"]}'
    assert json.loads(text) == {"\udc80": ["\ud83d é", "😀"]}


@requirement("content.any-locale")
def test_json_in_ascii_passes_through_any_encoding() -> None:
    value = {"→😀": ["\ud83d", date(2024, 1, 2), "ü\u2028\x7f"], "plain": 1}

    text = encode_json(value, ascii=True)

    assert text.encode("cp1252") == text.encode("ascii") == text.encode("utf-8")
    assert json.loads(text) == {"→😀": ["\ud83d", "2024-01-02", "ü\u2028\x7f"], "plain": 1}
    assert json.loads(encode_json("→😀", ascii=True)) == "→😀"


@requirement("content.shared")
def test_a_container_in_two_places_is_written_in_both() -> None:
    row: dict[str, object] = {"a": 1}
    dated = {"d": date(2024, 1, 2)}

    assert encode_json([row, row, {"deep": row}]) == '[{"a":1},{"a":1},{"deep":{"a":1}}]'
    assert encode_json([dated, dated, row]) == '[{"d":"2024-01-02"},{"d":"2024-01-02"},{"a":1}]'


@requirement("content.records")
def test_a_model_is_known_by_its_dump_and_not_by_its_package() -> None:
    class Dumps:
        def model_dump(self, *, mode: str) -> dict[str, object]:
            return {"mode": mode, "n": float("inf")}

    assert encode_json(Dumps()) == '{"mode":"json","n":"Infinity"}'
