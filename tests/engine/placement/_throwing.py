"""Tools in worker processes that throw whatever can be thrown. It is made there: nothing of it could cross."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import trio

from armory_trio import BlockingContext, tool
from tests.engine.throwing import THROWN, keep_a_stray

process = tool(placement="process")


def throw(index: int) -> None:
    """Raise the one of that number."""
    trio.run(keep_a_stray)
    made = list(THROWN.values())[index]()
    raise made


@process
def returning(index: int) -> None:
    """Raise instead of returning."""
    throw(index)


@process
def streaming(index: int) -> Iterator[int]:
    """Raise after a chunk."""
    yield 1
    throw(index)


@process
def never_streaming(index: int) -> Iterator[int]:
    """Raise before there is a chunk."""
    throw(index)
    yield 1


@process(effect_windows=True, effect={"class": "reversible", "targets": [{"kind": "resource", "id": "till"}]})
def in_window(index: int, ctx: BlockingContext) -> None:
    """Raise in the middle of an effect."""
    with ctx.effect("charge card"):
        throw(index)


@contextmanager
def _leaving(index: int) -> Generator[None]:
    try:
        yield
    finally:
        throw(index)


@process
def while_failing(index: int) -> None:
    """Raise while something else is raised already."""
    with _leaving(index):
        raise LookupError("the first")
