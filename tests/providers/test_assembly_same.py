"""A stream gives the turn that the parser gives for the whole message, however it is cut into pieces."""

from __future__ import annotations

import json
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.providers import Turn
from tests.requirements import requirement

from ._results import run
from ._streams import (
    WIRES,
    Said,
    Wire,
    assembled,
    chat_chunk,
    chat_delta,
    chat_events,
    chat_whole,
    meant,
    pieces,
    response_events,
    response_whole,
)

EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())

_KEYS: Final = st.text(st.characters(codec="utf-8"), max_size=6)
_SCALARS: Final = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"), max_size=12)
)
# Gemini can't say an empty list or object inside of streamed arguments.
_VALUES: Final = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(_KEYS, inner, min_size=1, max_size=3),
    max_leaves=6,
)
OBJECTS: Final = st.dictionaries(_KEYS, _VALUES, max_size=4)
CUTS: Final = st.lists(st.integers(0, 120), max_size=6)


@st.composite
def spoken(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> list[Said]:
    calls: list[Said] = []
    for at in range(draw(st.integers(0, 4))):
        text = draw(texts)
        calls.append(Said(f"id_{at}", draw(st.sampled_from(["f", "g", "get_weather"])), pieces(text, *draw(CUTS))))
    return calls


OF_OBJECTS: Final = spoken(st.builds(json.dumps, OBJECTS, ensure_ascii=st.booleans()))
OF_ANYTHING: Final = spoken(
    st.sampled_from(
        ["", " ", "{}", "{}{}", '{"a":1}{"a":1}', "[1]", '"x"', "null", '{"a":1} x', '{"a":1,"a":2}', "NaN"]
    )
    | st.builds(json.dumps, OBJECTS)
    | st.text('{}[]",:a1 \\u', max_size=30)
)


def same(turn: Turn, whole: Turn) -> None:
    assert [meant(call) for call in turn.calls] == [meant(call) for call in whole.calls]
    assert (turn.wire, turn.stop_reason, turn.provider) == (whole.wire, whole.stop_reason, whole.provider)
    assert turn.reply(run(turn)) == whole.reply(run(turn))


@requirement("assembly.same-turn")
@EVERY
@given(OF_OBJECTS)
def test_any_split_of_a_message_gives_the_turn_of_the_whole(wire: Wire, calls: list[Said]) -> None:
    for stop in (wire.stop, wire.cut):
        turn = assembled(wire.assembler(), wire.events(calls, stop, ""))

        same(turn, wire.parse(wire.whole(calls, stop)))


@requirement("assembly.same-turn")
@given(OF_ANYTHING)
def test_arguments_that_are_no_object_are_refused_as_in_the_whole_message(calls: list[Said]) -> None:
    chat = assembled(WIRES["openai-chat"].assembler(), chat_events(calls))
    responses = assembled(WIRES["openai-responses"].assembler(), response_events(calls))

    same(chat, WIRES["openai-chat"].parse(chat_whole(calls)))
    same(responses, WIRES["openai-responses"].parse(response_whole(calls)))


@requirement("assembly.interleaved")
@given(OF_OBJECTS, st.randoms(use_true_random=False))
def test_interleaved_calls_are_told_apart(calls: list[Said], chance: Random) -> None:
    waiting = [
        [chat_delta(at, call.id, call.name, ""), *(chat_delta(at, None, None, piece) for piece in call.pieces)]
        for at, call in enumerate(calls)
    ]
    events = [queue.pop(0) for queue in waiting]
    while any(waiting):
        queue = chance.choice([queue for queue in waiting if queue])
        events.append(queue.pop(0))

    same(
        assembled(WIRES["openai-chat"].assembler(), [*events, chat_chunk({}, "tool_calls")]),
        WIRES["openai-chat"].parse(chat_whole(calls)),
    )
