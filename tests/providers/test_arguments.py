"""Arguments: what counts as none, what is refused, and what a refusal says."""

from __future__ import annotations

import json
from typing import cast

import pytest
from pydantic import BaseModel

from armory_trio import CallDefect, ToolCall
from armory_trio.definitions import freeze_json
from armory_trio.providers import anthropic, extend_history, gemini, openai
from tests.requirements import requirement

from ._results import run

Json = dict[str, object]
DEEP = "[" * 20_000 + "]" * 20_000


def parsed(arguments: object) -> ToolCall:
    [call] = openai.parse_chat_tool_calls([{"id": "x", "function": {"name": "f", "arguments": arguments}}]).calls
    return call


def defect(arguments: object) -> CallDefect:
    call = parsed(arguments)
    assert call.defect is not None
    assert (call.name, call.id, call.arguments) == ("f", "x", {})
    return call.defect


@requirement("providers.nothing-is-an-empty-object")
@pytest.mark.parametrize("nothing", [None, "", "  ", "\n\t", "null", " null ", "{}", {}])
def test_nothing_means_an_empty_object(nothing: object) -> None:
    calls = (
        parsed(nothing),
        *openai.parse_response_tool_calls([{"type": "function_call", "name": "f", "arguments": nothing}]).calls,
        *anthropic.parse_tool_calls([{"type": "tool_use", "id": "x", "name": "f", "input": nothing}]).calls,
        *gemini.parse_tool_calls([{"functionCall": {"name": "f", "args": nothing}}]).calls,
    )

    assert [(call.arguments, call.defect) for call in calls] == [({}, None)] * 4


@requirement("providers.nothing-is-an-empty-object")
def test_arguments_that_are_not_there_at_all_are_an_empty_object() -> None:
    [call] = anthropic.parse_tool_calls([{"type": "tool_use", "id": "x", "name": "f"}]).calls

    assert (call.arguments, call.defect) == ({}, None)


@requirement("providers.malformed-never-runs")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"city":"Par', "not valid JSON"),
        ('{"a": 1} and more', "not valid JSON"),
        ('{"a": 1}{"b": 2}', "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ('"x"', "a string, not a JSON object"),
        ("[1]", "an array, not a JSON object"),
        ("5", "a number, not a JSON object"),
        ("true", "a boolean, not a JSON object"),
    ],
)
def test_text_that_is_not_one_object_is_malformed(text: str, words: str) -> None:
    found = defect(text)

    assert found.code == "MALFORMED_CALL"
    assert words in found.message
    assert found.message.endswith("Send the call again with one complete JSON object as its arguments.")
    assert found.text == text


@requirement("providers.malformed-never-runs")
@pytest.mark.parametrize("value", [[1], 5, 2.5, True, ("a",), b"{}", object()])
def test_a_decoded_value_that_is_no_object_is_malformed(value: object) -> None:
    assert defect(value).code == "MALFORMED_CALL"


@requirement("providers.hostile-json")
@pytest.mark.parametrize(
    "text",
    [
        f'{{"a": {DEEP}}}',
        f'{{"a": {"9" * 10_000}}}',
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e400}',
        " " * 5_000_000,
        '{"a": "' + "x" * 50_000_000 + '"}',
    ],
    ids=["deep", "digits", "duplicate", "duplicate inside", "NaN", "Infinity", "overflow", "spaces", "huge"],
)
def test_hostile_text_is_malformed_and_never_an_exception(text: str) -> None:
    found = defect(text)

    assert found.code == "MALFORMED_CALL"
    assert found.text is not None
    assert len(found.text) < 300


@requirement("providers.hostile-json")
def test_hostile_decoded_values_are_malformed_and_never_an_exception() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop
    nested: object = 1
    for _ in range(5_000):
        nested = [nested]

    for value in (loop, {"a": nested}, {"a": float("nan")}, {"a": float("inf")}, {1: 2}, {"a": object()}, {"a": {1}}):
        assert defect(value).code == "MALFORMED_CALL"


@requirement("providers.hostile-json")
def test_the_text_that_is_shown_can_always_be_sent() -> None:
    shown = defect('["\ud83d"]').text

    assert shown == '["\\ud83d"]'
    assert json.dumps(shown, ensure_ascii=False).encode()


@requirement("providers.malformed-never-runs")
def test_a_broken_call_keeps_its_place_between_whole_ones() -> None:
    entries = [
        {"id": wire_id, "function": {"name": "f", "arguments": arguments}}
        for wire_id, arguments in (("a", "{}"), ("b", '{"x": '), ("c", "{}"))
    ]

    turn = openai.parse_chat_tool_calls(entries)

    assert [call.id for call in turn.calls] == ["a", "b", "c"]
    assert [call.defect is None for call in turn.calls] == [True, False, True]
    assert [entry["tool_call_id"] for entry in turn.reply(run(turn))] == ["a", "b", "c"]


@requirement("providers.shapes")
def test_arguments_that_an_sdk_gives_as_a_model_are_read() -> None:
    class Arguments(BaseModel):
        city: str
        unit: str | None = None

    assert parsed(Arguments(city="Paris")).arguments == {"city": "Paris"}


@requirement("providers.shapes")
def test_arguments_that_a_server_decoded_already_are_read() -> None:
    given: dict[str, object] = {"a": {"b": [1, None]}}

    call = parsed(given)

    assert (call.arguments, call.defect) == ({"a": {"b": [1, None]}}, None)
    assert call.arguments is not given


def in_one_another(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@requirement("providers.malformed-never-runs")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (in_one_another(200), "too-deep"),
        ({"a": "x" * 2_000_000}, "text-too-large"),
        ({"a": 10**5_000}, "too-many-digits"),
    ],
    ids=["deep", "large", "long number"],
)
def test_a_decoded_value_has_the_limits_of_its_text(value: object, words: str) -> None:
    """What runs has to stand in a history, where it is text."""
    calls = (
        parsed(value),
        *anthropic.parse_tool_calls([{"type": "tool_use", "id": "x", "name": "f", "input": value}]).calls,
        *gemini.parse_tool_calls([{"functionCall": {"name": "f", "args": value}}]).calls,
    )

    assert all(call.defect is not None and words in call.defect.message for call in calls)
    assert all(call.arguments == {} for call in calls)


@requirement("providers.malformed-never-runs")
def test_frozen_arguments_are_written_into_a_history_as_any_others() -> None:
    frozen = freeze_json({"a": {"b": [1, {"c": "\ud800"}]}})
    message = {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": frozen}}]}
    turn = openai.parse_chat_tool_calls(message)

    [said, _] = cast("list[Json]", extend_history([], message, turn, run(turn)))

    [call] = cast("list[Json]", said["tool_calls"])
    text = cast("str", cast("Json", call["function"])["arguments"])
    assert text.isascii()
    assert json.loads(text) == {"a": {"b": [1, {"c": "\ud800"}]}}
