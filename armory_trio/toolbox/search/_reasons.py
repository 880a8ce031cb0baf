"""Why a tool was found: which words of the query stand in which of its fields."""

from __future__ import annotations

from collections.abc import Mapping

from .._resolution import AnyTool
from ._fields import texts_of
from ._matches import Reason
from ._words import stem, words


def reasons_for(tool: AnyTool, wanted: Mapping[str, tuple[str, ...]]) -> tuple[Reason, ...]:
    """The fields of *tool* that hold words of the query.

    Args:
        tool: The tool.
        wanted: The words of the query; for one that no tool has, those that were probably meant.
    """
    found: list[Reason] = []
    for field, text in texts_of(tool.definition).items():
        stems = set(map(stem, words(text, everything=field == "name")))
        here = tuple(shown for word, meant in wanted.items() if (shown := _shown(word, meant, stems)))
        if here:
            found.append(Reason(field, here))
    return tuple(found)


def _shown(word: str, meant: tuple[str, ...], stems: set[str]) -> str | None:
    if stem(word) in stems:
        return word
    return next((f"{word}~{near}" for near in meant if stem(near) in stems), None)
