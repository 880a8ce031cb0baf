"""Bounds on a value: how large it is, and what it may be about."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cached_property
from typing import Final

import attrs

from ...definitions._checks import names, shown
from ...errors import DefinitionError
from .._folding import fold
from ._verdict import InspectionLimit, Verdict
from ._walking import Extent, Text, extent_of, texts_of

DEFAULT_CHARACTERS: Final = 10_000
_OFF_TOPIC: Final = 0.7


@attrs.frozen(kw_only=True)
class InputLength:
    """Flags a value that is too large. None is no bound.

    Args:
        characters: Code points of all texts in it, names of members included.
        bytes: The same texts in UTF-8.
        depth: Containers within each other.
        items: Items of all lists and members of all objects.

    Raises:
        DefinitionError: A bound is no whole number from 0 on.
    """

    characters: int | None = DEFAULT_CHARACTERS
    bytes: int | None = None
    depth: int | None = None
    items: int | None = None
    name: str = attrs.field(default="input-length", init=False)

    def __attrs_post_init__(self) -> None:
        for field in Extent._fields:
            bound: object = getattr(self, field)
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int) or bound < 0):
                reason = f"must be a whole number from 0 on, or None for no bound, not {shown(bound)}"
                raise DefinitionError("InputLength", field, reason)

    def __call__(self, value: object) -> Verdict:
        """Judge the size of *value*. One that is too large to be measured is flagged."""
        try:
            extent = extent_of(value)
        except InspectionLimit as limit:
            return Verdict(True, "input-length", str(limit), (), 1.0, self.name)
        over = [
            f"{amount} {field} where {bound} are allowed"
            for field, amount in zip(Extent._fields, extent, strict=True)
            if (bound := getattr(self, field)) is not None and amount > bound
        ]
        confidence = 1.0 if over else 0.0
        return Verdict(bool(over), "input-length", "; ".join(over) or "within its bounds", (), confidence, self.name)


Classifier = Callable[[str], Iterable[str] | Awaitable[Iterable[str]]]
"""Takes the texts of a value, a line break between them, and answers the topics that they are about."""


@attrs.frozen(kw_only=True, slots=False)
class TopicBoundary:
    """Flags what is about a denied topic, or about none of the allowed ones. A value without words is never flagged.

    Words are compared whole, in small letters and without accents; one that ends in ``*`` is compared as a beginning.
    Where an alphabet puts no blanks between words, they are found anywhere.

    Args:
        allow: Topics of which one must occur. Empty: any topic.
        deny: Topics of which none may. They go first.
        classify: Names the topics in the place of looking for words; may be async.

    Raises:
        DefinitionError: No topic is given, or one is no word.
    """

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    classify: Classifier | None = None
    name: str = attrs.field(default="topic-boundary", init=False)

    def __attrs_post_init__(self) -> None:
        for field in ("allow", "deny"):
            names("TopicBoundary", field, getattr(self, field))
        if not (self.allow or self.deny):
            raise DefinitionError("TopicBoundary", "allow", "no topic is given: set allow or deny")
        if self.classify is not None and not callable(self.classify):
            raise DefinitionError(
                "TopicBoundary", "classify", f"must be a function of the text, not {shown(self.classify)}"
            )

    def __call__(self, value: object) -> Verdict | Awaitable[Verdict]:
        """Judge what *value* is about; to be awaited exactly when ``classify`` is.

        Raises:
            InspectionLimit: *value* is too large to be inspected.
        """
        texts = [text for text in texts_of(value) if text.text.strip()]
        if not texts:
            return self._verdict("it has no words")
        if self.classify is None:
            return self._by_words(texts)
        topics = self.classify("\n".join(text.text for text in texts))
        return self._by_topics(topics) if isinstance(topics, Iterable) else self._later(topics)

    async def _later(self, topics: Awaitable[Iterable[str]]) -> Verdict:
        return self._by_topics(await topics)

    def _by_topics(self, topics: Iterable[str]) -> Verdict:
        found = {fold(topic) for topic in topics}
        denied = next((topic for topic in self.deny if fold(topic) in found), None)
        if denied is not None:
            return self._verdict(f"about the denied topic {denied!r}", 1.0)
        return self._allowed(on_topic=not found.isdisjoint(map(fold, self.allow)))

    def _by_words(self, texts: list[Text]) -> Verdict:
        folded = [(text.where, fold(text.text)) for text in texts]
        for topic, pattern in self._deny_patterns:
            for where, text in folded:
                if pattern.search(text):
                    return self._verdict(f"about the denied topic {topic!r}", 1.0, where)
        return self._allowed(
            on_topic=any(pattern.search(text) for _, text in folded for _, pattern in self._allow_patterns)
        )

    def _allowed(self, *, on_topic: bool) -> Verdict:
        if on_topic or not self.allow:
            return self._verdict("on topic")
        return self._verdict("about none of the allowed topics", _OFF_TOPIC)

    def _verdict(self, reason: str, confidence: float = 0.0, where: tuple[str | int, ...] = ()) -> Verdict:
        return Verdict(confidence > 0, "topic-boundary", reason, where, confidence, self.name)

    @cached_property
    def _allow_patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        return [(topic, _pattern(topic)) for topic in self.allow]

    @cached_property
    def _deny_patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        return [(topic, _pattern(topic)) for topic in self.deny]


def _pattern(topic: str) -> re.Pattern[str]:
    """The whole words of *topic*, with any blanks between them."""
    folded = fold(topic.strip())
    begins = folded.endswith("*")
    words = r"\s+".join(map(re.escape, folded.removesuffix("*").split()))
    if re.search(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]", folded):
        return re.compile(words)
    return re.compile(rf"(?<!\w){words}" + ("" if begins else r"(?!\w)"))
