"""Follows the executions of a supervisor while somebody looks, and only then."""

from __future__ import annotations

import trio

from ..engine import OfExecution, Supervisor
from ..engine._feed import EventReader
from ._socket_events import Rings
from ._socket_model import Breathe, Model


class Session:
    """What is known from the moment on at which somebody began to look.

    Args:
        model: The executions.
        rings: What happened to those that are looked at closely.
    """

    def __init__(self, model: Model, rings: Rings) -> None:
        self.model = model
        self.rings = rings
        self.reader: EventReader[OfExecution] | None = None
        self.wanted: frozenset[str] = frozenset()
        self.over = trio.Event()
        """Set once nobody looks any more."""
        self.changed = trio.Event()
        """Set when others are looked at closely than before."""

    async def catch_up(self, closely: frozenset[str], breathe: Breathe) -> None:
        """Read what has changed and happened. Cancelled: what was read stays read.

        Args:
            closely: Whose events are wanted.
            breathe: Lets everybody else run.
        """
        if closely != self.wanted:
            self.wanted = closely
            self.rings.watch(closely)
            self.changed.set()
        if self.reader is not None:
            await self.rings.catch_up(self.reader, breathe)
        await self.model.catch_up(breathe)


class Sessions:
    """The session there is now, if anybody looks. Tasks hold it open, so that each subscription has one owner."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._lookers = 0
        self._session: Session | None = None
        self._came = trio.Event()
        self._ready = trio.Event()

    def enter(self) -> None:
        """Somebody looks."""
        self._lookers += 1
        self._came.set()

    def leave(self) -> None:
        """Somebody looks no more."""
        self._lookers -= 1
        if self._lookers:
            return
        self._came = trio.Event()
        if self._session is not None:
            self._session.over.set()
            self._session, self._ready = None, trio.Event()

    async def get(self) -> Session:
        """The session, once there is one. Cancelled: nothing has changed."""
        while self._session is None:
            await self._ready.wait()
        return self._session

    async def run(self) -> None:
        """Hold a session open while somebody looks. Cancelled: it is closed."""
        while True:
            await self._came.wait()
            if not self._lookers:  # whoever came left again before we got our turn
                continue
            async with self._supervisor.executions.subscribe() as updates:
                rings = Rings(self._supervisor)
                session = Session(Model(self._supervisor.executions, updates), rings)
                self._session = session
                self._ready.set()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_hear, session, name="armory_trio: events of the live view")
                    await session.over.wait()
                    nursery.cancel_scope.cancel("nobody looks any more")


async def _hear(session: Session) -> None:
    """Subscribe to events while somebody looks closely at an execution, since each of them costs the host a little."""
    while True:
        session.changed = trio.Event()
        if session.wanted:
            async with session.rings.open() as session.reader:
                while session.wanted:
                    await session.changed.wait()
                    session.changed = trio.Event()
            session.reader = None
        else:
            await session.changed.wait()
