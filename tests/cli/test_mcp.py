"""``armory-trio mcp``: a server that clients start, or reach over HTTP."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request
from typing import Final, cast

import pytest

from tests.requirements import requirement

from .commands import Cli, Fifo, Line, Process, jsonl

HELLO: Final[Line] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
READY: Final[Line] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(id: int, method: str, **params: object) -> Line:
    """A request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def use(id: int, name: str, /, **arguments: object) -> Line:
    """A call."""
    return request(id, "tools/call", name=name, arguments=arguments)


def said(reply: Line) -> str:
    """The words of an answer to a call."""
    result = cast("dict[str, list[dict[str, str]]]", reply["result"])
    return "\n".join(block["text"] for block in result["content"])


def serve(cli: Cli, *options: str, **environment: str) -> Process:
    """A server that has shaken hands."""
    process = cli.spawn("mcp", "my_tools:toolbox", *options, **environment)
    process.say(jsonl(HELLO, READY))
    process.line()
    return process


@pytest.fixture
def started(cli: Cli) -> Fifo:
    """Tools tell through it that they run."""
    return cli.fifo("started")


@pytest.fixture
def release(cli: Cli) -> Fifo:
    """Lets tools at the gate go."""
    return cli.fifo("release")


@requirement("mcp-server.stdio", "mcp-server.stdout")
def test_a_client_lists_and_calls_and_nothing_else_is_on_its_stream(cli: Cli) -> None:
    with serve(cli, "--name", "tools") as process:
        process.say(jsonl(use(1, "noisy"), use(2, "ask"), use(3, "add", a=1, b=2), use(4, "break_things")))
        replies = {reply["id"]: reply for reply in (process.line() for _ in range(4))}
        ended = process.end()

    assert ended.code == 3  # nobody knows what one of them did
    assert ended.lines == []
    assert [said(replies[1]), said(replies[3])] == ["quiet", "3"]
    assert said(replies[2]) == "(empty text)"
    assert "who knows" not in str(replies[4]) and "may have taken effect" in said(replies[4])
    assert ended.err.count("words on standard output") == 4


@requirement("mcp-server.stdio")
def test_a_server_of_the_kit_reads_the_directory_that_it_was_given(cli: Cli) -> None:
    cli.write("notes.txt", "remember the milk")
    ended = cli("mcp", "--kit", "coding", "--root", ".", stdin=jsonl(HELLO, READY, request(1, "tools/list")))
    ended_too = cli(
        "mcp", "--kit", "coding", "--root", ".", stdin=jsonl(HELLO, READY, use(1, "read_file", path="notes.txt"))
    )

    assert ended.code == ended_too.code == 0
    assert {"read_file", "grep", "glob"} <= {
        tool["name"] for tool in cast("dict[str, list[dict[str, str]]]", ended.lines[1]["result"])["tools"]
    }
    assert "remember the milk" in said(ended_too.lines[1])


@requirement("mcp-server.stdio", "mcp-server.drain")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_what_runs_is_answered(
    number: signal.Signals, cli: Cli, started: Fifo, release: Fifo
) -> None:
    with serve(cli) as process:
        process.say(jsonl(use(1, "gate")))
        started.wait()
        process.signal(number)
        told = process.error_line()
        process.say(jsonl(use(2, "add", a=1, b=2)))
        refused = process.line()
        release.let_go()
        answered = process.line()
        ended = process.wait()

    assert told == f"armory_trio: {number.name}: draining 1 execution; a second signal aborts\n"
    assert "The server is shutting down." in said(refused)
    assert said(answered) == "through"
    assert ended.code == 0


@requirement("mcp-server.stdio")
def test_a_server_whose_client_is_gone_ends_although_a_thread_of_a_tool_does_not(
    cli: Cli, started: Fifo, release: Fifo
) -> None:
    with serve(cli, "--cleanup-timeout", "0.1") as process:  # the tool waits for a release that never comes
        process.say(jsonl(use(1, "stuck")))
        started.wait()
        ended = process.end()

    assert ended.code == 4
    assert "thread left running" in ended.err and "stuck" in ended.err


@requirement("mcp-server.http", "mcp-server.http.tokens")
def test_the_command_serves_http_where_it_says_and_to_whom_it_may(cli: Cli) -> None:
    with cli.spawn(
        "mcp", "my_tools:toolbox", "--http", "127.0.0.1:0", "--token-env", "TOKEN", TOKEN="s3cret"
    ) as process:
        told = process.error_line()
        url = told.rpartition(" ")[2].strip()
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        body = json.dumps(HELLO).encode()
        allowed = urllib.request.Request(url, body, {**headers, "authorization": "Bearer s3cret"})  # noqa: S310  # ours
        with urllib.request.urlopen(allowed, timeout=60) as answer:  # noqa: S310  # as said
            opened = answer.read().decode()
        refused = urllib.request.Request(url, body, headers)  # noqa: S310  # as said
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(refused, timeout=60)  # noqa: S310  # as said
        process.signal(signal.SIGTERM)
        ended = process.wait()

    assert told.startswith("armory-trio: serving http://127.0.0.1:")
    assert '"serverInfo"' in opened
    assert ended.code == 0


