"""Anthropic Messages: tool uses out of a message, one user message back."""

from __future__ import annotations

import base64

import pytest
from anthropic.types import Message

from armory_trio import BlobResourceContent, ImageContent, LinkContent, RequiredAction, ToolResult
from armory_trio.providers import MessageError, OtherCall
from armory_trio.providers.anthropic import parse_tool_calls
from tests.requirements import requirement

from ._results import PICTURE, PIXELS, as_object, entries, failure, run, success
from ._sdk import accept

Json = dict[str, object]

SAID: Json = {"type": "text", "text": "let me see"}
PIXEL_TEXT = base64.b64encode(PIXELS).decode()


def use(id: str = "toolu_1", **fields: object) -> Json:
    return {"type": "tool_use", "id": id, "name": "add", "input": {"a": 1}, **fields}


def message(*content: object, stop_reason: str = "tool_use") -> Json:
    return {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def shapes() -> dict[str, object]:
    whole = message(SAID, use())
    sdk = Message.model_validate(whole)
    return {
        "message": whole,
        "history entry": {"role": "assistant", "content": [SAID, use()]},
        "content": [SAID, use()],
        "block": use(),
        "SDK message": sdk,
        "SDK content": sdk.content,
        "SDK block": sdk.content[1],
        "SDK param": sdk.to_param(),
    }


@requirement("providers.shapes")
@pytest.mark.parametrize("shape", shapes().values(), ids=shapes().keys())
def test_a_call_is_found_in_every_shape(shape: object) -> None:
    turn = parse_tool_calls(shape)

    [found] = turn.calls
    assert (found.name, found.arguments, found.id, found.defect) == ("add", {"a": 1}, "toolu_1", None)
    assert turn.provider == "anthropic"


@requirement("providers.no-calls")
@pytest.mark.parametrize(
    "plain", [message(), message(SAID), {"role": "assistant", "content": "hi"}, {"content": None}, [SAID], SAID, []]
)
def test_a_message_without_calls_is_an_empty_turn(plain: object) -> None:
    turn = parse_tool_calls(plain)

    assert (turn.calls, turn.reply([])) == ((), [])


WRONG: list[tuple[object, str]] = [
    (None, "$"),
    (4, "$"),
    ({"message": {}}, "$"),
    ({"type": "error", "error": {"message": "overloaded"}}, "$"),
    ({"role": "user", "content": []}, "$.role"),
    ({"content": {}}, "$.content"),
    ({"content": [[]]}, "$.content[0]"),
    ({"content": [], "stop_reason": 1}, "$.stop_reason"),
    ([{"type": "tool_use", "id": 7}], "$[0].id"),
    ([use(toolset_name=7)], "$[0].toolset_name"),
]


@requirement("providers.message-error")
@pytest.mark.parametrize(("wrong", "path"), WRONG)
def test_another_shape_is_an_error_that_says_where(wrong: object, path: str) -> None:
    with pytest.raises(MessageError) as caught:
        parse_tool_calls(wrong)

    assert caught.value.path == path


@requirement("providers.truncated-refused")
@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("trailing", [[], [{"type": "text", "text": ""}]])
def test_the_last_call_of_a_cut_message_is_refused(reason: str, trailing: list[Json]) -> None:
    turn = parse_tool_calls(Message.model_validate(message(use("a"), use("b"), *trailing, stop_reason=reason)))

    first, last = turn.calls
    assert first.defect is None
    assert last.defect is not None
    assert (last.defect.code, last.arguments) == ("TRUNCATED_CALL", {})


@requirement("providers.truncated-refused")
@pytest.mark.parametrize(
    ("reason", "after"), [("max_tokens", [SAID]), ("tool_use", []), ("pause_turn", []), ("stop_sequence", [])]
)
def test_a_closed_call_runs(reason: str, after: list[Json]) -> None:
    [found] = parse_tool_calls(message(use("a"), *after, stop_reason=reason)).calls

    assert found.defect is None


@requirement("providers.other-calls")
def test_server_tools_are_left_alone_and_listed() -> None:
    server = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}}

    turn = parse_tool_calls(Message.model_validate(message(server, use())))

    assert [found.id for found in turn.calls] == ["toolu_1"]
    assert turn.others == (OtherCall("server_tool_use", "srv", "web_search", "$.content[0]"),)


