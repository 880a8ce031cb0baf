"""The viewer's side of a live view."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import trio

from ..definitions._plurals import counted
from ..engine._concurrency import open_private_nursery
from ._socket_messages import (
    PROTOCOL,
    Aborted,
    AbortOne,
    Frame,
    Hello,
    LiveAbortAnswer,
    LiveDetail,
    LiveHost,
    LiveViewError,
    LiveViewGone,
    Look,
    Query,
    Unsubscribe,
    Welcome,
)
from ._socket_paths import require_short
from ._socket_wire import Wire

EVERYTHING: Final = Query()
_LAST_WORDS: Final = 1.0
"""Seconds that a host may take to take the word that nobody wants any more frames; it takes that at once, if it runs."""


class LiveFrames:
    """Frames as they come; who is slow sees fewer, never older ones. Made by `LiveView.subscribe`.

    The iteration raises `LiveViewGone` once the host is gone.
    """

    def __init__(self, wire: Wire, interval: float) -> None:
        self._wire = wire
        self._interval = interval

    def __repr__(self) -> str:
        return f"<LiveFrames every {counted(self._interval, 'second')}>"

    async def change(self, query: Query) -> None:
        """Look at something else: the next frame shows it, and comes at once. Cancelled: it may do so all the same.

        Raises:
            LiveViewGone: The host is gone.
        """
        await self._wire.subscribe(query, self._interval)

    def __aiter__(self) -> LiveFrames:
        return self

    async def __anext__(self) -> Frame:
        """The newest frame that was not yielded yet. Cancelled: nothing is lost."""
        return await self._wire.frame()


class LiveView:
    """Looks at a host. Made by `LiveView.connect`.

    Several tasks may use it at once. Whatever it is asked raises `LiveViewGone` once the host is gone.

    Args:
        host: Who it is, as of when the view was opened.
    """

    def __init__(self, wire: Wire, host: LiveHost) -> None:
        self._wire = wire
        self._subscribed = False
        self.host = host

    def __repr__(self) -> str:
        return f"<LiveView of {self.host.name!r}>"

    @classmethod
    @asynccontextmanager
    async def connect(cls, path: str | os.PathLike[str]) -> AsyncGenerator[LiveView]:
        """Look at the host whose socket is at *path*, as long as the block lasts.

        A host whose thread is busy answers late: bound the wait with ``trio.fail_after``. Cancelled: nothing is left.

        Raises:
            LiveViewError: Nobody listens there, this user may not connect, or the host refuses.
        """
        require_short(Path(path))
        try:
            stream = await trio.open_unix_socket(os.fspath(path))
        except OSError as error:
            raise LiveViewError(f"{os.fspath(path)}: cannot connect: {_why(error)}") from error
        async with stream, open_private_nursery() as nursery:
            _require_let_in(stream, path)
            wire = Wire(stream)
            nursery.start_soon(wire.read, name="armory_trio: answers of a host")
            try:
                welcome = await wire.ask(Hello(id=wire.next_id(), protocol=PROTOCOL), Welcome)
                yield cls(wire, welcome.host)
            finally:
                nursery.cancel_scope.cancel("the view is closed")

    async def look(self, query: Query = EVERYTHING) -> Frame:
        """What there is to see now. Cancelled: nothing has changed.

        Raises:
            LiveViewGone: The host is gone.
        """
        return await self._wire.ask(Look(id=self._wire.next_id(), query=query), Frame)

    async def detail(self, execution_id: str) -> LiveDetail | None:
        """Everything about one execution; None when it is not known (any more). Cancelled: nothing has changed.

        Its events are told only in a subscription with ``detail``, from the second frame on.

        Raises:
            LiveViewGone: The host is gone.
        """
        return (await self.look(Query(detail=execution_id, limit=0))).detail

    async def abort(self, execution_id: str, reason: str) -> LiveAbortAnswer:
        """Ask an execution to stop, and say what that did. Cancelled: it may have been asked.

        Args:
            execution_id: Which one.
            reason: Why, in at most 500 characters. Its snapshot tells it to the host, and never to viewers.

        Raises:
            LiveViewGone: The host is gone.
        """
        asked = AbortOne(id=self._wire.next_id(), execution_id=execution_id, reason=reason)
        return (await self._wire.ask(asked, Aborted)).answer

    @asynccontextmanager
    async def subscribe(self, query: Query = EVERYTHING, *, interval: float = 1.0) -> AsyncGenerator[LiveFrames]:
        """Get a frame at once and then every *interval* seconds, from 0.1 to 3600; less often if the host is busy.

        Cancelled: no more frames come.

        Raises:
            LiveViewGone: The host is gone.
            trio.BusyResourceError: This view has a subscription already.
        """
        if self._subscribed:
            raise trio.BusyResourceError("this view has a subscription already; use its change(), or another view")
        self._subscribed = True
        try:
            frames = LiveFrames(self._wire, interval)
            await frames.change(query)
            yield frames
        finally:
            self._subscribed = False
            with trio.move_on_after(_LAST_WORDS, shield=True), suppress(LiveViewGone):
                await self._wire.send(Unsubscribe(id=self._wire.next_id()))


def _require_let_in(stream: trio.SocketStream, path: str | os.PathLike[str]) -> None:
    """Refuse a socket that was not connected after all, since there was no room for it."""
    try:
        stream.socket.getpeername()
    except OSError:
        raise LiveViewError(
            f"{os.fspath(path)}: so many wait to be let in that there is no room; something in the host may block its "
            "event loop"
        ) from None


def _why(error: OSError) -> str:
    match error:
        case FileNotFoundError():
            return "there is no socket; does the host run, and serve a live view?"
        case ConnectionRefusedError():
            return "nobody listens; the host has gone"
        case PermissionError():
            return "it belongs to another user"
        case _:
            return error.strerror or str(error)
