"""``python -m benchmarks.search``: how well and how fast tools are found, beside what one would use instead."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks._row import ROOT
from benchmarks.peers._contenders import Contender
from benchmarks.peers._environments import Unavailable, python_of
from examples.demo.bfcl import DataMissing, data_folder

HERE: Final = Path(__file__).parent

_ABOUT: Final = """\
Every function of the Berkeley function-calling data is one tool of a large toolbox. Each question that its files answer
with calls is searched for with the words of the user. What counts is which of the functions that answer it are found in
the first places. Weights were chosen on the odd-numbered questions; what is printed is about the even-numbered ones.
"""


class SearchWorker(Contender, frozen=True):
    """The process that measures, and what it needs."""

    embeddings: bool = True

    @property
    def requirements(self) -> str:
        """What has to be installed for it, as pip reads it."""
        files = ("requirements.txt", "embeddings.txt") if self.embeddings else ("requirements.txt",)
        return "".join((HERE / name).read_text(encoding="utf-8") for name in files)


def main(arguments: Sequence[str]) -> int:
    """Measure, and answer the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=_ABOUT)
    parser.add_argument("--half", choices=("even", "odd", "all"), default="even", help="which questions (even)")
    parser.add_argument("--no-embeddings", action="store_true", help="words only: spares installing PyTorch")
    parser.add_argument("--tools", type=int, default=10_000, metavar="N", help="tools for speed and memory; 0: neither")
    parser.add_argument("--queries", type=int, default=200, metavar="N", help="queries that are timed (200)")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".bench", metavar="DIR", help="where the environment is kept (.bench)"
    )
    given = parser.parse_args(arguments)
    name = "search-words" if given.no_embeddings else "search"
    worker = SearchWorker(name, "benchmarks.search.worker", embeddings=not given.no_embeddings)
    try:
        python, data = python_of(worker, given.cache.absolute()), data_folder()
    except (Unavailable, DataMissing) as error:
        print(f"benchmarks.search: {error}", file=sys.stderr)
        return 1
    command = [str(python), "-m", worker.module, "--data", str(data), "--half", given.half]
    command += ["--tools", str(given.tools), "--queries", str(given.queries)]
    if not given.no_embeddings:
        command.append("--embeddings")
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603  # our own worker


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
