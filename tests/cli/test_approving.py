"""Who approves the calls of a run, and the rules that the command line adds."""

from __future__ import annotations

import json
import os
import pty
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, cast, get_args

import pytest
import trio

from armory_trio import ApprovalRequest, Question, RequiredAction
from armory_trio.cli._asking import Desk, NobodyThere, find_approver, question_lines
from armory_trio.cli._settings import RunSettings
from armory_trio.cli._streams import Streams
from armory_trio.cli._terminal import Terminal, open_terminal
from armory_trio.definitions import PauseTier
from tests.requirements import requirement

from .commands import Cli, Ended, Line, call, first, jsonl
from .terminals import Terminal as Screen
from .terminals import terminal

PROMPT: Final = b"Run it? y yes, n no, e edit the arguments [n] "
GONE: Final = b"\x1b"

BANK: Final = '''
"""Tools and toolboxes with rules."""

import os

from armory_trio import ApprovalPolicy, Deny, Gates, Toolbox, tool


@tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
async def transfer(to: str, amount: int, currency: str = "EUR") -> str:
    """Send money."""
    return f"{amount} {currency} to {to}"


@tool(effect="read-only")
async def balance() -> int:
    """What is left."""
    return 100


@tool(effect={"class": "destructive", "targets": [{"kind": "service", "id": "bank"}]})
async def close_account() -> str:
    """Close the account."""
    return "closed"


@tool(effect="read-only", requires_approval=True)
async def audit() -> str:
    """Look at everything."""
    return "fine"


@tool(effect="read-only")
async def gate() -> str:
    """Tell that it runs, and run until it is let go."""
    import trio

    def wait() -> str:
        with open("started", "w") as told:
            told.write("started")
        with open("release", "rb", buffering=0) as gate:
            return gate.read(100).decode()

    return await trio.to_thread.run_sync(wait, abandon_on_cancel=True)


def nothing_today(request):
    return Deny("not today") if request.tool_name == "balance" else None


everything = [transfer, balance, close_account, audit, gate]
plain = Toolbox(everything)
careful = Toolbox(everything, approval_policy=ApprovalPolicy("on-mutation"))
always = Toolbox(everything, approval_policy=ApprovalPolicy("always"))
shut = Toolbox(everything, approval_policy=ApprovalPolicy("never", tier_modes={"dangerous": "deny"}))
safe = Toolbox([transfer, balance], gates=Gates(read_only=True))
lazy = Toolbox([balance], policy=nothing_today)
'''


@pytest.fixture
def bank(cli: Cli) -> Cli:
    """The command, with tools that move money."""
    cli.write("bank.py", BANK)
    return cli


REQUEST: Final = ApprovalRequest("exe-1", "id", "pay", {}, Question("tool", "why", RequiredAction("approval", "why")))
SETTINGS: Final = RunSettings(
    file="-",
    input="auto",
    format="result",
    concurrency=1,
    queue=0,
    unordered=False,
    fail_fast=False,
    timeout=None,
    deadline=None,
    drain_for=0,
    cleanup_timeout=0,
    owner=None,
    approve="ask",
    approval_timeout=None,
    error_detail="message",
    max_bytes=1,
    live=None,
    debug=False,
)
PAY: Final = call("transfer", to="ada", amount=5)


def ended(bank: Cli, toolbox: str, *options: str, calls: tuple[Line, ...] = (PAY,)) -> Ended:
    """A run without a terminal."""
    return bank("run", f"bank:{toolbox}", "-", *options, stdin=jsonl(*calls))


def lines_of(out: bytes) -> list[Line]:
    return Ended(0, out, "").lines


@contextmanager
def at_the_terminal(
    bank: Cli, *options: str, calls: tuple[Line, ...] = (PAY,), toolbox: str = "careful", results_too: bool = False
) -> Generator[Screen]:
    """A run before which somebody sits."""
    bank.write("calls.jsonl", jsonl(*calls))
    with terminal(bank, *options, toolbox=f"bank:{toolbox}", results_too=results_too) as screen:
        yield screen


