"""Standard input and output as a connection, over pipes of this process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final, cast

import anyio
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc

from armory_trio import DefinitionError, ElicitationUnavailable, Supervisor, Toolbox, ToolContext, open_supervisor, tool
from armory_trio.integrations.mcp.server import McpServer, StandardStreams
from armory_trio.integrations.mcp.server._lines import Ids, Lines, Refused, message_of
from armory_trio.integrations.mcp.server._stdio import claimed, open_lines
from tests.integrations.mcp.server.serving import TOOLBOX, nap, until_active
from tests.requirements import requirement

HELLO: Final = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
READY: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def line(value: object) -> bytes:
    """*value* as one line."""
    return json.dumps(value).encode() + b"\n"


def call(id: str | int, name: str = "add", /, **arguments: object) -> bytes:
    """A call as a line."""
    params = {"name": name, "arguments": arguments or {"a": 1, "b": 2}}
    return line({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


class Pipes:
    """Both ends of a connection over pipes."""

    def __init__(self) -> None:
        self.stdin, self._write = os.pipe()
        self._read, self.stdout = os.pipe()
        self._open = {self.stdin, self._write, self._read, self.stdout}
        self._rest = bytearray()

    @property
    def streams(self) -> StandardStreams:
        """The server's."""
        return StandardStreams(self.stdin, self.stdout)

    @property
    def input(self) -> int:
        """Where messages for the server are written."""
        return self._write

    @property
    def output(self) -> int:
        """Where the server's messages are read."""
        return self._read

    async def say(self, data: bytes) -> None:
        """Write to the server, which may be slow to read."""
        await trio.to_thread.run_sync(self._write_all, data)

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._write, rest) :]

    async def replies(self, count: int) -> list[dict[str, object]]:
        """The next *count* lines."""
        found = self._rest.count(b"\n")
        while found < count:
            await trio.lowlevel.wait_readable(self._read)
            more = os.read(self._read, 65536)
            assert more, self._rest
            self._rest += more
            found += more.count(b"\n")
        *lines, self._rest = self._rest.split(b"\n", count)
        return [json.loads(each) for each in lines]

    def close(self, *fds: int) -> None:
        """Close some descriptors, or all."""
        for fd in fds or tuple(self._open):
            self._open.discard(fd)
            os.close(fd)

    def hang_up(self) -> None:
        """Close the server's input."""
        self.close(self._write)

    def stop_reading(self) -> None:
        """Close the server's output."""
        self.close(self._read)


@contextmanager
def piped() -> Generator[Pipes]:
    """A pair of pipes, closed with the block."""
    pipes = Pipes()
    try:
        yield pipes
    finally:
        pipes.close()


@asynccontextmanager
async def lines_to(
    toolbox: Toolbox = TOOLBOX, most: int = 4 * 1024 * 1024
) -> AsyncGenerator[tuple[Pipes, Supervisor, trio.Event]]:
    """A server behind pipes, and an event that is set when it has ended."""
    ended = trio.Event()
    with piped() as pipes, trio.fail_after(30):
        async with open_supervisor(toolbox) as supervisor, trio.open_nursery() as nursery:

            async def serve() -> None:
                await McpServer(supervisor).serve_stdio(streams=pipes.streams, max_message_bytes=most)
                ended.set()

            nursery.start_soon(serve)  # noqa: ASYNC113  # whoever writes to the pipe waits for it
            yield pipes, supervisor, ended
            nursery.cancel_scope.cancel()


