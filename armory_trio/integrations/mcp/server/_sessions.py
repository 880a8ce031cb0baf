"""The connections that are open, and what all of them are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, cast

import attrs
import trio
from mcp.server.connection import Connection

Announce = Callable[[Connection], Awaitable[None]]
"""Tells one connection. May wait for a slow client; never raises."""

_SUBSCRIBED: Final = "armory-trio: resources"


@attrs.define(eq=False)
class Sessions:
    """The connections of handshake versions. Later versions listen by a request of their own.

    Args:
        nursery: Runs what is told, so that a slow client holds up nobody else.
    """

    nursery: trio.Nursery
    _open: set[Connection] = attrs.field(init=False, factory=set[Connection])
    _telling: dict[tuple[Connection, str], bool] = attrs.field(init=False, factory=dict[tuple[Connection, str], bool])
    _left: trio.Event = attrs.field(init=False, factory=trio.Event)

    def add(self, connection: Connection) -> None:
        """Count *connection* in until it closes."""
        if connection not in self._open:
            self._open.add(connection)
            connection.exit_stack.callback(self._close, connection)

    def _close(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._left.set()

    async def wait_left(self) -> None:
        """Return when no client has a session of streamable HTTP, which it would end when it leaves.

        Cancelled: nothing has changed.
        """
        while any(connection.session_id is not None for connection in self._open):
            if self._left.is_set():  # several ways in may wait for one
                self._left = trio.Event()
            await self._left.wait()

    def announce(self, what: str, announce: Announce) -> None:
        """Tell every connection *what* changed; a client that is still being told so is told once more afterwards."""
        for connection in self._open:
            self._tell(connection, what, announce)

    def announce_resource(self, uri: str, announce: Announce) -> None:
        """Tell the connections that subscribed to it that the resource *uri* changed."""
        for connection in self._open:
            if uri in subscriptions_of(connection):
                self._tell(connection, uri, announce)

    def _tell(self, connection: Connection, what: str, announce: Announce) -> None:
        if (connection, what) in self._telling:
            self._telling[connection, what] = True
            return
        self._telling[connection, what] = False
        self.nursery.start_soon(self._told, connection, what, announce, name=f"armory_trio: mcp {what}")

    async def _told(self, connection: Connection, what: str, announce: Announce) -> None:
        try:
            while True:
                self._telling[connection, what] = False
                await announce(connection)
                if not self._telling[connection, what]:
                    return
        finally:
            del self._telling[connection, what]


def subscriptions_of(connection: Connection) -> set[str]:
    """The resources that a connection wants to hear of: the set itself, to be changed."""
    return cast("set[str]", connection.state.setdefault(_SUBSCRIBED, set[str]()))