# ── At the terminal ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.approve.ask")
def test_the_person_sees_what_would_run_with_its_defaults_and_who_asks_why(bank: Cli) -> None:
    with at_the_terminal(bank, "--no-live", "--owner", "run-7") as screen:
        screen.until(PROMPT)
        asked = screen.shown.decode().replace("\r\n", "\n")
        screen.type("y\n")
        out = screen.end()

    assert asked == (
        "\narmory-trio: a call needs approval\n"
        '  arguments  {\n               "to": "ada",\n               "amount": 5,\n               "currency": "EUR"\n'
        "             }\n"
        "  tool       transfer (call-1)\n"
        "  effect     external-write on service:bank\n"
        "  reason     Tool 'transfer' (mutating tier) requires approval (mode: on-mutation).\n"
        "  asked by   the approval policy\n"
        "  for        run-7\n" + PROMPT.decode()
    )
    assert [line["value"] for line in lines_of(out)] == ["5 EUR to ada"]
    assert screen.popen.returncode == 0


@requirement("cli.approve.ask")
@pytest.mark.parametrize(
    "answer",
    first(2, [pytest.param("n\n", id="n"), pytest.param("\x04", id="the end"), pytest.param("\n", id="nothing")]),
)
def test_everything_but_a_yes_is_a_no(answer: str, bank: Cli) -> None:
    with at_the_terminal(bank) as screen:
        screen.until(PROMPT)
        screen.type(answer)
        out = screen.end()

    [line] = lines_of(out)
    assert (line["error"], line["effect"]) == (
        {
            "category": "permission",
            "code": "HUMAN_DENIED",
            "message": "a person refused it",
            "retryable": False,
            "details": None,
        },
        "none",
    )
    assert screen.popen.returncode == 1


@requirement("cli.approve.ask")
def test_what_is_no_answer_is_asked_again(bank: Cli) -> None:
    with at_the_terminal(bank) as screen:
        screen.until(PROMPT)
        screen.type("perhaps\n")
        screen.until(PROMPT, times=2)
        screen.type("YES\n")
        out = screen.end()

    assert [line["value"] for line in lines_of(out)] == ["5 EUR to ada"]


@requirement("cli.approve.ask")
def test_what_was_typed_before_the_question_answers_nothing(bank: Cli) -> None:
    with at_the_terminal(bank, calls=(PAY, PAY)) as screen:
        screen.until(PROMPT)
        screen.type("n\ny\n")
        screen.until(PROMPT, times=2)
        screen.type("n\n")
        out = screen.end()

    assert codes(out) == ["HUMAN_DENIED", "HUMAN_DENIED"]


def codes(out: bytes) -> list[str]:
    return Ended(0, out, "").codes


@requirement("cli.approve.edit")
def test_the_person_may_change_the_arguments_over_several_lines(bank: Cli) -> None:
    with at_the_terminal(bank) as screen:
        screen.until(PROMPT)
        screen.type("e\n")
        screen.until(b"an empty line goes back:")
        screen.type('{"to": "bob", "amount": 1,\n"currency": "CHF"}\n')
        out = screen.end()

    assert [line["value"] for line in lines_of(out)] == ["1 CHF to bob"]


@requirement("cli.approve.edit")
def test_a_default_that_is_added_to_what_the_person_wrote_is_asked_about_once_more(bank: Cli) -> None:
    with at_the_terminal(bank) as screen:
        screen.until(PROMPT)
        screen.type("e\n")
        screen.until(b"an empty line goes back:")
        screen.type('{"to": "bob", "amount": 1}\n')
        screen.until(PROMPT, times=2)
        again = screen.shown[screen.shown.index(b"goes back") :]
        screen.type("y\n")
        out = screen.end()

    assert b'"currency": "EUR"' in again
    assert [line["value"] for line in lines_of(out)] == ["1 EUR to bob"]


@requirement("cli.approve.edit")
@pytest.mark.parametrize(
    ("typed", "told"),
    first(2, [("[1]\n", b"arguments are a JSON object"), ('{"to": oops}\n\n', b"JSON"), ("\n", b"")]),
)
def test_what_is_no_object_leads_back_to_the_question(typed: str, told: bytes, bank: Cli) -> None:
    with at_the_terminal(bank) as screen:
        screen.until(PROMPT)
        screen.type("e\n")
        screen.until(b"an empty line goes back:")
        screen.type(typed)
        screen.until(PROMPT, times=2)
        screen.type("y\n")
        out = screen.end()

    assert told in screen.shown[screen.shown.index(b"goes back") :]
    assert [line["value"] for line in lines_of(out)] == ["5 EUR to ada"]


