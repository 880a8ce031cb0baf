"""Text on its way to a provider: short enough to read, and fit to be encoded."""

from __future__ import annotations

from typing import Final

__all__ = ("encodable", "is_encodable", "shortened")

_SHOWN: Final = 200


def is_encodable(text: str) -> bool:
    """Whether *text* can be sent at all: no provider's request can carry a lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def encodable(text: str) -> str:
    """*text* with lone surrogates written as escapes."""
    return text if is_encodable(text) else text.encode("utf-8", "backslashreplace").decode("utf-8")


def shortened(text: str) -> str:
    """*text* cut to a readable length, with a note of how much is left out, and fit to be encoded."""
    shown = encodable(text[:_SHOWN])
    return shown if len(text) <= _SHOWN else f"{shown}... ({len(text) - _SHOWN} more characters)"
