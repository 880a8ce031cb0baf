"""What a ledger keeps of an attempt, what can be done to it, and what is answered. Values only; `_rules` moves them.

Times are seconds since 1970 on the clock of the store; durations are seconds.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from ..definitions import Effect
from ..definitions._canonical import canonical_text
from ..definitions._checks import seconds, text

AttemptState = Literal["claimed", "started", "completed", "unknown", "abandoned"]
"""``claimed``: nothing of it has begun. ``started``: its body may have. ``completed``: it ended, and how it ended is
known. ``unknown``: it began, and nobody can say how it ended. ``abandoned``: a person decided to let it be."""

Windows = Literal["undeclared", "unopened", "open", "closed"]
"""Of the stretches in which the tool changes the world: it doesn't say where they are; none was entered; one is open now;
one was, and none is. A window that was closed because nothing happened counts as one that was not entered."""

Happened = Literal["completed", "nothing-happened", "unknown"]
"""What came of an effect window, in the words of its record."""

Decision = Literal["retry", "completed", "abandoned"]
"""What a person, or whoever asked the far side, decides about an attempt of which nobody knows how it ended."""


class LedgerKey(msgspec.Struct, frozen=True):
    """What is done once: the same key of the same tool, for the same tenant.

    The digest of the definition is deliberately no part of it: a description that was changed must not let an effect
    happen a second time. A new version of the tool is another tool.

    Args:
        tenant: Whose it is.
        tool_id: The written form of the tool's whole identity, ``namespace:name@version``.
        key: The key of the caller, or of the tool.
    """

    tenant: str
    tool_id: str
    key: str

    @property
    def text(self) -> str:
        """The three as a canonical JSON array, which can't be read in two ways."""
        return canonical_text([self.tenant, self.tool_id, self.key], mode="exact")


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to do what a key stands for. A ledger keeps the last one of each key.

    Args:
        key: The text of its `LedgerKey`.
        tenant: Whose it is.
        tool_id: The tool's whole identity.
        tool_name: The name that the tool is called by.
        attempt_id: Its fence: who can't name it, can't change it. No two attempts have the same.
        number: 1, and one more whenever another attempt takes the place of this one.
        state: Where it stands.
        effect: What the world may have seen, as far as it is recorded.
        behind: What the effect windows that are closed came to, together; ``effect`` once none is open.
        read_only: Whether the tool changes nothing.
        windows: How its effect windows stand.
        open_windows: How many of them are open.
        arguments: The exact canonical text of the arguments that it runs with; empty where they are not known, as of one
            that was brought in from elsewhere: then all arguments agree with them.
        execution_id: The execution that made it.
        host: Whose it is, of those who share the store.
        calls: Whether calls that it made may have changed something.
        policy_revision: The state of the rules that let it through.
        deduplicates: False: it is only here to be found after a crash, under a key that nobody asks for again.
        claimed_at: When it was claimed.
        started_at: When its body was let go.
        ended_at: When it ended, was found to have been lost, or was decided about.
        lease_expires_at: The instant from which on its holder counts as gone.
        deadline: The instant beyond which its lease is never renewed.
        result: How it ended, as JSON text; None where that is not to be told again.
        receipt: By which decision it stands as it does, or may be there at all, as JSON text.
        granted: Whether a decision lets the next claim take its place, though it is ``unknown``.
        authorization: By which decision its result may be told under ``policy_revision``, as JSON text; None if that is
            what let it through.
    """

    key: str
    tenant: str
    tool_id: str
    tool_name: str
    attempt_id: str
    number: int
    state: AttemptState
    effect: Effect
    behind: Effect = "none"
    read_only: bool
    windows: Windows
    open_windows: int = 0
    arguments: str
    execution_id: str
    host: str
    calls: bool = False
    policy_revision: str
    deduplicates: bool
    claimed_at: float
    started_at: float | None = None
    ended_at: float | None = None
    lease_expires_at: float
    deadline: float
    result: str | None = None
    receipt: str | None = None
    granted: bool = False
    authorization: str | None = None


# ── What can be done ─────────────────────────────────────────────────────────────────────────────────────────────────


class Claim(msgspec.Struct, frozen=True, kw_only=True, tag="claim"):
    """Begin an attempt, unless there is one that stands in the way.

    Making the same claim again, as after an answer that was lost, gives the same attempt as long as it is not started.

    Args:
        key: What is to be done once.
        tool_name: The name that the tool is called by.
        attempt_id: A new id, that no attempt ever had.
        arguments: The exact canonical text of the arguments.
        execution_id: Which execution asks.
        host: On which host.
        policy_revision: The state of the rules that let it through.
        read_only: Whether the tool changes nothing.
        windows_declared: Whether the tool changes the world only within effect windows.
        deduplicates: False if the key is that of an execution, there for recovery alone.
        lease: Seconds for which it is claimed.
        cap: Seconds beyond which it can't be renewed, however often.
        instead_of: Take the place of no attempt but this one; None: of whichever may be taken.

    Raises:
        DefinitionError: An id is blank, or a duration is no finite number of seconds above 0.
    """

    key: LedgerKey
    tool_name: str
    attempt_id: str
    arguments: str
    execution_id: str
    host: str
    policy_revision: str
    read_only: bool = False
    windows_declared: bool = False
    deduplicates: bool = True
    lease: float
    cap: float
    instead_of: str | None = None

    def __post_init__(self) -> None:
        text("Claim", "attempt_id", self.attempt_id, blank=False)
        seconds("Claim", "lease", self.lease, zero=False)
        seconds("Claim", "cap", self.cap, zero=False)


class Renew(msgspec.Struct, frozen=True, tag="renew"):
    """Keep an attempt for another *lease* seconds from now, within its deadline.

    Raises:
        DefinitionError: The lease is no finite number of seconds above 0.
    """

    key_text: str
    attempt_id: str
    lease: float

    def __post_init__(self) -> None:
        seconds("Renew", "lease", self.lease, zero=False)


class Start(msgspec.Struct, frozen=True, tag="start"):
    """Say that its body is about to begin. Unless this was answered with `Done`, it must not.

    Args:
        key_text: The text of its key.
        attempt_id: The attempt.
        policy_revision: The state of the rules that let it through in the end; None: of those that it was claimed under.
    """

    key_text: str
    attempt_id: str
    policy_revision: str | None = None


class NoteCall(msgspec.Struct, frozen=True, tag="note-call"):
    """Say that it is about to make a call that may change the world. Unless this was answered with `Done`, it must not."""

    key_text: str
    attempt_id: str


class OpenWindow(msgspec.Struct, frozen=True, tag="open-window"):
    """Say that it is about to change the world. Unless this was answered with `Done`, it must not."""

    key_text: str
    attempt_id: str


class CloseWindow(msgspec.Struct, frozen=True, tag="close-window"):
    """Say that one of its windows is over, and what happened in it."""

    key_text: str
    attempt_id: str
    happened: Happened


class Complete(msgspec.Struct, frozen=True, tag="complete"):
    """Say how it ended.

    What is recorded of its windows stands: an end that claims less than they do is taken for what they say.

    Args:
        key_text: The text of its key.
        attempt_id: The attempt.
        effect: What the world has seen. If it is ``unknown``, so is the attempt.
        result: What to tell whoever asks for the key again, as JSON text. None where nobody need be told, such as an
            error that changed nothing: if the effect is ``none``, the attempt is forgotten at once.
    """

    key_text: str
    attempt_id: str
    effect: Effect
    result: str | None = None


class MarkUnknown(msgspec.Struct, frozen=True, tag="mark-unknown"):
    """Say that it began, and that nobody can say how it ended. What is recorded of its effect stands."""

    key_text: str
    attempt_id: str


class Release(msgspec.Struct, frozen=True, tag="release"):
    """Forget it, since it never began, or since nothing has come of it and nothing can any more.

    Who leads a started attempt of which the effect is ``none`` to its end, completes it; this is for those that were
    left behind.
    """

    key_text: str
    attempt_id: str


class Resolve(msgspec.Struct, frozen=True, kw_only=True, tag="resolve"):
    """Decide about an attempt of which nobody knows how it ended. The receipt must have been verified.

    Args:
        key_text: The text of its key.
        attempt_id: The attempt; of another one nothing is decided.
        decision: ``retry``: another attempt may take its place, and only its. ``completed``: it ended so. ``abandoned``:
            it is not to be tried again, nor asked about.
        result: How it ended, as JSON text: for ``completed``, and only there.
        receipt: The receipt, as JSON text.
        claim: For ``retry``: the attempt that takes its place now. None: the next one that is claimed does.
    """

    key_text: str
    attempt_id: str
    decision: Decision
    receipt: str
    result: str | None = None
    claim: Claim | None = None


class Authorize(msgspec.Struct, frozen=True, kw_only=True, tag="authorize"):
    """Let the result of an attempt be told under other rules than those that let it through.

    The receipt must have been verified.

    Args:
        key_text: The text of its key.
        attempt_id: The attempt; of another one nothing is decided.
        recorded_under: The state of the rules that it is recorded under; under another one nothing is decided.
        policy_revision: The one under which it may be told from now on.
        receipt: The receipt, as JSON text.
    """

    key_text: str
    attempt_id: str
    recorded_under: str
    policy_revision: str
    receipt: str


Operation = (
    Claim | Renew | Start | NoteCall | OpenWindow | CloseWindow | Complete | MarkUnknown | Release | Resolve | Authorize
)
"""Everything that can be done to the attempt of a key."""

# ── What is answered ─────────────────────────────────────────────────────────────────────────────────────────────────


class Fresh(msgspec.Struct, frozen=True, tag="fresh"):
    """The key is the caller's: *attempt* is new, and nobody else holds one."""

    attempt: Attempt


