"""The live view: what it shows, that it stays out of the way, and that it leaves the terminal as it was."""

from __future__ import annotations

import io
import re
from typing import Final

import msgspec
import pytest
from rich.console import Console

from armory_trio import Snapshot
from armory_trio.cli._live import Frame, picture
from armory_trio.engine import Abort, Progress
from tests.requirements import requirement

from .commands import BOUND, Cli, Fifo, call, jsonl
from .terminals import terminal

COLOUR: Final = re.compile(rb"\x1b\[(?:[0-9;]*;)?[34][0-7]")
WIPED: Final = b"\x1b[?25h"
"""What makes the cursor visible again."""

SHOT: Final = Snapshot(
    execution_id="exe-1",
    call_id="call-1",
    tool_name="grep",
    tool_id="default:grep",
    owner_id=None,
    parent_id=None,
    started_by=None,
    batch_id=None,
    batch_index=None,
    state="active",
    revision=2,
    waits_for=None,
    outcome=None,
    error_category=None,
    error_code=None,
    effect="none",
    queue_position=None,
    capacity=(),
    deadline=None,
    admitted_at=10.0,
    started_at=10.0,
    last_activity_at=10.0,
    ended_at=None,
    settled_at=None,
    progress=None,
    declared_wait=None,
    chunks=0,
    attempts=1,
    abort=None,
    cleanup="not-required",
    placement="task",
)


def shot(**changes: object) -> Snapshot:
    """A snapshot of a running grep, but for *changes*."""
    return msgspec.structs.replace(SHOT, **changes)


