"""The clock that stores are opened with in tests."""

from __future__ import annotations

from typing import Final, final

START: Final = 1_790_000_000.0
"""When cases begin that need no other time, in seconds since 1970."""


@final
class StoreClock:
    """A clock for a store that reads one. It stands still until it is set.

    Args:
        seconds: What it says, in seconds since 1970.
    """

    def __init__(self, seconds: float = START) -> None:
        self.seconds = seconds

    def __repr__(self) -> str:
        return f"<StoreClock {self.seconds}>"

    def __call__(self) -> float:
        """What it says now."""
        return self.seconds
