"""The schema that a model is shown and the validator accept the same JSON values."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, NotRequired, TypedDict, cast

import attrs
import jsonschema_rs
import msgspec
import pydantic
import pytest
from annotated_types import Ge, Len, Lt, MultipleOf
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.definitions._canonical import thaw_json
from armory_trio.definitions.contracts import InputContract, InvalidArguments, contract_from_signature
from tests.requirements import requirement


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    YES = True
    HALF = 0.5
    WORD = "word"


@dataclass
class Point:
    x: int
    y: float = 0.5


@attrs.frozen
class Line:
    start: Point
    points: list[Point] = attrs.field(factory=list[Point])


class Tree(msgspec.Struct):
    name: str
    children: list[Tree] = []


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    name: str


class Row(TypedDict):
    id: int
    note: NotRequired[str | None]


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Model(pydantic.BaseModel):
    a: int
    b: list[float] = pydantic.Field(default_factory=list[float])
    c: Literal["x", "y"] | None = None


@dataclass
class Holder:
    anything: object = None
    table: dict[int, bool] = field(default_factory=dict[int, bool])


def scalars(a: int, b: float, c: str, d: bool, e: None = None) -> None: ...  # what a tool looks like
def limits(
    a: Annotated[int, Ge(-2), Lt(3)],
    b: Annotated[float, Ge(0.5)] = 1.0,
    c: Annotated[str, Len(1, 3)] = "x",
    d: Annotated[int, MultipleOf(2)] = 0,
) -> None: ...
def choices(a: Literal["a", "b", 1] | None, b: Colour, c: Level = Level.LOW, d: Mixed = Mixed.ONE) -> None: ...
def containers(
    a: list[int],
    b: tuple[int, str],
    c: tuple[float, ...] = (),
    d: dict[str, int] | None = None,
    e: set[int] | None = None,
) -> None: ...
def unions(
    a: str | float, b: list[int] | list[str], c: Point | Line, d: bool | dict[int, str] | None = None
) -> None: ...
def classes(a: Point, b: Line, c: Tree, d: Cat | Dog, *, e: Row, f: Pair, g: Model) -> None: ...
def free(a: object, b: Holder, c: Decimal, d: list, e: dict) -> None: ...  # type: ignore[type-arg]  # bare containers


FUNCTIONS: list[Callable[..., object]] = [scalars, limits, choices, containers, unions, classes, free]

NUMBERS = st.one_of(
    st.integers(-4, 4),
    st.integers(-4, 4).map(float),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2**53 + 1, 10**25, 1e20, 0.5, 1.5, -0.0]),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    st.text(max_size=4),
    st.sampled_from(["a", "b", "red", "x", "1", "1.5", "true", "cat", "dog"]),
)
KEYS = st.sampled_from(
    ["x", "y", "start", "points", "name", "children", "type", "lives", "id", "note", "a", "b", "1", "-2"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


def fitting(schema: Mapping[str, object], root: Mapping[str, object]) -> st.SearchStrategy[object]:
    """Values that fit *schema* more often than not."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return st.deferred(lambda: fitting(cast("dict[str, dict[str, object]]", root["$defs"])[name], root))
    if "anyOf" in schema:
        branches = cast("list[dict[str, object]]", schema["anyOf"])
        return st.one_of([fitting(branch, root) for branch in branches])
    if "enum" in schema:
        return st.sampled_from(cast("list[object]", schema["enum"]))
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        properties = cast("dict[str, dict[str, object]]", schema["properties"])
        required = cast("list[str]", schema.get("required", []))
        inner = {name: fitting(member, root) for name, member in properties.items()}
        return st.fixed_dictionaries(
            {name: inner[name] for name in required},
            optional={name: value for name, value in inner.items() if name not in required},
        )
    if kind == "object":
        members = schema.get("additionalProperties")
        values = fitting(cast("dict[str, object]", members), root) if isinstance(members, dict) else VALUES
        return st.dictionaries(st.sampled_from(["1", "-2", "a"]), values, max_size=2)
    if kind == "array":
        first = schema.get("prefixItems")
        if isinstance(first, list):
            return st.tuples(*[fitting(item, root) for item in cast("list[dict[str, object]]", first)]).map(list)
        items = schema.get("items")
        return st.lists(
            fitting(cast("dict[str, object]", items), root) if isinstance(items, dict) else VALUES, max_size=3
        )
    low, high = cast("int", schema.get("minLength", 0)), cast("int", schema.get("maxLength", 3))
    simple: dict[str, st.SearchStrategy[object]] = {
        "integer": st.integers(-2, 2) | st.integers(-2, 2).map(float),
        "number": NUMBERS | st.floats(0.5, 9.0),
        "string": st.text(min_size=low, max_size=high),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    if isinstance(kind, list):
        return st.sampled_from(["1.5", "-2", "+.5e3", "1.", "x"]) | NUMBERS
    return simple.get(kind, VALUES) if isinstance(kind, str) else VALUES


def arguments_for(contract: InputContract) -> st.SearchStrategy[dict[str, object]]:
    """Arguments that fit, arguments in which something was exchanged, and arguments that are anything."""
    schema = cast("dict[str, object]", thaw_json(contract.schema))
    names = list(cast("dict[str, object]", schema["properties"]))
    good = cast("st.SearchStrategy[dict[str, object]]", fitting(schema, schema))
    spoilt = st.tuples(good, st.sampled_from([*names, "unknown"]), VALUES).map(
        lambda parts: {**parts[0], parts[1]: parts[2]}
    )
    anything = st.dictionaries(st.sampled_from([*names, "unknown"]), VALUES, max_size=6)
    return cast("st.SearchStrategy[dict[str, object]]", st.one_of(good, spoilt, anything))


@functools.cache
def prepared(
    function: Callable[..., object],
) -> tuple[InputContract, jsonschema_rs.Validator, st.SearchStrategy[dict[str, object]]]:
    contract = contract_from_signature(function)
    validator = jsonschema_rs.Draft202012Validator(cast("dict[str, object]", thaw_json(contract.schema)))
    return contract, validator, arguments_for(contract)


def accepts(contract: InputContract, arguments: Mapping[str, object]) -> bool:
    try:
        contract.validate(arguments)
    except InvalidArguments as error:
        return not error.issues  # a refusal without issues would count as acceptance, and fail the test
    return True


def has_null_to_leave_out(value: object) -> bool:
    """Nulls that mean "left out" are the one thing that a contract takes and its schema does not."""
    if isinstance(value, dict):
        members = cast("dict[str, object]", value).values()
        return any(member is None or has_null_to_leave_out(member) for member in members)
    return isinstance(value, list) and any(has_null_to_leave_out(member) for member in cast("list[object]", value))


@requirement("contracts.agree")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@given(data=st.data())
def test_the_schema_and_the_validator_accept_the_same_values(
    function: Callable[..., object], data: st.DataObject
) -> None:
    contract, validator, strategy = prepared(function)

    arguments = data.draw(strategy)
    by_schema = validator.is_valid(arguments)
    by_contract = accepts(contract, arguments)

    if by_contract and not by_schema:
        assert has_null_to_leave_out(arguments)
    else:
        assert by_contract == by_schema


@requirement("contracts.dump")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@given(data=st.data())
def test_what_is_written_back_validates_to_the_same_values(
    function: Callable[..., object], data: st.DataObject
) -> None:
    contract, validator, strategy = prepared(function)
    arguments = data.draw(strategy)
    if not accepts(contract, arguments):
        return

    validated = contract.validate(arguments)
    written = contract.dump(validated)

    assert validator.is_valid(written)
    assert contract.validate(written) == validated
    assert contract.dump(contract.validate(written)) == written


@requirement("contracts.integers")
@given(value=st.floats(), number=st.integers())
def test_a_float_is_an_integer_exactly_when_it_is_integral(value: float, number: int) -> None:
    def take(a: int) -> int:
        return a

    contract = contract_from_signature(take)
    if math.isfinite(value) and value.is_integer():
        got = contract.named(contract.validate({"a": value}))["a"]
        assert type(got) is int
        assert got == value
    else:
        assert not accepts(contract, {"a": value})
    assert contract.named(contract.validate({"a": number})) == {"a": number}
