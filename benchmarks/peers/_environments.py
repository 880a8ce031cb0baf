"""An environment for each contender, made when it is first asked for and kept."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from ._contenders import Contender

_PACKAGES_OF: Final = ".packages"
"""The file in an environment that says what was asked to be installed there. It is written last."""


class Unavailable(Exception):
    """The packages cannot be had here."""


def python_of(contender: Contender, cache: Path) -> Path:
    """The interpreter to run *contender* with. Installs what it needs below *cache*, unless that is there already.

    Raises:
        Unavailable: They cannot be installed; the message is the last thing that pip said.
    """
    if contender.own:
        return Path(sys.executable)
    directory = cache / contender.name
    python = directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = f"{sys.version}\n{contender.requirements}"
    done = directory / _PACKAGES_OF
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        _make(directory, python, contender)
        done.write_text(wanted, encoding="utf-8")
    return python


def _make(directory: Path, python: Path, contender: Contender) -> None:
    venv.create(directory, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    ended = subprocess.run(  # noqa: S603  # our own requirements
        [*pip, *contender.requirements.split()], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        said = ended.stderr.strip().splitlines()
        raise Unavailable(f"not installed: {said[-1] if said else f'pip ended with {ended.returncode}'}")
