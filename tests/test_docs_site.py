"""What the documentation site is staged from. `make docs` builds it, and fails on whatever Sphinx warns of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from scripts.docs_site import offered_by, public_modules, toctrees, write_reference

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = {page.stem for page in (ROOT / "docs").glob("*.md")}


def test_every_page_is_in_the_contents_of_the_site_once() -> None:
    contents = "\n".join(toctrees((ROOT / "docs" / "index.md").read_text(encoding="utf-8")))

    assert sorted(re.findall(r"^docs/(.*)$", contents, re.MULTILINE)) == sorted(PAGES)


def test_the_headings_of_the_list_are_those_of_the_contents() -> None:
    first, run, write = toctrees(
        "# All\n\n## Run\n\n| [a](a.md) | A? |\n| [b](b-c.md) | B? |\n\n## Write\n\n| [d](d.md) |\n"
    )

    assert ":caption: Documentation\n\ndocs/index\n" in first
    assert ":caption: Run\n\ndocs/a\ndocs/b-c\n" in run
    assert ":caption: Write\n\ndocs/d\n" in write


def test_what_a_room_offers_again_is_followed_to_the_module_that_defines_it() -> None:
    offered = dict(offered_by("armory_trio"))

    assert offered["ToolCall"] == "armory_trio.definitions._call"
    assert offered["ArmoryError"] == "armory_trio.errors"
    assert offered["open_supervisor"].startswith("armory_trio.engine.")  # imported when somebody asks for it
    assert "Final" not in dict(offered_by("armory_trio.errors"))


def test_the_reference_describes_each_thing_once(tmp_path: Path) -> None:
    modules = list(public_modules())
    write_reference(modules, tmp_path / "reference")
    described = [
        (path.stem, found)
        for path in (tmp_path / "reference").iterdir()
        for found in re.findall(r"^\.\. (?:auto\w+|py:data):: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    names = [found for module, found in described if found != module]
    assert {"armory_trio.ToolCall", "armory_trio.EffectClass", "armory_trio.ledger.LedgerStore"} <= set(names)
    assert "armory_trio.definitions.ToolCall" not in names
    assert len(names) == len(set(names))
    assert {module for module, _ in described} == set(modules)


def test_a_value_is_shown_with_what_is_written_below_it(tmp_path: Path) -> None:
    write_reference(["armory_trio"], tmp_path / "reference")
    page = (tmp_path / "reference" / "armory_trio.md").read_text(encoding="utf-8")

    assert ".. py:data:: armory_trio.EffectClass\n   :value: Literal['read-only'," in page
    assert "Looks only; can be undone by a stated compensation" in page
