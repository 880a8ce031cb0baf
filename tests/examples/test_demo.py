"""The demo as a command."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from examples.demo import __main__ as command
from examples.demo.agent import CHECKOUT
from examples.demo.bfcl import DataMissing
from examples.demo.screen import Screen
from tests.requirements import requirement


def _demo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "examples.demo", *arguments],
        cwd=CHECKOUT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@requirement("examples.demo.command", "examples.demo.plain")
def test_both_parts_go_as_promised_without_a_terminal_in_a_poor_locale() -> None:
    ended = _demo(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.isascii()
    assert "\x1b" not in ended.stdout
    for fact in (
        "error permission PATH_ESCAPE, effect none",
        "error timeout DEADLINE_EXCEEDED, effect none",
        "the drain begins; ",
        "chunk   1 at ",
        "  live ",
        "0 unfinished",
        "1,677",
        "1,747",
        "not imported: none",
    ):
        assert fact in ended.stdout


@requirement("examples.demo.command")
def test_one_part_runs_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "transcript"]) == 0

    printed = capsys.readouterr().out
    assert "An agent explores" in printed
    assert "Berkeley" not in printed


@requirement("examples.demo.command")
def test_help_names_the_parts_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        command.main(["--help"])

    printed = capsys.readouterr().out
    assert left.value.code == 0
    for word in ("transcript", "bfcl", "--only", "--verbose", "exit code: 0"):
        assert word in printed


@requirement("examples.demo.command")
def test_an_unknown_part_is_refused_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        command.main(["--only", "bcfl"])

    assert left.value.code == 2
    assert "bfcl" in capsys.readouterr().err


@requirement("examples.demo.command", "examples.bfcl.missing")
def test_missing_data_is_one_line_and_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def misses(screen: Screen, *, verbose: bool) -> bool:
        raise DataMissing("the package bfcl-eval is not installed")

    monkeypatch.setattr(command, "PARTS", {"bfcl": misses})

    assert command.main(["--only", "bfcl"]) == 2
    assert capsys.readouterr().out == "bfcl: the package bfcl-eval is not installed\n"


@requirement("examples.demo.command")
def test_a_part_that_goes_otherwise_shows_in_the_exit_code_and_the_next_one_still_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fails(screen: Screen, *, verbose: bool) -> bool:
        return False

    async def works(screen: Screen, *, verbose: bool) -> bool:
        screen.say("here, too")
        return True

    monkeypatch.setattr(command, "PARTS", {"transcript": fails, "bfcl": works})

    assert command.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "transcript: this is not how it should have ended",
        "here, too",
    ]


@requirement("examples.demo.command")
def test_an_interrupted_demo_says_so_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def interrupted(screen: Screen, *, verbose: bool) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "PARTS", {"transcript": interrupted})

    assert command.main([]) == 130
    assert capsys.readouterr().err == "interrupted\n"
