from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import typing
import uuid
from collections import OrderedDict, abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Generic, Literal, NamedTuple, NewType, NotRequired, Required, TypedDict, TypeVar, cast

import attrs
import msgspec
import pytest
from annotated_types import Ge, Timezone

from armory_trio.definitions._canonical import thaw_json
from armory_trio.definitions.contracts import (
    ArgumentIssue,
    InputContract,
    InvalidArguments,
    contract_from_signature,
    contract_from_type,
)
from armory_trio.errors import DefinitionError
from tests.requirements import requirement

T = TypeVar("T")
UTC = dt.UTC
UserId = NewType("UserId", int)
CONTEXT = object()


def one(kind: object) -> Callable[..., object]:
    """A function whose one parameter ``a`` has the annotation *kind*."""

    def use(a: object) -> object:
        return a

    use.__annotations__["a"] = kind
    return use


def only(arguments: object) -> object:
    return arguments


def both(arguments: object, ctx: object) -> object:
    return arguments, ctx


def schema_of(contract: InputContract) -> dict[str, object]:
    return cast("dict[str, object]", thaw_json(contract.schema))


def shown(kind: object) -> dict[str, object]:
    return cast("dict[str, dict[str, object]]", schema_of(contract_from_signature(one(kind)))["properties"])["a"]


def refused(contract: InputContract, arguments: object) -> tuple[ArgumentIssue, ...]:
    with pytest.raises(InvalidArguments) as caught:
        contract.validate(cast("Mapping[str, object]", arguments))
    return caught.value.issues


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"
    CRIMSON = "red"  # noqa: PIE796  # an alias


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    YES = "yes"
    HALF = 0.5


class Guessing(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> Guessing | None:
        return cls.A if value == "guess" else None


class Bits(enum.IntFlag):
    READ = 1
    WRITE = 2


# ── Values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.types", "contracts.dump")
@pytest.mark.parametrize(
    ("kind", "schema", "given", "meant"),
    [
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "a", "a"),
        (Literal["a", 1, None, True], {"enum": ["a", 1, None, True]}, True, True),  # None among others
        (Literal[Colour.RED], {"type": "string", "enum": ["red"]}, "red", Colour.RED),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
        (Colour, {"type": "string", "enum": ["red", "blue"]}, "red", Colour.RED),
        (Level, {"type": "integer", "enum": [1, 2]}, 2, Level.HIGH),
        (Mixed, {"enum": [1, "yes", 0.5]}, 0.5, Mixed.HALF),
        (Guessing, {"type": "string", "enum": ["a"]}, "a", Guessing.A),
        (Bits, {"type": "integer", "enum": [1, 2]}, 2, Bits.WRITE),
        (dt.date, {"type": "string", "format": "date"}, "2024-02-29", dt.date(2024, 2, 29)),
        (
            dt.datetime,
            {"type": "string", "format": "date-time"},
            "2024-01-02T03:04:05Z",
            dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        ),
        (dt.time, {"type": "string", "format": "time"}, "03:04:05", dt.time(3, 4, 5)),
        (dt.timedelta, {"type": "string", "format": "duration"}, "PT90S", dt.timedelta(seconds=90)),
        (
            uuid.UUID,
            {"type": "string", "format": "uuid"},
            "12345678-1234-5678-1234-567812345678",
            uuid.UUID("12345678-1234-5678-1234-567812345678"),
        ),
        (bytes, {"type": "string", "contentEncoding": "base64"}, "aGk=", b"hi"),
        (pathlib.Path, {"type": "string", "format": "path"}, "a/b", pathlib.Path("a/b")),
        (pathlib.PurePosixPath, {"type": "string", "format": "path"}, "a", pathlib.PurePosixPath("a")),
        (UserId, {"type": "integer"}, 7, 7),
        (None, {"type": "null"}, None, None),
        (list, {"type": "array"}, [1, "x"], [1, "x"]),
        (list[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
        (abc.Sequence[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
        (typing.Iterable[str], {"type": "array", "items": {"type": "string"}}, ["x"], ["x"]),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [2, 1], {1, 2}),
        (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ["x"], frozenset("x")),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1, 2], (1, 2)),
        (
            tuple[int, str],
            {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": False,
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
            },
            [1, "x"],
            (1, "x"),
        ),
        (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0, "items": False}, [], ()),
        (dict, {"type": "object", "additionalProperties": True}, {"x": [1]}, {"x": [1]}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, {"x": 1}, {"x": 1}),
        (abc.Mapping[str, object], {"type": "object", "additionalProperties": True}, {"x": None}, {"x": None}),
        (OrderedDict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, {"x": 1}, {"x": 1}),
        (
            dict[int, str],
            {
                "type": "object",
                "propertyNames": {"pattern": "^-?(0|[1-9][0-9]*)$"},
                "additionalProperties": {"type": "string"},
            },
            {"-1": "x"},
            {-1: "x"},
        ),
        (
            dict[Literal["x", "y"], int],
            {"type": "object", "propertyNames": {"enum": ["x", "y"]}, "additionalProperties": {"type": "integer"}},
            {"x": 1},
            {"x": 1},
        ),
        (
            dict[dt.date, int],
            {"type": "object", "propertyNames": {"format": "date"}, "additionalProperties": {"type": "integer"}},
            {"2024-01-02": 1},
            {dt.date(2024, 1, 2): 1},
        ),
    ],
)
def test_each_type_is_shown_arrives_and_is_written_back(
    kind: object, schema: dict[str, object], given: object, meant: object
) -> None:
    contract = contract_from_signature(one(kind))
    assert shown(kind) == schema
    validated = contract.validate({"a": given})
    got = contract.named(validated)["a"]
    assert got == meant
    assert type(got) is type(meant)
    written = contract.dump(validated)["a"]
    assert written == (sorted(cast("list[int]", given)) if kind == set[int] else given)
    assert contract.named(contract.validate({"a": written}))["a"] == meant


