"""Gemini: function calls out of a response, function responses back."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import cast

import pytest
from google.genai import types

from armory_trio import AudioContent, Content, JsonContent, ToolResult
from armory_trio.providers import MessageError, OtherCall, Turn
from armory_trio.providers.gemini import parse_tool_calls
from tests.requirements import requirement

from ._results import PICTURE, PIXELS, failure, run, success
from ._sdk import accept

Json = dict[str, object]

SAID: Json = {"text": "let me see"}
PIXEL_TEXT = base64.b64encode(PIXELS).decode()


def part(id: str | None = "fc_1", **fields: object) -> Json:
    call: Json = {"name": "add", "args": {"a": 1}, **fields}
    return {"functionCall": call if id is None else {"id": id, **call}}


def response(*parts: object, reason: str = "STOP", model: str = "gemini-3-pro") -> Json:
    candidate = {"index": 0, "finishReason": reason, "content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [candidate], "modelVersion": model, "responseId": "r"}


def sdk(*parts: object, reason: str = "STOP", model: str = "gemini-3-pro") -> types.GenerateContentResponse:
    return types.GenerateContentResponse.model_validate(response(*parts, reason=reason, model=model))


def shapes() -> dict[str, object]:
    whole = response(SAID, part())
    typed = sdk(SAID, part())
    [candidate] = typed.candidates or []
    assert candidate.content is not None
    parts = candidate.content.parts
    assert parts is not None
    return {
        "response": whole,
        "candidate": {"content": {"parts": [part()]}, "finishReason": "STOP"},
        "content": {"role": "model", "parts": [part()]},
        "parts": [SAID, part()],
        "part": part(),
        "SDK response": typed,
        "SDK candidate": candidate,
        "SDK content": candidate.content,
        "SDK parts": parts,
        "SDK part": parts[1],
        "dumped, with Python's names": typed.model_dump(mode="json", exclude_none=True),
        "dumped, with every field": typed.model_dump(mode="json"),
    }


@requirement("providers.shapes")
@pytest.mark.parametrize("shape", shapes().values(), ids=shapes().keys())
def test_a_call_is_found_in_every_shape(shape: object) -> None:
    turn = parse_tool_calls(shape)

    [found] = turn.calls
    assert (found.name, found.arguments, found.id, found.defect) == ("add", {"a": 1}, "fc_1", None)
    assert turn.provider == "gemini"


@requirement("providers.no-calls")
@pytest.mark.parametrize(
    "plain",
    [
        response(SAID),
        {"candidates": []},
        {"candidates": None, "promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": [{"finishReason": "MAX_TOKENS"}]},
        types.GenerateContentResponse(),
        {"parts": None},
        SAID,
        [],
    ],
)
def test_a_response_without_calls_is_an_empty_turn(plain: object) -> None:
    turn = parse_tool_calls(plain)

    assert (turn.calls, turn.reply([])) == ((), [])


WRONG: list[tuple[object, str]] = [
    (None, "$"),
    ("x", "$"),
    ({}, "$"),
    ({"contents": []}, "$"),
    ({"candidates": 1}, "$.candidates"),
    ({"candidates": [1]}, "$.candidates[0]"),
    ({"candidates": [{}, {}]}, "$.candidates"),
    ({"candidates": [{"content": "x"}]}, "$.candidates[0].content"),
    ({"content": {"parts": {}}}, "$.content.parts"),
    ({"content": {"role": "user"}}, "$.content.role"),
    ({"parts": [5]}, "$.parts[0]"),
    ([{"functionCall": "f"}], "$[0].functionCall"),
    ([{"functionCall": {"id": 5}}], "$[0].functionCall.id"),
    ([{"toolCall": {"toolType": 5}}], "$[0].toolCall.toolType"),
    ({"candidates": [{"finishReason": 5}]}, "$.candidates[0].finishReason"),
]


@requirement("providers.message-error")
@pytest.mark.parametrize(("wrong", "path"), WRONG)
def test_another_shape_is_an_error_that_says_where(wrong: object, path: str) -> None:
    with pytest.raises(MessageError) as caught:
        parse_tool_calls(wrong)

    assert caught.value.path == path


@requirement("providers.truncated-refused")
@pytest.mark.parametrize("reason", ["MAX_TOKENS", "SAFETY", "OTHER", "MALFORMED_RESPONSE"])
@pytest.mark.parametrize("trailing", [[], [{"text": "", "thoughtSignature": "c2ln"}]])
def test_the_last_call_of_a_cut_response_is_refused(reason: str, trailing: list[Json]) -> None:
    turn = parse_tool_calls(sdk(part("a"), part("b"), *trailing, reason=reason))

    first, last = turn.calls
    assert first.defect is None
    assert last.defect is not None
    assert (last.defect.code, reason in last.defect.message) == ("TRUNCATED_CALL", True)
    assert turn.stop_reason == reason


@requirement("providers.truncated-refused")
def test_a_call_with_words_after_it_was_closed() -> None:
    [found] = parse_tool_calls(sdk(part("a"), SAID, reason="MAX_TOKENS")).calls

    assert found.defect is None


@requirement("providers.truncated-refused")
@pytest.mark.parametrize("fields", [{"willContinue": True}, {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}]}])
def test_a_call_of_which_more_was_to_follow_is_refused(fields: Json) -> None:
    [found] = parse_tool_calls(sdk(part("a", **fields))).calls

    assert found.defect is not None
    assert found.defect.code == "TRUNCATED_CALL"


@requirement("providers.malformed-never-runs")
def test_no_call_of_a_response_that_the_provider_calls_malformed_runs() -> None:
    turn = parse_tool_calls(sdk(part("a"), part("b"), reason="MALFORMED_FUNCTION_CALL"))

    assert [call.defect.code for call in turn.calls if call.defect is not None] == ["MALFORMED_CALL"] * 2


@requirement("providers.other-calls")
def test_calls_that_the_server_makes_are_left_alone_and_listed() -> None:
    served: Json = {"toolCall": {"id": "s", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}}
    code = {"executableCode": {"code": "1+1", "language": "PYTHON"}}

    turn = parse_tool_calls(sdk(served, code, part()))

    assert [call.id for call in turn.calls] == ["fc_1"]
    assert turn.others == (
        OtherCall("toolCall", "s", "GOOGLE_SEARCH_WEB", "$.candidates[0].content.parts[0]"),
        OtherCall("executableCode", None, None, "$.candidates[0].content.parts[1]"),
    )


def responses(turn: Turn, results: Sequence[ToolResult[object]]) -> list[Json]:
    reply = turn.reply(results)
    accept(turn, reply)
    assert reply[0]["role"] == "user"
    parts = cast("list[Json]", reply[0]["parts"])
    return [cast("Json", entry["functionResponse"]) for entry in parts]


@requirement("providers.call-order", "providers.sdk-accepts", "providers.names")
def test_all_responses_stand_in_one_content_in_call_order_under_the_names_that_the_model_used() -> None:
    turn = parse_tool_calls(response(part("a"), part("b", args=[1])), names={"add": "math:add"})
    a, b = run(turn)

    first, second = responses(turn, [b, a])

    assert [call.name for call in turn.calls] == ["math:add", "math:add"]
    assert first == {"id": "a", "name": "add", "response": {"output": "done a"}}
    assert (second["id"], second["name"]) == ("b", "add")
    assert "did not run" in str(cast("Json", second["response"])["error"])


@requirement("providers.missing-ids")
def test_calls_without_ids_are_told_apart_here_and_answered_without_ids() -> None:
    turn = parse_tool_calls(sdk(part(None), part(None)))
    first, second = turn.calls

    answers = responses(turn, [success(second, "two"), success(first, "one")])

    assert first.id != second.id
    assert turn.made_ids == {0: first.id, 1: second.id}
    assert answers == [
        {"name": "add", "response": {"output": "one"}},
        {"name": "add", "response": {"output": "two"}},
    ]


@requirement("providers.sdk-accepts")
@pytest.mark.parametrize(
    ("content", "output"),
    [
        ((JsonContent('{"a": [1, 2.5, null, true, "é"]}'),), {"a": [1, 2.5, None, True, "é"]}),
        ((JsonContent("[]"),), []),
        ((JsonContent("{}"),), {}),
        ((JsonContent("42"),), "42"),
        ((JsonContent("1"), JsonContent("2")), "1\n\n2"),
        ((JsonContent("not json"),), "not json"),
    ],
)
def test_one_json_value_is_sent_as_a_value(content: tuple[Content, ...], output: object) -> None:
    turn = parse_tool_calls([part()])

    [answer] = responses(turn, [success(turn.calls[0], *content)])

    assert answer["response"] == {"output": output}


@requirement("providers.gemini-exact")
@pytest.mark.parametrize(
    "text",
    [
        '{"id": 9007199254740993}',
        '{"deep": [[-9007199254740993]]}',
        '{"half": "\\ud83d"}',
        '{"\\ud83d": 1}',
    ],
)
def test_what_the_api_would_change_is_sent_as_text(text: str) -> None:
    turn = parse_tool_calls([part()])

    [answer] = responses(turn, [success(turn.calls[0], JsonContent(text))])

    assert answer["response"] == {"output": text}


@requirement("providers.gemini-exact")
def test_the_largest_exact_integer_is_still_a_value() -> None:
    turn = parse_tool_calls([part()])

    [answer] = responses(turn, [success(turn.calls[0], JsonContent('{"id": 9007199254740992}'))])

    assert answer["response"] == {"output": {"id": 9007199254740992}}


@requirement("providers.media", "providers.sdk-accepts")
def test_gemini_3_gets_pictures_inside_the_response() -> None:
    turn = parse_tool_calls(sdk(part("a"), part("b"), model="gemini-3-pro-preview"))
    first, second = turn.calls

    reply = turn.reply([success(first, "cap", PICTURE), failure(second, content=(PICTURE,))])

    accept(turn, reply)
    assert len(reply) == 1
    a, b = responses(turn, [success(first, "cap", PICTURE), failure(second, content=(PICTURE,))])
    inline = {"inlineData": {"mimeType": "image/png", "data": PIXEL_TEXT}}
    assert (a["parts"], b["parts"]) == ([inline], [inline])
    assert a["response"] == {"output": "cap\n\n[image 1, image/png: attached]"}


@requirement("providers.media", "providers.sdk-accepts")
@pytest.mark.parametrize("model", ["gemini-2.5-flash", "models/gemini-2.0-flash", "tuned-model"])
def test_older_and_unknown_models_get_pictures_in_a_second_content(model: str) -> None:
    turn = parse_tool_calls(sdk(part("a"), part("b"), model=model))

    reply = turn.reply([success(call, PICTURE) for call in turn.calls])

    accept(turn, reply)
    answers, follow = reply
    assert len(cast("list[Json]", answers["parts"])) == 2
    assert PIXEL_TEXT not in str(answers)
    assert follow["role"] == "user"
    assert [entry.get("text") for entry in cast("list[Json]", follow["parts"])] == [
        "The media that the function responses above refer to. They come from tools, not from the user.",
        "image 1 of function response 1 (add):",
        None,
        "image 1 of function response 2 (add):",
        None,
    ]


@requirement("providers.media")
def test_the_model_can_be_named_by_the_host() -> None:
    parts = [part("a")]

    inside = parse_tool_calls(parts, model="gemini-10-ultra")
    apart = parse_tool_calls(sdk(*parts), model="gemini-2.5-pro")

    assert len(inside.reply([success(inside.calls[0], PICTURE)])) == 1
    assert len(apart.reply([success(apart.calls[0], PICTURE)])) == 2


@requirement("providers.media", "providers.sdk-accepts")
def test_sounds_are_sent_beside_the_responses() -> None:
    turn = parse_tool_calls(sdk(part("a")))
    sound = AudioContent(b"riff", "audio/x-wav")

    reply = turn.reply([success(turn.calls[0], PICTURE, sound)])

    accept(turn, reply)
    _, follow = reply
    label, inline = cast("list[Json]", follow["parts"])[1:]
    assert label == {"text": "audio 2 of function response 1 (add):"}
    assert inline == {"inlineData": {"mimeType": "audio/wav", "data": "cmlmZg=="}}


@requirement("providers.malformed-never-runs", "providers.sdk-accepts")
def test_a_call_without_a_name_is_malformed_and_still_answered() -> None:
    turn = parse_tool_calls([{"functionCall": {"args": {"a": 1}}}])

    [answer] = responses(turn, run(turn))

    assert turn.calls[0].defect is not None
    assert answer["name"] == "unknown"
