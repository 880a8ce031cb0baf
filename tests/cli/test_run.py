"""Calls in, results out: formats, order, options."""

from __future__ import annotations

import json
from typing import cast

import pytest

from tests.requirements import requirement

from .commands import Cli, Line, call, jsonl

CHAT: Line = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 5, "b": 3}'}},
        {"id": "call_2", "type": "function", "function": {"name": "add", "arguments": '{"a": 5'}},
    ],
}
RESPONSES: Line = {
    "object": "response",
    "status": "completed",
    "output": [{"type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a": 5, "b": 3}'}],
}
ANTHROPIC: Line = {
    "role": "assistant",
    "type": "message",
    "stop_reason": "tool_use",
    "content": [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 5, "b": 3}},
    ],
}
GEMINI: Line = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"a": 5, "b": 3}}}]}}
    ]
}


@requirement("cli.run.result-lines")
def test_a_result_is_one_line_with_all_that_is_known(cli: Cli) -> None:
    ended = cli.run(stdin=jsonl(call("add", "one", a=5, b=3)))

    [line] = ended.lines
    assert ended.code == 0
    assert (line["call_id"], line["tool_name"], line["outcome"], line["value"]) == ("one", "add", "success", 8)
    assert (line["error"], line["text"], line["effect"], line["attempts"]) == (None, None, "none", 1)
    assert ended.err == ""


@requirement("cli.run.result-lines")
def test_a_call_that_failed_says_why_and_what_to_tell_the_model(cli: Cli) -> None:
    ended = cli.run(stdin=jsonl(call("ad", a=5, b=3)))

    [line] = ended.lines
    error = cast("Line", line["error"])
    assert (ended.code, line["outcome"], error["code"], error["category"]) == (1, "error", "NOT_FOUND", "not_found")
    assert "did you mean 'add'?" in str(line["text"])
    assert ended.told == ["1 call: 0 succeeded, 1 failed (NOT_FOUND 1)"]


