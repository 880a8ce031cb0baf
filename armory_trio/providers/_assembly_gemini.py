"""Chunks of a Gemini stream into a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, cast

from ..definitions import CallDefect
from ..definitions._checks import text
from ._arguments import read_arguments
from ._assembly import Assembler, Chosen
from ._assembly_calls import Slot, is_alike, size_of
from ._assembly_news import DEFAULT_ASSEMBLY_LIMITS, AssemblyLimits
from ._assembly_paths import PartialArguments
from ._doors import place
from ._message import GEMINI_CALL, MessageError, as_json, field, has, items, record, require_record, word, word_or_none
from ._text import encodable_json, joined, shortened
from ._turn import Json, Provider, Turn, WayBack

__all__ = ("GeminiStream", "StreamedPart", "require_model")

_EVENTS: Final = "a chunk of a streamed response"
_CHUNK_MARKS: Final = (
    ("candidates",),
    ("usageMetadata", "usage_metadata"),
    ("promptFeedback", "prompt_feedback"),
    ("modelVersion", "model_version"),
    ("responseId", "response_id"),
)
_SIGNATURE: Final = ("thoughtSignature", "thought_signature")


def require_model(model: object) -> None:
    """Refuse *model* unless it is None or a name."""
    if model is not None:
        text("the gemini parser", "model", model)


class StreamedPart:
    """One part of the content while it comes in.

    Args:
        entry: The part, without its call.
        slot: Its call, if it is one.
    """

    __slots__ = ("entry", "pieces", "slot")

    def __init__(self, entry: Json, slot: Slot | None, pieces: list[str] | None = None) -> None:
        self.entry = entry
        self.slot = slot
        self.pieces = pieces
        """The text of a part that is nothing else; the next one of its kind may go on with it."""

    def whole(self, arguments: object) -> Json:
        if self.pieces is not None:
            return {**self.entry, "text": joined(self.pieces)}
        if self.slot is None:
            return self.entry
        call: Json = {"name": self.slot.name, "args": arguments}
        if self.slot.wire_id is not None:
            call["id"] = self.slot.wire_id
        return {**self.entry, "functionCall": call}


class GeminiStream(Assembler):
    """What `armory_trio.providers.gemini.ContentAssembler` does, but for what its parser knows."""

    provider: ClassVar[Provider] = "gemini"

    def __init__(
        self,
        *,
        names: Mapping[str, str] | None = None,
        manifest: WayBack | None = None,
        model: str | None = None,
        candidate: int = 0,
        limits: AssemblyLimits = DEFAULT_ASSEMBLY_LIMITS,
    ) -> None:
        super().__init__(names=names, manifest=manifest, limits=limits)
        require_model(model)
        self._model = model
        self._chosen = Chosen("candidates", place("the gemini assembler", "candidate", candidate))
        self._parts: list[StreamedPart] = []
        self._known = 0
        """The calls that had begun before this chunk."""

        self._is_astray = False
        """Whether a piece has come for which no call had begun."""

    def _take(self, event: object) -> None:
        node = require_record(event, "$", _EVENTS)
        if (error := field(node, "error")) is not None:
            said = word_or_none(error, "message", "status") or "without words"
            self._lost = f"the provider sent an error: {shortened(said)}"
            return
        if not any(has(node, name) for names in _CHUNK_MARKS for name in names):
            raise MessageError("$", node, _EVENTS)
        self._known = len(self._calls.slots)
        self._model = self._model or word_or_none(node, "modelVersion", "model_version")
        if field(field(node, "promptFeedback", "prompt_feedback"), "blockReason", "block_reason") is not None:
            self._end()
        for at, candidate in enumerate(items(field(node, "candidates"), "$.candidates", "a list of candidates")):
            if self._chosen.takes(field(require_record(candidate, f"$.candidates[{at}]", "a candidate"), "index")):
                self._take_candidate(candidate, f"$.candidates[{at}]")

    def _take_candidate(self, candidate: object, path: str) -> None:
        content = record(candidate, path, "content")
        parts = items(field(content, "parts"), f"{path}.content.parts", "a list of parts")
        for at, part in enumerate(parts):
            self._take_part(part, f"{path}.content.parts[{at}]")
        reason = word(candidate, path, "finishReason", "finish_reason")
        if reason not in (None, "", "FINISH_REASON_UNSPECIFIED"):
            self._stop_reason = reason
            self._end()

    def _take_part(self, part: object, path: str) -> None:
        call = record(require_record(part, path, "a part"), path, *GEMINI_CALL)
        self._dialect().read(part, path, None)  # what is wrong with it is said now, and not at the end
        if call is not None:
            self._take_call(part, call, f"{path}.functionCall")
            return
        text = field(part, "text")
        rest = {name: value for name, value in as_json(part).items() if name != "text" and value is not None}
        last = self._parts[-1] if self._parts else None
        if isinstance(text, str):
            if not text and not rest:
                return
            self._calls.keep(size_of(text))
            if last is not None and last.pieces is not None and last.entry == rest and not _is_signed(rest):
                last.pieces.append(text)
                return
        self._calls.keep_value(rest)
        if not (isinstance(text, str) and not text.strip()):
            self._calls.latest = None  # a blank part says nothing, so the call before it may be the one that was cut
        self._parts.append(StreamedPart(rest, None, [text] if isinstance(text, str) else None))

    def _take_call(self, part: object, call: object, path: str) -> None:
        wire_id, name = word(call, path, "id") or None, field(call, "name")
        partial = items(
            field(call, "partialArgs", "partial_args"), f"{path}.partialArgs", "a list of partial arguments"
        )
        goes_on = field(call, "willContinue", "will_continue") is True
        arguments = field(call, "args")
        known = name if isinstance(name, str) else ""
        self._go_on()
        streamed = self._streamed(wire_id, known)
        if streamed is None:
            streamed = self._begin(wire_id, known, in_pieces=bool(goes_on or partial))
        self._sign(streamed, part)
        if streamed.draft is None:
            self._calls.put(streamed, {} if arguments is None else arguments)
            self._calls.close(streamed)
            self._doubt_echo(streamed)
            return
        self._add(streamed, streamed.draft, partial)
        if arguments and not is_alike(arguments, streamed.draft.value):
            self._calls.doubt([streamed], "its arguments came twice, and not alike")
        if not goes_on:
            self._close(streamed, streamed.draft)

    def _begin(self, wire_id: str | None, name: str, *, in_pieces: bool) -> Slot:
        slot = self._calls.begin(wire_id, name)
        self._parts.append(StreamedPart({}, slot))
        if in_pieces:
            slot.draft = PartialArguments()
            self._is_astray = self._is_astray or (wire_id is None and not name)
            if self._is_astray:
                drafts = [each for each in self._calls.slots if each.draft is not None]
                self._calls.doubt(drafts, "it has neither an id nor a name, and no call is open")
        return slot

    def _doubt_echo(self, slot: Slot) -> None:
        """Refuse a call that an earlier chunk had already, with the same id: the chunk may have come twice."""
        for other in self._calls.slots[: self._known]:
            is_echo = other is not slot and slot.wire_id is not None and other.wire_id == slot.wire_id
            if is_echo and other.name == slot.name and is_alike(other.arguments, slot.arguments):
                self._calls.doubt([slot], "the same call has come before, with the same id")

    def _streamed(self, wire_id: str | None, name: str) -> Slot | None:
        """The call that a part goes on with, None when it begins one: by id, else the one that is still open."""
        still_open = [slot for slot in self._calls.slots if slot.draft is not None and not slot.closed]
        named = [slot for slot in still_open if wire_id is not None and slot.wire_id == wire_id]
        if named:
            return named[-1]
        if not still_open:
            return None
        if not name and wire_id is None:
            self._calls.doubt(still_open[:-1], "it has no id")
            return still_open[-1]
        # Another call begins before this one has ended, or it is the same one under another id.
        self._calls.doubt(still_open, "another call began before its end")
        return None

    def _add(self, slot: Slot, draft: PartialArguments, partial: object) -> None:
        before = draft.size
        for part in cast("list[object]", partial):
            draft.add(require_record(part, "$.partialArgs", "a partial argument"))
        self._calls.grew(slot, draft.size - before)
        if draft.defect is not None:
            words = f"The arguments came in parts that do not fit ({draft.defect}). Send the whole call again."
            self._calls.refuse([slot], CallDefect("MALFORMED_CALL", words))

    def _close(self, slot: Slot, draft: PartialArguments) -> None:
        if draft.is_open:
            words = "A value of the arguments was to go on and never did. Send the whole call again."
            self._calls.refuse([slot], CallDefect("TRUNCATED_CALL", words))
        slot.value = draft.value
        self._calls.close(slot)
        self._doubt_echo(slot)

    def _sign(self, slot: Slot, part: object) -> None:
        """Keep what stands beside the call, such as the signature of the thought that led to it."""
        beside = {name: value for name, value in as_json(part).items() if name not in GEMINI_CALL and value is not None}
        if beside:
            self._calls.keep_value(beside)
            streamed = next(part for part in self._parts if part.slot is slot)
            streamed.entry = {**streamed.entry, **beside}

    def _entries(self) -> list[Json]:
        return [part.whole(None if part.slot is None else part.slot.arguments) for part in self._parts]

    def _places(self) -> dict[int, Slot]:
        return {place: part.slot for place, part in enumerate(self._parts) if part.slot is not None}

    def _written(self, turn: Turn) -> Json:  # noqa: ARG002  # this format needs no ids
        parts = [
            part.whole(None if part.slot is None else encodable_json(read_arguments(part.slot.arguments)[0]))
            for part in self._parts
        ]
        return {"role": "model", "parts": parts}


def _is_signed(entry: Mapping[str, object]) -> bool:
    return any(name in entry for name in _SIGNATURE)
