"""The pages about provider streams and histories run as they stand, and name what exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from armory_trio import providers
from tests.docs import ROOT
from tests.requirements import requirement

PAGES = ["provider-streams.md", "provider-history.md"]


@requirement("assembly.guide", "history.guide")
@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs_and_shows_what_it_says(page: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.docs", str(ROOT / "docs" / page)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert ended.returncode == 0, ended.stderr


@requirement("assembly.guide", "history.guide")
@pytest.mark.parametrize("page", PAGES)
def test_what_the_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assemblers = set(re.findall(r"\b(openai|anthropic|gemini)\.(\w+Assembler)", text))
    imported = {
        name for line in re.findall(r"from armory_trio.providers import (.*)", text) for name in line.split(", ")
    }

    assert len(assemblers) == (4 if page == PAGES[0] else 0)
    assert all(hasattr(getattr(providers, module), name) for module, name in assemblers)
    assert imported <= set(providers.__all__)
