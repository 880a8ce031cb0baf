"""Bytes to lines, and lines to messages: whatever comes, the session goes on."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Final, TypeGuard

from mcp import types
from mcp.shared.dispatcher import coerce_request_id
from mcp.types import jsonrpc
from pydantic import ValidationError

from ....definitions import JsonLimits, parse_json
from ....errors import JsonError

Message = jsonrpc.JSONRPCMessage

MOST_UNDER_WAY: Final = 10_000
"""Requests of one client that wait for their answer. Each takes some ten kilobytes, and nobody waits for so many."""


class Refused(Exception):
    """A line that is no message. What the peer is told about it is ``error``."""

    def __init__(self, code: int, message: str, id: str | int | None = None) -> None:
        super().__init__(message)
        self.error = jsonrpc.JSONRPCError(jsonrpc="2.0", id=id, error=jsonrpc.ErrorData(code=code, message=message))


class Lines:
    """Puts lines together from the pieces that are read. One that is too long is dropped as it comes.

    Args:
        most: Bytes that a line may have.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._whole: deque[bytes | None] = deque()
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take what was read; nothing is the end, which also ends a line."""
        first, *others = data.split(b"\n")
        self._add(first)
        for part in others:
            self._end()
            self._add(part)
        if not data and self._size:
            self._end()

    def next(self) -> bytes | None:
        """The next line; None for one that was too long.

        Raises:
            IndexError: There is none yet.
        """
        return self._whole.popleft()

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most:
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _end(self) -> None:
        self._whole.append(None if self._size > self._most else b"".join(self._parts))
        self._parts, self._size = [], 0


def message_of(line: bytes, most: int) -> Message:
    """The message in *line*.

    Raises:
        Refused: It is none.
    """
    try:
        value = parse_json(line.decode(), limits=JsonLimits(max_bytes=most))
    except UnicodeDecodeError as error:
        raise Refused(types.PARSE_ERROR, f"Parse error: byte 0x{line[error.start]:02x} is not UTF-8") from None
    except JsonError as error:
        raise Refused(types.PARSE_ERROR, f"Parse error: {error.detail}") from None
    if not _is_object(value):
        raise Refused(types.INVALID_REQUEST, f"Invalid request: a message is an object, not {_KINDS[type(value)]}")
    given = value.get("id")
    known = given if isinstance(given, str) or (isinstance(given, int) and not isinstance(given, bool)) else None
    if "id" in value and known is None and "error" not in value:
        raise Refused(types.INVALID_REQUEST, "Invalid request: an id is a string or a whole number")
    if "method" in value and not value.keys().isdisjoint(_ANSWERING):
        raise Refused(types.INVALID_REQUEST, "Invalid request: it is a request and an answer at once", known)
    try:
        return jsonrpc.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        if known is not None and not value.keys().isdisjoint(_ANSWERING):
            return _no_answer(known)
        raise Refused(types.INVALID_REQUEST, "Invalid request: it is no JSON-RPC 2.0 message", known) from None


def _no_answer(asked: str | int) -> Message:
    """What stands in the place of an answer that cannot be read, so that nobody waits for another."""
    error = jsonrpc.ErrorData(code=types.INVALID_REQUEST, message="the answer is no JSON-RPC 2.0 message")
    return jsonrpc.JSONRPCError(jsonrpc="2.0", id=asked, error=error)


def line_of(message: Message) -> bytes:
    """*message* as a line. Half a character, as an id or a token may have been given, goes back as it came: escaped."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True))
    return f"{text}\n".encode()


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


_ANSWERING: Final = frozenset({"result", "error"})
"""One of these is in an answer."""

_KINDS: Final[Mapping[type, str]] = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


class Ids:
    """The requests that wait for their answer: each id is answered once, and none is taken for another.

    The SDK takes ``"1"`` and ``1`` for one id. Where both are under way the later one goes by another name inside.
    """

    def __init__(self) -> None:
        self._inside: dict[tuple[type, str | int], str | int] = {}
        self._outside: dict[str | int, str | int] = {}
        self._taken: dict[str | int, str | int] = {}
        """What the SDK makes of the ids that go by inside, and those ids."""
        self._minted = 0

    def __len__(self) -> int:
        return len(self._inside)

    @property
    def full(self) -> bool:
        """Whether there is no room for one more."""
        return len(self) >= MOST_UNDER_WAY

    def come_in(self, message: Message) -> Message:
        """*message* as it goes by inside.

        Raises:
            Refused: A request with this id is under way.
        """
        if isinstance(message, jsonrpc.JSONRPCRequest):
            return self._request(message)
        if isinstance(message, jsonrpc.JSONRPCNotification) and message.method == "notifications/cancelled":
            params = message.params or {}
            given: object = params.get("requestId")
            name = self._inside.get((type(given), given)) if isinstance(given, str | int) else None
            if name is not None and name != given:
                return message.model_copy(update={"params": {**params, "requestId": name}})
        return message

    def _request(self, message: jsonrpc.JSONRPCRequest) -> Message:
        given = name = message.id
        if (type(given), given) in self._inside:
            # An answer with this id would be taken for that of the other one.
            raise Refused(types.INVALID_REQUEST, f"Invalid request: a request with the id {given!r} is under way")
        if self.full:
            reason = f"Too many requests: {len(self):,} are under way; wait for an answer before sending more"
            raise Refused(types.INTERNAL_ERROR, reason, given)
        if coerce_request_id(given) in self._taken:
            self._minted += 1
            name = f"armory-trio: {self._minted}"
            message = message.model_copy(update={"id": name})
        self._inside[type(given), given] = name
        self._outside[name] = given
        self._taken[coerce_request_id(name)] = name
        return message

    def refuse(self, refused: Refused) -> Message:
        """What the peer is told of a line that is no message: with its id, unless that would answer something else."""
        error = refused.error
        if error.id is None:
            return error
        if (type(error.id), error.id) in self._inside or error.id in self._outside:
            return error.model_copy(update={"id": None})
        self._inside[type(error.id), error.id] = self._outside[error.id] = error.id
        return error

    def go_out(self, message: Message) -> Message | None:
        """*message* as the peer knows it; None for the answer to a request that was answered already."""
        if not isinstance(message, jsonrpc.JSONRPCResponse | jsonrpc.JSONRPCError) or message.id is None:
            return message
        name = message.id
        if name not in self._outside:
            return None
        given = self._forget(name)
        return message if given == name else message.model_copy(update={"id": given})

    def settle(self, name: str | int | None) -> None:
        """The request that goes by *name* inside is over without an answer."""
        if name is not None and name in self._outside:
            self._forget(name)

    def _forget(self, name: str | int) -> str | int:
        given = self._outside.pop(name)
        del self._inside[type(given), given]
        if self._taken.get(coerce_request_id(name)) == name:
            del self._taken[coerce_request_id(name)]
        return given
