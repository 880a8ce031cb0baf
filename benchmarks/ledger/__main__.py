"""``python -m benchmarks.ledger``: calls a second that are recorded, beside memory and beside plain writes."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from tests.storage.servers import open_schema, open_server

from ._calls import by_hand, in_memory, in_store

_ABOUT: Final = """\
Each call has a key of its own, and its tool does nothing: what is measured is the ledger. A call writes three times: that
its key is claimed, that its body begins, and how it ended. The store is that of the page about storage, synchronous, on
the disk of this machine; PostgreSQL is a server of its own on this machine, as it is set when it is new. By hand, the same
number of rows of the same size is written with the driver alone: one transaction each, or one for each step of all calls.
"""

Measure = Callable[[int], float]


class Line(msgspec.Struct, frozen=True):
    """One line of the table.

    Args:
        way: Where it is kept, and how.
        at_once: Whether all calls were made at once.
        rates: Calls a second, one for each round.
        to_memory: The median of its time to that in memory, round by round.
        to_hand: The median of its time to that by hand; None where there is nothing by hand.
    """

    way: str
    at_once: bool
    rates: tuple[float, ...]
    to_memory: float
    to_hand: float | None


def measured(ways: Mapping[str, Measure], calls: int, rounds: int, *, at_once: bool) -> list[Line]:
    """Run every way in every round, in turn, and compare those of one round with each other."""
    samples: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds):
        for way, measure in ways.items():
            samples[way].append(measure(calls))
            print(
                f"\r{'at once' if at_once else 'one by one'}: round {number + 1} of {rounds}", end="", file=sys.stderr
            )
    print(file=sys.stderr)
    return [_line(way, spent, samples, calls, at_once=at_once) for way, spent in samples.items()]


def _line(way: str, spent: list[float], samples: Mapping[str, list[float]], calls: int, *, at_once: bool) -> Line:
    hand = samples.get(f"{way.split(',', maxsplit=1)[0]}, by hand")
    return Line(
        way,
        at_once,
        tuple(calls / each for each in spent),
        _ratio(spent, samples["memory"]),
        None if hand is None or hand is spent else _ratio(spent, hand),
    )


def _ratio(spent: Sequence[float], other: Sequence[float]) -> float:
    return statistics.median(mine / theirs for mine, theirs in zip(spent, other, strict=True))


def _ways(places: Mapping[str, str], *, at_once: bool) -> dict[str, Measure]:
    ways: dict[str, Measure] = {"memory": partial(in_memory, at_once=at_once)}
    for name, where in places.items():
        ways[f"{name}, group commit"] = partial(in_store, where, at_once=at_once, group_commit=True)
        ways[f"{name}, each alone"] = partial(in_store, where, at_once=at_once, group_commit=False)
        ways[f"{name}, by hand"] = partial(by_hand, where, at_once=at_once)
    return ways


def table(lines: Sequence[Line]) -> str:
    """The lines as a Markdown table."""
    rows = ["| calls | kept in | calls a second | time, to memory | time, to by hand |", "|---|---|---|---|---|"]
    for line in lines:
        rate, hand = statistics.median(line.rates), "" if line.to_hand is None else f"{line.to_hand:.2f}"
        when = "at once" if line.at_once else "one by one"
        rows.append(f"| {when} | {line.way} | {rate:,.0f} | {line.to_memory:.1f} | {hand} |")
    return "\n".join(rows)


def main(arguments: Sequence[str]) -> int:
    """Measure, and answer the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=_ABOUT)
    parser.add_argument("--calls", type=int, default=300, metavar="N", help="calls one by one (300)")
    parser.add_argument("--at-once", type=int, default=1_000, metavar="N", help="calls at once (1,000)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each is measured (5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep every sample")
    given = parser.parse_args(arguments)
    with ExitStack() as open_things:
        folder = Path(open_things.enter_context(tempfile.TemporaryDirectory(prefix="armory-bench-")))
        server = open_things.enter_context(open_server(fsync=True))
        places = {"SQLite": str(folder / "store.db"), "PostgreSQL": open_things.enter_context(open_schema(server))}
        lines = [
            *measured(_ways(places, at_once=False), given.calls, given.rounds, at_once=False),
            *measured(_ways(places, at_once=True), given.at_once, given.rounds, at_once=True),
        ]
    print(table(lines))
    if given.json is not None:
        given.json.write_text(json.dumps(msgspec.to_builtins(lines), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
