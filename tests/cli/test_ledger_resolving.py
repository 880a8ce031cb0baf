"""Deciding at the command line: the receipt, the keys, who is asked, and what is refused."""

from __future__ import annotations

import base64
import json
import os
import pty
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, final

import pytest
import trio
from msgspec.structs import replace

from armory_trio import RequestContext, Toolbox, ToolCall, ToolResult, open_supervisor, tool
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.cli._exit import Unusable
from armory_trio.cli._ledger_deciding import Resolution, apply_decision, require_yes
from armory_trio.cli._ledger_finding import Filters
from armory_trio.cli._ledger_keys import load_keys
from armory_trio.cli._ledger_store import Undone
from armory_trio.cli._terminal import Terminal as Desk
from armory_trio.ledger import (
    Attempt,
    Claim,
    Decision,
    FenceLost,
    LedgerStore,
    MemoryLedger,
    Operation,
    ResolutionReceipt,
    Resolve,
    legacy_entry,
    receipt_for,
    receipt_from_json,
    sign_receipt,
    verify_receipt,
)
from armory_trio.storage.sql import open_store
from tests.requirements import requirement

from .attempts import CLAIM, KEYS, LIVE, LOST, NEVER_STARTED, PAID, SECRET, STARTED, Deed, Store, claim, key_file
from .commands import Cli, Ended
from .terminals import Terminal, terminal

PROMPT: Final = b"Decide so? y yes, n no [n] "
WHY: Final = ("--evidence", "ticket 7: the bank shows it", "--by", "ann")