@requirement("cli.input.shapes")
@pytest.mark.parametrize(
    "document",
    [
        pytest.param(call("add", a=5, b=3), id="a call"),
        pytest.param([call("add", a=5, b=3)], id="a list of calls"),
        pytest.param({**CHAT, "tool_calls": cast("list[Line]", CHAT["tool_calls"])[:1]}, id="chat message"),
        pytest.param(RESPONSES, id="responses"),
        pytest.param(ANTHROPIC, id="anthropic"),
        pytest.param(GEMINI, id="gemini"),
        pytest.param({"messages": [{"role": "user", "content": "add!"}, ANTHROPIC]}, id="transcript"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_the_input_may_be_any_of_these_in_one_line_or_over_many(document: object, indent: int | None, cli: Cli) -> None:
    name = cli.write("input.json", json.dumps(document, indent=indent))

    ended = cli("run", "my_tools:toolbox", name)

    assert (ended.code, ended.values) == (0, [8])


@requirement("cli.input.plain-calls")
def test_lines_may_mix_calls_lists_and_messages(cli: Cli) -> None:
    stdin = jsonl(call("add", a=1, b=1), [call("add", a=2, b=2), call("add", a=3, b=3)], ANTHROPIC, GEMINI)

    ended = cli.run(stdin=stdin)

    assert (ended.code, ended.values) == (0, [2, 4, 6, 8, 8])


@requirement("cli.input.shapes")
@pytest.mark.parametrize("kind", ["auto", "openai-responses"])
@pytest.mark.parametrize("one_line_each", [True, False], ids=["lines", "list"])
def test_a_history_of_items_may_hold_the_answers_to_its_calls(kind: str, one_line_each: bool, cli: Cli) -> None:
    asked = {"type": "function_call", "name": "add"}
    items: list[Line] = [
        {"role": "user", "content": "add!"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {**asked, "call_id": "call_1", "arguments": '{"a": 1, "b": 2}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
        {**asked, "call_id": "call_2", "arguments": '{"a": 3, "b": 4}'},
        {"type": "function_call_output", "call_id": "call_2", "output": "7"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3 and 7"}]},
    ]

    ended = cli.run("--input", kind, stdin=jsonl(*items) if one_line_each else jsonl(items))

    assert (ended.code, ended.values, ended.err) == (0, [3, 7], "")


@requirement("cli.input.plain-calls")
def test_calls_without_an_id_are_numbered_through_the_whole_input(cli: Cli) -> None:
    ended = cli.run(stdin=jsonl(call("add", a=1, b=1), ANTHROPIC, [call("add", "mine", a=1, b=1), call("add")]))

    assert [line["call_id"] for line in ended.lines] == ["call-1", "call_1", "mine", "call-4"]


@requirement("cli.input.plain-calls")
@pytest.mark.parametrize("arguments", [None, "", "{}"])
def test_nothing_as_arguments_is_an_empty_object(arguments: str | None, cli: Cli) -> None:
    ended = cli.run(stdin=jsonl({"name": "fail", "arguments": arguments}))

    assert ended.codes == ["TRANSIENT_ERROR"]


@requirement("cli.input.plain-calls")
@pytest.mark.parametrize("arguments", ["[1]", [1], 7, '{"a": 1', '{"a": 1} and more'])
def test_arguments_that_are_no_object_are_a_result_and_nothing_runs(arguments: object, cli: Cli) -> None:
    ended = cli.run(stdin=jsonl({"name": "add", "arguments": arguments}, call("add", a=1, b=1)))

    assert (ended.code, ended.codes) == (1, ["MALFORMED_CALL", "success"])
    assert ended.lines[0]["attempts"] == 0


@requirement("cli.input.truncated")
def test_the_last_call_of_a_message_that_was_cut_off_is_refused(cli: Cli) -> None:
    message = {"choices": [{"finish_reason": "length", "message": CHAT}]}
    cast("list[Line]", CHAT["tool_calls"])

    ended = cli.run(stdin=jsonl(message))

    assert (ended.code, ended.codes) == (1, ["success", "TRUNCATED_CALL"])


@requirement("cli.input.no-calls")
@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"role": "assistant", "content": "done"}, id="a last word"),
        pytest.param({"role": "user", "content": "hello"}, id="somebody else's"),
        pytest.param([], id="nothing"),
        pytest.param({"messages": []}, id="an empty transcript"),
    ],
)
@pytest.mark.parametrize("output", ["result", "openai", "anthropic"])
def test_an_input_without_calls_is_no_error(document: object, output: str, cli: Cli) -> None:
    ended = cli.run("--format", output, stdin=jsonl(document))

    assert (ended.code, ended.out, ended.err) == (0, b"", "")


@requirement("cli.input.said")
def test_what_the_input_is_can_be_said(cli: Cli) -> None:
    bare = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1, "b": 1}}]}

    assert cli.run("--input", "anthropic", stdin=jsonl(bare)).values == [2]
    assert cli.run("--input", "calls", stdin=jsonl(call("add", a=1, b=1))).values == [2]
    refused = cli.run("--input", "openai", stdin=jsonl(call("add", a=1, b=1)))
    assert (refused.code, refused.out) == (2, b"")


REPLIES = {
    "openai": [{"role": "tool", "tool_call_id": "call_1", "content": "8"}],
    "openai-responses": [{"type": "function_call_output", "call_id": "call_1", "output": "8"}],
    "anthropic": [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "8"}]},
            ],
        }
    ],
    "gemini": [
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "call_1", "name": "add", "response": {"output": "8"}}}],
        }
    ],
}


@requirement("cli.run.formats")
@pytest.mark.parametrize("output", sorted(REPLIES))
@pytest.mark.parametrize(
    "message",
    [
        pytest.param(call("add", "call_1", a=5, b=3), id="from a call"),
        pytest.param({**CHAT, "tool_calls": cast("list[Line]", CHAT["tool_calls"])[:1]}, id="from openai"),
        pytest.param(RESPONSES, id="from responses"),
        pytest.param(ANTHROPIC, id="from anthropic"),
    ],
)
def test_results_come_as_messages_for_any_provider(message: Line, output: str, cli: Cli) -> None:
    ended = cli.run("--format", output, stdin=jsonl(message))

    assert (ended.code, ended.lines) == (0, REPLIES[output])


