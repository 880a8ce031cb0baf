"""Responses: function calls out of the output items, outputs back."""

from __future__ import annotations

import base64

import pytest
from openai.types.responses import Response

from armory_trio.providers import MessageError, OtherCall
from armory_trio.providers.openai import parse_response_tool_calls
from tests.requirements import requirement

from ._results import PICTURE, PIXELS, entries, failure, run, success
from ._sdk import accept

Json = dict[str, object]


def call(id: object = "call_1", **fields: object) -> Json:
    item: Json = {"type": "function_call", "id": "fc_1", "call_id": id, "name": "add", "arguments": '{"a": 1}'}
    return {**item, **fields}


def response(*output: object, status: str = "completed", reason: str | None = None) -> Json:
    return {
        "id": "r",
        "created_at": 1.0,
        "model": "m",
        "object": "response",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": status,
        "incomplete_details": None if reason is None else {"reason": reason},
    }


REASONING: Json = {"type": "reasoning", "id": "rs", "summary": []}
SAID: Json = {
    "type": "message",
    "id": "msg",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "let me see", "annotations": []}],
}


def shapes() -> dict[str, object]:
    whole = response(REASONING, SAID, call())
    sdk = Response.model_validate(whole)
    return {
        "response": whole,
        "output": [REASONING, call()],
        "item": call(),
        "SDK response": sdk,
        "SDK output": sdk.output,
        "SDK item": sdk.output[2],
        "output only": {"output": [call()]},
    }


@requirement("providers.shapes")
@pytest.mark.parametrize("shape", shapes().values(), ids=shapes().keys())
def test_a_call_is_found_in_every_shape(shape: object) -> None:
    turn = parse_response_tool_calls(shape)

    [found] = turn.calls
    assert (found.name, found.arguments, found.id, found.defect) == ("add", {"a": 1}, "call_1", None)
    assert turn.provider == "openai-responses"


@requirement("providers.no-calls")
@pytest.mark.parametrize("plain", [response(), response(SAID), SAID, [SAID, REASONING], []])
def test_a_response_without_calls_is_an_empty_turn(plain: object) -> None:
    turn = parse_response_tool_calls(plain)

    assert (turn.calls, turn.reply([])) == ((), [])


WRONG: list[tuple[object, str]] = [
    (None, "$"),
    ("text", "$"),
    ({}, "$"),
    ({"choices": []}, "$"),
    ({"output": None}, "$.output"),
    ({"output": {}}, "$.output"),
    ({"output": ["x"]}, "$.output[0]"),
    ({"output": [], "status": 4}, "$.status"),
    ({"output": [], "incomplete_details": "x"}, "$.incomplete_details"),
    ([{"type": 1}], "$[0].type"),
    ([call(5)], "$[0].call_id"),
    ([call(caller=1)], "$[0].caller"),
    ([call(caller={"type": "program", "caller_id": 5})], "$[0].caller.caller_id"),
]


@requirement("providers.message-error")
@pytest.mark.parametrize(("wrong", "path"), WRONG)
def test_another_shape_is_an_error_that_says_where(wrong: object, path: str) -> None:
    with pytest.raises(MessageError) as caught:
        parse_response_tool_calls(wrong)

    assert caught.value.path == path


@requirement("providers.truncated-refused")
@pytest.mark.parametrize(
    ("status", "reason", "word"),
    [
        ("incomplete", "max_output_tokens", "max_output_tokens"),
        ("incomplete", None, "incomplete"),
        ("failed", None, "failed"),
        ("cancelled", None, "cancelled"),
        ("in_progress", None, "in_progress"),
    ],
)
def test_the_last_call_of_a_response_that_is_not_whole_is_refused(status: str, reason: str | None, word: str) -> None:
    whole = response(call("a"), call("b", status="completed"), status=status, reason=reason)

    for shape in (whole, Response.model_validate(whole)):
        first, last = parse_response_tool_calls(shape).calls
        assert first.defect is None
        assert last.defect is not None
        assert (last.defect.code, word in last.defect.message) == ("TRUNCATED_CALL", True)


@requirement("providers.truncated-refused")
def test_a_call_with_something_after_it_was_closed() -> None:
    turn = parse_response_tool_calls(response(call("a"), SAID, status="incomplete", reason="max_output_tokens"))

    assert [found.defect for found in turn.calls] == [None]
    assert turn.stop_reason == "max_output_tokens"


@requirement("providers.truncated-refused")
def test_an_item_that_says_that_it_is_incomplete_is_refused_wherever_it_stands() -> None:
    first, second = parse_response_tool_calls([call("a", status="incomplete"), call("b", status="completed")]).calls

    assert first.defect is not None
    assert (first.defect.code, second.defect) == ("TRUNCATED_CALL", None)


@requirement("providers.other-calls")
def test_calls_of_other_types_are_left_alone_and_listed() -> None:
    custom = {"type": "custom_tool_call", "id": "ct", "call_id": "c", "name": "sql", "input": "select 1"}
    search = {
        "type": "web_search_call",
        "id": "ws",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    approval = {"type": "mcp_approval_request", "id": "ap", "name": "n", "arguments": "{}", "server_label": "s"}

    turn = parse_response_tool_calls(Response.model_validate(response(custom, search, approval, call())))

    assert [found.id for found in turn.calls] == ["call_1"]
    assert turn.others == (
        OtherCall("custom_tool_call", "c", "sql", "$.output[0]"),
        OtherCall("web_search_call", "ws", None, "$.output[1]"),
        OtherCall("mcp_approval_request", "ap", "n", "$.output[2]"),
    )


@requirement("providers.names")
def test_a_namespace_is_part_of_the_name() -> None:
    turn = parse_response_tool_calls([call("a", namespace="crm"), call("b", namespace="crm", name=None)])

    assert [found.name for found in turn.calls] == ["crm:add", ""]


@requirement("providers.sdk-accepts", "providers.call-order")
def test_results_are_outputs_in_call_order() -> None:
    turn = parse_response_tool_calls(response(call("a"), SAID, call("b")))
    a, b = run(turn)

    reply = turn.reply([b, a])

    accept(turn, reply)
    assert reply == [
        {"type": "function_call_output", "call_id": "a", "output": "done a"},
        {"type": "function_call_output", "call_id": "b", "output": "done b"},
    ]


@requirement("providers.media", "providers.sdk-accepts")
def test_pictures_stand_inside_the_output() -> None:
    turn = parse_response_tool_calls([call("a"), call("b")])
    first, second = turn.calls

    reply = turn.reply([success(first, "cap", PICTURE), failure(second, content=(PICTURE,))])

    accept(turn, reply)
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{base64.b64encode(PIXELS).decode()}"}
    assert reply[0]["output"] == [{"type": "input_text", "text": "cap"}, picture]
    words, shown = entries(reply[1], "output")
    assert shown == picture
    assert "may have taken effect" in str(words["text"])


@requirement("providers.echo", "providers.sdk-accepts")
def test_a_call_by_a_program_is_answered_to_that_program() -> None:
    by_program = call("a", caller={"type": "program", "caller_id": "prog_1"})
    whole = response(by_program, call("b", caller={"type": "direct"}), call("c"))

    for shape in (whole, Response.model_validate(whole)):
        turn = parse_response_tool_calls(shape)
        reply = turn.reply(run(turn))
        accept(turn, reply)
        assert reply[0]["caller"] == {"type": "program", "caller_id": "prog_1"}
        assert all("caller" not in output for output in reply[1:])
