"""The suite against our MCP client: each scenario is a server of the suite's, and starts our client against it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Iterator
from typing import Final

from .mcp_conformance_suite import Suite

SUITE: Final = Suite("0.2.0-alpha.12")
"""It has all scenarios of the last one that is no pre-release, and those about issuers and the newest revision."""

CLIENT: Final = "tests.integrations.mcp.client.conforming"
REVISIONS: Final = ("2025-03-26", "2025-11-25", "2026-07-28")
"""A scenario runs for each of these that it is about: the oldest way to log in, the last handshake, and the newest."""

_HANDSHAKE: Final = "the client begins with a handshake, which has no such headers; what follows has them"
_SKILLS: Final = "skills are read from resources, which the client does not offer"
_TOKENS: Final = "the SDK has no authentication for it; an httpx2.Auth of the host's can do it"
NOT_OFFERED: Final = {
    "request-metadata": _HANDSHAKE,
    "http-standard-headers": _HANDSHAKE,
    "auth/dpop": _TOKENS,
    "auth/dpop-nonce": _TOKENS,
    "auth/wif-jwt-bearer": _TOKENS,
    "sep-2640-client-no-prefetch": _SKILLS,
    "sep-2640-client-verify-digest": _SKILLS,
    "sep-2640-client-verify-size": _SKILLS,
    "sep-2640-client-verify-frontmatter": _SKILLS,
}
"""Scenarios that are about something that the client does not offer, and why."""

_NOTHING_JUDGED: Final = "Passed: 0/0"
"""What the suite says of a scenario that the client did not get into."""

_MEASURED: Final = ("sse-retry",)
"""Scenarios that want something within a fifth of a second; a machine that is busy gets a second and a third try."""

_PATIENCE: Final = "60000"
"""Milliseconds that the client may take for a scenario."""


def judge_client(chosen: Collection[str]) -> bool:
    """Run the *chosen* scenarios, or all of them. Answers whether there were some, and each ended as it should."""
    SUITE.install()
    wanted = [(scenario, revision) for scenario, revision in _scenarios() if not chosen or scenario in chosen]
    missing = set(chosen) - {scenario for scenario, _ in wanted}
    if missing or not wanted:
        print(f"client: the suite lists no {', '.join(sorted(missing)) or 'scenarios'}", flush=True)
        return False
    good = True
    for scenario, revision in wanted:
        ended = _run(scenario, revision)
        as_meant, verdict = _verdict(scenario, ended)
        good &= as_meant
        print(f"client {scenario} {revision}: {verdict}", flush=True)
        if not as_meant:
            print(ended.stdout, flush=True)
    return good


def _run(scenario: str, revision: str) -> subprocess.CompletedProcess[str]:
    client = shlex.join([sys.executable, "-m", CLIENT])
    version = ["--spec-version", revision] if revision else []
    arguments = ["client", "--command", client, "--scenario", scenario, "--timeout", _PATIENCE, *version]
    ended = SUITE.run(arguments, quiet=True)
    for _ in range(2 if scenario in _MEASURED else 0):
        if ended.returncode:
            ended = SUITE.run(arguments, quiet=True)
    return ended


def _verdict(scenario: str, ended: subprocess.CompletedProcess[str]) -> tuple[bool, str]:
    """Whether it ended as it should, and what to say of it."""
    reason, passed = NOT_OFFERED.get(scenario), ended.returncode == 0
    if reason is not None and (not passed or _NOTHING_JUDGED in ended.stdout):
        return True, f"not offered: {reason}"
    if reason is not None:
        return False, "PASSED, though it is listed as not offered"
    return passed, "passed" if passed else "FAILED"


def _scenarios() -> Iterator[tuple[str, str]]:
    """Each scenario with each revision to run it for; an empty one where the suite has its own mind."""
    listed = SUITE.run(["list", "--client"], quiet=True).stdout
    for name, about in re.findall(r"^  - (\S+) \[(.*)\]$", listed, re.MULTILINE):
        revisions = [revision for revision in REVISIONS if revision in about.split(",")]
        for revision in revisions or [""]:
            yield name, revision
