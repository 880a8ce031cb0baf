"""Standard input and output as a connection: messages as lines, and nothing else on them."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock
from types import TracebackType
from typing import Final, Self

import anyio
import attrs
import trio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared._stream_protocols import ReadStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import jsonrpc

from ....definitions._checks import shown
from ....engine._concurrency import open_private_nursery
from ....errors import DefinitionError
from ._lines import Ids, Lines, Message, Refused, line_of, message_of
from ._pipes import has_hung_up, read_some, write_all

MAX_MESSAGE: Final = 4 * 1024 * 1024
"""Bytes of the longest message that is read: what the SDK takes over HTTP."""

_LAST_ANSWERS: Final = 1.0
"""Seconds that calls under way have once the client has closed its side: for those who pipe a few requests in. Clients
wait longer than that before they kill a server."""

_LAST_WRITES: Final = 5.0
"""Seconds that a client which is left may let pass without reading anything of what it is still to get."""

_UNREAD: Final = 64
"""Answers that a client has left unread when nothing more is read from it: what it asks besides would only be kept."""

_ROOM: Final = 1.0
"""Seconds that a request waits for room among those that are under way, before it is refused."""

_LOOK: Final = 1.0
"""Seconds between two looks at whether a client that reads nothing is gone. Who is not read is not seen to leave."""

_log: Final = logging.getLogger("armory_trio.mcp")
_claimed: Final = Lock()


@attrs.frozen
class StandardStreams:
    """Where messages come from and go to.

    Args:
        stdin: The file descriptor that is read.
        stdout: The one that is written to.
    """

    stdin: int
    stdout: int


@contextmanager
def claimed() -> Generator[StandardStreams]:
    """Keep the standard streams of this process for messages as long as the block lasts.

    What anybody prints goes to stderr, and whoever reads standard input finds it empty; programs that are started, too.

    Raises:
        RuntimeError: Somebody else has claimed them.
    """
    if not _claimed.acquire(blocking=False):
        raise RuntimeError("standard input and output are served already, and there is one pair of them")
    try:
        with _diverted(0, os.open(os.devnull, os.O_RDONLY)) as stdin:
            _flush(sys.stdout)
            with _diverted(1, os.dup(2)) as stdout:
                try:
                    yield StandardStreams(stdin, stdout)
                finally:
                    _flush(sys.stdout)  # what was printed last still belongs on stderr
    finally:
        _claimed.release()


@contextmanager
def _diverted(fd: int, elsewhere: int) -> Generator[int]:
    """A private copy of *fd*, which leads *elsewhere* as long as the block lasts."""
    kept = os.dup(fd)
    os.dup2(elsewhere, fd)
    os.close(elsewhere)
    try:
        yield kept
    finally:
        os.dup2(kept, fd)
        os.close(kept)


def _flush(stream: object) -> None:
    if isinstance(stream, io.TextIOBase) and not stream.closed:
        stream.flush()


class Reader:
    """The messages of the client, in order, as the SDK reads them from a transport."""

    def __init__(self, fd: int, most: int, ids: Ids, answers: MemoryObjectSendStream[SessionMessage]) -> None:
        self._fd = fd
        self._most = most
        self._ids = ids
        self._answers = answers
        self._lines = Lines(most)
        self._scope: trio.CancelScope | None = None
        self._at_end = self._ended = self._told = False
        self.answered = trio.Event()

    def end(self) -> None:
        """Read nothing more."""
        self._ended = True
        if self._scope is not None:
            self._scope.cancel("nothing more is read")

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Cancelled: none is lost.

        Raises:
            anyio.EndOfStream: There is none.
        """
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def __anext__(self) -> SessionMessage | Exception:
        with trio.CancelScope() as self._scope:
            while not self._ended:
                message = await self._next()
                if message is not None:
                    return message
        raise StopAsyncIteration

    async def _next(self) -> SessionMessage | None:
        """The message in the next line, or None if that has none; also at the end."""
        await self._until_read()
        try:
            line = self._lines.next()
        except IndexError:
            await (self._let_calls_end() if self._at_end else self._read())
            return None
        try:
            message = await self._message(line)
        except Refused as refused:
            await self._answers.send(SessionMessage(self._ids.refuse(refused)))
            return None
        return None if message is None else SessionMessage(message, self._metadata(message))

    async def _message(self, line: bytes | None) -> Message | None:
        if line is None:
            raise Refused(types.INVALID_REQUEST, f"Invalid request: the message has more than {self._most} bytes")
        if not line.strip():
            return None
        message = message_of(line, self._most)
        if self._ids.full and isinstance(message, jsonrpc.JSONRPCRequest):
            with trio.move_on_after(_ROOM):
                await self._until(lambda: not self._ids.full)
        return self._ids.come_in(message)

    async def _until_read(self) -> None:
        """Wait until the client has read some of what it is owed. Meanwhile it is not read from either."""
        while self._owes_much() and not self._ended:
            with trio.move_on_after(_LOOK) as scope:
                await self._until(lambda: not self._owes_much())
            if scope.cancelled_caught:
                self._look()

    def _owes_much(self) -> bool:
        return self._answers.statistics().tasks_waiting_send >= _UNREAD

    def _look(self) -> None:
        """Nothing was read for a while."""
        if not self._told:
            _log.warning("the client leaves %d answers unread; nothing is read from it until it reads them", _UNREAD)
            self._told = True
        if has_hung_up(self._fd):
            self._ended = True

    async def _until(self, changed: Callable[[], bool]) -> None:
        """Wait until what is asked for is so; asked again whenever a request was answered, or is over without that."""
        while not changed():
            self.answered = trio.Event()
            await self.answered.wait()

    async def _read(self) -> None:
        try:
            data = await read_some(self._fd)
        except OSError:
            data = b""  # a terminal that was closed, say: no more will come
        self._lines.feed(data)
        self._at_end = not data

    def _metadata(self, message: Message) -> ServerMessageMetadata | None:
        if not isinstance(message, jsonrpc.JSONRPCRequest):
            return None
        name = message.id

        async def unanswered() -> None:
            self._ids.settle(name)
            self.answered.set()
            await trio.lowlevel.checkpoint()

        return ServerMessageMetadata(on_request_unanswered=unanswered)

    async def _let_calls_end(self) -> None:
        with trio.move_on_after(_LAST_ANSWERS):
            await self._until(lambda: not len(self._ids))
        self._ended = True

    async def aclose(self) -> None:
        """Read nothing more. No checkpoint: the SDK closes its own streams after this one, also when it is cancelled."""
        self.end()

    def __aiter__(self) -> ReadStream[SessionMessage | Exception]:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.end()


