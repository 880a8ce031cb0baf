"""How a run ended, as the number that the process exits with. docs/cli.md shows the same table."""

from __future__ import annotations

from typing import Final

import msgspec

from ..errors import ArmoryError

SUCCEEDED: Final = 0
"""The input was read to its end, and every call succeeded."""

FAILED: Final = 1
"""Some call did not succeed, or the deadline came before the end of the input."""

UNUSABLE: Final = 2
"""Wrong usage, or an input or output that cannot be used."""

UNCERTAIN: Final = 3
"""Nobody knows what some call did, or its cleaning up failed; somebody has to look."""

UNFINISHED: Final = 4
"""Something was left running."""

READER_GONE: Final = 141
"""Whoever read the results went away (what a shell shows for SIGPIPE)."""

BY_SIGNAL: Final = 128
"""Added to the number of the signal that stopped the run before everything had succeeded."""


class Unusable(ArmoryError):
    """What the command was given cannot be used. The text is one line: what, where, and what would be right."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say about how a run ended.

    Args:
        all_read: The input was read to its end.
        failed: Some call did not succeed.
        unusable: The input, or the output, turned out to be unusable.
        reader_gone: The pipe that results were written to was closed.
        uncertain: An effect is unknown, or a cleanup failed.
        unfinished: Something runs on.
        signal: The signal that stopped the run, if one did.
    """

    all_read: bool
    failed: bool = False
    unusable: bool = False
    reader_gone: bool = False
    uncertain: bool = False
    unfinished: bool = False
    signal: int | None = None

    @property
    def exit_code(self) -> int:
        """What matters most comes first: what still runs, what is uncertain, what could not be used."""
        if self.unfinished:
            return UNFINISHED
        if self.uncertain:
            return UNCERTAIN
        if self.unusable:
            return UNUSABLE
        if self.reader_gone:
            return READER_GONE
        if self.all_read and not self.failed:
            return SUCCEEDED
        return FAILED if self.signal is None else BY_SIGNAL + self.signal
