"""Models that another library builds: pydantic's, and attrs classes with a cattrs converter."""

from __future__ import annotations

import datetime as dt
import decimal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, cast

import attrs
import cattrs
import pydantic
import pytest
from annotated_types import Ge

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

ROOT = Path(__file__).parents[2]


def one(kind: object) -> Callable[..., object]:
    """A function whose one parameter ``a`` has the annotation *kind*."""

    def use(a: object) -> object:
        return a

    use.__annotations__["a"] = kind
    return use


def schema_of(contract: InputContract) -> dict[str, object]:
    return cast("dict[str, object]", thaw_json(contract.schema))


def refused(contract: InputContract, arguments: object) -> tuple[ArgumentIssue, ...]:
    with pytest.raises(InvalidArguments) as caught:
        contract.validate(cast("Mapping[str, object]", arguments))
    return caught.value.issues


# ── pydantic ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Line(pydantic.BaseModel):
    sku: str = pydantic.Field(min_length=2, description="The article.")
    count: int = 1


class Order(pydantic.BaseModel):
    """An order."""

    lines: list[Line]
    when: dt.date | None = None
    price: decimal.Decimal = decimal.Decimal("0.50")
    kind: Literal["new", "old"] = pydantic.Field("new", alias="orderKind")
    parent: Order | None = None

    @pydantic.field_validator("when")
    @classmethod
    def not_too_old(cls, value: dt.date | None) -> dt.date | None:
        if value is not None and value.year < 2000:
            raise ValueError("too old")
        return value


class Open(pydantic.BaseModel, extra="allow"):
    a: int


@pydantic.dataclasses.dataclass
class Coordinates:
    lat: Annotated[float, pydantic.Field(ge=-90, le=90)]
    lon: float = 0.0


GOOD = {"lines": [{"sku": "ab", "count": 2.0}], "when": "2024-02-29", "orderKind": "old", "price": "1.5"}


@requirement("contracts.pydantic", "contracts.dump")
def test_a_pydantic_model_is_built_from_json() -> None:
    contract = contract_from_signature(one(Order | None))
    validated = contract.validate({"a": {**GOOD, "parent": {"lines": []}}})
    got = contract.named(validated)["a"]
    assert isinstance(got, Order)
    assert got.lines == [Line(sku="ab", count=2)]
    assert got.when == dt.date(2024, 2, 29)
    assert (got.price, got.kind) == (decimal.Decimal("1.5"), "old")
    assert got.parent is not None
    written = cast("dict[str, dict[str, object]]", contract.dump(validated))["a"]
    assert (written["when"], written["orderKind"], written["price"]) == ("2024-02-29", "old", "1.5")
    assert contract.validate({"a": written}) == validated


@requirement("contracts.pydantic", "contracts.closed", "contracts.strict")
@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"lins": []}, "a.lins", "did you mean `lines`?"),
        ({"lines": [{"sku": "ab", "cuont": 1}]}, "a.lines[0].cuont", "did you mean `count`?"),
        ({"lines": [{"sku": "a"}]}, "a.lines[0].sku", "expected at least 2 characters, got 1"),
        ({"lines": [{"sku": "ab", "count": "2"}]}, "a.lines[0].count", "expected integer, got string"),
        ({"lines": [{"sku": "ab", "count": True}]}, "a.lines[0].count", "expected integer, got boolean"),
        ({"when": "2024-02-30"}, "a.when", "valid date"),
        ({"when": "1999-01-01"}, "a.when", "too old"),
        ({"kind": "old"}, "a.kind", "not a known argument"),
        ({"price": float("nan")}, "a.price", "nan"),
    ],
)
def test_what_a_pydantic_model_refuses_is_an_issue_with_a_place(
    change: dict[str, object], path: str, words: str
) -> None:
    issues = refused(contract_from_signature(one(Order)), {"a": {**GOOD, **change}})
    assert any(issue.path == path and words in issue.message for issue in issues), issues


@requirement("contracts.pydantic", "contracts.closed")
def test_a_pydantic_model_that_says_it_is_open_is_open() -> None:
    contract = contract_from_signature(one(Open))
    got = contract.named(contract.validate({"a": {"a": 1, "b": 2}}))["a"]
    assert isinstance(got, Open)
    assert got.model_dump() == {"a": 1, "b": 2}


@requirement("contracts.pydantic", "contracts.classes")
def test_pydantic_models_work_as_the_whole_input_and_as_dataclasses() -> None:
    contract = contract_from_type(Order)
    schema = schema_of(contract)
    assert schema["description"] == "An order."
    assert "orderKind" in cast("dict[str, object]", schema["properties"])
    validated = contract.validate(GOOD)
    assert isinstance(validated, Order)
    assert contract.named(validated)["orderKind"] == "old"
    assert contract.validate(contract.dump(validated)) == validated
    assert refused(contract, {**GOOD, "x": 1})[0].path == "x"
    assert [issue.path for issue in refused(contract, {**GOOD, "when": "x"})] == ["when"]

    place = contract_from_signature(one(Coordinates))
    assert place.named(place.validate({"a": {"lat": 1}}))["a"] == Coordinates(1.0)
    assert place.dump(place.validate({"a": {"lat": 1}})) == {"a": {"lat": 1.0, "lon": 0.0}}
    assert refused(place, {"a": {"lat": 91}})[0].message == "`a.lat`: expected at most 90, got 91"


