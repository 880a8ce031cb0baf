"""The host's side of a live view: lets viewers in, and talks with each of them."""

from __future__ import annotations

import itertools
import logging
import math
import os
import socket
import struct
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final, assert_never

import msgspec
import trio

from ..definitions._exceptions import Withheld
from ..engine import Supervisor
from ..engine._concurrency import open_private_nursery
from ..engine._opening import require_supervisor
from ._socket_desk import Desk
from ._socket_lines import Lines, LineTooLong
from ._socket_messages import (
    LONGEST_REQUEST,
    PROTOCOL,
    Aborted,
    AbortOne,
    Answer,
    Hello,
    Look,
    Refused,
    Request,
    Subscribe,
    Unsubscribe,
    Welcome,
    line_of,
    request_of,
)
from ._socket_paths import default_path, listening, plain_name, running

_VIEWERS: Final = 32
"""Viewers at once. Each costs one frame, at most, that it has not taken yet."""

_GREETING: Final = 10.0
"""Seconds that a viewer may take to say who it is."""

_BETWEEN: Final = 0.01
"""Seconds between two requests of a viewer, and between two viewers that come: what cheap ones cost is bounded, too."""

_STALLED: Final = 60.0
"""Seconds that a viewer may take to read something before it is let go. One that was only stopped comes back."""

_UCRED: Final = "iII"
"""A process, a user and a group, as Linux tells them: a user may have a number above that of any int."""

_log: Final = logging.getLogger("armory_trio.observability")


class Peer(msgspec.Struct, frozen=True):
    """Who is at the other end, as far as the system tells; None where it doesn't."""

    pid: int | None = None
    uid: int | None = None

    @property
    def allowed(self) -> bool:
        """Whether they may look: the user that the host runs as, and the superuser."""
        return self.uid is None or self.uid in (os.geteuid(), 0)


