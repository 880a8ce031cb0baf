"""Numbers of things in words."""

from __future__ import annotations


def counted(number: float, one: str, many: str | None = None) -> str:
    """``1 call``, ``2 calls``, ``0.5 calls``: *number* with *one*, or with *many*, by default *one* and an s."""
    shown = str(number) if isinstance(number, int) else f"{number:g}"
    return f"{shown} {one if number == 1 else many or one + 's'}"
