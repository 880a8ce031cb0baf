"""What a ledger keeps of an attempt, and what it answers. Values only; `_rules` moves them.

Times are seconds since 1970 on the clock of the store; durations are seconds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

import msgspec

from ..definitions import Effect
from ..definitions._canonical import canonical_text

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
        host: For a call without a key, which is only there to be found again: on which host it is made, while ``key`` is
            the id of its execution. No key of anybody's is written like that.
    """

    tenant: str
    tool_id: str
    key: str
    host: str | None = None

    @property
    def text(self) -> str:
        """The parts as a canonical JSON array, which can't be read in two ways."""
        if self.host is None:
            return _written(self.tenant, self.tool_id, self.key)
        return _written(self.tenant, self.tool_id, self.host, self.key)


@lru_cache(256, typed=True)  # it is asked for several times on the way of a call
def _written(*parts: str) -> str:
    return canonical_text(list(parts), mode="exact")


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
        waits_for: The texts of the keys that it waits for, because other hosts are at them.
        pause: The id of the attempt that ended because somebody has to act before it can go on: this one, or the one that
            this goes on from.
        before: What came of it before it had to wait, if it goes on from there.
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
    waits_for: tuple[str, ...] = ()
    pause: str | None = None
    before: Effect = "none"
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
