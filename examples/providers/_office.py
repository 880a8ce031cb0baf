"""The tools of these examples, and the refusal that a real provider would give."""

from __future__ import annotations

from collections.abc import Sequence

from armory_trio import Toolbox, ToolFailure, tool
from armory_trio.providers import HistoryError, Provider, check_history

SHELF = {"moss.txt": "Moss has no roots.", "fern.txt": "Ferns are older than flowers."}


@tool(effect="read-only")
async def read(path: str) -> str:
    """Read a text from the shelf."""
    if path not in SHELF:
        raise ToolFailure(
            f"there is no {path}; there are {', '.join(sorted(SHELF))}", category="not_found", effect="none"
        )
    return SHELF[path]


@tool(effect="read-only")
async def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


TOOLBOX = Toolbox([read, count_words])


def require_legal(history: Sequence[object], provider: Provider) -> None:
    """What a provider does with each request: refuse a history in which a call has no result, or a result no call."""
    faults = check_history(history, provider=provider)
    if faults:
        raise HistoryError(faults)
