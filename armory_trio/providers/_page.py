"""What the parts of the compiler share: the dialect, the losses, and the words for what it can't say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import attrs

from ..definitions import canonical_text
from ..errors import JsonError
from ..toolbox._offering import Loss, LossAction
from ._alternatives import Shape
from ._codings import VALUE, Coding, Inside, Text
from ._conjuncts import counts_members
from ._dialects import Rules
from ._loss import NotSayable
from ._normal import NOTES, Normal, Stack
from ._references import At, Book, Schema

__all__ = ("NOTHING", "Page", "Said", "worded")

_QUOTED: Final = 200
"""Characters of JSON that a description takes in: a longer limit would drown what the argument is for."""

_REMARKS: Final = tuple(word for word in NOTES if word not in ("description", "title", "format"))


UNKNOWN: Final = Shape(None)


@attrs.frozen(eq=False)
class Said:
    """One place, written in a dialect.

    Args:
        wire: The schema, without what it says about null.
        coding: How a value is written where that is not as it is.
        nullable: Whether null is legal.
        word: ``none`` when nothing is legal, ``null`` when only null is, ``any`` when everything is.
        shape: What tells its values from others.
    """

    wire: dict[str, object]
    coding: Coding | None = None
    nullable: bool = False
    word: Literal["some", "any", "none", "null"] = "some"
    shape: Shape = UNKNOWN


NOTHING: Final = Said({}, word="none")


def worded(value: object) -> str | None:
    """*value* as JSON, None when that is too long for a description."""
    try:
        text = canonical_text(value, mode="exact")
    except JsonError:
        return None
    return text if len(text) <= _QUOTED else None


class Page(ABC):
    """One contract on its way into one dialect.

    Args:
        root: The contract's schema.
        rules: The dialect.
    """

    def __init__(self, root: Schema, rules: Rules) -> None:
        self.rules = rules
        self.book = Book(root)
        self.losses: list[Loss] = []
        self._counts: bool | None = None

    @property
    def counts(self) -> bool:
        """Whether the contract may tell a member that is null from one that is left out."""
        if self._counts is None:
            self._counts = counts_members(self.book.root)
        return self._counts

    @abstractmethod
    def write(self, conjuncts: Iterable[At], stack: Stack, depth: int) -> Said:
        """What *conjuncts* say together, in the dialect."""

    def lose(self, pointer: str, keyword: str, action: LossAction, detail: str) -> None:
        """Put a loss on record."""
        self.losses.append(Loss(pointer, keyword, action, detail))

    def kind(self, word: str) -> str:
        """The type *word* as the dialect spells it."""
        return word.upper() if self.rules.upper else word

    def with_null(self, said: Said) -> dict[str, object]:
        """The schema of *said* with what it says about null."""
        wire = said.wire
        if said.word == "null":
            return {**wire, "type": self.kind("null")}
        if not said.nullable or said.word == "any":
            return wire
        if self.rules.null == "flag":
            return {**wire, "nullable": True}
        if self.rules.null == "list" and isinstance(wire.get("type"), str) and "enum" not in wire:
            return {**wire, "type": [wire["type"], "null"]}
        null = {"type": "null"}
        branches = wire.get("anyOf")
        if isinstance(branches, list):
            return {**wire, "anyOf": [*branches, null]}
        text = {"description": wire["description"]} if "description" in wire else {}
        return {**text, "anyOf": [{word: value for word, value in wire.items() if word not in text}, null]}

    def noted(self, wire: dict[str, object], normal: Normal, limits: Mapping[str, object] | None = None) -> None:
        """Write the remarks of *normal* into *wire*, and what is in *limits* in words."""
        said: list[str] = []
        for word, value in (limits or {}).items():
            said += self._in_words(word, value, normal.limits[word][1] if word in normal.limits else normal.pointer)
        for word in _REMARKS:
            if word in normal.notes:
                said += self._in_words(word, *normal.notes[word])
        if "title" in normal.notes:
            title, pointer = normal.notes["title"]
            if "title" in self.rules.notes and isinstance(title, str):
                wire["title"] = title
            else:
                self.lose(pointer, "title", "dropped", "the dialect has no title")
        text = normal.notes.get("description", ("", ""))[0]
        parts = [text] if isinstance(text, str) and text else []
        if said:
            parts.append(f"({'; '.join(said)})")
        if parts:
            wire["description"] = " ".join(parts)

    def _in_words(self, word: str, value: object, pointer: str) -> list[str]:
        text = worded(value)
        if text is None:
            self.lose(pointer, word, "dropped", "it is too long for the description")
            return []
        self.lose(pointer, word, "described", "it stands in the description")
        return [f"{word}: {text}"]

    def anything(self, normal: Normal, keyword: str = "type") -> Said:
        """Any value, in the way that the dialect has."""
        wire: dict[str, object] = {}
        if self.rules.untyped:
            self.noted(wire, normal, {word: value for word, (value, _) in normal.limits.items()})
            return Said(wire, nullable=True, word="any")
        return attrs.evolve(self.text(normal, keyword, "any value will do"), word="any")

    def boxed(self, said: Said, pointer: str, keyword: str, reason: str) -> Said:
        """A place whose value is written as the only member of an object, so that null beside it means another thing."""
        if not self.rules.inventive:
            raise NotSayable(pointer, reason)
        self.lose(
            pointer, keyword, "encoded", f"{reason}, so the value is written as the member {VALUE!r} of an object"
        )
        properties = {VALUE: self.with_null(said)}
        wire: dict[str, object] = {"type": self.kind("object"), "properties": properties, "required": [VALUE]}
        if self.rules.closable:
            wire["additionalProperties"] = False
        return Said(wire, Inside(VALUE, said.coding), shape=Shape(frozenset(("object",))))

    def text(self, normal: Normal, keyword: str, reason: str) -> Said:
        """A place whose value is written as JSON text."""
        if not self.rules.inventive:
            raise NotSayable(normal.pointer, reason)
        self.lose(normal.pointer, keyword, "encoded", f"{reason}, so the value is written as JSON text")
        wire: dict[str, object] = {"type": self.kind("string")}
        self.noted(wire, normal, {word: value for word, (value, _) in normal.limits.items()})
        hint = "Write the value as JSON text."
        wire["description"] = f"{wire['description']} {hint}" if "description" in wire else hint
        return Said(wire, Text(), shape=Shape(frozenset(("string",))))
