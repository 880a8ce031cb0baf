"""Clients that mean no good, or are no clients: what they cost is bounded, and nobody else pays for it."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.lowlevel

from armory_trio import ToolCall
from armory_trio.observability import _socket_server
from armory_trio.observability._socket_desk import Desk
from armory_trio.observability._socket_lines import Lines
from armory_trio.observability._socket_messages import LONGEST_REQUEST, Look, Query, line_of, request_of
from armory_trio.observability.live import LiveProgress, LiveView
from tests.requirements import requirement

from .hosts import begin, served

HELLO = b'{"is":"hello","id":0,"protocol":1}\n'


@asynccontextmanager
async def raw(folder: Path, greeting: bytes = HELLO) -> AsyncGenerator[tuple[trio.SocketStream, Lines]]:
    """A connection without a client."""
    async with await trio.open_unix_socket(folder / "s") as stream:
        await stream.send_all(greeting)
        yield stream, Lines(stream, 1 << 24)


async def _still_serves(folder: Path) -> None:
    async with LiveView.connect(folder / "s") as view:
        await view.look()


@requirement("live.handshake")
@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (b'{"is":"hello","id":7,"protocol":2}\n', "protocol 1, and you said protocol 2"),
        (b'{"is":"look","id":7,"query":{}}\n', "something else than hello"),
    ],
    ids=["another version", "no hello"],
)
async def test_who_talks_another_protocol_is_told_so_and_let_go(greeting: bytes, words: str, folder: Path) -> None:
    async with served(str(folder / "s")), raw(folder, greeting) as (_, lines):
        answer = json.loads(await lines.next() or b"")
        assert (answer["is"], answer["re"]) == ("refused", 7)
        assert words in answer["message"]
        assert await lines.next() is None


@requirement("live.hostile")
@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b"\x00\xff\xfe\n",
        b"\n",
        b'"a text"\n',
        b'{"is":"abort","id":1}\n',
        b'{"is":"format-disk","id":1}\n',
        b'{"is":"look","id":-1,"query":{}}\n',
        b'{"is":"look","id":1,"query":{"limit":201}}\n',
        b'{"is":"look","id":1,"query":{"limit":1e99}}\n',
        b'{"is":"look","id":1,"query":{"offset":-5}}\n',
        b'{"is":"look","id":1,"query":{"sort":"arguments"}}\n',
        b'{"is":"look","id":1,"query":{"secrets":true}}\n',
        b'{"is":"look","id":1,"query":{"slow_after":"soon"}}\n',
        b'{"is":"look","id":1,"query":{"tools":["' + b"x" * 201 + b'"]}}\n',
        b'{"is":"subscribe","id":1,"query":{},"interval":0}\n',
        b'{"is":"abort","id":1,"execution_id":"e","reason":"' + b"x" * 501 + b'"}\n',
        b"[" * 60_000 + b"\n",
        b"x" * 80_000 + b"\n",
        b"x" * 80_000,
    ],
    ids=lambda line: line[:60].decode("ascii", "backslashreplace").strip(),
)
@pytest.mark.parametrize("greeted", [True, False], ids=["after hello", "at once"])
async def test_what_is_no_request_is_refused_in_words_and_ends_the_talk(
    line: bytes, greeted: bool, folder: Path
) -> None:
    async with served(str(folder / "s")):
        async with raw(folder, HELLO if greeted else b"") as (stream, lines):
            await stream.send_all(line)
            answers = [json.loads(answer) async for answer in _until_end(lines)]
        await _still_serves(folder)

    assert [answer["is"] for answer in answers] == ["welcome", "refused"][not greeted :]
    assert "this is no request" in answers[-1]["message"] or "something else than hello" in answers[-1]["message"]


async def _until_end(lines: Lines) -> AsyncGenerator[bytes]:
    try:
        while (line := await lines.next()) is not None:
            yield line
    except trio.BrokenResourceError:  # it was let go before it had said everything
        return


@requirement("live.hostile")
async def test_who_connects_and_says_nothing_is_let_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_socket_server, "_GREETING", 0.05)
    async with served(str(folder / "s")):
        async with raw(folder, b'{"is":"hel') as (_, lines):
            assert await lines.next() is None
        async with raw(folder) as (_, lines):
            await lines.next()
            await trio.sleep(0.2)  # who has greeted may be silent
        await _still_serves(folder)


@requirement("live.hostile")
async def test_a_viewer_that_vanishes_in_the_middle_of_anything_is_forgotten(folder: Path) -> None:
    async with served(str(folder / "s")) as supervisor:
        begin(supervisor, "crawl")
        for sent in (b"", b'{"is":"lo', b'{"is":"subscribe","id":1,"query":{},"interval":0.1}\n'):
            for greeting in (HELLO, b""):
                async with raw(folder, greeting) as (stream, _):
                    await stream.send_all(sent)
        async with LiveView.connect(folder / "s") as view:
            while (await view.look()).host.viewers > 1:
                pass


@requirement("live.hostile", "live.free")
async def test_a_flood_waits_for_its_own_answers_and_holds_nobody_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    frame = Desk.frame

    async def counted(self: Desk, query: Query, *, re: int, viewer: object | None) -> bytes:
        nonlocal made
        made += 1
        return await frame(self, query, re=re, viewer=viewer)

    monkeypatch.setattr(Desk, "frame", counted)
    async with served(str(folder / "s")) as supervisor:
        for _ in range(200):
            begin(supervisor, "crawl", "x" * 1_000)
        look = b'{"is":"look","id":1,"query":{"limit":200}}\n'
        async with raw(folder) as (stream, _):
            stalled = False
            while not stalled:  # nothing is ever read, so at some time nothing more can be written
                with trio.move_on_after(0.5) as scope:
                    await stream.send_all(look * 100)
                stalled = scope.cancelled_caught
            flooded = made
            assert (await supervisor.execute(ToolCall("quick", {}))).value == 1
            await _still_serves(folder)
            assert made <= flooded + 2  # ours, and one that may have been under way

    assert flooded < 100  # as many as the system buffers of their answers


def open_files() -> int:
    """How many files this process has open."""
    return len(list(Path("/dev/fd").iterdir()))


@requirement("live.hostile", "live.free")
async def test_thousands_who_connect_cost_a_bounded_amount_and_leave_nothing(folder: Path) -> None:
    async with served(str(folder / "s")) as supervisor, LiveView.connect(folder / "s") as other:
        before, most = open_files(), 0
        open_here: list[socket.socket] = []
        for number in range(3_000):
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.setblocking(False)
            try:
                made.connect(str(folder / "s"))
            except BlockingIOError:  # as many wait as there is room for
                made.close()
            else:
                open_here.append(made)
            if number % 100 == 0:
                await trio.lowlevel.checkpoint()
                most = max(most, open_files() - before - len(open_here))
        assert (await supervisor.execute(ToolCall("quick", {}))).value == 1
        assert (await other.look()).host.viewers == 1
        for made in open_here:
            made.close()
        while open_files() > before:
            await other.look()
        await _still_serves(folder)

    assert most <= 40


@requirement("live.hostile")
async def test_requests_that_cost_nothing_are_not_taken_faster_than_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(str(folder / "s")), LiveView.connect(folder / "s") as other:
        monkeypatch.setattr(_socket_server, "_BETWEEN", 3600)
        async with raw(folder) as (stream, lines):
            await lines.next()
            await stream.send_all(b'{"is":"hello","id":1,"protocol":1}\n' * 100)
            assert json.loads(await lines.next() or b"")["is"] == "welcome"
            await other.look()
            with trio.move_on_after(0.1) as scope:
                await lines.next()

    assert scope.cancelled_caught


@requirement("live.hostile")
async def test_a_viewer_that_reads_nothing_gets_one_frame_ahead_and_is_let_go_in_the_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_socket_server, "_STALLED", 0.3)
    async with served(str(folder / "s")) as supervisor:
        for _ in range(300):
            begin(supervisor, "crawl", "x" * 1_000)
        async with raw(folder) as (stream, lines):
            await stream.send_all(b'{"is":"subscribe","id":1,"query":{"limit":200},"interval":0.1}\n')
            async with LiveView.connect(folder / "s") as view:
                while (await view.look(Query(limit=0))).host.viewers > 1:
                    pass
            frames = [line async for line in _until_end(lines)]

    assert 1 <= len(frames) < 20


@requirement("live.hostile")
async def test_a_bug_in_talking_with_one_viewer_harms_neither_the_host_nor_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    frame = Desk.frame

    async def broken(self: Desk, query: Query, *, re: int, viewer: object | None) -> bytes:
        if query.text == "bug":
            raise ZeroDivisionError("a secret: 4417")
        return await frame(self, query, re=re, viewer=viewer)

    monkeypatch.setattr(Desk, "frame", broken)
    with caplog.at_level(logging.ERROR, "armory_trio.observability"):
        async with served(str(folder / "s")):
            async with raw(folder) as (stream, lines):
                await stream.send_all(b'{"is":"look","id":1,"query":{"text":"bug"}}\n')
                assert len([line async for line in _until_end(lines)]) == 1
            await _still_serves(folder)

    [told] = [record.message for record in caplog.records]
    assert told.startswith("talking with a viewer failed; the host is not harmed: ExceptionGroup (_run.py:")
    assert ") of ZeroDivisionError (test_live_hostile.py:" in told
    assert "_socket_server.py" in told, "the way that it came"
    assert "4417" not in told


class Broken(logging.Handler):
    """A handler that raises."""

    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError


@requirement("live.hostile")
async def test_a_log_that_fails_harms_neither_the_host_nor_others(folder: Path) -> None:
    log, broken = logging.getLogger("armory_trio.observability"), Broken()
    level = log.level
    log.addHandler(broken)
    log.setLevel(logging.INFO)
    try:
        async with served(str(folder / "s")):
            async with raw(folder) as (stream, lines):
                await stream.send_all(b'{"is":"abort","id":1,"execution_id":"exe-nobody","reason":""}\n')
                welcome, answer = await lines.next(), await lines.next()
                assert welcome is not None and answer is not None and b"unknown" in answer
            await _still_serves(folder)
    finally:
        log.removeHandler(broken)
        log.setLevel(level)


@requirement("live.hostile")
async def test_names_of_any_length_and_kind_come_bounded_and_readable(folder: Path) -> None:
    async with served(str(folder / "s")) as supervisor:
        begin(supervisor, "crawl", "\ud800" + "long" * 10_000)
        async with LiveView.connect(folder / "s") as view:
            [shown] = (await view.look()).executions

    assert shown.owner_id == "\\ud800" + ("long" * 100)[:299] + "..."
    assert shown.progress == LiveProgress(percent=25, message="page 1")


def test_the_longest_query_fits_into_a_request() -> None:
    words = ("\x01" * 200,) * 16
    longest = Look(
        id=2**53,
        query=Query(states=words, tools=words, owners=words, text=words[0], detail=words[0], offset=10_000_000),
    )
    line = line_of(longest)

    assert request_of(line) == longest
    assert LONGEST_REQUEST * 3 // 4 < len(line) <= LONGEST_REQUEST
