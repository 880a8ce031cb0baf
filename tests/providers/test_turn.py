"""Turns: ids made unique and restored, and one answer for each call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.providers import ReplyError, Turn, anthropic, gemini, openai
from tests.requirements import requirement

from ._results import run, success


def turn_of(*ids: str | None) -> Turn:
    return openai.parse_chat_tool_calls(
        [{"id": wire_id, "function": {"name": "f", "arguments": "{}"}} for wire_id in ids]
    )


def answers(turn: Turn) -> list[tuple[object, object]]:
    return [(entry["tool_call_id"], entry["content"]) for entry in turn.reply(run(turn))]


@requirement("providers.duplicate-ids")
def test_calls_that_share_an_id_are_told_apart_and_answered_under_the_wire_id() -> None:
    turn = turn_of("x", "x", "x#2", "y")

    assert [call.id for call in turn.calls] == ["x", "x#3", "x#2", "y"]
    assert answers(turn) == [("x", "done x"), ("x", "done x#3"), ("x#2", "done x#2"), ("y", "done y")]


@requirement("providers.duplicate-ids")
def test_the_same_id_in_the_next_turn_is_a_new_call() -> None:
    first, second = turn_of("x"), turn_of("x")

    assert first.calls == second.calls
    assert answers(second) == [("x", "done x")]


@requirement("providers.missing-ids")
@pytest.mark.parametrize("nothing", [None, ""])
def test_an_id_is_made_for_a_call_without_one_and_used_on_the_way_back(nothing: str | None) -> None:
    turn = turn_of(nothing, "x", nothing)
    first, _, third = turn.calls

    assert len({first.id, "x", third.id}) == 3
    assert turn.made_ids == {0: first.id, 2: third.id}
    assert [wire_id for wire_id, _ in answers(turn)] == [first.id, "x", third.id]


@requirement("providers.missing-ids", "providers.duplicate-ids")
@given(st.lists(st.sampled_from([None, "", "x", "x#2", "x#3", "x#2#2", "y"]), max_size=12))
def test_ids_are_always_unique_and_never_change_what_goes_back(wire_ids: list[str | None]) -> None:
    turn = turn_of(*wire_ids)
    ids = [call.id for call in turn.calls]

    assert len(set(ids)) == len(wire_ids)
    assert [call.wire_id for call in turn.wire] == [wire_id or None for wire_id in wire_ids]
    assert answers(turn) == [(sent or own, f"done {own}") for sent, own in zip(wire_ids, ids, strict=True)]


@requirement("providers.call-order")
@given(st.permutations(range(6)))
def test_any_order_of_results_gives_the_order_of_the_calls(order: list[int]) -> None:
    turn = turn_of(*"abcdef")
    results = run(turn)

    shuffled = turn.reply([results[index] for index in order])

    assert shuffled == turn.reply(results)


@requirement("providers.every-call-answered")
def test_missing_repeated_and_foreign_results_are_named_together() -> None:
    turn = turn_of("a", "b", "c")
    a, b, _ = turn.calls
    [foreign] = turn_of("z").calls

    with pytest.raises(ReplyError) as caught:
        turn.reply([success(a), success(b), success(b), success(foreign), success(foreign)])

    assert (caught.value.missing, caught.value.repeated, caught.value.unexpected) == (("c",), ("b",), ("z",))
    assert "no result for the call 'c' of 'f'" in str(caught.value)


@requirement("providers.every-call-answered")
def test_a_cancelled_call_is_answered_beside_one_that_is_done() -> None:
    turn = turn_of("a", "b")

    with pytest.raises(ReplyError, match="no result for the call 'b'"):
        turn.reply(run(turn)[:1])

    assert len(turn.reply(iter(run(turn)))) == 2


@requirement("providers.every-call-answered")
def test_results_for_a_turn_without_calls_are_an_error() -> None:
    turn = anthropic.parse_tool_calls([])

    with pytest.raises(ReplyError, match="no call of this turn"):
        turn.reply(run(turn_of("a")))


@requirement("providers.names")
def test_every_parser_maps_names() -> None:
    turns = (
        openai.parse_chat_tool_calls([{"id": "x", "function": {"name": "f"}}], names={"f": "ns:f"}),
        openai.parse_response_tool_calls([{"type": "function_call", "call_id": "x", "name": "f"}], names={"f": "ns:f"}),
        anthropic.parse_tool_calls([{"type": "tool_use", "id": "x", "name": "f"}], names={"f": "ns:f"}),
        gemini.parse_tool_calls([{"functionCall": {"id": "x", "name": "f"}}], names={"f": "ns:f"}),
    )

    assert [call.name for turn in turns for call in turn.calls] == ["ns:f"] * 4
    assert [call.name for turn in turns for call in turn.wire] == ["f"] * 4