RUBBISH: Final = (
    pytest.param(b"42", -32600, id="a number"),
    pytest.param(b"[1]", -32600, id="an array"),
    pytest.param(line([json.loads(call(9))]).strip(), -32600, id="a batch"),
    pytest.param(b'"words"', -32600, id="a string"),
    pytest.param(b"null", -32600, id="null"),
    pytest.param(b"\xff\xfe", -32700, id="no UTF-8"),
    pytest.param(b"Welcome to the server!", -32700, id="a banner"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1', -32700, id="cut off"),
    pytest.param(b'{"a": NaN}', -32700, id="NaN"),
    pytest.param(b"[" * 100_000, -32700, id="very deep"),
    pytest.param(b'{"jsonrpc": "2.0", "method": "x", "id": null}', -32600, id="a null id"),
    pytest.param(b'{"jsonrpc": "2.0", "method": "x", "id": 1.5}', -32600, id="half an id"),
    pytest.param(b'{"jsonrpc": "2.0", "method": "x", "id": true}', -32600, id="a true id"),
    pytest.param(b'{"jsonrpc": "1.0", "method": "x", "id": "old"}', -32600, id="another version"),
    pytest.param(b'{"hello": "world"}', -32600, id="something else"),
    pytest.param(b'{"jsonrpc": "2.0", "method": "ping", "id": 8, "error": {}}', -32600, id="a request with an error"),
    pytest.param(b'{"jsonrpc": "2.0", "method": "ping", "id": 8, "result": {}}', -32600, id="a request with a result"),
    pytest.param(b'{"x": "' + b"y" * 20_000_000 + b'"}', -32600, id="20 MB"),
)


@requirement("mcp-server.lines")
@pytest.mark.parametrize(("rubbish", "code"), RUBBISH)
async def test_what_is_no_message_is_answered_with_an_error_and_the_session_goes_on(rubbish: bytes, code: int) -> None:
    async with lines_to() as (pipes, _, _):
        await pipes.say(line(HELLO) + line(READY) + b"\n\r\n")
        await pipes.say(rubbish + b"\n" + call(7))
        replies = (await pipes.replies(3))[1:]

    [error] = [cast("dict[str, object]", each["error"]) for each in replies if "error" in each]
    assert error["code"] == code
    assert [each["id"] for each in replies if "result" in each] == [7]


@tool(effect="read-only")
async def inquire(about: str, ctx: ToolContext) -> str:
    """Ask."""
    try:
        return repr(await ctx.elicit(about))
    except ElicitationUnavailable:
        return "nobody answered"


@requirement("mcp-server.lines", "mcp-server.elicit.unavailable")
@pytest.mark.parametrize(
    "answer",
    [{"result": None}, {"result": []}, {"result": "accept"}, {"error": 5}, {"error": {"code": "x"}}, {"result": {}}],
    ids=str,
)
async def test_an_answer_to_a_question_that_cannot_be_read_is_nobodys_answer(answer: dict[str, object]) -> None:
    able: dict[str, object] = {"elicitation": {}}
    params: dict[str, object] = {**cast("dict[str, object]", HELLO["params"]), "capabilities": able}
    async with lines_to(Toolbox([inquire])) as (pipes, _, _):
        await pipes.say(line({**HELLO, "params": params}) + line(READY) + call("c", "inquire", about="me"))
        [_, question] = await pipes.replies(2)
        assert question["method"] == "elicitation/create"
        await pipes.say(line({"jsonrpc": "2.0", "id": question["id"], **answer}))
        [told] = await pipes.replies(1)
    assert told["id"] == "c"
    assert "nobody answered" in str(told["result"])


@requirement("mcp-server.ids")
async def test_ids_are_answered_as_they_came() -> None:
    ids: Sequence[str | int] = (1, "1", 2**53 + 1, "", "é", -1)
    async with lines_to() as (pipes, _, _):
        await pipes.say(line(HELLO) + line(READY) + b"".join(call(each, "nap", seconds=0.05) for each in ids))
        replies = (await pipes.replies(len(ids) + 1))[1:]

    assert sorted(map(repr, (reply["id"] for reply in replies))) == sorted(map(repr, ids))
    assert all("result" in reply for reply in replies)


@requirement("mcp-server.ids", "mcp-server.cancel")
def test_cancelling_one_of_two_ids_that_look_alike_cancels_that_one() -> None:
    ids, began = Ids(), dict[str | int, str | int]()
    for each in ("1", 1):
        message = ids.come_in(message_of(call(each), 1_000))
        assert isinstance(message, jsonrpc.JSONRPCRequest)
        began[each] = message.id
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    told = ids.come_in(message_of(line(cancel), 1_000))
    ids.settle(began[1])
    answer: dict[str, object] = {"jsonrpc": "2.0", "result": {}}
    outgoing = [ids.go_out(message_of(line({**answer, "id": began[each]}), 1_000)) for each in ("1", "1", 1)]

    assert began["1"] == "1" and began[1] not in (1, "1")
    assert isinstance(told, jsonrpc.JSONRPCNotification) and told.params == {"requestId": began[1]}
    assert [each is None for each in outgoing] == [False, True, True]
    assert len(ids) == 0


@requirement("mcp-server.ids")
async def test_an_id_that_is_under_way_is_refused_without_an_answer_to_it() -> None:
    async with lines_to() as (pipes, _, _):
        await pipes.say(line(HELLO) + line(READY) + call(1, "nap", seconds=0.1) + call(1))
        _, refused, answered = await pipes.replies(3)
        await pipes.say(call(1))
        [again] = await pipes.replies(1)

    assert (refused["id"], answered["id"], again["id"]) == (None, 1, 1)
    assert "a request with the id 1 is under way" in str(refused)
    assert "rested" in str(answered) and "3" in str(again)


@requirement("mcp-server.stdio")
async def test_at_the_end_of_the_input_calls_have_a_moment_and_then_the_serving_ends() -> None:
    async with lines_to() as (pipes, supervisor, ended):
        await pipes.say(line(HELLO) + line(READY) + call(1) + call(2, "nap", seconds=3600))
        pipes.hang_up()
        replies = await pipes.replies(2)
        await ended.wait()
        outcomes = sorted(str(shot.outcome) for shot in supervisor.executions.inspect())

    assert [reply["id"] for reply in replies] == ["hello", 1]
    assert outcomes == ["error", "success"]


@requirement("mcp-server.stdio")
async def test_a_client_that_stops_reading_ends_the_serving() -> None:
    async with lines_to() as (pipes, _, ended):
        pipes.stop_reading()
        await pipes.say(line(HELLO) + line(READY) + call(1))
        await ended.wait()


@requirement("mcp-server.stdio")
async def test_a_client_that_reads_slowly_gets_all_of_a_large_answer() -> None:
    @tool(effect="read-only")
    async def large() -> str:
        return "x" * 1_000_000

    async with lines_to(Toolbox([large, nap])) as (pipes, _, _):
        large_call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "large"}}
        await pipes.say(line(HELLO) + line(READY) + line(large_call) + call(2, "nap", seconds=0))
        replies = await pipes.replies(3)

    assert sorted(len(str(reply)) > 1_000_000 for reply in replies) == [False, False, True]


