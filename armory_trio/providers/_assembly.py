"""Putting a stream of a model's message together: what all providers' assemblers share.

No I/O happens here. An assembler is fed events and answers what is new in them; at the end it gives the `Turn` that the
parser of the whole message would give. Where a stream leaves open whose a fragment is, every call that it could belong
to is refused. A call runs only when it is certain that nothing more was to come for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, cast

import msgspec

from ..definitions import CallDefect
from ..errors import ArmoryError
from ._arguments import read_arguments
from ._assembly_paths import PartialArguments
from ._message import MessageError, is_list
from ._partial_json import PartialJson
from ._text import shortened
from ._turn import Dialect, Found, Json, Provider, Turn, build_turn, cut_off

__all__ = (
    "DEFAULT_ASSEMBLY_LIMITS",
    "ArgumentsGrew",
    "Assembler",
    "AssemblyLimits",
    "CallBegan",
    "CallClosed",
    "CallPreview",
    "CallRefused",
    "Calls",
    "Slot",
    "StreamLimitError",
    "StreamNews",
    "argument_text",
    "size_of",
    "weight_of",
)

_OVERHEAD: Final = 64
"""Bytes that an entry of a message counts for beside its text, so that empty ones are bounded, too."""

LOST: Final = "the stream broke off"
"""Why calls are refused when nobody said that the message was complete."""

_UNREADABLE: Final = (
    "An event of the stream could not be read, so this call may lack a part. Send the whole call again."
)
_UNDECIDABLE: Final = (
    "The stream does not say to which call a part of it belongs ({reason}), and this call may lack it or have it by "
    "mistake. Send the call again, one call at a time."
)


class AssemblyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a stream is kept.

    Args:
        calls: The most calls of one message. One more raises `StreamLimitError`.
        call_bytes: The most bytes of one call's arguments, in UTF-8. A longer call is refused; the others go on.
        message_bytes: The most bytes that are kept of the whole message. More raises `StreamLimitError`.
    """

    calls: int = 128
    call_bytes: int = 1024 * 1024
    message_bytes: int = 32 * 1024 * 1024


DEFAULT_ASSEMBLY_LIMITS: Final = AssemblyLimits()


class StreamLimitError(ArmoryError):
    """A stream holds more than is kept of one. Nothing of its message can be used.

    Args:
        limit: The field of `AssemblyLimits`.
        allowed: Its value.
    """

    def __init__(self, limit: str, allowed: int) -> None:
        what = {"calls": "calls", "message_bytes": "bytes of one message"}[limit]
        super().__init__(f"the stream has more than {allowed} {what}; end the request, or raise AssemblyLimits.{limit}")
        self.limit = limit
        self.allowed = allowed


class CallBegan(msgspec.Struct, frozen=True):
    """A call has begun. Its name and its id may still grow or follow.

    Args:
        position: The place of the call in ``turn.calls``.
        name: Its name as far as it is known.
        wire_id: The provider's id, if one has come.
    """

    position: int
    name: str
    wire_id: str | None


class ArgumentsGrew(msgspec.Struct, frozen=True):
    """More of a call's arguments has come.

    Args:
        position: The place of the call in ``turn.calls``.
        text: The new piece of JSON text, empty where the provider sends values and not text.
    """

    position: int
    text: str


class CallClosed(msgspec.Struct, frozen=True):
    """The provider says that nothing more comes for the call at *position*. Whether it runs, only the turn says."""

    position: int


class CallRefused(msgspec.Struct, frozen=True):
    """The call at *position* can't be trusted any more, whatever comes: in the turn it has this *defect*."""

    position: int
    defect: CallDefect


StreamNews = CallBegan | ArgumentsGrew | CallClosed | CallRefused
"""What one event had that is new."""


class CallPreview(msgspec.Struct, frozen=True):
    """A call as far as it has come, to be shown and never to be run.

    Args:
        position: The place of the call in ``turn.calls``.
        name: The name as the model wrote it.
        wire_id: The provider's id, if one has come.
        arguments: What can be read of them, None before anything can. It grows with the stream: do not keep it.
        is_closed: Whether the provider said that nothing more comes for it.
    """

    position: int
    name: str
    wire_id: str | None
    arguments: object
    is_closed: bool


