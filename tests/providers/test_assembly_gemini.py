"""Chunks of Gemini streams: calls that come whole, and calls whose arguments come value by value."""

from __future__ import annotations

import pytest
from google.genai import types as genai

from armory_trio.providers import ArgumentsGrew, CallBegan, CallClosed, MessageError, StreamNews
from armory_trio.providers.gemini import ContentAssembler, parse_tool_calls
from tests.requirements import requirement

from ._results import PICTURE, success
from ._streams import assembled, codes, gemini_call, gemini_chunk, gemini_events, gemini_whole, runnable, said

Json = dict[str, object]

A: Json = {"path": "a"}
B: Json = {"path": "b"}
CALLS = [said("x", "read", A), said("y", "write", B)]
BOTH = [("read", A), ("write", B)]
END = gemini_chunk([{"text": ""}], "STOP")


def call(
    *partial: Json, name: str | None = None, id: str | None = None, more: bool = False, args: object = None
) -> Json:
    """A chunk with one function call."""
    fields = {"name": name, "id": id, "partialArgs": list(partial) or None, "args": args, "willContinue": more or None}
    return gemini_chunk([{"functionCall": {key: value for key, value in fields.items() if value is not None}}])


def value(path: str, text: str, *, more: bool = False) -> Json:
    return {"jsonPath": path, "stringValue": text, **({"willContinue": True} if more else {})}


@requirement("assembly.same-turn")
def test_calls_that_come_whole_are_read_one_by_one_and_together() -> None:
    apart = [gemini_chunk([gemini_call(said_)]) for said_ in CALLS]

    assert runnable(assembled(ContentAssembler(), [*apart, END])) == BOTH
    assert runnable(assembled(ContentAssembler(), [gemini_whole(CALLS)])) == BOTH


READABLE: dict[str, tuple[list[Json], Json]] = {
    "no arguments": ([call(name="f", more=True), call()], {}),
    "all in one part": ([call(value("$.a", "x"), {"jsonPath": "$.b", "numberValue": 2}, name="f")], {"a": "x", "b": 2}),
    "a text in pieces": (
        [call(value("$.a", "x", more=True), name="f", more=True), call(value("$.a", "y"))],
        {"a": "xy"},
    ),
    "a text whose end comes without more": (
        [call(value("$.a", "x", more=True), name="f", more=True), call({"jsonPath": "$.a"})],
        {"a": "x"},
    ),
    "texts in turns": (
        [
            call(value("$.a", "1", more=True), value("$.b", "2", more=True), name="f", more=True),
            call(value("$.b", "3"), value("$.a", "4")),
        ],
        {"a": "14", "b": "23"},
    ),
    "all kinds": (
        [
            call(
                {"jsonPath": "$.o['k.k'][0]", "boolValue": True},
                {"jsonPath": '$.o["k.k"][1].z', "numberValue": 1.5},
                {"jsonPath": "$.n", "nullValue": "NULL_VALUE"},
                {"jsonPath": "$['it\\'s']", "nullValue": None},
                name="f",
            )
        ],
        {"o": {"k.k": [True, {"z": 1.5}]}, "n": None, "it's": None},
    ),
    "the id in every part": (
        [call(name="f", id="x", more=True), call(value("$.a", "x"), id="x", more=True), call(id="x")],
        {"a": "x"},
    ),
    "the name and the id in every part": (
        [
            call(name="f", id="x", more=True),
            call(value("$.a", "x"), name="f", id="x", more=True),
            call(name="f", id="x"),
        ],
        {"a": "x"},
    ),
    "the arguments whole again at the end": (
        [call(value("$.a", "x"), name="f", more=True), call(args={"a": "x"})],
        {"a": "x"},
    ),
}


@requirement("assembly.matching", "assembly.sent-again")
@pytest.mark.parametrize(("events", "expected"), READABLE.values(), ids=READABLE.keys())
def test_arguments_are_built_of_values_and_their_paths(events: list[Json], expected: Json) -> None:
    assert runnable(assembled(ContentAssembler(), [*events, END])) == [("f", expected)]