@requirement("mcp-server.drain")
async def test_a_supervisor_that_is_shut_down_ends_the_serving_with_every_call_answered() -> None:
    async with lines_to() as (pipes, supervisor, ended):
        await pipes.say(line(HELLO) + line(READY) + call(1, "nap", seconds=0.05))
        await pipes.replies(1)
        await until_active(supervisor)
        await supervisor.shutdown()
        await ended.wait()
        [answered] = await pipes.replies(1)

    assert "rested" in str(answered)


@requirement("mcp-server.stdio")
async def test_messages_may_come_from_a_file(tmp_path: Path) -> None:
    given, taken = tmp_path / "in", tmp_path / "out"
    given.write_bytes(line(HELLO) + line(READY) + call(1))
    async with open_supervisor(TOOLBOX) as supervisor:
        with given.open("rb") as reading, taken.open("wb") as writing:
            streams = StandardStreams(reading.fileno(), writing.fileno())
            await McpServer(supervisor).serve_stdio(streams=streams)

    assert [json.loads(each)["id"] for each in taken.read_bytes().splitlines()] == ["hello", 1]


@requirement("mcp-server.stdout")
def test_claimed_streams_are_kept_for_messages_and_put_back(capfd: pytest.CaptureFixture[str]) -> None:
    with claimed() as streams:
        os.write(1, b"printed\n")
        subprocess.run(["echo", "started"], check=True)
        found = os.read(0, 10)
        os.write(streams.stdout, b"a message\n")
        with pytest.raises(RuntimeError, match="served already"), claimed():
            pass
    os.write(1, b"afterwards\n")
    with claimed():
        pass
    out, err = capfd.readouterr()

    assert (out, sorted(err.split())) == ("a message\nafterwards\n", ["printed", "started"])
    assert found == b""


@requirement("mcp-server.arguments")
@pytest.mark.parametrize("most", [0, -1, True])
async def test_a_bound_that_lets_nothing_through_is_refused(most: int) -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        with piped() as pipes, pytest.raises(DefinitionError, match="max_message_bytes"):
            await McpServer(supervisor).serve_stdio(streams=pipes.streams, max_message_bytes=most)


