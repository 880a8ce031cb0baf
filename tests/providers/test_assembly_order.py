"""Events of a stream that come in another order than they were sent, or twice: where the wire shows it, nothing runs."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.providers import Assembler, MessageError, Turn, anthropic, gemini, openai
from tests.requirements import requirement

from ._streams import (
    Json,
    Said,
    anthropic_delta,
    anthropic_end,
    anthropic_events,
    anthropic_start,
    anthropic_stop,
    assembled,
    chat_chunk,
    chat_delta,
    chat_events,
    codes,
    gemini_call,
    gemini_chunk,
    gemini_events,
    response,
    response_events,
    runnable,
    said,
    tool_use,
)


def gemini_wholes(calls: list[Said]) -> list[Json]:
    return [*(gemini_chunk([gemini_call(call)]) for call in calls), gemini_chunk([{"text": ""}], "STOP")]


def response_pieces(calls: list[Said]) -> list[Json]:
    """The events of a server that says nothing twice, and of no item what has become of it."""
    events = [copy.deepcopy(event) for event in response_events(calls, None) if "done" not in str(event["type"])]
    for event in events:
        cast("Json", event.get("item", {})).pop("status", None)
    end: Json = {"type": "response.completed", "response": response("completed"), "sequence_number": 99}
    return [*events, end]


class Form(NamedTuple):
    """How the events of one provider are made, and whether it sends a call's arguments in one piece."""

    assembler: Callable[[], Assembler]
    events: Callable[[list[Said]], list[Json]]
    in_one_piece: bool


FORMS: Final = {
    "openai-chat": Form(openai.ChatAssembler, chat_events, in_one_piece=True),
    "openai-responses": Form(openai.ResponseAssembler, response_events, in_one_piece=False),
    "openai-responses, said once": Form(openai.ResponseAssembler, response_pieces, in_one_piece=False),
    "anthropic": Form(anthropic.MessageAssembler, anthropic_events, in_one_piece=True),
    "gemini": Form(gemini.ContentAssembler, gemini_wholes, in_one_piece=True),
}
_VALUES: Final = st.sampled_from(["x y", "a  b", "11", "", " ", 12, [1, 22], True])


@st.composite
def disordered(draw: st.DrawFn, form: Form) -> tuple[list[Said], list[Json]]:
    """Calls, and their events with one of them twice or in another place."""
    calls: list[Said] = []
    for at in range(draw(st.integers(1, 3))):
        arguments = draw(st.dictionaries(st.sampled_from(["a", "b"]), _VALUES, max_size=2))
        size = 1_000 if form.in_one_piece else draw(st.integers(1, 6))
        calls.append(said(f"id_{at}", draw(st.sampled_from(["f", "g"])), arguments, size))
    events = form.events(calls)
    at = draw(st.integers(0, len(events) - 1))
    event = events[at] if draw(st.booleans()) else events.pop(at)
    events.insert(draw(st.integers(0, len(events))), event)
    return calls, events


def fed(assembler: Assembler, events: list[Json]) -> Turn:
    for event in events:
        try:
            assembler.feed(event)
        except MessageError:  # such as an event of a message that had not begun
            continue
    return assembler.finish()


@requirement("assembly.disordered")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@given(data=st.data())
def test_of_events_in_disorder_only_what_was_said_runs_and_only_once(form: Form, data: st.DataObject) -> None:
    calls, events = data.draw(disordered(form))

    ran = Counter(
        (name, json.dumps(arguments, sort_keys=True)) for name, arguments in runnable(fed(form.assembler(), events))
    )

    assert not ran - Counter((call.name, json.dumps(json.loads(call.text), sort_keys=True)) for call in calls)


