"""What docs/versioning.md promises, as far as it can be looked at."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from typing import Final

import pytest

from armory_trio import ToolDefinition, ToolId
from armory_trio.authority import _approvals
from armory_trio.authority.grants import GRANT_VERSION
from armory_trio.authority.signing import VERSIONS
from armory_trio.ledger import RECEIPT_VERSION
from armory_trio.observability import _socket_messages
from armory_trio.storage import _schema
from tests import public_names
from tests.docs import ROOT
from tests.requirements import requirement

PAGE: Final = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
CHANGELOG: Final = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS: Final = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


@requirement("versions.names")
def test_every_public_name_is_written_down_and_nothing_else() -> None:
    written = public_names.LIST.read_text(encoding="utf-8").splitlines()
    there = list(public_names.lines())

    assert [name for name in written if name not in there] == [], "it is gone: has CHANGELOG.md a word about it?"
    assert there == written, "run `python -m tests.public_names`, and look at what comes"


@requirement("versions.written")
@pytest.mark.parametrize(
    ("what", "version"),
    [
        pytest.param("the tables of a [store]", str(_schema.VERSION), id="tables"),
        pytest.param("a paused call", str(_approvals.VERSION), id="approvals"),
        pytest.param("a [grant]", str(GRANT_VERSION), id="grants"),
        pytest.param("a [receipt]", str(RECEIPT_VERSION), id="receipts"),
        pytest.param("the messages of the [live view]", str(_socket_messages.PROTOCOL), id="live view"),
        pytest.param("a frame of", str(_socket_messages.Frame.__struct_defaults__[0]), id="frames"),
    ],
)
def test_the_page_tells_the_versions_of_what_is_written(what: str, version: str) -> None:
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| {what}")]

    assert row.split(" | ")[1] == version


@requirement("versions.written")
def test_the_page_tells_the_version_of_signatures_and_of_definitions() -> None:
    definition = ToolDefinition(ToolId("add"), "Add.", {"type": "object"}).to_json()

    assert set(VERSIONS.values()) == {1}
    assert re.search(r"^\| a signature of each of these \| 1 \|", PAGE, re.MULTILINE)
    assert f"| {definition['schemaVersion']} | `schemaVersion` |" in PAGE


@requirement("versions.changelog")
def test_the_changelog_has_a_section_for_each_version_newest_first_and_no_others() -> None:
    versions = re.findall(r"^## (\S+)", CHANGELOG, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert versions[0] == project["version"]
    assert versions == sorted(versions, key=lambda text: [int(part) for part in text.split(".")], reverse=True)


@requirement("versions.changelog")
def test_the_changelog_has_the_parts_that_the_page_names_in_their_order() -> None:
    for section in CHANGELOG.split("\n## ")[1:]:
        parts = re.findall(r"^### (.*)$", section, re.MULTILINE)
        assert parts, section.splitlines()[0]
        assert parts == [part for part in SECTIONS if part in parts]
    assert f"{', '.join(SECTIONS[:-1])},\n{SECTIONS[-1]}".replace(",\n", ", ") in " ".join(PAGE.split())


def _deprecations() -> Iterator[str]:
    for path in (ROOT / "armory_trio").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if names & {"DeprecationWarning", "PendingDeprecationWarning", "FutureWarning"}:
            yield path.relative_to(ROOT).as_posix()


@requirement("versions.deprecated")
def test_nothing_warns_that_it_goes_as_long_as_the_page_says_that_nothing_does() -> None:
    assert "There is nothing deprecated now" in PAGE
    assert "### Deprecated" not in CHANGELOG
    assert list(_deprecations()) == []


@requirement("versions.supported")
def test_the_supported_versions_name_the_one_that_is_made_now() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    minor = project["version"].rpartition(".")[0]

    assert f"\n| {minor} " in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
