"""Names that every provider takes, one for each thing."""

from __future__ import annotations

import re
from typing import Final

__all__ = ("Distinct", "legal_name", "tag_of")

LONGEST: Final = 64
"""Characters of a name that every provider takes."""


def legal_name(text: str) -> str:
    """*text* in ASCII letters, digits, underscores and hyphens; what lies between becomes one underscore."""
    return re.sub("[^A-Za-z0-9_-]+", "_", text).strip("_") or "_"


class Distinct:
    """Gives out legal names, each once: the first who wants one gets it, others get a number behind it."""

    def __init__(self, *, longest: int = LONGEST) -> None:
        self._longest = longest
        self._taken: set[str] = set()

    def take(self, *wishes: str) -> str:
        """The first of *wishes* that is free, made legal and cut; else the last one with a number."""
        for wish in wishes:
            name = legal_name(wish)[: self._longest]
            if name not in self._taken:
                self._taken.add(name)
                return name
        stem, number = legal_name(wishes[-1]), 2
        while True:
            name = f"{stem[: self._longest - len(str(number)) - 1]}_{number}"
            if name not in self._taken:
                self._taken.add(name)
                return name
            number += 1


def tag_of(text: str) -> str:
    """*text* in kebab-case, as tags are; empty when nothing of it can be said so."""
    spread = re.sub("(?<=[a-z0-9])(?=[A-Z])", "-", text)
    return re.sub("[^a-z0-9]+", "-", spread.lower()).strip("-")