A: Final = said("x", "read", {"path": "a b"}, 9)
ONE: Final = response_pieces([A])
BEGIN: Final = anthropic_start(0, tool_use("x", "read"))
CALL: Final = gemini_chunk([gemini_call(A)])
DRAFT: Final = gemini_events([A], None)
MALFORMED: Final = "MALFORMED_CALL"
SEEN: Final[dict[str, tuple[Assembler, list[Json], list[str | None]]]] = {
    "a piece before its call": (
        anthropic.MessageAssembler(),
        [anthropic_delta(0, A.text), BEGIN, anthropic_stop(0), *anthropic_end()],
        [MALFORMED],
    ),
    "a piece before its call, while another is open": (
        anthropic.MessageAssembler(),
        [
            *(anthropic_start(1, tool_use("y", "write")), anthropic_delta(0, A.text), BEGIN),
            *(anthropic_stop(0), anthropic_stop(1), *anthropic_end()),
        ],
        [MALFORMED, MALFORMED],
    ),
    "a blank in a text after the end of its call": (
        anthropic.MessageAssembler(),
        [
            *(BEGIN, anthropic_delta(0, '{"path": "a'), anthropic_delta(0, 'b"}'), anthropic_stop(0)),
            *(anthropic_delta(0, " "), *anthropic_end()),
        ],
        [MALFORMED],
    ),
    "a call that ends behind the end, and no end behind it": (
        anthropic.MessageAssembler(),
        [BEGIN, *anthropic_end(), anthropic_stop(0)],
        ["TRUNCATED_CALL"],
    ),
    "a call that begins behind the end, and no end behind it": (
        openai.ChatAssembler(),
        [chat_chunk({}, "tool_calls"), chat_delta(0, "x", "read", "")],
        ["TRUNCATED_CALL"],
    ),
    "whole arguments before the name of their call": (
        openai.ChatAssembler(),
        [chat_delta(0, None, None, A.text), chat_delta(0, "x", "read", ""), chat_chunk({}, "tool_calls")],
        [MALFORMED, MALFORMED],
    ),
    "arguments before the name of their call, which has no id": (
        openai.ChatAssembler(),
        [chat_delta(0, None, None, A.text), chat_delta(0, None, "read", ""), chat_chunk({}, "tool_calls")],
        [MALFORMED, MALFORMED],
    ),
    "a piece under the index of a call that begins later": (
        openai.ChatAssembler(),
        [
            *(chat_delta(0, "y", "write", ""), chat_delta(1, None, None, A.text), chat_delta(1, "x", "read", "")),
            chat_chunk({}, "tool_calls"),
        ],
        [MALFORMED, MALFORMED],
    ),
    "a piece of an item that begins later": (
        openai.ResponseAssembler(),
        [{**event, "sequence_number": None} for event in (*ONE[:1], *ONE[2:-1], ONE[1], ONE[-1])],
        [MALFORMED],
    ),
    "a call that begins behind the end of the response": (
        openai.ResponseAssembler(),
        [ONE[-1], *ONE[:2]],
        ["TRUNCATED_CALL"],
    ),
    "numbers that go back": (
        openai.ResponseAssembler(),
        [*ONE[:2], {**ONE[2], "sequence_number": 4}, {**ONE[3], "sequence_number": 3}, *ONE[4:]],
        [MALFORMED],
    ),
    "a number twice": (
        openai.ResponseAssembler(),
        [*ONE[:2], {**ONE[2], "delta": "{"}, {**ONE[2], "delta": "}"}, ONE[-1]],
        [MALFORMED],
    ),
    "numbers that are all alike": (
        openai.ResponseAssembler(),
        [{**event, "sequence_number": 0} for event in ONE],
        [None],
    ),
    "a chunk with a call twice": (
        gemini.ContentAssembler(),
        [CALL, CALL, gemini_chunk([{"text": ""}], "STOP")],
        [None, MALFORMED],
    ),
    "a call twice in one chunk": (
        gemini.ContentAssembler(),
        [gemini_chunk([gemini_call(A), gemini_call(A)], "STOP")],
        [None, None],
    ),
    "a call in pieces twice": (
        gemini.ContentAssembler(),
        [*DRAFT, *DRAFT, gemini_chunk([{"text": ""}], "STOP")],
        [None, MALFORMED],
    ),
    "a value behind the end of its call": (
        gemini.ContentAssembler(),
        [DRAFT[0], DRAFT[-1], *DRAFT[1:-1], gemini_chunk([{"text": ""}], "STOP")],
        [MALFORMED, MALFORMED],
    ),
    "a value before its call": (
        gemini.ContentAssembler(),
        [DRAFT[1], DRAFT[0], DRAFT[-1], gemini_chunk([{"text": ""}], "STOP")],
        [MALFORMED, MALFORMED],
    ),
}


@requirement("assembly.disordered")
@pytest.mark.parametrize(("assembler", "events", "expected"), SEEN.values(), ids=SEEN.keys())
def test_what_shows_that_events_are_in_disorder_refuses_the_calls_that_may_lack_one(
    assembler: Assembler, events: list[Json], expected: list[str | None]
) -> None:
    assert codes(assembled(assembler, events)) == expected
