"""Letting at the command line what was done under other rules be told again."""

from __future__ import annotations

import json
from typing import Final

import pytest
import trio
from msgspec.structs import replace

from armory_trio import RequestContext, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.ledger import AuthorizationReceipt, receipt_from_json, verify_receipt
from armory_trio.storage.sql import open_store
from tests.requirements import requirement

from .attempts import CLAIM, KEYS, LOST, NEVER_STARTED, PAID, Deed, Store, key_file
from .commands import Cli, Ended
from .terminals import terminal

WHY: Final = ("--evidence", "the new rules allow it, too", "--by", "bob")
NEW: Final = "2026-09"


@pytest.fixture
def store(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that is there; the environment names it, and the keys."""
    where = str(cli.directory / "store.db")
    monkeypatch.setenv("ARMORY_TRIO_STORE", where)
    monkeypatch.setenv("ARMORY_TRIO_KEYS", key_file(cli.directory))
    return Store(where).create()


def authorize(cli: Cli, *options: str, word: str = "a1", under: str = NEW) -> Ended:
    """Allow it without being asked."""
    return cli("ledger", "authorize", word, "--under", under, "--yes", *WHY, *options)


def verified(document: object) -> AuthorizationReceipt:
    receipt = receipt_from_json(document)
    trio.run(lambda: verify_receipt(KEYS, receipt, domain="default"))
    assert isinstance(receipt, AuthorizationReceipt)
    return receipt


@requirement("cli.ledger.authorize")
def test_a_result_is_allowed_under_other_rules_by_a_receipt_that_is_kept(cli: Cli, store: Store) -> None:
    store.add(CLAIM, PAID)

    ended = authorize(cli)

    attempt = store.load()
    assert attempt is not None
    assert (ended.code, ended.told) == (0, [])
    assert "its result, recorded under 'policy:1', is told under '2026-09' from now on" in ended.out.decode()
    assert (attempt.policy_revision, attempt.state) == (NEW, "completed")
    receipt = verified(json.loads(attempt.authorization or ""))
    assert (receipt.recorded_under, receipt.authorized_by, receipt.evidence) == ("policy:1", "bob", WHY[1])

    shown = cli("ledger", "show", "a1").out.decode()
    document = json.loads(cli("ledger", "show", "a1", "--json").out)
    assert "allowed    to be told under 2026-09, by bob at " in shown
    assert document["authorization"]["policy_revision"] == NEW
    assert "paid in secret" not in shown


@requirement("cli.ledger.authorize")
@pytest.mark.parametrize("printed", [True, False], ids=["by a call", "at once"])
def test_a_host_tells_what_was_allowed_at_its_next_call(printed: bool, cli: Cli, store: Store) -> None:
    ran: list[int] = []

    @tool
    async def pay(cents: int) -> str:
        """Pay."""
        ran.append(cents)
        return "paid"

    her = RequestContext(principal="ann", tenant="acme")
    call = ToolCall("pay", {"cents": 5})

    async def main() -> list[str]:
        async with open_store(store.where) as opened:
            async with open_supervisor(Toolbox([pay]), ledger=opened.ledger, default_request_context=her) as host:
                await host.execute(call, idempotency_key="order-7")
            stricter = Toolbox([pay], policy_revision=NEW)
            async with open_supervisor(stricter, ledger=opened.ledger, keys=KEYS, default_request_context=her) as host:
                told = [await host.execute(call, idempotency_key="order-7")]
                options = ("--print",) if printed else ()
                ended = await trio.to_thread.run_sync(lambda: authorize(cli, *options, word="order-7"))
                receipt = receipt_from_json(json.loads(ended.out)) if printed else None
                told.append(await host.execute(call, idempotency_key="order-7", resolution_receipt=receipt))
        return [each.idempotency.outcome for each in told if each.idempotency is not None]

    assert trio.run(main) == ["authorization-required", "deduped"]
    assert ran == [5]


@requirement("cli.ledger.authorize")
@pytest.mark.parametrize(
    ("deeds", "under", "said"),
    [
        pytest.param(NEVER_STARTED, NEW, "there is no result that could be told: it is claimed", id="never started"),
        pytest.param(LOST, NEW, "there is no result that could be told: it is unknown", id="unknown"),
        pytest.param(PAID, "policy:1", "its result is told under 'policy:1' already", id="the same rules"),
    ],
)
def test_what_can_not_be_allowed_is_said_and_left_alone(
    deeds: tuple[Deed, ...], under: str, said: str, cli: Cli, store: Store
) -> None:
    store.add(CLAIM, deeds)
    before = store.load()

    ended = authorize(cli, under=under)

    assert ended.code == 1
    assert said in ended.told[0]
    assert store.load() == before


@requirement("cli.ledger.authorize")
@pytest.mark.parametrize("under", ["", " "], ids=["empty", "blank"])
def test_nothing_is_allowed_under_rules_without_a_name(under: str, cli: Cli, store: Store) -> None:
    store.add(CLAIM, PAID)
    before = store.load()

    ended = authorize(cli, under=under)

    assert (ended.code, ended.out, store.load()) == (2, b"", before)
    assert "policy_revision is blank" in ended.told[0]


@requirement("cli.ledger.authorize")
def test_what_was_brought_in_from_elsewhere_needs_nobody_who_allows_it(cli: Cli, store: Store) -> None:
    store.add(replace(CLAIM, policy_revision=""), PAID)

    ended = authorize(cli)

    assert (ended.code, "told under every policy" in ended.told[0]) == (1, True)


@requirement("cli.ledger.authorize", "cli.ledger.confirm")
def test_who_allows_it_is_asked_and_shown_what(cli: Cli, store: Store) -> None:
    store.add(CLAIM, PAID)
    before = store.load()
    with terminal(cli, *WHY, command=("ledger", "authorize", "a1", "--under", NEW)) as screen:
        screen.until(b"Decide so? y yes, n no [n] ")
        screen.type("n\r")
        assert screen.end() == b""

    assert b"recorded   under the policy 'policy:1'" in screen.shown
    assert b"under the policy '2026-09' is told its result" in screen.shown
    assert (screen.popen.returncode, store.load()) == (1, before)


@requirement("cli.ledger.authorize")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--yes", *WHY), "Missing option '--under'", id="no revision"),
        pytest.param(("--under", NEW, "--yes", "--by", "bob"), "authorize needs --evidence, for its receipt", id="why"),
        pytest.param(("--under", NEW, "--yes"), "authorize needs --evidence and --by", id="neither"),
    ],
)
def test_what_is_missing_is_named(arguments: tuple[str, ...], said: str, cli: Cli, store: Store) -> None:
    store.add(CLAIM, PAID)

    ended = cli("ledger", "authorize", "a1", *arguments)

    assert ended.code == 2
    assert said in " ".join(ended.told)
