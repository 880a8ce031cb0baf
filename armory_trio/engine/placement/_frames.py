"""What a host and its worker process say to each other: msgpack messages, each after its length.

A value of the user's travels inside a message as bytes that are msgpack themselves, so that whoever made it is blamed
for what cannot be written, and so that it is read as the type that it is meant to be.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from ...definitions import Category, CleanupStatus, Effect, LogLevel, RequestContext

ROOM: Final = 2**20
"""Bytes that a message may have beside the user's value in it."""

_LENGTH: Final = struct.Struct(">I")

LARGEST: Final = 2**32 - 1 - ROOM
"""Bytes of a value beyond which no message can say its length."""


class Message(msgspec.Struct, frozen=True, array_like=True):
    """One message."""


# -- from the host


class Call(Message, frozen=True, tag="call"):
    """Run a tool.

    Args:
        module: Where its function is, with ``qualname``.
        schema: The digest of its input schema.
        arguments: Their JSON text.
        seconds_left: Until the deadline.
        context: The named values, as msgpack.
        credits: Chunks that may be on their way.
        max_frame: The most bytes of one value.
        idempotency_key: What makes it the same call as another.
    """

    module: str
    qualname: str
    schema: str
    arguments: bytes
    execution_id: str
    call_id: str
    tool_name: str
    owner_id: str | None
    seconds_left: float | None
    request_context: RequestContext | None
    context: msgspec.Raw
    credits: int
    max_frame: int
    idempotency_key: str | None = None


class Answer(Message, frozen=True, tag="answer"):
    """What came of the worker's last question. Without an ``error`` it was done."""

    error: Literal["over", "refused"] | None = None
    text: str = ""
    yes: bool = False


class Credit(Message, frozen=True, tag="credit"):
    """So many more chunks may be sent."""

    chunks: int


class AbortAsked(Message, frozen=True, tag="abort"):
    """Somebody asked the execution to stop, and it has a grace."""


FromHost = Call | Answer | Credit | AbortAsked


# -- from the worker: what happens on the way


class Entered(Message, frozen=True, tag="entered"):
    """The tool was found and its arguments are made: its function is called now."""


class Streaming(Message, frozen=True, tag="streaming"):
    """The body is a generator."""


class Chunk(Message, frozen=True, tag="chunk"):
    """One of its chunks."""

    value: msgspec.Raw


class Progressed(Message, frozen=True, tag="progress"):
    """``ctx.progress``."""

    percent: float | None
    text: str | None
    checkpoint: msgspec.Raw


class Logged(Message, frozen=True, tag="log"):
    """``ctx.log``."""

    level: LogLevel
    text: str
    data: msgspec.Raw


# -- from the worker: questions, each of which waits for an `Answer`


class Emit(Message, frozen=True, tag="emit"):
    """``ctx.emit``."""

    name: str
    data: msgspec.Raw


class OpenWindow(Message, frozen=True, tag="open"):
    """The world is about to change."""

    number: int
    label: str
    target: str | None


class CloseWindow(Message, frozen=True, tag="close"):
    """The stretch is over; ``said`` is what the tool itself said of it."""

    number: int
    said: Literal["happened", "nothing-happened"] | None
    by_exception: bool


class BeginWait(Message, frozen=True, tag="wait"):
    """The tool only waits from here on."""

    number: int
    reason: str


class EndWait(Message, frozen=True, tag="resume"):
    """The wait of that number is over."""

    number: int


class ReportCleanup(Message, frozen=True, tag="cleanup"):
    """``ctx.report_cleanup``."""

    status: CleanupStatus
    detail: str


class AskDraining(Message, frozen=True, tag="draining"):
    """``ctx.draining``."""


Question = Emit | OpenWindow | CloseWindow | BeginWait | EndWait | ReportCleanup | AskDraining


# -- from the worker: how the body ended. ``clean`` says that it left neither threads nor processes behind


class Returned(Message, frozen=True, tag="returned"):
    """It returned; for a generator, the value says nothing."""

    value: msgspec.Raw
    clean: bool


class Unsendable(Message, frozen=True, tag="unsendable"):
    """It gave a value that cannot cross. ``returned`` is False when that was a chunk."""

    type_name: str
    reason: str
    returned: bool
    clean: bool


class Declared(msgspec.Struct, frozen=True, array_like=True):
    """What a `ToolFailure` says beside its words."""

    category: Category
    code: str
    retryable: bool | None
    effect: Effect | None
    details: msgspec.Raw


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """One exception in words."""

    kind: Literal["plain", "timeout", "connection", "aborted", "over", "declared"]
    name: str
    text: str
    traceback: str
    declared: Declared | None = None


class Raised(Message, frozen=True, tag="raised"):
    """It raised: one exception, or the members of a group."""

    failures: list[Failure]
    clean: bool


End = Returned | Unsendable | Raised
FromWorker = Entered | Streaming | Chunk | Progressed | Logged | Question | End

_ALWAYS_PLAIN: Final = frozenset[type]((type(None), bool, int, float, str, bytes))

_encoder: Final = msgspec.msgpack.Encoder()
read_plain: Final = msgspec.msgpack.Decoder().decode
read_from_host: Final = msgspec.msgpack.Decoder(FromHost).decode
read_from_worker: Final = msgspec.msgpack.Decoder(FromWorker).decode


class BrokenFrame(Exception):
    """What came is no message, or a longer one than was agreed."""


class TooLarge(ValueError):
    """A value or a message has more bytes than its tool allows."""


class NotPlain(ValueError):
    """What was written of a value cannot be read again as plain data."""


def pack(message: Message, most: int = LARGEST) -> bytes:
    """*message* after its length.

    Raises:
        TooLarge: It has more bytes than a message may have whose value has at most *most*.
    """
    body = _encoder.encode(message)
    allowed = min(most, LARGEST) + ROOM
    if len(body) > allowed:
        raise TooLarge(
            f"the message has {len(body)} bytes on its way, and with the tool's max_frame of {most} it may have {allowed}"
        )
    return _LENGTH.pack(len(body)) + body


def packed_value(value: object, most: int) -> msgspec.Raw:
    """*value* of the user's, to be put into a message.

    Raises:
        TooLarge: It has more than *most* bytes.
        NotPlain: Nobody could read it, such as a mapping whose keys become mappings themselves.
        Exception: It cannot be written: what msgspec raised, or the code of the value itself.
    """
    body = _encoder.encode(value)
    if len(body) > min(most, LARGEST):
        raise TooLarge(f"it has {len(body)} bytes on its way, and the tool's max_frame is {most}")
    if type(value) not in _ALWAYS_PLAIN:
        try:
            read_plain(body)
        except (msgspec.DecodeError, RecursionError) as exc:
            raise NotPlain(f"it cannot be read again as plain data: {exc}") from exc
    return msgspec.Raw(body)


class Splitter:
    """Cuts a stream of bytes into messages of at most *most* bytes."""

    __slots__ = ("_bytes", "_most")

    def __init__(self, most: int) -> None:
        self._bytes = bytearray()
        self._most = most

    def feed(self, received: bytes | bytearray) -> Iterator[bytes]:
        """The messages that are complete now.

        Raises:
            BrokenFrame: The next one would be too long.
        """
        held = self._bytes
        held += received
        start = 0
        try:
            while len(held) - start >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(held, start)
                if length > self._most:
                    raise BrokenFrame(f"a message of {length} bytes, and at most {self._most} were agreed")
                end = start + _LENGTH.size + length
                if len(held) < end:
                    return
                yield bytes(memoryview(held)[start + _LENGTH.size : end])
                start = end
        finally:
            del held[:start]
