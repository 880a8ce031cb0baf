"""``armory-trio top`` without a screen: one frame or many, as text or JSON, of the host that is found."""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.requirements import requirement

from .commands import BOUND, Cli, Ended, Process
from .live_hosts import EVIL, live_host

KEYS = {
    *("version", "at", "host", "totals", "rates", "limits", "limits_left_out"),
    *("matched", "offset", "executions", "detail"),
}


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path, where the sockets of this test are."""
    with tempfile.TemporaryDirectory(prefix="at-") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", made)
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


@requirement("cli.top.once", "cli.top.finds")
def test_one_frame_of_the_one_host_that_runs_is_printed(cli: Cli, folder: Path) -> None:
    with live_host(None, "ada", "bob", "cyd") as host:
        ended = cli("top", "--once", "--sort", "owner", "--limit", "2")

    lines = ended.out.decode().splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert lines[0].startswith(f"host pid {os.getpid()} on ")
    assert lines[1:4] == ["live 3  no rates yet", "active 2  queued 1", "limits: group:web 2/2 +1 wait"]
    assert lines[4].split()[:3] == ["STATE", "TOOL", "OWNER+"]
    assert [line.split()[2] for line in lines[5:7]] == ["ada", "bob"]
    assert host.ids[0] in lines[5]
    assert lines[7:] == ["and 1 more"]


@requirement("cli.top.once")
def test_one_frame_as_json_is_one_object_with_the_documented_keys(cli: Cli, folder: Path) -> None:
    with live_host(folder / "s", "ada", "bob", "cyd"):
        ended = cli("top", "--once", "--json", "--socket", str(folder / "s"), "--filter", "owner=b*,owner=c*")

    [told] = ended.lines
    assert set(told) == KEYS
    assert told["version"] == 1
    assert told["matched"] == 2
    executions = cast("list[dict[str, object]]", told["executions"])
    assert [each["owner_id"] for each in executions] == ["bob", "cyd"]


@requirement("cli.top.once", "cli.top.hostile")
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_terminal_of_any_kind_gets_a_text_that_it_can_show(encoding: str, cli: Cli, folder: Path) -> None:
    with live_host(folder / "s", EVIL + "\ud800", name=EVIL):
        ended = _spawned(cli, "top", "--once", "--socket", str(folder / "s"), PYTHONIOENCODING=encoding)

    text = ended.out.decode(encoding)
    assert ended.code == 0
    assert all(line.isprintable() for line in text.splitlines())
    assert "\\x1b[2J\\u202eevil\\x07" in text
    assert ("\u2192" in text) is (encoding == "utf-8")


@requirement("cli.top.once", "cli.top.hostile")
def test_json_is_ascii_whatever_the_locale_is(cli: Cli, folder: Path) -> None:
    with live_host(folder / "s", EVIL + "\ud800", name=EVIL):
        ended = cli("top", "--once", "--json", "--socket", str(folder / "s"))

    told = json.loads(ended.out)
    assert ended.out.isascii()
    assert told["host"]["name"] == EVIL
    assert told["executions"][0]["owner_id"] == EVIL + "\\ud800"


@requirement("cli.top.json")
def test_lines_of_json_come_until_a_signal_does(cli: Cli, folder: Path) -> None:
    with live_host(folder / "s", "ada"), _streaming(cli, folder) as process:
        for _ in range(3):
            assert set(process.line()) == KEYS
        process.signal(signal.SIGTERM)
        ended = process.end()

    assert (ended.code, ended.err) == (143, "")
    assert all(set(line) == KEYS for line in ended.lines)


@requirement("cli.top.json")
def test_lines_of_json_end_when_the_host_does(cli: Cli, folder: Path) -> None:
    with live_host(folder / "s", "ada") as host, _streaming(cli, folder) as process:
        process.line()
        host.stop()
        ended = process.end()

    assert (ended.code, ended.told) == (1, ["the host is gone"])


@requirement("cli.top.json")
def test_a_reader_that_goes_away_ends_the_lines_quietly(cli: Cli, folder: Path) -> None:
    with live_host(folder / "s", "ada"), _streaming(cli, folder) as process:
        process.line()
        assert process.popen.stdout is not None
        process.popen.stdout.close()
        code = process.popen.wait(BOUND)
        assert process.popen.stderr is not None
        said = process.popen.stderr.read()
        process.popen.stdout = None

    assert (code, said) == (141, b"")


def _streaming(cli: Cli, folder: Path) -> Process:
    return cli.spawn("top", "--json", "--interval", "0.1", "--socket", str(folder / "s"))


def _spawned(cli: Cli, *arguments: str, **environment: str) -> Ended:
    with cli.spawn(*arguments, **environment) as process:
        return process.end()


@requirement("cli.top.finds")
def test_several_hosts_are_listed_to_choose_from(cli: Cli, folder: Path) -> None:
    with live_host(None, name="one") as one, live_host(None, name="two") as two:
        ended = cli("top", "--once")
        chosen = cli("top", "--once", "--socket", two.path)
        stranger = cli("top", "--once", "--pid", "1")

    [told] = ended.told
    assert ended.code == 2
    assert told.startswith("several hosts run; choose one: ")
    assert f"one --pid {os.getpid()} (--socket {one.path})" in told
    assert f"two --pid {os.getpid()} (--socket {two.path})" in told
    assert chosen.out.startswith(b"two ")
    assert (stranger.code, stranger.told) == (1, ["process 1 serves no live view to this user"])


@requirement("cli.top.finds")
def test_a_host_is_found_by_its_process(cli: Cli, folder: Path) -> None:
    with live_host(None):
        assert cli("top", "--once", "--pid", str(os.getpid())).code == 0


@requirement("cli.top.finds")
def test_where_no_host_runs_that_is_said(cli: Cli, folder: Path) -> None:
    ended = cli("top", "--once")
    named = cli("top", "--once", "--json", "--socket", str(folder / "s"))
    with live_host(None) as host:
        pass
    gone = cli("top", "--once", "--socket", host.path)

    assert [each.code for each in (ended, named, gone)] == [1, 1, 1]
    assert ended.told == ["no host of this user serves a live view; in one: async with serve_live_view(supervisor)"]
    assert "cannot connect: there is no socket" in named.told[0]
    assert "cannot connect: there is no socket" in gone.told[0]


@requirement("cli.top.finds")
def test_a_host_that_does_not_answer_is_given_up(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from armory_trio.cli import _top_link  # noqa: PLC0415  # loaded with the command

    monkeypatch.setattr(_top_link, "ANSWER_WITHIN", 0.1)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "s"))
        silent.listen()
        ended = cli("top", "--once", "--socket", str(folder / "s"))

    assert ended.code == 1
    assert ended.told[0].endswith("the host does not answer; something in it may block its event loop")


@requirement("cli.top.words")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--pid", "0"), "no whole number of 1 or more"),
        (("--pid", "1", "--socket", "s"), "--socket names the host already"),
        (("--interval", "0.01"), "--interval is from 0.1 to 3600 seconds"),
        (("--limit", "201"), "--limit is at most 200"),
        (("--slow", "1e10"), "--slow is at most"),
        (("--sort", "arguments"), "attention"),
        (("--filter", "state=running"), "--filter: 'running' is no state; they are queued"),
        ((), "standard output is no terminal; use --once or --json"),
    ],
    ids=["pid", "two names", "interval", "limit", "slow", "sort", "filter", "no terminal"],
)
def test_wrong_usage_gets_one_line(options: tuple[str, ...], told: str, cli: Cli, folder: Path) -> None:
    ended = cli("top", *options)

    assert (ended.code, ended.out, len(ended.told)) == (2, b"", 1)
    assert told in ended.told[0]


@requirement("cli.top.words")
def test_the_command_explains_itself(cli: Cli) -> None:
    ended = cli("top", "--help")

    assert ended.code == 0
    for words in (b"--once", b"ssh -t box armory-trio top", b"141  the reader of the output went away"):
        assert words in ended.out
