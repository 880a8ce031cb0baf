"""What the record of an execution asks of those who work for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ..definitions import EffectRecord, ToolResult


class Keeper(Protocol):
    """Whoever keeps the result of an ended execution, so that its record need not."""

    def keep(self, result: ToolResult[object], late: object) -> None:
        """The execution ended with *result*; *late* is what its body returned when nobody wanted it any more."""
        ...


class Nobody:
    """The keeper of a result that nobody will ask for."""

    def keep(self, result: ToolResult[object], late: object) -> None:
        """Let it go."""


NOBODY: Final = Nobody()


class Hooks:
    """What a supervisor is asked to tell, and to whom; all but the first are rare.

    Args:
        host: Answers the supervisor as long as there is one: it keeps the shared state, not the other way round.
        closing: Whom to tell once no new work is taken.
        tripped: Batches that fail fast and still have to stop their members; None while nobody asks several to stop.
    """

    __slots__ = ("closing", "host", "tripped")

    def __init__(self) -> None:
        self.host: Callable[[], object] = lambda: None
        self.closing: list[Callable[[], None]] = []
        self.tripped: list[Callable[[], None]] | None = None


class Window(Protocol):
    """An effect window, as far as the record needs it."""

    def record(self) -> EffectRecord: ...


class Feeder(Protocol):
    """The buffer between a live stream and its reader, as the tool's side sees it."""

    when_room: Callable[[], None] | None
    """Told when the tool need not wait any more, if its driver is in a thread."""

    @property
    def full(self) -> bool:
        """Whether the tool has to wait."""
        ...

    def put(self, chunk: object) -> None:
        """Add a chunk; the bound is the driver's to keep."""
        ...

    def mark_waiting(self) -> None:
        """The tool waits for the reader from now on."""
        ...

    async def room(self) -> None:
        """Return when there is room. Cancelled: nothing has changed."""
        ...

    def decided(self) -> None:
        """The outcome is decided: the reader may go once it has read what there is."""
        ...

    def limit_wait(self) -> None:
        """The supervisor drains: a reader that does not come holds it up only so long."""
        ...

    def stalled(self, at: float) -> bool:
        """Whether the time for which the tool may wait ran out at *at*, with nothing read meanwhile."""
        ...
