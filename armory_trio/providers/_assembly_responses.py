"""Events of a Responses API stream into a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, Final

from ._assembly import Assembler
from ._assembly_calls import Slot, argument_text, is_alike
from ._assembly_news import DEFAULT_ASSEMBLY_LIMITS, AssemblyLimits
from ._message import MessageError, as_json, field, items, piece, record, require_record, word, word_or_none
from ._openai_responses import RESPONSE_CUTS, RESPONSES
from ._text import paired, shortened
from ._turn import Dialect, Found, Json, Provider, Turn, WayBack

__all__ = ("ResponseAssembler",)

_EVENTS: Final = "an event of a response stream"
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done")
_ADDED: Final = "response.output_item.added"
_ITEM: Final = "response.output_item.done"
_DELTA: Final = "response.function_call_arguments.delta"
_DONE: Final = "response.function_call_arguments.done"
_PARTS: Final = (_ADDED, _ITEM, _DELTA, _DONE)
_CUSTOM: Final = "custom_tool_call"
"""Calls of another type that the host answers, and that stand in a history as ours do."""

_TWICE: Final = "its arguments came twice, and not alike"


class _Item:
    """One output item while it comes in."""

    __slots__ = ("entry", "index", "is_done", "item_id", "slot")

    def __init__(self, index: int | None, item_id: str | None, entry: Json, slot: Slot | None) -> None:
        self.index = index
        self.item_id = item_id
        self.entry = entry
        self.slot = slot
        self.is_done = False

    def whole(self) -> Json:
        is_said = self.slot is not None and self.slot.has_begun
        return {**self.entry, "arguments": self.slot.arguments} if self.slot is not None and is_said else self.entry


class ResponseAssembler(Assembler):
    """Puts the events of one streamed response of the Responses API together.

    Feed it the events of ``create(stream=True)`` or of ``stream()``, as the SDK's objects or as JSON.

    The arguments of a call come up to four times: in pieces, whole, in the finished item and in the finished response.
    A call whose arguments are not the same each time is refused.

    Args:
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        manifest: What the model was offered: names and arguments are mapped back to what the tools' contracts say.
        limits: How much is kept.
    """

    provider: ClassVar[Provider] = "openai-responses"

    def __init__(
        self,
        *,
        names: Mapping[str, str] | None = None,
        manifest: WayBack | None = None,
        limits: AssemblyLimits = DEFAULT_ASSEMBLY_LIMITS,
    ) -> None:
        super().__init__(names=names, manifest=manifest, limits=limits)
        self._items: list[_Item] = []
        self._cut: str | None = None
        self._numbers: dict[int, int] = {}
        """The number of the latest event of each call."""

        self._latest: int | None = None
        self._is_counting = False
        """Whether the numbers of the events go up: some servers give all of them the same."""

        self._is_astray = False
        """Whether a piece has come for which no call had begun."""

    def _take(self, event: object) -> None:
        node = require_record(event, "$", _EVENTS)
        kind = word(node, "$", "type")
        if kind is None:
            raise MessageError("$", node, _EVENTS)
        number = _whole(node, "sequence_number")
        if number is not None:
            self._is_counting = self._is_counting or (self._latest is not None and number > self._latest)
            self._latest = number
        if kind in _PARTS:
            self._go_on()
        if kind == _ADDED:
            self._in_turn(self._take_item(record(node, "$", "item"), _index(node), is_done=False), number)
        elif kind == _ITEM:
            self._in_turn(self._take_item(record(node, "$", "item"), _index(node), is_done=True), number)
        elif kind == _DELTA:
            self._grow(node, piece(node, "$", "delta"))
        elif kind == _DONE:
            self._close(node, None if field(node, "arguments") is None else piece(node, "$", "arguments"))
        elif kind in _ENDS:
            self._finished(record(node, "$", "response"))
        elif kind.startswith(("message_", "content_block_")):
            raise MessageError("$.type", kind, _EVENTS)
        elif kind == "error":
            said = word_or_none(node, "message") or word_or_none(field(node, "error"), "message") or "without words"
            self._lost = f"the provider sent an error: {shortened(said)}"

    def _in_turn(self, slot: Slot | None, number: int | None) -> None:
        """Refuse the call of *slot* when an event of it came late or twice."""
        if slot is None or number is None or number < 1:
            return  # 0 and less are what servers write that don't count these events, though they count others
        before = self._numbers.get(slot.position, -1)
        if number < before or (number == before and self._is_counting):
            self._calls.doubt([slot], "its events came in another order than they were sent, or twice")
        self._numbers[slot.position] = max(number, before)

    def _take_item(self, item: object, index: int | None, *, is_done: bool) -> Slot | None:
        """Take in *item*; answer its call."""
        kind = word(require_record(item, "$.item", "an output item"), "$.item", "type") or ""
        RESPONSES.read(item, "$.item", None)  # what is wrong with it is said now, and not at the end
        unfinished = frozenset(known for known in self._items if is_done and not known.is_done)
        known = self._known(item, index, unfinished)
        if known is None:
            known = self._begin(item, kind, index)
        elif not is_done and known.slot is not None and known.slot.has_begun:
            self._calls.doubt([known.slot], "it began twice")
        entry = as_json(item)
        self._calls.keep_value(entry)
        known.entry = {**known.entry, **entry}
        known.is_done = known.is_done or is_done
        if known.slot is not None:
            self._identify(known.slot, item)
        if known.slot is not None and is_done:  # what an item has at its beginning is no more than a seed
            self._say_whole(known.slot, field(item, "arguments"))
            self._calls.close(known.slot)
        return known.slot

    def _begin(self, item: object, kind: str, index: int | None) -> _Item:
        slot: Slot | None = None
        if kind == "function_call":
            name = field(item, "name")
            slot = self._calls.begin(word(item, "$.item", "call_id") or None, name if isinstance(name, str) else "")
            if self._is_astray:
                self._calls.doubt([slot], "it came before its call began")
        else:
            self._calls.latest = None
        known = _Item(index, word_or_none(item, "id") or None, {}, slot)
        self._items.append(known)
        return known

    def _identify(self, slot: Slot, item: object) -> None:
        """Take over what the item says of its call, or refuse the call if it said something else before."""
        name, call_id = field(item, "name"), word(item, "$.item", "call_id") or None
        if isinstance(name, str) and slot.name not in ("", name):
            self._calls.doubt([slot], "it has two names")
        if call_id is not None and slot.wire_id not in (None, call_id):
            self._calls.doubt([slot], "it has two ids")
        slot.name = slot.name or (name if isinstance(name, str) else "")
        slot.wire_id = slot.wire_id or call_id

    def _known(self, item: object, index: int | None, renamed: AbstractSet[_Item] = frozenset()) -> _Item | None:
        """The item of which *item* is a later form: by its id first, then by what else it says.

        Some servers give an item another id in each event. Then a call is known by its own id, and of the items
        *renamed* any by its place.
        """
        item_id, kind = word_or_none(item, "id"), word_or_none(item, "type")
        alike = [known for known in self._items if known.entry.get("type") == kind]
        for known in alike:
            if item_id and item_id == known.item_id and index in (None, known.index):
                return known
        return next((known for known in alike if _is_form_of(known, item, index, may_rename=known in renamed)), None)

    def _calls_at(self, node: object) -> list[Slot]:
        """The calls that a fragment can be meant for: by id first, then by index, then the one that is open."""
        item_id, index = word_or_none(node, "item_id"), _index(node)
        calls = [known for known in self._items if known.slot is not None]
        named = [known for known in calls if item_id and known.item_id == item_id]
        there = [known for known in calls if index is not None and known.index == index]
        if named and there and index is not None and not set(named) & set(there):
            found = [*named, *there]
        elif len(named) > 1:
            found = [known for known in named if known in there] or named
        elif named or there:
            found = named or there
        else:
            found = [known for known in calls if known.slot is not None and not known.slot.closed]
        return [known.slot for known in found if known.slot is not None]

    def _grow(self, node: object, text: str) -> None:
        found = self._calls_at(node)
        is_stray = self._is_stray(node)
        if len(found) != 1 or is_stray:
            self._calls.doubt(found, "its id and its index are those of no call, or of several")
            self._is_astray = self._is_astray or is_stray
        elif found[0].closed and text:
            self._calls.doubt(found, "more came after its end")
        else:
            self._calls.write(found[0], text)
            self._in_turn(found[0], _whole(node, "sequence_number"))

    def _close(self, node: object, arguments: str | None) -> None:
        found = self._calls_at(node)
        if len(found) != 1:
            self._calls.doubt(found, "its id and its index are those of no call, or of several")
            return
        [slot] = found
        self._say_whole(slot, arguments)
        self._calls.close(slot)
        self._in_turn(slot, _whole(node, "sequence_number"))

    def _is_stray(self, node: object) -> bool:
        """Whether a piece has the place of no call that has begun, though each call has one."""
        calls = [known for known in self._items if known.slot is not None]
        index, item_id = _index(node), word_or_none(node, "item_id")
        if any(item_id and known.item_id == item_id for known in calls):
            return False
        return not calls or (index is not None and all(known.index not in (None, index) for known in calls))

    def _say_whole(self, slot: Slot, arguments: object) -> None:
        """*arguments* are all of them, said once more or for the first time."""
        if isinstance(arguments, str):
            arguments = paired(arguments)
        if slot.has_begun:
            if not is_alike(slot.arguments, arguments):
                self._calls.doubt([slot], _TWICE)
        elif isinstance(arguments, str):
            self._calls.write(slot, arguments)
        elif arguments is not None:
            self._calls.put(slot, arguments)

    def _finished(self, response: object) -> None:
        status = word(response, "$.response", "status")
        reason = word_or_none(field(response, "incomplete_details"), "reason") or status
        self._stop_reason = reason
        self._cut = reason if status in RESPONSE_CUTS else None
        self._end()
        output = items(field(response, "output"), "$.response.output", "a list of output items")
        if output:
            self._settle(output)

    def _settle(self, output: Sequence[object]) -> None:
        """The finished response has all items: what it lacks was never a call of it, and what it adds is one."""
        mentioned: set[int] = set()
        for at, item in enumerate(output):
            kind = word(require_record(item, "$.response.output", "an output item"), "$.item", "type") or ""
            known = self._known(item, at, frozenset(self._items)) or self._known(item, None)
            if known is None or kind == "function_call":
                self._take_item(item, None if known is not None else at, is_done=True)
                known = self._known(item, at) or self._known(item, None)
            if known is not None and known.slot is not None:
                mentioned.add(known.slot.position)
        absent = [slot for slot in self._calls.slots if slot.position not in mentioned]
        self._calls.doubt(absent, "the finished response does not have it")

    def _found(self) -> Found:
        cut = self._lost or self._cut
        places = {place: item.slot for place, item in enumerate(self._items) if item.slot is not None}
        defects = self._calls.defects(places, cut, lost=self._lost is not None)
        entries = [item.whole() for item in self._items]
        return Found(entries, "$.output", self._stop_reason, cut, defects=defects, unfinished=self._unfinished())

    def _unfinished(self) -> frozenset[int]:
        """The places of items of other types of which nobody said that they are whole."""
        if self._lost is None:
            return frozenset()
        return frozenset(at for at, item in enumerate(self._items) if item.slot is None and not item.is_done)

    def _written(self, turn: Turn) -> Json:
        output: list[Json] = []
        unfinished = self._unfinished()
        for at, item in enumerate(self._items):
            if item.slot is None:
                if at not in unfinished or item.entry.get("type") == _CUSTOM:
                    output.append(item.entry)
                continue
            text = argument_text(item.slot)
            output.append({**item.entry, "call_id": turn.wire[item.slot.position].reply_id, "arguments": text})
        while self._lost is not None and output and output[-1].get("type") == "reasoning":
            output.pop()  # what it led to never came, and without that it is not taken back
        return {"output": output}

    def _dialect(self) -> Dialect:
        return RESPONSES


def _is_form_of(known: _Item, item: object, index: int | None, *, may_rename: bool) -> bool:
    """Whether *item*, which has another id than *known* or none, is a later form of it."""
    call_id = word_or_none(item, "call_id")
    same_index = index is not None and index == known.index
    known_as = known.entry.get("call_id") if known.slot is None else known.slot.wire_id
    same_call = bool(call_id) and known_as == call_id
    if same_call and (same_index or index is None or known.index is None):
        return True
    has_other_id = bool(word_or_none(item, "id") and known.item_id)
    return same_index and (not has_other_id or (may_rename and known.slot is None))


def _index(node: object) -> int | None:
    return _whole(node, "output_index")


def _whole(node: object, name: str) -> int | None:
    """The whole number in the field *name*."""
    number = field(node, name)
    return number if type(number) is int else None
