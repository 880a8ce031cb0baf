"""Code around a tool: what a middleware is given, and what it may do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Literal, Protocol, runtime_checkable

from ._call import ToolError
from ._context import ToolContext
from ._definition import ToolDefinition
from ._identity import ToolId


class WrappedTool(Protocol):
    """The parts of a tool that its middleware may look at."""

    @property
    def name(self) -> str:
        """What a model calls it."""
        ...

    @property
    def id(self) -> ToolId:
        """Its full id."""
        ...

    @property
    def definition(self) -> ToolDefinition:
        """What it is, without the code that runs it."""
        ...

    @property
    def kind(self) -> Literal["async", "def", "async-generator", "generator"]:
        """What sort of function it is."""
        ...


class MiddlewareCall(Protocol):
    """The call that a middleware stands around. Nothing of it can be changed: what was approved is what runs."""

    @property
    def tool(self) -> WrappedTool:
        """The tool that was called."""
        ...

    @property
    def id(self) -> str:
        """The id of the `ToolCall`."""
        ...

    @property
    def arguments(self) -> Mapping[str, object]:
        """The validated arguments as plain JSON values, defaults filled in; read-only down to its leaves."""
        ...

    @property
    def attempts(self) -> int:
        """How often the tool's function was entered so far."""
        ...

    @property
    def nested(self) -> bool:
        """Whether a running tool made this call, and waits for it."""
        ...

    def error_of(self, exc: BaseException, /) -> ToolError:
        """What the caller would be told of *exc*, if it were what the call ends with."""
        ...


class CallNext(Protocol):
    """The rest of the way: the middleware further in, and then the tool."""

    async def __call__(self) -> object:
        """Go on, and answer what the tool answered: its value, or, for a generator tool, its `Chunks`.

        May be called again once it ended: that is another attempt of the same execution.

        Raises what the tool raised. Cancelled: the tool is.

        Raises:
            RepeatRefused: The tool was entered before, and must not be again.
            RuntimeError: It is called while it runs.
        """
        ...

    @property
    def may_repeat(self) -> bool:
        """Whether another attempt would be let through: nobody asked us to stop, and nothing happened so far.

        What happened does not matter where the far side knows the call by its key, and it failed for a while only.
        """
        ...


class ChunkStage(Protocol):
    """One stage that the chunks of a stream go through. It must not wait."""

    def feed(self, chunk: object) -> Iterable[object]:
        """The chunks that take the place of *chunk*: none, one or more."""
        ...

    def end(self) -> Iterable[object]:
        """The chunks that come after the last one. Also asked for when the stream ends early."""
        ...


class Chunks(ABC):
    """The stream of a generator tool, before it begins. To let it run, a middleware answers it.

    A middleware that answers something else instead has prevented the tool from running. Only the engine makes them:
    a value that merely has methods of these names is none.
    """

    __slots__ = ()

    @abstractmethod
    def map(self, function: Callable[[object], object], /) -> Chunks:
        """Replace each chunk by what *function* answers for it."""
        ...

    @abstractmethod
    def through(self, make: Callable[[], ChunkStage], /, *, value: Callable[[object], object] | None = None) -> Chunks:
        """Send all chunks through a stage, which *make* makes anew for each attempt; a class will do.

        The value of the call is made of the chunks that come out of it; with *value* it is made as if the stage were
        not there, and then becomes what *value* answers for it.
        """
        ...

    @abstractmethod
    def around(self, run: Callable[[Callable[[], Awaitable[object]]], Awaitable[object]], /) -> Chunks:
        """Have *run* run the stream: it is given a function to await, and answers what that answers."""
        ...


Middleware = Callable[[MiddlewareCall, ToolContext, CallNext], Awaitable[object]]
"""``async def middleware(call, ctx, call_next)``: goes on with ``await call_next()``, and answers the call's value."""


@runtime_checkable
class BindsToTools(Protocol):
    """A middleware that decides for each tool what stands around it, when the tool enters a toolbox."""

    def bind(self, tool: WrappedTool, /) -> Middleware | None:
        """What stands around *tool*; None for nothing."""
        ...