class Running(msgspec.Struct, frozen=True, tag="running"):
    """Somebody else is at it, and their lease is live. It may become the caller's when that ends."""

    attempt: Attempt


class Recorded(msgspec.Struct, frozen=True, tag="recorded"):
    """It was done before; *attempt* says how it ended."""

    attempt: Attempt


class Unknown(msgspec.Struct, frozen=True, tag="unknown"):
    """It was begun before, and nobody knows how it ended. `Attempt.effect` says whether the world can have seen it."""

    attempt: Attempt


class Abandoned(msgspec.Struct, frozen=True, tag="abandoned"):
    """It was begun before, and somebody decided that it must not be tried again."""

    attempt: Attempt


class Conflict(msgspec.Struct, frozen=True, tag="conflict"):
    """The key was used with other arguments."""

    attempt: Attempt


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The operation is done; *attempt* is as that left it, or as it was before it was forgotten."""

    attempt: Attempt


class FenceLost(msgspec.Struct, frozen=True, tag="fence-lost"):
    """The attempt is not the caller's any more: *attempt* is what is there, None if nothing is. Nothing was changed.

    But an attempt whose lease is found to be over may be recorded as ``unknown`` on the way.
    """

    attempt: Attempt | None


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """That can't be done to the attempt as it stands, whoever asks. Nothing was changed."""

    reason: str


Answer = Fresh | Running | Recorded | Unknown | Abandoned | Conflict | Done | FenceLost | Refused
"""Everything that a ledger answers."""

LIVE: Final[frozenset[AttemptState]] = frozenset(("claimed", "started"))
"""The states in which somebody may hold the attempt."""

ENDED: Final[frozenset[AttemptState]] = frozenset(("completed", "abandoned"))
"""The states in which nothing is open, so that an attempt may be forgotten."""