@requirement("mcp-server.command")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["mcp"], "no tools: give MODULE:ATTRIBUTE, --manifest FILE, or --kit coding --root DIR"),
        (["mcp", "my_tools"], "'my_tools' is no MODULE:ATTRIBUTE"),
        (["mcp", "my_tools:toolbox", "--http", "8000"], "--http 8000: give HOST:PORT, such as 127.0.0.1:8000"),
        (["mcp", "my_tools:toolbox", "--http", "localhost:99999"], "--http localhost:99999: give HOST:PORT"),
        (["mcp", "my_tools:toolbox", "--http", "0.0.0.0:0"], "can be reached from other machines"),
        (["mcp", "my_tools:toolbox", "--token-env", "NO_SUCH"], "the variable is not set, or blank"),
        (["mcp", "my_tools:toolbox", "--allow-host", "x"], "are for HTTP; give --http HOST:PORT with them"),
        (["mcp", "my_tools:toolbox", "--http", "127.0.0.1:0", "--path", "x"], "--path x: begin it with a slash"),
        *(
            (["mcp", "my_tools:toolbox", "--http", "127.0.0.1:0", "--path", path], f"--path {path}: begin it with")
            for path in ("", "/a b", "/a?b", "//a", "/{a}", "/\N{LATIN SMALL LETTER E WITH ACUTE}", "/a%20b", "/a#b")
        ),
        (["mcp", "my_tools:toolbox", "--name", " "], "--name is blank"),
        (["mcp", "my_tools:toolbox", "--http", "127.0.0.1:0", "--allow-host", ""], "--allow-host is blank"),
        (["mcp", "my_tools:toolbox", "--http", "256.1.1.1:80", "--token-env", "HOME"], "cannot be listened on"),
        (["mcp", "my_tools:nothing"], "there is no attribute 'nothing'"),
    ],
    ids=str,
)
def test_what_cannot_be_served_is_refused_in_one_line(arguments: list[str], told: str, cli: Cli) -> None:
    ended = cli(*arguments, stdin=b"")

    assert ended.code == 2
    assert [told in line for line in ended.told] == [True]


@requirement("mcp-server.command")
def test_a_timeout_may_be_infinite(cli: Cli) -> None:
    ended = cli("mcp", "my_tools:toolbox", "--timeout", "inf", stdin=jsonl(HELLO, READY, use(1, "add", a=1, b=2)))

    assert (ended.code, said(ended.lines[1])) == (0, "3")


@requirement("mcp-server.command")
def test_rules_of_the_command_line_hold_for_clients(cli: Cli) -> None:
    calls = jsonl(HELLO, READY, use(1, "break_things"), use(2, "add", a=1, b=2))
    ended = cli("mcp", "my_tools:toolbox", "--read-only", stdin=calls)
    replies = {reply["id"]: said(reply) for reply in ended.lines[1:]}

    assert "GATE_DENIED" in replies[1] and replies[2] == "3"
    assert ended.code == 0


@requirement("mcp-server.approve")
def test_a_client_that_cannot_ask_gets_nothing_approved(cli: Cli) -> None:
    calls = jsonl(HELLO, READY, use(1, "break_things"))
    ended = cli("mcp", "my_tools:toolbox", "--approval-mode", "on-mutation", stdin=calls)

    assert "APPROVAL_UNAVAILABLE" in said(ended.lines[1])
    assert ended.code == 0


LEAKY: Final = '''
from armory_trio import Toolbox, tool
from armory_trio.definitions import Lifecycle

SECRET = "Zy7-swordfish-4417"


def fail(*_):
    try:
        raise LookupError(SECRET)
    except LookupError as exc:
        error = ValueError(SECRET)
        error.add_note(SECRET)
        raise ExceptionGroup(SECRET, [error]) from exc


@tool(effect="read-only")
async def raises(secret: str) -> str:
    """Raise."""
    fail()


@tool(effect="read-only", availability=fail)
async def elsewhere(secret: str) -> str:
    """Not be here."""


@tool(effect="read-only", policy=fail)
def judged(secret: str) -> str:
    """Be denied."""


@tool(effect="read-only", lifecycle=Lifecycle(deprecated=True))
async def old(secret: str) -> str:
    """Be old."""
    return "done"


toolbox = Toolbox([raises, elsewhere, judged, old], on_deprecated=fail)
'''


@requirement("mcp-server.stdio", "telemetry.discreet", "logs.withheld")
def test_what_tools_and_hooks_raise_is_neither_on_a_client_s_stream_nor_on_standard_error(cli: Cli) -> None:
    cli.write("leaky.py", LEAKY)
    secret = "Zy7-swordfish-4417"
    with cli.spawn("mcp", "leaky:toolbox") as process:
        process.say(jsonl(HELLO, READY))
        process.line()
        names = ("raises", "elsewhere", "judged", "old")
        process.say(jsonl(*(use(number, name, secret=secret) for number, name in enumerate(names, start=1))))
        replies = {reply["id"]: reply for reply in (process.line() for _ in names)}
        ended = process.end()

    assert said(replies[4]) == "done"
    assert secret not in repr(replies)
    assert secret not in ended.err
    assert ended.err.count("ExceptionGroup (leaky.py:14) of ValueError from LookupError (leaky.py:10)") == 3, (
        "that they raised is told"
    )
