"""``python -m benchmarks.conversions``: what it costs to offer, read and word, side by side with others in one run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import trio

from benchmarks._row import ROOT
from benchmarks.peers._compare import Measure
from benchmarks.peers._contenders import Contender
from benchmarks.peers._processes import WorkerError
from benchmarks.peers._running import commands_of, compare, tell
from benchmarks.peers._tables import Heading, tables, versions

_ABOUT: Final = """\
Everybody converts the same tool, the same call and the same result; no model and no network is involved. Each runs in
an environment of its own, which is made when it is first asked for, and each of its samples is taken between two of
armory_trio. The time is that of the processor. A ratio of 3 says: three times what armory_trio takes.
"""

BASE: Final = Contender("armory_trio", "benchmarks.conversions.ours", own=True)
CONTENDERS: Final = (
    Contender("openai", "benchmarks.conversions.openai_sdk"),
    Contender("anthropic", "benchmarks.conversions.anthropic_sdk"),
    Contender("pydantic-ai-openai", "benchmarks.conversions.pydantic_ai_models"),
    Contender("langchain-core", "benchmarks.conversions.langchain_tools"),
)
HEADINGS: Final = (
    Heading("offer", "offer", "A tool for Chat Completions, strict, for the first time", "processor"),
    Heading("again", "again", "The same for the next request", "processor"),
    Heading("parse", "parse", "One call of a Chat Completions message, down to validated arguments", "processor"),
    Heading(
        "parse_claude", "parse_claude", "One call of an Anthropic message, down to validated arguments", "processor"
    ),
    Heading("word", "word", "One result into a tool message, from the value on", "processor"),
)
_ROUNDS: Final = 9
_QUICK: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Compare, and answer the exit status; one that does not install is said to be so."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conversions", description=_ABOUT)
    names = [contender.name for contender in CONTENDERS]
    parser.add_argument("--only", action="append", metavar="NAME", choices=names, help=f"of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="two rounds, for a first look")
    parser.add_argument("--cache", type=Path, default=ROOT / ".bench", metavar="DIR", help="environments (.bench)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to FILE, all samples included")
    given = parser.parse_args(arguments)
    chosen = [one for one in CONTENDERS if not given.only or one.name in given.only]
    rounds = _QUICK if given.quick else _ROUNDS
    measures = [Measure(name=heading.measure, count=None, rounds=rounds) for heading in HEADINGS]
    commands, missing = commands_of((BASE, *chosen), given.cache)
    comparison = trio.run(compare, commands, measures, missing)
    tell("")
    print(f"{comparison.environment}; {versions(comparison)}\n")
    print("\n\n".join(tables(comparison, HEADINGS)))
    if given.json is not None:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(comparison)) + b"\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except WorkerError as error:
        sys.exit(f"{BASE.name}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
