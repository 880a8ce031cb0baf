"""Makes what viewers see, one frame at a time, and takes a twentieth of the host's time for it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import trio

from ..engine import Executions, LimitUse, Supervisor
from ._socket_messages import (
    Frame,
    LiveAbortAnswer,
    LiveDetail,
    LiveExecution,
    LiveHost,
    LiveLimit,
    Query,
    line_of,
)
from ._socket_model import Breathe
from ._socket_pages import looks_at_ended, page_of
from ._socket_rows import Seen, row_of
from ._socket_sessions import Session, Sessions
from ._vocabulary import clipped

_SHARE: Final = 20
"""Making frames takes one part in so many of the time, however many viewers there are."""

_LONGEST_REST: Final = 2.0
"""Seconds after which a viewer gets its frame all the same. A look at 10,000 executions takes some 10 ms, so this counts
only for the first one, and where there are a hundred thousand."""

_LIMITS: Final = 50
_FAMILY: Final = 50
"""Children of an execution that are shown, and ancestors."""


class Pace:
    """Lets one in at a time, and nobody for a while after each, so that others have the rest of the processor's time."""

    def __init__(self) -> None:
        self._lock = trio.Lock()
        self._free_at = float("-inf")
        self._spent = 0.0
        self._since = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[Breathe]:
        """A turn; what it yields lets everybody else run. Cancelled: somebody else has the turn."""
        async with self._lock:
            await trio.sleep_until(self._free_at)
            self._spent, self._since = 0.0, time.thread_time()
            try:
                yield self._breathe
            finally:
                self._spent += time.thread_time() - self._since
                self._free_at = trio.current_time() + min(self._spent * (_SHARE - 1), _LONGEST_REST)

    async def _breathe(self) -> None:
        self._spent += time.thread_time() - self._since
        await trio.lowlevel.checkpoint()
        self._since = time.thread_time()


class Desk:
    """Answers viewers.

    Args:
        supervisor: What they look at.
        name: What the host calls itself.
        allow_abort: Whether they may ask executions to stop.
    """

    def __init__(self, supervisor: Supervisor, name: str, *, allow_abort: bool) -> None:
        self._supervisor = supervisor
        self._name = clipped(name)
        self._allow_abort = allow_abort
        self._pace = Pace()
        self._opened = trio.current_time()
        self._viewers = 0
        self._sessions = Sessions(supervisor)
        self._closely: dict[object, str] = {}
        """Whom viewers look at closely."""

    async def run(self) -> None:
        """Follow the executions while somebody looks. Cancelled: nobody can look any more."""
        await self._sessions.run()

    @contextmanager
    def viewer(self) -> Generator[object]:
        """Somebody looks in this block; what it yields stands for them."""
        token = object()
        self._viewers += 1
        self._sessions.enter()
        try:
            yield token
        finally:
            self._viewers -= 1
            self._closely.pop(token, None)
            self._sessions.leave()

    def host(self) -> LiveHost:
        """Who is looked at."""
        supervisor = self._supervisor
        return LiveHost(
            name=self._name,
            machine=clipped(socket.gethostname()),
            pid=os.getpid(),
            uptime=trio.current_time() - self._opened,
            admission="ended" if supervisor.report is not None else "closed" if supervisor.closed else "open",
            viewers=self._viewers,
            allow_abort=self._allow_abort,
        )

    async def frame(self, query: Query, *, re: int, viewer: object | None) -> bytes:
        """What there is to see now, as a line. Cancelled: nothing has changed.

        Args:
            query: What to show.
            re: The request that it answers.
            viewer: Who goes on looking at that, so that events are kept for the next frame; None for nobody.
        """
        if query.detail is not None and viewer is not None:
            self._closely[viewer] = query.detail
        else:
            self._closely.pop(viewer, None)
        async with self._pace.turn() as breathe:
            session = await self._sessions.get()
            await session.catch_up(frozenset(self._closely.values()), breathe)
            return line_of(await self._made(session, query, breathe, re=re))

    async def _made(self, session: Session, query: Query, breathe: Breathe, *, re: int) -> Frame:
        """The frame that *query* asks for, made of what *session* has seen."""
        model = session.model
        everything = model.everything(ended=looks_at_ended(query))
        page, matched = await page_of(everything, query, trio.current_time(), breathe)
        detail = None
        if query.detail is not None:
            detail = await _detail(session, self._supervisor, query, breathe)
        totals = await model.totals(self._supervisor.active, breathe)
        limits, left_out = busiest(self._supervisor.executions)
        return Frame(
            re=re,
            at=time.time(),
            host=self.host(),
            totals=totals,
            rates=model.rates(),
            limits=limits,
            limits_left_out=left_out,
            matched=matched,
            offset=query.offset,
            executions=_rows(map(model.fresh, page), query),
            detail=detail,
        )

    async def abort(self, execution_id: str, reason: str) -> LiveAbortAnswer:
        """Ask an execution to stop, and say what that did. Cancelled: nothing was asked."""
        if not self._allow_abort:
            await trio.lowlevel.checkpoint()
            return "not-allowed"
        async with self._pace.turn():
            answers = self._supervisor.abort(reason, execution_id=execution_id)
        return answers.get(execution_id, "unknown")


def busiest(executions: Executions) -> tuple[tuple[LiveLimit, ...], int]:
    """The limits that somebody uses or waits for, the busiest first, and how many of them are left out."""
    queues = executions.queues()
    used = [(queues.get(name, 0), use, name) for name, use in executions.limits().items() if use.used or name in queues]
    used.sort(key=lambda each: (-each[0], -each[1].used / each[1].size, each[2]))
    shown = tuple(_limit(name, use, waiting) for waiting, use, name in used[:_LIMITS])
    return shown, len(used) - len(shown)


def _limit(name: str, use: LimitUse, waiting: int) -> LiveLimit:
    return LiveLimit(name=clipped(name), used=use.used, size=use.size, waiting=waiting)


def _limits_of(seen: Seen, executions: Executions) -> tuple[LiveLimit, ...]:
    """The limits that one execution holds a slot of or waits for."""
    limits, queues = executions.limits(), executions.queues()
    waits = (seen.shot.waits_for or "").partition("capacity:")[2]
    named = [name for name in dict.fromkeys((*seen.shot.capacity, waits)) if name in limits]
    return tuple(_limit(name, limits[name], queues.get(name, 0)) for name in named)


def _rows(seen: Iterable[Seen], query: Query) -> tuple[LiveExecution, ...]:
    now = trio.current_time()
    return tuple(row_of(each, now, query.slow_after) for each in seen)


async def _detail(session: Session, supervisor: Supervisor, query: Query, breathe: Breathe) -> LiveDetail | None:
    """Everything about the execution that *query* looks at closely, None when it is not known."""
    model, name = session.model, query.detail or ""
    seen = model.find(name)
    if seen is None:
        return None
    found: list[Seen] = []
    for number, each in enumerate(model.everything(ended=True), start=1):
        if each.shot.parent_id == name:
            found.append(each)
        if number % 5000 == 0:
            await breathe()
    events, missed = session.rings.of(name, trio.current_time())
    children = _rows(map(model.fresh, found[:_FAMILY]), query)
    return LiveDetail(
        execution=_rows([seen], query)[0],
        ancestors=_rows(model.ancestors(name, _FAMILY), query),
        children=children,
        children_left_out=len(found) - len(children),
        limits=_limits_of(seen, supervisor.executions),
        events=events,
        events_missed=missed,
    )