class Slot:
    """One call while it comes in."""

    __slots__ = ("_pieces", "closed", "doubt", "draft", "name", "position", "reader", "size", "value", "wire_id")

    def __init__(self, position: int, wire_id: str | None, name: str) -> None:
        self.position = position
        self.wire_id = wire_id
        self.name = name
        self.value: object = None
        """Arguments that came as a value and not as text."""

        self.reader = PartialJson()
        self.draft: PartialArguments | None = None
        """Arguments that come value by value."""

        self.size = 0
        self.closed = False
        self.doubt: CallDefect | None = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def arguments(self) -> object:
        """What the complete message would hold: the text, or the value where none came."""
        return self.text if self._pieces or self.value is None else self.value

    @property
    def has_begun(self) -> bool:
        """Whether anything of the arguments has come."""
        return bool(self._pieces) or self.value is not None

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are one complete object, which any more text would break."""
        return self.value is not None or (self.reader.is_whole and self.reader.is_object)

    @property
    def is_open(self) -> bool:
        return not (self.closed or self.is_whole)

    def write(self, text: str) -> None:
        self._pieces.append(text)
        self.reader.feed(text)

    def forget(self) -> None:
        """Let go of what is of no use any more."""
        self._pieces = []
        self.reader = PartialJson()
        self.draft = None if self.draft is None else PartialArguments()

    @property
    def preview(self) -> CallPreview:
        if self.draft is not None:
            arguments: object = self.draft.value
        else:
            arguments = self.reader.value if self._pieces or self.value is None else self.value
        return CallPreview(self.position, self.name, self.wire_id, arguments, self.closed)


class Calls:
    """The calls of one message while it comes in, what was new, and how much is kept of it all."""

    __slots__ = ("_kept", "_limits", "latest", "news", "slots")

    def __init__(self, limits: AssemblyLimits) -> None:
        self.slots: list[Slot] = []
        self.news: list[StreamNews] = []
        self.latest: Slot | None = None
        """The call that the last fragment went to."""

        self._limits = limits
        self._kept = 0

    def begin(self, wire_id: str | None, name: str) -> Slot:
        if len(self.slots) >= self._limits.calls:
            raise StreamLimitError("calls", self._limits.calls)
        self.keep(_OVERHEAD + size_of(name))
        slot = Slot(len(self.slots), wire_id, name)
        self.slots.append(slot)
        self.latest = slot
        self.news.append(CallBegan(slot.position, name, wire_id))
        return slot

    def write(self, slot: Slot, text: str) -> None:
        """Add *text* to the arguments of *slot*."""
        self.latest = slot
        if not text or not self._has_room(slot, size_of(text)):
            return
        if slot.value is not None:
            self.doubt([slot], "its arguments came twice, and not alike")
            return
        slot.write(text)
        self.news.append(ArgumentsGrew(slot.position, text))

    def put(self, slot: Slot, value: object) -> None:
        """Give *slot* arguments that came as a value."""
        self.latest = slot
        if not self._has_room(slot, weight_of(value)):
            return
        if slot.has_begun and slot.value != value:
            self.doubt([slot], "its arguments came twice, and not alike")
            return
        slot.value = value
        self.news.append(ArgumentsGrew(slot.position, ""))

    def grew(self, slot: Slot, size: int) -> None:
        """Count *size* bytes that were added to the draft of *slot*."""
        self.latest = slot
        if size and self._has_room(slot, size):
            self.news.append(ArgumentsGrew(slot.position, ""))

    def _has_room(self, slot: Slot, size: int) -> bool:
        slot.size += size
        if slot.size <= self._limits.call_bytes:
            self.keep(size)
            return True
        words = f"The arguments have more than {self._limits.call_bytes} bytes. Send the call again with less."
        self.refuse([slot], CallDefect("MALFORMED_CALL", words, shortened(slot.text) if slot.text else None))
        slot.forget()
        return False

    def close(self, slot: Slot) -> None:
        if not slot.closed:
            slot.closed = True
            self.news.append(CallClosed(slot.position))

    def doubt(self, slots: Iterable[Slot], reason: str) -> None:
        """Refuse every one of *slots*, because a fragment could belong to it."""
        self.refuse(slots, CallDefect("MALFORMED_CALL", _UNDECIDABLE.format(reason=reason)))

    def refuse(self, slots: Iterable[Slot], defect: CallDefect) -> None:
        for slot in slots:
            if slot.doubt is None:
                slot.doubt = defect
                self.news.append(CallRefused(slot.position, defect))

    def keep(self, size: int) -> None:
        """Count *size* bytes that are kept.

        Raises:
            StreamLimitError: They are too many.
        """
        self._kept += size
        if self._kept > self._limits.message_bytes:
            raise StreamLimitError("message_bytes", self._limits.message_bytes)

    def defects(self, places: Mapping[int, Slot], cut: str | None, *, lost: bool) -> dict[int, CallDefect]:
        """The defects of the calls of a message that has ended, by their places in it.

        Args:
            places: Which call stands where.
            cut: Why the message was cut off, if it was.
            lost: Whether nobody said that it had ended.
        """
        found: dict[int, CallDefect] = {}
        for place, slot in places.items():
            if slot.doubt is not None:
                found[place] = slot.doubt
            elif cut is not None and (slot is self.latest or (lost and not slot.closed and not slot.is_whole)):
                found[place] = cut_off(cut, slot.arguments)
        return found


class Assembler(ABC):
    """Puts the events of one streamed message together. Make a new one for each message.

    Args:
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        limits: How much is kept.
    """

    provider: ClassVar[Provider]

    def __init__(
        self, *, names: Mapping[str, str] | None = None, limits: AssemblyLimits = DEFAULT_ASSEMBLY_LIMITS
    ) -> None:
        self._names = names
        self._calls = Calls(limits)
        self._turn: Turn | None = None
        self._spent: StreamLimitError | None = None
        self._stop_reason: str | None = None
        self._lost: str | None = LOST
        """Why the message may have more to it; None once its end was seen."""

    def feed(self, event: object) -> tuple[StreamNews, ...]:
        """Take the next event, and say what is new in it.

        Args:
            event: Decoded JSON, or an event of the official SDK. Events that say nothing of calls are welcome.

        Raises:
            MessageError: It is no event of this provider, or a field of it has the wrong type. The calls that are
                still open are refused, since it may have been meant for them; the stream may be read on.
            StreamLimitError: There is more than the limits allow. The stream can't be used any more.
        """
        if self._spent is not None:
            raise self._spent
        self._turn = None
        try:
            self._take(event)
        except MessageError:
            open_slots = [slot for slot in self._calls.slots if not slot.closed]
            self._calls.refuse(open_slots, CallDefect("MALFORMED_CALL", _UNREADABLE))
            raise
        except StreamLimitError as error:
            self._spent = error
            raise
        news = tuple(self._calls.news)
        self._calls.news.clear()
        return news

    def finish(self) -> Turn:
        """The turn of what has come: what the parser of the whole message gives.

        Call it when the stream ends, however it ends. When the message's own end was not among the events, the calls
        that may have more to them are ``TRUNCATED_CALL`` and never run. Asked again, it answers the same turn.

        Raises:
            StreamLimitError: The stream had more than the limits allow.
        """
        if self._spent is not None:
            raise self._spent
        if self._turn is None:
            self._turn = build_turn(self._found(), self._dialect(), self._names)
        return self._turn

    def message(self) -> Json:
        """The message to keep as history before the reply: as the provider wants it sent back.

        Made ids are written in, and arguments that are no JSON object are an empty one, since every provider refuses
        a history that has them otherwise. In the Responses API it has the items to keep in ``output``.

        Raises:
            StreamLimitError: The stream had more than the limits allow.
        """
        return self._written(self.finish())

    @property
    def previews(self) -> tuple[CallPreview, ...]:
        """The calls as far as they have come, for people to look at while they wait."""
        return tuple(slot.preview for slot in self._calls.slots)

    @property
    def has_ended(self) -> bool:
        """Whether the message's own end was among the events."""
        return self._lost is None

    def preview(self, position: int) -> CallPreview:
        """The call at *position* as far as it has come.

        Raises:
            IndexError: There is no such call yet.
        """
        return self._calls.slots[position].preview

    def _end(self) -> None:
        """The message's own end has come; an error that came before it is not forgotten."""
        if self._lost == LOST:
            self._lost = None

    @abstractmethod
    def _take(self, event: object) -> None:
        """Read one event."""

    @abstractmethod
    def _found(self) -> Found:
        """Where the calls are, in the message so far."""

    @abstractmethod
    def _written(self, turn: Turn) -> Json:
        """The message of *turn*, fit for a history."""

    @abstractmethod
    def _dialect(self) -> Dialect:
        """How this provider writes calls."""


def size_of(text: str) -> int:
    """Bytes of *text* in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def weight_of(value: object) -> int:
    """About how many bytes *value* is in JSON, however deep it is."""
    weight = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        weight += 8
        if isinstance(item, str):
            weight += size_of(item)
        elif isinstance(item, Mapping):
            for key, member in cast("Mapping[object, object]", item).items():
                weight += len(key) if isinstance(key, str) else 0
                waiting.append(member)
        elif is_list(item):
            waiting += item
    return weight


def argument_text(slot: Slot) -> str:
    """The arguments of *slot* for a history: as the model wrote them, or an empty object where no provider takes that."""
    arguments, defect = read_arguments(slot.arguments)
    if defect is not None or not arguments:
        return "{}"
    return slot.text if slot.value is None else msgspec.json.encode(arguments).decode()
