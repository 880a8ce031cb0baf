"""Events of an Anthropic Messages stream into a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from ._arguments import read_arguments
from ._assembly import Assembler
from ._assembly_calls import Slot, size_of
from ._assembly_news import DEFAULT_ASSEMBLY_LIMITS, AssemblyLimits
from ._broken_off import without_unfinished
from ._declined import FALLBACK, WITHDRAWN, refused, void_blocks
from ._message import MessageError, as_json, field, items, piece, record, require_record, word, word_or_none
from ._text import encodable_json, joined, shortened
from ._turn import Found, Json, Provider, Turn, WayBack

__all__ = ("AnthropicStream",)

_EVENTS: Final = "an event of a message stream"
_INPUT: Final = "input_json_delta"
_TEXTS: Final = {"text_delta": "text", "thinking_delta": "thinking"}
"""Deltas that add to a field of their block."""

_WHOLES: Final = {"signature_delta": ("signature",), "compaction_delta": ("content", "encrypted_content")}
"""Deltas that say fields of their block once and for all."""


class _Block:
    """One content block while it comes in.

    Args:
        entry: The block as it began.
        slot: Its call, if it is one of ours.
    """

    __slots__ = ("citations", "closed", "entry", "index", "kind", "pieces", "slot")

    def __init__(self, index: int | None, kind: str, entry: Json, slot: Slot | None) -> None:
        self.index = index
        self.kind = kind
        self.entry = entry
        self.slot = slot
        self.pieces: dict[str, list[str]] = {}
        self.citations: list[object] = []
        self.closed = False

    @property
    def takes_input(self) -> bool:
        return self.kind.endswith("tool_use")

    @property
    def arguments(self) -> object:
        """The input: what the deltas say, else what the block began with."""
        if self.slot is not None and self.slot.has_begun:
            return self.slot.arguments
        pieces = self.pieces.get(_INPUT)
        return "".join(pieces) if pieces else self.entry.get("input")

    def whole(self, arguments: object) -> Json:
        """The block with all that its deltas added."""
        added: Json = {_TEXTS[name]: joined(pieces) for name, pieces in self.pieces.items() if name in _TEXTS}
        for name, text in added.items():
            before = self.entry.get(name)
            added[name] = f"{before}{text}" if isinstance(before, str) else text
        if self.citations:
            added["citations"] = list(self.citations)
        if self.takes_input:
            added["input"] = arguments
        return {**self.entry, **added}


class AnthropicStream(Assembler):
    """What `armory_trio.providers.anthropic.MessageAssembler` does, but for what its parser knows."""

    provider: ClassVar[Provider] = "anthropic"
    cuts: ClassVar[frozenset[str]]

    def __init__(
        self,
        *,
        names: Mapping[str, str] | None = None,
        manifest: WayBack | None = None,
        limits: AssemblyLimits = DEFAULT_ASSEMBLY_LIMITS,
    ) -> None:
        super().__init__(names=names, manifest=manifest, limits=limits)
        self._blocks: list[_Block] = []
        self._message_id: str | None = None
        self._has_started = False
        self._lent: Slot | None = None
        """The only call that there was, while it took pieces for another index."""

        self._is_astray = False
        """Whether a piece has come for which no call had begun."""

    def _take(self, event: object) -> None:
        node = require_record(event, "$", _EVENTS)
        match word(node, "$", "type"):
            case "message_start":
                self._start(record(node, "$", "message"))
            case "content_block_start":
                self._begin(record(node, "$", "content_block"), _index(node), "$.content_block")
            case "content_block_delta":
                self._grow(record(node, "$", "delta"), _index(node))
            case "content_block_stop":
                self._stop(_index(node))
            case "message_delta":
                self._stopped(word(record(node, "$", "delta"), "$.delta", "stop_reason"))
            case "message_stop":
                self._end()
            case "error":
                said = word_or_none(field(node, "error"), "message", "type") or "without words"
                self._lost = f"the provider sent an error: {shortened(said)}"
            case None:
                raise MessageError("$", node, _EVENTS)
            case kind if kind.startswith("response."):
                raise MessageError("$.type", kind, _EVENTS)
            case _:
                pass  # pings, and what the SDK's own helper derives from other events

    def _start(self, message: object) -> None:
        message_id = word_or_none(message, "id")
        if self._has_started and (message_id is None or message_id != self._message_id):
            raise MessageError("$.message", message, "one message; make a new assembler for the next one")
        if self._has_started:
            return
        self._has_started, self._message_id = True, message_id
        content = field(message, "content")
        if not isinstance(content, str):
            for at, block in enumerate(items(content, "$.message.content", "a list of content blocks")):
                self._begin(block, at, f"$.message.content[{at}]")
                self._stop(at)
        self._stopped(word_or_none(message, "stop_reason"))

    def _stopped(self, stop_reason: str | None) -> None:
        if stop_reason:
            self._stop_reason = stop_reason
            self._end()

    def _begin(self, block: object, index: int | None, path: str) -> None:
        kind = word(require_record(block, path, "a content block"), path, "type") or ""
        self._dialect().read(block, path, None)  # what is wrong with it is said now, and not at the end
        slot: Slot | None = None
        if kind == "tool_use":
            wire_id, name = word(block, path, "id") or None, field(block, "name")
            if self._is_repeated(wire_id, index):
                return
            slot = self._calls.begin(wire_id, name if isinstance(name, str) else "")
            self._go_on()
            if self._is_astray or self._lent is not None:
                lent = [] if self._lent is None else [self._lent]
                self._calls.doubt([*lent, slot], "it came before its call began, or has the index of another")
        else:
            self._calls.latest = None
        if kind == FALLBACK:
            self._calls.refuse(self._calls.slots, WITHDRAWN)
        entry = as_json(block)
        self._calls.keep_value(entry)
        self._blocks.append(_Block(index, kind, entry, slot))

    def _is_repeated(self, wire_id: str | None, index: int | None) -> bool:
        """Whether the call of a start event has begun already, so that it is the same event once more."""
        for block in self._blocks if wire_id is not None else ():
            if block.slot is not None and block.slot.wire_id == wire_id and index in (None, block.index):
                if block.closed or block.slot.has_begun:
                    self._calls.doubt([block.slot], "it began twice")
                return True
        return False

    def _grow(self, delta: object, index: int | None) -> None:
        kind = word(delta, "$.delta", "type")
        if kind == _INPUT:
            self._grow_input(piece(delta, "$.delta", "partial_json"), index)
            return
        block = next((block for block in reversed(self._blocks) if index in (None, block.index)), None)
        if block is None:
            return
        if kind in _TEXTS:
            text = piece(delta, "$.delta", _TEXTS[kind])
            self._calls.keep(size_of(text))
            block.pieces.setdefault(kind, []).append(text)
        elif kind in _WHOLES:
            said = {name: text for name in _WHOLES[kind] if (text := piece(delta, "$.delta", name))}
            self._calls.keep_value(said)
            block.entry |= said
        elif kind == "citations_delta" and (citation := field(delta, "citation")) is not None:
            citation = as_json(citation)
            self._calls.keep_value(citation)
            block.citations.append(citation)

    def _grow_input(self, text: str, index: int | None) -> None:
        takers = [block for block in self._blocks if block.takes_input]
        holders = [block for block in takers if index is not None and block.index == index]
        if index is None or (not holders and len(takers) == 1):
            holders = [block for block in takers if not block.closed]
        still_open = [block for block in holders if not block.closed]
        if len(still_open) == 1:
            self._write(still_open[0], text)
            if text and index not in (None, still_open[0].index):
                self._lent = still_open[0].slot
        elif text:
            slots = [block.slot for block in still_open or holders or takers if block.slot is not None]
            self._calls.doubt(slots, "its index is that of no open call, or of several")
            self._is_astray = self._is_astray or not holders

    def _write(self, block: _Block, text: str) -> None:
        self._go_on()
        if block.slot is not None:
            self._calls.write(block.slot, text)
        elif text:
            self._calls.keep(size_of(text))
            block.pieces.setdefault(_INPUT, []).append(text)

    def _stop(self, index: int | None) -> None:
        still_open = [block for block in self._blocks if not block.closed]
        stopped = [block for block in still_open if index is not None and block.index == index]
        if index is None:
            stopped = still_open[-1:]
            if len(still_open) > 1:
                slots = [block.slot for block in still_open if block.slot is not None]
                self._calls.doubt(slots, "a block ended without its index while several were open")
        if len(stopped) > 1:
            slots = [block.slot for block in stopped if block.slot is not None]
            self._calls.doubt(slots, "several blocks have one index")
        for block in stopped:
            block.closed = True
            if block.slot is not None:
                self._close(block, block.slot)

    def _close(self, block: _Block, slot: Slot) -> None:
        self._go_on()
        seed = block.entry.get("input")
        if not slot.has_begun and seed:
            self._calls.put(slot, seed)
        self._calls.close(slot)

    @property
    def _cut(self) -> str | None:
        return self._lost or (self._stop_reason if self._stop_reason in self.cuts else None)

    def _found(self) -> Found:
        places = {place: block.slot for place, block in enumerate(self._blocks) if block.slot is not None}
        defects = self._calls.defects(places, self._cut, lost=self._lost is not None, closes=True)
        entries = [block.whole(block.arguments) for block in self._blocks]
        return Found(
            entries,
            "$.content",
            self._stop_reason,
            self._cut,
            refused(self._stop_reason),
            defects=defects,
            unfinished=self._unfinished(),
            void=void_blocks(entries),
        )

    def _unfinished(self) -> frozenset[int]:
        """The places of blocks that broke off."""
        if self._lost is None:
            return frozenset()
        return frozenset(place for place, block in enumerate(self._blocks) if not block.closed)

    def _written(self, turn: Turn) -> Json:
        blocks: list[Json] = []
        void, unfinished = void_blocks([block.entry for block in self._blocks]), self._unfinished()
        for place, block in enumerate(self._blocks):
            is_of_use = place not in unfinished or block.slot is not None or block.kind == "text"
            if place in void or not is_of_use:
                continue
            entry = block.whole(encodable_json(read_arguments(block.arguments)[0]))
            if block.slot is not None:
                entry["id"] = turn.wire[block.slot.position].reply_id
            if block.kind != "text" or str(entry.get("text") or "").strip():
                blocks.append(entry)
        return {"role": "assistant", "content": blocks if self._cut is None else without_unfinished(blocks)}


def _index(node: object) -> int | None:
    index = field(node, "index")
    return index if type(index) is int else None
