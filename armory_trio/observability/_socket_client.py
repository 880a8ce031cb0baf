"""The viewer's side of a live view."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import trio

from ..engine._concurrency import open_private_nursery
from ._socket_lines import Lines, LineTooLong
from ._socket_messages import (
    LONGEST_ANSWER,
    PROTOCOL,
    Aborted,
    AbortOne,
    Answer,
    Frame,
    Hello,
    LiveAbortAnswer,
    LiveDetail,
    LiveHost,
    LiveViewError,
    LiveViewGone,
    Look,
    Query,
    Refused,
    Request,
    Subscribe,
    Unsubscribe,
    Welcome,
    answer_of,
    line_of,
)
from ._socket_paths import require_short

EVERYTHING: Final = Query()
A = TypeVar("A", Welcome, Frame, Aborted)


class _Slot:
    """A place for an answer, and a way to wait for it."""

    def __init__(self) -> None:
        self.come = trio.Event()
        self.answer: Answer | None = None


class LiveFrames:
    """Frames as they come; who is slow sees fewer, never older ones. Made by `LiveView.subscribe`.

    The iteration raises `LiveViewGone` once the host is gone.
    """

    def __init__(self, view: LiveView, interval: float) -> None:
        self._view = view
        self._interval = interval
        self._frame: Frame | None = None
        self._wanted = -1
        self._come = trio.Event()

    async def change(self, query: Query) -> None:
        """Look at something else: the next frame shows it, and comes at once. Cancelled: it may do so all the same.

        Raises:
            LiveViewGone: The host is gone.
        """
        self._wanted = number = self._view.next_id()
        self._frame = None
        await self._view.send(Subscribe(id=number, query=query, interval=self._interval))

    def __aiter__(self) -> LiveFrames:
        return self

    async def __anext__(self) -> Frame:
        """The newest frame that was not yielded yet. Cancelled: nothing is lost."""
        await trio.lowlevel.checkpoint_if_cancelled()
        while self._frame is None:
            self._view.require_there()
            self._come = trio.Event()
            await self._come.wait()
        frame, self._frame = self._frame, None
        return frame

    def offer(self, frame: Frame) -> None:
        """A frame has come."""
        if frame.re == self._wanted:
            self._frame = frame
            self._come.set()

    def wake(self) -> None:
        """None will come any more."""
        self._come.set()


class LiveView:
    """Looks at a host. Made by `LiveView.connect`.

    Several tasks may use it at once. Whatever it is asked raises `LiveViewGone` once the host is gone.

    Args:
        host: Who it is, as of when the view was opened.
    """

    host: LiveHost

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._sending = trio.Lock()
        self._ids = itertools.count(1)
        self._slots: dict[int, _Slot] = {}
        self._frames: LiveFrames | None = None
        self._gone: str | None = None

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
            view = cls(stream)
            nursery.start_soon(view.read, name="armory_trio: answers of a host")
            try:
                welcome = await view.ask(Hello(id=view.next_id(), protocol=PROTOCOL), Welcome)
                view.host = welcome.host
                yield view
            finally:
                nursery.cancel_scope.cancel("the view is closed")

    async def look(self, query: Query = EVERYTHING) -> Frame:
        """What there is to see now. Cancelled: nothing has changed.

        Raises:
            LiveViewGone: The host is gone.
        """
        return await self.ask(Look(id=self.next_id(), query=query), Frame)

    async def detail(self, execution_id: str) -> LiveDetail | None:
        """Everything about one execution; None when it is not known (any more). Cancelled: nothing has changed.

        Its events are told from the second look on, in a subscription with ``detail``.

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
        return (await self.ask(AbortOne(id=self.next_id(), execution_id=execution_id, reason=reason), Aborted)).answer

    @asynccontextmanager
    async def subscribe(self, query: Query = EVERYTHING, *, interval: float = 1.0) -> AsyncGenerator[LiveFrames]:
        """Get a frame at once and then every *interval* seconds, from 0.1 to 3600; less often if the host is busy.

        Cancelled: no more frames come.

        Raises:
            LiveViewGone: The host is gone.
            trio.BusyResourceError: This view has a subscription already.
        """
        if self._frames is not None:
            raise trio.BusyResourceError("this view has a subscription already; use its change(), or another view")
        self._frames = LiveFrames(self, interval)
        try:
            await self._frames.change(query)
            yield self._frames
        finally:
            self._frames = None
        with suppress(LiveViewGone):
            await self.send(Unsubscribe(id=self.next_id()))

    # -- for the parts of a view

    def next_id(self) -> int:
        """A number for a request."""
        return next(self._ids)

    def require_there(self) -> None:
        """Do nothing, unless the host is gone.

        Raises:
            LiveViewGone: It is.
        """
        if self._gone is not None:
            raise LiveViewGone(self._gone)

    async def ask(self, request: Request, kind: type[A]) -> A:
        """Send *request* and wait for its answer. Cancelled: it may have been sent."""
        slot = self._slots[request.id] = _Slot()
        try:
            await self.send(request)
            await slot.come.wait()
        finally:
            del self._slots[request.id]
        if not isinstance(slot.answer, kind):
            self.require_there()
            raise LiveViewError(f"the host answered {type(slot.answer).__name__} instead of {kind.__name__}")
        return slot.answer

    async def send(self, request: Request) -> None:
        """Send *request*. Cancelled: some of it may have been sent, so the view is of no use any more."""
        async with self._sending:
            self.require_there()
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
        elif self._frames is not None and isinstance(answer, Frame):
            self._frames.offer(answer)

    def _end(self, why: str) -> None:
        self._gone = self._gone or why
        for slot in self._slots.values():
            slot.come.set()
        if self._frames is not None:
            self._frames.wake()


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