REFUSED: dict[str, tuple[list[Json], list[str | None]]] = {
    "a value twice": ([call(value("$.a", "x"), value("$.a", "y"), name="f")], ["MALFORMED_CALL"]),
    "a text that never ends": ([call(value("$.a", "x", more=True), name="f")], ["TRUNCATED_CALL"]),
    "a number in pieces": (
        [
            call({"jsonPath": "$.a", "numberValue": 1, "willContinue": True}, name="f", more=True),
            call({"jsonPath": "$.a"}),
        ],
        ["MALFORMED_CALL"],
    ),
    "a place that is a text and an object": (
        [call(value("$.a", "x"), value("$.a.b", "y"), name="f")],
        ["MALFORMED_CALL"],
    ),
    "a place that is a list and an object": (
        [call(value("$.a[0]", "x"), value("$.a.b", "y"), name="f")],
        ["MALFORMED_CALL"],
    ),
    "a list with a hole": ([call(value("$.a[1]", "x"), name="f")], ["MALFORMED_CALL"]),
    "a list at the root": ([call(value("$[0]", "x"), name="f")], ["MALFORMED_CALL"]),
    "a query instead of a path": ([call(value("$..a", "x"), name="f")], ["MALFORMED_CALL"]),
    "no path": ([call({"stringValue": "x"}, name="f")], ["MALFORMED_CALL"]),
    "a path without a value": ([call({"jsonPath": "$.a"}, name="f")], ["MALFORMED_CALL"]),
    "other arguments at the end": (
        [call(value("$.a", "x"), name="f", more=True), call(args={"a": "z"})],
        ["MALFORMED_CALL"],
    ),
    "another call before the end": (
        [call(value("$.a", "x"), name="f", more=True), call(name="g", args={"b": 1})],
        ["MALFORMED_CALL", None],
    ),
    "a part of no call": ([call(value("$.a", "x"))], ["MALFORMED_CALL"]),
    "never closed": ([call(value("$.a", "x"), name="f", more=True)], ["TRUNCATED_CALL"]),
    "never closed, and followed": (
        [call(value("$.a", "x"), name="f", more=True), gemini_chunk([{"text": "so"}])],
        ["TRUNCATED_CALL"],
    ),
}


@requirement("assembly.undecidable-refused", "assembly.broken-off")
@pytest.mark.parametrize(("events", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_arguments_that_do_not_fit_together_are_refused(events: list[Json], expected: list[str | None]) -> None:
    assert codes(assembled(ContentAssembler(), [*events, END])) == expected


@requirement("assembly.broken-off")
@pytest.mark.parametrize("length", range(1, 10))
def test_wherever_a_stream_breaks_off_a_call_runs_only_after_something_followed_it(length: int) -> None:
    turn = assembled(ContentAssembler(), gemini_events(CALLS, None)[:length])

    assert runnable(turn) == BOTH[: max(0, len(turn.calls) - 1)]
    assert codes(turn)[-1] == "TRUNCATED_CALL"


@requirement("assembly.broken-off")
@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("MAX_TOKENS", [None, "TRUNCATED_CALL"]),
        ("SAFETY", [None, "TRUNCATED_CALL"]),
        ("MALFORMED_FUNCTION_CALL", ["MALFORMED_CALL"] * 2),
    ],
)
def test_a_stopped_model_ends_its_last_call(stop: str, expected: list[str | None]) -> None:
    assert codes(assembled(ContentAssembler(), gemini_events(CALLS, stop))) == expected


@requirement("assembly.broken-off")
def test_an_error_in_the_stream_is_the_reason_that_the_model_reads() -> None:
    turn = assembled(ContentAssembler(), [*gemini_events(CALLS, None), {"error": {"message": "quota", "code": 429}}])

    assert codes(turn) == [None, "TRUNCATED_CALL"]
    assert "quota" in str(turn.calls[1].defect)


@requirement("assembly.news", "assembly.preview")
def test_each_event_says_what_is_new() -> None:
    assembler = ContentAssembler()
    news: list[StreamNews] = []
    shown: list[str] = []
    for event in gemini_events([said("x", "read", {"path": "abcd"})], None):
        news += assembler.feed(event)
        shown.append(str(assembler.preview(0).arguments))

    assert news == [CallBegan(0, "read", "x"), ArgumentsGrew(0, ""), ArgumentsGrew(0, ""), CallClosed(0)]
    assert shown == ["{}", "{'path': 'ab'}", "{'path': 'abcd'}", "{'path': 'abcd'}"]


