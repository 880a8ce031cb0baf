"""Looking at what hosts left behind: which attempts, what is said of them, and what is not."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, get_args

import pytest
import trio
from msgspec.structs import replace

from armory_trio import RequestContext, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.cli._ledger import CHOICES, STATES
from armory_trio.cli._ledger_finding import key_of
from armory_trio.cli._ledger_looking import instant_of
from armory_trio.cli._ledger_view import utc
from armory_trio.ledger import AttemptState, Choice, Claim, Resolve, legacy_entry
from armory_trio.storage.sql import open_store
from tests.requirements import requirement

from .attempts import (
    CLAIM,
    HOUR,
    INSIDE,
    LIVE,
    LOST,
    NEVER_STARTED,
    PAID,
    STARTED,
    WINDOWS,
    Deed,
    Store,
    claim,
)
from .commands import Cli, Ended

WAITS: Final = "1 attempt waits for a decision; show tells what can be done"


@pytest.fixture
def store(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that is there, and that the environment names."""
    where = str(cli.directory / "store.db")
    monkeypatch.setenv("ARMORY_TRIO_STORE", where)
    return Store(where).create()


def ids(ended: Ended) -> list[object]:
    return [line["attempt_id"] for line in ended.lines]


def shown(ended: Ended, name: str) -> str:
    """What stands beside *name*."""
    [line] = [line for line in ended.out.decode().splitlines() if re.match(f"{name}  ", line)]
    return line.removeprefix(name).strip()


# ── list ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.list")
def test_by_default_those_are_listed_that_have_no_end_and_that_nobody_is_at(cli: Cli, store: Store) -> None:
    store.add(claim("k1", "never"))
    store.add(replace(claim("k2", "safe"), windows_declared=True), STARTED)
    store.add(claim("k3", "unknown"), STARTED)
    store.add(claim("k4", "done"), PAID)
    store.add(LIVE, STARTED, ago=0)

    ended = cli("ledger", "list", "--json")

    assert [(line["attempt_id"], line["truth"], line["needs_decision"]) for line in ended.lines] == [
        ("never", "never-started", False),
        ("safe", "safe", False),
        ("unknown", "unknown", True),
    ]
    held = "besides, 1 is held by somebody now: list again when no lease is live, or with --all"
    assert (ended.code, ended.told) == (3, [WAITS, held])


@requirement("cli.ledger.held")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param("", "no attempt needs anybody yet; 2 are held by somebody now", id="all"),
        pytest.param("--tool pay", "no attempt fits yet; 2 are held by somebody now", id="of a tool"),
        pytest.param("--host host-2", "no attempt fits yet; 1 is held by somebody now", id="of a host"),
        pytest.param("--host host-3", "no attempt fits", id="of another host"),
        pytest.param("--state unknown", "no attempt fits", id="of a state"),
    ],
)
def test_where_leases_are_live_it_is_said_how_many_are_held(options: str, told: str, cli: Cli, store: Store) -> None:
    store.add(claim("k1", "done"), PAID)
    store.add(LIVE, STARTED, ago=0)
    store.add(replace(claim("k2", "claimed"), lease=10_000.0, cap=20_000.0, host="host-2"), ago=0)

    ended = cli("ledger", "list", *options.split())

    assert (ended.code, ended.out, len(ended.told)) == (0, b"", 1)
    assert ended.told[0].partition(":")[0] == told


@requirement("cli.ledger.held")
def test_a_page_of_several_does_not_say_how_many_are_held(cli: Cli, store: Store) -> None:
    for name in ("k1", "k2"):
        store.add(claim(name, name), STARTED)
    store.add(replace(LIVE, key=replace(LIVE.key, key="a first one")), STARTED, ago=0)

    ended = cli("ledger", "list", "--limit", "1")

    assert [line for line in ended.told if "held" in line] == []


