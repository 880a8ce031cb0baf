"""What is shipped: the wheel, its metadata, and the pins that everything was tried with."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.fresh_venv import build
from scripts.release_check import CORE, contents, wheel_out_of
from tests.docs_pages.extras_page import installed_with
from tests.requirements import requirement
from tests.test_architecture import IMPORTS, NEVER_INSTALLED

ROOT: Final = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel, built from this checkout without asking any index."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> Path:
    """The wheel of these."""
    return built[1]


@requirement("release.plain")
def test_the_wheel_holds_every_module_the_types_mark_and_the_licence_and_nothing_else(wheel: Path) -> None:
    sources = (ROOT / "armory_trio", ROOT / "pytest_armory_trio")
    files = [path for source in sources for path in source.rglob("*") if path.suffix in {".py", ".typed"}]
    wanted = {path.relative_to(ROOT).as_posix() for path in files}

    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())

    assert "armory_trio/py.typed" in names
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert any(name.endswith("licenses/LICENSE") for name in names)


@requirement("release.same")
def test_the_sdist_builds_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    sdist, wheel = built

    assert contents(wheel_out_of(sdist, tmp_path)) == contents(wheel)


@requirement("release.plain")
def test_the_plain_package_brings_exactly_what_the_core_needs() -> None:
    assert installed_with() == CORE - {"armory-trio"}


def test_the_metadata_offers_every_extra_and_all_of_them_at_once(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        [name] = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        told = Parser().parsestr(opened.read(name).decode())
    needed: dict[str, set[str]] = {name: set() for name in told.get_all("Provides-Extra", [])}
    for line in told.get_all("Requires-Dist", []):
        text, _, extra = line.partition("; extra == ")
        if extra:
            needed[extra.strip("'")].add(text)
    everything = needed.pop("all")
    for too_large in ("claude-agent", "minilm"):
        needed.pop(too_large)

    assert needed.keys() >= {"anthropic", "cli", "coding", "gemini", "mcp", "openai", "otel", "postgres", "pydantic"}
    assert all(needed.values())
    assert everything == set().union(*needed.values())


def test_every_foreign_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    declared = {canonicalize_name(Requirement(text).name) for text in texts}
    providers = metadata.packages_distributions()
    imported = {found.distribution for found in IMPORTS if found.own is None} - {
        *sys.stdlib_module_names,
        *NEVER_INSTALLED,
    }

    # A namespace such as `google` has many providers; one of them declared is enough. What is not installed goes by its name.
    assert [name for name in imported if not declared & set(map(canonicalize_name, providers.get(name, [name])))] == []


def test_the_version_is_written_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert metadata.version("armory-trio") == project["version"]
    assert re.search(rf"^## {re.escape(project['version'])}\b", changelog, re.MULTILINE)


def test_the_versions_of_python_are_the_same_wherever_they_are_named() -> None:
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, tools = read["project"], read["tool"]
    named = [match[1] for text in project["classifiers"] if (match := re.search(r"Python :: (3\.\d+)$", text))]
    page = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"^All tests pass on CPython (.*), on Linux\.", page, re.MULTILINE)
    lowest = named[0]

    assert re.findall(r"3\.\d+", sentence) == named
    assert project["requires-python"] == f">={lowest}"
    assert tools["mypy"]["python_version"] == tools["pyright"]["pythonVersion"] == lowest
    assert tools["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"


def test_everything_that_is_needed_is_pinned_as_it_is_installed_here() -> None:
    command = [sys.executable, "scripts/pins.py", "--check"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr


def test_every_pin_names_one_version() -> None:
    lines = [
        line
        for path in sorted((ROOT / "requirements").glob("*.txt"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]

    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.]+(; python_version .*)?", line)] == []
