"""The package as a user gets it: built into dist/, and installed into environments that hold nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PINS: Final = ROOT / "requirements" / "dev.txt"

_LIST: Final = "import importlib.metadata as m, json; print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"


def verify_types(*options: str) -> str:
    """What pyright says of how completely the types of what is public are known.

    It looks for the package where the first interpreter on the path has it, and not where its own does: so ours is put first.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [sys.executable, "-m", "pyright", "--verifytypes", "armory_trio", "--ignoreexternal", *options]
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, encoding="utf-8", check=False
    )
    return ended.stdout


def build(directory: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Build the sdist and the wheel of the checkout at *source* into *directory*, without asking any index.

    Returns:
        The sdist and the wheel.

    Raises:
        SystemExit: It can't be built; the message says why.
    """
    run([sys.executable, "-m", "hatchling", "build", "-d", str(directory)], cwd=source)
    [sdist], [wheel] = directory.glob("*.tar.gz"), directory.glob("*.whl")
    return sdist, wheel


class Venv:
    """An environment of its own. Not even pip is in it, so all that it holds was asked for, or was needed by that.

    Args:
        path: Its directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.python = path / "bin" / "python"

    def install(self, *wanted: str, newest: bool = False) -> None:
        """Install what is *wanted*: at the pinned versions, or at the *newest* that there are.

        Raises:
            SystemExit: pip can't; the message is pip's.
        """
        pins = () if newest else ("--constraint", str(PINS))
        run([sys.executable, "-m", "pip", "--python", str(self.python), "--quiet", "--disable-pip-version-check", "install", *pins, *wanted])  # fmt: skip

    def distributions(self) -> Mapping[str, str]:
        """What is installed, by name as it calls itself, with the version."""
        found: dict[str, str] = json.loads(run([str(self.python), "-I", "-c", _LIST]))
        return found

    def try_python(self, code: str) -> str:
        """Run *code* somewhere else than in the checkout. Answers why it failed; nothing if it did not."""
        ended = subprocess.run(
            [str(self.python), "-I", "-W", "error::ImportWarning", "-c", code],
            cwd=self.path,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return "" if ended.returncode == 0 else (ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"])[-1]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the program that the package installs."""
        return subprocess.run(
            [str(self.path / "bin" / "armory-trio"), *arguments],
            cwd=self.path,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


@contextmanager
def fresh_venv() -> Generator[Venv]:
    """An environment that is gone at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="armory-trio-") as directory:
        path = Path(directory) / "venv"
        run([sys.executable, "-m", "venv", "--without-pip", str(path)])
        yield Venv(path)


def run(command: Sequence[str], cwd: Path = ROOT) -> str:
    """Run a *command* that has to succeed, and answer what it printed.

    Raises:
        SystemExit: It fails; the message is what it said.
    """
    ended = subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", check=False)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{ended.stdout}{ended.stderr}")
    return ended.stdout
