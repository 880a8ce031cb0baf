"""How a tool is made: the decorator, and the function for those who have the parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar, Unpack, cast, final, overload

from ..errors import DefinitionError
from ._arguments import InputContract
from ._checks import flag, named, text
from ._context import BlockingContext, ToolContext
from ._definition import ToolDefinition
from ._docstring import read_docstring
from ._effects import parse_effect
from ._functions import awaiting, docstring_of, kind_of, name_of, positional_names, require_callable, surrounding_names
from ._identity import ToolId
from ._importable import require_importable
from ._options import Declarations, Kind, options_for, refuse_unknown
from ._tool import Tool
from .contracts import (
    PairValidator,
    contract_from_pair,
    contract_from_schema,
    contract_from_signature,
    contract_from_type,
    find_context,
)

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

_NOTHING: Final = object()
_DEFINED: Final = (
    "description",
    "title",
    "tags",
    "examples",
    "metadata",
    "risk",
    "effect_windows",
    "lifecycle",
    "semantics",
    "requires_approval",
)
"""Declarations that go into the definition as they are."""


@final
class _Anything:
    """Only a parameter annotated `object`, or not at all, accepts this: no context is among its parameters."""


class ReducingDecorator(Protocol[T_contra, R_co]):
    """What ``tool(reducer=...)`` is for type checkers: it takes generators of what the reducer reduces."""

    @overload
    def __call__(
        self,
        function: Callable[Concatenate[ToolContext, P], AsyncIterator[T_contra]]
        | Callable[Concatenate[ToolContext, P], Iterator[T_contra]]
        | Callable[Concatenate[BlockingContext, P], Iterator[T_contra]],
        /,
        **declared: Unpack[Declarations],
    ) -> Tool[P, R_co]: ...
    @overload
    def __call__(
        self,
        function: Callable[P, AsyncIterator[T_contra]] | Callable[P, Iterator[T_contra]],
        /,
        **declared: Unpack[Declarations],
    ) -> Tool[P, R_co]: ...


class ToolDecorator:
    """Makes a tool of a function: ``@tool``, or ``@tool(...)`` with declarations.

    ``tool(...)`` is itself such a decorator, so declarations that several tools share can be given once::

        reader = tool(tags=["files"], effect="read-only")

        @reader(timeout=5)
        def read_notes(path: str) -> str: ...

    The declarations are those of `Declarations`; the later one of two with the same name counts. The name is by
    default that of the function, the description the first part of its docstring. A context parameter that comes
    first is left out of the types that a checker sees, as it is left out of calls; put it there.

    Raises:
        DefinitionError: A declaration or the function's signature is wrong; the error names the tool and the field.
    """

    __slots__ = ("_declared", "_reducer")

    def __init__(self, declared: Declarations | None = None, reducer: object = _NOTHING) -> None:
        self._declared: Declarations = declared or {}
        self._reducer = reducer

    @overload
    def __call__(
        self, function: Callable[Concatenate[_Anything, P], AsyncIterator[T]], /, **declared: Unpack[Declarations]
    ) -> Tool[..., list[T]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[_Anything, P], Iterator[T]], /, **declared: Unpack[Declarations]
    ) -> Tool[..., list[T]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[_Anything, P], Awaitable[R]], /, **declared: Unpack[Declarations]
    ) -> Tool[..., R]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[_Anything, P], R], /, **declared: Unpack[Declarations]
    ) -> Tool[..., R]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[ToolContext, P], AsyncIterator[T]], /, **declared: Unpack[Declarations]
    ) -> Tool[P, list[T]]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[ToolContext, P], Iterator[T]]
        | Callable[Concatenate[BlockingContext, P], Iterator[T]],
        /,
        **declared: Unpack[Declarations],
    ) -> Tool[P, list[T]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[ToolContext, P], Awaitable[R]], /, **declared: Unpack[Declarations]
    ) -> Tool[P, R]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[ToolContext, P], R] | Callable[Concatenate[BlockingContext, P], R],
        /,
        **declared: Unpack[Declarations],
    ) -> Tool[P, R]: ...
    @overload
    def __call__(
        self, function: Callable[P, AsyncIterator[T]], /, **declared: Unpack[Declarations]
    ) -> Tool[P, list[T]]: ...
    @overload
    def __call__(self, function: Callable[P, Iterator[T]], /, **declared: Unpack[Declarations]) -> Tool[P, list[T]]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /, **declared: Unpack[Declarations]) -> Tool[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /, **declared: Unpack[Declarations]) -> Tool[P, R]: ...
    @overload
    def __call__(
        self, /, *, reducer: Callable[[list[T]], R], **declared: Unpack[Declarations]
    ) -> ReducingDecorator[T, R]: ...
    @overload
    def __call__(self, /, **declared: Unpack[Declarations]) -> ToolDecorator: ...
    def __call__(
        self, function: object = _NOTHING, /, *, reducer: object = _NOTHING, **declared: Unpack[Declarations]
    ) -> object:
        together: Declarations = {**self._declared, **declared}
        reduced = self._reducer if reducer is _NOTHING else reducer
        if function is not _NOTHING:
            return _build(function, together, reduced)
        refuse_unknown("tool", declared)
        return ToolDecorator(together, reduced)


tool: Final = ToolDecorator()
"""Makes a tool of a function; see `ToolDecorator`."""


# The types of `define_tool`: an executor gets the instance of *input*, a dict for a schema, or its own parameters.
@overload
def define_tool(
    *,
    input: Callable[..., S],
    execute: Callable[Concatenate[S, ...], AsyncIterator[T]] | Callable[Concatenate[S, ...], Iterator[T]],
    reducer: Callable[[list[T]], R],
    **declared: Unpack[Declarations],
) -> Tool[..., R]: ...
@overload
def define_tool(
    *,
    input: Mapping[str, object] | None = None,
    execute: Callable[..., AsyncIterator[T]] | Callable[..., Iterator[T]],
    reducer: Callable[[list[T]], R],
    **declared: Unpack[Declarations],
) -> Tool[..., R]: ...
@overload
def define_tool(
    *,
    input: Callable[..., S],
    execute: Callable[Concatenate[S, ...], AsyncIterator[T]],
    **declared: Unpack[Declarations],
) -> Tool[..., list[T]]: ...
@overload
def define_tool(
    *, input: Callable[..., S], execute: Callable[Concatenate[S, ...], Iterator[T]], **declared: Unpack[Declarations]
) -> Tool[..., list[T]]: ...
@overload
def define_tool(
    *, input: Callable[..., S], execute: Callable[Concatenate[S, ...], Awaitable[R]], **declared: Unpack[Declarations]
) -> Tool[..., R]: ...
@overload
def define_tool(
    *, input: Callable[..., S], execute: Callable[Concatenate[S, ...], R], **declared: Unpack[Declarations]
) -> Tool[..., R]: ...
@overload
def define_tool(
    *,
    input: Mapping[str, object] | None = None,
    execute: Callable[..., AsyncIterator[T]],
    **declared: Unpack[Declarations],
) -> Tool[..., list[T]]: ...
@overload
def define_tool(
    *, input: Mapping[str, object] | None = None, execute: Callable[..., Iterator[T]], **declared: Unpack[Declarations]
) -> Tool[..., list[T]]: ...
@overload
def define_tool(
    *, input: Mapping[str, object] | None = None, execute: Callable[..., Awaitable[R]], **declared: Unpack[Declarations]
) -> Tool[..., R]: ...
@overload
def define_tool(
    *, input: Mapping[str, object] | None = None, execute: Callable[..., R], **declared: Unpack[Declarations]
) -> Tool[..., R]: ...
def define_tool(
    *, input: object = None, execute: object, reducer: object = _NOTHING, **declared: Unpack[Declarations]
) -> object:
    """Make a tool of its parts.

    Args:
        input: What arguments it takes: a class with fields (msgspec, attrs, dataclass, TypedDict, pydantic), a JSON
            Schema, or a pair ``{"schema": ..., "validate": ...}``. Left out, the signature of *execute* says it.
        execute: The function. With an *input* its first parameter gets the instance (a dict, for a schema), and a
            parameter annotated `ToolContext` the context; without, it is called as by `tool`.
        reducer: Makes the value of a generator out of its chunks; without one the value is their list.
        declared: The declarations of `Declarations`.

    Raises:
        DefinitionError: A part is wrong; the error names the tool and the field.
    """
    return _build(execute, declared, reducer, input)


def _build(function: object, declared: Declarations, reducer: object, input_: object = None) -> Tool[..., object]:
    require_callable("function", function)
    subject, identity = _identity_of(function, declared)
    refuse_unknown(subject, declared)
    if isinstance(function, Tool):
        raise DefinitionError(subject, "function", "is a tool already; make another one of its .function")
    written = cast("Callable[..., object]", function)
    kind = kind_of(written)
    run = awaiting(written) if kind == "async" else written
    with named(subject):
        contract = _contract(subject, run, declared, input_)
        context = _context_parameter(subject, run, kind)
    options: Mapping[str, object] = {**declared} if reducer is _NOTHING else {**declared, "reducer": reducer}
    how = options_for(subject, kind, options)
    if how.process is not None:
        require_importable(subject, written)
    return Tool(
        definition=_definition(subject, identity, written, contract, declared),
        contract=contract,
        function=written,
        kind=kind,
        options=how,
        invoke=contract.caller(run, context),
        wants_context=context is not None,
        positional=None if input_ is not None else positional_names(run, contract.context_parameter),
    )


def _context_parameter(subject: str, run: Callable[..., object], kind: Kind) -> str | None:
    found = find_context(run, subject=subject, localns=surrounding_names(run))
    if found is None:
        return None
    name, context = found
    if issubclass(context, BlockingContext) and kind in ("async", "async-generator"):
        reason = "an async function awaits its context; annotate it ToolContext"
        raise DefinitionError(subject, f"parameter {name!r}", reason)
    return name


def _contract(subject: str, run: Callable[..., object], declared: Declarations, input_: object) -> InputContract:
    lenient = declared.get("lenient", False)
    flag(subject, "lenient", lenient)
    if input_ is None:
        return contract_from_signature(run, subject=subject, localns=surrounding_names(run), lenient=lenient)
    if not isinstance(input_, Mapping):
        return contract_from_type(input_, subject=subject, localns=surrounding_names(input_), lenient=lenient)
    given = cast("Mapping[str, object]", input_)
    if "validate" not in given:
        return contract_from_schema(given, subject=subject, lenient=lenient)
    refuse_unknown(subject, given, ("schema", "validate"))
    if lenient:
        raise DefinitionError(subject, "lenient", "a validator of your own decides that itself")
    schema, validate = cast("Mapping[str, object]", given.get("schema")), cast("PairValidator", given["validate"])
    return contract_from_pair(schema, validate, subject=subject)


def _identity_of(function: object, declared: Declarations) -> tuple[str, ToolId]:
    """How errors call the tool, and its id."""
    name = declared.get("name", name_of(function))
    if name is None:
        raise DefinitionError("tool", "name", "this function has no name of its own; give it one with name=")
    text("tool", "name", name, blank=False)
    subject = f"tool {name!r}"
    for field in ("namespace", "version"):
        text(subject, field, declared.get(field, ""))
    return subject, ToolId(name, declared.get("namespace", ""), declared.get("version"))


def _definition(
    subject: str, identity: ToolId, function: object, contract: InputContract, declared: Declarations
) -> ToolDefinition:
    parts = {field: value for field, value in declared.items() if field in _DEFINED}
    if "effect" in declared:
        with named(subject, "effect."):
            parts["effect"] = parse_effect(declared["effect"])
    if "description" not in declared:
        parts["description"] = read_docstring(docstring_of(function)).description
    return ToolDefinition(identity, input_schema=contract.schema, **parts)  # type: ignore[arg-type]  # it checks them
