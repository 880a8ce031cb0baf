"""What a session was sent, for a client that was cut off and comes back.

Whoever comes back for an answer is served from here until that has come. The SDK would go over to its own stream in
between, and what is sent in that moment would be lost.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec
import trio
from mcp.server.streamable_http import GET_STREAM_KEY, EventCallback, EventMessage, EventStore
from mcp.types import jsonrpc

Message = jsonrpc.JSONRPCMessage

_ANSWERS: Final = (jsonrpc.JSONRPCResponse, jsonrpc.JSONRPCError)
"""What ends the stream of a request."""

_BEFORE_ALL: Final = 0


class _Event(msgspec.Struct, frozen=True):
    number: int
    stream: str
    message: Message | None


class History(EventStore):
    """The last messages of one session, in memory. It is its own: what other sessions were sent is in others.

    Args:
        most: How many are kept; the oldest are forgotten.
    """

    def __init__(self, most: int) -> None:
        self._events: deque[_Event] = deque(maxlen=most)
        self._number = _BEFORE_ALL
        self._news = trio.Event()

    async def store_event(self, stream_id: str, message: Message | None) -> str:
        """Keep *message*, and answer what it is called."""
        await trio.lowlevel.checkpoint()
        self._number += 1
        self._events.append(_Event(self._number, stream_id, message))
        self._news.set()
        return str(self._number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came on the same stream after *last_event_id*, and what comes, up to the answer.

        Returns the stream if it is the one without an answer, which the SDK then goes on with, else None: what is
        forgotten, or is over. Cancelled: what was sent was sent.
        """
        await trio.lowlevel.checkpoint()
        last = next((event for event in self._events if str(event.number) == last_event_id), None)
        while last is not None and not isinstance(last.message, _ANSWERS):
            following = self._following(last)
            if following is None and last.stream == GET_STREAM_KEY:
                return last.stream
            if following is None:
                self._news = trio.Event()
                await self._news.wait()
                continue
            last = following
            if last.message is not None:
                await send_callback(EventMessage(last.message, str(last.number)))
        return None

    def _following(self, last: _Event) -> _Event | None:
        """What came next on the same stream."""
        found = (event for event in self._events if event.stream == last.stream and event.number > last.number)
        return next(found, None)