def peer_of(stream: trio.SocketStream) -> Peer:
    """Who is at the other end of *stream*."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:  # elsewhere than on Linux the permissions of the socket have to do
        return Peer()
    told = stream.socket.getsockopt(socket.SOL_SOCKET, option, struct.calcsize(_UCRED))
    pid, uid, _ = struct.unpack(_UCRED, told)
    return Peer(pid, uid)


class Conversation:
    """Talks with one viewer. What it asks for is answered one by one, and nothing is read meanwhile.

    So a viewer that floods, or does not read, holds up itself.
    """

    def __init__(self, stream: trio.SocketStream, desk: Desk, peer: Peer) -> None:
        self._stream = stream
        self._desk = desk
        self._peer = peer
        self._lines = Lines(stream, LONGEST_REQUEST)
        self._sending = trio.Lock()
        self._subscribed: Subscribe | None = None
        self._changed = trio.Event()

    async def run(self) -> None:
        """Talk until the viewer leaves, or has to. Cancelled: it is let go."""
        try:
            with trio.move_on_after(_GREETING) as scope:
                if not await self._greet():
                    return
            if scope.cancelled_caught:
                return
            with self._desk.viewer() as viewer:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._push, viewer, nursery.cancel_scope, name="armory_trio: frames of a viewer")
                    await self._answer(nursery.cancel_scope)
                    nursery.cancel_scope.cancel("the viewer has left")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async def _greet(self) -> bool:
        hello = await self._request()
        if hello is None:
            return False
        if not isinstance(hello, Hello) or hello.protocol != PROTOCOL:
            said = f"protocol {hello.protocol}" if isinstance(hello, Hello) else "something else than hello"
            await self._send(Refused(re=hello.id, message=f"this host talks protocol {PROTOCOL}, and you said {said}"))
            return False
        await self._send(Welcome(re=hello.id, protocol=PROTOCOL, host=self._desk.host()))
        return True

    async def _request(self) -> Request | None:
        """The next request; None when there is none any more, or none that makes sense."""
        try:
            line = await self._lines.next()
            return None if line is None else request_of(line)
        except (ValueError, LineTooLong) as error:
            await self._send(Refused(re=0, message=f"this is no request: {error}"[:500]))
            return None

    async def _answer(self, talk: trio.CancelScope) -> None:
        try:
            while (request := await self._request()) is not None:
                await self._do(request)
                await trio.sleep(_BETWEEN)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            talk.cancel("the viewer is gone")

    async def _do(self, request: Request) -> None:
        match request:
            case Look():
                await self._send_line(await self._desk.frame(request.query, re=request.id, viewer=None))
            case Subscribe() | Unsubscribe():
                self._subscribed = request if isinstance(request, Subscribe) else None
                self._changed.set()
                await trio.lowlevel.checkpoint()
            case AbortOne():
                answer = await self._desk.abort(request.execution_id, request.reason)
                with suppress(Exception):  # a handler of the host's
                    _log.info(
                        "a viewer (uid %s, pid %s) asked %r to stop: %s",
                        *(self._peer.uid, self._peer.pid, request.execution_id, answer),
                    )
                await self._send(Aborted(re=request.id, answer=answer))
            case Hello():
                await self._send(Welcome(re=request.id, protocol=PROTOCOL, host=self._desk.host()))
            case _ as never:
                assert_never(never)

    async def _push(self, viewer: object, talk: trio.CancelScope) -> None:
        try:
            while True:
                self._changed = trio.Event()
                wanted = self._subscribed
                if wanted is not None:
                    await self._send_line(await self._desk.frame(wanted.query, re=wanted.id, viewer=viewer))
                with trio.move_on_after(math.inf if wanted is None else wanted.interval):
                    await self._changed.wait()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            talk.cancel("the viewer is gone")

    async def _send(self, message: Answer) -> None:
        await self._send_line(line_of(message))

    async def _send_line(self, line: bytes) -> None:
        async with self._sending:
            with trio.move_on_after(_STALLED) as scope:
                await self._stream.send_all(line)
            if scope.cancelled_caught:
                raise trio.BrokenResourceError("the viewer reads nothing")


class LiveServer:
    """A live view that is served. Made by `serve_live_view`.

    Args:
        path: Where its socket is.
        name: What the host calls itself.
    """

    def __init__(self, path: str, name: str, desk: Desk) -> None:
        self.path = path
        self.name = name
        self._desk = desk
        self._talking = 0

    def __repr__(self) -> str:
        return f"<LiveServer {self.name!r} at {self.path!r}>"

    async def let_in(self, stream: trio.SocketStream) -> None:
        """Talk with whoever connected. Nothing that goes wrong there harms the host."""
        self._talking += 1
        try:
            async with stream:
                peer = peer_of(stream)
                if self._talking > _VIEWERS:
                    await _refuse(stream, f"{_VIEWERS} viewers look at this host already; try again later")
                elif not peer.allowed:
                    await _refuse(stream, "this host shows itself to its own user only")
                else:
                    await Conversation(stream, self._desk, peer).run()
        except Exception as exc:  # noqa: BLE001  # a bug of ours there is logged, and stops no tool
            with suppress(Exception):  # a handler of the host's
                said = Withheld(exc, frames=True)
                _log.error("talking with a viewer failed; the host is not harmed: %s", said)
        finally:
            self._talking -= 1


async def _refuse(stream: trio.SocketStream, message: str) -> None:
    with trio.move_on_after(1.0):
        await stream.send_all(line_of(Refused(re=0, message=message)))


@asynccontextmanager
async def serve_live_view(
    supervisor: Supervisor,
    *,
    path: str | os.PathLike[str] | None = None,
    name: str | None = None,
    allow_abort: bool = True,
) -> AsyncGenerator[LiveServer]:
    """Let ``armory-trio top`` look at *supervisor* as long as the block lasts.

    It shows what `project_snapshot` shows an operator: never arguments, results, request contexts, or why something was
    asked to stop. Only the user that this process runs as, and the superuser, can connect. While nobody looks it costs
    nothing; otherwise about a twentieth of the time, and no tool waits for it.

    Args:
        supervisor: What to show.
        path: Where to put the socket, in a folder that is there. By default in a private folder of this user, below
            ``XDG_RUNTIME_DIR`` or else the folder for temporary files, named by process and *name*.
        name: What the host calls itself, by default the name of the program.
        allow_abort: Whether who looks may ask executions to stop.

    Left or cancelled: viewers are let go, and the socket is removed.

    Raises:
        DefinitionError: *supervisor* is none.
        LiveViewError: The socket cannot be made, or another host listens there. A socket that a dead host left is
            replaced.
    """
    require_supervisor("serve_live_view", supervisor)
    name = Path(sys.argv[0]).stem if name is None else name
    with _place_of(name, path) as place:
        desk = Desk(supervisor, name or "host", allow_abort=allow_abort)
        async with listening(place, backlog=_VIEWERS) as listener, open_private_nursery() as nursery:
            server = LiveServer(str(place), name, desk)
            nursery.start_soon(desk.run, name="armory_trio: live view")
            nursery.start_soon(_serve, server, listener, name="armory_trio: viewers")
            try:
                yield server
            finally:
                nursery.cancel_scope.cancel("the live view is over")


class _Unhurried(trio.abc.Listener[trio.SocketStream]):
    """A listener that does not let in one after the other as fast as they come."""

    def __init__(self, listener: trio.SocketListener) -> None:
        self._listener = listener

    async def accept(self) -> trio.SocketStream:
        """The next one who connects. Cancelled: nobody is lost."""
        await trio.sleep(_BETWEEN)
        return await self._listener.accept()

    async def aclose(self) -> None:
        """Let nobody in any more."""
        await self._listener.aclose()


async def _serve(server: LiveServer, listener: trio.SocketListener) -> None:
    await trio.serve_listeners(server.let_in, [_Unhurried(listener)])


_taken: Final[set[Path]] = set()
"""Where supervisors of this process have their sockets, or are about to make them, when nobody said where."""


@contextmanager
def _place_of(name: str, path: str | os.PathLike[str] | None) -> Generator[Path]:
    """Where the socket goes for the length of the block: by default under a name that no other of this process has."""
    if path is not None:
        yield Path(path)
        return
    running()  # what dead hosts left goes first
    short = plain_name(name)
    names = itertools.chain([short], (f"{short[:35]}-{number}" for number in itertools.count(2)))
    place = next(free for free in map(default_path, names) if free not in _taken)
    _taken.add(place)
    try:
        yield place
    finally:
        _taken.discard(place)
