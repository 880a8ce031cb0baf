"""What happened to the executions that somebody looks at closely. Never what tools or hosts say in words of their own."""

from __future__ import annotations

from collections import deque
from typing import Final

import trio

from ..engine import Lagged, OfExecution, ProgressReported, Supervisor
from ..engine._feed import EventReader, Subscription
from ._narration import NAMES, Fact, facts_of
from ._socket_messages import LiveEvent
from ._socket_model import SLICE, Breathe
from ._vocabulary import clipped

KINDS: Final[tuple[type[OfExecution], ...]] = (*NAMES, ProgressReported)
"""What is told of everywhere, and the reports of progress, which are in snapshots, too."""

_EACH: Final = 50
"""Events of one execution that are kept."""

_BUFFER: Final = 4096
"""Events that may come between two looks before the oldest are lost."""


class Rings:
    """The last events of the executions that are looked at, as many of them as there are viewers at most."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._rings: dict[str, deque[OfExecution]] = {}
        self._missed: set[str] = set()

    def open(self) -> Subscription[OfExecution]:
        """A way to read the events, for who opens this."""
        return self._supervisor.events(*KINDS, buffer=_BUFFER)

    def watch(self, wanted: frozenset[str]) -> None:
        """Keep those of *wanted*, and forget the others."""
        self._rings = {name: self._rings.get(name) or deque(maxlen=_EACH) for name in wanted}
        self._missed &= wanted

    async def catch_up(self, reader: EventReader[OfExecution], breathe: Breathe) -> None:
        """Read what has happened. Cancelled: what was read stays read."""
        left = SLICE
        while True:
            try:
                event = reader.next_nowait()
            except (trio.WouldBlock, StopAsyncIteration):
                return
            if isinstance(event, Lagged):
                self._missed.update(self._rings)
            elif (ring := self._rings.get(event.execution_id)) is not None:
                ring.append(event)
            left -= 1
            if not left:
                await breathe()
                left = SLICE

    def of(self, execution_id: str, now: float) -> tuple[tuple[LiveEvent, ...], bool]:
        """The events of one execution, the oldest first, and whether some may have been missed."""
        ring = self._rings.get(execution_id, ())
        return tuple(_told(event, now) for event in ring), execution_id in self._missed


def _told(event: OfExecution, now: float) -> LiveEvent:
    words = ", ".join(f"{name} {_shown(value)}" for name, value in _facts_of(event).items())
    return LiveEvent(ago=now - event.at, kind=type(event).__name__, words=clipped(words))


def _facts_of(event: OfExecution) -> dict[str, Fact]:
    if not isinstance(event, ProgressReported):
        return facts_of(event)
    facts = {"percent": event.percent, "message": event.message}
    return {name: value for name, value in facts.items() if value is not None}


def _shown(value: Fact) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
