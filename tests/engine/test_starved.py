"""Whatever a call comes to, it has an end, also when no file can be opened any more: its code is there already."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.requirements import requirement

ROOT: Final = Path(__file__).parents[2]
REFUSED: Final = "error ENGINE_ERROR"
"""What its tool needs could not be loaded, so it did not begin."""

ENDS: Final = {
    "fails": "error INTERNAL_ERROR",
    "answers_anything": "error OUTPUT_INVALID",
    "sleeps": "error TIMEOUT",
    "streams": "error INTERNAL_ERROR",
    "in_a_thread": "success -",
    "digested": "success -",
    "wrapped": "success -",
    "keyed": REFUSED,
    "asks": REFUSED,
    "fials": "error NOT_FOUND",
}


@requirement("engine.faults.starved")
@pytest.mark.parametrize("watched", ["watched", "alone"])
@pytest.mark.parametrize("name", ENDS)
def test_calls_end_as_ever_when_no_file_can_be_opened_any_more(name: str, watched: str) -> None:
    command = [sys.executable, "-m", "tests.engine.starved", name, watched]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)

    first, second, code = ended.stdout.splitlines()
    assert (first, second) == (ENDS[name], ENDS[name]), ended.stderr
    assert code == ("3" if ENDS[name] == REFUSED else "0")
