"""Declarations and functions that only a mistake, or somebody hostile, would give."""

from __future__ import annotations

import enum
import inspect
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Generic, TypeVar
from unittest import mock

import msgspec
import pydantic
import pytest
from annotated_types import Ge, Gt, Le, Len, MaxLen, MinLen, MultipleOf
from typing_extensions import TypeAliasType

from armory_trio import (
    DefinitionError,
    EffectDeclaration,
    Lifecycle,
    Risk,
    Semantics,
    ToolDefinition,
    ToolId,
    define_tool,
    tool,
)
from armory_trio.definitions import Declarations, InvalidArguments, JsonLimits
from tests.requirements import requirement

T = TypeVar("T")


class Speechless:
    """Whoever looks at it learns nothing but its type."""

    __hash__ = None  # type: ignore[assignment]  # it can't be hashed

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def __repr__(self) -> str:
        raise RuntimeError("not printable")

    def __iter__(self) -> Iterator[object]:
        raise RuntimeError("not iterable")

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")


HOSTILE: tuple[object, ...] = (
    None,
    -1,
    math.nan,
    10**400,
    "",
    "\ud800",
    b"x",
    [None],
    [Speechless()],
    {1: 2},
    {"class": [], "targets": Speechless()},
    {"class": "destructive", "targets": [Speechless()]},
    object(),
    Speechless(),
    Speechless,
    len,
)


def fine(a: int = 1) -> int:
    return a


def annotated(kind: object) -> Callable[..., object]:
    def function(a: object) -> object:
        return a

    function.__annotations__ = {"a": kind}
    return function


def refusal(make: Callable[[], object]) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value


# ── declarations ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.hostile")
@pytest.mark.parametrize("field", [*Declarations.__annotations__, "reducer"])
@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_declared_is_taken_or_refused_by_its_name(field: str, value: object) -> None:
    try:
        tool(fine, **{field: value})  # type: ignore[call-overload]  # the mistakes under test
    except DefinitionError as error:
        assert error.subject.startswith("tool")
        assert error.field.split(".")[0].split("[")[0] == field


@requirement("definitions.hostile")
@pytest.mark.parametrize(
    ("make", "field", "parts"),
    [
        (ToolId, "name", {}),
        (ToolId, "namespace", {"name": "x"}),
        (ToolId, "version", {"name": "x"}),
        (EffectDeclaration, "targets", {"class_": "destructive"}),
        (Risk, "permissions", {}),
        (Semantics, "concurrency", {}),
        (Lifecycle, "replaced_by", {}),
        (ToolDefinition, "id", {}),
        (JsonLimits, "max_depth", {}),
    ],
)
@pytest.mark.parametrize("value", [5.5, Speechless(), [Speechless()]])
def test_each_part_refuses_what_is_of_another_type(
    make: Callable[..., object], field: str, parts: dict[str, object], value: object
) -> None:
    assert refusal(lambda: make(**parts, **{field: value})).field.startswith(field)


@requirement("definitions.hostile")
def test_an_error_shows_a_value_that_cannot_be_shown_by_its_type() -> None:
    assert "<Speechless>" in refusal(lambda: tool(fine, timeout=Speechless())).reason  # type: ignore[call-overload]


@requirement("definitions.identity.any-name", "definitions.hostile")
def test_half_a_character_is_no_name() -> None:
    error = refusal(lambda: ToolId("a\ud800"))

    assert (error.field, "half a character" in error.reason) == ("name", True)


# ── functions ────────────────────────────────────────────────────────────────────────────────────────────────────────


class AnswersEverything:
    """A proxy: each attribute is another one."""

    def __getattr__(self, name: str) -> AnswersEverything:
        return AnswersEverything()

    def __call__(self, a: int) -> int:
        return a


class RaisesEverything:
    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)

    def __call__(self, a: int) -> int:
        return a


def wrapped_in_itself() -> Callable[..., object]:
    def function(a: int) -> int:
        return a

    function.__wrapped__ = function  # type: ignore[attr-defined]  # what a broken decorator leaves behind
    return function


@requirement("definitions.hostile", "contracts.signature.forms")
@pytest.mark.parametrize(
    "function", [AnswersEverything(), RaisesEverything(), wrapped_in_itself(), mock.call], ids=["1", "2", "3", "4"]
)
def test_a_function_whose_signature_cannot_be_found_is_refused(function: Callable[..., object]) -> None:
    assert refusal(lambda: tool(function)).field == "signature"


@requirement("definitions.hostile", "contracts.signature.forms")
def test_many_parameters_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    look = inspect.signature

    def counting(function: Callable[..., object]) -> inspect.Signature:
        looks.append(function)
        return look(function)

    monkeypatch.setattr(inspect, "signature", counting)
    names = [f"a{index}" for index in range(300)]
    namespace: dict[str, Callable[..., object]] = {}
    exec(f"def many({', '.join(f'{name}: int' for name in names)}): return a299", namespace)  # noqa: S102  # nobody writes it out

    made = tool(namespace["many"])

    given = {name: index for index, name in enumerate(names)}
    assert made.invoke(made.contract.validate(given), None) == 299
    assert len(looks) < 10


