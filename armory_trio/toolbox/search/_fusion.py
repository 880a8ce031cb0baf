"""One ranking made of several."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeVar

T = TypeVar("T", bound=Hashable)

RANK_OFFSET: Final = 5.0
"""How much the first places count more than those behind: less than in the usual 60, which suits long lists."""


def reciprocal_rank_fusion(
    rankings: Iterable[Sequence[T]], *, weights: Sequence[float] | None = None, offset: float = RANK_OFFSET
) -> list[tuple[T, float]]:
    """Merge *rankings*, each best first, by reciprocal ranks: no scores are compared that have nothing in common.

    Args:
        rankings: Of each, no item more than once.
        weights: How much each ranking counts; by default all the same.
        offset: What is added to a rank, counted from 1, before it divides the weight; the higher, the less do first
            places stand out.

    Returns:
        Every item of any ranking with its score, best first; of equal ones, the one that came first.

    Raises:
        ValueError: There is not one weight for each ranking.
    """
    listed = list(rankings)
    counts = [1.0] * len(listed) if weights is None else list(weights)
    if len(counts) != len(listed):
        raise ValueError(f"there are {len(listed)} rankings and {len(counts)} weights; give one for each")
    scores: dict[T, float] = {}
    for ranking, weight in zip(listed, counts, strict=True):
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + weight / (offset + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])
