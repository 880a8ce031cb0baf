"""The command line itself: help, versions, wrong options, the list of tools."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.requirements import requirement

from .commands import ROOT, Cli, call, jsonl


@requirement("cli.help")
def test_help_explains_itself_with_examples_and_exit_codes(cli: Cli) -> None:
    ended = cli("run", "--help")

    text = ended.out.decode()
    assert ended.code == 0
    assert text.isascii()
    for word in ("MODULE:ATTRIBUTE", "Examples:", "Exit codes:", "--kit coding --root", "SIGTERM", "--drain-for"):
        assert word in text


@requirement("cli.help")
def test_the_version_is_told(cli: Cli) -> None:
    assert cli("--version").out.startswith(b"armory-trio, version 0.")


@requirement("cli.usage")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "Missing command", id="nothing"),
        pytest.param(["rum"], "No such command 'rum'", id="no such command"),
        pytest.param(["run", "--frmat", "openai"], "No such option", id="no such option"),
        pytest.param(["run", "--format", "xml"], "'xml' is not", id="no such format"),
        pytest.param(["run", "--format"], "requires an argument", id="no value"),
        pytest.param(["run", "--timeout", "-4"], "'-4' is no positive number of seconds", id="negative timeout"),
        pytest.param(["run", "--timeout", "0"], "'0' is no positive number of seconds", id="no timeout"),
        pytest.param(["run", "--timeout", "nan"], "'nan' is no positive number", id="no number"),
        pytest.param(["run", "--deadline", "soon"], "'soon' is no positive number", id="a word"),
        pytest.param(["run", "--drain-for", "-1"], "'-1' is no number of seconds", id="negative drain"),
        pytest.param(
            ["run", "--concurrency", "0"],
            "'--concurrency': '0' is no whole number of 1 or more, such as 8",
            id="no concurrency",
        ),
        pytest.param(["run", "--concurrency", "-2"], "'-2' is no whole number of 1 or more", id="negative concurrency"),
        *[
            pytest.param(
                ["run", "--concurrency", wrong],
                f"'--concurrency': {wrong!r} is no whole number of 1 or more, such as 8",
                id=f"{wrong} concurrency",
            )
            for wrong in ("nan", "inf", "1.5", "-1", "many", "")
        ],
        pytest.param(["run", "--concurrency", "9" * 5_000], "'--concurrency': '9999", id="endless concurrency"),
        pytest.param(["run", "--queue", "-1"], "'--queue': '-1' is no whole number of 0 or more", id="negative queue"),
        pytest.param(["run", "--max-bytes", "0"], "'--max-bytes': '0' is no whole number of 1 or more", id="no bytes"),
        pytest.param(["run", "--sequential", "--concurrency", "4", "-"], "contradicts", id="contradiction"),
        pytest.param(["run", "a.json", "b.json"], "one FILE at most, and these are 2: a.json, b.json", id="two files"),
        pytest.param(["run", "my_tools:toolbox", ""], "one of the words is empty", id="an unset variable"),
        pytest.param(["tools", ""], "one of the words is empty", id="tools of an unset variable"),
        pytest.param(["tools", "a.json"], "'a.json' is no MODULE:ATTRIBUTE", id="tools of a file"),
        pytest.param(["tools"], "no tools: give", id="tools of nothing"),
    ],
)
def test_wrong_usage_gets_one_line_and_code_2(arguments: list[str], told: str, cli: Cli) -> None:
    ended = cli(*arguments)

    [line] = ended.told
    assert told in line
    assert (ended.code, ended.out) == (2, b"")


@requirement("cli.usage")
def test_a_terminal_as_input_has_to_be_asked_for(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_stdin(fd: int) -> bool:
        return fd == 0

    monkeypatch.setattr("os.isatty", only_stdin)

    assert "no input: give a FILE" in cli("run", "my_tools:add").told[0]
    assert cli("run", "my_tools:add", "-", stdin=jsonl(call("add", a=1, b=1))).values == [2]


@requirement("cli.tools.listed")
def test_tools_are_listed_for_people(cli: Cli) -> None:
    ended = cli("tools", "my_tools:toolbox", "--kit", "coding", "--root", ".")

    lines = ended.out.decode().splitlines()
    assert ended.code == 0
    assert lines[0].split() == ["default:add", "read-only", "Add", "two", "numbers."]
    assert any(line.startswith("default:break_things  external-write  ") for line in lines)
    assert any(line.startswith("default:grep ") for line in lines)


@requirement("cli.tools.listed")
def test_tools_are_listed_for_programs(cli: Cli) -> None:
    ended = cli("tools", "my_tools:add", "--json")

    [definition] = [json.loads(line) for line in ended.out.splitlines()]
    assert (definition["id"], definition["effect"]["class"]) == ("default:add", "read-only")
    assert definition["input"]["required"] == ["a", "b"]


@requirement("cli.tools.manifest")
def test_tools_may_come_from_a_manifest(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tools.toml").write_text(
        '[[tools]]\nfunction = "my_tools:plain_add"\nname = "plus"\ndescription = "Add two numbers."\n',
        encoding="utf-8",
    )
    (tmp_path / "my_tools.py").write_text("def plain_add(a: int, b: int) -> int:\n    return a + b\n", encoding="utf-8")

    assert cli("run", "--manifest", "tools.toml", stdin=jsonl(call("plus", a=1, b=2))).values == [3]


@requirement("cli.tools.manifest")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[tools]]\nname = 'plus'\n", "tools[0]"),
        ("[[tools", "tools.toml"),
        ("[[tools]]\nfunction = 'nowhere:at_all'\n", "nowhere"),
    ],
)
def test_a_fault_in_a_manifest_gets_one_line_with_the_place(text: str, told: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tools.toml").write_text(text, encoding="utf-8")

    ended = cli("tools", "--manifest", "tools.toml")

    assert ended.code == 2
    [line] = ended.told
    assert told in line


@requirement("cli.search")
def test_tools_are_found_for_people(cli: Cli) -> None:
    ended = cli(
        "search",
        "lines that match a regular expression",
        "my_tools:toolbox",
        "--kit",
        "coding",
        "--root",
        ".",
        "--explain",
    )

    lines = ended.out.decode().splitlines()
    assert ended.code == 0
    assert lines[0].split()[1] == "default:grep"
    assert any("regular" in line for line in lines[1:])


@requirement("cli.search")
def test_tools_are_found_for_programs(cli: Cli) -> None:
    ended = cli("search", "add numbers", "my_tools:toolbox", "--json", "--limit", "1")

    [found] = [json.loads(line) for line in ended.out.splitlines()]
    assert found["definition"]["id"] == "default:add"
    assert found["score"] > 0
    assert found["reasons"]


@requirement("cli.search")
def test_a_search_that_finds_nothing_says_so_and_succeeds(cli: Cli) -> None:
    ended = cli("search", "!!!", "my_tools:toolbox")

    assert (ended.code, ended.out) == (0, b"")
    assert "no tool fits '!!!'" in ended.told[0]


@requirement("cli.extra")
@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_its_extra_the_command_names_it(package: str) -> None:
    program = (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        f"u.find_spec = lambda name, *rest: None if name == {package!r} else find(name, *rest)\n"
        "import armory_trio.cli\n"
        "armory_trio.cli.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"armory-trio: the command needs {package}; install the extra: pip install 'armory-trio[cli]'\n"
    )


@requirement("cli.help")
@pytest.mark.parametrize("module", ["armory_trio", "armory_trio.cli"])
def test_the_package_and_its_cli_run_as_modules(module: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", module, "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ended.stdout.startswith("armory-trio, version")


@requirement("cli.exit.bug")
def test_a_bug_of_ours_is_no_failed_call(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(result: object) -> bytes:
        raise LookupError(result)

    monkeypatch.setattr("armory_trio.cli._session.result_line", broken)

    ended = cli.run(stdin=jsonl(call("add", a=1, b=1)))

    assert ended.code == 3
    assert "LookupError" in ended.err
    assert "this is a bug of armory-trio" in ended.err


STOPPER = """
import trio
from armory_trio import tool

