"""The calls of one message while it comes in, and how much is kept of it all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

from ..definitions import CallDefect
from ._arguments import read_arguments, write_arguments
from ._assembly_news import (
    ArgumentsGrew,
    AssemblyLimits,
    CallBegan,
    CallClosed,
    CallPreview,
    CallRefused,
    StreamLimitError,
    StreamNews,
)
from ._assembly_paths import PartialArguments
from ._message import is_list
from ._partial_json import PartialJson
from ._text import encodable, is_encodable, paired, shortened
from ._turn import cut_off

__all__ = ("Calls", "Slot", "argument_text", "is_alike", "size_of")

_OVERHEAD: Final = 64
"""Bytes that an entry of a message counts for beside its text, so that empty ones are bounded, too."""

_NO_END: Final = "the stream never said that the call was complete"
_UNDECIDABLE: Final = (
    "The stream does not say to which call a part of it belongs ({reason}), and this call may lack it or have it by "
    "mistake. Send the call again, one call at a time."
)


class Slot:
    """One call while it comes in."""

    __slots__ = (
        *("_half", "_pieces", "closed", "doubt", "draft", "name", "position", "reader", "size", "value", "wire_id"),
    )

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
        self._half = ""
        """The first half of a character whose second one is still to come."""

        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        whole = self._pieces[0] if self._pieces else ""
        return f"{whole}{self._half}" if self._half else whole

    @property
    def arguments(self) -> object:
        """What the complete message would hold: the text, or the value where none came."""
        if self.draft is not None and self.value is None:
            return self.draft.value
        return self.text if self.text or self.value is None else self.value

    @property
    def has_begun(self) -> bool:
        """Whether anything of the arguments has come."""
        return bool(self._pieces or self._half) or self.value is not None

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are one complete object, which any more text would break."""
        return self.value is not None or (self.reader.is_whole and self.reader.is_object)

    @property
    def is_open(self) -> bool:
        return not (self.closed or self.is_whole)

    def write(self, text: str) -> str:
        """Add *text* to the arguments; answer what is new in whole characters."""
        if self._half or not is_encodable(text):
            text, self._half = f"{self._half}{text}", ""
            if "\ud800" <= text[-1] <= "\udbff":
                text, self._half = text[:-1], text[-1]
            text = paired(text)
        if text:
            self._pieces.append(text)
            self.reader.feed(text)
        return text

    def forget(self) -> None:
        """Let go of what is of no use any more."""
        self._pieces, self._half = [], ""
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
        if text := slot.write(text):
            self.news.append(ArgumentsGrew(slot.position, text))

    def put(self, slot: Slot, value: object) -> None:
        """Give *slot* arguments that came as a value."""
        self.latest = slot
        if not self._has_room(slot, _weight_of(value, self._limits.call_bytes)):
            return
        if slot.has_begun and not is_alike(slot.value, value):
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

    def keep_value(self, value: object) -> None:
        """Count the bytes of the JSON *value*, which is kept.

        Raises:
            StreamLimitError: They are too many.
        """
        self.keep(_weight_of(value, self._limits.message_bytes))

    def defects(
        self, places: Mapping[int, Slot], cut: str | None, *, lost: bool, closes: bool = False
    ) -> dict[int, CallDefect]:
        """The defects of the calls of a message that has ended, by their places in it.

        Args:
            places: Which call stands where.
            cut: Why the message was cut off, if it was.
            lost: Whether nobody said that it had ended.
            closes: Whether this provider says of each call when it is complete.
        """
        found: dict[int, CallDefect] = {}
        for place, slot in places.items():
            if slot.doubt is not None:
                found[place] = slot.doubt
            elif cut is not None and (slot is self.latest or (lost and not slot.closed and not slot.is_whole)):
                found[place] = cut_off(cut, slot.arguments)
            elif closes and slot.is_open:
                found[place] = cut_off(_NO_END, slot.arguments)
        return found


def size_of(text: str) -> int:
    """Bytes of *text* in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def is_alike(one: object, other: object) -> bool:
    """Whether both say the same; what is too deep to be compared does not."""
    try:
        return one == other
    except RecursionError:
        return False


def _weight_of(value: object, enough: int) -> int:
    """About how many bytes *value* is in JSON, however deep it is; of one that stands inside of itself, *enough*."""
    weight = 0
    waiting = [value]
    while waiting and weight <= enough:
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
    return encodable(slot.text) if slot.value is None else write_arguments(arguments)
