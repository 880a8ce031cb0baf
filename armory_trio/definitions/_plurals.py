"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 call``, ``2 calls``: *number* with *one*, or with *many*, which is *one* and an s unless it is given."""
    return f"{number} {one if number == 1 else many or one + 's'}"
