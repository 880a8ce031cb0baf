"""The full-screen view on a real terminal: what it shows, what keys do, and how it leaves the terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import requirement

from .commands import BOUND, ROOT
from .live_hosts import EVIL, live_host
from .tmux import Screen, needs_tmux, screen

pytestmark = needs_tmux


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path, where the sockets of this test are."""
    with tempfile.TemporaryDirectory(prefix="at-") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", made)
        yield Path(made)


def _left(shown: Screen, code: int) -> None:
    """The view was left with *code*, and the terminal is as it was."""
    shown.until(f"left with {code}")
    assert shown.ask("#{alternate_on} #{cursor_flag}") == "0 1"
    shown.press("clear; stty | tail -n +2; echo done $((6 * 7))", "Enter")
    assert "-icanon" not in shown.until("done 42")
    assert "-echo" not in shown.text


@requirement("cli.top.screen", "cli.top.keys", "live.abort")
def test_a_person_looks_chooses_filters_looks_closely_aborts_and_leaves(folder: Path) -> None:
    with live_host(None, "ada", "bob", "cyd") as host, screen(folder) as shown:
        shown.start("--interval", "0.1", "--sort", "owner")
        text = shown.until("1-3 of 3")
        assert re.search(r"^host pid \d+ on .* admission open", text)
        assert "active 2  queued 1" in text
        assert "limits: group:web 2/2 +1 wait" in text
        assert re.search(r"> active +crawl +ada .*25%, page 1", text), text
        assert "#1 for capacity:group:web" in text
        shown.press("Down", "Down")
        shown.until("> queued")
        shown.press("/", "owner=b*")
        shown.until("filter: owner=b*_")
        shown.press("Enter")
        shown.until("1-1 of 1  filter owner=b*", "> active", without="ada")
        shown.press("Enter")
        shown.until(f"execution     {host.ids[1]}", "owner         bob", "events since you look")
        shown.press("k")
        shown.until(f"abort {host.ids[1]}? y yes")
        shown.press("n")
        shown.until("esc back")
        shown.press("k", "y")
        shown.until("it was asked to stop", "state         terminal", "AbortRequested  source supervisor")
        shown.press("Escape")
        shown.until("0-0 of 0")
        shown.press("Escape")
        shown.until("1-2 of 2", "active 2", "terminal 1")
        shown.press("?")
        shown.until("everything about it; esc goes back", "any key goes back")
        shown.press("x", "Space")
        shown.until("PAUSED")
        shown.press("q")
        _left(shown, 0)


@requirement("cli.top.screen")
def test_the_view_follows_the_size_of_the_terminal(folder: Path) -> None:
    with live_host(folder / "s", "ada", "bob", "cyd") as host, screen(folder, 80, 24) as shown:
        shown.start("--interval", "0.1", "--socket", host.path)
        shown.until("WAITS FOR, PROGRESS", "1-3 of 3")
        shown.resize(40, 8)
        text = shown.until("1-2 of 3", without="WAITS FOR")
        assert max(map(len, text.split("\n"))) <= 40
        assert len(text.rstrip("\n").split("\n")) <= 8
        shown.resize(150, 30)
        shown.until("EXECUTION", host.ids[2], "1-3 of 3")
        shown.press("C-c")
        _left(shown, 130)


BUG = """
from armory_trio.cli import _top_screen
from armory_trio.cli._top_frame import screen

def buggy(board, *rest):
    if board.mode == "help":
        raise ZeroDivisionError("a bug")
    return screen(board, *rest)

_top_screen.screen = buggy
"""


