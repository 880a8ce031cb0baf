"""Messages of all four providers whole and as the events of a stream, cut wherever a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, cast

from armory_trio import ToolCall
from armory_trio.providers import Assembler, Turn, anthropic, gemini, openai

Json = dict[str, object]

STOPS: Final = {"openai-chat": "tool_calls", "openai-responses": "completed", "anthropic": "tool_use", "gemini": "STOP"}
CUTS: Final = {
    "openai-chat": "length",
    "openai-responses": "incomplete",
    "anthropic": "max_tokens",
    "gemini": "MAX_TOKENS",
}


class Said(NamedTuple):
    """A call as a model says it: the arguments are JSON text in pieces."""

    id: str
    name: str
    pieces: Sequence[str]

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def pieces(text: str, *cuts: int) -> list[str]:
    """*text* in pieces, cut at *cuts*; the same place twice gives an empty piece."""
    places = sorted(min(cut, len(text)) for cut in cuts)
    return [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]


def said(id: str, name: str, arguments: object, size: int = 5) -> Said:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Said(id, name, [text[at : at + size] for at in range(0, len(text), size)])


# --- Chat Completions


def chat_chunk(delta: Json, finish_reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def chat_delta(index: int | None, id: str | None, name: str | None, text: str | None) -> Json:
    """One chunk with one entry of ``tool_calls``; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", text)) if value is not None}
    entry: Json = {"function": function}
    entry |= {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return chat_chunk({"tool_calls": [entry]})


def chat_events(calls: Sequence[Said], stop: str | None = "tool_calls", text: str = "") -> list[Json]:
    events = [chat_chunk({"role": "assistant", "content": text})]
    for index, call in enumerate(calls):
        entry: Json = {
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        events.append(chat_chunk({"tool_calls": [entry]}))
        events += [chat_delta(index, None, None, piece) for piece in call.pieces]
    return events if stop is None else [*events, chat_chunk({}, stop)]


def chat_whole(calls: Sequence[Said], stop: str = "tool_calls") -> Json:
    entries = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}} for call in calls
    ]
    return {"choices": [{"finish_reason": stop, "message": {"role": "assistant", "tool_calls": entries}}]}


# --- Responses


def response(status: str, output: Sequence[object] = ()) -> Json:
    fixed: Json = {"id": "r", "object": "response", "created_at": 1, "model": "m", "tools": [], "tool_choice": "auto"}
    return {**fixed, "parallel_tool_calls": True, "status": status, "output": list(output)}


def response_item(at: int, call: Said, status: str = "completed") -> Json:
    text = call.text if status != "in_progress" else ""
    fixed = {"type": "function_call", "id": f"fc_{at}", "call_id": call.id, "name": call.name}
    return {**fixed, "arguments": text, "status": status}


