"""Functions that are only loaded when a tool is called for the first time."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final, ParamSpec, Protocol, TypeVar, cast

from ..errors import DefinitionError, LoadFailed
from ._arguments import Invoker
from ._checks import one_of, shown, told
from ._functions import kind_of
from ._options import Kind
from ._tool import is_tool

P = ParamSpec("P")
R = TypeVar("R")

_KINDS: Final[tuple[Kind, ...]] = ("async", "def", "async-generator", "generator")


class Lazy:
    """A function that is not there yet. Made by `lazy`."""

    __slots__ = ("kind", "loader")

    def __init__(self, loader: Callable[[], object], kind: Kind) -> None:
        self.loader = loader
        self.kind: Kind = kind


def lazy(
    loader: Callable[[], Callable[P, R] | Awaitable[Callable[P, R]]], /, *, kind: Kind = "async"
) -> Callable[P, R]:
    """A function to give to `define_tool`, loaded when the tool is called for the first time.

    It is loaded once, after the arguments were validated and the call was let through: calls that come meanwhile wait
    for the same load. A load that fails ends the calls that wait for it with effect ``none``, and the next call tries
    again. Nothing can be read from a function that is not there, so ``input=`` says what it takes; its first parameter
    gets the input, and a parameter annotated `ToolContext` the context.

    Args:
        loader: Answers the function; sync or async. A sync one runs in the task of the call, so it should be quick.
        kind: What sort of function it is: ``async``, ``def``, ``async-generator`` or ``generator``.

    Raises:
        DefinitionError: *loader* is no function, or the kind no such word.
    """
    if not callable(loader):
        raise DefinitionError("lazy", "loader", f"must be a function that answers the tool's, not {shown(loader)}")
    one_of("lazy", "kind", kind, _KINDS)
    return cast("Callable[P, R]", Lazy(loader, kind))


class Flight(Protocol):
    """A load that is under way."""

    def set(self) -> None: ...
    async def wait(self) -> None: ...


class LazyBody:
    """What a tool calls in place of a function that is not there yet.

    Args:
        subject: How errors call the tool.
        lazy: The function to be.
        caller: How it is called, once it is there.
    """

    __slots__ = ("_caller", "_flights", "_invoke", "_lazy", "_subject")

    def __init__(self, subject: str, lazy: Lazy, caller: Callable[[Callable[..., object]], Invoker]) -> None:
        self._subject = subject
        self._lazy = lazy
        self._caller = caller
        self._invoke: Invoker | None = None
        self._flights: dict[object, _Flying] = {}

    def __call__(self, validated: object, context: object, /) -> object:
        """Call the function, which has been loaded."""
        if self._invoke is None:
            raise LoadFailed(f"{self._subject} was called before its function was loaded")
        return self._invoke(validated, context)

    async def load(self) -> None:
        """Have the function there. Cancelled: whoever waits for the same load begins anew.

        Raises:
            LoadFailed: The loader raised, or answered something else than a function of the kind.
        """
        from ..engine._concurrency import Latch, current_token  # noqa: PLC0415  # the door to the room that knows how to wait

        run = current_token()  # of two runs in two threads neither may wake the tasks of the other
        while self._invoke is None:
            flying = self._flights.get(run)
            if flying is None:
                await self._fly(run, Latch())
            else:
                await flying.landing.wait()
                if flying.reason is not None:
                    raise LoadFailed(flying.reason)

    async def _fly(self, run: object, landing: Flight) -> None:
        flying = self._flights[run] = _Flying(landing)
        try:
            self._invoke = await self._loaded()
        except LoadFailed as error:
            flying.reason = str(error)
            raise
        finally:
            del self._flights[run]
            landing.set()

    async def _loaded(self) -> Invoker:
        try:
            answer = self._lazy.loader()
            function: object = await answer if inspect.isawaitable(answer) else answer
        except (Exception, SystemExit) as error:  # a module that is imported may be a program, which exits
            raise LoadFailed(f"{self._subject} could not be loaded: {told(error)}") from error
        if is_tool(function):
            reason = f"its loader answered {function!r}, which is a tool already; answer its .function"
            raise LoadFailed(f"{self._subject} could not be loaded: {reason}")
        if not callable(function) or kind_of(function) != self._lazy.kind:
            found = f"a function of kind {kind_of(function)!r}" if callable(function) else shown(function)
            reason = f"its loader answered {found}, not a function of kind {self._lazy.kind!r}"
            raise LoadFailed(f"{self._subject} could not be loaded: {reason}")
        try:
            return self._caller(function)
        except DefinitionError as error:
            raise LoadFailed(f"{self._subject} could not be loaded: {error.field}: {error.reason}") from error


class _Flying:
    """One load under way: what those wait for who came later, and why it failed."""

    __slots__ = ("landing", "reason")

    def __init__(self, landing: Flight) -> None:
        self.landing = landing
        self.reason: str | None = None