@requirement("cli.top.restores")
@pytest.mark.parametrize(
    ("way", "code"),
    [("TERM", 143), ("INT", 130), ("HUP", 129), ("a bug", 3), ("C-z", 0), ("C-z in a script", 0), ("TSTP", 0)],
)
def test_however_the_view_ends_the_terminal_is_given_back(way: str, code: int, folder: Path) -> None:
    program = f"import os; open({str(folder / 'pid')!r}, 'w').write(str(os.getpid()))\n"
    with live_host(None, "ada"), screen(folder, program=program + (BUG if way == "a bug" else "")) as shown:
        shown.start(within="sh -c '{}; exit $?'" if way == "C-z in a script" else "{}")
        shown.until("1-1 of 1")
        assert shown.ask("#{alternate_on} #{cursor_flag}") == "1 0"
        if way == "a bug":
            shown.press("?")
        elif way in ("C-z", "C-z in a script", "TSTP"):
            if way == "TSTP":
                _signal("TSTP", int((folder / "pid").read_text()))
            else:
                shown.press("C-z")
            shown.until("Stopped", without="1-1 of 1")
            assert shown.ask("#{alternate_on} #{cursor_flag}") == "0 1"
            shown.press("clear; fg; echo left with $?", "Enter")
            shown.until("1-1 of 1")
            shown.press("q")
        else:
            _signal(way, int((folder / "pid").read_text()))
        _left(shown, code)


@requirement("cli.top.restores")
def test_where_nobody_could_wake_it_the_view_does_not_sleep(folder: Path) -> None:
    terminal, inside = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "armory_trio", "top"]
    with (
        live_host(None, "ada"),
        subprocess.Popen(  # the leader of a session, as by ``ssh -t host armory-trio top``
            command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True, env=environment
        ) as shown,
    ):
        try:
            _read_until(terminal, b"1-1 of 1")
            os.write(terminal, b"\x1a")
            _read_until(terminal, b"\x1b[?1049l", b"\x1b[?1049h", b"1-1 of 1")
            os.write(terminal, b"q")
            _read_until(terminal, b"\x1b[?1049l")
            assert shown.wait(BOUND) == 0
        finally:
            shown.kill()
            os.close(terminal)
            os.close(inside)


def _read_until(terminal: int, *wanted: bytes) -> None:
    """Read until all of *wanted* have come, one after the other."""
    text, deadline = b"", time.monotonic() + BOUND
    for piece in wanted:
        while piece not in text:
            assert select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0], text
            text += os.read(terminal, 65536)
        text = text.partition(piece)[2]


def _signal(name: str, pid: int) -> None:
    os.kill(pid, signal.Signals[f"SIG{name}"])


@requirement("cli.top.gone")
def test_a_host_that_goes_leaves_its_last_frame_and_may_come_back(folder: Path) -> None:
    with screen(folder, 100) as shown:
        with live_host(None, "ada", name="mine"):
            shown.start("--interval", "0.1")
            shown.until("crawl", "ada", "1-1 of 1")
        text = shown.until("host gone for", "waiting for it to come back")
        assert "ada" in text
        with live_host(None, "bob", name="another"):
            with live_host(None, "cyd", name="mine"):
                shown.until("cyd", "1-1 of 1", without="host gone")
            shown.until("host gone for", "cyd")
            shown.press("q")
            _left(shown, 0)


@requirement("cli.top.hostile")
def test_a_terminal_with_few_characters_gets_only_those_and_no_colors_where_none_are_wanted(folder: Path) -> None:
    with (
        live_host(None, EVIL, "x" * 60, name=EVIL),
        screen(folder, 150, PYTHONIOENCODING="ascii", NO_COLOR="1") as shown,
    ):
        shown.start()
        text = shown.until("\\x1b[2J\\u202eevil\\x07", "1-2 of 2")
        assert text.isascii()
        assert "\\u2192\\U0001f600" in text
        assert re.search(r"\x1b\[[0-9;]*3[0-7]", shown.colored) is None
        shown.press("q")
        _left(shown, 0)


@requirement("cli.top.many")
def test_ten_thousand_executions_are_shown_page_by_page(folder: Path) -> None:
    with live_host(None, *(f"run-{number}" for number in range(10_000))) as host, screen(folder) as shown:
        began = time.process_time()
        shown.start("--sort", "owner")
        shown.until("live 10000", "1-18 of 10000", "queued 9998")
        shown.press("End")
        shown.until("9983-10000 of 10000", "> queued", "run-9999")
        shown.press("/", "owner=run-777*", "Enter")
        shown.until("1-11 of 11")
        spent = time.process_time() - began
        shown.press("q")
        _left(shown, 0)
        assert host.supervisor is not None and host.supervisor.active == 10_000

    assert spent < BOUND
