"""How a tool is made: the decorator, and the function for those who have the parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar, Unpack, final, overload

from ._building import NOTHING, build
from ._context import BlockingContext, ToolContext
from ._options import Declarations, refuse_unknown
from ._tool import Tool

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


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

    def __init__(self, declared: Declarations | None = None, reducer: object = NOTHING) -> None:
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
        self, function: object = NOTHING, /, *, reducer: object = NOTHING, **declared: Unpack[Declarations]
    ) -> object:
        together: Declarations = {**self._declared, **declared}
        reduced = self._reducer if reducer is NOTHING else reducer
        if function is not NOTHING:
            return build(function, together, reduced)
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
    *, input: object = None, execute: object, reducer: object = NOTHING, **declared: Unpack[Declarations]
) -> object:
    """Make a tool of its parts.

    Args:
        input: What arguments it takes: a class with fields (msgspec, attrs, dataclass, TypedDict, pydantic), a JSON
            Schema, a mapping of names to types, or ``{"schema": ..., "validate": ...}`` or ``{"schema": ...,
            "parse": ...}`` with a function of your own, sync or async: the one decides about the arguments, the
            other answers what *execute* gets. Left out, the signature of *execute* says it.
        execute: The function, or a `lazy` one. With an *input* its first parameter gets the instance (a dict, for a
            schema), and a parameter annotated `ToolContext` the context; without, it is called as by `tool`.
        reducer: Makes the value of a generator out of its chunks; without one the value is their list.
        declared: The declarations of `Declarations`.

    Raises:
        DefinitionError: A part is wrong; the error names the tool and the field.
    """
    return build(execute, declared, reducer, input)