def drawn(*shots: Snapshot, now: float = 12.5, rows: int = 20, width: int = 100) -> list[str]:
    """The lines of the picture of *shots*."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as captured:
        console.print(picture(Frame(shots, "7 succeeded, 1 failed, reading", {"supervisor": 64}, now, rows)))
    return [line.rstrip() for line in captured.get().splitlines()]


@requirement("cli.live.shows")
def test_it_shows_what_runs_waits_streams_and_is_stopped() -> None:
    lines = drawn(
        shot(progress=Progress(40.0, "looking at src"), capacity=("supervisor",)),
        shot(tool_name="fetch", state="waiting", declared_wait="the rate limit", started_at=12.0),
        shot(tool_name="tail", state="streaming", chunks=231, started_at=11.0),
        shot(tool_name="charge", state="abort-requested", abort=Abort("deadline", "too late", 12.0)),
        shot(tool_name="add", state="queued", queue_position=1, waits_for="capacity:supervisor", started_at=None),
    )

    assert lines[0].endswith("| 7 succeeded, 1 failed, reading")
    for count in ("1 running", "1 waiting", "1 streaming", "1 stopping", "1 queued"):
        assert count in lines[0]
    assert lines[1] == "limits: supervisor 1/64"
    assert [line.split() for line in lines[2:]] == [
        ["charge", "stopping", "2.5s", "too", "late"],
        ["grep", "running", "2.5s", "40%,", "looking", "at", "src"],
        ["tail", "streaming", "1.5s", "231", "chunks"],
        ["fetch", "waiting", "0.5s", "for", "the", "rate", "limit"],
        ["add", "queued", "2.5s", "number", "1", "in", "line,", "for", "capacity:supervisor"],
    ]


@requirement("cli.live.shows")
def test_it_shows_at_most_as_many_rows_as_there_is_room_for() -> None:
    lines = drawn(*[shot()] * 50, rows=3)

    assert len(lines) == 5
    assert lines[-1] == "and 47 more"


@requirement("cli.live.shows")
def test_it_says_when_nothing_runs() -> None:
    assert drawn() == ["nothing runs | 7 succeeded, 1 failed, reading"]


@requirement("cli.stderr.plain")
def test_what_a_tool_says_cannot_steer_the_terminal() -> None:
    text = "\n".join(drawn(shot(tool_name="\x1b[2J[red]x", progress=Progress(None, "a\nb\x07\x1b]0;t\x07"))))

    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]x" in text
    assert len(text.splitlines()) == 2


@requirement("cli.live.shows")
def test_long_names_and_messages_stay_on_one_line() -> None:
    lines = drawn(shot(tool_name="n" * 300, progress=Progress(None, "m" * 900)), width=80)

    assert len(lines) == 2
    assert all(len(line) <= 80 for line in lines)


@pytest.fixture
def gate(cli: Cli) -> Fifo:
    """Lets the one call of ``calls.jsonl`` go, which tells that it started."""
    cli.fifo("started")
    cli.write("calls.jsonl", jsonl(call("gate")))
    return cli.fifo("release")


@requirement("cli.live.terminal")
def test_a_terminal_shows_a_call_while_it_runs_and_is_left_clean(cli: Cli, gate: Fifo) -> None:
    with terminal(cli) as screen:
        screen.until(b"at the gate")
        gate.let_go()
        out = screen.end()

    assert b"1 running" in screen.shown
    assert b"25%" in screen.shown
    assert COLOUR.search(screen.shown)
    assert WIPED in screen.shown
    assert screen.shown.rstrip().endswith(b"armory-trio: 1 call: 1 succeeded")
    assert (screen.popen.returncode, out.count(b"\n")) == (0, 1)


@requirement("cli.live.terminal")
def test_no_color_is_respected(cli: Cli, gate: Fifo) -> None:
    with terminal(cli, NO_COLOR="1") as screen:
        screen.until(b"at the gate")
        gate.let_go()
        screen.end()

    assert COLOUR.search(screen.shown) is None


@requirement("cli.live.terminal")
def test_the_view_can_be_turned_off(cli: Cli, gate: Fifo) -> None:
    with terminal(cli, "--no-live") as screen:
        gate.let_go()
        screen.end()

    assert screen.shown == b"armory-trio: 1 call: 1 succeeded\r\n"


@requirement("cli.live.terminal")
def test_results_on_the_same_terminal_stay_whole_lines(cli: Cli, gate: Fifo) -> None:
    cli.write("calls.jsonl", jsonl(call("gate"), *[call("noisy"), call("echo", text="y" * 300)] * 20))
    with terminal(cli, "--unordered", results_too=True) as screen:
        screen.until(b"at the gate")
        gate.let_go()
        screen.end()

    results = re.findall(rb'\{"call_id":"call-\d+".*?"left_out":null\}\r\n', screen.shown)
    assert len(results) == 41
    assert all(b"\x1b" not in line for line in results)


@requirement("cli.live.terminal")
@pytest.mark.parametrize(
    ("tool", "code"), [pytest.param("gate", 143, id="aborted"), pytest.param("stuck", 4, id="at once")]
)
def test_the_cursor_comes_back_however_the_run_is_stopped(tool: str, code: int, cli: Cli, gate: Fifo) -> None:
    del gate  # nobody is let go
    cli.write("calls.jsonl", jsonl(call(tool)))
    with terminal(cli) as screen:
        screen.until(b"1 running")
        for told in (b"draining 1 call ", b"aborting 1 call;"):
            screen.popen.terminate()
            screen.until(told)
        if tool == "stuck":
            screen.popen.terminate()
        screen.end()

    assert screen.shown.rindex(b"\x1b[?25h") > screen.shown.rindex(b"\x1b[?25l")
    assert screen.popen.returncode == code


@requirement("cli.live.quiet")
def test_nothing_is_said_where_no_terminal_is_and_all_is_well(cli: Cli) -> None:
    with cli.spawn("run", "my_tools:toolbox") as process:
        ended = process.end(jsonl(call("add", a=1, b=1)))

    assert (ended.code, ended.values, ended.err) == (0, [2], "")


@requirement("cli.live.quiet")
def test_a_view_that_is_asked_for_is_shown_anywhere(cli: Cli, gate: Fifo) -> None:
    with cli.spawn("run", "my_tools:toolbox", "calls.jsonl", "--live") as process:
        process.until("at the gate")
        gate.let_go()
        ended = process.end()

    assert (ended.code, ended.values) == (0, ["through"])


@requirement("cli.live.harmless")
def test_a_terminal_that_goes_away_ends_the_view_and_not_the_run(cli: Cli, gate: Fifo) -> None:
    with cli.spawn("run", "my_tools:toolbox", "calls.jsonl", "--live") as process:
        process.until("at the gate")
        assert process.popen.stderr is not None
        process.popen.stderr.close()
        gate.let_go()
        line = process.line()
        code = process.popen.wait(timeout=BOUND)

    assert (code, line["value"]) == (0, "through")
