"""Whatever JSON arrives: a turn that can be answered, or a `MessageError`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armory_trio.providers import MessageError, Turn, anthropic, detect_provider, gemini, openai
from tests.requirements import requirement

from ._results import run
from ._sdk import accept

Parser = Callable[[object], Turn]

PARSERS: dict[str, Parser] = {
    "chat": openai.parse_chat_tool_calls,
    "responses": openai.parse_response_tool_calls,
    "anthropic": anthropic.parse_tool_calls,
    "gemini": gemini.parse_tool_calls,
}

KEYS = st.sampled_from(
    [
        *("choices", "message", "tool_calls", "function", "function_call", "finish_reason", "delta", "custom"),
        *("output", "status", "incomplete_details", "call_id", "namespace", "caller", "caller_id"),
        *("content", "stop_reason", "input", "toolset_name", "candidates", "parts", "functionCall", "args"),
        *("finishReason", "toolCall", "toolType", "willContinue", "role", "type", "id", "name", "arguments", "text"),
    ]
)
WORDS = st.sampled_from(
    [
        *("assistant", "user", "model", "function", "custom", "function_call", "tool_use", "server_tool_use", "text"),
        *("length", "max_tokens", "incomplete", "MAX_TOKENS", "MALFORMED_FUNCTION_CALL", "STOP", "program", "x", ""),
        *("{}", '{"a": 1}', '{"a": ', "[1]", "null", '{"a": 1, "a": 2}', "NaN"),
    ]
)
HALVES = st.sampled_from(["\ud83d", "a\udfff"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | HALVES | st.text(max_size=5)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5),
    max_leaves=20,
)


def answer(turn: Turn) -> None:
    assert len({call.id for call in turn.calls}) == len(turn.calls)
    assert all(call.defect is None or call.arguments == {} for call in turn.calls)
    reply = turn.reply(run(turn))
    accept(turn, reply)
    assert json.dumps(reply, ensure_ascii=False, allow_nan=False).encode()


@requirement("providers.any-json")
@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS.keys())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(message=ANY_JSON)
def test_any_json_is_a_turn_or_a_message_error(parse: Parser, message: object) -> None:
    refusal: MessageError | None = None
    try:
        answer(parse(message))
    except MessageError as error:
        refusal = error
    assert refusal is None or refusal.path.startswith("$")


CALLS = st.lists(st.dictionaries(st.sampled_from(["id", "name", "arguments", "type", "status"]), SCALARS), max_size=4)


FINE = ("assistant", "x", "", "{}")


def entries(calls: list[dict[str, object]]) -> dict[str, object]:
    """The same calls in each provider's own form, so that what is random is what stands in the fields."""
    return {
        "chat": [{"id": call.get("id"), "type": "function", "function": call} for call in calls],
        "responses": [{**call, "type": "function_call", "call_id": call.get("id")} for call in calls],
        "anthropic": [{**call, "type": "tool_use", "input": call.get("arguments")} for call in calls],
        "gemini": [{"functionCall": {**call, "args": call.get("arguments")}} for call in calls],
    }


@requirement("providers.any-json")
@pytest.mark.parametrize("provider", PARSERS.keys())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(calls=CALLS)
def test_any_fields_of_calls_are_calls_or_a_message_error(provider: str, calls: list[dict[str, object]]) -> None:
    try:
        turn = PARSERS[provider](entries(calls)[provider])
    except MessageError:
        odd = [value for call in calls for value in call.values() if value not in (None, *FINE)]
        assert odd, "every field was a text that can be sent"
    else:
        assert len(turn.calls) == len(calls)
        answer(turn)


@requirement("providers.any-json", "providers.detection")
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(message=ANY_JSON)
def test_any_json_can_be_asked_whose_it_is(message: object) -> None:
    assert detect_provider(message) in (None, "openai-chat", "openai-responses", "anthropic", "gemini")
