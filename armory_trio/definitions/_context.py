"""What a running tool may do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Literal, Protocol

from ._call import ToolResult
from ._values import ElicitAnswer, RequestContext

CleanupStatus = Literal["completed", "failed", "unresolved"]
LogLevel = Literal["debug", "info", "warning", "error"]


class ToolLike(Protocol):
    """The parts of a tool that a running tool may look at."""

    @property
    def name(self) -> str:
        """What a model calls it."""
        ...

    @property
    def description(self) -> str:
        """What it does, for the model."""
        ...

    @property
    def input_schema(self) -> Mapping[str, object]:
        """JSON Schema 2020-12 of the arguments."""
        ...


class Catalogue(Protocol):
    """The toolbox that a running tool was found in, to read."""

    def get(self, name_or_id: str, /) -> ToolLike | None:
        """The tool that *name_or_id* means, or None. As `Toolbox.get`."""
        ...

    def __iter__(self) -> Iterator[ToolLike]: ...
    def __len__(self) -> int: ...


class EffectWindow(Protocol):
    """The stretch in which a tool changes the world; what ``ctx.effect`` gives to its block."""

    def happened(self) -> None:
        """Say that the change took place, whatever happens next in the block."""
        ...

    def nothing_happened(self) -> None:
        """Say that nothing was changed: the window then counts as not opened."""
        ...


class EffectBlock(AbstractAsyncContextManager[EffectWindow], AbstractContextManager[EffectWindow], Protocol):
    """``async with`` in an async tool, ``with`` in a ``def`` tool."""


class WaitingBlock(AbstractAsyncContextManager[None], AbstractContextManager[None], Protocol):
    """``async with`` in an async tool, ``with`` in a ``def`` tool."""


class _ContextBase(ABC):
    """What both kinds of tools share."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.tool_name!r}, execution {self.execution_id}>"

    # -- who and where: these work for ever

    @property
    @abstractmethod
    def execution_id(self) -> str:
        """The execution in the supervisor's snapshots."""

    @property
    @abstractmethod
    def call_id(self) -> str:
        """The id of the `ToolCall`."""

    @property
    @abstractmethod
    def tool_name(self) -> str:
        """The name of the tool that runs."""

    @property
    @abstractmethod
    def owner_id(self) -> str | None:
        """Who owns the call, if anybody was named."""

    @property
    @abstractmethod
    def deadline(self) -> float | None:
        """The point on trio's clock by which the outcome is decided, in seconds, or None."""

    @property
    @abstractmethod
    def context(self) -> Mapping[str, object]:
        """The toolbox's context."""

    @property
    @abstractmethod
    def idempotency_key(self) -> str | None:
        """The key that makes this the same call as another, to hand to the far side as its idempotency key; or None."""

    @property
    @abstractmethod
    def request_context(self) -> RequestContext | None:
        """On whose behalf this runs."""

    @property
    @abstractmethod
    def metadata(self) -> object:
        """What the caller passed as ``metadata``, by reference."""

    @property
    @abstractmethod
    def toolbox(self) -> Catalogue:
        """The toolbox that the call was resolved in."""

    # -- being asked to stop

    @property
    @abstractmethod
    def abort_requested(self) -> bool:
        """True once somebody asked this execution to stop."""

    @property
    @abstractmethod
    def draining(self) -> bool:
        """True once the supervisor takes no new work."""

    @abstractmethod
    def check(self) -> None:
        """Stop here if this execution was cancelled. Works in a worker thread, too.

        A tool with a grace goes on until that is over; ``abort_requested`` tells it before.

        Raises:
            ExecutionAborted: The execution was aborted, and its grace is over; let it travel.
        """

    # -- telling

    @abstractmethod
    def progress(
        self, percent: float | None = None, message: str | None = None, checkpoint: object | None = None
    ) -> None:
        """Report how far the work is. Resets the idle timeout; does nothing once the outcome is decided.

        Args:
            percent: From 0 to 100.
            message: Words for a person.
            checkpoint: Any value, passed on by reference to event readers who ask for payloads.

        Raises:
            ValueError: *percent* is no number from 0 to 100.
        """

    @abstractmethod
    def log(self, level: LogLevel, message: str, data: Mapping[str, object] | None = None) -> None:
        """Write a line to whoever reads this supervisor's events. Resets the idle timeout."""

    @abstractmethod
    def emit(self, name: str, data: object = None) -> None:
        """Publish an event of the tool's own.

        Raises:
            ExecutionOver: The outcome is decided.
        """

    @abstractmethod
    def report_cleanup(self, status: CleanupStatus, detail: str = "") -> None:
        """Say how cleaning up after an abort went. ``unresolved`` makes the effect unknown."""

    # -- changing the world, waiting

    @abstractmethod
    def effect(self, label: str, target: str | None = None) -> EffectBlock:
        """Mark the stretch in which the world changes. Needs ``effect_windows=True`` on the tool.

        Cancellation is looked at once the opening is recorded: cancelled there, the block is not entered and
        nothing happened. A block left by an exception is ``unknown`` unless its window says otherwise.

        Raises:
            ExecutionOver: The outcome is decided.
            ArmoryError: The tool does not declare effect windows.
        """

    @abstractmethod
    def waiting(self, reason: str) -> WaitingBlock:
        """Mark a stretch in which the tool only waits; shown in snapshots, nestable. Its clocks and slots go on.

        Raises:
            ExecutionOver: The outcome is decided.
        """


