"""Results to lines of JSON: our own, or messages that a provider takes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from ..content import UnencodableResult, encode_json, words_for
from ..definitions import Effect, EffectRecord, Outcome, RequiredAction, ToolCall, ToolError, ToolResult
from ..providers import Provider, Turn, WireCall, anthropic, gemini, openai

Json = dict[str, object]


class ResultLine(msgspec.Struct, frozen=True):
    """One result as the format ``result`` writes it: a `ToolResult`, with what a model should read in ``text``.

    Args:
        value: What the tool returned; null unless the outcome is ``success``.
        pending_approval: The call that waits for a person, as it would run; null unless that is what the action is.
        text: What to tell the model; null for a success, whose value says it.
        left_out: Parts that could not be written as JSON, and why; null when there are none.
    """

    call_id: str
    execution_id: str
    tool_name: str
    outcome: Outcome
    value: object
    error: ToolError | None
    action: RequiredAction | None
    pending_approval: Mapping[str, object] | None
    text: str | None
    effect: Effect
    effects: tuple[EffectRecord, ...]
    chunks: tuple[object, ...]
    attempts: int
    duration: float
    left_out: Mapping[str, str] | None = None


def result_line(result: ToolResult[object]) -> bytes:
    """*result* as one line of JSON in ASCII, which is the same bytes in every locale."""
    line = ResultLine(
        call_id=result.call_id,
        execution_id=result.execution_id,
        tool_name=result.tool_name,
        outcome=result.outcome,
        value=result.value,
        error=result.error,
        action=result.action,
        pending_approval=None if result.pending_approval is None else result.pending_approval.to_json(),
        text=None if result.outcome == "success" else words_for(result),
        effect=result.effect,
        effects=result.effects,
        chunks=result.chunks,
        attempts=result.attempts,
        duration=result.duration,
    )
    try:
        return _line(line)
    except UnencodableResult:
        return _line(_without_unencodable(line))


def _line(value: object) -> bytes:
    return encode_json(value, ascii=True).encode("ascii") + b"\n"


def _without_unencodable(line: ResultLine) -> ResultLine:
    """*line* without what has no JSON form: a tool may put anything into its chunks and the details of its failure."""
    left_out: dict[str, str] = {}

    def kept(name: str, value: object) -> object:
        try:
            encode_json(value)
        except UnencodableResult as error:
            left_out[name] = str(error)
            return None
        return value

    value = kept("value", line.value)
    chunks = tuple(kept(f"chunks[{index}]", chunk) for index, chunk in enumerate(line.chunks))
    error = line.error
    if error is not None and kept("error.details", error.details) is None:
        error = msgspec.structs.replace(error, details=None)
    return msgspec.structs.replace(line, value=value, chunks=chunks, error=error, left_out=left_out)


def reply_lines(turn: Turn, results: Sequence[ToolResult[object]], provider: Provider) -> bytes:
    """The messages that answer *turn*, for the history of *provider*, one a line.

    Args:
        turn: The calls, whoever made them.
        results: One for each of its calls, in order.
        provider: Whose messages to write.
    """
    if turn.provider != provider:
        turn = _ANSWERED[provider](turn.wire)
    answers = [
        msgspec.structs.replace(result, call_id=call.id) for call, result in zip(turn.calls, results, strict=True)
    ]
    return b"".join(_line(message) for message in turn.reply(answers))


def _chat(calls: Sequence[WireCall]) -> Turn:
    return openai.parse_chat_tool_calls(
        [
            {"id": call.reply_id, "type": "function", "function": {"name": call.name, "arguments": "{}"}}
            for call in calls
        ]
    )


def _responses(calls: Sequence[WireCall]) -> Turn:
    items: list[Json] = [
        {"type": "function_call", "call_id": call.reply_id, "name": call.name, "arguments": "{}"} for call in calls
    ]
    return openai.parse_response_tool_calls(items)


def _anthropic(calls: Sequence[WireCall]) -> Turn:
    blocks: list[Json] = [{"type": "tool_use", "id": call.reply_id, "name": call.name, "input": {}} for call in calls]
    return anthropic.parse_tool_calls(blocks)


def _gemini(calls: Sequence[WireCall]) -> Turn:
    parts: list[Json] = [{"functionCall": {"id": call.reply_id, "name": call.name, "args": {}}} for call in calls]
    return gemini.parse_tool_calls(parts)


_ANSWERED: Final[Mapping[Provider, Callable[[Sequence[WireCall]], Turn]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
"""The same calls as each provider would have written them, so that its parser knows how to answer them."""


def not_started(call: ToolCall, reason: str) -> ToolResult[object]:
    """The result of a call that was read, and never handed to the supervisor."""
    error = ToolError("cancelled", "NOT_STARTED", reason)
    return ToolResult(execution_id="", call_id=call.id, tool_name=call.name, outcome="error", error=error)
