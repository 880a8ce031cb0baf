"""Putting a stream of a model's message together: what all providers' assemblers share.

No I/O happens here. An assembler is fed events and answers what is new in them; at the end it gives the `Turn` that the
parser of the whole message would give. Where a stream leaves open whose a fragment is, every call that it could belong
to is refused. A call runs only when it is certain that nothing more was to come for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, cast

from ..definitions import CallDefect
from ..definitions._checks import shown
from ..definitions._plurals import counted
from ..errors import DefinitionError
from ._assembly_calls import Calls
from ._assembly_news import (
    DEFAULT_ASSEMBLY_LIMITS,
    AssemblyLimits,
    AssemblyOver,
    CallPreview,
    StreamLimitError,
    StreamNews,
)
from ._doors import require_way_back
from ._message import MessageError
from ._text import sendable_json
from ._turn import Dialect, Found, Json, Provider, Turn, WayBack, build_turn

__all__ = ("Assembler", "Chosen")

LOST: Final = "the stream broke off"
"""Why calls are refused when nobody said that the message was complete."""

_UNREADABLE: Final = (
    "An event of the stream could not be read, so this call may lack a part. Send the whole call again."
)


class Chosen:
    """The one of several alternatives of a message that the conversation goes on with.

    Args:
        what: What the provider calls them.
        index: Which one it is.
    """

    __slots__ = ("_has_come", "_index", "_others", "_what")

    def __init__(self, what: str, index: int) -> None:
        self._what = what
        self._index = index
        self._has_come = False
        self._others: set[int] = set()

    def takes(self, index: object) -> bool:
        """Whether what has *index* is read; what has none is."""
        if type(index) is int and index != self._index:
            if len(self._others) < _NAMED:
                self._others.add(index)
            return False
        self._has_come = True
        return True

    def require(self) -> None:
        """Check that it has come, unless nothing has.

        Raises:
            MessageError: Only others have come.
        """
        if self._others and not self._has_come:
            found = ", ".join(map(str, sorted(self._others)))
            wanted = f"one with the index {self._index}; those of the stream have {found}"
            raise MessageError(f"$.{self._what}", None, wanted)


_NAMED: Final = 10
"""Indices of others that an error names."""


class Assembler(ABC):
    """Puts the events of one streamed message together. Make a new one for each message.

    Args:
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        manifest: What the model was offered: names and arguments are mapped back to what the tools' contracts say.
        limits: How much is kept.

    Raises:
        DefinitionError: An argument has the wrong type, or *manifest* was made for another provider.
    """

    provider: ClassVar[Provider]

    def __init__(
        self,
        *,
        names: Mapping[str, str] | None = None,
        manifest: WayBack | None = None,
        limits: AssemblyLimits = DEFAULT_ASSEMBLY_LIMITS,
    ) -> None:
        require_way_back(self.provider, names, manifest)
        if not isinstance(cast("object", limits), AssemblyLimits):
            reason = f"must be AssemblyLimits, not {shown(limits)}"
            raise DefinitionError(f"the {self.provider} assembler", "limits", reason)
        self._names = names
        self._manifest = manifest
        self._calls = Calls(limits)
        self._turn: Turn | None = None
        self._spent: StreamLimitError | None = None
        self._stop_reason: str | None = None
        self._lost: str | None = LOST
        """Why the message may have more to it; None once its end was seen."""

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {counted(len(self._calls.slots), 'call')}{', ended' if self.has_ended else ''}>"
        )

    def feed(self, event: object) -> tuple[StreamNews, ...]:
        """Take the next event, and say what is new in it.

        Args:
            event: Decoded JSON, or an event of the official SDK. Events that say nothing of calls are welcome.

        Raises:
            MessageError: It is no event of this provider, or a field of it has the wrong type. The calls that are
                still open are refused, since it may have been meant for them; the stream may be read on.
            StreamLimitError: There is more than the limits allow. The stream can't be used any more.
            AssemblyOver: The turn was asked for. What came now would be put to a message that has ended.
        """
        if self._spent is not None:
            raise self._spent
        if self._turn is not None:
            raise AssemblyOver
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
        that may have more to them are ``TRUNCATED_CALL`` and never run. Asked again, it answers the same turn; nothing
        can be fed any more.

        Raises:
            StreamLimitError: The stream had more than the limits allow.
            MessageError: It had choices or candidates, and the one that was asked for was not among them.
        """
        if self._spent is not None:
            raise self._spent
        if self._turn is None:
            self._turn = build_turn(self._found(), self._dialect(), self._names, self._manifest)
        return self._turn

    def message(self) -> Json:
        """The message to keep as history before the reply: as the provider wants it sent back.

        Made ids are written in, and arguments that are no JSON object are an empty one, since every provider refuses
        a history that has them otherwise. In the Responses API it has the items to keep in ``output``. It ends the
        message as `finish` does.

        Raises:
            StreamLimitError: The stream had more than the limits allow.
            MessageError: As for `finish`.
        """
        return cast("Json", sendable_json(self._written(self.finish())))

    @property
    def previews(self) -> tuple[CallPreview, ...]:
        """The calls as far as they have come, for people to look at while they wait."""
        return tuple(slot.preview for slot in self._calls.slots)

    @property
    def has_ended(self) -> bool:
        """Whether the message's own end was among the events, and nothing of a call behind it."""
        return self._lost is None

    def preview(self, position: int) -> CallPreview:
        """The call at *position* as far as it has come.

        Raises:
            IndexError: There is no such call, or not yet. The words say which there are.
        """
        slots = self._calls.slots
        if type(position) is not int or not 0 <= position < len(slots):
            there = f"there are 0 to {len(slots) - 1}" if slots else "none has come yet"
            raise IndexError(f"no call at the position {shown(position)}; {there}")
        return slots[position].preview

    def _end(self) -> None:
        """The message's own end has come; an error that came before it is not forgotten."""
        if self._lost == LOST:
            self._lost = None

    def _go_on(self) -> None:
        """More of a call has come, so that what seemed to be the message's end was none."""
        if self._lost is None:
            self._lost = LOST

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
