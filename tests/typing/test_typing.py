"""Both type checkers read the files beside this one: right code must pass, and wrong code must not.

The wrong code carries ``type: ignore``, and a checker that finds nothing to ignore there complains, so an error that
stopped being one fails these tests like a new one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.requirements import requirement

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
FILES: Final = sorted(path for path in HERE.glob("*.py") if not path.name.startswith(("test_", "__")))
COMMANDS: Final = {
    "mypy": ("mypy", "--strict", "--no-error-summary"),  # as `make check` has it, and so with its cache
    "pyright": ("pyright",),
}
MISTAKE: Final = """
from armory_trio import tool

@tool
async def double(n: int) -> int:
    return 2 * n

async def main() -> None:
    text: str = await double(1)
    await double("one")
    await double(1)  # type: ignore[arg-type]
"""


def complaints(checker: str, *files: Path) -> list[str]:
    """What *checker* says about *files* themselves, one line each."""
    command = [sys.executable, "-m", *COMMANDS[checker], *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    names = "|".join(re.escape(file.name) for file in files)
    return [line for line in done.stdout.splitlines() if re.search(rf"({names}):\d+.* error: ", line)]


@requirement("definitions.tool.types")
@pytest.mark.parametrize("checker", COMMANDS)
def test_a_type_checker_sees_what_tools_take_and_return(checker: str) -> None:
    assert FILES
    assert complaints(checker, *FILES) == []


@requirement("definitions.tool.types")
@pytest.mark.parametrize("checker", COMMANDS)
def test_a_type_checker_finds_mistakes_and_ignores_that_are_not_needed(checker: str, tmp_path: Path) -> None:
    file = tmp_path / "mistake.py"
    file.write_text("# pyright: reportUnnecessaryTypeIgnoreComment=true\n" + MISTAKE)
    lines = [int(line) for line in re.findall(r"mistake\.py:(\d+)", "\n".join(complaints(checker, file)))]
    assert sorted(set(lines)) == [10, 11, 12]