@requirement("assembly.message")
def test_the_content_for_the_history_keeps_signatures_and_joins_texts() -> None:
    events = [
        gemini_chunk([{"text": "I ", "thought": True}]),
        gemini_chunk([{"text": "think", "thought": True}]),
        gemini_chunk([{"text": "Let "}]),
        gemini_chunk([{"text": "me see."}]),
        gemini_chunk([{"functionCall": {"name": "read", "willContinue": True}, "thoughtSignature": "c2ln"}]),
        *(call(value("$.path", "a"), more=True), call()),
        gemini_chunk([{"text": "", "thoughtSignature": "bW9yZQ=="}], "STOP"),
    ]
    assembler = ContentAssembler()

    assert runnable(assembled(assembler, events)) == [("read", A)]

    content = assembler.message()
    assert content == {
        "role": "model",
        "parts": [
            {"text": "I think", "thought": True},
            {"text": "Let me see."},
            {"functionCall": {"name": "read", "args": A}, "thoughtSignature": "c2ln"},
            {"text": "", "thoughtSignature": "bW9yZQ=="},
        ],
    }
    genai.Content.model_validate(content)
    assert runnable(parse_tool_calls(content)) == [("read", A)]


@requirement("assembly.same-turn")
def test_the_types_of_the_sdk_are_read_alike() -> None:
    events = [genai.GenerateContentResponse.model_validate(event) for event in gemini_events(CALLS, "STOP", "text")]
    numbers = [call({"jsonPath": "$.n", "numberValue": 3}, {"jsonPath": "$.x", "numberValue": 0.5}, name="f"), END]

    assert runnable(assembled(ContentAssembler(), events)) == BOTH
    turn = assembled(ContentAssembler(), [genai.GenerateContentResponse.model_validate(event) for event in numbers])
    assert [repr(arguments) for _, arguments in runnable(turn)] == ["{'n': 3, 'x': 0.5}"]


@requirement("assembly.same-turn")
def test_pictures_of_a_result_go_where_the_model_of_the_stream_takes_them() -> None:
    turn = assembled(ContentAssembler(), gemini_events(CALLS[:1]))
    older = assembled(ContentAssembler(model="gemini-2.5-pro"), gemini_events(CALLS[:1]))

    assert len(turn.reply([success(turn.calls[0], PICTURE)])) == 1
    assert len(older.reply([success(older.calls[0], PICTURE)])) == 2


@requirement("assembly.matching")
def test_only_the_candidate_that_goes_on_is_read() -> None:
    other: Json = {"candidates": [{"index": 1, "content": {"parts": [{"functionCall": {"name": "no", "args": {}}}]}}]}

    assert runnable(assembled(ContentAssembler(), [other, *gemini_events(CALLS)])) == BOTH


@requirement("assembly.foreign-events")
@pytest.mark.parametrize(
    ("event", "path"),
    [
        (None, "$"),
        ({}, "$"),
        ({"choices": []}, "$"),
        ({"type": "message_start"}, "$"),
        ({"candidates": 5}, "$.candidates"),
        ({"candidates": [5]}, "$.candidates[0]"),
        ({"candidates": [{"content": {"parts": [5]}}]}, "$.candidates[0].content.parts[0]"),
        (
            {"candidates": [{"content": {"parts": [{"functionCall": 5}]}}]},
            "$.candidates[0].content.parts[0].functionCall",
        ),
    ],
    ids=str,
)
def test_what_is_no_chunk_is_an_error_with_its_place(event: object, path: str) -> None:
    with pytest.raises(MessageError) as caught:
        ContentAssembler().feed(event)

    assert caught.value.path == path


@requirement("assembly.foreign-events")
@pytest.mark.parametrize(
    "event",
    [{"usageMetadata": {}}, {"candidates": None, "modelVersion": "m"}, {"promptFeedback": {"blockReason": "SAFETY"}}],
    ids=str,
)
def test_chunks_without_anything_for_us_are_welcome(event: object) -> None:
    assert ContentAssembler().feed(event) == ()
