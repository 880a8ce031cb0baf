"""Messages over the standard streams of a child process."""

from __future__ import annotations

import math
import re
import select
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Final, Self, cast

import anyio
import trio
from mcp.shared._stream_protocols import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

from ._faults import Fault
from ._lines import LineSplitter, TooLong
from ._messages import message_of
from ._process import end_of, start, stop
from ._record import LinkRecord
from ._servers import StdioServer
from ._streams import Streams

_PIECE: Final = 2**16
_OVERFLOWING: Final = 5_000
"""Answers in line at which the child counts as broken: it asks, and does not read what it asked for."""

_FLUSH: Final = 0.5
"""Seconds in which a child may read what is in line for it when it is to end."""

_LAST_WORDS: Final = 0.25
"""Seconds in which what a dead child wrote can still be read. Its own children may hold the pipe open for ever."""

_ITS_ID: Final = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,18})\s*,')
_UNREADABLE: Final = -32700


class Stdin:
    """What the session writes to: a line of messages that a task takes to the child's input, one at a time.

    The line has no bound of its own: there are at most as many requests in it as there are calls, which their host
    bounds. A request that is withdrawn while it stands in line was never sent, and needs no cancelling. The first stands
    in line until there is room for it: a child that reads again is not given what was withdrawn meanwhile.
    """

    def __init__(self, record: LinkRecord) -> None:
        self._record = record
        self._line: OrderedDict[object, tuple[JSONRPCMessage, bytes]] = OrderedDict()
        self._answers = 0
        self._news = trio.Event()
        self.closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Take no more. What stands in line is still written."""
        self.closed = True
        self._news.set()
        await trio.lowlevel.cancel_shielded_checkpoint()

    async def send(self, item: SessionMessage, /) -> None:
        """Put a message in line. Cancelled: it stands in line.

        Raises:
            anyio.ClosedResourceError: The child's input is closed.
            ValueError: The message cannot be written as JSON.
        """
        message = item.message
        data = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        if self.closed:
            raise anyio.ClosedResourceError
        if isinstance(message, JSONRPCRequest):
            self._line[message.id] = message, data
        elif not self._withdraws(message):
            self._line[object()] = message, data
            self._answers += 1
        if self._answers > _OVERFLOWING:
            self._record.end("it does not read what it asks for")
        self._news.set()
        await trio.lowlevel.checkpoint_if_cancelled()

    def _withdraws(self, message: JSONRPCMessage) -> bool:
        """Whether *message* only withdraws a request that still stands in line; then neither is sent."""
        if not (isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled"):
            return False
        return self._line.pop((message.params or {}).get("requestId"), None) is not None

    async def drain(self, stream: trio.abc.SendStream) -> None:
        """Write what stands in line, until there is nothing more to come.

        Raises:
            trio.BrokenResourceError: The child reads no more.
        """
        while True:
            while self._line:
                await stream.wait_send_all_might_not_block()  # until then the first in line may still be withdrawn
                if self._line:
                    _, (message, data) = self._line.popitem(last=False)
                    self._answers -= not isinstance(message, JSONRPCRequest)
                    await self._write(message, data, stream)
            if self.closed:
                return
            self._news = trio.Event()
            await self._news.wait()

    async def _write(self, message: JSONRPCMessage, data: bytes, stream: trio.abc.SendStream) -> None:
        request = message.id if isinstance(message, JSONRPCRequest) else None
        self._record.sending(request)
        try:
            await stream.send_all(data)
        except trio.BrokenResourceError:
            if len(data) <= select.PIPE_BUF:  # a pipe takes as much as this as a whole, or not at all
                self._record.unsent(request)
            raise


def read_line(line: bytes | TooLong, record: LinkRecord) -> JSONRPCMessage | None:
    """The message in a line; None for a line that is none, which is reported."""
    if isinstance(line, TooLong):
        record.skip(f"a line of {line.size:,} bytes", line.head)
        found = _ITS_ID.match(line.head)
        return None if found is None else _no_answer(int(found[1]), "is longer than what is read", record)
    if not line.strip():
        return None
    message, told = message_of(line)
    if message is not None:
        return message
    record.skip(f"a line of {len(line):,} bytes that is no message", line)
    if isinstance(told, dict):
        given = cast("dict[str, object]", told)
        return None if "method" in given else _no_answer(given.get("id"), "is no message of JSON-RPC", record)
    found = _ITS_ID.match(line)
    return None if found is None or b'"method"' in line else _no_answer(int(found[1]), "is no JSON", record)


def _no_answer(request_id: object, what: str, record: LinkRecord) -> JSONRPCMessage | None:
    """What stands in the place of an answer that cannot be read, so that nobody waits for another."""
    fault = Fault(f"the answer of {record.name!r} {what}", "internal", "OUTPUT_INVALID")
    if isinstance(request_id, float) and request_id.is_integer():
        request_id = int(request_id)  # as languages write it that have no other numbers
    if type(request_id) is not int:
        return None
    record.fault(request_id, fault)
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=_UNREADABLE, message=fault.message))


async def _read(
    stream: trio.abc.ReceiveStream, to: trio.MemorySendChannel[SessionMessage], record: LinkRecord, most: int
) -> None:
    """Take messages from the child's output. When nobody wants them any more, it is still read, so that it can end."""
    splitter = LineSplitter(most)
    wanted = True
    async for piece in stream:
        for line in splitter.feed(piece) if wanted else ():
            message = read_line(line, record)
            if message is not None:
                try:
                    await to.send(SessionMessage(message))
                except trio.BrokenResourceError:
                    wanted = False
                    break
    if wanted and splitter.rest():
        record.skip("the beginning of a line", b"")


