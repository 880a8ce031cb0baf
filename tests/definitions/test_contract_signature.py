from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NewType, Optional, TypeVar, cast

import msgspec
import pytest
from annotated_types import Ge, Interval, IsFinite, Len, Predicate, Unit
from pydantic import AfterValidator, Field
from typing_extensions import Doc, TypeAliasType

from armory_trio.definitions._canonical import thaw_json
from armory_trio.definitions._context import BlockingContext, ToolContext
from armory_trio.definitions.contracts import (
    ArgumentIssue,
    InputContract,
    InvalidArguments,
    contract_from_signature,
    find_context,
    signature_hint,
)
from armory_trio.errors import DefinitionError
from tests.requirements import requirement

if TYPE_CHECKING:
    from armory_trio.definitions._call import ToolCall

T = TypeVar("T")
Maybe = TypeAliasType("Maybe", Optional[T], type_params=(T,))  # T | None is no expression
Number = TypeAliasType("Number", Annotated[int, Ge(1)])
UserId = NewType("UserId", int)
CONTEXT = object()


def schema_of(contract: InputContract) -> dict[str, object]:
    return cast("dict[str, object]", thaw_json(contract.schema))


def properties_of(contract: InputContract) -> dict[str, dict[str, object]]:
    return cast("dict[str, dict[str, object]]", schema_of(contract)["properties"])


def refused(contract: InputContract, arguments: object) -> tuple[ArgumentIssue, ...]:
    with pytest.raises(InvalidArguments) as caught:
        contract.validate(cast("Mapping[str, object]", arguments))
    return caught.value.issues


def run(function: Callable[..., object], arguments: Mapping[str, object], context: object = CONTEXT) -> object:
    contract = contract_from_signature(function)
    return contract.caller(function)(contract.validate(arguments), context)


# ── Annotations ──────────────────────────────────────────────────────────────────────────────────────────────────────


def local_tool() -> tuple[Callable[..., object], Mapping[str, object]]:
    @dataclass
    class Model:
        size: int

    def describe(
        model: Optional[Model], ctx: ToolContext, others: list[Model] | None = None
    ) -> object:  # as users write it
        return model, ctx, others

    return describe, locals()


@requirement("contracts.signature.annotations", "contracts.signature.context")
def test_a_class_local_to_a_function_is_found_and_the_context_is_hidden() -> None:
    describe, localns = local_tool()
    contract = contract_from_signature(describe, localns=localns)

    assert list(properties_of(contract)) == ["model", "others"]
    assert (contract.context_parameter, contract.context_type) == ("ctx", ToolContext)

    validated = contract.validate({"model": {"size": 3}})
    model, ctx, others = cast("tuple[object, object, object]", contract.caller(describe)(validated, CONTEXT))
    assert getattr(model, "size", None) == 3
    assert ctx is CONTEXT
    assert others is None

    [issue] = refused(contract, {"model": None, "ctx": {}})
    assert (issue.path, issue.code) == ("ctx", "unknown")


def closed_over() -> Callable[..., object]:
    class Inner(msgspec.Struct):
        n: int

    def use(inner: Inner) -> object:
        return type(inner) is Inner

    return use


@requirement("contracts.signature.annotations")
def test_a_class_in_the_closure_is_found_without_help() -> None:
    assert run(closed_over(), {"inner": {"n": 1}}) is True


@requirement("contracts.signature.annotations")
def test_a_name_that_is_assigned_later_does_not_stand_in_the_way() -> None:
    def use(a: int) -> object:
        return a, later

    contract = contract_from_signature(use)
    later = "assigned"
    assert contract.caller(use)(contract.validate({"a": 1}), None) == (1, "assigned")


@requirement("contracts.signature.forms")
def test_a_class_and_a_builtin_can_be_called_like_functions() -> None:
    assert run(Point3, {"x": 1, "y": 2}) == Point3(1, 2)
    assert run(cast("Callable[..., object]", divmod), {"x": 7, "y": 2}) == (3, 1)


@requirement("contracts.signature.annotations")
def test_an_annotation_that_cannot_be_resolved_fails_at_definition_with_its_name() -> None:
    def broken(a: int, b: ToolCall) -> None: ...

    with pytest.raises(DefinitionError, match=r"tool 'broken': parameter 'b'.*ToolCall") as caught:
        contract_from_signature(broken)
    assert caught.value.field == "parameter 'b'"


