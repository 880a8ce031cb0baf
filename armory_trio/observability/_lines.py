"""One line for each step of an execution, and its ids in whatever its tool writes itself."""

from __future__ import annotations

from contextvars import Context, copy_context
from typing import Final, Literal, Protocol, TypeAlias

import structlog

from ..engine import (
    AdmissionWasClosed,
    CleanupOverdue,
    ExecutionAdmitted,
    ExecutionSettled,
    Happening,
    LoopWarned,
    Observed,
    OfExecution,
    ToolboxChanged,
)
from ._narration import NAMES, Fact, facts_of
from ._vocabulary import NO_FAILURE, Identity, clipped, code_of, identity_of

Level: TypeAlias = Literal["debug", "info", "warning"]

_USUAL: Final = frozenset(
    (
        *("admitted", "name_resolved", "started", "stream_opened", "stream_closed"),
        *("effect_opened", "effect_closed", "outcome_decided", "wait_began", "wait_ended"),
    )
)
"""Steps of nearly every call: only to be seen by who looks for them."""


class Logger(Protocol):
    """As much of a logger of structlog as is used here."""

    def debug(self, event: str, **facts: object) -> object: ...
    def info(self, event: str, **facts: object) -> object: ...
    def warning(self, event: str, **facts: object) -> object: ...


class Lines:
    """A probe that writes lines.

    Each is written in the context of the call that it is about: what the host has bound where it made the call is there,
    and what is bound where somebody else stops it is not.
    """

    __slots__ = ("_contexts", "_identify", "_logger")

    def __init__(self, logger: Logger, identify: frozenset[Identity]) -> None:
        self._logger = logger
        self._identify = identify
        self._contexts: dict[str, Context] = {}

    def happened(self, event: Happening, execution: Observed | None) -> None:
        """Write a line about *event*, if it is a step."""
        if execution is None or not isinstance(event, OfExecution):
            self._tell_of_supervisor(event)
            return
        name = NAMES.get(type(event))
        if name is None:
            return
        if isinstance(event, ExecutionAdmitted):
            self._contexts[execution.id] = copy_context()
        facts = facts_of(event)
        level: Level = "debug" if name in _USUAL else "info"
        if isinstance(event, LoopWarned | CleanupOverdue):
            level = "warning"
        elif isinstance(event, ExecutionSettled):
            level = _end(event, execution, facts)
        context = self._contexts.get(execution.id)
        where = copy_context() if context is None else context.copy()
        if isinstance(event, ExecutionSettled):
            self._contexts.pop(execution.id, None)
        where.run(self._write, level, f"execution.{name}", {**facts, **self._ids(execution)})

    def _write(self, level: Level, event: str, facts: dict[str, Fact]) -> None:
        match level:
            case "debug":
                self._logger.debug(event, **facts)
            case "info":
                self._logger.info(event, **facts)
            case "warning":
                self._logger.warning(event, **facts)

    def _tell_of_supervisor(self, event: Happening) -> None:
        if isinstance(event, AdmissionWasClosed):
            self._logger.info("supervisor.closed")
        elif isinstance(event, ToolboxChanged):
            changes = {"added": event.added, "removed": event.removed, "changed": event.changed}
            self._logger.info("toolbox.changed", revision=event.revision, **changes)

    def entered(self, execution: Observed) -> None:
        """Bind the ids in the task of *execution*."""
        structlog.contextvars.bind_contextvars(**self._ids(execution))
        self._contexts[execution.id] = copy_context()

    def closed(self) -> None:
        """Forget everything."""
        self._contexts.clear()

    def _ids(self, execution: Observed) -> dict[str, Fact]:
        said = identity_of(self._identify, execution.owner, execution.request_context)
        ids: dict[str, Fact] = {
            "execution_id": execution.id,
            "call_id": clipped(execution.call_id),
            "tool": clipped(execution.name),
        }
        return ids | {str(name): value for name, value in said.items()}


def _end(event: ExecutionSettled, execution: Observed, facts: dict[str, Fact]) -> Level:
    """Add to *facts* what the last line says besides, and answer how loud it is."""
    shot = execution.snapshot()
    facts |= {"duration": event.at - shot.admitted_at, "attempts": shot.attempts}
    if shot.error_category is not None and shot.error_code is not None:
        facts |= {"category": shot.error_category, "code": code_of(shot.error_code)}
    if shot.abort is not None:
        facts |= {"aborted_by": shot.abort.source, "cleanup": shot.cleanup}
    failed = event.outcome == "error" and shot.error_category not in NO_FAILURE
    return "warning" if failed or event.state == "unknown-effect" else "info"
