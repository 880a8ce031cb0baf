"""What a session was sent, for a client that was cut off and comes back.

Whoever comes back for an answer is served from here until that has come. The SDK would go over to its own stream in
between, and what is sent in that moment would be lost.
"""

from __future__ import annotations

import json
import math
import weakref
from collections import deque
from typing import Final, cast

import msgspec
import trio
from mcp.server.streamable_http import GET_STREAM_KEY, EventCallback, EventMessage, EventStore
from mcp.types import jsonrpc

from ._lines import line_of

Message = jsonrpc.JSONRPCMessage

_ANSWERS: Final = (jsonrpc.JSONRPCResponse, jsonrpc.JSONRPCError)
"""What ends the stream of a request."""

_BEFORE_ALL: Final = 0
_AROUND: Final = 256
"""Bytes that a message takes which is kept, besides its own."""


class _Event(msgspec.Struct, frozen=True, eq=False):
    """One message, as it is written: as objects it would take several times as much.

    Args:
        number: What the client calls it.
        stream: The stream that it came on.
        written: The message; nothing for one that only says where a stream begins.
        ends: Whether it is the last of its stream.
    """

    number: int
    stream: str
    written: bytes
    ends: bool

    @property
    def size(self) -> int:
        """Bytes that keeping it takes."""
        return len(self.written) + _AROUND


_Events = deque[_Event]


class Shelf:
    """What all sessions keep together, up to so many bytes: the oldest are forgotten first, whosever they are.

    Args:
        most: Bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[_Event, _Events] = {}
        """The events in the order in which they came, each with those of its session, which are in that order, too."""

        self.size: int = 0
        """Bytes that are kept."""

    def put(self, event: _Event, events: _Events) -> None:
        """Keep *event* as the newest of its session's *events*.

        For one that is larger than the shelf room is made in its own session alone, whose clients wait for nothing then.
        """
        if event.size > self._most:
            self.clear(events)
            return
        events.append(event)
        self._kept[event] = events
        self.size += event.size
        while self.size > self._most:
            self.forget(next(iter(self._kept.values())))

    def forget(self, events: _Events) -> None:
        """Forget the oldest of *events*."""
        event = events.popleft()
        del self._kept[event]
        self.size -= event.size

    def clear(self, events: _Events) -> None:
        """Forget all *events* of a session."""
        while events:
            self.forget(events)


class _Replay:
    """What one client that came back is still to be sent of a stream: of what is kept then the newest, and its answer.

    It keeps nothing but that answer: a client that does not read holds no more than that.
    """

    def __init__(self, last: _Event, events: _Events, most: int) -> None:
        self.stream = last.stream
        self.last = last.number
        self.news = trio.Event()
        self._events = events
        self._left = deque[int]((), most)
        self._end: _Event | None = None
        for event in events:
            if self.takes(event) and event.number > last.number:
                self.put(event)

    def takes(self, event: _Event) -> bool:
        return event.stream == self.stream

    def put(self, event: _Event) -> None:
        if self._end is None:
            if event.ends:
                self._end = event
            else:
                self._left.append(event.number)
            self.news.set()

    def next(self) -> _Event | None:
        """The next that is to be sent; None if there is none yet."""
        while self._left:
            number = self._left.popleft()
            found = next((event for event in self._events if event.number == number), None)
            if found is not None:
                return found
        return self._end


class _Nothing:
    """Stands where the SDK wants a message, in an event that only says where its reader is."""

    @staticmethod
    def model_dump_json(**_: object) -> str:
        return ""


class History(EventStore):
    """The last messages of one session, in memory. It is its own: what other sessions were sent is in others.

    Args:
        most: How many are kept; the oldest are forgotten.
        shelf: Where, beside those of other sessions.
        stream_for: Seconds after which who came back and has no answer yet is to come back again, if it knows how to.
    """

    def __init__(self, most: int, shelf: Shelf, stream_for: float | None = None) -> None:
        self._most = most
        self._shelf = shelf
        self._stream_for = stream_for
        self._primed = False
        """Whether this session's client reads events that only say where it is: those of older revisions do not."""
        self._events: _Events = deque()
        self._number = _BEFORE_ALL
        self._replays: set[_Replay] = set()
        weakref.finalize(self, shelf.clear, self._events).atexit = False  # a session that is over keeps nothing

    async def store_event(self, stream_id: str, message: Message | None) -> str:
        """Keep *message*, and answer what it is called."""
        await trio.lowlevel.checkpoint()
        self._number += 1
        self._primed = self._primed or message is None
        written = b"" if message is None else line_of(message)
        event = _Event(self._number, stream_id, written, isinstance(message, _ANSWERS))
        if len(self._events) == self._most:
            self._shelf.forget(self._events)
        self._shelf.put(event, self._events)
        for replay in self._replays:
            if replay.takes(event):
                replay.put(event)
        return str(self._number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came on the same stream after *last_event_id*, and what comes, up to the answer or until time is up.

        Returns the stream if it is the one without an answer, which the SDK then goes on with, else None: what is
        forgotten, or is over. Cancelled: what was sent was sent.
        """
        await trio.lowlevel.checkpoint()
        last = next((event for event in self._events if str(event.number) == last_event_id), None)
        if last is None or last.ends:
            return None
        period = self._stream_for if self._primed and self._stream_for is not None else math.inf
        replay = _Replay(last, self._events, self._most)
        self._replays.add(replay)
        try:
            return await _send_all(replay, send_callback, trio.current_time() + period)
        finally:
            self._replays.discard(replay)


async def _send_all(replay: _Replay, send_callback: EventCallback, until: float) -> str | None:
    """Send what there is, whatever the time, and wait for more *until* then."""
    place = replay.last
    while True:
        while (event := replay.next()) is not None:
            place = event.number
            if event.written:
                message = jsonrpc.jsonrpc_message_adapter.validate_python(json.loads(event.written), by_name=False)
                await send_callback(EventMessage(message, str(event.number)))
            if event.ends:
                return None
        if replay.stream == GET_STREAM_KEY:
            return replay.stream
        replay.news = trio.Event()
        with trio.move_on_at(until) as scope:
            await replay.news.wait()
        if scope.cancelled_caught:
            if place == replay.last:  # some clients only know how to come back from a stream that named a place itself
                await send_callback(EventMessage(cast("Message", _Nothing()), str(place)))
            return None
