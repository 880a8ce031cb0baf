"""Chunks of a Chat Completions stream into a turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Final

import msgspec

from ._assembly import Assembler, Chosen
from ._assembly_calls import Slot, argument_text, size_of
from ._assembly_match import Fragment, Matcher
from ._assembly_news import DEFAULT_ASSEMBLY_LIMITS, AssemblyLimits
from ._doors import place, words
from ._message import MessageError, field, has, is_record, items, record, require_record, word, word_or_none
from ._openai_chat import CHAT, broken_by, cut_by
from ._text import joined, shortened
from ._turn import Dialect, Found, Json, OtherCall, Provider, Turn, WayBack

__all__ = ("ChatAssembler",)

_EVENTS: Final = "a chunk of a chat completion, or the text '[DONE]'"
_TEXTS: Final = ("content", "refusal", "reasoning_content")
"""Fields of a delta whose pieces are put together. The last one is sent, and wanted back, by compatible servers."""


_DERIVED: Final = ("content.", "refusal.", "tool_calls.", "logprobs.", "ping")
"""How the types of events begin that the SDK's own helper derives from chunks; and what proxies keep a line open with."""


class _Other(msgspec.Struct, frozen=True):
    kind: str
    id: str | None
    name: str | None
    pieces: list[str]


class ChatAssembler(Assembler):
    """Puts the chunks of one streamed Chat Completions message together.

    Feed it the chunks of ``create(stream=True)`` or the events of ``stream()``, as the SDK's objects or as JSON. Whoever
    reads the event stream himself may feed the closing ``[DONE]``, too: a server that sends no ``finish_reason`` says
    by it alone that the message is whole.

    Args:
        names: What the tools are called here, by the name that the provider knows. Other names pass as they are.
        manifest: What the model was offered: names and arguments are mapped back to what the tools' contracts say.
        tools: The names that were offered. They decide where a name said twice and a name in two halves look alike.
        choice: The index of the choice that the conversation goes on with; others are ignored.
        limits: How much is kept.
    """

    provider: ClassVar[Provider] = "openai-chat"

    def __init__(
        self,
        *,
        names: Mapping[str, str] | None = None,
        manifest: WayBack | None = None,
        tools: Collection[str] | None = None,
        choice: int = 0,
        limits: AssemblyLimits = DEFAULT_ASSEMBLY_LIMITS,
    ) -> None:
        super().__init__(names=names, manifest=manifest, limits=limits)
        self._chosen = Chosen("choices", place("the openai-chat assembler", "choice", choice))
        self._texts: dict[str, list[str]] = {}
        self._entries: list[Slot | _Other] = []
        """Calls, and entries of other types, in order."""

        self._others: dict[object, _Other] = {}
        self._latest_other: _Other | None = None
        self._extras: dict[int, object] = {}
        self._audio: str | None = None
        """The id of what was spoken; it stands for all of it in a history."""

        self._legacy: tuple[list[str], list[str]] | None = None
        offered = None if tools is None else words("the openai-chat assembler", "tools", tools, "names")
        self._matcher = Matcher(self._calls, offered)

    def _take(self, event: object) -> None:
        if isinstance(event, str):
            if event.strip() != "[DONE]":
                raise MessageError("$", event, _EVENTS)
            self._end()
            return
        node = require_record(event, "$", _EVENTS)
        kind = word_or_none(node, "type")
        if kind == "chunk":
            node = require_record(field(node, "chunk"), "$.chunk", "a chunk of a chat completion")
        elif kind is not None and kind.startswith(_DERIVED):
            return
        if (error := field(node, "error")) is not None:
            said = error if isinstance(error, str) else word_or_none(error, "message", "code")
            self._lost = f"the provider sent an error: {shortened(said or 'without words')}"
            return
        is_usage = has(node, "usage") and not has(node, "type")  # some servers send it last, without choices
        if not has(node, "choices") and not is_usage:
            raise MessageError("$", node, _EVENTS)
        for at, choice in enumerate(items(field(node, "choices"), "$.choices", "a list of choices")):
            self._take_choice(choice, f"$.choices[{at}]")

    def _take_choice(self, choice: object, path: str) -> None:
        if not self._chosen.takes(field(require_record(choice, path, "a choice"), "index")):
            return
        name = "delta" if field(choice, "delta") is not None else "message"
        delta = record(choice, path, name)
        if delta is not None:
            self._take_delta(delta, f"{path}.{name}")
        stop_reason = word(choice, path, "finish_reason")
        if stop_reason and cut_by(self._stop_reason) is None and broken_by(self._stop_reason) is None:
            self._stop_reason = stop_reason
            self._end()

    def _take_delta(self, delta: object, path: str) -> None:
        for name in _TEXTS:
            piece = word_or_none(delta, name)
            if piece:
                self._calls.keep(size_of(piece))
                self._texts.setdefault(name, []).append(piece)
        self._audio = self._audio or word_or_none(record(delta, path, "audio"), "id")
        legacy = record(delta, path, "function_call")
        if legacy is not None:
            self._legacy = self._legacy or ([], [])
            for pieces, name in zip(self._legacy, ("name", "arguments"), strict=True):
                piece = word_or_none(legacy, name) or ""
                self._calls.keep(size_of(piece))
                pieces.append(piece)
        entries = items(field(delta, "tool_calls"), f"{path}.tool_calls", "a list of tool calls")
        for at, entry in enumerate(entries):
            self._take_entry(require_record(entry, f"{path}.tool_calls[{at}]", "a tool call"), at, len(entries), path)

    def _take_entry(self, entry: object, at: int, count: int, path: str) -> None:
        place = f"{path}.tool_calls[{at}]"
        kind, function = word(entry, place, "type"), record(entry, place, "function")
        index, name, arguments = field(entry, "index"), field(function, "name"), field(function, "arguments")
        if function is None and (kind not in (None, "", "function") or is_record(field(entry, "custom"))):
            self._take_other(entry, kind or "", index if type(index) is int else at)
            return
        piece = Fragment(
            word(entry, place, "id") or None,
            index if type(index) is int else None,
            name if isinstance(name, str) else "",
            arguments if isinstance(arguments, str) else "",
            at,
            count,
        )
        known = len(self._calls.slots)
        slot = self._matcher.slot_of(piece)
        self._entries += self._calls.slots[known:]
        is_resent = slot is not None and _is_resent(slot, piece)
        if (arguments and not is_resent) or len(self._calls.slots) > known:
            self._go_on()
        if slot is None:
            return
        if (extra := field(entry, "extra_content")) is not None:
            self._extras[slot.position] = extra
        if isinstance(arguments, str):
            if not is_resent:
                self._calls.write(slot, arguments)
        elif arguments is not None:
            self._calls.put(slot, arguments)

    def _take_other(self, entry: object, kind: str, index: object) -> None:
        """A piece of an entry of another type. Only the first one has to say which type that is."""
        own = field(entry, kind) if kind else field(entry, "custom")
        other = self._others.get(index) if kind in ("", "function") or word_or_none(entry, "id") is None else None
        if other is None:
            self._calls.keep(len(kind))
            other = _Other(kind or "custom", word_or_none(entry, "id"), word_or_none(own, "name"), [])
            self._entries.append(other)
            self._others[index] = other
        self._calls.latest, self._latest_other = None, other
        if piece := word_or_none(own, "input"):
            self._calls.keep(size_of(piece))
            other.pieces.append(piece)

    def _found(self) -> Found:
        self._chosen.require()
        entries = [
            _call(entry, entry.arguments) if isinstance(entry, Slot) else _other(entry) for entry in self._entries
        ]
        places = {place: entry for place, entry in enumerate(self._entries) if isinstance(entry, Slot)}
        cut = self._lost or cut_by(self._stop_reason)
        defects = self._calls.defects(places, cut, lost=self._lost is not None)
        others: tuple[OtherCall, ...] = ()
        if self._legacy is not None:
            others = (OtherCall("function_call", None, "".join(self._legacy[0]), "$.function_call", cut is not None),)
        # Free text shows no end: what the last piece went to may have more to it.
        is_open = cut is not None and self._calls.latest is None
        unfinished = [at for at, entry in enumerate(self._entries) if is_open and entry is self._latest_other]
        return Found(
            entries,
            "$.tool_calls",
            self._stop_reason,
            cut,
            broken_by(self._stop_reason),
            others=others,
            defects=defects,
            unfinished=unfinished,
        )

    def _written(self, turn: Turn) -> Json:
        message: Json = {"role": "assistant", "content": None}
        message |= {name: joined(pieces) for name, pieces in self._texts.items()}
        if self._audio is not None:
            message["audio"] = {"id": self._audio}
        if self._legacy is not None:
            message["function_call"] = dict(zip(("name", "arguments"), map(joined, self._legacy), strict=True))
        calls: list[Json] = []
        for entry in self._entries:
            if isinstance(entry, Slot):
                wire, extra = turn.wire[entry.position], self._extras.get(entry.position)
                call = {**_call(entry, argument_text(entry)), "id": wire.reply_id}
                calls.append(call if extra is None else {**call, "extra_content": extra})
            else:
                calls.append(_other(entry))
        return {**message, "tool_calls": calls} if calls else message

    def _dialect(self) -> Dialect:
        return CHAT


def _call(slot: Slot, arguments: object) -> Json:
    return {"id": slot.wire_id, "type": "function", "function": {"name": slot.name, "arguments": arguments}}


def _other(entry: _Other) -> Json:
    own: Json = {"name": entry.name, "input": joined(entry.pieces)}
    return {"id": entry.id, "type": entry.kind, entry.kind: own}


def _is_resent(slot: Slot, piece: Fragment) -> bool:
    """Whether a server sends a call whole once more at its end: with its id, its name and the very same arguments."""
    is_named_again = piece.wire_id is not None and piece.name == slot.name
    return is_named_again and slot.is_whole and bool(slot.reader.value) and piece.text == slot.text
