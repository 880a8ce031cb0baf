"""What those that are gone left behind, and what is true of it. Pure: nothing is changed here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, assert_never

import msgspec

from ._attempts import Attempt

Truth = Literal["never-started", "safe", "unknown"]
"""``never-started``: its body never began. ``safe``: it began, and can be run again: its tool only reads, or changes the
world only within effect windows, of which none was ever entered, and it made no call that may change something.
``unknown``: everything else."""


class LeftBehind(msgspec.Struct, frozen=True):
    """Attempts that have no end, by what is true of them; each part in the order in which they were given.

    Args:
        never_started: Those whose body never began. Whoever claims their keys takes their places.
        safe: Those that began and can be run again. Releasing them says so.
        unknown: Those that wait for a decision.
    """

    never_started: tuple[Attempt, ...] = ()
    safe: tuple[Attempt, ...] = ()
    unknown: tuple[Attempt, ...] = ()

    @property
    def again(self) -> tuple[Attempt, ...]:
        """All that can be run again without doing anything twice."""
        return (*self.never_started, *self.safe)

    def __bool__(self) -> bool:
        """Whether anything was left behind."""
        return bool(self.never_started or self.safe or self.unknown)

    def words(self) -> tuple[str, ...]:
        """A line for each attempt, those first that need somebody. No arguments, no keys, no results."""
        return tuple(map(words_of, (*self.unknown, *self.safe, *self.never_started)))


def left_behind(attempts: Iterable[Attempt]) -> LeftBehind:
    """Sort *attempts*, as a store shows them, by what is true of them if nobody is at them any more.

    Whether somebody is, the caller must know: an attempt whose lease is live may be going on at this moment. Those that
    ended are left out.
    """
    found: dict[Truth, list[Attempt]] = {"never-started": [], "safe": [], "unknown": []}
    for attempt in attempts:
        truth = truth_of(attempt)
        if truth is not None:
            found[truth].append(attempt)
    return LeftBehind(tuple(found["never-started"]), tuple(found["safe"]), tuple(found["unknown"]))


def truth_of(attempt: Attempt) -> Truth | None:
    """What is true of *attempt* if nobody is at it any more; None if it has ended."""
    match attempt.state:
        case "claimed":
            return "never-started"
        case "started" | "unknown":
            return "safe" if attempt.effect == "none" and not attempt.calls else "unknown"
        case "completed" | "abandoned":
            return None
        case _ as never:
            assert_never(never)


def words_of(attempt: Attempt) -> str:
    """One line that says what is true of *attempt*, and why. It holds no arguments, no key and no result."""
    return f"{attempt.tool_name} (execution {attempt.execution_id}, attempt {attempt.number}): {_why(attempt)}"


def _why(attempt: Attempt) -> str:
    """In words, what is true of *attempt* and what that means for whoever looks after it."""
    match truth_of(attempt):
        case None if attempt.pause is not None:
            return "waits for somebody to act"
        case None:
            return f"{attempt.state}, nothing is open"
        case "never-started":
            return "never started; safe to run again"
        case "safe" if attempt.windows == "undeclared":
            return "started, but it only reads; safe to run again"
        case "safe":
            return "started, but no effect window was ever entered; safe to run again"
        case "unknown" if attempt.granted:
            return "outcome unknown; somebody decided that it may be tried again"
        case "unknown" if attempt.open_windows:
            return "outcome unknown: it was inside an effect window; decide what happened"
        case "unknown" if attempt.effect == "none":
            return "outcome unknown: calls that it made may have changed something; look at those, and decide"
        case "unknown" if attempt.effect == "completed":
            return "outcome unknown: an effect happened, and the end was not recorded; decide what to tell"
        case _:
            return "outcome unknown: it started, and the world may have seen it; decide what happened"
