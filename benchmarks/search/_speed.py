"""How long an index takes to build and to ask, and how large it is, beside rank-bm25 in the same run."""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from armory_trio import Toolbox
from armory_trio.toolbox.search import SearchIndex

from ._data import Definition, Question, tool_of
from ._peers import okapi
from ._rankers import FIRST, long_text

T = TypeVar("T")


class Speed(msgspec.Struct, frozen=True):
    """What it costs. Seconds are of the wall clock; bytes are what Python and numpy allocated.

    Args:
        tools: How many there are.
        build: Seconds to index them.
        extend: Seconds to index them again with one more.
        query: The median of the seconds of a query.
        size: Bytes of the index.
        peer_build: Seconds that rank-bm25 takes to index the same texts.
        peer_query: The median of the seconds that it takes for the same query.
        peer_size: Bytes of its index.
        ratio: The median of ours to the peer's for the same query.
    """

    tools: int
    build: float
    extend: float
    query: float
    size: int
    peer_build: float
    peer_query: float
    peer_size: int
    ratio: float


def speed(definitions: Sequence[Definition], asked: Sequence[Question]) -> Speed:
    """Index *definitions*, and ask both indices each question in turn."""
    *most, last = map(tool_of, definitions)
    toolbox = Toolbox(most)
    texts = [long_text(definition) for definition in definitions[:-1]]
    build, index = _timed(lambda: SearchIndex(toolbox))
    peer_build, rank = _timed(lambda: okapi(texts))
    extended = toolbox.extend(last)
    extend, _ = _timed(lambda: SearchIndex(extended))
    mine: list[float] = []
    theirs: list[float] = []
    for question in asked:
        mine.append(_timed(partial(index.search, question.words, limit=FIRST))[0])
        theirs.append(_timed(partial(rank, question.words))[0])
    again = Toolbox(list(map(tool_of, definitions[:-1])))
    return Speed(
        tools=len(most),
        build=build,
        extend=extend,
        query=statistics.median(mine),
        size=_size(lambda: SearchIndex(again)),
        peer_build=peer_build,
        peer_query=statistics.median(theirs),
        peer_size=_size(lambda: okapi(texts)),
        ratio=statistics.median(one / other for one, other in zip(mine, theirs, strict=True)),
    )


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    made = work()
    return time.perf_counter() - start, made


def _size(work: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    made = work()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del made
    return size