done = 0

@tool(effect="read-only")
async def add(a: int, b: int) -> int:
    global done
    await trio.sleep(0)
    done += 1
    return a + b

@tool(effect="read-only")
async def wait() -> None:
    await trio.sleep_forever()

@tool(effect="read-only")
async def stop(after: int = 0, blocking: bool = False) -> None:
    while done < after:
        await trio.sleep(0)
    raise KeyboardInterrupt

@tool(effect="read-only")
def stop_in_a_thread() -> None:
    raise KeyboardInterrupt

tools = [add, wait, stop, stop_in_a_thread]
"""


@requirement("cli.exit.bug")
@pytest.mark.parametrize("name", ["stop", "stop_in_a_thread"])
def test_a_tool_that_raises_keyboard_interrupt_ends_the_run_like_one(name: str, cli: Cli) -> None:
    cli.write("stopper.py", STOPPER)

    ended = cli("run", "stopper:tools", "-", stdin=jsonl(call(name)))

    assert ended.code == 130
    assert "Traceback" not in ended.err
    assert ended.told[-1] == "interrupted; whatever ran was aborted"


@requirement("cli.exit.interrupted")
@pytest.mark.parametrize("options", [[], ["--unordered"]], ids=["ordered", "unordered"])
def test_results_that_had_ended_are_written_when_a_tool_interrupts_the_run(options: list[str], cli: Cli) -> None:
    cli.write("stopper.py", STOPPER)
    calls = [call("wait", "w"), *[call("add", f"a{n}", a=n, b=1) for n in range(5)], call("stop", "s", after=5)]

    ended = cli("run", "stopper:tools", "-", *options, stdin=jsonl(*calls))

    values = {line["call_id"]: line["value"] for line in ended.lines}
    assert {name: values[name] for name in values if str(name).startswith("a")} == {f"a{n}": n + 1 for n in range(5)}
    assert len(ended.lines) == len(values)
    assert ended.code == 130
    assert [line for line in ended.told if line.endswith(" not written")] == []
    assert any(line.startswith("7 calls: 5 succeeded, 2 failed (CANCELLED 2)") for line in ended.told)


@requirement("cli.exit.interrupted")
def test_the_messages_of_a_transcript_that_had_ended_are_written_when_a_tool_interrupts_the_run(cli: Cli) -> None:
    cli.write("stopper.py", STOPPER)
    asked = [
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": f"{name}-{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
            ],
        }
        for n, (name, arguments) in enumerate(
            [("add", {"a": 1, "b": 2}), ("stop", {"after": 1}), ("add", {"a": 1, "b": 2})]
        )
    ]
    cli.write("history.json", json.dumps({"messages": asked}))

    ended = cli("run", "stopper:tools", "history.json", "--format", "openai")

    assert [line["tool_call_id"] for line in ended.lines] == ["add-0", "stop-1"]
    assert ended.lines[0]["content"] == "3"
    assert ended.code == 130
