"""What an assembler answers while a stream comes in, how much it keeps, and how it says that this is too little."""

from __future__ import annotations

from typing import Final

import msgspec

from ..definitions import CallDefect
from ..definitions._checks import count
from ..errors import ArmoryError

__all__ = (
    "DEFAULT_ASSEMBLY_LIMITS",
    "ArgumentsGrew",
    "AssemblyLimits",
    "AssemblyOver",
    "CallBegan",
    "CallClosed",
    "CallPreview",
    "CallRefused",
    "StreamLimitError",
    "StreamNews",
)


class AssemblyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a stream is kept.

    Args:
        calls: The most calls of one message. One more raises `StreamLimitError`.
        call_bytes: The most bytes of one call's arguments, in UTF-8. A longer call is refused; the others go on.
        message_bytes: The most bytes that are kept of the whole message. More raises `StreamLimitError`.

    Raises:
        DefinitionError: One of them is no whole number from 1 on.
    """

    calls: int = 128
    call_bytes: int = 1024 * 1024
    message_bytes: int = 32 * 1024 * 1024

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            count("AssemblyLimits", name, getattr(self, name))


DEFAULT_ASSEMBLY_LIMITS: Final = AssemblyLimits()


class StreamLimitError(ArmoryError):
    """A stream holds more than is kept of one. Nothing of its message can be used.

    Args:
        limit: The field of `AssemblyLimits`.
        allowed: Its value.
    """

    __module__ = "armory_trio.providers"

    def __init__(self, limit: str, allowed: int) -> None:
        what = {"calls": "calls", "message_bytes": "bytes of one message"}[limit]
        super().__init__(f"the stream has more than {allowed} {what}; end the request, or raise AssemblyLimits.{limit}")
        self.limit = limit
        self.allowed = allowed


class AssemblyOver(ArmoryError):
    """An assembler was fed after its turn was asked for. Make a new one for each message."""

    __module__ = "armory_trio.providers"

    def __init__(self) -> None:
        super().__init__("the turn of this message was asked for already; make a new assembler for each message")


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
