"""The operator's command beside hosts that are running, on both kinds of stores; and its streams."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import psycopg
import pytest
import trio
from msgspec.structs import replace

from armory_trio.cli._ledger import run_telling
from armory_trio.cli._ledger_store import Unsure, open_existing
from armory_trio.errors import StoreUnavailable
from armory_trio.storage.sql import open_store
from tests.requirements import requirement
from tests.storage.servers import open_database, open_schema, run_sql

from .attempts import CLAIM, INSIDE, LIVE, LOST, PAID, STARTED, Store, claim, key_file
from .commands import BOUND, ROOT, Cli, Ended
from .terminals import terminal

WHY: Final = ("--evidence", "ticket 7", "--by", "ann", "--yes")


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The URL of a PostgreSQL database."""
    with open_database() as url:
        yield url


@pytest.fixture
def schema(database: str) -> Iterator[str]:
    """The URL of an empty schema of PostgreSQL's."""
    with open_schema(database) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be made."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    found: object = request.getfixturevalue("schema")
    assert isinstance(found, str)
    return found


OPERATOR: Final = """
import io, json, os, sys, tempfile
from armory_trio.cli._command import execute
from armory_trio.cli._streams import Streams
for words in json.loads(sys.argv[1]):
    sys.stderr = told = io.StringIO()
    with tempfile.TemporaryFile() as out:
        code = execute(["ledger", *words], lambda: Streams(0, out.fileno()))
        out.seek(0)
        print(json.dumps([code, out.read().decode(), told.getvalue()]))
"""
"""Does one command after the other: to start a process for each would show nothing more, and takes most of the time."""


