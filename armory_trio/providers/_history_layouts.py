"""Where each provider wants calls and results to stand, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, cast

from typing_extensions import override

from ..definitions import ToolResult
from ._arguments import read_arguments, write_arguments
from ._declined import void_blocks
from ._history_parts import CallAt, Change, Layout, Made, Place, ResultAt
from ._message import (
    GEMINI_ANSWER,
    GEMINI_CALL,
    as_json,
    field,
    has,
    is_list,
    is_record,
    items,
    record,
    require_record,
    word,
    word_or_none,
)
from ._names import Alphabet
from ._openai_chat import CHAT
from ._openai_responses import RESPONSES
from ._text import encodable, encodable_json, is_encodable, is_encodable_json
from ._turn import Answer, Json, Provider, WireCall
from .anthropic import ANTHROPIC
from .gemini import GEMINI

__all__ = ("LAYOUTS",)


_RESULT: Final = -1
"""The entry of a result that is a whole message."""

_NO_ARGUMENTS: Final[Json] = {}
_OPENAI_NAME: Final = Alphabet("A-Za-z0-9_-", "A-Za-z0-9_-", 64)
_ANTHROPIC_NAME: Final = Alphabet("A-Za-z0-9_-", "A-Za-z0-9_-", 128)
_GEMINI_NAME: Final = Alphabet("A-Za-z0-9_.:-", "A-Za-z0-9_.:-", 128)


def _given(**fields: object) -> Json:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _object_or(value: object) -> tuple[object, bool, bool]:
    """*value* as a JSON object, whether it was none, and whether it could never have run."""
    arguments, defect = read_arguments(value)
    written = dict(arguments)
    is_legal = isinstance(value, Mapping) and defect is None and is_encodable_json(written)
    return written if is_legal else encodable_json(written), not is_legal, defect is not None


def _text_or(value: object) -> tuple[object, bool, bool]:
    """*value* as the text of a JSON object, whether it was none, and whether it could never have run."""
    arguments, defect = read_arguments(value)
    if isinstance(value, str) and defect is None:
        return encodable(value), not is_encodable(value), False
    return write_arguments(arguments), True, defect is not None


def _answer(call: CallAt, call_id: str | None, result: ToolResult[object]) -> list[Answer]:
    return [(WireCall(call_id or call.name, call_id, call.name), result)]


def _entries(node: object, name: str, path: str) -> Sequence[object]:
    """The list in the field *name*."""
    return items(field(node, name), f"{path}.{name}", "a list")


def _blocks(node: object, path: str) -> Sequence[object]:
    """The content of a message; none when it is a text."""
    return () if isinstance(field(node, "content"), str) else _entries(node, "content", path)


def _as_list(node: Json, name: str) -> list[Json]:
    inner = node.get(name)
    if not is_list(inner):
        return []
    return [as_json(entry) if is_record(entry) else cast("Json", entry) for entry in inner]


class _Chat(Layout):
    provider: ClassVar[Provider] = "openai-chat"
    name_rule: ClassVar[Alphabet] = _OPENAI_NAME
    id_limit: ClassVar[int | None] = 40
    id_everywhere: ClassVar[bool] = False
    speaking: ClassVar[tuple[str, ...]] = ("content", "tool_calls", "function_call", "refusal", "audio")

    @override
    def has_no_calls(self, node: object) -> bool:
        calls = field(node, "tool_calls")
        return is_list(calls) and not calls

    def calls_of(self, node: object, position: int) -> list[CallAt]:
        path = f"$[{position}]"
        by_model = word(node, path, "role") in (None, "assistant")
        found: list[CallAt] = []
        for at, entry in enumerate(_entries(node, "tool_calls", path)):
            place = f"{path}.tool_calls[{at}]"
            require_record(entry, place, "a tool call")
            kind, function = word(entry, place, "type") or "function", record(entry, place, "function")
            wire_id = word(entry, place, "id") or None
            if function is None and kind != "function":
                name = word_or_none(field(entry, kind), "name") or ""
                found.append(CallAt(position, at, place, wire_id, name, by_model=by_model))
                continue
            arguments, is_illegal, is_broken = _text_or(field(function, "arguments"))
            name = word_or_none(function, "name") or ""
            found.append(CallAt(position, at, place, wire_id, name, arguments, is_illegal, is_broken, by_model))
        return found

    def results_of(self, node: object, position: int) -> list[ResultAt]:
        path = f"$[{position}]"
        if word(node, path, "role") != "tool":
            return []
        wire_id = word(node, path, "tool_call_id") or None
        if has(node, "tool_calls"):  # a result calls nothing
            node = {name: value for name, value in as_json(node).items() if name != "tool_calls"}
        return [ResultAt(position, _RESULT, path, wire_id, None, node)]

    def with_calls(self, node: object, changes: Mapping[int, Change]) -> Json:
        message = as_json(node)
        calls = _as_list(message, "tool_calls")
        for at, change in changes.items():
            is_function = calls[at].get("function") is not None
            own = "function" if is_function else word(calls[at], "$", "type") or "function"
            inner = _given(name=change.name, arguments=change.arguments)
            if inner:
                calls[at][own] = {**as_json(calls[at].get(own) or {}), **inner}
            calls[at] |= _given(id=change.call_id)
        return {**message, "tool_calls": calls}

    def with_answer(self, result: object, change: Change) -> Json:
        return {**as_json(result), **_given(tool_call_id=change.call_id)}

    @override
    def without(self, node: object, entries: frozenset[int]) -> object | None:
        message = as_json(node)
        if _RESULT in entries:
            return None
        kept = [call for at, call in enumerate(_as_list(message, "tool_calls")) if at not in entries]
        rest = {name: value for name, value in message.items() if name != "tool_calls"}
        if kept:
            return {**rest, "tool_calls": kept}
        return None if self.says_nothing(rest) and rest.get("role") != "tool" else rest

    @override
    def in_words(self, call: CallAt, call_id: str | None, words: str) -> Json:
        return {"role": "tool", "tool_call_id": call_id, "content": words}

    def formatted(self, call: CallAt, call_id: str | None, result: ToolResult[object]) -> Made:
        message, *pictures = CHAT.render(_answer(call, call_id, result))
        return Made(message, pictures)

    @override
    def group(
        self, results: Sequence[object], extras: Sequence[Json], after: object | None
    ) -> tuple[list[object], bool]:
        return [*results, *extras], False

    def is_in_place(self, places: Sequence[Place], position: int) -> bool:
        return [at for at, _ in places] == [position + 1 + behind for behind in range(len(places))]


class _Responses(Layout):
    provider: ClassVar[Provider] = "openai-responses"
    name_rule: ClassVar[Alphabet] = _OPENAI_NAME
    id_limit: ClassVar[int | None] = 64
    id_everywhere: ClassVar[bool] = True
    is_flat: ClassVar[bool] = True

    def calls_of(self, node: object, position: int) -> list[CallAt]:
        path, kind = f"$[{position}]", word_or_none(node, "type")
        if kind not in ("function_call", "custom_tool_call"):
            return []
        wire_id, name = word(node, path, "call_id") or None, word_or_none(node, "name") or ""
        if kind == "custom_tool_call":
            return [CallAt(position, 0, path, wire_id, name)]
        arguments, is_illegal, is_broken = _text_or(field(node, "arguments"))
        return [CallAt(position, 0, path, wire_id, name, arguments, is_illegal, is_broken)]

    def results_of(self, node: object, position: int) -> list[ResultAt]:
        path = f"$[{position}]"
        if word_or_none(node, "type") not in ("function_call_output", "custom_tool_call_output"):
            return []
        return [ResultAt(position, 0, path, word(node, path, "call_id") or None, None, node)]

    def with_calls(self, node: object, changes: Mapping[int, Change]) -> Json:
        change = changes[0]
        return {
            **as_json(node),
            **_given(call_id=change.call_id, name=change.name, arguments=change.arguments),
        }

    def with_answer(self, result: object, change: Change) -> Json:
        return {**as_json(result), **_given(call_id=change.call_id)}

    @override
    def without(self, node: object, entries: frozenset[int]) -> object | None:
        return None

    @override
    def in_words(self, call: CallAt, call_id: str | None, words: str) -> Json:
        kind = "function_call_output" if call.is_function else "custom_tool_call_output"
        return {"type": kind, "call_id": call_id, "output": words}

    def formatted(self, call: CallAt, call_id: str | None, result: ToolResult[object]) -> Made:
        [output] = RESPONSES.render(_answer(call, call_id, result))
        return Made({**output, "type": self.in_words(call, call_id, "")["type"]})

    @override
    def group(
        self, results: Sequence[object], extras: Sequence[Json], after: object | None
    ) -> tuple[list[object], bool]:
        return list(results), False


class _Anthropic(Layout):
    provider: ClassVar[Provider] = "anthropic"
    name_rule: ClassVar[Alphabet] = _ANTHROPIC_NAME
    speaking: ClassVar[tuple[str, ...]] = ("content",)
    id_limit: ClassVar[int | None] = 64
    id_everywhere: ClassVar[bool] = True

    @override
    def void_in(self, node: object, position: int) -> Sequence[int]:
        return sorted(void_blocks(_blocks(node, f"$[{position}]")))

    def calls_of(self, node: object, position: int) -> list[CallAt]:
        path = f"$[{position}]"
        by_model = word(node, path, "role") in (None, "assistant")
        found: list[CallAt] = []
        blocks = _blocks(node, path)
        void = void_blocks(blocks)
        for at, block in enumerate(blocks):
            if word_or_none(block, "type") == "tool_use" and at not in void:
                place = f"{path}.content[{at}]"
                arguments, is_illegal, is_broken = _object_or(field(block, "input"))
                wire_id, name = word(block, place, "id") or None, word_or_none(block, "name") or ""
                found.append(CallAt(position, at, place, wire_id, name, arguments, is_illegal, is_broken, by_model))
        return found

    def results_of(self, node: object, position: int) -> list[ResultAt]:
        path = f"$[{position}]"
        by_user = word(node, path, "role") == "user"
        found: list[ResultAt] = []
        for at, block in enumerate(_blocks(node, path)):
            if word_or_none(block, "type") == "tool_result":
                place = f"{path}.content[{at}]"
                wire_id = word(block, place, "tool_use_id") or None
                found.append(ResultAt(position, at, place, wire_id, None, block, by_user))
        return found

    def with_calls(self, node: object, changes: Mapping[int, Change]) -> Json:
        message = as_json(node)
        blocks = _as_list(message, "content")
        for at, change in changes.items():
            blocks[at] |= _given(id=change.call_id, name=change.name, input=change.arguments)
        return {**message, "content": blocks}

    def with_answer(self, result: object, change: Change) -> Json:
        return {**as_json(result), **_given(tool_use_id=change.call_id)}

    @override
    def without(self, node: object, entries: frozenset[int]) -> object | None:
        message = as_json(node)
        kept = [block for at, block in enumerate(_as_list(message, "content")) if at not in entries]
        return {**message, "content": kept} if kept else None

    @override
    def in_words(self, call: CallAt, call_id: str | None, words: str) -> Json:
        text = {"type": "text", "text": words}
        return {"type": "tool_result", "tool_use_id": call_id, "content": [text], "is_error": True}

    def formatted(self, call: CallAt, call_id: str | None, result: ToolResult[object]) -> Made:
        [message] = ANTHROPIC.render(_answer(call, call_id, result))
        block, *pictures = _as_list(message, "content")
        return Made(block, pictures)

    @override
    def group(
        self, results: Sequence[object], extras: Sequence[Json], after: object | None
    ) -> tuple[list[object], bool]:
        """One message with all results first; what the user says next is in it, since two in a row are not taken."""
        blocks: list[object] = [*results, *extras]
        if after is None or word_or_none(after, "role") != "user":
            return [{"role": "user", "content": blocks}], False
        message = as_json(after)
        said = message.get("content")
        rest: list[object] = [{"type": "text", "text": said}] if isinstance(said, str) and said.strip() else []
        if is_list(said):
            rest = list(said)
        return [{**message, "content": [*blocks, *rest]}], True


class _Gemini(Layout):
    provider: ClassVar[Provider] = "gemini"
    name_rule: ClassVar[Alphabet] = _GEMINI_NAME
    speaking: ClassVar[tuple[str, ...]] = ("parts",)
    id_limit: ClassVar[int | None] = None
    id_everywhere: ClassVar[bool] = False
    needs_ids: ClassVar[bool] = False
    needs_names: ClassVar[bool] = True

    def calls_of(self, node: object, position: int) -> list[CallAt]:
        path = f"$[{position}]"
        by_model = word(node, path, "role") in (None, "", "model")
        found: list[CallAt] = []
        for at, part in enumerate(_entries(node, "parts", path)):
            place = f"{path}.parts[{at}]"
            call = record(part, place, *GEMINI_CALL) if is_record(part) else None
            if call is not None:
                given = field(call, "args")
                arguments, is_illegal, is_broken = _object_or(_NO_ARGUMENTS if given is None else given)
                wire_id, name = word(call, place, "id") or None, word_or_none(call, "name") or ""
                found.append(CallAt(position, at, place, wire_id, name, arguments, is_illegal, is_broken, by_model))
        return found

    def results_of(self, node: object, position: int) -> list[ResultAt]:
        path = f"$[{position}]"
        by_user = word(node, path, "role") != "model"
        found: list[ResultAt] = []
        for at, part in enumerate(_entries(node, "parts", path)):
            place = f"{path}.parts[{at}]"
            result = record(part, place, *GEMINI_ANSWER) if is_record(part) else None
            if result is not None and field(part, *GEMINI_CALL) is None:
                wire_id = word(result, place, "id") or None
                name = word_or_none(result, "name") or None
                found.append(ResultAt(position, at, place, wire_id, name, part, by_user))
        return found

    def with_calls(self, node: object, changes: Mapping[int, Change]) -> Json:
        message = as_json(node)
        parts = _as_list(message, "parts")
        for at, change in changes.items():
            name = next(name for name in GEMINI_CALL if parts[at].get(name) is not None)
            call = as_json(parts[at][name])
            parts[at][name] = {**call, **_given(id=change.call_id, name=change.name, args=change.arguments)}
        return {**message, "parts": parts}

    def with_answer(self, result: object, change: Change) -> Json:
        part = as_json(result)
        name = next(name for name in GEMINI_ANSWER if part.get(name) is not None)
        return {**part, name: {**as_json(part[name]), **_given(id=change.call_id, name=change.name)}}

    @override
    def without(self, node: object, entries: frozenset[int]) -> object | None:
        message = as_json(node)
        kept = [part for at, part in enumerate(_as_list(message, "parts")) if at not in entries]
        return {**message, "parts": kept} if kept else None

    @override
    def in_words(self, call: CallAt, call_id: str | None, words: str) -> Json:
        response: Json = {"name": call.name or "unknown", "response": {"error": words}}
        return {"functionResponse": response if call_id is None else {"id": call_id, **response}}

    def formatted(self, call: CallAt, call_id: str | None, result: ToolResult[object]) -> Made:
        content, *media = GEMINI.render(_answer(call, call_id, result))
        [part] = cast("list[Json]", content["parts"])
        return Made(part, media)

    @override
    def group(
        self, results: Sequence[object], extras: Sequence[Json], after: object | None
    ) -> tuple[list[object], bool]:
        return [{"role": "user", "parts": list(results)}, *extras], False

    def is_in_place(self, places: Sequence[Place], position: int) -> bool:
        """The parts of one content, in order; other parts may stand between them."""
        entries = [entry for _, entry in places]
        return all(at == position + 1 for at, _ in places) and entries == sorted(entries)


LAYOUTS: Final[Mapping[Provider, Layout]] = {
    layout.provider: layout for layout in (_Chat(), _Responses(), _Anthropic(), _Gemini())
}
"""The layout of each provider."""
