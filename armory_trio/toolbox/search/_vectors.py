"""Rows of numbers: the vectors of an embedder, looked at before they are believed, and scores, best first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...definitions._checks import shown
from ...errors import EmbeddingError

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int32]


def best_first(scores: Floats, places: Indices, among: Flags, most: int | None) -> list[int]:
    """The indices of the highest *scores*, best first.

    Args:
        scores: A score for each index.
        places: What decides between equal scores: the lower comes first.
        among: Which indices may be answered.
        most: How many are needed; None for all.
    """
    at = np.flatnonzero(among)
    if most is not None and len(at) > most:
        # Whoever is as good as the last one that is needed is still in the running.
        kept = np.partition(scores[at], len(at) - most)[len(at) - most :] if most else scores[:0]
        at = at[scores[at] >= kept.min()] if most else at[:0]
    order = np.lexsort((places[at], -scores[at]))
    found: list[int] = at[order][:most].tolist()
    return found


def places_of(keys: Sequence[tuple[str, str]]) -> Indices:
    """For each of *keys*, the place that it has when they are sorted."""
    places = np.empty(len(keys), dtype=np.int32)
    places[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys), dtype=np.int32)
    return places


def vectors_in(answer: object) -> list[Floats]:
    """The vectors that an embedder answered, each made 1 long, so that the product of two of them is their cosine.

    Raises:
        EmbeddingError: It is no list of vectors, or a vector is not a list of finite numbers.
    """
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes):
        return [_vector(row, at) for at, row in enumerate(cast("Iterable[object]", answer))]
    raise EmbeddingError(f"the embedder gave {shown(answer)}; a list of vectors is needed")


def stacked(vectors: Sequence[Floats]) -> Floats:
    """*vectors* as the rows of one array."""
    return np.stack(vectors) if vectors else np.zeros((0, 0), dtype=np.float32)


def _vector(row: object, at: int) -> Floats:
    try:
        vector = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        raise EmbeddingError(f"vector {at} of the embedder is {shown(row)}; a list of floats is needed") from None
    if vector.ndim != 1 or not len(vector):
        raise EmbeddingError(f"vector {at} of the embedder is {shown(row)}; a list of floats is needed")
    if not np.isfinite(vector).all():
        raise EmbeddingError(f"vector {at} of the embedder holds a number that is not finite")
    length = float(np.linalg.norm(vector))
    return (vector / length if length else vector).astype(np.float32)