@requirement("contracts.pydantic", "contracts.unions")
def test_pydantic_models_work_in_unions_beside_definitions_of_the_same_name() -> None:
    inner = attrs.make_class("Line", ["x"])

    def use(a: Order | int, b: object, c: list[Order]) -> None: ...

    use.__annotations__["b"] = inner
    contract = contract_from_signature(use)
    got = contract.named(contract.validate({"a": 3, "b": {"x": 1}, "c": [GOOD]}))
    assert got["a"] == 3
    assert type(got["b"]) is inner
    assert refused(contract, {"a": {"lines": [{"sku": "a"}]}, "b": {"x": 1}, "c": []})[0].path == "a.lines[0].sku"
    assert refused(contract, {"a": 1, "b": {"sku": "ab"}, "c": []})[0].path.startswith("b")


@requirement("contracts.pydantic", "contracts.types")
def test_host_code_may_pass_a_model_and_a_model_without_a_schema_is_refused() -> None:
    contract = contract_from_signature(one(Line))
    line = Line(sku="ab")
    assert contract.named(contract.validate({"a": line}))["a"] is line
    assert refused(contract, {"a": {"sku": object()}})[0].path == "a.sku"

    class Strange(pydantic.BaseModel, arbitrary_types_allowed=True):
        thing: range

    with pytest.raises(DefinitionError, match=r"parameter 'a'.*pydantic can't say Strange in JSON Schema"):
        contract_from_signature(one(Strange))


@requirement("contracts.pydantic")
def test_pydantic_is_not_imported_by_those_who_do_not_use_it() -> None:
    program = (
        "import sys, dataclasses\n"
        "from armory_trio.definitions.contracts import contract_from_signature\n"
        "@dataclasses.dataclass\n"
        "class P:\n    x: int\n"
        "def f(a: P, b: int = 1): return a\n"
        "c = contract_from_signature(f)\n"
        "c.validate({'a': {'x': 1}})\n"
        "heavy = {'pydantic', 'cattrs', 'jsonschema_rs', 'docstring_parser', 'typing_inspection'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


# ── cattrs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Version:
    """A type of the user's own, which only a hook understands."""

    def __init__(self, parts: tuple[int, ...]) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and other.parts == self.parts

    def __hash__(self) -> int:
        return hash(self.parts)


@attrs.frozen
class Package:
    name: str
    _version: Version
    depends: list[Package] = attrs.field(factory=list["Package"])
    stars: Annotated[int, Ge(0)] = 0


def read_version(value: object, _kind: object) -> Version:
    if not isinstance(value, str):
        raise TypeError("a version is text such as 1.2")
    return Version(tuple(int(part) for part in value.split(".")))


def make_converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    converter.register_structure_hook(Version, read_version)
    converter.register_unstructure_hook(Version, lambda version: ".".join(map(str, version.parts)))
    return converter


@requirement("contracts.cattrs", "contracts.dump")
def test_an_attrs_class_with_hooks_is_built_by_its_converter() -> None:
    contract = contract_from_type(Package, converter=make_converter())
    given = {"name": "a", "_version": "1.2", "depends": [{"name": "b", "_version": "3"}], "stars": 2.0}
    validated = contract.validate(given)
    assert validated == Package("a", Version((1, 2)), [Package("b", Version((3,)))], 2)
    assert contract.named(validated)["_version"] == Version((1, 2))
    written = contract.dump(validated)
    assert written["_version"] == "1.2"
    assert contract.validate(written) == validated
    assert contract.named(contract.validate(cast("Mapping[str, object]", validated))) == contract.named(validated)


@requirement("contracts.cattrs", "contracts.strict", "contracts.closed")
@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"stars": "2"}, "stars", "expected integer, got string"),
        ({"stars": -1}, "stars", "expected at least 0, got -1"),
        ({"nam": "x"}, "nam", "did you mean `name`?"),
        ({"_version": 12}, "_version", "a version is text"),
        ({"depends": [{"name": "b", "_version": "x"}]}, "depends[0]._version", "invalid"),
        ({"depends": [{"name": "b", "_version": "1", "y": 1}]}, "depends[0].y", "not a known argument"),
    ],
)
def test_a_converter_never_sees_what_does_not_fit_the_schema(change: dict[str, object], path: str, words: str) -> None:
    contract = contract_from_type(Package, converter=make_converter())
    issues = refused(contract, {"name": "a", "_version": "1", **change})
    assert any(issue.path == path and words in issue.message for issue in issues), issues


@requirement("contracts.cattrs")
def test_a_converter_is_for_attrs_classes() -> None:
    with pytest.raises(DefinitionError, match="tool 'x': converter: builds attrs classes only"):
        contract_from_type(Line, subject="tool 'x'", converter=make_converter())
    with pytest.raises(DefinitionError, match="field 'version' of Package"):
        contract_from_type(Package)
