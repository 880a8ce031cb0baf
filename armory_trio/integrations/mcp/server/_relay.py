"""From what tools tell while they run to what clients hear of it, without ever holding a tool up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, Protocol

import trio

from ....engine import (
    ChunkEmitted,
    Lagged,
    LogWritten,
    OfExecution,
    ProgressReported,
    Supervisor,
    ToolboxChanged,
)
from ....engine._concurrency import Signal

_HELD: Final = 256
"""What is held for a client that reads slowly; the oldest is dropped."""

_BUFFER: Final = 4096
"""Events that are held until the relay has its turn."""

Told = ProgressReported | LogWritten | ChunkEmitted


class Sink(Protocol):
    """Where one request's client hears of its call."""

    async def take(self, event: Told, /) -> None:
        """Tell the client. May wait for a slow one; never raises."""
        ...


class Line:
    """What the client of one call is still to be told."""

    __slots__ = ("_ended", "_held", "_signal")

    def __init__(self) -> None:
        self._held: deque[Told] = deque(maxlen=_HELD)
        self._signal = Signal()
        self._ended = False

    def put(self, event: Told) -> None:
        """Hold *event* for whoever delivers."""
        self._held.append(event)
        self._signal.set()

    def end(self) -> None:
        """Let `deliver` return once it has delivered what is there."""
        self._ended = True
        self._signal.set()

    async def deliver(self, sink: Sink) -> None:
        """Bring everything to *sink*, until `end`. Cancelled: at most one event is lost."""
        while True:
            while self._held:
                await sink.take(self._held.popleft())
            if self._ended:
                return
            await self._signal.wait()


class Relay:
    """Reads the supervisor's events once for all calls that somebody listens to.

    Args:
        supervisor: Whose events.
        changed: Told whenever the catalogue may have changed. It must not wait.
    """

    def __init__(self, supervisor: Supervisor, changed: Callable[[], None]) -> None:
        self._reader = supervisor.events(
            ProgressReported, LogWritten, ChunkEmitted, ToolboxChanged, include_payloads=True, buffer=_BUFFER
        )
        self._changed = changed
        self._lines: dict[str, Line] = {}
        self._next: Callable[[], object] | None = None

    async def follow_events(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Bring every event to its line, until the supervisor is closed."""
        async with self._reader as events:
            self._next = events.next_nowait
            task_status.started()
            async for event in events:
                self._sort(event)

    def catch_up(self) -> None:
        """Bring what has happened so far to its lines, at once: before a call is answered."""
        assert self._next is not None
        try:
            while True:
                self._sort(self._next())
        except (trio.WouldBlock, StopAsyncIteration):
            return

    @contextmanager
    def line(self, call_id: str) -> Generator[Line]:
        """What is told of the call *call_id* comes to this line, as long as the block lasts."""
        line = self._lines[call_id] = Line()
        try:
            yield line
        finally:
            del self._lines[call_id]

    def _sort(self, event: object) -> None:
        if isinstance(event, OfExecution):
            line = self._lines.get(event.call_id)
            if line is not None and isinstance(event, Told):
                line.put(event)
        elif isinstance(event, ToolboxChanged | Lagged):  # who has missed something may have missed a change
            self._changed()
