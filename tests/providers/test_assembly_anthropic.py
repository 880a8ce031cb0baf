"""Events of Anthropic Messages streams, good and bad."""

from __future__ import annotations

import json

import pytest
from anthropic.types import MessageParam, RawMessageStreamEvent
from pydantic import TypeAdapter

from armory_trio.providers import ArgumentsGrew, CallBegan, CallClosed, MessageError, OtherCall, StreamNews
from armory_trio.providers.anthropic import MessageAssembler, parse_tool_calls
from tests.requirements import requirement

from ._streams import (
    anthropic_delta,
    anthropic_end,
    anthropic_events,
    anthropic_message,
    anthropic_start,
    anthropic_stop,
    assembled,
    codes,
    runnable,
    said,
    tool_use,
)

Json = dict[str, object]

A: Json = {"path": "a"}
B: Json = {"path": "b"}
TEXT_A, TEXT_B = '{"path": "a"}', '{"path": "b"}'
CALLS = [said("x", "read", A), said("y", "write", B)]


def block(index: int | None, id: str, name: str, *texts: str, seed: object = None) -> list[Json]:
    deltas = [anthropic_delta(index, text) for text in texts]
    return [anthropic_start(index, tool_use(id, name, seed)), *deltas, anthropic_stop(index)]


@requirement("assembly.seed")
@pytest.mark.parametrize(
    ("seed", "texts", "expected"),
    [
        ({}, ["", '{"a"', ":1}"], {"a": 1}),
        ({}, [], {}),
        ({}, ["", ""], {}),
        ({"a": 1}, [], {"a": 1}),
        ({"a": 1}, ['{"b":2}'], {"b": 2}),
    ],
    ids=str,
)
def test_deltas_replace_what_a_block_begins_with(seed: object, texts: list[str], expected: Json) -> None:
    turn = assembled(MessageAssembler(), [*block(0, "x", "read", *texts, seed=seed), *anthropic_end()])

    assert runnable(turn) == [("read", expected)]


READABLE: dict[str, tuple[list[Json], list[tuple[str, Json]]]] = {
    "blocks that are mixed": (
        [
            *(anthropic_start(0, tool_use("x", "read")), anthropic_start(1, tool_use("y", "write"))),
            *(anthropic_delta(1, '{"path"'), anthropic_delta(0, TEXT_A), anthropic_delta(1, ': "b"}')),
            *(anthropic_stop(1), anthropic_stop(0)),
        ],
        [("read", A), ("write", B)],
    ),
    "no index": ([*block(None, "x", "read", TEXT_A), *block(None, "y", "write", TEXT_B)], [("read", A), ("write", B)]),
    "every block under index 0": (
        [*block(0, "x", "read", TEXT_A), *block(0, "y", "write", TEXT_B)],
        [("read", A), ("write", B)],
    ),
    "the wrong index for the deltas of the only call": (
        [anthropic_start(1, tool_use("x", "read")), anthropic_delta(0, TEXT_A), anthropic_stop(1)],
        [("read", A)],
    ),
    "one start event twice": ([*block(0, "x", "read")[:1], *block(0, "x", "read", TEXT_A)], [("read", A)]),
    "one stop event twice": ([*block(0, "x", "read", TEXT_A), anthropic_stop(0)], [("read", A)]),
    "no stop event": (block(0, "x", "read", TEXT_A)[:-1], [("read", A)]),
    "one id for two calls": (
        [*block(0, "x", "read", TEXT_A), *block(1, "x", "read", TEXT_B)],
        [("read", A), ("read", B)],
    ),
    "blank text after the end": ([*block(0, "x", "read", TEXT_A), anthropic_delta(0, "")], [("read", A)]),
}


@requirement("assembly.matching")
@pytest.mark.parametrize(("events", "expected"), READABLE.values(), ids=READABLE.keys())
def test_what_has_one_reading_is_read(events: list[Json], expected: list[tuple[str, Json]]) -> None:
    assert runnable(assembled(MessageAssembler(), [*events, *anthropic_end()])) == expected


