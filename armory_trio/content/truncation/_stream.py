"""A stream made to fit while it flows: chunk by chunk, in bounded memory, never over the cap."""

from __future__ import annotations

from collections import deque
from typing import Final

from ...definitions._plurals import counted
from ...errors import DefinitionError
from .._codec import encode_json
from .._scalars import encodable
from ._blobs import BlobStripper
from ._borders import LONGEST
from ._caps import Cap, Room
from ._text import Size, head_end, marker_for, place_marker, size_of, tail_start

_WIDEST: Final = Size(10**18, 10**18, 10**18)
"""Stands for the size of a stream before it is known: the widest numbers that a marker has to hold."""

_AT_LEAST: Final = "at least "
_SLACK: Final = 4 * LONGEST
"""Bytes of one character at most. Only so near to its end does the head have to see what follows it."""


class _Meter:
    """How large the chunks are together."""

    def __init__(self) -> None:
        self.characters = 0
        self.bytes = 0
        self.breaks = 0
        self.open = False

    def add(self, text: str, *, whole: bool) -> None:
        """Count *text*; a *whole* chunk is a line of its own."""
        size = size_of(text)
        self.characters += size.characters
        self.bytes += size.bytes
        self.breaks += 1 if whole else text.count("\n")
        self.open = not whole and bool(text) and not text.endswith("\n")

    @property
    def size(self) -> Size:
        return Size(self.characters, self.bytes, self.breaks + self.open)

    def room_in(self, room: Room) -> Room:
        """What is left of *room* behind these chunks; a line that has begun goes on."""
        return room.less(self.characters, self.bytes, self.breaks)


