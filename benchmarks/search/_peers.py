"""The packages that one would use instead, with their defaults."""

# They are only there in the environment that is made for them, and have no types.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import bm25s
import numpy as np
from rank_bm25 import BM25Okapi


def tokens(text: str) -> list[str]:
    """Text as one splits it without much thought: lower case, letters and digits, camel case taken apart."""
    return re.findall(r"[a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())


def okapi(texts: Sequence[str]) -> Callable[[str], list[int]]:
    """rank-bm25: all indices, best first."""
    index = BM25Okapi([tokens(text) for text in texts])
    return lambda query: best(index.get_scores(tokens(query)))


def sparse(texts: Sequence[str]) -> Callable[[str], list[int]]:
    """bm25s: all indices, best first."""
    index = bm25s.BM25()
    index.index([tokens(text) for text in texts], show_progress=False)
    # A query without any token is more than it can take.
    return lambda query: best(index.get_scores(tokens(query) or ["-"]))


def best(scores: Iterable[float]) -> list[int]:
    """The indices of *scores*, the highest first."""
    return np.argsort(-np.asarray(scores), kind="stable").tolist()
