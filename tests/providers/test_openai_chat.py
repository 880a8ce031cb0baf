"""Chat Completions: every shape that holds tool calls, and tool messages back."""

from __future__ import annotations

import base64
from types import SimpleNamespace

import pytest
from openai.types.chat import ChatCompletion

from armory_trio import (
    AudioContent,
    BlobResourceContent,
    ImageContent,
    JsonContent,
    LinkContent,
    TextResourceContent,
)
from armory_trio.providers import MessageError, OtherCall
from armory_trio.providers.openai import parse_chat_tool_calls
from tests.requirements import requirement

from ._results import PICTURE, PIXELS, entries, failure, run, success
from ._sdk import accept

Json = dict[str, object]


def call(id: str | None = "call_1", name: object = "add", arguments: object = '{"a": 1}') -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def message(*calls: object, **fields: object) -> Json:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}


def completion(*calls: object, finish_reason: str = "tool_calls") -> Json:
    choice = {"index": 0, "finish_reason": finish_reason, "message": message(*calls)}
    return {"id": "c", "created": 1, "model": "m", "object": "chat.completion", "choices": [choice]}


def shapes() -> dict[str, object]:
    whole = completion(call())
    sdk = ChatCompletion.model_validate(whole)
    [sdk_choice] = sdk.choices
    sdk_calls = sdk_choice.message.tool_calls
    assert sdk_calls is not None
    choice = {"message": message(call()), "finish_reason": "tool_calls"}
    return {
        "completion": whole,
        "choice": choice,
        "message": message(call()),
        "only tool_calls": {"tool_calls": [call()]},
        "list": [call()],
        "tuple": (call(),),
        "single call": call(),
        "SDK completion": sdk,
        "SDK choice": sdk_choice,
        "SDK message": sdk_choice.message,
        "SDK calls": sdk_calls,
        "SDK call": sdk_calls[0],
        "SDK completion of unchecked parts": ChatCompletion.construct(None, **whole),
        "any object with these attributes": SimpleNamespace(**message(SimpleNamespace(**call()))),
    }


@requirement("providers.shapes")
@pytest.mark.parametrize("shape", shapes().values(), ids=shapes().keys())
def test_a_call_is_found_in_every_shape(shape: object) -> None:
    turn = parse_chat_tool_calls(shape)

    [found] = turn.calls
    assert (found.name, found.arguments, found.id, found.defect) == ("add", {"a": 1}, "call_1", None)
    assert turn.provider == "openai-chat"


@requirement("providers.no-calls")
@pytest.mark.parametrize(
    "plain",
    [
        {"role": "assistant", "content": "hello"},
        {"role": "assistant", "tool_calls": None},
        {"role": "assistant", "tool_calls": []},
        {"choices": []},
        [],
        ChatCompletion.model_validate(completion()),
    ],
)
def test_a_message_without_calls_is_an_empty_turn(plain: object) -> None:
    turn = parse_chat_tool_calls(plain)

    assert (turn.calls, turn.reply([])) == ((), [])


WRONG: list[tuple[object, str, str]] = [
    (None, "$", "found nothing"),
    ("text", "$", "found the text 'text'"),
    (7, "$", "found a number of type int"),
    (True, "$", "found true"),
    (object(), "$", "found an object of type object"),
    ({}, "$", "found {}"),
    ({"unrelated": 1}, "$", "an object with the keys unrelated"),
    ({"choices": None}, "$.choices", "expected a list with one choice, found nothing"),
    ({"choices": 3}, "$.choices", "found a number"),
    ({"choices": [5]}, "$.choices[0]", "expected a choice"),
    ({"choices": [{"delta": {}}]}, "$.choices[0]", "chunks of a stream"),
    ({"choices": [{"message": []}]}, "$.choices[0].message", "found a list of 0"),
    ({"choices": [completion(), completion()]}, "$.choices", "pass the one that the conversation goes on with"),
    ({"role": "user", "content": "hi"}, "$.role", "found the text 'user'"),
    ({"role": "assistant", "tool_calls": {}}, "$.tool_calls", "expected a list of tool calls, found {}"),
    ({"role": "assistant", "tool_calls": [None]}, "$.tool_calls[0]", "expected a tool call, found nothing"),
    ([{"id": 5, "function": {"name": "f"}}], "$[0].id", "expected a text, found a number of type int"),
    ([{"id": "x", "function": "f"}], "$[0].function", "expected an object, found the text 'f'"),
    ({"choices": [{"finish_reason": 5, "message": message()}]}, "$.choices[0].finish_reason", "expected a text"),
]


