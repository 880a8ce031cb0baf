"""A history and the next round of it."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from typing import cast

import pytest
import trio
import trio.testing
from google.genai import types as genai
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from armory_trio import Execution, Stream, Toolbox, ToolCall, ToolResult, open_supervisor, tool
from armory_trio.providers import (
    HistoryError,
    MessageError,
    Provider,
    ReplyError,
    check_history,
    collect_results,
    extend_history,
)
from armory_trio.providers.openai import parse_chat_tool_calls
from tests.requirements import requirement

from ._histories import Json, Round, chat
from ._legal import assert_legal
from ._results import run, success
from ._streams import WIRES, Wire, assembled, response_item, said

PROVIDERS: list[Provider] = ["openai-chat", "openai-responses", "anthropic", "gemini"]
EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())
CALLS = [said("a", "f", {"n": 1}), said("b", "f", {"n": 2})]
QUESTION: Json = {"role": "user", "content": "hi", "parts": [{"text": "hi"}]}


@requirement("history.continued")
@EVERY
def test_a_whole_message_and_a_streamed_one_extend_a_history_alike(wire: Wire) -> None:
    whole = wire.whole(CALLS, wire.stop)
    assembler = wire.assembler()
    streamed = assembled(assembler, wire.events(CALLS, wire.stop, ""))
    turn = wire.parse(whole)
    history: list[object] = [QUESTION]

    one = extend_history(history, whole, turn, run(turn))
    other = extend_history(history, assembler.message(), streamed, run(streamed))

    assert history == [QUESTION]
    for extended in (one, other):
        assert_legal(wire.provider, extended)
        assert check_history(extended) == ()
        assert extended[0] is QUESTION
        assert json.dumps(extended).count("done ") == 2


def shapes(provider: Provider) -> list[object]:
    """One message in all the forms that a parser takes."""
    whole = WIRES[provider].whole(CALLS, WIRES[provider].stop)
    if provider == "openai-chat":
        [choice] = cast("list[Json]", whole["choices"])
        message = cast("Json", choice["message"])
        fixed = {"id": "c", "created": 1, "model": "m", "object": "chat.completion"}
        sdk = ChatCompletion.model_validate({**fixed, "choices": [{**choice, "index": 0}]})
        return [whole, choice, message, message["tool_calls"], sdk, sdk.choices[0], sdk.choices[0].message]
    if provider == "openai-responses":
        sdk_response = Response.model_validate(whole)
        return [whole, whole["output"], sdk_response, sdk_response.output]
    if provider == "anthropic":
        return [whole, whole["content"]]
    [candidate] = cast("list[Json]", whole["candidates"])
    content = cast("Json", candidate["content"])
    return [whole, candidate, content, content["parts"], genai.GenerateContentResponse.model_validate(whole)]


@requirement("history.continued")
@EVERY
def test_every_shape_that_is_parsed_extends_a_history(wire: Wire) -> None:
    for message in shapes(cast("Provider", wire.provider)):
        turn = wire.parse(message)
        extended = extend_history([], message, turn, run(turn))

        assert check_history(extended, provider=turn.provider) == ()
        assert len(turn.calls) == 2


@requirement("history.continued", "history.ids")
def test_made_ids_stand_in_the_call_and_in_the_result() -> None:
    nameless = {
        "role": "assistant",
        "tool_calls": [
            {"function": {"name": "f", "arguments": "{}"}},
            {"id": "x", "function": {"name": "f", "arguments": "{"}},
        ],
    }
    before = copy.deepcopy(nameless)
    turn = parse_chat_tool_calls(nameless)

    extended = cast("list[Json]", extend_history([QUESTION], nameless, turn, run(turn)))

    assert nameless == before
    assert_legal("openai-chat", extended)
    assert [message.get("tool_call_id") for message in extended] == [None, None, turn.calls[0].id, "x"]


@requirement("history.continued", "history.ids")
@EVERY
def test_calls_that_share_an_id_are_answered_apart(wire: Wire) -> None:
    twins = [said("x", "f", {"n": 1}), said("x", "f", {"n": 2})]
    whole = wire.whole(twins, wire.stop)
    turn = wire.parse(whole)

    extended = extend_history([QUESTION], whole, turn, run(turn))

    assert_legal(wire.provider, extended)
    text = json.dumps(extended)
    assert text.index("done x") < text.index("done x#2")


@requirement("history.continued")
def test_a_history_that_is_not_legal_is_an_error_that_says_where() -> None:
    history = [message for message in chat([Round("hi", "ok", [("q", "f", {})])]) if message["role"] != "tool"]
    whole = WIRES["openai-chat"].whole(CALLS, "tool_calls")
    turn = parse_chat_tool_calls(whole)

    with pytest.raises(
        HistoryError, match=r"\$\[2\].tool_calls\[0\]: the call 'q' of 'f' has no result; repair it with"
    ) as caught:
        extend_history(history, whole, turn, run(turn))

    assert [fault.kind for fault in caught.value.faults] == ["missing-result"]


@requirement("history.continued")
def test_results_that_do_not_fit_and_messages_of_another_turn_are_errors() -> None:
    whole = WIRES["openai-chat"].whole(CALLS, "tool_calls")
    turn = parse_chat_tool_calls(whole)

    with pytest.raises(ReplyError):
        extend_history([], whole, turn, run(turn)[:1])
    with pytest.raises(MessageError, match="the message of the turn, which has 2 calls"):
        extend_history([], {"role": "assistant", "content": "hi"}, turn, run(turn))
    with pytest.raises(MessageError, match="the message of the turn, which has 2 calls"):
        extend_history([], {"choices": []}, turn, run(turn))
    with pytest.raises(MessageError, match="one entry"):
        extend_history([], {"choices": [whole, whole]}, turn, run(turn))
    wrong: list[object] = [None, "hi", {}, iter([QUESTION])]
    for history in wrong:
        with pytest.raises(MessageError, match=r"^\$: expected a list of messages, or of items, as the history"):
            extend_history(cast("list[object]", history), whole, turn, run(turn))


@requirement("history.continued")
def test_answers_to_calls_of_other_types_stand_among_the_results() -> None:
    custom = {"type": "custom_tool_call", "id": "i", "call_id": "c", "name": "sql", "input": "select"}
    output = [custom, response_item(1, CALLS[0])]
    turn = WIRES["openai-responses"].parse(output)
    answer = {"type": "custom_tool_call_output", "call_id": "c", "output": "rows"}

    extended = extend_history([QUESTION], output, turn, run(turn), others=[answer])

    assert_legal("openai-responses", extended)
    assert answer in extended


@tool(effect="read-only")
async def slow(n: int) -> int:
    """Take a while: the higher the number, the shorter."""
    await trio.sleep(10 - n)
    return n


@tool(effect="read-only")
async def count(n: int) -> AsyncIterator[int]:
    """Count slowly."""
    for number in range(n):
        await trio.sleep(1)
        yield number


@requirement("history.collected")
async def test_running_calls_are_waited_for_side_by_side_and_answered_in_order(
    autojump_clock: trio.testing.MockClock,
) -> None:
    whole = WIRES["openai-chat"].whole(
        [said("a", "slow", {"n": 1}), said("b", "count", {"n": 3}), said("c", "slow", {"n": 5})], "tool_calls"
    )
    turn = parse_chat_tool_calls(whole)
    first, second, third = turn.calls
    began = trio.current_time()

    async with open_supervisor(Toolbox([slow, count])) as supervisor, supervisor.stream(second) as stream:
        pending: list[ToolResult[object] | Execution | Stream] = [
            supervisor.start(first),
            stream,
            supervisor.start(third),
        ]
        results = await collect_results([*pending[::-1]])
        reply = turn.reply(results)

    assert trio.current_time() - began == 9
    assert [(entry["tool_call_id"], entry["content"]) for entry in reply] == [("a", "1"), ("b", "[0,1,2]"), ("c", "5")]
    assert [result.call_id for result in results] == ["c", "b", "a"]
    assert [result.outcome for result in results] == ["success"] * 3


@requirement("history.collected")
async def test_finished_results_pass_and_it_is_a_checkpoint() -> None:
    done = success(ToolCall("f", id="x"), "ok")

    with trio.testing.assert_checkpoints():
        assert await collect_results([done]) == [done]
    with trio.testing.assert_checkpoints():
        assert await collect_results([]) == []


@requirement("history.collected")
async def test_whoever_is_cancelled_while_waiting_may_ask_again(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([slow])) as supervisor:
        execution = supervisor.start(ToolCall("slow", {"n": 1}))
        with trio.move_on_after(2) as scope:
            await collect_results([execution])
        assert scope.cancelled_caught

        [result] = await collect_results([execution])

    assert result.unwrap() == 1


NOTHING_SAID: dict[str, object] = {
    "no candidate": {"promptFeedback": {"blockReason": "SAFETY"}, "candidates": []},
    "no candidates": genai.GenerateContentResponse(),
    "a candidate without content": {"candidates": [{"finishReason": "SAFETY"}]},
    "content without parts": {"candidates": [{"finishReason": "STOP", "content": {"role": "model"}}]},
    "no parts": {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": []}}]},
    "a candidate of the SDK": genai.GenerateContentResponse(candidates=[genai.Candidate(content=genai.Content())]),
}


@requirement("history.continued")
@pytest.mark.parametrize("message", NOTHING_SAID.values(), ids=NOTHING_SAID.keys())
def test_a_refused_prompt_adds_no_empty_content_which_gemini_would_not_take(message: object) -> None:
    turn = WIRES["gemini"].parse(message)

    assert extend_history([QUESTION], message, turn, []) == [QUESTION]


@requirement("history.continued")
def test_a_response_without_choices_adds_nothing() -> None:
    message: Json = {"choices": []}

    assert extend_history([QUESTION], message, parse_chat_tool_calls(message), []) == [QUESTION]


@requirement("history.continued")
@pytest.mark.parametrize("whole", [True, False], ids=["response", "message"])
def test_an_empty_list_of_calls_is_left_out_which_openai_would_not_take(whole: bool) -> None:
    said: Json = {"role": "assistant", "content": "hi", "tool_calls": []}
    message = {"choices": [{"index": 0, "finish_reason": "stop", "message": said}]} if whole else said

    history = extend_history([QUESTION], message, parse_chat_tool_calls(message), [])

    assert history == [QUESTION, {"role": "assistant", "content": "hi"}]


@requirement("history.continued")
def test_an_empty_list_of_calls_in_what_came_before_is_left_out_without_a_word() -> None:
    before: Json = {"role": "assistant", "content": "hello", "tool_calls": []}
    whole = WIRES["openai-chat"].whole(CALLS, "tool_calls")
    turn = WIRES["openai-chat"].parse(whole)

    extended = extend_history([QUESTION, before], whole, turn, run(turn))

    assert extended[1] == {"role": "assistant", "content": "hello"}
    assert_legal("openai-chat", extended)
    assert check_history(extended) == ()
