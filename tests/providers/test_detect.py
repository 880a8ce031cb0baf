"""Telling by its shape whose message one is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from anthropic.types import Message
from google.genai import types
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from armory_trio.providers import MessageError, Provider, Turn, anthropic, detect_provider, gemini, openai
from tests.requirements import requirement

from . import test_anthropic, test_gemini, test_openai_chat, test_openai_responses

SHAPES: dict[Provider, dict[str, object]] = {
    "openai-chat": test_openai_chat.shapes(),
    "openai-responses": test_openai_responses.shapes(),
    "anthropic": test_anthropic.shapes(),
    "gemini": test_gemini.shapes(),
}


@requirement("providers.detection")
@pytest.mark.parametrize(
    ("provider", "shape"),
    [(provider, shape) for provider, shapes in SHAPES.items() for shape in shapes.values()],
    ids=[f"{provider} {name}" for provider, shapes in SHAPES.items() for name in shapes],
)
def test_every_shape_that_a_parser_reads_with_calls_is_told(provider: Provider, shape: object) -> None:
    assert detect_provider(shape) == provider


@requirement("providers.detection")
@pytest.mark.parametrize(
    ("provider", "whole"),
    [
        ("openai-chat", ChatCompletion.model_validate(test_openai_chat.completion())),
        ("openai-chat", {"role": "assistant", "content": "hi", "refusal": None}),
        ("openai-responses", Response.model_validate(test_openai_responses.response())),
        ("openai-responses", [test_openai_responses.REASONING]),
        ("anthropic", Message.model_validate(test_anthropic.message())),
        ("anthropic", [{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        ("gemini", types.GenerateContentResponse()),
        ("gemini", {"candidates": []}),
    ],
)
def test_whole_messages_are_told_without_calls_too(provider: Provider, whole: object) -> None:
    assert detect_provider(whole) == provider


@requirement("providers.detection")
@pytest.mark.parametrize(
    "unclear",
    [
        None,
        5,
        "text",
        {},
        [],
        [None, 3],
        {"role": "assistant", "content": "hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
        {"name": "add", "arguments": {"a": 1}},
        [{"name": "add", "arguments": {"a": 1}}],
        {"choices": [], "candidates": []},
    ],
)
def test_what_could_be_anybodys_is_nobodys(unclear: object) -> None:
    assert detect_provider(unclear) is None


PARSERS: dict[Provider, Callable[[object], Turn]] = {
    "openai-chat": openai.parse_chat_tool_calls,
    "openai-responses": openai.parse_response_tool_calls,
    "anthropic": anthropic.parse_tool_calls,
    "gemini": gemini.parse_tool_calls,
}


@requirement("providers.foreign-form")
@pytest.mark.parametrize("reader", PARSERS)
@pytest.mark.parametrize(
    ("writer", "shape"),
    [(provider, shape) for provider, shapes in SHAPES.items() for shape in shapes.values()],
    ids=[f"{provider} {name}" for provider, shapes in SHAPES.items() for name in shapes],
)
def test_calls_in_the_form_of_another_provider_are_never_missed(
    reader: Provider, writer: Provider, shape: object
) -> None:
    try:
        turn = PARSERS[reader](shape)
    except MessageError:
        assert reader != writer
    else:
        assert turn.calls


@requirement("providers.foreign-form")
def test_the_parser_that_would_read_the_calls_is_named() -> None:
    with pytest.raises(MessageError, match="calls in the form of openai-chat, not of anthropic"):
        openai.parse_chat_tool_calls(SHAPES["anthropic"]["message"])
