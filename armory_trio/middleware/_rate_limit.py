"""So many calls in so much time: a token bucket for each tool, owner or tenant."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractAsyncContextManager
from typing import Final, Literal, get_args

import trio

from ..buckets import BucketStore, Rate
from ..definitions import CallNext, MiddlewareCall, ToolContext, ToolFailure
from ..definitions._checks import count, lacking, one_of, seconds, text
from ..definitions._functions import require_plain
from ..definitions._plurals import counted
from ..errors import DefinitionError
from ._holding import Run, hold_work
from ._per_run import PerRun
from ._shared_limit import OutOfReach, SharedLimit, TooSoon, WhenUnavailable

_SUBJECT: Final = "middleware RateLimit"

By = Literal["tool", "owner", "tenant"] | Callable[[MiddlewareCall, ToolContext], Hashable]


def _of_tool(call: MiddlewareCall, _ctx: ToolContext) -> Hashable:
    return call.tool.id.text


def _of_owner(_call: MiddlewareCall, ctx: ToolContext) -> Hashable:
    return ctx.owner_id


def _of_tenant(_call: MiddlewareCall, ctx: ToolContext) -> Hashable:
    return None if ctx.request_context is None else ctx.request_context.tenant


_SHORTEST: Final = 0.0001
"""Seconds between two calls that a store can still tell apart: times since 1970 are kept no finer than a microsecond."""

_KEYS: Final = {"tool": _of_tool, "owner": _of_owner, "tenant": _of_tenant}


class RateLimit:
    """Lets so many calls of a tool begin in so much time, as a token bucket.

    A bucket holds ``burst`` calls and fills at ``calls`` per ``per`` seconds. A call for which it holds nothing is
    refused as ``transient`` ``RATE_LIMITED`` before it begins, with the seconds to wait as ``retry_after`` in the
    details; or it waits for its turn, if that comes within ``max_wait``. Who waits is served in order of arrival, one
    bucket apart from the other; who gives up waiting takes nothing. A waiting call keeps its slots.

    Each attempt counts, unless this stands outside of `Retry`.

    With a *store* the buckets are in there, and all hosts that share it share them, by its clock. Order of arrival is
    kept within a host. Who gives up in the very moment in which the store is asked may have taken one call.

    Args:
        calls: How many calls.
        per: In how many seconds.
        burst: How many may come at once after a pause; by default as many as *calls*.
        by: Which calls share a bucket: those of one ``tool``, ``owner`` or ``tenant``, whatever they call; or those
            for which a function of the call and its context answers the same.
        max_wait: Seconds that a call may wait; 0 refuses at once, None waits as long as it takes.
        max_buckets: Bound for the buckets that are kept because they are not full. Who comes in addition shares one.
            Not for those in a store.
        store: Where hosts share the buckets, such as ``store.buckets``.
        name: What the limit is called in the store: limits of one name share their buckets.
        when_unavailable: What becomes of a call while the store can't be asked. ``refuse``: it is refused as
            ``unavailable`` ``RATE_LIMIT_UNAVAILABLE`` before it begins. ``allow``: it begins, whatever the others do.
            ``local``: this host alone lets through as many as the limit says.

    Raises:
        DefinitionError: An argument is out of its range.
    """

    __slots__ = ("_buckets", "_key", "_max_wait", "_rate", "_shared", "_when_unavailable")

    def __init__(
        self,
        calls: int,
        *,
        per: float,
        burst: int | None = None,
        by: By = "tool",
        max_wait: float | None = 0.0,
        max_buckets: int = 10_000,
        store: BucketStore | None = None,
        name: str | None = None,
        when_unavailable: WhenUnavailable = "refuse",
    ) -> None:
        count(_SUBJECT, "calls", calls)
        count(_SUBJECT, "burst", calls if burst is None else burst)
        count(_SUBJECT, "max_buckets", max_buckets)
        interval = seconds(_SUBJECT, "per", per, zero=False) / calls
        if callable(by):
            require_plain(_SUBJECT, "by", by, "the call and its context")
        else:
            one_of(_SUBJECT, "by", by, _KEYS)
        self._key: Callable[[MiddlewareCall, ToolContext], Hashable] = by if callable(by) else _KEYS[by]
        self._max_wait = (
            math.inf if max_wait is None else seconds(_SUBJECT, "max_wait", max_wait, zero=True, optional=True)
        )
        allowed = calls if burst is None else burst
        self._rate = Rate(interval, allowed)
        self._buckets: PerRun[_Buckets] = PerRun(lambda: _Buckets(interval, allowed, max_buckets))
        one_of(_SUBJECT, "when_unavailable", when_unavailable, get_args(WhenUnavailable))
        self._when_unavailable = when_unavailable
        self._shared = _shared(store, name, self._rate)

    def __repr__(self) -> str:
        return f"<RateLimit of {counted(self._rate.burst, 'call')}, another each {self._rate.interval:g} s>"

    async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        async def hold(run: Run) -> object:
            key = self._key(call, ctx)
            try:
                if self._shared is None or not await self._pass_shared(self._shared, key, ctx):
                    await self._pass_local(key, ctx)
            except TooSoon as refusal:
                raise _too_often(call, refusal.wait) from None
            return await run()

        return await hold_work(call.tool, call_next, hold)

    async def _pass_local(self, key: Hashable, ctx: ToolContext) -> None:
        bucket = self._buckets.get().of(key)
        wait = bucket.wait()
        if wait > self._max_wait:
            raise TooSoon(wait)
        if wait > 0:
            await bucket.turn(ctx.waiting("rate limit"))
        else:
            bucket.take()

    async def _pass_shared(self, shared: SharedLimit, key: Hashable, ctx: ToolContext) -> bool:
        """Whether the call may begin; False leaves that to this host."""
        try:
            await shared.turn(key, self._max_wait, ctx.waiting("rate limit"))
        except OutOfReach as failure:
            if self._when_unavailable == "refuse":
                raise _out_of_reach(failure) from failure
            return self._when_unavailable == "allow"
        return True


def _shared(store: BucketStore | None, name: str | None, rate: Rate) -> SharedLimit | None:
    if store is None:
        if name is not None:
            raise DefinitionError(_SUBJECT, "name", "is for limits that hosts share; give a store, or no name")
        return None
    missing = [method for method in ("now", "take") if not callable(getattr(store, method, None))]
    if missing:
        reason = f"must be a BucketStore with all of its methods; {lacking(store, missing[0], 'buckets')}"
        raise DefinitionError(_SUBJECT, "store", reason)
    if name is None:
        raise DefinitionError(_SUBJECT, "name", "is missing; say what the limit is called in the store")
    text(_SUBJECT, "name", name, blank=False)
    if rate.interval < _SHORTEST:
        reason = f"lets more than {1 / _SHORTEST:g} calls begin in a second, which no store can tell apart"
        raise DefinitionError(_SUBJECT, "per", reason)
    return SharedLimit(store, name, rate)


def _too_often(call: MiddlewareCall, wait: float) -> ToolFailure:
    return ToolFailure(
        f"{call.tool.name!r} was called too often; try again in {_readable(wait)} s",
        category="transient",
        code="RATE_LIMITED",
        details={"retry_after": wait},
    )


def _out_of_reach(failure: OutOfReach) -> ToolFailure:
    # What a store says of itself is for its host, not for a model.
    kind = type(failure.__cause__).__name__
    return ToolFailure(
        f"it can't be told whether this call may begin now: its rate limit can't be looked up ({kind})",
        category="unavailable",
        code="RATE_LIMIT_UNAVAILABLE",
    )


def _readable(wait: float) -> str:
    return f"{math.ceil(wait * 10) / 10:g}"


class _Bucket:
    """One token bucket, kept as the time at which it will be full, which needs no refilling."""

    __slots__ = ("_interval", "_line", "_slack", "full_at", "waiting")

    def __init__(self, interval: float, burst: int) -> None:
        self._interval = interval
        self._slack = interval * (burst - 1)
        self._line: trio.Lock | None = None
        self.full_at = -math.inf
        self.waiting = 0

    def _next_at(self) -> float:
        return self.full_at - self._slack

    def wait(self) -> float:
        """Seconds until whoever comes now has its turn, behind all who wait already; 0 for at once."""
        now = trio.current_time()
        next_at = self._next_at()
        if not self.waiting and next_at <= now:
            return 0.0
        return max(next_at, now) - now + self.waiting * self._interval

    def take(self) -> None:
        """Take one token, which is there."""
        self.full_at = max(self.full_at, trio.current_time()) + self._interval

    async def turn(self, waiting: AbstractAsyncContextManager[None]) -> None:
        """Take one token in order of arrival. Cancelled: nothing was taken."""
        if self._line is None:
            self._line = trio.Lock()  # which is fair
        self.waiting += 1
        try:
            async with waiting, self._line:
                await trio.sleep_until(self._next_at())
                self.take()
        finally:
            self.waiting -= 1


class _Buckets:
    """The buckets of one run, those that were used last at the end."""

    __slots__ = ("_burst", "_interval", "_most", "_of_key", "_rest")

    def __init__(self, interval: float, burst: int, most: int) -> None:
        self._interval = interval
        self._burst = burst
        self._most = most
        self._of_key: OrderedDict[Hashable, _Bucket] = OrderedDict()
        self._rest: _Bucket | None = None

    def of(self, key: Hashable) -> _Bucket:
        """The bucket of *key*; a shared one if there are too many that are not full."""
        found = self._of_key.get(key)
        if found is not None:
            self._of_key.move_to_end(key)
            return found
        if len(self._of_key) >= self._most and not self._forget_one():
            if self._rest is None:
                self._rest = _Bucket(self._interval, self._burst)
            return self._rest
        made = self._of_key[key] = _Bucket(self._interval, self._burst)
        return made

    def _forget_one(self) -> bool:
        """Forget the bucket that was not used for the longest time, if it is like a new one."""
        key, oldest = next(iter(self._of_key.items()))
        if oldest.waiting or oldest.full_at > trio.current_time():
            return False
        del self._of_key[key]
        return True