@requirement("contracts.types")
@pytest.mark.parametrize(
    ("given", "meant"),
    [("1.50", "1.50"), (3, "3"), (0.1, "0.1"), ("-1e3", "-1E+3"), (".5", "0.5"), (2**70, str(2**70)), (1.0, "1.0")],
)
def test_decimals_come_as_numbers_or_digits(given: object, meant: str) -> None:
    contract = contract_from_signature(one(decimal.Decimal))
    got = contract.named(contract.validate({"a": given}))["a"]
    assert type(got) is decimal.Decimal
    assert str(got) == meant
    for wrong in ("nan", "inf", " 1", "1_0", "٣", "", True, None, "1e9999999"):
        assert refused(contract, {"a": wrong})[0].path == "a"


@requirement("contracts.types", "contracts.constraints")
def test_limits_of_decimals_and_time_zones_are_enforced() -> None:
    price = contract_from_signature(one(Annotated[decimal.Decimal, Ge(1), msgspec.Meta(multiple_of=0.5)]))
    assert price.named(price.validate({"a": "1.5"}))["a"] == decimal.Decimal("1.5")
    for wrong in ("0.5", 0.5, "1.2"):
        assert [issue.path for issue in refused(price, {"a": wrong})] == ["a"]
    aware = contract_from_signature(one(Annotated[dt.datetime, Timezone("UTC")]))
    assert aware.validate({"a": "2024-01-02T03:04:05Z"})
    assert refused(aware, {"a": "2024-01-02T03:04:05"})[0].path == "a"


@requirement("contracts.types", "contracts.strict")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Colour, "RED"),
        (Colour, None),
        (Level, True),
        (Level, 3),
        (Guessing, "guess"),
        (Bits, 3),
        (Mixed, True),
        (dt.date, "2024-02-30"),
        (dt.datetime, "2024-01-02"),
        (uuid.UUID, "x"),
        (set[int], [1, 1.0]),
        (set[object], [[1]]),
        (dict[int, str], {"01": "x"}),
        (dict[Literal["x"], int], {"y": 1}),
        (pathlib.Path, 1),
        (tuple[()], [1]),
    ],
)
def test_what_is_no_value_of_a_type_is_refused(kind: object, value: object) -> None:
    [issue, *_] = refused(contract_from_signature(one(kind)), {"a": value})
    assert issue.path.startswith("a")
    assert issue.message


class Plain:
    pass


class Odd(enum.Enum):
    A = (1, 2)


