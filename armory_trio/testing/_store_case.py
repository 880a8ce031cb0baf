"""One thing that a store of some kind has to do, as a case that its tests run against it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Generic, TypeVar, cast

import attrs

from ..errors import DefinitionError
from ._store_clock import StoreClock

S = TypeVar("S")

NO_TEXT: Final = cast("str", 5)
NO_NUMBER: Final = cast("int", "x")

Ask = Callable[[], Awaitable[object]]
"""Asks a store for something."""

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


async def require_refused(asks: Mapping[str, Ask]) -> None:
    """Ask a store for what it has to refuse with `DefinitionError`, each by a name for it in reports.

    Raises:
        AssertionError: It did not refuse it.
    """
    for what, ask in asks.items():
        try:
            await ask()
        except DefinitionError:
            continue
        except Exception as error:
            raise AssertionError(f"{what} is not refused with DefinitionError, but {type(error).__name__}") from error
        raise AssertionError(f"{what} is taken, and not refused with DefinitionError")
