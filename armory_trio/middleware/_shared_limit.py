"""A line in front of a token bucket that other hosts take from as well."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final, Literal, cast

import attrs
import trio

from ..buckets import BucketStore, Rate
from ..definitions._checks import a_kind
from ._per_run import PerRun

WhenUnavailable = Literal["refuse", "allow", "local"]

_LEAST: Final = 0.001
"""Seconds between two questions to a store at least: its clock need not be ours."""


class TooSoon(Exception):
    """Whoever asks would have to wait for too long.

    Args:
        wait: How long, in seconds.
    """

    def __init__(self, wait: float) -> None:
        super().__init__(wait)
        self.wait = wait


class OutOfReach(Exception):
    """The store could not be asked; ``__cause__`` is why."""


@attrs.define(eq=False)
class _Ticket:
    """Somebody in the line.

    Args:
        latest: Until when it may wait, on trio's clock.
        wait: How long it would have to wait, if that is too long.
        fault: Why the store could not be asked.
    """

    latest: float
    served: bool = False
    waits: bool = False
    wait: float | None = None
    fault: Exception | None = None
    stirred: trio.Event = attrs.field(factory=trio.Event)

    def stir(self) -> None:
        """Let it look at what has become of it."""
        self.stirred.set()


class _Line:
    """Those of one run who wait for one bucket. The first asks for all, so that they are served in order of arrival."""

    __slots__ = ("_bucket", "_next_at", "_rate", "_store", "tickets")

    def __init__(self, store: BucketStore, bucket: str, rate: Rate) -> None:
        self._store = store
        self._bucket = bucket
        self._rate = rate
        self._next_at = -math.inf
        self.tickets: deque[_Ticket] = deque()

    async def turn(self, max_wait: float, waiting: AbstractAsyncContextManager[None]) -> None:
        """Take one token. See `SharedLimit.turn`."""
        now = trio.current_time()
        ticket = _Ticket(now + max_wait)
        if self.tickets and self.tickets[0].waits:
            wait = max(self._next_at - now, 0.0) + len(self.tickets) * self._rate.interval
            if wait > max_wait:
                raise TooSoon(wait)
            ticket.waits = True
        self.tickets.append(ticket)
        try:
            async with AsyncExitStack() as stack:
                await self._stand(ticket, stack, waiting)
        finally:
            if ticket in self.tickets:
                self.tickets.remove(ticket)
            if self.tickets:
                self.tickets[0].stir()

    async def _stand(self, ticket: _Ticket, stack: AsyncExitStack, waiting: AbstractAsyncContextManager[None]) -> None:
        declared = False
        while not ticket.served:
            if ticket.fault is not None:
                raise OutOfReach from ticket.fault
            if ticket.wait is not None:
                raise TooSoon(ticket.wait)
            if ticket.waits and not declared:
                declared = True
                await stack.enter_async_context(waiting)
            elif self.tickets[0] is ticket:
                await self._lead(ticket)
            else:
                ticket.stirred = trio.Event()
                await ticket.stirred.wait()

    async def _lead(self, ticket: _Ticket) -> None:
        """Ask for everybody in the line, once it is time."""
        if ticket.waits:
            await trio.sleep_until(self._next_at)
        try:
            taken = await self._store.take(self._bucket, self._rate, len(self.tickets))
        except Exception as fault:  # noqa: BLE001 - whatever a store raises, it could not be asked
            self._dismiss(fault)
            return
        for _ in range(min(taken.tokens, len(self.tickets))):
            served = self.tickets.popleft()
            served.served = True
            served.stir()
        if taken.wait > 0 or not taken.tokens:
            self._tell_to_wait(taken.wait)

    def _tell_to_wait(self, wait: float) -> None:
        now = trio.current_time()
        self._next_at = now + max(wait, _LEAST)
        staying: list[_Ticket] = []
        for ticket in self.tickets:
            mine = wait + len(staying) * self._rate.interval
            if now + mine > ticket.latest + _LEAST:
                ticket.wait = math.ceil(mine * 1e6) / 1e6  # times since 1970 are no finer
            else:
                ticket.waits = True
                staying.append(ticket)
            ticket.stir()
        self.tickets = deque(staying)

    def _dismiss(self, fault: Exception) -> None:
        # All of them: each would otherwise wait for the store's timeout after the one before it.
        for ticket in self.tickets:
            ticket.fault = fault
            ticket.stir()
        self.tickets.clear()


class SharedLimit:
    """The buckets of one limit in a store.

    Args:
        store: Where they are.
        name: What the limit is called there: those of one name share their buckets.
        rate: How they fill.
    """

    __slots__ = ("_lines", "_name", "_rate", "_store")

    def __init__(self, store: BucketStore, name: str, rate: Rate) -> None:
        self._store = store
        self._name = name
        self._rate = rate
        self._lines: PerRun[dict[str, _Line]] = PerRun(dict[str, _Line])

    async def turn(self, key: Hashable, max_wait: float, waiting: AbstractAsyncContextManager[None]) -> None:
        """Take one token from the bucket of *key*, in order of arrival at this host.

        Cancelled: nothing was taken; or one token, if that came in the very moment in which the store was asked.

        Args:
            key: Which bucket.
            max_wait: Seconds that it may take.
            waiting: Is entered if it takes any.

        Raises:
            TooSoon: It would take longer.
            OutOfReach: The store can't be asked.
            TypeError: The key does not mean the same on every host.
        """
        bucket = json.dumps([self._name, _portable(key)])
        lines = self._lines.get()
        line = lines.get(bucket)
        if line is None:
            line = lines[bucket] = _Line(self._store, bucket, self._rate)
        try:
            await line.turn(max_wait, waiting)
        finally:
            if not line.tickets and lines.get(bucket) is line:
                del lines[bucket]


def _portable(key: object) -> object:
    if key is None or isinstance(key, str | int):
        return key
    if isinstance(key, tuple):
        return [_portable(part) for part in cast("tuple[object, ...]", key)]
    raise TypeError(
        f"a limit that hosts share can't tell buckets apart by {a_kind(key)}; answer text, a whole number, None "
        "or a tuple of these"
    )
