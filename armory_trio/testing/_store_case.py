"""One thing that a store of some kind has to do, as a case that its tests run against it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

import attrs

from ._store_clock import StoreClock

S = TypeVar("S")

OpenStore = Callable[[Callable[[], float]], AbstractAsyncContextManager[S]]
"""Opens a new, empty store that reads the clock that it is given, in seconds since 1970, and closes it."""


@attrs.frozen
class StoreCase(Generic[S]):
    """One thing that a store has to do.

    Args:
        name: What that is, for reports.
        check: Tries it with an empty store and the clock of that, and raises AssertionError if it is not so.
    """

    name: str
    check: Callable[[S, StoreClock], Awaitable[None]]

    @property
    def __name__(self) -> str:
        """The name: what pytest calls a parameter of a test."""
        return self.name

    async def __call__(self, open_store: OpenStore[S]) -> None:
        """Try it with a store of its own.

        Cancelled: the store is closed, and nothing is found out.

        Raises:
            AssertionError: The store does something else. What it raises unexpectedly passes through.
        """
        clock = StoreClock()
        async with open_store(clock) as store:
            await self.check(store, clock)
