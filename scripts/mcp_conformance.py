"""Run the conformance suite of the Model Context Protocol against our server and our client.

``server`` or ``client`` as the first argument runs one of the two. The server is judged once for each revision in
`REVISIONS`; what follows ``server``, such as ``--scenario NAME``, goes to the suite in their place, and what follows
``client`` is the names of scenarios. Exits with 0 when everything passes but what is listed as not offered.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from .mcp_conformance_client import SUITE, judge_client
from .mcp_conformance_suite import ROOT

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
    """Let the suite judge what was asked for, or both."""
    side, *more = sys.argv[1:] or [""]
    if side not in ("", "server", "client"):
        raise SystemExit(f"{side!r} is neither server nor client")
    server = side == "client" or judge_server(more)
    client = side == "server" or judge_client(more)
    return 0 if server and client else 1


def judge_server(arguments: Sequence[str]) -> bool:
    """Install what is missing, serve, and let the suite judge."""
    SUITE.install()
    baseline = SUITE.home / "not-offered.yml"
    baseline.write_text("server:\n" + "".join(f"  - {name}\n" for name in NOT_OFFERED), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        judge = ["server", "--url", url, "--expected-failures", str(baseline)]
        runs = [tuple(arguments)] if arguments else list(REVISIONS.values())
        ended = [SUITE.run([*judge, *run]) for run in runs]
        server.communicate()  # its input ends, and so does it
    return not any(each.returncode for each in ended)


if __name__ == "__main__":
    sys.exit(main())