class Empty(enum.Enum):
    pass


@requirement("contracts.types")
@pytest.mark.parametrize(
    "kind",
    [
        Plain,
        complex,
        Callable[[int], int],
        type[int],
        list[Plain],
        dict[float, int],
        dict[tuple[int, int], int],
        dict[Annotated[int, Ge(1)], int],
        int | Plain,
        Odd,
        Empty,
        Literal[b"x"],
    ],
)
def test_what_json_cannot_carry_is_refused_at_definition_with_the_parameter(kind: object) -> None:
    with pytest.raises(DefinitionError, match=r"tool 'use': (.* in )?parameter 'a'"):
        contract_from_signature(one(kind))


# ── Unions ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Circle:
    radius: float


@dataclass
class Square:
    side: float
    label: str = ""


@attrs.define
class Cube:
    side: float
    depth: int


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog", tag_field="type"):
    lives: int


@requirement("contracts.unions")
@pytest.mark.parametrize(
    ("kind", "given", "meant"),
    [
        (int | str | float, 1, 1),
        (int | str | float, 1.5, 1.5),
        (int | str | float, "1", "1"),
        (str | dt.date, "2024-01-02", "2024-01-02"),
        (dt.date | str, "2024-01-02", dt.date(2024, 1, 2)),
        (dt.date | str, "soon", "soon"),
        (dt.datetime | dt.date, "2024-01-02", dt.date(2024, 1, 2)),
        (list[int] | list[str], ["a"], ["a"]),
        (list[int] | set[str] | None, ["a"], {"a"}),
        (decimal.Decimal | str, "1.5", decimal.Decimal("1.5")),
        (decimal.Decimal | str, "x", "x"),
        (float | list[int] | list[str] | int, 2**60 + 1, 2**60 + 1),
        (Circle | Square, {"side": 2}, Square(2)),
        (Square | Cube, {"side": 2, "depth": 3}, Cube(2, 3)),
        (Circle | list[Square] | str, [{"side": 1}], [Square(1)]),
        (Cat | Dog, {"type": "dog", "lives": 1}, Dog(1)),
        (dict[str, int] | Circle, {"radius": 1.5}, Circle(1.5)),
        (Colour | Level | None, 2, Level.HIGH),
        (bool | int, True, True),
        (object | int, {"x": 1}, {"x": 1}),
    ],
)
def test_a_union_arrives_as_its_first_branch_that_fits(kind: object, given: object, meant: object) -> None:
    contract = contract_from_signature(one(kind))
    validated = contract.validate({"a": given})
    got = contract.named(validated)["a"]
    assert got == meant
    assert type(got) is type(meant)
    assert contract.named(contract.validate(contract.dump(validated)))["a"] == meant


@requirement("contracts.unions", "contracts.issues")
def test_the_issues_of_a_union_are_those_of_the_branch_that_was_meant() -> None:
    contract = contract_from_signature(one(Cat | Dog))
    [issue] = refused(contract, {"a": {"type": "cat", "lives": "nine"}})
    assert issue.message == "`a.lives`: expected integer, got string"
    [issue] = refused(contract, {"a": {"type": "cow", "lives": 9}})
    assert issue.message == '`a.type`: expected "cat" or "dog", got string'
    [issue] = refused(contract_from_signature(one(Circle | list[int])), {"a": 3})
    assert issue.message == "`a`: expected Circle or array of integer, got integer"


# ── Classes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Money:
    """An amount of money.

    Args:
        cents: The amount in cents.
        currency: Three letters.
    """

    cents: Annotated[int, Ge(0)]
    currency: str = "EUR"
    notes: list[str] = field(default_factory=list[str])
    total: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if len(self.currency) != 3:
            raise ValueError("a currency has three letters")
        self.total = self.cents / 100


def halves(text: str) -> list[str]:
    return text.split("|")


@attrs.define
class Order:
    _id: int
    parts: list[str] = attrs.field(converter=halves)
    when: dt.date | None = None
    count: int = attrs.field(default=1, converter=int, validator=attrs.validators.ge(1))
    money: Money = attrs.field(factory=lambda: Money(1))
    seen: bool = attrs.field(init=False, default=False)


