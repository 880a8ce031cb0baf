"""What a session was sent, for a client that was cut off and comes back."""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec
import trio
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import jsonrpc

Message = jsonrpc.JSONRPCMessage

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

    async def store_event(self, stream_id: str, message: Message | None) -> str:
        """Keep *message*, and answer what it is called."""
        await trio.lowlevel.checkpoint()
        self._number += 1
        self._events.append(_Event(self._number, stream_id, message))
        return str(self._number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came on the same stream after *last_event_id*; answer the stream, or None if that is forgotten."""
        await trio.lowlevel.checkpoint()
        events = list(self._events)
        stream = next((event.stream for event in events if str(event.number) == last_event_id), None)
        if stream is None:
            return None
        for event in events:
            if event.stream == stream and event.number > int(last_event_id) and event.message is not None:
                await send_callback(EventMessage(event.message, str(event.number)))
        return stream