def response_events(calls: Sequence[Said], stop: str | None = "completed", text: str = "") -> list[Json]:
    events: list[Json] = [{"type": "response.created", "response": response("in_progress")}]
    for at, call in enumerate(calls):
        place: Json = {"output_index": at, "item_id": f"fc_{at}"}
        events.append(
            {"type": "response.output_item.added", "output_index": at, "item": response_item(at, call, "in_progress")}
        )
        events += [{"type": "response.function_call_arguments.delta", "delta": piece, **place} for piece in call.pieces]
        events.append({"type": "response.function_call_arguments.done", "arguments": call.text, **place})
        events.append({"type": "response.output_item.done", "output_index": at, "item": response_item(at, call)})
    if stop is not None:
        output = [response_item(at, call) for at, call in enumerate(calls)]
        events.append({"type": f"response.{stop}", "response": response(stop, output)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def response_whole(calls: Sequence[Said], stop: str = "completed") -> Json:
    return response(stop, [response_item(at, call) for at, call in enumerate(calls)])


# --- Anthropic


def anthropic_message(content: Sequence[object], stop: str | None) -> Json:
    usage = {"input_tokens": 1, "output_tokens": 1}
    fixed = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None}
    return {**fixed, "usage": usage, "content": list(content), "stop_reason": stop}


def anthropic_start(index: int | None, block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def anthropic_delta(index: int | None, text: str) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def anthropic_stop(index: int | None) -> Json:
    return {"type": "content_block_stop", "index": index}


def tool_use(id: str, name: str, input: object = None) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": {} if input is None else input}


def anthropic_end(stop: str = "tool_use") -> list[Json]:
    delta: Json = {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {"output_tokens": 1},
    }
    return [delta, {"type": "message_stop"}]


def anthropic_events(calls: Sequence[Said], stop: str | None = "tool_use", text: str = "") -> list[Json]:
    events: list[Json] = [{"type": "message_start", "message": anthropic_message([], None)}]
    if text:
        events.append(anthropic_start(0, {"type": "text", "text": ""}))
        delta: Json = {"type": "text_delta", "text": text}
        events.extend([{"type": "content_block_delta", "index": 0, "delta": delta}, anthropic_stop(0)])
    for index, call in enumerate(calls, start=int(bool(text))):
        events.append(anthropic_start(index, tool_use(call.id, call.name)))
        events += [anthropic_delta(index, piece) for piece in call.pieces]
        events.append(anthropic_stop(index))
    return events if stop is None else [*events, *anthropic_end(stop)]


def anthropic_whole(calls: Sequence[Said], stop: str = "tool_use") -> Json:
    return anthropic_message([tool_use(call.id, call.name, json.loads(call.text or "{}")) for call in calls], stop)


# --- Gemini


def gemini_chunk(parts: Sequence[object], stop: str | None = None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {
        "candidates": [candidate if stop is None else {**candidate, "finishReason": stop}],
        "modelVersion": "gemini-3",
    }


def gemini_call(call: Said) -> Json:
    return {"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.text or "{}")}}


def gemini_events(calls: Sequence[Said], stop: str | None = "STOP", text: str = "") -> list[Json]:
    """Calls whose arguments are streamed value by value."""
    events = [gemini_chunk([{"text": text}])] if text else []
    for call in calls:
        events.append(gemini_chunk([{"functionCall": {"id": call.id, "name": call.name, "willContinue": True}}]))
        events += [
            gemini_chunk([{"functionCall": {"partialArgs": [part], "willContinue": True}}])
            for part in partial_args("$", json.loads(call.text or "{}"))
        ]
        events.append(gemini_chunk([{"functionCall": {}}]))
    return events if stop is None else [*events, gemini_chunk([{"text": ""}], stop)]


def partial_args(path: str, value: object) -> Iterable[Json]:
    """*value* as partial arguments; texts in two pieces. Empty objects and lists inside of it can't be said."""
    if isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            escaped = key.replace("\\", "\\\\").replace("'", "\\'")
            yield from partial_args(f"{path}['{escaped}']", member)
    elif isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            yield from partial_args(f"{path}[{index}]", member)
    elif isinstance(value, str):
        half = len(value) // 2
        yield {"jsonPath": path, "stringValue": value[:half], "willContinue": True}
        yield {"jsonPath": path, "stringValue": value[half:]}
    elif isinstance(value, bool):
        yield {"jsonPath": path, "boolValue": value}
    elif value is None:
        yield {"jsonPath": path, "nullValue": None}
    else:
        yield {"jsonPath": path, "numberValue": value}


def gemini_whole(calls: Sequence[Said], stop: str = "STOP") -> Json:
    return gemini_chunk([gemini_call(call) for call in calls], stop)


# --- All of them


class Wire(NamedTuple):
    """One provider, both ways of saying the same."""

    provider: str
    assembler: Callable[[], Assembler]
    events: Callable[[Sequence[Said], str | None, str], list[Json]]
    whole: Callable[[Sequence[Said], str], Json]
    parse: Callable[[object], Turn]

    @property
    def stop(self) -> str:
        return STOPS[self.provider]

    @property
    def cut(self) -> str:
        return CUTS[self.provider]


WIRES: Final[Mapping[str, Wire]] = {
    "openai-chat": Wire("openai-chat", openai.ChatAssembler, chat_events, chat_whole, openai.parse_chat_tool_calls),
    "openai-responses": Wire(
        "openai-responses", openai.ResponseAssembler, response_events, response_whole, openai.parse_response_tool_calls
    ),
    "anthropic": Wire(
        "anthropic", anthropic.MessageAssembler, anthropic_events, anthropic_whole, anthropic.parse_tool_calls
    ),
    "gemini": Wire("gemini", gemini.ContentAssembler, gemini_events, gemini_whole, gemini.parse_tool_calls),
}


def assembled(assembler: Assembler, events: Iterable[object]) -> Turn:
    for event in events:
        assembler.feed(event)
    return assembler.finish()


def runnable(turn: Turn) -> list[tuple[str, Mapping[str, object]]]:
    """The calls that would run, with what."""
    return [(call.name, call.arguments) for call in turn.calls if call.defect is None]


def codes(turn: Turn) -> list[str | None]:
    return [None if call.defect is None else call.defect.code for call in turn.calls]


def meant(call: ToolCall) -> tuple[str, str, Mapping[str, object], str | None]:
    """What a call says, without the words of its defect."""
    return call.id, call.name, call.arguments, None if call.defect is None else call.defect.code
