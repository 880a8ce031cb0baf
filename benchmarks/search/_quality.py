"""How many of the tools that answer a question are found in the first places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ._data import Question

PLACES: Final = (1, 5, 10)


class Recall(msgspec.Struct, frozen=True):
    """The mean share of the expected tools that stand in the first places.

    Args:
        first: In as many places as there are expected tools, so that a perfect ranking has 1.
        five: In the first five.
        ten: In the first ten.
    """

    first: float
    five: float
    ten: float


def recall(rankings: Sequence[Sequence[str]], asked: Sequence[Question]) -> Recall:
    """Hold *rankings*, each the names that were found, best first, against what was expected."""
    sums = dict.fromkeys(PLACES, 0.0)
    for ranking, question in zip(rankings, asked, strict=True):
        wanted = len(question.expected)
        for places in PLACES:
            shown = ranking[: max(places, wanted) if places == 1 else places]
            sums[places] += len(question.expected.intersection(shown)) / wanted
    return Recall(*(total / len(asked) for total in sums.values()))