@pytest.fixture
def store(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that is there; the environment names it, and the keys."""
    where = str(cli.directory / "store.db")
    monkeypatch.setenv("ARMORY_TRIO_STORE", where)
    monkeypatch.setenv("ARMORY_TRIO_KEYS", key_file(cli.directory))
    return Store(where).create()


def resolve(cli: Cli, decision: str, *options: str, word: str = "a1", stdin: bytes = b"") -> Ended:
    """Decide without being asked."""
    why = () if decision == "release" else WHY
    return cli("ledger", "resolve", word, "--decision", decision, "--yes", *why, *options, stdin=stdin)


def receipt_in(store: Store) -> ResolutionReceipt:
    """The receipt that the attempt stands by, which must be signed."""
    attempt = store.load()
    assert attempt is not None
    assert attempt.receipt is not None
    return verified(json.loads(attempt.receipt))


def verified(document: object, keys: Keyring = KEYS, domain: str = "default") -> ResolutionReceipt:
    receipt = receipt_from_json(document)
    trio.run(lambda: verify_receipt(keys, receipt, domain=domain))
    assert isinstance(receipt, ResolutionReceipt)
    return receipt


# ── Deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.resolve")
@pytest.mark.parametrize(
    ("decision", "options", "state", "told"),
    [
        pytest.param("retry", (), "unknown", "the next call with its key takes its place", id="retry"),
        pytest.param("abandoned", (), "abandoned", "whoever asks for its key gets a conflict", id="abandoned"),
        pytest.param("completed", ("--result", '"paid"'), "completed", "gets the result that you gave", id="completed"),
    ],
)
def test_a_decision_is_kept_with_who_and_why(
    decision: str, options: tuple[str, ...], state: str, told: str, cli: Cli, store: Store
) -> None:
    store.add(CLAIM, LOST)
    before = time.time()

    ended = resolve(cli, decision, *options)

    attempt, receipt = store.load(), receipt_in(store)
    assert attempt is not None
    assert (ended.code, ended.told) == (0, [])
    assert ended.out.decode().startswith(f"attempt a1 is decided: {decision}: ")
    assert told in ended.out.decode()
    assert (attempt.state, attempt.granted) == (state, decision == "retry")
    assert (receipt.decision, receipt.evidence, receipt.authorized_by) == (decision, WHY[1], "ann")
    assert before <= receipt.authorized_at <= time.time()
    assert attempt.result == ('"paid"' if options else None)


@requirement("cli.ledger.resolve")
def test_a_host_that_runs_answers_by_it_at_its_next_call(cli: Cli, store: Store) -> None:
    ran: list[int] = []

    @tool
    async def pay(cents: int) -> str:
        """Pay, and lose the line the first time."""
        ran.append(cents)
        if len(ran) == 1:
            raise ConnectionError("the line went dead")
        return "paid now"

    async def main() -> list[tuple[object, ...]]:
        told: list[tuple[object, ...]] = []
        context = RequestContext(principal="ann", tenant="acme")
        async with (
            open_store(store.where) as opened,
            open_supervisor(Toolbox([pay]), ledger=opened.ledger, keys=KEYS, default_request_context=context) as host,
        ):

            async def ask(key: str) -> None:
                result = await host.execute(ToolCall("pay", {"cents": 5}), idempotency_key=key)
                assert result.idempotency is not None
                told.append((result.idempotency.outcome, result.value))

            async def decide(word: str, decision: str, *options: str) -> None:
                ended = await trio.to_thread.run_sync(lambda: resolve(cli, decision, *options, word=word))
                assert ended.code == 0, ended.err

            await ask("one")
            await ask("one")
            await decide("one", "retry")
            await ask("one")
            ran.clear()
            await ask("two")
            await decide("two", "completed", "--result", '"paid before"')
            await ask("two")
        return told

    assert trio.run(main) == [
        ("fresh", None),
        ("unknown-outcome", None),
        ("fresh", "paid now"),
        ("fresh", None),
        ("deduped", "paid before"),
    ]


@requirement("cli.ledger.resolve")
def test_a_result_can_come_from_a_file_or_a_pipe(cli: Cli, store: Store) -> None:
    name = cli.write("result.json", '{"paid": 5}\n')
    store.add(CLAIM, LOST)
    store.add(claim("k2", "a2"), LOST)

    resolve(cli, "completed", "--result-file", name)
    resolve(cli, "completed", "--result-file", "-", word="a2", stdin=b"[1]")

    assert [attempt and attempt.result for attempt in (store.load(), store.load(claim("k2", "a2")))] == [
        '{"paid": 5}',
        "[1]",
    ]


@requirement("cli.ledger.resolve")
def test_an_entry_that_was_brought_in_is_decided_about_too(cli: Cli, store: Store) -> None:
    store.do(*legacy_entry(CLAIM.key, "pay", 1_700_000_000.25))

    ended = resolve(cli, "abandoned", word="order-1")

    attempt = store.load()
    assert ended.code == 0
    assert attempt is not None
    assert attempt.state == "abandoned"


@requirement("cli.ledger.resolve")
def test_the_nonce_and_the_domain_can_be_named(cli: Cli, store: Store) -> None:
    keys = key_file(cli.directory, "others.json", domain="tenant:acme")
    store.add(CLAIM, LOST)

    ended = resolve(cli, "retry", "--nonce", "receipt-1", "--domain", "tenant:acme", "--keys", keys)

    attempt = store.load()
    assert attempt is not None
    assert attempt.receipt is not None
    keyring = Keyring({"tenant:acme": [SigningKey("k1", SECRET)]})
    assert (ended.code, verified(json.loads(attempt.receipt), keyring, "tenant:acme").nonce) == (0, "receipt-1")


@requirement("cli.ledger.resolve")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", "Missing option '--decision'"),
        ("--decision maybe", "'maybe' is not one of"),
        ("--decision retry", "retry needs --evidence and --by, for its receipt"),
        ("--decision abandoned --evidence x", "abandoned needs --by, for its receipt"),
        ("--decision retry --evidence x --by y --result 1", "a result belongs to the decision completed"),
        ("--decision completed --evidence x --by y", "completed needs --result JSON or --result-file FILE"),
        ("--decision completed --evidence x --by y --result 1 --result-file f", "one of them"),
        ("--decision completed --evidence x --by y --result paid", "--result: not JSON: "),
        ("--decision completed --evidence x --by y --result-file none", "none: the result can't be read: No such file"),
        ("--decision completed --evidence x --by y --result-file latin", "latin: the result is no UTF-8 (byte 1)"),
        ("--decision retry --evidence x --by y --nonce=", "no receipt can be made: nonce is blank"),
        ("--decision retry --evidence x --by y --domain other", "no key signs in the domain 'other'; --domain names"),
        ("--decision retry --evidence x --by y --domain=", "--domain must be 1 to 255 printable"),
        ("--decision retry --evidence x --by \udcff", "no receipt can be made: it can't be signed"),
        ("--decision release --evidence x", "a release has no receipt, so it takes no --evidence"),
        ("--decision release --print", "a release has no receipt, so it takes no --print"),
    ],
)
def test_what_does_not_fit_together_is_refused_and_decides_nothing(
    options: str, told: str, cli: Cli, store: Store
) -> None:
    cli.write("latin", b'"\xe9"')
    store.add(CLAIM, LOST)
    before = store.load()

    ended = cli("ledger", "resolve", "a1", *options.split(), "--yes")

    assert (ended.code, ended.out) == (2, b"")
    assert len(ended.told) == 1
    assert told in ended.told[0]
    assert store.load() == before


# ── Releasing ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.release")
@pytest.mark.parametrize("deeds", [pytest.param(NEVER_STARTED, id="claimed"), pytest.param(STARTED, id="started")])
def test_what_nothing_came_of_is_released_without_keys(
    deeds: tuple[Deed, ...], cli: Cli, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ARMORY_TRIO_KEYS")
    store.add(replace(CLAIM, windows_declared=True), deeds)

    ended = resolve(cli, "release")

    assert (ended.code, ended.told) == (0, [])
    assert ended.out == b"attempt a1 is released: it is forgotten, and its key can be claimed again\n"
    assert store.load() is None


@requirement("cli.ledger.release", "ledger.unused")
def test_what_was_decided_and_never_begun_is_not_forgotten_with_its_release(cli: Cli, store: Store) -> None:
    lost = replace(CLAIM, attempt_id="a0")

    def retried(key: str, fence: str) -> Operation:
        return Resolve(key_text=key, attempt_id=fence, decision="retry", receipt="{}", claim=CLAIM)

    store.add(lost, (*LOST, retried))

    ended = resolve(cli, "release")

    attempt = store.load()
    assert attempt is not None and (attempt.attempt_id, attempt.granted) == ("a1", True)
    assert (ended.code, ended.told) == (0, [])
    released, how = ended.out.decode().splitlines()
    assert released == "attempt a1 is released: its key stands as before it was claimed"
    assert how.endswith("outcome unknown; somebody decided that it may be tried again")


# ── What is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.refused")
@pytest.mark.parametrize("decision", ["release", "retry", "abandoned"])
@pytest.mark.parametrize("deeds", [pytest.param(NEVER_STARTED, id="claimed"), pytest.param(STARTED, id="started")])
def test_about_an_attempt_that_somebody_may_be_at_nothing_is_decided(
    deeds: tuple[Deed, ...], decision: str, cli: Cli, store: Store
) -> None:
    store.add(replace(LIVE, windows_declared=True), deeds, ago=0)

    ended = resolve(cli, decision, word="live")

    attempt = store.load(LIVE)
    assert attempt is not None
    assert attempt.state == ("started" if deeds else "claimed")
    assert (ended.code, len(ended.told)) == (1, 1)
    assert ended.told[0].startswith("attempt live: somebody may be at it: its lease on host host-1 is live until 20")


@requirement("cli.ledger.refused")
@pytest.mark.parametrize(
    ("made", "lost", "decision", "told"),
    [
        pytest.param(CLAIM, True, "release", "the world may have seen it, so it can't be released", id="seen"),
        pytest.param(CLAIM, False, "retry", "it never started: whoever claims its key runs it", id="not begun"),
        pytest.param(CLAIM, False, "abandoned", "it never started, so there is nothing to decide", id="nothing"),
        pytest.param(replace(CLAIM, deduplicates=False), True, "retry", "nobody asks for it again", id="recovery"),
    ],
)
def test_what_can_be_decided_instead_is_said(
    made: Claim, lost: bool, decision: str, told: str, cli: Cli, store: Store
) -> None:
    store.add(made, LOST if lost else NEVER_STARTED)
    before = store.load()

    ended = resolve(cli, decision)

    assert ended.code == 1
    assert f"attempt a1: {told}; what can be decided: " in ended.told[0]
    assert store.load() == before


@requirement("cli.ledger.refused")
def test_a_second_decision_is_refused_and_says_who_made_the_first(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    resolve(cli, "abandoned")

    ended = resolve(cli, "completed", "--result", "1")

    assert (ended.code, ended.told) == (
        1,
        ["attempt a1: nothing has to be decided: it is abandoned, decided by ann"],
    )


@requirement("cli.ledger.refused")
def test_an_attempt_that_ended_by_itself_was_decided_by_nobody(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    resolve(cli, "retry")
    store.add(replace(CLAIM, attempt_id="a2"), PAID, ago=0)

    ended = resolve(cli, "abandoned", word="a2")

    assert (ended.code, ended.told) == (1, ["attempt a2: nothing has to be decided: it is completed"])


@requirement("cli.ledger.refused")
def test_an_attempt_that_another_has_replaced_is_not_there_any_more(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    resolve(cli, "retry")
    store.add(replace(CLAIM, attempt_id="a2", execution_id="exe-a2"), STARTED, ago=0)

    ended = resolve(cli, "abandoned")

    assert ended.code == 1
    assert ended.told[0].startswith("there is no attempt 'a1': ")
    assert "another one took its place" in ended.told[0]


# ── Who is asked ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.confirm")
def test_without_a_terminal_and_without_a_yes_nothing_is_decided(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    before = store.load()

    ended = cli("ledger", "resolve", "a1", "--decision", "retry", *WHY)

    assert (ended.code, ended.told) == (
        2,
        ["nobody can be asked whether to decide so (stderr is no terminal); --yes decides unasked"],
    )
    assert store.load() == before


def asked(cli: Cli, decision: str, *options: str) -> AbstractContextManager[Terminal]:
    """The command, at a terminal."""
    return terminal(cli, *options, command=("ledger", "resolve", "a1", "--decision", decision))


@requirement("cli.ledger.confirm")
def test_whoever_sits_at_the_terminal_sees_what_is_decided_and_agrees(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)

    with asked(cli, "completed", *WHY, "--result", '"paid"') as screen:
        screen.until(PROMPT)
        screen.type("y\r")
        out = screen.end()

    assert out.startswith(b"attempt a1 is decided: completed: ")
    assert [line.strip() for line in screen.shown.decode().splitlines()[:7]] == [
        (
            "attempt    a1: pay (execution exe-a1, attempt 1): outcome unknown: it started, and the world may have seen it;"
            " decide what happened"
        ),
        "tool       default:pay@1 of tenant acme",
        "key        order-1",
        "decision   completed: whoever asks for its key gets the result that you gave, and it is never run again",
        'result     "paid"',
        "evidence   ticket 7: the bank shows it",
        "by         ann",
    ]
    assert receipt_in(store).result == '"paid"'
    assert screen.popen.returncode == 0


@requirement("cli.ledger.confirm")
@pytest.mark.parametrize("typed", ["n\r", "\r", "yes please\r", "\x04"])
def test_everything_but_a_yes_is_a_no(typed: str) -> None:
    screen, tty = pty.openpty()

    def answer() -> None:
        shown = b""
        while PROMPT not in shown:
            shown += os.read(screen, 65_536)
        os.write(screen, typed.encode())

    person = threading.Thread(target=answer)
    person.start()
    try:
        with pytest.raises(Undone, match="nothing was decided"):
            trio.run(require_yes, Desk(tty, "utf-8"), ["what"])
        person.join()
    finally:
        os.close(screen)
        os.close(tty)


@requirement("cli.ledger.confirm")
def test_a_no_decides_nothing(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    before = store.load()

    with asked(cli, "abandoned", *WHY) as screen:
        screen.until(PROMPT)
        screen.type("n\r")
        assert screen.end() == b""

    assert b"armory-trio: nothing was decided" in screen.shown
    assert (screen.popen.returncode, store.load()) == (1, before)


@requirement("cli.ledger.confirm", "cli.ledger.streams")
def test_ctrl_c_at_the_question_decides_nothing(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    before = store.load()

    with asked(cli, "abandoned", *WHY) as screen:
        screen.until(PROMPT)
        screen.type("\x03")
        assert screen.end() == b""

    assert b"armory-trio: interrupted" in screen.shown
    assert b"Traceback" not in screen.shown
    assert (screen.popen.returncode, store.load()) == (130, before)


def _another_takes_its_place(store: Store) -> None:
    _somebody_lets_it_be_tried_again(store)
    store.add(replace(CLAIM, attempt_id="a2"), STARTED, ago=0)


def _it_is_forgotten(store: Store) -> None:
    _somebody_abandons_it(store)

    async def forget() -> None:
        async with open_store(store.where, clock=lambda: time.time() + 60) as opened:
            await opened.ledger.forget(ended_before=opened.now())

    trio.run(forget)


def _somebody_abandons_it(store: Store) -> None:
    _decide(store, "abandoned")


def _somebody_lets_it_be_tried_again(store: Store) -> None:
    _decide(store, "retry")


def _decide(store: Store, decision: Decision) -> None:
    receipt = json.dumps({"decision": decision, "authorized_by": "bob"})
    store.do(Resolve(key_text=CLAIM.key.text, attempt_id="a1", decision=decision, receipt=receipt))


@requirement("cli.ledger.refused", "cli.ledger.beside-host")
@pytest.mark.parametrize(
    ("meanwhile", "told"),
    [
        pytest.param(_somebody_abandons_it, "nothing has to be decided: it is abandoned, decided by bob", id="decided"),
        pytest.param(
            _somebody_lets_it_be_tried_again, "somebody was faster, and nothing is decided here", id="retried"
        ),
        pytest.param(
            _another_takes_its_place, "attempt a2 (number 2) took its place; nothing was decided", id="replaced"
        ),
        pytest.param(_it_is_forgotten, "it was released or forgotten; nothing was decided", id="forgotten"),
    ],
)
def test_who_was_faster_while_the_question_stood_there_is_said(
    meanwhile: Callable[[Store], None], told: str, cli: Cli, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(CLAIM, LOST)
    before: list[Attempt | None] = []

    class Slow(Desk):
        """Somebody who thinks for so long that others are faster, and then agrees."""

        async def say(self, text: str) -> None:
            pass

        async def line(self) -> str | None:
            await trio.to_thread.run_sync(meanwhile, store)
            before.append(await trio.to_thread.run_sync(store.load))
            return "y"

    screen, tty = pty.openpty()
    monkeypatch.setattr("armory_trio.cli._ledger_deciding.open_terminal", lambda: Slow(tty, "utf-8"))
    try:
        ended = cli("ledger", "resolve", "a1", "--decision", "completed", *WHY, "--result", "1")
    finally:
        os.close(screen)
        os.close(tty)

    assert told in " ".join(ended.told)
    assert (ended.code, ended.out, [store.load()]) == (1, b"", before)


@requirement("cli.ledger.confirm")
def test_in_the_background_of_its_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, tty = pty.openpty()

    def somebody_else(_terminal: int) -> int:
        return os.getpgrp() + 1

    monkeypatch.setattr(os, "tcgetpgrp", somebody_else)
    try:
        with pytest.raises(Unusable, match="this runs in the background"):
            trio.run(require_yes, Desk(tty, "utf-8"), ["what"])
    finally:
        os.close(screen)
        os.close(tty)


@requirement("cli.ledger.confirm")
def test_a_terminal_that_is_gone_agrees_to_nothing() -> None:
    screen, tty = pty.openpty()
    os.close(screen)
    try:
        with pytest.raises(Unusable, match="the terminal is gone"):
            trio.run(require_yes, Desk(tty, "utf-8"), ["what"])
    finally:
        os.close(tty)


@final
class Overtaken:
    """A ledger in which, as soon as somebody has looked, somebody else is faster."""

    def __init__(self, ledger: LedgerStore, looks: int, *meanwhile: Operation) -> None:
        self._ledger = ledger
        self._looks = looks
        self._meanwhile = meanwhile
        self.now = ledger.now
        self.apply = ledger.apply
        self.list = ledger.list
        self.forget = ledger.forget

    async def load(self, key_text: str, /) -> Attempt | None:
        found = await self._ledger.load(key_text)
        self._looks -= 1
        if not self._looks:
            for operation in self._meanwhile:
                await self._ledger.apply(operation)
        return found


@requirement("cli.ledger.refused")
@pytest.mark.parametrize("looks", [1, 2])
async def test_who_is_faster_between_the_last_look_and_the_decision_is_not_overruled(looks: int) -> None:
    now = [1_790_000_000.0]
    ledger = MemoryLedger(lambda: now[0])
    for operation in (CLAIM, *(deed(CLAIM.key.text, "a1") for deed in LOST)):
        await ledger.apply(operation)
    attempt = await ledger.load(CLAIM.key.text)
    assert attempt is not None
    receipt = receipt_for(attempt, "abandoned", evidence="e", authorized_by="ann", authorized_at=now[0])
    assert isinstance(receipt, ResolutionReceipt)
    asked = Resolution(
        word="a1",
        filters=Filters(),
        choice="abandoned",
        evidence="e",
        by="ann",
        result=None,
        nonce=None,
        keys=KEYS,
        domain="default",
        prints=False,
        yes=True,
    )
    retry = Resolve(
        key_text=CLAIM.key.text,
        attempt_id="a1",
        decision="retry",
        receipt="{}",
        claim=replace(CLAIM, attempt_id="a2"),
    )

    answer = await apply_decision(
        Overtaken(ledger, looks, retry),
        attempt,
        asked,
        await sign_receipt(KEYS, receipt, domain="default"),
        ledger.now,
    )

    assert isinstance(answer, FenceLost)
    assert answer.attempt is not None
    assert answer.attempt.attempt_id == "a2"


# ── Only the receipt ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.print")
def test_a_printed_receipt_changes_nothing_and_counts_with_a_call(cli: Cli, store: Store) -> None:
    ran: list[int] = []

    @tool
    async def pay() -> str:
        """Pay, and lose the line."""
        ran.append(1)
        raise ConnectionError("the line went dead")

    async def ask(receipt: ResolutionReceipt | None = None) -> ToolResult[object]:
        context = RequestContext(principal="ann", tenant="acme")
        async with (
            open_store(store.where) as opened,
            open_supervisor(Toolbox([pay]), ledger=opened.ledger, keys=KEYS, default_request_context=context) as host,
        ):
            return await host.execute(ToolCall("pay"), idempotency_key="order-1", resolution_receipt=receipt)

    trio.run(ask)
    [left] = cli("ledger", "list", "--json").lines
    ended = cli(
        "ledger", "resolve", "order-1", "--decision", "completed", "--result", '"paid"', *WHY, "--print"
    )  # nobody is asked, since nothing is decided
    [document] = ended.lines

    assert (ended.code, ended.told) == (0, [])
    assert cli("ledger", "list", "--json").lines[0]["state"] == left["state"] == "unknown"
    result = trio.run(ask, verified(document))
    assert (result.value, ran) == ("paid", [1])


@requirement("cli.ledger.print")
def test_a_receipt_that_could_not_count_is_not_printed(cli: Cli, store: Store) -> None:
    store.add(LIVE, STARTED, ago=0)

    ended = resolve(cli, "retry", "--print", word="live")

    assert (ended.code, ended.out) == (1, b"")


# ── Keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.keys")
def test_keys_are_base64_or_the_text_of_a_variable_and_the_first_one_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys.json"
    entries = [{"id": "new", "secret": "env:NEW_KEY"}, {"id": "old", "secret": base64.b64encode(b"\x00\xff").decode()}]
    path.write_text(json.dumps({"default": entries, "other": [{"id": "k", "secret": "AAAA"}]}))
    path.chmod(0o400)
    monkeypatch.setenv("NEW_KEY", "ein Schlüssel")

    keys = load_keys(str(path))

    same = Keyring(
        {
            "default": [SigningKey("new", "ein Schlüssel"), SigningKey("old", b"\x00\xff")],
            "other": [SigningKey("k", b"\0\0\0")],
        }
    )
    first, expected = keys.signing_key("default"), same.signing_key("default")
    assert first is not None
    assert expected is not None
    assert (first.id, first.mac(b"m")) == ("new", expected.mac(b"m"))
    for domain, key_id in (("default", "old"), ("other", "k")):
        found, wanted = keys.key(domain, key_id), same.key(domain, key_id)
        assert found is not None
        assert wanted is not None
        assert found.mac(b"m") == wanted.mac(b"m")


@requirement("cli.ledger.keys")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_file_that_others_have_rights_on_is_refused(mode: int, cli: Cli, store: Store) -> None:
    Path(cli.directory, "keys.json").chmod(mode)
    store.add(CLAIM, LOST)

    ended = resolve(cli, "abandoned")

    attempt = store.load()
    assert attempt is not None
    assert (ended.code, attempt.state) == (2, "unknown")
    assert f"others than its owner have rights on it (mode {mode:04o})" in ended.told[0]
    assert ended.told[0].endswith("chmod 600 it")


GEHEIM: Final = base64.b64encode(b"geheim geheim geheim").decode()


@requirement("cli.ledger.keys")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(f'{{"default": [{{"id": "k", "secret": "{GEHEIM}"]}}', "not strict JSON", id="no JSON"),
        pytest.param(f'["{GEHEIM}"]', "these are no keys; they look like", id="a list"),
        pytest.param(f'{{"default": ["{GEHEIM}"]}}', "these are no keys", id="no objects"),
        pytest.param(f'{{"default": [{{"id": "k", "{GEHEIM}": 1}}]}}', "these are no keys", id="another member"),
        pytest.param('{"default": [{"id": "k", "secret": 5}]}', "these are no keys", id="a number"),
        pytest.param('{"default": [{"id": "k", "secret": "geheim!"}]}', "neither base64 nor env:NAME", id="no base64"),
        pytest.param('{"default": [{"id": "k", "secret": "geheím"}]}', "neither base64 nor env:NAME", id="no ASCII"),
        pytest.param(
            '{"default": [{"id": "k", "secret": "env:NOT_SET"}]}', "variable 'NOT_SET', which is not", id="env"
        ),
        pytest.param('{"default": [{"id": "k", "secret": ""}]}', "secret is empty", id="an empty secret"),
        pytest.param(f'{{"default": [{{"id": "a b", "secret": "{GEHEIM}"}}]}}', "id must be 1 to 255", id="no id"),
        pytest.param('{"default": []}', "not empty", id="no key"),
        pytest.param(
            f'{{"a": [{{"id": "k", "secret": "{GEHEIM}"}}], "b": [{{"id": "k", "secret": "{GEHEIM}"}}]}}',
            "shares the secret of 'k' with 'a'",
            id="shared",
        ),
    ],
)
@pytest.mark.parametrize("debug", [(), ("--debug",)], ids=["plain", "debug"])
def test_wrong_keys_are_told_without_what_may_be_a_secret(
    text: str, told: str, debug: tuple[str, ...], cli: Cli, store: Store
) -> None:
    path = Path(cli.directory, "keys.json")
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)

    ended = resolve(cli, "abandoned", *debug)

    assert ended.code == 2
    assert told in ended.err
    assert f"armory-trio: {path}: " in ended.err
    for secret in (GEHEIM, "geheim", "geheím"):
        assert secret not in ended.err


@requirement("cli.ledger.keys")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "no keys to sign with: give --keys FILE, or set ARMORY_TRIO_KEYS"),
        ("none.json", "none.json: the keys can't be read: No such file"),
        (".", ".: the keys can't be read: Is a directory"),
        ("large.json", "it has more than 1048576 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    name: str, told: str, cli: Cli, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ARMORY_TRIO_KEYS")
    large = cli.directory / "large.json"
    large.write_bytes(b" " * ((1 << 20) + 1))
    large.chmod(0o600)

    ended = resolve(cli, "abandoned", *(["--keys", name] if name else []))

    assert (ended.code, len(ended.told)) == (2, 1)
    assert told in ended.told[0]


@requirement("cli.ledger.keys")
def test_keys_can_come_through_a_pipe(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(Path(key_file(tmp_path)).read_bytes())
    try:
        keys = load_keys(f"/dev/fd/{reading}")
    finally:
        os.close(reading)

    assert keys.key("default", "k1") is not None
