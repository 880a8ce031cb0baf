"""``python -m benchmarks.peers``: what a user would pick instead, side by side with armory_trio in one run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec
import trio

from benchmarks._plots import draw_comparison
from benchmarks._row import ROOT

from . import _tables
from ._compare import Measure
from ._contenders import BASE, CONTENDERS, Contender
from ._processes import WorkerError
from ._running import commands_of, compare, tell

_ABOUT: Final = """\
Every contender calls the same trivial tool, which adds two numbers, through the whole of what it does for a call; no
model and no network is involved. Each runs in an environment of its own, which is made when it is first asked for, and
each of its samples is taken between two of armory_trio. A ratio of 3 says: three times what armory_trio takes.
"""

_MEASURES: Final = (
    Measure(name="sequential", count=None, rounds=9),
    Measure(name="batch", count=1_000, rounds=9),
    Measure(name="thread", count=None, rounds=9),
    Measure(name="hold", count=10_000, rounds=3, fresh=True),
)
_QUICK_ROUNDS: Final = 2
_QUICK_PART: Final = 10


class Options(msgspec.Struct, frozen=True):
    """What was asked for."""

    contenders: tuple[Contender, ...]
    measures: tuple[Measure, ...]
    cache: Path
    json: Path | None
    plots: Path | None


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line.

    Raises:
        SystemExit: It is wrong, which was said on stderr, or it only asked for help.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=_ABOUT)
    names = [contender.name for contender in CONTENDERS]
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=names, help=f"compare this one; of {', '.join(names)}"
    )
    parser.add_argument(
        "--measure",
        action="append",
        choices=[measure.name for measure in _MEASURES],
        help="measure only this; hold is memory and cancellation",
    )
    parser.add_argument("--quick", action="store_true", help="less work and two rounds, for a first look")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".bench", metavar="DIR", help="where environments are kept (.bench)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to FILE, all samples included")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the tables in DIR; needs matplotlib")
    given = parser.parse_args(arguments)
    if given.plots is not None and find_spec("matplotlib") is None:
        parser.error("--plots needs matplotlib, which is not installed here")
    contenders = tuple(one for one in CONTENDERS if not given.only or one.name in given.only)
    measures = [one for one in _MEASURES if not given.measure or one.name in given.measure]
    chosen = tuple(map(_quick, measures) if given.quick else measures)
    return Options(contenders, chosen, given.cache, given.json, given.plots)


def _quick(measure: Measure) -> Measure:
    count = measure.count if measure.count is None else measure.count // _QUICK_PART
    return msgspec.structs.replace(measure, count=count, rounds=_QUICK_ROUNDS)


def main(arguments: Sequence[str]) -> int:
    """Compare those that *arguments* name, and answer the exit status; one that does not install is said to be so."""
    options = parse(arguments)
    commands, missing = commands_of((BASE, *options.contenders), options.cache)
    comparison = trio.run(compare, commands, options.measures, missing, partial(_keep, options.json))
    tell("")
    print(f"{comparison.environment}; {_tables.versions(comparison)}\n")
    print("\n\n".join(_tables.tables(comparison)))
    if options.plots is not None:
        options.plots.mkdir(parents=True, exist_ok=True)
        for path in draw_comparison(comparison, options.plots):
            print(f"drawn: {path}")
    return 0


def _keep(path: Path | None, comparison: _tables.Comparison) -> None:
    if path is not None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(comparison)) + b"\n")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except WorkerError as error:
        sys.exit(f"{BASE.name}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