Untyped = attrs.make_class("Untyped", {"anything": attrs.field(default=None)})


class Settings(msgspec.Struct, rename="camel", kw_only=True):
    max_size: int
    dry_run: bool | msgspec.UnsetType = msgspec.UNSET
    labels: dict[str, str] = {}

    def __post_init__(self) -> None:
        if self.max_size > 100:
            raise RuntimeError("too large")


class Base(TypedDict):
    id: int


class Row(Base, total=False):
    note: str
    size: Required[int]
    tags: NotRequired[list[str]]


class Span(NamedTuple):
    start: int
    end: int = 9
    label: str = "x"


class Page(msgspec.Struct, Generic[T]):
    items: list[T]
    next: Page[T] | None = None


@dataclass
class Box(Generic[T]):
    value: T
    other: dict[str, T] | None = None


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list["Tree"])
    parent: Tree | None = None


@requirement("contracts.classes", "contracts.dump")
@pytest.mark.parametrize(
    ("kind", "given", "meant", "written"),
    [
        (Money, {"cents": 250}, Money(250), {"cents": 250, "currency": "EUR", "notes": []}),
        (
            Order,
            {"id": 1, "parts": "a|b", "count": 2, "money": {"cents": 3}},
            Order(1, "a|b", None, 2, Money(3)),
            None,
        ),
        (
            Settings,
            {"maxSize": 3, "dryRun": True},
            Settings(max_size=3, dry_run=True),
            {"maxSize": 3, "dryRun": True, "labels": {}},
        ),
        (Settings, {"maxSize": 3.0}, Settings(max_size=3), {"maxSize": 3, "labels": {}}),
        (Untyped, {"anything": [1]}, Untyped([1]), {"anything": [1]}),
        (Row, {"id": 1, "size": 2}, {"id": 1, "size": 2}, {"id": 1, "size": 2}),
        (Row, {"id": 1, "size": 2, "tags": []}, {"id": 1, "size": 2, "tags": []}, {"id": 1, "size": 2, "tags": []}),
        (Span, [1], Span(1), [1, 9, "x"]),
        (Span, [1, 2, "y"], Span(1, 2, "y"), [1, 2, "y"]),
        (Page[int], {"items": [1], "next": {"items": [2]}}, Page([1], Page([2])), None),
        (Box[dt.date], {"value": "2024-01-02"}, Box(dt.date(2024, 1, 2)), {"value": "2024-01-02", "other": None}),
        (Tree, {"name": "a", "children": [{"name": "b"}]}, Tree("a", [Tree("b")]), None),
        (Cat, {"type": "cat", "lives": 9}, Cat(9), {"type": "cat", "lives": 9}),
    ],
)
def test_classes_arrive_as_instances_and_are_written_back(
    kind: object, given: object, meant: object, written: object
) -> None:
    contract = contract_from_signature(one(list.__class_getitem__(kind)))
    validated = contract.validate({"a": [given]})
    [got] = cast("list[object]", contract.named(validated)["a"])
    assert got == meant
    assert type(got) is type(meant)
    if written is not None:
        assert contract.dump(validated) == {"a": [written]}
        assert contract.validate(contract.dump(validated)) == validated


@requirement("contracts.classes")
@pytest.mark.parametrize(
    ("kind", "given", "path", "words"),
    [
        (Money, {"cents": 1, "currency": "euro"}, "a", "Money refuses it: a currency has three letters"),
        (Money, {"cents": -1}, "a.cents", "expected at least 0, got -1"),
        (Money, {"cents": 1, "total": 1.0}, "a.total", "not a known argument"),
        (Order, {"id": 1, "parts": ["a"]}, "a.parts", "expected string, got array"),
        (Order, {"id": 1, "parts": "a", "count": 0}, "a", "Order refuses it"),
        (Order, {"id": 1, "parts": "a", "count": "2"}, "a.count", "expected integer, got string"),
        (Order, {"_id": 1, "parts": "a"}, "a.id", "required and missing"),
        (Settings, {"maxSize": 101}, "a", "Settings refuses it: too large"),
        (Settings, {"max_size": 1}, "a.maxSize", "required and missing"),
        (Settings, {"maxSize": 1, "x": 1}, "a.x", "known here: dryRun, labels, maxSize"),
        (Row, {"id": 1}, "a.size", "required and missing"),
        (Row, {"id": 1, "size": 2, "x": 3}, "a.x", "known here: id, note, size, tags"),
        (Span, [], "a", "expected at least 1 member, got 0"),
        (Span, [1, 2, "x", 4], "a", ""),
        (Page[int], {"items": ["x"]}, "a.items[0]", "expected integer, got string"),
        (Tree, {"name": "a", "children": [{"nme": "b"}]}, "a.children[0].nme", "did you mean `name`?"),
        (Cat, {"lives": 9}, "a.type", "required and missing"),
    ],
)
def test_what_a_class_refuses_is_an_issue_with_a_place(kind: object, given: object, path: str, words: str) -> None:
    issues = refused(contract_from_signature(one(kind)), {"a": given})
    assert any(issue.path == path and words in issue.message for issue in issues), issues