@requirement("mcp-server.lines")
@given(st.lists(st.binary(max_size=40)), st.integers(1, 30), st.integers(1, 20))
def test_lines_come_out_as_they_went_in_however_they_were_cut(parts: list[bytes], most: int, step: int) -> None:
    sent = [part.replace(b"\n", b" ") for part in parts]
    data = b"".join(part + b"\n" for part in sent)
    lines, got = Lines(most), list[bytes | None]()
    for start in range(0, len(data), step):
        lines.feed(data[start : start + step])
        while True:
            try:
                got.append(lines.next())
            except IndexError:
                break

    assert got == [part if len(part) <= most else None for part in sent]


@requirement("mcp-server.lines")
@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    try:
        message_of(data, 1_000)
    except Refused as refused:
        assert refused.error.error.code in (-32700, -32600)  # anything else fails the test


@requirement("mcp-server.stdio", "mcp-server.cancel")
async def test_a_cancelled_call_does_not_hold_the_end_of_the_input_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armory_trio.integrations.mcp.server._stdio._LAST_ANSWERS", 3600.0)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    async with lines_to() as (pipes, supervisor, ended):
        await pipes.say(line(HELLO) + line(READY) + call(1, "nap", seconds=3600))
        await until_active(supervisor)
        await pipes.say(line(cancel))
        await supervisor.wait_idle()
        pipes.hang_up()
        await ended.wait()

    assert ended.is_set()


@requirement("mcp-server.stdio")
async def test_the_last_line_needs_no_line_feed() -> None:
    async with lines_to() as (pipes, _, ended):
        await pipes.say(line(HELLO) + line(READY) + call(1).strip())
        pipes.hang_up()
        replies = await pipes.replies(2)
        await ended.wait()

    assert replies[1]["id"] == 1


@requirement("mcp-server.stdio")
async def test_an_input_that_cannot_be_read_is_at_its_end(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        with trio.fail_after(30):
            async with open_supervisor(TOOLBOX) as supervisor:
                await McpServer(supervisor).serve_stdio(streams=StandardStreams(fd, fd))
    finally:
        os.close(fd)


@requirement("mcp-server.ids")
async def test_whatever_asks_for_it_no_id_is_answered_twice() -> None:
    answer = jsonrpc.JSONRPCResponse(jsonrpc="2.0", id=1, result={})
    with piped() as pipes, trio.fail_after(30):
        async with open_lines(pipes.streams, 1_000) as lines, lines.reader as reader:
            await pipes.say(call(1) + line({"jsonrpc": "1.0", "id": 1, "method": "x"}) + call("last"))
            first, last = await reader.receive(), await reader.receive()
            for _ in range(3):
                await lines.writer.send(SessionMessage(answer))
            await lines.writer.send(SessionMessage(answer.model_copy(update={"id": "last"})))
            pipes.hang_up()
            with pytest.raises(anyio.EndOfStream):
                await reader.receive()
            replies = await pipes.replies(3)

    assert isinstance(first, SessionMessage) and isinstance(last, SessionMessage)
    # The one in the middle is no message, and its id is that of a request that waits.
    assert [reply["id"] for reply in replies] == [None, 1, "last"]


@requirement("mcp-server.gone")
async def test_a_client_that_reads_nothing_more_does_not_keep_the_server_that_it_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @tool(effect="read-only")
    async def big() -> str:
        return "x" * 1_000_000

    monkeypatch.setattr("armory_trio.integrations.mcp.server._stdio._LAST_WRITES", 0.05)
    async with lines_to(Toolbox([big])) as (pipes, _, ended):
        await pipes.say(line(HELLO) + line(READY))
        await pipes.replies(1)
        await pipes.say(line({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "big"}}))
        await trio.lowlevel.wait_readable(pipes.output)
        pipes.hang_up()
        await ended.wait()


@requirement("mcp-server.gone")
async def test_a_client_that_reads_slowly_is_sent_everything_also_after_it_has_hung_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @tool(effect="read-only")
    async def big() -> str:
        return "x" * 1_000_000

    monkeypatch.setattr("armory_trio.integrations.mcp.server._stdio._LAST_WRITES", 5.0)
    async with lines_to(Toolbox([big])) as (pipes, _, ended):
        await pipes.say(line(HELLO) + line(READY))
        await pipes.say(line({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "big"}}))
        pipes.hang_up()
        _, answer = await pipes.replies(2)
        assert len(json.dumps(answer)) > 1_000_000
        await ended.wait()
