"""Where attempts are kept: what a store must do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ._attempts import Answer, Attempt, AttemptState
from ._operations import Operation


class LedgerStore(Protocol):
    """Keeps the last attempt of each key. Whoever shares what is done once shares one store, and so one clock.

    All of it is required. What an operation does, `apply` says, and nothing but that is done: the store reads the attempt
    of the key, applies the operation to it, and keeps what comes of it, as one step that nothing comes between, whoever
    else uses the store, from whatever process. When it answers, that is kept for good, as far as the store keeps
    anything. `armory_trio.testing.ledger_store_cases` are tests for this.

    What is shown is `aged`: a started attempt is ``unknown`` from the instant on at which its lease is over, whether
    somebody has recorded that yet or not.

    What is of a wrong type, or no state, is refused with `DefinitionError`, and never taken for something else.

    Cancelled: an operation was done, or was not; `load` tells. What goes wrong with the storage itself is raised as it
    comes.
    """

    def now(self) -> float:
        """The time, in seconds since 1970, on the one clock that counts for these attempts. It never goes back."""
        ...

    async def apply(self, operation: Operation, /) -> Answer:
        """Do *operation*, at the time `now`."""
        ...

    async def load(self, key_text: str, /) -> Attempt | None:
        """The attempt that is there for a key, None if there is none."""
        ...

    async def list(
        self,
        *,
        states: Collection[AttemptState] | None = None,
        tenant: str | None = None,
        tool_name: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Attempt]:
        """Attempts in the order of their key texts, by code point; a page of them.

        Args:
            states: Only those in one of these states; none if it is empty.
            tenant: Only those of this tenant.
            tool_name: Only those of tools of this name.
            host: Only those that this host made.
            after: Only those whose key text comes after this one: that of the last attempt of the page before.
            limit: At most so many, from 1 on. Fewer mean that there are no more.
        """
        ...

    async def forget(self, *, ended_before: float) -> int:
        """Forget attempts that are ``completed`` or ``abandoned`` and ended before the instant; how many there were.

        One that did a part and waits for somebody is ``completed`` and has not ended: it stays, see `may_be_forgotten`.

        The instant is seconds since 1970, such as ``store.now() - 30 * 24 * 3600`` for a month ago. Then what they stand
        for can be done again. Nothing else is ever forgotten but by its own operations. An instant in the future, which
        would forget what has only just been done, is refused with `DefinitionError`.
        """
        ...