@requirement("cli.approve.turns")
def test_calls_are_asked_about_one_after_the_other(bank: Cli) -> None:
    calls = tuple(call("transfer", to=name, amount=1) for name in ("ada", "bob", "cleo"))
    with at_the_terminal(bank, calls=calls) as screen:
        for turn, answer in enumerate(("y", "n", "y"), start=1):
            screen.until(PROMPT, times=turn)
            assert screen.shown.count(b"a call needs approval") == turn
            screen.type(f"{answer}\n")
        out = screen.end()

    asked = re.findall(rb'"to": "(\w+)"', screen.shown)
    values = {b"1 EUR to " + name for name in (asked[0], asked[2])}
    assert {str(line["value"]).encode() for line in lines_of(out) if line["value"]} == values
    assert sorted(codes(out)) == ["HUMAN_DENIED", "success", "success"]


@requirement("cli.approve.turns")
def test_the_live_view_leaves_the_terminal_to_the_question_and_comes_back(bank: Cli) -> None:
    release, started = bank.fifo("release"), bank.fifo("started")
    with at_the_terminal(bank, calls=(call("gate"), PAY)) as screen:
        started.wait()
        screen.until(PROMPT)
        from_question = screen.shown[screen.shown.rindex(b"a call needs approval") :]
        before = screen.shown.count(b"1 running")
        screen.type("y\n")
        screen.until(b"1 running", times=before + 1)
        release.let_go()
        out = screen.end()

    assert b"\x1b" not in from_question
    cursor = screen.shown[: screen.shown.rindex(PROMPT)]
    assert cursor.rfind(b"\x1b[?25h") >= cursor.rfind(b"\x1b[?25l")
    assert codes(out) == ["success", "success"]


@requirement("cli.approve.turns")
@pytest.mark.parametrize("live", ["--live", "--no-live"])
def test_results_on_the_terminal_wait_until_the_question_is_answered(live: str, bank: Cli) -> None:
    release, started = bank.fifo("release"), bank.fifo("started")
    calls = (call("gate"), call("balance"), PAY)
    with at_the_terminal(bank, live, "--unordered", calls=calls, results_too=True) as screen:
        started.wait()
        screen.until(PROMPT)
        release.let_go()
        screen.type("perhaps\n")
        screen.until(PROMPT, times=2)
        shown = screen.shown
        screen.type("y\n")
        screen.end()

    assert b'"tool_name":"gate"' not in shown[shown.index(PROMPT) :]
    results = re.findall(rb'\{"call_id":"call-\d+".*?"left_out":null\}\r\n', screen.shown)
    assert len(results) == 3


@requirement("cli.approve.plain")
def test_nothing_that_is_shown_can_steer_the_terminal(bank: Cli) -> None:
    with at_the_terminal(
        bank, "--no-live", calls=(call("transfer", to="\x1b[2J\u202egone\x9b\x07\r", amount=5),)
    ) as screen:
        screen.until(PROMPT)
        screen.type("n\n")
        screen.end()

    asked = screen.shown[: screen.shown.index(PROMPT)]
    assert rb'"to": "\u001b[2J\u202egone\x9b\u0007\r"' in asked
    assert GONE not in asked
    assert "\u202e".encode() not in asked


@requirement("cli.approve.plain")
@pytest.mark.parametrize("tier", get_args(PauseTier))
def test_reasons_names_and_long_arguments_are_shown_on_lines_of_their_own(tier: PauseTier) -> None:
    long = "x" * 100_000
    question = Question(tier, "why\x1b[1A\nRun it? y", RequiredAction("approval", "really\x07?"))
    request = ApprovalRequest("exe-1", "id\n", "na\tme", {"text": long, "\x7f": "\ud800"}, question, parent_id="exe-0")

    lines = list(question_lines(request))

    assert all(line.isprintable() for line in lines)
    assert any(long in line for line in lines)
    assert r"  reason     why\x1b[1A\nRun it? y" in lines
    assert r"  question   really\x07?" in lines
    assert r"  tool       na\tme (id\n)" in lines
    assert "  effect     not declared" in lines
    assert "  made by    a tool that runs (exe-0)" in lines
    assert any("policy" in line or "always" in line for line in lines if line.startswith("  asked by"))


@requirement("cli.approve.timeout")
def test_no_answer_in_time_is_a_no(bank: Cli) -> None:
    with at_the_terminal(bank, "--approval-timeout", "0.2") as screen:
        screen.until(b"the question is withdrawn")
        out = screen.end()

    assert codes(out) == ["HUMAN_TIMEOUT"]
    assert screen.popen.returncode == 1


