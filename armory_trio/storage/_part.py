"""What the parts of a durable store have in common."""

from __future__ import annotations

from ._writer import Lanes


class StorePart:
    """A part of a store: it knows the ways to the database that all of them share, and their one time."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self._lanes.where!r}>"

    def now(self) -> float:
        """The time of the store, in seconds since 1970. It never goes back, and is known without waiting."""
        return self._lanes.now()
