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


class _Replay:
    """What one client that came back is still to be sent of a stream: the newest, if that is more than is kept."""

    def __init__(self, last: _Event, events: deque[_Event]) -> None:
        self.stream = last.stream
        self.left = deque(
            (event for event in events if self.takes(event) and event.number > last.number), events.maxlen
        )
        self.news = trio.Event()

    def takes(self, event: _Event) -> bool:
        return event.stream == self.stream

    def put(self, event: _Event) -> None:
        self.left.append(event)
        self.news.set()


class History(EventStore):
    """The last messages of one session, in memory. It is its own: what other sessions were sent is in others.

    Args:
        most: How many are kept; the oldest are forgotten.
    """

    def __init__(self, most: int) -> None:
        self._events: deque[_Event] = deque(maxlen=most)
        self._number = _BEFORE_ALL
        self._replays: set[_Replay] = set()

    async def store_event(self, stream_id: str, message: Message | None) -> str:
        """Keep *message*, and answer what it is called."""
        await trio.lowlevel.checkpoint()
        self._number += 1
        event = _Event(self._number, stream_id, message)
        self._events.append(event)
        for replay in self._replays:
            if replay.takes(event):
                replay.put(event)
        return str(self._number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came on the same stream after *last_event_id*, and what comes, up to the answer.

        Returns the stream if it is the one without an answer, which the SDK then goes on with, else None: what is
        forgotten, or is over. Cancelled: what was sent was sent.
        """
        await trio.lowlevel.checkpoint()
        last = next((event for event in self._events if str(event.number) == last_event_id), None)
        if last is None or isinstance(last.message, _ANSWERS):
            return None
        replay = _Replay(last, self._events)
        self._replays.add(replay)
        try:
            return await _send_all(replay, send_callback)
        finally:
            self._replays.discard(replay)


async def _send_all(replay: _Replay, send_callback: EventCallback) -> str | None:
    while True:
        while replay.left:
            event = replay.left.popleft()
            if event.message is not None:
                await send_callback(EventMessage(event.message, str(event.number)))
            if isinstance(event.message, _ANSWERS):
                return None
        if replay.stream == GET_STREAM_KEY:
            return replay.stream
        replay.news = trio.Event()
        await replay.news.wait()