def operate(cli: Cli, where: str, *commands: Sequence[str], **environment: str) -> list[Ended]:
    """``armory-trio ledger WORDS`` for each of the *commands*, in another process than this one."""
    named = {"ARMORY_TRIO_STORE": where, "ARMORY_TRIO_KEYS": str(cli.directory / "keys.json")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", OPERATOR, json.dumps(commands)],
        cwd=cli.directory,
        env={**os.environ, "PYTHONPATH": str(ROOT), **named, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=BOUND,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return [Ended(code, out.encode(), err) for code, out, err in map(json.loads, done.stdout.splitlines())]


# ── Beside a host ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.beside-host")
def test_everything_works_while_a_host_has_the_store_open(cli: Cli, where: str) -> None:
    key_file(cli.directory)
    store = Store(where)
    store.add(claim("k1", "old"), PAID, ago=200_000)
    store.add(claim("k2", "never"))
    store.add(replace(claim("k3", "inside"), windows_declared=True), INSIDE)
    store.add(claim("k4", "lost"), LOST)
    store.add(LIVE, STARTED, ago=0)

    commands = (
        ("list", "--json"),
        ("show", "exe-inside", "--json"),
        ("resolve", "never", "--decision", "release", "--yes"),
        ("resolve", "inside", "--decision", "completed", "--result", "5", *WHY),
        ("resolve", "k4", "--decision", "retry", *WHY),
        ("resolve", "live", "--decision", "retry", *WHY),
        ("forget", "--ended-before", "1d"),
        ("list", "--all", "--json"),
    )

    async def host() -> list[Ended]:
        async with open_store(where) as opened:
            await opened.ledger.list()
            ended = await trio.to_thread.run_sync(lambda: operate(cli, where, *commands))
            renewed = await opened.ledger.load(LIVE.key.text)
            assert renewed is not None
            assert renewed.state == "started"
            return ended

    listed, shown, released, completed, retried, live, forgotten, left = trio.run(host)

    assert [line["attempt_id"] for line in listed.lines] == ["never", "inside", "lost"]
    waits, held = listed.told
    assert (listed.code, waits) == (3, "2 attempts wait for a decision; show tells what can be done")
    assert held.startswith("besides, 1 is held by somebody now: ")
    assert [(line["attempt_id"], line["open_windows"]) for line in shown.lines] == [("inside", 1)]
    for ended in (shown, released, completed, retried, forgotten, left):
        assert (ended.code, ended.err) == (0, "")
    assert live.code == 1
    assert forgotten.out.startswith(b"1 attempt forgotten ")
    assert [(line["attempt_id"], line["state"], line["granted"]) for line in left.lines] == [
        ("inside", "completed", False),
        ("lost", "unknown", True),
        ("live", "started", False),
    ]


@requirement("cli.ledger.pages")
def test_pages_are_the_same_on_both_kinds_of_stores(cli: Cli, where: str) -> None:
    store = Store(where)
    for key in ("ä", "Z", "a", "→", "z" * 300, "z" * 300 + "!"):
        store.add(claim(key, f"id-{len(key)}-{ord(key[-1])}"))
    seen: list[object] = []
    after: tuple[str, ...] = ()

    while True:
        ended = cli("ledger", "list", "--store", where, "--json", "--limit", "1", *after)
        seen += [line["key_text"] for line in ended.lines]
        if not ended.told:
            break
        after = ("--after", str(ended.lines[0]["key_text"]))

    assert seen == sorted(seen, key=str)
    assert len(seen) == 6


@requirement("cli.ledger.no-store")
def test_on_a_server_without_tables_none_are_made(cli: Cli, schema: str) -> None:
    for words in (("list",), ("forget", "--ended-before", "1d")):
        ended = cli("ledger", *words, "--store", schema)

        assert (ended.code, len(ended.told)) == (2, 1)
        assert "there is no store here: it has none of the tables" in ended.told[0]
        assert run_sql(schema, "SELECT to_regclass('armory_store')") == [(None,)]


@requirement("cli.ledger.no-store")
def test_tables_of_an_older_version_are_left_to_the_host(cli: Cli, schema: str) -> None:
    Store(schema).add(CLAIM, LOST)
    run_sql(schema, "UPDATE armory_store SET version = 1")

    ended = cli("ledger", "list", "--store", schema)

    assert ended.code == 2
    assert "its tables are of version 1" in ended.told[0]
    assert run_sql(schema, "SELECT version FROM armory_store") == [(1,)]


@requirement("cli.ledger.no-store")
def test_a_driver_that_is_missing_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    ended = cli("ledger", "list", "--store", "postgresql://localhost:3/missing_driver")

    assert ended.code == 2
    assert "pip install 'armory-trio[postgres]'" in ended.told[0]


@requirement("cli.ledger.no-store")
def test_an_extra_that_is_missing_is_named(cli: Cli) -> None:
    program = (
        "import sys; sys.modules['sqlalchemy'] = None; sys.argv[1:] = ['ledger', 'list', '--store', 'store.db'];"
        " from armory_trio.cli import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cli.directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "armory-trio: a store needs sqlalchemy; pip install 'armory-trio[sql]'\n"


@requirement("cli.ledger.resolve", "cli.ledger.streams")
def test_a_signal_while_it_is_being_decided_says_that_nobody_knows(cli: Cli, schema: str) -> None:
    """The row is held by somebody else meanwhile, so that the decision waits."""
    key_file(cli.directory)
    Store(schema).add(CLAIM, LOST)
    named = {"ARMORY_TRIO_STORE": schema, "ARMORY_TRIO_KEYS": "keys.json"}
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'armory_trio' AND wait_event_type = 'Lock'"
    )

    with psycopg.connect(schema) as other:
        other.execute("SELECT * FROM armory_attempts FOR UPDATE")
        with cli.spawn("ledger", "resolve", "a1", "--decision", "abandoned", *WHY, **named) as process:
            deadline = time.monotonic() + BOUND
            while run_sql(schema, waiting) != [(1,)]:
                assert time.monotonic() < deadline
            process.signal(signal.SIGINT)
            said = process.error_line()
            other.rollback()
            ended = process.wait()

    assert said == "armory-trio: interrupted: it may be decided or not, and show a1 tells\n"
    assert (ended.code, ended.out) == (130, b"")
    assert "Traceback" not in ended.err


@requirement("cli.ledger.resolve")
async def test_an_answer_that_was_lost_is_said_to_be_neither_yes_nor_no(tmp_path: Path) -> None:
    where = str(tmp_path / "store.db")
    async with open_store(where):
        pass

    for maybe_done in (False, True):
        with pytest.raises(Exception, match="no answer") as caught:
            async with open_existing(where):
                raise StoreUnavailable("store.db", "no answer", maybe_done=maybe_done)
        assert isinstance(caught.value, Unsure) is maybe_done


@requirement("cli.ledger.exit")
def test_what_nobody_knows_has_a_code_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    async def lose() -> int:
        raise Unsure("it may be done or not")

    assert run_telling(lose) == 3
    assert capsys.readouterr().err == "armory-trio: it may be done or not\n"


# ── Streams and signals ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.ledger.streams")
@pytest.mark.parametrize("words", ["ledger list --help", "ledger list"])
@pytest.mark.parametrize(
    ("redirection", "told"),
    [
        pytest.param("> /dev/full", "standard output cannot be written: No space left on device", id="full"),
        pytest.param(">&-", "standard output ", id="closed"),
    ],
)
def test_an_output_that_cannot_be_written_is_said(words: str, redirection: str, told: str, cli: Cli) -> None:
    Store(str(cli.directory / "store.db")).add(CLAIM)
    ended = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m armory_trio {words} {redirection}', sys.executable],
        cwd=cli.directory,
        env=os.environ | {"PYTHONPATH": str(ROOT), "ARMORY_TRIO_STORE": "store.db"},
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )

    [line] = ended.stderr.splitlines()
    assert line.startswith(f"armory-trio: {told}")
    assert (ended.returncode, ended.stdout) == (2, "")


@requirement("cli.ledger.streams")
@pytest.mark.parametrize("words", ["--help", "list", "show a1"])
def test_a_reader_that_goes_away_is_quiet(words: str, cli: Cli) -> None:
    Store(str(cli.directory / "store.db")).add(CLAIM)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "armory_trio", "ledger", *words.split()],
            cwd=cli.directory,
            env=os.environ | {"PYTHONPATH": str(ROOT), "ARMORY_TRIO_STORE": "store.db"},
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=BOUND,
            check=False,
        )

    assert (ended.returncode, ended.stderr) == (141, b"")