@requirement("contracts.signature.annotations")
def test_a_class_whose_fields_cannot_be_resolved_fails_at_definition() -> None:
    def outer() -> type:
        @dataclass
        class Broken:
            field: Nowhere  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]  # the point of the test

        return Broken

    kind = outer()

    def use(a: int) -> None: ...

    use.__annotations__["a"] = kind
    with pytest.raises(DefinitionError, match=r"parameter 'a'.*Broken.*Nowhere"):
        contract_from_signature(use)


@requirement("contracts.signature.context")
def test_a_context_that_is_imported_for_checkers_only_is_recognised() -> None:
    namespace: dict[str, object] = {}
    exec("def t(a: 'int', ctx: 'BlockingContext'): return a, ctx", namespace)  # noqa: S102  # a module without the import
    contract = contract_from_signature(cast("Callable[..., object]", namespace["t"]))
    assert (contract.context_parameter, contract.context_type) == ("ctx", BlockingContext)
    assert list(properties_of(contract)) == ["a"]


@requirement("contracts.signature.context", "contracts.caller")
def test_the_context_may_stand_anywhere_and_be_optional() -> None:
    def first(ctx: ToolContext, a: int) -> object:
        return ctx, a

    def middle(a: int, ctx: ToolContext, /, b: int = 2) -> object:
        return a, ctx, b

    def last(a: int, *, b: int, ctx: Annotated[ToolContext | None, "the context"] = None) -> object:
        return a, b, ctx

    assert run(first, {"a": 1}) == (CONTEXT, 1)
    assert run(middle, {"a": 1}) == (1, CONTEXT, 2)
    assert run(last, {"a": 1, "b": 2}) == (1, 2, CONTEXT)
    assert find_context(last, subject="tool 'last'") == ("ctx", ToolContext)
    assert find_context(closed_over(), subject="tool 'use'") is None


@requirement("contracts.signature.context")
def test_two_contexts_are_refused() -> None:
    def two(a: ToolContext, b: BlockingContext) -> None: ...

    with pytest.raises(DefinitionError, match="parameter 'b': a second context"):
        contract_from_signature(two)
    with pytest.raises(DefinitionError, match="parameter 'b': a second context"):
        find_context(two, subject="tool 'two'")


@requirement("contracts.signature.annotations")
def test_the_result_annotation_can_be_resolved_too() -> None:
    describe, localns = local_tool()

    def untold(a: int):  # type: ignore[no-untyped-def]  # noqa: ANN202  # the point of the test
        return a

    assert signature_hint(describe, "return", subject="tool", localns=localns) is object
    assert signature_hint(untold, "return", subject="tool") is inspect.Parameter.empty
    assert signature_hint(untold, "a", subject="tool") is int


@requirement("contracts.signature.annotations")
def test_aliases_new_types_and_type_variables_stand_for_what_they_mean() -> None:
    def use(a: Number, b: Maybe[int], c: T, d: UserId) -> object:  # pyright: ignore[reportInvalidTypeVarUse]  # no caller binds it
        return a, b, c, d

    contract = contract_from_signature(use)
    assert properties_of(contract) == {
        "a": {"type": "integer", "minimum": 1},
        "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "c": {},
        "d": {"type": "integer"},
    }


# ── Names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def clashing(  # one parameter for each name
    _p: int,
    model_config: str,
    schema: str,
    json: str,
    copy: bool,  # one of the names
    self_: int,
    cls: int,
    __struct_fields__: int,
    __init__: int,
    model_dump: int,
    p0: int,
    arguments: int,
    context: int,
    function: int,
    p1: str = "d",
) -> object:
    return dict(locals())


@requirement("contracts.signature.names")
def test_names_that_a_validator_uses_for_itself_work() -> None:
    contract = contract_from_signature(clashing)
    names = list(inspect.signature(clashing).parameters)
    given: dict[str, object] = {
        name: {"int": index, "str": name, "bool": True}[str(clashing.__annotations__[name])]
        for index, name in enumerate(names)
    }

    assert list(properties_of(contract)) == names
    assert schema_of(contract)["required"] == names[:-1]
    validated = contract.validate(given)
    assert contract.caller(clashing)(validated, None) == given
    assert contract.named(validated) == given
    assert contract.dump(validated) == given


@requirement("contracts.signature.names")
def test_a_parameter_named_self_is_an_argument_like_any_other() -> None:
    def plain(self: int, cls: int) -> object:
        return self, cls

    assert run(plain, {"self": 1, "cls": 2}) == (1, 2)


# ── Forms of functions ───────────────────────────────────────────────────────────────────────────────────────────────


class Service:
    def method(self, a: int, b: str = "b") -> object:
        return a, b

    @classmethod
    def of_class(cls, a: int) -> object:
        return cls, a

    @staticmethod
    def static(a: int) -> object:
        return a

    def __call__(self, a: int) -> object:
        """Call.

        Args:
            a: the number
        """
        return a