@requirement("definitions.hostile", "definitions.tool.description")
def test_a_docstring_that_is_no_text_is_none() -> None:
    def function(a: int) -> int:
        return a

    function.__doc__ = 5  # type: ignore[assignment]  # the mistake under test
    assert tool(function).description == ""


# ── defaults ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.signature.defaults")
def test_a_default_that_each_call_could_not_have_a_copy_of_is_refused() -> None:
    lock: list[object] = [threading.Lock()]

    def function(a: list[object] = lock) -> int:
        return len(a)

    error = refusal(lambda: tool(function))
    assert error.field == "parameter 'a'"
    assert "can't be copied" in error.reason


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@requirement("contracts.signature.defaults")
@pytest.mark.parametrize("default", [10**5_000, deep(300)], ids=["large", "deep"])
def test_a_default_that_no_schema_can_show_still_counts(default: object) -> None:
    def function(a: object = default) -> object:
        return a

    made = tool(function)

    assert "default" not in made.definition.to_json()["input"]["properties"]["a"]  # type: ignore[index]
    assert made.invoke(made.contract.validate({}), None) == default


# ── types and limits ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.hostile", "contracts.types")
@pytest.mark.parametrize("kind", [[1], {}, Speechless(), 5, list[Speechless()], "1/0", "["])  # type: ignore[misc]
def test_what_is_no_type_is_refused_with_the_parameter(kind: object) -> None:
    assert refusal(lambda: tool(annotated(kind))).field == "parameter 'a'"


class Box(msgspec.Struct, Generic[T]):
    item: T


@requirement("definitions.hostile", "contracts.types")
def test_a_class_over_something_that_cannot_be_hashed_is_refused() -> None:
    assert "can't be told apart" in refusal(lambda: tool(annotated(Box[Annotated[int, ["note"]]]))).reason


@requirement("contracts.types")
def test_metadata_that_cannot_be_hashed_is_left_alone_elsewhere() -> None:
    made = tool(annotated(list[Annotated[int, {"note": 1}]]))

    assert made.contract.dump(made.contract.validate({"a": [1]})) == {"a": [1]}


def alias(source: str, name: str) -> object:
    """What the ``type`` statement makes; earlier versions of Python get the nearest thing, which is resolved at once."""
    namespace: dict[str, object] = {"TypeAliasType": TypeAliasType}
    statement = (
        f"type {name} = {source}" if sys.version_info >= (3, 12) else f"{name} = TypeAliasType({name!r}, {source!r})"
    )
    exec(statement, namespace)  # noqa: S102  # earlier versions can't read the statement
    return namespace[name]


@requirement("definitions.hostile", "contracts.types")
@pytest.mark.parametrize("source", ["int | list[Loop]", "dict[str, Loop]", "Loop", "Missing"])
def test_an_alias_that_is_made_of_itself_or_of_nothing_is_refused(source: str) -> None:
    kind = list[alias(source, "Loop")]  # type: ignore[misc,valid-type]  # a type that is only known at run time

    assert refusal(lambda: tool(annotated(kind))).field == "parameter 'a'"


class Endless(msgspec.Struct, Generic[T]):
    inner: Endless[list[T]] | None = None


@requirement("definitions.hostile", "contracts.types")
def test_a_type_without_an_end_is_refused_in_few_words() -> None:
    error = refusal(lambda: tool(annotated(Endless[int])))

    assert error.field.endswith("in parameter 'a'")
    assert len(str(error)) < 1_000


@requirement("definitions.hostile", "contracts.constraints")
@pytest.mark.parametrize(
    "kind",
    [
        Annotated[int, Ge("x")],
        Annotated[int, Ge(1.5)],
        Annotated[int, Le(2**64)],
        Annotated[int, Ge(1), Gt(2)],
        Annotated[int, MultipleOf(0)],
        Annotated[float, Ge(math.nan)],
        Annotated[float, Le(math.inf)],
        Annotated[float, MultipleOf(-0.5)],
        Annotated[Decimal, MultipleOf(0)],
        Annotated[Decimal, Ge(Decimal("0.1234567890123456789012345"))],
        Annotated[str, MinLen(-1)],
        Annotated[str, MaxLen(10**30)],
        Annotated[list[int], Len(1.5)],  # type: ignore[arg-type]
        Annotated[str, pydantic.Field(pattern="(")],
        Annotated[str, msgspec.Meta(pattern="(?P<word>a)(?P=word)")],
        Annotated[int, msgspec.Meta(extra_json_schema={"enum": [5]})],
        Annotated[int, msgspec.Meta(extra_json_schema={"type": "string"})],
    ],
)
def test_a_limit_that_could_not_be_kept_is_refused(kind: object) -> None:
    assert refusal(lambda: tool(annotated(kind))).field == "parameter 'a'"


