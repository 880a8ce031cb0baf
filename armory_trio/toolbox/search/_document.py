"""A tool as the words that it is found by, and what each of them counts. It depends on nothing but the tool."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import pairwise
from sys import intern
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from .._resolution import AnyTool
from ._fields import WEIGHTS, texts_of
from ._words import stem, words


class Document(NamedTuple):
    """The words of a tool and the pairs of words that stand side by side in it, each once, and what each counts."""

    words: tuple[str, ...]
    counts: array[float]
    pairs: tuple[str, ...]
    pair_counts: array[float]


def pairs_of(found: Iterable[str]) -> list[str]:
    """The pairs of neighbours, in their common forms: ``send email`` of ``sending emails``."""
    return [f"{one} {two}" for one, two in pairwise(map(stem, found))]


_documents: Final[WeakKeyDictionary[AnyTool, Document]] = WeakKeyDictionary()


def document_of(tool: AnyTool) -> Document:
    """What *tool* is found by. It is worked out once, whatever middleware is bound around the tool, and kept with it."""
    bare = tool.bare
    known = _documents.get(bare)
    if known is None:
        known = _documents[bare] = _analysed(bare)
    return known


def _analysed(tool: AnyTool) -> Document:
    counts: dict[str, float] = {}
    pair_counts: dict[str, float] = {}
    for field, text in texts_of(tool.definition).items():
        # In a name every word was chosen: to_do, is_on.
        found = words(text, everything=field == "name")
        once, fading, usual = WEIGHTS[field]
        count = once / (1 - fading + fading * len(found) / usual)
        for word in found:
            counts[word] = counts.get(word, 0.0) + count
        for pair in pairs_of(found):
            pair_counts[pair] = pair_counts.get(pair, 0.0) + count
    # Most words are words of many tools: each is kept once.
    return Document(
        tuple(map(intern, counts)),
        array("f", counts.values()),
        tuple(map(intern, pair_counts)),
        array("f", pair_counts.values()),
    )