def logged(function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    def wrapper(*args: object, **named: object) -> object:
        return "logged", function(*args, **named)

    return wrapper


@requirement("contracts.signature.forms")
def test_methods_callable_objects_and_wrapped_functions_work() -> None:
    service = Service()
    assert run(service.method, {"a": 1}) == (1, "b")
    assert run(Service.of_class, {"a": 1}) == (Service, 1)
    assert run(Service.static, {"a": 1}) == 1
    assert run(service, {"a": 1}) == 1
    assert properties_of(contract_from_signature(service)) == {"a": {"type": "integer", "description": "the number"}}
    assert run(logged(service.method), {"a": 1}) == ("logged", (1, "b"))
    assert run(logged(closed_over()), {"inner": {"n": 1}}) == ("logged", True)
    assert getattr(run(functools.partial(Point3), {"x": 1, "y": 2}), "y", None) == 2


@dataclass
class Point3:
    x: int
    y: int


@requirement("contracts.signature.forms")
def test_what_a_partial_has_bound_is_hidden_and_refused() -> None:
    def fetch(host: str, token: str, path: str, limit: int = 5) -> object:
        return host, token, path, limit

    bound = functools.partial(functools.partial(fetch, "example.org"), token="secret")
    contract = contract_from_signature(bound, subject="tool 'fetch'")

    assert list(properties_of(contract)) == ["path", "limit"]
    assert contract.caller(bound)(contract.validate({"path": "/x"}), None) == ("example.org", "secret", "/x", 5)
    [issue] = refused(contract, {"path": "/x", "token": "mine"})
    assert (issue.path, issue.code) == ("token", "unknown")
    assert "secret" not in str(schema_of(contract))


@requirement("contracts.signature.forms", "contracts.caller")
def test_positional_only_and_keyword_only_parameters_reach_their_places() -> None:
    def mixed(a: int, b: int = 2, /, c: int = 3, *, d: int, e: int = 5) -> object:
        return a, b, c, d, e

    assert run(mixed, {"d": 4, "a": 1}) == (1, 2, 3, 4, 5)
    assert run(mixed, {"d": 40, "a": 10, "c": 30}) == (10, 2, 30, 40, 5)


@requirement("contracts.signature.forms")
def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def nothing() -> str:
        return "done"

    contract = contract_from_signature(nothing)
    assert schema_of(contract) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert run(nothing, {}) == "done"
    assert contract.dump(contract.validate({})) == {}
    assert refused(contract, {"a": 1})[0].code == "unknown"


@requirement("contracts.signature.forms")
@pytest.mark.parametrize(("stars", "word"), [("*", "args"), ("**", "options")])
def test_variadic_parameters_are_refused_at_definition(stars: str, word: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"def t(a: int, {stars}{word}: int): ...", namespace)  # noqa: S102  # one test for both
    with pytest.raises(DefinitionError) as caught:
        contract_from_signature(cast("Callable[..., object]", namespace["t"]))
    assert caught.value.subject == "tool 't'"
    assert caught.value.field == f"parameter '{stars}{word}'"


@requirement("contracts.signature.forms")
def test_a_callable_without_a_readable_signature_is_refused_at_definition() -> None:
    class Odd:
        __signature__ = "no signature"

        def __call__(self) -> None: ...

    with pytest.raises(DefinitionError, match="tool 'Odd': signature: can't be read"):
        contract_from_signature(Odd())
    assert find_context(Odd(), subject="tool") is None
    assert signature_hint(Odd(), "return", subject="tool") is inspect.Parameter.empty


@requirement("contracts.caller")
def test_a_context_can_be_given_to_a_parameter_by_name() -> None:
    def use(a: int, where: object = None) -> object:
        return a, where

    contract = contract_from_signature(functools.partial(use, where=None))
    assert contract.caller(use, "where")(contract.validate({"a": 1}), CONTEXT) == (1, CONTEXT)


# ── Defaults ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.signature.defaults")
def test_defaults_are_shown_and_filled_in() -> None:
    def use(a: int = 3, b: str | None = None, c: list[int] | None = None, d: float = 0.5) -> object:
        return a, b, c, d

    contract = contract_from_signature(use)
    assert {name: schema["default"] for name, schema in properties_of(contract).items()} == {
        "a": 3,
        "b": None,
        "c": None,
        "d": 0.5,
    }
    assert "required" not in contract.schema
    assert contract.dump(contract.validate({"b": "x"})) == {"a": 3, "b": "x", "c": None, "d": 0.5}


@requirement("contracts.signature.defaults")
def test_each_call_gets_its_own_copy_of_a_mutable_default() -> None:
    shared: dict[str, list[int]] = {"inner": []}

    def collect(into: list[int] = [1], table: dict[str, list[int]] = shared) -> object:  # noqa: B006  # the point of the test
        into.append(2)
        table["inner"].append(3)
        return into, table

    assert run(collect, {}) == ([1, 2], {"inner": [3]})
    assert run(collect, {}) == ([1, 2], {"inner": [3]})
    assert shared == {"inner": []}


@requirement("contracts.signature.defaults", "contracts.dump")
def test_a_default_without_a_json_form_is_kept_and_left_out_of_what_is_shown() -> None:
    missing = object()

    def use(a: int, b: object = missing, c: float = float("inf"), d: int = cast("int", None)) -> object:
        return a, b, c, d

    contract = contract_from_signature(use)
    properties = properties_of(contract)
    assert [name for name, schema in properties.items() if "default" in schema] == []

    validated = contract.validate({"a": 1})
    assert contract.named(validated) == {"a": 1, "b": missing, "c": float("inf"), "d": None}
    assert contract.named(validated)["b"] is missing
    assert contract.dump(validated) == {"a": 1, "d": None}
    assert contract.dump(contract.validate({"a": 1, "b": [2], "c": 1.5, "d": 4})) == {
        "a": 1,
        "b": [2],
        "c": 1.5,
        "d": 4,
    }


@requirement("contracts.signature.defaults", "contracts.dump")
def test_a_default_of_another_type_than_the_annotation_is_written_by_its_own() -> None:
    def use(a: str = cast("str", Service), b: int = cast("int", {3})) -> object:
        return a, b

    contract = contract_from_signature(use)
    assert contract.dump(contract.validate({"a": "x"})) == {"a": "x", "b": [3]}
    assert contract.dump(contract.validate({})) == {"b": [3]}


# ── Unannotated ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.signature.unannotated")
def test_a_parameter_without_an_annotation_takes_any_json_value() -> None:
    def use(a, b=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  # the point of the test
        return cast("object", (a, b))

    contract = contract_from_signature(cast("Callable[..., object]", use))
    assert properties_of(contract) == {"a": {}, "b": {"default": None}}
    for value in (None, True, 3, 1.5, "5", [1, {"x": None}], {"y": [2]}):
        assert contract.named(contract.validate({"a": value})) == {"a": value, "b": None}
    assert refused(contract, {"a": float("nan")})[0].code == "not-json"
    assert refused(contract, {"a": [{1: 2}]})[0].path == "a[0]"


@requirement("contracts.signature.unannotated")
def test_a_free_value_is_a_copy_that_nobody_else_holds() -> None:
    def use(a: object) -> object:
        return a

    inner: list[object] = [1]
    given = {"a": types.MappingProxyType({"x": tuple(inner), "y": inner})}
    got = cast("dict[str, list[object]]", run(use, given))
    inner.append(2)
    assert got == {"x": [1], "y": [1]}
    assert type(got) is dict


# ── Constraints and texts ────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.constraints", "contracts.issues")
@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, msgspec.Meta(ge=1, le=7, description="d")],
        Annotated[int, Interval(ge=1, le=7), "d"],
        Annotated[int, Field(ge=1, le=7, description="d")],
        Annotated[Annotated[int, Ge(1), "overruled"], msgspec.Meta(le=7), Doc("d")],
    ],
)
def test_limits_and_texts_of_annotations_are_shown_and_enforced(annotation: object) -> None:
    def use(days: int) -> int:
        """Use.

        Args:
            days: text of the docstring
        """
        return days

    use.__annotations__["days"] = annotation
    contract = contract_from_signature(use)
    assert properties_of(contract) == {"days": {"type": "integer", "minimum": 1, "maximum": 7, "description": "d"}}
    [issue] = refused(contract, {"days": 9})
    assert issue == ArgumentIssue("days", "constraint", "`days`: expected at most 7, got 9")
    [issue] = refused(contract, {"days": 0})
    assert issue.message == "`days`: expected at least 1, got 0"
    assert contract.named(contract.validate({"days": 7.0})) == {"days": 7}


