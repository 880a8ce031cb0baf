"""What a model of Anthropic's said before it declined to go on.

Where another model took over within the message, a block of the type ``fallback`` marks the place. Calls before the last
of them count for nothing: no result of them is taken, and neither they nor the thinking before that place are taken back
in a history. Where none took over, the message ends with the stop reason ``refusal``, and none of its calls counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..definitions import CallDefect
from ._message import word_or_none

__all__ = ("FALLBACK", "WITHDRAWN", "refused", "void_blocks")

FALLBACK: Final = "fallback"

WITHDRAWN: Final = CallDefect(
    "TRUNCATED_CALL",
    "The model that made this call declined to go on, and another one answered in its place: the call counts for nothing.",
)

_REFUSED: Final = CallDefect(
    "TRUNCATED_CALL",
    "The reply was stopped for what it would have said (refusal), so none of its calls counts.",
)

_OWN: Final = frozenset({"thinking", "redacted_thinking", "connector_text", "tool_use"})
"""Blocks that are of no use without the model that wrote them."""


def void_blocks(blocks: Sequence[object]) -> frozenset[int]:
    """The places of those *blocks* of one message that count for nothing."""
    kinds = [word_or_none(block, "type") or "" for block in blocks]
    if FALLBACK not in kinds:
        return frozenset()
    last = len(kinds) - 1 - kinds[::-1].index(FALLBACK)
    answered = {word_or_none(block, "tool_use_id") for block in blocks}
    return frozenset(
        at
        for at, kind in enumerate(kinds[:last])
        if kind in _OWN or (kind.endswith("tool_use") and word_or_none(blocks[at], "id") not in answered)
    )


def refused(stop_reason: str | None) -> CallDefect | None:
    """What is wrong with every call of a message that ended with *stop_reason*, whole as they may be."""
    return _REFUSED if stop_reason == "refusal" else None