@requirement("cli.ledger.list")
def test_all_are_listed_when_asked_for_and_what_runs_is_said_to_run(cli: Cli, store: Store) -> None:
    store.add(claim("k1", "done"), PAID)
    store.add(LIVE, STARTED, ago=0)

    ended = cli("ledger", "list", "--all", "--json")

    [done, live] = ended.lines
    assert (done["state"], done["truth"], done["live"]) == ("completed", None, False)
    assert (live["state"], live["truth"], live["live"]) == ("started", None, True)
    assert "running on host-1, whose lease is live for 2 h more" in str(live["words"])
    assert ended.code == 0


@requirement("cli.ledger.list")
def test_the_table_says_in_words_what_is_true_of_each(cli: Cli, store: Store) -> None:
    store.add(replace(claim("k1", "a1"), windows_declared=True), INSIDE, ago=2 * HOUR)
    store.add(claim("k2", "longer"), NEVER_STARTED)

    ended = cli("ledger", "list")

    assert ended.out.decode().splitlines() == [
        "ATTEMPT  TENANT  SINCE  WHAT IS TRUE",
        (
            "a1       acme    2 h    pay (execution exe-a1, attempt 1): outcome unknown: it was inside an effect window;"
            " decide what happened"
        ),
        "longer   acme    1 h    pay (execution exe-longer, attempt 1): never started; safe to run again",
    ]


@requirement("cli.ledger.list")
def test_what_may_be_tried_again_by_a_decision_waits_for_none(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    store.do(Resolve(key_text=CLAIM.key.text, attempt_id="a1", decision="retry", receipt="{}"))

    ended = cli("ledger", "list", "--json")

    [line] = ended.lines
    assert (line["granted"], line["needs_decision"]) == (True, False)
    assert (ended.code, ended.told) == (0, [])


@requirement("cli.ledger.exit")
def test_where_nothing_was_left_behind_that_is_said_and_all_is_well(cli: Cli, store: Store) -> None:
    ended = cli("ledger", "list")

    assert (ended.code, ended.out, ended.told) == (0, b"", ["no attempt needs anybody"])
    assert cli("ledger", "list", "--all").told == ["no attempt fits"]


@requirement("cli.ledger.exit")
def test_what_can_be_run_again_needs_no_decision(cli: Cli, store: Store) -> None:
    store.add(CLAIM, NEVER_STARTED)
    store.add(replace(claim("k2", "reads"), read_only=True), STARTED)

    assert cli("ledger", "list").code == 0


@requirement("cli.ledger.filters")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        pytest.param("--tenant other", ["b"], id="tenant"),
        pytest.param("--tool refund", ["c", "d"], id="tool"),
        pytest.param("--tool default:refund", ["c", "d"], id="tool id"),
        pytest.param("--tool default:refund@2", ["d"], id="tool and version"),
        pytest.param("--tool default:ref", [], id="no part of a tool"),
        pytest.param("--host host-2", ["e"], id="host"),
        pytest.param("--state unknown", ["a", "e", "b"], id="state"),
        pytest.param("--state claimed --state completed", ["f", "c", "d"], id="states"),
        pytest.param("--state claimed --tool refund --tenant acme", ["c", "d"], id="together"),
    ],
)
def test_filters_choose(options: str, found: list[str], cli: Cli, store: Store) -> None:
    store.add(claim("k1", "a"), STARTED)
    store.add(claim("k1", "b", tenant="other"), STARTED)
    store.add(claim("k1", "c", tool="refund"))
    store.add(claim("k1", "d", tool="refund", version=2))
    store.add(replace(claim("k2", "e"), host="host-2"), STARTED)
    store.add(claim("k3", "f"), PAID)

    assert ids(cli("ledger", "list", "--json", *options.split())) == found


@requirement("cli.ledger.filters")
def test_the_command_knows_every_state_and_every_decision() -> None:
    assert get_args(AttemptState) == STATES
    assert get_args(Choice) == CHOICES


