"""What a cache keeps: copies of values, for a while, and no more than so many."""

from __future__ import annotations

import copy
import heapq
import itertools
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, NamedTuple

import trio

_NOTHING: Final = (0.0, None)
_IMMUTABLE: Final = frozenset[type]((type(None), bool, int, float, complex, str, bytes))


class Copy(NamedTuple):
    """A value of one's own, to do with it what one likes."""

    value: object


class Kept:
    """A value that is only handed out in copies."""

    __slots__ = ("_immutable", "_value")

    def __init__(self, value: object, *, immutable: bool) -> None:
        self._value = value
        self._immutable = immutable

    def copy(self) -> Copy | None:
        """The value; None if it cannot be copied after all, or only into something else."""
        if self._immutable:
            return Copy(self._value)
        try:
            copied = copy.deepcopy(self._value)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: ASYNC103, BLE001  # code of the value's own: what matters is that there is no copy
            return None  # noqa: ASYNC104  # nothing is awaited
        return Copy(copied) if type(copied) is type(self._value) else None


def kept_of(value: object) -> Kept | None:
    """A copy of *value* to keep; None if it cannot be copied."""
    immutable = type(value) in _IMMUTABLE
    found = Kept(value, immutable=immutable).copy()
    return None if found is None else Kept(found.value, immutable=immutable)


class Flight:
    """A call that is being made, and for whose value others may wait."""

    __slots__ = ("kept", "over")

    def __init__(self) -> None:
        self.over = trio.Event()
        self.kept: Kept | None = None
        """Its value, once it is over; None if it failed."""


class Shelf:
    """The kept values of one run of trio, those that were asked for last at the end."""

    __slots__ = ("_expiries", "_most", "_numbers", "_of_key", "flights", "generation", "uncopyable")

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_key: OrderedDict[Hashable, tuple[float, Kept]] = OrderedDict()
        self._expiries: list[tuple[float, int, Hashable]] = []
        self._numbers = itertools.count()
        self.flights: dict[Hashable, Flight] = {}
        self.generation = 0
        """How often it was cleared."""
        self.uncopyable: set[Hashable] = set()
        """The tools that have given values that cannot be copied."""

    def __len__(self) -> int:
        self._drop_expired()
        return len(self._of_key)

    def find(self, key: Hashable) -> Copy | None:
        """A copy of what is kept for *key*, and still good."""
        until, kept = self._of_key.get(key, _NOTHING)
        if kept is None:
            return None
        found = None if until <= trio.current_time() else kept.copy()
        if found is None:
            del self._of_key[key]
        else:
            self._of_key.move_to_end(key)
        return found

    def keep(self, key: Hashable, kept: Kept, until: float) -> None:
        """Keep a value until a point on trio's clock. What is no longer good makes room first."""
        self._of_key[key] = until, kept
        self._of_key.move_to_end(key)
        heapq.heappush(self._expiries, (until, next(self._numbers), key))
        if len(self._of_key) > self._most:
            self._drop_expired()
        if len(self._of_key) > self._most:
            self._of_key.popitem(last=False)
        if len(self._expiries) > 2 * self._most:
            self._expiries = [(entry[0], next(self._numbers), key) for key, entry in self._of_key.items()]
            heapq.heapify(self._expiries)

    def _drop_expired(self) -> None:
        now = trio.current_time()
        while self._expiries and self._expiries[0][0] <= now:
            key = heapq.heappop(self._expiries)[2]
            found = self._of_key.get(key)
            if found is not None and found[0] <= now:
                del self._of_key[key]

    def clear(self) -> None:
        """Forget everything; what is being made now is not kept, and nobody joins it any more."""
        self.generation += 1
        self.flights.clear()
        self._of_key.clear()
        self._expiries.clear()
