"""How long a store keeps what would otherwise stay for ever."""

from __future__ import annotations

from ..definitions._checks import seconds
from ..definitions._declared import Declared


class Keep(Declared, frozen=True):
    """How long a store keeps what does not expire by itself. None means for ever.

    What is older goes by and by, while the store is written to: some hundred rows at a time, so that nobody waits for it.
    Whoever shares a store and opens it with a shorter time forgets for all.

    Args:
        attempts: Seconds from the end of an attempt that was completed or abandoned. Afterwards what it stands for can be
            done again: give longer than any caller may try again. All other attempts stay, and so does one that did a part
            and waits for somebody.
        journal: Seconds from when an entry was read, whatever it is about: also the last one of an execution that has no
            end yet.

    Raises:
        DefinitionError: One of them is no length of time.
    """

    attempts: float | None = None
    journal: float | None = None

    def __post_init__(self) -> None:
        for field, value in (("attempts", self.attempts), ("journal", self.journal)):
            if value is not None:
                seconds("Keep", field, value, zero=False, optional=True)


FOR_EVER = Keep()
"""What is kept where nobody says otherwise."""