class ToolContext(_ContextBase):
    """What a running tool may do. A parameter with this annotation is filled in by the engine.

    In a ``def`` tool the members that would be awaited block the worker thread instead; annotate the parameter
    with `BlockingContext` there, so that type checkers know.

    From the moment the outcome is decided ``call``, ``elicit``, ``effect``, ``waiting`` and ``emit`` raise
    `ExecutionOver`, ``progress`` and ``log`` do nothing; the identifiers work for ever.
    """

    __slots__ = ()

    @abstractmethod
    async def wait_abort_requested(self) -> None:
        """Return once this execution was asked to stop. Cancelled: changes nothing."""

    @abstractmethod
    async def call(
        self, tool: str | ToolLike, arguments: Mapping[str, object] | None = None, /, *, place: str | None = None
    ) -> ToolResult[object]:
        """Run another tool as a child: same deadline, aborted with this one, never more authority.

        Args:
            tool: The name or id of a tool of the toolbox; or a `Tool` itself, which need not be in it.
            arguments: As in a `ToolCall`.
            place: A name for this step of the tool that calls, each its own. When a named step has to wait for a
                person, and the caller hands its result on, the caller is run again once that person agreed: named steps
                that ended before are then answered from what was recorded, and none of them runs a second time.

        Returns a result for every end of the child. Cancelled: the child is aborted and waited for.

        Raises:
            ExecutionOver: The outcome of this execution is decided.
            TypeError: *tool* is neither a name nor a tool.
            ValueError: Another step has this place already.
        """

    @abstractmethod
    async def elicit(
        self, message: str, *, schema: Mapping[str, object] | None = None, url: str | None = None
    ) -> ElicitAnswer:
        """Ask a person. The work clock stands still meanwhile. Cancelled: the question is withdrawn.

        Raises:
            ElicitationUnavailable: The call carries no way to ask.
            ExecutionOver: The outcome of this execution is decided.
        """


class BlockingContext(_ContextBase):
    """`ToolContext` for ``def`` tools: the same members, blocking the worker thread where the other awaits."""

    __slots__ = ()

    @abstractmethod
    def wait_abort_requested(self) -> None:
        """Block until this execution was asked to stop."""

    @abstractmethod
    def call(
        self, tool: str | ToolLike, arguments: Mapping[str, object] | None = None, /, *, place: str | None = None
    ) -> ToolResult[object]:
        """Run another tool as a child and block until it ended; see `ToolContext.call`."""

    @abstractmethod
    def elicit(
        self, message: str, *, schema: Mapping[str, object] | None = None, url: str | None = None
    ) -> ElicitAnswer:
        """Ask a person and block until there is an answer; see `ToolContext.elicit`."""
