"""Answering a call with what the same call gave a short while ago."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import Final

import msgspec
import trio

from ..definitions import (
    CallNext,
    Chunks,
    Middleware,
    MiddlewareCall,
    RequestContext,
    ToolContext,
    ToolResult,
    WrappedTool,
    canonical_text,
)
from ..definitions._checks import count, flag, seconds
from ..definitions._functions import require_plain
from ..definitions._plurals import counted
from ..errors import JsonError
from ._holding import streams
from ._per_run import PerRun
from ._shelf import Flight, Shelf, kept_of

_SUBJECT: Final = "middleware Cache"
Key = Callable[[MiddlewareCall, ToolContext], Hashable]

_LEADING: Final[ContextVar[bool]] = ContextVar("armory_trio.cache_leading", default=False)
"""Whether this task works for a call that others may be waiting for; it must not wait for them in turn."""


class CacheInfo(msgspec.Struct, frozen=True):
    """What a cache did.

    Args:
        hits: Calls that were answered with a kept value.
        joined: Calls that waited for the same call of somebody else, and got its value.
        misses: Calls that ran.
        entries: Values that are kept now.
    """

    hits: int
    joined: int
    misses: int
    entries: int


class Cache:
    """Answers a call with the value that the same call gave less than ``ttl`` seconds ago.

    The same call is: the same tool of the same toolbox, the same arguments, whatever the order of their names, and the
    same authority. By default that is the whole request context but for its owner, run, session and request: so nobody
    is answered with what was found for somebody else. Calls that are the same and come at a time run once: one leads,
    the others wait for its value; one that fails or is cancelled hands over to another one. Calls that a tool makes
    don't wait, for their callers hold slots that the leader may need.

    Kept are only values, never failures nor what waits for a person, and of each a copy, so that nobody can change what
    another one gets; a value that cannot be copied is not kept. Streams are never kept, and tools that may change
    something are left alone.
    A call that is answered from here has ``attempts`` 0 and effect ``none``.

    Args:
        ttl: Seconds for which a value is good, from the beginning of the call that gave it.
        max_entries: How many values are kept; the one that was not asked for for the longest time makes room.
        key: What tells callers apart instead of the request context. Use it for tools that answer by something else
            that the context gives them, such as ``ctx.metadata``.
        changing_tools: Keep values of tools that may change something, too. The same call then changes nothing.

    Raises:
        DefinitionError: An argument is out of its range.
    """

    __slots__ = ("_changing", "_hits", "_joined", "_key", "_misses", "_shelves", "_ttl")

    def __init__(
        self, ttl: float = 60.0, *, max_entries: int = 1000, key: Key | None = None, changing_tools: bool = False
    ) -> None:
        self._ttl = seconds(_SUBJECT, "ttl", ttl, zero=False)
        count(_SUBJECT, "max_entries", max_entries)
        flag(_SUBJECT, "changing_tools", changing_tools)
        if key is not None:
            require_plain(_SUBJECT, "key", key, "the call and its context")
        self._key = key or _authority
        self._changing = changing_tools
        self._shelves: PerRun[Shelf] = PerRun(lambda: Shelf(max_entries))
        self._hits = self._joined = self._misses = 0

    def __repr__(self) -> str:
        return f"<Cache of {counted(self._ttl, 'second')}: {counted(self._hits, 'hit')}, {counted(self._misses, 'miss', 'misses')}>"

    def bind(self, tool: WrappedTool, /) -> Middleware | None:
        """As `BindsToTools.bind`."""
        changes = tool.definition.classification.effect_class != "read-only"
        if streams(tool) or (changes and not self._changing):
            return None
        return self._stand

    def info(self) -> CacheInfo:
        """What it did so far, in all runs of trio, and what it keeps in this one."""
        return CacheInfo(self._hits, self._joined, self._misses, len(self._shelves.get()))

    def clear(self) -> None:
        """Forget the values of this run of trio, also those that are being made now."""
        self._shelves.get().clear()

    async def _stand(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        shelf = self._shelves.get()
        key = self._key_of(call, ctx)
        tool = call.tool.id.text
        if key is None or tool in shelf.uncopyable:
            self._misses += 1
            return await call_next()
        found = shelf.find(key)
        if found is not None:
            self._hits += 1
            return found.value
        joins = not (call.nested or _LEADING.get())
        while joins and (flight := shelf.flights.get(key)) is not None:
            async with ctx.waiting("the same call of somebody else"):
                await flight.over.wait()
            if flight.kept is not None and (found := flight.kept.copy()) is not None:
                self._joined += 1
                return found.value
        self._misses += 1
        return await self._lead(shelf, key, tool, call_next)

    def _key_of(self, call: MiddlewareCall, ctx: ToolContext) -> Hashable:
        """What is the same for the same call; None for one that cannot be compared with others."""
        # The very tool that runs: several, with different values bound to them, may have this middleware from one.
        key = ctx.toolbox, call.tool, self._key(call, ctx)  # what it raises is a mistake, and not to be hidden
        try:
            hash(key)
            return *key, canonical_text(call.arguments, mode="exact")
        except (JsonError, TypeError):
            return None

    async def _lead(self, shelf: Shelf, key: Hashable, tool: str, call_next: CallNext) -> object:
        flight = Flight()
        shelf.flights.setdefault(key, flight)
        began, generation = trio.current_time(), shelf.generation
        leading = _LEADING.set(True)
        try:
            value = await call_next()
            if not isinstance(value, Chunks) and not _waits(value):
                flight.kept = kept_of(value)
                if flight.kept is None:
                    shelf.uncopyable.add(tool)
                elif generation == shelf.generation:
                    shelf.keep(key, flight.kept, began + self._ttl)
        finally:
            _LEADING.reset(leading)
            if shelf.flights.get(key) is flight:
                del shelf.flights[key]
            flight.over.set()
        return value


def _waits(value: object) -> bool:
    """Whether it is what a call came to that waits for somebody: each call has to be asked about on its own."""
    return isinstance(value, ToolResult) and value.outcome == "action_required"


def _authority(_call: MiddlewareCall, ctx: ToolContext) -> RequestContext | None:
    context = ctx.request_context
    if context is None:
        return None
    return msgspec.structs.replace(context, owner=None, run=None, session=None, request=None)
