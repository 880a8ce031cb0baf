"""Examples whose packages are not installed."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.examples.programs import ENVIRONMENT, PATIENCE
from tests.requirements import requirement

WITHOUT = (
    "import runpy, sys; sys.modules['lancedb'] = None; runpy.run_module('examples.vector_search', run_name='__main__')"
)


@requirement("examples.vector-search.missing")
def test_a_search_with_vectors_says_which_packages_it_needs() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )

    told = "no package lancedb: pip install -r examples/vector_search/requirements.txt\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", told)
