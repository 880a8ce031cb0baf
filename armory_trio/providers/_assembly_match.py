"""Whose a fragment of a Chat Completions stream is: by id first, then by index, then by position.

The protocol says that each fragment has the index of its call, and the first one its id and its name. Compatible
servers leave out any of these, say them again, or give several calls one index. Whatever has only one reading is read;
for anything else all calls that it could mean are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from ._assembly_calls import Calls, Slot

__all__ = ("Fragment", "Matcher")

_EARLY: Final = "it came before the name of its call"
_REMEMBERED: Final = 64
"""Bytes that an index counts for."""


class Fragment(msgspec.Struct, frozen=True):
    """One entry of ``delta.tool_calls``.

    Args:
        wire_id: Its id, None when there is none.
        index: Its index, None when there is none.
        name: Its name or a piece of it, empty when there is none.
        text: Its piece of the arguments.
        at: Its place among the entries of its chunk.
        count: How many entries its chunk has.
    """

    wire_id: str | None
    index: int | None
    name: str
    text: str
    at: int
    count: int


class Matcher:
    """Finds the call of each fragment, or begins one.

    Args:
        calls: The calls so far.
        tools: The names that were offered, if they are known. They decide where a name that was said twice and one
            that came in two equal halves look alike.
    """

    __slots__ = ("_by_index", "_calls", "_echoed", "_strays", "_tools")

    def __init__(self, calls: Calls, tools: Collection[str] | None) -> None:
        self._calls = calls
        self._tools = tools
        self._by_index: dict[int, list[Slot]] = {}
        self._echoed: Slot | None = None
        """The call whose name came once more when it was whole: an echo, or the next call of that tool."""

        self._strays: dict[int, Slot | None] = {}
        """By an index that no call had when a piece came under it: the call that it was taken for."""

    def slot_of(self, piece: Fragment) -> Slot | None:
        """The call of *piece*, with its id and name taken over; None when it was refused or says nothing."""
        if piece.wire_id is not None:
            return self._by_id(piece, piece.wire_id)
        if piece.index is not None:
            return self._at_index(piece, self._by_index.get(piece.index, []))
        return self._at_position(piece)

    def _by_id(self, piece: Fragment, wire_id: str) -> Slot | None:
        owners = [slot for slot in self._calls.slots if slot.wire_id == wire_id]
        holders = self._by_index.get(piece.index, []) if piece.index is not None else []
        if not owners:
            return self._new_id(piece, holders)
        slot = owners[-1]
        if piece.index is None or slot in holders or not (holders or piece.name):
            return self._goes_on(slot, piece)
        if holders:
            self._calls.doubt([slot, *holders], "its id and its index are those of two calls")
            return None
        if slot.is_whole or not slot.has_begun:
            return self._begin(piece)
        self._calls.doubt([slot, self._begin(piece)], "two calls have one id")
        return None

    def _new_id(self, piece: Fragment, holders: Sequence[Slot]) -> Slot | None:
        if not holders:
            nameless = [slot for slot in self._open() if slot.wire_id is None]
            if piece.index is None and not piece.name and len(nameless) == 1:
                return self._adopt(nameless[0], piece)
            return self._begin(piece)
        slot = holders[-1]
        if slot.wire_id is None and slot.is_open and (piece.name in ("", slot.name) or not slot.has_begun):
            return self._adopt(slot, piece)
        if slot.wire_id is None and not slot.name:
            self._calls.doubt([slot, self._begin(piece)], _EARLY)
            return None
        if piece.name:
            return self._begin(piece)
        self._calls.doubt(holders, "its id is new and its index is not")
        return None

    def _at_index(self, piece: Fragment, holders: Sequence[Slot]) -> Slot | None:
        if not holders:
            return self._begin(piece) if piece.name else self._orphan(piece)
        still_open = [slot for slot in holders if slot.is_open]
        if len(still_open) > 1:
            self._calls.doubt(still_open, "several calls have one index")
            return None
        return self._follows(still_open[0] if still_open else holders[-1], piece)

    def _at_position(self, piece: Fragment) -> Slot | None:
        slots = self._calls.slots
        if piece.count > 1 and piece.at < len(slots):
            return self._follows(slots[piece.at], piece)
        still_open = self._open()
        if not piece.name:
            return self._orphan(piece)
        if not still_open:
            is_echo = bool(slots) and slots[-1].name == piece.name and not piece.text.strip()
            self._echoed = slots[-1] if is_echo else None
            return self._echoed or self._begin(piece)
        alike = [slot for slot in still_open if slot.name == piece.name]
        if len(still_open) == 1 and (alike or still_open[0].has_begun):
            return self._goes_on(alike[0], piece) if alike else self._begin(piece)
        self._calls.doubt([*still_open, *([] if alike else [self._begin(piece)])], "it has neither an id nor an index")
        return None

    def _follows(self, slot: Slot, piece: Fragment) -> Slot | None:
        """*piece* stands where *slot* stood: it goes on with it, or with another name begins the next call there."""
        if piece.name in ("", slot.name) or (not slot.has_begun and self._is_rest_of_name(slot, piece.name)):
            return self._goes_on(slot, piece)
        if not slot.name:
            self._calls.doubt([slot, self._begin(piece)], _EARLY)
            return None
        if slot.is_whole:
            return self._begin(piece)
        self._calls.doubt([slot, self._begin(piece)], "its place is that of a call with another name")
        return None

    def _is_rest_of_name(self, slot: Slot, name: str) -> bool:
        """Whether *name*, which came without an id, can't be that of another call."""
        if slot.wire_id is not None:
            return True  # a server that gives ids gives one to each call
        return self._tools is not None and not (name in self._tools and slot.name in self._tools)

    def _orphan(self, piece: Fragment) -> Slot | None:
        """A fragment that says of no call that it is its own."""
        slots, still_open = self._calls.slots, self._open()
        if not slots:
            return self._begin(piece)
        if piece.text.strip() and not still_open and self._echoed is slots[-1]:
            # The name that was said again was no echo: arguments that are whole take no more text.
            return self._begin(msgspec.structs.replace(piece, name=slots[-1].name))
        if len(slots) == 1 or (piece.index is None and len(still_open) == 1):
            taken = still_open[-1] if still_open else slots[-1]
            self._stray(piece, taken)
            return taken
        if piece.text:
            self._calls.doubt(still_open or slots, "its index is that of no call")
            self._stray(piece, None)
        return None

    def _stray(self, piece: Fragment, taken: Slot | None) -> None:
        if piece.index is not None and piece.text and piece.index not in self._strays:
            self._calls.keep(_REMEMBERED)
            self._strays[piece.index] = taken

    def _open(self) -> list[Slot]:
        return [slot for slot in self._calls.slots if slot.is_open]

    def _begin(self, piece: Fragment) -> Slot:
        slot = self._calls.begin(piece.wire_id, piece.name)
        if piece.index is not None:
            self._by_index.setdefault(piece.index, []).append(slot)
            if piece.index in self._strays:
                taken = self._strays[piece.index]
                self._calls.doubt([slot] if taken is None else [taken, slot], _EARLY)
        return slot

    def _adopt(self, slot: Slot, piece: Fragment) -> Slot:
        slot.wire_id = piece.wire_id
        return self._goes_on(slot, piece)

    def _goes_on(self, slot: Slot, piece: Fragment) -> Slot:
        if not piece.name or piece.name == slot.name:
            if piece.name and not slot.has_begun and not piece.text:
                self._named(slot, piece.name)
            return slot
        if slot.has_begun and slot.name:
            self._calls.doubt([slot], "its name changes after its arguments have begun")
        else:
            self._named(slot, piece.name)
        return slot

    def _named(self, slot: Slot, name: str) -> None:
        """Take over *name*: the rest of the name so far, or all of it said again."""
        joined = slot.name + name
        if not slot.name or not name.startswith(slot.name):
            slot.name = joined
        elif self._tools is None:
            slot.name = name
        elif joined in self._tools and name in self._tools:
            self._calls.doubt([slot], f"its name is {name!r} or {joined!r}")
        else:
            slot.name = joined if joined in self._tools else name
        self._calls.keep(len(name))
