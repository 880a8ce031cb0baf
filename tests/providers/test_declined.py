"""Messages that a model of Anthropic's declined to finish, and those that another model finished for it."""

from __future__ import annotations

import json
from typing import Final, cast

import pytest
from anthropic.types import Message
from anthropic.types.beta import BetaMessage, BetaMessageParam
from pydantic import TypeAdapter

from armory_trio.providers import CallRefused, Turn, check_history, extend_history, repair_history
from armory_trio.providers.anthropic import MessageAssembler, parse_tool_calls
from tests.requirements import requirement

from ._legal import assert_legal
from ._results import entries, run
from ._streams import (
    Json,
    anthropic_delta,
    anthropic_end,
    anthropic_message,
    anthropic_start,
    anthropic_stop,
    codes,
    runnable,
    tool_use,
)

QUESTION: Final[Json] = {"role": "user", "content": "Pay, and look."}
THOUGHT: Final[Json] = {"type": "thinking", "thinking": "hm", "signature": "s1"}
TEXT: Final[Json] = {"type": "text", "text": "I shall"}
SEARCHED: Final[list[Json]] = [
    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
]
SEARCHING: Final[Json] = {"type": "server_tool_use", "id": "srv_2", "name": "web_search", "input": {}}
PAY: Final = tool_use("toolu_1", "pay", {"cents": 5})
LOOK: Final = tool_use("toolu_2", "look", {"at": "it"})
OTHER_THOUGHT: Final[Json] = {"type": "thinking", "thinking": "so", "signature": "s2"}
CHOSEN: Final[Json] = {
    "type": "fallback",
    "from": {"model": "one"},
    "to": {"model": "two"},
    "trigger": {"type": "refusal", "category": None},
}
BEFORE: Final = [THOUGHT, TEXT, *SEARCHED, SEARCHING, PAY]
CONTENT: Final = [*BEFORE, CHOSEN, OTHER_THOUGHT, LOOK]
KEPT: Final = [TEXT, *SEARCHED, CHOSEN, OTHER_THOUGHT, LOOK]


def events(content: list[Json], stop: str) -> list[Json]:
    found: list[Json] = [{"type": "message_start", "message": anthropic_message([], None)}]
    for at, block in enumerate(content):
        if "input" in block:
            found += [anthropic_start(at, {**block, "input": {}}), anthropic_delta(at, json.dumps(block["input"]))]
        else:
            found.append(anthropic_start(at, block))
        found.append(anthropic_stop(at))
    return [*found, *anthropic_end(stop)]


def streamed(content: list[Json], stop: str = "tool_use") -> MessageAssembler:
    assembler = MessageAssembler()
    for event in events(content, stop):
        assembler.feed(event)
    return assembler


def both(content: list[Json], stop: str = "tool_use") -> list[Turn]:
    """The turn of the whole message, and that of its stream."""
    return [parse_tool_calls(anthropic_message(content, stop)), streamed(content, stop).finish()]


@requirement("providers.declined")
def test_a_call_before_the_place_where_another_model_took_over_never_runs_and_is_not_answered() -> None:
    for turn in both(CONTENT):
        assert codes(turn) == ["TRUNCATED_CALL", None]
        assert runnable(turn) == [("look", {"at": "it"})]
        [reply] = turn.reply(run(turn))
        assert [block["tool_use_id"] for block in entries(reply)] == ["toolu_2"]


@requirement("providers.declined")
def test_only_what_came_behind_the_last_of_several_places_counts() -> None:
    for turn in both([PAY, CHOSEN, LOOK, CHOSEN, tool_use("toolu_3", "see")]):
        assert runnable(turn) == [("see", {})]
    for turn in both([PAY, CHOSEN]):
        assert runnable(turn) == []
        assert turn.reply(run(turn)) == []
    for turn in both([CHOSEN, LOOK]):
        assert codes(turn) == [None]


@requirement("providers.declined")
def test_the_history_has_nothing_that_the_provider_does_not_take_back() -> None:
    assembler = streamed(CONTENT)
    message = anthropic_message(CONTENT, "tool_use")
    for said, turn in (
        (message, parse_tool_calls(message)),
        (BetaMessage.model_validate(message), parse_tool_calls(BetaMessage.model_validate(message))),
        (assembler.message(), assembler.finish()),
    ):
        history = extend_history([QUESTION], said, turn, run(turn))

        assert [block["type"] for block in entries(cast("Json", history[1]))] == [block["type"] for block in KEPT]
        assert_legal("anthropic", cast("list[object]", [json.loads(json.dumps(entry)) for entry in history]))
        assert check_history(history) == ()
        for entry in history:
            TypeAdapter(BetaMessageParam).validate_python(entry)
    assert assembler.message()["content"] == KEPT


@requirement("providers.declined", "history.repair")
def test_what_was_kept_of_it_all_the_same_is_left_out_with_its_results() -> None:
    answers: Json = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": name, "content": "done"} for name in ("toolu_1", "toolu_2")],
    }
    history: list[Json] = [QUESTION, {"role": "assistant", "content": CONTENT}, answers]

    repair = repair_history(history)

    assert [(fault.kind, fault.position) for fault in repair.done] == [("withdrawn", 1), ("orphan-result", 2)]
    assert repair.messages[1] == {"role": "assistant", "content": KEPT}
    assert [block["tool_use_id"] for block in entries(cast("Json", repair.messages[2]))] == ["toolu_2"]
    assert check_history(repair.messages) == ()
    assert repair_history(repair.messages).messages == repair.messages


@requirement("providers.declined", "history.continued")
def test_a_round_that_was_added_by_hand_is_no_obstacle_to_the_next_one() -> None:
    message = anthropic_message(CONTENT, "tool_use")
    turn = parse_tool_calls(message)
    by_hand: list[Json] = [QUESTION, {"role": "assistant", "content": CONTENT}, *turn.reply(run(turn))]
    later = anthropic_message([tool_use("toolu_9", "see")], "tool_use")
    again = parse_tool_calls(later)

    history = extend_history(by_hand, later, again, run(again))

    assert cast("Json", history[1])["content"] == KEPT
    assert check_history(history) == ()


@requirement("providers.declined", "assembly.news")
def test_who_watches_a_stream_hears_at_once_that_its_calls_so_far_count_for_nothing() -> None:
    assembler = MessageAssembler()
    news = [each for event in events(CONTENT, "tool_use") for each in assembler.feed(event)]

    [refused] = [each for each in news if isinstance(each, CallRefused)]
    assert refused.position == 0
    assert [call.name for call in assembler.finish().calls] == ["pay", "look"]
    assert [preview.name for preview in assembler.previews] == ["pay", "look"]


@requirement("providers.declined", "providers.truncated-refused")
@pytest.mark.parametrize("after", [[], [TEXT]])
def test_of_a_message_that_was_refused_no_call_runs_whole_as_it_may_be(after: list[Json]) -> None:
    content = [PAY, LOOK, *after]
    assert Message.model_validate(anthropic_message(content, "refusal")).stop_reason == "refusal"
    for turn in both(content, "refusal"):
        assert codes(turn) == ["TRUNCATED_CALL", "TRUNCATED_CALL"]
        assert runnable(turn) == []
