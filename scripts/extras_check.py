"""Install the package with each extra alone, in an environment of its own, and import what needs that extra.

``make extras-check`` needs a package index, and minutes. ``ARGS="cli sql"`` tries these two only, ``ARGS=--newest`` all of
them with the newest packages instead of the pinned ones. Extras of gigabytes are tried only when they are named. Exits
with 1 when one of them is not enough for its modules.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from scripts.fresh_venv import build, fresh_venv
from tests.docs_pages.extras_page import NOT_HERE, declared, needs

TRIALS: Final[Mapping[str, str]] = {
    "anthropic": "import anthropic; from armory_trio.providers.anthropic import parse_tool_calls",
    "cli": "from armory_trio.cli._command import execute",
    "coding": "from armory_trio.kits.coding._grep import grep; import re2, pathspec",
    "gemini": "import google.genai.types; from armory_trio.providers.gemini import parse_tool_calls",
    "openai": "import openai; from armory_trio.providers.openai import parse_chat_tool_calls",
    "otel": "import opentelemetry.sdk.trace; from armory_trio.observability.otel import instrument",
    "postgres": "import psycopg, armory_trio.storage.sql",
    "pydantic": """
import pydantic, armory_trio
class Order(pydantic.BaseModel):
    number: int
@armory_trio.tool
async def ship(order: Order) -> str:
    return "shipped"
""",
    "search": """
import armory_trio
@armory_trio.tool
async def ship(order: int) -> str:
    "Send an order to a customer."
found = armory_trio.Toolbox([ship]).search("send")
assert [match.tool for match in found] == [ship]
""",
}
"""What an extra is for, where it is more than modules of its own."""


IMPORT_ALL: Final = """
import importlib
failed = []
for module in {modules}:
    try:
        importlib.import_module(module)
    except Exception as error:
        failed.append(module + ": " + repr(error))
if failed:
    raise SystemExit("; ".join(failed))
"""


class Tried(NamedTuple):
    """One extra."""

    extra: str
    packages: int
    modules: Sequence[str]
    failed: Sequence[str]


def try_extra(extra: str, wheel: Path, by_module: Mapping[str, str], *, newest: bool) -> Tried:
    """Install the wheel with one *extra*, and import what anybody can import and what needs exactly that."""
    own = [module for module, needed in by_module.items() if needed == extra]
    plain = [module for module, needed in by_module.items() if not needed]
    with fresh_venv() as venv:
        venv.install(f"{wheel}[{extra}]" if extra else str(wheel), newest=newest)
        trials = [IMPORT_ALL.format(modules=[*plain, *own]), *([TRIALS[extra]] if extra in TRIALS else [])]
        failed = [why for code in trials if (why := venv.try_python(code))]
        return Tried(extra, len(venv.distributions()), own, failed)


def rows(tried: Sequence[Tried]) -> Iterator[str]:
    """What was found, as a table."""
    yield f"{'extra':16} {'packages':>8}  result"
    for each in tried:
        what = ", ".join(module.removeprefix("armory_trio.") for module in each.modules)
        what = f", with {what}" if each.extra and what else ""
        result = "; ".join(each.failed) or f"works{what}"
        yield f"{each.extra or 'none':16} {each.packages:8}  {result}"


def main() -> int:
    """Try the extras that were named, or all. Answers the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.extras_check", description=__doc__)
    extras = [extra for extra in declared() if extra != "all"]
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="what to try; by default all but the large ones")
    parser.add_argument("--newest", action="store_true", help="the newest packages instead of the pinned ones")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.extras).difference(extras)):
        parser.error(f"there is no extra {', '.join(unknown)}; there are {', '.join(filter(None, extras))}")
    by_module = needs()
    tried: list[Tried] = []
    with tempfile.TemporaryDirectory() as directory:
        wheel = build(Path(directory))[1]
        for extra in asked.extras or [extra for extra in extras if extra not in NOT_HERE]:
            print(f"trying {extra or 'the plain package'} ...", flush=True)
            tried.append(try_extra(extra, wheel, by_module, newest=asked.newest))
    print("", *rows(tried), sep="\n")
    return 1 if any(each.failed for each in tried) else 0


if __name__ == "__main__":
    raise SystemExit(main())
