"""Build what would be released, install it as a user would, and say whether it is what was meant.

``make release-check`` needs a package index for the installation. Exits with 1 when something is not as it should be.
"""

from __future__ import annotations

import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from scripts.fresh_venv import ROOT, Venv, build, fresh_venv, verify_types

CORE: Final = frozenset({"armory-trio", "trio", "attrs", "cattrs", "msgspec", "structlog", "opentelemetry-api", "jsonschema-rs", "outcome", "typing-extensions", "idna", "sniffio", "sortedcontainers"})  # fmt: skip
"""All that the plain package brings: what it asks for, and the last three, which trio asks for."""

REFUSED: Final = "install the extra: pip install 'armory-trio[cli]'"


def contents(wheel: Path) -> Mapping[str, bytes]:
    """The files of a wheel, but for the list of their digests."""
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/RECORD")}


def wheel_out_of(sdist: Path, directory: Path) -> Path:
    """Unpack an sdist and build the wheel of what is in it."""
    with tarfile.open(sdist) as opened:
        opened.extractall(directory, filter="data")
    [source] = directory.iterdir()
    return build(directory / "dist", source)[1]


def faults_of_files(sdist: Path, wheel: Path) -> Iterator[str]:
    """What is wrong with the two files."""
    files = contents(wheel)
    if "armory_trio/py.typed" not in files:
        yield f"{wheel.name} has no py.typed: type checkers would not believe it"
    strays = [name for name in files if name.split("/")[0] not in {"armory_trio", "pytest_armory_trio"} and ".dist-info/" not in name]  # fmt: skip
    if strays:
        yield f"{wheel.name} holds what is not the package: {', '.join(strays[:5])}"
    with tempfile.TemporaryDirectory() as directory:
        again = contents(wheel_out_of(sdist, Path(directory)))
    differing = [name for name in files.keys() | again.keys() if files.get(name) != again.get(name)]
    if differing:
        yield f"the wheel built from {sdist.name} is another one: {', '.join(sorted(differing)[:5])}"


def faults_of_plain(venv: Venv) -> Iterator[str]:
    """What is wrong where the plain package was installed, and nothing else."""
    odd = CORE.symmetric_difference(map(canonicalize_name, venv.distributions()))
    if odd:
        yield f"the plain package brings other packages than it should: {', '.join(sorted(odd))}"
    failed = venv.try_python("import armory_trio")
    if failed:
        yield f"import armory_trio: {failed}"
    asked = venv.command("--help")
    if asked.returncode != 2 or REFUSED not in asked.stderr:
        yield f"without its extra the command should say what to install, not: {asked.stdout}{asked.stderr}"


def faults_of_command(venv: Venv) -> Iterator[str]:
    """What is wrong with the command where its extra was installed."""
    for arguments in (("--help",), ("--version",), ("run", "--help")):
        ended = venv.command(*arguments)
        if ended.returncode != 0:
            yield f"armory-trio {' '.join(arguments)}: {ended.stderr}"


def faults_of_types() -> Iterator[str]:
    """What type checkers can't know of what is public."""
    told = verify_types()
    if "Type completeness score: 100%" not in told:
        yield f"the types are not complete:\n{told}"


def faults() -> Iterator[str]:
    """All that is wrong, as it is found."""
    print("building ...", flush=True)
    dist = ROOT / "dist"
    for old in dist.glob("armory_trio-*"):
        old.unlink()
    sdist, wheel = build(dist)
    print(f"  {sdist.relative_to(ROOT)}, {wheel.relative_to(ROOT)}")
    yield from faults_of_files(sdist, wheel)
    print("installing the plain package ...", flush=True)
    with fresh_venv() as venv:
        venv.install(str(wheel))
        yield from faults_of_plain(venv)
        print("installing the command ...", flush=True)
        venv.install(f"{wheel}[cli]")
        yield from faults_of_command(venv)
    print("looking at the types ...", flush=True)
    yield from faults_of_types()


def main() -> int:
    """Say what is wrong. Answers the exit code."""
    found = list(faults())
    print("\n".join(found) or "all is well: dist/ may be released")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
