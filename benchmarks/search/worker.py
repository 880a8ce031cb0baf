"""``python -m benchmarks.search.worker``: measures in the environment that ``python -m benchmarks.search`` makes."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path

import trio

from armory_trio import Toolbox
from armory_trio.toolbox.search import SearchIndex

from . import _rankers
from ._data import Definition, Question, definitions, questions, tool_of, variants
from ._peers import okapi, sparse
from ._quality import recall
from ._rankers import Rank
from ._speed import Speed, speed


def main(arguments: Sequence[str]) -> None:
    """Measure what *arguments* ask for, and print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embeddings", action="store_true")
    parser.add_argument("--half", choices=("even", "odd", "all"), default="even")
    parser.add_argument("--tools", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    given = parser.parse_args(arguments)
    known, asked = definitions(given.data), questions(given.data)
    # Counted from 1: what was tuned was tuned on the odd ones.
    half = {"odd": asked[::2], "even": asked[1::2], "all": asked}[given.half]
    which = "all" if given.half == "all" else f"the {given.half}-numbered"
    print(f"{len(known):,} tools; {which} {len(half):,} of {len(asked):,} questions; {_versions()}\n")
    trio.run(partial(_tell_quality, known, half, embeddings=given.embeddings))
    if given.tools:
        step = max(1, len(half) // given.queries)
        _tell_speed(speed(variants(known, given.tools + 1), half[::step][: given.queries]))


def _versions() -> str:
    names = ("rank-bm25", "bm25s", "numpy")
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


async def _tell_quality(known: Sequence[Definition], asked: Sequence[Question], *, embeddings: bool) -> None:
    print("| ranking                                        | recall@1 | @5    | @10   | ms/query |")
    print("|------------------------------------------------|----------|-------|-------|----------|")
    names = [definition.name for definition in known]
    short, long = map(_rankers.short_text, known), list(map(_rankers.long_text, known))
    await _tell("rank-bm25, name and description", _rankers.by(names, okapi(list(short))), asked)
    await _tell("rank-bm25, parameters too", _rankers.by(names, okapi(long)), asked)
    await _tell("bm25s, parameters too", _rankers.by(names, sparse(long)), asked)
    tools = Toolbox(map(tool_of, known))
    await _tell("armory_trio, words", _rankers.ours(SearchIndex(tools)), asked)
    if embeddings:
        embedder = _rankers.embedder()
        await embedder([question.words for question in asked])  # at once, and not in anybody's time
        spoken = list(map(_rankers.spoken_text, known))
        await _tell("all-MiniLM-L6-v2, parameters too", await _rankers.by_meaning(names, spoken, embedder), asked)
        await _tell("rank-bm25 and MiniLM, fused", await _rankers.fused(names, long, spoken, embedder), asked)
        index = SearchIndex(tools, embedder=embedder)
        await index.embed()
        await _tell("armory_trio, words and MiniLM", _rankers.ours_hybrid(index), asked)
    print()


async def _tell(name: str, rank: Rank, asked: Sequence[Question]) -> None:
    start = time.perf_counter()
    rankings = [await rank(question.words) for question in asked]
    seconds = (time.perf_counter() - start) / len(asked)
    found = recall(rankings, asked)
    print(
        f"| {name:<46} | {found.first:8.3f} | {found.five:.3f} | {found.ten:.3f} | {seconds * 1e3:8.2f} |", flush=True
    )


def _tell_speed(found: Speed) -> None:
    print(f"| {found.tools:,} tools | armory_trio | rank-bm25 |")
    print("|--------------|-------------|-----------|")
    print(f"| index        | {found.build:9.2f} s | {found.peer_build:7.2f} s |")
    print(f"| one tool more| {found.extend:9.2f} s | {found.peer_build:7.2f} s |")
    print(f"| query        | {found.query * 1e3:8.2f} ms | {found.peer_query * 1e3:6.2f} ms |")
    print(f"| memory       | {found.size / 1e6:8.1f} MB | {found.peer_size / 1e6:6.1f} MB |")
    print(f"\nA query takes {found.ratio:.3f} of the time of rank-bm25 (median of the same queries in turn).")


if __name__ == "__main__":
    main(sys.argv[1:])