class Triple(msgspec.Struct, array_like=True):
    x: int
    y: int = 2


class Tagged(msgspec.Struct, tag="t", rename="camel"):
    the_order: Order
    skipped: int | msgspec.UnsetType = msgspec.UNSET


@attrs.frozen
class _Key:
    _name: str


@requirement("contracts.dump")
def test_classes_are_written_back_by_what_their_constructors_take_wherever_they_stand() -> None:
    def use(
        a: dict[str, Order],
        b: tuple[Order, int],
        c: set[_Key],
        d: Tagged,
        *,
        e: Triple,
        f: dict[int, Money],
        g: object = None,
        h: set[int] = frozenset({2, 1}),  # type: ignore[assignment]  # pyright: ignore[reportArgumentType]  # it can't change
    ) -> None: ...

    order = {"id": 1, "parts": "a"}
    contract = contract_from_signature(use)
    validated = contract.validate(
        {
            "a": {"k": order},
            "b": [order, 2],
            "c": [{"name": "y"}, {"name": "x"}],
            "d": {"type": "t", "theOrder": order},
            "e": [1],
            "f": {"7": {"cents": 3}},
        }
    )
    money: dict[str, object] = {"cents": 1, "currency": "EUR", "notes": []}
    full: dict[str, object] = {"id": 1, "parts": ["a"], "when": None, "count": 1, "money": money}
    assert contract.dump(validated) == {
        "a": {"k": full},
        "b": [full, 2],
        "c": [{"name": "x"}, {"name": "y"}],
        "d": {"type": "t", "theOrder": full},
        "e": [1, 2],
        "f": {"7": {"cents": 3, "currency": "EUR", "notes": []}},
        "g": None,
        "h": [1, 2],
    }


@requirement("contracts.classes", "contracts.constraints")
def test_a_class_is_described_by_its_docstring_and_its_defaults() -> None:
    schema = schema_of(contract_from_signature(one(Money)))
    assert cast("dict[str, object]", schema["$defs"])["Money"] == {
        "type": "object",
        "description": "An amount of money.",
        "properties": {
            "cents": {"type": "integer", "minimum": 0, "description": "The amount in cents."},
            "currency": {"type": "string", "description": "Three letters.", "default": "EUR"},
            "notes": {"type": "array", "items": {"type": "string"}, "default": []},
        },
        "required": ["cents"],
        "additionalProperties": False,
    }
    untold = cast("dict[str, dict[str, object]]", schema_of(contract_from_signature(one(Circle)))["$defs"])["Circle"]
    assert "description" not in untold


@requirement("contracts.classes")
def test_two_classes_of_one_name_are_kept_apart() -> None:
    def make(kind: type) -> type:
        return dataclasses.make_dataclass("Same", [("x", kind)])

    first, second = make(int), make(str)

    def use(a: object, b: object) -> object:
        return a, b

    use.__annotations__.update(a=first, b=second)
    contract = contract_from_signature(use)
    got = contract.named(contract.validate({"a": {"x": 1}, "b": {"x": "1"}}))
    assert (type(got["a"]), type(got["b"])) == (first, second)
    assert refused(contract, {"a": {"x": "1"}, "b": {"x": "1"}})[0].path == "a.x"


