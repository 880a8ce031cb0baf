"""Messages that break off in something that is no call of ours: it is not taken for whole, and bars no later request."""

from __future__ import annotations

from typing import Final, cast

import pytest

from armory_trio.providers import Assembler, Turn, check_history, extend_history
from armory_trio.providers.anthropic import MessageAssembler, parse_tool_calls
from armory_trio.providers.openai import (
    ChatAssembler,
    ResponseAssembler,
    parse_chat_tool_calls,
    parse_response_tool_calls,
)
from tests.requirements import requirement

from ._results import entries, run
from ._streams import (
    Json,
    anthropic_delta,
    anthropic_end,
    anthropic_message,
    anthropic_start,
    anthropic_stop,
    chat_chunk,
    response,
    response_events,
    runnable,
    said,
    tool_use,
)

# --- Calls of other types, which a host may run


def custom(text: str | None, *, id: str | None = None) -> Json:
    entry: Json = {"index": 0, "custom": {**({"name": "shell"} if id else {}), "input": text}}
    return chat_chunk({"tool_calls": [entry if id is None else {**entry, "id": id, "type": "custom"}]})


CHAT: Final = [custom("", id="c"), custom("rm -r build"), custom("/old")]
FUNCTION: Final = chat_chunk(
    {"tool_calls": [{"index": 1, "id": "d", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
)
ADDED: Final[Json] = {
    "type": "response.output_item.added",
    "output_index": 0,
    "item": {"type": "custom_tool_call", "id": "i", "call_id": "c", "name": "shell", "input": ""},
}
PIECE: Final[Json] = {"type": "response.custom_tool_call_input.delta", "output_index": 0, "item_id": "i", "delta": "rm"}
DONE: Final[Json] = {
    **ADDED,
    "type": "response.output_item.done",
    "item": {**cast("Json", ADDED["item"]), "input": "rm -r build"},
}
SERVER: Final[Json] = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
STREAMS: Final[dict[str, tuple[type[Assembler], list[Json], list[bool]]]] = {
    "chat, lost": (ChatAssembler, CHAT[:2], [True]),
    "chat, cut off": (ChatAssembler, [*CHAT[:2], chat_chunk({}, "length")], [True]),
    "chat, lost in the call behind it": (ChatAssembler, [*CHAT, FUNCTION], [False]),
    "chat, mixed with a call and lost": (ChatAssembler, [CHAT[0], FUNCTION, CHAT[1]], [True]),
    "chat, whole": (ChatAssembler, [*CHAT, chat_chunk({}, "tool_calls")], [False]),
    "chat in the old form, lost": (
        ChatAssembler,
        [chat_chunk({"function_call": {"name": "old", "arguments": "{"}})],
        [True],
    ),
    "responses, lost": (ResponseAssembler, [ADDED, PIECE], [True]),
    "responses, lost behind it": (ResponseAssembler, [ADDED, PIECE, DONE], [True]),
    "responses, lost in the next item": (
        ResponseAssembler,
        [ADDED, PIECE, DONE, *response_events([said("d", "f", {})])[1:3]],
        [False],
    ),
    "responses, whole": (
        ResponseAssembler,
        [ADDED, PIECE, DONE, {"type": "response.completed", "response": response("completed")}],
        [False],
    ),
    "anthropic, lost": (MessageAssembler, [anthropic_start(0, SERVER), anthropic_delta(0, '{"q')], [True]),
    "anthropic, whole": (
        MessageAssembler,
        [anthropic_start(0, SERVER), anthropic_stop(0), *anthropic_end("pause_turn")],
        [False],
    ),
}


@requirement("assembly.broken-off", "providers.other-calls")
@pytest.mark.parametrize(("assembler", "events", "expected"), STREAMS.values(), ids=STREAMS.keys())
def test_a_call_of_another_type_says_that_it_may_be_cut_short(
    assembler: type[Assembler], events: list[Json], expected: list[bool]
) -> None:
    made = assembler()
    for event in events:
        made.feed(event)

    assert [other.is_cut for other in made.finish().others] == expected


def whole_chat(stop: str, *more: Json) -> Turn:
    call = {"id": "c", "type": "custom", "custom": {"name": "shell", "input": "rm"}}
    message = {"role": "assistant", "tool_calls": [call, *more]}
    return parse_chat_tool_calls({"choices": [{"finish_reason": stop, "message": message}]})


def whole_response(stop: str, **fields: object) -> Turn:
    item = {"type": "custom_tool_call", "call_id": "c", "name": "shell", "input": "rm", **fields}
    return parse_response_tool_calls(response(stop, [item]))


CALLED: Final[Json] = {"id": "d", "type": "function", "function": {"name": "f", "arguments": "{}"}}
WHOLE: Final[dict[str, tuple[Turn, list[bool]]]] = {
    "chat": (whole_chat("tool_calls"), [False]),
    "chat, cut off": (whole_chat("length"), [True]),
    "chat, cut off in the call behind it": (whole_chat("length", CALLED), [False]),
    "responses": (whole_response("completed"), [False]),
    "responses, cut off": (whole_response("incomplete"), [True]),
    "responses, an item that says so": (whole_response("completed", status="incomplete"), [True]),
    "anthropic, cut off": (parse_tool_calls(anthropic_message([SERVER], "max_tokens")), [True]),
    "anthropic": (parse_tool_calls(anthropic_message([SERVER], "pause_turn")), [False]),
}


@requirement("providers.truncated-refused", "providers.other-calls")
@pytest.mark.parametrize(("turn", "expected"), WHOLE.values(), ids=WHOLE.keys())
def test_so_does_one_in_a_whole_message_that_was_cut_off(turn: Turn, expected: list[bool]) -> None:
    assert [other.is_cut for other in turn.others] == expected


# --- What no later request may have

CALL: Final = [anthropic_start(0, tool_use("toolu_1", "f")), anthropic_delta(0, "{}"), anthropic_stop(0)]


def block(at: int, start: Json, *deltas: Json, ends: bool = True) -> list[Json]:
    grown: list[Json] = [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
    return [anthropic_start(at, start), *grown, *([anthropic_stop(at)] if ends else [])]


THINKING: Final[Json] = {"type": "thinking", "thinking": "", "signature": ""}
HM: Final[Json] = {"type": "thinking_delta", "thinking": "hm"}
SIGNED: Final[Json] = {"type": "signature_delta", "signature": "s"}
RESULT: Final[Json] = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
LEFT: Final[dict[str, tuple[list[Json], list[str]]]] = {
    "in thinking": ([*CALL, *block(1, THINKING, HM, ends=False)], ["tool_use"]),
    "behind thinking": ([*CALL, *block(1, THINKING, HM, SIGNED)], ["tool_use"]),
    "behind thinking that nobody signed": ([*block(1, THINKING, HM), *CALL], ["tool_use"]),
    "in a call behind thinking": ([*block(1, THINKING, HM, SIGNED), *CALL[:2]], ["thinking", "tool_use"]),
    "in a search": ([*CALL, *block(1, SERVER, ends=False)], ["tool_use"]),
    "behind a search": ([*CALL, *block(1, SERVER)], ["tool_use"]),
    "behind the result of a search": (
        [*CALL, *block(1, SERVER), *block(2, RESULT)],
        ["tool_use", "server_tool_use", "web_search_tool_result"],
    ),
    "in a text": (
        [*CALL, *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "so"}, ends=False)],
        ["tool_use", "text"],
    ),
}


@requirement("assembly.broken-off", "assembly.other-kinds")
@pytest.mark.parametrize("end", [[], anthropic_end("max_tokens")], ids=["lost", "cut off"])
@pytest.mark.parametrize(("events", "left"), LEFT.values(), ids=LEFT.keys())
def test_of_a_message_that_broke_off_only_that_is_kept_which_the_provider_takes_back(
    events: list[Json], left: list[str], end: list[Json]
) -> None:
    assembler = MessageAssembler()
    for event in (*events, *end):
        assembler.feed(event)
    turn = assembler.finish()

    assert [each["type"] for each in entries(assembler.message())] == left
    assert check_history(extend_history([], assembler.message(), turn, run(turn))) == ()


@requirement("assembly.broken-off", "assembly.other-kinds")
def test_a_message_that_waits_for_the_provider_to_go_on_keeps_what_it_waits_for() -> None:
    assembler = MessageAssembler()
    for event in (*block(0, SERVER), *anthropic_end("pause_turn")):
        assembler.feed(event)

    assert entries(assembler.message()) == [SERVER]


@requirement("assembly.broken-off", "assembly.other-kinds")
@pytest.mark.parametrize("has_begun", [True, False])
def test_of_a_response_that_was_lost_unfinished_items_and_thoughts_that_led_to_them_are_left_out(
    *, has_begun: bool
) -> None:
    thought: Json = {"type": "reasoning", "id": "rs", "summary": []}
    spoken: Json = {"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []}
    started = response_events([said("call_1", "f", {"a": 1})], None)
    assembler = ResponseAssembler()
    for event in (
        *started,
        {"type": "response.output_item.added", "output_index": 1, "item": thought},
        {"type": "response.output_item.done", "output_index": 1, "item": thought},
        *([{"type": "response.output_item.added", "output_index": 2, "item": spoken}] if has_begun else []),
    ):
        assembler.feed(event)
    turn = assembler.finish()

    assert runnable(turn) == [("f", {"a": 1})]
    assert [each["type"] for each in entries(assembler.message(), "output")] == ["function_call"]
