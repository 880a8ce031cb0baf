"""What happened to the executions that somebody looks at closely. Never what tools or hosts say in words of their own."""

from __future__ import annotations

from collections import deque
from typing import Final

import trio

from ..engine import (
    AbortRequested,
    ApprovalRequested,
    ApprovalResolved,
    EffectClosed,
    EffectOpened,
    ExecutionAdmitted,
    ExecutionRefused,
    ExecutionSettled,
    ExecutionStarted,
    GrantUsed,
    Happening,
    Lagged,
    LoopWarned,
    NameResolved,
    OfExecution,
    OutcomeDecided,
    ProgressReported,
    StreamClosed,
    StreamOpened,
    Supervisor,
)
from ..engine._feed import EventReader, Subscription
from ._socket_messages import LiveEvent
from ._socket_model import SLICE, Breathe
from ._vocabulary import clipped

KINDS: Final[tuple[type[OfExecution], ...]] = (
    ExecutionAdmitted,
    NameResolved,
    LoopWarned,
    ExecutionRefused,
    ApprovalRequested,
    ApprovalResolved,
    GrantUsed,
    ExecutionStarted,
    ProgressReported,
    StreamOpened,
    StreamClosed,
    EffectOpened,
    EffectClosed,
    AbortRequested,
    OutcomeDecided,
    ExecutionSettled,
)

_WORDS: Final = (
    "attempt",
    "percent",
    "message",
    "calls",
    "pattern",
    "tier",
    "kind",
    "decision",
    "chunks",
    "complete",
    "state",
    "source",
    "outcome",
    "category",
    "code",
    "effect",
)
"""What is told of an event: numbers, words that the library fixes, and the message of a report of progress, which is in
snapshots, too. Reasons, labels, targets, names and log lines are left out."""

_EACH: Final = 50
"""Events of one execution that are kept."""

_BUFFER: Final = 4096
"""Events that may come between two looks before the oldest are lost."""


class Rings:
    """The last events of the executions that are looked at, as many of them as there are viewers at most."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._rings: dict[str, deque[Happening]] = {}
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


def _told(event: Happening, now: float) -> LiveEvent:
    words = [
        f"{name} {_shown(value)}"
        for name in _WORDS
        if name in event.__struct_fields__ and not (name == "message" and not isinstance(event, ProgressReported))
        if (value := getattr(event, name)) is not None
    ]
    return LiveEvent(ago=now - event.at, kind=type(event).__name__, words=clipped(", ".join(words)))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
