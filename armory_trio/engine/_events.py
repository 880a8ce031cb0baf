"""What happened, one typed value each, for readers of ``supervisor.events``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from ..definitions import Category, Effect, LogLevel, LoopPattern, Outcome, PauseTier
from ..toolbox import NameTier
from ._lifecycle import AbortSource, State, WaitKind


class Happening(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What all events share. What an event leaves out is absent in JSON, too.

    Args:
        sequence: Numbers all events of one supervisor, from 1.
        at: Seconds on trio's clock.
    """

    sequence: int
    at: float


def is_kind(given: object) -> bool:
    """Whether *given* is a class of events."""
    return isinstance(given, type) and issubclass(given, Happening)


class OfExecution(Happening, frozen=True, kw_only=True):
    """What all events of one execution share.

    Args:
        revision: Its snapshot shows at least this revision from now on.
        owner_id: None when neither the call nor its context names one.
    """

    execution_id: str
    call_id: str
    tool_name: str
    owner_id: str | None = None
    revision: int


class ExecutionAdmitted(OfExecution, frozen=True, kw_only=True, tag=True):
    """A call came in and has a record."""

    parent_id: str | None
    batch_id: str | None


class NameResolved(OfExecution, frozen=True, kw_only=True, tag=True):
    """A name that no tool has was taken for a misspelling of one: ``tool_name`` is that of the tool that was meant."""

    requested: str
    tier: NameTier


class LoopWarned(OfExecution, frozen=True, kw_only=True, tag=True):
    """A call repeats what came before it; from a further threshold on such calls are refused.

    Args:
        calls: Which call of its run it is.
        pattern: ``repeat``, ``ping-pong`` or ``cycle``.
        message: The same in words.
    """

    calls: int
    pattern: LoopPattern | None
    message: str


class ExecutionRefused(OfExecution, frozen=True, kw_only=True, tag=True):
    """A call was answered without running: its body will never be entered."""

    category: Category
    code: str


Decision = Literal["approved", "edited", "denied", "unanswered", "failed", "revoked"]
"""What became of a question about a call: ``unanswered`` in time, ``failed`` because nobody could be asked."""


class ApprovalRequested(OfExecution, frozen=True, kw_only=True, tag=True):
    """A person is asked about a call: in place, or by what its result carries.

    Args:
        tier: Who asks: ``capability``, ``declared``, ``toolbox`` or ``tool``.
        kind: ``approval`` or ``input``.
        reason: Why.
        approval_id: That of the descriptor; None when the call waits in place.
    """

    tier: PauseTier
    kind: Literal["approval", "input"]
    reason: str
    approval_id: str | None = None


class ApprovalResolved(OfExecution, frozen=True, kw_only=True, tag=True):
    """A question about a call was answered; by a descriptor, as soon as the body of the resumed call begins."""

    decision: Decision
    approval_id: str | None = None


class GrantUsed(OfExecution, frozen=True, kw_only=True, tag=True):
    """A grant answered the question of the approval policy, and the body begins.

    Args:
        grant_id: The grant.
        principal: On whose behalf.
        uses_remaining: How often it can still be used.
    """

    grant_id: str
    principal: str | None
    uses_remaining: int


class ExecutionStarted(OfExecution, frozen=True, kw_only=True, tag=True):
    """The body was entered; queue time ends here."""

    attempt: int


class WaitBegan(OfExecution, frozen=True, kw_only=True, tag=True):
    """The execution waits from here on: queued, or because its tool says so or has asked a person.

    A call that waits for one that it made is told by the events of that one.

    Args:
        kind: What is waited for: what ``Snapshot.waits_for`` begins with, or ``declared`` or ``elicitation``.
        subject: Which one, as in the snapshot: a limit, a resource, an execution; or the reason or question of the tool.
    """

    kind: WaitKind
    subject: str | None = None


class WaitEnded(OfExecution, frozen=True, kw_only=True, tag=True):
    """A wait is over, however it ended. It comes before `ExecutionSettled`."""

    kind: WaitKind
    subject: str | None = None
    seconds: float


class ProgressReported(OfExecution, frozen=True, kw_only=True, tag=True):
    """The tool reported progress. ``checkpoint`` only comes to readers with ``include_payloads``."""

    percent: float | None
    message: str | None
    checkpoint: object = None


class StreamOpened(OfExecution, frozen=True, kw_only=True, tag=True):
    """The first chunk came."""


class ChunkEmitted(OfExecution, frozen=True, kw_only=True, tag=True):
    """A chunk came. Only for readers with ``include_payloads``."""

    index: int
    chunk: object


class StreamClosed(OfExecution, frozen=True, kw_only=True, tag=True):
    """A stream ended; ``complete`` says whether it came to its own end."""

    chunks: int
    complete: bool


class LogWritten(OfExecution, frozen=True, kw_only=True, tag=True):
    """The tool wrote a line. ``data`` only comes to readers with ``include_payloads``."""

    level: LogLevel
    message: str
    data: Mapping[str, object] | None = None


class CustomEmitted(OfExecution, frozen=True, kw_only=True, tag=True):
    """An event of the tool's own. ``data`` only comes to readers with ``include_payloads``."""

    name: str
    data: object = None


class EffectOpened(OfExecution, frozen=True, kw_only=True, tag=True):
    """From here on the world changes."""

    label: str
    target: str | None


class EffectClosed(OfExecution, frozen=True, kw_only=True, tag=True):
    """The stretch is over; ``state`` as in `EffectRecord`."""

    label: str
    target: str | None
    state: str


class AbortRequested(OfExecution, frozen=True, kw_only=True, tag=True):
    """Somebody asked the execution to stop."""

    source: AbortSource
    reason: str


class CleanupPending(OfExecution, frozen=True, kw_only=True, tag=True):
    """The body was cancelled, and is still there: it has ``allowed`` seconds to clean up."""

    allowed: float


class CleanupOverdue(OfExecution, frozen=True, kw_only=True, tag=True):
    """The body is still there after the time that it had for cleaning up: nobody waits for it any more."""


class OutcomeDecided(OfExecution, frozen=True, kw_only=True, tag=True):
    """The caller is released. Exactly once for each execution."""

    outcome: Outcome
    category: Category | None
    code: str | None
    effect: Effect


class ExecutionSettled(OfExecution, frozen=True, kw_only=True, tag=True):
    """The state is final. Exactly once for each execution."""

    state: State
    outcome: Outcome
    effect: Effect


class ToolboxChanged(Happening, frozen=True, kw_only=True, tag=True):
    """The live toolbox of this supervisor was exchanged: calls that come from here on are resolved in the new one.

    Args:
        revision: The number of the new one.
        added: Ids that are new.
        removed: Ids that are gone.
        changed: Ids that have another definition.
    """

    revision: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class AdmissionWasClosed(Happening, frozen=True, kw_only=True, tag=True):
    """The supervisor takes no new work from here on."""

    reason: str


class Lagged(Happening, frozen=True, kw_only=True, tag=True):
    """This reader was too slow: so many events were dropped just before this place."""

    missed: int
