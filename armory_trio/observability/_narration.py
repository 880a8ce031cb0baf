"""What is told of an event of an execution: facts, never words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from ..engine import (
    AbortRequested,
    ApprovalRequested,
    ApprovalResolved,
    CleanupOverdue,
    CleanupPending,
    EffectClosed,
    EffectOpened,
    ExecutionAdmitted,
    ExecutionRefused,
    ExecutionSettled,
    ExecutionStarted,
    GrantUsed,
    LoopWarned,
    NameResolved,
    OfExecution,
    OutcomeDecided,
    StreamClosed,
    StreamOpened,
    WaitBegan,
    WaitEnded,
)
from ._vocabulary import clipped, code_of

Fact: TypeAlias = str | float | bool

NAMES: Final[Mapping[type[OfExecution], str]] = {
    ExecutionAdmitted: "admitted",
    NameResolved: "name_resolved",
    LoopWarned: "loop_warned",
    ExecutionRefused: "refused",
    ApprovalRequested: "approval_requested",
    ApprovalResolved: "approval_resolved",
    GrantUsed: "grant_used",
    WaitBegan: "wait_began",
    WaitEnded: "wait_ended",
    ExecutionStarted: "started",
    StreamOpened: "stream_opened",
    StreamClosed: "stream_closed",
    EffectOpened: "effect_opened",
    EffectClosed: "effect_closed",
    AbortRequested: "abort_requested",
    CleanupPending: "cleanup_pending",
    CleanupOverdue: "cleanup_overdue",
    OutcomeDecided: "outcome_decided",
    ExecutionSettled: "settled",
}
"""The events that are told, and what they are called. The others are the tool's own words."""

FACTS: Final[Mapping[type[OfExecution], tuple[str, ...]]] = {
    ExecutionAdmitted: ("parent_id", "batch_id"),
    NameResolved: ("tier",),
    LoopWarned: ("calls", "pattern"),
    ExecutionRefused: ("category", "code"),
    ApprovalRequested: ("tier", "kind"),
    ApprovalResolved: ("decision",),
    GrantUsed: ("uses_remaining",),
    WaitBegan: ("kind",),
    WaitEnded: ("kind", "seconds"),
    ExecutionStarted: ("attempt",),
    StreamClosed: ("chunks", "complete"),
    EffectClosed: ("state",),
    AbortRequested: ("source",),
    CleanupPending: ("allowed",),
    OutcomeDecided: ("outcome", "category", "code", "effect"),
    ExecutionSettled: ("state", "outcome", "effect"),
}
"""What is told of them: fields of the event."""


def facts_of(event: OfExecution) -> dict[str, Fact]:
    """What is told of *event*: no reason, no message, no label, nothing that a caller, a model or a tool has worded."""
    told: dict[str, Fact] = {}
    for field in FACTS.get(type(event), ()):
        value: Fact | None = getattr(event, field)
        if value is not None:
            told[field] = _told(field, value)
    return told


def _told(field: str, value: Fact) -> Fact:
    if not isinstance(value, str):
        return value
    return code_of(value) if field == "code" else clipped(value)