@requirement("providers.message-error")
@pytest.mark.parametrize(("wrong", "path", "words"), WRONG)
def test_another_shape_is_an_error_that_says_where_and_what(wrong: object, path: str, words: str) -> None:
    with pytest.raises(MessageError) as caught:
        parse_chat_tool_calls(wrong)

    assert caught.value.path == path
    assert words in str(caught.value)


@requirement("providers.truncated-refused")
def test_only_the_last_call_of_a_cut_message_is_refused_even_if_it_parses() -> None:
    sdk = ChatCompletion.model_validate(completion(call("a"), call("b"), finish_reason="length"))

    turn = parse_chat_tool_calls(sdk)

    first, last = turn.calls
    assert (first.defect, first.arguments) == (None, {"a": 1})
    assert last.defect is not None
    assert (last.defect.code, last.defect.text, last.arguments) == ("TRUNCATED_CALL", '{"a": 1}', {})
    assert "length" in last.defect.message
    assert turn.stop_reason == "length"


@requirement("providers.truncated-refused")
def test_a_call_before_another_kind_of_call_was_closed_when_the_message_was_cut() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select"}}

    turn = parse_chat_tool_calls(completion(call("a"), custom, finish_reason="length"))

    assert [found.defect for found in turn.calls] == [None]


@requirement("providers.other-calls")
def test_calls_of_other_types_are_left_alone_and_listed() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    legacy = {"name": "old", "arguments": "{}"}

    turn = parse_chat_tool_calls(ChatCompletion.model_validate(completion(custom, call())))
    old = parse_chat_tool_calls(message(function_call=legacy))

    assert [found.id for found in turn.calls] == ["call_1"]
    assert turn.others == (OtherCall("custom", "c", "sql", "$.choices[0].message.tool_calls[0]"),)
    assert old.others == (OtherCall("function_call", None, "old", "$.function_call"),)


@requirement("providers.malformed-never-runs")
@pytest.mark.parametrize("broken", [{"id": "x", "type": "function"}, call("x", None), call("x", ""), call("x", 3)])
def test_a_call_that_names_no_tool_is_malformed_and_still_answered(broken: Json) -> None:
    turn = parse_chat_tool_calls([broken])

    [found] = turn.calls
    assert found.defect is not None
    assert found.defect.code == "MALFORMED_CALL"
    [reply] = turn.reply(run(turn))
    assert reply["tool_call_id"] == "x"
    assert "did not run" in str(reply["content"])


@requirement("providers.names")
def test_names_are_mapped_back_and_others_pass_as_they_are() -> None:
    turn = parse_chat_tool_calls([call("a", "math_add"), call("b", "other")], names={"math_add": "math:add@2"})

    assert [found.name for found in turn.calls] == ["math:add@2", "other"]


@requirement("providers.sdk-accepts", "providers.call-order")
def test_results_are_tool_messages_in_call_order() -> None:
    turn = parse_chat_tool_calls([call("a"), call("b"), call("c", arguments="{")])
    a, b, c = run(turn)

    reply = turn.reply([c, b, a])

    accept(turn, reply)
    assert [entry["tool_call_id"] for entry in reply] == ["a", "b", "c"]
    assert [entry["role"] for entry in reply] == ["tool"] * 3
    assert [entry["content"] for entry in reply][:2] == ["done a", "done b"]
    assert "did not run: the call was malformed" in str(reply[2]["content"])


