"""The command as a process: signals, pipes, encodings, and what tools print."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from tests.requirements import requirement

from .commands import BOUND, ROOT, Cli, Fifo, Line, Process, call, first, jsonl

INT: Final = signal.SIGINT
TERM: Final = signal.SIGTERM
ADD: Final = jsonl(call("add", a=1, b=1))


@pytest.fixture
def started(cli: Cli) -> Fifo:
    """Tools tell through it that they run."""
    return cli.fifo("started")


@pytest.fixture
def release(cli: Cli) -> Fifo:
    """Lets tools at the gate go."""
    return cli.fifo("release")


def serve(cli: Cli, *options: str) -> Process:
    """A run that reads calls from a pipe."""
    return cli.spawn("run", "my_tools:toolbox", *options)


def use(name: str, **arguments: object) -> Line:
    """A call as Anthropic writes it."""
    return {"type": "tool_use", "id": name, "name": name, "input": arguments}


def said(*blocks: Line) -> Line:
    """What a model said, with these calls."""
    return {"role": "assistant", "content": list(blocks)}


# ── Signals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.signal.drain")
@pytest.mark.parametrize("number", [INT, TERM])
def test_the_first_signal_drains_and_work_that_finishes_in_time_succeeds(
    number: signal.Signals, cli: Cli, started: Fifo, release: Fifo
) -> None:
    name = cli.write("calls.jsonl", jsonl(call("gate")))
    with cli.spawn("run", "my_tools:toolbox", name) as process:
        started.wait()
        process.signal(number)
        said = process.error_line()
        release.let_go()
        ended = process.wait()

    assert said == f"armory-trio: {number.name}: draining 1 call for at most 30 s; a second signal aborts\n"
    assert (ended.code, ended.values) == (0, ["through"])
    assert ended.told == ["1 call: 1 succeeded", f"{number.name}: drained"]


@requirement("cli.signal.hangup")
def test_a_closed_terminal_drains_like_any_other_signal(cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call("gate"), call("fail")))
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = cli.spawn("run", "my_tools:toolbox", name)
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        started.wait()
        process.signal(signal.SIGHUP)
        said = process.error_line()
        release.let_go()
        ended = process.wait()

    assert said.startswith("armory-trio: SIGHUP: draining ")
    assert ended.codes == ["success", "TRANSIENT_ERROR"]
    assert ended.code == 129
    assert any(line.startswith("SIGHUP: drained") for line in ended.told)


@requirement("cli.signal.drain")
def test_a_drain_reads_no_more_and_says_that_the_input_was_not_read_to_its_end(
    cli: Cli, started: Fifo, release: Fifo
) -> None:
    with serve(cli) as process:
        process.say(jsonl(call("gate")))
        started.wait()
        process.signal(TERM)
        process.error_line()
        process.say(ADD)
        release.let_go()
        ended = process.wait()

    assert (ended.code, ended.values) == (143, ["through"])
    assert ended.told[-1] == "SIGTERM: drained; the input was not read to its end"


@requirement("cli.signal.drain")
def test_a_drain_lets_calls_run_that_were_waiting_for_their_turn(cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call("gate"), call("add", a=1, b=1)))
    with cli.spawn("run", "my_tools:toolbox", name, "--sequential") as process:
        started.wait()
        process.signal(TERM)
        process.error_line()
        release.let_go()
        ended = process.wait()

    assert (ended.code, ended.values) == (0, ["through", 2])


@requirement("cli.signal.drain")
def test_messages_of_a_transcript_that_were_not_begun_are_answered_as_not_started(
    cli: Cli, started: Fifo, release: Fifo
) -> None:
    messages = [said(use("gate")), said(use("whose"))]
    name = cli.write("transcript.json", jsonl({"messages": messages}))
    with cli.spawn("run", "my_tools:toolbox", name) as process:
        started.wait()
        process.signal(TERM)
        process.error_line()
        release.let_go()
        ended = process.wait()

    assert (ended.code, ended.codes) == (143, ["success", "NOT_STARTED"])
    assert "stopped (by SIGTERM) before this call" in str(ended.lines[1]["text"])


@requirement("cli.signal.drain")
def test_a_drain_that_takes_too_long_becomes_an_abort(cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call("gate")))
    with cli.spawn("run", "my_tools:toolbox", name, "--drain-for", "0.01") as process:
        started.wait()
        process.signal(TERM)
        ended = process.wait()

    assert (ended.code, ended.codes) == (143, ["CANCELLED"])
    assert ended.told[-1] == "SIGTERM: the drain took longer than 0.01 s, so what was left was aborted"


@requirement("cli.signal.abort")
def test_the_second_signal_aborts(cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call("gate")))
    with cli.spawn("run", "my_tools:toolbox", name) as process:
        started.wait()
        process.signal(INT)
        process.error_line()
        process.signal(INT)
        ended = process.wait()

    assert (ended.code, ended.codes) == (130, ["CANCELLED"])
    assert ended.told == [
        "SIGINT: aborting 1 call; a third signal exits at once",
        "1 call: 0 succeeded, 1 failed (CANCELLED 1)",
        "SIGINT: aborted",
    ]


@requirement("cli.signal.abort")
def test_an_abort_of_a_call_that_may_have_done_something_says_so(cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call("blunt_gate")))
    with cli.spawn("run", "my_tools:toolbox", name) as process:
        started.wait()
        process.signal(TERM)
        process.error_line()
        process.signal(TERM)
        ended = process.wait()

    assert (ended.code, ended.codes) == (3, ["CANCELLED"])
    assert ended.lines[0]["effect"] == "unknown"
    assert any(line.startswith("effect unknown: blunt_gate (call-1, exe-") for line in ended.told)


@requirement("cli.signal.abort")
def test_two_signals_in_one_moment_are_two(cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call("gate")))
    with cli.spawn("run", "my_tools:toolbox", name) as process:
        started.wait()
        process.signal(INT)
        process.signal(TERM)
        ended = process.wait()

    assert ended.codes == ["CANCELLED"]
    assert any("aborting 1 call" in line for line in ended.told)


@requirement("cli.signal.abort")
def test_an_abort_does_not_wait_for_a_reader_that_does_not_read(cli: Cli, started: Fifo, release: Fifo) -> None:
    much = call("echo", text="x" * 400_000)
    with serve(cli) as process:
        process.say(jsonl(much, much, call("gate")))
        started.wait()
        process.signal(TERM)
        process.error_line()
        process.signal(TERM)
        assert process.popen.wait(timeout=BOUND) == 2
        ended = process.end()

    assert any(" not written" in line for line in ended.told)


@requirement("cli.signal.at-once")
@pytest.mark.parametrize("tool", ["stuck", "blocking"])
def test_the_third_signal_exits_at_once_with_the_list(tool: str, cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call(tool, "c1")))
    with cli.spawn("run", "my_tools:toolbox", name) as process:
        started.wait()
        for number in itertools.cycle((TERM, INT)):  # a signal that Python has not come to yet swallows its like
            process.signal(number)
            _until_delivered(process.popen.pid, number)
            if process.popen.poll() is not None:
                break
        ended = process.wait()

    assert ended.code == 4
    assert ": exiting at once; 1 call left in an unknown state" in ended.err
    assert f"armory-trio: {tool} (c1, exe-" in ended.err


def _until_delivered(pid: int, number: signal.Signals) -> None:
    """Return when the kernel has handed the signal over: until then another of its kind would be lost.

    A process that ended with the signal still pending keeps it so until it is reaped.
    """
    bit = 1 << (number - 1)
    while True:
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        except OSError:
            return
        told = {name: value.strip() for name, _, value in (line.partition(":") for line in status.splitlines())}
        pending = int(told["SigPnd"], 16) | int(told["ShdPnd"], 16)
        if told["State"].startswith("Z") or not pending & bit:
            return


@requirement("cli.exit.codes")
def test_a_thread_that_cannot_be_stopped_is_reported_as_left_running(cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call("stuck", "s1"), call("add", a=1, b=1)))
    with cli.spawn(
        "run", "my_tools:toolbox", name, "--timeout", "0.2", "--cleanup-timeout", "0.2", "--drain-for", "0.2"
    ) as process:
        started.wait()
        ended = process.wait()

    assert (ended.code, ended.codes) == (4, ["TIMEOUT", "success"])
    assert any(line.startswith("still running: stuck (s1, exe-") for line in ended.told)


@requirement("cli.signal.ignored")
def test_a_signal_that_our_parent_had_ignored_stays_ignored(cli: Cli, started: Fifo, release: Fifo) -> None:
    name = cli.write("calls.jsonl", jsonl(call("gate")))
    shell = 'trap \'\' INT; exec "$0" -m armory_trio run my_tools:toolbox "$1"'
    popen = subprocess.Popen(
        ["/bin/sh", "-c", shell, sys.executable, name],
        cwd=cli.directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with popen:
        started.wait()
        popen.send_signal(INT)
        _until_delivered(popen.pid, INT)
        release.let_go()
        out, err = popen.communicate(timeout=BOUND)

    assert (popen.returncode, err) == (0, b"")
    assert b'"through"' in out


@requirement("cli.signal.nothing-to-stop")
def test_an_interrupt_while_the_command_is_loaded_ends_it_without_a_traceback(cli: Cli) -> None:
    cli.write("click.py", "import sys, time\nprint('loading', file=sys.stderr, flush=True)\ntime.sleep(60)\n")
    with cli.spawn("--version") as process:
        process.until("loading")
        process.signal(INT)
        ended = process.wait()

    assert (ended.code, ended.out, ended.err.strip()) == (-INT, b"", "")


@requirement("cli.signal.nothing-to-stop")
@pytest.mark.parametrize("number", [INT, TERM, signal.SIGHUP])
def test_a_signal_after_the_last_result_changes_no_code_and_ends_the_wait_for_threads(
    number: signal.Signals, cli: Cli
) -> None:
    cli.write(
        "threaded.py",
        "import sys, threading\n"
        "from my_tools import add\n"
        "def linger():\n"
        "    threading.main_thread().join()\n"
        "    print('waiting', file=sys.stderr, flush=True)\n"
        "    threading.Event().wait()\n"
        "threading.Thread(target=linger).start()\n",
    )
    with cli.spawn("run", "threaded:add", cli.write("calls.jsonl", ADD)) as process:
        process.until("waiting")
        while process.popen.poll() is None:  # one that comes just when Python begins to wait for a lock is seen later
            process.signal(number)
            time.sleep(0.01)
        ended = process.end()

    assert (ended.code, ended.values) == (0, [2])


@requirement("cli.signal.nothing-to-stop")
@pytest.mark.parametrize("number", [INT, TERM, signal.SIGHUP])
def test_a_signal_while_python_takes_itself_apart_changes_no_code(
    number: signal.Signals, cli: Cli, release: Fifo
) -> None:
    cli.write(
        "lasting.py",
        "import os\n"
        "from my_tools import add\n"
        "class Last:\n"
        "    def __del__(self, os=os):\n"
        "        os.write(2, b'the last one')\n"
        "        os.read(os.open('release', os.O_RDONLY), 1)\n"
        "last = Last()\n",
    )
    with cli.spawn("run", "lasting:add", cli.write("calls.jsonl", ADD)) as process:
        process.until("the last one")
        process.signal(number)
        _until_delivered(process.popen.pid, number)
        release.let_go()
        ended = process.wait()

    assert (ended.code, ended.values) == (0, [2])


# ── Pipes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.input.streamed")
def test_calls_start_when_their_line_arrives_and_results_come_while_the_pipe_stays_open(cli: Cli) -> None:
    with serve(cli) as process:
        process.say(jsonl(call("add", a=1, b=1)))
        first = process.line()
        process.say(jsonl(call("add", a=2, b=2)))
        second = process.line()
        ended = process.end()

    assert (first["value"], second["value"], ended.code, ended.out) == (2, 4, 0, b"")


@requirement("cli.input.streamed")
def test_an_input_may_be_a_named_pipe_and_a_signal_reaches_a_run_that_waits_for_it(cli: Cli) -> None:
    os.mkfifo(cli.directory / "calls")
    with (
        cli.spawn("run", "my_tools:toolbox", "calls") as process,
        (cli.directory / "calls").open("wb", buffering=0) as writer,
    ):
        writer.write(ADD)
        assert process.line()["value"] == 2
        process.signal(TERM)
        ended = process.wait()

    assert (ended.code, ended.told[-1]) == (143, "SIGTERM: drained; the input was not read to its end")


@requirement("cli.signal.drain")
def test_a_signal_reaches_a_run_whose_named_pipe_nobody_writes_to(cli: Cli) -> None:
    os.mkfifo(cli.directory / "calls")
    with cli.spawn("run", "my_tools:toolbox", "calls", "--live") as process:
        process.until("nothing runs")
        process.signal(TERM)
        ended = process.wait()

    assert (ended.code, ended.out) == (143, b"")
    assert ended.err.rstrip().endswith("armory-trio: SIGTERM: drained; the input was not read to its end")


@requirement("cli.run.order")
def test_results_come_in_the_order_of_the_calls(cli: Cli, started: Fifo, release: Fifo) -> None:
    with serve(cli) as process:
        process.say(jsonl(call("gate"), *[call("add", a=n, b=n) for n in range(20)]))
        started.wait()
        release.let_go()
        ended = process.end()

    assert ended.values == ["through", *(2 * n for n in range(20))]


@requirement("cli.run.order")
def test_unordered_results_come_as_the_calls_end(cli: Cli, started: Fifo, release: Fifo) -> None:
    with serve(cli, "--unordered") as process:
        process.say(jsonl(call("gate"), call("add", a=1, b=1)))
        started.wait()
        first = process.line()
        release.let_go()
        ended = process.end()

    assert (first["value"], ended.values) == (2, ["through"])


@requirement("cli.run.transcript")
def test_the_messages_of_a_transcript_run_one_after_the_other_and_the_calls_of_one_together(
    cli: Cli, started: Fifo, release: Fifo
) -> None:
    doors = [cli.fifo("release1"), cli.fifo("release2")]
    messages = [said(use("gate", release="release1"), use("gate", release="release2")), said(use("gate"))]
    with serve(cli) as process:
        process.say(jsonl({"messages": messages}))
        for _ in range(2):
            started.wait()
        doors[1].let_go("second")
        doors[0].let_go("first")
        lines = [process.line(), process.line()]
        started.wait()
        release.let_go("third")
        ended = process.end()

    assert [line["value"] for line in lines] == ["first", "second"]
    assert ended.values == ["third"]


@requirement("cli.run.back-pressure")
def test_reading_pauses_when_as_many_calls_wait_as_may(cli: Cli, started: Fifo, release: Fifo) -> None:
    much = "x" * 50_000
    with serve(cli, "--sequential", "--queue", "2") as process:
        process.say(jsonl(call("gate")))
        started.wait()
        assert process.popen.stdin is not None
        os.set_blocking(process.popen.stdin.fileno(), False)
        count, rest = _fill(process, jsonl(call("echo", text=much)))
        os.set_blocking(process.popen.stdin.fileno(), True)
        release.let_go()
        ended = process.end(rest)

    assert (ended.code, len(ended.values), ended.values[0]) == (0, count + 1, "through")


def _fill(process: Process, line: bytes) -> tuple[int, bytes]:
    """Write *line* again and again until the pipe takes no more; answers how often, and the rest of the last one."""
    stdin = process.popen.stdin
    assert stdin is not None
    for count in range(1, 1_000):
        rest = line
        while rest:
            try:
                rest = rest[os.write(stdin.fileno(), rest) :]
            except BlockingIOError:
                return count, rest
    raise AssertionError("50 MB were read ahead of a call that has not ended")


@requirement("cli.stdout.closed-pipe")
def test_a_reader_that_goes_away_is_no_traceback_and_aborts_what_runs(cli: Cli, started: Fifo, release: Fifo) -> None:
    with serve(cli, "--unordered") as process:
        process.say(jsonl(call("gate"), call("add", a=1, b=1)))
        started.wait()
        process.line()
        assert process.popen.stdout is not None
        process.popen.stdout.close()
        process.say(ADD)
        code = process.popen.wait(timeout=BOUND)
        assert process.popen.stderr is not None
        err = process.popen.stderr.read()

    assert (code, err) == (141, b"")


@requirement("cli.stdout.closed-pipe")
def test_head_takes_the_first_result_without_a_word_from_us(cli: Cli) -> None:
    cli.write("calls.jsonl", jsonl(*[call("echo", text="x" * 1_000)] * 500))
    shell = '"$0" -m armory_trio run my_tools:toolbox calls.jsonl | head -1'
    ended = subprocess.run(
        ["/bin/sh", "-c", shell, sys.executable],
        cwd=cli.directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=BOUND,
        check=True,
    )

    assert ended.stdout.count(b"\n") == 1
    assert ended.stderr == b""


@requirement("cli.stdout.unwritable")
def test_a_full_disk_is_said_in_a_line(cli: Cli) -> None:
    cli.write("calls.jsonl", ADD)
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "armory_trio", "run", "my_tools:toolbox", "calls.jsonl"],
            cwd=cli.directory,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=BOUND,
            check=False,
        )

    assert ended.returncode == 2
    assert ended.stderr.startswith("armory-trio: the results cannot be written: No space left on device\n")
    assert "1 result not written" in ended.stderr
    assert "Traceback" not in ended.stderr


@requirement("cli.stdout.unwritable")
def test_a_list_of_tools_for_a_full_disk_is_said_in_a_line(cli: Cli) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", '"$0" -m armory_trio tools my_tools:toolbox > /dev/full', sys.executable],
        cwd=cli.directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )

    assert ended.stderr == "armory-trio: standard output cannot be written: No space left on device\n"
    assert ended.returncode == 2


@requirement("cli.stdout.unwritable")
@pytest.mark.parametrize(
    "words", first(3, ["--help", "tools my_tools:add --json", "top --help", "--version", "run --help", "tools --help"])
)
@pytest.mark.parametrize(
    ("redirection", "told"),
    [
        pytest.param("> /dev/full", "standard output cannot be written: No space left on device", id="full"),
        pytest.param(">&-", "standard output ", id="closed"),
    ],
)
def test_a_text_that_cannot_be_written_is_no_bug_of_ours(words: str, redirection: str, told: str, cli: Cli) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m armory_trio {words} {redirection}', sys.executable],
        cwd=cli.directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )

    [line] = ended.stderr.splitlines()
    assert line.startswith(f"armory-trio: {told}")
    assert (ended.returncode, ended.stdout) == (2, "")


@requirement("cli.stdout.closed-pipe")
@pytest.mark.parametrize("words", ["--help", "--version", "run --help"])
def test_a_reader_of_help_that_goes_away_is_quiet(words: str, cli: Cli) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "armory_trio", *words.split()],
            cwd=cli.directory,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=BOUND,
            check=False,
        )

    assert (ended.returncode, ended.stderr) == (141, b"")


@requirement("cli.stdout.unwritable")
@pytest.mark.parametrize(
    ("redirection", "code", "told"),
    [
        pytest.param(">&-", 2, "standard output is closed", id="stdout"),
        pytest.param("<&-", 2, "<stdin>: it is empty", id="stdin"),
        pytest.param("2>&- < calls.jsonl", 0, "", id="stderr"),
        pytest.param(">&- 2>&-", 2, "", id="both outputs"),
    ],
)
def test_streams_that_are_closed_from_the_start_are_no_traceback(
    redirection: str, code: int, told: str, cli: Cli
) -> None:
    cli.write("calls.jsonl", jsonl(call("noisy")))
    shell = f'"$0" -m armory_trio run my_tools:toolbox {redirection}'
    ended = subprocess.run(
        ["/bin/sh", "-c", shell, sys.executable],
        cwd=cli.directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=BOUND,
        check=False,
    )

    assert ended.returncode == code
    assert told.encode() in ended.stderr
    assert b"Traceback" not in ended.stderr
    assert ended.stdout.count(b"\n") == (1 if code == 0 else 0)


@requirement("cli.stdout.only-results")
def test_what_tools_and_their_children_print_goes_to_stderr(cli: Cli) -> None:
    with serve(cli) as process:
        ended = process.end(jsonl(call("noisy")))

    assert (ended.code, ended.values) == (0, ["quiet"])
    assert ended.err.count("words on standard output\n") == 4


@requirement("cli.stdout.only-results")
def test_tools_cannot_read_the_calls_that_follow(cli: Cli) -> None:
    with serve(cli) as process:
        ended = process.end(jsonl(call("ask")) + ADD)

    assert (ended.code, ended.values) == (0, ["", 2])


@requirement("cli.streams.non-blocking")
def test_pipes_that_somebody_made_non_blocking_work(cli: Cli) -> None:
    """A parent that shares its end of a pipe may do that, and reading or writing then says 'try again'."""
    given, calls = os.pipe()
    results, taken = os.pipe()
    for fd in (given, taken):
        os.set_blocking(fd, False)
    popen = subprocess.Popen(
        [sys.executable, "-m", "armory_trio", "run", "my_tools:toolbox"],
        cwd=cli.directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=given,
        stdout=taken,
        stderr=subprocess.PIPE,
    )
    os.close(given)
    os.close(taken)
    with popen, os.fdopen(results, "rb") as reader:
        with os.fdopen(calls, "wb") as writer:
            writer.write(jsonl(*[call("echo", text="x" * 100_000)] * 10))
        out = reader.read()
        assert popen.stderr is not None
        assert popen.stderr.read() == b""

    assert (popen.returncode, out.count(b"\n")) == (0, 10)


# ── Encodings ────────────────────────────────────────────────────────────────────────────────────────────────────────

ODD: Final = "→😀\ud800 äß\u2028"


LOCALES: Final = ("PYTHONIOENCODING=cp1252", "LC_ALL=POSIX", "PYTHONIOENCODING=ascii", "LANG=C", "PYTHONUTF8=0")


@pytest.fixture(params=first(3, LOCALES))
def locale(request: pytest.FixtureRequest) -> dict[str, str]:
    """One locale in which output is known to break elsewhere."""
    name, _, value = str(request.param).partition("=")
    return {name: value}


@requirement("cli.stdout.any-locale")
def test_results_are_the_same_valid_bytes_in_any_locale(locale: dict[str, str], cli: Cli) -> None:
    with cli.spawn("run", "my_tools:echo", "my_tools:noisy", "--no-live", **locale) as process:
        ended = process.end(jsonl(call("echo", text=ODD), call("noisy", words="→😀")))

    assert (ended.code, ended.values) == (0, [ODD, "quiet"])
    assert ended.out.isascii()


@requirement("cli.stdout.any-locale")
def test_messages_for_providers_are_valid_in_any_locale_too(locale: dict[str, str], cli: Cli) -> None:
    with cli.spawn("run", "my_tools:echo", "--format", "openai", **locale) as process:
        ended = process.end(jsonl(call("echo", text=ODD)))

    [line] = ended.lines
    assert (ended.code, line["content"]) == (0, "→😀\\ud800 äß\u2028")


@requirement("cli.stdout.any-locale")
def test_errors_can_be_told_in_any_locale(locale: dict[str, str], cli: Cli) -> None:
    with cli.spawn("run", "my_tools:toolbox", **locale) as process:
        ended = process.end(jsonl({"näme→": ODD}))

    assert ended.code == 2
    assert len(ended.told) == 1
    assert "expected a call such as" in ended.told[0]


# ── Deadlines and failing fast ───────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.run.deadline")
def test_the_deadline_ends_running_calls_and_the_reading(cli: Cli, started: Fifo, release: Fifo) -> None:
    with serve(cli, "--deadline", "1.5") as process:
        process.say(jsonl(call("gate")))
        ended = process.wait()

    assert (ended.code, ended.codes) == (1, ["DEADLINE_EXCEEDED"])
    assert ended.told[-1] == "the deadline came before the end of the input"


@requirement("cli.run.timeout")
def test_the_timeout_is_for_each_call(cli: Cli, started: Fifo, release: Fifo) -> None:
    with serve(cli, "--timeout", "0.1") as process:
        ended = process.end(jsonl(call("gate"), call("add", a=1, b=1)))

    assert (ended.code, ended.codes) == (1, ["TIMEOUT", "success"])


@requirement("cli.run.fail-fast")
def test_the_first_failure_can_stop_everything(cli: Cli, started: Fifo, release: Fifo) -> None:
    with serve(cli, "--fail-fast") as process:
        process.say(jsonl(call("gate")))
        started.wait()
        process.say(jsonl(call("fail", "f1")))
        ended = process.wait()

    assert (ended.code, ended.codes) == (1, ["CANCELLED", "TRANSIENT_ERROR"])
    assert ended.told[-1] == "stopped: call f1 of 'fail' failed, and the run fails fast"
