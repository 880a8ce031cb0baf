"""A viewer's connection: requests go out, answers find who asked, and of frames the newest is kept."""

from __future__ import annotations

import itertools
from typing import TypeVar

import trio

from ._socket_lines import Lines, LineTooLong
from ._socket_messages import (
    LONGEST_ANSWER,
    Aborted,
    Answer,
    Frame,
    LiveViewError,
    LiveViewGone,
    Query,
    Refused,
    Request,
    Subscribe,
    Welcome,
    answer_of,
    line_of,
)

A = TypeVar("A", Welcome, Frame, Aborted)


class _Slot:
    """A place for an answer, and a way to wait for it."""

    def __init__(self) -> None:
        self.come = trio.Event()
        self.answer: Answer | None = None


class Wire:
    """A connection to a host.

    Args:
        stream: The connection itself.
    """

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._sending = trio.Lock()
        self._ids = itertools.count(1)
        self._slots: dict[int, _Slot] = {}
        self._gone: str | None = None
        self._wanted = -1
        """The subscription whose frames are kept; others were asked for before, and are still under way."""
        self._frame: Frame | None = None
        self._news = trio.Event()

    def next_id(self) -> int:
        """A number for a request."""
        return next(self._ids)

    async def ask(self, request: Request, kind: type[A]) -> A:
        """Send *request* and wait for its answer. Cancelled: it may have been sent.

        Raises:
            LiveViewGone: The host is gone.
        """
        slot = self._slots[request.id] = _Slot()
        try:
            await self.send(request)
            await slot.come.wait()
        finally:
            del self._slots[request.id]
        if not isinstance(slot.answer, kind):
            self._require_there()
            raise LiveViewError(f"the host answered {type(slot.answer).__name__} instead of {kind.__name__}")
        return slot.answer

    async def subscribe(self, query: Query, interval: float) -> None:
        """Ask for frames. Cancelled: it may have been asked for.

        Raises:
            LiveViewGone: The host is gone.
        """
        self._wanted = number = self.next_id()
        self._frame = None
        await self.send(Subscribe(id=number, query=query, interval=interval))

    async def frame(self) -> Frame:
        """The newest frame that was not answered yet. Cancelled: nothing is lost.

        Raises:
            LiveViewGone: The host is gone.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        while self._frame is None:
            self._require_there()
            self._news = trio.Event()
            await self._news.wait()
        frame, self._frame = self._frame, None
        return frame

    async def send(self, request: Request) -> None:
        """Send *request*. Cancelled: some of it may have been sent, so the connection is of no use any more.

        Raises:
            LiveViewGone: The host is gone.
        """
        async with self._sending:
            self._require_there()
            try:
                await self._stream.send_all(line_of(request))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._end("the host is gone")
                raise LiveViewGone("the host is gone") from None
            except trio.Cancelled:
                self._end("a request was cancelled while it was sent")
                raise

    async def read(self) -> None:
        """Take what the host says until it is gone. Cancelled: nothing more is taken."""
        lines = Lines(self._stream, LONGEST_ANSWER)
        why = "the host is gone"
        try:
            while (line := await lines.next()) is not None:
                answer = answer_of(line)
                if isinstance(answer, Refused):
                    why = f"the host refused: {answer.message}"
                    break
                self._take(answer)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        except (ValueError, LineTooLong) as error:
            why = f"what answers there is no host of this version: {error}"
        self._end(why)

    def _take(self, answer: Answer) -> None:
        slot = self._slots.get(answer.re)
        if slot is not None:
            slot.answer = answer
            slot.come.set()
        elif isinstance(answer, Frame) and answer.re == self._wanted:
            self._frame = answer
            self._news.set()

    def _end(self, why: str) -> None:
        self._gone = self._gone or why
        for slot in self._slots.values():
            slot.come.set()
        self._news.set()

    def _require_there(self) -> None:
        if self._gone is not None:
            raise LiveViewGone(self._gone)
