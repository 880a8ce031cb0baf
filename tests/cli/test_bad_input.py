"""Whatever is wrong with the input gets one clear line, with the place, and code 2."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.requirements import requirement

from .commands import Cli, call, jsonl

GOOD = jsonl(call("add", a=1, b=1))


@requirement("cli.input.bad")
@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        pytest.param(b"", "<stdin>: it is empty; expected calls", id="empty"),
        pytest.param(b" \n\r\n\t\n", "<stdin>: it is empty", id="blank"),
        pytest.param(b"hello\n", "<stdin>:1:1: not JSON: 'hello' is no JSON value", id="words"),
        pytest.param(b"\n\n  {'name': 1}\n", "<stdin>:3:4: not JSON: expected a key in double quotes", id="quotes"),
        pytest.param(b'{"name": "add", "argu', "<stdin>:1:17: not JSON: the string that starts here", id="truncated"),
        pytest.param(b'[{"name": "add"}, ', "<stdin>:1:19: not JSON: the text ends", id="truncated list"),
        pytest.param(
            b'{\n  "name": "add",\n  "arguments": {"a": 01}\n}', "<stdin>:3:22: not JSON: '01'", id="many lines"
        ),
        pytest.param(b'{"name": "add", "name": "x"}', "not JSON: this key stands in the object already", id="twice"),
        pytest.param(b'{"name": "add", "arguments": {"a": NaN}}', "NaN is not JSON", id="NaN"),
        pytest.param(b"[" * 20_000, "not JSON: at most 128 arrays and objects", id="deep"),
        pytest.param(b'{"name": "add", "arguments": {"a": ' + b"1" * 10_000 + b"}}", "10000 digits", id="digits"),
        pytest.param(b"{} {}", "<stdin>:1:4: not JSON: the value is complete here", id="text after it"),
        pytest.param(b'{"a": "\xff"}', "<stdin>:1:8: byte 0xff is not UTF-8", id="not UTF-8"),
        pytest.param(b"\x7fELF\x01\x00\x00", "<stdin>:1:6: byte 0x00 is no text", id="binary"),
        pytest.param('{"name": "add"}'.encode("utf-16"), "it looks like UTF-16; save it as UTF-8", id="UTF-16"),
        pytest.param(gzip.compress(GOOD), "it looks like gzip; unpack it first", id="gzip"),
        pytest.param(b"17\n", "<stdin>:1: $: expected a call such as", id="a number"),
        pytest.param(b'"add"\n', "found the text 'add'", id="a text"),
        pytest.param(b"null\n", "found nothing", id="null"),
        pytest.param(b'{"tool": "add"}\n', "found an object with the keys tool", id="some object"),
        pytest.param(
            b'{"name": "add", "args": {}}\n', "$['args']: expected a call with name, arguments", id="unknown key"
        ),
        pytest.param(b'{"name": "add", "argument": {}}\n', "did you mean 'arguments'?", id="near key"),
        pytest.param(b'{"arguments": {}}\n', "$.name: expected the name of a tool, found nothing", id="no name"),
        pytest.param(b'{"name": ""}\n', "$.name: expected the name of a tool, found the text ''", id="empty name"),
        pytest.param(b'{"name": ["add"]}\n', "$.name: expected the name of a tool, found a list of 1", id="odd name"),
        pytest.param(b'{"name": "add", "id": 7}\n', "$.id: expected a text, found a number", id="odd id"),
        pytest.param(
            b'{"name": "add", "id": "\\ud800"}\n', "<stdin>:1: $.id: expected a text without lone", id="cut id"
        ),
        pytest.param(
            b'[{"role": "user", "content": ""}, {"name": "add", "id": "\\ud800"}]\n',
            "<stdin>:1: $[1].id: expected a text without lone surrogates",
            id="a cut id among messages",
        ),
        pytest.param(b'[{"name": "add"}, 5]\n', "<stdin>:1: $[1]: expected a call", id="a number among calls"),
        pytest.param(b'[["add"]]\n', "$[0]: expected a call", id="a list in a list"),
        pytest.param(b'{"choices": [{"delta": {}}]}\n', "put the chunks of a stream together first", id="a chunk"),
        pytest.param(b'{"choices": [{}, {}]}\n', "expected one choice", id="two choices"),
        pytest.param(
            b'{"messages": [{"role": "assistant", "tool_calls": 5}]}\n',
            "$.messages[0].tool_calls: expected a list of tool calls, found a number",
            id="a broken message in a transcript",
        ),
        pytest.param(
            b'[{"type": "function_call_output"}, {"type": "function_call", "call_id": 5}]\n',
            "$[1].call_id: expected a text",
            id="a broken item in a history",
        ),
    ],
)
def test_each_gets_one_line_with_the_place(stdin: bytes, told: str, cli: Cli) -> None:
    ended = cli.run(stdin=stdin)

    [line] = ended.told
    assert told in line
    assert line.startswith("<stdin>:")
    assert (ended.code, ended.out) == (2, b"")


@requirement("cli.input.bad")
@pytest.mark.parametrize("kind", ["calls", "openai", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("value", [5, "x", None, [5], {"x": 1}, [[]]])
def test_what_is_not_what_the_user_said_is_refused(kind: str, value: object, cli: Cli) -> None:
    ended = cli.run("--input", kind, stdin=jsonl(value))

    assert (ended.code, ended.out, len(ended.told)) == (2, b"", 1)
    assert "expected" in ended.told[0]


@requirement("cli.input.bad")
def test_a_bad_line_stops_the_reading_and_what_ran_before_keeps_its_result(cli: Cli) -> None:
    ended = cli.run(stdin=GOOD + b"\n" + GOOD + b"{oops}\n" + GOOD)

    assert (ended.code, ended.values) == (2, [2, 2])
    assert ended.told[0].startswith("<stdin>:4:2: not JSON")
    assert ended.told[1:] == ["2 calls: 2 succeeded"]


@requirement("cli.input.bad")
def test_a_bad_place_within_a_bad_line_of_many_is_counted_from_the_start(cli: Cli) -> None:
    ended = cli.run(stdin=GOOD + GOOD + b'{"name": "a\xfe"}\n')

    assert ended.told[0].startswith("<stdin>:3:12: byte 0xfe is not UTF-8")


@requirement("cli.input.size")
@pytest.mark.parametrize("shape", ["line", "document", "late line"])
def test_what_is_longer_than_the_bound_is_refused(shape: str, cli: Cli) -> None:
    long = call("echo", text="x" * 3_000)
    content = {
        "line": jsonl(long),
        "document": json.dumps([long, long], indent=1).encode(),
        "late line": GOOD + jsonl(long),
    }[shape]
    name = cli.write("long.json", content)

    ended = cli("run", "my_tools:toolbox", name, "--max-bytes", "2000")

    assert ended.code == 2
    assert "more than 2000 bytes; --max-bytes allows more" in ended.told[0]


@requirement("cli.input.size")
def test_a_huge_input_is_refused_before_it_is_all_read(cli: Cli) -> None:
    with (cli.directory / "huge.json").open("wb") as huge:
        huge.write(b"[")
        huge.truncate(1 << 40)  # a terabyte that is mostly hole

    ended = cli("run", "my_tools:toolbox", "huge.json")

    assert ended.told == ["huge.json: a line of more than 67108864 bytes; --max-bytes allows more"]
    assert ended.code == 2


@requirement("cli.input.size")
def test_a_large_document_within_the_bound_is_run(cli: Cli) -> None:
    ended = cli.run("--concurrency", "8", stdin=json.dumps([call("echo", text="x" * 1_000)] * 2_000, indent=1).encode())

    assert (ended.code, len(ended.lines)) == (0, 2_000)


@requirement("cli.input.bad")
def test_a_byte_order_mark_at_the_start_is_passed_over(cli: Cli) -> None:
    assert cli.run(stdin=b"\xef\xbb\xbf" + GOOD).values == [2]


@requirement("cli.input.bad")
def test_a_last_line_needs_no_line_feed_and_others_may_have_carriage_returns(cli: Cli) -> None:
    assert cli.run(stdin=GOOD.rstrip() + b"\r\n\r\n" + GOOD.rstrip()).values == [2, 2]


@requirement("cli.input.bad")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("gone.json", "gone.json: cannot be read: No such file or directory", id="missing"),
        pytest.param(".", ".: cannot be read: Is a directory", id="a directory"),
        pytest.param("my_tools.py/x", "my_tools.py/x: cannot be read: Not a directory", id="below a file"),
        pytest.param("a\0b", "a\\x00b: cannot be read: no file can have this name", id="no name at all"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, told: str, cli: Cli) -> None:
    ended = cli("run", "my_tools:toolbox", name)

    assert (ended.code, ended.told) == (2, [told])


@requirement("cli.debug")
def test_a_traceback_is_shown_only_when_asked_for(cli: Cli) -> None:
    assert "Traceback" not in cli.run(stdin=b"oops").err
    assert "Traceback" in cli.run("--debug", stdin=b"oops").err
    assert "Traceback" in cli("run", "--debug", "nothing:there", "-").err


@requirement("cli.stderr.plain")
def test_what_is_quoted_from_the_input_cannot_steer_a_terminal(cli: Cli, tmp_path: Path) -> None:
    ended = cli.run(stdin=jsonl({"\x1b[2Jevil\nkey": 1, "name": "x"}, call("\x1b]0;title\x07")))

    assert ended.code == 2
    assert "\x1b" not in ended.err
    assert len(ended.told) == 1
