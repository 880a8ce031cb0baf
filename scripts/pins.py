"""Write requirements/dev.txt from what is installed: every package that the extras and the tests need, at its version.

Run it with the Python of .venv after trying newer packages there. It asks no index: names and versions come from the
metadata of the installed packages, so that what is pinned is what the tests ran with. With ``--check`` it writes
nothing and fails when the file lacks something that is needed here, or has it at another version.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[1]
PINS: Final = ROOT / "requirements" / "dev.txt"
NOT_PINNED: Final = ("all", "claude-agent", "minilm")
"""Extras that stand for others, or are too large to be installed for the tests."""

HEADER: Final = """\
# Every package that the tests, the checks and the demo run with: the extras of pyproject.toml, its `dev` group, and
# whatever those bring along. Written by scripts/pins.py, which keeps the lines that have a marker: what only another
# Python needs. See CONTRIBUTING.md.
"""


def wanted() -> list[Requirement]:
    """What pyproject.toml asks for: runtime, the extras that ``all`` stands for, and the dev group."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    texts: list[str] = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    for name, members in extras.items():
        if name not in NOT_PINNED:
            texts.extend(members)
    return [Requirement(text) for text in texts]


def closure(roots: Iterable[Requirement]) -> dict[str, str]:
    """Name and version of everything that *roots* need on this machine. A missing one ends the program with its name."""
    versions: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    todo = list(roots)
    while todo:
        asked = todo.pop()
        name = canonicalize_name(asked.name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise SystemExit(f"{asked} is asked for, but not installed: pip install '{asked}'") from None
        if not asked.specifier.contains(found.version, prereleases=True):
            raise SystemExit(f"{asked} is asked for, but {found.version} is installed")
        versions[name] = found.version
        for extra in ("", *asked.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                todo.extend(_needs(found, extra))
    return versions


def _needs(found: metadata.Distribution, extra: str) -> Iterator[Requirement]:
    for text in found.requires or ():
        needed = Requirement(text)
        if needed.marker is None:
            if not extra:
                yield needed
        elif needed.marker.evaluate({"extra": extra}):
            yield needed


def pinned() -> list[str]:
    """The lines of the file as it is."""
    lines = PINS.read_text(encoding="utf-8").splitlines() if PINS.exists() else []
    return [line for line in lines if not line.startswith("#")]


def main() -> None:
    """Write the file, or compare it."""
    here = {f"{name}=={version}" for name, version in closure(wanted()).items()}
    elsewhere = {line for line in pinned() if ";" in line}
    if "--check" not in sys.argv[1:]:
        PINS.write_text(HEADER + "".join(f"{line}\n" for line in sorted(here | elsewhere)), encoding="utf-8")
        return
    # Another Python or system may need less than what was pinned on this one.
    unpinned = here - {line.partition(";")[0].strip() for line in pinned()}
    if unpinned:
        where = PINS.relative_to(ROOT)
        raise SystemExit(f"{where} lacks {', '.join(sorted(unpinned))}: run .venv/bin/python scripts/pins.py")


if __name__ == "__main__":
    main()
