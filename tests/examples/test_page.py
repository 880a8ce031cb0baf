"""The page about examples leads to all of them."""

from __future__ import annotations

import re
from typing import Final

from tests.docs import ROOT
from tests.requirements import requirement

PAGE: Final = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
PATTERNS: Final = (ROOT / "docs" / "patterns.md").read_text(encoding="utf-8")
PARTS: Final = ("examples.shared_state.host",)
"""Programs that another example starts."""


def _programs() -> set[str]:
    """What ``python -m`` can run."""
    found = set[str]()
    for path in (ROOT / "examples").rglob("*.py"):
        if 'if __name__ == "__main__":' in path.read_text(encoding="utf-8"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.add(".".join(part for part in parts if part != "__main__"))
    return found.difference(PARTS)


@requirement("examples.listed")
def test_every_example_stands_on_its_page_and_every_command_runs_one() -> None:
    programs = _programs()
    patterns = {name for name in programs if name.startswith("examples.patterns.")}
    commands = set(re.findall(r"python -m (examples[\w.]*)", PAGE)) | {"examples.demo"}

    assert commands == programs - patterns
    assert {f"examples.patterns.{name}" for name in re.findall(r"examples/patterns/(\w+)\.py", PATTERNS)} == patterns
