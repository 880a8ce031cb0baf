"""Words that were probably meant: known words that look like one that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

_LEAST_LETTERS: Final = 4
"""Shorter words are a slip away from too many others."""

_ALIKE: Final = 0.7
"""How alike two words must be: one slip in four letters is too much, one in five is not, nor are two in seven."""

_MOST: Final = 3
_COUNTS: Final = 0.5
"""What a word counts that was only probably meant, at most."""

_REMEMBERED: Final = 4_096


class Vocabulary:
    """Every word of an index."""

    __slots__ = ("_by_length", "_near")

    def __init__(self, known: Iterable[str]) -> None:
        self._by_length: dict[int, list[str]] = {}
        for word in known:
            if len(word) >= _LEAST_LETTERS and not word.isdigit():
                self._by_length.setdefault(len(word), []).append(word)
        self._near: dict[str, dict[str, float]] = {}

    def near(self, word: str) -> dict[str, float]:
        """The words that look most like *word*, and what each of them counts; none when nothing comes close."""
        found = self._near.get(word)
        if found is None:
            if len(self._near) >= _REMEMBERED:
                self._near.clear()
            found = self._near[word] = self._search(word)
        return found

    def _search(self, word: str) -> dict[str, float]:
        if len(word) < _LEAST_LETTERS or word.isdigit():
            return {}
        # Words so different in length that they cannot be alike are not compared.
        room = int(len(word) * (1 - _ALIKE) / _ALIKE)
        close: list[tuple[float, str]] = []
        for length in range(max(_LEAST_LETTERS, len(word) - room), len(word) + room + 1):
            for candidate, likeness, _ in process.extract(
                word,
                self._by_length.get(length, ()),
                scorer=OSA.normalized_similarity,
                processor=None,
                score_cutoff=_ALIKE,
                limit=_MOST,
            ):
                close.append((-likeness, candidate))
        return {candidate: -negative * _COUNTS for negative, candidate in sorted(close)[:_MOST]}