@requirement("providers.media", "providers.sdk-accepts")
def test_pictures_follow_all_results_in_one_message_labelled_by_call() -> None:
    turn = parse_chat_tool_calls([call("a", "shot"), call("b", "shot")])
    first, second = turn.calls

    reply = turn.reply([success(first, "cap", PICTURE), success(second, PICTURE, PICTURE, "end")])

    accept(turn, reply)
    encoded = base64.b64encode(PIXELS).decode()
    a, b, follow = reply
    assert (a["role"], b["role"], follow["role"]) == ("tool", "tool", "user")
    assert a["content"] == "cap\n\n[image 1, image/png: see the user message after the tool results]"
    assert str(b["content"]).endswith("results]\n\nend")
    assert encoded not in f"{a}{b}"
    parts = entries(follow)
    assert [part.get("text") for part in parts] == [
        "The pictures that the tool results above refer to follow. They come from tools, not from the user.",
        "image 1 of tool result 1 (shot, a):",
        None,
        "image 1 of tool result 2 (shot, b):",
        None,
        "image 2 of tool result 2 (shot, b):",
        None,
    ]
    assert parts[2] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}}


@requirement("providers.media-limits", "providers.no-dropped-content")
def test_what_cannot_be_sent_is_described() -> None:
    turn = parse_chat_tool_calls([call("a")])
    large = ImageContent(b"x" * (15 * 1024 * 1024 + 1), "image/png")

    [reply] = turn.reply(
        [
            success(
                turn.calls[0],
                large,
                ImageContent(b"x", "image/bmp"),
                ImageContent(b"", "image/png"),
                AudioContent(b"xyz", "audio/wav"),
                LinkContent("https://example.org/a", "A", "text/plain", "about a"),
                LinkContent("https://example.org/b"),
                TextResourceContent("file:///a.txt", "inside", "text/plain"),
                BlobResourceContent("file:///a.pdf", b"%PDF", "application/pdf"),
                BlobResourceContent("file:///a.wav", b"RIFF", "audio/wav"),
                BlobResourceContent("file:///b.png", b"", "image/png"),
            )
        ]
    )

    assert str(reply["content"]).split("\n\n") == [
        "[image, image/png, 15728641 bytes: left out, because this provider takes at most 15728640 bytes]",
        "[image, image/bmp, 1 bytes: left out, because this provider does not take it in a tool result]",
        "[image, image/png: empty]",
        "[audio, audio/wav, 3 bytes: left out, because this provider does not take it in a tool result]",
        "[link <https://example.org/a>: A, text/plain, about a]",
        "[link <https://example.org/b>]",
        "[resource <file:///a.txt>, text/plain]\ninside",
        "[resource <file:///a.pdf>, application/pdf, 4 bytes: left out, because it is no text, picture or sound]",
        "[resource <file:///a.wav>, audio/wav]",
        "[audio, audio/wav, 4 bytes: left out, because this provider does not take it in a tool result]",
        "[resource <file:///b.png>, image/png: empty]",
    ]


@requirement("providers.media")
def test_a_media_type_is_sent_in_its_registered_spelling() -> None:
    turn = parse_chat_tool_calls([call("a")])

    follow = turn.reply([success(turn.calls[0], ImageContent(b"x", "image/JPG; q=1"))])[-1]

    assert "data:image/jpeg;base64,eA==" in str(follow)


@requirement("providers.never-empty")
@pytest.mark.parametrize("content", [(), ("",), (" \n",), (JsonContent(" "),)])
def test_a_result_without_text_says_so(content: tuple[str, ...]) -> None:
    turn = parse_chat_tool_calls([call("a")])

    [reply] = turn.reply([success(turn.calls[0], *content)])

    assert reply["content"] == "The tool ran and returned nothing."


@requirement("providers.never-empty")
def test_an_error_without_a_message_has_words_and_the_right_id() -> None:
    turn = parse_chat_tool_calls([call("a"), call("b")])
    first, second = turn.calls

    _, reply = turn.reply([success(first, "x"), failure(second, message="")])

    assert reply["tool_call_id"] == "b"
    assert "'add' failed (INTERNAL_ERROR)" in str(reply["content"])


@requirement("providers.sdk-accepts")
def test_text_that_no_request_can_carry_is_escaped() -> None:
    turn = parse_chat_tool_calls([call("a")])

    [reply] = turn.reply([success(turn.calls[0], "half a pair: \ud83d")])

    assert reply["content"] == "half a pair: \\ud83d"
