"""The words of many tools as arrays: BM25 over words, their common forms, pairs and pieces, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._document import Document, pairs_of
from ._fuzzy import Vocabulary
from ._vectors import Flags, Floats, Indices
from ._words import pieces, stem, words

_SATURATION: Final = 1.2
"""BM25's k1: how soon a word that counts more and more stops adding to the score."""

_EXACT, _STEM, _PIECE, _PAIR = "=", "~", "#", "&"
_KINDS: Final[Mapping[str, float]] = {_EXACT: 0.5, _STEM: 1.0, _PIECE: 0.1, _PAIR: 0.2}
"""How much a match counts: of the common form of a word; on top, of the very word, of a pair of neighbours, and of each
piece of a word. The first character of a feature says which it is."""

_NUMBER: Final = 0.3
"""What a bare number counts in a query: it is more often an argument than a subject."""

_MOST_QUERY_WORDS: Final = 64
"""Different words of a query that are looked at: as many as a long request of a person has."""


class Scores(NamedTuple):
    """How well each tool fits a query, and which fit at all: only those that hold one of its words."""

    scores: Floats
    matched: Flags


class Wording:
    """What was asked for, as words; those that no tool has, with the words that were probably meant."""

    __slots__ = ("meant", "words")

    def __init__(self, text: str, index: LexicalIndex) -> None:
        found = words(text) or words(text, everything=True)
        self.words: tuple[str, ...] = tuple(dict.fromkeys(found))[:_MOST_QUERY_WORDS]
        self.meant: dict[str, dict[str, float]] = {
            word: index.vocabulary.near(word) for word in self.words if not index.knows(word)
        }

    def features(self) -> dict[str, float]:
        """What to look for, and how much it counts."""
        wanted: dict[str, float] = {}
        for word in self.words:
            weight = _NUMBER if word.isdigit() else 1.0
            for feature in _features(word):
                wanted[feature] = max(weight, wanted.get(feature, 0.0))
            for near, likeness in self.meant.get(word, {}).items():
                for feature in (_EXACT + near, _STEM + stem(near)):
                    wanted[feature] = max(likeness, wanted.get(feature, 0.0))
        for pair in pairs_of(self.words):
            wanted[_PAIR + pair] = 1.0
        return wanted


class LexicalIndex:
    """Scores every document for a query. Immutable; what is known of the single documents is not worked out again."""

    __slots__ = ("_documents", "_impacts", "_size", "_starts", "_where", "vocabulary")

    def __init__(self, documents: Sequence[Document]) -> None:
        self._size = len(documents)
        word_ids = _numbered(chain.from_iterable(document.words for document in documents))
        pair_ids = _numbered(chain.from_iterable(document.pairs for document in documents))
        features = [_features(word) for word in word_ids]
        feature_ids = _numbered(chain.from_iterable(features))
        first_pair = len(feature_ids)
        self._where = feature_ids
        self._where.update((_PAIR + pair, first_pair + at) for pair, at in pair_ids.items())
        self.vocabulary = Vocabulary(word_ids)
        postings = _joined(
            _spread(_postings(documents, word_ids, pairs=False), features, feature_ids),
            _postings(documents, pair_ids, pairs=True).shifted(first_pair),
        )
        self._starts, self._documents, self._impacts = _impacts(postings, list(self._where), self._size)

    def knows(self, word: str) -> bool:
        """Whether a document has a form of *word*."""
        return _STEM + stem(word) in self._where

    def scores(self, query: Wording) -> Scores:
        """How well each document fits *query*."""
        scores = np.zeros(self._size, dtype=np.float32)
        matched = np.zeros(self._size, dtype=np.bool_)
        for feature, weight in query.features().items():
            at = self._where.get(feature)
            if at is None:
                continue
            rows = slice(self._starts[at], self._starts[at + 1])
            documents = self._documents[rows]
            scores[documents] += self._impacts[rows] * np.float32(weight)
            if feature[0] in {_EXACT, _STEM}:
                matched[documents] = True
        return Scores(scores, matched)


def _features(word: str) -> list[str]:
    return [_EXACT + word, _STEM + stem(word), *(_PIECE + piece for piece in pieces(word))]


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: at for at, name in enumerate(dict.fromkeys(names))}


class _Postings(NamedTuple):
    """Which document has which feature, and what it counts there."""

    documents: Indices
    features: Indices
    counts: Floats

    def shifted(self, by: int) -> _Postings:
        return self._replace(features=(self.features + np.int32(by)).astype(np.int32))


def _postings(documents: Sequence[Document], ids: Mapping[str, int], *, pairs: bool) -> _Postings:
    names = [document.pairs if pairs else document.words for document in documents]
    counts = [document.pair_counts if pairs else document.counts for document in documents]
    lengths = np.fromiter(map(len, names), dtype=np.int32, count=len(names))
    return _Postings(
        np.repeat(np.arange(len(names), dtype=np.int32), lengths),
        np.fromiter(map(ids.__getitem__, chain.from_iterable(names)), dtype=np.int32, count=int(lengths.sum())),
        np.frombuffer(b"".join(count.tobytes() for count in counts), dtype=np.float32),
    )


def _spread(postings: _Postings, features: Sequence[Sequence[str]], ids: Mapping[str, int]) -> _Postings:
    """Words as the features that they have."""
    lengths = np.fromiter(map(len, features), dtype=np.int64, count=len(features))
    flat = np.fromiter(map(ids.__getitem__, chain.from_iterable(features)), dtype=np.int32, count=int(lengths.sum()))
    times = lengths[postings.features]
    firsts = (np.cumsum(lengths) - lengths)[postings.features]
    within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    return _Postings(
        np.repeat(postings.documents, times), flat[np.repeat(firsts, times) + within], np.repeat(postings.counts, times)
    )


def _joined(one: _Postings, two: _Postings) -> _Postings:
    return _Postings(
        np.concatenate((one.documents, two.documents)),
        np.concatenate((one.features, two.features)),
        np.concatenate((one.counts, two.counts)),
    )


def _impacts(postings: _Postings, features: Sequence[str], size: int) -> tuple[NDArray[np.int64], Indices, Floats]:
    """The postings in order of feature and document, each with what it adds to a score: BM25, up to the query."""
    keys = postings.features.astype(np.int64) * max(size, 1) + postings.documents
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    # Several words of a document may have one feature: they count together.
    counts = np.add.reduceat(postings.counts[order], firsts) if len(firsts) else postings.counts
    found, documents = np.divmod(keys[firsts], max(size, 1))
    spread = np.bincount(found, minlength=len(features))
    kinds = np.fromiter((_KINDS[feature[0]] for feature in features), dtype=np.float64, count=len(features))
    rarity = kinds * np.log(1 + (size - spread + 0.5) / (spread + 0.5))
    impacts = rarity[found] * counts / (_SATURATION + counts)
    starts = np.concatenate(([0], np.cumsum(spread)))
    return starts.astype(np.int64), documents.astype(np.int32), impacts.astype(np.float32)