UNDECIDABLE: dict[str, tuple[list[Json], list[str | None]]] = {
    "no index while two blocks are open": (
        [
            anthropic_start(0, tool_use("x", "read")),
            anthropic_start(1, tool_use("y", "write")),
            anthropic_delta(None, TEXT_A),
        ],
        ["MALFORMED_CALL"] * 2,
    ),
    "an index that two open blocks have": (
        [
            anthropic_start(0, tool_use("x", "read")),
            anthropic_start(0, tool_use("y", "write")),
            anthropic_delta(0, TEXT_A),
        ],
        ["MALFORMED_CALL"] * 2,
    ),
    "the end of an index that two open blocks have": (
        [anthropic_start(0, tool_use("x", "read")), anthropic_start(0, tool_use("y", "write")), anthropic_stop(0)],
        ["MALFORMED_CALL"] * 2,
    ),
    "an index that no block has": (
        [
            anthropic_start(0, tool_use("x", "read")),
            anthropic_start(1, tool_use("y", "write")),
            anthropic_delta(5, TEXT_A),
        ],
        ["MALFORMED_CALL"] * 2,
    ),
    "more after the end of a block": ([*block(0, "x", "read", TEXT_A), anthropic_delta(0, TEXT_A)], ["MALFORMED_CALL"]),
    "a block that begins again in its middle": (
        [*block(0, "x", "read", TEXT_A)[:2], *block(0, "x", "read", TEXT_A)[:1]],
        ["MALFORMED_CALL"],
    ),
    "neither arguments nor a stop event": ([anthropic_start(0, tool_use("x", "read"))], ["TRUNCATED_CALL"]),
}


@requirement("assembly.undecidable-refused")
@pytest.mark.parametrize(("events", "expected"), UNDECIDABLE.values(), ids=UNDECIDABLE.keys())
def test_what_has_several_readings_runs_in_none_of_them(events: list[Json], expected: list[str | None]) -> None:
    assert codes(assembled(MessageAssembler(), [*events, *anthropic_end()])) == expected


@requirement("assembly.broken-off")
@pytest.mark.parametrize("length", range(1, 12))
def test_wherever_a_stream_breaks_off_a_call_runs_only_after_something_followed_it(length: int) -> None:
    events = anthropic_events(CALLS, None)
    assert len(events) == 11
    turn = assembled(MessageAssembler(), events[:length])

    begun = sum("content_block" in event for event in events[:length])
    assert runnable(turn) == [("read", A)][: max(0, begun - 1)]
    assert codes(turn)[-1:] in ([], ["TRUNCATED_CALL"])
    assert turn.stop_reason is None


@requirement("assembly.broken-off")
@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_the_last_block_of_a_cut_message_is_refused_though_it_was_closed(stop: str) -> None:
    turn = assembled(MessageAssembler(), anthropic_events(CALLS, stop))

    assert codes(turn) == [None, "TRUNCATED_CALL"]
    assert turn.stop_reason == stop


@requirement("assembly.broken-off")
def test_text_after_a_call_shows_that_it_was_complete() -> None:
    more = [
        anthropic_start(1, {"type": "text", "text": ""}),
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "and"}},
    ]

    assert runnable(assembled(MessageAssembler(), [*block(0, "x", "read", TEXT_A), *more])) == [("read", A)]


@requirement("assembly.broken-off")
def test_an_error_event_ends_the_message() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    turn = assembled(MessageAssembler(), [*anthropic_events(CALLS, None), error, {"type": "message_stop"}])

    assert codes(turn) == [None, "TRUNCATED_CALL"]
    assert "Overloaded" in str(turn.calls[1].defect)


@requirement("assembly.news", "assembly.preview")
def test_each_event_says_what_is_new() -> None:
    assembler = MessageAssembler()
    news: list[StreamNews] = []
    for event in anthropic_events([said("x", "read", A, 9)], None):
        news += assembler.feed(event)

    assert news == [CallBegan(0, "read", "x"), ArgumentsGrew(0, '{"path": '), ArgumentsGrew(0, '"a"}'), CallClosed(0)]
    shown = assembler.preview(0)
    assert (shown.arguments, shown.is_closed, assembler.has_ended) == (A, True, False)


