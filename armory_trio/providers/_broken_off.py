"""What of a message of Anthropic's that broke off can be sent back. Calls of ours are answered; these blocks can't be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ._turn import Json

__all__ = ("without_unfinished",)

_THINKING: Final = ("thinking", "redacted_thinking")


def without_unfinished(blocks: Sequence[Json]) -> list[Json]:
    """*blocks* without those that the provider refuses in every later request.

    They are calls of its own tools that have no result, thinking that was not signed, and thinking that nothing follows.
    """
    answered = {block.get("tool_use_id") for block in blocks}
    kept = [block for block in blocks if not _is_unanswered(block, answered) and not _is_unsigned(block)]
    while kept and kept[-1].get("type") in _THINKING:
        kept.pop()
    return kept


def _is_unanswered(block: Json, answered: set[object]) -> bool:
    kind = str(block.get("type"))
    return kind != "tool_use" and kind.endswith("tool_use") and block.get("id") not in answered


def _is_unsigned(block: Json) -> bool:
    return block.get("type") == "thinking" and not block.get("signature")