@requirement("providers.sdk-accepts", "providers.call-order")
def test_all_results_stand_in_one_user_message_in_call_order() -> None:
    turn = parse_tool_calls([use("a"), SAID, use("b"), use("c", input=[1])])
    a, b, c = run(turn)

    reply = turn.reply([b, c, a])

    accept(turn, reply)
    [entry] = reply
    blocks = entries(entry)
    assert [block["tool_use_id"] for block in blocks] == ["a", "b", "c"]
    assert blocks[0] == {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": [{"type": "text", "text": "done a"}],
    }
    assert [block.get("is_error") for block in blocks] == [None, None, True]


@requirement("providers.media", "providers.sdk-accepts")
def test_pictures_of_a_success_are_blocks_of_its_result() -> None:
    turn = parse_tool_calls([use("a"), use("b")])

    reply = turn.reply([success(call, "cap", PICTURE) for call in turn.calls])

    accept(turn, reply)
    [entry] = reply
    blocks = entries(entry)
    for block in blocks:
        assert block["content"] == [
            {"type": "text", "text": "cap"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL_TEXT}},
        ]


@requirement("providers.media", "providers.sdk-accepts")
def test_pictures_of_an_error_come_after_all_results_because_an_error_may_hold_only_text() -> None:
    turn = parse_tool_calls([use("a"), use("b")])
    first, second = turn.calls

    reply = turn.reply([failure(first, content=(PICTURE,)), success(second, "fine")])

    accept(turn, reply)
    [entry] = reply
    blocks = entries(entry)
    assert [block["type"] for block in blocks] == ["tool_result", "tool_result", "text", "image"]
    assert {part["type"] for part in entries(blocks[0])} == {"text"}
    assert blocks[2]["text"] == "image 1 of tool result 1 (add, a):"


@requirement("providers.media-limits")
def test_a_picture_is_measured_as_it_is_sent() -> None:
    turn = parse_tool_calls([use("a"), use("b")])
    fits = ImageContent(b"x" * 3_932_160, "image/png")
    too_large = ImageContent(b"x" * 3_932_161, "image/png")

    [entry] = turn.reply([success(turn.calls[0], fits), success(turn.calls[1], too_large)])

    blocks = entries(entry)
    assert len(str(as_object(entries(blocks[0])[0]["source"])["data"])) == 5 * 1024 * 1024
    assert "at most 3932160 bytes" in str(entries(blocks[1])[0]["text"])


@requirement("providers.never-empty", "providers.no-dropped-content")
def test_no_block_is_blank() -> None:
    turn = parse_tool_calls([use("a"), use("b")])
    link = LinkContent("file:///a.txt", "a.txt")

    [entry] = turn.reply([success(turn.calls[0], "", " "), success(turn.calls[1], "", link)])

    blocks = entries(entry)
    assert [block["content"] for block in blocks] == [
        [{"type": "text", "text": "The tool ran and returned nothing."}],
        [{"type": "text", "text": "[link <file:///a.txt>: a.txt]"}],
    ]


@requirement("providers.media", "providers.no-dropped-content")
def test_a_resource_that_is_a_picture_is_shown_behind_its_name() -> None:
    turn = parse_tool_calls([use("a")])

    [entry] = turn.reply([success(turn.calls[0], BlobResourceContent("file:///a.png", b"x", "image/PNG"))])

    [block] = entries(entry)
    assert block["content"] == [
        {"type": "text", "text": "[resource <file:///a.png>, image/PNG]"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}},
    ]


@requirement("providers.honest-words")
def test_a_paused_call_is_marked_and_says_what_it_waits_for() -> None:
    turn = parse_tool_calls([use("a")])
    paused = ToolResult[object]("", "a", "add", "action_required", action=RequiredAction("approval", "ask Ann"))

    [entry] = turn.reply([paused])

    blocks = entries(entry)
    assert blocks[0]["is_error"] is True
    assert "has not run yet: it needs an approval first.\nask Ann" in str(entries(blocks[0])[0]["text"])


@requirement("providers.echo", "providers.sdk-accepts")
def test_the_toolset_of_a_call_is_repeated() -> None:
    turn = parse_tool_calls(Message.model_validate(message(use(toolset_name="browser"))))

    reply = turn.reply(run(turn))

    accept(turn, reply)
    blocks = entries(reply[0])
    assert blocks[0]["toolset_name"] == "browser"


@requirement("providers.sdk-accepts")
def test_the_check_for_acceptance_can_fail() -> None:
    turn = parse_tool_calls([use("a")])
    reply = turn.reply(run(turn))
    reply[0]["content"] = [{"type": "tool_result", "tool_use_id": "a", "contents": "a word that nobody knows"}]

    with pytest.raises(AssertionError):
        accept(turn, reply)