async def _listen(stream: trio.abc.ReceiveStream, record: LinkRecord) -> None:
    """Take what the child writes to its standard error."""
    splitter = LineSplitter(_PIECE)
    async for piece in stream:
        for line in splitter.feed(piece):
            record.said(line.head if isinstance(line, TooLong) else line)
    rest = splitter.rest()
    if rest is not None:
        record.said(rest.head if isinstance(rest, TooLong) else rest)


@asynccontextmanager
async def open_stdio(server: StdioServer, record: LinkRecord) -> AsyncGenerator[Streams]:
    """Run *server* as long as the block lasts. Left in any way, nothing of it runs any more afterwards.

    Raises:
        OSError: It could not be started.
        ValueError: Its command, arguments or environment cannot be those of a process.
    """
    pipes = _Pipes(await start(server), record)
    to, read = trio.open_memory_channel[SessionMessage | Exception](0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pipes.read, to, server.max_message, name="mcp: stdout")
        nursery.start_soon(pipes.listen, name="mcp: stderr")
        nursery.start_soon(pipes.write, name="mcp: stdin")
        nursery.start_soon(pipes.watch, name="mcp: exit")
        try:
            yield cast("ReadStream[SessionMessage | Exception]", read), pipes.stdin
        finally:
            with trio.CancelScope(shield=True):
                read.close()
                await pipes.close(server)
            nursery.cancel_scope.cancel()


_CLOSED: Final = (trio.BrokenResourceError, trio.ClosedResourceError)


class _Pipes:
    """The tasks of one child process, and its end."""

    def __init__(self, process: trio.Process, record: LinkRecord) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdin = Stdin(record)
        self._process = process
        self._into, self._out, self._err = process.stdin, process.stdout, process.stderr
        self._record = record
        self._written = trio.Event()
        self._closing = False

    async def read(self, to: trio.MemorySendChannel[SessionMessage | Exception], most: int) -> None:
        with to:  # when it is closed the session ends
            with suppress(*_CLOSED):
                await _read(self._out, to, self._record, most)
            if not self._closing:
                how = await end_of(self._process, _LAST_WORDS)
                self._record.end(how or "it closed its output")

    async def listen(self) -> None:
        with suppress(*_CLOSED):
            await _listen(self._err, self._record)

    async def write(self) -> None:
        try:
            with suppress(trio.ClosedResourceError):
                await self.stdin.drain(self._into)
        except trio.BrokenResourceError:
            how = await end_of(self._process, _LAST_WORDS)
            self._record.end(how or "it closed its input")
        finally:
            self._written.set()

    async def watch(self) -> None:
        """See the child end, though its own children may hold its pipes open."""
        how = await end_of(self._process, math.inf)
        await trio.sleep(_LAST_WORDS)
        self._record.end(how or "it ended")

    async def close(self, server: StdioServer) -> None:
        """End the child. Bounded."""
        self._closing = True
        await self.stdin.aclose()
        with trio.move_on_after(_FLUSH):
            await self._written.wait()
        await self._into.aclose()
        if not await stop(self._process, server):
            self._record.not_killed(self._process.pid)