class StreamTruncator:
    """Cuts a stream of chunks to a cap, the marker included, without waiting for its end.

    Chunks of the head go on at once, but for the last few hundred bytes before the cap, which wait until it is known
    whether the rest fits. Of the rest no more is held than fits. Chunks of text are cut between characters; any other
    chunk counts as its JSON, and is passed whole or not at all. A character that its producer has cut in two chunks is
    put together again. Not safe for use by several tasks at once.

    Args:
        cap: For all chunks together; it has bytes or characters.
        blobs: Whether data URIs of base64 in texts are replaced by a note, also those spread over chunks.

    Raises:
        DefinitionError: *cap* bounds only lines.

    Example:
        ::

            truncator = StreamTruncator(Cap(bytes=8_000, keep="head"))
            async with aclosing(chunks):
                async for chunk in chunks:
                    for kept in truncator.feed(chunk):
                        yield kept
                    if truncator.full:
                        break
            for kept in truncator.finish(complete=not truncator.full):
                yield kept
    """

    def __init__(self, cap: Cap, *, blobs: bool = True) -> None:
        if cap.bytes is None and cap.characters is None:
            raise DefinitionError("StreamTruncator", "cap", "needs bytes or characters: a line may have no end")
        self._cap = cap
        widest = size_of(marker_for(cap.marker, _WIDEST, _AT_LEAST))
        marked = cap.room.less(widest.characters, widest.bytes, cap.marker.strip("\n").count("\n") + 1)
        self._marked = bool(cap.marker) and 0 not in marked
        room = marked if self._marked else cap.room
        self._head_room = {"head": room, "tail": Room(0, 0, 0), "both": room.half()}[cap.keep]
        self._room = room
        self._seen = _Meter()
        self._passed = _Meter()
        self._last = self._head_end = ""
        self._half = ""
        self._blobs = BlobStripper() if blobs else None
        self._held: deque[tuple[object, str]] = deque()
        self._held_size = 0
        self._over = False
        self._finished = False

    def __repr__(self) -> str:
        return f"<StreamTruncator {self._cap}: {counted(self.held, 'character')} held{', full' if self.full else ''}>"

    @property
    def full(self) -> bool:
        """Whether nothing more can come through, so that the source may be closed."""
        return self._over and self._cap.keep == "head"

    @property
    def held(self) -> int:
        """How many characters are held back now."""
        return self._held_size

    @property
    def omitted(self) -> Size:
        """How much was fed and is not passed on, so far."""
        seen, passed = self._seen, self._passed
        return Size(
            seen.characters - passed.characters,
            seen.bytes - passed.bytes,
            max(0, seen.size.lines - passed.size.lines),
        )

    def feed(self, chunk: object) -> list[object]:
        """The chunks that may go on now that *chunk* has come.

        Raises:
            UnencodableResult: *chunk* is no text and has no JSON.
        """
        if isinstance(chunk, str):
            text, self._half = _without_half(self._half + chunk)
            return self._take_text(encodable(text))
        flushed = self._flush()
        return [*flushed, *self._take(chunk, encode_json(chunk))]

    def finish(self, *, complete: bool = True) -> list[object]:
        """What is still to go on at the end: what was held, or the marker and the tail.

        Args:
            complete: Whether the source was read to its end; otherwise the marker says that at least so much is missing.
        """
        if self._finished:
            return []
        passed = self._flush()
        self._finished = True
        if not self._over:
            return [*passed, *(self._pass(chunk, text) for chunk, text in self._drain())]
        tail = self._cut_tail()
        for chunk, text in tail:
            self._pass(chunk, text)
        marker = marker_for(self._cap.marker, self.omitted, "" if complete else _AT_LEAST) if self._marked else ""
        marker = place_marker(self._head_end, marker, tail[0][1] if tail else "")
        return [*passed, *([marker] if marker else []), *(chunk for chunk, _ in tail)]

    def _flush(self) -> list[object]:
        """Take what was held back for the sake of what might have followed it."""
        half, self._half = encodable(self._half), ""
        passed = self._take_text(half)
        held = "" if self._blobs is None else self._blobs.end()
        return [*passed, *(self._take(held, held) if held else [])]

    def _take_text(self, text: str) -> list[object]:
        if self._blobs is not None:
            text = self._blobs.feed(text)
        return self._take(text, text) if text else []

    def _take(self, chunk: object, text: str) -> list[object]:
        self._seen.add(text, whole=not isinstance(chunk, str))
        self._held.append((chunk, text))
        self._held_size += len(text)
        if not self._over and self._seen.size.fits(self._cap.room):
            return self._pass_early()
        passed = [] if self._over else self._cut_head()
        self._over = True
        self._trim()
        return passed

    def _pass_early(self) -> list[object]:
        """Pass what belongs to the head, whatever comes."""
        room = self._head_room
        safe = Room(room.characters - LONGEST, room.bytes - _SLACK, room.lines)
        if len(self._held) > 1 or not self._seen.size.fits(safe):
            return []
        return [self._pass(chunk, text) for chunk, text in self._drain()]

    def _cut_head(self) -> list[object]:
        """Pass what is held as far as the head goes, and go on holding the rest."""
        room = self._passed.room_in(self._head_room)
        text = "".join(text for _, text in self._held)
        left = head_end(text, text.encode(), room)
        passed: list[object] = []
        while self._held and left > 0:
            chunk, text = self._held[0]
            if len(text) > left and not isinstance(chunk, str):
                break
            self._held.popleft()
            if len(text) > left:
                self._held.appendleft((text[left:], text[left:]))
                chunk, text = text[:left], text[:left]
            self._held_size -= len(text)
            left -= len(text)
            passed.append(self._pass(chunk, text))
        self._head_end = self._last
        return passed

    def _trim(self) -> None:
        """Let go of what cannot become part of the tail."""
        if self._cap.keep == "head":
            self._drain()
            return
        wanted = min(self._room.characters, self._room.bytes) + LONGEST
        while len(self._held) > 1 and self._held_size - len(self._held[0][1]) >= wanted:
            self._held_size -= len(self._held.popleft()[1])
        chunk, text = self._held[0] if self._held else (None, "")  # the head may have taken all of it
        if isinstance(chunk, str) and len(text) > wanted:
            self._held[0] = (text[-wanted:], text[-wanted:])
            self._held_size += wanted - len(text)

    def _cut_tail(self) -> list[tuple[object, str]]:
        """What is held, as far as the tail reaches back."""
        taken = self._passed.size
        room = self._room.less(taken.characters, taken.bytes, taken.lines)
        held = self._drain()
        text = "".join(text for _, text in held)
        start = tail_start(text, text.encode(), room)
        tail: list[tuple[object, str]] = []
        for chunk, piece in held:
            if start <= 0:
                tail.append((chunk, piece))
            elif start < len(piece) and isinstance(chunk, str):
                tail.append((piece[start:], piece[start:]))
            start -= len(piece)
        return tail

    def _drain(self) -> list[tuple[object, str]]:
        held = list(self._held)
        self._held.clear()
        self._held_size = 0
        return held

    def _pass(self, chunk: object, text: str) -> object:
        self._passed.add(text, whole=not isinstance(chunk, str))
        self._last = text
        return chunk


def _without_half(text: str) -> tuple[str, str]:
    """*text* without the half of a character at its end, and that half."""
    return (text[:-1], text[-1]) if text and "\ud800" <= text[-1] <= "\udbff" else (text, "")