@requirement("cli.approve.stop")
def test_ctrl_c_at_the_question_stops_the_run_and_nothing_runs(bank: Cli) -> None:
    with at_the_terminal(bank) as screen:
        screen.until(PROMPT)
        screen.type("\x03")
        out = screen.end()

    assert b"the question is withdrawn" in screen.shown
    assert codes(out) == ["NOT_STARTED"]
    assert screen.popen.returncode == 130


@requirement("cli.approve.stop")
def test_other_calls_go_on_while_somebody_thinks(bank: Cli) -> None:
    bank.write("calls.jsonl", jsonl(PAY, call("balance")))
    with terminal(bank, "--unordered", toolbox="bank:careful") as screen:
        screen.until(PROMPT)
        assert screen.popen.stdout is not None
        first = json.loads(screen.popen.stdout.readline())
        screen.type("y\n")
        out = screen.end()

    assert first["value"] == 100
    assert [line["value"] for line in lines_of(out)] == ["5 EUR to ada"]


@requirement("cli.approve.stop")
def test_a_deadline_withdraws_the_question(bank: Cli) -> None:
    with at_the_terminal(bank, "--deadline", "2") as screen:
        screen.until(PROMPT)
        screen.until(b"the question is withdrawn")
        out = screen.end()

    assert codes(out) != ["success"]
    assert screen.popen.returncode == 1