@requirement("contracts.constraints")
def test_the_docstring_fills_in_where_the_annotation_says_nothing() -> None:
    def use(a: Annotated[int, "annotated"], b: int = 1) -> int:
        """Use.

        Args:
            a: documented
            b: documented
        """
        return a + b

    properties = properties_of(contract_from_signature(use))
    assert (properties["a"]["description"], properties["b"]["description"]) == ("annotated", "documented")
    declared = properties_of(contract_from_signature(use, descriptions={"a": "x", "b": "declared"}))
    assert (declared["a"]["description"], declared["b"]["description"]) == ("annotated", "declared")


@requirement("contracts.constraints")
def test_each_kind_of_value_has_its_own_words_for_limits() -> None:
    def use(  # one parameter for each kind
        text: Annotated[str, Len(2, 3), msgspec.Meta(pattern="^a", title="T", examples=["ab"])],
        items: Annotated[list[int], Len(1, 2)],
        table: Annotated[dict[str, int], Len(1)],
        number: Annotated[float, msgspec.Meta(gt=0, lt=1)],
        even: Annotated[int, msgspec.Meta(multiple_of=2, extra_json_schema={"format": "int32"})],
        pair: Annotated[tuple[int, ...], Len(1, 2)] = (1,),
        unique: Annotated[frozenset[int], Len(2)] = frozenset({1, 2}),
        raw: Annotated[bytes, Len(2)] = b"ab",
        either: Annotated[int | str | None, Ge(3), Len(1)] = 4,
        finite: Annotated[IsFinite[float], Unit("m")] = 1.0,
        worded: Annotated[str, Field(pattern="^b$", strict=True)] = "b",
    ) -> None: ...

    contract = contract_from_signature(use)
    properties = properties_of(contract)
    text = {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^a", "title": "T", "examples": ["ab"]}
    assert properties["text"] == text
    assert properties["items"] == {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}
    assert properties["table"]["minProperties"] == 1
    assert properties["number"] == {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    assert properties["even"] == {"type": "integer", "multipleOf": 2, "format": "int32"}
    assert properties["unique"]["minItems"] == 2

    good: dict[str, object] = {"text": "ab", "items": [1], "table": {"a": 1}, "number": 0.5, "even": 2}
    contract.validate(good)
    spoilt: dict[str, object] = {
        "text": "b",
        "items": [],
        "table": {},
        "number": 1,
        "even": 3,
        "pair": [1, 2, 3],
        "unique": [1],
        "raw": "YQ==",
        "either": 2,
        "worded": "c",
    }
    for name, value in spoilt.items():
        [issue, *_] = refused(contract, {**good, name: value})
        assert (issue.path, issue.code) == (name, "constraint"), issue
    assert refused(contract, {**good, "either": ""})[0].path == "either"


@requirement("contracts.constraints")
def test_metadata_of_other_libraries_is_left_alone() -> None:
    class Foreign:
        description = "its description"

    def use(a: int, b: int) -> None: ...

    use.__annotations__.update(a=Annotated[int, object(), 3], b=Annotated[int, Foreign()])
    assert properties_of(contract_from_signature(use)) == {
        "a": {"type": "integer"},
        "b": {"type": "integer", "description": "its description"},
    }


@requirement("contracts.constraints.none-ignored")
@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Annotated[str, Ge(1)], "str can't be limited by ge"),
        (Annotated[int, Len(1)], "int can't be limited by min_length"),
        (Annotated[int | None, Len(1)], "can't be limited by min_length"),
        (Annotated[Point3, Ge(1)], "Point3 can't be limited by ge"),
        (Annotated[tuple[int, int], Len(1)], "fixed length"),
        (Annotated[bool, Ge(0)], "bool can't be limited by ge"),
        (Annotated[object, Len(1)], "object can't be limited by min_length"),
        (Annotated[int, Predicate(bool)], "Predicate can't be said in JSON Schema"),
        (Annotated[int, AfterValidator(abs)], "works only in a pydantic model"),
        (Annotated[int, Ge(0.5)], "parameter 'a'"),
    ],
)
def test_a_constraint_that_would_have_no_effect_is_refused(annotation: object, words: str) -> None:
    def use(a: int) -> int:
        return a

    use.__annotations__["a"] = annotation
    with pytest.raises(DefinitionError, match="parameter 'a'") as caught:
        contract_from_signature(use)
    assert words in str(caught.value)


# ── The contract itself ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("contracts.frozen")
def test_the_schema_cannot_be_changed() -> None:
    def use(a: list[int], b: int = 1) -> None: ...

    contract = contract_from_signature(use)
    with pytest.raises(TypeError):
        contract.schema["x"] = 1  # type: ignore[index]  # pyright: ignore[reportIndexIssue]  # the point of the test
    inner = cast("dict[str, dict[str, object]]", contract.schema["properties"])
    with pytest.raises(TypeError):
        inner["a"]["type"] = "string"
    assert isinstance(contract.schema["required"], tuple)
    with pytest.raises(AttributeError):
        contract.schema = {}  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  # the point of the test
