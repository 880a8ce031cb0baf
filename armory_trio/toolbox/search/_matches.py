"""What a search answers."""

from __future__ import annotations

from typing import Literal

import msgspec

from .._resolution import AnyTool
from ._fields import Field


class Reason(msgspec.Struct, frozen=True):
    """One reason why a tool was found.

    Args:
        where: The field that words of the query stand in; ``meaning`` when an embedder found the tool alike.
        words: Those words of the query, as they were compared: in lower case and without accents. One that is
            probably misspelt is followed by what was found instead, as in ``weathr~weather``.
        similarity: Of ``meaning``: the cosine of the two vectors, from -1 to 1.
    """

    where: Field | Literal["meaning"]
    words: tuple[str, ...] = ()
    similarity: float | None = None

    def __str__(self) -> str:
        if self.similarity is not None:
            return f"{self.where}: {self.similarity:.2f}"
        return f"{self.where}: {', '.join(self.words)}"


class Match(msgspec.Struct, frozen=True):
    """A tool that was found.

    Args:
        tool: The tool.
        score: How well it fits. Scores compare only within the answer to one query.
        reasons: Why it was found, when that was asked for.
    """

    tool: AnyTool
    score: float
    reasons: tuple[Reason, ...] = ()
