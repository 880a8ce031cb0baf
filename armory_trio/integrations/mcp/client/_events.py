"""A stream of events, of which the session gets to see only what is meant for its request and can be read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Final

import httpx2
import msgspec
import trio
from mcp_types import JSONRPCNotification, JSONRPCRequest

from ._answers import answer_in, too_long, unreadable
from ._bounds import MOST_NAME_BYTES, fits
from ._faults import Fault, lost
from ._messages import message_of, unmarked
from ._record import LinkRecord

LAST_EVENT_ID: Final = "last-event-id"
"""The header with which the rest of a stream is asked for."""

_INTERNAL: Final = -32603
_SOONEST, _LATEST = 100, 60_000
"""Milliseconds after which the session may come back for the rest of a stream, whatever the server says: it would not bear a
number below zero, and come back without a pause for zero."""

_AT_ONCE: Final = 1.0
"""Seconds: a stream that lasted as long was held open by somebody."""

_TELLING: Final = (JSONRPCRequest, JSONRPCNotification)
"""What is no answer, and may come with one."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where in the streams of a session one was cut off.

    Servers name events, and the session sends such a name back without saying which of its requests the stream was for.
    So the session gets to know events by this, and the server its own part of it.

    Args:
        request_id: The request that the stream answers; None for the stream of no request.
        event: What the server calls the event.
    """

    request_id: int | str | None
    event: str

    def named(self) -> str:
        """This as the name of an event."""
        return json.dumps([self.request_id, self.event])  # in ASCII, as the header wants it

    def in_header(self) -> bytes:
        """What the server is sent of it, as web browsers do."""
        return self.event.strip(" \t").encode()


def place_of(request: httpx2.Request) -> Place | None:
    """Where the stream is to go on that *request* asks for; None for the beginning of one."""
    named = request.headers.get(LAST_EVENT_ID)
    return None if named is None else msgspec.json.decode(named, type=Place)


class Sifted(httpx2.AsyncByteStream):
    """The body of a stream of events. What is no answer to its request ends that at once, as a whole answer would.

    Args:
        response: What came, whose body nobody has read.
        request_id: The request that the stream is for; None for the stream of no request.
        record: Where to note what became of the request.
        most: Bytes of the longest event.
    """

    def __init__(self, response: httpx2.Response, request_id: int | str | None, record: LinkRecord, most: int) -> None:
        response.encoding = "utf-8-sig"  # whatever it says; a byte order mark in front is no part of the first line
        self._response = response
        self._events = aiter(httpx2.EventSource(response, max_event_size=most))
        self._request_id = request_id
        self._record = record
        self._most = most
        self._over = False
        self._began = trio.current_time()
        self._silent = True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._over:
            try:
                event = await anext(self._events)
                self._silent = False
                shown = self._shown(event)
            except (httpx2.SSEError, httpx2.DecodingError) as error:
                self._over = True
                if self._request_id is None:
                    raise
                long, server = isinstance(error, httpx2.SSEError), self._record.name
                return self._ended(too_long(server, self._most) if long else unreadable(server))
            except (StopAsyncIteration, httpx2.TransportError):
                self._over = True
                cut = lost(self._record.name, "its answer did not come", handed=True)
                self._record.cut_off(self._request_id, cut)
                if self._is_useless():
                    return self._ended(cut)
                raise
            if shown:
                return shown
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the body."""
        await self._response.aclose()

    def _is_useless(self) -> bool:
        """Whether this was the rest of a stream, and there is no use in asking for more."""
        if self._response.request.method != "GET":
            return False
        empty = self._silent and trio.current_time() - self._began < _AT_ONCE
        return self._record.rest_ended(self._request_id, empty=empty)

    def _shown(self, event: httpx2.ServerSentEvent) -> bytes:
        """What the session sees of *event*."""
        data = event.data.encode() if event.event == "message" else b""
        sifted = self._sift(data) if data else b""
        return self._ended(sifted) if isinstance(sifted, Fault) else self._block(event, sifted)

    def _sift(self, data: bytes) -> bytes | Fault:
        """The message in *data* as the session can read it; nothing for what is skipped; what is wrong with an answer."""
        data = unmarked(data)
        message, told = message_of(data)
        is_told = isinstance(told, dict) and "method" in told if message is None else isinstance(message, _TELLING)
        if self._request_id is not None and not is_told:
            return answer_in(data, self._request_id, self._record.name)
        if message is None:
            self._record.skip(f"an event of {len(data):,} bytes that is no message", data)
            return b""
        if told is None:
            return data
        try:
            return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        except ValueError:
            self._record.skip("an event that is nested too deep", data)
            return b""

    def _ended(self, fault: Fault) -> bytes:
        """The last that the session sees of the stream: an error in place of the answer to its request."""
        self._over = True
        self._record.fault(self._request_id, fault)
        error = {"code": _INTERNAL, "message": fault.message}
        told = {"jsonrpc": "2.0", "id": self._request_id, "error": error}
        return _event([f"data: {msgspec.json.encode(told).decode()}"])

    def _block(self, event: httpx2.ServerSentEvent, data: bytes) -> bytes:
        is_named = event.id and fits(event.id, MOST_NAME_BYTES)
        lines = [f"id: {Place(self._request_id, event.id).named()}"] if is_named else []
        if event.retry is not None:
            lines.append(f"retry: {min(max(event.retry, _SOONEST), _LATEST)}")
        if data:
            lines += [f"data: {line}" for line in data.decode().split("\n")]
        return _event(lines) if lines else b""


def _event(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n\n").encode()
