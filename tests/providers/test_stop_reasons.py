"""Every reason to stop that the official SDKs know is one that was looked at: a new one fails here first."""

from __future__ import annotations

from typing import Final, get_args

import pytest
from anthropic.types import StopReason
from anthropic.types.beta import BetaStopReason
from google.genai.types import FinishReason
from openai.types.chat.chat_completion import Choice
from openai.types.responses import ResponseStatus

from armory_trio.providers import Turn, anthropic, gemini, openai
from tests.requirements import requirement

WHOLE: Final = {
    "openai-chat": {"stop", "tool_calls", "function_call"},
    "openai-responses": {"completed"},
    "anthropic": {"end_turn", "stop_sequence", "tool_use", "pause_turn", "compaction"},
    "gemini": {
        *("FINISH_REASON_UNSPECIFIED", "STOP", "NO_IMAGE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
        *("MISSING_THOUGHT_SIGNATURE", "PUP_LIMITED_DISABLED"),
    },
}
"""Reasons after which the last call is whole."""

DOUBTED: Final = {"gemini": {"MALFORMED_FUNCTION_CALL"}}
"""Reasons by which the provider says that a call is broken."""

KNOWN: Final = {
    "openai-chat": get_args(Choice.model_fields["finish_reason"].annotation),
    "openai-responses": get_args(ResponseStatus),
    "anthropic": tuple(sorted({*get_args(StopReason), *get_args(BetaStopReason)})),
    "gemini": tuple(reason.value for reason in FinishReason),
}
EVERY: Final = [(provider, str(reason)) for provider, reasons in KNOWN.items() for reason in reasons]


def stopped(provider: str, reason: str) -> Turn:
    match provider:
        case "openai-chat":
            call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            message = {"role": "assistant", "tool_calls": [call]}
            return openai.parse_chat_tool_calls({"choices": [{"finish_reason": reason, "message": message}]})
        case "openai-responses":
            item = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
            return openai.parse_response_tool_calls({"object": "response", "status": reason, "output": [item]})
        case "anthropic":
            use: dict[str, object] = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
            return anthropic.parse_tool_calls({"role": "assistant", "stop_reason": reason, "content": [use]})
        case _:
            asked: dict[str, object] = {"name": "f", "args": {}}
            content = {"role": "model", "parts": [{"functionCall": asked}]}
            return gemini.parse_tool_calls({"candidates": [{"finishReason": reason, "content": content}]})


@requirement("providers.truncated-refused")
@pytest.mark.parametrize(("provider", "reason"), EVERY)
def test_a_call_runs_only_after_a_reason_that_leaves_it_whole(provider: str, reason: str) -> None:
    [call] = stopped(provider, reason).calls

    code = None if call.defect is None else call.defect.code
    if reason in WHOLE[provider]:
        assert code is None
    else:
        assert code == ("MALFORMED_CALL" if reason in DOUBTED.get(provider, ()) else "TRUNCATED_CALL")


@requirement("providers.truncated-refused", "assembly.broken-off")
@pytest.mark.parametrize(
    ("reason", "first", "last"),
    [
        ("tool_calls", None, None),
        ("STOP", None, None),
        ("MAX_TOKENS", None, "TRUNCATED_CALL"),
        ("SAFETY", None, "TRUNCATED_CALL"),
        ("prohibited_content", None, "TRUNCATED_CALL"),
        ("refusal", None, "TRUNCATED_CALL"),
        ("malformed_function_call", "MALFORMED_CALL", "MALFORMED_CALL"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "MALFORMED_CALL", "MALFORMED_CALL"),
    ],
)
def test_the_words_of_the_provider_behind_a_gateway_count_in_a_chat(
    reason: str, first: str | None, last: str | None
) -> None:
    calls = [
        {"index": at, "id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for at in (0, 1)
    ]
    whole = openai.parse_chat_tool_calls(
        {"finish_reason": reason, "message": {"role": "assistant", "tool_calls": calls}}
    )
    assembler, empty = openai.ChatAssembler(), dict[str, object]()
    assembler.feed({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
    assembler.feed({"choices": [{"index": 0, "delta": empty, "finish_reason": reason}]})
    assembler.feed({"choices": [{"index": 0, "delta": empty, "finish_reason": "stop"}]})

    for turn in (whole, assembler.finish()):
        assert [None if call.defect is None else call.defect.code for call in turn.calls] == [first, last]
        if last is not None:
            assert turn.stop_reason == reason