@requirement("cli.ledger.filters")
def test_a_state_and_all_states_contradict_each_other(cli: Cli, store: Store) -> None:
    ended = cli("ledger", "list", "--all", "--state", "unknown")

    assert ended.code == 2
    assert ended.told[0].startswith("--all lists every state, so --state contradicts it")


@requirement("cli.ledger.pages")
def test_a_page_says_how_to_go_on(cli: Cli, store: Store) -> None:
    for number in range(5):
        store.add(claim(f"it's {number}", f"a{number}"))
        store.add(claim(f"it's {number}!", f"live{number}") if not number else replace(LIVE, attempt_id=f"l{number}"))
    seen: list[object] = []
    after: list[str] = []

    for _ in range(3):
        ended = cli("ledger", "list", "--json", "--limit", "2", *after)
        seen += ids(ended)
        if not ended.told:
            break
        [told] = ended.told
        after = shlex.split(told.removeprefix("there are more: "))

    assert seen == ["live0", "a0", "a1", "a2", "a3", "a4"]


@requirement("cli.ledger.pages")
def test_more_than_one_page_of_the_store_is_looked_through(
    cli: Cli, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armory_trio.cli._ledger_finding._PAGE", 2)
    for number in range(5):
        store.add(claim(f"k{number}", f"a{number}"))

    assert len(cli("ledger", "list", "--json").lines) == 5
    assert len(cli("ledger", "list", "--json", "--limit", "4").lines) == 4
    assert shown(cli("ledger", "show", "a4"), "key") == "k4"


@requirement("cli.ledger.pages")
def test_what_is_no_text_is_no_place_to_go_on_from(cli: Cli, store: Store) -> None:
    ended = cli("ledger", "list", "--after", "\udcff")

    assert ended.code == 2
    assert ended.told[0].startswith("--after is no text")


# ── What is private ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.private")
@pytest.mark.parametrize("options", ["list --all", "list --all --json", "show a1", "show a1 --json"])
def test_arguments_and_results_are_shown_to_nobody_who_did_not_ask(options: str, cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    receipt = json.dumps({"decision": "completed", "authorized_by": "ann", "authorized_at": 0, "result": '"secret"'})
    store.do(
        Resolve(
            key_text=CLAIM.key.text, attempt_id="a1", decision="completed", receipt=receipt, result='"paid in secret"'
        )
    )

    ended = cli("ledger", *options.split())

    assert b"a1" in ended.out
    assert b"secret" not in ended.out


@requirement("cli.ledger.private")
def test_whoever_asks_for_them_sees_arguments_and_result(cli: Cli, store: Store) -> None:
    store.add(CLAIM, PAID)

    ended = cli("ledger", "show", "a1", "--arguments", "--result")
    [line] = cli("ledger", "show", "a1", "--arguments", "--result", "--json").lines

    assert shown(ended, "arguments") == '{"card":"secret","cents":500}'
    assert shown(ended, "result") == '"paid in secret"'
    assert (line["arguments"], line["result"]) == ({"card": "secret", "cents": 500}, "paid in secret")


@requirement("cli.ledger.private")
def test_what_is_shown_cannot_steer_the_terminal(cli: Cli, store: Store) -> None:
    odd = "\x1b[2J\n\ud800→"
    store.add(replace(claim(odd, odd, tenant=odd), tool_name=odd, host=odd, execution_id=odd, arguments=f'"{odd}"'))

    for options in ("list", "show"):
        ended = cli("ledger", options, *([odd, "--arguments"] if options == "show" else []))
        assert ended.code == 0
        assert b"\x1b" not in ended.out
        assert "\\x1b[2J\\n\\ud800→" in ended.out.decode()
    [line] = cli("ledger", "show", odd, "--arguments", "--json").lines
    assert (line["attempt_id"], line["arguments"]) == (odd, f'"{odd}"')  # which is no JSON, so it is shown as it is


# ── show ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.show")
def test_everything_about_one_attempt_is_shown(cli: Cli, store: Store) -> None:
    store.add(replace(CLAIM, windows_declared=True), WINDOWS)

    ended = cli("ledger", "show", "a1")

    attempt = store.load()
    assert attempt is not None
    assert attempt.started_at is not None
    assert ended.out.decode().splitlines()[:-5] == [
        (
            "is         pay (execution exe-a1, attempt 1): outcome unknown: an effect happened, and the end was not recorded;"
            " decide what to tell"
        ),
        "attempt    a1 (number 1 of its key)",
        "state      unknown",
        "tool       pay (default:pay@1)",
        "tenant     acme",
        "key        order-1",
        "execution  exe-a1",
        "host       host-1",
        "policy     policy:1",
        "effect     completed",
        "windows    all are closed; together they came to: completed",
        f"claimed    {utc(attempt.claimed_at)} (1 h ago)",
        f"started    {utc(attempt.started_at)} (1 h ago)",
        f"ended      {utc(attempt.lease_expires_at)} (59 min ago)",
        f"lease      over since {utc(attempt.lease_expires_at)} (59 min ago); never renewed beyond {utc(attempt.deadline)}",
        "receipt    none: nobody has decided about it",
        "arguments  29 characters, not shown; --arguments shows them",
    ]
    assert ended.code == 0


@requirement("cli.ledger.show")
def test_times_are_those_of_the_calendar_in_utc() -> None:
    assert utc(1_790_000_000.9) == "2026-09-21T14:13:20Z"
    assert utc(1e14) == "100000000000000.0"


@requirement("cli.ledger.show")
@pytest.mark.parametrize(
    ("given", "deeds", "told"),
    [
        pytest.param(CLAIM, STARTED, "the tool does not say where it changes anything", id="undeclared"),
        pytest.param(replace(CLAIM, read_only=True), STARTED, "the tool only reads", id="read-only"),
        pytest.param(replace(CLAIM, windows_declared=True), STARTED, "none was entered", id="unopened"),
        pytest.param(
            replace(CLAIM, windows_declared=True), INSIDE, "1 is open; those that are closed came to: none", id="1"
        ),
        pytest.param(replace(CLAIM, windows_declared=True), (*INSIDE, INSIDE[1]), "2 are open", id="2"),
    ],
)
def test_its_windows_are_told(given: Claim, deeds: tuple[Deed, ...], told: str, cli: Cli, store: Store) -> None:
    store.add(given, deeds)

    assert shown(cli("ledger", "show", "a1"), "windows").startswith(told)


@requirement("cli.ledger.show")
def test_the_decision_that_it_stands_by_is_shown(cli: Cli, store: Store) -> None:
    store.add(CLAIM, LOST)
    receipt = json.dumps(
        {"decision": "abandoned", "authorized_by": "ann", "authorized_at": 1_790_000_000.9, "evidence": "ticket 7"}
    )
    store.do(Resolve(key_text=CLAIM.key.text, attempt_id="a1", decision="abandoned", receipt=receipt))

    ended = cli("ledger", "show", "a1")

    assert shown(ended, "receipt") == "abandoned, by ann at 2026-09-21T14:13:20Z: ticket 7"
    assert shown(ended, "next") == "nothing has to be decided"


@requirement("cli.ledger.show")
def test_of_an_entry_that_was_brought_in_what_is_not_known_is_said(cli: Cli, store: Store) -> None:
    store.do(*legacy_entry(CLAIM.key, "pay", 1_700_000_000.25))

    ended = cli("ledger", "show", "legacy:1700000000.25")

    assert shown(ended, "policy") == "not known"
    assert shown(ended, "arguments") == "not known"
    [line] = cli("ledger", "show", "order-1", "--arguments", "--json").lines
    assert line["arguments"] is None


@requirement("cli.ledger.next")
def test_what_can_be_done_next_is_a_command_that_works(cli: Cli, store: Store) -> None:
    odd = "-it's odd"
    store.add(replace(claim("k1", odd), windows_declared=True), STARTED)

    ended = cli("ledger", "show", "--store", "store.db", "--", odd)
    lines = ended.out.decode().splitlines()
    following = [line.strip() for line in lines[lines.index("next       one of these") + 1 :]]

    assert following == [
        "armory-trio ledger resolve --store store.db --decision release -- '-it'\"'\"'s odd'",
        (
            "armory-trio ledger resolve --store store.db --decision retry --evidence WHY --by WHO --keys FILE"
            " -- '-it'\"'\"'s odd'"
        ),
        (
            "armory-trio ledger resolve --store store.db --decision completed --evidence WHY --by WHO --result JSON"
            " --keys FILE -- '-it'\"'\"'s odd'"
        ),
        (
            "armory-trio ledger resolve --store store.db --decision abandoned --evidence WHY --by WHO --keys FILE"
            " -- '-it'\"'\"'s odd'"
        ),
    ]
    _, *words = shlex.split(following[0])
    assert cli(*words, "--yes").code == 2  # behind the two dashes it is no option
    for verb in ("show", "resolve", "authorize"):
        [told] = cli("ledger", verb, "-x1").told
        assert "An ATTEMPT that begins with a dash stands behind two dashes, and last: -- -x1" in told
    assert cli(*words[:-2], "--yes", *words[-2:]).code == 0
    assert store.load(claim("k1", odd)) is None


@requirement("cli.ledger.next")
def test_a_file_of_keys_that_the_environment_names_is_not_asked_for(
    cli: Cli, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(CLAIM, STARTED)
    before = cli("ledger", "show", "a1").out.decode()
    monkeypatch.setenv("ARMORY_TRIO_KEYS", "keys.json")

    after = cli("ledger", "show", "a1").out.decode()

    assert (before.count("--keys FILE"), after.count("--keys")) == (3, 0)


@requirement("cli.ledger.next")
def test_while_somebody_may_be_at_it_there_is_nothing_to_do(cli: Cli, store: Store) -> None:
    store.add(LIVE, STARTED, ago=0)

    ended = cli("ledger", "show", "live")

    assert shown(ended, "next").startswith("nothing can be decided while its lease is live")
    assert "in 2 h" in shown(ended, "lease")


@requirement("cli.ledger.find")
@pytest.mark.parametrize("word", ["a1", "exe-a1", "order-1", CLAIM.key.text])
def test_an_attempt_is_found_by_its_id_its_execution_or_its_key(word: str, cli: Cli, store: Store) -> None:
    store.add(CLAIM)
    store.add(claim("order-2", "a2"))

    assert shown(cli("ledger", "show", word), "attempt").startswith("a1 ")


@requirement("cli.ledger.find")
def test_of_several_that_fit_the_candidates_are_named_and_filters_choose(cli: Cli, store: Store) -> None:
    store.add(CLAIM)
    store.add(claim("order-1", "a2", tenant="other"))
    store.add(claim("order-1", "a3", tool="refund"))

    ended = cli("ledger", "show", "order-1")

    assert ended.code == 2
    assert ended.told == [
        (
            "3 attempts fit 'order-1': a1 (tool default:pay@1, tenant acme), a3 (tool default:refund@1, tenant acme), a2"
            " (tool default:pay@1, tenant other); name one by its id, or add --tenant and --tool"
        )
    ]
    assert cli("ledger", "show", "order-1", "--tenant", "acme", "--tool", "refund").code == 0
    for number in range(5):
        store.add(claim("order-1", f"b{number}", tenant=f"t{number}"))
    assert " and 3 more; name" in cli("ledger", "show", "order-1").told[0]


@requirement("cli.ledger.find")
def test_an_id_is_meant_before_a_key_that_reads_like_it(cli: Cli, store: Store) -> None:
    store.add(CLAIM)
    store.add(claim("a1", "a2"))

    assert shown(cli("ledger", "show", "a1"), "key") == "order-1"


@requirement("cli.ledger.find")
def test_one_that_is_not_there_is_said_not_to_be(cli: Cli, store: Store) -> None:
    store.add(CLAIM)

    for options in ([], ["--tenant", "other"]):
        ended = cli("ledger", "show", "order-1" if options else "nothing", *options)
        assert ended.code == 1
        assert ended.told[0].startswith("there is no attempt '")
        assert ("among those that fit" in ended.told[0]) is bool(options)


@requirement("cli.ledger.find")
@pytest.mark.parametrize("text", ["no JSON", "[1, 2, 3]", '["a","b"]'])
def test_a_key_that_somebody_else_wrote_is_shown_as_it_is(text: str, cli: Cli, store: Store) -> None:
    store.add(CLAIM)
    attempt = store.load()
    assert attempt is not None

    assert key_of(replace(attempt, key=text)) == text


# ── forget ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.forget")
def test_what_ended_long_ago_is_counted_and_then_forgotten(cli: Cli, store: Store) -> None:
    store.add(claim("k1", "old"), PAID, ago=72 * HOUR)
    store.add(claim("k2", "left"), STARTED, ago=72 * HOUR)
    store.add(claim("k3", "new"), PAID)

    counted = cli("ledger", "forget", "--ended-before", "2d", "--dry-run")
    assert len(cli("ledger", "list", "--all", "--json").lines) == 3
    done = cli("ledger", "forget", "--ended-before", "2d")

    assert re.fullmatch(r"1 attempt would be forgotten that ended before \S+Z\n", counted.out.decode())
    assert re.fullmatch(r"1 attempt forgotten that ended before \S+Z\n", done.out.decode())
    assert (counted.code, done.code) == (0, 0)
    assert ids(cli("ledger", "list", "--all", "--json")) == ["left", "new"]
    assert cli("ledger", "forget", "--ended-before", "2d").out.startswith(b"0 attempts forgotten ")


@requirement("cli.ledger.forget")
@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("30d", 10_000_000.0 - 30 * 86_400),
        ("1.5h", 10_000_000.0 - 5_400),
        ("90 m", 10_000_000.0 - 5_400),
        ("0s", 10_000_000.0),
        ("2w", 10_000_000.0 - 14 * 86_400),
        ("9000w", 0.0),
        ("1970-01-02", 86_400.0),
        ("1970-01-01T12:00:00+02:00", 36_000.0),
        ("1970-01-01T12:00:00Z", 43_200.0),
        ("1960-01-01", 0.0),
    ],
)
def test_an_instant_is_a_time_ago_or_a_date(text: str, instant: float) -> None:
    assert instant_of(text)(10_000_000.0) == instant


@requirement("cli.ledger.forget")
@pytest.mark.parametrize("text", ["soon", "30", "-3d", "3 years", "", "2026-13-01", "9" * 400 + "d", "٣d"])
def test_what_is_no_instant_is_refused(text: str, cli: Cli, store: Store) -> None:
    ended = cli("ledger", "forget", f"--ended-before={text}")

    assert ended.code == 2
    assert "is neither a time before now, such as 30d or 12h, nor a date, such as 2026-09-01" in ended.told[0]


@requirement("cli.ledger.forget")
def test_an_instant_that_is_to_come_is_refused(cli: Cli, store: Store) -> None:
    store.add(CLAIM, PAID)

    ended = cli("ledger", "forget", "--ended-before", "9998-01-01")

    assert ended.code == 2
    assert "is not over yet" in ended.told[0]
    assert store.load() is not None


# ── Stores ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def everything(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.startswith(".")}


def _no_file(directory: Path) -> str:
    return "typo.db"


def _an_empty_file(directory: Path) -> str:
    (directory / "empty.db").touch()
    return "empty.db"


def _another_database(directory: Path) -> str:
    with closing(sqlite3.connect(directory / "other.db")) as connection:
        connection.execute("CREATE TABLE bills (id INTEGER)")
        connection.commit()
    return "other.db"


def _no_database(directory: Path) -> str:
    (directory / "words.txt").write_text("These are words. " * 100)
    return "words.txt"


def _a_directory(directory: Path) -> str:
    return "."


def _an_older_store(directory: Path) -> str:
    with closing(sqlite3.connect(directory / "older.db")) as connection:
        connection.execute("CREATE TABLE armory_store (id INTEGER PRIMARY KEY, version INTEGER, latest DOUBLE)")
        connection.execute("INSERT INTO armory_store VALUES (1, 1, NULL)")
        connection.commit()
    return "older.db"


@requirement("cli.ledger.no-store")
@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        pytest.param(_no_file, "there is no such file, and none is made", id="missing"),
        pytest.param(_an_empty_file, "there is no store here", id="empty"),
        pytest.param(_another_database, "there is no store here", id="another database"),
        pytest.param(_no_database, "the file is no SQLite database", id="no database"),
        pytest.param(_a_directory, "this is no file", id="directory"),
        pytest.param(_an_older_store, "its tables are of version 1", id="older"),
    ],
)
@pytest.mark.parametrize(
    "words", ["list", "show a1", "resolve a1 --decision release --yes", "forget --ended-before 1d"]
)
def test_looking_makes_no_store_and_changes_no_other_file(
    words: str, prepare: Callable[[Path], str], told: str, cli: Cli
) -> None:
    where = prepare(cli.directory)
    before = everything(cli.directory)

    command, *options = words.split()
    ended = cli("ledger", command, "--store", where, *options)

    assert (ended.code, ended.out) == (2, b"")
    assert len(ended.told) == 1
    assert told in ended.told[0]
    assert everything(cli.directory) == before


