"""One text made to fit: its head, its tail, and a marker that says how much is missing between them."""

from __future__ import annotations

from typing import Final

import msgspec

from ...definitions._declared import Declared
from .._scalars import encodable
from ._borders import border_after, border_before
from ._caps import Cap, Room

_DEARER: Final = 4
"""A cut moves to the border of a line when no more than this part of the room is lost: half a number reads like a whole
one, and half a line says something else."""


class Size(Declared, frozen=True):
    """How large a text is.

    Args:
        characters: Code points.
        bytes: In UTF-8.
        lines: Ended by a line feed; what follows the last one counts, too.
    """

    characters: int
    bytes: int
    lines: int

    def fits(self, room: Room) -> bool:
        """Whether there is room for it in every unit."""
        return self.characters <= room.characters and self.bytes <= room.bytes and self.lines <= room.lines


NOTHING: Final = Size(0, 0, 0)


class CutText(msgspec.Struct, frozen=True):
    """What is left of a text.

    Args:
        head: Its beginning.
        marker: What stands in the gap; empty when nothing is missing, or when there was no room for it.
        tail: Its end.
        size: How large the whole text was.
        omitted: How much of it is missing.
    """

    head: str
    marker: str
    tail: str
    size: Size
    omitted: Size

    @property
    def text(self) -> str:
        """The three together."""
        return f"{self.head}{self.marker}{self.tail}"

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return self.omitted.characters > 0


def size_of(text: str) -> Size:
    """How large *text* is, which must be encodable."""
    octets = len(text) if text.isascii() else len(text.encode())
    return Size(len(text), octets, text.count("\n") + (bool(text) and not text.endswith("\n")))


def truncate_text(text: str, cap: Cap) -> str:
    r"""*text*, or as much of it as fits into *cap* together with the marker. Never half a character.

    Lone surrogates, which no encoding takes, are written as the escape ``\udxxx``.
    """
    return cut_text(text, cap).text


def safe_slice(text: str, characters: int) -> str:
    """The first *characters* code points of *text*, or a few less so that no character is cut in half."""
    return text if characters >= len(text) else text[: border_before(text, max(0, characters))]


def cut_text(text: str, cap: Cap) -> CutText:
    """The same as `truncate_text`, in its parts."""
    text = encodable(text)
    size = size_of(text)
    if size.fits(cap.room):
        return CutText(text, "", "", size, NOTHING)
    widest = size_of(marker_for(cap.marker, size))
    marked = cap.room.less(widest.characters, widest.bytes, cap.marker.strip("\n").count("\n") + 1)
    if not cap.marker or 0 in marked:
        head, tail = ends_of(text, cap, cap.room)
        return CutText(head, "", tail, size, _between(text, head, tail))
    head, tail = ends_of(text, cap, marked)
    omitted = _between(text, head, tail)
    return CutText(head, place_marker(head, marker_for(cap.marker, omitted), tail), tail, size, omitted)


def marker_for(template: str, omitted: Size, prefix: str = "") -> str:
    """The marker with its numbers, each behind *prefix*."""
    for unit in ("bytes", "characters", "lines"):
        template = template.replace(f"{{{unit}}}", f"{prefix}{getattr(omitted, unit)}")
    return template


def place_marker(head: str, marker: str, tail: str) -> str:
    """The marker without the line breaks that would only make blank lines."""
    if not head or head.endswith("\n"):
        marker = marker.removeprefix("\n")
    if not tail or tail.startswith("\n"):
        marker = marker.removesuffix("\n")
    return marker


def ends_of(text: str, cap: Cap, room: Room) -> tuple[str, str]:
    """The head and the tail of *text* that are kept, together not larger than *room*, which *text* is."""
    data = text.encode()
    match cap.keep:
        case "head":
            return text[: head_end(text, data, room)], ""
        case "tail":
            return "", text[tail_start(text, data, room) :]
        case "both":
            end = head_end(text, data, room.half())
            head = text[:end]
            taken = size_of(head)
            start = tail_start(text, data, room.less(taken.characters, taken.bytes, taken.lines))
            return head, text[max(start, end) :]


def head_end(text: str, data: bytes, room: Room) -> int:
    """Where the beginning of *text* ends that there is room for; *data* is the text in UTF-8."""
    end = min(len(text), room.characters)
    if room.bytes < len(data):
        end = min(end, len(data[: room.bytes].decode("utf-8", "ignore")))
    end = border_before(text, min(end, _after_lines(text, room.lines)))
    line = text.rfind("\n", 0, end) + 1
    return line if end < len(text) and 0 < line >= end - end // _DEARER else end


def tail_start(text: str, data: bytes, room: Room) -> int:
    """Where the end of *text* starts that there is room for."""
    start = max(0, len(text) - room.characters)
    if room.bytes < len(data):
        first = len(data) - room.bytes
        while first < len(data) and data[first] & 0xC0 == 0x80:
            first += 1
        start = max(start, len(text) - len(data[first:].decode()))
    start = border_after(text, max(start, _before_lines(text, room.lines)))
    line = text.find("\n", start) + 1
    partial = start > 0 and text[start - 1] != "\n"
    return line if partial and 0 < line <= start + (len(text) - start) // _DEARER else start


def _after_lines(text: str, lines: int) -> int:
    """Where the first *lines* lines end."""
    end = 0
    for _ in range(min(lines, len(text))):
        end = text.find("\n", end) + 1
        if not end:
            return len(text)
    return end


def _before_lines(text: str, lines: int) -> int:
    """Where the last *lines* lines start."""
    if lines == 0:
        return len(text)
    start = len(text) - text.endswith("\n")
    for _ in range(min(lines, len(text) + 1)):
        start = text.rfind("\n", 0, start)
        if start < 0:
            return 0
    return start + 1


def _between(text: str, head: str, tail: str) -> Size:
    return size_of(text[len(head) : len(text) - len(tail)])


class HeadAndTail(Declared, frozen=True):
    """Both ends of a text, for whoever shows them in a form of their own.

    Args:
        head: The beginning; the whole text when nothing is missing.
        tail: The end; never overlaps the head.
        size: Bytes of the whole text in UTF-8.
        omitted: Bytes that are missing.
    """

    head: str
    tail: str
    size: int
    omitted: int

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return self.omitted > 0


def head_and_tail(
    text: str, max_bytes: int, head_bytes: int | None = None, tail_bytes: int | None = None
) -> HeadAndTail:
    """Both ends of *text*, together at most *max_bytes* of UTF-8, without a marker.

    Args:
        text: Any text.
        max_bytes: For both together; nothing is missing from a text that fits.
        head_bytes: For the head; by default half of *max_bytes*, rounded up.
        tail_bytes: For the tail; by default what the budget of the head leaves.
    """
    text = encodable(text)
    data = text.encode()
    if len(data) <= max_bytes:
        return HeadAndTail(text, "", len(data), 0)
    room = Cap(bytes=max(0, max_bytes)).room
    front = min(room.bytes, (room.bytes + 1) // 2 if head_bytes is None else max(0, head_bytes))
    back = min(room.bytes - front, room.bytes if tail_bytes is None else max(0, tail_bytes))
    end = head_end(text, data, room._replace(bytes=front))
    start = max(end, tail_start(text, data, room._replace(bytes=back)))
    head, tail = text[:end], text[start:]
    return HeadAndTail(head, tail, len(data), len(data) - len(head.encode()) - len(tail.encode()))