@attrs.frozen
class OpenLines:
    """A connection over two descriptors.

    Args:
        reader: What the client sends.
        writer: What it is sent.
    """

    reader: Reader
    writer: MemoryObjectSendStream[SessionMessage]

    def end(self) -> None:
        """Read nothing more, which ends whoever serves this."""
        self.reader.end()


@asynccontextmanager
async def open_lines(streams: StandardStreams | None, most: int) -> AsyncGenerator[OpenLines]:
    """A connection over *streams*, or over the claimed ones of the process; closed with the block.

    What was sent is written before the block is left, unless it is left by an exception, or the client does not read.

    Raises:
        RuntimeError: Somebody else has claimed those of the process.
        DefinitionError: *most* is no number of bytes.
    """
    if isinstance(most, bool) or most < 1:
        raise DefinitionError("serve_stdio", "max_message_bytes", f"is {shown(most)}; give a whole number, at least 1")
    if streams is None:
        with claimed() as own:
            async with open_lines(own, most) as lines:
                yield lines
        return
    ids = Ids()
    writer, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    answers = writer.clone()
    reader = Reader(streams.stdin, most, ids, answers)
    to_client = Writer(streams.stdout, ids, reader)
    async with open_private_nursery() as nursery:
        nursery.start_soon(to_client.write, outgoing, name="armory_trio: mcp writer")
        try:
            yield OpenLines(reader, writer)
        finally:
            answers.close()
            writer.close()
            to_client.end()


class Writer:
    """Writes message for message, so that whoever is cancelled while it sends leaves no half a line."""

    def __init__(self, fd: int, ids: Ids, reader: Reader) -> None:
        self._fd = fd
        self._ids = ids
        self._reader = reader
        self._scope = trio.CancelScope()
        self._ending = False

    def end(self) -> None:
        """Nothing more will come. From now on a client that does not read is waited for no longer than a while."""
        self._ending = True
        self._wrote()

    def _wrote(self) -> None:
        if self._ending:
            self._scope.deadline = trio.current_time() + _LAST_WRITES

    async def write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write what comes, until there is nothing more to come or the client is gone."""
        with outgoing, self._scope:
            async for item in outgoing:
                message = self._ids.go_out(item.message)
                try:
                    if message is not None:
                        await write_all(self._fd, line_of(message), self._wrote)
                except OSError:  # the client is gone
                    self._reader.end()
                    return
                self._reader.answered.set()
