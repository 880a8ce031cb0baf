"""How much is kept of what a server says beside its results. Words are cut, with a mark that says how much is missing.

Addresses and the names of media types are whole or not there: a part of one means something else.
"""

from __future__ import annotations

from typing import Final

from ....content.truncation import Cap, ResultCaps, truncate_text

MOST_ERROR_BYTES: Final = 65_536
"""Of an error: its words and its details together, which may be what a compiler said. Also of a question to a person,
which is not cut: nobody can agree to what they do not see."""

MOST_TOLD_BYTES: Final = 10_000
"""Of what is told in passing: progress, lines of logs, why a connection broke."""

MOST_ADDRESS_BYTES: Final = 8_192
"""Of a URI: what servers on the web take at most."""

MOST_NAME_BYTES: Final = 1_024
"""Of the name of a resource, a tool, a logger or the server itself, and of an event in a stream."""

ERROR: Final = ResultCaps(error=Cap(bytes=MOST_ERROR_BYTES), blobs=False)

_TOLD: Final = Cap(bytes=MOST_TOLD_BYTES)
_NAME: Final = Cap(bytes=MOST_NAME_BYTES, keep="head", marker="... (bytes left out: {bytes})")


def shortened(text: str) -> str:
    """Words in passing, cut where they are too long."""
    return truncate_text(text, _TOLD)


def shortened_name(text: str) -> str:
    """A name that is only shown, cut where it is too long."""
    return truncate_text(text, _NAME)


def fits(text: str, most: int) -> bool:
    """Whether *text* has at most *most* bytes."""
    return len(text) <= most and len(text.encode("utf-8", "surrogatepass")) <= most
