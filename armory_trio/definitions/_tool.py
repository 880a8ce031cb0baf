"""A tool: its definition, its contract and its function, and what host code may do with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, NoReturn, ParamSpec, TypeGuard, TypeVar, cast

import attrs

from ..errors import DefinitionError
from ._arguments import InputContract, Invoker
from ._call import ToolResult
from ._checks import one_by_one, shown
from ._definition import ToolDefinition
from ._functions import origin_of
from ._identity import ToolId
from ._middleware import BindsToTools, Middleware
from ._options import Kind, ToolOptions
from ._outputs import OutputContract

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


@attrs.frozen(eq=False, repr=False)
class Tool(Generic[P, R_co]):
    """A function that a model may ask for. Made by `tool` or `define_tool`.

    Host code may call it as well: ``await add(a=1, b=2)`` gives the value, ``await add.call(a=1, b=2)`` the whole
    `ToolResult`. Arguments are given as to the function itself, but for the context, which is filled in; they are
    validated, and values that have their Python type already (a `datetime`, a dataclass) are taken as they are.
    That is a function calling a function: no policy, limits, ledger or middleware.

    Args:
        definition: The portable part.
        contract: What arguments it takes.
        function: The function that it was made of.
        kind: How that function does its work.
        options: How it is to be run.
        invoke: Calls the function with validated arguments and a context: answers the coroutine, value or generator.
        wants_context: Whether the function has a parameter for the context; without one ``invoke`` ignores it.
        check_output: Answers the value that the function returned, or raises `OutputInvalid`; None if nothing is
            promised.
        load: Has to be awaited before the function can be called; None if it is there.
        output_contract: What it promises to give, if it promises anything; ``check_output`` is its ``validate``.
        middleware: What stands around it, outermost first; None until it enters a toolbox that has some.
        composed: Whether it only calls other tools, each of which is judged as a call of its own.
    """

    definition: ToolDefinition
    contract: InputContract
    function: Callable[..., object]
    kind: Kind
    options: ToolOptions
    invoke: Invoker
    wants_context: bool = False
    check_output: Callable[[object], object] | None = None
    load: Callable[[], Awaitable[object]] | None = None
    middleware: tuple[Middleware, ...] | None = None
    output_contract: OutputContract | None = None
    composed: bool = False
    name: str = attrs.field(init=False)
    id: ToolId = attrs.field(init=False)
    _positional: tuple[str, ...] | None = attrs.field(default=None, alias="positional")
    _bare: Tool[P, R_co] | None = attrs.field(default=None, alias="bare")

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "name", self.definition.id.name)
        object.__setattr__(self, "id", self.definition.id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} ({self.kind})>"

    def __str__(self) -> str:
        return f"**{self.name}**: {self.description}"

    def __copy__(self) -> Tool[P, R_co]:
        return self

    def __deepcopy__(self, memo: object) -> Tool[P, R_co]:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} can't be pickled: send its id, and look it up in a toolbox there")

    @property
    def description(self) -> str:
        """What it does, for the model."""
        return self.definition.description

    @property
    def input_schema(self) -> Mapping[str, object]:
        """JSON Schema 2020-12 of the arguments."""
        return self.definition.input_schema

    @property
    def origin(self) -> str:
        """Where its function was written, as ``module:qualname``."""
        return origin_of(self.function)

    @property
    def __wrapped__(self) -> Callable[..., object]:
        return self.function

    @property
    def bare(self) -> Tool[P, R_co]:
        """This tool as it was before middleware was bound to it."""
        return self._bare or self

    def bound(self, middleware: Sequence[Middleware | BindsToTools]) -> Tool[P, R_co]:
        """This tool with *middleware* around it, outermost first; itself if it has some already.

        Of a middleware that has a ``bind`` method it is asked what is to stand around this tool.

        Raises:
            DefinitionError: A ``bind`` answered something else than a function or None.
        """
        if self.middleware is not None or not middleware:
            return self
        around = [self._asked(each) if isinstance(each, BindsToTools) else each for each in middleware]
        return attrs.evolve(self, middleware=tuple(each for each in around if each is not None), bare=self)

    def _asked(self, binding: BindsToTools) -> Middleware | None:
        answer = cast("object", binding.bind(self))
        if answer is not None and not callable(answer):
            reason = f"bind of {shown(binding)} answered {shown(answer)}; it answers a middleware function, or None"
            raise DefinitionError(f"tool {self.name!r}", "middleware", reason)
        return cast("Middleware | None", answer)

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Validate the arguments, run the function, and answer what it returns; for a generator, its chunks.

        Cancelled: the function is.

        Raises:
            ToolExecutionError: The arguments do not fit, or the function raised. It carries the result.
            TypeError: There are more positional arguments than parameters, or one was given twice.
        """
        return (await self.call(*args, **kwargs)).unwrap()

    async def call(self, *args: P.args, **kwargs: P.kwargs) -> ToolResult[R_co]:
        """Like calling the tool, but answer the whole result, whichever way it ended.

        Cancelled: the function is.

        Raises:
            TypeError: There are more positional arguments than parameters, or one was given twice.
        """
        arguments = self._arguments(args, kwargs)
        from ..engine import call_directly  # noqa: PLC0415  # the door to the room above is opened when it is used

        return await call_directly(self, arguments)

    def _arguments(self, args: Sequence[object], named: Mapping[str, object]) -> Mapping[str, object]:
        if not args:
            return named
        if self._positional is None:
            return self._whole(args, named)
        if len(args) > len(self._positional):
            reason = f"takes {len(self._positional)} positional arguments but {len(args)} were given"
            raise TypeError(f"{self.name}() {reason}")
        by_position = dict(zip(self._positional, args, strict=False))
        twice = by_position.keys() & named.keys()
        if twice:
            raise TypeError(f"{self.name}() got more than one value for {', '.join(sorted(twice))}")
        return {**by_position, **named}

    def _whole(self, args: Sequence[object], named: Mapping[str, object]) -> Mapping[str, object]:
        if len(args) > 1 or named:
            raise TypeError(f"{self.name}() takes one input, or its fields by name")
        given = args[0]
        return cast("Mapping[str, object]", given) if isinstance(given, Mapping) else self.contract.dump(given)


def is_tool(value: object) -> TypeGuard[Tool[..., object]]:
    """Whether *value* is a `Tool`."""
    return isinstance(value, Tool)


def no_tool(value: object) -> str:
    """That *value* is no tool, and what to do about it."""
    told = f"{shown(value)} is no tool"
    if callable(value):
        return f"{told}; decorate it with @tool"
    return f"{told}{one_by_one(value, 'tools')}"
