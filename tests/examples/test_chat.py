"""The example of a chat runs what the person agreed to, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.examples.programs import ENVIRONMENT, PATIENCE, run_example
from tests.requirements import requirement


@requirement("examples.chat")
def test_a_rehearsed_chat_shows_yes_other_arguments_and_no() -> None:
    said = run_example("chat", "--rehearsed")

    assert "model: Ada got 20 euros" in said
    assert "model: Ben got 30 euros" in said
    assert "Ben got 300 euros" not in said
    assert "refused by a person (HUMAN_DENIED)" in said
    assert said.endswith("drain: 4 ended, 0 unfinished\n")


@requirement("examples.chat")
@pytest.mark.parametrize(
    ("typed", "model"),
    [
        ("what have I got?\nbye\n", "model: 1000"),
        ("pay Ada 20\ny\nhow much have I got?\n", "model: 980"),
        ("pay Ada 20\n", "HUMAN_DENIED"),  # the end of the input is no yes
        ("pay Ada 20\nyes please\n", "HUMAN_DENIED"),  # nor is anything that is nearly one
        ("pay Ada 20\ne\nnot json\n", "the user mistyped the arguments"),
        ('pay Ada 20\ne\n{"to": "Ada"}\n', "INVALID_ARGUMENTS"),
        ("hello\n", "model: I know my balance"),
    ],
)
def test_what_is_typed_decides(typed: str, model: str) -> None:
    said = run_example("chat", typed=typed)

    assert model in said
    assert ("Ada got" in said) == typed.startswith("pay Ada 20\ny\n")


@requirement("examples.chat")
def test_a_chat_without_a_person_ends_at_once() -> None:
    assert run_example("chat").endswith("drain: 0 ended, 0 unfinished\n")


@requirement("examples.chat")
def test_ctrl_c_ends_a_chat_without_a_traceback_and_without_paying() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "examples.chat"],
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("pay Ada 20\n")
            process.stdin.flush()
            assert "the model wants send_money" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            code = process.wait(PATIENCE)  # while standard input stays open
            said, complained = process.communicate()
        finally:
            process.kill()

    assert (code, complained) == (130, "")
    assert "got 20 euros" not in said