@requirement("cli.ledger.no-store")
@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("", "no store: give --store, or set ARMORY_TRIO_STORE"),
        (":memory:", "is no path of a file"),
        ("mysql://ann:geheim@host/db", "mysql:// is neither postgresql:// nor a path"),
        ("postgresql://ann:geheim@127.0.0.1:1/db", "postgresql://127.0.0.1:1/db: the server can't be reached"),
        ("missing/store.db", "there is no such file"),
        pytest.param("long" * 100, "File name too long", id="too long"),
    ],
)
def test_a_place_that_cannot_be_used_is_told_without_its_password(where: str, told: str, cli: Cli) -> None:
    ended = cli("ledger", "list", "--store", where)

    assert ended.code == 2
    assert len(ended.told) == 1
    assert told in ended.told[0]
    assert "geheim" not in ended.err


@requirement("cli.ledger.beside-host")
def test_a_host_that_is_running_is_not_disturbed(cli: Cli, store: Store) -> None:
    """The host has the file open, and a call in flight, while the operator looks, in processes of their own."""

    started, release = trio.Event(), trio.Event()
    store.add(CLAIM, LOST)

    @tool
    async def wait() -> str:
        """Run until it is let go."""
        started.set()
        await release.wait()
        return "done"

    async def main() -> tuple[list[tuple[bool, object]], tuple[object, bool]]:
        async with (
            open_store(store.where) as opened,
            open_supervisor(
                Toolbox([wait]),
                ledger=opened.ledger,
                default_request_context=RequestContext(principal="ann", tenant="acme"),
            ) as host,
        ):
            execution = host.start(ToolCall("wait"), idempotency_key="k")
            await started.wait()
            with trio.fail_after(60):
                ended = await trio.to_thread.run_sync(lambda: cli("ledger", "list", "--all", "--json"))
            release.set()
            result = await execution.result()
            assert result.idempotency is not None
            return [(line["attempt_id"] == "a1", line["live"]) for line in ended.lines], (
                result.value,
                result.idempotency.recorded,
            )

    assert trio.run(main) == ([(True, False), (False, True)], ("done", True))
