"""What a search did not look at, counted, because a search that misses in silence is worse than none."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

import msgspec

Reason = Literal[
    "hidden", "ignored", "repository", "links", "special", "unreadable", "binary", "too_large", "too_costly"
]
Tally = Counter[Reason]
"""Counts while a search runs."""

_ONE: Final[dict[Reason, str]] = {"links": "link not followed", "special": "pipe or device"}
_MANY: Final[dict[Reason, str]] = {
    "hidden": "hidden",
    "ignored": "ignored",
    "repository": "version control",
    "links": "links not followed",
    "special": "pipes or devices",
    "unreadable": "unreadable",
    "binary": "binary",
    "too_large": "too large",
    "too_costly": "with lines too long for this pattern",
}


class Skipped(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many files and directories the pattern reached, but the search did not look into, and why.

    A directory counts as one, whatever is in it.

    Args:
        hidden: Names that begin with a dot, but for a ``.gitignore``, which was read for its rules.
        ignored: Excluded by a ``.gitignore``.
        repository: Data of a version control system, such as ``.git``.
        links: Symbolic links that were not followed, or that lead nowhere inside the root.
        special: Pipes, sockets and devices.
        unreadable: Could not be opened, or changed under the search.
        binary: Files that hold a NUL byte.
        too_large: Files above the size limit.
        too_costly: Files with lines too long for a pattern as large as this one; the other lines were searched.
    """

    hidden: int = 0
    ignored: int = 0
    repository: int = 0
    links: int = 0
    special: int = 0
    unreadable: int = 0
    binary: int = 0
    too_large: int = 0
    too_costly: int = 0


def skipped_from(tally: Tally) -> Skipped:
    """The counts, frozen."""
    return Skipped(**{str(reason): count for reason, count in tally.items()})


def skipped_note(tally: Tally) -> tuple[str, ...]:
    """One sentence for the model, such as ``skipped: 1 hidden, 1 ignored``; none when nothing was skipped."""
    counts = [
        f"{tally[reason]:,} {_ONE.get(reason, words) if tally[reason] == 1 else words}"
        for reason, words in _MANY.items()
        if tally[reason]
    ]
    if not counts:
        return ()
    hints = [f"{name}=true" for name in ("hidden", "ignored") if tally[name]]
    hint = f" ({' and '.join(hints)} to look there, too)" if hints else ""
    return (f"skipped: {', '.join(counts)}{hint}",)
