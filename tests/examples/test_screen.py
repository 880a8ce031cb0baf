"""What the demo prints on."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from examples.demo.screen import Screen, shortened
from tests.requirements import requirement


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@requirement("examples.demo.plain")
def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal, plain = Terminal(), io.StringIO()
    Screen(terminal).say("done", style="good")
    Screen(plain).say("done", style="good")
    monkeypatch.setenv("NO_COLOR", "1")
    declined = Terminal()
    Screen(declined).say("done", style="good")

    assert terminal.getvalue() == "\x1b[32mdone\x1b[0m\n"
    assert plain.getvalue() == declined.getvalue() == "done\n"


@requirement("examples.demo.plain")
def test_text_from_elsewhere_cannot_steer_the_terminal() -> None:
    printed = io.StringIO()
    Screen(printed, colour=True).say("a\x1b[2Jb\rc\x9bd")

    assert printed.getvalue() == "a\\x1b[2Jb\\x0dc\\x9bd\n"


def test_a_table_aligns_words_to_the_left_and_numbers_to_the_right() -> None:
    printed = io.StringIO()
    Screen(printed).table(("name", "n"), [("a", "1"), ("long name", "1,000"), ("all", "1,001")], total=True)

    assert printed.getvalue().splitlines() == [
        "name           n",
        "---------  -----",
        "a              1",
        "long name  1,000",
        "---------  -----",
        "all        1,001",
    ]


def test_a_shortened_text_is_one_line_of_at_most_so_many_characters() -> None:
    assert shortened("one\n  two\tthree", 20) == "one two three"
    assert shortened("x" * 21, 20) == f"{'x' * 17}..."


@requirement("examples.demo.plain")
def test_a_reader_that_goes_away_ends_nothing() -> None:
    program = (
        "import sys; from examples.demo.screen import Screen; screen = Screen(sys.stdout); "
        "[screen.say('x' * 1000) for _ in range(1000)]; print('to the end', file=sys.stderr)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        said = running.stderr.read()

    assert said == "to the end\n"
    assert running.returncode == 0