@requirement("cli.ledger.streams")
def test_a_signal_ends_it_while_a_server_does_not_answer(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        url = f"postgresql://ann:geheim@127.0.0.1:{port}/db"
        with cli.spawn("ledger", "list", ARMORY_TRIO_STORE=url) as process:
            server.settimeout(BOUND)
            connection, _ = server.accept()
            process.signal(signal.SIGINT)
            ended = process.wait()
            connection.close()

    assert (ended.code, ended.out) == (130, b"")
    assert ended.err.startswith("\narmory-trio: interrupted")
    assert "Traceback" not in ended.err


@requirement("cli.ledger.streams")
@pytest.mark.parametrize("name", ["PYTHONIOENCODING=cp1252", "LC_ALL=C"])
def test_it_says_the_same_in_any_locale(name: str, cli: Cli) -> None:
    where = str(cli.directory / "store.db")
    Store(where).add(replace(claim("→", "a→"), tool_name="zahl→"), LOST)
    variable, _, value = name.partition("=")

    as_json, as_table = operate(cli, where, ("list", "--json"), ("list",), **{variable: value})

    assert as_json.out.isascii()
    assert as_json.lines[0]["attempt_id"] == "a→"
    assert "zahl→" in as_table.out.decode("utf-8")
    assert {as_json.code, as_table.code} == {3}


@requirement("cli.ledger.list")
@pytest.mark.parametrize(("setting", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_at_a_terminal_the_table_fits_it_and_is_colored_where_that_is_wanted(
    setting: dict[str, str], colored: bool, cli: Cli
) -> None:
    where = str(cli.directory / "store.db")
    Store(where).add(CLAIM, LOST)

    with terminal(
        cli, command=("ledger", "list"), results_too=True, **{"ARMORY_TRIO_STORE": where, "NO_COLOR": "", **setting}
    ) as screen:
        screen.end()

    text = screen.shown.decode()
    assert "ATTEMPT" in text
    assert ("\x1b[1;31m" in text) is colored
    assert ("\x1b[" in text) is colored
    assert screen.popen.returncode == 3
    if not colored:
        assert max(map(len, text.splitlines()[:-1])) <= 80