@requirement("cli.approve.stop")
def test_a_terminal_that_goes_away_approves_nothing() -> None:
    screen, tty = pty.openpty()

    async def main() -> None:
        desk = Desk(Terminal(tty, "utf-8"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_hang_up, screen)
            assert await desk.ask(REQUEST) is False
        with pytest.raises(NobodyThere, match="the terminal is gone"):
            await desk.ask(REQUEST)

    try:
        trio.run(main)
    finally:
        os.close(tty)


async def _hang_up(screen: int) -> None:
    shown = b""
    while PROMPT not in shown:
        shown += await trio.to_thread.run_sync(os.read, screen, 4096)
    os.close(screen)


# ── Nobody to ask ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.approve.nobody")
def test_without_a_terminal_nobody_is_asked_and_the_line_says_what_waits(bank: Cli) -> None:
    found = ended(bank, "careful", calls=(PAY, call("balance"), call("audit")))

    [paid, balance, audit] = found.lines
    assert (found.code, paid["outcome"], balance["value"], paid["effect"]) == (1, "action_required", 100, "none")
    pending = cast("Line", paid["pending_approval"])
    assert pending["arguments"] == {"to": "ada", "amount": 5, "currency": "EUR"}
    assert (pending["binding"], balance["pending_approval"]) == (None, None)
    assert cast("Line", audit["error"])["code"] == "APPROVAL_UNAVAILABLE"
    assert found.told[-1] == (
        "nobody was asked (stderr is no terminal); at a terminal you are, or --approve all approves unasked"
    )


@requirement("cli.approve.nobody")
def test_with_approve_none_nobody_is_asked_at_a_terminal_either(bank: Cli) -> None:
    with at_the_terminal(bank, "--approve", "none") as screen:
        out = screen.end()

    assert b"needs approval" not in screen.shown
    assert b"nobody was asked (--approve none)" in screen.shown
    assert codes(out) == ["action_required"]


@requirement("cli.approve.nobody")
def test_nobody_is_asked_at_the_terminal_that_the_calls_are_read_from(bank: Cli) -> None:
    screen, tty = pty.openpty()
    try:
        assert find_approver(SETTINGS, Streams(tty, 1)).nobody == "the calls are read from the terminal"
    finally:
        os.close(screen)
        os.close(tty)


@requirement("cli.approve.nobody")
def test_a_run_in_the_background_of_its_terminal_asks_nobody_and_is_not_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen, tty = pty.openpty()

    def somebody_else(_terminal: int) -> int:
        return os.getpgrp() + 1

    monkeypatch.setattr(os, "tcgetpgrp", somebody_else)
    try:
        with pytest.raises(NobodyThere, match="background"):
            trio.run(Desk(Terminal(tty, "utf-8")).ask, REQUEST)
    finally:
        os.close(screen)
        os.close(tty)


@requirement("cli.approve.nobody")
def test_a_terminal_that_cannot_be_opened_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless(_fd: int) -> str:
        raise OSError(25, "Inappropriate ioctl\n for device")

    def always(_fd: int) -> bool:
        return True

    monkeypatch.setattr(os, "ttyname", nameless)
    monkeypatch.setattr(os, "isatty", always)

    assert open_terminal() == r"the terminal cannot be opened: Inappropriate ioctl\n for device"


@requirement("cli.approve.stop")
def test_an_answer_that_another_reader_took_is_waited_for_again() -> None:
    screen, tty = pty.openpty()
    os.set_blocking(tty, False)
    terminal = Terminal(tty, "utf-8")

    async def main() -> str | None:
        answers: list[str | None] = []
        answered = trio.Event()

        async def read() -> None:
            answers.append(await terminal.line())
            answered.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            nursery.start_soon(read)
            await trio.to_thread.run_sync(os.write, screen, b"y\n")
            await answered.wait()
            nursery.cancel_scope.cancel()
        return answers[0]

    try:
        assert trio.run(main) == "y"
    finally:
        os.close(screen)
        os.close(tty)


@requirement("cli.approve.all")
def test_everything_can_be_approved_unasked(bank: Cli) -> None:
    found = ended(bank, "always", "--approve", "all", calls=(PAY, call("audit"), call("balance")))

    assert (found.code, found.values, found.err) == (0, ["5 EUR to ada", "fine", 100], "")


@requirement("cli.approve.all")
def test_what_is_denied_stays_denied_when_everything_is_approved(bank: Cli) -> None:
    found = ended(bank, "shut", "--approve", "all", "--read-only", calls=(call("close_account"), PAY))

    assert found.codes == ["GATE_DENIED", "GATE_DENIED"]


# ── Rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.rules")
@pytest.mark.parametrize(
    ("options", "ends"),
    [
        ((), ["success", "success", "success"]),
        (("--read-only",), ["success", "GATE_DENIED", "GATE_DENIED"]),
        (("--no-dangerous",), ["success", "success", "GATE_DENIED"]),
        (("--approval-mode", "never"), ["success", "success", "success"]),
        (("--approval-mode", "on-mutation"), ["success", "action_required", "action_required"]),
        (("--approval-mode", "always"), ["action_required"] * 3),
        (("--approval-mode", "deny"), ["POLICY_DENIED"] * 3),
    ],
)
def test_the_command_line_adds_rules_to_a_toolbox_without_any(
    options: tuple[str, ...], ends: list[str], bank: Cli
) -> None:
    assert ended(bank, "plain", *options, calls=(call("balance"), PAY, call("close_account"))).codes == ends


@requirement("cli.rules")
def test_gates_of_the_toolbox_stay_shut(bank: Cli) -> None:
    assert ended(bank, "safe", "--no-dangerous", calls=(PAY, call("balance"))).codes == ["GATE_DENIED", "success"]


@requirement("cli.rules")
@pytest.mark.parametrize(
    ("toolbox", "mode", "told"),
    [("careful", "never", "which would ask about 'transfer'"), ("shut", "always", "would refuse 'close_account'")],
)
def test_the_command_line_is_never_looser_than_the_toolbox(toolbox: str, mode: str, told: str, bank: Cli) -> None:
    found = ended(bank, toolbox, "--approval-mode", mode)

    assert (found.code, found.lines) == (2, [])
    assert told in found.err


@requirement("cli.rules")
def test_a_mode_that_is_stricter_takes_the_place_of_the_toolboxs_own(bank: Cli) -> None:
    assert ended(bank, "careful", "--approval-mode", "always", calls=(call("balance"),)).codes == ["action_required"]
    assert ended(bank, "careful", "--approval-mode", "on-mutation").codes == ["action_required"]


@requirement("cli.rules.combined")
@pytest.mark.parametrize("order", [("bank:lazy", "bank:transfer"), ("bank:transfer", "bank:lazy")])
def test_the_rules_of_a_toolbox_count_wherever_it_is_named(order: tuple[str, ...], bank: Cli) -> None:
    assert bank("run", *order, "-", stdin=jsonl(call("balance"), PAY)).codes == ["POLICY_DENIED", "success"]


@requirement("cli.rules.combined")
def test_two_toolboxes_with_different_rules_are_refused(bank: Cli) -> None:
    found = bank("run", "bank:lazy", "bank:careful", "-", stdin=jsonl(PAY))

    assert found.code == 2
    assert "two of the toolboxes have rules of their own" in found.err
    assert bank("run", "bank:careful", "bank:careful", "-", "--approve", "all", stdin=jsonl(PAY)).code == 0
