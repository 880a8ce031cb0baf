"""Run the tests and the page of the Claude Agent SDK with the SDK, which is installed into .bench/claude-agent.

The SDK brings a program of 400 megabytes, Claude Code, so that it is not part of what the other tests are installed with.
Most tests play that program; a few start it, with a scripted model on loopback. Exits with pytest's status.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
HOME: Final = ROOT / ".bench" / "claude-agent"
SDK: Final = "claude-agent-sdk==0.2.189"
TESTS: Final = ("tests/integrations/claude_agent", "tests/test_docs.py::test_the_page_does_what_it_shows")


def main() -> int:
    """Install what is missing, and run."""
    install()
    along = [str(ROOT), str(HOME), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(along)}
    chosen = ["-k", "claude", *TESTS, *sys.argv[1:]]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    return subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode


def install() -> None:
    """Put the SDK into `HOME`, unless this very one is there. What it needs, the tests have."""
    marker = HOME / "installed"
    if marker.exists() and marker.read_text(encoding="utf-8") == SDK:
        return
    shutil.rmtree(HOME, ignore_errors=True)
    print("installing the Claude Agent SDK into .bench/claude-agent", flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(HOME), SDK]
    subprocess.run(pip, check=True, stdin=subprocess.DEVNULL)
    marker.write_text(SDK, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