@requirement("cli.run.formats")
def test_the_calls_of_one_message_are_answered_in_one_where_the_provider_wants_it(cli: Cli) -> None:
    ended = cli.run("--format", "anthropic", stdin=jsonl(CHAT, call("add", "three", a=1, b=1)))

    first, second = ended.lines
    blocks = cast("list[Line]", first["content"])
    assert [block["tool_use_id"] for block in blocks] == ["call_1", "call_2"]
    assert "is_error" in blocks[1]
    assert [block["tool_use_id"] for block in cast("list[Line]", second["content"])] == ["three"]
    assert ended.code == 1


@requirement("cli.run.formats")
def test_calls_with_the_same_id_are_each_answered(cli: Cli) -> None:
    ended = cli.run("--format", "openai", stdin=jsonl([call("add", "x", a=1, b=1), call("add", "x", a=2, b=2)]))

    assert [(line["tool_call_id"], line["content"]) for line in ended.lines] == [("x", "2"), ("x", "4")]


@requirement("cli.run.any-value")
def test_what_has_no_json_form_is_left_out_with_the_reason(cli: Cli) -> None:
    cli.write(
        "odd.py",
        "from armory_trio import tool, ToolFailure\n"
        "@tool(effect='read-only')\n"
        "async def odd() -> str:\n"
        "    raise ToolFailure('no', details={'what': object()})\n",
    )
    ended = cli("run", "odd:odd", "-", stdin=jsonl(call("odd")))

    [line] = ended.lines
    error = cast("Line", line["error"])
    assert (error["message"], error["details"]) == ("no", None)
    assert "error.details" in cast("Line", line["left_out"])


@requirement("cli.run.owner")
def test_the_owner_is_told_to_the_tools(cli: Cli) -> None:
    assert cli.run("--owner", "run-7", stdin=jsonl(call("whose"))).values == ["run-7"]


@requirement("cli.run.error-detail")
def test_exceptions_that_were_not_declared_can_be_kept_back(cli: Cli) -> None:
    shown = cli.run(stdin=jsonl(call("break_things")))
    kept = cli.run("--error-detail", "declared", stdin=jsonl(call("break_things")))

    assert "who knows what happened" in str(shown.lines[0]["text"])
    assert "who knows what happened" not in str(kept.lines)


@requirement("cli.exit.codes")
def test_an_unknown_effect_is_named_and_has_its_own_code(cli: Cli) -> None:
    ended = cli.run(stdin=jsonl(call("break_things", "b1"), call("fail")))

    assert ended.code == 3
    [named, headline] = ended.told
    assert named.startswith("effect unknown: break_things (b1, exe-")
    assert headline == "2 calls: 0 succeeded, 2 failed (INTERNAL_ERROR 1, TRANSIENT_ERROR 1)"


@requirement("cli.exit.codes")
def test_many_unknown_effects_are_named_up_to_a_bound(cli: Cli) -> None:
    ended = cli.run(stdin=jsonl(*[call("break_things")] * 30))

    assert ended.code == 3
    assert len(ended.told) == 22
    assert ended.told[20] == "and 10 more like these"


@requirement("cli.run.kit")
def test_a_kit_and_a_toolbox_can_be_combined(cli: Cli) -> None:
    cli.write("poem.txt", "roses\nviolets\n")

    ended = cli(
        "run",
        "my_tools:add",
        "--kit",
        "coding",
        "--root",
        ".",
        "-",
        stdin=jsonl(call("add", a=1, b=1), call("read_file", path="poem.txt")),
    )

    assert ended.code == 0
    assert ended.values[0] == 2
    assert "violets" in str(ended.values[1])


@requirement("cli.run.kit")
def test_a_kit_refuses_what_lies_outside_its_root(cli: Cli) -> None:
    ended = cli("run", "--kit", "coding", "--root", ".", "-", stdin=jsonl(call("read_file", path="../secret")))

    assert ended.code == 1
    assert cast("Line", ended.lines[0]["error"])["category"] == "permission"


@requirement("cli.run.other-calls")
def test_calls_that_are_not_ours_are_counted_and_left_alone(cli: Cli) -> None:
    message = {
        **RESPONSES,
        "output": [{"type": "web_search_call", "id": "ws_1"}, *cast("list[Line]", RESPONSES["output"])],
    }

    ended = cli.run("--live", stdin=jsonl(message))

    assert (ended.code, ended.values) == (0, [8])
    assert "1 of other types left alone (web_search_call 1)" in ended.err