@requirement("assembly.message", "assembly.same-turn")
def test_the_message_for_the_history_has_every_block() -> None:
    thinking = [
        anthropic_start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
        anthropic_stop(0),
    ]
    citation = {
        "type": "char_location",
        "cited_text": "c",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    text = [
        anthropic_start(1, {"type": "text", "text": "", "citations": None}),
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Let me "}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "see."}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": citation}},
        anthropic_stop(1),
    ]
    served = [
        anthropic_start(2, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        *(anthropic_delta(2, '{"query"'), anthropic_delta(2, ': "q"}'), anthropic_stop(2)),
    ]
    empty = [anthropic_start(5, {"type": "text", "text": ""}), anthropic_stop(5)]
    calls = [*block(3, "x", "read", TEXT_A), *block(4, "y", "write", '{"path": [')]
    events = [*thinking, *text, *served, *calls, *empty, *anthropic_end()]
    assembler = MessageAssembler()

    turn = assembled(assembler, events)

    message = assembler.message()
    assert turn.others == (OtherCall("server_tool_use", "s", "web_search", "$.content[2]"),)
    assert message == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "text", "text": "Let me see.", "citations": [citation]},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
            tool_use("x", "read", A),
            tool_use("y", "write", {}),
        ],
    }
    TypeAdapter(MessageParam).validate_python(message)
    assert codes(turn) == [None, "MALFORMED_CALL"]


@requirement("assembly.same-turn")
def test_the_types_of_the_sdk_are_read_alike() -> None:
    adapter: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
    events = [adapter.validate_python(event) for event in anthropic_events(CALLS, "tool_use", "text")]

    assembler = MessageAssembler(names={"read": "fs:read"})
    turn = assembled(assembler, events)

    assert runnable(turn) == [("fs:read", A), ("write", B)]
    assert runnable(parse_tool_calls(assembler.message())) == [("read", A), ("write", B)]


@requirement("assembly.matching")
def test_a_message_that_comes_whole_in_its_first_event_is_read() -> None:
    start = {"type": "message_start", "message": anthropic_message([tool_use("x", "read", A)], "tool_use")}

    assert runnable(assembled(MessageAssembler(), [start])) == [("read", A)]


@requirement("assembly.foreign-events")
def test_a_second_message_in_one_assembler_is_an_error_and_the_same_start_twice_is_not() -> None:
    start, *rest = anthropic_events(CALLS)
    other = json.loads(json.dumps(start).replace('"id": "m"', '"id": "n"'))
    assembler = MessageAssembler()
    for event in (start, start, *rest):
        assembler.feed(event)

    with pytest.raises(MessageError, match="one message"):
        assembler.feed(other)

    assert runnable(assembler.finish()) == [("read", A), ("write", B)]


@requirement("assembly.foreign-events")
@pytest.mark.parametrize(
    ("event", "path"),
    [
        (None, "$"),
        ([], "$"),
        ({}, "$"),
        ({"choices": []}, "$"),
        ({"type": "response.created"}, "$.type"),
        ({"type": 5}, "$.type"),
        ({"type": "content_block_start", "index": 0, "content_block": 5}, "$.content_block"),
        ({"type": "content_block_start", "index": 0}, "$.content_block"),
        (
            {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": 5}},
            "$.delta.partial_json",
        ),
        ({"type": "content_block_start", "content_block": {"type": "tool_use", "id": 5}}, "$.content_block.id"),
    ],
    ids=str,
)
def test_what_is_no_event_is_an_error_with_its_place(event: object, path: str) -> None:
    with pytest.raises(MessageError) as caught:
        MessageAssembler().feed(event)

    assert caught.value.path == path


@requirement("assembly.foreign-events")
@pytest.mark.parametrize(
    "event", [{"type": "ping"}, {"type": "input_json", "partial_json": "{", "snapshot": {}}], ids=str
)
def test_events_without_anything_for_us_are_welcome(event: object) -> None:
    assert MessageAssembler().feed(event) == ()
