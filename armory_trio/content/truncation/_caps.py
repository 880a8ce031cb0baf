"""How much a model gets to read: the bounds of one text, and those of a whole result."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import attrs

from ...definitions._checks import one_of, shown, text
from ...errors import DefinitionError
from .._scalars import encodable

Keep = Literal["head", "tail", "both"]
"""Which part of a text that is too long stays: its beginning, its end, or both."""

DEFAULT_RESULT_BYTES: Final = 8_000
"""What a model reads of a result: some 2,000 tokens of English."""

DEFAULT_ERROR_BYTES: Final = 2_000
"""What it reads of an error, in all: the sentences about what happened take 200 of them."""

DEFAULT_MEDIA_BYTES: Final = 5_000_000
"""Pictures and sounds of one result; the providers refuse more."""

MARKER: Final = "\n[... bytes left out: {bytes} ...]\n"
"""What stands in the place of the part that was left out."""

LEAST: Final = 400
"""The smallest bound of a result or an error: room for the sentences that say how the call ended."""

UNBOUNDED: Final = 2**62


class Room(NamedTuple):
    """How much still fits, in each unit."""

    characters: int
    bytes: int
    lines: int

    def less(self, characters: int, octets: int, lines: int) -> Room:
        """What is left beside something of that size; never below nothing."""
        return Room(
            max(0, self.characters - characters),
            max(0, self.bytes - octets),
            max(0, self.lines - lines),
        )

    def half(self) -> Room:
        """The larger half of it."""
        return Room(*((amount + 1) // 2 for amount in self))


def _check_amount(subject: str, field: str, value: object, *, least: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        reason = f"must be a whole number from {least} on, or None for no bound, not {shown(value)}"
        raise DefinitionError(subject, field, reason)


@attrs.frozen(kw_only=True)
class Cap:
    """How much of one text is kept at most, the marker for the rest included. At least one bound is given.

    Args:
        bytes: In UTF-8.
        characters: Code points, as `len` counts them.
        lines: Ended by a line feed; what follows the last one counts, too.
        keep: ``head``, ``tail``, or ``both`` with the gap in the middle.
        marker: Stands in the gap; ``{bytes}``, ``{characters}`` and ``{lines}`` become the numbers of what is missing.
            Where it does not fit itself it is left out.

    Raises:
        DefinitionError: There is no bound, one is no whole number from 0 on, or another field is wrong.
    """

    bytes: int | None = None
    characters: int | None = None
    lines: int | None = None
    keep: Keep = "both"
    marker: str = MARKER

    def __attrs_post_init__(self) -> None:
        bounds = {"bytes": self.bytes, "characters": self.characters, "lines": self.lines}
        if all(bound is None for bound in bounds.values()):
            raise DefinitionError("Cap", "bytes", "no bound is given: set bytes, characters or lines")
        for name, bound in bounds.items():
            _check_amount("Cap", name, bound, least=0)
        one_of("Cap", "keep", self.keep, ("head", "tail", "both"))
        text("Cap", "marker", self.marker)
        if encodable(self.marker) != self.marker:
            raise DefinitionError("Cap", "marker", "holds half a character, which no encoding takes")

    @property
    def room(self) -> Room:
        """The bounds as numbers."""
        return Room(*(UNBOUNDED if it is None else it for it in (self.characters, self.bytes, self.lines)))

    def narrowed(self, amount: int) -> Cap:
        """The same with that many bytes and characters less, for what is put around the text."""
        return attrs.evolve(
            self,
            bytes=None if self.bytes is None else max(0, self.bytes - amount),
            characters=None if self.characters is None else max(0, self.characters - amount),
        )


@attrs.frozen(kw_only=True)
class ResultCaps:
    """How much of a result a model gets to read.

    Args:
        result: For all the words of a success together; bytes or characters, 400 or more. Lines bind each text for
            itself.
        error: For all the words about anything else, the sentences on what happened included.
        media: Bytes of all pictures and sounds together; None for no bound. What does not fit is named, not included.
        blobs: Whether base64 in texts is replaced by a note of its kind and size.

    Raises:
        DefinitionError: A bound has neither bytes nor characters, or is too small to say anything.
    """

    result: Cap = Cap(bytes=DEFAULT_RESULT_BYTES)
    error: Cap = Cap(bytes=DEFAULT_ERROR_BYTES)
    media: int | None = DEFAULT_MEDIA_BYTES
    blobs: bool = True

    def __attrs_post_init__(self) -> None:
        for name in ("result", "error"):
            cap: object = getattr(self, name)
            if not isinstance(cap, Cap):
                raise DefinitionError("ResultCaps", name, f"must be Cap(...), not {shown(cap)}")
            bounds = [bound for bound in (cap.bytes, cap.characters) if bound is not None]
            if not bounds or min(bounds) < LEAST:
                raise DefinitionError("ResultCaps", name, f"needs bytes or characters, {LEAST} or more")
            if cap.lines == 0:
                raise DefinitionError("ResultCaps", name, "has 0 lines; give at least 1, or None for no bound")
        _check_amount("ResultCaps", "media", self.media, least=0)
        if not isinstance(self.blobs, bool):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller may pass anything
            raise DefinitionError("ResultCaps", "blobs", f"must be True or False, not {shown(self.blobs)}")
