"""Events of Responses API streams, good and bad."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import cast

import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from armory_trio.providers import ArgumentsGrew, CallBegan, CallClosed, MessageError, OtherCall, StreamNews
from armory_trio.providers.openai import ResponseAssembler, parse_response_tool_calls
from tests.requirements import requirement

from ._streams import assembled, codes, response, response_events, response_item, runnable, said

Json = dict[str, object]

A: Json = {"path": "a"}
B: Json = {"path": "b"}
CALLS = [said("x", "read", A), said("y", "write", B)]
EVENTS = response_events(CALLS)
BOTH = [("read", A), ("write", B)]


def without(*kinds: str) -> list[Json]:
    return [event for event in EVENTS if event["type"] not in {f"response.{kind}" for kind in kinds}]


def changed(kind: str, **fields: object) -> list[Json]:
    """The events with the fields of each event of *kind* replaced."""
    return [{**event, **fields} if event["type"] == f"response.{kind}" else event for event in EVENTS]


DELTA, DONE = "function_call_arguments.delta", "function_call_arguments.done"
ADDED, ITEM = "output_item.added", "output_item.done"


def renamed(events: list[Json]) -> list[Json]:
    """The events of a server that gives an item another id wherever it speaks of it."""
    events = copy.deepcopy(events)
    for at, event in enumerate(events):
        whole = cast("Json", event.get("response", {}))
        for item in (event.get("item"), *cast("list[Json]", whole.get("output", []))):
            if item is not None:
                cast("Json", item)["id"] = f"item_{at}"
        if "item_id" in event:
            event["item_id"] = f"piece_{at}"
    return events


def numbered(numbers: Callable[[int, str], int]) -> list[Json]:
    """The events with numbers that are made of their place and their kind."""
    return [{**event, "sequence_number": numbers(at, str(event["type"]))} for at, event in enumerate(EVENTS)]


READABLE: dict[str, list[Json]] = {
    "all that there is": EVENTS,
    "no pieces": without(DELTA),
    "pieces only": without(DONE),
    "no finished items": without(ITEM, DONE),
    "nothing but the finished response": EVENTS[-1:],
    "nothing but the finished items": without(DELTA, DONE, ADDED),
    "a finished response without items": [
        *EVENTS[:-1],
        {"type": "response.completed", "response": response("completed")},
    ],
    "no item ids": [{**event, "item_id": None} for event in EVENTS],
    "no indices": [{**event, "output_index": None} for event in EVENTS],
    "one index for all": [{**event, "output_index": 0} for event in EVENTS],
    "another id of the item in each event": [
        *changed(DELTA, item_id="other")[:-1],
        {"type": "response.completed", "response": response("completed")},
    ],
    "another id of the item wherever it is spoken of": renamed(EVENTS),
    "another id of the item wherever it is spoken of, and no finished items at the end": [
        *renamed(EVENTS[:-1]),
        {"type": "response.completed", "response": response("completed")},
    ],
    "numbers from 0": numbered(lambda at, _: at),
    "numbers from 1": numbered(lambda at, _: at + 1),
    "one number for all": numbered(lambda _, __: 7),
    "numbers that are 0 for all that is whole": numbered(lambda at, kind: 0 if "done" in kind else at + 1),
    "numbers that are 0 for all pieces": numbered(lambda at, kind: 0 if "delta" in kind else at + 1),
    "numbers that are -1 for all but the frame": numbered(lambda at, kind: at if kind.count(".") == 1 else -1),
}


@requirement("assembly.matching", "assembly.sent-again")
@pytest.mark.parametrize("events", READABLE.values(), ids=READABLE.keys())
def test_what_has_one_reading_is_read(events: list[Json]) -> None:
    turn = assembled(ResponseAssembler(), events)

    assert runnable(turn) == BOTH
    assert len(turn.calls) == 2


def twisted(at: int, **fields: object) -> list[Json]:
    """The events with the fields of the item replaced in event *at*."""
    events = copy.deepcopy(EVENTS)
    cast("Json", events[at]["item"]).update(fields)
    return events


FIRST_DONE = next(at for at, event in enumerate(EVENTS) if event["type"] == f"response.{ITEM}")
FINISHED_OTHERWISE = response("completed", [response_item(0, said("x", "read", B)), response_item(1, CALLS[1])])

REFUSED: dict[str, tuple[list[Json], list[str | None]]] = {
    "the whole arguments are not the pieces": (changed(DONE, arguments='{"path": "c"}'), ["MALFORMED_CALL"] * 2),
    "the finished item has other arguments": (twisted(FIRST_DONE, arguments="{}"), ["MALFORMED_CALL", None]),
    "the finished item has another name": (twisted(FIRST_DONE, name="write"), ["MALFORMED_CALL", None]),
    "the finished item has another call id": (twisted(FIRST_DONE, call_id="z"), ["MALFORMED_CALL", None]),
    "the finished item has no arguments": (twisted(FIRST_DONE, arguments=""), ["MALFORMED_CALL", None]),
    "the finished response has other arguments": (
        [*EVENTS[:-1], {"type": "response.completed", "response": FINISHED_OTHERWISE}],
        ["MALFORMED_CALL", None],
    ),
    "the finished response lacks a call": (
        [*EVENTS[:-1], {"type": "response.completed", "response": response("completed", [response_item(1, CALLS[1])])}],
        ["MALFORMED_CALL", None],
    ),
    "pieces with the id of one item and the index of another": (
        [
            {**event, "output_index": 1}
            if event["type"] == f"response.{DELTA}" and event["item_id"] == "fc_0"
            else event
            for event in [
                *EVENTS[:1],
                *(e for e in EVENTS if e["type"] == f"response.{ADDED}"),
                *without(ADDED, "created"),
            ]
        ],
        ["MALFORMED_CALL"] * 2,
    ),
    "a piece after the end": (
        [*EVENTS[:-1], {"type": f"response.{DELTA}", "item_id": "fc_0", "output_index": 0, "delta": "}"}, EVENTS[-1]],
        ["MALFORMED_CALL", None],
    ),
}


@requirement("assembly.undecidable-refused", "assembly.sent-again")
@pytest.mark.parametrize(("events", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_a_call_that_is_not_the_same_each_time_is_refused(events: list[Json], expected: list[str | None]) -> None:
    assert codes(assembled(ResponseAssembler(), events)) == expected


@requirement("assembly.message")
def test_items_whose_id_is_another_in_each_event_are_kept_once() -> None:
    thought: Json = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So."}]}
    begun: Json = {"type": f"response.{ADDED}", "output_index": 0, "item": {"type": "reasoning", "summary": []}}
    whole: Json = {"type": f"response.{ITEM}", "output_index": 0, "item": thought}
    calls = [
        {**event, "output_index": cast("int", event["output_index"]) + 1}
        for event in without("created", "completed")
        if "output_index" in event
    ]
    output = [thought, *(response_item(at, call) for at, call in enumerate(CALLS))]
    end: Json = {"type": "response.completed", "response": response("completed", output)}
    assembler = ResponseAssembler()

    turn = assembled(assembler, renamed([begun, whole, *calls, end]))

    assert runnable(turn) == BOTH
    kept = cast("list[Json]", assembler.message()["output"])
    assert [item["type"] for item in kept] == ["reasoning", "function_call", "function_call"]
    assert kept[0]["summary"] == thought["summary"]


@requirement("assembly.message")
def test_items_of_one_kind_under_one_index_are_kept_each() -> None:
    events: list[Json] = [
        {"type": f"response.{kind}", "output_index": 0, "item": {"type": "reasoning", "id": rs, "summary": []}}
        for rs in ("rs_0", "rs_1")
        for kind in (ADDED, ITEM)
    ]
    assembler = ResponseAssembler()
    assembled(assembler, [*events, {"type": "response.completed", "response": response("completed")}])

    assert [item["id"] for item in cast("list[Json]", assembler.message()["output"])] == ["rs_0", "rs_1"]


@requirement("assembly.undecidable-refused")
def test_a_piece_of_no_known_call_refuses_those_that_are_open() -> None:
    events: list[Json] = [
        {"type": f"response.{ADDED}", "output_index": at, "item": response_item(at, call, "in_progress")}
        for at, call in enumerate(CALLS)
    ]
    stray = {"type": f"response.{DELTA}", "delta": "{}", "item_id": "fc_9", "output_index": 9}

    assert codes(assembled(ResponseAssembler(), [*events, stray])) == ["MALFORMED_CALL"] * 2


@requirement("assembly.seed")
def test_what_an_item_begins_with_is_replaced_by_its_pieces() -> None:
    seeded = copy.deepcopy(EVENTS)
    for event in seeded:
        if event["type"] == f"response.{ADDED}":
            cast("Json", event["item"])["arguments"] = "{}"

    assert runnable(assembled(ResponseAssembler(), seeded)) == BOTH


@requirement("assembly.broken-off")
@pytest.mark.parametrize("length", range(1, len(EVENTS)))
def test_wherever_a_stream_breaks_off_a_call_runs_only_after_something_followed_it(length: int) -> None:
    turn = assembled(ResponseAssembler(), EVENTS[:length])

    assert runnable(turn) == BOTH[: max(0, len(turn.calls) - 1)]
    assert codes(turn)[-1:] in ([], ["TRUNCATED_CALL"])


@requirement("assembly.broken-off")
@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_the_last_call_of_a_response_that_is_not_whole_is_refused(status: str) -> None:
    finished = {**response(status), "incomplete_details": {"reason": "max_output_tokens"}}

    turn = assembled(ResponseAssembler(), [*EVENTS[:-1], {"type": f"response.{status}", "response": finished}])

    assert codes(turn) == [None, "TRUNCATED_CALL"]
    assert turn.stop_reason == "max_output_tokens"


@requirement("assembly.broken-off")
def test_an_error_event_ends_the_message() -> None:
    error = {"type": "error", "message": "boom", "code": None, "param": None, "sequence_number": 9}

    turn = assembled(ResponseAssembler(), [*EVENTS[:-1], error])

    assert codes(turn) == [None, "TRUNCATED_CALL"]
    assert "boom" in str(turn.calls[1].defect)


@requirement("assembly.news")
def test_each_event_says_what_is_new() -> None:
    assembler = ResponseAssembler()
    news: list[StreamNews] = []
    for event in response_events([said("x", "read", A, 9)]):
        news += assembler.feed(event)

    assert news == [CallBegan(0, "read", "x"), ArgumentsGrew(0, '{"path": '), ArgumentsGrew(0, '"a"}'), CallClosed(0)]


@requirement("assembly.message")
def test_the_items_for_the_history_are_kept_with_legal_calls() -> None:
    reasoning: Json = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "..."}
    search: Json = {"type": "web_search_call", "id": "ws", "status": "completed"}
    calls = [said("x", "read", A), said("y", "write", "{")]
    output = [reasoning, search, *(response_item(at, call) for at, call in enumerate(calls, start=2))]
    events: list[Json] = [
        {"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(output)
    ]
    assembler = ResponseAssembler()

    turn = assembled(assembler, [*events, {"type": "response.completed", "response": response("completed", output)}])

    assert turn.others == (OtherCall("web_search_call", "ws", None, "$.output[1]"),)
    assert codes(turn) == [None, "MALFORMED_CALL"]
    assert assembler.message() == {"output": [*output[:3], {**output[3], "arguments": "{}"}]}


@requirement("assembly.same-turn")
def test_the_types_of_the_sdk_are_read_alike() -> None:
    adapter: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
    events = [adapter.validate_python(event) for event in EVENTS]
    assembler = ResponseAssembler()

    assert runnable(assembled(assembler, events)) == BOTH
    assert runnable(parse_response_tool_calls(assembler.message())) == BOTH


@requirement("assembly.foreign-events")
@pytest.mark.parametrize(
    ("event", "path"),
    [
        (None, "$"),
        ({}, "$"),
        ({"choices": []}, "$"),
        ({"type": "message_start"}, "$.type"),
        ({"type": "content_block_start"}, "$.type"),
        ({"type": "response.output_item.added", "item": 5}, "$.item"),
        ({"type": "response.output_item.added"}, "$.item"),
        ({"type": "response.function_call_arguments.delta", "delta": 5}, "$.delta"),
        ({"type": "response.completed", "response": {"output": 5}}, "$.response.output"),
    ],
    ids=str,
)
def test_what_is_no_event_is_an_error_with_its_place(event: object, path: str) -> None:
    with pytest.raises(MessageError) as caught:
        ResponseAssembler().feed(event)

    assert caught.value.path == path


@requirement("assembly.foreign-events")
def test_events_without_anything_for_us_are_welcome() -> None:
    assert ResponseAssembler().feed({"type": "response.output_text.delta", "delta": "hi"}) == ()