@requirement("contracts.classes")
def test_what_a_class_cannot_show_again_is_refused_at_definition() -> None:
    @dataclass
    class Seeded:
        seed: dataclasses.InitVar[int]

    class Packed(msgspec.Struct, array_like=True, tag=True):
        x: int

    for kind, words in ((Seeded, "InitVar"), (Packed, "tagged array")):
        with pytest.raises(DefinitionError, match=words):
            contract_from_signature(one(kind))


@requirement("contracts.classes")
def test_a_struct_that_is_an_array_is_one() -> None:
    contract = contract_from_signature(one(Triple))
    validated = contract.validate({"a": [1.0]})
    assert contract.named(validated) == {"a": Triple(1, 2)}
    assert contract.dump(validated) == {"a": [1, 2]}
    assert refused(contract, {"a": [1, 2, 3]})[0].path.startswith("a")


# ── A class as the whole input ───────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.classes", "contracts.caller", "contracts.closed")
@pytest.mark.parametrize(
    ("kind", "given", "meant", "named"),
    [
        (Money, {"cents": 1.0}, Money(1), {"cents": 1, "currency": "EUR", "notes": []}),
        (Settings, {"maxSize": 1, "dryRun": True}, Settings(max_size=1, dry_run=True), None),
        (Row, {"id": 1, "size": 2}, {"id": 1, "size": 2}, {"id": 1, "size": 2}),
        (Tree, {"name": "a"}, Tree("a"), {"name": "a", "children": [], "parent": None}),
        (Cat | Dog, {"type": "cat", "lives": 1}, Cat(1), {"lives": 1}),
        (Cube, {"side": 1.5, "depth": 2}, Cube(1.5, 2), {"side": 1.5, "depth": 2}),
        (_Key, {"name": "x"}, _Key("x"), {"name": "x"}),
        (Annotated[Circle, "a round thing"], {"radius": 1}, Circle(1), {"radius": 1}),
    ],
)
def test_a_class_can_be_the_whole_input(
    kind: object, given: Mapping[str, object], meant: object, named: dict[str, object] | None
) -> None:
    contract = contract_from_type(kind)
    validated = contract.validate(given)
    assert validated == meant
    assert type(validated) is type(meant)
    if named is not None:
        assert contract.named(validated) == named
    assert contract.validate(contract.dump(validated)) == validated
    assert contract.caller(both, "ctx")(validated, CONTEXT) == (meant, CONTEXT)
    assert contract.caller(only)(validated, None) is validated
    assert any(issue.code == "unknown" for issue in refused(contract, {**given, "unknown_name": 1}))


@requirement("contracts.classes")
def test_the_schema_of_a_whole_input_has_its_properties_at_the_root() -> None:
    assert schema_of(contract_from_type(Annotated[Circle, "a round thing"])) == {
        "type": "object",
        "properties": {"radius": {"type": "number"}},
        "required": ["radius"],
        "additionalProperties": False,
        "description": "a round thing",
    }
    tree = schema_of(contract_from_type(Tree))
    assert list(cast("dict[str, object]", tree["properties"])) == ["name", "children", "parent"]
    assert list(cast("dict[str, object]", tree["$defs"])) == ["Tree"]
    union = schema_of(contract_from_type(Cat | Dog))
    assert (union["type"], len(cast("list[object]", union["anyOf"]))) == ("object", 2)


@requirement("contracts.classes", "contracts.issues")
def test_all_issues_of_a_whole_input_are_listed() -> None:
    @dataclass
    class Event:
        title: str
        day: dt.date
        end: dt.date

    contract = contract_from_type(Event, localns=locals())
    issues = refused(contract, {"titel": "x", "day": "2024-02-30", "end": "later"})
    assert {(issue.path, issue.code) for issue in issues} == {
        ("title", "missing"),
        ("titel", "unknown"),
        ("day", "format"),
        ("end", "format"),
    }


@requirement("contracts.classes")
@pytest.mark.parametrize("kind", [int, list[int], dict[str, int], dict, Span, Triple, Circle | int, Circle | None])
def test_a_whole_input_that_is_no_closed_object_is_refused(kind: object) -> None:
    with pytest.raises(DefinitionError, match="tool 'x': input: arguments are an object with named members"):
        contract_from_type(kind, subject="tool 'x'")
