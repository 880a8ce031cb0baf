"""The page for those who come from armorer leads to names that exist."""

from __future__ import annotations

import importlib
import re
from typing import Final

from armory_trio import Happening
from tests.docs import ROOT
from tests.public_names import lines

PAGE: Final = (ROOT / "docs" / "coming-from-armorer.md").read_text(encoding="utf-8")
HERE: Final = [line.split(" | ", 1)[1] for line in PAGE.splitlines() if line.startswith("| ") and " | " in line]
NAMES: Final = sorted({name for cell in HERE for name in re.findall(r"`([A-Za-z][\w.]*)`", cell)})
FIELDS: Final = ("category", "code", "complete", "ctx.emit")
"""What stands in code beside a name, and is a part of it."""


_SET_WHEN_MADE: Final = {"Supervisor.executions", "MockTool.calls"}
"""Members that only an object of the class has."""


def test_the_page_names_what_there_is() -> None:
    homes = {line.rpartition(".")[2]: line.rpartition(".")[0] for line in lines()}
    missing = list[str]()
    for name in NAMES:
        owner, _, member = name.partition(".")
        if name in FIELDS or owner == "armory_trio":
            continue
        if owner not in homes:
            missing.append(name)
        elif member and name not in _SET_WHEN_MADE:
            offered: object = getattr(importlib.import_module(homes[owner]), owner)
            if not hasattr(offered, member) and member not in getattr(offered, "__annotations__", ()):
                missing.append(name)

    assert missing == []
    assert len(NAMES) > 80


def test_the_page_has_every_event() -> None:
    told = {kind.__name__ for kind in _kinds(Happening)} | {"Lagged"}
    shown = set(re.findall(r"`([A-Z]\w+)`", PAGE.partition("## Events")[2]))

    assert {name for name in told if name not in {"Happening", "OfExecution"}} - shown == set()


def _kinds(kind: type[Happening]) -> set[type[Happening]]:
    return {kind}.union(*(_kinds(below) for below in kind.__subclasses__()))
