"""JSON values to turns: whose message it is, and which calls it asks for. Nothing here reads or waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

import attrs

from ..definitions import near
from ..providers import MessageError, Provider, Turn, anthropic, detect_provider, gemini, openai
from ..providers._text import is_encodable
from ._exit import Unusable
from ._settings import InputKind

PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
"""What the options call each provider."""

_PARSERS: Final[Mapping[Provider, Callable[[object], Turn]]] = {
    "openai-chat": openai.parse_chat_tool_calls,
    "openai-responses": openai.parse_response_tool_calls,
    "anthropic": anthropic.parse_tool_calls,
    "gemini": gemini.parse_tool_calls,
}

_TRANSCRIPTS: Final = ("messages", "contents", "input")
"""Under these names a request holds the history: Chat Completions and Anthropic, Gemini, Responses."""

_MODEL_ROLES: Final = ("assistant", "model")
_KEYS: Final = ("name", "arguments", "id")
_CALL: Final = frozenset(_KEYS)
_EXPECTED: Final = (
    'a call such as {"name": "add", "arguments": {"a": 1}}, a model\'s message, or a list or transcript of these'
)
_INDEX: Final = re.compile(r"\$\[(\d+)\]")

Json = dict[str, object]


@attrs.frozen
class InputReader:
    """Reads what the lines or the document of one input hold.

    Args:
        kind: What the user says that it is; ``auto`` tells by the shape.
        numbers: Numbers all calls of the input from 1, for the ids of plain calls that have none.
    """

    kind: InputKind
    numbers: Iterator[int]

    def turns(self, value: object, origin: str) -> list[Turn]:
        """The turns that *value* holds, in order; the calls of one turn belong together.

        Raises:
            Unusable: It is neither calls nor messages.
        """
        try:
            return self._turns(value)
        except (MessageError, Unusable) as error:
            raise Unusable(f"{origin}: {error}") from None

    @property
    def _provider(self) -> Provider | None:
        return PROVIDERS.get(self.kind)

    def _turns(self, value: object) -> list[Turn]:
        if isinstance(value, list):
            return self._list(cast("list[object]", value), "$")
        if not isinstance(value, dict):
            return self._entry(value, "$")
        record = cast("Json", value)
        for key in _TRANSCRIPTS if self.kind != "calls" and "name" not in record else ():
            history = record.get(key)
            if isinstance(history, list):
                return self._list(cast("list[object]", history), f"$.{key}")
        return self._entry(record, "$")

    def _list(self, entries: list[object], path: str) -> list[Turn]:
        provider = self._provider or (None if self.kind == "calls" else detect_provider(entries))
        if provider == "openai-responses" and not any(_is_response(entry) for entry in entries):
            return list(self._runs(entries, path))
        if provider is not None and not any(_is_message(entry) for entry in entries):
            return [self._parsed(provider, entries, path)]
        return list(self._each(entries, path))

    def _each(self, entries: list[object], path: str) -> Iterator[Turn]:
        """Each message by itself; plain calls that follow each other together."""
        calls: list[tuple[str, object]] = []
        for at, entry in enumerate(entries):
            if self._is_plain(entry):
                calls.append((f"{path}[{at}]", entry))
                continue
            if calls:
                yield self._plain(calls)
                calls = []
            yield from self._entry(entry, f"{path}[{at}]")
        if calls:
            yield self._plain(calls)

    def _runs(self, items: list[object], path: str) -> Iterator[Turn]:
        """The items that the model wrote in one go, of a history of the Responses API."""
        start = 0
        for at, item in enumerate([*items, None]):
            if item is None or _is_others_item(item):
                if at > start:
                    turn = self._parsed("openai-responses", items[start:at], path, start)
                    if turn.calls or turn.others:
                        yield turn
                start = at + 1

    def _entry(self, value: object, path: str) -> list[Turn]:
        if self.kind == "calls":
            return [self._plain([(path, value)])]
        if not isinstance(value, dict):
            raise MessageError(path, value, _EXPECTED)
        record = cast("Json", value)
        if self.kind == "auto" and record.keys() <= _CALL:
            return [self._plain([(path, record)])]
        if _is_others_item(record):
            return []  # what somebody else said asks for nothing
        provider = self._provider or detect_provider(record)
        if provider is not None:
            return [self._parsed(provider, record, path)]
        if isinstance(record.get("role"), str):
            return []  # a message without calls could be anybody's
        if self._is_plain(record):
            return [self._plain([(path, record)])]
        raise MessageError(path, record, _EXPECTED)

    def _parsed(self, provider: Provider, message: object, path: str, offset: int = 0) -> Turn:
        try:
            turn = _PARSERS[provider](message)
        except MessageError as error:
            told = str(error)
            if offset:
                told = _INDEX.sub(lambda found: f"$[{int(found[1]) + offset}]", told, count=1)
            raise Unusable(path + told.removeprefix("$")) from None
        for _ in turn.calls:
            next(self.numbers)
        return turn

    def _is_plain(self, entry: object) -> bool:
        if self.kind == "calls":
            return True
        if self.kind != "auto" or not isinstance(entry, dict) or "role" in entry:
            return False
        return ("name" in entry or "arguments" in entry) and detect_provider(cast("object", entry)) is None

    def _plain(self, calls: Sequence[tuple[str, object]]) -> Turn:
        """Plain calls, read like those of a message: broken arguments are the model's mistake and become results."""
        return openai.parse_chat_tool_calls([self._wrapped(path, call) for path, call in calls])

    def _wrapped(self, path: str, call: object) -> Json:
        if not isinstance(call, dict):
            raise MessageError(path, call, 'a call such as {"name": "add", "arguments": {"a": 1}}')
        record = cast("Json", call)
        for key in record:
            if key not in _KEYS:
                meant = near(key, _KEYS, 1)
                hint = f" (did you mean {meant[0]!r}?)" if meant else ""
                raise MessageError(
                    f"{path}[{key[:40]!a}]", record[key], f"a call with name, arguments and id only{hint}"
                )
        name, call_id = record.get("name"), record.get("id")
        if not isinstance(name, str) or not name:
            raise MessageError(f"{path}.name", name, "the name of a tool")
        if not isinstance(call_id, str | None):
            raise MessageError(f"{path}.id", call_id, "a text")
        if call_id is not None and not is_encodable(call_id):
            raise MessageError(f"{path}.id", call_id, "a text without lone surrogates")
        number = next(self.numbers)
        function = {"name": name, "arguments": record.get("arguments")}
        return {"id": call_id or f"call-{number}", "type": "function", "function": function}


def _is_message(entry: object) -> bool:
    """Whether *entry* is a whole message, and no part of one."""
    if not isinstance(entry, dict):
        return False
    return any(key in entry for key in ("role", "choices", "candidates", "message")) or (
        "type" not in entry and ("content" in entry or "output" in entry)
    )


def _is_response(entry: object) -> bool:
    return isinstance(entry, dict) and "output" in entry and "type" not in entry


def _is_others_item(item: object) -> bool:
    """Whether somebody else than the model wrote this message, or this item of a history."""
    if not isinstance(item, dict):
        return False
    record = cast("Json", item)
    kind, role = record.get("type"), record.get("role")
    return (isinstance(kind, str) and kind.endswith("_output")) or (isinstance(role, str) and role not in _MODEL_ROLES)
