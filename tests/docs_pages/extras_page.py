"""Find out what each public module needs to be imported, and write it into docs/extras.md.

``python -m tests.docs_pages.extras_page`` puts what it finds into the page, in place of what was found before.

Each set of extras is tried in a process of its own in which every distribution that pip would not have installed with
it is hidden. That is as good as an environment made for it, and takes a second.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.docs_site import public_modules
from tests.docs import ROOT

PAGE: Final = ROOT / "docs" / "extras.md"
NOT_HERE: Final = ("claude-agent", "minilm")
"""Extras that are too large to be installed for the tests."""
OURS: Final = ("armory_trio", "pytest_armory_trio")

_MODULES: Final = "| module | needs |\n|---|---|\n"
_EXTRAS: Final = "| extra | asks for |\n|---|---|\n"

TRIAL: Final = """\
import importlib, json, sys

hidden, modules = json.load(sys.stdin)

class Hide:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"no module named {name!r} here", name=name)

sys.meta_path.insert(0, Hide)
failed = []
for module in modules:
    try:
        importlib.import_module(module)
    except ImportError as error:
        failed.append((module, str(error)))
json.dump(failed, sys.stdout)
"""


@functools.cache
def declared() -> Mapping[str, tuple[str, ...]]:
    """What each extra asks for; what everybody gets stands under the empty name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return {"": tuple(project["dependencies"]), **{name: tuple(asked) for name, asked in extras.items()}}


def installed_with(*extras: str) -> set[str]:
    """The distributions that pip brings along with the package and *extras*."""
    todo = [Requirement(text) for extra in ("", *extras) for text in declared()[extra]]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        asked = todo.pop()
        name = canonicalize_name(asked.name)
        if (name, frozenset(asked.extras)) in seen:
            continue
        seen.add((name, frozenset(asked.extras)))
        needed = map(Requirement, metadata.requires(name) or ())
        todo.extend(
            one
            for one in needed
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *asked.extras))
        )
    return {name for name, _ in seen}


@functools.cache
def _providers() -> Mapping[str, tuple[str, ...]]:
    return {top: tuple(map(canonicalize_name, names)) for top, names in metadata.packages_distributions().items()}


def hidden_without(extras: Iterable[str]) -> list[str]:
    """The top-level names that nobody could import who has installed the package with *extras* only."""
    there = installed_with(*extras)
    return sorted(top for top, names in _providers().items() if top not in OURS and not there & set(names))


def failing_with(*extras: str, modules: Iterable[str]) -> dict[str, str]:
    """Which of *modules* can't be imported with *extras* only, and what they say then."""
    given = json.dumps([hidden_without(extras), list(modules)])
    ended = subprocess.run(
        [sys.executable, "-c", TRIAL], input=given, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return dict(json.loads(ended.stdout))


def needs() -> dict[str, str]:
    """The extra that each public module needs, of several the lightest; the empty name where none is needed.

    Raises:
        LookupError: A module can't be imported with any one extra.
    """
    modules = list(public_modules())
    left = failing_with(modules=modules)
    found = dict.fromkeys((module for module in modules if module not in left), "")
    extras = [extra for extra in declared() if extra not in ("", "all", *NOT_HERE)]
    for extra in sorted(extras, key=lambda extra: len(installed_with(extra))):
        if left:
            still = failing_with(extra, modules=left)
            found.update(dict.fromkeys((module for module in left if module not in still), extra))
            left = still
    if left:
        raise LookupError(f"no extra is enough for {left}")
    return {module: found[module] for module in modules}


def table_of_modules() -> str:
    """Every public module that needs an extra."""
    return _MODULES + "".join(f"| `{module}` | `{extra}` |\n" for module, extra in needs().items() if extra)


def table_of_extras() -> str:
    """Every extra, with what it asks for."""
    rows = {name: ", ".join(f"`{text}`" for text in asked) for name, asked in declared().items() if name}
    return _EXTRAS + "".join(f"| `{name}` | {asked} |\n" for name, asked in rows.items() if name != "all")


def redrawn(page: str) -> str:
    """*page* with its tables as they should be.

    Raises:
        ValueError: A table is missing, or there twice.
    """
    for header, draw in ((_MODULES, table_of_modules), (_EXTRAS, table_of_extras)):
        places = list(re.finditer(re.escape(header) + r"(\|.*\n)+", page))
        if len(places) != 1:
            raise ValueError(f"the page has {len(places)} tables that begin with {header!r}")
        page = page[: places[0].start()] + draw() + page[places[0].end() :]
    return page


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
