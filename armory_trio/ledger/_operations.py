"""What can be done to the attempt of a key. Values only; `_rules` says what each makes of what is there.

Durations are seconds.
"""

from __future__ import annotations

import msgspec

from ..definitions import Effect
from ..definitions._checks import seconds, text
from ._attempts import Decision, Happened, LedgerKey


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
        resumes: The attempt that ended because somebody had to act, if the call goes on from there: it takes its place.
        before: What came of it before it had to wait, as far as its host knows.

    Raises:
        DefinitionError: An id is blank, a name is no text, or a duration is no finite number of seconds above 0.
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
    resumes: str | None = None
    before: Effect = "none"

    def __post_init__(self) -> None:
        text("Claim", "attempt_id", self.attempt_id, blank=False)
        for field, said in (("tool_name", self.tool_name), ("arguments", self.arguments), ("host", self.host)):
            text("Claim", field, said)
        text("Claim", "execution_id", self.execution_id)
        text("Claim", "policy_revision", self.policy_revision)
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


class NoteWait(msgspec.Struct, frozen=True, tag="note-wait"):
    """Say that it waits for an attempt which another host holds, or that it no longer does, so that others see cycles.

    Args:
        key_text: The text of its key.
        attempt_id: The attempt.
        waits_for: The text of the key that it waits for.
        waiting: Whether it waits for that; False once it no longer does.
    """

    key_text: str
    attempt_id: str
    waits_for: str
    waiting: bool = True


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
        pause: Whether it ended because somebody has to act before it can go on: whoever asks for the key is told *result*
            until then, whatever the effect is, and a claim that ``resumes`` it takes its place. Without a result: it
            went on, came to nothing, and waits as it did before; refused where it went on from no pause. The effect
            ``none`` without a result says the same of what went on.
    """

    key_text: str
    attempt_id: str
    effect: Effect
    result: str | None = None
    pause: bool = False


class MarkUnknown(msgspec.Struct, frozen=True, tag="mark-unknown"):
    """Say that it began, and that nobody can say how it ended. What is recorded of its effect stands."""

    key_text: str
    attempt_id: str


class Release(msgspec.Struct, frozen=True, tag="release"):
    """Forget it, since it never began, or since nothing has come of it and nothing can any more.

    Who leads a started attempt of which the effect is ``none`` to its end, completes it; this is for those that were
    left behind. One that never began, although a decision let it be tried, is not forgotten: it is ``unknown`` again how
    the key stands, and the decision counts for the next attempt.
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
    Claim
    | Renew
    | Start
    | NoteCall
    | NoteWait
    | OpenWindow
    | CloseWindow
    | Complete
    | MarkUnknown
    | Release
    | Resolve
    | Authorize
)
"""Everything that can be done to the attempt of a key."""
