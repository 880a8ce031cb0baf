"""The command line itself: help, versions, wrong options, the list of tools."""

from __future__ import annotations

import json
import subprocess
import sys

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
        pytest.param(["run", "--concurrency", "0"], "0 is not in the range", id="no concurrency"),
        pytest.param(["run", "--concurrency", "-2"], "-2 is not in the range", id="negative concurrency"),
        pytest.param(["run", "--queue", "-1"], "-1 is not in the range", id="negative queue"),
        pytest.param(["run", "--max-bytes", "0"], "0 is not in the range", id="no bytes"),
        pytest.param(["run", "--sequential", "--concurrency", "4", "-"], "contradicts", id="contradiction"),
        pytest.param(["run", "a.json", "b.json"], "one FILE at most, and these are 2: a.json, b.json", id="two files"),
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


@requirement("cli.exit.bug")
def test_a_tool_that_raises_keyboard_interrupt_ends_the_run_like_one(cli: Cli) -> None:
    cli.write(
        "stopper.py",
        "from armory_trio import tool\n@tool(effect='read-only')\nasync def stop() -> None:\n    raise KeyboardInterrupt\n",
    )

    ended = cli("run", "stopper:stop", "-", stdin=jsonl(call("stop")))

    assert ended.code == 130
    assert "Traceback" not in ended.err