@requirement("definitions.hostile", "contracts.constraints")
@pytest.mark.parametrize("example", [object(), math.nan, "\ud800".encode("utf-8", "surrogatepass")])
def test_what_stands_beside_a_type_must_be_json(example: object) -> None:
    kind = Annotated[int, msgspec.Meta(examples=[example])]

    assert refusal(lambda: tool(annotated(kind))).field == "input schema at properties.a.examples[0]"


class NotANumber(enum.Enum):
    NAN = math.nan


@requirement("definitions.hostile", "contracts.types")
def test_an_enum_whose_value_json_cannot_say_is_refused() -> None:
    assert "nan is not JSON" in refusal(lambda: tool(annotated(NotANumber))).reason


def taken(kind: object, value: object) -> bool:
    contract = tool(annotated(kind)).contract
    try:
        contract.validate({"a": value})
    except InvalidArguments:
        return False
    return True


@requirement("contracts.agree", "contracts.constraints")
def test_a_multiple_is_what_the_digits_say() -> None:
    tenths = Annotated[float, MultipleOf(0.1)]

    assert [value for value in (0.3, 0.5, 7, 1e300, 0.35) if taken(tenths, value)] == [0.3, 0.5, 7, 1e300]


@requirement("contracts.agree", "contracts.constraints")
def test_limits_of_decimals_are_what_the_digits_say() -> None:
    assert taken(Annotated[Decimal, Ge(0.1)], "0.1")
    assert taken(Annotated[Decimal, Ge(Decimal("1.5"))], 1.5)
    assert not taken(Annotated[Decimal, Ge(Decimal("1.5"))], "1.49")
    assert taken(Annotated[Decimal, MultipleOf(Decimal("0.1"))], "1e40")
    assert not taken(Annotated[Decimal, MultipleOf(Decimal("0.7"))], "1e9999")


@requirement("contracts.hostile", "contracts.constraints")
def test_no_text_can_hold_up_a_pattern() -> None:
    assert not taken(Annotated[str, msgspec.Meta(pattern="^(a+)+$")], "a" * 5_000 + "b")


@requirement("contracts.agree", "contracts.constraints")
def test_a_pattern_means_what_it_means_in_the_schema() -> None:
    digits = Annotated[str, msgspec.Meta(pattern=r"^\d+$")]

    assert [text for text in ("12", "12\n", "٣", "\ud800") if taken(digits, text)] == ["12"]
    assert taken(dict[digits, int], {"1": 2})
    assert not taken(dict[digits, int], {"x": 2})


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Broken(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError("no members to be had")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class OddFloat(float):
    def is_integer(self) -> bool:
        raise RuntimeError("not to be asked")


class EndlessList(list[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


class Markup(str):
    __slots__ = ()


@requirement("contracts.hostile")
@pytest.mark.parametrize("kind", [int, str, object, list[int], dict[str, int], Box[int], Annotated[int, Ge(1)]])
@pytest.mark.parametrize("value", [Broken(), {"a": Broken()}, {"a": OddFloat(1.5)}, {"a": 10**5_000}], ids=range(4))
def test_what_a_value_raises_while_it_is_read_is_an_issue(kind: object, value: object) -> None:
    contract = tool(annotated(kind)).contract
    try:
        contract.dump(contract.validate(value))  # type: ignore[arg-type]  # the mistakes under test
    except InvalidArguments as error:
        assert error.issues


@requirement("contracts.hostile")
def test_a_list_that_claims_to_have_no_end_is_what_it_holds() -> None:
    contract = define_tool(name="x", input={"properties": {"a": {}}}, execute=len).contract

    assert contract.validate({"a": EndlessList([7])}) == {"a": [7]}


@requirement("contracts.dump")
def test_a_subclass_of_text_that_host_code_passes_is_written_as_text() -> None:
    contract = tool(annotated(str)).contract

    assert contract.dump(contract.validate({"a": Markup("<b>")})) == {"a": "<b>"}


class Guarded(pydantic.BaseModel):
    a: int

    @pydantic.field_validator("a")
    @classmethod
    def looked_up(cls, value: int) -> int:
        return {1: 10}[value]


@requirement("contracts.pydantic", "contracts.hostile")
def test_whatever_a_models_validator_raises_says_no() -> None:
    contract = define_tool(name="x", input=Guarded, execute=str).contract

    with pytest.raises(InvalidArguments, match="Guarded refuses it"):
        contract.validate({"a": 2})


@requirement("contracts.issues")
def test_a_refusal_lists_some_of_many_choices() -> None:
    schema = {"properties": {"a": {"enum": [f"choice {index}" for index in range(5_000)]}}}
    contract = define_tool(name="x", input=schema, execute=len).contract

    with pytest.raises(InvalidArguments, match=r"choice 39.* or one of 4960 more") as caught:
        contract.validate({"a": "another"})
    assert len(str(caught.value)) < 1_000


@requirement("contracts.issues", "contracts.hostile")
def test_a_pattern_that_takes_too_many_steps_says_so() -> None:
    contract = define_tool(name="x", input={"properties": {"a": {"pattern": r"(a*)*\1b"}}}, execute=len).contract

    with pytest.raises(InvalidArguments, match="takes too many steps to match its pattern"):
        contract.validate({"a": "a" * 5_000})
